# SPDX-License-Identifier: Apache-2.0
"""Makes a plan, a list of steps, from what is asked for and what is there.

A pure function: nothing is read or written here.
"""
import collections
import dataclasses
import itertools
import string

from ovs_multinic import fields
from ovs_multinic import host as hosts
from ovs_multinic import kernel as k
from ovs_multinic import move
from ovs_multinic.endpoints import needs_onlink
from ovs_multinic.errors import Failure
from ovs_multinic.steps import (Addresses, Bridge, Dpdk, Port, Route, Rule,
                                Settings, Sysctl, Up)

ENCAP_TYPE = 'geneve'
# Above the rule for table local, below that for table main.
MAX_PRIORITY = 32765
MAX_TABLE = 0xffffffff
IPV6_MIN_MTU = 1280             # RFC 8200, section 5.
# Tables of the kernel, 0 being none.
RESERVED_TABLES = {0, k.TABLE_DEFAULT, k.TABLE_MAIN, k.TABLE_LOCAL}


@dataclasses.dataclass
class Options:
    """What the user may choose.  BRIDGE and DEVARGS are templates, with {nic}
    and, for DEVARGS, {pci}."""

    from_host: bool = False     # What is a DPDK port stays as it is.
    bridge: str = 'br-{nic}'
    dpdk: bool = False
    devargs: str = None
    mtu: int = None
    table_base: int = 101
    priority_base: int = 1001
    ovn: bool = True
    encap_type: str = None      # ENCAP_TYPE.
    default: str = None         # An address, or one of each family.


# Where a NIC goes.  OPTIONS are those of its interface.
Place = collections.namedtuple(
    'Place', 'nic bridge link port_type options hwaddr mtu')


def fill(option, template, **values):
    """TEMPLATE with VALUES filled in; fails with a line about OPTION."""
    try:
        names = {name for _, name, _, _ in string.Formatter().parse(template)
                 if name is not None}
        unknown = names - set(values)
        if unknown:
            raise Failure('%s: {%s} has no value here, only {%s}' % (
                option, min(unknown), '}, {'.join(sorted(values))))
        return template.format(**values)
    except (LookupError, ValueError) as error:
        raise Failure('%s: %s: %s' % (option, template, error)) from None


def bridge_name(options, nic):
    """The name of the bridge of a NIC."""
    name = fill('--bridge', options.bridge, nic=nic)
    # Below /proc/sys the latter two are not interfaces.
    if not fields.is_name(name) or name in ('all', 'default'):
        raise Failure('%s: %s cannot be the name of its bridge (--bridge)'
                      % (nic, name))
    return name


def make(requests, options, host):
    """Returns (steps, notes): steps in the order in which they can be taken
    without cutting off the host, and lines for the user to read.  Fails if
    it cannot be done on HOST."""
    places = [place(request.nic, options, host) for request in requests]
    refuse_shared_bridge(places)
    for request, where in zip(requests, places):
        refuse_unfit(request, where, host)
    numbers = assign_numbers(requests, places, options, host)
    notes = list(remarks(requests, places, numbers, options, host))

    steps = []
    if any(where.port_type == 'dpdk' for where in places):
        # With "true" ovs-vswitchd would end where DPDK does not start.
        now = host.other_config.get('dpdk-init')
        steps.append(Dpdk(values={
            'dpdk-init': now if now == 'true' else 'try'}))
    for request, where in zip(requests, places):
        steps += nic_steps(request, where, numbers, host)
    steps += encap_settings(requests, options, host)
    return steps, notes


def place(nic, options, host):
    """Returns the Place of NIC, a name or a PCI address."""
    link = host.links.get(nic)
    pci = link.pci if link else None
    name = nic
    if options.from_host and not options.dpdk and not options.devargs \
            and nic in host.dpdk_ports:
        return Place(nic, bridge_name(options, nic), link, 'dpdk',
                     host.dpdk_ports[nic], link.mac if link else None,
                     options.mtu)
    if link is None and hosts.PCI.fullmatch(nic.lower()):
        pci = nic.lower()
        link = next((link for link in host.links.values()
                     if link.pci == pci), None)
        if pci not in host.pci_devices:
            raise Failure('%s: no such PCI device' % nic)
        if not options.dpdk and not options.devargs:
            raise Failure('%s: a PCI address needs --dpdk' % nic)
        name = link.name if link else 'p' + ''.join(
            letter for letter in pci.removeprefix('0000:')
            if letter not in ':.')
    elif link is None:
        raise Failure('%s: no such interface' % nic)

    devargs = None
    if options.devargs:
        devargs = fill('--devargs', options.devargs, nic=name,
                       **({'pci': pci} if pci else {}))
    elif options.dpdk:
        if not pci:
            raise Failure('%s: it has no PCI address for --dpdk (--devargs'
                          ' gives another)' % nic)
        devargs = pci
    # The kernel's NIC keeps its MTU; one of DPDK begins with 1500.
    mtu = options.mtu
    if devargs and not mtu and link and link.mtu != 1500:
        mtu = link.mtu
    return Place(name, bridge_name(options, name), link,
                 'dpdk' if devargs else '',
                 {'dpdk-devargs': devargs} if devargs else {},
                 link.mac if link else None, mtu)


