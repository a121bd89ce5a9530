# SPDX-License-Identifier: Apache-2.0
"""The map of local addresses by remote ones, as SVG.  Pure.

Rows are local addresses, columns remote ones, and a cell has the state of the
way between them as a colour, a symbol and a tooltip.  The page that shows it
gives the colours, to the classes that are the names of way.STATES, and "none"
where there is no tunnel.
"""
import html

from ovs_multinic import way

# Strokes in a square of 12 units.
SYMBOLS = {
    'ok': 'M2.5 6.5l2.5 2.5 4.5-6',
    'dropped': 'M3 3l6 6M9 3l-6 6',
    'astray': 'M2 9.5h5v-6M4.2 6l2.8-3 2.8 3',
    'unresolved': 'M2.4 6h.2M5.9 6h.2M9.4 6h.2',
    'unknown': 'M3.8 4.6a2.2 2.2 0 1 1 3.4 1.8q-1.2.6-1.2 1.6M6 10.2v.1',
    'none': 'M5.9 6h.2',
}

CHARACTER = 6.7                 # Width, of the labels' font.
# The size of a cell, for up to so many columns.
SIZES = (16, 38), (64, 26), (1 << 30, 18)
WIDTH = 936                     # Of the cells of one row of the page.
LABEL = 46 * CHARACTER          # The longest, an IPv6 address and more.


def safe(value):
    """VALUE for HTML and XML, also in attributes; characters that neither
    can have, or that nobody could see, become a replacement character."""
    return html.escape(''.join(
        c if c.isprintable() or c == '\n' else '\ufffd' for c in str(value)))


def describe(row):
    """A Way in words, for a tooltip."""
    lines = ['%s to %s' % (row.local, row.remote)]
    if row.port:
        lines[0] += ', tunnel ' + row.port
    if row.chassis:
        lines[0] += ', host ' + row.chassis
    lines.append('%s: %s' % (way.STATES[row.state], row.reason))
    if row.next_hop:
        lines.append('next hop %s is %s' % (row.next_hop,
                                            row.mac or 'not known yet'))
    return '\n'.join(lines)


def symbol(state):
    """A picture of STATE of its own, for a legend."""
    return ('<svg class="key %s" viewBox="0 0 12 12" aria-hidden="true">'
            '<rect width="12" height="12" rx="2"/><path d="%s"/></svg>'
            % (state, SYMBOLS[state]))


def definitions():
    """The symbols, once a page, for the cells of all maps."""
    return ('<svg class="hidden" aria-hidden="true"><defs>%s</defs></svg>'
            % ''.join('<symbol id="way-%s" viewBox="0 0 12 12">'
                      '<path d="%s"/></symbol>' % item
                      for item in SYMBOLS.items()))


def clip(text, width):
    """TEXT, shortened to WIDTH."""
    most = max(int(width / CHARACTER), 1)
    return text if len(text) <= most else text[:most - 1] + '\u2026'


def cell(row, local, remote, x, y, size):
    """One cell; ROW is None where there is no way."""
    state = row.state if row else 'none'
    what = (describe(row) if row
            else '%s to %s\nno tunnel' % (local, remote))
    inner = size - 2
    return ('<g class="cell %s"><title>%s</title>'
            '<rect x="%d" y="%d" width="%d" height="%d" rx="3"/>'
            '<use href="#way-%s" x="%d" y="%d" width="%d" height="%d"/></g>'
            % (state, safe(what), x, y, inner, inner, state, x + inner // 6,
               y + inner // 6, inner - inner // 3, inner - inner // 3))


def groups(columns):
    """Runs of columns (remote, chassis) of one chassis, as (chassis, index of
    the first, number); None has none."""
    found = []
    for index, (_, chassis) in enumerate(columns):
        if found and found[-1][0] == chassis:
            found[-1][2] += 1
        else:
            found.append([chassis, index, 1])
    return [tuple(run) for run in found if run[0] is not None]


def block(locals_, columns, ways, size):
    """One SVG with all rows and some COLUMNS."""
    labels = {text: clip(text, LABEL)
              for text in [*locals_, *(remote for remote, _ in columns)]}
    left = max(len(labels[local]) for local in locals_) * CHARACTER + 14
    named = groups(columns)
    above = 20 if named else 0
    top = above + 10 + CHARACTER * max(len(labels[remote])
                                       for remote, _ in columns)
    width, height = left + len(columns) * size, top + len(locals_) * size
    parts = ['<svg class="map" xmlns="http://www.w3.org/2000/svg" role="img"'
             ' width="%d" height="%d" viewBox="0 0 %d %d">'
             '<title>State of the ways from local to remote addresses; the'
             ' table of ways says the same</title>'
             % (width, height, width, height)]
    for chassis, first, n in named:
        x = left + first * size
        parts.append('<g class="host"><title>%s</title><path d="M%d 17h%d"/>'
                     '<text x="%d" y="12">%s</text></g>'
                     % (safe('host ' + chassis), x, n * size - 4, x,
                        safe(clip(chassis, n * size - 4))))
    for index, (remote, _) in enumerate(columns):
        x = left + index * size + size / 2 + 3
        parts.append('<text transform="translate(%.1f %.1f) rotate(-90)">%s'
                     '</text>' % (x, top - 6, safe(labels[remote])))
    for index, local in enumerate(locals_):
        y = top + index * size
        parts.append('<text class="local" x="%.1f" y="%.1f">%s</text>'
                     % (left - 8, y + size / 2 + 3, safe(labels[local])))
        parts.extend(cell(ways.get((local, remote)), local, remote,
                          left + column * size, y, size)
                     for column, (remote, _) in enumerate(columns))
    parts.append('</svg>')
    return ''.join(parts)


def draw(rows):
    """Returns the maps of ROWS, Ways in the order of local addresses: a list
    of SVGs for each family of addresses, side by side or one below the
    other."""
    maps = []
    for ipv6 in False, True:
        ways = {(row.local, row.remote): row for row in rows
                if way.is_ipv6(row.remote) == ipv6}
        if not ways:
            continue
        locals_ = list(dict.fromkeys(local for local, _ in ways))
        hosts = {row.remote: row.chassis for row in ways.values()}
        columns = sorted(hosts.items(), key=lambda item: (
            item[1] or '', way.address_key(item[0])))
        size = next(size for most, size in SIZES if len(columns) <= most)
        most = WIDTH // size
        maps += [block(locals_, columns[first:first + most], ways, size)
                 for first in range(0, len(columns), most)]
    return maps
