# SPDX-License-Identifier: Apache-2.0
"""NICs that have no room, refuse, or take their time.  Traffic is never lost,
the reason is shown, and what is in software goes to the NIC when the cause has
gone."""
import host
import packets
import pair
from stream import Lane, Stream, template


class FaultTest(pair.PairTest):
    """Tests with one NIC, two VFs."""
    arguments = {'vms': 2}

    def setUp(self):
        super().setUp()
        self.pair.flows('\n'.join(
            'udp,in_port=vm1a,tp_dst=%d,actions=set_field:%d->tun_id,'
            'output:t1' % (5000 + n, n) for n in range(10))
                        + '\nin_port=t1,actions=vm1a\n')
        self.addCleanup(self.mend)

    def mend(self):
        """Ends all faults."""
        self.hardware.max_idle(host.MAX_IDLE)
        for command in ('limit-rules all none', 'limit-encaps all none',
                        'fail-create off', 'fail-destroy off',
                        'fail-query off', 'slow-create 0',
                        'freeze-counters no', 'geneve-option all yes'):
            self.hardware.model(command)

    def frames(self, *numbers):
        """Frames of flows that go to as many VNIs."""
        return [packets.inner('udp', dport=5000 + n) for n in numbers]

    def come(self, vni=5, options=b''):
        """A packet from the wire."""
        return packets.outer(self.hardware, 1,
                             packets.inner('udp', outgoing=False), vni,
                             options)


