# SPDX-License-Identifier: Apache-2.0
"""Raw access to the far ends of a host's ports."""
import contextlib
import ctypes
import errno
import select
import socket
import struct
import sys

CLONE_NEWNET = 0x40000000
# From linux/if_packet.h.
SOL_PACKET = 263
PACKET_AUXDATA = 8
PACKET_OUTGOING = 4
PACKET_IGNORE_OUTGOING = 23
TP_STATUS_VLAN_VALID = 0x10
TP_STATUS_VLAN_TPID_VALID = 0x40
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
ETH_P_ALL = 3

libc = ctypes.CDLL(None, use_errno=True)


def setns(stream):
    """Moves this thread into an open network namespace."""
    if libc.setns(stream.fileno(), CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), 'setns')


@contextlib.contextmanager
def namespace(name):
    """This thread is in that network namespace for a while; None is where it
    is."""
    if name is None:
        yield
        return
    with open('/proc/thread-self/ns/net', 'rb') as home, \
            open('/run/netns/' + name, 'rb') as away:
        setns(away)
        try:
            yield
        finally:
            setns(home)


class Wire:
    """The far end of a port: what comes out of it, and a way in."""

    def __init__(self, net, name):
        self.name = name
        with namespace(net):
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self.socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
            self.socket.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
            self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 23)
            self.socket.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 23)
            self.socket.bind((name, ETH_P_ALL))
        self.socket.setblocking(False)

    def close(self):
        """Ends it."""
        self.socket.close()

    def send(self, frame):
        """Sends one frame into the port; without a link it is lost."""
        self.socket.setblocking(True)
        try:
            self.socket.send(frame)
        except OSError as error:
            if error.errno not in (errno.ENETDOWN, errno.ENXIO,
                                   errno.ENOBUFS):
                raise
        finally:
            self.socket.setblocking(False)

    def receive(self, most=sys.maxsize):
        """The frames that have come out of the port since the last call, MOST
        of them at a time."""
        frames = []
        while len(frames) < most:
            try:
                frame, ancillary, _, address = self.socket.recvmsg(65535, 64)
            except BlockingIOError:
                return frames
            except OSError as error:
                # The kernel says once that the link is down.
                if error.errno != errno.ENETDOWN:
                    raise
                continue
            if address[2] == PACKET_OUTGOING:
                continue
            for level, kind, data in ancillary:
                if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
                    status, _, _, _, _, tci, tpid = struct.unpack(
                        '=IIIHHHH', data[:20])
                    if status & TP_STATUS_VLAN_VALID:
                        # The kernel takes the tag off.
                        if not status & TP_STATUS_VLAN_TPID_VALID:
                            tpid = 0x8100
                        frame = (frame[:12] + struct.pack('!HH', tpid, tci)
                                 + frame[12:])
            frames.append(frame)
        return frames


def wait(wires, seconds):
    """Until a frame comes to one of WIRES, or SECONDS are over.  True if one
    has come."""
    return bool(select.select([wire.socket for wire in wires], [], [],
                              max(0, seconds))[0])
