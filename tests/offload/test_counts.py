# SPDX-License-Identifier: Apache-2.0
"""What NICs counted for a flow stays its own whatever becomes of it: no
counter falls, and in the end OpenFlow has counted what was sent."""
import re

import host
import packets
import pair
from stream import Lane, Stream, template

TUNNEL = 'set_field:%d->tun_id,output:t1'
PLAIN = 'output:vm1b'
SOFTWARE = 'output:LOCAL'       # No NIC has this port.
BATCH = 20
# Revalidators that are late delete flows that seem to have few packets.
PATIENT = {'settings': ('min-revalidate-pps=1',), 'vms': 2}


class Counts(pair.PairTest):
    """One flow from vm1a, of which only the actions change."""
    arguments = PATIENT

    def setUp(self):
        super().setUp()
        # It has no name while it is removed.
        self.port = 'in_port=%d' % self.hardware.number('vm1a')
        self.frames = [packets.inner('udp')]
        self.sent, self.highest, self.copies = 0, [0, 0], {}

    def tearDown(self):
        # Only numbers count here.
        self.hardware.hear()
        super().tearDown()

    def change(self, actions):
        """Changes the actions in place."""
        before = self.actions()
        self.hardware.ofctl('-OOpenFlow15', 'mod-flows', 'br-int',
                            'in_port=vm1a,actions=' + actions)
        host.until('new actions', lambda: self.actions() not in ('', before))
        host.until('changes', lambda: not self.hardware.enqueued())

    def actions(self):
        """Of the datapath's flow, or '' if it has none."""
        lines = self.lines()
        return lines[0][lines[0].index('actions:'):] if lines else ''

    def lines(self):
        """The datapath's flow, as often as there are threads with a copy."""
        return [line for line in self.hardware.dump('all')
                if 'in_port(vm1a)' in line]

    def counted(self):
        """The packets that the datapath and OpenFlow have counted.  What a
        copy counted goes with it, but while it is there it does not fall."""
        text = self.hardware.ofctl('dump-flows', 'br-int', self.port)
        lines = self.lines()
        copies = {ufid: int(packets) for ufid, packets in re.findall(
            r'ufid:([^,]+).* packets:(\d+)', '\n'.join(lines))}
        counts = [sum(copies.values()),
                  int(re.search(r'n_packets=(\d+)', text).group(1))]
        pairs = [(self.copies.get(ufid, 0), now)
                 for ufid, now in copies.items()]
        for highest, now in pairs + [(self.highest[1], counts[1])]:
            self.assertLessEqual(
                highest, now, 'a counter has fallen: %s %s\n%s'
                % (self.highest, self.copies, '\n'.join(lines)))
        self.highest, self.copies = counts, copies
        return counts

    def send(self, number=BATCH):
        """Sends NUMBER packets, and waits until they are counted."""
        for i in range(number):
            self.hardware.far['vm1a'].send(self.frames[i % len(self.frames)])
        self.sent += number
        host.until(lambda: '%s counted of %d' % (self.highest, self.sent),
                   lambda: self.counted()[1] >= self.sent)
        self.assertEqual(self.sent, self.highest[1])
        self.hardware.hear()

    def begin(self, actions):
        """A flow with these ACTIONS, and the first packets."""
        # What matches all that a tunnel needs can get its actions, too.
        self.pair.flows('in_port=vm1a,ip,nw_ecn=0,actions=' + actions)
        self.send(len(self.frames))

    def executed(self):
        """How many packets of vm1a the NIC has taken care of."""
        counters = self.hardware.passed()['vm1a']
        return counters['executed'] + counters['dropped']

    def in_nic(self):
        """Sends until the NIC takes all."""
        def all_executed():
            before = self.executed()
            self.send()
            return self.executed() - before == BATCH
        host.until(lambda: 'in the NIC: %s\n%s' % (
            '\n'.join(self.lines()), '\n'.join(self.hardware.rules())),
                   all_executed)


class Actions(Counts):
    """From a kind of actions to another."""

    def test_out_of_the_tunnel(self):
        """From a tunnel to what the base has in the NIC, to what none can do,
        and back."""
        self.begin(TUNNEL % 5)
        self.in_nic()
        for actions, nic in ((PLAIN, True), (TUNNEL % 6, True),
                             ('drop', True), (TUNNEL % 5, True),
                             (SOFTWARE, False), (TUNNEL % 6, True),
                             (SOFTWARE, False), (PLAIN, True),
                             (SOFTWARE, False)):
            self.change(actions)
            if nic:
                self.in_nic()
            self.send()
        self.end()

    def test_into_the_tunnel(self):
        """What the base counted before is not told twice, however long its
        rule stays beside the first one of the tunnel."""
        self.begin(PLAIN)
        self.in_nic()
        self.hardware.model('slow-destroy', '300')
        self.addCleanup(self.hardware.model, 'slow-destroy', '0')
        self.change(TUNNEL % 5)
        # What passes by a rule that is being removed is not told.
        host.settled(self.counted)
        self.assertEqual(1, len(self.hardware.rules('encap')))
        self.assertEqual(1, len(self.hardware.rules()))
        self.in_nic()
        self.send()
        self.end()

    def test_rule_that_stays(self):
        """The older one of two rules wins, and what it counts is told."""
        self.begin(TUNNEL % 5)
        self.in_nic()
        self.hardware.model('fail-destroy', 'EBUSY')
        self.addCleanup(self.hardware.model, 'fail-destroy', 'off')
        self.change(TUNNEL % 6)
        host.until('two rules', lambda: len(self.hardware.rules()) == 2)
        before = self.executed()
        self.send()
        self.assertEqual(BATCH, self.executed() - before)
        self.hardware.model('fail-destroy', 'off')
        host.until('one rule', lambda: len(self.hardware.rules()) == 1)
        self.in_nic()
        self.end()

    def end(self):
        """OpenFlow has counted all, and the datapath all but the first."""
        self.assertEqual([self.sent - 1, self.sent],
                         host.settled(self.counted))


