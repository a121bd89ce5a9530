# SPDX-License-Identifier: Apache-2.0
"""What may become of a packet: a configuration of named parts, with the times
when each value of a part was valid, and what a packet gives for each of the
values that were valid while it was on its way."""
import collections
import contextlib
import ipaddress
import itertools
import struct
import threading
import time

import packets

# How long after a change the old value may still be seen, in seconds.
BOUND = 2.0
# ovs-vswitchd looks at the links of DPDK's ports every 5 s, and may be slow.
LINK_BOUND = 9
# How long a packet that is lost can have been on its way.
LATE = 1.0
FOREVER = float('inf')

# A flow of OpenFlow's, for what a VF sends or what comes by a tunnel.  'nic':
# by that NIC's tunnel, 0: none; 'ports': to these VFs.  MAC: the new
# destination of the inner frame, or None; TTL: whether it is decremented.
Flow = collections.namedtuple('Flow', 'nic vni option ports mac ttl')
Span = collections.namedtuple('Span', 'since until value')


class History:
    """Parts, each with its values and when they were valid."""

    def __init__(self):
        self.lock = threading.Lock()
        self.spans = {}
        self.slack = 0.0

    def begin(self, part, value):
        """A part that always had VALUE."""
        self.spans[part] = [Span(-FOREVER, FOREVER, value)]

    def now(self, part):
        """Its last value."""
        return self.spans[part][-1].value

    @contextlib.contextmanager
    def change(self, values, bound=BOUND):
        """The parts have these VALUES from the beginning on, and can have
        those before until BOUND seconds after the end."""
        now = time.monotonic()
        with self.lock:
            for part, value in values.items():
                # Long ago is no longer asked for.
                self.spans[part] = [span for span in self.spans[part]
                                    if span.until > now - 60]
                self.spans[part].append(Span(now, FOREVER, value))
        try:
            yield
        finally:
            until = time.monotonic() + bound + self.slack
            with self.lock:
                for part in values:
                    spans = self.spans[part]
                    spans[-2] = spans[-2]._replace(until=until)

    def be_slow(self, slack):
        """From now on all takes SLACK seconds longer."""
        self.slack = slack
        self.stall(slack)

    def stall(self, seconds):
        """All that is under way takes SECONDS longer."""
        now = time.monotonic()
        with self.lock:
            for spans in self.spans.values():
                spans[:] = [span._replace(until=span.until + seconds)
                            if now < span.until < FOREVER else span
                            for span in spans]

    def valid(self, part, begin, end):
        """The values of PART that were valid at some time in between."""
        with self.lock:
            return {span.value for span in self.spans[part]
                    if span.since <= end and begin <= span.until}


class Lane:
    """Packets of one kind, which go into port SOURCE: FRAME is the inner frame
    with room for what they carry, or a tunnel packet with it inside.  The
    first of PARTS that has a flow says what becomes of them; NIC is that of
    the tunnel that they come by, or 0."""
    CARRIED = b'NUMBERED'
    FORMAT = '!HIHHI'

    def __init__(self, number, source, inner, frame, parts, nic=0):
        self.number, self.source, self.parts = number, source, parts
        self.nic = nic
        self.inner = len(frame) - len(inner)
        self.place = frame.index(self.CARRIED) + len(self.CARRIED)
        self.template = bytearray(frame)

    @classmethod
    def payload(cls):
        """Room for what a packet carries."""
        return cls.CARRIED + bytes(struct.calcsize(cls.FORMAT))

    def frame(self, number, sender, receiver, vni):
        """The packet with this sequence number."""
        struct.pack_into(self.FORMAT, self.template, self.place, self.number,
                         number, sender, receiver, vni)
        return bytes(self.template)

    @classmethod
    def read(cls, frame):
        """(lane's number, sequence number) of a packet that came out, or None
        if it is none of ours."""
        place = frame.find(cls.CARRIED)
        if place < 0:
            return None
        return struct.unpack_from('!HI', frame, place + len(cls.CARRIED))


def changed(inner, flow):
    """The frame INNER after the header changes of FLOW."""
    if not flow.mac and not flow.ttl:
        return inner
    inner = bytearray(inner)
    if flow.mac:
        inner[0:6] = bytes.fromhex(flow.mac.replace(':', ''))
    if flow.ttl and inner[12:14] == b'\x08\x00':
        inner[22] -= 1
        inner[24:26] = b'\0\0'
        struct.pack_into('!H', inner, 24, packets.checksum(inner[14:34]))
    elif flow.ttl:
        inner[21] -= 1
    return bytes(inner)


