# SPDX-License-Identifier: Apache-2.0
"""Packets as VFs and the wire see them, made by scapy, and what of a tunnel
packet a NIC may choose."""
import logging
import struct

logging.getLogger('scapy.runtime').setLevel(logging.ERROR)
# pylint: disable=wrong-import-position
from scapy.contrib.geneve import GENEVE                         # noqa: E402
from scapy.layers.inet import ICMP, IP, TCP, UDP                # noqa: E402
from scapy.layers.inet6 import (ICMPv6EchoRequest,              # noqa: E402
                                ICMPv6ND_NA, ICMPv6ND_NS,
                                ICMPv6NDOptDstLLAddr, IPv6)
from scapy.layers.l2 import ARP, Dot1Q, Ether                   # noqa: E402
from scapy.layers.vxlan import VXLAN                            # noqa: E402
from scapy.packet import Raw                                    # noqa: E402
from scapy.utils import checksum                                # noqa: E402

GENEVE_PORT, VXLAN_PORT = 6081, 4789
WORKLOAD, REMOTE = '0a:00:00:00:01:01', '0a:00:00:00:02:01'

# OVN's option: class 0x0102, type 0x80 (critical), 4 bytes.
OPTION_CLASS, OPTION_TYPE = 0x0102, 0x80


def option(data, kind=OPTION_TYPE, group=OPTION_CLASS):
    """A Geneve option; DATA is a number of 32 bits, or bytes."""
    if isinstance(data, int):
        data = struct.pack('!I', data)
    return struct.pack('!HBB', group, kind, len(data) // 4) + data


def inner(protocol, payload=b'payload', outgoing=True, tag=None, **fields):
    """An Ethernet frame between a workload, 172.16.1.1, and a remote one,
    172.16.2.1.  PROTOCOL is udp, tcp, icmp, udp6, tcp6, icmp6 or arp.  FIELDS
    are those of the transport header, but ttl, tos, src and dst of IP."""
    macs = (WORKLOAD, REMOTE) if outgoing else (REMOTE, WORKLOAD)
    frame = Ether(src=macs[0], dst=macs[1])
    if tag is not None:
        frame /= Dot1Q(vlan=tag & 0xfff, prio=tag >> 13)
    if protocol == 'arp':
        frame.dst = 'ff:ff:ff:ff:ff:ff'
        sides = ['172.16.1.1', '172.16.2.1']
        if not outgoing:
            sides.reverse()
        return bytes(frame / ARP(op=1, hwsrc=macs[0], psrc=sides[0],
                                 hwdst='00:00:00:00:00:00', pdst=sides[1]))
    six = protocol.endswith('6')
    sides = (['fd00:1::1', 'fd00:2::1'] if six
             else ['172.16.1.1', '172.16.2.1'])
    if not outgoing:
        sides.reverse()
    src, dst = fields.pop('src', sides[0]), fields.pop('dst', sides[1])
    ttl, tos = fields.pop('ttl', 64), fields.pop('tos', 0)
    extra = {key: fields.pop(key) for key in ('flags', 'frag')
             if key in fields and protocol in ('udp', 'icmp')}
    frame /= (IPv6(src=src, dst=dst, hlim=ttl, tc=tos) if six
              else IP(src=src, dst=dst, ttl=ttl, tos=tos, **extra))
    if protocol in ('udp', 'udp6'):
        frame /= UDP(**{'sport': 4000, 'dport': 5000, **fields})
    elif protocol in ('tcp', 'tcp6'):
        frame /= TCP(**{'sport': 4000, 'dport': 5000, 'flags': 'A',
                        'seq': 1, 'ack': 2, **fields})
    elif protocol == 'icmp':
        frame /= ICMP(**{'type': 8, 'id': 7, 'seq': 1, **fields})
    else:
        frame /= ICMPv6EchoRequest(**{'id': 7, 'seq': 1, **fields})
    return bytes(frame / Raw(payload))


def outer(host, n, frame, vni=5, options=b'', to=None, tag=None, **fields):
    """FRAME in a tunnel packet from peer N to endpoint N of HOST (or to
    address TO), as it comes by the wire of NIC N, with the underlay's TAG.
    FIELDS are those of the outer UDP header."""
    fields = {'sport': 50000 + sum(frame) % 1000, **fields}
    packet = Ether(src=host.gateway_mac(n), dst=host.mac(fields.pop('nic', n)))
    if tag is not None:
        packet /= Dot1Q(vlan=tag & 0xfff, prio=tag >> 13)
    src, dst = host.peer(n), to or host.endpoint(n)
    # Over IPv4 the checksum is 0 (RFC 8926 section 3.3), scapy's None makes
    # it right.
    if host.family == 4:
        packet /= IP(src=src, dst=dst, flags='DF')
        fields.setdefault('chksum', 0)
    else:
        packet /= IPv6(src=src, dst=dst)
    if host.kind == 'vxlan':
        return bytes(packet / UDP(dport=VXLAN_PORT, **fields)
                     / VXLAN(vni=vni, flags=8) / Raw(frame))
    critical = any(option[2] & 0x80 for option in split(options))
    return bytes(packet / UDP(dport=GENEVE_PORT, **fields)
                 / GENEVE(vni=vni, proto=0x6558, critical=int(critical),
                          optionlen=len(options) // 4)
                 / Raw(options + frame))


def split(options):
    """The options one by one."""
    while options:
        size = 4 + 4 * (options[3] & 0x1f)
        yield options[:size]
        options = options[size:]


class Tunnel:
    """The outer headers of a tunnel packet; 'found' is False if it is none.
    'problem' says what is wrong with it, 'tag' is the underlay's or None."""

    def __init__(self, frame):
        self.found, self.problem, self.tag, self.ip = False, None, None, 14
        if frame[12:14] == b'\x81\x00':
            self.tag, self.ip = int.from_bytes(frame[14:16], 'big'), 18
        eth_type = frame[self.ip - 2:self.ip]
        if eth_type == b'\x08\x00' and frame[self.ip + 9] == 17:
            self.udp = self.ip + 4 * (frame[self.ip] & 15)
        elif eth_type == b'\x86\xdd' and frame[self.ip + 6] == 17:
            self.udp = self.ip + 40
        else:
            return
        self.four = eth_type == b'\x08\x00'
        self.source_port, port, length, self.checksum = struct.unpack(
            '!HHHH', frame[self.udp:self.udp + 8])
        if port not in (GENEVE_PORT, VXLAN_PORT):
            return
        self.found = True
        self.payload = self.udp + 16
        if port == GENEVE_PORT:
            self.payload += 4 * (frame[self.udp + 8] & 0x3f)
        self.vni = int.from_bytes(frame[self.udp + 12:self.udp + 15], 'big')
        self.inner = frame[self.payload:]
        self.check(frame, length)
        plain = bytearray(frame)
        plain[self.udp:self.udp + 2] = b'\0\0'
        plain[self.udp + 6:self.udp + 8] = b'\0\0'
        if self.four:
            for place in (4, 10):
                plain[self.ip + place:self.ip + place + 2] = b'\0\0'
        self.plain = bytes(plain)

    def check(self, frame, length):
        """Lengths and checksums."""
        packet = frame[self.ip:]
        if self.four:
            if checksum(frame[self.ip:self.udp]):
                self.problem = 'IPv4 header checksum'
            if struct.unpack('!H', packet[2:4])[0] != len(packet):
                self.problem = 'IPv4 total length'
            addresses = packet[12:20]
        else:
            if struct.unpack('!H', packet[4:6])[0] != len(packet) - 40:
                self.problem = 'IPv6 payload length'
            addresses = packet[8:40]
        if length != len(frame) - self.udp:
            self.problem = 'UDP length'
        if self.checksum and checksum(addresses + struct.pack(
                '!II', length, 17) + frame[self.udp:]):
            self.problem = 'UDP checksum'


def comparable(frame):
    """FRAME, but for what a NIC may choose if it is a tunnel packet: source
    port, UDP checksum and IPv4 identification."""
    tunnel = Tunnel(frame)
    return tunnel.plain if tunnel.found else frame


def answer(frame, macs):
    """The answer to FRAME if that is an ARP or ND request for an address of
    which MACS has the MAC, otherwise None.  It has the same tag."""
    tag = frame[12:16] if frame[12:14] == b'\x81\x00' else b''
    frame = frame[:12] + frame[12 + len(tag):]
    if frame[12:14] not in (b'\x08\x06', b'\x86\xdd'):
        return None
    request = Ether(frame)
    if ARP in request and request[ARP].op == 1:
        asked, asker = request[ARP].pdst, request[ARP].psrc
        said = ARP(op=2, hwsrc=macs.get(asked), psrc=asked,
                   hwdst=request.src, pdst=asker)
    elif ICMPv6ND_NS in request:
        asked, asker = request[ICMPv6ND_NS].tgt, request[IPv6].src
        said = (IPv6(src=asked, dst=asker, hlim=255)
                / ICMPv6ND_NA(tgt=asked, R=0, S=1, O=1)
                / ICMPv6NDOptDstLLAddr(lladdr=macs.get(asked)))
    else:
        return None
    if asked not in macs:
        return None
    said = bytes(Ether(src=macs[asked], dst=request.src) / said)
    return said[:12] + tag + said[12:]


def show(frame):
    """One line about a frame, and its bytes."""
    return '%s\n    %s' % (Ether(frame).summary(), frame.hex())
