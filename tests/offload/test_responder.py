# SPDX-License-Identifier: Apache-2.0
"""tests/qualify/responder.py and remote.py, without a wire."""
import contextlib
import json
import os
import random
import socket
import subprocess
import sys
import threading
import unittest
from unittest import mock

import host
import lab

sys.path.append(os.path.join(lab.TOP, 'tests/qualify'))
# pylint: disable=wrong-import-position
import remote                                                   # noqa: E402
import responder                                                # noqa: E402

ENDPOINT, GATEWAY = '02:00:00:01:00:07', '02:00:00:fe:00:07'


def frame(dst, src, payload=bytes(46), tag=b''):
    """An Ethernet frame."""
    return (bytes.fromhex((dst + src).replace(':', '')) + tag + b'\x88\xb5'
            + payload)


class Fake:
    """In the place of a wire.Wire."""

    def __init__(self):
        self.socket, self.other = socket.socketpair()
        self.sent, self.coming = [], []

    def send(self, data):
        """Keeps it."""
        if len(data) > 1514:
            raise OSError(90, 'Message too long')
        self.sent.append(data)

    def receive(self, most):
        """What the test says."""
        self.coming, frames = self.coming[most:], self.coming[:most]
        return frames

    def close(self):
        """Ends it."""
        self.socket.close()
        self.other.close()


