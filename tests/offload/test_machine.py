# SPDX-License-Identifier: Apache-2.0
"""What tests/hw-qualify says of machines with a NIC, made of files and of
commands that print what real ones do."""
import os
import shutil
import stat
import sys
import tempfile
import unittest

import lab

sys.path.insert(0, os.path.join(lab.TOP, 'tests/qualify'))
# pylint: disable=wrong-import-position
import machine                                                  # noqa: E402
import report                                                   # noqa: E402
import setup                                                    # noqa: E402

PCI = '0000:03:00.0'
DEVICE = 'sys/bus/pci/devices/' + PCI

# A ConnectX-6 Dx, with VFs 0 and 1; VF 1 is somewhere else.
FILES = {
    DEVICE + '/vendor': '0x15b3', DEVICE + '/device': '0x101d',
    DEVICE + '/infiniband/mlx5_0/fw_ver': '22.35.1012',
    DEVICE + '/infiniband_verbs/uverbs0/abi_version': '1',
    DEVICE + '/net/p0/mtu': '1500', DEVICE + '/net/p0_0/mtu': '1500',
    DEVICE + '/virtfn0/net/vf0/mtu': '1500',
    'sys/class/net/p0/phys_switch_id': 'aa',
    'sys/class/net/p0/phys_port_name': 'p0',
    'sys/class/net/p0_0/phys_switch_id': 'aa',
    'sys/class/net/p0_0/phys_port_name': 'pf0vf0',
    'sys/class/net/p0_1/phys_switch_id': 'aa',
    'sys/class/net/p0_1/phys_port_name': 'pf0vf1',
    # The same VF of another card.
    'sys/class/net/a0/phys_switch_id': 'bb',
    'sys/class/net/a0/phys_port_name': 'pf0vf0',
    'sys/module/mlx5_core/x': '', 'sys/module/mlx5_ib/x': '',
    'sys/module/ib_uverbs/x': '',
    'sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages': '512',
    'usr/lib/x86_64-linux-gnu/dpdk/pmds-23.0/librte_net_mlx5.so.23': '',
    'proc/77/comm': 'testpmd',
}
COMMANDS = {
    'mlxconfig': '''
Device #1:
Configurations:                              Next Boot
        %s                        %s''',
    'devlink': '{"dev":{"pci/%s":{"mode":"switchdev","inline-mode":"none"}}}',
    'ip': '[]',
    'ovs-vsctl': '',
    'vswitchd': 'ovs-vswitchd (Open vSwitch) 3.1.0\nDPDK 22.11.7',
}
SETTINGS = {'FLEX_PARSER_PROFILE_ENABLE': '0', 'UCTX_EN': 'True(1)',
            'SRIOV_EN': 'True(1)'}


class Fake(machine.Machine):
    """The machine above."""

    def __init__(self, root):
        super().__init__(root)
        self.said, self.settings = dict(COMMANDS), dict(SETTINGS)

    def run(self, *words):
        text = self.said.get(words[0])
        if text is None:
            return None, words[0] + ': not found'
        if words[0] == 'mlxconfig':
            text = text % (words[-1], self.settings[words[-1]])
        elif words[0] == 'devlink' and '%' in text:
            text = text % PCI
        return 0, text


