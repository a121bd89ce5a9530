# SPDX-License-Identifier: Apache-2.0
"""Takes the steps of a plan one after the other, and takes them back."""
import contextlib

from ovs_multinic import signals
from ovs_multinic.errors import Failure
from ovs_multinic.words import count, safe


def speaker(stream, quiet=False):
    """Returns a function that prints a line, and does not mind when nobody
    is there any more to read it."""
    def say(line):
        if not quiet:
            with contextlib.suppress(OSError, ValueError):
                print(safe(line), file=stream, flush=True)
    return say


def apply(steps, system, state, say):
    """Takes those of STEPS that are not set, and notes that all are the plan.
    Returns how many it took.

    If one fails or a signal comes, takes back in reverse order what was done
    here, so that things are as before, and fails."""
    done, step = [], None
    try:
        for step in steps:
            signals.listen()
            if step.is_set(system):
                continue
            before = step.before(system)
            recorded = state.find(step)
            done.append((step, before, recorded))
            state.put(step, step.merged(recorded[1], before) if recorded
                      else before)
            step.set(system)
            step.verify(system)
            say(step.text())
        state.finish(steps)
    except (Exception, signals.Interrupted) as error:
        with signals.ignored():
            problems = roll_back(done, system, state, say)
        if not isinstance(error, (Failure, signals.Interrupted)):
            error = Failure('%s: %s: %s' % (
                step.text() if step else 'start', type(error).__name__,
                error))
        raise Failure('%s; %s' % (error, outcome(done, problems))) from None
    return len(done)


def outcome(done, problems):
    """What to say at the end of a line about a failure."""
    if problems:
        return '%d of %s could not be taken back' % (
            len(problems), count(len(done), 'setting'))
    if not done:
        return 'nothing was changed'
    return 'took back all that was done'


def roll_back(done, system, state, say):
    """Takes back DONE, last first.  Returns those that could not be."""
    problems = []
    for step, before, recorded in reversed(done):
        try:
            left = step.unset(system, before)
            if left and problems:       # Perhaps because of these.
                raise Failure(left)
            say(left or 'back: %s' % step.text())
        except Exception as error:
            problems.append(step)
            say('not back: %s: %s' % (step.text(), error))
            continue
        try:
            if recorded:
                state.put(*recorded)
            else:
                state.remove(step)
        except Failure as failure:      # "undo" will find nothing to do.
            say('not noted: %s' % failure)
    return problems


def undo(system, state, say):
    """Takes back what STATE has recorded, last first.  Returns (how many,
    lines about what is left, lines about what failed); what failed stays
    recorded, and so does what is left after that, perhaps because of it."""
    left, failed = [], []
    # From now on just what is recorded is there on purpose.
    state.finish([])
    records = list(reversed(state.records))
    for step, before in records:
        signals.listen()
        try:
            with signals.ignored():
                line = step.unset(system, before)
                if line and failed:
                    raise Failure(line)
                state.remove(step)
        except Exception as error:
            failed.append('%s: %s' % (step.text(), error))
            continue
        if line:
            left.append(line)
        else:
            say('back: %s' % step.text())
    return len(records) - len(failed) - len(left), left, failed
