# SPDX-License-Identifier: Apache-2.0
"""What tests/hw-qualify says of machines with a NIC, made of files and of
commands that print what real ones do."""
import json
import os
import shutil
import stat
import sys
import tempfile
import unittest

import lab

sys.path.insert(0, os.path.join(lab.TOP, 'tests/qualify'))
# pylint: disable=wrong-import-position
import devargs                                                  # noqa: E402
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
    'ovs-vsctl': '{"data":%s,"headings":[]}',
    'vswitchd': 'ovs-vswitchd (Open vSwitch) 3.1.0\nDPDK 22.11.7',
}
SETTINGS = {'FLEX_PARSER_PROFILE_ENABLE': '0', 'UCTX_EN': 'True(1)',
            'SRIOV_EN': 'True(1)'}
# The ports of a running Open vSwitch, and its dpdk-extra.
PORTS = {'nic1': PCI + ',dv_flow_en=1',
         'vm1': PCI + ',dv_flow_en=1,representor=vf0',
         'other': '0000:82:00.0,dv_flow_en=2'}

# The ports of a BlueField in DPU mode: the host's own functions, its VFs 0 and
# 1, SFs 0 of both, and SF 1 of the BlueField.
BLUEFIELD = {
    DEVICE + '/device': '0xa2d6',
    DEVICE + '/infiniband/mlx5_0/fw_ver': '24.35.1012',
    DEVICE + '/net/pf0hpf/mtu': '1500', DEVICE + '/net/en3f0sf1/mtu': '1500',
    DEVICE + '/mlx5_core.sf.2/sfnum': '0',
    DEVICE + '/mlx5_core.sf.2/net/sf0/mtu': '1500',
    DEVICE + '/mlx5_core.sf.3/sfnum': '1',
    DEVICE + '/mlx5_core.sf.3/net/sf1/mtu': '1500',
}
for NETDEV, NAME in (('pf0hpf', 'c1pf0'), ('p0_0', 'c1pf0vf0'),
                     ('p0_1', 'c1pf0vf1'), ('en3f0c1sf0', 'c1pf0sf0'),
                     ('en3f0sf0', 'pf0sf0'), ('en3f0sf1', 'pf0sf1'),
                     ('pf1vf0', 'c1pf1vf0')):
    NETDEV = 'sys/class/net/' + NETDEV
    BLUEFIELD[NETDEV + '/phys_switch_id'] = 'aa'
    BLUEFIELD[NETDEV + '/phys_port_name'] = NAME


