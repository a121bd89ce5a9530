# SPDX-License-Identifier: Apache-2.0
"""All kinds of settings of which a plan consists."""
from ovs_multinic import fields
from ovs_multinic.database_steps import Bridge, Dpdk, Port, Settings
from ovs_multinic.errors import Failure
from ovs_multinic.kernel_steps import Addresses, Route, Rule, Sysctl, Up

KINDS = {kind.kind: kind for kind in (
    Bridge, Dpdk, Port, Settings, Addresses, Route, Rule, Sysctl, Up)}


def from_json(path, values):
    """The steps whose json() are VALUES, from file PATH; fails with a line
    that names the file, the step and the field."""
    steps = []
    for number, value in enumerate(values, 1):
        where = '%s: step %d' % (path, number)
        if not isinstance(value, dict):
            raise Failure('%s is not an object' % where)
        rest = dict(value)
        kind = rest.pop('kind', None)
        if not isinstance(kind, str) or kind not in KINDS:
            raise Failure('%s: kind: %s is not one of %s' % (
                where, fields.quote(kind), ', '.join(sorted(KINDS))))
        try:
            steps.append(KINDS[kind].from_json(rest))
        except Failure as failure:
            raise Failure('%s (%s): %s' % (where, kind, failure)) from None
    return steps
