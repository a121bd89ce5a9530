# SPDX-License-Identifier: Apache-2.0
"""The product's side, "ovstest test-route-mirror", and the comparison."""

import collections
import ctypes
import os
import select
import signal
import subprocess

PR_SET_PDEATHSIG = 1

# 'error' is 0 or a positive errno, which 'verdict' names; 'gateway' and 'src'
# are None if absent.
Answer = collections.namedtuple("Answer",
                                "error verdict type dev gateway src table")


class Mirror:
    """A running test-route-mirror in the current namespace."""

    def __init__(self, ovstest, seconds=60):
        self.seconds = seconds
        # At the end of its input it ends by itself, but not while it is
        # stopped and this process is killed.
        prctl = ctypes.CDLL(None).prctl
        self.process = subprocess.Popen(
            [ovstest, "test-route-mirror"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, bufsize=0,
            preexec_fn=lambda: prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
        self.pid = self.process.pid
        self.buffer = b""

    def close(self):
        if self.process.poll() is None:
            os.kill(self.pid, signal.SIGCONT)
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def send(self, line):
        self.process.stdin.write(line.encode() + b"\n")

    def receive(self):
        while b"\n" not in self.buffer:
            if not select.select([self.process.stdout], [], [],
                                 self.seconds)[0]:
                raise RuntimeError("test-route-mirror does not answer")
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                raise RuntimeError("test-route-mirror ended with status %d"
                                   % self.process.wait())
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode()

    def ask(self, line):
        self.send(line)
        answer = self.receive()
        if not answer.startswith(("ok", "refused")):
            raise RuntimeError("%s: %s" % (line, answer))
        return answer

    def sync(self):
        self.ask("sync")

    def number(self, line):
        """The answer to "dumps" or "routes TABLE"."""
        return int(self.ask(line).split()[1])

    def tables(self):
        """Routes held, by (family, table)."""
        found = {}
        for word in self.ask("tables").split()[1:]:
            key, n = word.split("=")
            family, table = key.split(":")
            found[int(family), int(table)] = int(n)
        return found

    def list(self, table):
        """The routes of 'table', for people."""
        self.send("list %d" % table)
        text = ""
        while True:
            line = self.receive()
            if line == ".":
                return text
            text += line + "\n"

    def get(self, query):
        """All answers that some flow gets; several if there are several next
        hops."""
        answers = []
        for word in self.ask("get %s %s %d %d %d %d" % (
                query.dst, query.src or "-", query.mark, query.tos,
                query.proto, query.dport)).split()[1:]:
            kind, *rest = word.split("/")
            if kind == "refused":
                answers.append(Answer(int(rest[0]), rest[1], *[None] * 5))
                continue
            dev, via, src, table = rest
            answers.append(Answer(0, None, kind, dev,
                                  None if via == "-" else via,
                                  None if src == "-" else src, int(table)))
        return answers


def same_source(kernel, query, theirs, ours):
    """'theirs' and 'ours' are answers with the same next hop."""
    if query.src or theirs.src == ours.src:
        return True
    # Limit: an IPv6 route keeps its preferred source, for the kernel, when the
    # address goes with its link (not so when it is deleted).  Ours, which
    # does not send from an address that it does not have, chooses another.
    local = kernel.addresses()
    return ":" in query.dst and theirs.src not in local and ours.src in local


def mismatch(kernel, query, theirs, ours):
    """None if the answers are the same, else in what they differ."""
    if ours.verdict == "no-source" and not theirs.error and not query.src \
            and not theirs.src:
        # Without an address to send from, the kernel has a route all the
        # same and would send from 0.0.0.0 or ::, as a host does that asks for
        # its address.  The product refuses the packet.
        return None
    if theirs.error != ours.error:
        return "errno"
    if theirs.error:
        return None
    if theirs.type != ours.type:
        return "type"
    if theirs.type == "unicast":
        if (theirs.dev, theirs.gateway) != (ours.dev, ours.gateway):
            return "device or gateway"
        if theirs.table != ours.table:
            return "table"
    return None if same_source(kernel, query, theirs, ours) else "source"


def difference(kernel, mirror, query, r):
    """Asks both; None if they agree, else one line that says in what they do
    not.  'r' chooses source ports, which the kernel's hash takes in."""
    ours = mirror.get(query)
    if query.src and ":" in query.src \
            and query.src not in kernel.addresses():
        # "ip route get" does not mind, the product must, unless some prefix
        # is local as a whole.
        if [o.verdict for o in ours] != ["not-local"] \
                and not kernel.in_local_prefix(query.src):
            return "foreign source: ours %s" % [tuple(o) for o in ours]
        return None

    unseen = set(ours)
    for i in range(4000):
        theirs = kernel.get(query, sport=r.randrange(1, 1000) if i else 0)
        found = [mismatch(kernel, query, theirs, o) for o in ours]
        if None not in found:
            return "%s: kernel %s, ours %s" % (found[0], tuple(theirs),
                                               [tuple(o) for o in ours])
        unseen -= {o for o, what in zip(ours, found) if not what}
        # A few times, for what only the kernel may choose among.
        if not unseen and (i >= 2 or theirs.type != "unicast"):
            return None
    return "next hops: kernel never %s" % [tuple(o) for o in unseen]


def other_size(kernel, mirror):
    """None if each table that the mirror holds has as many routes as the
    kernel's, else one line that names it.  Finds changes that the kernel
    makes without a message where no query happens to look."""
    theirs = kernel.table_sizes()
    for key, n in sorted(mirror.tables().items()):
        if n != theirs.get(key, 0):
            return "IPv%d table %d: kernel has %d routes, ours %d" % (
                key + (theirs.get(key, 0), n))
    return None
