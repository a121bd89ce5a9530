# SPDX-License-Identifier: Apache-2.0
"""Signals that ask to end, heard between two steps and not in their middle."""
import contextlib
import signal


class Interrupted(BaseException):
    """A signal asks to end."""


asked = []                      # Names of signals that came.
deaf = False


def listen():
    """Raises Interrupted if a signal has come."""
    if asked and not deaf:
        raise Interrupted(asked[0])


@contextlib.contextmanager
def handled():
    """SIGTERM and SIGINT ask to end; a login that goes away does not."""
    def note(number, _frame):
        asked.append(signal.Signals(number).name)
    asked.clear()
    old = {number: signal.signal(number, handler) for number, handler in (
        (signal.SIGHUP, signal.SIG_IGN), (signal.SIGPIPE, signal.SIG_IGN),
        (signal.SIGTERM, note), (signal.SIGINT, note))}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def ignored():
    """What must be finished is finished."""
    global deaf
    deaf = True
    try:
        yield
    finally:
        deaf = False
