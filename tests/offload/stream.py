# SPDX-License-Identifier: Apache-2.0
"""Numbered packets, sent without a pause while something else happens."""
import collections
import struct
import threading
import time

import lab
import packets
import wire

MAGIC = b'NUMBERED'
Arrival = collections.namedtuple('Arrival', 'port number frame')


class Lane:
    """Packets of one kind: a TEMPLATE, an inner UDP frame (in a tunnel or
    not) with payload(), that go into port SOURCE."""

    def __init__(self, source, template):
        self.source = source
        self.place = template.index(MAGIC) + len(MAGIC)
        self.template = bytearray(template)

    def frame(self, lane, number):
        """The packet with this number."""
        struct.pack_into('!II', self.template, self.place, lane, number)
        return bytes(self.template)


def payload():
    """Room for the numbers.  UDP checksums have to be 0, because they would
    change with them."""
    return MAGIC + bytes(8)


def template(outgoing=True, **fields):
    """An inner frame for a lane."""
    return packets.inner('udp', payload(), outgoing=outgoing, chksum=0,
                         **fields)


class Stream(threading.Thread):
    """Sends a packet of each of LANES in turn into a host's ports, RATE
    packets of each a second, from start() to finish().  'arrivals' has, for
    each lane, what came out where, and 'sent' how many went in."""

    def __init__(self, host, lanes, rate=250):
        super().__init__(daemon=True)
        self.host, self.lanes, self.rate = host, lanes, rate
        self.sent = 0
        self.times = []             # When each number was sent.
        self.arrivals = [[] for _ in lanes]
        self.strangers = []         # (port, frame)
        self.ending = threading.Event()
        self.error = None

    def run(self):
        try:
            due = time.monotonic()
            while not self.ending.is_set():
                self.times.append(time.monotonic())
                for number, lane in enumerate(self.lanes):
                    self.host.far[lane.source].send(
                        lane.frame(number, self.sent))
                self.sent += 1
                self.collect()
                # Never hurry to catch up: nobody's queue should run over.
                due = max(due + 1 / self.rate, time.monotonic() - 0.05)
                while time.monotonic() < due:
                    wire.wait(self.host.far.values(), due - time.monotonic())
                    self.collect()
        except Exception as error:  # pylint: disable=broad-except
            self.error = error

    def collect(self):
        """Takes what has arrived."""
        for port, frames in self.host.hear().items():
            for frame in frames:
                place = frame.find(MAGIC)
                if place >= 0:
                    lane, number = struct.unpack_from(
                        '!II', frame, place + len(MAGIC))
                    self.note(lane, Arrival(port, number, frame))
                else:
                    self.strangers.append((port, frame))

    def note(self, lane, arrival):
        """Keeps an arrival."""
        self.arrivals[lane].append(arrival)

    def finish(self, seconds=3):
        """Stops, and waits a while for what is on its way."""
        self.ending.set()
        self.join(30)
        if self.error:
            raise self.error
        deadline = lab.Deadline(seconds)
        while (any(self.lost(lane) for lane in range(len(self.lanes)))
               and deadline.left()):
            wire.wait(self.host.far.values(), 0.1)
            self.collect()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.finish()

    def lost(self, lane=0, since=0):
        """The numbers from SINCE on that did not arrive."""
        return sorted(set(range(since, self.sent))
                      - {arrival.number for arrival in self.arrivals[lane]})

    def twice(self, lane=0):
        """The numbers that arrived more than once."""
        numbers = collections.Counter(
            arrival.number for arrival in self.arrivals[lane])
        return [number for number, times in numbers.items() if times > 1]

    def goes_on(self, lane=0, count=20):
        """Waits until COUNT more have arrived of those sent from now on, and
        returns the first number that was sent after that."""
        mark = self.sent
        deadline = lab.Deadline(10)
        while sum(arrival.number > mark
                  for arrival in self.arrivals[lane][-4 * count:]) < count:
            if not deadline.left():
                raise AssertionError('lane %d: nothing arrives any more'
                                     % lane)
            time.sleep(0.02)
        return self.sent
