# SPDX-License-Identifier: Apache-2.0
"""What "top" shows, as text."""
import argparse
import io
import os
import re
import textwrap
import unittest

import test_view_figures
import view_daemons
from ovs_multinic import figures, screen, view, way


def lines(shown, **how):
    """The sheet of a Figures as lines of text."""
    return [line for line, _ in screen.sheet(shown, '12:34:56', **how)]


def two_samples(**fields):
    """Figures of two samples, two seconds apart."""
    shown = figures.Figures()
    shown.add(test_view_figures.sample(10, **fields))
    shown.add(test_view_figures.sample(12, 2, **fields))
    return shown


class Text(unittest.TestCase):
    def test_number(self):
        for value, text in ((None, '-'), (0, '0'), (999, '999'),
                            (0.25, '0.2'), (1.5, '1.5'), (12.34, '12.3'),
                            (999.4, '999'), (999.6, '1.00k'), (1000, '1.00k'),
                            (9994, '9.99k'), (9996, '10.0k'),
                            (99940, '99.9k'), (99960, '100k'),
                            (999600, '1.00M'), (2.5e9, '2.50G'),
                            (1e18, '1.00E'), (2 ** 64, '18.4E')):
            self.assertEqual(screen.number(value), text, value)

    def test_share(self):
        for value, text in ((None, '-'), (0, '0%'), (1, '100%'),
                            (0.5, '50%'), (0.001, '1%'), (0.999, '99%')):
            self.assertEqual(screen.share(value), text)

    def test_safe(self):
        self.assertEqual(screen.safe('a\x1b[2Jb\n\u202ec\ud800é'),
                         'a?[2Jb??c?é')


class Table(unittest.TestCase):
    COLUMNS = [screen.Column('A', lambda row: row[0]),
               screen.Column('BB', lambda row: row[1], 2, True),
               screen.Column('C', lambda row: row[2], 1)]
    ROWS = [('one', '1', 'x'), ('two', '222', '')]

    def test_all(self):
        self.assertEqual(screen.table(self.COLUMNS, self.ROWS),
                         ['A     BB  C', 'one    1  x', 'two  222'])

    def test_narrow(self):
        self.assertEqual(screen.table(self.COLUMNS, self.ROWS, 10),
                         ['A    C', 'one  x', 'two'])
        self.assertEqual(screen.table(self.COLUMNS, self.ROWS, 3),
                         ['A', 'one', 'two'])
        self.assertEqual(screen.table(self.COLUMNS, self.ROWS, 2),
                         ['A', 'on', 'tw'])

    def test_every_width(self):
        shown = two_samples()
        for width in range(1, 200):
            for line in lines(shown, width=width):
                self.assertLessEqual(len(line), width)


class Sheet(unittest.TestCase):
    def find(self, found, start):
        """The words of the one line that begins so."""
        line, = [line for line in found if line.startswith(start)]
        return line.split()

    def test_rates(self):
        found = lines(two_samples())
        self.assertEqual(found[0], 'ovs-multinic top   gpu-01   12:34:56')
        self.assertEqual(
            self.find(found, '10.1.1.1 *'),
            ['10.1.1.1', '*', 'up', 'br-nic1', '1.00k', '1.50M', '100',
             '10.0k', '4', '-', '8', '75%', '9000'])
        self.assertEqual(self.find(found, '10.1.2.1')[3:7],
                         ['-', '-', '100', '10.0k'])
        self.assertEqual(self.find(found, '10.1.3.1')[-3:],
                         ['has', 'a', 'link'])
        self.assertEqual(self.find(found, 'tunnel_egress_no_route'),
                         ['tunnel_egress_no_route', 'translations', '3',
                          '10'])
        self.assertEqual(self.find(found, 'tunnel_ingress_refused')[:2],
                         ['tunnel_ingress_refused', 'packets'])
        self.assertEqual(self.find(found, 'nic2b')[:3],
                         ['nic2b', 'down', 'br-nic2'])
        self.assertIn('encap/check: 1 error, 1 warning, 1 info', found)
        self.assertIn('select pin, nic, default, route   failover off'
                      '   strict-rx on', found)

    def test_totals(self):
        found = lines(two_samples(), totals=True)
        self.assertEqual(self.find(found, '10.1.1.1 *')[4:8],
                         ['3.00k', '4.00M', '700', '70.0k'])

    def test_sorted(self):
        found = lines(two_samples(), key='state')
        self.assertEqual([line.split()[0] for line in found
                          if line.startswith('10.1.') and '.1 ' in line],
                         ['10.1.3.1', '10.1.1.1', '10.1.2.1', '10.1.4.1'])
        self.assertTrue(found[0].endswith('by state'))

    def test_reason_on_a_narrow_screen(self):
        self.assertIn('10.1.3.1: no uplink of br-nic3 has a link',
                      lines(two_samples(), width=60))

    def test_neighbors(self):
        ways = [way.Way('10.1.2.1', '10.2.1.1', 't', None, 'unresolved', '',
                        'br-nic2', '10.1.2.254')]
        found = lines(two_samples(ways=ways))
        self.assertEqual(self.find(found, '10.1.2.254'),
                         ['10.1.2.254', 'br-nic2', 'missing'])
        self.assertEqual(self.find(found, '10.1.4.254')[-1], '(stale)')
        self.assertIn('0/1', self.find(found, '10.1.2.1'))

    def test_away(self):
        shown = two_samples()
        shown.add(figures.Sample(at=14, error='ovs-vswitchd: gone',
                                 database_error='db: gone'))
        found = lines(shown)
        self.assertIn('ovs-vswitchd: gone', found)
        self.assertIn('db: gone', found)
        self.assertEqual(self.find(found, '10.1.1.1')[2:8],
                         ['unknown', 'br-nic1', '-', '-', '-', '-'])

    def test_nothing(self):
        shown = figures.Figures()
        shown.add(figures.Sample(at=14, error='ovs-vswitchd: gone'))
        self.assertEqual(len(lines(shown)), 2)
        shown.add(figures.Sample(at=16, run='1', show={
            'order': [], 'failover': True, 'strict-rx': False,
            'endpoints': [], 'pins': []}))
        self.assertIn('no endpoint: routing alone decides', lines(shown))

    def test_hostile_names(self):
        one = test_view_figures.sample(10)
        one.show['endpoints'][0].update(bridge='\x1b[2J', reason='\r\n')
        one.show['endpoints'][0]['uplinks'][0]['name'] = '\x1b]0;x\x07'
        one.host = '\x1b[H'
        shown = figures.Figures()
        shown.add(one)
        for width in None, 60:
            for line in lines(shown, width=width):
                self.assertTrue(line.isprintable(), line)


