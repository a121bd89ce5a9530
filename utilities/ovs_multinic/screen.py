# SPDX-License-Identifier: Apache-2.0
"""The sheet of "top" as lines of text.  Pure."""
import dataclasses

from ovs_multinic import figures
from ovs_multinic.words import count, safe

# How lines look, where that can be shown.
TITLE, HEADER, BAD, PLAIN, FAINT = 'title', 'header', 'bad', 'plain', 'faint'


@dataclasses.dataclass
class Column:
    """Of a table.  Where there is not enough room, columns with the highest
    number in 'rank' go first."""
    title: str
    value: object               # A function from row to text.
    rank: int = 0
    right: bool = False


def text(value):
    """VALUE, or "-" for None."""
    return '-' if value is None else safe(value)


def number(value):
    """VALUE in at most five characters, such as "12.3M"; "-" for None."""
    if value is None:
        return '-'
    for suffix in ' kMGTPE':
        if value < 999.5 or suffix == 'E':
            break
        value /= 1000
    if suffix == ' ' and value == int(value) or value >= 99.95:
        return '%.0f%s' % (value, suffix.strip())
    return '%.*f%s' % (1 if value >= 9.995 or suffix == ' ' else 2, value,
                       suffix.strip())


def share(value):
    """A part of 1 as a percentage, which is 0 or 100 only if it is."""
    if value is None:
        return '-'
    if 0 < value < 1:
        value = min(max(value, 0.01), 0.99)
    return '%.0f%%' % (100 * value)


def table(columns, rows, width=None):
    """Returns header and rows as lines no longer than WIDTH."""
    cells = [[column.title] + [column.value(row) for row in rows]
             for column in columns]
    sizes = [max(map(len, cell)) for cell in cells]
    shown = list(range(len(columns)))
    while (width is not None and len(shown) > 1
           and sum(sizes[i] + 2 for i in shown) - 2 > width):
        out = max(shown, key=lambda i: (columns[i].rank, i))
        if not columns[out].rank:
            break
        shown.remove(out)
    lines = []
    for row in range(len(rows) + 1):
        line = '  '.join(cells[i][row].rjust(sizes[i]) if columns[i].right
                         else cells[i][row].ljust(sizes[i]) for i in shown)
        lines.append(line.rstrip()[:width])
    return lines


def meters(totals):
    """The columns with what is sent and received."""
    unit = '' if totals else '/s'

    def value(name):
        return lambda row: number((row.totals if totals
                                   else row.rates).get(name))

    return [Column('TX pkt' + unit, value('tx-packets'), 1, True),
            Column('TX B' + unit, value('tx-bytes'), 0, True),
            Column('RX pkt' + unit, value('rx-packets'), 1, True),
            Column('RX B' + unit, value('rx-bytes'), 0, True)]


def endpoint_columns(totals):
    """Of figures.Endpoint."""
    return [
        Column('ENDPOINT', lambda row: safe(row.ip)
               + (' *' if row.default else '')),
        Column('STATE', lambda row: row.state),
        Column('BRIDGE', lambda row: text(row.bridge or row.device), 2),
        *meters(totals),
        Column('TUNNELS', lambda row: text(row.tunnels), 3, True),
        Column('REACHES', lambda row: '%d/%d' % (row.reached, row.remotes)
               if row.remotes else '-', 3, True),
        Column('FLOWS', lambda row: number(row.flows), 4, True),
        Column('OFFLOAD', lambda row: share(row.share), 3, True),
        Column('MTU', lambda row: text(row.mtu), 6, True),
    ]


WHY = Column('WHY', lambda row: safe(row.reason or ''))


def lost(row, totals):
    """What a NIC dropped or got wrong, both ways."""
    values = row.totals if totals else row.rates
    known = [values[name] for name in figures.LOSSES if name in values]
    return sum(known) if known else None


