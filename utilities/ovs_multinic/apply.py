# SPDX-License-Identifier: Apache-2.0
"""Sets what "plan" with the same arguments prints, and remembers it.

What is so already is left alone.  If a step fails, all that was done is taken
back.  Without NICs, --from-host and --plan, what was applied last is applied
again: after a restart, say.
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
    a.add_arguments(parser)
    parser.add_argument('--plan', metavar='FILE',
                        help='apply this output of "plan --json"; - is'
                             ' standard input')
    parser.add_argument('--force', action='store_true',
                        help='also take the interface through which you are'
                             ' logged in')
    parser.add_argument('--quiet', action='store_true',
                        help='do not print each step')
    state.add_arguments(parser)
    database.add_arguments(parser)


def run(arguments):
    """Applies the plan; returns the exit status."""
    requests = read_arguments(arguments)
    done = state.State(arguments.state, lock=True)
    if not (done.steps() or arguments.plan or a.given(arguments)):
        raise Failure('no NIC is given, and %s has no plan to apply again'
                      % arguments.state)
    system = a.connect(arguments)
    # A daemon that does not run would be noticed late, by waiting.
    system.vswitchd = database.Vswitchd(arguments.target)
    if arguments.plan:
        steps = requests
    elif a.given(arguments):
        steps = a.make(arguments, requests, system)
    else:
        steps = done.steps()
    refuse_leftovers(steps, done)
    if not arguments.force:
        login.refuse(a.logins(system), steps, system)
    say = engine.speaker(sys.stdout, arguments.quiet)
    with signals.handled():
        changed = engine.apply(steps, system, done, say)
    engine.speaker(sys.stdout)(
        '%d of %s changed' % (changed, count(len(steps), 'setting'))
        if changed else 'nothing to change: all %d settings are as planned'
        % len(steps))
    return 0


def read_arguments(arguments):
    """Returns the steps of --plan, or what arguments.parse() makes of the
    NICs, or None if there is neither."""
    if arguments.plan and a.given(arguments):
        raise Failure('--plan: it stands for the NICs, which are given too')
    if a.given(arguments):
        return a.parse(arguments)
    a.refuse_options(arguments)
    return a.load(arguments.plan) if arguments.plan else None


def refuse_leftovers(steps, done):
    """Fails if what was applied before has settings that STEPS lack: nobody
    would take them back."""
    keys = {step.key() for step in steps}
    left = [step for step in done.steps() if step.key() not in keys]
    if left:
        raise Failure('%s: this plan lacks %s that had been applied ("%s"):'
                      ' "ovs-multinic undo" first'
                      % (done.path, count(len(left), 'setting'),
                         left[0].text()))
