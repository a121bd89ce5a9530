# SPDX-License-Identifier: Apache-2.0
"""Changes while traffic runs in the NIC: no packet is lost, and none is
treated as before once the change is there."""
import host
import packets
import pair
from stream import Lane, Stream, template


# Flows of test_queue().
QUEUE = 20


class Changes(pair.PairTest):
    """One NIC with two VFs."""
    arguments = {'vms': 2}

    def lane(self, outgoing=True, vni=5):
        """What goes into vm1a, or comes by the wire to it."""
        if outgoing:
            return Lane('vm1a', template())
        return Lane('nic1', packets.outer(self.hardware, 1,
                                          template(False), vni))

    def in_nic(self):
        """Waits until PMD threads see nothing of the traffic."""
        def untouched():
            before = self.hardware.passed()
            self.stream.goes_on()
            change = pair.difference(before, self.hardware.passed())
            return (sum(port['executed'] for port in change.values()) >= 20
                    and not any(port['missed'] for port in change.values()))
        host.until(lambda: 'in the NIC\n' + '\n'.join(self.hardware.rules()),
                   untouched)

    def change(self, lane, kind, act, old, new, seconds=15):
        """Runs traffic on LANE, and ACT while it is in the NIC.  KIND of a
        stream.Arrival is OLD before and NEW after, and never OLD again."""
        self.stream = Stream(self.hardware, [lane])
        with self.stream:
            self.in_nic()
            act()
            host.until('%s after the change' % (new,), lambda: (
                self.stream.arrivals[0]
                and kind(self.stream.arrivals[0][-1]) == new), seconds)
            self.in_nic()
        kinds = [kind(arrival) for arrival in self.stream.arrivals[0]]
        first = kinds.index(new)
        self.assertEqual({old}, set(kinds[:first]))
        self.assertEqual({new}, set(kinds[first:]))
        self.assertEqual([], self.stream.lost())
        self.assertEqual([], self.stream.twice())
        self.assertEqual([], self.stream.strangers)

    def test_vni(self):
        """OpenFlow sets another VNI."""
        self.hardware.flows('in_port=vm1a,actions=set_field:5->tun_id,t1')
        self.change(self.lane(), lambda it: packets.Tunnel(it.frame).vni,
                    lambda: self.hardware.ofctl(
                        'mod-flows', 'br-int',
                        'in_port=vm1a,actions=set_field:6->tun_id,t1'), 5, 6)
        self.assertEqual(1, len(self.hardware.rules()))
        self.assertEqual('1', self.hardware.nic(1)['encaps'])

    def test_queue(self):
        """A change reaches the NIC in the order of a queue.  When all flows
        are revalidated and none waits, at most the one in work is as it
        was."""
        flows = ['udp,in_port=vm1a,tp_dst=%d,actions=set_field:5->tun_id,t1'
                 % (1000 + number) for number in range(QUEUE)]
        self.hardware.flows('\n'.join(flows))
        self.stream = Stream(self.hardware, [
            Lane('vm1a', template(dport=1000 + number))
            for number in range(QUEUE)], 25)
        self.addCleanup(self.hardware.model, 'slow-create', '0')
        with self.stream:
            self.in_nic()
            self.hardware.model('slow-create', '100')
            self.hardware.ofctl('mod-flows', 'br-int',
                                'in_port=vm1a,actions=set_field:6->tun_id,t1')
            self.hardware.appctl('revalidator/wait')
            self.assertLess(1, self.hardware.enqueued())
            host.until('an empty queue', lambda: not self.hardware.enqueued())
            mark = self.stream.sent
            for lane in range(QUEUE):
                host.until('lane %d has the new header' % lane, lambda: (
                    self.vnis(lane)[-1] == 6))
            self.in_nic()
        late = 0
        for lane in range(QUEUE):
            vnis = self.vnis(lane)
            # The old one, then the new one, and never the old one again.
            self.assertEqual(sorted(vnis), vnis, lane)
            self.assertEqual({5, 6}, set(vnis), lane)
            self.assertEqual([], self.stream.lost(lane))
            self.assertEqual([], self.stream.twice(lane))
            late += 5 in self.vnis(lane, mark)
        self.assertLessEqual(late, 1)
        self.assertEqual(QUEUE, len(self.hardware.rules()))

    def vnis(self, lane, since=-1):
        """VNIs of LANE's packets that were sent after number SINCE."""
        return [packets.Tunnel(arrival.frame).vni
                for arrival in list(self.stream.arrivals[lane])
                if arrival.number > since]

    def test_output(self):
        """OpenFlow sends to another VF."""
        self.hardware.flows('in_port=t1,tun_id=5,actions=vm1a')
        self.change(self.lane(False), lambda it: it.port,
                    lambda: self.hardware.ofctl(
                        'mod-flows', 'br-int',
                        'in_port=t1,tun_id=5,actions=vm1b'), 'vm1a', 'vm1b')
        self.assertEqual(2, len(self.hardware.rules()))

    def test_rewrite(self):
        """OpenFlow changes headers from now on."""
        self.hardware.flows('in_port=t1,tun_id=5,actions=vm1a')
        self.change(self.lane(False), lambda it: it.frame[:6].hex(':'),
                    lambda: self.hardware.ofctl(
                        'mod-flows', 'br-int', 'in_port=t1,tun_id=5,'
                        'actions=mod_dl_dst:0a:00:00:00:00:99,vm1a'),
                    packets.WORKLOAD, '0a:00:00:00:00:99')

    def test_out_of_the_nic(self):
        """To two outputs, which the NIC cannot, and back to one."""
        self.hardware.flows('in_port=t1,tun_id=5,actions=vm1a')
        self.stream = Stream(self.hardware, [self.lane(False)])
        with self.stream:
            self.in_nic()
            self.hardware.ofctl('mod-flows', 'br-int',
                                'in_port=t1,tun_id=5,actions=vm1a,vm1b')
            host.until('both', lambda: {'vm1a', 'vm1b'} == {
                arrival.port for arrival in self.stream.arrivals[0][-5:]})
            self.assertEqual([], self.hardware.rules('port net_af_packet_vm'))
            self.hardware.ofctl('mod-flows', 'br-int',
                                'in_port=t1,tun_id=5,actions=vm1a')
            self.in_nic()
        self.assertEqual([], self.stream.lost())
        numbers = [arrival.number for arrival in self.stream.arrivals[0]
                   if arrival.port == 'vm1a']
        self.assertEqual(list(range(self.stream.sent)), sorted(numbers))

    def test_drop(self):
        """A flow that goes takes its traffic along."""
        self.hardware.flows('in_port=vm1a,actions=set_field:5->tun_id,t1')
        self.stream = Stream(self.hardware, [self.lane()])
        with self.stream:
            self.in_nic()
            self.hardware.flows('')
            host.until('no rule', lambda: not self.hardware.rules('encap'))
            mark = self.stream.sent
            host.until('packets that are dropped', lambda: (
                self.stream.sent > mark + 50))
            self.stream.finish(0)
        self.assertEqual([], [arrival for arrival in self.stream.arrivals[0]
                              if arrival.number > mark + 1])

    def gateway_mac(self, arrival):
        """Where a packet went to."""
        return arrival.frame[:6].hex(':')

    def test_neighbor(self):
        """The gateway has another MAC, and says so (gratuitous ARP)."""
        self.hardware.flows('in_port=vm1a,actions=set_field:5->tun_id,t1')
        old, new = self.hardware.gateway_mac(1), '02:00:00:fd:00:01'
        arp = bytes(packets.Ether(src=new, dst='ff:ff:ff:ff:ff:ff')
                    / packets.ARP(op=2, hwsrc=new,
                                  psrc=self.hardware.gateway(1),
                                  hwdst='ff:ff:ff:ff:ff:ff',
                                  pdst=self.hardware.gateway(1)))
        self.addCleanup(self.hardware.neighbor, 1, old)
        self.change(self.lane(), self.gateway_mac,
                    lambda: self.hardware.far['nic1'].send(arp), old, new)
        # The old header's context is gone.
        self.assertEqual('1', self.hardware.nic(1)['encaps'])

    def test_route(self):
        """Another gateway is the way to the peer."""
        self.hardware.flows('in_port=vm1a,actions=set_field:5->tun_id,t1')
        other, mac = self.hardware.address(1, 1, 253), '02:00:00:fc:00:01'
        self.hardware.appctl('tnl/neigh/set', 'br-nic1', other, mac)

        def by(gateway):
            self.hardware.ip('route replace default via %s dev br-nic1 '
                             'table 101' % gateway)
        self.addCleanup(by, self.hardware.gateway(1))
        self.change(self.lane(), self.gateway_mac, lambda: by(other),
                    self.hardware.gateway_mac(1), mac)
