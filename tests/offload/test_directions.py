# SPDX-License-Identifier: Apache-2.0
"""Four NICs, both directions, all kinds of tunnel, underlay and payload."""

import host
import packets
import pair

VNI = 0xabc000

# Rules differ in no more than so many outer source ports.
SOURCE_PORTS = 16

# What is sent, and what of it the OpenFlow flow matches: to the remote
# workload, and from it.
CASES = (
    ('udp', {}, 'udp,nw_dst=172.16.2.1,tp_dst=5000',
     'udp,nw_dst=172.16.1.1,tp_dst=5000'),
    ('tcp', {}, 'tcp,nw_src=172.16.0.0/16,tp_src=4000', 'tcp,tp_src=4000'),
    ('icmp', {}, 'icmp,nw_dst=172.16.2.1', 'icmp,nw_src=172.16.2.0/24'),
    ('udp6', {}, 'udp6,ipv6_dst=fd00:2::1,tp_dst=5000',
     'udp6,ipv6_src=fd00:2::/64,tp_dst=5000'),
    ('tcp6', {}, 'tcp6,tp_dst=5000', 'tcp6,ipv6_dst=fd00:1::1,tp_dst=5000'),
    ('icmp6', {}, 'icmp6,ipv6_dst=fd00:2::1', 'icmp6'),
    ('arp', {}, 'arp', 'arp'),
    ('udp', {'tag': 5}, 'udp,dl_vlan=5', 'udp,dl_vlan=5,tp_src=4000'),
    ('tcp6', {'tag': 0x6006}, 'tcp6,dl_vlan=6', 'tcp6,dl_vlan=6'),
)


def flows(one):
    """OpenFlow for all NICs: each workload has the tunnel of its NIC."""
    lines = []
    for n in one.nics:
        there = 'set_field:%#x->tun_id,' % (VNI + n)
        if one.kind == 'geneve':
            there += 'set_field:%#x->tun_metadata0,' % (0x10002 + n)
        for number, (_, _, out, back) in enumerate(CASES):
            lines += ['priority=%d,in_port=vm%da,%s,actions=%soutput:t%d'
                      % (100 + number, n, out, there, n),
                      'priority=%d,in_port=t%d,tun_id=%#x,%s,actions=vm%da'
                      % (100 + number, n, VNI + n, back, n)]
    return '\n'.join(lines) + '\n'