class Document(unittest.TestCase):
    def test_sample(self):
        """The screen in the documentation is one that can be."""
        def nics(at, *values):
            return {name: {'link': 'up', 'at': at, 'counters': dict(zip(
                figures.COUNTERS + figures.LOSSES, counters))}
                for name, counters in zip(('nic1', 'nic2a', 'nic4'), values)}

        ways = [way.Way('10.1.%d.1' % i, '10.2.%d.1' % j, 't', None,
                        ('ok', 'unresolved', 'dropped', 'ok')[i - 1], '',
                        'br-nic%d' % i if i != 3 else None,
                        '10.1.%d.254' % i if i != 3 else None)
                for i in (1, 2, 3, 4) for j in (1, 2, 3, 4)]
        shown = figures.Figures()
        shown.add(test_view_figures.sample(
            10, ways=ways, nics=nics(None, [0] * 8, [0] * 8, [0] * 8)))
        shown.add(test_view_figures.sample(12, 2, ways=ways, nics=nics(
            11, [5200, 7800000, 600, 60000, 0, 0, 0, 0],
            [400, 40000, 550, 55000, 0, 10, 0, 0], [0] * 8)))
        with open(os.path.join(view_daemons.TOP, 'Documentation',
                               'ovs-multinic-view.rst'),
                  encoding='utf-8') as stream:
            block = re.search(r'^    ovs-multinic top .*?(?=^\S)',
                              stream.read(), re.MULTILINE | re.DOTALL)
        documented = textwrap.dedent(block.group()).rstrip().splitlines()
        self.assertEqual(documented,
                         [line.rstrip() for line in lines(shown, width=75)])


class Batch(unittest.TestCase):
    """The loop of --once and --batch, with recorded samples."""

    def run_batch(self, samples, interval=2, **how):
        samples = iter(samples)
        waits = []

        class Source:
            @staticmethod
            def sample():
                return next(samples)

            @staticmethod
            def wait(seconds):
                waits.append(seconds)

        out = io.StringIO()
        arguments = argparse.Namespace(**{
            'interval': interval, 'once': True, 'totals': False,
            'sort': 'name', **how})
        return view.batch(Source, arguments, out), out.getvalue(), waits

    def nics(self, at, value):
        return {'nic1': {'link': 'up', 'at': at,
                         'counters': {'tx-packets': value, 'tx-bytes': 0,
                                      'rx-packets': 0, 'rx-bytes': 0}}}

    def test_once_waits_for_rates(self):
        samples = [
            test_view_figures.sample(10, nics=self.nics(None, 1000)),
            test_view_figures.sample(12, 2, nics=self.nics(None, 1000)),
            test_view_figures.sample(14, 2, nics=self.nics(13, 1500)),
            test_view_figures.sample(16, 2, nics=self.nics(13, 1500))]
        # An ended flow leaves a rate unknown in the second sample.
        alive, text, waits = self.run_batch(samples)
        self.assertTrue(alive)
        self.assertEqual(waits, [2, 2])
        self.assertRegex(text, r'\nnic1 +up +br-nic1 +100 +0 +0 +0 ')

    def test_once_does_not_wait_for_ever(self):
        samples = [test_view_figures.sample(at, run=str(at))
                   for at in range(10, 100, 2)]
        _, text, waits = self.run_batch(samples)
        self.assertLessEqual(len(waits), 8)
        self.assertIn('ENDPOINT', text)

    def test_once_totals_at_once(self):
        _, text, waits = self.run_batch([test_view_figures.sample(10)],
                                        totals=True)
        self.assertEqual(waits, [])
        self.assertIn('1.00M', text)

    def test_once_away(self):
        alive, text, _ = self.run_batch(
            [figures.Sample(at=14, error='ovs-vswitchd: gone')])
        self.assertFalse(alive)
        self.assertIn('gone', text)


class Arguments(unittest.TestCase):
    def test_interval(self):
        self.assertEqual(view.seconds('0.5'), 0.5)
        for bad in '0', '-1', 'x', 'nan', 'inf', '3601', '':
            with self.assertRaises(argparse.ArgumentTypeError) as caught:
                view.seconds(bad)
            self.assertIn(bad, str(caught.exception))


if __name__ == '__main__':
    unittest.main()
