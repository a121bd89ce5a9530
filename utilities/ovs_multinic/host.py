# SPDX-License-Identifier: Apache-2.0
"""What is on the host before a plan is made: a plain value, read once."""
import dataclasses
import ipaddress
import os
import re

from ovs_multinic import kernel as k
from ovs_multinic import move
from ovs_multinic.errors import Failure
from ovs_multinic.endpoints import Endpoint, Request, fits

PCI = re.compile(r'[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]')
UNIVERSE = 0                    # RT_SCOPE_UNIVERSE


@dataclasses.dataclass
class Host:
    """Links, addresses, routes and rules as kernel.py has them, and what the
    database says.  LOGINS are the names of the interfaces through which
    the user is logged in."""

    links: dict = dataclasses.field(default_factory=dict)
    addresses: dict = dataclasses.field(default_factory=dict)
    routes: list = dataclasses.field(default_factory=list)
    rules: list = dataclasses.field(default_factory=list)
    bridges: dict = dataclasses.field(default_factory=dict)  # Datapath types.
    hwaddrs: dict = dataclasses.field(default_factory=dict)  # Of bridges.
    secure_bridges: set = dataclasses.field(default_factory=set)
    ports: dict = dataclasses.field(default_factory=dict)    # Their bridges.
    bonds: dict = dataclasses.field(default_factory=dict)    # Their bonds.
    dpdk_ports: dict = dataclasses.field(default_factory=dict)  # Options.
    external_ids: dict = dataclasses.field(default_factory=dict)
    other_config: dict = dataclasses.field(default_factory=dict)
    pci_devices: set = dataclasses.field(default_factory=set)
    ipv6: bool = True
    logins: tuple = ()

    def global_addresses(self, device):
        """The addresses of DEVICE that others can reach."""
        return [address for address in self.addresses.get(device, [])
                if address.get('scope', 0) == UNIVERSE]

    def static_addresses(self, device):
        """Those of global_addresses() without IPv6 addresses that routers
        advertise: these are the kernel's business."""
        return [address for address in self.global_addresses(device)
                if not ('lifetime' in address
                        and k.version_of(address['address']) == 6)]

    def routes_by(self, device):
        """The routes by DEVICE."""
        return [route for route in self.routes
                if device in (route.get('device'), *route.get('devices', ()))]

    def own_routes(self, device):
        """The routes by DEVICE that do not come by themselves with its links
        and addresses."""
        automatic = {
            str(ipaddress.ip_interface(address['address']).network)
            for address in self.addresses.get(device, [])
            if not address.get('flags', 0) & k.IFA_F_NOPREFIXROUTE}
        return [route for route in self.routes_by(device)
                if move.movable(route) and 'hops' not in route
                and not (route.get('protocol') == k.RTPROT_KERNEL
                         and route['dst'] in automatic)]

    def routes_in(self, family, table):
        """The routes of a table."""
        return [route for route in self.routes
                if (route['family'], route['table']) == (family, table)]

    def rule_from(self, address):
        """The rule that leads just what comes from ADDRESS to a table, or
        None."""
        source = '%s/%d' % (address, address.max_prefixlen)
        return next((rule for rule in self.rules
                     if rule['plain'] and rule['from'] == source
                     and rule['table'] not in (
                         0, k.TABLE_DEFAULT, k.TABLE_MAIN, k.TABLE_LOCAL)),
                    None)


def read(kernel, database, logins, devices, tables):
    """Returns the Host of this namespace, with the routes by DEVICES and those
    in TABLES (numbers) or in tables that rules give a single address."""
    host = Host(links=kernel.links(), logins=logins,
                ipv6=os.path.exists('/proc/sys/net/ipv6'))
    addresses = kernel.all_addresses()
    for name, link in host.links.items():
        host.addresses[name] = addresses.get(link.index, [])
    for family in (4, 6) if host.ipv6 else (4,):
        host.rules += kernel.rules(family)
    host.routes = read_routes(
        kernel, (4, 6) if host.ipv6 else (4,),
        [name for name in devices if name in host.links],
        set(tables) | {rule['table'] for rule in host.rules
                       if rule['table'] not in (0, k.TABLE_MAIN,
                                                k.TABLE_LOCAL)
                       and (rule['from'] or '').endswith(('/32', '/128'))})
    for bridge in database.rows('Bridge'):
        host.bridges[bridge.name] = bridge.datapath_type
        host.hwaddrs[bridge.name] = bridge.other_config.get('hwaddr')
        if bridge.fail_mode in ('secure', ['secure']):
            host.secure_bridges.add(bridge.name)
        for port in bridge.ports:
            for interface in port.interfaces:
                host.ports[interface.name] = bridge.name
                if len(port.interfaces) > 1:
                    host.bonds[interface.name] = port.name
                if interface.type == 'dpdk':
                    host.dpdk_ports[interface.name] = dict(interface.options)
    host.external_ids = dict(database.root.external_ids)
    host.other_config = dict(database.root.other_config)
    if os.path.isdir('/sys/bus/pci/devices'):
        host.pci_devices = set(os.listdir('/sys/bus/pci/devices'))
    return host


def read_routes(kernel, families, devices, tables):
    """The routes by DEVICES or in TABLES, each once."""
    routes = []
    for family in families:
        for device in devices:
            routes += [route for route in kernel.routes(family, device=device)
                       if route not in routes]
        for table in tables:
            routes += [route for route in kernel.routes(family, table=table)
                       if route not in routes]
    return routes


def requests_from(host, nics, bridge_of, say):
    """Returns a Request for each of NICS (or, if that is empty, for each NIC
    with an address) from what HOST has.  BRIDGE_OF(nic) is the bridge that a
    plan gives it.  SAY takes a line about a NIC that is left out."""
    chosen = nics or [
        link.name for link in sorted(host.links.values(),
                                     key=lambda link: link.index)
        if link.pci or host.ports.get(link.name) == bridge_of(link.name)]
    requests = []
    for nic in chosen:
        if nic not in host.links and bridge_of(nic) not in host.links:
            raise Failure('%s: no such interface' % nic)
        if not nics and nic in host.logins:
            say('%s: left out, you are logged in through it' % nic)
            continue
        devices = (bridge_of(nic), nic)
        endpoints = [
            endpoint_from(host, devices, ipaddress.ip_interface(
                address['address']))
            for device in devices
            for address in host.static_addresses(device)]
        if endpoints:
            requests.append(Request(nic, endpoints))
        elif nics:
            raise Failure('%s: it has no address' % nic)
    if not requests:
        raise Failure('--from-host: no PCI device of this host has an address:'
                      ' name the NICs')
    return requests


def endpoint_from(host, devices, interface):
    """The Endpoint of an address of this host: its gateway is that of the
    table of its own rule, else of table main.  What routers advertise stays
    the kernel's business."""
    rule = host.rule_from(interface.ip)
    tables = ([rule['table']] if rule else []) + [k.TABLE_MAIN]
    for table in tables:
        for route in host.routes_in(interface.version, table):
            if (route['dst'].endswith('/0') and route.get('device') in devices
                    and 'via' in route
                    and route.get('protocol') != move.RTPROT_RA
                    and fits(interface,
                             ipaddress.ip_address(route['via']))):
                return Endpoint(interface,
                                ipaddress.ip_address(route['via']))
    return Endpoint(interface, None)
