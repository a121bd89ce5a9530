# SPDX-License-Identifier: Apache-2.0
"""Runs Python tests and sums up in one line."""
import signal
import sys
import unittest


class Result(unittest.TextTestResult):
    """Counts tests that passed; a test with failed subtests is one."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.skips = 0

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        # A class or module that is skipped is no test case.
        self.skips += 1
        print('skip  %s: %s' % (test.id(), reason))


def main(suite, where, names):
    """Runs the tests of directory WHERE, or those of these NAMES.  Returns
    the exit status."""
    # So that what a test has made is removed when it is ended from outside.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    loader = unittest.defaultTestLoader
    tests = (loader.loadTestsFromNames(names) if names
             else loader.discover(where))
    result = unittest.TextTestRunner(
        stream=sys.stdout, verbosity=2, resultclass=Result).run(tests)
    bad = {getattr(test, 'test_case', test)
           for test, _ in result.failures + result.errors}
    failed = len(bad) + len(result.unexpectedSuccesses)
    passed = max(0, result.testsRun - failed - sum(
        hasattr(test, '_testMethodName') for test, _ in result.skipped))
    print('%s: %d passed, %d failed, %d skipped'
          % (suite, passed, failed, result.skips))
    return 1 if failed else 0
