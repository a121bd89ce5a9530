# SPDX-License-Identifier: Apache-2.0
"""What the kernel drops of interfaces that go down and up meanwhile, and of
those without IPv6, comes back.  Needs root.  What must be there is what ip(8)
showed before."""
import json
import os

import test_host
from test_host import wait_for

NIC_MAC = '02:00:00:00:01:01'   # Locally administered: no bridge takes it.


class Keep(test_host.Host):
    def used_bridge(self, mac=NIC_MAC):
        """A bridge that somebody else made has addresses and routes, its NIC
        has none."""
        self.lab.ip('link set nic1 address %s up' % mac)
        self.lab.vsctl('add-br', 'br-nic1', '--', 'set', 'Bridge', 'br-nic1',
                       'datapath_type=netdev', '--', 'add-port', 'br-nic1',
                       'nic1')
        for words in (
                'link set br-nic1 up', 'link set nic2 up',
                'addr add 10.1.2.1/24 dev nic2',
                'addr add 10.1.1.1/24 brd + dev br-nic1',
                'addr add 10.1.1.9/24 dev br-nic1',
                'addr add 2001:db8:1::1/64 dev br-nic1 nodad',
                'addr add 2001:db8:1::9/64 dev br-nic1 nodad preferred_lft 0',
                'addr add fe80::77/64 dev br-nic1 nodad',
                'route add default via 10.1.1.254 dev br-nic1',
                'route add 10.9.0.0/16 via 10.1.1.254 dev br-nic1 src 10.1.1.9'
                ' metric 7 mtu 1400',
                'route add 192.0.2.7 dev br-nic1 scope link',
                'route add 10.7.0.0/16 via 192.0.2.7 dev br-nic1 onlink',
                'route add 10.8.0.0/16 via 10.1.1.253 dev br-nic1 table 55',
                'rule add pref 70 iif br-nic1 lookup 55',
                'route add default via 2001:db8:1::fe dev br-nic1',
                'route add 2001:db8:7::/48 via fe80::1 dev br-nic1 src'
                ' 2001:db8:1::9 metric 7 table 56',
                'route add 10.6.0.0/16 nexthop via 10.1.1.254 dev br-nic1'
                ' nexthop via 10.1.2.254 dev nic2',
                '-6 route add 2001:db8:6::/48 nexthop via fe80::1 dev br-nic1'
                ' nexthop via fe80::2 dev nic2',
                'neigh add 10.1.1.253 lladdr 02:00:00:00:00:fd dev br-nic1 nud'
                ' permanent', 'neigh add 2001:db8:1::fd lladdr'
                ' 02:00:00:00:00:fd dev br-nic1 nud permanent'):
            self.lab.ip(words)
        self.settle()

    def mac(self, name):
        """The MAC address of an interface."""
        return self.lab.host('cat', '/sys/class/net/%s/address'
                             % name).strip()

    def lines(self, *kinds):
        """What ip(8) says about each of KINDS, sorted, without what a
        MAC address makes different."""
        self.settle()
        return {words: sorted(
            line for line in self.lab.ip('-o ' + words).split('\n')
            if 'ff:fe' not in line)
            for words in kinds}

    def all_of(self, device):
        """What must be there before and after."""
        return self.lines(
            'addr show dev ' + device, '-4 route show table all',
            '-6 route show table all', '-4 rule', '-6 rule',
            '-4 neigh show nud permanent', '-6 neigh show nud permanent')

    def assert_kept(self, before, after):
        """AFTER has what BEFORE has, and maybe more; but not what comes by
        itself with the IPv6 of the NIC."""
        for words, lines in before.items():
            self.assertEqual([line for line in lines
                              if line not in after[words]
                              and ' dev nic1 ' not in line], [], words)

    def test_a_bridge_with_another_mac(self):
        self.used_bridge()
        self.assertNotEqual(self.mac('br-nic1'), NIC_MAC)
        before, kept = self.shown(), self.all_of('br-nic1')
        way = self.lab.ip('route get 198.51.100.1')
        self.assertIn('via 10.1.1.254 dev br-nic1', way)
        self.tool('apply', '--from-host', 'nic1')
        self.assertEqual(self.mac('br-nic1'), NIC_MAC)
        after = self.all_of('br-nic1')
        self.assert_kept(kept, after)
        self.assertEqual(kept['addr show dev br-nic1'],
                         after['addr show dev br-nic1'])
        self.assertEqual(self.lab.ip('route get 198.51.100.1'), way)
        self.reaches('10.1.1.254')
        self.reaches('2001:db8:1::fe')
        self.tool('undo')
        self.assert_same(before)

    def test_rollback(self):
        self.used_bridge()
        before = self.shown()
        self.lab.ip('addr add 10.1.1.77/24 dev far1', 'fabric')
        out = self.tool('apply', 'nic1,10.1.1.1/24,10.1.1.254',
                        'nic1,10.1.1.77/24', status=1)
        self.assertIn('; took back all that was done\n', out)
        self.assertIn('back: add-br br-nic1 ', out)
        self.assert_same(before)

    def test_routes_that_cannot_be_put_back(self):
        self.used_bridge()
        for words in (
                'id 5 via 10.1.1.254 dev br-nic1',
                'id 6 via 10.1.2.254 dev nic2', 'id 7 group 5/6'):
            self.lab.ip('nexthop add ' + words)
        before = self.shown()
        for words, text in (
                ('nhid 5', '10.5.0.0/16 via 10.1.1.254 dev br-nic1 table main"'
                 ', which cannot be put back: it has RTA_NH_ID'),
                ('nhid 7', '10.5.0.0/16 table main", which cannot be put back:'
                 ' it has RTA_NH_ID'),
                ('nexthop via 10.1.1.254 dev br-nic1 nexthop via 10.1.1.253'
                 ' dev br-nic1', '10.5.0.0/16 table main", which cannot be put'
                 ' back: it has several next hops'),
                ('encap ip id 7 dst 10.1.1.254 via 10.1.1.254 dev br-nic1',
                 '10.5.0.0/16 via 10.1.1.254 dev br-nic1 table main", which'
                 ' cannot be put back: it has RTA_ENCAP')):
            self.lab.ip('route add 10.5.0.0/16 ' + words)
            self.assertIn(
                'ovs-multinic: br-nic1: with another MAC address it would lose'
                ' "route %s; took back all that was done\n' % text,
                self.tool('apply', '--from-host', 'nic1', status=1))
            self.lab.ip('route del 10.5.0.0/16')
        self.assert_same(before)

    def test_others_hear_of_another_mac(self):
        """Those that send to the old one, too, without being asked."""
        self.used_bridge()
        own = '10.1.1.1', '10.1.1.9', '2001:db8:1::1'
        # The NIC answers for none of them.
        self.lab.host('sysctl', '-qw', 'net.ipv4.conf.nic1.arp_ignore=8')
        # By default news are not heard within a second after others.
        self.lab.host('sysctl', '-qw', 'net.ipv4.neigh.far1.locktime=0',
                      part='fabric')
        for address in own:
            self.reaches(address, part='fabric')

        def known():
            return {one['dst']: one['lladdr'] for one in json.loads(
                self.lab.ip('-j neigh show dev far1', 'fabric'))
                    if one['dst'] in own}
        self.assertEqual(known(), dict.fromkeys(own, self.mac('br-nic1')))
        self.tool('apply', '--from-host', 'nic1')
        self.assertTrue(wait_for(
            lambda: known() == dict.fromkeys(own, NIC_MAC), 2), known())
        for address in own:
            self.reaches(address, part='fabric')

    def test_the_first_of_equal_routes(self):
        """It stays that, and what comes later stays behind."""
        self.used_bridge()
        self.lab.ip('addr add 10.1.1.200/24 dev nic2')
        self.lab.ip('route append default via 10.1.2.254 dev nic2')
        self.lab.ip('route add 10.5.0.0/16 via 10.1.2.254 dev nic2')
        self.lab.ip('route append 10.5.0.0/16 via 10.1.1.254 dev br-nic1')
        before = self.shown()
        order = self.lab.ip('-4 route')
        tos = '198.51.100.1', '10.5.0.1', '10.1.1.50'
        ways = [self.lab.ip('route get ' + to) for to in tos]
        for way, device in zip(ways, ('br-nic1', 'nic2', 'br-nic1')):
            self.assertIn(' dev %s ' % device, way)

        def same():
            self.assertEqual(ways, [self.lab.ip('route get ' + to)
                                    for to in tos])
            for prefix in 'default', '10.5.0.0/16', '10.1.1.0/24':
                self.assertEqual(*(
                    [line for line in lines.split('\n')
                     if line.startswith(prefix)]
                    for lines in (order, self.lab.ip('-4 route'))))

        self.tool('apply', '--from-host', 'nic1')
        same()
        self.tool('undo')
        same()
        self.assert_same(before)

    def test_the_first_of_equal_routes_that_moves(self):
        self.used_host()
        self.lab.ip('route append default via 10.1.2.254 dev nic2')
        before = self.shown()
        way = self.lab.ip('route get 198.51.100.1')
        self.assertIn('via 10.1.1.254 dev nic1 ', way)
        self.tool('apply', '--from-host', 'nic1')
        self.assertIn('via 10.1.1.254 dev br-nic1 ',
                      self.lab.ip('route get 198.51.100.1'))
        self.tool('undo')
        self.assertEqual(self.lab.ip('route get 198.51.100.1'), way)
        self.assert_same(before)

    def test_a_port_with_the_mac_of_its_bridge(self):
        """What is not named in hwaddr changes with the ports."""
        mac = '00:53:00:00:01:01'
        self.used_bridge(mac)
        self.assertTrue(wait_for(lambda: self.mac('br-nic1') == mac))
        self.lab.vsctl('del-port', 'br-nic1', 'nic1')
        self.assertNotEqual(self.mac('br-nic1'), mac)
        before, kept = self.shown(), self.all_of('br-nic1')
        plan = json.loads(self.tool('plan', '--json', '--from-host', 'nic1'))
        plan['steps'][0]['hwaddr'] = None
        path = os.path.join(self.lab.dir, 'plan')
        with open(path, 'w') as stream:
            json.dump(plan, stream)
        self.tool('apply', '--plan', path)
        self.assertEqual(self.mac('br-nic1'), mac)
        self.assert_kept(kept, self.all_of('br-nic1'))
        self.tool('undo')
        self.assert_same(before)

    def test_a_nic_with_more_ipv6(self):
        """What does not move, since IPv6 goes off there."""
        for words in (
                'link set nic1 up', 'addr add fe80::77/64 dev nic1 nodad',
                'route add 2001:db8:7::/48 via fe80::1 dev nic1 metric 7',
                'neigh add fe80::1 lladdr 02:00:00:00:00:fd dev nic1 nud'
                ' permanent'):
            self.lab.ip(words)
        before, kept = self.shown(), self.all_of('nic1')
        self.tool('apply', *test_host.ONE)
        self.assertIn('2001:db8:7::/48 via fe80::1 dev br-nic1 metric 7',
                      self.lab.ip('-6 route'))
        self.assertNotIn('inet6', self.lab.ip('addr show dev nic1'))
        self.tool('undo')
        self.assert_same(before)
        self.assertEqual(self.all_of('nic1'), kept)

    def test_ipv6_addresses_that_were_tried_out(self):
        """They look the same after a move: not "nodad"."""
        for words in ('link set nic1 up', 'addr add 10.1.1.1/24 dev nic1',
                      'addr add 2001:db8:1::1/64 dev nic1'):
            self.lab.ip(words)
        before = self.shown()
        address = self.lab.ip('-br -6 addr show to 2001:db8:1::/64 dev nic1')
        self.tool('apply', '--from-host', 'nic1')
        self.assertNotIn('nodad', self.lab.ip('addr'))
        self.assertEqual(address.split()[2:], self.lab.ip(
            '-br -6 addr show to 2001:db8:1::/64 dev br-nic1').split()[2:])
        self.reaches('2001:db8:1::1', part='fabric')
        self.tool('undo')
        self.assert_same(before)

    def test_an_mtu_without_ipv6(self):
        self.used_host()
        before = self.shown()
        self.assertIn(
            'ovs-multinic: nic1: address 2001:db8:1::1/64 needs an MTU of'
            ' 1280, not 1279 (--mtu)\n', self.tool(
                'apply', '--mtu', '1279', '--from-host', 'nic1', status=1))
        self.assert_same(before)

    def test_a_nic_that_is_down(self):
        for words in ('addr add 10.1.1.1/24 dev nic1',
                      'addr add 2001:db8:1::1/64 dev nic1'):
            self.lab.ip(words)
        before = self.shown()
        self.tool('apply', '--from-host', 'nic1')
        self.reaches('10.1.1.254')
        self.reaches('2001:db8:1::fe')
        self.tool('undo')
        self.assert_same(before)
