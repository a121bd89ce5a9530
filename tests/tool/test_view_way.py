# SPDX-License-Identifier: Apache-2.0
"""Which pairs of addresses there are ways for, and how those are."""
import json
import unittest

import view_daemons
from ovs_multinic import way

LOCALS = ['10.1.2.1', '10.1.1.1', '2001:db8:1::1']
PORT = way.Pair('10.1.1.1', '10.2.1.1', 't1.1', None, ('tunnel=t1.1',))


def short(pairs):
    """PAIRS as strings."""
    return ['%s>%s %s' % (pair.local, pair.remote, ' '.join(pair.arguments))
            for pair in pairs]


class Pairs(unittest.TestCase):
    def test_ports(self):
        tunnels = [way.Tunnel('a', '10.1.1.1', '10.2.0.10', 'hv2'),
                   way.Tunnel('b', '10.1.1.1', '10.2.0.9'),
                   way.Tunnel('c', '10.1.2.1', '10.2.0.9')]
        pairs = way.pairs(tunnels, LOCALS, set())
        self.assertEqual(short(pairs), [
            '10.1.2.1>10.2.0.9 tunnel=c', '10.1.1.1>10.2.0.9 tunnel=b',
            '10.1.1.1>10.2.0.10 tunnel=a'])
        self.assertEqual(pairs[2].chassis, 'hv2')

    def test_without_local_ip(self):
        self.assertEqual(
            short(way.pairs([way.Tunnel('a', None, '2001:db8:2::1'),
                             way.Tunnel('b', None, '10.2.0.1')],
                            LOCALS, set())),
            ['10.1.2.1>10.2.0.1 src=10.1.2.1 dst=10.2.0.1',
             '10.1.1.1>10.2.0.1 src=10.1.1.1 dst=10.2.0.1',
             '2001:db8:1::1>2001:db8:2::1 src=2001:db8:1::1 '
             'dst=2001:db8:2::1'])

    def test_what_else_a_port_says(self):
        """Once there is no name of the port that would say it."""
        for kind, options, words in (
                ('geneve', {}, 'dport=6081'),       # RFC 8926
                ('vxlan', {}, 'dport=4789'),        # RFC 7348
                ('vxlan', {'dst_port': '8472'}, 'dport=8472'),
                ('gre', {'dst_port': '8472'}, 'dport=0'),
                ('geneve', {'tos': '0x48'}, 'dport=6081 tos=72'),
                ('geneve', {'tos': '0110'}, 'dport=6081 tos=72'),
                ('geneve', {'tos': '72'}, 'dport=6081 tos=72'),
                # Nothing that it would take.
                ('geneve', {'tos': 'inherit'}, 'dport=6081'),
                ('geneve', {'tos': '3'}, 'dport=6081'),
                ('geneve', {'tos': '-4'}, 'dport=6081'),
                ('geneve', {'tos': '256'}, 'dport=6081'),
                ('geneve', {'tos': 'x'}, 'dport=6081'),
                ('vxlan', {'dst_port': 'x'}, 'dport=0'),
                ('vxlan', {'dst_port': '65537 '}, 'dport=1'),
                ('geneve', {'egress_pkt_mark': '7'}, 'dport=6081 mark=7'),
                ('geneve', {'egress_pkt_mark': '4294967297'},
                 'dport=6081 mark=1')):
            fixed = way.fixed(kind, options)
            self.assertEqual(' '.join(fixed), words, options)
            for local, given in (
                    (None, 'src=10.1.2.1 dst=10.2.0.1 ' + words),
                    ('flow', 'tunnel=a src=10.1.2.1'),
                    ('10.1.2.1', 'tunnel=a')):
                self.assertEqual(
                    short(way.pairs([way.Tunnel('a', local, '10.2.0.1', None,
                                                fixed)], LOCALS[:1], set())),
                    ['10.1.2.1>10.2.0.1 ' + given])

    def test_flow_based(self):
        seen = {('10.1.1.1', '10.2.0.1'), ('10.1.2.1', '10.2.0.1'),
                ('2001:db8:1::1', '2001:db8:2::1')}
        self.assertEqual(
            short(way.pairs([way.Tunnel('f', 'flow', 'flow')], LOCALS,
                            seen)),
            ['10.1.2.1>10.2.0.1 tunnel=f src=10.1.2.1 dst=10.2.0.1',
             '10.1.1.1>10.2.0.1 tunnel=f src=10.1.1.1 dst=10.2.0.1',
             '2001:db8:1::1>2001:db8:2::1 tunnel=f src=2001:db8:1::1 '
             'dst=2001:db8:2::1'])
        self.assertEqual(
            short(way.pairs([way.Tunnel('f', '10.1.1.1', 'flow')], LOCALS,
                            seen)),
            ['10.1.1.1>10.2.0.1 tunnel=f dst=10.2.0.1'])
        self.assertEqual(
            short(way.pairs([way.Tunnel('f', 'flow', '10.2.0.2')],
                            LOCALS[:1], seen)),
            ['10.1.2.1>10.2.0.2 tunnel=f src=10.1.2.1'])

    def test_the_port_for_the_pair_wins(self):
        tunnels = [way.Tunnel('f', 'flow', 'flow'),
                   way.Tunnel('a', '10.1.1.1', '10.2.0.1')]
        for order in tunnels, tunnels[::-1]:
            self.assertEqual(
                short(way.pairs(order, ['10.1.1.1'],
                                {('10.1.1.1', '10.2.0.1')})),
                ['10.1.1.1>10.2.0.1 tunnel=a'])

    def test_not_an_endpoint(self):
        self.assertEqual(
            short(way.pairs([way.Tunnel('a', '10.9.9.9', '10.2.0.1')],
                            LOCALS, set())),
            ['10.9.9.9>10.2.0.1 tunnel=a'])

    def test_endpoints_that_are_down(self):
        first, second = LOCALS[:2]
        for down, locals_ in ((), [first, second]), ([first], [second]), (
                [first, second], [first, second]):
            for local in None, 'flow':
                self.assertEqual(
                    [pair.local for pair in way.pairs(
                        [way.Tunnel('a', local, '10.2.0.1')],
                        [first, second], set(), down)],
                    [first, second] if local else locals_)

    def test_nonsense(self):
        self.assertEqual(
            short(way.pairs([way.Tunnel('a', '10.1.1.1', 'no address'),
                             way.Tunnel('b', '10.1.1.1', '10.2.0.1')],
                            LOCALS, set())),
            ['10.1.1.1>10.2.0.1 tunnel=b', '10.1.1.1>no address tunnel=a'])

    def test_turns(self):
        pairs = way.pairs([way.Tunnel('t%d' % n, '10.1.%d.1' % (n // 3),
                                      '10.2.0.%d' % n) for n in range(9)],
                          [], set())
        self.assertEqual([pair.port for pair in way.take_turns(pairs)],
                         ['t0', 't3', 't6', 't1', 't4', 't7', 't2', 't5',
                          't8'])


class Addresses(unittest.TestCase):
    def test_normal(self):
        self.assertEqual(way.normal('2001:DB8:0::1'), '2001:db8::1')
        self.assertEqual(way.normal('flow'), 'flow')

    def test_order(self):
        self.assertEqual(
            sorted(['x', '2001:db8::10', '10.2.0.10', '2001:db8::9',
                    '10.2.0.9'], key=way.address_key),
            ['10.2.0.9', '10.2.0.10', '2001:db8::9', '2001:db8::10', 'x'])


class Flows(unittest.TestCase):
    """Lines in the form of "dpctl/dump-flows" of the userspace datapath."""

    def test_push(self):
        self.assertEqual(way.parse_flows(
            'recirc_id(0),in_port(2),packet_type(ns=0,id=0),eth_type(0x0800),'
            'ipv4(src=172.16.0.1,frag=no), packets:1, bytes:98, used:0.1s, '
            'actions:tnl_push(tnl_port(4),header(size=50,type=5,eth(dst=02:00'
            ':00:00:00:02,src=02:00:00:00:00:01,dl_type=0x0800),ipv4(src=10.1'
            '.1.1,dst=10.2.1.1,proto=17,tos=0,ttl=64,frag=0x4000),udp(src=0,d'
            'st=6081,csum=0x0),geneve(vni=0xb)),out_port(1)),2,tnl_push('
            'tnl_port(4),header(size=70,type=5,eth(dst=02:00:00:00:00:02,src='
            '02:00:00:00:00:01,dl_type=0x86dd),ipv6(src=2001:db8:1::1,dst=200'
            '1:db8:2::1,label=0,proto=17,tclass=0x0,hlimit=64),udp(src=0,dst='
            '6081,csum=0xffff),geneve(vni=0xb)),out_port(1))\n'),
            {('10.1.1.1', '10.2.1.1'), ('2001:db8:1::1', '2001:db8:2::1')})

    def test_pop(self):
        self.assertEqual(way.parse_flows(
            'tunnel(tun_id=0xb,src=10.2.1.1,dst=10.1.1.1,flags(-df-csum+key))'
            ',recirc_id(0),in_port(4), packets:0, actions:2\n'
            'tunnel(tun_id=0xb,ipv6_src=2001:db8:2::1,ipv6_dst=2001:db8:1::1,'
            'flags(-df+csum+key)),recirc_id(0),in_port(4), actions:2\n'
            'recirc_id(0),in_port(1),ipv4(src=10.9.0.1,dst=10.1.1.1), '
            'actions:tnl_pop(4)\n'),
            {('10.1.1.1', '10.2.1.1'), ('2001:db8:1::1', '2001:db8:2::1')})


class Judge(unittest.TestCase):
    def judge(self, home='br-nic1', pair=PORT, **changes):
        trace = json.loads(view_daemons.data('trace.json'))
        trace.update(changes)
        found = way.judge(pair, trace, {'10.1.1.1': home})
        self.assertIn(found.state, way.STATES)
        return found.state, found.reason

    def test_ok(self):
        self.assertEqual(self.judge(), ('ok', 'leaves by nic1 of br-nic1'))

    def test_fields(self):
        trace = json.loads(view_daemons.data('trace.json'))
        self.assertEqual(
            way.judge(PORT, trace, {}),
            way.Way('10.1.1.1', '10.2.1.1', 't1.1', None, 'ok',
                    'leaves by nic1 of br-nic1', 'br-nic1', '10.1.1.254',
                    '02:fa:b0:00:01:01'))

    def test_dropped(self):
        self.assertEqual(
            self.judge(dropped=True, reason='no route to 10.2.1.1', by=None,
                       route=None, neighbor=None, uplinks=None),
            ('dropped', 'no route to 10.2.1.1'))

    def test_another_nic(self):
        self.assertEqual(self.judge(home='br-nic2'), (
            'astray', 'leaves by br-nic1, but 10.1.1.1 is on br-nic2'))

    def test_any_nic(self):
        self.assertEqual(self.judge(home=None)[0], 'ok')

    def test_failover(self):
        self.assertEqual(self.judge(route={'src': '10.1.2.1'}), (
            'astray', '10.1.2.1 sends in its place, by nic1 of br-nic1'))

    def test_unresolved(self):
        self.assertEqual(
            self.judge(neighbor={'ip': '10.1.1.254', 'bridge': 'br-nic1',
                                 'mac': None}),
            ('unresolved', 'the MAC of 10.1.1.254 is not known yet'))

    def test_no_answer(self):
        found = way.judge(PORT, 'tunnel=t1.1: no such port', {})
        self.assertEqual((found.state, found.reason),
                         ('unknown', 'tunnel=t1.1: no such port'))


if __name__ == '__main__':
    unittest.main()
