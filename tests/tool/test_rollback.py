# SPDX-License-Identifier: Apache-2.0
"""apply that fails or is told to end takes back all that it did.  Needs
root."""
import fcntl
import os
import signal
import subprocess
from unittest import mock

import lab
import test_host
from test_host import ONE, TWO, WHY_NOT

if not WHY_NOT:
    from pyroute2 import netns

    from ovs_multinic import arguments
    from ovs_multinic import database
    from ovs_multinic import engine
    from ovs_multinic import kernel
    from ovs_multinic import state
    from ovs_multinic import step
    from ovs_multinic.errors import Failure


class Broken(step.Step if not WHY_NOT else object):
    """A step that fails."""

    kind = 'broken'

    def json(self):
        return {'kind': 'broken'}

    def key(self):
        return ('broken',)

    def text(self):
        return 'broken'

    def is_set(self, system):
        return False

    def before(self, system):
        return None

    def set(self, system):
        raise Failure('broken')

    def unset(self, system, before):
        return None


class Killer(Broken):
    """A step at which ovs-vswitchd ends."""

    def __init__(self, lab_):
        self.lab = lab_

    def set(self, system):
        self.lab.stop('ovs-vswitchd', signal.SIGKILL)

    def verify(self, system):
        pass


class Rollback(test_host.Host):
    """In this process, which goes into the namespace of the host."""

    def enter(self):
        """Goes there, until the test ends."""
        home = os.open('/proc/self/ns/net', os.O_RDONLY)

        def back():
            netns.setns(home)
            os.close(home)
        netns.setns(self.lab.ns('host'))
        self.addCleanup(back)
        system = step.System(
            kernel.Kernel(),
            database.Database('unix:%s/db.sock' % self.lab.dir))
        self.addCleanup(system.database.close)
        self.addCleanup(system.kernel.close)
        return system

    def roll(self, words):
        """Fails after each number of steps of the plan for WORDS."""
        before = self.shown()
        path = os.path.join(self.lab.dir, 'plan')
        with open(path, 'w') as stream:
            stream.write(self.tool('plan', '--json', *words))
        steps = arguments.load(path)
        system = self.enter()
        done = state.State(self.lab.state)
        for count in range(len(steps) + 1):
            made = steps[:count] + [Broken()]
            with self.subTest(steps[count - 1].text() if count else ''):
                with self.assertRaises(Failure) as caught:
                    engine.apply(made, system, done, lambda line: None)
                self.assertEqual(str(caught.exception), 'broken; took back'
                                 ' all that was done')
                self.assert_same(before)
                self.assertEqual(done.records, [])

    def test_empty_host(self):
        self.roll(TWO[1:])

    def test_used_host(self):
        self.used_host()
        self.roll(['--from-host', 'nic1'])

    def test_a_nic_that_goes(self):
        path = os.path.join(self.lab.dir, 'plan')
        with open(path, 'w') as stream:
            stream.write(self.tool('plan', '--json', *TWO))
        self.lab.ip('link del nic2')
        before = self.shown()
        self.assertIn(
            'ovs-multinic: nic2: no such interface; took back all that was'
            ' done\n', self.tool('apply', '--plan', path, status=1))
        self.assert_same(before)

    def test_a_daemon_that_ends(self):
        """It is waited for once, and finds all in the database later."""
        before = self.lab.database()
        path = os.path.join(self.lab.dir, 'plan')
        with open(path, 'w') as stream:
            stream.write(self.tool('plan', '--json', *TWO))
        *steps, last = arguments.load(path)
        self.assertEqual(last.kind, 'settings')
        system = self.enter()
        done = state.State(self.lab.state)
        with mock.patch.object(database, 'RELOAD_PATIENCE_S', 1), \
                self.assertRaises(Failure) as caught:
            engine.apply([*steps, Killer(self.lab), last], system, done,
                         lambda line: None)
        self.assertEqual(
            str(caught.exception), 'unix:%s/db.sock: ovs-vswitchd does not'
            ' take over the change; took back all that was done'
            % self.lab.dir)
        self.assertEqual(done.records, [])
        self.assertEqual(self.lab.database(), before)

    def test_dpdk_that_does_not_start(self):
        self.lab.vsctl('set', 'open', '.',
                       'other_config:dpdk-extra=--no-such-option')
        before = self.shown()
        out = self.tool('apply', '--devargs', 'x{nic}', *ONE, status=1)
        self.assertIn('cannot initialize DPDK: its log says why, and it tries'
                      ' again when it starts; took back all that was done\n',
                      out)
        self.assert_same(before)
        self.lab.vsctl('add-br', 'br0')         # It is still alive.

    def test_dpdk_port(self):
        self.lab.vsctl('set', 'open', '.', 'other_config:dpdk-extra=--no-huge'
                       ' --legacy-mem -m 256 --no-pci --no-telemetry'
                       ' --file-prefix=' + self.lab.name)
        before = self.shown()
        out = self.tool('apply', '--devargs', 'net_nothing_{nic}', *ONE,
                        status=1)
        self.assertIn('ovs-multinic: port nic1: Error attaching device'
                      " 'net_nothing_nic1' to DPDK; took back all that was"
                      ' done\n', out)
        self.assert_same(before)
        words = ('--devargs', 'net_af_packet_{nic},iface={nic}', *ONE)
        self.tool('apply', *words)
        for again in words, ('--from-host', 'nic1'):
            self.assertIn('nothing to change', self.tool('apply', *again))
        self.assertIn('note: nic1: is a DPDK port (net_af_packet_nic1,'
                      'iface=nic1); becomes', self.lab.tool('plan', *ONE)[2])
        self.reaches('10.1.1.254')
        self.reaches('10.1.1.1', part='fabric')
        self.reaches('2001:db8:1::1', part='fabric')
        self.tool('undo')
        self.lab.ip('link set nic1 promisc off')    # The driver leaves it.
        self.assert_same(before)

    def test_a_signal(self):
        self.used_host()
        before = self.shown()
        # Holds one line, so that the tool cannot be through before the signal
        # comes.
        reader, writer = os.pipe2(os.O_DIRECT | os.O_CLOEXEC)
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        tool = subprocess.Popen(
            ['ip', 'netns', 'exec', self.lab.ns('host'), '/usr/bin/python3',
             lab.TOOL, 'apply', '--state', self.lab.state, '--from-host',
             'nic1', 'nic2'], stdout=writer, stderr=subprocess.PIPE,
            text=True, env=self.lab.env)
        os.close(writer)
        with open(reader) as lines:
            for line in lines:
                if line.startswith('addr add 10.1.1.1/24'):
                    tool.send_signal(signal.SIGTERM)
                    break
            lines.read()
        _out, err = tool.communicate(timeout=60)
        self.assertEqual(err, 'ovs-multinic: SIGTERM; took back all that was'
                              ' done\n')
        self.assertEqual(tool.returncode, 1)
        self.assert_same(before)
