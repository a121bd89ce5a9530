# SPDX-License-Identifier: Apache-2.0
"""The page of "report", which needs nothing but itself.  Pure."""
import time

from ovs_multinic import railmap, screen, way

safe = railmap.safe

STYLE = '''
:root { color-scheme: light dark; --back: #fff; --text: #1b1f24;
  --faint: #5b6470; --line: #d5dae0; --head: #f2f4f7; --code: #eef1f4;
  --ok: #009e73; --dropped: #c84b00; --astray: #8f4a8a;
  --unresolved: #e69f00; --unknown: #6b7480; }
@media (prefers-color-scheme: dark) {
  :root { --back: #15181c; --text: #e6e9ed; --faint: #a0a9b4;
    --line: #343b44; --head: #1f242a; --code: #262c33;
    --unknown: #7d8793; --astray: #b56bb0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 76rem;
  background: var(--back); color: var(--text);
  font: 15px/1.5 system-ui, "Liberation Sans", sans-serif; }
h1 { margin: 0; font-size: 1.6rem; overflow-wrap: anywhere; }
h2 { margin: 2rem 0 .6rem; font-size: 1.15rem; }
p { margin: .3rem 0; }
.faint { color: var(--faint); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th, td { padding: .3rem .7rem .3rem .4rem; text-align: left;
  vertical-align: top; border-bottom: 1px solid var(--line); }
th { background: var(--head); font-weight: 600; white-space: nowrap; }
td.number, th.number { text-align: right;
  font-variant-numeric: tabular-nums; }
td.name { white-space: nowrap; }
code, .map text { font-family: ui-monospace, "DejaVu Sans Mono", monospace;
  font-size: 13px; }
code { background: var(--code); padding: .1rem .3rem; border-radius: 3px;
  overflow-wrap: anywhere; }
summary { cursor: pointer; margin: .6rem 0; }
ul.legend { display: flex; flex-wrap: wrap; gap: .4rem 1.4rem; padding: 0;
  margin: .6rem 0 1rem; list-style: none; }
.state { white-space: nowrap; }
.key { width: 1.15em; height: 1.15em; margin-right: .4em;
  vertical-align: -.2em; }
.map { display: block; margin: 0 0 1rem; }
.map text { font-size: 11px; fill: var(--text); }
.map .local { text-anchor: end; }
.map .host path { stroke: var(--faint); }
.hidden { position: absolute; width: 0; height: 0; }
.map .host text { fill: var(--faint); }
.cell, .key { stroke: #fff; stroke-width: 1.7; stroke-linecap: round;
  stroke-linejoin: round; fill: none; }
.cell rect, .key rect { stroke: none; }
.cell:hover rect { stroke: var(--text); }
.ok rect { fill: var(--ok); }
.dropped rect { fill: var(--dropped); }
.astray rect { fill: var(--astray); }
.unresolved { stroke: #000; stroke-width: 2.2; }
.unresolved rect { fill: var(--unresolved); }
.unknown rect { fill: var(--unknown); }
.none { stroke: var(--faint); }
@media print { details > :not(summary) { display: block; } }
'''

MAX_BAD = 64                    # Rows of the table of what does not work.

SEVERITIES = {'error': 'dropped', 'warning': 'unresolved', 'info': 'unknown'}


def state(symbol, text):
    """A symbol with what it means."""
    return '<span class="state">%s%s</span>' % (railmap.symbol(symbol),
                                                safe(text))


def known(value):
    """VALUE, or a dash."""
    return '\u2013' if value is None or value == '' else safe(value)


def count(value):
    """A number with its thousands apart."""
    return '\u2013' if value is None else format(value, ',')


def table(titles, rows, numbers=()):
    """A table of cells that are HTML; column NUMBERS are to the right."""
    def line(tag, cells):
        return '<tr>%s</tr>' % ''.join(
            '<%s%s>%s</%s>' % (tag, ' class="number"' if index in numbers
                               else '', text, tag)
            for index, text in enumerate(cells))

    return ('<div class="scroll"><table><thead>%s</thead><tbody>%s</tbody>'
            '</table></div>\n' % (line('th', titles),
                                  '\n'.join(line('td', row)
                                            for row in rows)))


def ways_table(rows):
    """A table of Ways."""
    return table(
        ['Local', 'Remote', 'Host', 'Tunnel', 'State', 'Why', 'Bridge',
         'Next hop', 'MAC'],
        [[safe(row.local), safe(row.remote), known(row.chassis),
          known(row.port), state(row.state, way.STATES[row.state]),
          safe(row.reason), known(row.bridge), known(row.next_hop),
          known(row.mac)] for row in rows])


