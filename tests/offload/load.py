# SPDX-License-Identifier: Apache-2.0
"""Numbered packets without a pause, of which oracle.Oracle judges each."""
import collections
import threading
import time

import host
import oracle
import packets

# How long a packet is waited for, in seconds.
WAIT = 5


class Host(host.Host):
    """A host whose gateways change their MACs."""

    def __init__(self, *arguments, **keywords):
        self.macs = {}
        super().__init__(*arguments, **keywords)

    def gateway_mac(self, n):
        return self.macs.get(n) or host.Host.gateway_mac(n)

    def set_gateway_mac(self, n, mac):
        """It answers with that one from now on."""
        self.macs[n] = mac
        self.gateways = {**self.gateways, self.gateway(n): mac}


class Traffic(threading.Thread):
    """Sends packets of each of LANES in turn, RATE of each a second.  'faults'
    has what should not have happened."""

    def __init__(self, one, judge, lanes, rate):
        super().__init__(daemon=True)
        self.host, self.judge, self.lanes = one, judge, lanes
        self.interval = 1 / rate / len(lanes)
        self.wires = threading.Lock()       # While far ends are changed.
        self.flying = collections.OrderedDict()
        self.faults = []
        self.sent = self.arrived = 0
        self.nic = 0                        # Of lanes that NICs could do.
        self.ending = threading.Event()

    def run(self):
        try:
            due, number = time.monotonic(), 0
            while not self.ending.is_set():
                self.send(self.lanes[number % len(self.lanes)],
                          number // len(self.lanes))
                number += 1
                # What keeps this waiting keeps the daemon waiting, too.
                late = time.monotonic() - due
                if late > 0.5:
                    self.judge.history.stall(late)
                # Never hurry to catch up: nobody's queue should run over.
                due = max(due + self.interval, time.monotonic() - 0.05)
                while time.monotonic() < due:
                    time.sleep(max(0, min(0.01, due - time.monotonic())))
                if number % 4 == 0:
                    self.collect()
                    self.settle(time.monotonic() - WAIT)
        except Exception as error:  # pylint: disable=broad-except
            self.faults.append('traffic: %r' % error)
            raise

    def send(self, lane, number):
        """Sends one."""
        flow = next(filter(None, map(self.judge.history.now, lane.parts)),
                    None)
        receiver = (0xffff if not flow else self.host.ports.index(
            flow.ports[0] if flow.ports else 'nic%d' % flow.nic))
        frame = lane.frame(number, self.host.ports.index(lane.source),
                           receiver, flow.vni if flow and not lane.nic
                           else lane.nic and lane.parts[0][2])
        with self.wires:
            self.flying[lane.number, number] = [time.monotonic(), frame, []]
            try:
                self.host.far[lane.source].send(frame)
            except OSError:
                pass        # The device is gone.
        self.sent += 1

    def collect(self):
        """Takes what has arrived."""
        with self.wires:
            heard = self.host.hear()
        now = time.monotonic()
        for port, frames in heard.items():
            for frame in frames:
                key = oracle.Lane.read(frame)
                if is_kernels(frame):
                    continue
                self.arrived += 1
                if key in self.flying:
                    self.flying[key][2].append((now, port, frame))
                else:
                    self.faults.append('%s: unknown, or known long ago:\n%s'
                                       % (port, packets.show(frame)))

    def settle(self, until):
        """Judges what was sent before time UNTIL."""
        while self.flying:
            key, (sent, frame, arrivals) = next(iter(self.flying.items()))
            if sent > until:
                break
            del self.flying[key]
            lane = self.lanes[key[0]]
            problem = self.judge.check(lane, frame, sent, arrivals)
            if problem:
                self.faults.append(
                    'packet %d of lane %d, from %s, %s, sent at %.3f, '
                    'arrived at %s: %s' % (
                        key[1], key[0], lane.source, lane.parts, sent,
                        ['%.3f' % arrival[0] for arrival in arrivals],
                        problem))

    def finish(self):
        """Sends no more, waits for the rest, and judges all."""
        self.ending.set()
        self.join()
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            self.collect()
            time.sleep(0.02)
        self.settle(oracle.FOREVER)


def is_kernels(frame):
    """True for what the host's kernel sends when it gets a tunnel packet that
    ovs-vswitchd does not take."""
    return (frame[12:14] == b'\x08\x00' and frame[23] == 1
            or frame[12:14] == b'\x86\xdd' and frame[20] == 58)
