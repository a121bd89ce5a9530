# SPDX-License-Identifier: Apache-2.0
"""Whose interface must not be taken."""
import os
import subprocess
import sys
import unittest

from ovs_multinic import login
from ovs_multinic import steps
from ovs_multinic.errors import Failure

SSH = '192.0.2.9 40000 192.0.2.1 22'


class Ways:
    """A kernel that knows the way to some addresses."""

    def __init__(self, ways):
        self.ways = ways

    def way(self, dst, src=None):
        return self.ways.get((dst, src))


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

    def test_device(self):
        kernel = Ways({('192.0.2.9', '192.0.2.1'): 'eth0',
                       ('192.0.2.8', None): 'eth1'})
        for words, device in (
                (None, None), (SSH, 'eth0'),
                ('::ffff:192.0.2.9 1 ::ffff:192.0.2.1 22', 'eth0'),
                ('192.0.2.8 1 192.0.2.1 22', 'eth1'),
                ('192.0.2.7 1 192.0.2.1 22', None),
                ('fe80::1%eth5 1 fe80::2%eth5 22', 'eth5')):
            self.assertEqual(login.device(kernel, words and words.split()),
                             device)

    def test_refuse(self):
        class Port(steps.Port):
            def is_set(self, system):
                return system
        made = [Port('eth0', 'br')]
        with self.assertRaises(Failure) as caught:
            login.refuse('eth0', made, False)
        self.assertEqual(str(caught.exception), 'eth0: you are logged in'
                         ' through it (--force takes it all the same)')
        login.refuse('eth0', made, True)
        login.refuse('eth1', made, False)
        login.refuse(None, made, False)
        login.refuse_undo('eth0', made)
        with self.assertRaises(Failure):
            login.refuse_undo('br', [steps.Bridge('br')])
        with self.assertRaises(Failure):
            login.refuse_undo('br', [
                steps.Addresses('br', 'n', ['1.2.3.4/8'])])
