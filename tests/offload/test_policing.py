# SPDX-License-Identifier: Apache-2.0
"""Ports whose rate software limits: it must see their packets."""
import host
import packets
import pair

BURST = 100                     # In packets.
SIZE = 1000                     # Of an IP packet, with its header.
RATE = 8                        # In kbit/s: a packet a second.


class Policing(pair.PairTest):
    """One VF with traffic both ways."""
    arguments = {}

    def setUp(self):
        super().setUp()
        self.pair.flows('in_port=vm1a,actions=set_field:5->tun_id,output:t1\n'
                        'in_port=t1,actions=vm1a\n')
        self.out = [packets.inner('udp', bytes(SIZE - 28))]
        back = packets.inner('udp', bytes(SIZE - 28), outgoing=False)
        self.back = [packets.outer(self.hardware, 1, back)]
        self.warm()

    def warm(self):
        """Both ways are in the NIC."""
        self.pair.in_nic('vm1a', self.out, 'nic1')
        self.pair.in_nic('nic1', self.back, 'vm1a')
        self.assertFalse(self.hardware.reasons())

    def limit_in(self, port, rate):
        """What comes in by PORT, in kbit/s."""
        for one in self.pair.hosts:
            self.addCleanup(one.vsctl, 'set', 'Interface', port,
                            'ingress_policing_rate=0')
            one.vsctl('set', 'Interface', port,
                      'ingress_policing_rate=%d' % rate,
                      'ingress_policing_burst=%d' % (BURST * SIZE * 8 / 1000))

    def no_limit_in(self, port):
        """The opposite."""
        self.pair.vsctl('set', 'Interface', port, 'ingress_policing_rate=0')

    def qos(self, port, kind):
        """What leaves by PORT, with so high a rate that all passes."""
        for one in self.pair.hosts:
            self.addCleanup(one.vsctl, 'clear', 'Port', port, 'qos')
            one.vsctl('set', 'Port', port, 'qos=@qos', '--', '--id=@qos',
                      'create', 'QoS', 'type=' + kind,
                      'other_config:cir=100000000',
                      'other_config:cbs=1000000')

    def gone(self, part, reason):
        """There is no rule with PART any more, for REASON."""
        host.until('no rule', lambda: not self.hardware.rules(part))
        host.until(lambda: 'reason %s\n%s' % (reason, self.pair.explain()),
                   lambda: self.hardware.reasons().get('policed ' + reason))

    def foretold(self):
        """What encap/trace says of offload."""
        lines = self.hardware.appctl('encap/trace', 'in_port=vm1a',
                                     'tunnel=t1').splitlines()
        return [line.split(None, 1)[1] for line in lines
                if line.startswith('offload ')][0]

    def is_limited(self, source, frames, target):
        """Of many packets, hardly more than a burst pass."""
        for _ in range(5 * BURST):
            self.hardware.far[source].send(frames[0])
        passed = 0

        def count():
            nonlocal passed
            passed += len(self.hardware.hear().get(target, ()))
            return passed
        host.until('packets', count)
        host.settled(count, 3)
        self.assertLess(passed, 2 * BURST)

    def test_limited(self):
        """A rate is kept that is set when the flow is in the NIC, and one
        that is there before it."""
        self.limit_in('vm1a', RATE)
        self.gone('encap', 'ingress_policing_rate')
        self.is_limited('vm1a', self.out, 'nic1')
        self.pair.appctl('revalidator/purge')
        self.is_limited('vm1a', self.out, 'nic1')
        self.assertFalse(self.hardware.rules('encap'))
        self.no_limit_in('vm1a')
        self.warm()

    def test_in(self):
        """Of a VF: what goes to it is not concerned."""
        self.assertRegex(self.foretold(), '^yes')
        self.limit_in('vm1a', 10000000)
        self.gone('encap', 'ingress_policing_rate')
        self.assertEqual('no: policed: vm1a has an ingress_policing_rate, '
                         'which software enforces', self.foretold())
        self.pair.in_nic('nic1', self.back, 'vm1a')
        self.pair.in_software('vm1a', self.out, 'nic1')
        self.pair.purge()
        self.pair.in_software('vm1a', self.out, 'nic1',
                              'policed ingress_policing_rate')
        self.no_limit_in('vm1a')
        self.warm()
        self.assertRegex(self.foretold(), '^yes')

    def test_in_uplink(self):
        """Of an uplink: neither rule of reception may be there."""
        self.limit_in('nic1', 10000000)
        self.gone('decap', 'ingress_policing_rate')
        host.until('no rule', lambda: not self.hardware.rules(source='nic1'))
        self.pair.in_software('nic1', self.back, 'vm1a')
        self.pair.in_nic('vm1a', self.out, 'nic1')
        self.no_limit_in('nic1')
        self.warm()

    def test_qos(self):
        """Of an uplink, in the other direction, and of a VF."""
        self.qos('nic1', 'egress-policer')
        self.gone('encap', 'qos')
        self.assertEqual('no: policed: nic1 has a QoS, which software '
                         'enforces', self.foretold())
        self.pair.in_software('vm1a', self.out, 'nic1')
        self.pair.in_nic('nic1', self.back, 'vm1a')
        self.pair.vsctl('clear', 'Port', 'nic1', 'qos')
        self.warm()
        self.qos('vm1a', 'egress-policer')
        self.gone('decap', 'qos')
        self.pair.in_software('nic1', self.back, 'vm1a')
        self.pair.in_nic('vm1a', self.out, 'nic1')
        self.pair.vsctl('clear', 'Port', 'vm1a', 'qos')
        self.warm()

    def test_no_qos(self):
        """A QoS that netdev-dpdk has not."""
        self.qos('nic1', 'linux-htb')
        self.warm()
