# SPDX-License-Identifier: Apache-2.0
"""Reads what figures.py makes rows of, from both daemons, again and again.

Daemons come and go: a sample then says what could not be read.
"""
import time

from ovs_multinic import database, figures, way
from ovs_multinic.errors import Failure

COLUMNS = {
    'Open_vSwitch': ['external_ids', 'other_config'],
    'Bridge': ['datapath_type', 'ports'],
    'Port': ['external_ids', 'interfaces'],
    'Interface': ['link_state', 'name', 'options', 'statistics', 'type'],
}

# Datapath types of bridges whose packets ovs-vswitchd encapsulates itself.
USERSPACE = 'netdev', 'dummy'

# A sample waits for an answer so long, in seconds, and asks so many times for
# ways, during so many seconds; the others' turn comes with later samples.
PATIENCE_S = 3
MAX_TRACES = 64
TRACE_S = 0.5

# For "encap/show", ovs-vswitchd looks at all datapath flows, and its main
# thread does nothing else.  So many times as long it is left alone then.
REST = 9

# How old the list of remotes of ports with remote_ip=flow may be.
FLOWS_S = 30

INT_MAX = 0x7fffffff            # Of C.

STATISTICS = {name.replace('-', '_'): name
              for name in figures.COUNTERS + figures.LOSSES}


