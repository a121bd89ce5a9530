# SPDX-License-Identifier: Apache-2.0
"""The traffic tests of tests/offload on one host: what it sends with
encap-offload on is compared with what it sends with it off."""
import re
import types
import unittest

import bench
import host
import pair
from report import FAILED, OK, SKIPPED

# Tests that ask no more than real NICs can show.
TESTS = tuple(
    'test_directions.%s.test_%s' % (kind, way)
    for kind in ('Geneve4', 'Geneve6', 'Vxlan4', 'Vxlan6')
    for way in ('egress', 'ingress')) + (
    'test_options.Options.test_set',
    'test_options.Options.test_present_but_not_matched',
    'test_options.Options.test_zero', 'test_options.Options.test_masked_zero',
    'test_options.Options.test_two_options', 'test_rewrites.Rewrites',
    'test_mixed.Mixed.test_mixed', 'test_mixed.Mixed.test_unknown_vni',
    'test_mtu.Mtu.test_longest', 'test_mtu.MtuRefused',
)


def needs(nics, vms):
    """What a test of NICS with VMS VFs each needs, and how to pass it."""
    def count(number, noun):
        return '%d %s%s' % (number, noun, '' if number == 1 else 's')
    word = '--nic PCI' + ''.join(',vf=%d' % vf for vf in range(vms))
    return 'needs %s with %s%s: %s' % (
        count(nics, 'NIC'), count(vms, 'VF'), ' each' if nics > 1 else '',
        ' '.join([word] * nics))


class OneHost(pair.Pair):
    """In the place of pair.Pair."""
    setup = None                # Of class Setup.
    first_source_port = 0       # A real NIC may choose any.

    def __init__(self, nics=1, vms=1, **how):
        # pylint: disable=super-init-not-called
        self.proved = 0         # How many exchanges were as they should be.
        self.hosts = []
        if vms > self.setup.vms or 1 < nics != 4 and nics > self.setup.count:
            raise unittest.SkipTest(needs(1 if nics == 4 else nics, vms))
        self.hardware = self.setup.make(**how)
        self.hosts = [self.hardware]
        self.software = types.SimpleNamespace(rules=lambda: [])

    def __getattr__(self, name):
        return getattr(self.hardware, name)

    def send(self, source, frames, expected, seconds):
        """What comes out when FRAMES go in."""
        missing = sorted({source, *expected} - set(self.hardware.far))
        if missing:
            raise unittest.SkipTest('; '.join(
                '%s: %s' % (port, 'no peer is at the other end'
                            if port in self.hardware.uplinks
                            else 'no network device of it is here')
                for port in missing))
        self.quiet()
        for frame in frames:
            self.hardware.far[source].send(frame)
        return self.collect(self.hardware, expected, seconds)

    def reference(self, source, frames, expected, seconds=5):
        """What software sends."""
        before = self.hardware.flows_in_nics()
        self.hardware.set_offload(False)
        try:
            return self.send(source, frames, expected, seconds)
        finally:
            self.hardware.set_offload(True)
            self.until_back(before)

    def until_back(self, number, seconds=3):
        """Until NUMBER flows are in NICs, or some of them have gone for
        good."""
        try:
            host.until('flows', lambda: self.hardware.flows_in_nics()
                       >= number, seconds)
        except AssertionError:
            pass

    def compare(self, heard, reference):
        super().compare(heard, reference)
        self.proved += 1

    def exchange(self, source, frames, expected, seconds=5):
        reference = self.reference(source, frames, expected, seconds)
        heard = self.send(source, frames, expected, seconds)
        self.compare(heard, reference)
        return heard

    def by_nic(self, source, frames, expected, seconds):
        reference = self.reference(source, frames, expected)
        done = self.hardware.forwarded()
        heard = {}

        def unseen():
            """No PMD thread sees FRAMES."""
            nonlocal heard
            polled = self.hardware.polled()
            heard = self.send(source, frames, expected, 5)
            self.compare(heard, reference)
            return self.hardware.polled() == polled
        host.until(lambda: 'all in the NIC\n' + self.explain(), unseen,
                   seconds)
        # Counters of NICs are late.
        host.until(lambda: 'counted by the NIC\n' + self.explain(),
                   lambda: self.hardware.forwarded() >= done + len(frames))
        return heard

    def by_threads(self, source, frames, expected):
        polled = self.hardware.polled()
        heard = self.send(source, frames, expected, 5)
        if self.hardware.polled() < polled + len(frames):
            raise AssertionError('PMD threads did not see them\n'
                                 + self.explain())
        return heard


class Result(unittest.TestResult):
    """Puts the tests into a report."""

    def __init__(self, report):
        super().__init__()
        self.report = report
        self.proved = 0

    def name(self, test):
        """For the report."""
        found = re.match(r'setUpClass \((.*)\)$', test.id())
        return (found.group(1) if found else test.id()).replace('test_', '')

    def startTest(self, test):
        super().startTest(test)
        self.proved = test.pair.proved

    def addSuccess(self, test):
        self.report.check('traffic', self.name(test), OK)

    def addSkip(self, test, reason):
        """What looks into the model comes after what looks at traffic."""
        one = getattr(getattr(test, 'test_case', test), 'pair', None)
        proved = one and one.proved > self.proved
        self.report.check(
            'traffic', self.name(test), OK if proved else SKIPPED,
            'without what only the model can tell' if proved else reason)

    def addFailure(self, test, err):
        self.report.check('traffic', self.name(test), FAILED,
                          str(err[1]).strip())

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err:
            self.addFailure(subtest, err)


def run(setup, report):
    """All of them, in the order above."""
    saved, OneHost.setup = pair.Pair, setup
    pair.Pair = OneHost
    try:
        for name in TESTS:
            suite = unittest.defaultTestLoader.loadTestsFromName(name)
            suite.run(Result(report))
    finally:
        pair.Pair = saved


assert issubclass(bench.NeedsModel, unittest.SkipTest)
