# SPDX-License-Identifier: Apache-2.0
"""usage: stand_in.py PATH TESTS ARGUMENT...

tests/hw-qualify ARGUMENTs --output PATH as on hardware, but veth pairs stand
for the kernel's devices of a NIC, and the eSwitch model for what DPDK's driver
does.  Run in a network namespace of its own, where cable() has made those;
TESTS of traffic are words of a list with commas.  Writes to PATH.links what
the devices were before and after."""
import json
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(HERE, part)
                for part in ('../qualify', '', '../tool')]
# pylint: disable=wrong-import-position
import bench                                                    # noqa: E402
import host                                                     # noqa: E402
import lab                                                      # noqa: E402
import setup as setups                                          # noqa: E402
import shapes                                                   # noqa: E402
import traffic                                                  # noqa: E402

PCI = '0000:ff:1f.7'
SCRIPT = os.path.join(HERE, '../hw-qualify')


def cable(net, away=None):
    """Makes devices in namespace NET: an uplink p0, cabled to w0, which is in
    namespace AWAY if given, and representors r0 and r1 of VFs v0 and v1."""
    for ends, where in ((('p0', 'w0'), away or net), (('r0', 'v0'), net),
                        (('r1', 'v1'), net)):
        lab.run('ip', '-n', net, *'link add {} type veth peer name {} netns'
                .format(*ends).split(), where)
    lab.run('ip', '-n', net, *'link set r0 up'.split())


class Nic(setups.Nic):
    """With those devices."""

    def devargs(self, word=None):
        port, device = ('nic1', 'p0') if word is None else (
            'vm1%c' % (97 + int(word[2:])), 'r' + word[2:])
        return 'net_af_packet_%s,iface=%s' % (port, device)

    def allow(self):
        """And what spares hugepages."""
        return self.pci + ' --no-huge --legacy-mem -m 256 --no-telemetry'

    def find(self, machine):
        numbers = [word[2:] for word in self.representors]
        self.kept = ['p0'] + ['r' + number for number in numbers]
        self.vf_netdevs = ['v' + number for number in numbers]


class Bench(bench.HardwareBench):
    """With the model."""
    configuration = ''

    def start_vswitchd(self, **variables):
        super().start_vswitchd(LD_PRELOAD=host.sanitizers() + host.LIBRARY,
                               ESWITCH_CONFIG=self.configuration)


def state():
    """What must be restored: links, and rules of routing."""
    links = json.loads(lab.run('ip', '-j', '-d', 'link', 'show'))
    return ({link['ifname']: bench.devices.Devices.state(link)
             for link in links}, lab.run('ip', 'rule'))


def main(path, tests, *arguments):
    """Two shapes' worth of rules, and some traffic."""
    Bench.configuration = path + '.conf'
    with open(Bench.configuration, 'w') as stream:
        stream.write('eswitch nic1\nlog %s.log\n'
                     'uplink nic1 net_af_packet_nic1\n'
                     'representor nic1 net_af_packet_vm1a vf=0\n'
                     'representor nic1 net_af_packet_vm1b vf=1\n' % path)
    bench.HardwareBench, setups.Nic = Bench, Nic
    shapes.TUNNELS = [('geneve', 6)]
    traffic.TESTS = tests.split(',')
    sys.argv[1:] = [*arguments, '--output', path]
    before = state()
    status = host.load(SCRIPT).main()
    with open(path + '.links', 'w') as stream:
        json.dump([before, state()], stream)
    return status


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
