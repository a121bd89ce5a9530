# SPDX-License-Identifier: Apache-2.0
"""Order, rollback and records, with steps that only note what is done."""
import contextlib
import os
import signal
import tempfile
import unittest
from unittest import mock

from ovs_multinic import engine
from ovs_multinic import signals
from ovs_multinic import state
from ovs_multinic import steps
from ovs_multinic import step as base
from ovs_multinic.errors import Failure


class Fake(base.Step):
    """Sets key NAME of the system, a dictionary, to VALUE.  TROUBLE is a
    function that is called in the middle of the method that it names."""

    kind = 'fake'

    def __init__(self, name, value=1, trouble=None):
        self.name = name
        self.value = value
        self.trouble = trouble or {}

    @classmethod
    def from_json(cls, values):
        return cls(**values)

    def key(self):
        return (self.kind, self.name)

    def json(self):
        return {'kind': 'fake', 'name': self.name, 'value': self.value}

    def text(self):
        return '%s=%s' % (self.name, self.value)

    def is_set(self, system):
        return system.get(self.name) == self.value

    def before(self, system):
        return system.get(self.name)

    def set(self, system):
        system[self.name] = self.value
        self.trouble.get('set', lambda: None)()

    def verify(self, system):
        self.trouble.get('verify', lambda: None)()

    def unset(self, system, before):
        self.trouble.get('unset', lambda: None)()
        if system.get(self.name) != self.value:
            return '%s: left at %s' % (self.name, system.get(self.name))
        if before is None:
            del system[self.name]
        else:
            system[self.name] = before
        return None


def fail():
    """Something goes wrong."""
    raise Failure('no luck')