def refuse_shared_bridge(places):
    """Fails if two NICs would have one bridge, or one NIC is there twice."""
    owners = {}                 # NICs by the names that are taken.
    for where in places:
        if owners.get(where.nic) == where.nic:
            raise Failure('%s: it is in the list already' % where.nic)
        for name in where.nic, where.bridge:
            if owners.setdefault(name, where.nic) != where.nic:
                raise Failure('%s: %s is taken by %s (--bridge)'
                              % (where.nic, name, owners[name]))
        if where.bridge == where.nic:
            raise Failure('%s: its bridge has its name (--bridge)'
                          % where.nic)


def refuse_unfit(request, where, host):
    """Fails if the NIC or its addresses are in use by something else."""
    nic, bridge = where.nic, where.bridge
    if nic in host.bonds:
        raise Failure('%s: it is part of %s' % (nic, host.bonds[nic]))
    if where.link:
        refuse_nic(where, host)
    refuse_mtu(request, where, host)
    if bridge in host.links and bridge not in host.bridges:
        raise Failure('%s: there is an interface %s that is no bridge of Open'
                      ' vSwitch (--bridge)' % (nic, bridge))
    if host.bridges.get(bridge, 'netdev') != 'netdev':
        raise Failure('%s: bridge %s has datapath_type %s, not netdev' % (
            nic, bridge, host.bridges[bridge] or 'system'))
    for interface, gateway in request.addresses:
        for device, addresses in host.addresses.items():
            held = {address['address'].split('/')[0] for address in addresses}
            if str(interface.ip) in held and device not in (nic, bridge):
                raise Failure('%s: address %s is on %s'
                              % (nic, interface, device))
            # A link-local address says nothing about other links.
            if gateway and str(gateway) in held and (
                    not gateway.is_link_local or device in (nic, bridge)):
                raise Failure('%s: gateway %s is an address of this host (%s)'
                              % (nic, gateway, device))
        for device in nic, bridge:
            for address in host.addresses.get(device, []):
                if address['address'].split('/')[0] == str(interface.ip) \
                        and address['address'] != str(interface):
                    raise Failure('%s: address %s is on %s as %s' % (
                        nic, interface, device, address['address']))


def refuse_mtu(request, where, host):
    """Fails if there would be IPv6 addresses on a link that is too small for
    them: the kernel deletes those that are there."""
    mtu = where.mtu or (where.link.mtu if where.link else IPV6_MIN_MTU)
    if mtu >= IPV6_MIN_MTU:
        return
    addresses = [str(interface) for interface, _gateway in request.addresses]
    addresses += [address['address'] for device in (where.nic, where.bridge)
                  for address in host.global_addresses(device)]
    for address in addresses:
        if k.version_of(address) == 6:
            raise Failure('%s: address %s needs an MTU of %d, not %d (--mtu)'
                          % (where.nic, address, IPV6_MIN_MTU, mtu))


def refuse_nic(where, host):
    """Fails if the NIC is in use, or what is on it cannot be moved."""
    nic, link = where.nic, where.link
    if link.loopback or nic in host.bridges:
        raise Failure('%s: it is no NIC' % nic)
    if link.master:
        raise Failure('%s: it is part of %s' % (nic, link.master))
    for upper in host.links.values():
        if upper.lower == nic:
            raise Failure('%s: %s runs on it' % (nic, upper.name))
    if host.ports.get(nic, where.bridge) != where.bridge:
        raise Failure('%s: it is a port of bridge %s'
                      % (nic, host.ports[nic]))
    for route in host.routes_by(nic):
        why = move.why_not(route)
        # Without addresses IPv4 routes may stay; of IPv6 nothing can.
        if why and move.movable(route) and (
                route['family'] == 6 or host.global_addresses(nic)):
            raise Failure('%s: %s cannot be moved, it %s'
                          % (nic, k.route_text(route), why))


