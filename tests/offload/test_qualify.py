# SPDX-License-Identifier: Apache-2.0
"""tests/hw-qualify on the model."""
import contextlib
import glob
import importlib.machinery
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import types
import unittest

import lab
import stand_in

WHY_NOT = lab.why_not()
SCRIPT = os.path.join(lab.TOP, 'tests/hw-qualify')


def script():
    """tests/hw-qualify as a module, which makes those of tests/qualify
    known."""
    loader = importlib.machinery.SourceFileLoader('hw_qualify', SCRIPT)
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader('hw_qualify', loader))
    loader.exec_module(module)
    return module


def qualify(*arguments, before=()):
    """(exit status, what it prints)."""
    done = subprocess.run((*before, SCRIPT, *arguments), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=600)
    return done.returncode, done.stdout


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Qualify(unittest.TestCase):
    """The model is as good as known NICs, or as bad."""

    def report(self, *arguments):
        """(exit status, report)."""
        with tempfile.TemporaryDirectory() as where:
            status, said = qualify('--model', *arguments, '--output',
                                   where + '/report')
            with open(where + '/report.json') as stream:
                report = json.load(stream)
            with open(where + '/report.txt') as stream:
                text = stream.read()
        for check in report['checks']:
            self.assertIn(check['name'], text)
        self.assertEqual(said.splitlines()[-1], text.splitlines()[-1])
        self.assertEqual([], glob.glob('/run/netns/mnoff%d-*' % os.getpid()))
        return status, report

    def failed(self, report):
        """{name: detail} of checks that failed."""
        return {check['name']: check['detail'] for check in report['checks']
                if check['status'] == 'failed'}

    def test_all(self):
        """All but traffic, on what the model takes for a ConnectX-6 Dx."""
        status, report = self.report(
            '', '--limit', '500', '--phase', 'machine', '--phase', 'shapes',
            '--phase', 'measure')
        self.assertEqual({}, self.failed(report))
        self.assertEqual(0, status)
        names = [check['name'] for check in report['checks']]
        self.assertEqual(len(set(names)), len(names))
        skipped = [check['name'] for check in report['checks']
                   if check['status'] == 'skipped']
        self.assertEqual(['machine'], skipped)
        values = {one['name']: one['value']
                  for one in report['measurements']}
        # Each flow has a header of its own, and the model has no limit.
        self.assertEqual(500, values['encap contexts'])
        self.assertEqual('refused', values['match of ICMP type'])
        self.assertLess(8, values['UDP source ports of 64 flows'])
        # The median: the machine may be busy at one time or other.
        detail, = [one['detail'] for one in report['measurements']
                   if one['name'] == 'seconds until a counter shows a packet']
        self.assertGreater(3, float(detail.rpartition('median ')[2]), detail)
        for name, value in values.items():
            if name.startswith('rules a second'):
                self.assertLess(0, value)

    def test_no_options(self):
        """A NIC that cannot match options, and has no room: the report says
        so."""
        status, report = self.report('device=cx5 max-encaps=64', '--limit',
                                     '100', '--phase', 'shapes', '--phase',
                                     'measure')
        self.assertEqual(1, status)
        failed = self.failed(report)
        for name in ('geneve over IPv4: rule B, option matched',
                     'geneve over IPv6: rule B, option matched'):
            self.assertIn('nic-refused', failed[name])
        self.assertEqual(set(), {name for name in failed if not any(
            word in name for word in ('option', 'pop_vlan'))}, failed)
        self.assertEqual([64], [one['value']
                                for one in report['measurements']
                                if one['name'] == 'encap contexts'])

    def namespace(self):
        """The words that run a command in a new network namespace."""
        net = 'mnqualify%d' % os.getpid()
        lab.run('ip', 'netns', 'add', net)
        self.addCleanup(lab.run, 'ip', 'netns', 'del', net)
        lab.run('ip', '-n', net, 'link', 'set', 'lo', 'up')
        return 'ip', 'netns', 'exec', net

    def test_nothing_there(self):
        """What cannot work is not tried."""
        with tempfile.TemporaryDirectory() as where:
            status, said = qualify(
                '--nic', '0000:ff:1f.7,vf=0', '--output', where + '/report',
                before=self.namespace())
        self.assertEqual(1, status, said)
        lines = said.splitlines()
        self.assertIn('failed  PCI device 0000:ff:1f.7: there is none', lines)
        self.assertEqual(['skipped phase %s: see "The machine"' % phase
                          for phase in ('shapes', 'traffic', 'measure')],
                         lines[-4:-1])
        self.assertNotIn('Traceback', said)
        self.assertNotIn('EAL', said)

    def test_only_reads(self):
        """The first phase by itself is for NICs that are in use, too."""
        inside = self.namespace()
        lab.run('ip', '-n', inside[-1],
                *'link add br-int type veth peer name x'.split())
        with tempfile.TemporaryDirectory() as where:
            arguments = ('--nic', '0000:ff:1f.7,vf=0', '--output',
                         where + '/report')
            status, said = qualify(*arguments, before=inside)
            self.assertEqual(2, status, said)
            self.assertIn('a device br-int exists', said)
            status, said = qualify('--phase', 'machine', *arguments,
                                   before=inside)
            self.assertEqual(1, status, said)
            self.assertIn('PCI device 0000:ff:1f.7: there is none', said)

    def test_assertion(self):
        """What goes wrong in a phase is one line."""
        module = script()

        def make():
            raise AssertionError('no daemon\nEAL: why\n')
        with tempfile.TemporaryFile('w+') as stream, \
                contextlib.redirect_stdout(stream), \
                contextlib.redirect_stderr(stream):
            module.run_phase('shapes', types.SimpleNamespace(make=make),
                             module.reports.Report(), None)
            stream.seek(0)
            self.assertEqual('failed  phase shapes: no daemon EAL: why\n',
                             stream.read())

    def test_needs(self):
        """What to pass, for what is skipped without."""
        script()
        # pylint: disable=import-error,import-outside-toplevel
        import traffic
        self.assertEqual('needs 1 NIC with 2 VFs: --nic PCI,vf=0,vf=1',
                         traffic.needs(1, 2))
        self.assertEqual('needs 2 NICs with 1 VF each: --nic PCI,vf=0 --nic '
                         'PCI,vf=0', traffic.needs(2, 1))

    def test_words_of_the_model(self):
        """Those that its documentation has."""
        script()
        # pylint: disable=import-error,import-outside-toplevel
        import setup
        with open(lab.TOP + '/tests/eswitch/README.rst') as stream:
            text = stream.read()
        table = text[text.index('\n``eswitch NAME'):text.index('\n``uplink')]
        words = re.findall(r'(?:^    |, )``([\w-]+)=', table, re.M)
        self.assertEqual(words, list(setup.MODEL))
        setup.check_model('device=cx5  driver=x-y max-encaps=64')

    def test_hardware(self):
        """The way of real NICs, whose devices are borrowed."""
        inside = self.namespace()
        stand_in.cable(inside[-1])
        lab.run('ip', '-n', inside[-1], *'link set w0 mtu 1501'.split())
        with tempfile.TemporaryDirectory() as where:
            path = where + '/report'
            subprocess.run((
                *inside, sys.executable, stand_in.__file__, path,
                'test_directions.Geneve4.test_egress,'
                'test_directions.Vxlan6.test_ingress,'
                'test_options.Options.test_zero',
                '--nic', stand_in.PCI + ',vf=0,peer=w0',
                '--phase', 'shapes', '--phase', 'traffic'),
                           check=True, timeout=300,
                           stdout=subprocess.DEVNULL)
            with open(path + '.json') as stream:
                report = json.load(stream)
            with open(path + '.links') as stream:
                before, after = json.load(stream)
        self.assertEqual({}, self.failed(report))
        names = {check['name']: check['status'] for check in report['checks']}
        for name in ('directions.Geneve4.egress (nic=1)',
                     'geneve over IPv6: rule B, option matched',
                     'p0', 'r0', 'v0', 'w0'):
            self.assertEqual('ok', names[name])
        self.assertEqual('skipped', names['options.Options'])
        self.assertEqual(before, after)

    def test_arguments(self):
        """Nothing is done, and one line says why."""
        for arguments, what in (
                ((), 'needs --nic, or --model'),
                (('--nic', '0000:ff:1f.7'), 'needs VFs'),
                (('--nic', 'x,vf=0'), 'not a PCI address'),
                (('--model', '--limit', '0'), 'less than 1'),
                (('--model', '', '--nic', '0000:ff:1f.7,vf=0'), 'needs')):
            with self.subTest(arguments=arguments):
                status, said = qualify(*arguments)
                self.assertEqual(2, status, said)
                self.assertIn(what, said)
                self.assertNotIn('Traceback', said)

    def test_one_line(self):
        """The same, and there is nothing but that line."""
        for arguments, line in (
                (('--model', 'nonsense=1'),
                 '--model: nonsense=1: not one of domain=, '),
                (('--model', 'max-encaps=9 cx5'), '--model: cx5: not one of'),
                (('--model', 'device=cx9'),
                 '--model: device=cx9: not cx5 or cx6dx\n'),
                (('--model', 'max-rules=x'),
                 '--model: max-rules=x: not a number\n'),
                (('--model', '--output', '/nowhere/at/all'),
                 '--output: /nowhere/at: No such file or directory\n'),
                (('--model', '--output', SCRIPT + '/x'),
                 '--output: %s: Not a directory\n' % SCRIPT),
                (('--model', '--output', '/proc/x'), '--output: /proc: ')):
            with self.subTest(arguments=arguments):
                status, said = qualify(*arguments)
                self.assertEqual(2, status, said)
                self.assertEqual(1, said.count('\n'), said)
                self.assertTrue(said.startswith('hw-qualify: ' + line), said)
