# SPDX-License-Identifier: Apache-2.0
"""Tells what is wrong with this host, the worst first.

It asks ovs-vswitchd (encap/check), and compares the host with what "apply"
did.  Exit status: 0 nothing, 1 warnings, 2 errors, 3 it cannot ask.
"""
import json
import os
import shlex

from ovs_multinic import arguments as a
from ovs_multinic import database
from ovs_multinic import networkd
from ovs_multinic import state
from ovs_multinic.errors import Failure
from ovs_multinic.words import count, safe

FAILED = 3
SEVERITIES = ('error', 'warning', 'info')


def add_arguments(parser):
    """Adds the arguments of this subcommand."""
    parser.add_argument('--json', action='store_true', help='print JSON')
    networkd.add_directory(parser, networkd.DIRECTORY, networkd.SYSCTL,
                           'where "networkd" wrote')
    state.add_arguments(parser)
    database.add_arguments(parser)


def finding(severity, thing, problem, mend=None):
    """One thing that is wrong, as encap/check has it."""
    return {'severity': severity, 'object': thing, 'problem': problem,
            'mend': mend}


def run(arguments):
    """Prints what is wrong; returns the exit status."""
    done = state.State(arguments.state)
    system = a.connect(arguments)
    found = from_vswitchd(arguments.target)
    found += from_host(done, system, arguments)
    found.sort(key=lambda one: SEVERITIES.index(one['severity']))
    if arguments.json:
        print(json.dumps(found, indent=1))
    else:
        print_findings(found)
    worst = {one['severity'] for one in found}
    return 2 if 'error' in worst else 1 if 'warning' in worst else 0


def print_findings(found):
    """Prints findings for people."""
    for one in found:
        print(safe('%s: %s: %s' % (one['severity'], one['object'],
                                   one['problem'])))
        if one['mend']:
            print(safe('    %s' % one['mend']))
    counts = [sum(one['severity'] == severity for one in found)
              for severity in SEVERITIES[:2]]
    print('%s, %s' % (count(counts[0], 'error'),
                      count(counts[1], 'warning')))


def from_vswitchd(target):
    """What ovs-vswitchd finds."""
    vswitchd = database.Vswitchd(target)
    try:
        found = vswitchd.json('encap/check')
    except database.UnknownCommand:
        return [finding('info', target, 'it has no encap/check: this'
                        ' ovs-vswitchd is not that of ovs-multinic')]
    finally:
        vswitchd.close()
    try:
        return [finding(one['severity'], one['object'], one['problem'],
                        one.get('mend')) for one in found
                if SEVERITIES.index(one['severity']) >= 0]
    except (KeyError, TypeError, ValueError):
        raise Failure('%s: encap/check: its answer is not understood'
                      % target) from None


def from_host(done, system, arguments):
    """What the host shows against what was applied."""
    steps = done.steps()
    if not steps:
        return [finding('info', done.path,
                        'nothing was applied with this tool')]
    found = []
    again = command('apply', '--state', done.path, state.DEFAULT)
    for step in steps:
        if not step.is_set(system):
            found += [finding('error', thing, problem, again)
                      for thing, problem in step.differences(system)]
    links = system.kernel.links()
    for step in steps:
        if step.kind == 'port':
            found += of_nic(step, links, system)
        elif step.kind == 'rule':
            found += of_way(step, steps, system)
    found += of_files(steps, arguments)
    return found


def command(subcommand, *options):
    """The command line of SUBCOMMAND with those of OPTIONS (name, value,
    default; ...) that are not the default."""
    words = ['ovs-multinic', subcommand]
    for name, value, default in zip(*[iter(options)] * 3):
        if value != default:
            words += [name, value]
    return shlex.join(words)


def of_nic(port, links, system):
    """What is wrong with a NIC."""
    row = system.database.row('Interface', port.name)
    nic, bridge = links.get(port.name), links.get(port.bridge)
    if row and row.link_state == ['down'] or nic and not nic.carrier:
        yield finding('warning', port.name, 'its link is down')
    mtu = row.mtu[0] if row and row.mtu else nic.mtu if nic else None
    if mtu and bridge and bridge.mtu > mtu:
        yield finding(
            'warning', port.bridge, 'its MTU is %d, that of %s is %d'
            % (bridge.mtu, port.name, mtu),
            shlex.join(['ovs-vsctl', 'set', 'Interface', port.bridge,
                        'mtu_request=%d' % mtu]))
    for address in system.kernel.addresses(port.name):
        if address.get('scope', 0) == 0:
            yield finding(
                'warning', port.name, 'address %s is on the NIC, not on %s'
                % (address['address'], port.bridge),
                shlex.join(['ip', 'addr', 'del', address['address'], 'dev',
                            port.name]))


def of_way(rule, steps, system):
    """What is wrong with the way to the gateway of a rule's table."""
    source = rule.source.split('/')[0]
    for step in steps:
        if step.kind == 'route' and step.table == rule.table and step.via \
                and step.src == source and rule.is_set(system):
            way = system.kernel.way(step.via, source)
            if way != step.device:
                yield finding(
                    'error', source, 'its packets to gateway %s go by %s, not'
                    ' by %s' % (step.via, way or 'no interface', step.device),
                    'ip%s rule; ip route get %s from %s'
                    % (' -6' if ':' in source else '', step.via, source))


def of_files(steps, arguments):
    """What is wrong with the files of "networkd"."""
    wanted = {os.path.join(arguments.networkd, name): text
              for name, text in networkd.files(steps).items()}
    wanted[arguments.sysctl] = networkd.sysctl_text(steps)
    again = command('networkd', '--state', arguments.state, state.DEFAULT,
                    '--networkd', arguments.networkd, networkd.DIRECTORY,
                    '--sysctl', arguments.sysctl, networkd.SYSCTL)
    missing = []
    for path, text in wanted.items():
        try:
            with open(path, errors='replace') as stream:
                if stream.read() != text:
                    yield finding('warning', path, 'it differs from what was'
                                  ' applied', again)
        except FileNotFoundError:
            missing += [path] if text else []
        except OSError as error:
            raise Failure('%s: %s' % (path, error.strerror)) from None
    if missing:
        yield finding(
            'info', arguments.networkd if len(missing) > 1 else missing[0],
            '%s for systemd-networkd and sysctl.d %s missing: unless another'
            ' service sets this up, it is gone after a reboot'
            % (count(len(missing), 'file'),
               'are' if len(missing) > 1 else 'is'), again)
