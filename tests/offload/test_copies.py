# SPDX-License-Identifier: Apache-2.0
"""Two PMD threads, each with its own copy of the flows of one port."""
import os
import re
import unittest

import host
import packets
import pair

FLOW = 'in_port=vm1a,actions=set_field:%d->tun_id,output:t1'


@unittest.skipIf(len(os.sched_getaffinity(0)) < 2, 'needs two CPUs')
class Copies(pair.PairTest):
    """Each of the threads has a queue of vm1a."""
    arguments = {'taps': True, 'pmds': 2,
                 'settings': ('pmd-rxq-assign=group', 'pmd-rxq-isolate=false')}

    def setUp(self):
        super().setUp()
        self.cores = self.hardware.cores
        self.pair.vsctl('set', 'Interface', 'vm1a',
                        'other_config:pmd-rxq-affinity="%s"' % ','.join(
                            '%d:%d' % each for each in enumerate(self.cores)))
        self.addCleanup(self.pair.vsctl, 'remove', 'Open_vSwitch', '.',
                        'other_config', 'encap-offload')
        self.enable(False)

    def enable(self, on):
        """other_config:encap-offload."""
        self.hardware.vsctl('set', 'Open_vSwitch', '.',
                            'other_config:encap-offload=%s' % str(on).lower())

    def copies(self):
        """The actions of the tunnel's flow by PMD thread, {core: actions}."""
        found, core = {}, None
        for line in self.hardware.dump('all'):
            where = re.search(r'pmd on cpu core: (\d+)', line)
            if where:
                core = int(where.group(1))
            elif 'tnl_push' in line:
                found[core] = line[line.index('actions:'):]
        return found

    def frame(self, core):
        """A packet of vm1a that goes to the thread on CORE."""
        for port in range(1000, 1100):
            frame = packets.inner('udp', sport=port)
            self.pair.purge()
            self.vni(frame)
            found = host.until('flow', self.copies)
            if core in found:
                return frame
        raise AssertionError('no packet goes to CPU %d' % core)

    def vni(self, frame):
        """With which VNI FRAME leaves."""
        self.hardware.hear()
        self.hardware.far['vm1a'].send(frame)
        heard = host.until('packet',
                           lambda: self.hardware.hear().get('nic1'))
        return packets.Tunnel(heard[0]).vni

    def test_added_with_other_actions(self):
        """A thread gets its copy after the flow table has changed, and before
        the other thread's copy has: the NIC does as the newer one says."""
        self.pair.flows(FLOW % 5)
        first, second = map(self.frame, self.cores)
        self.pair.purge()
        self.assertEqual(5, self.vni(first))
        host.until('copy', self.copies)
        self.hardware.appctl('revalidator/pause')
        try:
            self.pair.flows(FLOW % 6)
            self.assertEqual(6, self.vni(second))
            copies = self.copies()
            self.assertEqual(2, len(copies), copies)
            self.assertIn('vni=0x5', copies[self.cores[0]])
            self.assertIn('vni=0x6', copies[self.cores[1]])
            host.until('changes', lambda: not self.hardware.enqueued())
            self.enable(True)
            host.until('rule', lambda: self.hardware.rules('encap'))
            before = self.hardware.passed()
            for frame in first, second:
                self.assertEqual(6, self.vni(frame))
            change = pair.difference(before, self.hardware.passed())
            self.assertEqual(2, change['vm1a']['executed'])
        finally:
            self.hardware.appctl('revalidator/resume')
        self.pair.in_nic('vm1a', [first, second] * 2, 'nic1')
