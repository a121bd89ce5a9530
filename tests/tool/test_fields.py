# SPDX-License-Identifier: Apache-2.0
"""What files of steps may say: each field with values that are wrong."""
import json
import os
import tempfile
import unittest

from ovs_multinic import arguments
from ovs_multinic import endpoints
from ovs_multinic import plan
from ovs_multinic import steps
from ovs_multinic.errors import Failure
from test_main import tool
from test_plan import TWO, a_host, route

MOVED = {'family': 4, 'table': 254, 'dst': '10.9.0.0/16', 'device': 'p',
         'via': '10.0.0.2', 'src': '10.0.0.1', 'metric': 7, 'type': 1,
         'scope': 0, 'protocol': 3, 'tos': 4, 'flags': 4, 'pref': 1,
         'metrics': {'RTAX_MTU': 1400, 'RTAX_CC_ALGO': 'reno'}}

# One of each kind, with all fields.
GOOD = [
    steps.Bridge('br', '02:00:00:00:00:01'), steps.Bridge('br', None),
    steps.Port('p', 'br', 'dpdk', {'dpdk-devargs': 'x'}, 9000),
    steps.Port('p', 'br'), steps.Settings('external_ids', {'a': 'b'}),
    steps.Settings('other_config', {'encap-ip': '10.0.0.1,2001:db8::1',
                                    'encap-ip-default': '10.0.0.1'}),
    steps.Settings('external_ids', {'ovn-encap-ip-host7': '10.0.0.1'}),
    steps.Dpdk(), steps.Dpdk(values={'dpdk-init': 'true'}),
    steps.Addresses('br', 'p', ['10.0.0.1/24', '2001:db8::1/128'], [MOVED]),
    steps.Route(7, '10.0.0.0/8', 'br', '10.0.0.1'),
    steps.Route(7, '0.0.0.0/0', 'br', '10.0.0.1', '10.9.9.9', True),
    steps.Route(0xffffffff, '::/0', 'br', '2001:db8::1', 'fe80::1'),
    steps.Rule(9, '10.0.0.1/32', 7), steps.Rule(9, '2001:db8::1/128', 7),
    steps.Sysctl('net/ipv4/conf/br.7/rp_filter', '2'),
    steps.Sysctl('net/ipv4/conf/br-nic1/arp_notify', '-1'), steps.Up('p')]

# By kind and field: what is refused.
TEXTS = (None, 7, True, [], {})
NAMES = ('', 'a/b', 'a b', 'a\n', '..', 'x' * 16, *TEXTS)
ADDRESSES = ('', '10.0.0', '10.0.0.1/8', 'fe80::1%br', '10.0.0.256', 'x',
             *TEXTS[1:])
NUMBERS = (-1, '7', 7.5, True, None, 1 << 32)
TABLES = (0, *NUMBERS)
PREFIXES = ('10.0.0.1/8', '10.0.0.0/33', '10.0.0.0', '10/8', '::1/64',
            '10.0.0.0/255.0.0.0', *TEXTS)
BAD = {
    'bridge': {'name': NAMES, 'hwaddr': ('', '02:00', '02-00-00-00-00-01',
                                         *TEXTS[1:])},
    'port': {'name': NAMES, 'bridge': NAMES,
             'type': ('internal', 'vhost-user', *TEXTS),
             'options': (None, [], 'x', {'a': 7}, {'a': None}),
             'mtu': (67, 65536, '9000', True)},
    'settings': {'column': ('bridges', '', *TEXTS),
                 'values': ({}, [], None, {'a': 1},
                            {'ovn-encap-ip': '10.0.0.1,10.0.2'},
                            {'ovn-encap-ip': ''},
                            {'ovn-encap-ip-default-me': 'x'},
                            {'encap-ip': '10.0.0.1,'})},
    'dpdk': {'column': ('external_ids', *TEXTS),
             'values': ({}, {'dpdk-init': 'false'}, {'dpdk-extra': 'x'},
                        *TEXTS)},
    'addresses': {'device': NAMES, 'nic': NAMES,
                  'addresses': ([], ['10.0.0.1'], ['10.0.0.1/33'], [None],
                                ['fe80::1%x/64'], ['10.0.0.1/255.0.0.0'],
                                [['10.0.0.1/24']], '10.0.0.1/24', None),
                  'routes': (None, {}, ['x'], [[]], [None])},
    'route': {'table': TABLES, 'dst': PREFIXES, 'device': NAMES,
              'src': (None, *ADDRESSES), 'via': ADDRESSES,
              'onlink': (None, 1, 'yes')},
    'rule': {'priority': (0, 32766, *NUMBERS), 'table': TABLES,
             'source': ('10.0.0.0/24', '10.0.0.1', *PREFIXES)},
    'sysctl': {'name': ('kernel/panic', 'net/ipv4/conf/../../x',
                        'net/ipv4/conf/../ip_forward', '/etc/passwd',
                        'net/ipv4/conf/br/a/b', *TEXTS),
               'value': ('', 'x', '1\n2', *TEXTS)},
    'up': {'device': NAMES},
}
BAD_MOVED = {
    'family': (5, 2, '4', None), 'table': TABLES, 'dst': PREFIXES,
    'device': NAMES, 'via': (None, *ADDRESSES), 'src': (None, *ADDRESSES),
    'metric': NUMBERS, 'type': NUMBERS, 'scope': NUMBERS,
    'protocol': NUMBERS, 'tos': NUMBERS, 'flags': NUMBERS,
    'metrics': ([], {'RTAX_MTU': None}, {'RTAX_MTU': -1}),
}


