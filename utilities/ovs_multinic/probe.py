# SPDX-License-Identifier: Apache-2.0
"""Asks the fabric whether another host has an IPv4 address (RFC 5227), and
tells it of new MAC addresses.

For IPv6 addresses the kernel does the first by itself.
"""
import contextlib
import ipaddress
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
# RFC 4861, sections 4.4 and 4.6.1.
NEIGHBOR_ADVERTISEMENT = 136
OVERRIDE = 0x20000000
TARGET_LINK_LAYER_ADDRESS = 2
ADVERTISEMENT = struct.Struct('!BBHI16sBB6s')
ALL_NODES = 'ff02::1'


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


def announce(device, mac, addresses):
    """Tells the others on the link of DEVICE that ADDRESSES, as text, have
    MAC now (RFC 5227, section 3; RFC 4861, section 7.2.6): until then they
    send to the old one.  Nothing is heard of what fails."""
    mac = bytes.fromhex(mac.replace(':', ''))
    if len(mac) != 6:
        return
    for address in map(ipaddress.ip_address, addresses):
        with contextlib.suppress(OSError):
            if address.version == 4:
                announce_ipv4(device, mac, address.packed)
            else:
                announce_ipv6(device, mac, address)


def announce_ipv4(device, mac, packed):
    """Broadcasts an ARP announcement."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM) as sock:
        sock.bind((device, ETH_P_ARP))
        sock.sendto(ARP.pack(ARPHRD_ETHER, 0x0800, 6, 4, ARPOP_REQUEST, mac,
                             packed, bytes(6), packed),
                    (device, ETH_P_ARP, 0, ARPHRD_ETHER, b'\xff' * 6))


def announce_ipv6(device, mac, address):
    """Sends an unsolicited neighbour advertisement to all nodes; the kernel
    fills in the checksum."""
    index = socket.if_nametoindex(device)
    with socket.socket(socket.AF_INET6, socket.SOCK_RAW,
                       socket.IPPROTO_ICMPV6) as sock:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
        sock.bind((str(address), 0, 0, index))
        sock.sendto(ADVERTISEMENT.pack(
            NEIGHBOR_ADVERTISEMENT, 0, 0, OVERRIDE, address.packed,
            TARGET_LINK_LAYER_ADDRESS, 1, mac), (ALL_NODES, 0, 0, index))
