# SPDX-License-Identifier: Apache-2.0
"""A minute of random changes, of which tests/offload/chaos does more, and what
their oracle must find."""
import os
import time
import types
import unittest

import lab
import oracle
import packets
import storm

WHY_NOT = lab.why_not()


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Chaos(unittest.TestCase):
    """One seed, of which many differences come: with 1 it is Geneve over
    IPv4 and one offload thread, with 27 VXLAN over IPv6 and three."""

    def test_minute(self):
        """See storm.py."""
        one = storm.Storm(60, int(os.environ.get('CHAOS_SEED', 1)), taps=True)
        self.addCleanup(one.close)
        one.run()


class Oracle(unittest.TestCase):
    """A VF that sends to NIC 1, VNI 5.  Each packet was sent a second ago and
    has arrived since."""

    def setUp(self):
        self.history = oracle.History()
        self.host = types.SimpleNamespace(
            nics=[1, 2], uplinks=['nic1', 'nic2'], family=4, kind='geneve',
            endpoint='10.1.{}.1'.format, peer='10.2.{}.1'.format,
            mac='02:00:00:01:00:0{}'.format,
            gateway_mac='02:00:00:fe:00:0{}'.format)
        self.judge = oracle.Oracle(self.host, self.history)
        self.flow = oracle.Flow(1, 5, None, (), None, False)
        for part, value in {
                ('out', 'vm1a', 0): self.flow, ('port', 'vm1a'): True,
                ('port', 'vm1b'): True, ('daemon',): True,
                ('mac', 1): '02:00:00:fe:00:01'}.items():
            self.history.begin(part, value)
        for part in ('nic', 'link', 'tunnel'):
            for n in (1, 2):
                self.history.begin((part, n), True)
        inner = packets.inner('udp', oracle.Lane.payload(), chksum=0)
        self.lane = oracle.Lane(0, 'vm1a', inner, inner,
                                [('out', 'vm1a', 0)])
        self.frame = self.lane.frame(1, 0, 0, 5)

    def arrive(self, n=1, vni=5, inner=None, **fields):
        """The packet as it leaves by NIC N."""
        wrong = types.SimpleNamespace(**{
            **vars(self.host), 'endpoint': self.host.peer,
            'peer': self.host.endpoint, 'mac': self.host.gateway_mac,
            'gateway_mac': self.host.mac, **fields})
        return (time.monotonic(), 'nic%d' % n, packets.outer(
            wrong, n, self.frame if inner is None else inner, vni))

    def check(self, *arrivals, ago=1.0):
        """What the oracle says."""
        return self.judge.check(self.lane, self.frame,
                                time.monotonic() - ago, arrivals)

    def test_good(self):
        """As it should be."""
        self.assertIsNone(self.check(self.arrive()))

    def test_bad(self):
        """What must not be."""
        for arrivals in (
                [], [self.arrive()] * 2, [self.arrive(2)],
                [self.arrive(vni=6)], [self.arrive(inner=self.frame[:-1])],
                [self.arrive(mac='02:00:00:fd:00:0{}'.format)],
                [self.arrive(gateway_mac='02:00:00:01:00:1{}'.format)],
                [self.arrive(peer='10.1.{}.9'.format)],
                [self.arrive(endpoint='10.2.{}.9'.format)],
                [(0, 'vm1b', self.frame)],
                [self.arrive(), (0, 'vm1b', self.frame)]):
            self.assertIsNotNone(self.check(*arrivals), arrivals)

    def change(self, part, value, begin, end):
        """PART became VALUE BEGIN to END seconds ago."""
        now = time.monotonic()
        self.history.spans[part] = [
            oracle.Span(-oracle.FOREVER, now - end + oracle.BOUND,
                        self.history.now(part)),
            oracle.Span(now - begin, oracle.FOREVER, value)]

    def test_change(self):
        """The old and the new are allowed for a while, then the new alone."""
        part = 'out', 'vm1a', 0
        six = self.flow._replace(vni=6)
        self.change(part, six, 2.5, 2.4)
        for vni, good in ((5, True), (6, True), (7, False)):
            self.assertEqual(good, not self.check(self.arrive(vni=vni)))
        self.assertIsNotNone(self.check())
        self.history.begin(part, self.flow)
        self.change(part, six, 4, 3.5)
        self.assertIsNotNone(self.check(self.arrive()))
        self.assertIsNone(self.check(self.arrive(vni=6)))

    def test_gateway(self):
        """A MAC that is too old."""
        self.change(('mac', 1), '02:00:00:fd:00:01', 4, 3.5)
        self.assertIsNotNone(self.check(self.arrive()))
        self.assertIsNone(self.check(
            self.arrive(mac='02:00:00:fd:00:0{}'.format)))

    def test_lost(self):
        """Without a port or a wire it may be lost, and must be after a
        while."""
        for part in (('port', 'vm1a'), ('nic', 1), ('link', 1),
                     ('tunnel', 1), ('daemon',)):
            with self.subTest(part=part):
                self.change(part, False, 0.5, 0.4)
                self.assertIsNone(self.check())
                self.assertIsNone(self.check(self.arrive()))
                self.history.begin(part, True)
                self.change(part, False, 4, 3.5)
                self.assertIsNone(self.check())
                self.assertIsNotNone(self.check(self.arrive()))
                self.history.begin(part, True)
        self.change(('nic', 2), False, 0.5, 0.4)
        self.assertIsNotNone(self.check())

    def test_rewrite(self):
        """Headers that OpenFlow changes: scapy knows the checksum."""
        flow = self.flow._replace(mac='0a:00:00:00:99:01', ttl=True)
        self.history.begin(('out', 'vm1a', 0), flow)
        inner = packets.Ether(self.frame)
        inner.dst, inner[packets.IP].ttl = flow.mac, 63
        del inner[packets.IP].chksum
        self.assertIsNone(self.check(self.arrive(inner=bytes(inner))))
        self.assertIsNotNone(self.check(self.arrive()))
