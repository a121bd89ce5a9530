# SPDX-License-Identifier: Apache-2.0
"""The interfaces through which the user is logged in."""
import ipaddress
import os

from ovs_multinic.errors import Failure


def connection(environ=None, pid=None):
    """The words of SSH_CONNECTION (peer, its port, own address, own port) of
    this process or, where sudo dropped it, of the processes above it; or
    None."""
    value = (os.environ if environ is None else environ).get('SSH_CONNECTION')
    pid = pid or os.getppid()
    while not value and pid > 1:
        try:
            with open('/proc/%d/environ' % pid, 'rb') as stream:
                items = stream.read().split(b'\0')
            with open('/proc/%d/stat' % pid) as stream:
                pid = int(stream.read().rpartition(')')[2].split()[1])
        except (OSError, ValueError, IndexError):
            break
        value = next((item.partition(b'=')[2].decode(errors='replace')
                      for item in items
                      if item.startswith(b'SSH_CONNECTION=')), None)
    words = value.split() if value else []
    return words if len(words) == 4 else None


def parse(word):
    """The address and the zone, or '', that WORD says; a mapped address
    (RFC 4291 section 2.5.5.2) is the one of IPv4."""
    text, _, zone = word.partition('%')
    address = ipaddress.ip_address(text)
    return str(getattr(address, 'ipv4_mapped', None) or address), zone


def devices(system, words):
    """The names of the interfaces of an SSH connection (see connection()):
    that by which packets to the peer go, those with the own address, by which
    the peer's come, and the bridges of which these are ports."""
    if words is None:
        return []
    try:
        (peer, zone), (own, own_zone) = map(parse, words[::2])
    except ValueError:          # sshd's "UNKNOWN": it is no connection.
        return []
    kernel = system.kernel
    if zone or own_zone:        # Link-local, with its interface.
        found = [zone, own_zone]
    else:
        found = [kernel.way(peer, own) or kernel.way(peer),
                 *kernel.holders(own)]
    found += [bridge.name for bridge in system.database.rows('Bridge')
              if any(interface.name in found for port in bridge.ports
                     for interface in port.interfaces)]
    return list(dict.fromkeys(name for name in found if name))


def taken(names, steps, system):
    """Those of NAMES, interfaces, that STEPS, a plan, would take over."""
    changed = [step for step in steps
               if names and step.kind in ('bridge', 'port', 'addresses')
               and not step.is_set(system)]
    used = {step.nic for step in changed if step.kind == 'addresses'}
    used |= {step.name for step in changed if step.kind != 'addresses'}
    # A port that changes cuts off what its bridge has.
    used |= {step.bridge for step in changed if step.kind == 'port'}
    # So does another gateway, and a rule that leads to other routes.
    used |= {step.device for step in steps
             if step.kind == 'route' and step.device in names
             and step.before(system) and not step.is_set(system)}
    used |= {holder for step in steps
             if step.kind == 'rule' and names and not step.is_set(system)
             for holder in system.kernel.holders(step.source.split('/')[0])}
    return [name for name in names if name in used]


def refuse(names, steps, system):
    """Fails if STEPS, the plan, would take over one of the interfaces
    NAMES."""
    for name in taken(names, steps, system):
        raise Failure('%s: you are logged in through it (--force takes it'
                      ' all the same)' % name)


def refuse_undo(names, steps):
    """Fails if taking back STEPS would take one of the interfaces NAMES
    away."""
    used = {step.name for step in steps if step.kind == 'bridge'}
    used |= {step.bridge for step in steps if step.kind == 'port'}
    used |= {step.device for step in steps if step.kind == 'addresses'}
    for name in names:
        if name in used:
            raise Failure('%s: you are logged in through it (--force takes it'
                          ' back all the same)' % name)
