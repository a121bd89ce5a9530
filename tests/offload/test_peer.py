# SPDX-License-Identifier: Apache-2.0
"""tests/hw-qualify with its peer on another machine, which a namespace is."""
import contextlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

import host
import lab
import stand_in
import wire
from test_responder import ENDPOINT, GATEWAY, frame
# pylint: disable=import-error,wrong-import-order
import remote
import responder
import setup as setups

WHY_NOT = lab.why_not()
WORKLOAD = '0a:00:00:00:99:01'


def chatter(test, end, seconds):
    """Until TEST ends, others in the segment say something now and then."""
    ended = threading.Event()

    def talk():
        while not ended.wait(seconds):
            for group in ('01:80:c2:00:00:00', '33:33:00:00:00:01',
                          'ff:ff:ff:ff:ff:ff'):
                end.send(frame(group, '52:54:00:00:00:01'))
    thread = threading.Thread(target=talk)
    thread.start()
    test.addCleanup(thread.join)
    test.addCleanup(ended.set)


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Peer(unittest.TestCase):
    """A machine with the NIC, and another one with the peer; a second cable is
    between them for the control."""
    HERE, THERE = '192.0.2.1', '192.0.2.2'

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix='mnpeer')
        self.addCleanup(shutil.rmtree, self.dir)
        self.nets = {}
        for name in ('nic', 'peer', 'cable'):
            self.nets[name] = 'mnpeer%d-%s' % (os.getpid(), name)
            lab.run('ip', 'netns', 'add', self.nets[name])
            self.addCleanup(lab.run, 'ip', 'netns', 'del', self.nets[name])
            # Kernels shall say nothing by devices that are workloads'.
            self.sysctl(name, 'default.disable_ipv6=1')
        self.ip('nic', 'link set lo up')
        self.ip('nic', 'link add c0 type veth peer name c0 netns '
                + self.nets['peer'])
        for name, address in (('nic', self.HERE), ('peer', self.THERE)):
            self.ip(name, 'addr add %s/24 dev c0' % address)
            self.ip(name, 'link set c0 up')

    def sysctl(self, name, setting):
        """Sets one of IPv6 in a namespace."""
        lab.run('ip', 'netns', 'exec', self.nets[name], 'sysctl', '-qw',
                'net.ipv6.conf.' + setting)

    def ip(self, name, words):
        """Runs ip(8) in a namespace."""
        return lab.run('ip', '-n', self.nets[name], *words.split())

    def cable(self, away='peer'):
        """The NIC under test, cabled to w0 in a namespace."""
        stand_in.cable(self.nets['nic'], self.nets[away])
        self.ip(away, 'link set w0 up')

    def respond(self, *arguments):
        """Starts a responder as on a machine that has no more than it."""
        for path in (wire.__file__, responder.__file__):
            shutil.copy(path, self.dir)
        process = subprocess.Popen((
            'ip', 'netns', 'exec', self.nets['peer'], '/usr/bin/python3',
            '-S', self.dir + '/responder.py', *(arguments or (
                'w0', self.THERE))), stdout=subprocess.PIPE, text=True,
                                   stderr=subprocess.STDOUT)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        process.said = [process.stdout.readline()]
        self.assertIn('for who connects to', process.said[0])
        # So that it never waits to say more.
        threading.Thread(target=self.listen, args=(process,),
                         daemon=True).start()
        return process

    @staticmethod
    def listen(process):
        """Until it ends, or nobody wants to hear more."""
        with contextlib.suppress(ValueError):
            process.said += process.stdout

    def qualify(self, *tests, watch=lambda line: None, peer=THERE):
        """(exit status, report, text of it).  WATCH sees each line."""
        path = self.dir + '/report'
        process = subprocess.Popen((
            'ip', 'netns', 'exec', self.nets['nic'], sys.executable,
            stand_in.__file__, path, ','.join(tests), '--nic',
            stand_in.PCI + ',vf=0,vf=1,peer=' + peer, '--phase', 'traffic'),
                                   stdout=subprocess.PIPE, text=True)
        alarm = threading.Timer(400, process.terminate)
        alarm.start()
        with process.stdout:
            for line in process.stdout:
                watch(line)
        status = process.wait()
        alarm.cancel()
        with open(path + '.links') as stream:
            before, after = json.load(stream)
        self.assertEqual(before, after)
        with open(path + '.json') as stream, open(path + '.txt') as text:
            return status, json.load(stream), text.read()

    @staticmethod
    def named(report, status):
        """{name: detail} of the checks that have STATUS."""
        return {check['name']: check['detail'] for check in report['checks']
                if check['status'] == status}

    def test_traffic(self):
        """All kinds of tunnel and underlay, both ways, and options."""
        self.cable()
        end = wire.Wire(self.nets['peer'], 'w0')
        self.addCleanup(end.close)
        chatter(self, end, 1)
        process = self.respond()
        directions = [(kind, way)
                      for kind in ('Geneve4', 'Geneve6', 'Vxlan4', 'Vxlan6')
                      for way in ('egress', 'ingress')]
        status, report, text = self.qualify(
            *('test_directions.%s.test_%s' % names for names in directions),
            'test_options.Options.test_set',
            'test_options.Options.test_present_but_not_matched',
            'test_options.Options.test_zero',
            'test_mtu.Mtu.test_longest')
        self.assertEqual({}, self.named(report, 'failed'))
        self.assertEqual(0, status)
        good = self.named(report, 'ok')
        for name in ('directions.%s.%s (nic=1)' % names
                     for names in directions):
            self.assertIn(name, good)
        for name in ('options.Options.set', 'options.Options.zero',
                     'options.Options.present_but_not_matched',
                     'mtu.Mtu.longest'):
            self.assertIn(name, good)
        self.assertEqual({}, self.named(report, 'skipped'))
        self.assertIn('ok      peer of %s: responder at %s port 7600\n'
                      % (stand_in.PCI, self.THERE), text)
        self.assertIn('peer=' + self.THERE, report['about']['nics'])
        self.assertIsNone(process.poll())
        # Nothing was sent away, and nobody has stayed.
        self.assertEqual(set(), {
            line for line in process.said[1:]
            if not re.search('has connected$|the connection was closed$',
                             line)})

    def test_absent(self):
        """Nobody answers: the report says it, and what was skipped."""
        self.cable()
        status, report, text = self.qualify(
            'test_directions.Geneve4', 'test_mtu.Mtu.test_longest')
        self.assertEqual(1, status)
        self.assertEqual(
            {'peer of ' + stand_in.PCI: 'peer %s port 7600: Connection '
             'refused: no traffic on the wire' % self.THERE},
            self.named(report, 'failed'))
        skipped = self.named(report, 'skipped')
        for name in ('directions.Geneve4.egress (nic=1)',
                     'directions.Geneve4.ingress (nic=1)', 'mtu.Mtu.longest'):
            self.assertEqual('nic1: no peer is at the other end',
                             skipped[name])
        self.assertIn('skipped mtu.Mtu.longest: nic1', text)

    def test_disconnect(self):
        """The peer goes in the middle."""
        self.cable()
        process = self.respond()

        def watch(line):
            if 'Geneve4.egress' in line:
                process.kill()
        status, report, _ = self.qualify(
            'test_directions.Geneve4.test_egress',
            'test_directions.Geneve4.test_ingress',
            'test_directions.Vxlan4.test_egress', watch=watch)
        self.assertEqual(1, status)
        self.assertEqual(['peer of ' + stand_in.PCI,
                          'directions.Geneve4.egress (nic=1)'],
                         [check['name'] for check in report['checks']
                          if check['status'] == 'ok'
                          and check['section'] == 'traffic'])
        # The test that it went in, if that was not over yet, and all hosts
        # that come after.
        bad = self.named(report, 'failed')
        self.assertIn('directions.Vxlan4', bad)
        for detail in bad.values():
            self.assertRegex(detail, '^peer %s port 7600: '
                             '(the connection was closed|Connection .*)$'
                             % self.THERE)

    def test_lossy(self):
        """A cable that loses each fifth frame."""
        self.cable('cable')
        self.ip('cable', 'link add w1 type veth peer name w0 netns '
                + self.nets['peer'])
        for name, device in (('cable', 'w1'), ('peer', 'w0')):
            self.ip(name, 'link set %s up' % device)
        ends = [wire.Wire(self.nets['cable'], name) for name in ('w0', 'w1')]
        ended = threading.Event()

        def forward():
            passed = 0
            while not ended.is_set():
                wire.wait(ends, 0.2)
                for source, target in (ends, ends[::-1]):
                    for one in source.receive():
                        passed += 1
                        if passed % 5:
                            target.send(one)
        thread = threading.Thread(target=forward)
        thread.start()
        try:
            self.respond()
            status, report, _ = self.qualify(
                'test_directions.Geneve4.test_egress',
                'test_directions.Geneve4.test_ingress')
        finally:
            ended.set()
            thread.join()
            for end in ends:
                end.close()
        self.assertEqual(1, status)
        bad = self.named(report, 'failed')
        for name, port in (('egress', 'nic1'), ('ingress', 'vm1a')):
            self.assertRegex(bad['directions.Geneve4.%s (nic=1)' % name],
                             r"^\w+ sent .*, expected \{'%s': 9\}:" % port)

    def test_bytes(self):
        """The bytes on the wire are those that were sent, both ways, and
        frames of others are nobody's business."""
        self.cable()
        self.ip('nic', 'link set p0 up')
        for name in ('nic', 'peer'):
            self.sysctl(name, 'c0.disable_ipv6=0')
        self.ip('nic', 'addr add 2001:db8::1/64 dev c0 nodad')
        self.ip('peer', 'addr add 2001:db8::2/64 dev c0 nodad')
        process = self.respond('w0', '[2001:db8::2]:7777')
        seed = random.randrange(1 << 32)
        noise = random.Random(seed)
        near = wire.Wire(self.nets['nic'], 'p0')
        self.addCleanup(near.close)
        self.assertIn('promiscuity 1', self.ip(
            'peer', '-d link show dev w0'))
        with wire.namespace(self.nets['nic']):
            end = remote.Remote('2001:db8::2', 7777)
        self.addCleanup(end.close)

        def frames(dst, src):
            return [frame(dst, src, noise.randbytes(size), tag)
                    for size in (46, 100, 1496)
                    for tag in (b'', b'\x81\0\x20\x05', b'\x88\xa8\0\x07')]

        def pass_by(source, target, sent, expected):
            for one in sent:
                source.send(one)
            heard = []

            def all_here():
                # Only those of tests: kernels say something, too.
                heard.extend(one for one in target.receive()
                             if one[12:14] != b'\x86\xdd')
                return len(heard) >= len(expected)
            host.until(lambda: '%d of %d' % (len(heard), len(expected)),
                       all_here)
            self.assertEqual(expected, heard, 'seed %d' % seed)
        pass_by(end, near, *[frames(ENDPOINT, GATEWAY)] * 2)
        others = frames('ff:ff:ff:ff:ff:ff', '52:54:00:00:00:01') + frames(
            '02:00:00:02:00:01', '0a:00:00:01:00:01')
        good = (frames(GATEWAY, ENDPOINT) + frames(WORKLOAD, GATEWAY)
                + frames('ff:ff:ff:ff:ff:ff', WORKLOAD)
                + frames('ff:ff:ff:ff:ff:ff', ENDPOINT))
        pass_by(near, end, others + good + others, good)
        # Longer than the device takes: nothing is wrong for the next.
        end.send(frame(ENDPOINT, GATEWAY, bytes(2000)))
        with self.assertRaisesRegex(AssertionError, 'Message too long'):
            end.receive()
        end.close()
        with wire.namespace(self.nets['nic']):
            end = remote.Remote('2001:db8::2', 7777)
        pass_by(end, near, *[frames(ENDPOINT, GATEWAY)] * 2)
        # MACs that the tests of traffic use.
        for n in (1, 8):
            self.assertEqual(frame(host.Host.mac(n), host.Host.gateway_mac(n)),
                             responder.frame_to_send(frame(
                                 host.Host.mac(n),
                                 host.Host.gateway_mac(n)).hex()))
        end.close()
        process.terminate()
        self.assertEqual(0, process.wait())
        self.assertIn('promiscuity 0', self.ip(
            'peer', '-d link show dev w0'))

    def test_others(self):
        """What others say in the segment holds up no test."""
        one = setups.Setup([], '').make()
        self.addCleanup(one.close)
        end = wire.Wire(one.ns('far'), 'nic1')
        self.addCleanup(end.close)
        chatter(self, end, 0.01)
        for _ in range(3):
            host.until('they have flows', one.inserted)
            one.purge()

    def test_down(self):
        """A device without a link is said."""
        self.cable()
        self.ip('peer', 'link set w0 down')
        done = subprocess.run((
            'ip', 'netns', 'exec', self.nets['peer'], '/usr/bin/python3',
            responder.__file__, 'w0', self.THERE), text=True,
                              stdout=subprocess.PIPE, timeout=60)
        self.assertEqual((2, 'responder: w0: is down: ip link set w0 up\n'),
                         (done.returncode, done.stdout))