class Directions:
    """Mixed into each kind of tunnel and underlay."""

    def setUp(self):
        super().setUp()
        self.pair.flows(flows(self.hardware))

    def options(self, n):
        """The options that a tunnel packet of NIC N has."""
        return (packets.option(0x20001 + n)
                if self.hardware.kind == 'geneve' else b'')

    def test_egress(self):
        """From the VFs to the wire."""
        frames = [packets.inner(protocol, **fields)
                  for protocol, fields, _, _ in CASES]
        for n in self.hardware.nics:
            with self.subTest(nic=n):
                heard = self.pair.in_nic('vm%da' % n, frames, 'nic%d' % n)
                sent = [packets.Tunnel(frame)
                        for frame in heard['nic%d' % n]]
                self.assertEqual(sorted(frames),
                                 sorted(tunnel.inner for tunnel in sent))
                self.assertEqual({VNI + n}, {tunnel.vni for tunnel in sent})
                # One rule for a flow, on the VF's port, and few headers.
                self.assertEqual(len(CASES), len(self.hardware.rules(
                    source='vm%da' % n)))
                self.assertLessEqual(int(self.hardware.nic(n)['encaps']),
                                     SOURCE_PORTS)

    def test_ingress(self):
        """From the wire to the VFs."""
        frames = [packets.inner(protocol, outgoing=False, **fields)
                  for protocol, fields, _, _ in CASES]
        for n in self.hardware.nics:
            with self.subTest(nic=n):
                heard = self.pair.in_nic('nic%d' % n, [
                    packets.outer(self.hardware, n, frame, VNI + n,
                                  self.options(n))
                    for frame in frames], 'vm%da' % n)
                self.assertEqual(sorted(frames), sorted(heard['vm%da' % n]))
                # Rules are on the NIC where the traffic is: A, and B's.
                self.assertEqual(1 + len(CASES), len(self.hardware.rules(
                    source='nic%d' % n)))

    def test_counters(self):
        """Every packet is counted once, in hardware or software."""
        def counts():
            shown = {nic['name']: nic
                     for nic in self.hardware.offload_show()['nics']}
            return [(shown['nic%d' % n]['hardware']['packets'],
                     shown['nic%d' % n]['hardware']['bytes'])
                    for n in self.hardware.nics]

        def grown():
            return [(packets_ - before[0], bytes_ - before[1])
                    for (packets_, bytes_), before in zip(counts(), start)]

        out = packets.inner('udp')
        back = packets.inner('udp', outgoing=False)
        for n in self.hardware.nics:
            self.pair.in_nic('vm%da' % n, [out], 'nic%d' % n)
            self.pair.in_nic('nic%d' % n, [packets.outer(
                self.hardware, n, back, VNI + n)], 'vm%da' % n)
        # Values of before that come late do not count.
        start = host.settled(counts)
        flow_packets = self.flow_packets()
        for n in self.hardware.nics:
            self.pair.exchange('vm%da' % n, [out] * n, {'nic%d' % n: n})
            self.pair.exchange('nic%d' % n, [packets.outer(
                self.hardware, n, back, VNI + n)] * 2, {'vm%da' % n: 2})
        # Packets and bytes are those of the inner frames.
        expected = [((n + 2), len(out) * n + len(back) * 2)
                    for n in self.hardware.nics]
        host.until(lambda: 'encap/offload-show has %s, not %s'
                   % (grown(), expected), lambda: grown() == expected)
        # A packet that comes in is one of rule A's flow and one of B's.
        packets_ = sum(n + 2 * 2 for n in self.hardware.nics)
        host.until(lambda: 'the offloaded flows have %d more, not %d' % (
            self.flow_packets() - flow_packets, packets_),
                   lambda: self.flow_packets() - flow_packets == packets_)

    def flow_packets(self):
        """The packets of all flows in the NIC."""
        total = 0
        for line in self.hardware.dump('offloaded'):
            if 'packets:' in line:
                self.assertIn('offloaded:yes, dp:dpdk', line)
                total += int(line.split('packets:')[1].split(',')[0])
        return total


class Eight(pair.PairTest):
    """Eight NICs of an eSwitch each."""
    arguments = {'nics': 8}

    def test_rules(self):
        """A flow has one rule, where its traffic is: not one for each NIC."""
        self.pair.flows(flows(self.hardware))
        out = packets.inner('udp')
        back = packets.inner('udp', outgoing=False)
        for number, n in enumerate((5, 1, 8)):
            self.pair.in_nic('vm%da' % n, [out] * 2, 'nic%d' % n)
            self.assertEqual((1, 3 * number + 1), (
                len(self.hardware.rules('encap', source='vm%da' % n)),
                len(self.hardware.rules())))
            self.pair.in_nic('nic%d' % n, [packets.outer(
                self.hardware, n, back, VNI + n,
                packets.option(0x20001 + n))] * 2, 'vm%da' % n)
            # Rules A and B.
            self.assertEqual((1, 1, 3 * number + 3), (
                len(self.hardware.rules('jump', source='nic%d' % n)),
                len(self.hardware.rules('decap', source='nic%d' % n)),
                len(self.hardware.rules())))
        self.assertEqual(
            {'nic%d' % n: 3 if n in (1, 5, 8) else 0 for n in range(1, 9)},
            {nic['name']: nic['rules']
             for nic in self.hardware.offload_show()['nics']})


class Geneve4(Directions, pair.PairTest):
    arguments = {'nics': 4}


class Geneve6(Directions, pair.PairTest):
    arguments = {'nics': 4, 'family': 6}


class Vxlan4(Directions, pair.PairTest):
    arguments = {'nics': 4, 'kind': 'vxlan'}


class Vxlan6(Directions, pair.PairTest):
    arguments = {'nics': 4, 'kind': 'vxlan', 'family': 6}
