# SPDX-License-Identifier: Apache-2.0
"""The program from outside, as far as it goes without daemons."""
import os
import subprocess
import tempfile
import unittest

from ovs_multinic import main

HERE = os.path.dirname(os.path.realpath(__file__))
TOOL = os.path.join(HERE, '../../utilities/ovs-multinic')


def tool(*words):
    """Runs it; returns (status, output, error output)."""
    with tempfile.TemporaryDirectory() as rundir:
        result = subprocess.run(
            ('/usr/bin/python3', TOOL, *words), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, timeout=60,
            env=dict(os.environ, OVS_RUNDIR=rundir))
        return (result.returncode, result.stdout,
                result.stderr.replace(rundir, 'RUN'))


class Main(unittest.TestCase):
    def test_help(self):
        status, out, _err = tool('--help')
        self.assertEqual(status, 0)
        for name in main.SUBCOMMANDS:
            self.assertIn('\n  %s ' % name, out)
        self.assertEqual(set(main.HELP), set(main.SUBCOMMANDS))
        for name in ('plan', 'apply', 'check', 'undo', 'networkd'):
            status, out, _err = tool(name, '--help')
            self.assertEqual(status, 0)
            self.assertTrue(out.startswith('usage: ovs-multinic ' + name))

    def test_no_room_for_output(self):
        for words in (('help',), ('plan', '--help'), ('top', '--once')):
            with open('/dev/full', 'w') as full:
                result = subprocess.run(
                    ('/usr/bin/python3', TOOL, *words), stdout=full,
                    stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual((result.returncode, result.stderr), (
                1, 'ovs-multinic: standard output: No space left on'
                ' device\n'), words)

    def test_bad_arguments(self):
        for words, status, line in (
                ((), 1, 'no subcommand is given'),
                (('dance',), 1, 'dance: no such subcommand'),
                (('plan', '--dance'), 1, 'unrecognized arguments: --dance'),
                (('check', '--dance'), 3, 'unrecognized arguments: --dance'),
                (('plan', '--mtu', '9'), 1, "argument --mtu: invalid number"
                                            " from 68 to 65535 value: '9'"),
                (('plan', '--db', 'x:y', 'a,1.2.3.4/5'), 1,
                 'x:y: cannot connect: Address family not supported by'
                 ' protocol'),
                (('plan', '--db', 'tcp:1', 'a,1.2.3.4/5'), 1,
                 'tcp:1: 1: port number must be specified'),
                (('plan', 'a'), 1, 'a: not NIC,ADDRESS/LENGTH[,GATEWAY]'),
                (('plan', '--encap-type', 'foo', 'a,1.2.3.4/5'), 1,
                 '--encap-type: foo is none of geneve, vxlan'),
                (('apply', '--encap-type', 'geneve,', 'a,1.2.3.4/5'), 1,
                 "--encap-type: '' is none of geneve, vxlan"),
                (('plan', '--encap-type', 'vxlan,vxlan', 'a,1.2.3.4/5'), 1,
                 '--encap-type: vxlan is given twice'),
                (('plan', '--devargs', 'net_af_packet0,iface=a', 'a'), 1,
                 '--devargs: net_af_packet0,iface=a: it has neither {nic} nor'
                 ' {pci}, which tell NICs apart'),
                (('plan', '--devargs', '{{nic}}', 'a'), 1,
                 '--devargs: {{nic}}: it has neither {nic} nor {pci}, which'
                 ' tell NICs apart'),
                (('plan', '--devargs', '{net}', 'a'), 1,
                 '--devargs: {net} has no value here, only {nic}, {pci}'),
                (('plan', '--devargs', '{', 'a'), 1, "--devargs: {: Single"
                 " '{' encountered in format string"),
                (('plan', '--state', '/x', 'a'), 1,
                 'a: not NIC,ADDRESS/LENGTH[,GATEWAY]'),
                (('plan',), 1, 'no NIC is given (NIC,ADDRESS/LENGTH'
                               '[,GATEWAY], or --from-host)'),
                (('plan', '--from-host', 'a,b'), 1,
                 'a,b: with --from-host just the name of the NIC'),
                (('plan', '--from-host', 'a', 'a'), 1,
                 'a: it is given twice'),
                (('apply', '--state', '/nowhere/x', '--plan', '/x'), 1,
                 '/x: No such file or directory'),
                (('apply', '--plan', '/x', '--mtu', '1400'), 1,
                 '--mtu: it goes with NICs or --from-host only'),
                (('apply', '--no-ovn'), 1,
                 '--no-ovn: it goes with NICs or --from-host only'),
                (('networkd', '--default', '1.2.3.4'), 1,
                 '--default: it goes with NICs or --from-host only'),
                (('plan', '--no-ovn', '--encap-type', 'vxlan',
                  'a,1.2.3.4/5'), 1,
                 '--encap-type: it is for OVN, which --no-ovn leaves out'),
                (('apply', '--plan', '/x', 'a,1.2.3.4/5'), 1,
                 '--plan: it stands for the NICs, which are given too'),
                (('networkd', '--remove', 'a'), 1,
                 '--remove: it takes no NICs'),
                (('networkd', '--state', '/nowhere/x'), 1,
                 'no NIC is given, and /nowhere/x has no plan'),
                (('plan', 'a,1.2.3.4/5'), 1, 'unix:RUN/db.sock: cannot'
                 ' connect: No such file or directory'),
                (('check',), 3, 'unix:RUN/db.sock: cannot connect: No such'
                                ' file or directory')):
            with self.subTest(words):
                got, out, err = tool(*words)
                self.assertEqual((got, out), (status, ''))
                self.assertEqual(err.split('\n')[0], 'ovs-multinic: ' + line)
