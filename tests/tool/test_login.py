# SPDX-License-Identifier: Apache-2.0
"""Whose interface must not be taken."""
import os
import subprocess
import sys
import types
import unittest

from ovs_multinic import login
from ovs_multinic import steps
from ovs_multinic.errors import Failure

SSH = '192.0.2.9 40000 192.0.2.1 22'


class Kernel:
    """It knows the way to some addresses, and who has some."""

    def __init__(self, ways, holders):
        self.ways, self.addresses = ways, holders

    def way(self, dst, src=None):
        return self.ways.get((dst, src))

    def holders(self, ip):
        return self.addresses.get(ip, [])


def rows(bridges):
    """Rows of table Bridge for {name: names of interfaces}."""
    return [types.SimpleNamespace(name=name, ports=[
        types.SimpleNamespace(interfaces=[types.SimpleNamespace(name=port)])
        for port in ports]) for name, ports in bridges.items()]


def system(ways=(), holders=(), **bridges):
    """What devices() asks."""
    return types.SimpleNamespace(
        kernel=Kernel(dict(ways), dict(holders)),
        database=types.SimpleNamespace(rows=lambda table: rows(bridges)))


def changing(kind):
    """KIND, a class of steps, set if the system says so."""
    return type(kind.__name__, (kind,),
                {'is_set': lambda self, system: system})


class Login(unittest.TestCase):
    def test_connection(self):
        self.assertEqual(login.connection({'SSH_CONNECTION': SSH}),
                         SSH.split())
        self.assertIsNone(login.connection({'SSH_CONNECTION': 'x'}))

    def test_connection_of_the_shell_above(self):
        # A shell with the variable starts a program without, as sudo does.
        code = ('from ovs_multinic import login;'
                'print(login.connection())')
        got = subprocess.run(
            ['sh', '-c', 'env -u SSH_CONNECTION "$@"; true', 'sh',
             sys.executable, '-c', code], stdout=subprocess.PIPE, text=True,
            check=True, env=dict(os.environ, SSH_CONNECTION=SSH,
                                 PYTHONPATH=':'.join(sys.path)))
        self.assertEqual(got.stdout, str(SSH.split()) + '\n')

    def test_devices(self):
        there = system({('192.0.2.9', '192.0.2.1'): 'eth0',
                        ('192.0.2.8', None): 'eth1',
                        ('2001:db8::9', '2001:db8::1'): 'eth4'},
                       {'192.0.2.1': ['eth0', 'eth2'],
                        '192.0.2.2': ['eth3'], '2001:db8::1': ['eth4']})
        for words, names in (
                (None, []), (SSH, ['eth0', 'eth2']),
                ('::ffff:192.0.2.9 1 ::ffff:192.0.2.1 22', ['eth0', 'eth2']),
                ('::FFFF:c000:0209 1 ::ffff:c000:201 22', ['eth0', 'eth2']),
                ('192.0.2.8 1 192.0.2.1 22', ['eth1', 'eth0', 'eth2']),
                ('192.0.2.8 1 192.0.2.2 22', ['eth1', 'eth3']),
                ('192.0.2.7 1 192.0.2.3 22', []),
                ('2001:db8:0::9 1 2001:db8::1 22', ['eth4']),
                ('fe80::1%eth5 1 fe80::2%eth5 22', ['eth5']),
                ('fe80::1 1 fe80::2%eth5 22', ['eth5']),
                # What sshd says where there is no socket.
                ('UNKNOWN 65535 UNKNOWN 65535', [])):
            self.assertEqual(login.devices(there, words and words.split()),
                             names, words)

    def test_devices_of_bridges(self):
        there = system({('192.0.2.9', '192.0.2.1'): 'br-b'},
                       {'192.0.2.1': ['mgmt']},
                       **{'br-a': ['br-a', 'eth0', 'mgmt'],
                          'br-b': ['br-b', 'eth1'], 'br-c': ['br-c']})
        self.assertEqual(login.devices(there, SSH.split()),
                         ['br-b', 'mgmt', 'br-a'])

    def test_refuse(self):
        made = [changing(steps.Port)('eth0', 'br')]
        for name in 'eth0', 'br':
            with self.assertRaises(Failure) as caught:
                login.refuse(['lo', name], made, False)
            self.assertEqual(str(caught.exception), name + ': you are logged'
                             ' in through it (--force takes it all the same)')
        login.refuse(['eth0', 'br'], made, True)
        login.refuse(['eth1'], made, False)
        login.refuse([], made, False)

    def test_taken(self):
        made = [changing(steps.Bridge)('br0', '02:00:00:00:00:01'),
                changing(steps.Port)('eth1', 'br1'),
                changing(steps.Addresses)('br2', 'eth2', ['192.0.2.1/24']),
                changing(steps.Up)('eth3')]
        names = ['eth3', 'eth2', 'br2', 'br1', 'eth1', 'br0', 'eth0']
        self.assertEqual(login.taken(names, made, False),
                         ['eth2', 'br1', 'eth1', 'br0'])
        self.assertEqual(login.taken(names, made, True), [])

    def test_refuse_undo(self):
        made = [steps.Port('eth0', 'br')]
        login.refuse_undo(['eth0'], made)
        login.refuse_undo([], made)
        for made in (made, [steps.Bridge('br')],
                     [steps.Addresses('br', 'n', ['192.0.2.1/24'])]):
            with self.assertRaises(Failure) as caught:
                login.refuse_undo(['eth0', 'br'], made)
            self.assertEqual(
                str(caught.exception), 'br: you are logged in through it'
                ' (--force takes it back all the same)')


if __name__ == '__main__':
    unittest.main()