class Fake(machine.Machine):
    """The machine above."""

    def __init__(self, root):
        super().__init__(root)
        self.said, self.settings = dict(COMMANDS), dict(SETTINGS)
        self.ports, self.extra = dict(PORTS), None

    def run(self, *words):
        text = self.said.get(words[0])
        if text is None:
            return None, words[0] + ': not found'
        if '%s' not in text:
            return 0, text
        if words[0] == 'mlxconfig':
            text = text % (words[-1], self.settings[words[-1]])
        elif words[-2:] == ('list', 'Interface'):
            text = text % json.dumps([['br0', 'internal', ['map', []]]] + [
                [name, 'dpdk', ['map', [['dpdk-devargs', value]]]]
                for name, value in self.ports.items()])
        elif words[0] == 'ovs-vsctl':
            text = text % json.dumps([[['map', [
                ['dpdk-extra', self.extra]] if self.extra else []]]])
        elif words[0] == 'devlink':
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

    def checks(self, words=('vf0', 'vf1')):
        """{name: (status, detail)} of all."""
        results = list(self.machine.check_host('vswitchd'))
        results += self.machine.check_nic(PCI, words)
        return {name: (status, detail) for name, status, detail in results
                if name != 'root'}

    def wrong(self, *words):
        """Those that are not ok."""
        return {name: result for name, result in self.checks(*words).items()
                if result[0] != report.OK}

    def test_good(self):
        """All is well but for the VF that is not here."""
        self.assertEqual({PCI + ': vf1': (
            report.SKIPPED, 'no network device here: no traffic from it')},
                         self.wrong())
        checks = self.checks()
        self.assertEqual('22.11.7', checks['DPDK'][1])
        self.assertEqual('p0_0', checks[PCI + ': representor of vf0'][1])
        self.assertEqual('vf0', checks[PCI + ': vf0'][1])
        self.assertEqual('of nic1, vm1', checks[PCI + ': devargs'][1])
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
            if status == report.SKIPPED and 'vf' not in name})

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
            list(self.machine.check_nic('0000:99:00.0', ['vf0'])))

    def test_no_representor(self):
        self.write('sys/class/net/p0_1/phys_switch_id', 'cc')
        self.check_wrong(PCI + ': representor of vf1',
                         'there is none; there are: pf0vf0')

    def check_devargs(self, *details):
        """The arguments are wrong, and DETAILS say how."""
        self.check_wrong(PCI + ': devargs', '; '.join(details))
        self.assertEqual('; '.join(details),
                         self.wrong()[PCI + ': devargs'][1])

    def test_devargs(self):
        """Those that the offload cannot do with."""
        for key, value, good in (
                ('dv_flow_en', '2', '1'), ('dv_flow_en', '0', '1'),
                ('dv_xmeta_en', '1', '0'), ('dv_xmeta_en', '4', '0'),
                ('dv_esw_en', '0', '1'), ('fdb_def_rule_en', '0', '1'),
                ('decap_en', '0', '1')):
            with self.subTest(key=key, value=value):
                # The address as DPDK also takes it.
                self.machine.ports = {
                    'nic1': 'pci:%s,%s=%s' % (PCI.upper(), key, value),
                    'vm1': '%s,representor=[vf0,sf[1-2]],%s=%s' % (
                        PCI[5:], key, value)}
                self.check_devargs('%s=%s (nic1, vm1), needs %s' % (
                    key, value, good))

    def test_good_devargs(self):
        """What is the default may be given or not."""
        good = 'dv_xmeta_en=0,dv_esw_en=1,decap_en=1,fdb_def_rule_en=1'
        self.machine.ports['vm2'] = '%s,representor=vf[0,1],%s' % (PCI, good)
        self.machine.ports['vm3'] = ('bus=pci,addr=%s/class=eth,representor='
                                     'vf2/driver=mlx5_pci,dv_esw_en=1' % PCI)
        self.machine.extra = '-a %s,allow_duplicate_pattern=1' % PCI
        self.assertEqual((report.OK, 'of nic1, vm1, vm2, vm3, dpdk-extra'),
                         self.checks()[PCI + ': devargs'])

    def test_unequal_devargs(self):
        """Ports of one NIC share a device of the driver."""
        self.machine.ports['vm1'] += ',decap_en=0'
        self.check_devargs(
            'decap_en=0 (vm1), needs 1',
            'decap_en is not the same for all: 0 (vm1), 1 (nic1)')
        self.machine.ports['vm1'] = PORTS['vm1'] + ',mprq_en=1'
        self.check_devargs(
            'mprq_en is not the same for all: 1 (vm1), none (nic1)')

    def test_dpdk_extra(self):
        """Arguments before any port is added."""
        for option in ('-a ', '-a', '--allow ', '--allow='):
            with self.subTest(option=option):
                self.machine.extra = (
                    '-l 0 %s%s,dv_xmeta_en=1,representor=vf[0,1] -a '
                    '0000:82:00.0,dv_esw_en=0' % (option, PCI))
                self.check_devargs(
                    'dv_xmeta_en=1 (dpdk-extra), needs 0', 'dv_xmeta_en is '
                    'not the same for all: 0 (nic1, vm1), 1 (dpdk-extra)')
        # Open ends are the daemon's to refuse.
        self.assertEqual([PCI], list(devargs.allowed('-a %s "x' % PCI)))
        self.assertEqual([''], list(devargs.allowed('-a')))

    def test_no_devargs(self):
        """Nothing runs, or not with this NIC."""
        del self.machine.ports['nic1'], self.machine.ports['vm1']
        self.check_wrong(PCI + ': devargs', 'no port of', report.SKIPPED)
        for said in (None, '', 'x: database connection failed', '[]'):
            self.machine.said['ovs-vsctl'] = said
            self.check_wrong(PCI + ': devargs', 'no port of', report.SKIPPED)

    def test_bluefield(self):
        """On the cores of a BlueField: VFs of the host have no device here,
        its own SFs have."""
        shutil.rmtree(self.path(DEVICE + '/virtfn0'))
        for name, text in BLUEFIELD.items():
            self.write(name, text)
        self.assertEqual(['p0'], self.machine.netdevs(PCI))
        for word, names, netdev in (
                ('vf0', ['p0_0'], None), ('pf0vf1', ['p0_1'], None),
                ('c1pf0vf0', ['p0_0'], None), ('c0pf0vf0', [], None),
                ('vf65535', ['pf0hpf'], None),
                ('c1pf0vf65535', ['pf0hpf'], None),
                ('sf1', ['en3f0sf1'], 'sf1'), ('pf0sf1', ['en3f0sf1'], 'sf1'),
                ('c0pf0sf0', ['en3f0sf0'], 'sf0'),
                ('c1pf0sf0', ['en3f0c1sf0'], None),
                ('sf0', ['en3f0c1sf0', 'en3f0sf0'], None),
                ('pf1vf0', ['pf1vf0'], None), ('sf7', [], None)):
            with self.subTest(word=word):
                self.assertEqual(names, self.machine.named(PCI, word))
                self.assertEqual(netdev, self.machine.netdev(PCI, word))
        self.assertEqual({PCI + ': c1pf0vf0'}, set(self.wrong(['c1pf0vf0'])))
        self.machine.settings['SRIOV_EN'] = 'False(0)'
        self.assertEqual({}, self.wrong(['sf1']))
        wrong = self.wrong(['sf0', 'c2pf0vf0'])
        self.assertEqual('more than one: en3f0c1sf0, en3f0sf0',
                         wrong[PCI + ': representor of sf0'][1])
        self.assertIn('there are: c1pf0, c1pf0sf0, c1pf0vf0, ',
                      wrong[PCI + ': representor of c2pf0vf0'][1])

    def test_host_port_names(self):
        """What kernels call the host's own function."""
        for name in ('pf0hpf', 'pf0', 'c1pf0'):
            self.write('sys/class/net/p0_1/phys_port_name', name)
            self.assertEqual(['p0_1'], self.machine.named(PCI, 'vf65535'))

    def test_other_pf(self):
        """VFs of the other port of a card are no VFs of this PCI device."""
        self.write('sys/class/net/p0_1/phys_port_name', 'pf1vf0')
        self.assertEqual(['p0_0'], self.machine.named(PCI, 'vf0'))
        self.assertEqual(['p0_1'], self.machine.named(PCI, 'pf1vf0'))
        self.assertIsNone(self.machine.netdev(PCI, 'pf1vf0'))
        self.assertEqual('vf0', self.machine.netdev(PCI, 'pf0vf0'))

    def test_in_use(self):
        """Nothing that somebody uses is taken."""
        self.machine.ports = {'x': 'y'}
        self.machine.said['ip'] = '[{"ifname":"x","addr_info":[]}]'
        self.assertEqual([], [line for line in self.machine.in_use(
            PCI, ['p0']) if 'route' not in line])
        self.machine.said['ip'] = (
            '[{"master":"br0","addr_info":[{"scope":"link","local":'
            '"fe80::1"},{"scope":"global","local":"10.0.0.1"}]}]')
        self.machine.ports = {'p0': 'pci:%s,a=1' % PCI[5:]}
        os.makedirs(self.path('proc/77/fd'))
        os.symlink('/dev/infiniband/uverbs0', self.path('proc/77/fd/5'))
        os.makedirs(self.path('sys/class/net/p0/upper_bond0'))
        lines = list(self.machine.in_use(PCI, ['p0']))
        for line in (PCI + ' is in use by testpmd (77)',
                     'p0 has address 10.0.0.1', 'p0 belongs to br0',
                     'p0 has a default route', 'p0 is below bond0',
                     PCI + ' is a port of the running Open vSwitch',
                     'p0 is a port of the running Open vSwitch'):
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
                         nic.devargs(nic.representors[1]))
        self.assertEqual(PCI + ',dv_flow_en=1', nic.devargs())

    def test_found_bluefield(self):
        for name, text in BLUEFIELD.items():
            self.write(name, text)
        nic = setup.Nic(PCI + ',representor=c1pf0vf0,representor=c1pf0vf1')
        nic.find(self.machine)
        self.assertEqual(['p0', 'p0_0', 'p0_1'], nic.netdevs())
        self.assertEqual([None, None], nic.vf_netdevs)
        self.assertEqual(PCI + ',dv_flow_en=1,representor=c1pf0vf[0,1]',
                         nic.allow())
        self.assertEqual(PCI + ',dv_flow_en=1,representor=c1pf0vf1',
                         nic.devargs('c1pf0vf1'))
        nic = setup.Nic(PCI + ',vf=0,representor=vf65535')
        nic.find(self.machine)
        self.assertEqual(['p0', 'p0_0', 'pf0hpf'], nic.netdevs())
        self.assertEqual(PCI + ',dv_flow_en=1,representor=vf[0,65535]',
                         nic.allow())


class Arguments(unittest.TestCase):
    """--nic."""

    def test_bad(self):
        for text, what in (
                ('03:00.0,vf=0', '03:00.0'), (PCI, 'needs VFs'),
                (PCI + ',vf=x', 'vf=x'), (PCI + ',vf=0,vf=0', 'each once'),
                (PCI + ',vf=0,peer=', 'peer='), (PCI + ',vf=0,y=1', 'y=1'),
                (PCI + ',representor=0', 'representor=0: not vf=NUMBER, repr'),
                (PCI + ',representor=pf0', 'representor=pf0'),
                (PCI + ',representor=vf[0-1]', r'vf\[0-1\]: not'),
                (PCI + ',representor=c1vf0', 'representor=c1vf0'),
                (PCI + ',vf=0,representor=vf00', 'each once'),
                (PCI + ',vf=0,representor=sf0', 'more than the last number'),
                (PCI + ',representor=pf0vf0,representor=pf1vf1', 'differ')):
            with self.subTest(text=text):
                with self.assertRaisesRegex(ValueError, what):
                    setup.Nic(text)

    def test_executable(self):
        mode = os.stat(os.path.join(lab.TOP, 'tests/hw-qualify')).st_mode
        self.assertTrue(mode & stat.S_IXUSR)
