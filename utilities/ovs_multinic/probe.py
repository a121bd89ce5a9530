# SPDX-License-Identifier: Apache-2.0
"""Asks the fabric whether another host has an IPv4 address (RFC 5227).

The kernel does this for IPv6 addresses by itself.
"""
import select
import socket
import struct
import time

from ovs_multinic.errors import Failure

ETH_P_ARP = 0x0806
ARPHRD_ETHER = 1
ARPOP_REQUEST = 1
PROBES = 3
INTERVAL_S = 0.15
ARP = struct.Struct('!HHBBH6s4s6s4s')


def refuse_taken(device, address):
    """Sends ARP probes for ADDRESS by DEVICE; fails if somebody else says
    that it is theirs.  What is no Ethernet interface is not asked."""
    wanted = socket.inet_aton(address)
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM) as sock:
        try:
            sock.bind((device, ETH_P_ARP))
        except OSError as error:
            raise Failure('%s: %s' % (device, error.strerror)) from None
        kind, mac = sock.getsockname()[3:5]
        if kind != ARPHRD_ETHER:
            return
        request = ARP.pack(ARPHRD_ETHER, 0x0800, 6, 4, ARPOP_REQUEST,
                           mac, bytes(4), bytes(6), wanted)
        for _ in range(PROBES):
            try:
                sock.sendto(request, (device, ETH_P_ARP, 0, ARPHRD_ETHER,
                                      b'\xff' * 6))
            except OSError:
                return                  # It is down: nobody hears it.
            owner = answer(sock, wanted, mac)
            if owner:
                raise Failure('address %s on %s: another host has it (%s)'
                              % (address, device, owner.hex(':')))


def answer(sock, wanted, mac):
    """Returns the MAC of the sender of an ARP packet from address WANTED that
    arrives within INTERVAL_S and is not from MAC, or None."""
    deadline = time.monotonic() + INTERVAL_S
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([sock], [], [], left)[0]:
            return None
        frame, source = sock.recvfrom(ARP.size)
        if source[2] == socket.PACKET_OUTGOING or len(frame) < ARP.size:
            continue
        sender_mac, sender = ARP.unpack(frame)[5:7]
        if sender == wanted and sender_mac != mac:
            return sender_mac
