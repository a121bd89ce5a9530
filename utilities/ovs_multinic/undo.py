# SPDX-License-Identifier: Apache-2.0
"""Takes back what "apply" did, and nothing else.

What somebody changed since is left, and named.
"""
import sys

from ovs_multinic import arguments as a
from ovs_multinic import database
from ovs_multinic import engine
from ovs_multinic import login
from ovs_multinic import signals
from ovs_multinic import state
from ovs_multinic.errors import Failure
from ovs_multinic.words import count


def add_arguments(parser):
    """Adds the arguments of this subcommand."""
    parser.add_argument('--force', action='store_true',
                        help='also take back the bridge through which you'
                             ' are logged in')
    parser.add_argument('--quiet', action='store_true',
                        help='do not print each step')
    state.add_arguments(parser)
    database.add_arguments(parser)


def run(arguments):
    """Takes all back; returns the exit status."""
    done = state.State(arguments.state, lock=True)
    say = engine.speaker(sys.stdout)
    if not done.records:
        done.finish([])
        say('nothing to take back: %s has no record' % arguments.state)
        return 0
    system = a.connect(arguments)
    database.Vswitchd(arguments.target).close()
    if not arguments.force:
        login.refuse_undo(a.logins(system),
                          [step for step, _before in done.records])
    try:
        with signals.handled():
            back, left, failed = engine.undo(
                system, done, engine.speaker(sys.stdout, arguments.quiet))
    except signals.Interrupted as why:
        raise Failure('%s; undone only in part, "undo" again goes on with %s'
                      % (why, count(len(done.records), 'setting'))) from None
    for line in left:
        say(line)
    for line in failed:
        a.complain(line)
    say('%s taken back%s%s' % (
        count(back, 'setting'), ', %d left' % len(left) if left else '',
        ', %d failed' % len(failed) if failed else ''))
    return 1 if failed else 0
