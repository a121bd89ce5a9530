# SPDX-License-Identifier: Apache-2.0
"""What the NIC cannot do, next to what it can: nothing is lost, and nothing
is done otherwise than by software."""
import host
import packets
import pair

PROTOCOLS = ('udp', 'tcp', 'icmp', 'udp6', 'tcp6', 'icmp6')


class Mixed(pair.PairTest):
    """Two NICs, the first with two VFs."""
    arguments = {'nics': 2, 'vms': 2}

    def come(self, frame=None, vni=5, n=1, **fields):
        """A packet from the wire."""
        if frame is None:
            frame = packets.inner('udp', outgoing=False)
        return packets.outer(self.hardware, n, frame, vni, **fields)

    def test_mixed(self):
        """Flows of all sorts at once."""
        self.pair.flows('''
            udp,in_port=vm1a,tp_dst=1,actions=set_field:5->tun_id,output:t1
            udp,in_port=vm1a,tp_dst=2,actions=set_field:5->tun_id,output:t2
            udp,in_port=vm1a,tp_dst=3,actions=set_field:5->tun_id,\
output:t1,output:vm1b
            udp,in_port=vm1a,tp_dst=4,actions=output:vm1b
            udp,in_port=vm1a,tp_dst=5,actions=output:vm2a
            udp,in_port=vm1a,tp_dst=6,actions=set_field:5->tun_id,output:t1,\
set_field:6->tun_id,output:t1
            udp,in_port=vm1a,tp_dst=7,actions=drop
            in_port=t1,tun_id=5,actions=vm1a
            in_port=t1,tun_id=6,actions=vm1a,vm1b
            in_port=t1,tun_id=7,actions=set_field:8->tun_id,output:t2
            in_port=t1,tun_id=8,actions=vm2a
        ''')
        frames = {n: packets.inner('udp', dport=n) for n in range(1, 9)}
        out = {'nic1': 4, 'nic2': 1, 'vm1b': 2, 'vm2a': 1}
        back = [self.come(vni=vni) for vni in range(5, 9)]
        for _ in range(2):
            self.pair.exchange('vm1a', list(frames.values()), out)
            self.pair.exchange('nic1', back, {'vm1a': 2, 'vm1b': 1, 'nic2': 1,
                                              'vm2a': 1})
        self.pair.in_nic('vm1a', [frames[1]] * 3, 'nic1')
        self.pair.in_nic('nic1', [back[0]] * 3, 'vm1a')
        self.pair.in_software('vm1a', [frames[2]], 'nic2', 'cross-nic')
        self.pair.in_software('vm1a', [frames[3]], {'nic1': 1, 'vm1b': 1},
                              'several-outputs')
        self.pair.in_software('nic1', [back[2]], 'nic2', 'tunnel-to-tunnel')
        self.pair.in_software('nic1', [back[3]], 'vm2a', 'cross-nic')
        for _ in range(2):
            self.pair.exchange('vm1a', list(frames.values()), out)

    def test_second_uplink(self):
        """The same flow of a tunnel port arrives by another NIC as well."""
        self.pair.flows('in_port=t1,tun_id=5,actions=vm1a')
        first = self.come()
        second = packets.outer(self.hardware, 1, packets.inner(
            'udp', outgoing=False), nic=2)
        self.pair.in_nic('nic1', [first] * 2, 'vm1a')
        # To a VF of another eSwitch: software, without harm to the first.
        self.pair.in_software('nic2', [second] * 2, 'vm1a', 'cross-nic')
        self.pair.in_nic('nic1', [first] * 2, 'vm1a')
        self.pair.in_software('nic2', [second] * 2, 'vm1a')
        # That is said of the NIC where it is so.  Rules A are in both.
        self.assertEqual({'nic1': (2, {}), 'nic2': (1, {'cross-nic': 1})},
                         {nic['name']: (nic['flows']['offloaded'],
                                        nic['flows']['software'])
                          for nic in self.hardware.offload_show()['nics']})
        self.assertEqual([], [line for line in self.hardware.dump()
                              if 'tun_id=0x5' in line])

    def add_foreign(self, one):
        """To a host, port "other", of a driver that knows no eSwitch."""
        one.add_device('other')
        self.addCleanup(lambda: one.far.pop('other').close())
        one.vsctl('add-port', 'br-int', 'other', '--', 'set', 'Interface',
                  'other', 'type=dpdk', 'ofport_request=90',
                  'options:dpdk-devargs=net_af_packet_other,iface=other',
                  'mtu_request=%d' % one.mtu)
        self.addCleanup(one.vsctl, 'del-port', 'other')

    def test_foreign_port(self):
        """Without tunnels, to and from a port of a driver that mlx5 must not
        be asked to send to, and of another NIC."""
        for one in self.pair.hosts:
            self.add_foreign(one)
        self.pair.flows('''
            udp,in_port=vm1a,tp_dst=1,actions=other
            udp,in_port=vm1a,tp_dst=2,actions=vm1b
            udp,in_port=vm1a,tp_dst=3,actions=vm2a
            in_port=other,actions=vm1a
        ''')
        frames = [packets.inner('udp', dport=n) for n in (1, 2, 3)]
        back = [packets.inner('udp', outgoing=False)]
        self.pair.in_nic('vm1a', [frames[1]] * 2, 'vm1b')
        for _ in range(3):
            self.pair.in_software('vm1a', [frames[0]], 'other')
            self.pair.in_software('vm1a', [frames[2]], 'vm2a')
            self.pair.exchange('other', back, {'vm1a': 1})
        self.pair.in_nic('vm1a', [frames[1]] * 2, 'vm1b')
        self.assertEqual([], self.hardware.rules(
            'port net_af_packet_vm2a', source='vm1a'))
        host.until('counted', lambda: int(self.hardware.appctl(
            'coverage/read-counter', 'nic_base_rule_cross_nic')) >= 2)

    def test_unknown_vni(self):
        """A VNI that nobody has does not reach those of others."""
        self.pair.flows('in_port=t1,tun_id=5,actions=vm1a')
        good = self.come()
        self.pair.in_nic('nic1', [good] * 2, 'vm1a')
        for _ in range(3):
            self.pair.exchange('nic1', [self.come(vni=6), self.come(vni=0),
                                        self.come(vni=0xffffff), good],
                               {'vm1a': 1})

    def test_miss(self):
        """What meets rule A and no B is whole when software has it: other
        sources, other inner headers, no tunnel at all, garbage."""
        self.pair.flows('''
            udp,in_port=t1,tun_id=5,tp_src=4000,actions=vm1a
            udp,in_port=t1,tun_id=5,tp_src=4001,actions=vm1a,vm1b
        ''')
        good = self.come()
        self.pair.in_nic('nic1', [good] * 2, 'vm1a')
        missed = self.come(packets.inner('udp', outgoing=False, sport=4001))
        strange = bytearray(good)
        strange[26:30] = bytes((10, 2, 1, 77))      # Source, of no tunnel.
        strange[24:26] = b'\0\0'
        strange[24:26] = packets.checksum(bytes(strange[14:34])).to_bytes(
            2, 'big')
        short = good[:60]
        for _ in range(3):
            self.pair.exchange('nic1', [missed, bytes(strange), good],
                               {'vm1a': 2, 'vm1b': 1})
        for _ in range(2):
            self.pair.exchange('nic1', [short, good], {'vm1a': 1})

    def test_conntrack(self):
        """Conntrack before or after a tunnel is software's."""
        self.pair.flows('''
            table=0,udp,in_port=t1,tun_id=5,actions=ct(table=1)
            table=0,udp,in_port=vm1a,actions=ct(commit,table=1)
            table=0,arp,in_port=t1,tun_id=5,actions=vm1a
            table=1,udp,in_port=t1,ct_state=+trk,actions=vm1a
            table=1,udp,in_port=vm1a,ct_state=+trk,\
actions=set_field:5->tun_id,output:t1
        ''')
        self.pair.in_software('vm1a', [packets.inner('udp')] * 2, 'nic1',
                              'conntrack')
        self.pair.in_software('nic1', [self.come()] * 2, 'vm1a', 'conntrack')
        # Another flow of the same tunnel is in the NIC.
        self.pair.in_nic('nic1', [self.come(
            packets.inner('arp', outgoing=False))], 'vm1a')
        self.pair.in_software('nic1', [self.come()] * 2, 'vm1a')

    def test_ecn(self):
        """Congestion marks of the outer header reach the inner one, or end
        the packet (RFC 6040)."""
        self.pair.flows('in_port=t1,tun_id=5,actions=vm1a')

        def marked(outer_tos, inner_tos):
            packet = bytearray(self.come(packets.inner(
                'udp', outgoing=False, tos=inner_tos)))
            packet[15] = outer_tos
            packet[24:26] = b'\0\0'
            packet[24:26] = packets.checksum(bytes(packet[14:34])).to_bytes(
                2, 'big')
            return bytes(packet)

        for _ in range(3):
            self.pair.exchange('nic1', [
                marked(outer, inner) for outer in range(4)
                for inner in range(4) if (outer, inner) != (3, 0)],
                               {'vm1a': 15})
            self.pair.exchange('nic1', [marked(3, 0), marked(0, 0)],
                               {'vm1a': 1})
        self.pair.in_nic('nic1', [marked(0, 0)] * 2, 'vm1a')

    def test_egress_ecn(self):
        """And the inner one's reach the outer one."""
        self.pair.flows('in_port=vm1a,actions=set_field:5->tun_id,output:t1')
        self.pair.in_nic('vm1a', [
            packets.inner(protocol, tos=tos) for tos in (0, 1, 2, 3)
            for protocol in ('udp', 'udp6')], 'nic1')

    def test_matches(self):
        """Matches that NICs do not have."""
        self.pair.flows('''
            priority=2,icmp,in_port=vm1a,icmp_type=8,\
actions=set_field:5->tun_id,output:t1
            priority=2,arp,in_port=vm1a,arp_tpa=172.16.2.1,\
actions=set_field:6->tun_id,output:t1
            priority=2,tcp,in_port=vm1a,tcp_flags=+syn-ack,\
actions=set_field:7->tun_id,output:t1
            priority=1,in_port=vm1a,actions=set_field:8->tun_id,output:t1
            priority=2,icmp,in_port=t1,icmp_type=0,actions=vm1b
            priority=1,in_port=t1,actions=vm1a
        ''')
        frames = [packets.inner('icmp'), packets.inner('icmp', type=0),
                  packets.inner('arp'), packets.inner('tcp', flags='S'),
                  packets.inner('tcp')]
        for _ in range(3):
            self.pair.exchange('vm1a', frames, {'nic1': 5})
        self.pair.in_nic('vm1a', [packets.inner('udp')] * 2, 'nic1')
        for _ in range(3):
            self.pair.exchange('vm1a', frames, {'nic1': 5})
            self.pair.exchange('nic1', [
                self.come(packets.inner('icmp', outgoing=False, type=kind))
                for kind in (0, 8)], {'vm1a': 1, 'vm1b': 1})
        self.pair.in_software('vm1a', [packets.inner('arp')], 'nic1',
                              'unsupported-match')

    def test_checksum_tunnel(self):
        """A tunnel with UDP checksums over IPv4, as OVN makes them: the NIC
        cannot compute one and sends 0."""
        self.pair.vsctl('set', 'Interface', 't1', 'options:csum=true')
        self.addCleanup(self.pair.vsctl, 'remove', 'Interface', 't1',
                        'options', 'csum')
        self.pair.flows('in_port=vm1a,actions=set_field:5->tun_id,output:t1\n'
                        'in_port=t1,tun_id=5,actions=vm1a')
        self.pair.in_nic('vm1a', [packets.inner(protocol)
                                  for protocol in PROTOCOLS], 'nic1')
        self.pair.in_nic('nic1', [
            self.come(packets.inner(protocol, outgoing=False), chksum=None)
            for protocol in PROTOCOLS], 'vm1a')
