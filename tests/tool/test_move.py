# SPDX-License-Identifier: Apache-2.0
"""Moves of addresses, with a kernel that does what a test wants."""
import unittest
from unittest import mock

from ovs_multinic import step
from ovs_multinic import steps
from ovs_multinic.errors import Failure


class Kernel:
    """Addresses and routes by interface.  As the real one it deletes IPv4
    addresses that came later in the same subnet, and all IPv4 routes with the
    last address; it refuses routes to REFUSED by device br."""

    def __init__(self, addresses, routes, refused=()):
        self.there = {'nic': addresses, 'br': []}
        self.by = {'nic': routes, 'br': []}
        self.refused = refused
        self.down = set()

    def index(self, name):
        return 1 if name in self.there else None

    def links(self):
        return {name: mock.Mock(up=name not in self.down)
                for name in self.there}

    def addresses(self, name):
        return list(self.there.get(name, []))

    def routes(self, family, device=None, table=None):
        return [route for routes in ([self.by[device]] if device
                                     else self.by.values())
                for route in routes if route['family'] == family
                and table in (None, route['table'])]

    def add_address(self, name, address, dad=True):
        self.there[name].append(address)

    def delete_address(self, name, address):
        rest = self.there[name]
        if address not in rest:
            return
        where = rest.index(address)
        del rest[where]
        subnet = address['address'].split('.')[:3]
        self.there[name] = rest[:where] + [
            other for other in rest[where:]
            if other['address'].split('.')[:3] != subnet]
        if not self.there[name]:
            self.by[name] = []

    def add_route(self, route, first=False):
        if route['device'] == 'br' and route['dst'] in self.refused:
            raise Failure('%s is refused' % route['dst'])
        self.by[route['device']].append(route)

    def delete_route(self, route):
        if route in self.by[route['device']]:
            self.by[route['device']].remove(route)


def address(text):
    """An address as kernel.py has it."""
    return {'address': text}


def route(dst, **fields):
    """A route as kernel.py has it."""
    return {'family': 4, 'table': 254, 'dst': dst, 'device': 'nic', **fields}


A, B, C = (address('10.1.1.%d/24' % n) for n in (1, 2, 3))
ROUTES = [route('0.0.0.0/0', via='10.1.1.254'),
          route('10.7.0.0/16', src='10.1.1.2')]


class Move(unittest.TestCase):
    def test_there_and_back(self):
        kernel = Kernel([A, B], list(ROUTES))
        system = step.System(kernel, None)
        one = steps.Addresses('br', 'nic', [A['address'], B['address']])
        before = one.before(system)
        one.set(system)
        self.assertEqual(kernel.there, {'nic': [], 'br': [A, B]})
        self.assertEqual(kernel.by['nic'], [])
        self.assertEqual([item['dst'] for item in kernel.by['br']],
                         ['10.7.0.0/16', '0.0.0.0/0'])
        self.assertIsNone(one.unset(system, before))
        self.assertEqual(kernel.there, {'nic': [A, B], 'br': []})
        self.assertEqual(sorted(kernel.by['nic'], key=str),
                         sorted(ROUTES, key=str))

    def test_a_route_that_is_refused(self):
        kernel = Kernel([A, B], list(ROUTES), ['10.7.0.0/16'])
        system = step.System(kernel, None)
        one = steps.Addresses('br', 'nic', [A['address'], B['address']])
        before = one.before(system)
        with self.assertRaises(Failure) as caught:
            one.set(system)
        self.assertEqual(str(caught.exception), '10.7.0.0/16 is refused')
        self.assertIsNone(one.unset(system, before))
        self.assertEqual(kernel.there, {'nic': [A, B], 'br': []})
        self.assertEqual(sorted(kernel.by['nic'], key=str),
                         sorted(ROUTES, key=str))

    def test_an_error_of_any_kind(self):
        """Addresses that are nowhere for a moment come back."""
        class Broken(Kernel):
            """It cannot add addresses to the bridge."""

            def add_address(self, name, address, dad=True):
                if name == 'br':
                    raise OSError('no buffers')
                super().add_address(name, address, dad)

        kernel = Broken([A, B], list(ROUTES))
        one = steps.Addresses('br', 'nic', [A['address'], B['address']])
        with self.assertRaises(OSError):
            one.set(step.System(kernel, None))
        self.assertEqual(kernel.there, {'nic': [A, B], 'br': []})
        self.assertEqual(sorted(kernel.by['nic'], key=str),
                         sorted(ROUTES, key=str))

    def test_what_others_have_on_the_bridge_stays(self):
        kernel = Kernel([A], [])
        system = step.System(kernel, None)
        one = steps.Addresses('br', 'nic', [A['address']])
        before = one.before(system)
        one.set(system)
        kernel.there['br'].append(C)            # Goes with A, but for us.
        kernel.by['br'].append({**route('10.9.0.0/16', src='10.1.1.3'),
                                'device': 'br'})
        self.assertIsNone(one.unset(system, before))
        self.assertEqual(kernel.there, {'nic': [A], 'br': [C]})
        self.assertEqual([item['dst'] for item in kernel.by['br']],
                         ['10.9.0.0/16'])

    def test_what_others_took_away_is_left(self):
        kernel = Kernel([A], list(ROUTES[:1]))
        system = step.System(kernel, None)
        one = steps.Addresses('br', 'nic', [A['address']])
        before = one.before(system)
        one.set(system)
        kernel.by['br'].clear()
        one.unset(system, before)
        self.assertEqual((kernel.there['nic'], kernel.by['nic']), ([A], []))
        one.set(system)
        kernel.there['br'].clear()
        self.assertEqual(one.unset(system, before), 'address 10.1.1.1/24:'
                         ' left, it is no longer on br')

    def test_the_bridge_is_gone(self):
        kernel = Kernel([A], list(ROUTES[:1]))
        system = step.System(kernel, None)
        one = steps.Addresses('br', 'nic', [A['address']])
        before = one.before(system)
        one.set(system)
        del kernel.there['br'], kernel.by['br']
        self.assertIsNone(one.unset(system, before))
        self.assertEqual((kernel.there['nic'], kernel.by['nic']),
                         ([A], ROUTES[:1]))
