# SPDX-License-Identifier: Apache-2.0
"""check, and the connection to ovs-vswitchd, with a daemon that answers what
a test wants."""
import contextlib
import io
import json
import os
import shlex
import socket
import tempfile
import threading
import unittest
from unittest import mock

from ovs_multinic import check
from ovs_multinic import database
from ovs_multinic import main
from ovs_multinic import steps
from ovs_multinic import words


class Daemon:
    """A control socket that gives each request the same REPLY."""

    def __init__(self, **reply):
        self.directory = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.directory.name, 'ctl')
        self.reply = reply
        self.requests = []
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(self.path)
        self.server.listen()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        """Answers, one connection after the other."""
        while True:
            try:
                connection, _ = self.server.accept()
            except OSError:
                return
            with connection:
                text = ''
                while True:
                    data = connection.recv(4096)
                    if not data:
                        break
                    text += data.decode()
                    with contextlib.suppress(ValueError):
                        request = json.loads(text)
                        text = ''
                        self.requests.append((request['method'],
                                              request['params']))
                        if self.reply:
                            connection.sendall(json.dumps(
                                {'id': request['id'], 'error': None,
                                 'result': None, **self.reply}).encode())

    def close(self):
        """Ends it."""
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        self.thread.join()
        self.directory.cleanup()


FOUND = [{'severity': 'warning', 'object': 'b', 'problem': 'it is so',
          'mend': 'do that'},
         {'severity': 'error', 'object': 'a', 'problem': 'it is so',
          'mend': None}]


class Check(unittest.TestCase):
    def daemon(self, **reply):
        """A Daemon for this test."""
        daemon = Daemon(**reply)
        self.addCleanup(daemon.close)
        return daemon

    def run_check(self, daemon, *words):
        """Runs "check" on a host to which nothing was applied; returns
        (status, output)."""
        out, err = io.StringIO(), io.StringIO()
        with mock.patch('ovs_multinic.arguments.connect'), \
                contextlib.redirect_stdout(out), \
                contextlib.redirect_stderr(err):
            status = main.main(['check', '--target', daemon.path, '--state',
                                daemon.path + '.none', *words])
        return status, out.getvalue() + err.getvalue()

    def test_text(self):
        daemon = self.daemon(result=json.dumps(FOUND))
        status, out = self.run_check(daemon)
        self.assertEqual(status, 2)
        self.assertEqual(out, '''\
error: a: it is so
warning: b: it is so
    do that
info: %s.none: nothing was applied with this tool
1 error, 1 warning
''' % daemon.path)
        self.assertEqual(daemon.requests, [('encap/check', ['format=json'])])

    def test_hostile_names(self):
        """A terminal shows what nobody can see as "?", JSON has all."""
        found = [{'severity': 'error', 'object': 'a\x1b[2J', 'problem': 'b\n'
                  'ok', 'mend': "ovs-vsctl del-port '\x9b31m\u20ac'"}]
        daemon = self.daemon(result=json.dumps(found))
        _status, out = self.run_check(daemon)
        self.assertTrue(out.startswith(
            "error: a?[2J: b?ok\n    ovs-vsctl del-port '?31m\u20ac'\n"), out)
        _status, out = self.run_check(daemon, '--json')
        self.assertEqual(json.loads(out)[0], found[0])
        _status, out = self.run_check(daemon, '--state', '/no\x1b/x')
        self.assertNotIn('\x1b', out)

    def test_statuses(self):
        for found, status in ((FOUND, 2), (FOUND[:1], 1), ([], 0)):
            daemon = self.daemon(result=json.dumps(found))
            got, out = self.run_check(daemon, '--json')
            self.assertEqual(got, status)
            self.assertEqual([one for one in json.loads(out)
                              if one['severity'] != 'info'],
                             list(reversed(found)))

    def test_a_command_that_is_unknown(self):
        daemon = self.daemon(error='"encap/check" is not a valid command (use'
                                   ' "list-commands" to see a list of valid'
                                   ' commands)\n')
        status, out = self.run_check(daemon)
        self.assertEqual(status, 0)
        self.assertIn('info: %s: it has no encap/check: ' % daemon.path, out)

    def test_answers_that_are_none(self):
        for reply, line in (
                ({'error': 'no\n'}, 'encap/check: no'),
                ({'result': 'x'}, 'encap/check: the answer is not JSON'),
                ({'result': '[{}]'}, 'encap/check: its answer is not'
                                     ' understood'),
                ({'result': '[{"severity": "x", "object": "", "problem": ""}'
                            ']'}, 'encap/check: its answer is not'
                                  ' understood')):
            daemon = self.daemon(**reply)
            status, out = self.run_check(daemon)
            self.assertEqual(status, check.FAILED)
            self.assertEqual(out, 'ovs-multinic: %s: %s\n'
                             % (daemon.path, line))

    def test_silence(self):
        daemon = self.daemon()
        with self.assertRaises(database.Unreachable) as caught:
            database.Vswitchd(daemon.path, 0.1).command('version')
        self.assertEqual(str(caught.exception),
                         daemon.path + ': no answer')


class Nowhere:
    """A host whose names are as bad as they can be."""

    def __init__(self):
        self.kernel = self.database = self

    def row(self, _table, _name):
        """Nothing is in the database."""

    def addresses(self, _name):
        """What is on each interface."""
        return [{'address': '10.5.0.1/24'}]


class Mends(unittest.TestCase):
    NIC, BRIDGE = 'n;reboot', "b'$(x)"

    def test_names_in_commands(self):
        link = mock.Mock(carrier=True, mtu=1400)
        found = list(check.of_nic(
            steps.Port(self.NIC, self.BRIDGE),
            {self.NIC: link, self.BRIDGE: mock.Mock(mtu=1500)}, Nowhere()))
        self.assertEqual([shlex.split(one['mend']) for one in found], [
            ['ovs-vsctl', 'set', 'Interface', self.BRIDGE,
             'mtu_request=1400'],
            ['ip', 'addr', 'del', '10.5.0.1/24', 'dev', self.NIC]])

    def test_command(self):
        self.assertEqual(check.command('apply', '--state', 'x', 'x'),
                         'ovs-multinic apply')
        self.assertEqual(
            check.command('networkd', '--state', 'a b', 'x', '--sysctl', 'y',
                          'y', '--networkd', '$c', 'z'),
            "ovs-multinic networkd --state 'a b' --networkd '$c'")


class Words(unittest.TestCase):
    def test_count(self):
        self.assertEqual([words.count(n, 'error') for n in (0, 1, 2)],
                         ['0 errors', '1 error', '2 errors'])