class Oracle:
    """Knows, for a HOST, what may come of each packet of a lane.  The parts of
    the history are the lanes' flows, and
      ('port', NAME)     whether a VF's port is there and takes packets
      ('nic', N)         whether NIC N's bridge, port, address are there
      ('link', N)        whether its wire is
      ('tunnel', N)      whether tunnel port N is there
      ('mac', N)         the MAC of its gateway
      ('daemon',)        whether ovs-vswitchd runs"""

    def __init__(self, host, history):
        self.host, self.history = host, history
        self.certain = 0        # Packets of which one thing could come.
        self.peers = {n: b''.join(
            ipaddress.ip_address(address).packed for address in (
                host.endpoint(n), host.peer(n))) for n in host.nics}

    def show(self, port, frame):
        """What came out of PORT, in a form to compare."""
        tunnel = packets.Tunnel(frame) if port in self.host.uplinks else None
        if not tunnel or not tunnel.found:
            return (port, frame)
        addresses = (frame[26:34] if tunnel.four else frame[22:54])
        if tunnel.problem:
            return (port, tunnel.problem, frame)
        return (port, frame[:12], addresses, tunnel.vni,
                frame[tunnel.udp + 16:tunnel.payload], tunnel.inner)

    def sent(self, flow, n, mac, inner):
        """The same of what is sent to tunnel N."""
        hexes = mac + self.host.mac(n)
        option = b'' if flow.option is None else packets.option(flow.option)
        return ('nic%d' % n, bytes.fromhex(hexes.replace(':', '')),
                self.peers[n], flow.vni, option, inner)

    def ways(self, lane, flow):
        """The parts that decide, besides the lane's flows, and the names of
        what they are about."""
        parts = [('daemon',)]
        if lane.nic:
            parts += [('nic', lane.nic), ('link', lane.nic),
                      ('tunnel', lane.nic)]
        else:
            parts.append(('port', lane.source))
        if flow and flow.nic:
            parts += [('nic', flow.nic), ('link', flow.nic),
                      ('tunnel', flow.nic), ('mac', flow.nic)]
        if flow:
            parts += [('port', port) for port in flow.ports]
        return list(dict.fromkeys(parts))

    def outcome(self, lane, flow, state, inner):
        """What comes out, a sorted tuple, if the parts have this STATE."""
        if flow is None or not state[('daemon',)] or not (
                all(state[part, lane.nic] for part in
                    ('nic', 'link', 'tunnel')) if lane.nic
                else state['port', lane.source]):
            return ()
        inner = changed(inner, flow)
        out = [(port, inner) for port in flow.ports if state['port', port]]
        n = flow.nic
        if n and all(state[part, n] for part in ('nic', 'link', 'tunnel')):
            out.append(self.sent(flow, n, state['mac', n], inner))
        return tuple(sorted(out, key=str))

    def flows(self, lane, begin, end):
        """The flows that can have decided."""
        found = set()
        for values in itertools.product(*(
                self.history.valid(part, begin, end) for part in lane.parts)):
            found.add(next((flow for flow in values if flow), None))
        return found

    def outcomes(self, lane, frame, begin, end):
        """All that may come of the packet, {outcome}."""
        inner = frame[lane.inner:]
        found = set()
        for flow in self.flows(lane, begin, end):
            parts = self.ways(lane, flow)
            for values in itertools.product(*(
                    self.history.valid(part, begin, end) for part in parts)):
                found.add(self.outcome(lane, flow, dict(zip(parts, values)),
                                       inner))
        return found

    def check(self, lane, frame, sent, arrivals):
        """None, or what is wrong with it that of FRAME, sent at time SENT,
        came ARRIVALS, [(time, port, frame)]."""
        end = max([sent + LATE] + [arrival[0] for arrival in arrivals])
        seen = tuple(sorted((self.show(port, got)
                             for _, port, got in arrivals), key=str))
        allowed = self.outcomes(lane, frame, sent, end)
        self.certain += len(allowed) == 1
        if seen in allowed:
            return None
        return 'of %s came\n%s\nallowed\n%s' % (
            frame.hex(), words(seen), '\n or\n'.join(map(words, allowed)))

    def expected(self, lane):
        """The flow of LANE now, and how many packets come out of each."""
        flow = next(filter(None, map(self.history.now, lane.parts)), None)
        parts = self.ways(lane, flow)
        state = {part: self.history.now(part) for part in parts}
        inner = bytes(lane.template[lane.inner:])
        return flow, len(self.outcome(lane, flow, state, inner))


def words(outcome):
    """An outcome for people."""
    return '\n'.join('    ' + ' '.join(
        part.hex() if isinstance(part, bytes) else str(part)
        for part in entry) for entry in outcome) or '    nothing'
