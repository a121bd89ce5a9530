# SPDX-License-Identifier: Apache-2.0
"""Figures: rates and rows of what the daemons said."""
import json
import unittest

import view_daemons
from ovs_multinic import figures, way


def sample(at, number=1, **fields):
    """A Sample of the recorded answers, taken at AT."""
    return figures.Sample(**{
        'at': at, 'run': '1', 'host': 'gpu-01',
        'show': json.loads(view_daemons.data('show-%d.json' % number)),
        'problems': json.loads(view_daemons.data('check.json')),
        'coverage': figures.parse_coverage(
            view_daemons.data('coverage-%d.txt' % number)),
        'neighbors': figures.parse_neighbors(
            view_daemons.data('neighbors.txt')), **fields})


def nics(at=None, **counters):
    """The field 'nics' of a sample."""
    return {name: {'link': 'up', 'at': at, 'counters': {'tx-packets': value}}
            for name, value in counters.items()}


def endpoint(view, ip):
    """The row of endpoint IP."""
    return next(row for row in view.endpoints() if row.ip == ip)


def nic(view, name):
    """The row of a NIC."""
    return next(row for row in view.nics() if row.name == name)


class Rates(unittest.TestCase):
    def test_growth(self):
        self.assertEqual(figures.rates({'a': 10}, {'a': 30}, 4), {'a': 5})

    def test_all_unknown_if_one_fell(self):
        self.assertEqual(figures.rates({'a': 10, 'b': 0},
                                       {'a': 9, 'b': 100}, 1), {})

    def test_wrap_is_not_negative(self):
        self.assertEqual(figures.rates({'a': 2 ** 32 - 1}, {'a': 5}, 1), {})

    def test_new_counter(self):
        self.assertEqual(figures.rates({}, {'a': 9}, 1), {})

    def test_no_time(self):
        self.assertEqual(figures.rates({'a': 1}, {'a': 2}, 0), {})


class Slow(unittest.TestCase):
    """What ovs-vswitchd writes down each 5 seconds."""

    def setUp(self):
        self.meter = figures.SlowMeter()

    def feed(self, now, at, value):
        self.meter.feed(now, at, {'a': value}, 5)
        return self.meter.rates.get('a')

    def test_steady(self):
        self.assertIsNone(self.feed(100, None, 1000))
        # It was written down up to 5 seconds before 102, whatever was seen.
        self.assertEqual(self.feed(103, 102, 1500), 100)
        self.assertEqual(self.feed(104, 102, 1500), 100)
        self.assertEqual(self.feed(108, 107, 2000), 100)
        # A little late; the growth is that of 6 seconds.
        self.assertEqual(self.feed(114, 113, 2600), 100)

    def test_quiet_then_busy(self):
        self.feed(100, None, 1000)
        self.assertIsNone(self.feed(107, None, 1000))
        self.assertEqual(self.feed(108, None, 1000), 0)
        # All of it came in the last period.
        self.assertEqual(self.feed(160, 159, 1500), 100)
        self.assertEqual(self.feed(166, 159, 1500), 100)
        self.assertEqual(self.feed(167, 159, 1500), 0)

    def test_reset(self):
        self.feed(100, None, 1000)
        self.feed(103, 102, 1500)
        self.assertIsNone(self.feed(108, 107, 3))
        self.assertEqual(self.feed(113, 112, 503), 100)

    def test_gap(self):
        """The database was away: nobody knows when it changed."""
        self.feed(100, None, 1000)
        self.feed(103, 102, 1500)
        self.assertIsNone(self.feed(150, None, 9000))
        self.assertEqual(self.feed(154, 153, 9500), 100)

    def test_restarted(self):
        """The first values are of an earlier run, the second of this one."""
        self.meter = figures.SlowMeter(restarted=True)
        self.feed(100, 98, 1000)
        self.assertIsNone(self.feed(103, 102, 5000))
        self.assertEqual(self.feed(108, 107, 5500), 100)


class Parse(unittest.TestCase):
    def test_coverage(self):
        self.assertEqual(
            figures.parse_coverage(view_daemons.data('coverage-2.txt')),
            {'tunnel_egress_no_route': 10, 'tunnel_ingress_foreign': 6,
             'tunnel_ingress_refused': 2, 'neighbor_request_sent': 75,
             'encap_registry_build': 3})

    def test_neighbors(self):
        self.assertEqual(
            figures.parse_neighbors(view_daemons.data('neighbors.txt')),
            [{'ip': '10.1.1.254', 'mac': '02:fa:b0:00:01:01',
              'bridge': 'br-nic1', 'stale': False},
             {'ip': '10.1.4.254', 'mac': '02:fa:b0:00:01:04',
              'bridge': 'br-nic4', 'stale': True},
             {'ip': '2001:db8::fe', 'mac': '02:fa:b0:00:01:06',
              'bridge': 'br-nic1', 'stale': False}])

    def test_nothing(self):
        self.assertEqual(figures.parse_coverage(''), {})
        self.assertEqual(figures.parse_neighbors('nonsense\n'), [])