class Steps(unittest.TestCase):
    def load(self, values):
        """What becomes of VALUES after a way through a file."""
        return steps.from_json('F', json.loads(json.dumps(values)))

    def refuses(self, value, start):
        """VALUE is refused as the second step, with a line of its own."""
        with self.assertRaises(Failure) as caught:
            self.load([GOOD[0].json(), value])
        line = str(caught.exception)
        self.assertTrue(line.startswith('F: step 2' + start), line)
        self.assertNotIn('\n', line)
        self.assertLess(len(line), 200)

    def test_good_ones(self):
        self.assertEqual(self.load([one.json() for one in GOOD]), GOOD)
        self.assertEqual({one.kind for one in GOOD}, set(steps.KINDS))
        self.assertEqual(set(BAD), set(steps.KINDS))

    def test_each_field(self):
        for kind, wrong in BAD.items():
            good = next(one.json() for one in GOOD if one.kind == kind)
            self.assertEqual(set(wrong) | {'kind'}, set(good))
            for name, values in wrong.items():
                for value in values:
                    with self.subTest(kind, field=name, value=value):
                        self.refuses({**good, name: value},
                                     ' (%s): %s: ' % (kind, name))

    def test_each_field_of_a_route_that_moves(self):
        for name, values in BAD_MOVED.items():
            for value in values:
                with self.subTest(field=name, value=value):
                    one = steps.Addresses('br', 'p', ['10.0.0.1/24'],
                                          [MOVED, {**MOVED, name: value}])
                    self.refuses(one.json(),
                                 ' (addresses): routes: 2: %s: ' % name)

    def test_families(self):
        for name, value in (('src', '2001:db8::1'), ('via', 'fe80::1')):
            good = steps.Route(7, '10.0.0.0/8', 'br', '10.0.0.1').json()
            self.refuses({**good, name: value}, ' (route): %s: %s is of'
                         ' another family than 10.0.0.0/8' % (name, value))
            self.refuses(steps.Addresses('b', 'p', ['10.0.0.1/24'], [
                {**MOVED, name: value}]).json(),
                ' (addresses): routes: 1: %s: ' % name)
        self.refuses(steps.Addresses('b', 'p', ['10.0.0.1/24'], [
            {**MOVED, 'family': 6}]).json(),
            ' (addresses): routes: 1: dst: 10.9.0.0/16 is not IPv6')

    def test_fields_that_are_missing_or_too_many(self):
        for one in GOOD:
            self.refuses({**one.json(), 'more': 1},
                         ' (%s): more: no such field' % one.kind)
        self.refuses({'kind': 'up'}, ' (up): device is missing')
        for name in 'family', 'table', 'dst', 'device':
            less = {key: MOVED[key] for key in MOVED if key != name}
            self.refuses(steps.Addresses('b', 'p', ['10.0.0.1/24'],
                                         [less]).json(),
                         ' (addresses): routes: 1: %s is missing' % name)

    def test_no_steps(self):
        for value in ({}, {'kind': 'none'}, {'kind': None}, {'kind': ['up']}):
            self.refuses(value, ': kind: ')
        for value in ([], None, 'up', 7):
            self.refuses(value, ' is not an object')

    def test_what_plans_make_is_good(self):
        there = a_host(addresses={'nic1': [{'address': '10.1.1.1/24'}]},
                       routes=[route(254, '0.0.0.0/0', 'nic1', protocol=4,
                                     via='10.1.1.254', metrics={
                                         'RTAX_MTU': 1400})])
        for options in ({}, {'ovn': False}, {'dpdk': True}, {'mtu': 9000}):
            made, _notes = plan.make(
                endpoints.parse([*TWO, 'nic2,2001:db8::1/128,fe80::1']),
                plan.Options(**options), there)
            self.assertEqual(self.load([one.json() for one in made]), made)


class Files(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = os.path.join(directory.name, 'plan')

    def write(self, value):
        """Makes VALUE the contents."""
        with open(self.path, 'w') as stream:
            json.dump(value, stream)

    def test_load(self):
        made, _notes = plan.make(endpoints.parse(TWO), plan.Options(),
                                 a_host())
        self.write(json.loads(arguments.to_json(made)))
        self.assertEqual(arguments.load(self.path), made)
        for value in ('', '[]', '{}', '{"version": 1}', '[' * 100000,
                      '{"version": 1, "steps": 7}'):
            with open(self.path, 'w') as stream:
                stream.write(value)
            with self.assertRaises(Failure) as caught:
                arguments.load(self.path)
            self.assertEqual(str(caught.exception), self.path +
                             ': it is no plan of ovs-multinic')

    def test_apply_asks_nobody(self):
        """There is no daemon here, and no state file comes to be."""
        one = steps.Addresses('br', 'p', ['10.0.0.1/240'])
        self.write({'version': 1, 'steps': [one.json()]})
        state = self.path + '.state'
        self.assertEqual(
            tool('apply', '--state', state, '--plan', self.path),
            (1, '', "ovs-multinic: %s: step 1 (addresses): addresses:"
             " ['10.0.0.1/240'] is not a list of addresses with prefix"
             " lengths\n" % self.path))
        self.assertEqual(os.listdir(os.path.dirname(self.path)), ['plan'])
