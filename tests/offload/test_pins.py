# SPDX-License-Identifier: Apache-2.0
"""Workloads whose endpoint is chosen, by a pin or by the NIC they are on."""
import json

import host
import packets
import pair

PINS = {'vm1a': 1, 'vm1b': 2, 'vm2a': 2, 'vm2b': 1}


class Pins(pair.PairTest):
    """Two NICs of two VFs each.  Tunnels have no local_ip, as OVN makes them;
    the remote host is reached from any endpoint."""
    arguments = {'nics': 2, 'vms': 2}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for one in cls.pair.hosts:
            one.vsctl('set', 'Open_vSwitch', '.',
                      'external_ids:ovn-encap-ip="%s"' % ','.join(
                          one.endpoint(n) for n in one.nics),
                      '--', 'del-port', 't1', '--', 'del-port', 't2',
                      *one.tunnel_words('ovn', 'options:remote_ip='
                                        + one.peer(1)))

    def setUp(self):
        super().setUp()
        self.pair.flows('in_port=ovn,actions=drop\n' + '\n'.join(
            'in_port=%s,actions=set_field:7->tun_id,output:ovn' % vm
            for vm in PINS))

    def pin(self, **pins):
        """Pins ports to endpoints, {port: number or 0}."""
        for port, n in pins.items():
            if n:
                self.pair.vsctl('set', 'Interface', port, 'external_ids:'
                                'encap-ip="%s"' % self.hardware.endpoint(n))
            else:
                self.pair.vsctl('remove', 'Interface', port, 'external_ids',
                                'encap-ip')

    def test_pinned(self):
        """To the endpoint of their own NIC, and to that of another one."""
        self.pin(**PINS)
        self.addCleanup(self.pin, **dict.fromkeys(PINS, 0))
        frames = [packets.inner(kind) for kind in ('udp', 'tcp6', 'arp')]
        for port, n in PINS.items():
            with self.subTest(port=port):
                said = json.loads(self.hardware.appctl(
                    'encap/trace', 'in_port=' + port, 'tunnel=ovn',
                    'format=json'))
                self.assertEqual(port[2] == str(n), said['offloadable'],
                                 said)
                if port[2] == str(n):
                    self.pair.in_nic(port, frames, 'nic%d' % n)
                else:
                    self.pair.in_software(port, frames, 'nic%d' % n,
                                          'cross-nic')
        def shown():
            return [(nic['name'], nic['flows']['offloaded'],
                     nic['flows']['software'].get('cross-nic'))
                    for nic in self.hardware.offload_show()['nics']]
        expected = [('nic1', 3, 3), ('nic2', 3, 3)]
        host.until(lambda: '%s: %s' % (expected, shown()),
                   lambda: sorted(shown()) == expected)

    def test_by_nic(self):
        """Without pins, by the NIC of the workload."""
        for port in PINS:
            with self.subTest(port=port):
                self.pair.in_nic(port, [packets.inner('udp')],
                                 'nic' + port[2])

    def test_moved(self):
        """A pin is set while the traffic is in the NIC, and taken back."""
        frames = [packets.inner('udp')]
        self.addCleanup(self.pin, vm1a=0)
        self.pair.in_nic('vm1a', frames, 'nic1')
        self.pin(vm1a=2)
        self.settle('vm1a', frames, 'nic2')
        self.pair.in_software('vm1a', frames, 'nic2', 'cross-nic')
        self.pin(vm1a=0)
        self.settle('vm1a', frames, 'nic1')
        self.pair.in_nic('vm1a', frames, 'nic1')

    def settle(self, source, frames, target):
        """Until both hosts send FRAMES by TARGET."""
        self.pair.until_moved(source, frames, target)
