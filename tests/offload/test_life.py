# SPDX-License-Identifier: Apache-2.0
"""What rules live on goes away and comes back: the rules with it, and nobody
else's traffic is harmed."""
import re

import host
import packets
import pair
from stream import Lane, Stream, template

FLOWS = '''
    in_port=vm1a,actions=set_field:5->tun_id,output:t1
    in_port=vm1b,actions=set_field:6->tun_id,output:t1
    in_port=vm2a,actions=set_field:7->tun_id,output:t2
    in_port=t1,tun_id=5,actions=vm1a
    in_port=t1,tun_id=6,actions=vm1b
    in_port=t2,tun_id=7,actions=vm2a
'''
LANES = (('vm1a', 1, 5), ('vm1b', 1, 6), ('vm2a', 2, 7))


class LifeTest(pair.PairTest):
    """Two NICs of two VFs.  Each lane of LANES has traffic both ways."""
    arguments = {'nics': 2, 'vms': 2}

    def setUp(self):
        super().setUp()
        self.pair.flows(FLOWS)
        self.out = packets.inner('udp')
        self.back = packets.inner('udp', outgoing=False)

    def warm(self, *lanes):
        """Until the traffic of LANES, by default all, is in the NICs."""
        for vm, n, vni in lanes or LANES:
            self.pair.in_nic(vm, [self.out] * 2, 'nic%d' % n)
            self.pair.in_nic('nic%d' % n, [packets.outer(
                self.hardware, n, self.back, vni)] * 2, vm)

    def stream(self, *lanes):
        """Traffic of LANES, both ways."""
        both = []
        for vm, n, vni in lanes:
            both += [Lane(vm, template()), Lane('nic%d' % n, packets.outer(
                self.hardware, n, template(False), vni))]
        return Stream(self.hardware, both)

    def unharmed(self, stream):
        """Nothing of STREAM was lost, or came by another port."""
        for number, lane in enumerate(stream.lanes):
            self.assertEqual([], stream.lost(number), lane.source)
            self.assertEqual(1, len({arrival.port for arrival
                                     in stream.arrivals[number]}))

    def gone(self, *parts, source=None):
        """Waits until no rule with PARTS is left."""
        host.until(lambda: '\n'.join(self.hardware.rules(*parts,
                                                         source=source)),
                   lambda: not self.hardware.rules(*parts, source=source))


