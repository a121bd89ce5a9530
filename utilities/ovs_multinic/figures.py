# SPDX-License-Identifier: Apache-2.0
"""The figures that "top", "report" and "prometheus" show.

Pure: what collector.py has read goes in as a Sample, rows come out.
"""
import dataclasses
import re

COUNTERS = ('tx-packets', 'tx-bytes', 'rx-packets', 'rx-bytes')
LOSSES = ('tx-dropped', 'rx-dropped', 'tx-errors', 'rx-errors')

# The coverage counters that concern tunnels.
COVERAGE = re.compile(r'(tunnel_(egress|ingress)|neighbor|encap'
                      r'|datapath_drop_tunnel)_')
# Those of them that mean that something was not sent or not taken.
DROP = re.compile(r'tunnel_egress_|datapath_drop_|.*_(drop|refused)')
# Those of drops that grow when a flow is set up or revalidated.
TRANSLATION = re.compile(r'tunnel_egress_')


@dataclasses.dataclass
class Sample:
    """What the daemons said at one time.  What could not be read is empty,
    and a line in 'error' or 'database_error' says why."""
    at: float                   # Seconds of a clock that never steps.
    error: str = None           # About ovs-vswitchd.
    database_error: str = None  # About ovsdb-server.
    run: str = None             # Another one after ovs-vswitchd restarted.
    host: str = ''
    period: float = 5.0         # Seconds between updates of 'nics'.
    show: dict = None           # encap/show.
    problems: list = None       # encap/check.
    # Each coverage counter that is not 0: its total.
    coverage: dict = dataclasses.field(default_factory=dict)
    # The neighbors known: dicts with ip, bridge, mac, stale.
    neighbors: list = dataclasses.field(default_factory=list)
    # By name: dicts with link ("up", "down", None), counters, and at, when
    # the counters took these values.
    nics: dict = dataclasses.field(default_factory=dict)
    # Those of way.py.
    tunnels: list = dataclasses.field(default_factory=list)
    ways: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Endpoint:
    """A row.  Counters are sums over the flows of this moment, so they fall
    when flows end."""
    ip: str
    default: bool
    state: str                  # "up", "down", "unknown".
    reason: str
    device: str
    bridge: str
    mtu: int
    eswitch: str
    numa: int
    origins: list
    tunnels: int
    flows: int
    offloaded: int
    totals: dict
    rates: dict                 # A second; without what is not known.
    reached: int = 0            # Of 'remotes'.
    remotes: int = 0            # Those that were traced.

    @property
    def share(self):
        """The part of the flows that is in hardware, or None."""
        return self.offloaded / self.flows if self.flows else None


@dataclasses.dataclass
class Nic:
    """A row.  Counters only grow while ovs-vswitchd runs."""
    name: str
    bridge: str
    endpoints: list             # Addresses of those on its bridge.
    state: str                  # "up", "down", "unknown".
    eswitch: str
    numa: int
    totals: dict
    rates: dict


@dataclasses.dataclass
class Event:
    """A row.  A coverage counter."""
    name: str
    drop: bool
    total: int
    rate: float                 # Or None.

    @property
    def unit(self):
        """What a drop counts."""
        return ('translations' if TRANSLATION.match(self.name)
                else 'packets')


@dataclasses.dataclass
class Neighbor:
    """A row."""
    ip: str
    bridge: str
    mac: str                    # None: it is needed and not known.
    stale: bool


def uplinks(show):
    """What SHOW, an answer of encap/show, says about each uplink, with its
    bridge, by name: those of endpoints in their order, then the others.  One
    of an older ovs-vswitchd has no others."""
    result = {}
    for row in show.get('endpoints', []):
        for uplink in row['uplinks']:
            result.setdefault(uplink['name'],
                              {**uplink, 'bridge': row['bridge']})
    for uplink in show.get('uplinks', []):
        result.setdefault(uplink['name'], uplink)
    return result


