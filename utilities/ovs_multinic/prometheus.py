# SPDX-License-Identifier: Apache-2.0
"""Serves the figures of "top" to Prometheus.

Each scrape reads fresh figures.  They are for all who can reach the address,
which is one of this host only unless --listen says otherwise.
"""
import argparse
import ipaddress
import socket
import socketserver
import threading
import wsgiref.simple_server

from ovs_multinic import collector, database, figures, way
from ovs_multinic.errors import Failure

try:
    import prometheus_client
    from prometheus_client import metrics_core
except ImportError:
    prometheus_client = None    # run() says so.

PREFIX = 'ovs_multinic_'

# How long somebody may take to send a request, in seconds.
REQUEST_S = 5


def address(value):
    """For argparse: "HOST:PORT" or "[HOST]:PORT", numbers, as a pair."""
    host, colon, port = value.rpartition(':')
    try:
        if host.startswith('[') and host.endswith(']'):
            ipaddress.IPv6Address(host[1:-1])
            host = host[1:-1]
        else:
            ipaddress.IPv4Address(host)
        if not (port.isascii() and port.isdigit() and int(port) < 65536):
            raise ValueError
    except ValueError:
        raise argparse.ArgumentTypeError(
            '%s: not ADDRESS:PORT or [IPV6-ADDRESS]:PORT' % value) from None
    return host, int(port)


def place(where):
    """The inverse of address()."""
    return ('[%s]:%d' if ':' in where[0] else '%s:%d') % where[:2]


def add_arguments(parser):
    """Adds to a parser of argparse."""
    database.add_arguments(parser)
    parser.add_argument('--listen', type=address, metavar='ADDRESS:PORT',
                        default=('127.0.0.1', 9476),
                        help='where to answer (default: 127.0.0.1:9476; '
                             '[::1]:9476 for IPv6)')


def family(kind, name, text, labels, samples):
    """The metrics of one name: SAMPLES are pairs of the labels' values and a
    number, or None where there is no metric."""
    metric = kind(PREFIX + name, text, labels=labels)
    for values, number in samples:
        if number is not None:
            metric.add_metric([str(value) for value in values], number)
    return metric


def gauge(name, text, labels, samples):
    """Metrics that go up and down."""
    return family(metrics_core.GaugeMetricFamily, name, text, labels,
                  samples)


def counter(name, text, labels, samples):
    """Metrics that only grow, but for restarts; "_total" is appended."""
    return family(metrics_core.CounterMetricFamily, name, text, labels,
                  samples)


def endpoint_families(rows):
    """Metrics of figures.Endpoints."""
    def each(name, text, value):
        return gauge('endpoint_' + name, text, ['ip'],
                     [([row.ip], value(row)) for row in rows])

    yield gauge('endpoint_info', 'Where an endpoint lives; always 1.',
                ['ip', 'device', 'bridge', 'eswitch', 'numa', 'default'],
                [([row.ip, row.device or '', row.bridge or '',
                   row.eswitch or '', '' if row.numa is None else row.numa,
                   'true' if row.default else 'false'], 1) for row in rows])
    yield each('up', '1 if packets can be sent from this endpoint.',
               lambda row: row.state == 'up')
    yield each('mtu_bytes', 'The least MTU of its device and uplinks.',
               lambda row: row.mtu)
    yield each('tunnels', 'Tunnel ports with this local_ip.',
               lambda row: row.tunnels)
    yield each('flows', 'Datapath flows that push or pop this address.',
               lambda row: row.flows)
    yield each('offloaded_flows', 'Those of them that are in hardware.',
               lambda row: row.offloaded)
    for way_, verb in ('tx', 'sent from'), ('rx', 'received for'):
        word = {'tx': 'transmit', 'rx': 'receive'}[way_]
        for unit in 'packets', 'bytes':
            yield each('flow_%s_%s' % (word, unit),
                       '%s %s this endpoint by the flows of this moment.'
                       % (unit.capitalize(), verb),
                       lambda row, name=way_ + '-' + unit: row.totals[name])


