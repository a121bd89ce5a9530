# SPDX-License-Identifier: Apache-2.0
"""What is to be qualified, in the words of the command line."""
import re

import bench

PCI = re.compile(r'[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$')

# What can be said of an eSwitch of the model (tests/eswitch/README.rst).
YES_NO, NUMBER = 'yes|no', r'\d+'
MODEL = {
    'domain': NUMBER, 'driver': '.+', 'device': 'cx5|cx6dx',
    'switchdev': YES_NO, 'dv_xmeta': NUMBER, 'dv_flow_en': '1|2',
    'release': '2211|2411', 'profile': NUMBER,
    'geneve-option': YES_NO + '|late', 'geneve-option-len': NUMBER,
    'allow_duplicate_pattern': YES_NO, 'decap_en': YES_NO,
    'max-rules': NUMBER, 'max-encaps': NUMBER,
}


def check_model(words):
    """Raises ValueError with one line if the model does not know WORDS."""
    for word in words.split():
        key, _, value = word.partition('=')
        if key not in MODEL:
            raise ValueError('%s: not one of %s' % (
                word, ', '.join('%s=' % known for known in MODEL)))
        if not re.fullmatch(MODEL[key], value):
            raise ValueError('%s: not %s' % (
                word, {NUMBER: 'a number', '.+': 'a name'}.get(
                    MODEL[key], MODEL[key].replace('|', ' or '))))


class Nic:
    """A NIC: "PCI,vf=N[,vf=N...][,peer=DEVICE]".  Raises ValueError with one
    line if TEXT is something else."""

    def __init__(self, text):
        self.pci, *words = text.split(',')
        self.vfs, self.peer = [], None
        # To be found out: the kernel's devices that DPDK uses, and those of
        # the VFs, None where there is none.
        self.kept, self.vf_netdevs = [], []
        if not PCI.match(self.pci):
            raise ValueError('%s: not a PCI address such as 0000:03:00.0'
                             % self.pci)
        for word in words:
            key, _, value = word.partition('=')
            if key == 'vf' and value.isdigit():
                self.vfs.append(int(value))
            elif key == 'peer' and value and not self.peer:
                self.peer = value
            else:
                raise ValueError('%s: not vf=NUMBER or peer=DEVICE' % word)
        if not self.vfs or len(set(self.vfs)) != len(self.vfs):
            raise ValueError('%s: needs VFs, each once: vf=0' % text)

    def devargs(self, vf=None):
        """options:dpdk-devargs of the uplink, or of the representor of VF."""
        return self.pci + ',dv_flow_en=1' + (
            '' if vf is None else ',representor=vf%d' % vf)

    def allow(self):
        """The argument of DPDK's -a."""
        return '%s,dv_flow_en=1,representor=vf[%s]' % (
            self.pci, ','.join(map(str, self.vfs)))

    def find(self, machine):
        """Finds the kernel's devices."""
        self.kept = machine.netdevs(self.pci) + [
            name for name in (machine.representor(self.pci, vf)
                              for vf in self.vfs) if name]
        self.vf_netdevs = [machine.vf_netdev(self.pci, vf)
                           for vf in self.vfs]

    def netdevs(self):
        """All network devices that are used."""
        return self.kept + [name for name in self.vf_netdevs + [self.peer]
                            if name]


class Setup:
    """NICs, a list of Nic, or MODEL, words for the model's configuration."""

    def __init__(self, nics, model=None):
        self.nics, self.model = nics, model
        self.restored = {}      # What was given back, {name: fault or None}.
        if model is not None:
            self.count, self.vms = 2, 2
        else:
            self.count = len(nics)
            self.vms = min((len(nic.vfs) for nic in nics), default=0)

    def has_far(self, n, vf=True):
        """True if packets can be sent into a VF of NIC N, or into its
        wire."""
        if self.model is not None:
            return True
        nic = self.nics[n - 1]
        return all(nic.vf_netdevs[:self.vms]) if vf else bool(nic.peer)

    def make(self, **how):
        """A running host."""
        return (bench.HardwareBench if self.model is None
                else bench.ModelBench)(self, **how)