def refuse_left(request, where, host):
    """Fails if the NIC has an address that is not asked for: it would not be
    reached there any more."""
    wanted = {str(endpoint.interface) for endpoint in request.addresses}
    for address in host.static_addresses(where.nic):
        if address['address'] not in wanted:
            raise Failure('%s: it has address %s too, which would stay behind'
                          ' on the NIC' % (where.nic, address['address']))


def assign_numbers(requests, places, options, host):
    """Returns {address: (priority, table)}.  An address that has a rule and a
    table of its own keeps them; the others get, for each family, the numbers
    from the bases on, in the order of the list."""
    numbers = {}
    for request, where in zip(requests, places):
        refuse_left(request, where, host)
    for family in 4, 6:
        wanted = [(interface.ip, where)
                  for request, where in zip(requests, places)
                  for interface, _gateway in request.addresses
                  if interface.version == family]
        own = {address: rule for address, rule in (
            (address, host.rule_from(address)) for address, _ in wanted)
            if rule}
        tables = {rule['table'] for rule in own.values()}
        priorities = {rule['priority'] for rule in own.values()}
        free = (n for n in itertools.count()
                if options.table_base + n not in tables
                and options.priority_base + n not in priorities)
        for address, where in wanted:
            if address in own:
                pair = own[address]['priority'], own[address]['table']
            else:
                n = next(free)
                pair = options.priority_base + n, options.table_base + n
            refuse_clash(family, address, where, pair, host)
            numbers[address] = pair
    return numbers


def refuse_clash(family, address, where, pair, host):
    """Fails if the numbers are out of range or used by something else."""
    priority, table = pair
    source = '%s/%d' % (address, address.max_prefixlen)
    if not 0 < priority <= MAX_PRIORITY:
        raise Failure('--priority-base: priority %d for %s is not from 1 to'
                      ' %d' % (priority, address, MAX_PRIORITY))
    if table in RESERVED_TABLES or table > MAX_TABLE:
        raise Failure('--table-base: table %d for %s is not to be had'
                      % (table, address))
    for rule in host.rules:
        if rule['family'] != family or (
                rule['plain'] and rule['from'] == source
                and rule['table'] == table):
            continue
        if rule['table'] == table:
            raise Failure('table %d: "%s" leads there too (--table-base)'
                          % (table, rule['text']))
        if rule['priority'] == priority and not host.rule_from(address):
            raise Failure('priority %d: taken by "%s" (--priority-base)'
                          % (priority, rule['text']))
    for route in host.routes_in(family, table):
        if route.get('device') not in (where.nic, where.bridge):
            raise Failure('table %d: it holds "%s" (--table-base)'
                          % (table, k.route_text(route)))


def remarks(requests, places, numbers, options, host):
    """Yields lines that the user should read before "apply"."""
    for request, where in zip(requests, places):
        if where.nic in host.dpdk_ports and not where.port_type:
            yield ('%s: is a DPDK port (%s); becomes a port of the kernel\'s'
                   ' driver without --devargs' % (
                       where.nic, host.dpdk_ports[where.nic].get(
                           'dpdk-devargs', 'without devargs')))
        now = host.hwaddrs.get(where.bridge)
        if now and where.hwaddr and now.lower() != where.hwaddr.lower():
            yield ('%s: other_config:hwaddr of %s is %s now, becomes %s'
                   % (where.nic, where.bridge, now, where.hwaddr))
        if where.bridge in host.secure_bridges:
            yield ('%s: fail_mode of %s is secure: only flows of its'
                   ' controller connect the two' % (where.nic, where.bridge))
        for address in host.global_addresses(where.nic):
            if 'lifetime' in address:
                yield ('%s: address %s has a lifetime: stop what renews it'
                       ' (DHCP client, router advertisements)'
                       % (where.nic, address['address']))
        for interface, gateway in request.addresses:
            priority, table = numbers[interface.ip]
            if not any(table_routes(where.bridge, interface, gateway, table)):
                yield ('%s: without subnet and gateway, table %d stays empty:'
                       ' table main decides' % (interface, table))
            for rule in host.rules:
                if rule['family'] == interface.version and rule['plain'] \
                        and covers(rule, interface.ip) \
                        and rule['priority'] < priority and rule['table'] \
                        not in (k.TABLE_LOCAL, table):
                    yield ('%s: "%s" comes before its own rule'
                           % (interface.ip, rule['text']))
    for settings in encap_settings(requests, options, host):
        now = getattr(host, settings.column)
        for key, value in settings.values.items():
            if now.get(key, value) != value:
                yield '%s:%s: is %s now' % (settings.column, key, now[key])


def covers(rule, address):
    """Whether packets from ADDRESS can match RULE."""
    return rule['from'] is None or \
        address in k.ipaddress.ip_network(rule['from'], strict=False)


