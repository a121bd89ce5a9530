# SPDX-License-Identifier: Apache-2.0
"""Geneve options: OVN's (class 0x0102, type 0x80, 4 bytes), and others."""
import packets
import pair


class Options(pair.PairTest):
    """One NIC, two VFs."""
    arguments = {'vms': 2}

    def come(self, options, sport=4000, **fields):
        """A packet from the wire with these OPTIONS."""
        frame = packets.inner('udp', outgoing=False, sport=sport)
        return packets.outer(self.hardware, 1, frame, options=options,
                             **fields)

    def test_set(self):
        """What OVN sets when a packet enters a tunnel."""
        self.pair.flows('\n'.join(
            'udp,in_port=vm1a,tp_dst=%d,actions=set_field:5->tun_id,'
            'set_field:%#x->tun_metadata0,output:t1' % (5000 + n, value)
            for n, value in enumerate((0x10002, 0x10003, 0, 0x7fffffff))))
        self.pair.in_nic('vm1a', [packets.inner('udp', dport=5000 + n)
                                  for n in range(4)], 'nic1')
        # Each value is a header of its own, and each header one context.
        self.assertEqual('4', self.hardware.nic(1)['encaps'])

    def test_matched(self):
        """Two values go to two workloads."""
        self.pair.flows('''
            in_port=t1,tun_metadata0=0x10002/0x7fffffff,actions=vm1a
            in_port=t1,tun_metadata0=0x10003/0x7fffffff,actions=vm1b
        ''')
        self.pair.in_nic('nic1', [
            self.come(packets.option(value), sport)
            for value in (0x10002, 0x10003, 0x80010002) for sport in (1, 2)],
                         {'vm1a': 4, 'vm1b': 2})
        # The same value in another option is not it.
        self.drop('nic1', [self.come(packets.option(0x10002, kind, group))
                           for kind, group in ((0x81, 0x102), (0x80, 0x103))])

    def drop(self, port, frames):
        """FRAMES are dropped; a good one behind them passes."""
        good = self.come(packets.option(0x10002))
        for _ in range(2):
            self.pair.exchange(port, frames + [good], {'vm1a': 1})

    def test_present_but_not_matched(self):
        """A flow that does not look at options takes all."""
        self.pair.flows('in_port=t1,tun_id=5,actions=vm1a')
        frames = [self.come(options, sport)
                  for sport, options in enumerate((
                      b'', packets.option(0x10002), packets.option(0),
                      packets.option(7, 1, 0x103),
                      packets.option(bytes(8), 1, 0x103),
                      packets.option(7) + packets.option(8, 1, 0x103)), 4000)]
        self.pair.in_nic('nic1', frames, 'vm1a')

    def test_zero(self):
        """The NIC cannot match a value of zero."""
        self.pair.flows('''
            in_port=t1,tun_metadata0=0,actions=vm1a
            in_port=t1,tun_metadata0=0x10000/0xffff0000,actions=vm1b
        ''')
        self.pair.in_software('nic1', [self.come(packets.option(0))], 'vm1a',
                              'option-value-zero')
        self.pair.in_nic('nic1', [self.come(packets.option(0x10002))], 'vm1b')

    def test_masked_zero(self):
        """Nor one that is zero where it is matched."""
        self.pair.flows('in_port=t1,tun_metadata0=0/0xffff,actions=vm1a')
        self.pair.in_software('nic1', [self.come(packets.option(0x10000))],
                              'vm1a', 'option-value-zero')

    def test_two_options(self):
        """OVN's option among others is found in software only, because the
        NIC does not look at the place."""
        self.pair.flows('in_port=t1,tun_metadata0=0x10002,actions=vm1a')
        other = packets.option(7, 1, 0x103)
        ovn = packets.option(0x10002)
        self.pair.in_software('nic1', [
            self.come(other + ovn, 1), self.come(ovn + other, 2)], 'vm1a',
                              'unsupported-match')
        self.pair.in_nic('nic1', [self.come(ovn, 3)], 'vm1a')

    def test_flags(self):
        """OAM packets (RFC 8926 section 3.4) and those with another next
        protocol."""
        self.pair.flows('in_port=t1,tun_id=5,actions=vm1a')
        plain = self.come(b'')
        oam = bytearray(plain)
        oam[14 + 20 + 8 + 1] |= 0x80
        self.pair.in_nic('nic1', [plain, plain], 'vm1a')
        self.pair.exchange('nic1', [bytes(oam), plain], {'vm1a': 2})
        self.pair.exchange('nic1', [bytes(oam), plain], {'vm1a': 2})