class Port(Counts):
    """A port of which a NIC has counted packets."""

    def test_removed(self):
        """What OpenFlow has counted of its packets stays."""
        self.begin(TUNNEL % 5)
        self.in_nic()
        host.settled(self.counted)
        self.addCleanup(self.pair.vsctl,
                        *self.hardware.port_words('vm1a')[1:])
        self.pair.vsctl('del-port', 'vm1a')
        host.until('flows to go', lambda: (
            self.counted(), not self.hardware.dump('all'))[1])
        self.assertEqual(self.sent, host.settled(self.counted)[1])


class Lag(Counts):
    """What a NIC has counted and not yet told is lost with its rule."""

    def test_lag(self):
        """Of a stream, each change loses what passes in a lag at most."""
        lag, changes = 1, 3
        self.hardware.model('counter-lag', str(lag * 1000))
        self.addCleanup(self.hardware.model, 'counter-lag',
                        str(host.COUNTER_LAG))
        self.begin(TUNNEL % 5)
        self.in_nic()
        with Stream(self.hardware, [Lane('vm1a', template())]) as stream:
            for number in range(changes):
                # Most of that passes in a rule's life has been told by then.
                mark = stream.sent
                host.until('three lags', lambda mark=mark: stream.sent
                           > mark + 3 * lag * stream.rate)
                self.change(TUNNEL % (6 + number))
                self.counted()
        self.assertEqual([], stream.lost())
        self.sent += stream.sent
        missing = self.sent - host.settled(self.counted, 2.5 * lag)[1]
        self.assertGreaterEqual(missing, 0)
        # A refresh may be a little late.
        self.assertLessEqual(missing, changes * (lag + 0.2) * stream.rate)


class Threads(Actions):
    """Two PMD threads, which both have a copy of the flow."""
    arguments = {**PATIENT, 'taps': True, 'pmds': 2}

    def setUp(self):
        super().setUp()
        self.frames = [packets.inner('udp', sport=port)
                       for port in range(4000, 4020)]
        # Open vSwitch drops a packet ("datapath_drop_lock_error") if it is the
        # first miss of a thread, and another one has its first just then.
        self.pair.flows('in_port=vm1a,actions=' + SOFTWARE)
        host.until('both threads', self.both_have_missed)
        self.pair.flows('')
        self.pair.purge()

    def both_have_missed(self):
        """Sends, and looks whether both threads have a flow."""
        for frame in self.frames:
            self.hardware.far['vm1a'].send(frame)
        return len(self.lines()) == 2

    def begin(self, actions):
        """Both threads have a copy before the NIC has a rule."""
        self.hardware.model('slow-create', '500')
        self.addCleanup(self.hardware.model, 'slow-create', '0')
        super().begin(actions)
        self.hardware.model('slow-create', '0')
        self.born = set(self.copies)
        self.assertEqual(2, len(self.born), self.lines())

    def end(self):
        """How many packets were a thread's first is by chance."""
        self.assertEqual(self.sent, host.settled(self.counted)[1])
        self.assertEqual(self.born, set(self.copies))


class Restart(Counts):
    """A port of net_tap, which can be stopped and started."""
    arguments = {**PATIENT, 'taps': True}

    def test_restart(self):
        """Rules of the base go when their port is stopped, what they counted
        does not."""
        self.begin(PLAIN)
        self.in_nic()
        self.addCleanup(self.mtu, self.hardware.mtu)
        self.mtu(self.hardware.mtu - 10)
        host.until('no rule', lambda: not self.hardware.rules())
        self.counted()
        self.assertFalse([line for line in self.lines()
                          if 'dp:dpdk' in line])
        self.probe()
        self.change(TUNNEL % 5)
        self.in_nic()
        self.change(PLAIN)
        self.in_nic()
        self.assertEqual(self.sent, host.settled(self.counted)[1])

    def test_restart_of_marked(self):
        """A rule that only marks packets goes, too, and is said to."""
        self.begin(SOFTWARE)
        host.until(lambda: 'a mark\n' + '\n'.join(self.lines()),
                   lambda: 'offloaded:partial' in ''.join(self.lines()))
        self.assertEqual(1, self.hardware.inserted())
        self.addCleanup(self.mtu, self.hardware.mtu)
        self.mtu(self.hardware.mtu - 10)
        host.until('no rule', lambda: not self.hardware.rules())
        self.assertEqual(1, len(self.lines()))
        self.assertNotIn('offloaded:', ''.join(self.lines()))
        self.assertEqual(0, self.hardware.inserted())
        self.change(PLAIN)
        self.probe()
        self.in_nic()
        self.assertEqual(1, self.hardware.inserted())

    def probe(self):
        """Sends until packets pass again, and no more are on their way."""
        def passes():
            self.hardware.far['vm1a'].send(self.frames[0])
            return self.hardware.hear().get('vm1b')
        host.until('traffic', passes)
        self.sent = host.settled(self.counted)[1]

    def mtu(self, mtu):
        """Changes the MTU of vm1a, for which it is stopped and started."""
        self.pair.vsctl('set', 'Interface', 'vm1a', 'mtu_request=%d' % mtu)
