# SPDX-License-Identifier: Apache-2.0
"""The kernel's side: a private network namespace, ip(8), RTM_GETROUTE."""

import collections
import ctypes
import ipaddress
import os
import socket
import struct
import subprocess
import time

CLONE_NEWNET = 0x40000000
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 1, 4, 0x300
NLM_F_EXCL, NLM_F_CREATE = 0x200, 0x400
NLMSG_ERROR, NLMSG_DONE = 2, 3
RTM_GETLINK, RTM_GETADDR, RTM_GETROUTE, RTM_NEWRULE = 18, 22, 26, 32
RTM_F_LOOKUP_TABLE = 0x1000
RTA_DST, RTA_SRC, RTA_OIF, RTA_GATEWAY, RTA_PREFSRC = 1, 2, 4, 5, 7
RTA_TABLE, RTA_MARK, RTA_VIA = 15, 16, 18
RTA_IP_PROTO, RTA_SPORT, RTA_DPORT = 27, 28, 29
IFF_UP, IFF_RUNNING, IFF_LOWER_UP = 0x1, 0x40, 0x10000
IFA_F_TENTATIVE = 0x40
TYPES = ["unspec", "unicast", "local", "broadcast", "anycast", "multicast",
         "blackhole", "unreachable", "prohibit", "throw"]

Query = collections.namedtuple("Query", "dst src mark tos proto dport")
# 'error' is 0 or a positive errno; 'gateway' and 'src' are None if absent.
Answer = collections.namedtuple("Answer", "error type dev gateway src table")


def family_of(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def describe(query):
    text = "ip route get " + query.dst
    if query.src:
        text += " from " + query.src
    return text + " mark %#x tos %#x ipproto %d dport %d" % (
        query.mark, query.tos, query.proto, query.dport)


def attribute(kind, payload):
    return (struct.pack("=HH", 4 + len(payload), kind) + payload
            + b"\0" * (-len(payload) % 4))


def attributes(data, offset):
    found = {}
    while offset + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, offset)
        if length < 4:
            break
        found[kind & 0x3fff] = data[offset + 4:offset + length]
        offset += (length + 3) & ~3
    return found


def address(data):
    return socket.inet_ntop(
        socket.AF_INET if len(data) == 4 else socket.AF_INET6, data)


