# SPDX-License-Identifier: Apache-2.0
"""The three subcommands with a real ovs-vswitchd, in namespaces."""
import re
import signal
import subprocess
import unittest
import urllib.request

import lab
import view_daemons
from ovs_multinic import database
from ovs_multinic.errors import Failure

MISSING = lab.why_not()


@unittest.skipIf(MISSING, MISSING)
class Real(unittest.TestCase):
    def setUp(self):
        self.lab = lab.Lab(nics=2)
        self.addCleanup(self.lab.close)
        words = ['--no-wait', 'set', 'Open_vSwitch', '.',
                 'external_ids:ovn-encap-ip="10.1.1.1,10.1.2.1"',
                 'external_ids:hostname=gpu-01',
                 '--', 'add-br', 'br-int',
                 '--', 'set', 'Bridge', 'br-int', 'datapath_type=netdev',
                 'fail_mode=secure',
                 '--', 'add-port', 'br-int', 'w',
                 '--', 'set', 'Interface', 'w', 'type=internal']
        for i in '1', '2':
            words += ['--', 'add-br', 'br-nic' + i,
                      '--', 'set', 'Bridge', 'br-nic' + i,
                      'datapath_type=netdev',
                      '--', 'add-port', 'br-nic' + i, 'nic' + i,
                      '--', 'add-port', 'br-int', 't' + i,
                      '--', 'set', 'Interface', 't' + i, 'type=geneve',
                      'options:local_ip=10.1.%s.1' % i,
                      'options:remote_ip=10.1.%s.254' % i]
        self.lab.vsctl(*words)
        self.links()
        if not self.knows_endpoints():
            self.skipTest('this ovs-vswitchd has no "encap/show"')

    def links(self):
        """What a restart of ovs-vswitchd takes away."""
        for i in '1', '2':
            view_daemons.wait_for(lambda: self.has('br-nic' + i))
            self.lab.ip('addr replace 10.1.%s.1/24 dev br-nic%s' % (i, i))
            self.lab.ip('link set nic%s up' % i)
            self.lab.ip('link set br-nic%s up' % i)
        view_daemons.wait_for(lambda: self.has('w'))
        self.lab.ip('addr replace 172.16.0.1/16 dev w')
        self.lab.ip('link set w up')
        for i in '1', '2':
            self.lab.ip('neigh replace 172.16.0.%s0 lladdr 02:00:00:00:00:0%s'
                        ' dev w' % (i, i))
            self.lab.host(lab.TREE + '/utilities/ovs-ofctl', 'add-flow',
                          'br-int', 'dl_dst=02:00:00:00:00:0%s,actions=t%s'
                          % (i, i))

    def has(self, device):
        """True if the host has DEVICE."""
        return re.search(r'\b%s:' % device, self.lab.ip('-o link'))

    def target(self):
        """What --target takes."""
        with open(self.lab.dir + '/ovs-vswitchd.pid') as stream:
            return '%s/ovs-vswitchd.%s.ctl' % (self.lab.dir,
                                               stream.read().strip())

    def knows_endpoints(self):
        """True if "encap/show" is there."""
        daemon = database.Vswitchd(self.target())
        try:
            daemon.json('encap/show')
            return True
        except Failure:
            return False
        finally:
            daemon.close()

    def ping(self, i, count):
        """Sends COUNT packets through tunnel I; nobody answers."""
        subprocess.run(
            ['ip', 'netns', 'exec', self.lab.ns('host'), 'ping', '-q', '-c',
             str(count), '-i', '0.02', '-W', '1', '172.16.0.%s0' % i],
            stdout=subprocess.DEVNULL, timeout=60)

    def top(self, *words):
        """What "top --once" prints."""
        status, text, error = self.lab.tool('top', '--once', *words)
        self.assertEqual((status, error), (0, ''))
        return text

    def mac(self, i):
        """The MAC of the other end of NIC I, as the kernel says."""
        return re.search('link/ether (\\S+)', self.lab.ip(
            'link show far%s' % i, 'fabric')).group(1)

    def test_top_and_report(self):
        self.assertRegex(self.top('--totals'),
                         r'\n10\.1\.1\.254 +br-nic1 +missing')

        def resolved():
            """Sends until the neighbor is known; later packets all leave."""
            self.ping('1', 1)
            return re.search(r'\n10\.1\.1\.254 +br-nic1 +' + self.mac('1'),
                             self.top('--totals'))
        view_daemons.wait_for(resolved)
        self.ping('1', 20)
        text = self.top('--totals')
        found = re.search(r'\n10\.1\.1\.1 .* up +br-nic1 +(\d+) +\S+ +\d+ +'
                          r'\S+ +1 +1/1 +(\d+) +0%', text) \
            or self.fail(text)
        self.assertGreaterEqual(int(found.group(1)), 20)
        self.assertRegex(text, r'\n10\.1\.2\.1 +up +br-nic2 +0 +0 +0 +0 +1 ')
        self.assertRegex(text, r'\nnic1 +up +br-nic1 ')
        self.assertRegex(text, r'\n10\.1\.1\.254 +br-nic1 +' + self.mac('1'))

        self.lab.ip('link set far2 down', 'fabric')
        view_daemons.wait_for(lambda: re.search(
            r'\n10\.1\.2\.1 +down .*\n', self.top('--totals')))
        status, text, error = self.lab.tool('report', '-')
        self.assertEqual((status, error), (0, ''))
        cells = re.findall(
            '<g class="cell ([a-z]+)"><title>(10.1.[12].1) to (\\S+?),', text)
        self.assertEqual(cells[0], ('ok', '10.1.1.1', '10.1.1.254'))
        self.assertEqual(cells[1][1:], ('10.1.2.1', '10.1.2.254'))
        self.assertNotEqual(cells[1][0], 'ok')

    def test_flow_based(self):
        """The datapath tells where a port with remote_ip=flow sends to."""
        self.lab.ip('addr add 10.1.2.253/24 dev far2', 'fabric')
        self.lab.ip('neigh replace 172.16.0.30 lladdr 02:00:00:00:00:03 dev'
                    ' w')
        self.lab.vsctl('add-port', 'br-int', 'f', '--', 'set', 'Interface',
                       'f', 'type=geneve', 'options:local_ip=flow',
                       'options:remote_ip=flow', 'options:key=flow')
        self.lab.host(lab.TREE + '/utilities/ovs-ofctl', 'add-flow',
                      'br-int', 'dl_dst=02:00:00:00:00:03,actions='
                      'set_field:10.1.2.1->tun_src,'
                      'set_field:10.1.2.253->tun_dst,f')

        def sent():
            self.ping('3', 5)
            return re.search(r'\n10\.1\.2\.1 .* up +br-nic2 +[1-9]',
                             self.top('--totals'))

        view_daemons.wait_for(sent)
        _, text, _ = self.lab.tool('report', '-')
        self.assertEqual(set(re.findall(
            '<g class="cell ([a-z]+)"><title>(\\S+) to 10.1.2.253, tunnel f',
            text)), {('ok', '10.1.2.1'),
                     # On that subnet, whatever the source.
                     ('astray', '10.1.1.1')})

    def test_rules_with_other_selectors(self):
        """Ports without local_ip: the kernel says which NIC it would be."""
        ports = {'g': ('dport 6081', 'type=geneve'),
                 'v': ('dport 4789', 'type=vxlan'),
                 'p': ('dport 8472', 'type=vxlan', 'options:dst_port=8472'),
                 's': ('dport 6081 tos 0x10', 'type=geneve',
                       'options:tos=0x10'),
                 'm': ('dport 6081 mark 7', 'type=geneve',
                       'options:egress_pkt_mark=7')}
        for words in ('route add default via 10.1.1.254 dev br-nic1',
                      'route add default via 10.1.2.254 dev br-nic2 table 77',
                      'rule add pref 10 ipproto udp dport 4789 lookup 77',
                      'rule add pref 11 tos 0x10 lookup 77',
                      'rule add pref 12 fwmark 7 lookup 77'):
            self.lab.ip(words)
        expected, words = set(), ['--no-wait']
        for number, (name, (packet, *columns)) in enumerate(ports.items()):
            remote = '10.9.0.%d' % number
            words += ['--', 'add-port', 'br-int', name, '--', 'set',
                      'Interface', name, 'options:remote_ip=' + remote,
                      *columns]
            for i in '1', '2':
                way = self.lab.ip('route get %s from 10.1.%s.1 ipproto udp %s'
                                  % (remote, i, packet))
                expected.add((i, remote, name,
                              'dev br-nic%s ' % i not in way))
        self.assertEqual(sum(astray for *_, astray in expected), 5)
        self.lab.vsctl(*words)

        def shown():
            _, text, _ = self.lab.tool('report', '-')
            return {(i, remote, name, state == 'astray')
                    for state, i, remote, name in re.findall(
                        '<g class="cell ([a-z]+)"><title>10.1.([12]).1 to'
                        ' (10.9.0.[0-9]), tunnel ([a-z])\\n', text)}
        view_daemons.wait_for(lambda: len(shown()) == 10)
        self.assertEqual(shown(), expected)

    def test_rates(self):
        text = self.top()
        self.assertRegex(text, r'\nnic1 +up +br-nic1( +[0-9.k]+){4} ')

    def test_prometheus_and_a_restart(self):
        process = subprocess.Popen(
            [lab.TOOL, 'prometheus', '--listen', '127.0.0.1:0', '--db',
             'unix:%s/db.sock' % self.lab.dir], env=self.lab.env,
            stdout=subprocess.PIPE, universal_newlines=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        url = process.stdout.readline().strip()

        def scrape():
            with urllib.request.urlopen(url, timeout=30) as reply:
                return reply.read().decode()

        self.ping('1', 5)
        text = scrape()
        self.assertIn('\novs_multinic_up 1.0\n', text)
        self.assertIn('\novs_multinic_endpoint_tunnels{ip="10.1.1.1"} 1.0\n',
                      text)
        self.lab.stop('ovs-vswitchd', signal.SIGKILL)
        self.assertIn('\novs_multinic_up 0.0\n', scrape())
        self.lab.start_vswitchd()
        self.links()
        view_daemons.wait_for(lambda: 'endpoint_up{ip="10.1.1.1"} 1.0'
                              in scrape())


if __name__ == '__main__':
    unittest.main()
