# SPDX-License-Identifier: Apache-2.0
"""Shows endpoints and NICs as they are, again and again.

Packets and bytes a second, tunnels, offload, drops by reason, neighbours.
What NICs count comes from the database, where ovs-vswitchd writes it each 5
seconds (other_config:stats-update-interval); until two such figures are there,
and after a restart, rates are "-".
"""
import argparse
import curses
import os
import queue
import sys
import threading
import time

from ovs_multinic import collector, database, figures, screen
from ovs_multinic.errors import Failure

KEYS = {'n': 'name', 's': 'state', 't': 'tx', 'r': 'rx', 'u': 'tunnels',
        'o': 'offload'}

HELP = ('q quit   c totals   sort: n name  s state  t TX  r RX  u tunnels  '
        'o offload (again: backwards)')


def seconds(value):
    """For argparse: a number of seconds that makes sense."""
    try:
        number = float(value)
    except ValueError:
        number = 0
    if not 0.1 <= number <= 3600:
        raise argparse.ArgumentTypeError(
            '%s: not a number of seconds from 0.1 to 3600' % value)
    return number


def add_arguments(parser):
    """Adds to a parser of argparse."""
    database.add_arguments(parser)
    parser.add_argument('--interval', type=seconds, default=2, metavar='S',
                        help='seconds from one reading to the next (default: '
                             '%(default)s)')
    how = parser.add_mutually_exclusive_group()
    how.add_argument('--batch', action='store_true',
                     help='print sheets of plain text, one an interval')
    how.add_argument('--once', action='store_true',
                     help='print one sheet, once all rates are known')
    parser.add_argument('--sort', choices=list(figures.SORTS), default='name',
                        help='what to sort by (default: %(default)s)')
    parser.add_argument('--totals', action='store_true',
                        help='show totals instead of rates')


def clock():
    """The time of day."""
    return time.strftime('%H:%M:%S')


def batch(source, arguments, out):
    """Prints sheets of what SOURCE, such as a Collector, has to OUT.  Returns
    True if ovs-vswitchd answered last time."""
    view = figures.Figures()
    view.add(source.sample())
    began = view.sample.at
    while True:
        patience = 2 * view.sample.period + 2 * arguments.interval
        waits = arguments.once and not arguments.totals and not view.settled
        if not waits or view.sample.at - began > patience:
            lines = screen.sheet(view, clock(), None, arguments.sort, False,
                                 arguments.totals)
            out.write(''.join(line + '\n' for line, _ in lines))
            if arguments.once:
                return view.alive
            out.write('\n')
            out.flush()
        source.wait(arguments.interval)
        view.add(source.sample())


class Window:
    """The screen: what is shown, and what keys change about it."""

    def __init__(self, window, arguments):
        self.window = window
        self.key, self.backwards = arguments.sort, False
        self.totals = arguments.totals
        self.first = 0          # The line at the top.
        self.looks = {screen.TITLE: curses.A_BOLD,
                      screen.HEADER: curses.A_REVERSE,
                      screen.BAD: curses.A_BOLD, screen.PLAIN: 0,
                      screen.FAINT: curses.A_DIM}
        try:
            curses.curs_set(0)
            curses.use_default_colors()
            curses.init_pair(1, curses.COLOR_RED, -1)
            self.looks[screen.BAD] |= curses.color_pair(1)
        except curses.error:
            pass                # A terminal without it.
        # So that a resize and what the other thread has are seen soon.
        window.timeout(200)

    def put(self, row, text, look):
        """Writes one line."""
        try:
            self.window.addstr(row, 0, text, self.looks[look])
        except curses.error:
            pass                # The window has just become smaller.

    def draw(self, view, when):
        """Shows VIEW, a Figures, or None before there is one."""
        height, width = self.window.getmaxyx()
        # The last column stays free: writing there can scroll.
        room, width = max(height - 1, 0), max(width - 1, 0)
        lines = [('reading...', screen.PLAIN)]
        if view is not None:
            lines = screen.sheet(view, when, width, self.key, self.backwards,
                                 self.totals)
        self.first = max(0, min(self.first, len(lines) - room))
        self.window.erase()
        for row, (text, look) in enumerate(
                lines[self.first:self.first + room]):
            self.put(row, text.ljust(width) if look == screen.HEADER
                     else text, look)
        below = len(lines) - self.first - room
        foot = ('%d more below   ' % below if below > 0 else '') + HELP
        self.put(height - 1, foot[:width], screen.FAINT)
        self.window.refresh()

    def press(self, key):
        """Does what KEY means.  Returns False if that is to quit."""
        page = max(self.window.getmaxyx()[0] - 2, 1)
        moves = {curses.KEY_DOWN: 1, curses.KEY_UP: -1,
                 curses.KEY_NPAGE: page, curses.KEY_PPAGE: -page,
                 ord(' '): page, curses.KEY_HOME: -1 << 20,
                 curses.KEY_END: 1 << 20}
        name = chr(key) if 0 <= key < 128 else ''
        if name == 'q':
            return False
        if name == 'c':
            self.totals = not self.totals
        elif name in KEYS:
            self.backwards = KEYS[name] == self.key and not self.backwards
            self.key = KEYS[name]
        elif key in moves:
            self.first = max(0, self.first + moves[key])
        return True


def read(source, interval, samples):
    """A thread: puts samples into a queue, or what went wrong."""
    try:
        while True:
            samples.put(source.sample())
            source.wait(interval)
    except Exception as error:
        samples.put(error)


def live(window, source, arguments):
    """Shows what SOURCE has until "q"."""
    shown = Window(window, arguments)
    samples = queue.Queue()
    threading.Thread(target=read, daemon=True,
                     args=(source, arguments.interval, samples)).start()
    view, when = None, None
    while True:
        while not samples.empty():
            sample = samples.get()
            if isinstance(sample, Exception):
                raise sample
            view = view or figures.Figures()
            view.add(sample)
            when = clock()
        shown.draw(view, when)
        if not shown.press(window.getch()):
            return


def run(arguments):
    """Returns the exit status."""
    source = collector.Collector(arguments.db, arguments.target)
    if arguments.once or arguments.batch:
        return 0 if batch(source, arguments, sys.stdout) else 1
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        raise Failure('not on a terminal: use --once or --batch')
    try:
        curses.wrapper(live, source, arguments)
    except curses.error as error:
        raise Failure('terminal "%s": %s' % (os.environ.get('TERM', ''),
                                             error)) from None
    return 0
