# SPDX-License-Identifier: Apache-2.0
"""The same host twice, with hw-offload and without, and the same packets to
both: what comes out must be the same."""
import collections
import concurrent.futures
import time
import unittest

import host
import lab
import packets
import wire

WHY_NOT = lab.why_not()


class Pair:
    """Two hosts; the arguments are those of host.Host."""
    first_source_port = 0xc000      # Of the UDP source ports a NIC chooses.

    def __init__(self, *arguments, **keywords):
        self.hosts = []
        with concurrent.futures.ThreadPoolExecutor() as pool:
            made = [pool.submit(host.Host, *arguments, **{
                **keywords, 'offload': offload}) for offload in (True, False)]
        try:
            self.hosts = [future.result() for future in made]
        except BaseException:
            for future in made:
                if not future.exception():
                    future.result().close()
            raise
        self.hardware, self.software = self.hosts

    def close(self):
        """Removes both."""
        for one in self.hosts:
            one.close()

    def __getattr__(self, name):
        """Methods that are not here are called on both hosts, and return what
        that with the model returns."""
        def call(*arguments, **keywords):
            result = getattr(self.hardware, name)(*arguments, **keywords)
            getattr(self.software, name)(*arguments, **keywords)
            return result
        return call

    def quiet(self):
        """Nothing more has come out than what was asked for."""
        for one in self.hosts:
            heard = one.hear()
            if heard:
                raise AssertionError('%s: not expected:\n%s' % (
                    self.name_of(one), table(heard)))

    def name_of(self, one):
        """For messages."""
        return 'hardware' if one is self.hardware else 'software'

    def exchange(self, source, frames, expected, seconds=15):
        """Sends FRAMES into port SOURCE of both hosts and waits until as many
        have come as EXPECTED says, {port: number}.  Returns what has come
        out of the one with the model.  Both must have sent the same."""
        self.quiet()
        for one in self.hosts:
            for frame in frames:
                one.far[source].send(frame)
        both = [self.collect(one, expected, seconds) for one in self.hosts]
        self.compare(*both)
        return both[0]

    def compare(self, heard, reference):
        """What hardware sent, and what software did, {port: [frame]}: both
        must be the same."""
        for port in sorted(set(heard) | set(reference)):
            mine, theirs = (
                collections.Counter(map(packets.comparable, one.get(port, ())))
                for one in (heard, reference))
            if mine != theirs:
                raise AssertionError('%s: hardware sent\n%s\nsoftware\n%s' % (
                    port, table({port: heard.get(port, [])}),
                    table({port: reference.get(port, [])})))
            for frame in heard.get(port, []):
                problem = packets.Tunnel(frame).problem
                if problem:
                    raise AssertionError('bad %s:\n%s' % (
                        problem, packets.show(frame)))

    def collect(self, one, expected, seconds):
        """What comes out until it is as EXPECTED."""
        frames = collections.defaultdict(list)
        deadline = lab.Deadline(seconds)
        while True:
            for port, more in one.hear().items():
                frames[port] += more
            if all(len(frames[port]) >= number
                   for port, number in expected.items()):
                break
            left = deadline.left()
            if not left:
                break
            wire.wait(one.far.values(), min(left, deadline.still))
        got = {port: len(more) for port, more in frames.items() if more}
        if got != {port: n for port, n in expected.items() if n}:
            raise AssertionError('%s sent %s, expected %s:\n%s' % (
                self.name_of(one), got, expected, table(frames)))
        return frames

    def in_nic(self, source, frames, expected, seconds=15):
        """Sends FRAMES until the NIC forwards them all and no PMD thread sees
        one.  EXPECTED is as above, or one port.  Returns what came out of
        the hardware."""
        expected = counts(expected, frames)
        heard = self.by_nic(source, frames, expected, seconds)
        for frame in heard.get(next(iter(expected)), []):
            tunnel = packets.Tunnel(frame)
            if tunnel.found and (tunnel.checksum or tunnel.source_port
                                 < self.first_source_port):
                raise AssertionError('no NIC did this:\n'
                                     + packets.show(frame))
        return heard

    def by_nic(self, source, frames, expected, seconds):
        """What in_nic() does, but for headers."""
        deadline = lab.Deadline(seconds)
        while True:
            before, polled = self.hardware.passed(), self.hardware.polled()
            heard = self.exchange(source, frames, expected)
            polled = self.hardware.polled() - polled
            change = difference(before, self.hardware.passed())
            if change[source].get('executed', 0) == len(frames):
                break
            if not deadline.left():
                raise AssertionError('%s: not all in the NIC: %s\n%s\n%s' % (
                    source, change[source],
                    '\n'.join(self.hardware.rules()), self.explain()))
            time.sleep(0.03)
        missed = sum(counters.get('missed', 0) for counters in
                     change.values())
        if polled > missed:
            raise AssertionError('PMD threads saw %d packets, the model left '
                                 '%d to them' % (polled, missed))
        return heard

    def in_software(self, source, frames, expected, reason=None, seconds=15):
        """FRAMES pass as without offload, and stay with the PMD threads, for
        REASON if given."""
        expected = counts(expected, frames)
        self.exchange(source, frames, expected)
        if reason:
            host.until(lambda: 'reason %s\n%s' % (reason, self.explain()),
                       lambda: self.hardware.reasons().get(reason), seconds)
        return self.by_threads(source, frames, expected)

    def by_threads(self, source, frames, expected):
        """Sends FRAMES, which the NIC must leave alone."""
        before = self.hardware.passed()
        heard = self.exchange(source, frames, expected)
        change = difference(before, self.hardware.passed())
        if change[source].get('executed', 0):
            raise AssertionError('%s: the NIC forwarded %s\n%s' % (
                source, change[source], '\n'.join(self.hardware.rules())))
        return heard

    def until_moved(self, source, frames, target, seconds=10):
        """Sends FRAMES until both hosts send them by port TARGET only.  In
        between they may come by any other port, or be lost."""
        for one in self.hosts:
            host.until('%s sends by %s' % (self.name_of(one), target),
                       lambda: self.moved(one, source, frames, target),
                       seconds)
            # What was late for an earlier try.
            while wire.wait(one.far.values(), 1):
                one.hear()

    def moved(self, one, source, frames, target):
        """True if FRAMES come, by TARGET only."""
        one.hear()
        for frame in frames:
            one.far[source].send(frame)
        try:
            self.collect(one, {target: len(frames)}, 0.3)
        except AssertionError:
            return False
        return True

    def explain(self):
        """For messages: what the daemon says of its flows."""
        software = [line for line in self.hardware.dump('all')
                    if 'offloaded:yes' not in line]
        return '%s\n%s' % (self.hardware.appctl('encap/offload-show'),
                           '\n'.join(software))


