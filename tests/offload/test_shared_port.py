# SPDX-License-Identifier: Apache-2.0
"""Tunnels of one UDP port share a port of the datapath."""
import packets
import pair


class SharedPort(pair.PairTest):
    """Two VXLAN tunnels to the same place, of which the one that made the
    datapath's port moves to another UDP port."""
    arguments = {'vms': 2, 'kind': 'vxlan'}

    def come(self, port):
        """A packet of VNI 5 to a UDP port."""
        frame = bytearray(packets.outer(self.hardware, 1, packets.inner(
            'udp', outgoing=False)))
        frame[36:38] = port.to_bytes(2, 'big')
        return bytes(frame)

    def test_owner_moves(self):
        """The packets of either port reach only its own tunnel."""
        one = self.hardware
        same = ('options:remote_ip="%s"' % one.peer(1),
                'options:local_ip="%s"' % one.endpoint(1))
        self.pair.vsctl('del-port', 't1')
        self.pair.vsctl(*one.tunnel_words('moves', *same,
                                          'options:dst_port=4790',
                                          'options:in_key=6')[1:])
        self.pair.vsctl(*one.tunnel_words('stays', *same,
                                          'options:dst_port=4790',
                                          'options:in_key=5')[1:])
        self.pair.vsctl('set', 'Interface', 'moves', 'options:dst_port=4789',
                        'options:in_key=5')
        self.pair.flows('in_port=stays,actions=vm1a\n'
                        'in_port=moves,actions=vm1b\n')
        self.pair.in_software('nic1', [self.come(4790)] * 4, 'vm1a',
                              'unsupported-match')
        self.pair.in_nic('nic1', [self.come(4789)] * 4, 'vm1b')
        self.pair.in_software('nic1', [self.come(4790)] * 4, 'vm1a',
                              'unsupported-match')