class Life(LifeTest):
    """Ports of net_af_packet."""

    def test_representor(self):
        """A VF's port is removed and added."""
        self.warm()
        with self.stream(LANES[0], LANES[2]) as stream:
            self.pair.vsctl('del-port', 'vm1b')
            self.gone(source='vm1b')
            self.gone('port net_af_packet_vm1b')
            stream.goes_on()
            stream.goes_on(1)
            self.pair.vsctl(*self.hardware.port_words('vm1b')[1:])
            self.pair.flows(FLOWS)
            stream.goes_on()
        self.unharmed(stream)
        self.warm()

    def test_uplink(self):
        """A NIC's port is removed and added."""
        self.warm()
        with self.stream(LANES[0], LANES[1]) as stream:
            self.pair.vsctl('del-port', 'nic2')
            self.gone(source='nic2')
            self.gone('port net_af_packet_nic2')
            stream.goes_on()
            self.pair.vsctl(*self.hardware.port_words('nic2')[1:])
            stream.goes_on()
        self.unharmed(stream)
        self.warm()

    def test_bridge(self):
        """A NIC's bridge is removed and made again."""
        self.warm()
        with self.stream(LANES[0], LANES[1]) as stream:
            self.pair.vsctl('del-br', 'br-nic2')
            self.gone(source='nic2')
            self.gone('port net_af_packet_nic2')
            stream.goes_on()
            for one in self.pair.hosts:
                one.vsctl(*one.nic_words(2)[1:])
                one.ip('-4 rule del pref 102')
                one.add_address(2)
            stream.goes_on()
        self.unharmed(stream)
        self.warm()

    def test_tunnel_port(self):
        """A tunnel port is removed and added."""
        self.warm()
        with self.stream(LANES[0], LANES[1]) as stream:
            self.pair.vsctl('del-port', 't2')
            self.gone('eswitch=nic2', 'encap')
            self.gone('eswitch=nic2', 'decap')
            stream.goes_on()
            for one in self.pair.hosts:
                one.vsctl(*one.tunnel_words(
                    't2', 'options:remote_ip=' + one.peer(2),
                    'options:local_ip=' + one.endpoint(2))[1:])
            self.pair.flows(FLOWS)
            stream.goes_on()
        self.unharmed(stream)
        self.warm()

    def test_udp_port(self):
        """Tunnels move to another UDP port and back.  What was in NICs before
        does not come back by itself."""
        def move(port):
            for one in self.pair.hosts:
                for tunnel in 't1', 't2':
                    one.vsctl('set', 'Interface', tunnel,
                              'options:dst_port=%d' % port)
        self.warm()
        move(6082)
        self.gone('decap')
        host.until(lambda: 'no flow of before\n' + self.pair.explain(),
                   lambda: not self.hardware.reasons())
        vm, n, vni = LANES[1]
        self.pair.flows(FLOWS.replace('actions=' + vm, 'actions=vm1a'))
        move(6081)
        self.warm(LANES[0])
        self.pair.in_nic('nic%d' % n, [packets.outer(
            self.hardware, n, self.back, vni)] * 2, 'vm1a')

    def test_address(self):
        """An endpoint's address is removed and added."""
        self.warm()
        with self.stream(LANES[0], LANES[1]) as stream:
            for one in self.pair.hosts:
                one.ip('addr del %s/24 dev br-nic2' % one.endpoint(2))
            self.gone('eswitch=nic2', 'encap')
            self.gone('eswitch=nic2', 'jump')
            stream.goes_on()
            for one in self.pair.hosts:
                one.ip('rule del pref 102')
                one.add_address(2)
            stream.goes_on()
        self.unharmed(stream)
        self.warm()

    def test_last(self):
        """Without flows nothing is left, and nothing counts as offloaded."""
        self.warm()
        self.assertLess(0, self.hardware.inserted())
        self.pair.flows('')
        self.gone('encap')
        self.gone('decap')
        # Flows that drop are in the NIC, too.
        self.pair.purge()
        host.until('nothing offloaded', lambda: not self.hardware.inserted())
        for nic in self.hardware.offload_show()['nics']:
            self.assertEqual(0, nic['rules'], nic)
            self.assertEqual(0, nic['encap-contexts'], nic)
            self.assertEqual(0, nic['flows']['offloaded'], nic)
        for n in (1, 2):
            self.assertEqual('0', self.hardware.nic(n)['encaps'])
        self.assertFalse([line for line in self.hardware.dump()
                          if 'packets:' in line])

    def test_link(self):
        """The wire is pulled and put back."""
        self.warm()
        with self.stream(LANES[2]) as stream:
            for one in self.pair.hosts:
                one.ip('link set nic1 down', 'far')
                one.ip('link set nic1 up', 'far')
            stream.goes_on()
        self.unharmed(stream)
        self.warm()

    def test_switch(self):
        """other_config:encap-offload=false takes all out of the NICs while
        traffic runs, true puts it back."""
        self.warm()
        self.addCleanup(self.pair.vsctl, 'remove', 'Open_vSwitch', '.',
                        'other_config', 'encap-offload')
        with self.stream(*LANES) as stream:
            self.pair.vsctl('set', 'Open_vSwitch', '.',
                            'other_config:encap-offload=false')
            self.gone('encap')
            self.gone('decap')
            stream.goes_on()
            host.until('reason switched-off', lambda: self.hardware.reasons()
                       .get('switched-off'))
            self.pair.vsctl('set', 'Open_vSwitch', '.',
                            'other_config:encap-offload=true')
            host.until('rules', lambda: self.hardware.rules('encap')
                       and self.hardware.rules('decap'))
            stream.goes_on()
        self.unharmed(stream)
        self.warm()

    def test_used(self):
        """Traffic that only the NIC sees keeps its flows, though a NIC's
        counters are a second old; without traffic they and their rules go."""
        self.pair.max_idle(1500)
        self.addCleanup(self.pair.max_idle, host.MAX_IDLE)
        self.hardware.model('counter-lag', '1000')
        self.addCleanup(self.hardware.model, 'counter-lag',
                        str(host.COUNTER_LAG))
        self.warm(LANES[0])

        def made():
            return re.search(r'created=(\d+)',
                             self.hardware.model('show totals')).group(1)
        before = made()
        with self.stream(LANES[0]) as stream:
            host.until('three lives of an idle flow',
                       lambda: stream.sent > 4.5 * stream.rate)
        self.unharmed(stream)
        self.assertEqual(before, made())
        self.gone()
        host.until('nothing offloaded', lambda: not self.hardware.inserted())

    def test_daemon(self):
        """ovs-vswitchd ends and begins again."""
        self.warm()
        for one in self.pair.hosts:
            one.stop('ovs-vswitchd')
            one.start_vswitchd()
            one.restore()
        self.pair.flows(FLOWS)
        self.warm()


