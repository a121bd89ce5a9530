# SPDX-License-Identifier: Apache-2.0
"""Packets that are longer than ports take."""
import json

import host
import packets
import pair

FLOWS = '''
    in_port=vm1a,actions=set_field:5->tun_id,output:t1
    in_port=t1,tun_id=5,actions=vm1a
'''


def sized(mtu, **how):
    """A frame of exactly MTU bytes above its Ethernet header."""
    frame = packets.inner('udp', bytes(mtu - 28), **how)
    assert len(frame) == mtu + 14
    return frame


class Mtu(pair.PairTest):
    """The VF's MTU is 1400, the uplink's 1500."""

    def test_longest(self):
        """What fills the VF's MTU passes, both ways."""
        self.pair.flows(FLOWS)
        self.pair.in_nic('vm1a', [sized(size) for size in (
            1400, 1399, 1398, 28, 60)], 'nic1')
        self.pair.in_nic('nic1', [packets.outer(
            self.hardware, 1, sized(size, outgoing=False))
                                  for size in (1400, 1399, 28)], 'vm1a')

    def test_too_long(self):
        """What is longer than the VF's MTU does not reach the VF, neither by
        hardware nor by software, and holds up nothing."""
        self.pair.flows(FLOWS)
        good = packets.outer(self.hardware, 1, sized(1400, outgoing=False))
        self.pair.in_nic('nic1', [good], 'vm1a')
        long = packets.outer(self.hardware, 1, sized(1420, outgoing=False))
        for _ in range(2):
            self.pair.exchange('nic1', [long, good], {'vm1a': 1})


class MtuRefused(pair.PairTest):
    """The VF's MTU leaves no room for the outer header."""
    arguments = {'mtu': 1500}

    def test_refused(self):
        """So the flow stays in software, which tells long packets from short
        ones."""
        self.pair.flows(FLOWS)
        self.pair.in_software('vm1a', [sized(1400), sized(100)], 'nic1',
                              'mtu')
        short = sized(100)
        for _ in range(2):
            self.pair.exchange('vm1a', [sized(1490), short], {'nic1': 1})
        # Into the VF there is room.
        self.pair.in_nic('nic1', [packets.outer(
            self.hardware, 1, sized(1400, outgoing=False))] * 2, 'vm1a')
        # A smaller MTU of the VF mends it.
        self.pair.vsctl('set', 'Interface', 'vm1a', 'mtu_request=1400')
        self.pair.in_nic('vm1a', [sized(1400), sized(100)], 'nic1')


class MtuOfFamilies(pair.PairTest):
    """The VF's MTU leaves room for the outer header of IPv4, 50 bytes, but not
    for that of IPv6, 70."""
    arguments = {'mtu': 1440}

    def test_foretold(self):
        """encap/trace goes by the tunnel, whatever else is on the bridge."""
        one = self.hardware
        one.host('sysctl', '-qw', 'net.ipv6.conf.br-nic1.accept_dad=0',
                 'net.ipv6.conf.br-nic1.disable_ipv6=0')
        one.ip('addr add 2001:db8:1::1/64 dev br-nic1')
        one.vsctl('set', 'Open_vSwitch', '.', 'external_ids:ovn-encap-ip="%s"'
                  % one.endpoint(1), *one.tunnel_words(
                      't6', 'options:remote_ip="2001:db8:1::9"',
                      'options:local_ip="2001:db8:1::1"'))
        self.addCleanup(one.vsctl, '--', 'remove', 'Open_vSwitch', '.',
                        'external_ids', 'ovn-encap-ip',
                        '--', 'del-port', 't6')

        def told(tunnel):
            said = json.loads(one.appctl('encap/trace', 'in_port=vm1a',
                                         'tunnel=' + tunnel, 'format=json'))
            return said['offloadable'], said['offload-reason']
        host.until(lambda: 'no way: %s' % (told('t6'),),
                   lambda: told('t6')[0] is not None)
        self.assertEqual((False, 'mtu: vm1a has MTU 1440 and the tunnel adds '
                          '70, but nic1 has 1500'), told('t6'))
        # 58 bytes with OVN's option fit as well.
        self.assertEqual((True, None), told('t1'))
