# SPDX-License-Identifier: Apache-2.0
"""Moves addresses from one interface to another with the routes by it.

When an address goes, the kernel also deletes the routes that name it as their
source, IPv4 addresses of the same subnet that came after it, and, with the
last IPv4 address, all IPv4 routes of that interface.
"""
import ipaddress

from ovs_multinic import kernel as k
from ovs_multinic.errors import Failure

RTPROT_RA = 9


def movable(route):
    """Whether ROUTE is one that somebody wants: not one that the kernel keeps
    for each address or link, nor one of a router's advertisement."""
    network = ipaddress.ip_network(route['dst'])
    return not (route['table'] == k.TABLE_LOCAL or network.is_multicast
                or (network.is_link_local and network.version == 6)
                or route.get('protocol') == RTPROT_RA)


def why_not(route):
    """Why add_routes() cannot make a ROUTE like that, or None."""
    return 'has %s' % route['other'] if 'other' in route else \
        'has several next hops' if 'hops' in route else None


def routes_by(kernel, device):
    """The routes by DEVICE that can be moved."""
    return [route for family in (4, 6)
            for route in kernel.routes(family, device)
            if movable(route) and 'hops' not in route]


def arrange(addresses):
    """ADDRESSES in the order in which they must be added so that the kernel
    lists them like this again: it puts a new IPv6 address first."""
    return [address for address in addresses
            if k.version_of(address['address']) == 4] + [
                address for address in reversed(addresses)
                if k.version_of(address['address']) == 6]


def leading(kernel, routes):
    """Those of the IPv4 ROUTES that come before others of the same prefix and
    metric, by other interfaces maybe: the kernel takes the first."""
    def key(route):
        return route['table'], route['dst'], route.get('tos'), \
            route.get('metric')

    wanted = [route for route in routes if route['family'] == 4]
    first = {}
    for table in {route['table'] for route in wanted}:
        for route in kernel.routes(4, table=table):
            first.setdefault(key(route), route)
    return [route for route in wanted if first.get(key(route)) == route]


def add_routes(kernel, routes, device, first=()):
    """Adds ROUTES by DEVICE, those that others need to reach their gateway
    first.  Those that are in FIRST, too, come before others of their prefix
    and metric.  Returns lines about those that the kernel refuses."""
    problems = []
    for route in sorted(routes, key=lambda route: 'via' in route):
        try:
            kernel.add_route({**route, 'device': device},
                             first=route in first)
        except Failure as failure:
            problems.append(str(failure))
    return problems


def refuse_unreachable(kernel, routes, device):
    """Fails if the kernel would not take one of ROUTES, by DEVICE, again: the
    subnet of its gateway has gone meanwhile."""
    subnets = [ipaddress.ip_network(route['dst']) for family in (4, 6)
               for route in kernel.routes(family, device)
               if 'via' not in route]
    subnets += [ipaddress.ip_interface(address['address']).network
                for address in kernel.addresses(device)]
    for route in routes:
        gateway = ipaddress.ip_address(route.get('via', '::'))
        if 'via' in route and not gateway.is_link_local \
                and not route.get('flags', 0) & k.RTNH_F_ONLINK \
                and not any(gateway in subnet for subnet in subnets):
            raise Failure('%s: its gateway is on no subnet of %s, so it could'
                          ' not be moved: delete it, or make it "onlink"'
                          % (k.route_text(route), device))


def move(kernel, addresses, routes, source, target):
    """Moves ADDRESSES and ROUTES, as kernel.py has them, from SOURCE to
    TARGET.  Each may be None: addresses that are on SOURCE no more, or that
    go for good.  What else is on SOURCE stays there, but for routes that need
    one of ADDRESSES.  Goes on if the kernel refuses a route; fails then."""
    first = []
    if source:
        home = [{**route, 'device': source} for route in routes]
        there = leading(kernel, home)
        first = [route for route, one in zip(routes, home) if one in there]
        others = [address for address in kernel.addresses(source)
                  if address['address'] not in [
                      address['address'] for address in addresses]]
        other_routes = [route for route in routes_by(kernel, source)
                        if target is None or not any(
                            {**route, 'device': target} ==
                            {**moved, 'device': target} for moved in routes)]
        # The last first: the kernel has no reason to delete more.
        for address in reversed(addresses):
            kernel.delete_address(source, address)
        if target:
            for route in routes:
                kernel.delete_route({**route, 'device': source})
    problems = []
    if target:
        for address in arrange(addresses):
            kernel.add_address(target, address, dad=False)
        problems = add_routes(kernel, routes, target, first)
    if source:
        there = [address['address'] for address in kernel.addresses(source)]
        for address in arrange(others):
            if address['address'] not in there:
                kernel.add_address(source, address, dad=False)
        there = routes_by(kernel, source)
        add_routes(kernel, [route for route in other_routes
                            if route not in there and not needs(
                                route, addresses)], source)
    if problems:
        raise Failure('; '.join(problems))


def needs(route, addresses):
    """Whether ROUTE is there because of one of ADDRESSES."""
    interfaces = [ipaddress.ip_interface(address['address'])
                  for address in addresses]
    return any(route.get('src') == str(interface.ip)
               or route['dst'] == str(interface.network)
               for interface in interfaces)
