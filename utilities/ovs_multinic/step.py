# SPDX-License-Identifier: Apache-2.0
"""What all settings of a plan have in common.

A step says how things must be.  It can tell whether they are (is_set), what
is there instead (before), make them so (set), wait until they are (verify),
and take that back (unset).  All fields are JSON values, and so is what
before() returns: plans and the state file consist of them.
"""
import dataclasses
import time

from ovs_multinic import fields
from ovs_multinic import signals
from ovs_multinic.errors import Failure

# How long a setting may take to have its effect, in seconds.
PATIENCE_S = 10
POLL_S = 0.02


class System:
    """What steps act on: the kernel, the database and sysctls.  VSWITCHD, a
    connection to the daemon or None, is there to be asked."""

    def __init__(self, kernel, database, proc='/proc/sys'):
        self.vswitchd = None
        self.kernel = kernel
        self.database = database
        self.proc = proc


def wait_for(condition, patience_s=PATIENCE_S):
    """Waits until CONDITION() holds; False if it does not in time."""
    deadline = time.monotonic() + patience_s
    while not condition():
        signals.listen()
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


class Step:
    """What all kinds share.  IDENTITY names the fields that tell one setting
    from another; the rest is its value."""

    kind = None
    IDENTITY = ()

    def key(self):
        """What is equal in two steps that set the same thing."""
        return (self.kind, *(getattr(self, name) for name in self.IDENTITY))

    def json(self):
        """This step as a JSON value."""
        return {'kind': self.kind, **dataclasses.asdict(self)}

    @classmethod
    def from_json(cls, values):
        """The step with these fields; fails with a line about one of them."""
        fields.check_step(cls, values)
        return cls(**values)

    def text(self):
        """One line about this step."""
        raise NotImplementedError

    def is_set(self, system):
        """Whether things are as this step says."""
        raise NotImplementedError

    def differences(self, system):
        """Yields (object, problem) for each thing that is not as this step,
        which was taken but is not set, says."""
        yield self.text(), 'it was applied, but is not so now'

    def before(self, system):
        """What unset() needs to know: called before set()."""
        raise NotImplementedError

    def merged(self, recorded, _before):
        """What unset() needs to know when this is set again.  RECORDED is
        what before() returned the first time, and what "undo" wants."""
        return recorded

    def set(self, system):
        """Makes it so."""
        raise NotImplementedError

    def verify(self, system):
        """Waits until it is so, or fails."""
        if not wait_for(lambda: self.is_set(system)):
            raise Failure('%s: it is not so after %d seconds'
                          % (self.text(), PATIENCE_S))

    def unset(self, system, before):
        """Takes it back.  Returns None, or a line that says what is left as
        it is, because somebody else changed it since."""
        raise NotImplementedError
