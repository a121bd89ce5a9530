# SPDX-License-Identifier: Apache-2.0
"""Settings of the kernel: sysctls, links, addresses, routes and rules."""
import dataclasses
import ipaddress
import os

from ovs_multinic import keep
from ovs_multinic import kernel as k
from ovs_multinic import move
from ovs_multinic import probe
from ovs_multinic.errors import Failure
from ovs_multinic.step import Step, wait_for


@dataclasses.dataclass
class Sysctl(Step):
    """A file below /proc/sys.  NAME has slashes: interfaces may have dots.
    What an interface loses without IPv6 comes back with it, but for what
    routers advertise."""

    kind = 'sysctl'
    IDENTITY = ('name',)
    name: str
    value: str

    def text(self):
        return 'sysctl %s=%s' % (self.name, self.value)

    def differences(self, system):
        now = self.now(system)
        yield 'sysctl ' + self.name, 'it is %s, but %s was applied' % (
            'gone' if now is None else now, self.value)

    def before(self, system):
        now = self.now(system)
        words = self.name.split('/')
        if words[:3] != ['net', 'ipv6', 'conf'] \
                or words[-1] != 'disable_ipv6':
            return now
        lost = keep.inventory(system.kernel, words[-2], (6,))
        lost['addresses'] = [address for address in lost['addresses']
                             if 'lifetime' not in address]
        return {'value': now, 'device': words[-2], 'lost': lost}

    def now(self, system):
        """The value, or None."""
        try:
            with open(os.path.join(system.proc, self.name)) as stream:
                return stream.read().strip()
        except FileNotFoundError:
            return None

    def write(self, system, value):
        """Writes VALUE."""
        try:
            with open(os.path.join(system.proc, self.name), 'w') as stream:
                stream.write(value)
        except OSError as error:
            raise Failure('sysctl %s: %s' % (self.name, error.strerror)) \
                from None

    def is_set(self, system):
        return self.now(system) == self.value

    def set(self, system):
        self.write(system, self.value)

    def unset(self, system, before):
        now = self.now(system)
        more = before if isinstance(before, dict) else {'value': before}
        if now is None or now == more['value']:
            return None
        if now != self.value:
            return 'sysctl %s: left at %s' % (self.name, now)
        self.write(system, more['value'])
        return '; '.join(keep.put_back(
            system.kernel, more['device'], more['lost'])
            if 'lost' in more else ()) or None


@dataclasses.dataclass
class Up(Step):
    """An interface that is administratively up."""

    kind = 'up'
    IDENTITY = ('device',)
    device: str

    def text(self):
        return 'link set %s up' % self.device

    def is_set(self, system):
        link = system.kernel.links().get(self.device)
        return bool(link and link.up)

    def before(self, system):
        return {'up': self.is_set(system)}

    def set(self, system):
        system.kernel.set_link(self.device, state='up')

    def unset(self, system, before):
        if not before['up'] and self.is_set(system):
            row = system.database.row('Bridge', self.device)
            others = system.kernel.own_addresses(self.device)
            if others and row:          # The bridge stays, too.
                return '%s: left up, it has address %s' % (
                    self.device, ', '.join(others))
            with keep.kept(system.kernel, self.device):
                system.kernel.set_link(self.device, state='down')
        return None