def nic_steps(request, where, numbers, host):
    """Yields the steps for one NIC.  The bridge is ready before the NIC
    becomes its port, and what depends on the address follows it at once."""
    nic, bridge = where.nic, where.bridge
    conf = 'net/ipv4/conf/%s/' % bridge
    yield Bridge(bridge, where.hwaddr)
    # For these the kernel takes the higher of "all" and the interface.
    yield Sysctl(conf + 'rp_filter', '2')
    yield Sysctl(conf + 'arp_ignore', '1')
    yield Sysctl(conf + 'arp_announce', '2')
    without_gateway = [interface for interface, gateway in request.addresses
                       if interface.version == 6 and not gateway]
    if host.ipv6 and not without_gateway:
        yield Sysctl('net/ipv6/conf/%s/accept_ra' % bridge, '0')
    if where.link:
        yield Up(nic)
    yield Up(bridge)
    yield Port(nic, bridge, where.port_type, where.options, where.mtu)
    tables = {numbers[interface.ip][1]
              for interface, _gateway in request.addresses}
    yield Addresses(
        bridge, nic,
        [str(interface) for interface, _gateway in request.addresses],
        [{**route, 'device': bridge}
         for route in host.own_routes(nic) + host.own_routes(bridge)
         if route['table'] not in tables])
    for interface, gateway in request.addresses:
        _priority, table = numbers[interface.ip]
        yield from table_routes(bridge, interface, gateway, table)
    if where.link:
        # The kernel hears what comes for the address on the NIC as well: it
        # must neither answer nor refuse it there.
        yield Sysctl('net/ipv4/conf/%s/arp_ignore' % nic, '8')
        yield Sysctl('net/ipv4/conf/%s/rp_filter' % nic, '1')
        if host.ipv6:
            yield Sysctl('net/ipv6/conf/%s/disable_ipv6' % nic, '1')
    for interface, _gateway in request.addresses:
        priority, table = numbers[interface.ip]
        yield Rule(priority, '%s/%d' % (interface.ip,
                                        interface.max_prefixlen), table)


def table_routes(bridge, interface, gateway, table):
    """Yields the routes of the table of one address."""
    source = str(interface.ip)
    if interface.network.prefixlen < interface.max_prefixlen:
        yield Route(table, str(interface.network), bridge, source)
    if gateway:
        yield Route(table, k.default_dst(interface.version), bridge, source,
                    str(gateway), needs_onlink(interface, gateway))


def choose_defaults(requests, options):
    """Returns the default endpoints, one of each family that there is; the
    user's come first, so the first is that of OVN, which knows just one."""
    endpoints = [interface.ip for request in requests
                 for interface, _gateway in request.addresses]
    chosen = {}
    for word in options.default.split(',') if options.default else ():
        found = [ip for ip in endpoints if is_address(word, ip)]
        if not found:
            raise Failure('--default: %s is not in the list' % word)
        ip = found[0]
        if ip.version in chosen:
            raise Failure('--default: %s and %s are both IPv%d' % (
                chosen[ip.version], ip, ip.version))
        chosen[ip.version] = ip
    for ip in endpoints:
        chosen.setdefault(ip.version, ip)
    return [str(ip) for ip in chosen.values()]


def is_address(word, ip):
    """Whether WORD says the address IP, however it is written."""
    try:
        return k.ipaddress.ip_address(word) == ip
    except ValueError:
        return False


def encap_settings(requests, options, host):
    """Yields the steps that name the endpoints to OVN, or to ovs-vswitchd
    alone."""
    endpoints = [str(interface.ip) for request in requests
                 for interface, _gateway in request.addresses]
    defaults = choose_defaults(requests, options)
    if not options.ovn:
        yield Settings('other_config', {
            'encap-ip': ','.join(endpoints),
            'encap-ip-default': ','.join(defaults)})
        return
    values = {'ovn-encap-type': options.encap_type or ENCAP_TYPE,
              'ovn-encap-ip': ','.join(endpoints),
              'ovn-encap-ip-default': defaults[0],
              'ovn-bridge-datapath-type': 'netdev'}
    # The form of a key with the name of this chassis wins where it is set.
    chassis = host.external_ids.get('system-id')
    yield Settings('external_ids', {
        '%s-%s' % (key, chassis)
        if '%s-%s' % (key, chassis) in host.external_ids else key: value
        for key, value in values.items()})
    if defaults[1:]:
        # OVN takes a list there for an address that is no endpoint.
        yield Settings('other_config', {'encap-ip-default': defaults[1]})
