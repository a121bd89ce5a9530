# SPDX-License-Identifier: Apache-2.0
"""Changes of headers before a packet enters a tunnel, and after it left."""
import packets
import pair

# Protocol, actions, and whether the NIC does it.
ROWS = (
    ('udp', 'mod_dl_src:0a:00:00:00:99:01', True),
    ('udp', 'mod_dl_dst:0a:00:00:00:99:02', True),
    ('udp', 'dec_ttl', True),
    ('udp', 'mod_nw_src:10.9.9.9', True),
    ('udp', 'mod_nw_dst:10.9.9.8', True),
    ('udp', 'mod_tp_src:77', True),
    ('udp', 'mod_tp_dst:78', True),
    ('tcp', 'mod_tp_src:77,mod_tp_dst:78', True),
    ('tcp', 'mod_nw_src:10.9.9.9,mod_nw_dst:10.9.9.8', True),
    ('icmp', 'mod_nw_src:10.9.9.9', True),
    ('udp', 'mod_nw_tos:184', True),
    ('udp', 'mod_dl_src:0a:00:00:00:99:01,mod_dl_dst:0a:00:00:00:99:02,'
            'dec_ttl,mod_nw_src:10.9.9.9,mod_nw_dst:10.9.9.8,mod_tp_src:77,'
            'mod_tp_dst:78', True),
    ('udp6', 'set_field:fd00:9::9->ipv6_src', True),
    ('tcp6', 'set_field:fd00:9::8->ipv6_dst', True),
    ('udp6', 'dec_ttl', True),
    ('tcp6', 'mod_dl_dst:0a:00:00:00:99:02,dec_ttl,'
             'set_field:fd00:9::9->ipv6_src,set_field:fd00:9::8->ipv6_dst,'
             'mod_tp_src:77,mod_tp_dst:78', True),
    # mlx5 does not correct ICMPv6's checksum.
    ('icmp6', 'set_field:fd00:9::9->ipv6_src', False),
    ('icmp6', 'mod_dl_dst:0a:00:00:00:99:02,dec_ttl', True),
    ('udp', 'move:NXM_OF_IP_SRC[]->NXM_OF_IP_DST[]', True),
    ('udp', 'set_field:3->nw_ecn', False),
)


class Rewrites(pair.PairTest):
    """One NIC; a payload length tells the rows apart."""

    def frames(self, outgoing):
        """A frame for each row; its source port or ICMP id is the row's, and
        the protocol has a network address of its own."""
        frames = []
        for number, (protocol, _, _) in enumerate(ROWS):
            six = protocol.endswith('6')
            address = ('fd00:77::%x' if six else '10.77.0.%d') % number
            frames.append(packets.inner(protocol, outgoing=outgoing,
                                        src=address))
        return frames

    def matches(self):
        """The match of each row."""
        for number, (protocol, _, _) in enumerate(ROWS):
            if protocol.endswith('6'):
                yield '%s,ipv6_src=fd00:77::%x' % (protocol, number)
            else:
                yield '%s,nw_src=10.77.0.%d' % (protocol, number)

    def check(self, source, target, frames, wrap=lambda frame: frame):
        """Rows that the NIC does, and others."""
        good, bad = ([wrap(frame) for frame, row in zip(frames, ROWS)
                      if row[2] == in_nic] for in_nic in (True, False))
        # Checksums are part of the comparison.
        self.pair.in_nic(source, good, target)
        self.pair.in_software(source, bad, target, 'unsupported-action')

    def test_egress(self):
        """Before the tunnel."""
        self.pair.flows('\n'.join(
            '%s,in_port=vm1a,actions=%s,set_field:5->tun_id,output:t1'
            % (match, row[1]) for match, row in zip(self.matches(), ROWS)))
        self.check('vm1a', 'nic1', self.frames(True))

    def test_ingress(self):
        """After the tunnel."""
        self.pair.flows('\n'.join(
            '%s,in_port=t1,actions=%s,output:vm1a' % (match, row[1])
            for match, row in zip(self.matches(), ROWS)))
        self.check('nic1', 'vm1a', self.frames(False),
                   lambda frame: packets.outer(
                       self.hardware, 1, frame, options=packets.option(9)))

    def test_expired(self):
        """A packet whose TTL is over is not forwarded, with dec_ttl."""
        self.pair.flows('in_port=vm1a,ip,actions=dec_ttl,'
                        'set_field:5->tun_id,output:t1')
        good = packets.inner('udp')
        self.pair.in_nic('vm1a', [good], 'nic1')
        for _ in range(2):
            self.pair.exchange('vm1a', [packets.inner('udp', ttl=1), good],
                               {'nic1': 1})

    def test_vlan(self):
        """Tags are put on before the tunnel and taken off after it."""
        self.pair.flows('''
            udp,in_port=vm1a,vlan_tci=0,actions=mod_vlan_vid:9,output:t1
            udp,in_port=vm1a,dl_vlan=8,actions=strip_vlan,output:t1
            udp,in_port=t1,dl_vlan=9,actions=strip_vlan,output:vm1a
            udp,in_port=t1,vlan_tci=0,actions=mod_vlan_vid:8,output:vm1a
        ''')
        self.pair.in_nic('vm1a', [packets.inner('udp'),
                                  packets.inner('udp', tag=8)], 'nic1')
        self.pair.in_nic('nic1', [
            packets.outer(self.hardware, 1,
                          packets.inner('udp', outgoing=False, tag=tag))
            for tag in (9, None)], 'vm1a')

    def test_tos(self):
        """The outer header's DSCP and ECN follow the inner one where a tunnel
        says so (RFC 6040)."""
        self.pair.vsctl('set', 'Interface', 't1', 'options:tos=inherit')
        self.addCleanup(self.pair.vsctl, 'remove', 'Interface', 't1',
                        'options', 'tos')
        self.pair.flows('in_port=vm1a,actions=output:t1\n'
                        'in_port=t1,actions=output:vm1a')
        self.pair.in_nic('vm1a', [
            packets.inner(protocol, tos=tos) for tos in (0, 1, 2, 3, 0xb8, 29)
            for protocol in ('udp', 'udp6')], 'nic1')
