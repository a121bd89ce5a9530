# SPDX-License-Identifier: Apache-2.0
"""What a machine must have before a ConnectX or BlueField can be asked for
rules.  Only reads."""
import glob
import json
import os
import re
import subprocess

import devargs
import representor
from report import FAILED, OK, SKIPPED

# The names of PCI devices of vendor 0x15b3, and the first firmware that works
# (DPDK's platform guide of mlx5).
DEVICES = {
    0x1017: ('ConnectX-5', '16.21.1000'),
    0x1019: ('ConnectX-5 Ex', '16.21.1000'),
    0xa2d2: ('BlueField', '18.25.1010'),
    0x101d: ('ConnectX-6 Dx', '22.27.0090'),
    0x101f: ('ConnectX-6 Lx', '26.27.0090'),
    0xa2d6: ('BlueField-2', '24.28.1002'),
    0x1021: ('ConnectX-7', '28.33.2028'),
    0xa2dc: ('BlueField-3', '32.36.3126'),
}
# Match Geneve options, as documented: not ConnectX-5 and its kin.
WITHOUT_OPTIONS = ('ConnectX-5', 'ConnectX-5 Ex', 'BlueField')
HUGEPAGES_MIB = 1024
DRIVER = 'librte_net_mlx5.so*'
# Checks, by how their names begin, without which no ovs-vswitchd can use the
# NICs.
BASICS = ('root', 'DPDK', 'hugepages', 'PCI device ')


def version(text):
    """A dotted version as a list that compares."""
    return [int(number) for number in re.findall(r'\d+', text)]


def lacks_basics(report):
    """Whether REPORT says that one of BASICS is missing."""
    return any(check['section'] == 'machine' and check['status'] == FAILED
               and check['name'].startswith(BASICS)
               for check in report.checks)