def rail_map(rows):
    """The section with the map."""
    parts = ['<h2>Rail map</h2>\n']
    if not rows:
        return parts[0] + ('<p>No tunnel leads to a remote address that is'
                           ' known.</p>\n')
    counts = {name: sum(row.state == name for row in rows)
              for name in way.STATES}
    parts.append('<p class="faint">Local addresses by remote ones: what the'
                 ' switch does now with a packet between them.</p>\n'
                 '<ul class="legend">')
    parts += ['<li>%s: %s</li>' % (state(name, way.STATES[name]),
                                   count(counts[name]))
              for name in reversed(way.STATES)
              if counts[name] or name in ('ok', 'dropped')]
    parts.append('</ul>\n' + railmap.definitions())
    parts += ['<div class="scroll">%s</div>\n' % svg
              for svg in railmap.draw(rows)]
    bad = [row for row in rows if row.state != 'ok']
    bad.sort(key=lambda row: list(way.STATES).index(row.state))
    if bad:
        parts.append('<h2>Ways that do not work now</h2>\n'
                     + ways_table(bad[:MAX_BAD]))
    if len(bad) > MAX_BAD:
        parts.append('<p>Not shown here, but among all ways: %s.</p>\n'
                     % count(len(bad) - MAX_BAD))
    parts.append('<details><summary>All ways (%s)</summary>%s</details>\n'
                 % (count(len(rows)), ways_table(rows)))
    return ''.join(parts)


def problems(rows):
    """The section with what encap/check found."""
    if rows is None:
        return '<h2>Problems</h2>\n<p>Could not be looked for.</p>\n'
    if not rows:
        return '<h2>Problems</h2>\n<p>%s</p>\n' % state('ok',
                                                        'No problem found.')
    return '<h2>Problems</h2>\n' + table(
        ['Severity', 'What', 'Problem', 'Mend it with'],
        [[state(SEVERITIES[row['severity']], row['severity']),
          safe(row['object']), safe(row['problem']),
          '<code>%s</code>' % safe(row['mend']) if row['mend']
          else known(None)] for row in rows])


def endpoints(view):
    """The section with endpoints."""
    parts = ['<h2>Endpoints</h2>\n']
    rows = view.endpoints()
    if not rows:
        return parts[0] + '<p>No endpoint: routing alone decides.</p>\n'
    show = view.show
    parts.append('<p class="faint">Chosen by %s; failover %s; strict'
                 ' reception %s.  Packets are those of the flows of this'
                 ' moment.</p>\n'
                 % (safe(', '.join(show['order'])) or 'nothing',
                    'on' if show['failover'] else 'off',
                    'on' if show['strict-rx'] else 'off'))
    parts.append(table(
        ['Address', 'State', 'Device', 'MTU', 'NUMA', 'From', 'Tunnels',
         'Flows', 'Offloaded', 'Packets sent', 'Received'],
        [[safe(row.ip) + (' (default)' if row.default else ''),
          state('ok' if row.state == 'up' else 'dropped', row.state)
          + (': ' + safe(row.reason) if row.reason else ''),
          known(row.device), known(row.mtu), known(row.numa),
          safe(', '.join(row.origins)), count(row.tunnels),
          count(row.flows), screen.share(row.share),
          count(row.totals['tx-packets']), count(row.totals['rx-packets'])]
         for row in rows], (3, 4, 6, 7, 8, 9, 10)))
    return ''.join(parts)


def nics(view):
    """The section with NICs, empty if there are none."""
    rows = view.nics()
    if not rows:
        return ''
    return '<h2>NICs</h2>\n' + table(
        ['NIC', 'Link', 'Bridge', 'eSwitch', 'NUMA', 'Packets sent',
         'Bytes sent', 'Packets received', 'Bytes received', 'Lost'],
        [[safe(row.name),
          state('ok' if row.state == 'up' else 'dropped', row.state),
          known(row.bridge), known(row.eswitch), known(row.numa),
          *(count(row.totals.get(name)) for name in (
              'tx-packets', 'tx-bytes', 'rx-packets', 'rx-bytes')),
          count(screen.lost(row, True))] for row in rows],
        (4, 5, 6, 7, 8, 9))


def events(view):
    """The section with the coverage counters."""
    rows = view.events()
    parts = ['<h2>Drops by reason</h2>\n<p class="faint">Since ovs-vswitchd'
             ' has started.  A translation is one time that a flow was set up'
             ' or revalidated, however many packets it stands for.</p>\n']
    for drop, nothing in (True, 'No drops.'), (False, None):
        some = [row for row in rows if row.drop == drop]
        if some:
            parts.append(table(
                ['Counter', 'Counts', 'Total'] if drop
                else ['Other counter', 'Total'],
                [['<code>%s</code>' % safe(row.name)]
                 + ([row.unit] if drop else []) + [count(row.total)]
                 for row in some], (2 if drop else 1,)))
        elif nothing:
            parts.append('<p>%s</p>\n' % state('ok', nothing))
    return ''.join(parts)


def page(view, host, when):
    """Returns VIEW, a Figures, as HTML.  WHEN is a struct_time."""
    sample = view.sample
    stamp = time.strftime('%Y-%m-%d %H:%M:%S %z', when)
    return ''.join([
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src'
        ' \'none\'; style-src \'unsafe-inline\'">\n'
        '<title>ovs-multinic: ', safe(host), '</title>\n<style>', STYLE,
        '</style>\n</head>\n<body>\n<h1>', safe(host), '</h1>\n'
        '<p class="faint">ovs-multinic report, ', safe(stamp), '</p>\n',
        problems(sample.problems), rail_map(sample.ways), endpoints(view),
        nics(view), events(view), '</body>\n</html>\n'])