class MachineTest(unittest.TestCase):
    """One thing is wrong at a time."""

    def setUp(self):
        self.root = tempfile.mkdtemp(prefix='mnqualify')
        self.addCleanup(shutil.rmtree, self.root)
        for name, text in FILES.items():
            self.write(name, text)
        self.machine = Fake(self.root)
        os.makedirs(self.path('sys/bus/pci/drivers/mlx5_core'))
        os.symlink('../../drivers/mlx5_core', self.path(DEVICE + '/driver'))

    def path(self, name):
        """Below the root."""
        return os.path.join(self.root, name)

    def write(self, name, text):
        """A file."""
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), 'w') as stream:
            stream.write(text + '\n')

    def checks(self):
        """{name: (status, detail)} of all."""
        results = list(self.machine.check_host('vswitchd'))
        results += self.machine.check_nic(PCI, [0, 1])
        return {name: (status, detail) for name, status, detail in results
                if name != 'root'}

    def wrong(self):
        """Those that are not ok."""
        return {name: result for name, result in self.checks().items()
                if result[0] != report.OK}

    def test_good(self):
        """All is well but for the VF that is not here."""
        self.assertEqual({PCI + ': VF 1': (
            report.SKIPPED, 'no network device here: no traffic from it')},
                         self.wrong())
        checks = self.checks()
        self.assertEqual('22.11.7', checks['DPDK'][1])
        self.assertEqual('p0_0', checks[PCI + ': representor of VF 0'][1])
        self.assertEqual('ConnectX-6 Dx', checks[PCI + ': device'][1])

    def check_wrong(self, name, detail, status=report.FAILED):
        """NAME is not ok, and the detail has DETAIL."""
        wrong = self.wrong()
        self.assertIn(name, wrong)
        self.assertEqual(status, wrong[name][0], wrong)
        self.assertIn(detail, wrong[name][1])
        self.assertEqual(2, len(wrong), wrong)

    def test_firmware(self):
        self.write(DEVICE + '/infiniband/mlx5_0/fw_ver', '22.9.3000')
        self.check_wrong(PCI + ': firmware', 'older than 22.27.0090')

    def test_settings(self):
        self.machine.settings['FLEX_PARSER_PROFILE_ENABLE'] = '2'
        self.check_wrong(PCI + ': FLEX_PARSER_PROFILE_ENABLE', '2, not 0')
        self.machine.settings['FLEX_PARSER_PROFILE_ENABLE'] = '0'
        self.machine.settings['UCTX_EN'] = 'False(0)'
        self.check_wrong(PCI + ': UCTX_EN', '0, not 1')

    def test_no_mlxconfig(self):
        del self.machine.said['mlxconfig']
        self.assertEqual({'not installed'}, {
            detail[-13:] for name, (status, detail) in self.wrong().items()
            if status == report.SKIPPED and 'VF' not in name})

    def test_mode(self):
        self.machine.said['devlink'] = (
            '{"dev":{"pci/%s":{"mode":"legacy"}}}')
        self.check_wrong(PCI + ': eSwitch mode', 'legacy: devlink dev')

    def test_driver(self):
        os.unlink(self.path(DEVICE + '/driver'))
        self.check_wrong(PCI + ': device', 'no driver')

    def test_module(self):
        shutil.rmtree(self.path('sys/module/mlx5_ib'))
        self.check_wrong('kernel module mlx5_ib', 'modprobe mlx5_ib')

    def test_hugepages(self):
        self.write('sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages',
                   '511')
        self.check_wrong('hugepages', '1022 MiB free')

    def test_dpdk(self):
        self.machine.said['vswitchd'] = 'ovs-vswitchd 3.1.0\nDPDK 21.11.9'
        self.check_wrong('DPDK', 'older than 22.11')
        self.machine.said['vswitchd'] = 'ovs-vswitchd 3.1.0'
        self.check_wrong('DPDK', 'without DPDK')

    def test_no_device(self):
        self.assertEqual(
            [('PCI device 0000:99:00.0', report.FAILED, 'there is none')],
            list(self.machine.check_nic('0000:99:00.0', [0])))

    def test_no_representor(self):
        self.write('sys/class/net/p0_1/phys_switch_id', 'cc')
        self.check_wrong(PCI + ': representor of VF 1', 'there is none')

    def test_in_use(self):
        """Nothing that somebody uses is taken."""
        self.machine.said['ip'] = '[{"ifname":"x","addr_info":[]}]'
        self.assertEqual([], [line for line in self.machine.in_use(
            PCI, ['p0']) if 'route' not in line])
        self.machine.said['ip'] = (
            '[{"master":"br0","addr_info":[{"scope":"link","local":'
            '"fe80::1"},{"scope":"global","local":"10.0.0.1"}]}]')
        self.machine.said['ovs-vsctl'] = 'nic1\n{dpdk-devargs="%s,a=1"}' % PCI
        os.makedirs(self.path('proc/77/fd'))
        os.symlink('/dev/infiniband/uverbs0', self.path('proc/77/fd/5'))
        os.makedirs(self.path('sys/class/net/p0/upper_bond0'))
        lines = list(self.machine.in_use(PCI, ['p0']))
        for line in (PCI + ' is in use by testpmd (77)',
                     'p0 has address 10.0.0.1', 'p0 belongs to br0',
                     'p0 has a default route', 'p0 is below bond0',
                     PCI + ' is a port of the running Open vSwitch'):
            self.assertIn(line, lines)
        self.assertNotIn('fe80', ''.join(lines))

    def test_found(self):
        """The kernel's devices of a NIC."""
        nic = setup.Nic(PCI + ',vf=0,vf=1,peer=eth9')
        nic.find(self.machine)
        self.assertEqual(['p0', 'p0_0', 'p0_1'], nic.kept)
        self.assertEqual(['vf0', None], nic.vf_netdevs)
        self.assertEqual(['p0', 'p0_0', 'p0_1', 'vf0', 'eth9'],
                         nic.netdevs())
        self.assertEqual(PCI + ',dv_flow_en=1,representor=vf[0,1]',
                         nic.allow())
        self.assertEqual(PCI + ',dv_flow_en=1,representor=vf1',
                         nic.devargs(1))


class Arguments(unittest.TestCase):
    """--nic."""

    def test_bad(self):
        for text, what in (
                ('03:00.0,vf=0', '03:00.0'), (PCI, 'needs VFs'),
                (PCI + ',vf=x', 'vf=x'), (PCI + ',vf=0,vf=0', 'each once'),
                (PCI + ',vf=0,peer=', 'peer='), (PCI + ',vf=0,y=1', 'y=1')):
            with self.subTest(text=text):
                with self.assertRaisesRegex(ValueError, what):
                    setup.Nic(text)

    def test_executable(self):
        mode = os.stat(os.path.join(lab.TOP, 'tests/hw-qualify')).st_mode
        self.assertTrue(mode & stat.S_IXUSR)
