# SPDX-License-Identifier: Apache-2.0
"""Puts back what the kernel drops of an interface that stays.

An interface that goes down and up again, as ovs-vswitchd does with that of a
bridge to give it another MAC address, has lost its routes, permanent
neighbours and its IPv6 addresses (but for keep_addr_on_down) then; IPv4
addresses stay.  Without IPv6 (disable_ipv6) it loses all of that family.
"""
import contextlib
import ipaddress

from ovs_multinic import kernel as k
from ovs_multinic import move
from ovs_multinic import probe
from ovs_multinic.errors import Failure


def inventory(kernel, device, families=(4, 6)):
    """What is on DEVICE and could be put back there, as JSON values."""
    link = kernel.links().get(device)
    routes = routes_by(kernel, device, families)
    return {
        'mac': link and link.mac,
        'addresses': [address for address in kernel.addresses(device)
                      if k.version_of(address['address']) in families],
        'routes': routes,
        'first': move.leading(kernel, routes),
        'neighbors': [neighbor for neighbor in kernel.neighbors(device)
                      if k.version_of(neighbor['ip']) in families]}


def routes_by(kernel, device, families=(4, 6)):
    """The routes that go when DEVICE goes down and do not come by themselves.
    One that leads by another interface, too, waits for this one, unless its
    next hops are objects of their own."""
    return [route for family in families
            for route in kernel.routes(family, device)
            if move.movable(route) and (
                len(route.get('devices', ())) < 2 or 'other' in route)]


def put_back(kernel, device, what):
    """Gives DEVICE again what it lost of WHAT, an inventory(), and tells the
    others on its link if it has another MAC address.  Returns lines about
    what the kernel refuses.  Without DEVICE there is nothing to do."""
    if kernel.index(device) is None:
        return []
    problems = []

    def attempt(function, *arguments, **keywords):
        try:
            function(*arguments, **keywords)
        except Failure as failure:
            problems.append(str(failure))

    up = kernel.links()[device].up
    there = [address['address'] for address in kernel.addresses(device)]
    for address in move.arrange(what['addresses']):
        if address['address'] not in there \
                and not is_made_from(address, what['mac']):
            attempt(kernel.add_address, device, address, ends=True,
                    dad=not up or bool(address.get('flags', 0) & (
                        k.IFA_F_TENTATIVE | k.IFA_F_DADFAILED)))
    if not up:                  # It has no routes and no neighbours.
        return problems
    there = routes_by(kernel, device)
    gone = [route for route in what['routes'] if route not in there]
    problems += ['%s: it is lost, since it %s' % (
        k.route_text(route), move.why_not(route))
        for route in gone if move.why_not(route)]
    problems += move.add_routes(
        kernel, [route for route in gone if not move.why_not(route)], device,
        what['first'])
    # Those of the kernel's own are back, but behind others of their prefix.
    first = move.leading(kernel, what['first'])
    for route in what['first']:
        if route in there and route not in first:
            attempt(kernel.delete_route, route)
            attempt(kernel.add_route, route, first=True)
    there = kernel.neighbors(device)
    for neighbor in what['neighbors']:
        if neighbor not in there:
            attempt(kernel.add_neighbor, device, neighbor)
    mac = kernel.links()[device].mac
    if mac and what['mac'] and mac != what['mac']:
        probe.announce(device, mac, [
            address['address'].split('/')[0]
            for address in what['addresses']
            if not is_made_from(address, what['mac'])])
    return problems


def is_made_from(address, mac):
    """Whether ADDRESS is the link-local one that the kernel makes of a MAC
    address (RFC 4291, appendix A).  It makes one itself where it should."""
    ip = ipaddress.ip_interface(address['address']).ip
    if ip.version == 4 or not ip.is_link_local or not mac:
        return False
    octets = bytes.fromhex(mac.replace(':', ''))
    return ip.packed[8:] == bytes([octets[0] ^ 2]) + octets[1:3] \
        + b'\xff\xfe' + octets[3:]


@contextlib.contextmanager
def kept(kernel, device):
    """Puts back at the end what DEVICE lost meanwhile.  Fails if the kernel
    refuses some of it."""
    what = inventory(kernel, device)
    try:
        yield
    finally:
        problems = put_back(kernel, device, what)
    if problems:
        raise Failure('; '.join(problems))


def refuse_lossy(kernel, device):
    """Fails if DEVICE has a route that could not be put back."""
    for route in routes_by(kernel, device):
        why = move.why_not(route)
        if why:
            raise Failure('%s: with another MAC address it would lose "%s",'
                          ' which cannot be put back: it %s'
                          % (device, k.route_text(route), why))