def nic_columns(totals):
    """Of figures.Nic."""
    return [
        Column('NIC', lambda row: safe(row.name)),
        Column('LINK', lambda row: row.state),
        Column('BRIDGE', lambda row: text(row.bridge), 2),
        *meters(totals),
        Column('LOST' if totals else 'LOST/s',
               lambda row: number(lost(row, totals)), 3, True),
        Column('NUMA', lambda row: text(row.numa), 5, True),
        Column('ESWITCH', lambda row: text(row.eswitch), 6),
        Column('ENDPOINTS', lambda row: text(', '.join(row.endpoints)
                                             or None), 4),
    ]


UNIT = Column('COUNTS', lambda row: row.unit)

EVENT_COLUMNS = [
    Column('COUNTER', lambda row: safe(row.name)),
    Column('A SECOND', lambda row: number(row.rate), 0, True),
    Column('TOTAL', lambda row: number(row.total), 0, True),
]

NEIGHBOR_COLUMNS = [
    Column('NEIGHBOUR', lambda row: safe(row.ip)),
    Column('BRIDGE', lambda row: text(row.bridge)),
    Column('MAC', lambda row: (safe(row.mac) if row.mac else 'missing')
           + (' (stale)' if row.stale else '')),
]


def head(view, clock, key):
    """The first lines: who, when, and how the daemons are."""
    sample, show = view.sample, view.show
    words = ['ovs-multinic top', safe(sample.host), clock,
             'by ' + key if key != 'name' else '']
    lines = [('   '.join(word for word in words if word), TITLE)]
    if sample.error:
        lines.append((safe(sample.error), BAD))
    if sample.database_error:
        lines.append((safe(sample.database_error), BAD))
    if show:
        lines.append(('select %s   failover %s   strict-rx %s' % (
            ', '.join(map(safe, show['order'])),
            'on' if show['failover'] else 'off',
            'on' if show['strict-rx'] else 'off'), PLAIN))
    counts = view.problems()
    if counts is not None:
        found = ', '.join(count(n, word) if word != 'info'
                          else '%d info' % n
                          for word, n in counts.items() if n)
        lines.append(('encap/check: %s' % (found or 'no problem found'),
                      BAD if counts['error'] else PLAIN))
    return lines


def section(lines, columns, rows, width, is_bad=lambda row: False):
    """Appends a table to LINES, unless it is empty."""
    if rows:
        header, *body = table(columns, rows, width)
        lines.append(('', PLAIN))
        lines.append((header, HEADER))
        lines.extend((line, BAD if is_bad(row) else PLAIN)
                     for line, row in zip(body, rows))


def sheet(view, clock, width=None, key='name', backwards=False,
          totals=False):
    """Returns VIEW, a Figures, as pairs of a line and how it looks."""
    lines = head(view, clock, key)
    endpoints = figures.sort(view.endpoints(), key, backwards)
    if view.alive and not endpoints:
        lines.append(('no endpoint: routing alone decides', PLAIN))
    columns = endpoint_columns(totals)
    section(lines, columns if width else [*columns, WHY], endpoints, width,
            lambda row: row.state == 'down' or row.reached < row.remotes)
    if width:
        lines.extend(('%s: %s' % (safe(row.ip), safe(row.reason)), BAD)
                     for row in endpoints if row.reason)
    section(lines, nic_columns(totals),
            figures.sort(view.nics(), key, backwards), width,
            lambda row: row.state == 'down')
    drops = [row for row in view.events() if row.drop]
    section(lines, [dataclasses.replace(EVENT_COLUMNS[0], title='DROPS BY'
                                        ' REASON'), UNIT, *EVENT_COLUMNS[1:]],
            drops, width, lambda row: bool(row.rate))
    if view.alive and not drops:
        lines += [('', PLAIN), ('no drops', PLAIN)]
    section(lines, EVENT_COLUMNS,
            [row for row in view.events() if not row.drop], width)
    section(lines, NEIGHBOR_COLUMNS, view.neighbors(), width,
            lambda row: row.mac is None)
    return [(line[:width], look) for line, look in lines]
