# SPDX-License-Identifier: Apache-2.0
"""All kinds of settings of which a plan consists."""
from ovs_multinic.database_steps import Bridge, Dpdk, Port, Settings
from ovs_multinic.errors import Failure
from ovs_multinic.kernel_steps import Addresses, Route, Rule, Sysctl, Up

KINDS = {kind.kind: kind for kind in (
    Bridge, Dpdk, Port, Settings, Addresses, Route, Rule, Sysctl, Up)}


def from_json(value):
    """The step whose json() is VALUE."""
    try:
        fields = dict(value)
        return KINDS[fields.pop('kind')](**fields)
    except (KeyError, TypeError, ValueError):
        raise Failure('not a step of a plan: %r' % (value,)) from None
