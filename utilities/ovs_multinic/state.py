# SPDX-License-Identifier: Apache-2.0
"""The file that remembers what "apply" did, for "undo" and "check"."""
import fcntl
import json
import os

from ovs_multinic import file
from ovs_multinic import steps
from ovs_multinic.errors import Failure

DEFAULT = '/var/lib/ovs-multinic/state.json'
VERSION = 1


def add_arguments(parser):
    """Adds the option that names the file."""
    parser.add_argument(
        '--state', metavar='FILE', default=DEFAULT,
        help='file that remembers what was done (default: %(default)s)')


class State:
    """PLAN, the steps that were applied last, and RECORDS of those that
    changed something, in the order in which that was done: (step, before).

    With LOCK nobody else changes the file meanwhile.  A record is in the
    file before the step is done, so a crash leaves nothing unrecorded."""

    def __init__(self, path, lock=False):
        self.path = path
        self.plan = []
        self.records = []
        self.lock = None
        if lock:
            self._lock()
        try:
            with open(path) as stream:
                value = json.load(stream)
            if value['version'] != VERSION:
                raise Failure('%s: version %s is not known'
                              % (path, value['version']))
            self.plan = steps.from_json(path, value['plan'])
            self.records = list(zip(
                steps.from_json(path, [record['step']
                                       for record in value['done']]),
                [record['before'] for record in value['done']]))
        except FileNotFoundError:
            pass
        except OSError as error:
            raise Failure('%s: %s' % (path, error.strerror)) from None
        except (KeyError, RecursionError, TypeError, ValueError):
            raise Failure('%s: it is no state file of ovs-multinic'
                          % path) from None

    def _lock(self):
        try:
            os.makedirs(os.path.dirname(os.path.abspath(self.path)),
                        mode=0o755, exist_ok=True)
            self.lock = open(self.path + '.lock', 'w')
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failure('%s: another ovs-multinic is at work'
                          % self.path) from None
        except OSError as error:
            raise Failure('%s: %s' % (self.path, error.strerror)) from None

    def steps(self):
        """The steps that should be as they say: the plan, and what an
        "apply" that did not get to its end left behind."""
        keys = {step.key() for step in self.plan}
        return self.plan + [step for step, _before in self.records
                            if step.key() not in keys]

    def find(self, step):
        """The record (step, before) of what STEP sets, or None."""
        return next((record for record in self.records
                     if record[0].key() == step.key()), None)

    def put(self, step, before):
        """Records STEP, in place of one that set the same thing, and saves."""
        for index, (other, _before) in enumerate(self.records):
            if other.key() == step.key():
                self.records[index] = (step, before)
                break
        else:
            self.records.append((step, before))
        self.save()

    def remove(self, step):
        """Forgets STEP, and saves."""
        self.records = [record for record in self.records
                        if record[0].key() != step.key()]
        self.save()

    def finish(self, plan):
        """Records that PLAN is applied, and saves."""
        before, self.plan = self.plan, plan
        try:
            self.save()
        except Failure:
            self.plan = before
            raise

    def save(self):
        """Writes the file, at once or not at all; no contents, no file."""
        try:
            if not self.records and not self.plan:
                if os.path.exists(self.path):
                    os.unlink(self.path)
                return
            value = {'version': VERSION,
                     'plan': [step.json() for step in self.plan],
                     'done': [{'step': step.json(), 'before': before}
                              for step, before in self.records]}
            file.write(self.path, json.dumps(value, indent=1) + '\n')
        except OSError as error:
            raise Failure('%s: %s' % (self.path, error.strerror)) from None