class Collector:
    """Connections to the daemons.  With WHOLE, a sample has all ways, however
    long that takes."""

    def __init__(self, remote, target, whole=False):
        self._remote, self._target, self._whole = remote, target, whole
        self._database = self._daemon = None
        self._run = 0
        self._show_s = 0        # What the last "encap/show" took.
        self._stamps = {}       # NIC: counters and since when, or None.
        self._ways = {}         # Pair: Way; those traced last are last.
        self._seen, self._seen_at = set(), None

    def close(self):
        """Ends the connections."""
        self._drop_daemon()
        if self._database:
            self._database.close()
            self._database = None

    def sample(self):
        """Returns a figures.Sample."""
        sample = figures.Sample(at=time.monotonic())
        try:
            self._ask_daemon(sample)
        except Failure as failure:
            sample.error = str(failure)
            self._drop_daemon()
        try:
            self._ask_database(sample)
        except Failure as failure:
            sample.database_error = str(failure)
        if not sample.error:
            try:
                self._ask_ways(sample)
            except Failure as failure:
                sample.error = str(failure)
                self._drop_daemon()
        return sample

    def wait(self, seconds):
        """Lets SECONDS pass, or more where ovs-vswitchd answers slowly, and
        takes in what the database says then.  0: only the latter."""
        if seconds:
            seconds = max(seconds, REST * self._show_s)
        end = time.monotonic() + seconds
        if self._database:
            self._database.wait_for(self._stamp, None, seconds)
        time.sleep(max(0, end - time.monotonic()))

    # ovs-vswitchd.

    def _drop_daemon(self):
        if self._daemon:
            self._daemon.close()
        self._daemon = None
        self._ways = {}
        self._seen_at = None

    def _ask(self, command, default, json=False):
        """What COMMAND says, or DEFAULT if that is an error."""
        try:
            return (self._daemon.json if json
                    else self._daemon.command)(command)
        except database.Unreachable:
            raise
        except Failure:
            return default

    def _ask_daemon(self, sample):
        if not self._daemon:
            self._daemon = database.Vswitchd(self._target, PATIENCE_S)
            self._run += 1
        sample.run = str(self._run)
        start = time.monotonic()
        sample.show = self._daemon.json('encap/show')
        self._show_s = time.monotonic() - start
        sample.problems = self._ask('encap/check', None, json=True)
        sample.coverage = figures.parse_coverage(
            self._daemon.command('coverage/show'))
        sample.neighbors = figures.parse_neighbors(
            self._daemon.command('tnl/neigh/show'))

    def _ask_ways(self, sample):
        tunnels = sample.tunnels
        if any(tunnel.remote == 'flow' for tunnel in tunnels):
            if (self._seen_at is None
                    or sample.at - self._seen_at >= FLOWS_S):
                self._seen = way.parse_flows(
                    self._ask('dpctl/dump-flows', ''))
                self._seen_at = sample.at
        bridges = {row['ip']: row['bridge']
                   for row in sample.show['endpoints']}
        pairs = way.pairs(tunnels, list(bridges), self._seen, [
            row['ip'] for row in sample.show['endpoints']
            if row['state'] != 'up'])

        # Those without an answer come first, then the oldest answers.
        wanted = set(pairs)
        turn = (way.take_turns(pair for pair in pairs
                               if pair not in self._ways)
                + [pair for pair in self._ways if pair in wanted])
        if not self._whole:
            turn = turn[:MAX_TRACES]
        end = time.monotonic() + TRACE_S
        for pair in turn:
            try:
                trace = self._daemon.json('encap/trace', *pair.arguments)
            except database.Unreachable:
                raise
            except Failure as failure:
                trace = str(failure)
            self._ways.pop(pair, None)
            self._ways[pair] = way.judge(pair, trace, bridges)
            if not self._whole and time.monotonic() > end:
                break
        self._ways = {pair: known for pair, known in self._ways.items()
                      if pair in wanted}
        sample.ways = [self._ways[pair] for pair in pairs
                       if pair in self._ways]

    # ovsdb-server.

    def _rows(self, table):
        return self._database.idl.tables[table].rows.values()

    def _stamp(self):
        """Notes since when each interface has its counters.  Returns False,
        to be called by wait_for() until time is up."""
        if not self._database.idl._session.is_connected():
            self._stamps = {}
            return False
        now = time.monotonic()
        stamps = {}
        for row in self._rows('Interface'):
            counters = {STATISTICS[name]: value
                        for name, value in row.statistics.items()
                        if name in STATISTICS}
            known = self._stamps.get(row.name)
            if known is None:
                stamps[row.name] = counters, None
            elif known[0] == counters:
                stamps[row.name] = known
            else:
                stamps[row.name] = counters, now
        self._stamps = stamps
        return False

    def _ask_database(self, sample):
        if not self._database:
            self._database = database.Database(self._remote, COLUMNS)
        while self._database.run():
            pass
        self._stamp()
        if not self._database.idl._session.is_connected():
            raise Failure('%s: not connected' % self._remote)

        root = self._database.root
        sample.host = root.external_ids.get('hostname', '')
        try:
            period_ms = int(root.other_config.get('stats-update-interval', 0))
        except ValueError:
            period_ms = 0
        if period_ms > INT_MAX:         # ovs-vswitchd does not take that.
            period_ms = 0
        sample.period = max(period_ms, 5000) / 1000

        # The kernel's tunnels take its own ways.
        foreign = {interface.name for row in self._rows('Bridge')
                   if row.datapath_type not in USERSPACE
                   for port in row.ports for interface in port.interfaces}
        chassis = {}
        for row in self._rows('Port'):
            name = row.external_ids.get('ovn-chassis-id', '').split('@')[0]
            if name in ('', 'flow'):
                continue
            for interface in row.interfaces:
                chassis[interface.name] = name
        uplinks = figures.uplinks(sample.show or {})
        for row in sorted(self._rows('Interface'), key=lambda row: row.name):
            if row.name in uplinks:
                counters, at = self._stamps[row.name]
                sample.nics[row.name] = {
                    'link': row.link_state[0] if row.link_state else None,
                    'counters': counters, 'at': at}
            if row.options.get('remote_ip') and row.name not in foreign:
                local = row.options.get('local_ip')
                sample.tunnels.append(way.Tunnel(
                    row.name, local and way.normal(local),
                    way.normal(row.options['remote_ip']),
                    chassis.get(row.name),
                    way.fixed(row.type, row.options)))