def parse_coverage(text):
    """The counters that COVERAGE matches, of "coverage/show"."""
    found = re.findall(r'^(\S+) .*\btotal: (\d+)$', text, re.MULTILINE)
    return {name: int(total) for name, total in found
            if COVERAGE.match(name)}


def parse_neighbors(text):
    """The entries of "tnl/neigh/show"."""
    entry = re.compile(r'^([0-9a-fA-F.:]+) +((?:[0-9a-f]{2}:){5}[0-9a-f]{2}) +'
                       r'(.*?)( STALE)?$', re.MULTILINE)
    return [{'ip': ip, 'mac': mac, 'bridge': bridge, 'stale': bool(stale)}
            for ip, mac, bridge, stale in entry.findall(text)]


def rates(old, new, seconds):
    """By how much the counters of 'new' that are in 'old', too, grew in a
    second: a dict, empty if one of them fell, because then all of them may
    have started again."""
    if seconds <= 0:
        return {}
    grown = {name: new[name] - old[name] for name in new if name in old}
    if any(growth < 0 for growth in grown.values()):
        return {}
    return {name: growth / seconds for name, growth in grown.items()}


class Meter:
    """Rates of counters that are read again and again."""

    def __init__(self):
        self.at = None
        self.values = {}
        self.rates = {}

    def feed(self, at, values):
        """Takes VALUES, read at AT."""
        self.rates = (rates(self.values, values, at - self.at)
                      if self.at is not None else {})
        self.at, self.values = at, values


class SlowMeter:
    """Rates of counters that ovs-vswitchd writes down once in a period if
    they changed.  A change so is the growth of one period, however long ago
    the change before was.

    If RESTARTED, what is there at first may be left over from an earlier
    run, and the first change is no growth."""

    def __init__(self, restarted=False):
        self.doubtful = restarted
        self.since = None       # The values are these at least since then.
        self.seen = False       # At that time they changed.
        self.values = None
        self.rates = {}

    def feed(self, now, at, values, period):
        """Takes VALUES, read NOW, that changed to this AT, or None: at some
        time."""
        if self.values is None or at is None and values != self.values:
            self.since, self.seen, self.rates = now, False, {}
        elif values != self.values:
            elapsed = at - self.since
            if not self.seen or elapsed > 1.5 * period:
                elapsed = period
            self.rates = ({} if self.doubtful
                          else rates(self.values, values, elapsed))
            self.since, self.seen, self.doubtful = at, True, False
        elif now - self.since > 1.5 * period:
            self.rates = {name: 0.0 for name in values}
            self.doubtful = False
        self.values = values