class Talk(unittest.TestCase):
    """The two ends, without a wire."""

    def serve(self):
        """A responder, and where it is."""
        listener = responder.listen('127.0.0.1', 0)
        served = responder.Responder(Fake(), listener)
        ended = threading.Event()

        def run():
            while not ended.is_set():
                served.step()

        def end():
            ended.set()
            # Something to do, so that it looks.
            with contextlib.suppress(OSError):
                socket.create_connection(address).close()
            thread.join(responder.ANSWER + 5)
            for one in (listener, served.end, served.client):
                if one:
                    one.close()
            self.assertFalse(thread.is_alive())
        address = listener.getsockname()
        thread = threading.Thread(target=run)
        said = mock.patch.object(responder, 'say')
        said.start()
        self.addCleanup(said.stop)
        thread.start()
        self.addCleanup(end)
        return served, address

    def connect(self, address):
        """A good client."""
        end = remote.Remote(*address)
        self.addCleanup(end.close)
        return end

    def still_good(self, served, address):
        """It serves."""
        end = remote.Remote(*address)
        good = frame(ENDPOINT, GATEWAY)
        end.send(good)
        self.assertEqual([], end.receive())
        self.assertEqual(good, served.end.sent.pop())
        end.close()

    def test_frames(self):
        """Both ways, in order, and all that came before receive()."""
        served, address = self.serve()
        end = self.connect(address)
        frames = [frame(ENDPOINT, GATEWAY, bytes([n]) * 100)
                  for n in range(200)]
        for one in frames:
            end.send(one)
        self.assertEqual([], end.receive())
        self.assertEqual(frames, served.end.sent)
        for one in frames, frames[::-1]:
            served.end.coming = list(one)
            served.end.other.send(b'.')
            self.assertEqual(one, end.receive())

    def test_next_client(self):
        """One at a time, and the next at once."""
        served, address = self.serve()
        for _ in range(50):
            self.still_good(served, address)
        first = self.connect(address)
        with self.assertRaisesRegex(AssertionError,
                                    'says: 127.0.0.1 is connected$'):
            remote.Remote(*address)
        self.assertEqual([], first.receive())

    def refused(self, address, *data, hello=True):
        """The last thing that the responder says to DATA."""
        with socket.create_connection(address) as connection:
            connection.settimeout(responder.ANSWER + 5)
            try:
                if hello:
                    connection.sendall(b'{"version": %d}\n'
                                       % responder.VERSION)
                for part in data:
                    connection.sendall(part)
            except (BrokenPipeError, ConnectionResetError):
                pass
            heard = b''
            try:
                while True:
                    more = connection.recv(1 << 16)
                    if not more:
                        break
                    heard += more
            except ConnectionResetError:
                pass
        self.assertLess(len(heard), 1000)
        return heard.decode().splitlines()[-1]

    def test_hostile(self):
        """It says what is wrong, ends the connection, and sends nothing."""
        served, address = self.serve()
        seed = random.randrange(1 << 32)
        noise = random.Random(seed)
        good = frame(ENDPOINT, GATEWAY).hex()
        for hello, line, why in (
                (False, b'GET / HTTP/1.0', 'not a JSON object'),
                (False, b'{"send": "%s"}' % good.encode(), 'is version 1'),
                (False, b'{"version": 2}', 'is version 1'),
                (False, b'{"version": "1"}', 'is version 1'),
                (True, b'', 'not a JSON object'),
                (True, b'\0\xff\xfe', 'not a JSON object'),
                (True, b'[' * 100000, 'not a JSON object'),
                (True, b'9' * 100000, 'not a JSON object'),
                (True, b'{"a":' * 50000, 'not a JSON object'),
                (True, b'null', 'not a JSON object'),
                (True, b'{}', 'not a JSON object'),
                (True, b'{"sync": 1, "send": ""}', 'not a JSON object'),
                (True, b'{"sync": "x"}', 'not known'),
                (True, b'{"exec": "reboot"}', 'not known'),
                (True, b'{"send": 7}', 'not hexadecimal'),
                (True, b'{"send": "0g"}', 'not hexadecimal'),
                (True, b'{"send": ""}', 'of 0 bytes'),
                (True, b'{"send": "%s"}' % (b'00' * 20000), '20000 bytes'),
                # Not to or from MACs of tests.
                (True, json.dumps({'send': frame(
                    '02:00:00:02:00:01', GATEWAY).hex()}), 'of no test'),
                (True, json.dumps({'send': frame(
                    ENDPOINT, '52:54:00:00:00:01').hex()}), 'of no test'),
                (True, json.dumps({'send': frame(
                    'ff:ff:ff:ff:ff:ff', GATEWAY).hex()}), 'of no test'),
                # Longer than the wire takes.
                (True, json.dumps({'send': good + '00' * 2000}),
                 'Message too long'),
                *((True, noise.randbytes(noise.randrange(500))
                   .replace(b'\n', b'') + b'\xff', 'not a JSON object')
                  for _ in range(50))):
            with self.subTest(line=line[:60], seed=seed):
                if isinstance(line, str):
                    line = line.encode()
                self.assertIn(why, self.refused(address, line + b'\n',
                                                hello=hello))
                self.assertEqual([], served.end.sent)
                self.still_good(served, address)

    def test_endless_line(self):
        """What has no end is not kept."""
        served, address = self.serve()
        with socket.create_connection(address) as connection:
            connection.settimeout(5)
            sent = 0
            with self.assertRaises((BrokenPipeError, ConnectionResetError)):
                while sent < 1 << 26:
                    connection.sendall(bytes(1 << 16))
                    sent += 1 << 16
        self.still_good(served, address)

    def test_silent(self):
        """Who says nothing, or never a whole line, has to go; who does not
        listen, too."""
        with mock.patch.multiple(responder, ANSWER=1, IDLE=2):
            served, address = self.serve()
            for hello, data in ((False, ()), (False, (b'{"ver',)),
                                (True, ()), (True, (b'{"sync": 1',))):
                with self.subTest(hello=hello, data=data):
                    self.assertIn('too long', self.refused(
                        address, *data, hello=hello))
            with socket.create_connection(address) as deaf:
                deaf.sendall(b'{"version": %d}\n' % responder.VERSION)
                host.until('greeted', lambda: served.greeted)
                served.end.coming = [bytes(9000)] * 5000
                while served.end.coming and served.client:
                    served.end.other.send(b'.')
                    threading.Event().wait(0.01)
                host.until('dismissed', lambda: not served.client)
        served.end.coming = []
        self.still_good(served, address)

    def test_bad_responder(self):
        """hw-qualify says what is wrong, and does not wait for ever."""
        for said, why in (
                (b'{"version": 2}\n', 'has version 2 of responder.py, not 1: '
                 'copy it again$'),
                (b'{"version": 2.5}\n', 'has version 2.5 of'),
                (b'{"error": "no time"}\n', 'says: no time$'),
                (b'SSH-2.0-OpenSSH_9.2\r\n', 'not a JSON object of one'),
                (b'\xff\0\n', 'not a JSON object'),
                (bytes(1 << 19), 'a line of more than'),
                (b'', 'no answer$'), (b'{"heard": "00"}', 'no answer$'),
                (None, 'the connection was closed$|reset'),
                # A good beginning.
                (b'{"version": 1}\n', 'no answer$'),
                (b'{"version": 1}\n' b'{"heard": 5}\n', 'not hexadecimal$')):
            with self.subTest(said=said and said[:60]), \
                    mock.patch.object(responder, 'ANSWER', 1), \
                    responder.listen('127.0.0.1', 0) as listener:
                accepted = []

                def accept():
                    accepted.append(listener.accept()[0])
                    if said is None:
                        accepted[0].close()
                    else:
                        first, _, rest = said.partition(b'\n{"heard')
                        with contextlib.suppress(OSError):
                            accepted[0].sendall(first + b'\n' * bool(rest))
                            while rest and b'sync' not in accepted[0].recv(
                                    1 << 16):
                                pass
                            accepted[0].sendall(b'{"heard' * bool(rest) + rest)
                thread = threading.Thread(target=accept)
                thread.start()
                with self.assertRaisesRegex(
                        AssertionError, r'^peer 127.0.0.1 port \d+: .*'
                        + '(?:%s)' % why):
                    end = remote.Remote(*listener.getsockname())
                    try:
                        end.receive()
                    finally:
                        # Not again.
                        with self.assertRaises(AssertionError):
                            with mock.patch.object(responder, 'ANSWER', 60):
                                end.receive()
                        end.close()
                thread.join()
                accepted[0].close()

    def test_address(self):
        """What names an address, and what a device."""
        for text, expected in (
                ('192.0.2.9', ('192.0.2.9', 7600)),
                ('192.0.2.9:1', ('192.0.2.9', 1)),
                ('2001:db8::9', ('2001:db8::9', 7600)),
                ('[2001:db8::9]:65535', ('2001:db8::9', 65535)),
                *((text, None) for text in (
                    'enp7s0f0', '', '0.0.0.0', '::', '[::]:7600', ':7600',
                    '192.0.2.9:0', '192.0.2.9:65536', '192.0.2.9:',
                    '192.0.2', '192.0.2.9/24', '2001:db8::9:1:2:3:4:5:6',
                    'localhost'))):
            self.assertEqual(expected, responder.parse_address(text), text)

    def test_arguments(self):
        """One line says what is wrong."""
        script = responder.__file__
        for arguments, said in (
                (('lo', 'somewhere'), 'somewhere: not an address'),
                (('lo', '0.0.0.0'), '0.0.0.0: not an address'),
                (('no-such-dev', '192.0.2.9'), 'no-such-dev: ' + (
                    'No such device' if os.geteuid() == 0
                    else 'Operation not permitted')),
                (('lo',), 'usage: '), (('--help', 'x'), 'usage: ')):
            done = subprocess.run(('/usr/bin/python3', script, *arguments),
                                  stdout=subprocess.PIPE, text=True,
                                  stderr=subprocess.STDOUT, timeout=60)
            self.assertEqual(2, done.returncode)
            self.assertIn(said, done.stdout)
            self.assertNotIn('Traceback', done.stdout)
