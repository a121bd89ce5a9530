# SPDX-License-Identifier: Apache-2.0
"""Gateways that no subnet of the host has.  Needs root.

The kernel's own "ip route get" says what the switch should answer, and a
remote host behind the gateways (the kernel's VXLAN) that it is true."""
import json
import os
import unittest

import lab
import test_host
from test_host import wait_for

APPCTL = os.path.join(lab.TREE, 'utilities/ovs-appctl')

# NIC, endpoint, gateway, remote host.  Each link may have a neighbor of the
# same name.
WAYS = ((1, '10.1.1.1/32', '169.254.0.1', '192.0.2.1'),
        (1, '2001:db8:1::1/64', 'fe80::1', '2001:db8:ff::1'),
        (2, '10.1.2.1/32', '169.254.0.1', '192.0.2.1'),
        (2, '2001:db8:2::1/128', '2001:db8:9::9', '2001:db8:ff::1'))
WORDS = ['nic%d,%s,%s' % way[:3] for way in WAYS]


class Gateway(test_host.Host):
    def setUp(self):
        super().setUp()
        for n in 1, 2:
            self.lab.ip('addr flush dev far%d scope global' % n, 'fabric')
        for address in '192.0.2.1/32', '2001:db8:ff::1/128':
            self.lab.ip('addr add %s dev lo nodad' % address, 'fabric')
        self.lab.host('sysctl', '-qw', 'net.ipv4.conf.all.arp_ignore=1',
                      part='fabric')
        for n, endpoint, gateway, _remote in WAYS:
            self.lab.ip('addr add %s/%d dev far%d nodad' % (
                gateway, 64 if gateway == 'fe80::1' else
                128 if ':' in gateway else 32, n), 'fabric')
            self.lab.ip('route add %s dev far%d' % (
                endpoint.split('/')[0], n), 'fabric')
        self.settle()

    def lookups(self):
        """What the switch answers for each of WAYS is the kernel's answer,
        which is what was asked for."""
        for n, endpoint, gateway, remote in WAYS:
            source = endpoint.split('/')[0]
            way = json.loads(self.lab.ip('-j route get %s from %s'
                                         % (remote, source)))[0]
            self.assertEqual((way['gateway'], way['dev']),
                             (gateway, 'br-nic%d' % n))
            found = self.lab.host(APPCTL, 'ovs/route/lookup', remote,
                                  'src=' + source)
            self.assertEqual(dict(line.split(' ', 1)
                                  for line in found.splitlines()),
                             {'src': source, 'gateway': way['gateway'],
                              'dev': way['dev']})

    def tunnel(self, number):
        """Whether a ping comes back by the tunnel of WAYS[NUMBER]."""
        _n, endpoint, _gateway, remote = WAYS[number]
        name, local = 't%d' % number, endpoint.split('/')[0]
        # A veth pair does not finish the checksums that the kernel begins.
        self.lab.ip('link add %s type vxlan id %d local %s remote %s dstport'
                    ' 4789 noudpcsum udp6zerocsumtx udp6zerocsumrx'
                    % (name, 7 + number, remote, local), 'fabric')
        self.lab.ip('addr add 172.16.%d.2/24 dev %s' % (number, name),
                    'fabric')
        self.lab.ip('link set %s up' % name, 'fabric')
        self.lab.vsctl(
            'add-br', 'b%d' % number, '--', 'set', 'bridge', 'b%d' % number,
            'datapath_type=netdev', '--', 'add-port', 'b%d' % number, name,
            '--', 'set', 'interface', name, 'type=vxlan',
            'options:key=%d' % (7 + number), 'options:local_ip="%s"' % local,
            'options:remote_ip="%s"' % remote)
        self.lab.ip('addr add 172.16.%d.1/24 dev b%d' % (number, number))
        self.lab.ip('link set b%d mtu 1400 up' % number)

        def answered():
            return ' 0% packet loss' in self.lab.host(
                'sh', '-c', 'ping -n -c 1 -W 1 172.16.%d.2 || true' % number)
        return wait_for(answered)

    def test_all(self):
        before = self.shown()
        self.tool('apply', *WORDS)
        self.assertIn('\n0 errors, 0 warnings\n', self.tool('check'))
        self.lookups()
        for n, endpoint, gateway, _remote in WAYS:
            if gateway != 'fe80::1':
                self.reaches(gateway, source=endpoint.split('/')[0])
            self.assertIn(gateway, self.lab.host(
                APPCTL, 'ovs/route/show', 'table=%d' % (100 + n)))
        for number in range(len(WAYS)):
            with self.subTest(WAYS[number]):
                self.assertTrue(self.tunnel(number))
        for number in range(len(WAYS)):
            self.lab.vsctl('del-br', 'b%d' % number)

        again = self.tool('apply', *WORDS)
        self.assertTrue(again.startswith('nothing to change'), again)
        again = self.tool('apply', '--from-host', 'nic1', 'nic2')
        self.assertTrue(again.startswith('nothing to change'), again)
        # Another way to the gateway is noticed in spite of its name.
        self.lab.ip('-6 rule add pref 5 from 2001:db8:1::1 lookup 9')
        self.lab.ip('-6 route add default via fe80::1 dev br-nic2 table 9')
        self.assertIn('error: 2001:db8:1::1: its packets to gateway fe80::1'
                      ' go by br-nic2, not by br-nic1\n'
                      '    ip -6 rule; ip route get fe80::1 from'
                      ' 2001:db8:1::1\n', self.tool('check', status=2))
        self.lab.ip('-6 rule del pref 5')
        self.lab.ip('-6 route del default table 9')
        self.tool('undo')
        self.assert_same(before)

    def mend(self):
        """What encap/check proposes for 10.1.1.1, or None."""
        found = json.loads(self.lab.host(APPCTL, 'encap/check',
                                         'format=json'))
        return next((one['mend'] for one in found
                     if one['object'] == '10.1.1.1'), None)

    def test_used_host(self):
        """A host that has such gateways in table main."""
        for words in ('addr add 10.1.1.1/32 dev nic1', 'link set nic1 up',
                      'route add default via 169.254.0.1 dev nic1 onlink',
                      'addr add 2001:db8:1::1/64 dev nic1 nodad',
                      '-6 route add default via fe80::1 dev nic1',
                      'addr add 10.1.2.1/24 dev nic2', 'link set nic2 up'):
            self.lab.ip(words)
        self.settle()
        before = self.shown()
        self.tool('apply', '--from-host', 'nic1', 'nic2')
        self.assertIn('default via 169.254.0.1 dev br-nic1 onlink',
                      self.lab.ip('route'))
        for words in '-4', '-6':
            self.assertIn('default via %s dev br-nic1 proto static src'
                          % ('169.254.0.1' if words == '-4' else 'fe80::1'),
                          self.lab.ip(words + ' route show table 101'))
        self.reaches('192.0.2.1')
        self.reaches('2001:db8:ff::1')

        # The kernel takes what ovs-vswitchd proposes.
        self.lab.ip('rule del pref 1001 from 10.1.1.1')
        self.assertTrue(wait_for(self.mend))
        self.lab.host('sh', '-c', self.mend())
        self.assertTrue(wait_for(lambda: not self.mend()))
        way = json.loads(self.lab.ip('-j route get 192.0.2.9 from 10.1.1.1'
                                     ))[0]
        self.assertEqual((way['gateway'], way['dev']),
                         ('169.254.0.1', 'br-nic1'))
        self.lab.ip('rule del from 10.1.1.1 lookup 103')
        self.lab.ip('route flush table 103')
        self.tool('apply')
        self.tool('undo')
        self.assert_same(before)