class Restart(LifeTest):
    """Ports of net_tap, which can be stopped and started again."""
    arguments = {'nics': 2, 'vms': 2, 'taps': True}

    @staticmethod
    def restart(hosts, port, function):
        """Waits until PORT of HOSTS has been stopped and started for what
        FUNCTION does: packets that come meanwhile are lost."""
        def starts():
            return [one.log('eswitch').count(', %s, started'
                                             % one.devices[port])
                    for one in hosts]
        before = starts()
        function()
        host.until('%s starts' % port, lambda: all(
            now > then for now, then in zip(starts(), before)))

    def mtu(self, port, mtu):
        """Changes an MTU, for which the port is stopped and started, after
        ovs-vsctl has returned."""
        self.restart(self.pair.hosts, port, lambda: self.pair.vsctl(
            'set', 'Interface', port, 'mtu_request=%d' % mtu))

    def test_restarted_representor(self):
        """A VF's port is stopped, which takes its rules, and started."""
        self.warm()
        with self.stream(LANES[1], LANES[2]) as stream:
            self.mtu('vm1a', 1390)
            stream.goes_on()
            self.warm_beside(stream, LANES[0])
        self.unharmed(stream)
        self.mtu('vm1a', 1400)
        self.warm()

    def test_restarted_uplink(self):
        """The same with an uplink."""
        self.warm()
        with self.stream(LANES[2]) as stream:
            self.mtu('nic1', 1490)
            stream.goes_on()
        self.unharmed(stream)
        self.warm()
        self.mtu('nic1', 1500)
        self.warm()

    def warm_beside(self, stream, lane):
        """Until LANE's traffic is in the NIC while STREAM, which takes all
        that arrives, goes on."""
        vm, n, vni = lane
        frames = [(vm, self.out), ('nic%d' % n, packets.outer(
            self.hardware, n, self.back, vni))]

        def executed():
            for port, frame in frames:
                self.hardware.far[port].send(frame)
            stream.goes_on()
            return (self.hardware.rules('encap', source=vm)
                    and self.hardware.rules(
                        'port ' + self.hardware.devices[vm]))
        host.until('rules of ' + vm, executed)
        stream.strangers.clear()

    def test_reset(self):
        """A NIC resets itself and forgets the port's rules."""
        self.warm()
        for port in ('vm1a', 'nic1'):
            with self.subTest(port=port):
                with self.stream(LANES[2]) as stream:
                    self.restart([self.hardware], port,
                                 lambda: self.hardware.model(
                                     'reset', self.hardware.devices[port]))
                    stream.goes_on()
                self.unharmed(stream)
                self.warm()

    def test_slow_reset(self):
        """Who hears of a reset second hears of it when the main thread has
        ended it."""
        self.warm()
        for port in ('vm1a', 'nic1'):
            with self.subTest(port=port):
                self.hardware.model('reset', self.hardware.devices[port],
                                    '1500')
                self.warm()