class Figures:
    """All rows, after one or more samples."""

    def __init__(self):
        self.sample = None
        self.show = {}          # Of the last sample that had one.
        self._forget(restarted=False)

    def _forget(self, restarted=True):
        self._endpoints, self._nics, self._events = {}, {}, Meter()
        self._restarted = restarted

    @property
    def alive(self):
        """True if ovs-vswitchd answered last time."""
        return self.sample is not None and not self.sample.error

    def add(self, sample):
        """Takes the next sample."""
        if sample.error or self.sample and sample.run != self.sample.run:
            self._forget()
        self.sample = sample
        if sample.error:
            return
        self.show = sample.show
        rows = {row['ip']: row for row in self.show['endpoints']}
        for ip, row in rows.items():
            for way in 'tx', 'rx':
                meter = self._endpoints.setdefault((ip, way), Meter())
                meter.feed(sample.at, {name: row[name] for name in COUNTERS
                                       if name.startswith(way)})
        for key in [key for key in self._endpoints if key[0] not in rows]:
            del self._endpoints[key]
        for name, nic in sample.nics.items():
            meter = self._nics.setdefault(name,
                                          SlowMeter(self._restarted))
            meter.feed(sample.at, nic['at'], nic['counters'], sample.period)
        for name in [name for name in self._nics if name not in sample.nics]:
            del self._nics[name]
        # What was not there before was 0 then.
        self._events.values.update(
            {name: 0 for name in sample.coverage
             if name not in self._events.values})
        self._events.feed(sample.at, sample.coverage)

    @property
    def settled(self):
        """True if another sample makes no more rates known."""
        return not self.alive or (
            all(meter.rates for meter in self._endpoints.values())
            and all(meter.rates or not meter.values
                    for meter in self._nics.values()))

    def endpoints(self):
        """The endpoints, in the order of encap/show."""
        counts = {}
        for way in self.sample.ways if self.alive else []:
            reached, remotes = counts.get(way.local, (0, 0))
            counts[way.local] = reached + (way.state == 'ok'), remotes + 1
        result = []
        for row in self.show.get('endpoints', []):
            reached, remotes = counts.get(row['ip'], (0, 0))
            measured = {}
            for way in 'tx', 'rx':
                meter = self._endpoints.get((row['ip'], way))
                measured.update(meter.rates if meter else {})
            result.append(Endpoint(
                state=row['state'] if self.alive else 'unknown',
                reason=row['reason'] if self.alive else None,
                offloaded=row['offloaded-flows'], rates=measured,
                totals={name: row[name] for name in COUNTERS},
                reached=reached, remotes=remotes,
                **{name: row[name] for name in (
                    'ip', 'default', 'device', 'bridge', 'mtu', 'eswitch',
                    'numa', 'origins', 'tunnels', 'flows')}))
        return result

    def nics(self):
        """All uplinks, in the order of uplinks()."""
        result = []
        for name, uplink in uplinks(self.show).items():
            known = self.sample.nics.get(name) if self.alive else None
            meter = self._nics.get(name)
            up = uplink['up'] and (known or {}).get('link') != 'down'
            state = 'up' if up else 'down'
            result.append(Nic(
                name=name, bridge=uplink['bridge'],
                endpoints=[row['ip'] for row in self.show['endpoints']
                           if name in [own['name'] for own in
                                       row['uplinks']]],
                state=state if self.alive else 'unknown',
                eswitch=uplink['eswitch'], numa=uplink['numa'],
                totals=known['counters'] if known else {},
                rates=meter.rates if meter else {}))
        return result

    def events(self):
        """The coverage counters, drops first."""
        if not self.alive:
            return []
        events = [Event(name, bool(DROP.match(name)), total,
                        self._events.rates.get(name))
                  for name, total in self.sample.coverage.items()]
        return sorted(events, key=lambda event: (not event.drop, event.name))

    def neighbors(self):
        """Those that are known and those that tunnels need."""
        if not self.alive:
            return []
        result = {(row['bridge'], row['ip']): Neighbor(**row)
                  for row in self.sample.neighbors}
        for way in self.sample.ways:
            key = way.bridge, way.next_hop
            if all(key) and key not in result:
                result[key] = Neighbor(bridge=key[0], ip=key[1], mac=None,
                                       stale=False)
        return [result[key] for key in sorted(result)]

    def problems(self):
        """The number of problems by severity, or None if not known."""
        if not self.alive or self.sample.problems is None:
            return None
        counts = {'error': 0, 'warning': 0, 'info': 0}
        for problem in self.sample.problems:
            counts[problem['severity']] += 1
        return counts


STATES = ('down', 'unknown', 'up')
# What rows can be sorted by; None comes last whichever way.
SORTS = {
    'name': None,
    'state': lambda row: STATES.index(row.state),
    'tx': lambda row: row.rates.get('tx-bytes'),
    'rx': lambda row: row.rates.get('rx-bytes'),
    'tunnels': lambda row: getattr(row, 'tunnels', None),
    'offload': lambda row: getattr(row, 'share', None),
}
DESCENDING = ('tx', 'rx', 'tunnels', 'offload')


def sort(rows, key, backwards=False):
    """ROWS in the order of KEY, one of SORTS; the most of DESCENDING ones
    come first.  Equals keep their order."""
    value = SORTS[key]
    if value is None:
        return rows[::-1] if backwards else list(rows)
    known = [row for row in rows if value(row) is not None]
    rest = [row for row in rows if value(row) is None]
    return sorted(known, key=value,
                  reverse=(key in DESCENDING) != backwards) + rest
