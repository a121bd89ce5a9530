# SPDX-License-Identifier: Apache-2.0
"""What is to be qualified, in the words of the command line."""
import re

import bench
import remote
import representor
import responder
from report import FAILED, OK, SKIPPED

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
    """A NIC: "PCI,WHAT[,WHAT...][,peer=PEER]", where WHAT is "vf=N" or
    "representor=WORD", and PEER a device of this machine or the address of a
    responder.  Raises ValueError with one line if TEXT is something else."""

    def __init__(self, text):
        self.pci, *words = text.split(',')
        # The representors are in DPDK's words.
        self.representors = []
        # One of both, or none: a device, and (address, port).
        self.peer = self.responder = None
        # To be found out: the kernel's devices that DPDK uses, and those of
        # the VFs or SFs, None where there is none.
        self.kept, self.vf_netdevs = [], []
        if not PCI.match(self.pci):
            raise ValueError('%s: not a PCI address such as 0000:03:00.0'
                             % self.pci)
        for word in words:
            key, _, value = word.partition('=')
            if key == 'vf' and value.isdigit():
                self.representors.append('vf%d' % int(value))
            elif key == 'representor' and representor.parse(value):
                self.representors.append(value)
            elif (key == 'peer' and value
                  and not (self.peer or self.responder)):
                self.responder = responder.parse_address(value)
                self.peer = None if self.responder else value
            else:
                raise ValueError('%s: not vf=NUMBER, representor=WORD (one of '
                                 'vf0, sf0, pf0vf0, c1pf0vf0) or peer=DEVICE '
                                 'or ADDRESS' % word)
        known = set(map(representor.parse, self.representors))
        if not known or len(known) != len(self.representors):
            raise ValueError('%s: needs VFs, each once: vf=0' % text)
        # DPDK 22.11 takes one list of them for a device.
        if len(set(map(representor.prefix, self.representors))) > 1:
            raise ValueError('%s: representors that differ in more than the '
                             'last number' % text)

    def devargs(self, word=None):
        """options:dpdk-devargs of the uplink, or of the representor WORD."""
        return self.pci + ',dv_flow_en=1' + (
            ',representor=' + word if word else '')

    def allow(self):
        """The argument of DPDK's -a."""
        prefix = representor.prefix(self.representors[0])
        return '%s,dv_flow_en=1,representor=%s[%s]' % (
            self.pci, prefix, ','.join(word[len(prefix):]
                                       for word in self.representors))

    def find(self, machine):
        """Finds the kernel's devices."""
        self.kept = machine.netdevs(self.pci) + [
            name for word in self.representors
            for name in machine.named(self.pci, word)]
        self.vf_netdevs = [machine.netdev(self.pci, word)
                           for word in self.representors]

    def check_peer(self):
        """(status, detail).  A responder that does not answer is asked no
        more."""
        if self.peer:
            return OK, '%s, of this machine' % self.peer
        if not self.responder:
            return SKIPPED, 'none is given: no traffic on the wire'
        try:
            end = remote.Remote(*self.responder)
        except AssertionError as error:
            self.responder = None
            return FAILED, '%s: no traffic on the wire' % error
        end.close()
        return OK, 'responder at %s port %d' % self.responder

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
            self.vms = min((len(nic.representors) for nic in nics),
                           default=0)

    def has_far(self, n, vf=True):
        """True if packets can be sent into VFs (or SFs) of NIC N, or into
        its wire."""
        if self.model is not None:
            return True
        nic = self.nics[n - 1]
        if vf:
            return all(nic.vf_netdevs[:self.vms])
        return bool(nic.peer or nic.responder)

    def make(self, **how):
        """A running host."""
        return (bench.HardwareBench if self.model is None
                else bench.ModelBench)(self, **how)
