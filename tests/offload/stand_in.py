# SPDX-License-Identifier: Apache-2.0
"""usage: stand_in.py PATH

tests/hw-qualify as on hardware, but veth pairs stand for the kernel's devices
of a NIC, and the eSwitch model for what DPDK's driver does.  Run in a network
namespace of its own; writes PATH.json, and to PATH.links what the devices
were before and after."""
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
import report as reports                                        # noqa: E402
import setup as setups                                          # noqa: E402
import shapes                                                   # noqa: E402
import traffic                                                  # noqa: E402


class Nic:
    """An uplink p0, cabled to w0, and a representor r0 of VF v0."""
    pci, representors, peer = '0000:ff:1f.7', ['vf0'], 'w0'
    kept, vf_netdevs = ['p0', 'r0'], ['v0']

    def devargs(self, word=None):
        """As of setup.Nic."""
        return 'net_af_packet_%s,iface=%s' % (
            ('nic1', 'p0') if word is None else ('vm1a', 'r0'))

    def allow(self):
        """As of setup.Nic, and what spares hugepages."""
        return self.pci + ' --no-huge --legacy-mem -m 256 --no-telemetry'


class Bench(bench.HardwareBench):
    """With the model."""
    configuration = ''

    def start_vswitchd(self, **variables):
        super().start_vswitchd(LD_PRELOAD=host.LIBRARY,
                               ESWITCH_CONFIG=self.configuration)


def links():
    """What is restored of each link."""
    return {link['ifname']: bench.devices.Devices.state(link) for link in
            json.loads(lab.run('ip', '-j', '-d', 'link', 'show'))}


def main(path):
    """Two shapes' worth of rules, and some traffic."""
    for ends in (('p0', 'w0'), ('r0', 'v0')):
        lab.run(*'ip link add {} type veth peer name {}'.format(
            *ends).split())
    lab.run(*'ip link set w0 mtu 1501'.split())
    lab.run(*'ip link set r0 up'.split())
    Bench.configuration = path + '.conf'
    with open(Bench.configuration, 'w') as stream:
        stream.write('eswitch nic1\nlog %s.log\n'
                     'uplink nic1 net_af_packet_nic1\n'
                     'representor nic1 net_af_packet_vm1a vf=0\n' % path)
    bench.HardwareBench = Bench
    setup, report = setups.Setup([Nic()]), reports.Report()
    before = links(), lab.run('ip', 'rule')
    shapes.TUNNELS = [('geneve', 6)]
    shapes.run(setup, report)
    traffic.TESTS = ('test_directions.Geneve4.test_egress',
                     'test_directions.Vxlan6.test_ingress',
                     'test_options.Options.test_zero')
    traffic.run(setup, report)
    for name, wrong in setup.restored.items():
        report.check('restore', name, reports.FAILED if wrong
                     else reports.OK, wrong or '')
    report.write(path)
    with open(path + '.links', 'w') as stream:
        json.dump([before, (links(), lab.run('ip', 'rule'))], stream)


if __name__ == '__main__':
    main(sys.argv[1])
