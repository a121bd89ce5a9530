# SPDX-License-Identifier: Apache-2.0
"""Many flows, and several offload threads."""
import packets
import pair

FLOWS = 200


class Threads(pair.PairTest):
    """Three offload threads."""
    arguments = {'nics': 2, 'settings': ('n-offload-threads=3',)}

    def flows(self, vni):
        """As many flows each way and NIC, to tell apart by port."""
        self.pair.flows('\n'.join(
            'udp,in_port=vm%da,tp_dst=%d,actions=set_field:%d->tun_id,'
            'output:t%d\nudp,in_port=t%d,tun_id=%d,tp_dst=%d,actions=vm%da'
            % (n, port, vni, n, n, vni, port, n)
            for n in (1, 2) for port in range(1000, 1000 + FLOWS)))

    def check(self, vni):
        """All flows are in the NICs."""
        ports = range(1000, 1000 + FLOWS)
        out = [packets.inner('udp', dport=port) for port in ports]
        back = [packets.outer(self.hardware, 1, packets.inner(
            'udp', outgoing=False, dport=port), vni) for port in ports]
        for n in (1, 2):
            self.pair.in_nic('vm%da' % n, out, 'nic%d' % n, 30)
            self.assertEqual(FLOWS, len(self.hardware.rules(
                'encap', source='vm%da' % n)))
        self.pair.in_nic('nic1', back, 'vm1a', 30)
        self.assertEqual(FLOWS, len(self.hardware.rules('decap',
                                                        source='nic1')))

    def test_many(self):
        """They all go to the NICs, are changed there, and leave nothing."""
        self.flows(5)
        self.check(5)
        self.assertEqual(1 + 3 * FLOWS, self.offloaded())
        self.assertEqual(1 + 3 * FLOWS, self.hardware.inserted())
        used = [line for line in self.hardware.appctl(
            'dpctl/offload-stats-show', '-m').splitlines()
                if 'Inserted offloads' in line]
        # A line for each thread, and one for the total.
        self.assertEqual(4, len(used), used)
        for line in used[:3]:
            self.assertLess(0, int(line.split()[-1]), used)
        self.flows(6)
        self.check(6)
        # Those of before that drop are in the NICs, too.
        self.assertLessEqual(1 + 3 * FLOWS, self.offloaded())
        self.pair.flows('')
        self.pair.purge()
        self.assertEqual(0, self.offloaded())

    def offloaded(self):
        """How many flows encap/offload-show says are in the NICs."""
        return sum(nic['flows']['offloaded']
                   for nic in self.hardware.offload_show()['nics'])
