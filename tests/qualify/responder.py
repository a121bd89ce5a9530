#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""usage: responder.py DEVICE ADDRESS[:PORT]

The other end of the wire for tests/hw-qualify of another machine.  Puts the
frames that hw-qualify makes on the wire by DEVICE, and tells it what comes,
byte by byte.  Needs root, and no more than Python and wire.py next to it.

DEVICE has to be up and in the same Ethernet segment as the NIC under test, and
is promiscuous meanwhile.  hw-qualify connects to ADDRESS, TCP port 7600 unless
PORT is given.  Whoever can connect may send to MACs of tests only, and hears
nothing but frames from or to those.  Runs until SIGINT or SIGTERM."""
import ctypes
import fcntl
import ipaddress
import json
import os
import re
import select
import signal
import socket
import struct
import sys
import time

# In the source tree wire.py is elsewhere.
sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)),
                             '../offload'))
# pylint: disable=wrong-import-position
import wire                                                     # noqa: E402

# Of what the two ends say to each other: JSON objects of one member, one a
# line.
#
#   {"version": VERSION}  the first of both
#   {"send": HEX}         from hw-qualify: a frame for the wire
#   {"sync": NUMBER}      from hw-qualify; comes back after all that has come
#   {"heard": HEX}        to hw-qualify: a frame from the wire
#   {"error": TEXT}       to hw-qualify, as the last
VERSION = 1
PORT = 7600
MAX_LINE = 1 << 18              # In bytes.
MAX_FRAME = 9216 + 18
MOST = 1000                     # Frames at a time.

# In seconds: for one answer, and for a client that has nothing to say.
ANSWER, IDLE = 10, 600

# How MACs of tests begin: endpoints, what is behind them on the wire, and
# workloads.
ENDPOINTS, GATEWAYS, WORKLOADS = (bytes.fromhex(text) for text in (
    '02000001', '020000fe', '0a000000'))

# From linux/filter.h, linux/if_packet.h and others.
SO_ATTACH_FILTER = 26
PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC = 1, 1
SIOCGIFFLAGS, IFF_UP = 0x8913, 1
LOAD_WORD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06


class Ended(Exception):
    """There is nobody at the other end, or nobody who can be understood."""


def parse_address(text):
    """(IP address, port) of ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT, or None
    if TEXT is neither."""
    found = (re.fullmatch(r'\[(.*)\]:(\d{1,5})', text)
             or re.fullmatch(r'([^:]*):(\d{1,5})', text))
    address, port = found.groups() if found else (text, PORT)
    try:
        address = ipaddress.ip_address(address)
    except ValueError:
        return None
    if address.is_unspecified or not 0 < int(port) < 65536:
        return None
    return str(address), int(port)


class Lines:
    """What is said over a TCP connection.  Raises Ended, or OSError."""

    def __init__(self, connection):
        self.socket, self.rest = connection, b''
        self.socket.settimeout(ANSWER)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, **message):
        """Says one thing."""
        self.socket.sendall(json.dumps(message).encode() + b'\n')

    def receive(self):
        """Waits until something comes.  Returns (key, value) of what is
        complete, a list."""
        data = self.socket.recv(1 << 16)
        if not data:
            raise Ended('the connection was closed')
        *lines, self.rest = (self.rest + data).split(b'\n')
        if any(len(line) > MAX_LINE for line in lines + [self.rest]):
            raise Ended('a line of more than %d bytes' % MAX_LINE)
        return [self.parse(line) for line in lines]

    @staticmethod
    def parse(line):
        """(key, value) of one line."""
        try:
            (item,) = json.loads(line.decode()).items()
        except (ValueError, AttributeError, RecursionError):
            raise Ended('not a JSON object of one member: %.80r'
                        % line) from None
        return item

    def close(self):
        """Ends it."""
        self.socket.close()


def filter_of_tests():
    """A program for the kernel, which lets frames from and to MACs of tests
    pass: instructions of struct sock_filter."""
    prefixes = [int.from_bytes(prefix, 'big')
                for prefix in (ENDPOINTS, GATEWAYS, WORKLOADS)]
    program = []
    for place in (0, 6):
        program.append((LOAD_WORD, 0, 0, place))
        for prefix in prefixes:
            # Over the rest to the end, which has all of it.
            program.append((JUMP_IF_EQUAL, 8 - len(program), 0, prefix))
    return program + [(RETURN, 0, 0, 0), (RETURN, 0, 0, 0xffff)]


def open_device(device):
    """Access to the wire at DEVICE; raises OSError."""
    end = wire.Wire(None, device)
    try:
        request = struct.pack('16sH14x', device.encode(), 0)
        flags, = struct.unpack_from('H', fcntl.ioctl(
            end.socket, SIOCGIFFLAGS, request), 16)
        if not flags & IFF_UP:
            raise OSError(0, 'is down: ip link set %s up' % device)
        program = filter_of_tests()
        code = ctypes.create_string_buffer(
            b''.join(struct.pack('HBBI', *step) for step in program))
        end.socket.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack(
            'HL', len(program), ctypes.addressof(code)))
        end.socket.setsockopt(
            wire.SOL_PACKET, PACKET_ADD_MEMBERSHIP, struct.pack(
                'iHH8x', socket.if_nametoindex(device), PACKET_MR_PROMISC, 0))
    except OSError:
        end.close()
        raise
    return end


def listen(address, port):
    """A socket that takes connections; raises OSError."""
    listener = socket.socket(socket.AF_INET6 if ':' in address
                             else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen()
    except OSError:
        listener.close()
        raise
    return listener


class Responder:
    """Serves one client at a time.  END is a wire.Wire."""

    def __init__(self, end, listener):
        self.end, self.listener = end, listener
        self.client = None              # Of class Lines.
        self.name, self.greeted, self.deadline = '', False, 0

    def step(self):
        """Waits until there is something to do, and does it."""
        ends, seconds = [self.listener, self.end.socket], None
        if self.client:
            ends.append(self.client.socket)
            seconds = max(0, self.deadline - time.monotonic())
        ready = select.select(ends, [], [], seconds)[0]
        try:
            self.tell()
            if self.client:
                self.serve(self.client.socket in ready)
        except (Ended, OSError) as error:
            self.dismiss(str(error))
        if self.listener in ready:
            self.admit()

    def tell(self):
        """Tells the client, if there is one, what has come by the wire."""
        for frame in self.end.receive(MOST):
            if self.greeted:
                self.client.send(heard=frame.hex())

    def serve(self, said):
        """Does what the client has SAID, if anything."""
        if said:
            messages = self.client.receive()
            for key, value in messages:
                self.do(key, value)
            if messages:
                self.deadline = time.monotonic() + IDLE
        if time.monotonic() > self.deadline:
            raise Ended('nothing was said for too long')

    def do(self, key, value):
        """What the client asks for."""
        if not self.greeted:
            if (key, value) != ('version', VERSION):
                raise Ended('this is version %d of hw-qualify\'s responder'
                            % VERSION)
            self.greeted = True
        elif key == 'send':
            self.end.send(frame_to_send(value))
        elif key == 'sync' and isinstance(value, int):
            self.tell()
            self.client.send(sync=value)
        else:
            raise Ended('not known: %.80r' % key)

    def admit(self):
        """Takes a new client, or sends it away."""
        try:
            connection, address = self.listener.accept()
            newcomer = Lines(connection)
        except OSError:
            return                      # It has gone.
        try:
            if self.client:
                newcomer.send(error='%s is connected' % self.name)
                newcomer.close()
                return
            newcomer.send(version=VERSION)
        except OSError:
            newcomer.close()
            return
        self.client, self.name = newcomer, address[0]
        self.deadline = time.monotonic() + ANSWER
        say('%s has connected' % self.name)

    def dismiss(self, why):
        """Ends the client's connection."""
        try:
            self.client.send(error=why)
        except OSError:
            pass
        self.client.close()
        self.client, self.greeted = None, False
        say('%s has ended: %s' % (self.name, why))


def frame_to_send(text):
    """The frame that a client wants to send."""
    try:
        frame = bytes.fromhex(text)
    except (TypeError, ValueError):
        raise Ended('a frame that is not hexadecimal') from None
    if not 14 <= len(frame) <= MAX_FRAME:
        raise Ended('a frame of %d bytes' % len(frame))
    if frame[:4] != ENDPOINTS or frame[6:10] != GATEWAYS:
        raise Ended('a frame that is of no test')
    return frame


def say(text):
    """A line for the operator."""
    print('responder: ' + text, flush=True)


def main(arguments):
    """Returns the exit status."""
    if len(arguments) != 2 or arguments[0].startswith('-'):
        print(__doc__)
        return 2
    device, text = arguments
    address = parse_address(text)
    if not address:
        say('%s: not an address of this machine, ADDRESS, ADDRESS:PORT or '
            '[ADDRESS]:PORT' % text)
        return 2
    what = device
    try:
        end = open_device(device)
        what = text
        listener = listen(*address)
    except OSError as error:
        say('%s: %s' % (what, error.strerror))
        return 2
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(0))
    responder = Responder(end, listener)
    say('%s, for who connects to %s port %d' % (device, *address))
    while True:
        responder.step()


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