class Machine:
    """ROOT is where /sys and /proc are, for tests."""

    def __init__(self, root='/'):
        self.root = root

    def path(self, *parts):
        """A path below the root."""
        return os.path.join(self.root, *parts)

    def read(self, *parts):
        """The text of a file, or None."""
        try:
            with open(self.path(*parts)) as stream:
                return stream.read().strip()
        except OSError:
            return None

    def run(self, *words):
        """(exit status, what a command prints); (None, why) without it."""
        try:
            done = subprocess.run(words, stdout=subprocess.PIPE, text=True,
                                  stderr=subprocess.STDOUT, timeout=30)
        except (OSError, subprocess.TimeoutExpired) as error:
            return None, '%s: %s' % (words[0], error)
        return done.returncode, done.stdout.strip()

    # Devices.

    def device(self, pci, *parts):
        """A path below a PCI device."""
        return self.path('sys/bus/pci/devices', pci, *parts)

    def netdevs(self, pci):
        """The network devices of a PCI device that are not representors of
        others."""
        names = sorted(map(os.path.basename,
                           glob.glob(self.device(pci, 'net/*'))))
        return [name for name in names
                if not representor.of_port(self.port_name(name))]

    def port_name(self, netdev):
        """phys_port_name: "p0" for an uplink, "pf0vf1" for a VF's
        representor, "c1pf0vf1" if the VF is of a BlueField's host."""
        return self.read('sys/class/net', netdev, 'phys_port_name') or ''

    def pf(self, pci):
        """The number of the NIC's uplink, or None."""
        for uplink in self.netdevs(pci):
            number = re.match(r'p(\d+)$', self.port_name(uplink))
            if number:
                return int(number.group(1))
        return None

    def representors(self, pci):
        """{the kernel's name: what it represents} of the NIC's eSwitch."""
        switches = {self.read('sys/class/net', uplink, 'phys_switch_id')
                    for uplink in self.netdevs(pci)} - {None, ''}
        found = {name: representor.of_port(self.port_name(name))
                 for name in sorted(map(os.path.basename, glob.glob(
                     self.path('sys/class/net/*'))))
                 if self.read('sys/class/net', name, 'phys_switch_id')
                 in switches}
        return {name: what for name, what in found.items() if what}

    def named(self, pci, word):
        """The kernel's names of the representors of the NIC that DPDK's WORD
        means."""
        wanted, pf = representor.parse(word), self.pf(pci)
        return [name for name, what in self.representors(pci).items()
                if representor.matches(wanted, what, pf)]

    def netdev(self, pci, word):
        """The network device of the VF or SF itself, or None: not bound to the
        kernel's driver, or elsewhere, as those of a BlueField's host."""
        wanted, names = representor.parse(word), self.named(pci, word)
        if (len(names) != 1 or wanted.pf not in (None, self.pf(pci))
                or self.representors(pci)[names[0]].controller):
            return None
        parents = [self.device(pci, 'virtfn%d' % wanted.number)]
        if wanted.kind == 'sf':
            parents = [os.path.dirname(path) for path in glob.glob(
                self.device(pci, 'mlx5_core.sf.*/sfnum'))
                       if self.read(path) == str(wanted.number)]
        names = sorted(os.path.basename(path) for parent in parents
                       for path in glob.glob(os.path.join(parent, 'net/*')))
        return names[0] if names else None

    # Checks.  Each yields (name, status, detail).

    def check_host(self, vswitchd):
        """What is the same for all NICs."""
        yield ('root', OK, '') if os.geteuid() == 0 else (
            'root', FAILED, 'needs root')
        yield self.check_version(vswitchd)
        yield self.check_driver_library()
        yield self.check_hugepages()
        for module in ('mlx5_core', 'mlx5_ib', 'ib_uverbs'):
            yield ('kernel module ' + module,) + (
                (OK, '') if os.path.isdir(self.path('sys/module', module))
                else (FAILED, 'not loaded: modprobe ' + module))

    def check_version(self, vswitchd):
        """The daemon is there and has DPDK."""
        status, text = self.run(vswitchd, '--version')
        found = re.search(r'DPDK ([\d.]+)', text)
        if status != 0 or not found:
            return 'DPDK', FAILED, '%s: %s' % (
                vswitchd, 'built without DPDK' if status == 0 else text)
        if version(found.group(1))[:2] < [22, 11]:
            return 'DPDK', FAILED, found.group(1) + ', older than 22.11'
        return 'DPDK', OK, found.group(1)

    def check_driver_library(self):
        """The driver of DPDK, where it is a shared library."""
        for pattern in ('usr/lib/*/dpdk/pmds-*/', 'usr/lib/*/',
                        'usr/local/lib/*/dpdk/pmds-*/', 'usr/lib64/*/'):
            found = glob.glob(self.path(pattern + DRIVER))
            if found:
                return 'DPDK driver mlx5', OK, found[0]
        return ('DPDK driver mlx5', SKIPPED, 'no %s found; it may be linked '
                'statically' % DRIVER)

    def check_hugepages(self):
        """Free memory for DPDK."""
        free = 0
        for path in glob.glob(self.path('sys/kernel/mm/hugepages/*')):
            size = re.search(r'hugepages-(\d+)kB', path)
            pages = self.read(path, 'free_hugepages')
            if size and pages:
                free += int(pages) * int(size.group(1)) // 1024
        detail = '%d MiB free, %d needed' % (free, HUGEPAGES_MIB)
        return ('hugepages', OK if free >= HUGEPAGES_MIB else FAILED, detail)

    def check_nic(self, pci, words):
        """One NIC, and its representors, as DPDK names them."""
        if not os.path.isdir(self.device(pci)):
            yield 'PCI device ' + pci, FAILED, 'there is none'
            return
        yield self.check_device(pci)
        yield self.check_firmware(pci)
        yield from self.check_settings(pci, words)
        yield self.check_eswitch(pci)
        yield (pci + ': devargs',) + devargs.check(pci, devargs.named(
            self.interfaces(), self.dpdk_extra()))
        for word in words:
            yield self.check_representor(pci, word)
            name = self.netdev(pci, word)
            yield ('%s: %s' % (pci, word),) + (
                (OK, name) if name else (
                    SKIPPED, 'no network device here: no traffic from it'))

    def check_representor(self, pci, word):
        """The kernel's representor of a VF or SF."""
        title = '%s: representor of %s' % (pci, word)
        names = self.named(pci, word)
        if len(names) == 1:
            return title, OK, names[0]
        if names:
            return title, FAILED, 'more than one: ' + ', '.join(names)
        others = sorted(map(self.port_name, self.representors(pci)))
        return title, FAILED, 'there is none' + (
            '; there are: ' + ', '.join(others) if others else '')

    def name_of(self, pci):
        """The kind of device, or None."""
        if self.read(self.device(pci, 'vendor')) != '0x15b3':
            return None
        number = int(self.read(self.device(pci, 'device')) or '0', 16)
        return DEVICES.get(number, ('unknown, device %#06x' % number,))[0]

    def check_device(self, pci):
        """What it is, and the kernel's driver."""
        name = self.name_of(pci)
        try:
            driver = os.path.basename(os.readlink(self.device(pci, 'driver')))
        except OSError:
            driver = 'no driver'
        title = pci + ': device'
        if not name:
            return title, FAILED, 'not of vendor 0x15b3'
        if driver != 'mlx5_core':
            return title, FAILED, '%s with %s, not mlx5_core' % (name, driver)
        if name in WITHOUT_OPTIONS:
            name += ' (is not known to match Geneve options)'
        return title, OK, name

    def check_firmware(self, pci):
        """Its version."""
        title = pci + ': firmware'
        for path in glob.glob(self.device(pci, 'infiniband/*')):
            found = self.read(path, 'fw_ver')
            if found:
                break
        else:
            return title, SKIPPED, 'no RDMA device that tells'
        first = dict(DEVICES.values()).get(self.name_of(pci))
        if first and version(found) < version(first):
            return title, FAILED, '%s, older than %s' % (found, first)
        return title, OK, found

    def check_settings(self, pci, words):
        """Those of the firmware.  Profile 0 parses Geneve options."""
        kinds = {representor.parse(word).kind for word in words}
        for key, good, why in (
                ('FLEX_PARSER_PROFILE_ENABLE', '0',
                 'Geneve options are matched with 0 only'),
                ('UCTX_EN', '1', 'counters need DevX'),
                ('SRIOV_EN', '1', 'there are no VFs without')):
            if key == 'SRIOV_EN' and kinds == {'sf'}:
                continue
            title = '%s: %s' % (pci, key)
            status, text = self.run('mlxconfig', '-d', pci, 'query', key)
            found = re.search(key + r'\s+\S*?\(?(\d+)\)?\s*$', text, re.M)
            if status is None:
                yield title, SKIPPED, 'mlxconfig is not installed'
            elif status or not found:
                yield title, SKIPPED, 'mlxconfig does not tell: ' + (
                    text.splitlines() or [''])[-1]
            elif found.group(1) != good:
                yield title, FAILED, '%s, not %s: %s' % (
                    found.group(1), good, why)
            else:
                yield title, OK, good

    def check_eswitch(self, pci):
        """Its mode."""
        title = pci + ': eSwitch mode'
        status, text = self.run('devlink', '-j', 'dev', 'eswitch', 'show',
                                'pci/' + pci)
        try:
            mode = json.loads(text)['dev']['pci/' + pci]['mode']
        except (ValueError, KeyError, TypeError):
            return title, FAILED, 'devlink does not tell: ' + text[-200:]
        return (title, OK, mode) if mode == 'switchdev' else (
            title, FAILED, '%s: devlink dev eswitch set pci/%s mode switchdev'
            % (mode, pci))

    # Who else needs the devices.

    def users(self, pci):
        """Processes that have opened the NIC as DPDK's driver does, as
        "ovs-vswitchd (1234)"."""
        nodes = {'/dev/infiniband/' + os.path.basename(path) for path in
                 glob.glob(self.device(pci, 'infiniband_verbs/*'))}
        found = set()
        for path in glob.glob(self.path('proc/[0-9]*/fd/*')):
            try:
                target = os.readlink(path)
            except OSError:
                continue
            if target in nodes:
                process = os.path.dirname(os.path.dirname(path))
                found.add('%s (%s)' % (self.read(process, 'comm'),
                                       os.path.basename(process)))
        return sorted(found)

    def obstacles(self, netdev):
        """Why NETDEV is in use, lines."""
        _, text = self.run('ip', '-j', 'addr', 'show', 'dev', netdev)
        try:
            link = [entry for entry in json.loads(text) if entry][0]
        except (ValueError, IndexError):
            yield '%s: there is no such device' % netdev
            return
        for address in link.get('addr_info', ()):
            if address.get('scope') != 'link':
                yield '%s has address %s' % (netdev, address['local'])
        if 'master' in link:
            yield '%s belongs to %s' % (netdev, link['master'])
        for family in ('-4', '-6'):
            _, text = self.run('ip', family, '-j', 'route', 'show', 'table',
                               'all', 'default', 'dev', netdev)
            if text not in ('', '[ ]', '[]', '[{}]'):
                yield '%s has a default route' % netdev
        for path in glob.glob(self.path('sys/class/net', netdev, 'upper_*')):
            yield '%s is below %s' % (netdev,
                                      os.path.basename(path)[len('upper_'):])

    def database(self, table, *columns):
        """Rows of TABLE of a running Open vSwitch, none without one."""
        status, text = self.run('ovs-vsctl', '--timeout=5', '--format=json',
                                '--columns=' + ','.join(columns), 'list',
                                table)
        return devargs.rows(text) if status == 0 else []

    def interfaces(self):
        """[name, type, options] of each interface of it."""
        return self.database('Interface', 'name', 'type', 'options')

    def dpdk_extra(self):
        """other_config:dpdk-extra of it, or ''."""
        return ' '.join(config.get('dpdk-extra', '') for config, in
                        self.database('Open_vSwitch', 'other_config'))

    def in_use(self, pci, netdevs):
        """Why the NIC or one of NETDEVS must be left alone, lines."""
        for user in self.users(pci):
            yield '%s is in use by %s' % (pci, user)
        for netdev in netdevs:
            yield from self.obstacles(netdev)
        words = set()
        for name, _, options in self.interfaces():
            words.add(name)
            for value in options.values():
                words.update(re.split(r'[\s,=]+', value))
                words.add(devargs.address(value))
        for name in [pci] + list(netdevs):
            if name in words:
                yield '%s is a port of the running Open vSwitch' % name