class View(unittest.TestCase):
    def setUp(self):
        self.view = figures.Figures()

    def test_endpoint_rates(self):
        self.view.add(sample(10))
        self.assertEqual(endpoint(self.view, '10.1.1.1').rates, {})
        self.view.add(sample(12, 2))
        row = endpoint(self.view, '10.1.1.1')
        self.assertEqual(row.rates, {'tx-packets': 1000, 'tx-bytes': 1.5e6,
                                     'rx-packets': 100, 'rx-bytes': 10000})
        self.assertEqual(row.share, 0.75)
        # A flow that sent has ended: its sums fell, the others grew.
        self.assertEqual(endpoint(self.view, '10.1.2.1').rates,
                         {'rx-packets': 100, 'rx-bytes': 10000})

    def test_restart(self):
        self.view.add(sample(10))
        self.view.add(sample(12, 2, run='2'))
        for row in self.view.endpoints() + self.view.nics():
            self.assertEqual(row.rates, {})
        for row in self.view.events():
            self.assertIsNone(row.rate)

    def test_restart_with_greater_counters(self):
        self.view.add(sample(10, nics=nics(nic1=100)))
        self.view.add(figures.Sample(at=12, error='ovs-vswitchd: gone'))
        self.view.add(sample(14, run='2', nics=nics(nic1=100)))
        self.view.add(sample(16, run='2', nics=nics(15, nic1=900)))
        self.assertEqual(nic(self.view, 'nic1').rates, {})
        self.view.add(sample(21, run='2', nics=nics(20, nic1=1000)))
        self.assertEqual(nic(self.view, 'nic1').rates, {'tx-packets': 20})

    def test_away(self):
        self.view.add(sample(10))
        self.view.add(figures.Sample(at=12, error='ovs-vswitchd: gone'))
        self.assertFalse(self.view.alive)
        rows = self.view.endpoints() + self.view.nics()
        self.assertEqual(len(rows), 4 + 5)
        for row in rows:
            self.assertEqual((row.state, row.rates), ('unknown', {}))
        self.assertEqual(self.view.events() + self.view.neighbors(), [])
        self.assertIsNone(self.view.problems())
        self.view.add(sample(14))
        self.assertEqual(endpoint(self.view, '10.1.1.1').state, 'up')

    def test_never_there(self):
        self.view.add(figures.Sample(at=12, error='ovs-vswitchd: gone'))
        self.assertEqual(self.view.endpoints() + self.view.nics(), [])

    def test_nics(self):
        self.view.add(sample(10, nics={
            **nics(nic1=1, nic2a=2, nic3=3),
            'nic4': {'link': 'down', 'at': None, 'counters': {}}}))
        self.assertEqual(
            [(row.name, row.bridge, row.state, row.endpoints)
             for row in self.view.nics()],
            [('nic1', 'br-nic1', 'up', ['10.1.1.1']),
             ('nic2a', 'br-nic2', 'up', ['10.1.2.1']),
             ('nic2b', 'br-nic2', 'down', ['10.1.2.1']),
             # The daemon says so, whatever the database does.
             ('nic3', 'br-nic3', 'down', ['10.1.3.1']),
             ('nic4', 'br-nic4', 'down', ['10.1.4.1'])])

    def test_nics_without_endpoints(self):
        """The endpoint is on lo, the NICs on bridges with other addresses."""
        show = json.loads(view_daemons.data('show-lo.json'))
        for known in show['uplinks'], None:
            if known is None:   # As an older ovs-vswitchd says it.
                del show['uplinks']
            self.view.add(sample(10, show=show, nics=nics(nic1=1)))
            self.assertEqual(
                [(row.name, row.bridge, row.state, row.endpoints, row.totals)
                 for row in self.view.nics()],
                [('nic1', 'br-nic1', 'up', [], {'tx-packets': 1}),
                 ('nic2', 'br-nic2', 'up', [], {})] if known else [])

    def test_nics_of_both_kinds(self):
        """Each once, those of endpoints first."""
        one = sample(10)
        one.show['uplinks'] = [
            {'name': name, 'up': True, 'eswitch': None, 'numa': None,
             'bridge': 'br-' + name} for name in ('new', 'nic1', 'nic4')]
        self.view.add(one)
        self.assertEqual(
            [(row.name, row.bridge, row.endpoints)
             for row in self.view.nics()],
            [('nic1', 'br-nic1', ['10.1.1.1']),
             ('nic2a', 'br-nic2', ['10.1.2.1']),
             ('nic2b', 'br-nic2', ['10.1.2.1']),
             ('nic3', 'br-nic3', ['10.1.3.1']),
             ('nic4', 'br-nic4', ['10.1.4.1']), ('new', 'br-new', [])])

    def test_shared_nic(self):
        one = sample(10)
        one.show['endpoints'][1]['uplinks'] = \
            one.show['endpoints'][0]['uplinks']
        self.view.add(one)
        self.assertEqual(nic(self.view, 'nic1').endpoints,
                         ['10.1.1.1', '10.1.2.1'])

    def test_events(self):
        self.view.add(sample(10))
        self.view.add(sample(12, 2))
        self.assertEqual(
            [(row.name, row.drop, row.total, row.rate)
             for row in self.view.events()],
            [('tunnel_egress_no_route', True, 10, 3),
             # It was 0, and so was not listed.
             ('tunnel_ingress_refused', True, 2, 1),
             ('encap_registry_build', False, 3, 1.5),
             ('neighbor_request_sent', False, 75, 0.5),
             ('tunnel_ingress_foreign', False, 6, 0)])

    def test_neighbors(self):
        ways = [way.Way('10.1.2.1', '10.2.1.1', 't', None, 'unresolved', '',
                        'br-nic2', '10.1.2.254'),
                way.Way('10.1.1.1', '10.2.1.1', 't', None, 'ok', '',
                        'br-nic1', '10.1.1.254', '02:fa:b0:00:01:01'),
                way.Way('10.1.3.1', '10.2.1.1', 't', None, 'dropped', '')]
        self.view.add(sample(10, ways=ways))
        self.assertEqual(
            [(row.ip, row.bridge, row.mac, row.stale)
             for row in self.view.neighbors()],
            [('10.1.1.254', 'br-nic1', '02:fa:b0:00:01:01', False),
             ('2001:db8::fe', 'br-nic1', '02:fa:b0:00:01:06', False),
             ('10.1.2.254', 'br-nic2', None, False),
             ('10.1.4.254', 'br-nic4', '02:fa:b0:00:01:04', True)])
        self.assertEqual([(row.reached, row.remotes)
                          for row in self.view.endpoints()],
                         [(1, 1), (0, 1), (0, 1), (0, 0)])

    def test_endpoint_goes(self):
        self.view.add(sample(10))
        two = sample(12, 2)
        gone = two.show['endpoints'].pop(0)
        self.view.add(two)
        three = sample(14, 2)
        three.show['endpoints'][0] = gone
        self.view.add(three)
        self.assertEqual(endpoint(self.view, gone['ip']).rates, {})

    def test_settled(self):
        self.view.add(sample(10, nics=nics(nic1=1)))
        self.assertFalse(self.view.settled)
        self.view.add(sample(12, nics=nics(nic1=1)))
        self.assertFalse(self.view.settled)
        self.view.add(sample(18, nics=nics(nic1=1)))
        self.assertTrue(self.view.settled)


