# SPDX-License-Identifier: Apache-2.0
"""The three subcommands with a real ovsdb-server, and an ovs-vswitchd that
says what a test wants."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest
import urllib.request
from unittest import mock

import view_daemons
from ovs_multinic import collector
from view_daemons import data, wait_for

MISSING = view_daemons.Hosts.missing()


def trace(arguments):
    """Answers "encap/trace": endpoint 3 is down, 2 has no neighbor."""
    given = dict(argument.split('=', 1) for argument in arguments)
    answer = json.loads(data('trace.json'))
    number = given['tunnel'][1]
    if number == '3':
        answer.update(dropped=True, reason='endpoint 10.1.3.1 is down',
                      by=None, neighbor=None)
    else:
        answer['route']['src'] = '10.1.%s.1' % number
        answer['neighbor'].update(
            ip='10.1.%s.254' % number, bridge='br-nic' + number,
            mac=None if number == '2' else '02:fa:b0:00:01:01')
    return json.dumps(answer)


def statistics(value):
    """The contents of Interface:statistics."""
    return 'statistics={tx_packets=%d,tx_bytes=%d,rx_packets=%d,' \
           'rx_bytes=%d}' % (value, 100 * value, value, 100 * value)


class Terminal:
    """"top" in a terminal of its own, a window of tmux."""

    def __init__(self, hosts):
        self.socket = os.path.join(hosts.directory, 'tmux')
        self.tmux('-f', '/dev/null', 'new-session', '-d', '-x', '120', '-y',
                  '40', 'sh', '-c', 'trap : INT; "$@"; echo "ended $?"; '
                  'exec sleep 1000', 'sh', view_daemons.TOOL, 'top',
                  '--interval', '0.2', '--db', hosts.db, '--target',
                  hosts.socket)

    def tmux(self, *words):
        """Runs tmux; returns what it prints."""
        return subprocess.run(
            ['tmux', '-S', self.socket, *words], check=True, timeout=60,
            env={**os.environ, 'LC_ALL': 'C.UTF-8', 'TERM': 'xterm'},
            stdout=subprocess.PIPE, universal_newlines=True).stdout

    def expect(self, pattern, seconds=20):
        """Waits until PATTERN is on the screen."""
        screen = ''

        def seen():
            nonlocal screen
            screen = self.tmux('capture-pane', '-p')
            return re.search(pattern, screen, re.MULTILINE)

        try:
            wait_for(seen, seconds)
        except AssertionError:
            raise AssertionError('no %r in\n%s' % (pattern, screen)) from None

    def press(self, key):
        """Types KEY."""
        self.tmux('send-keys', key)

    def resize(self, columns, rows):
        """Changes the size of the window."""
        self.tmux('resize-window', '-x', str(columns), '-y', str(rows))

    def status(self):
        """Waits for the end; returns the exit status."""
        self.expect(r'^ended \d+$')
        return int(re.search(r'^ended (\d+)$',
                             self.tmux('capture-pane', '-p'),
                             re.MULTILINE).group(1))

    def close(self):
        """Ends it in any case."""
        self.tmux('kill-server')


@unittest.skipIf(MISSING, MISSING)
class Daemons(unittest.TestCase):
    def setUp(self):
        self.hosts = view_daemons.Hosts()
        self.addCleanup(self.hosts.leave)
        self.hosts.start()
        words = ['init', '--', 'set', 'Open_vSwitch', '.',
                 'external_ids:hostname=gpu-01', '--', 'add-br', 'br-int',
                 '--', 'set', 'Bridge', 'br-int', 'datapath_type=netdev',
                 # The kernel's own tunnel is nobody's business.
                 '--', 'add-br', 'br-k', '--', 'add-port', 'br-k', 'tk',
                 '--', 'set', 'Interface', 'tk', 'type=geneve',
                 'options:local_ip=10.1.1.1', 'options:remote_ip=10.2.9.9']
        for i in 1, 2, 3, 4:
            words += ['--', 'add-br', 'br-nic%d' % i, '--', 'add-port',
                      'br-nic%d' % i, 'nic%d' % i]
            port = 't%d' % i
            words += ['--', 'add-port', 'br-int', port,
                      '--', 'set', 'Interface', port, 'type=geneve',
                      'options:local_ip=10.1.%d.1' % i,
                      'options:remote_ip=10.2.0.1',
                      '--', 'set', 'Port', port,
                      'external_ids:ovn-chassis-id=hv2@10.2.0.1']
        words += ['--', 'set', 'Interface', 'nic1', 'link_state=up',
                  statistics(1000)]
        self.hosts.vsctl(*words)
        self.vswitchd = view_daemons.Vswitchd(self.hosts.socket, {
            'encap/show': data('show-1.json'),
            'encap/check': data('check.json'),
            'encap/trace': trace,
            'coverage/show': data('coverage-1.txt'),
            'tnl/neigh/show': data('neighbors.txt')})
        self.vswitchd.start()
        self.running = True
        self.addCleanup(self.stop)

    def stop(self):
        """Ends "ovs-vswitchd"."""
        if self.running:
            self.vswitchd.stop()
        self.running = False

    def begin(self):
        """Starts it again."""
        self.vswitchd.start()
        self.running = True

    def test_once_totals(self):
        result = self.hosts.tool('top', '--once', '--totals')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertRegex(result.stdout,
                         r'\n10\.1\.1\.1 \* +up +br-nic1 +1\.00k +1\.00M +'
                         r'500 +50\.0k +4 +1/1 +8 +75% +9000\n')
        self.assertRegex(result.stdout,
                         r'\nnic1 +up +br-nic1 +1\.00k +100k +1\.00k +100k')
        self.assertRegex(result.stdout, r'\n10\.1\.2\.254 +br-nic2 +missing')
        self.assertNotIn('\x1b', result.stdout)
        self.assertIn(('encap/trace', ['tunnel=t1', 'format=json']),
                      self.vswitchd.asked)
        self.assertNotIn('tunnel=tk', str(self.vswitchd.asked))

    def test_an_endpoint_without_a_nic(self):
        """It is on lo; the NICs have a bridge all the same."""
        self.vswitchd.answers['encap/show'] = data('show-lo.json')
        result = self.hosts.tool('top', '--once', '--totals')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout,
                         r'\n10\.0\.0\.1 \* +up +lo +0 +0 +0 +0 +2 ')
        self.assertRegex(result.stdout, r'\nnic1 +up +br-nic1 +1\.00k +100k'
                         r' +1\.00k +100k .* -\n')
        self.assertRegex(result.stdout, r'\nnic2 +up +br-nic2 +- .* -\n')
        result = self.hosts.tool('report', '-')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('<h2>NICs</h2>', result.stdout)
        self.assertRegex(result.stdout, r'<td>nic1</td><td>.*>br-nic1<.*'
                         r'<td class="number">1,000</td>'
                         r'<td class="number">100,000</td>')
        text = self.scrape(self.exporter('127.0.0.1:0'))
        for line in ('nic_up{nic="nic1"} 1.0',
                     'nic_info{bridge="br-nic2",eswitch="",nic="nic2",'
                     'numa=""} 1.0',
                     'nic_receive_packets_total{nic="nic1"} 1000.0'):
            self.assertIn('\novs_multinic_%s\n' % line, text)

    def test_once_away(self):
        self.stop()
        result = self.hosts.tool('top', '--once')
        self.assertEqual(result.returncode, 1)
        self.assertIn('cannot connect', result.stdout)
        self.assertEqual(result.stderr, '')

    def test_stock_daemon(self):
        """One that does not know our commands."""
        self.vswitchd.answers = {'coverage/show': data('coverage-1.txt')}
        result = self.hosts.tool('top', '--once')
        self.assertEqual(result.returncode, 1)
        self.assertIn('encap/show: "encap/show" is not a valid command',
                      result.stdout)

    def test_top_needs_a_terminal(self):
        result = self.hosts.tool('top')
        self.assertEqual((result.returncode, result.stderr), (
            1, 'ovs-multinic: not on a terminal: use --once or --batch\n'))

    def terminal(self):
        """A Terminal that is closed in the end."""
        if not shutil.which('tmux'):
            self.skipTest('no tmux')
        terminal = Terminal(self.hosts)
        self.addCleanup(terminal.close)
        return terminal

    def test_live(self):
        terminal = self.terminal()
        terminal.expect(r'^ovs-multinic top   gpu-01 ')
        terminal.expect(r'^10\.1\.1\.1 \* +up +br-nic1 +0 +0 +0 +0 +4 +1/1')
        terminal.press('c')
        terminal.expect(r'^10\.1\.1\.1 \* +up +br-nic1 +1\.00k +1\.00M')
        terminal.press('s')
        terminal.expect(r'by state$')
        terminal.expect(r'^ENDPOINT.*\n10\.1\.3\.1 +down')
        terminal.press('s')
        terminal.expect(r'^ENDPOINT.*\n10\.1\.1\.1 ')
        terminal.resize(50, 10)
        terminal.expect(r'^[0-9]+ more below   q quit')
        terminal.press('End')
        terminal.expect(r'\A(?!ovs-multinic)')
        terminal.expect(r'^10\.1\.2\.254 +br-nic2 +missing')
        terminal.press('Home')
        terminal.expect(r'\Aovs-multinic')
        for size in ((1, 1), (300, 2), (2, 100), (120, 40)):
            terminal.resize(*size)
        terminal.expect(r'^tunnel_egress_no_route +translations +0 +4$')
        terminal.press('q')
        self.assertEqual(terminal.status(), 0)

    def test_what_the_encoding_lacks(self):
        self.hosts.vsctl('set', 'Open_vSwitch', '.',
                         'external_ids:hostname="gpu-\u00fc\u20ac"')
        with mock.patch.dict(os.environ, PYTHONIOENCODING='ascii'):
            result = self.hosts.tool('top', '--once', '--totals')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertTrue(result.stdout.startswith(
            'ovs-multinic top   gpu-\\xfc\\u20ac '), result.stdout)

    def test_a_period_that_is_none(self):
        for period in '9' * 400, '9' * 5000, 'x', '-1', '':
            self.hosts.vsctl('set', 'Open_vSwitch', '.', 'other_config:stats'
                             '-update-interval="%s"' % period)
            result = self.hosts.tool('top', '--once', '--totals')
            self.assertEqual((result.returncode, result.stderr), (0, ''))

    def test_daemons_go_and_come(self):
        terminal = self.terminal()
        terminal.expect(r'^10\.1\.1\.1 \* +up ')
        self.stop()
        terminal.expect(r'cannot connect')
        terminal.expect(r'^10\.1\.1\.1 \* +unknown +br-nic1 +- +- +- +-')
        self.begin()
        terminal.expect(r'^10\.1\.1\.1 \* +up ')
        self.hosts.stop()
        terminal.expect(r'not connected$')
        terminal.expect(r'^10\.1\.1\.1 \* +up ')
        self.hosts.start()
        terminal.expect(r'\A(?:(?!not connected)[^\x00])*\Z')
        terminal.press('q')
        self.assertEqual(terminal.status(), 0)

    def test_interrupt(self):
        terminal = self.terminal()
        terminal.expect(r'^10\.1\.1\.1 ')
        terminal.press('C-c')
        self.assertEqual(terminal.status(), 128 + signal.SIGINT)

    def test_rates_of_a_nic(self):
        terminal = self.terminal()
        terminal.expect(r'^nic1 +up +br-nic1 +- +- +- +- ')
        self.hosts.vsctl('set', 'Interface', 'nic1', statistics(1500))
        # 500 packets in the 5 seconds from one writing to the next.
        terminal.expect(r'^nic1 +up +br-nic1 +100 +10\.0k +100 +10\.0k ')
        terminal.expect(r'^nic1 +up +br-nic1 +0 +0 +0 +0 ')
        # It counts from 0 again.
        self.hosts.vsctl('set', 'Interface', 'nic1', statistics(5))
        terminal.expect(r'^nic1 +up +br-nic1 +- +- +- +- ')

    def test_a_daemon_that_hangs(self):
        terminal = self.terminal()
        terminal.expect(r'^encap/check')
        self.vswitchd.answers['encap/show'] = lambda arguments: time.sleep(30)
        terminal.expect(r'no answer$')
        terminal.press('q')
        self.assertEqual(terminal.status(), 0)

    def test_a_daemon_that_is_slow(self):
        """It is left alone nine times as long as it took."""
        shows = []

        def show(arguments):
            start = time.monotonic()
            time.sleep(0.1)
            shows.append((start, time.monotonic()))
            return data('show-1.json')

        self.vswitchd.answers['encap/show'] = show
        source = collector.Collector(self.hosts.db, self.hosts.socket)
        self.addCleanup(source.close)
        for _ in range(3):
            source.sample()
            source.wait(0.1)
        rests = [after[0] - before[1] for before, after
                 in zip(shows, shows[1:])]
        self.assertEqual(len(rests), 2)
        self.assertGreaterEqual(min(rests), 9 * 0.1)

        # What need not wait, as an exporter that is asked, does not.
        start = time.monotonic()
        source.wait(0)
        self.assertLess(time.monotonic() - start, 9 * 0.1)

    def test_traces_take_turns(self):
        words = []
        for number in range(200):
            name = 't1x%d' % number
            words += ['--', 'add-port', 'br-int', name, '--', 'set',
                      'Interface', name, 'type=geneve',
                      'options:local_ip=10.1.1.1',
                      'options:remote_ip=10.3.0.%d' % number]
        self.hosts.vsctl(*words[1:])
        terminal = self.terminal()
        # All 201 remotes of endpoint 1, 64 of all endpoints at a time.
        terminal.expect(r'^10\.1\.1\.1 .* 201/201 ')
        names = [name for name, _ in self.vswitchd.asked]
        runs = [len(run.split()) for run in
                ' '.join(names).split('encap/show')[1:]]
        self.assertGreaterEqual(len(runs), 4)
        self.assertLessEqual(max(runs), 64 + 3)

    def test_flow_based(self):
        self.hosts.vsctl('--', 'add-port', 'br-int', 'f1', '--', 'set',
                         'Interface', 'f1', 'type=geneve',
                         'options:local_ip=flow', 'options:remote_ip=flow')
        self.vswitchd.answers['dpctl/dump-flows'] = (
            'recirc_id(0),in_port(2), actions:tnl_push(tnl_port(4),header('
            'size=50,type=5,eth(dst=02:00:00:00:00:02,src=02:00:00:00:00:01,'
            'dl_type=0x0800),ipv4(src=10.1.1.1,dst=10.2.9.9,proto=17)),'
            'out_port(1))\n')
        self.hosts.tool('top', '--once', '--totals')
        self.assertIn(('encap/trace', ['tunnel=f1', 'src=10.1.4.1',
                                       'dst=10.2.9.9', 'format=json']),
                      self.vswitchd.asked)

    def test_report(self):
        path = os.path.join(self.hosts.directory, 'page.html')
        result = self.hosts.tool('report', path)
        self.assertEqual((result.returncode, result.stdout, result.stderr),
                         (0, '', ''))
        with open(path, encoding='utf-8') as stream:
            text = stream.read()
        states = dict(re.findall(
            '<g class="cell ([a-z]+)"><title>(10.1.[0-9].1) to', text))
        self.assertEqual(len(re.findall('<g class="cell ', text)), 4)
        self.assertEqual(states['dropped'], '10.1.3.1')
        self.assertEqual(states['unresolved'], '10.1.2.1')
        self.assertIn('host hv2', text)
        self.assertEqual(self.hosts.tool('report', '-').stdout.count('<g '),
                         text.count('<g '))

    def test_report_errors(self):
        result = self.hosts.tool('report', '/nowhere/page.html')
        self.assertEqual((result.returncode, result.stderr), (
            1, 'ovs-multinic: /nowhere/page.html: No such file or '
               'directory\n'))
        self.stop()
        path = os.path.join(self.hosts.directory, 'page.html')
        result = self.hosts.tool('report', path)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr,
                         r'^ovs-multinic: \S+: cannot connect: .*\n$')
        self.assertFalse(os.path.exists(path))
        self.begin()
        self.hosts.stop()
        result = self.hosts.tool('report', path)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr,
                         r'^ovs-multinic: unix:\S+: cannot connect: .*\n$')
        self.assertFalse(os.path.exists(path))

    def exporter(self, listen):
        """Starts "prometheus"; returns the URL that it names."""
        process = subprocess.Popen(
            [view_daemons.TOOL, 'prometheus', '--db', self.hosts.db,
             '--target', self.hosts.socket, '--listen', listen],
            stdout=subprocess.PIPE, universal_newlines=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        url = process.stdout.readline().strip()
        self.assertRegex(url, '^http://.*/metrics$')
        return url

    @staticmethod
    def scrape(url):
        """What is there now."""
        with urllib.request.urlopen(url, timeout=30) as reply:
            return reply.read().decode()

    def test_prometheus(self):
        url = self.exporter('127.0.0.1:0')
        self.assertRegex(url, r'^http://127\.0\.0\.1:\d+/')
        text = self.scrape(url)
        self.assertIn('\novs_multinic_up 1.0\n', text)
        self.assertIn('\novs_multinic_endpoint_flows{ip="10.1.1.1"} 8.0\n',
                      text)
        packets = '\novs_multinic_nic_receive_packets_total{nic="nic1"} %s\n'
        self.assertIn(packets % '1000.0', text)

        # Each scrape is fresh.
        self.vswitchd.answers['encap/show'] = data('show-2.json')
        self.hosts.vsctl('set', 'Interface', 'nic1', statistics(1500))
        wait_for(lambda: packets % '1500.0' in self.scrape(url))
        self.assertIn('\novs_multinic_endpoint_flow_transmit_packets'
                      '{ip="10.1.1.1"} 3000.0\n', self.scrape(url))

        self.stop()
        text = self.scrape(url)
        self.assertIn('\novs_multinic_up 0.0\n', text)
        self.assertNotIn('endpoint', text)
        self.begin()
        self.assertIn('\novs_multinic_up 1.0\n', self.scrape(url))

    def test_prometheus_ipv6(self):
        try:
            with socket.socket(socket.AF_INET6) as probe:
                probe.bind(('::1', 0))
        except OSError as error:
            self.skipTest('no IPv6: %s' % error)
        url = self.exporter('[::1]:0')
        self.assertIn('http://[::1]:', url)
        self.assertIn('ovs_multinic_up 1.0', self.scrape(url))

    def test_prometheus_address(self):
        with socket.socket() as taken:
            taken.bind(('127.0.0.1', 0))
            taken.listen()
            place = '127.0.0.1:%d' % taken.getsockname()[1]
            result = self.hosts.tool('prometheus', '--listen', place)
        self.assertEqual((result.returncode, result.stderr), (
            1, 'ovs-multinic: --listen %s: Address already in use\n' % place))
        result = self.hosts.tool('prometheus', '--listen', 'nowhere:1')
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, '^ovs-multinic: .*nowhere:1: not '
                         'ADDRESS:PORT.*\n$')


if __name__ == '__main__':
    unittest.main()