class Faults(FaultTest):
    """Of all sorts."""

    def test_table_full(self):
        """No room for rules, and then there is."""
        self.hardware.model('limit-rules nic1 2')
        self.pair.in_nic('vm1a', self.frames(0, 1), 'nic1')
        self.pair.in_software('vm1a', self.frames(2, 3), 'nic1', 'table-full')
        self.pair.in_nic('vm1a', self.frames(0, 1), 'nic1')
        self.pair.in_software('nic1', [self.come()], 'vm1a', 'table-full')
        self.hardware.model('limit-rules nic1 none')
        self.pair.in_nic('vm1a', self.frames(0, 1, 2, 3), 'nic1')
        self.pair.in_nic('nic1', [self.come()], 'vm1a')
        self.assertFalse(self.hardware.reasons().get('table-full'))

    def foretold(self):
        """What encap/trace says of offload."""
        lines = self.hardware.appctl('encap/trace', 'in_port=vm1a',
                                     'tunnel=t1').splitlines()
        return [line.split(None, 1)[1] for line in lines
                if line.startswith('offload ')][0]

    def test_full_is_foretold(self):
        """encap/trace knows that there is no room, and that there is."""
        self.assertRegex(self.foretold(), '^yes')
        self.hardware.model('limit-rules nic1 1')
        self.pair.in_nic('vm1a', self.frames(0), 'nic1')
        self.assertRegex(self.foretold(), '^yes')
        self.pair.in_software('vm1a', self.frames(1), 'nic1', 'table-full')
        self.assertEqual('no: table-full: nic1 has no room for more rules',
                         self.foretold())
        self.hardware.model('limit-rules nic1 none')
        self.pair.in_nic('vm1a', self.frames(0, 1), 'nic1')
        self.assertRegex(self.foretold(), '^yes')

    def test_room_by_others(self):
        """Another flow's end makes room."""
        self.hardware.model('limit-rules nic1 1')
        self.pair.in_nic('vm1a', self.frames(0), 'nic1')
        self.pair.in_software('vm1a', self.frames(1), 'nic1', 'table-full')
        # What is sent is kept.
        self.hardware.max_idle(1000)
        self.pair.in_nic('vm1a', self.frames(1), 'nic1')

    def test_contexts_full(self):
        """No room for outer headers."""
        self.assertRegex(self.foretold(), '^yes')
        self.hardware.model('limit-encaps nic1 1')
        self.pair.in_nic('vm1a', self.frames(0), 'nic1')
        self.assertRegex(self.foretold(), '^yes')
        self.pair.in_software('vm1a', self.frames(1, 2), 'nic1',
                              'encap-contexts-full')
        self.assertEqual('no: encap-contexts-full: nic1 has room for no outer '
                         'header but those that it has', self.foretold())
        nic = self.hardware.offload_show()['nics'][0]
        self.assertGreaterEqual(nic['refused']['encap-contexts-full'], 2)
        self.assertNotIn('nic-refused', nic['refused'])
        # What needs no header is not concerned.
        self.pair.in_nic('nic1', [self.come()], 'vm1a')
        self.hardware.model('limit-encaps nic1 none')
        self.pair.in_nic('vm1a', self.frames(0, 1, 2), 'nic1')
        self.assertRegex(self.foretold(), '^yes')
        self.assertFalse(self.hardware.reasons().get('encap-contexts-full'))

    def test_contexts_shared(self):
        """Without room, flows to one place have one source port."""
        self.pair.flows('\n'.join(
            'udp,in_port=vm1a,tp_dst=%d,actions=set_field:5->tun_id,output:t1'
            % (5000 + n) for n in range(40)))
        self.hardware.model('limit-encaps nic1 1')
        frames = self.frames(*range(40))
        self.pair.in_nic('vm1a', frames, 'nic1')
        self.assertEqual((len(frames), 1), self.accounted())
        self.assertEqual('1', self.hardware.nic(1)['encaps'])
        # One in 16 has that port anyway.  Threads count for themselves first.
        host.until('the count', lambda: int(self.hardware.appctl(
            'coverage/read-counter', 'nic_header_shared'))
            > len(frames) // 2)

    def test_context_of_others(self):
        """Another header's end makes room, also when a flow changes."""
        self.hardware.model('limit-encaps nic1 1')
        self.pair.in_nic('vm1a', self.frames(0), 'nic1')
        self.pair.in_software('vm1a', self.frames(1), 'nic1',
                              'encap-contexts-full')
        # What is sent is kept.
        self.hardware.max_idle(1000)
        self.pair.in_nic('vm1a', self.frames(1), 'nic1')
        self.hardware.max_idle(host.MAX_IDLE)
        self.pair.flows('udp,in_port=vm1a,tp_dst=5001,'
                        'actions=set_field:77->tun_id,output:t1')
        self.pair.appctl('revalidator/wait')
        host.until('the new header', lambda: '655800004d00' in ''.join(
            self.hardware.rules()))
        self.pair.in_nic('vm1a', self.frames(1), 'nic1')
        self.assertEqual((1, 1), self.accounted())

    def test_create_fails(self):
        """What was validated is refused."""
        for error, reason in (('ENOMEM', 'table-full'),
                              ('EINVAL', 'nic-refused'),
                              ('EIO', 'nic-refused')):
            with self.subTest(error=error):
                self.pair.purge()
                self.hardware.model('fail-create', error)
                self.pair.in_software('vm1a', self.frames(0, 1), 'nic1',
                                      reason)
                self.pair.in_software('nic1', [self.come()], 'vm1a', reason)
                self.hardware.model('fail-create off')
                self.pair.in_nic('vm1a', self.frames(0, 1), 'nic1')
                self.pair.in_nic('nic1', [self.come()], 'vm1a')

    def stuck(self):
        """How often the NIC did not remove a rule."""
        return int(self.hardware.appctl('coverage/read-counter',
                                        'nic_rule_stuck'))

    def accounted(self):
        """The rules and encap contexts that there are, as told."""
        nic = self.hardware.offload_show()['nics'][0]
        return nic['rules'], nic['encap-contexts']

    def test_destroy_fails(self):
        """What a NIC does not remove is accounted for until it does."""
        self.pair.in_nic('vm1a', self.frames(0), 'nic1')
        self.hardware.model('fail-destroy EIO')
        before = self.stuck()
        self.pair.appctl('revalidator/purge')
        host.until('a second try', lambda: self.stuck() >= before + 2)
        self.assertEqual(0, self.hardware.inserted())
        self.assertEqual((1, 1), self.accounted())
        self.assertEqual(1, len(self.hardware.rules()))
        self.hardware.model('fail-destroy off')
        host.until('no rule', lambda: not self.hardware.rules())
        host.until('no account', lambda: self.accounted() == (0, 0))

    def test_old_rule_stays(self):
        """The older of two rules counts until it goes."""
        self.pair.flows('in_port=vm1a,actions=set_field:5->tun_id,output:t1')
        self.pair.in_nic('vm1a', self.frames(0), 'nic1')
        self.hardware.model('fail-destroy EIO 2')
        before = self.stuck()
        self.pair.flows('in_port=vm1a,actions=set_field:6->tun_id,output:t1')
        host.until('one rule', lambda: (self.stuck() == before + 2
                                        and len(self.hardware.rules()) == 1))
        self.pair.in_nic('vm1a', self.frames(0), 'nic1')
        host.until('one account', lambda: self.accounted() == (1, 1))

    def test_base_rule_stays(self):
        """A rule of the base's own that a NIC does not remove is in nobody's
        way, and goes in the end."""
        def put(actions):
            before = self.hardware.dump('all')
            self.hardware.ofctl('mod-flows', 'br-int', 'udp,in_port=vm1a,'
                                'tp_dst=5000,actions=' + actions)
            host.until('new actions',
                       lambda: self.hardware.dump('all') != before)
            host.until('changes', lambda: not self.hardware.enqueued())
        tunnel = 'set_field:0->tun_id,output:t1'
        self.pair.in_nic('vm1a', self.frames(0), 'nic1')
        put('drop')
        host.until('a rule of the base',
                   lambda: self.hardware.rules('-> count, drop'))
        self.hardware.model('fail-destroy EIO')
        for actions in tunnel, 'drop', tunnel, 'drop', tunnel:
            put(actions)
        self.hardware.model('fail-destroy off')
        host.until('one rule', lambda: len(self.hardware.rules()) == 1)
        self.pair.in_nic('vm1a', self.frames(0), 'nic1')

    def test_mark_stays(self):
        """Packets that such a rule still marks are not taken for those of a
        flow that has come since."""
        flow = 'udp,in_port=vm1a,tp_dst=5000'
        sent = [0]

        def send():
            self.hardware.far['vm1a'].send(*self.frames(0))
            sent[0] += 1
            count = ' n_packets=%d,' % sent[0]
            host.until(count, lambda: count in self.hardware.ofctl(
                'dump-flows', 'br-int', flow))
        self.hardware.ofctl('add-flow', 'br-int', flow + ',actions=LOCAL')
        send()
        host.until('a mark', lambda: self.hardware.rules('mark'))
        self.hardware.model('fail-destroy EIO')
        self.hardware.appctl('revalidator/purge')
        host.until('no flow', lambda: not self.hardware.inserted())
        self.assertTrue(self.hardware.rules('mark'))
        self.pair.in_nic('vm1a', self.frames(1), 'nic1')
        for _ in range(3):
            send()
        self.assertNotIn('nic1', self.hardware.hear())
        self.hardware.model('fail-destroy off')

    def test_stays_until_port_goes(self):
        """A port that is removed takes all its rules with it."""
        self.pair.in_nic('vm1a', self.frames(0), 'nic1')
        self.hardware.model('fail-destroy EIO')
        self.pair.vsctl('del-port', 'vm1a')
        host.until('no rule', lambda: not self.hardware.rules())
        host.until('no account', lambda: self.accounted() == (0, 0))
        self.hardware.model('fail-destroy off')
        self.pair.vsctl(*self.hardware.port_words('vm1a')[1:])
        self.pair.in_nic('vm1a', self.frames(0), 'nic1')

    def test_second_rule_fails(self):
        """Rule A is there and B is refused: all is software's."""
        self.hardware.model('limit-rules nic1 1')
        self.pair.in_software('nic1', [self.come()] * 3, 'vm1a', 'table-full')
        self.hardware.model('limit-rules nic1 none')
        self.pair.in_nic('nic1', [self.come()] * 3, 'vm1a')

    def test_slow_create(self):
        """A NIC that takes its time holds up neither packets nor people."""
        self.hardware.model('slow-create 300')
        with Stream(self.hardware, [Lane('vm1a', template(dport=5000 + n))
                                    for n in range(10)], 50) as stream:
            stream.goes_on()
            self.hardware.appctl('version')
            self.hardware.dump('all')
            self.hardware.offload_show()
            host.until('all rules', lambda: len(self.hardware.rules()) == 10)
            stream.goes_on()
            self.hardware.model('slow-create 0')
        for lane in range(10):
            self.assertEqual([], stream.lost(lane))

    def test_busy(self):
        """An offload thread that has a long queue of what is no tunnel's
        hears of the switch."""
        def switch(on):
            self.hardware.vsctl('set', 'Open_vSwitch', '.',
                                'other_config:encap-offload=' + on)
        # Of each source port a flow.
        self.pair.flows(
            'udp,in_port=vm1a,actions=set_field:5->tun_id,output:t1\n'
            'udp,in_port=vm1b,actions=move:NXM_OF_UDP_SRC[]->'
            'NXM_NX_REG0[0..15],output:vm1a\n')
        self.pair.in_nic('vm1a', self.frames(0), 'nic1')
        self.addCleanup(self.pair.vsctl, 'remove', 'Open_vSwitch', '.',
                        'other_config', 'encap-offload')
        self.hardware.model('slow-create 20')
        for port in range(1000, 3000):
            self.hardware.far['vm1b'].send(packets.inner('udp', sport=port))
        host.until('a queue', lambda: self.hardware.enqueued() > 1000)
        switch('false')
        host.until('no rule', lambda: not self.hardware.rules('encap'))
        self.assertLess(0, self.hardware.enqueued())
        switch('true')
        host.until('a rule', lambda: self.hardware.rules('encap'))
        self.assertLess(0, self.hardware.enqueued())
        self.hardware.model('slow-create 0')
        host.until('no queue', lambda: not self.hardware.enqueued())
        self.hardware.hear()

    def test_second_option(self):
        """A NIC has one option at a time."""
        first = 'in_port=t1,tun_metadata0=1,actions=vm1a\n'
        second = 'in_port=t1,tun_metadata1=2,actions=vm1b\n'
        packet = [self.come(options=packets.option(1)),
                  self.come(options=packets.option(2, 0x81, 0x103))]
        self.pair.flows(first + second)
        self.pair.in_nic('nic1', [packet[0]], 'vm1a')
        self.pair.in_software('nic1', [packet[1]], 'vm1b',
                              'second-option-tuple')
        self.pair.in_nic('nic1', [packet[0]], 'vm1a')
        # The first one's end is the second one's chance.
        self.hardware.max_idle(1000)
        self.pair.in_nic('nic1', [packet[1]], 'vm1b')

    def test_option_table_full(self):
        """Firmware that has taken an option, and then has no room."""
        self.pair.flows('in_port=t1,tun_metadata0=1,actions=vm1a\n'
                        'in_port=t1,tun_metadata0=2,actions=vm1b\n')
        self.pair.in_nic('nic1', [self.come(options=packets.option(1))],
                         'vm1a')
        self.hardware.model('limit-rules nic1 2')
        self.pair.in_software('nic1', [self.come(options=packets.option(2))],
                              'vm1b', 'table-full')
        self.hardware.model('limit-rules nic1 none')
        self.pair.in_nic('nic1', [self.come(options=packets.option(2))],
                         'vm1b')

    def test_counters_fail(self):
        """Counters that cannot be read take no flow away."""
        self.pair.in_nic('vm1a', self.frames(0), 'nic1')
        for fault, end in (('fail-query EIO', 'fail-query off'),
                           ('freeze-counters yes', 'freeze-counters no')):
            with self.subTest(fault=fault):
                self.hardware.model(fault)
                for _ in range(3):
                    self.hardware.dump()
                    self.pair.in_nic('vm1a', self.frames(0), 'nic1')
                self.hardware.model(end)

        def counted():
            return sum(nic['hardware']['packets']
                       for nic in self.hardware.offload_show()['nics'])
        before = counted()
        self.pair.exchange('vm1a', self.frames(0) * 5, {'nic1': 5})
        host.until('counters', lambda: counted() >= before + 5)

    def test_stopped(self):
        """A port of the NIC that is stopped for good keeps its flows in
        software, if anything."""
        self.pair.in_nic('nic1', [self.come()], 'vm1a')
        self.pair.vsctl('del-port', 'vm1a')
        host.until('no rule to it', lambda: not self.hardware.rules(
            'port net_af_packet_vm1a'))
        self.pair.vsctl(*self.hardware.port_words('vm1a')[1:])
        self.pair.flows('in_port=t1,actions=vm1a\n')
        self.pair.in_nic('nic1', [self.come()], 'vm1a')


class NoOptions(FaultTest):
    """Firmware without options, which never took one."""

    def refused(self, reason):
        """How many requests failed so."""
        return self.hardware.offload_show()['nics'][0]['refused'].get(
            reason, 0)

    def test_no_option_support(self):
        """Seen at validation or at creation, other flows do not suffer."""
        self.pair.flows(
            'udp,in_port=vm1a,actions=set_field:5->tun_id,output:t1\n'
            + ''.join('udp,in_port=t1,tun_id=%d,tun_metadata0=1,actions=vm1a\n'
                      % vni for vni in range(5, 15)))
        come = [self.come(vni, packets.option(1)) for vni in range(5, 15)]
        for support in ('no', 'late'):
            with self.subTest(support=support):
                self.hardware.model('geneve-option nic1', support)
                self.pair.purge()
                before = self.refused('nic-refused')
                self.pair.in_software('nic1', come, 'vm1a', 'nic-refused')
                self.pair.in_nic('vm1a', self.frames(0), 'nic1')
                # They are tried again, which also is no obstacle.
                host.until('new tries', lambda: (
                    self.refused('nic-refused') >= before + 2 * len(come)))
                self.pair.in_nic('vm1a', self.frames(1), 'nic1')
                self.assertEqual(0, self.refused('table-full'))
        self.hardware.model('geneve-option nic1 yes')
        self.pair.purge()
        self.pair.in_nic('nic1', come, 'vm1a')
