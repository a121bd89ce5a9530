# SPDX-License-Identifier: Apache-2.0
"""Writes the plan as files of systemd-networkd, so that it survives a reboot.

The bridges are in the database already; their addresses, routes and rules
come back when ovs-vswitchd has made their interfaces.  Without NICs and
--from-host, the files are for what "apply" did last.  Files of this tool that
the plan has no use for are deleted.  See systemd.network(5).
"""
import glob
import ipaddress
import os
import re
import sys

from ovs_multinic import arguments as a
from ovs_multinic import database
from ovs_multinic import engine
from ovs_multinic import file
from ovs_multinic import kernel as k
from ovs_multinic import state
from ovs_multinic.errors import Failure

DIRECTORY = '/etc/systemd/network'
SYSCTL = '/etc/sysctl.d/60-ovs-multinic.conf'
# Files are taken by name, the first that matches an interface.
PREFIX = '05-ovs-multinic-'
HEADER = '# Written by ovs-multinic.\n'


def add_directory(parser, directory, sysctl=None, where='where to write'):
    """Adds the options that name what is written, or was."""
    def default(value):
        return ' (default: %s)' % value if value else ''
    parser.add_argument(
        '--networkd', metavar='DIR', default=directory,
        help='%s .link and .network files%s' % (where, default(directory)))
    parser.add_argument(
        '--sysctl', metavar='FILE', default=sysctl,
        help='%s the sysctls, as sysctl.d(5) has them%s'
             % (where, default(sysctl)))


def add_arguments(parser):
    """Adds the arguments of this subcommand."""
    a.add_arguments(parser)
    add_directory(parser, DIRECTORY, SYSCTL)
    parser.add_argument('--remove', action='store_true',
                        help='delete the files of this tool')
    state.add_arguments(parser)
    database.add_arguments(parser)


def run(arguments):
    """Writes or deletes the files; returns the exit status."""
    say = engine.speaker(sys.stdout)
    if arguments.remove:
        if a.given(arguments):
            raise Failure('--remove: it takes no NICs')
        replace(arguments.networkd, {}, say)
        replace_sysctl(arguments.sysctl, '', say)
        return 0
    if a.given(arguments):
        requests = a.parse(arguments)
        steps = a.make(arguments, requests, a.connect(arguments))
    else:
        a.refuse_options(arguments)
        steps = state.State(arguments.state).steps()
        if not steps:
            raise Failure('no NIC is given, and %s has no plan'
                          % arguments.state)
    write(steps, arguments, say)
    return 0


def write(steps, arguments, say):
    """Writes what --networkd and --sysctl name."""
    if arguments.networkd:
        replace(arguments.networkd, files(steps), say)
    if arguments.sysctl:
        replace_sysctl(arguments.sysctl, sysctl_text(steps), say)
    elif arguments.networkd and sysctl_text(steps):
        say('the sysctls are not in these files (--sysctl FILE)')


def files(steps):
    """Returns {file name: text} for STEPS."""
    result = {}
    for name in {getattr(step, field) for step in steps
                 for field in ('device', 'nic') if step.kind == 'addresses'}:
        # It takes the names for patterns, and would match other interfaces.
        if re.search(r'[]*?[!"\'\\]', name):
            raise Failure('%s: systemd-networkd cannot match just this name'
                          % name)
    for step in steps:
        if step.kind == 'addresses':
            result['%s%s.network' % (PREFIX, step.device)] = \
                bridge_file(step, steps)
            result['%s%s.network' % (PREFIX, step.nic)] = nic_file(step.nic)
        elif step.kind == 'bridge' and step.hwaddr:
            result['%s%s.link' % (PREFIX, step.name)] = link_file(step)
    return result


def section(name, *items):
    """The text of a section of a file; items without a value are left out."""
    return '\n[%s]\n' % name + ''.join(
        '%s=%s\n' % (key, value) for key, value in items if value is not None)


def link_file(bridge):
    """The text of the systemd.link(5) file of a bridge.  ovs-vswitchd takes
    an interface down to give it another MAC address, and its routes go with
    that: so it has its own before systemd-networkd finds it."""
    return HEADER + section('Match', ('OriginalName', bridge.name)) \
        + section('Link', ('MACAddress', bridge.hwaddr))


def nic_file(nic):
    """The text of the file of a NIC: it comes up, and has no address."""
    return HEADER + section('Match', ('Name', nic)) \
        + section('Link', ('RequiredForOnline', 'no')) \
        + section('Network', ('LinkLocalAddressing', 'no'),
                  ('IPv6AcceptRA', 'no'))


