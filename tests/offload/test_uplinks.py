# SPDX-License-Identifier: Apache-2.0
"""Several uplinks of one eSwitch, by all of which an endpoint is reached."""
import re

import host
import packets
import pair


class Uplinks(pair.PairTest):
    """Two NICs with a VF each, which are one eSwitch."""
    arguments = {'nics': 2, 'one_eswitch': True}

    def setUp(self):
        super().setUp()
        self.pair.flows('in_port=t1,tun_id=5,actions=vm1a')

    def come(self, nic):
        """A packet for endpoint 1 that comes by NIC."""
        return packets.outer(self.hardware, 1, packets.inner(
            'udp', outgoing=False), nic=nic)

    def counted(self, one):
        """The packets of the OpenFlow flow."""
        return int(re.search(r'n_packets=(\d+),.*tun_id=0x5',
                             one.ofctl('dump-flows', 'br-int')).group(1))

    def inner_rules(self, nic):
        """The rules B of an uplink."""
        return self.hardware.rules('group=1 ', source=nic)

    def test_ingress(self):
        """One flow has rules on those uplinks where it is seen, and counts
        the packets of all."""
        self.pair.in_nic('nic1', [self.come(1)] * 3, 'vm1a')
        self.assertEqual((1, 0), (len(self.inner_rules('nic1')),
                                  len(self.inner_rules('nic2'))))
        self.pair.in_nic('nic2', [self.come(2)] * 5, 'vm1a')
        self.pair.in_nic('nic1', [self.come(1)] * 2, 'vm1a')
        self.assertEqual((1, 1), (len(self.inner_rules('nic1')),
                                  len(self.inner_rules('nic2'))))
        # Both got the same; a few met software until the rules were there.
        host.until(lambda: 'the same count: %d, %d' % (
            self.counted(self.hardware), self.counted(self.pair.software)),
                   lambda: self.counted(self.hardware)
                   == self.counted(self.pair.software) >= 10)

    def test_removal(self):
        """An uplink that goes takes its rules along, and no others."""
        self.pair.in_nic('nic1', [self.come(1)], 'vm1a')
        self.pair.in_nic('nic2', [self.come(2)], 'vm1a')
        self.pair.vsctl('del-port', 'br-nic2', 'nic2')
        self.assertEqual([], self.hardware.rules(source='nic2'))
        self.pair.in_nic('nic1', [self.come(1)] * 3, 'vm1a')

    def test_egress(self):
        """A workload of the other port of the card uses endpoint 1."""
        self.pair.flows('in_port=vm2a,actions=set_field:5->tun_id,output:t1')
        self.pair.in_nic('vm2a', [packets.inner('udp')] * 3, 'nic1')
