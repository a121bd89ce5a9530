# SPDX-License-Identifier: Apache-2.0
"""Fragments, inside tunnels and of tunnel packets."""
import packets
import pair


def come(host, frame):
    """FRAME from the wire."""
    return packets.outer(host, 1, frame)


class Fragments(pair.PairTest):
    """One NIC with two VFs."""
    arguments = {'vms': 2, 'taps': True}

    def test_fragments(self):
        """First and later fragments, inner and outer."""
        self.pair.flows('''
            udp,in_port=vm1a,tp_dst=5000,actions=set_field:5->tun_id,output:t1
            ip,ip_frag=yes,in_port=vm1a,actions=set_field:6->tun_id,output:t1
            udp,in_port=t1,tun_id=5,tp_dst=5000,actions=vm1a
            ip,ip_frag=first,in_port=t1,tun_id=5,actions=vm1a
            ip,ip_frag=later,in_port=t1,tun_id=5,actions=vm1b
        ''')
        whole = packets.inner('udp')
        first = packets.inner('udp', bytes(24), flags='MF', frag=0)
        later = packets.inner('udp', bytes(24), frag=3)
        self.pair.in_nic('vm1a', [whole] * 2, 'nic1')
        for _ in range(3):
            self.pair.exchange('vm1a', [whole, first, later], {'nic1': 3})
        back = [come(self.hardware, packets.inner('udp', outgoing=False))]
        self.pair.in_nic('nic1', back * 2, 'vm1a')
        parts = [come(self.hardware, packets.inner(
            'udp', bytes(24), outgoing=False, **how))
                 for how in ({'flags': 'MF', 'frag': 0}, {'frag': 3})]
        for _ in range(3):
            self.pair.exchange('nic1', parts + back, {'vm1a': 2, 'vm1b': 1})
        # A first fragment of a tunnel packet has its headers, and no more: it
        # is no tunnel packet.
        outer = bytearray(back[0])
        outer[20] = 0x20
        outer[24:26] = b'\0\0'
        outer[24:26] = packets.checksum(bytes(outer[14:34])).to_bytes(2,
                                                                      'big')
        for _ in range(3):
            self.pair.exchange('nic1', [bytes(outer)] + back, {'vm1a': 1})