def nic_families(rows):
    """Metrics of figures.Nics."""
    yield gauge('nic_info', 'Where a NIC is; always 1.',
                ['nic', 'bridge', 'eswitch', 'numa'],
                [([row.name, row.bridge or '', row.eswitch or '',
                   '' if row.numa is None else row.numa], 1)
                 for row in rows])
    yield gauge('nic_up', '1 if the NIC has a link.', ['nic'],
                [([row.name], row.state == 'up') for row in rows])
    for short, word in ('tx', 'transmit'), ('rx', 'receive'):
        for what in 'packets', 'bytes', 'dropped', 'errors':
            name = short + '-' + what
            yield counter('nic_%s_%s' % (word, what),
                          'What the NIC counts as %s_%s.' % (short, what),
                          ['nic'],
                          [([row.name], row.totals.get(name))
                           for row in rows])


def families(view):
    """The metrics of VIEW, a figures.Figures."""
    yield gauge('up', '1 if ovs-vswitchd answers.', [], [([], view.alive)])
    yield gauge('database_up', '1 if ovsdb-server answers.', [],
                [([], not view.sample.database_error)])
    if not view.alive:
        return
    yield from endpoint_families(view.endpoints())
    yield from nic_families(view.nics())
    events = view.events()
    yield counter('drops', 'Coverage counters of what was not sent or not '
                  'taken: packets, or translations, that is times that a '
                  'flow was set up or revalidated.', ['reason', 'counts'],
                  [([row.name, row.unit], row.total) for row in events
                   if row.drop])
    yield counter('events', 'Other coverage counters that concern tunnels.',
                  ['event'],
                  [([row.name], row.total) for row in events
                   if not row.drop])
    yield gauge('neighbor_known', '1 if the MAC of a neighbour that tunnels '
                'use is known.', ['ip', 'bridge'],
                [([row.ip, row.bridge], row.mac is not None)
                 for row in view.neighbors()])
    yield gauge('ways', 'Pairs of a local and a remote address by what '
                'happens to packets between them.', ['state'],
                [([state], sum(row.state == state
                               for row in view.sample.ways))
                 for state in way.STATES])
    yield gauge('problems', 'What encap/check finds, by severity.',
                ['severity'],
                [([severity], number) for severity, number
                 in (view.problems() or {}).items()])


class Exporter:
    """What prometheus_client asks for metrics.  SOURCE is a Collector or has
    sample() and wait()."""

    def __init__(self, source):
        self.source = source
        self.lock = threading.Lock()

    def collect(self):
        """The metrics, fresh."""
        view = figures.Figures()
        with self.lock:
            view.add(self.source.sample())
        return families(view)

    def idle(self):
        """To be called about each second, keeps connections alive."""
        if self.lock.acquire(blocking=False):
            try:
                self.source.wait(0)
            finally:
                self.lock.release()


class Handler(wsgiref.simple_server.WSGIRequestHandler):
    """Answers a scrape without a line on stderr."""
    timeout = REQUEST_S

    def log_message(self, format, *args):
        """Says nothing."""


class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    """Answers scrapes."""
    daemon_threads = True

    def __init__(self, where, exporter):
        self.exporter = exporter
        if ':' in where[0]:
            self.address_family = socket.AF_INET6
        try:
            super().__init__(where, Handler)
        except OSError as error:
            raise Failure('--listen %s: %s' % (place(where), error.strerror)
                          ) from None
        registry = prometheus_client.CollectorRegistry(auto_describe=False)
        registry.register(exporter)
        self.set_app(prometheus_client.make_wsgi_app(registry))

    def server_bind(self):
        """Binds, and asks no name server who that is."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]
        self.setup_environ()

    def service_actions(self):
        """Runs now and then between requests."""
        self.exporter.idle()

    def handle_error(self, request, client_address):
        """A client that went away is no error."""


def run(arguments):
    """Answers until interrupted."""
    if prometheus_client is None:
        raise Failure('package python3-prometheus-client is missing')
    source = collector.Collector(arguments.db, arguments.target)
    server = Server(arguments.listen, Exporter(source))
    print('http://%s/metrics' % place(server.server_address), flush=True)
    server.serve_forever()
