# SPDX-License-Identifier: Apache-2.0
"""The arguments that say what a plan is for, and the plan that they give."""
import dataclasses
import json
import sys

from ovs_multinic import database
from ovs_multinic import endpoints
from ovs_multinic import engine
from ovs_multinic import host
from ovs_multinic import kernel
from ovs_multinic import login
from ovs_multinic import plan
from ovs_multinic import step
from ovs_multinic import steps
from ovs_multinic.errors import Failure

VERSION = 1
ENCAP_TYPES = ('geneve', 'vxlan')


def add_arguments(parser):
    """Adds the NICs and what can be chosen about them."""
    default = plan.Options()
    parser.add_argument(
        'nics', metavar=endpoints.SYNTAX, nargs='*',
        help='a NIC by name or PCI address, its address and the gateway of'
             ' its subnet (that of a /32 or /128: any on the link; IPv6 also'
             ' link-local); again for a second address (with --from-host:'
             ' just names)')
    parser.add_argument(
        '--from-host', action='store_true',
        help='take addresses and gateways as the host has them now')
    parser.add_argument(
        '--dpdk', action='store_true',
        help='the NICs become DPDK ports by their PCI addresses')
    parser.add_argument(
        '--devargs', metavar='TEMPLATE', type=devargs,
        help='the NICs become DPDK ports with these devargs, where {nic} and'
             ' {pci} are filled in; one of them must be there')
    parser.add_argument(
        '--bridge', metavar='TEMPLATE', default=default.bridge,
        help='name of a bridge (default: %(default)s)')
    parser.add_argument(
        '--mtu', metavar='N', type=number(68, 65535),
        help='MTU of the NICs (default: as it is)')
    parser.add_argument(
        '--table-base', metavar='N', type=number(1, plan.MAX_TABLE),
        default=default.table_base,
        help='first routing table (default: %(default)s)')
    parser.add_argument(
        '--priority-base', metavar='N', type=number(1, plan.MAX_PRIORITY),
        default=default.priority_base,
        help='priority of the first rule (default: %(default)s)')
    parser.add_argument(
        '--no-ovn', dest='ovn', action='store_false',
        help='name the endpoints in other_config, not in the external_ids'
             ' that OVN reads')
    parser.add_argument(
        '--encap-type', metavar='TYPES', type=encap_types,
        help='ovn-encap-type: geneve, vxlan, or both with a comma (default:'
             ' %s)' % plan.ENCAP_TYPE)
    parser.add_argument(
        '--default', metavar='ADDRESS[,ADDRESS]',
        help='the default endpoint, or one of each family (default: the first'
             ' of each)')


def number(low, high):
    """An argparse type: a decimal number from LOW to HIGH."""
    def convert(text):
        if not (text.isascii() and text.isdigit()
                and low <= int(text) <= high):
            raise ValueError
        return int(text)
    convert.__name__ = 'number from %d to %d' % (low, high)
    return convert


def devargs(template):
    """An argparse type: a template that tells NICs apart."""
    one, other = (plan.fill('--devargs', template, nic=word, pci=word)
                  for word in 'ab')
    if one == other:
        raise Failure('--devargs: %s: it has neither {nic} nor {pci}, which'
                      ' tell NICs apart' % (template or "''"))
    return template


def encap_types(text):
    """An argparse type: tunnels that both OVN and the userspace datapath
    know."""
    words = text.split(',')
    for word in words:
        if word not in ENCAP_TYPES:
            raise Failure('--encap-type: %s is none of %s'
                          % (word or "''", ', '.join(ENCAP_TYPES)))
        if words.count(word) > 1:
            raise Failure('--encap-type: %s is given twice' % word)
    return text


def connect(arguments):
    """Returns the step.System of this namespace."""
    return step.System(kernel.Kernel(), database.Database(arguments.db))


def logins(system):
    """The interfaces through which the user is logged in."""
    return login.devices(system, login.connection())


def complain(line):
    """Prints a line for the user to read beside the output."""
    engine.speaker(sys.stderr)('ovs-multinic: %s' % line)


def given(arguments):
    """Whether ARGUMENTS say what a plan is for."""
    return bool(arguments.nics or arguments.from_host)


def parse(arguments):
    """Returns a list of endpoints.Request, or None for --from-host.  Asks
    nobody, so that bad arguments are told before anything else."""
    if arguments.encap_type and not arguments.ovn:
        raise Failure('--encap-type: it is for OVN, which --no-ovn leaves'
                      ' out')
    if arguments.from_host:
        refuse_addresses(arguments.nics)
        return None
    if not arguments.nics:
        raise Failure('no NIC is given (%s, or --from-host)'
                      % endpoints.SYNTAX)
    return endpoints.parse(arguments.nics)


def refuse_options(arguments):
    """Fails if there is an option for making a plan, and none is made."""
    for field in dataclasses.fields(plan.Options):
        if getattr(arguments, field.name) != field.default:
            raise Failure('--%s: it goes with NICs or --from-host only' % (
                'no-ovn' if field.name == 'ovn'
                else field.name.replace('_', '-')))


def make(arguments, requests, system):
    """Returns the steps of the plan for REQUESTS, which parse() returned,
    after telling what the user should know about it."""
    options = plan.Options(**{
        name: getattr(arguments, name)
        for name in plan.Options.__dataclass_fields__})
    nics = arguments.nics if requests is None else [
        request.nic for request in requests]

    def bridge_of(nic):
        return plan.bridge_name(options, nic)

    devices = [name for name in system.kernel.links()
               if not nics or name in nics]
    devices += [bridge_of(nic) for nic in nics]
    count = sum(len(request.addresses) for request in requests or ())
    there = host.read(
        system.kernel, system.database, logins(system), devices,
        range(options.table_base,
              min(options.table_base + count, plan.MAX_TABLE) + 1))
    if requests is None:
        requests = host.requests_from(there, nics, bridge_of, complain)
    made, notes = plan.make(requests, options, there)
    for note in notes:
        complain('note: ' + note)
    for name in login.taken(there.logins, made, system):
        complain('note: %s: you are logged in through it; "apply" needs'
                 ' --force' % name)
    return made


def refuse_addresses(nics):
    """Fails if --from-host is given something else than names."""
    for word in nics:
        if ',' in word:
            raise Failure('%s: with --from-host just the name of the NIC'
                          % word)
        if nics.count(word) > 1:
            raise Failure('%s: it is given twice' % word)


def to_json(made):
    """The text of a plan file."""
    return json.dumps({'version': VERSION, 'steps': [
        one.json() for one in made]}, indent=1)


def load(path):
    """Returns the steps in a plan file; "-" is standard input."""
    try:
        if path == '-':
            path = 'standard input'
            value = json.load(sys.stdin)
        else:
            with open(path) as stream:
                value = json.load(stream)
        if value['version'] != VERSION:
            raise Failure('%s: version %s is not known'
                          % (path, value['version']))
        return steps.from_json(path, value['steps'])
    except OSError as error:
        raise Failure('%s: %s' % (path, error.strerror)) from None
    except (KeyError, RecursionError, TypeError, ValueError):
        raise Failure('%s: it is no plan of ovs-multinic' % path) from None