class Engine(unittest.TestCase):
    def setUp(self):
        steps.KINDS['fake'] = Fake
        self.addCleanup(steps.KINDS.pop, 'fake')
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = os.path.join(directory.name, 'sub/state.json')
        self.said = []

    def apply(self, made, system):
        """One run of "apply", with a state that is read anew."""
        done = state.State(self.path, lock=True)
        try:
            with signals.handled():
                return engine.apply(made, system, done, self.said.append)
        finally:
            done.lock.close()

    def recorded(self):
        """What the file has: (name, value, before)."""
        return [(one.name, one.value, before)
                for one, before in state.State(self.path).records]

    def undo(self, system):
        """One run of "undo"."""
        done = state.State(self.path, lock=True)
        try:
            return engine.undo(system, done, self.said.append)
        finally:
            done.lock.close()

    def test_twice_and_undo(self):
        system = {'b': 1, 'c': 7, 'other': 5}
        made = [Fake('a'), Fake('b'), Fake('c')]
        self.assertEqual(self.apply(made, system), 2)
        self.assertEqual(system, {'a': 1, 'b': 1, 'c': 1, 'other': 5})
        self.assertEqual(self.said, ['a=1', 'c=1'])
        # What was so already is not ours to take back.
        self.assertEqual(self.recorded(), [('a', 1, None), ('c', 1, 7)])
        self.assertEqual(self.apply(made, system), 0)
        self.assertEqual(self.undo(system), (2, [], []))
        self.assertEqual(system, {'b': 1, 'c': 7, 'other': 5})
        self.assertFalse(os.path.exists(self.path))
        self.assertEqual(self.undo(system), (0, [], []))

    def test_a_second_plan_keeps_what_was_first(self):
        system = {'a': 7}
        self.apply([Fake('a', 1)], system)
        self.apply([Fake('a', 2), Fake('b')], system)
        self.assertEqual(self.recorded(), [('a', 2, 7), ('b', 1, None)])
        with self.assertRaises(Failure):
            self.apply([Fake('a', 3), Fake('c', 1, {'set': fail})], system)
        # Back to what the second plan made of it.
        self.assertEqual(system, {'a': 2, 'b': 1})
        self.assertEqual(self.recorded(), [('a', 2, 7), ('b', 1, None)])
        self.undo(system)
        self.assertEqual(system, {'a': 7})

    def test_failure_at_each_step(self):
        names = 'abcde'
        for where in ('set', 'verify'):
            for broken in names:
                system = {'b': 5, 'c': 1}
                made = [Fake(name, 1, {where: fail} if name == broken
                             else None) for name in names]
                self.said.clear()
                if broken == 'c':
                    self.assertEqual(self.apply(made, system), 4)
                    self.undo(system)
                    continue        # It was set already.
                with self.assertRaises(Failure) as caught:
                    self.apply(made, system)
                self.assertEqual(str(caught.exception), 'no luck; took back'
                                 ' all that was done')
                self.assertEqual(system, {'b': 5, 'c': 1}, (where, broken))
                self.assertFalse(os.path.exists(self.path))
                done = [name for name in names[:names.index(broken) + 1]
                        if name != 'c']
                self.assertEqual(
                    [line for line in self.said if 'back' in line],
                    ['back: %s=1' % name for name in reversed(done)])

    def test_rollback_goes_on(self):
        system = {}
        made = [Fake('a'), Fake('b', 1, {'unset': fail}), Fake('c'),
                Fake('d', 1, {'set': fail})]
        with self.assertRaises(Failure) as caught:
            self.apply(made, system)
        self.assertEqual(str(caught.exception), 'no luck; 1 of 4 settings'
                         ' could not be taken back')
        self.assertEqual(self.recorded(), [('b', 1, None)])
        self.assertEqual(self.undo(system), (1, [], []))
        self.assertEqual(system, {})

    def test_rollback_without_room_for_the_state(self):
        """All is back, whether that can be noted or not."""
        system = {}
        made = [Fake('a'), Fake('b'), Fake('c')]
        full = OSError(28, 'No space')
        with mock.patch('os.fsync', side_effect=[None, None] + [full] * 9), \
                self.assertRaises(Failure) as caught:
            self.apply(made, system)
        self.assertEqual(str(caught.exception), self.path + ': No space; took'
                         ' back all that was done')
        self.assertEqual(system, {})
        self.assertIn('not noted: %s: No space' % self.path, self.said)
        self.assertFalse(os.path.exists(self.path + '.new'))
        self.undo(system)
        self.assertEqual((system, self.recorded()), ({}, []))

    def test_what_is_left_because_of_a_failure(self):
        """As a bridge is whose port could not be removed."""
        class Bridge(Fake):
            """It stays as long as "port" is there."""

            def unset(self, system, before):
                if 'port' in system:
                    return 'bridge: left'
                return super().unset(system, before)

        system = {}
        made = [Bridge('bridge'), Fake('port', 1, {'unset': fail}),
                Fake('c', 1, {'set': fail})]
        with self.assertRaises(Failure) as caught:
            self.apply(made, system)
        self.assertEqual(str(caught.exception), 'no luck; 2 of 3 settings'
                         ' could not be taken back')
        self.assertIn('not back: bridge=1: bridge: left', self.said)
        both = [('bridge', 1, None), ('port', 1, None)]
        self.assertEqual(self.recorded(), both)

        done = state.State(self.path)
        done.records = [(one, None) for one in made[:2]]
        self.assertEqual(engine.undo(system, done, self.said.append), (
            0, [], ['port=1: no luck', 'bridge=1: bridge: left']))
        self.assertEqual(self.recorded(), both)
        self.assertEqual(self.undo(system), (2, [], []))
        self.assertEqual(system, {})

    def test_undo_leaves_what_others_changed(self):
        system = {}
        self.apply([Fake('a'), Fake('b'), Fake('c')], system)
        system['b'] = 9
        self.assertEqual(self.undo(system), (2, ['b: left at 9'], []))
        self.assertEqual(system, {'b': 9})
        self.assertFalse(os.path.exists(self.path))

    def test_undo_goes_on(self):
        system = {}
        self.apply([Fake('a'), Fake('b'), Fake('c')], system)
        done = state.State(self.path)
        done.records[1][0].trouble['unset'] = fail
        self.assertEqual(engine.undo(system, done, self.said.append),
                         (2, [], ['b=1: no luck']))
        self.assertEqual(self.recorded(), [('b', 1, None)])

    def test_a_crash_leaves_nothing_unrecorded(self):
        class Crash(BaseException):
            """The process ends."""

        def crash():
            raise Crash
        system = {}
        with contextlib.suppress(Crash):
            self.apply([Fake('a'), Fake('b', 1, {'set': crash})], system)
        self.assertEqual(self.recorded(), [('a', 1, None), ('b', 1, None)])
        self.undo(system)
        self.assertEqual(system, {})

    def test_errors_of_any_kind(self):
        made = [Fake('a'), Fake('b', 1, {'set': lambda: {}['x']})]
        system = {}
        with self.assertRaises(Failure) as caught:
            self.apply(made, system)
        self.assertEqual(str(caught.exception), "b=1: KeyError: 'x'; took"
                         ' back all that was done')
        self.assertEqual(system, {})
        # Before anything is done about a step, it has a name, too.
        made[1].is_set = lambda system: {}['y']
        with self.assertRaises(Failure) as caught:
            self.apply(made, system)
        self.assertEqual(str(caught.exception), "b=1: KeyError: 'y'; took"
                         ' back all that was done')
        self.assertEqual(system, {})

    def test_signals(self):
        for number, name in ((signal.SIGTERM, 'SIGTERM'),
                             (signal.SIGINT, 'SIGINT')):
            system = {}
            made = [Fake('a'), Fake('b', 1, {
                'set': lambda: os.kill(os.getpid(), number),
                'unset': lambda: os.kill(os.getpid(), number)}), Fake('c')]
            with self.assertRaises(Failure) as caught:
                self.apply(made, system)
            self.assertEqual(str(caught.exception),
                             name + '; took back all that was done')
            self.assertEqual(system, {})

    def test_a_signal_while_a_step_waits(self):
        made = [Fake('a', 1, {'set': lambda: os.kill(
            os.getpid(), signal.SIGINT), 'verify': lambda: base.wait_for(
                lambda: False)})]
        system = {}
        with self.assertRaises(Failure) as caught:
            self.apply(made, system)
        self.assertEqual(str(caught.exception),
                         'SIGINT; took back all that was done')

    def test_a_signal_during_undo(self):
        system = {}
        self.apply([Fake('a'), Fake('b')], system)
        done = state.State(self.path)
        done.records[1][0].trouble['unset'] = lambda: os.kill(
            os.getpid(), signal.SIGTERM)
        with signals.handled(), self.assertRaises(signals.Interrupted):
            engine.undo(system, done, self.said.append)
        self.assertEqual(system, {'a': 1})
        self.assertEqual(self.recorded(), [('a', 1, None)])

    def test_a_plan_that_cannot_be_noted(self):
        """As when the disk is full in the end."""
        system = {'b': 5}
        self.apply([Fake('a')], system)
        save = state.State.save

        def full(done):
            if len(done.plan) == 3:
                raise Failure('disk full')
            save(done)

        with mock.patch.object(state.State, 'save', full), \
                self.assertRaises(Failure) as caught:
            self.apply([Fake('a'), Fake('b'), Fake('c')], system)
        self.assertEqual(str(caught.exception), 'disk full; took back all'
                         ' that was done')
        self.assertEqual(system, {'a': 1, 'b': 5})
        done = state.State(self.path)
        self.assertEqual([one.name for one in done.plan], ['a'])
        self.assertEqual(self.recorded(), [('a', 1, None)])

    def test_a_login_that_goes_away(self):
        system = {}
        made = [Fake('a', 1, {
            'set': lambda: os.kill(os.getpid(), signal.SIGHUP)}), Fake('b')]
        self.assertEqual(self.apply(made, system), 2)
        # Nobody reads any more: that is no reason to stop.
        with open(os.devnull) as stream:
            engine.speaker(stream)('a line')

    def test_the_plan_is_more_than_what_was_done(self):
        system = {'b': 1}
        made = [Fake('a'), Fake('b')]
        self.apply(made, system)
        done = state.State(self.path)
        self.assertEqual([one.name for one in done.steps()], ['a', 'b'])
        done.put(Fake('c'), None)
        self.assertEqual([one.name for one in done.steps()], ['a', 'b', 'c'])
        self.undo(system)
        self.assertEqual(system, {'b': 1})
        self.assertFalse(os.path.exists(self.path))

    def test_lock(self):
        done = state.State(self.path, lock=True)
        with self.assertRaises(Failure) as caught:
            state.State(self.path, lock=True)
        self.assertEqual(str(caught.exception), self.path +
                         ': another ovs-multinic is at work')
        done.lock.close()
        state.State(self.path, lock=True).lock.close()

    def test_a_bad_file(self):
        os.makedirs(os.path.dirname(self.path))
        for text, why in (('', 'it is no state file of ovs-multinic'),
                          ('[]', 'it is no state file of ovs-multinic'),
                          ('{"version": 1}', 'it is no state file of'
                                             ' ovs-multinic'),
                          ('{"version": 2, "done": []}',
                           'version 2 is not known'),
                          ('{"version": 1, "plan": [], "done": [{"step":'
                           ' {"kind": "x"}, "before": null}]}',
                           "state.json: step 1: kind: 'x' is not one of ")):
            with open(self.path, 'w') as stream:
                stream.write(text)
            with self.assertRaises(Failure) as caught:
                state.State(self.path)
            self.assertIn(why, str(caught.exception))