def bridge_file(own, steps):
    """The text of the file of the bridge with the addresses of step OWN."""
    bridge = own.device
    no_ra = any(step.kind == 'sysctl' and step.value == '0'
                and step.name == 'net/ipv6/conf/%s/accept_ra' % bridge
                for step in steps)
    text = HEADER + section('Match', ('Name', bridge))
    text += section('Link', ('RequiredForOnline', 'no'))
    text += section('Network', ('IPv6AcceptRA', 'no' if no_ra else None))
    # Who made a route to the subnet wants no other.
    subnets = {route['dst'] for route in own.routes
               if 'via' not in route and route['table'] == k.TABLE_MAIN}
    for address in own.addresses:
        subnet = str(ipaddress.ip_interface(address).network)
        text += section('Address', ('Address', address),
                        ('AddPrefixRoute', 'no' if subnet in subnets
                         else None))
    for route in [step.route() for step in steps if step.kind == 'route'
                  and step.device == bridge] + own.routes:
        text += route_section(route)
    ips = {address.split('/')[0] for address in own.addresses}
    for step in steps:
        if step.kind == 'rule' and step.source.split('/')[0] in ips:
            text += section('RoutingPolicyRule', ('From', step.source),
                            ('Table', step.table),
                            ('Priority', step.priority))
    return text


def route_section(route):
    """The text of a [Route] section."""
    default = route['dst'].endswith('/0')
    scopes = {k.RT_SCOPE_LINK: 'link', 254: 'host'}
    metric = route.get('metric')
    usual = route['family'] == 6 and metric == 1024
    return section(
        'Route',
        ('Destination', None if default and 'via' in route
         else route['dst']),
        ('Gateway', route.get('via')),
        ('GatewayOnLink', 'yes' if route.get('flags', 0) & k.RTNH_F_ONLINK
         else None),
        ('PreferredSource', route.get('src')),
        ('Scope', scopes.get(route.get('scope'))
         if route['family'] == 4 else None),
        ('Metric', None if usual else metric),
        ('MTUBytes', route.get('metrics', {}).get('RTAX_MTU')),
        ('Table', route['table'] if route['table'] != k.TABLE_MAIN else None))


def sysctl_text(steps):
    """The text of a file for sysctl.d(5).  systemd-udevd sets those of an
    interface when it appears."""
    lines = ['%s = %s\n' % (step.name, step.value)
             for step in steps if step.kind == 'sysctl']
    return HEADER + ''.join(lines) if lines else ''


def ours(path):
    """Whether the file is one that this tool wrote."""
    with open(path, errors='replace') as stream:
        return stream.readline() == HEADER


def replace(directory, contents, say):
    """Makes CONTENTS, {name: text}, the files of ours in DIRECTORY."""
    try:
        if contents:
            os.makedirs(directory, exist_ok=True)
        old = glob.glob(os.path.join(glob.escape(directory), PREFIX + '*'))
        for path in [path for path in old if path.endswith(file.SUFFIX)]:
            os.unlink(path)     # Who wrote it was killed.
            old.remove(path)
        for path in old:
            if not ours(path):
                raise Failure('%s: it is not from ovs-multinic' % path)
        for name, text in contents.items():
            put(os.path.join(directory, name), text, say)
        for path in sorted(old):
            if os.path.basename(path) not in contents:
                os.unlink(path)
                say('deleted %s' % path)
    except OSError as error:
        raise Failure('%s: %s' % (error.filename, error.strerror)) from None


def replace_sysctl(path, text, say):
    """Makes TEXT the contents of our file PATH; without TEXT deletes it."""
    try:
        exists = os.path.exists(path)
        if exists and not os.path.isfile(path):     # Reading may wait.
            raise Failure('%s: it is no regular file' % path)
        if exists and not ours(path):
            raise Failure('%s: it is not from ovs-multinic' % path)
        if text:
            put(path, text, say)
        elif exists:
            os.unlink(path)
            say('deleted %s' % path)
    except OSError as error:
        raise Failure('%s: %s' % (error.filename, error.strerror)) from None


def put(path, text, say):
    """Writes a file, unless it has that text already."""
    if os.path.exists(path):
        with open(path, errors='replace') as stream:
            if stream.read() == text:
                say('unchanged %s' % path)
                return
    file.write(path, text)
    say('wrote %s' % path)