class IpBatch:
    """An "ip -batch", started when needed, that goes on after errors."""

    MARK = "no-such-command"

    def __init__(self, ipv6):
        self.ipv6 = ipv6
        self.process = None
        self.lines = []
        self.errors = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
            self.process.stderr.close()
            self.process.wait()
            self.process = None

    def add(self, line):
        self.lines.append(line)

    def finish(self):
        """Waits until everything has been executed."""
        # To go on where ip ends over a device that is gone, each line needs a
        # mark; many lines are routes alike.
        n_lines = 1 if len(self.lines) <= 200 else len(self.lines)
        i = 0
        while i < len(self.lines):
            for j in range(i, len(self.lines), n_lines):
                self._write(self.lines[j:j + n_lines])
            while i < len(self.lines) and self._read_to_mark():
                i += n_lines
            if i < len(self.lines):
                i += n_lines
                self.__exit__()
        self.lines = []

    def _write(self, lines):
        """A last command that does not exist makes a complaint on stderr,
        which is not buffered."""
        if not self.process:
            self.process = subprocess.Popen(
                ["ip"] + ["-6"] * self.ipv6 + ["-force", "-batch", "-"],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE)
        try:
            self.process.stdin.write("\n".join(lines + [self.MARK, ""])
                                     .encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def _read_to_mark(self):
        marked = False
        while True:
            line = self.process.stderr.readline().decode()
            if not line:
                return False
            if self.MARK in line:
                marked = True
            elif marked and line.startswith("Command failed"):
                return True
            else:
                self.errors += line


class Kernel:
    """A fresh network namespace, which this process enters.

    It has no name: it is gone with the last process in it, however that
    ends."""

    def __init__(self):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "unshare")
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.sock.bind((0, 0))
        self.names = {}

    def close(self):
        self.sock.close()

    # Changes.

    def run(self, commands, strict=False):
        """Executes 'commands', each a line as for a shell: "ip ...",
        "ip -6 ...", "sysctl KEY=VALUE", "settle", or "dscp-rule FAMILY
        PRIORITY TABLE DSCP MASK", for which ip(8) of Debian 12 has no words.
        Those that the kernel refuses are skipped, unless 'strict'."""
        commands = [c for c in commands if c]
        with IpBatch(False) as ipv4, IpBatch(True) as ipv6:
            for command in commands:
                error = None
                if command.startswith("ip -6 "):
                    ipv4.finish()
                    ipv6.add(command[6:])
                elif command.startswith("ip "):
                    ipv6.finish()
                    ipv4.add(command[3:])
                else:
                    ipv4.finish()
                    ipv6.finish()
                    error = self._other(command.split())
                if error and strict:
                    raise RuntimeError("%s: %s" % (command, error))
            for batch in (ipv4, ipv6):
                batch.finish()
                if batch.errors and strict:
                    raise RuntimeError(batch.errors)

    def _other(self, words):
        try:
            if words[0] == "sysctl":
                key, value = words[1].split("=")
                with open("/proc/sys/" + key.replace(".", "/"), "w") as f:
                    f.write(value)
            elif words[0] == "settle":
                self.settle()
            else:
                self._dscp_rule(*[int(w, 0) for w in words[1:]])
        except OSError as e:
            return e
        return None

    def _dscp_rule(self, family, priority, table, dscp, mask):
        u32 = struct.Struct("=I").pack
        message = struct.pack(
            "=BBBBBBBBI", socket.AF_INET6 if family == 6 else socket.AF_INET,
            0, 0, 0, 0, 0, 0, 1, 0)
        message += attribute(6, u32(priority)) + attribute(15, u32(table))
        message += attribute(25, bytes([dscp]))
        if mask:
            message += attribute(30, bytes([mask]))
        self._send(RTM_NEWRULE, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE
                   | NLM_F_EXCL, message)
        error = -struct.unpack_from("=i", self.sock.recv(65536), 16)[0]
        if error:
            raise OSError(error, os.strerror(error))

    # State.

    def _send(self, kind, flags, body):
        self.sock.send(struct.pack("=IHHII", 16 + len(body), kind, flags, 1,
                                   0) + body)

    def _dump(self, kind, body):
        self._send(kind, NLM_F_REQUEST | NLM_F_DUMP, body)
        while True:
            data = self.sock.recv(1 << 20)
            offset = 0
            while offset < len(data):
                length, found = struct.unpack_from("=IH", data, offset)
                if found == NLMSG_DONE:
                    return
                if found == NLMSG_ERROR:
                    raise OSError("netlink dump")
                yield data[offset:offset + length]
                offset += (length + 3) & ~3

    def links(self):
        """Names and flags by index."""
        found = {}
        for data in self._dump(RTM_GETLINK, struct.pack("=BxHiII", 0, 0, 0, 0,
                                                        0)):
            index, flags = struct.unpack_from("=iI", data, 20)
            name = attributes(data, 32)[3].rstrip(b"\0").decode()
            found[index] = (name, flags)
        self.names = {i: name for i, (name, _) in found.items()}
        return found

    def addresses(self):
        """All addresses of all devices."""
        return [a for a, _, _ in self._addresses()]

    def _addresses(self):
        """(address, device index, tentative)."""
        found = []
        for data in self._dump(RTM_GETADDR, struct.pack("=BBBBi", 0, 0, 0, 0,
                                                        0)):
            attrs = attributes(data, 24)
            flags = (struct.unpack("=I", attrs[8])[0] if 8 in attrs
                     else data[18])
            found.append((address(attrs.get(2, attrs.get(1))),
                          struct.unpack_from("=I", data, 20)[0],
                          bool(flags & IFA_F_TENTATIVE)))
        return found

    def _routes(self, family):
        for data in self._dump(RTM_GETROUTE, struct.pack("=B11x", family)):
            yield data, attributes(data, 28)

    def in_local_prefix(self, text):
        """Whether table local has a local prefix that contains 'text'."""
        family = family_of(text)
        target = ipaddress.ip_address(text)
        found = False
        for data, attrs in self._routes(family):    # All, to empty the socket.
            if TYPES[data[23]] == "local" and data[20] == 255:
                net = attrs.get(RTA_DST, bytes(len(target.packed)))
                found |= target in ipaddress.ip_network((net, data[17]))
        return found

    def table_sizes(self):
        """Number of routes by (4 or 6, table)."""
        found = {}
        for name, family in ((4, socket.AF_INET), (6, socket.AF_INET6)):
            for _, attrs in self._routes(family):
                key = name, struct.unpack("=I", attrs[RTA_TABLE])[0]
                found[key] = found.get(key, 0) + 1
        return found

    def settle(self, seconds=10):
        """Waits until the kernel has told everyone what it knows about links
        (linkwatch works behind the change) and IPv6 addresses (which are
        announced, and get their routes, behind the change as well)."""
        end = time.monotonic() + seconds
        soft_end = time.monotonic() + 0.2
        while True:
            links = self.links()
            addresses = self._addresses()
            busy = [name for name, flags in links.values()
                    if flags & IFF_UP and bool(flags & IFF_RUNNING)
                    != bool(flags & IFF_LOWER_UP)]
            busy += [a for a, index, tentative in addresses
                     if tentative and links[index][1] & IFF_RUNNING]
            if not busy and time.monotonic() < soft_end:
                # Some addresses never get a route, such as on a device
                # without IPv6.
                routed = {attrs.get(RTA_DST)
                          + attrs.get(RTA_OIF, b"")
                          for data, attrs in self._routes(socket.AF_INET6)
                          if data[23] == 2 and RTA_DST in attrs}
                busy = [a for a, index, _ in addresses if ":" in a
                        and socket.inet_pton(socket.AF_INET6, a)
                        + struct.pack("=I", index) not in routed]
            if not busy:
                return
            if time.monotonic() > end:
                raise RuntimeError("the kernel does not settle: %s" % busy)
            time.sleep(0.002)

    def get(self, query, sport=0):
        """What "ip route get" answers."""
        family = family_of(query.dst)
        bits = 32 if family == socket.AF_INET else 128
        body = struct.pack("=BBBBBBBBI", family, bits,
                           bits if query.src else 0, query.tos, 0, 0, 0, 0,
                           RTM_F_LOOKUP_TABLE)
        body += attribute(RTA_DST, socket.inet_pton(family, query.dst))
        if query.src:
            body += attribute(RTA_SRC, socket.inet_pton(family, query.src))
        if query.mark:
            body += attribute(RTA_MARK, struct.pack("=I", query.mark))
        if query.proto:
            body += attribute(RTA_IP_PROTO, bytes([query.proto]))
        if sport:
            body += attribute(RTA_SPORT, struct.pack("!H", sport))
        if query.dport:
            body += attribute(RTA_DPORT, struct.pack("!H", query.dport))
        self._send(RTM_GETROUTE, NLM_F_REQUEST, body)
        data = self.sock.recv(65536)
        if struct.unpack_from("=H", data, 4)[0] == NLMSG_ERROR:
            return Answer(-struct.unpack_from("=i", data, 16)[0], None, None,
                          None, None, None)
        attrs = attributes(data, 28)
        gateway = None
        if RTA_GATEWAY in attrs:
            gateway = address(attrs[RTA_GATEWAY])
        elif RTA_VIA in attrs:
            gateway = address(attrs[RTA_VIA][2:])
        index = struct.unpack("=I", attrs[RTA_OIF])[0]
        return Answer(0, TYPES[data[23]], self.names.get(index, str(index)),
                      gateway,
                      address(attrs[RTA_PREFSRC]) if RTA_PREFSRC in attrs
                      else None,
                      struct.unpack("=I", attrs[RTA_TABLE])[0])

    def show(self, family):
        """The routing state for people, of one family."""
        text = ""
        for what in ("rule", "nexthop", "route show table all", "addr"):
            text += "# ip -%d %s\n" % (family, what)
            text += subprocess.run(["ip", "-%d" % family] + what.split(),
                                   capture_output=True, text=True).stdout
        return text


def missing():
    """Why this machine cannot be asked, or None."""
    if os.geteuid():
        return "needs root"
    try:
        subprocess.run(["ip", "-V"], capture_output=True)
    except FileNotFoundError:
        return "needs ip(8) of iproute2"
    pid = os.fork()
    if not pid:
        status = 1
        try:
            kernel = Kernel()
            kernel.run(["ip link add v0 type veth peer name v1",
                        "ip tuntap add dev t0 mode tap",
                        "ip link add br0 type bridge"], strict=True)
            status = 0
        except (OSError, RuntimeError):
            pass
        os._exit(status)
    if os.waitpid(pid, 0)[1]:
        return "network namespaces with veth, tap and bridge devices do not " \
            "work here"
    return None