def counts(expected, frames):
    """EXPECTED as {port: number}; one port stands for all FRAMES."""
    return ({expected: len(frames)} if isinstance(expected, str)
            else expected)


def difference(before, after):
    """What counters of passed() have grown by."""
    return {port: {key: number - before[port].get(key, 0)
                   for key, number in counters.items()}
            for port, counters in after.items() if port in before}


def table(heard):
    """Frames by port, for messages."""
    return '\n'.join('  %s: %s' % (port, packets.show(frame))
                     for port, frames in sorted(heard.items())
                     for frame in frames[:20]) or '  nothing'


@unittest.skipIf(WHY_NOT, WHY_NOT)
class PairTest(unittest.TestCase):
    """Tests of one pair.  ARGUMENTS are those of the hosts."""
    arguments = {}

    @classmethod
    def setUpClass(cls):
        cls.pair = Pair(**cls.arguments)
        cls.addClassCleanup(cls.pair.close)

    def setUp(self):
        self.hardware = self.pair.hardware
        # No test finds flows or packets of another.
        self.pair.flows('')
        self.pair.purge()
        for one in self.pair.hosts:
            one.hear()

    def tearDown(self):
        self.pair.quiet()
        for one in self.pair.hosts:
            self.assertEqual([], one.faults())
        self.assertEqual([], self.pair.software.rules())
