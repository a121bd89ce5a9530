# SPDX-License-Identifier: Apache-2.0
"""Endpoints in a VLAN that is tagged on the wire."""
import collections
import re

import host
import packets
import pair

TAG = 10
VNI = 0xabc001

# What a datapath flow does, by what there is in it alone.
KINDS = {'egress': 'tnl_push(', 'outer': 'tnl_pop(', 'inner': ',tunnel('}


class OuterVlan:
    """Mixed into each kind of tunnel and underlay."""

    def setUp(self):
        super().setUp()
        # For some ms after a change Open vSwitch learns by the old tag, and
        # NORMAL does not look whether the port still is of that VLAN.
        self.pair.appctl('fdb/flush', 'br-nic1')
        self.pair.flows('''
            in_port=vm1a,actions=set_field:%d->tun_id,output:t1
            in_port=t1,tun_id=%d,actions=vm1a
        ''' % (VNI, VNI))
        self.out = [packets.inner(protocol) for protocol in ('udp', 'tcp6')]
        self.back = [packets.inner(protocol, outgoing=False)
                     for protocol in ('udp', 'tcp6')]

    def come(self, frame, tag=TAG):
        """FRAME as it comes by the wire."""
        return packets.outer(self.hardware, 1, frame, VNI, tag=tag)

    def test_egress(self):
        """To the wire: the header that the NIC puts before packets has the
        tag."""
        heard = self.pair.in_nic('vm1a', self.out, 'nic1')
        sent = [packets.Tunnel(frame) for frame in heard['nic1']]
        self.assertEqual({TAG}, {tunnel.tag for tunnel in sent})
        self.assertEqual(sorted(self.out),
                         sorted(tunnel.inner for tunnel in sent))
        self.assertEqual(len(self.out), len(self.hardware.rules('encap')))
        self.assertEqual(len(self.out), len(self.hardware.rules()))

    def test_ingress(self):
        """From the wire: rule A matches the tag, rules B remove it, and
        packets of other VLANs are nobody's."""
        frames = [self.come(frame) for frame in self.back]
        heard = self.pair.in_nic('nic1', frames, 'vm1a')
        self.assertEqual(sorted(self.back), sorted(heard['vm1a']))
        self.assertEqual((1, len(frames)), (
            len(self.hardware.rules('jump')),
            len(self.hardware.rules('decap'))))
        for tag in (None, 0, TAG + 1):
            for _ in range(2):
                heard = self.pair.exchange('nic1', [
                    self.come(self.back[0], tag), frames[1]], {'vm1a': 1})
                self.assertEqual([self.back[1]], heard['vm1a'])

    def counted(self, one):
        """Packets and bytes of flows: {kind: (packets, bytes)}."""
        counts = collections.Counter()
        for line in one.dump('all'):
            numbers = re.search(r'packets:(\d+), bytes:(\d+)', line)
            for kind, part in KINDS.items():
                if part in line and numbers:
                    counts[kind, 'packets'] += int(numbers.group(1))
                    counts[kind, 'bytes'] += int(numbers.group(2))
        return counts

    def shown(self):
        """What encap/offload-show has of the NIC: packets and bytes."""
        nic, = self.hardware.offload_show()['nics']
        return {(way, key): number
                for way in ('hardware-encap', 'hardware-decap')
                for key, number in nic[way].items()}

    def check_counters(self, tag, kinds=('egress', 'outer', 'inner')):
        """Flows of KINDS in the NIC count what those of software do: rule A's
        whole packets, rule B's and those of VFs without outer headers."""
        out, back = self.out[0], self.back[0]
        come = self.come(back, tag)
        self.pair.in_nic('vm1a', [out], 'nic1')
        self.pair.in_nic('nic1', [come], 'vm1a')
        start, shown = host.settled(lambda: (
            [self.counted(one) for one in self.pair.hosts], self.shown()))
        self.pair.exchange('vm1a', [out] * 3, {'nic1': 3})
        self.pair.exchange('nic1', [come] * 5, {'vm1a': 5})
        expected = {
            ('egress', 'packets'): 3, ('egress', 'bytes'): 3 * len(out),
            ('outer', 'packets'): 5, ('outer', 'bytes'): 5 * len(come),
            ('inner', 'packets'): 5, ('inner', 'bytes'): 5 * len(back)}
        expected = {key: number for key, number in expected.items()
                    if key[0] in kinds}
        for one, before in zip(self.pair.hosts, start):
            def grown(one=one, before=before):
                counted = self.counted(one)
                return {key: counted[key] - before[key] for key in expected}
            host.until(lambda: '%s: %s, not %s' % (
                self.pair.name_of(one), grown(), expected),
                       lambda: grown() == expected, 5)
        self.assertEqual({
            ('hardware-encap', 'packets'): 3,
            ('hardware-encap', 'bytes'): 3 * len(out),
            ('hardware-decap', 'packets'): 5,
            ('hardware-decap', 'bytes'): 5 * len(back)},
                         {key: number - shown[key]
                          for key, number in self.shown().items()})

    def test_counters(self):
        """Packets and bytes, with the tag and when it is gone."""
        self.check_counters(TAG)
        self.addCleanup(self.pair.vsctl, 'set', 'Port', 'br-nic1',
                        'tag=%d' % TAG)
        self.pair.vsctl('clear', 'Port', 'br-nic1', 'tag')
        self.until_untagged()
        # By now rules A share what came with the tag and without.
        self.check_counters(None, ('egress', 'inner'))

    def until_untagged(self):
        """Until both hosts send and take packets without the tag."""
        self.pair.until_moved('nic1', [self.come(self.back[0], None)],
                              'vm1a')
        for one in self.pair.hosts:
            def untagged(one=one):
                one.far['vm1a'].send(self.out[0])
                frame, = self.pair.collect(one, {'nic1': 1}, 5)['nic1']
                return packets.Tunnel(frame).tag is None
            host.until(self.pair.name_of(one) + ' sends no tag', untagged)


class Geneve4(OuterVlan, pair.PairTest):
    arguments = {'tag': TAG}


class Vxlan6(OuterVlan, pair.PairTest):
    arguments = {'tag': TAG, 'kind': 'vxlan', 'family': 6}