@dataclasses.dataclass
class Addresses(Step):
    """ADDRESSES on DEVICE, and no longer on NIC, from where they are moved
    with the routes by it, all at once.  ROUTES, as kernel.py has them, are
    those routes; they are added, but not watched."""

    kind = 'addresses'
    IDENTITY = ('device',)
    device: str
    nic: str
    addresses: list
    routes: list = dataclasses.field(default_factory=list)

    def text(self):
        return '; '.join('addr add %s dev %s' % (address, self.device)
                         for address in self.addresses)

    def on(self, system, device):
        """Those of ADDRESSES that DEVICE has, as kernel.py has them."""
        return [address for address in system.kernel.addresses(device)
                if address['address'] in self.addresses]

    def is_set(self, system):
        now = self.on(system, self.device)
        return len(now) == len(self.addresses) \
            and not self.on(system, self.nic) \
            and not any(address.get('flags', 0) & k.IFA_F_TENTATIVE
                        or refused(address) for address in now)

    def before(self, system):
        moved = self.on(system, self.nic)
        return {'there': [address['address'] for address in
                          self.on(system, self.device)],
                'moved': moved,
                'routes': [route for route in move.routes_by(
                    system.kernel, self.nic) if moved
                    or route.get('protocol') != k.RTPROT_KERNEL]}

    def merged(self, recorded, before):
        # What has come to the NIC since returns there, too.
        return {**recorded, **{key: recorded[key] + [
            one for one in before[key] if one not in recorded[key]]
            for key in ('moved', 'routes')}}

    def set(self, system):
        before = self.before(system)
        moved = [address['address'] for address in before['moved']]
        fresh = [ipaddress.ip_interface(address)
                 for address in self.addresses
                 if address not in before['there'] + moved]
        for interface in fresh:
            if interface.version == 4:
                probe.refuse_taken(self.device, str(interface.ip))
        if moved or before['routes']:
            self.move_here(system, before)
        for interface in fresh:
            address = {'address': str(interface)}
            if interface.version == 4 and interface.network.prefixlen < 31:
                address['broadcast'] = str(
                    interface.network.broadcast_address)
            system.kernel.add_address(self.device, address)

    def move_here(self, system, before):
        """Moves what is on the NIC; if that fails, back at once."""
        what = system.kernel, before['moved'], before['routes']
        move.refuse_unreachable(system.kernel, before['routes'], self.nic)
        try:
            move.move(*what, self.nic, self.device)
        except Exception:
            move.move(*what, self.device, self.nic)
            raise

    def verify(self, system):
        def decided():
            return self.is_set(system) or any(
                refused(address)
                for address in self.on(system, self.device))
        wait_for(decided)
        for address in self.on(system, self.device):
            if refused(address):
                raise Failure('address %s on %s: another host has it' % (
                    address['address'], self.device))
        super().verify(system)
        # IPv6 routes need addresses that are verified.
        problems = move.add_routes(system.kernel, self.routes, self.device)
        if problems:
            raise Failure('; '.join(problems))

    def unset(self, system, before):
        kernel = system.kernel
        now = self.on(system, self.device)
        link = kernel.links().get(self.device)
        gone = link is None
        # With its bridge an address is gone without anybody's will; when that
        # is down, all of IPv6 are, and all routes.
        down = gone or not link.up
        back = [address for address in before['moved']
                if gone or address['address'] in [
                    one['address'] for one in now]
                or down and k.version_of(address['address']) == 6]
        home = self.on(system, self.nic)
        left = [address['address'] for address in before['moved']
                if address not in back + home]
        new = [address for address in now
               if address['address'] not in before['there']
               + [one['address'] for one in before['moved']]]
        if new:
            move.move(kernel, new, [], self.device, None)
        if back and kernel.index(self.nic) is None:
            return 'address %s: left, there is no %s' % (
                back[0]['address'], self.nic)
        routes = self.routes_back(system, before, down)
        if back or routes and kernel.index(self.nic) is not None:
            move.move(kernel, back, routes, None if gone else self.device,
                      self.nic)
        return 'address %s: left, it is no longer on %s' % (
            ', '.join(left), self.device) if left else None

    def routes_back(self, system, before, down):
        """The routes that came with the addresses and still are there, or
        all if the bridge is DOWN."""
        if down:
            return before['routes']
        now = [{**route, 'device': self.nic}
               for route in move.routes_by(system.kernel, self.device)]
        return [route for route in before['routes'] if route in now]


def refused(address):
    """Whether IPv6 found ADDRESS on another host."""
    return address.get('flags', 0) & k.IFA_F_DADFAILED


@dataclasses.dataclass
class Route(Step):
    """A route of a table of ours.  ONLINK: the gateway VIA is on the link,
    though no subnet has it.  The metric is 0 for IPv4, 1024 for IPv6, what
    the kernel gives a route without one."""

    kind = 'route'
    IDENTITY = ('table', 'dst')
    table: int
    dst: str
    device: str
    src: str
    via: str = None
    onlink: bool = False

    def route(self):
        """As kernel.py has it."""
        family = k.version_of(self.dst)
        return k.compact(
            family=family, table=self.table, dst=self.dst, device=self.device,
            via=self.via, src=self.src, metric=0 if family == 4 else 1024,
            type=k.RTN_UNICAST, protocol=k.RTPROT_STATIC,
            flags=k.RTNH_F_ONLINK if self.onlink else 0,
            scope=k.RT_SCOPE_LINK if family == 4 and not self.via else 0)

    def text(self):
        return k.route_text(self.route()).replace('route', 'route add', 1)

    def before(self, system):
        ours = self.route()
        return next((route for route in system.kernel.routes(
            ours['family'], table=self.table)
            if route['dst'] == self.dst and 'tos' not in route
            and route.get('metric') == ours.get('metric')), None)

    def matches(self, route):
        """Whether ROUTE leads where this one does."""
        ours = self.route()
        return bool(route) and all(
            route.get(key) == ours.get(key)
            for key in ('device', 'via', 'src', 'type', 'hops'))

    def is_set(self, system):
        return self.matches(self.before(system))

    def set(self, system):
        system.kernel.add_route(self.route(), replace=True)

    def unset(self, system, before):
        now = self.before(system)
        if now is None:
            return None
        if not self.matches(now):
            return '%s: left, it is not as it was set' % k.route_text(now)
        if before and 'hops' not in before:
            system.kernel.add_route(before, replace=True)
        else:
            system.kernel.delete_route(now)
        return None


@dataclasses.dataclass
class Rule(Step):
    """A policy rule that leads what comes from SOURCE to a table."""

    kind = 'rule'
    IDENTITY = ('priority', 'source', 'table')
    priority: int
    source: str
    table: int

    def rule(self):
        """As kernel.py has it."""
        return {'family': k.version_of(self.source), 'table': self.table,
                'priority': self.priority, 'from': self.source}

    def text(self):
        return k.rule_text(self.rule()).replace('rule', 'rule add', 1)

    def is_set(self, system):
        ours = self.rule()
        return any(rule['plain'] and all(rule[key] == ours[key]
                                         for key in ours)
                   for rule in system.kernel.rules(ours['family']))

    def before(self, system):
        return None

    def set(self, system):
        system.kernel.add_rule(self.rule())

    def unset(self, system, before):
        system.kernel.delete_rule(self.rule())
        return None
