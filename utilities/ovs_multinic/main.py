# SPDX-License-Identifier: Apache-2.0
"""Finds the module of a subcommand and runs it.

A module has a docstring, whose first line --help prints,
add_arguments(parser), which adds to an argparse parser, and
run(arguments), which returns the exit status.  It raises errors.Failure to
end with one line on stderr and the status FAILED of the module (1 if it has
none), which is that of bad arguments as well.
"""
import argparse
import contextlib
import errno
import importlib
import os
import signal
import sys

from ovs_multinic import errors
from ovs_multinic.words import safe

# Subcommand: module of this package.
SUBCOMMANDS = {
    'plan': 'plan_command',
    'apply': 'apply',
    'check': 'check',
    'undo': 'undo',
    'networkd': 'networkd',
    'top': 'view',
    'report': 'report',
    'prometheus': 'prometheus',
}

HELP = {
    'plan': 'print what "apply" would set',
    'apply': 'set up bridges, addresses, rules, tables and sysctls',
    'check': 'tell what is wrong with this host',
    'undo': 'take back what "apply" did',
    'networkd': 'write files for systemd-networkd',
    'top': 'watch endpoints and NICs',
    'report': 'write a page that shows endpoints and NICs',
    'prometheus': 'serve the same figures to Prometheus',
}


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message):
        raise errors.Failure(message)


def usage():
    """Returns the text of "ovs-multinic --help"."""
    lines = ['usage: ovs-multinic SUBCOMMAND [ARGUMENT...]', '']
    lines += ['  %-12s %s' % (name, HELP[name]) for name in SUBCOMMANDS]
    lines += ['', '"ovs-multinic SUBCOMMAND --help" tells more.']
    return '\n'.join(lines)


def run(argv):
    """Runs subcommand argv[0] with the arguments that follow."""
    module = importlib.import_module('ovs_multinic.' + SUBCOMMANDS[argv[0]])
    parser = Parser(prog='ovs-multinic ' + argv[0],
                    description=module.__doc__, allow_abbrev=False,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    module.add_arguments(parser)
    try:
        with printing():
            return module.run(parser.parse_args(argv[1:]))
    except errors.Failure as failure:
        print('ovs-multinic: %s' % safe(failure), file=sys.stderr)
        return getattr(module, 'FAILED', 1)


@contextlib.contextmanager
def printing():
    """Fails if there is no room for what was printed."""
    try:
        try:
            yield
        finally:
            if sys.stdout:
                sys.stdout.flush()
    except OSError as error:
        if error.errno != errno.ENOSPC or error.filename is not None:
            raise
        discard_output()
        raise errors.Failure('standard output: %s'
                             % error.strerror) from None


def discard_output():
    """What is left to be printed does no more harm."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(argv):
    """Returns the exit status of the program."""
    if argv and argv[0] in ('help', '--help', '-h'):
        argv = ['help']
    elif not argv or argv[0] not in SUBCOMMANDS:
        print('ovs-multinic: %s' % ('%s: no such subcommand' % argv[0]
                                    if argv else 'no subcommand is given'),
              file=sys.stderr)
        print(usage(), file=sys.stderr)
        return 1
    try:
        if argv == ['help']:
            with printing():
                print(usage())
            return 0
        return run(argv)
    except errors.Failure as failure:
        print('ovs-multinic: %s' % failure, file=sys.stderr)
        return 1
    except ImportError as error:
        print('ovs-multinic: %s: %s' % (argv[0], error), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # The reader ("| head") has seen enough.
        discard_output()
        return 128 + signal.SIGPIPE