class Sort(unittest.TestCase):
    def setUp(self):
        self.view = figures.Figures()
        self.view.add(sample(10))
        self.view.add(sample(12, 2))

    def order(self, *arguments):
        return [row.ip.split('.')[2] for row in
                figures.sort(self.view.endpoints(), *arguments)]

    def test_each_key(self):
        self.assertEqual(self.order('name'), ['1', '2', '3', '4'])
        self.assertEqual(self.order('name', True), ['4', '3', '2', '1'])
        self.assertEqual(self.order('state'), ['3', '1', '2', '4'])
        self.assertEqual(self.order('rx'), ['1', '2', '3', '4'])
        self.assertEqual(self.order('rx', True), ['3', '4', '1', '2'])

    def test_unknown_is_last(self):
        self.assertEqual(self.order('tx'), ['1', '3', '4', '2'])
        self.assertEqual(self.order('tx', True), ['3', '4', '1', '2'])
        self.assertEqual(self.order('offload'), ['1', '2', '3', '4'])
        self.assertEqual(self.order('offload', True), ['2', '1', '3', '4'])

    def test_rows_without_the_figure(self):
        for key in figures.SORTS:
            self.assertEqual(len(figures.sort(self.view.nics(), key)), 5)


if __name__ == '__main__':
    unittest.main()
