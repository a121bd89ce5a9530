# SPDX-License-Identifier: Apache-2.0
"""Writes a page that shows endpoints and NICs.

One file of HTML without scripts, for any browser: a map of the ways from each
local to each remote address, problems with the commands that mend them,
endpoints, NICs, drops by reason.
"""
import os
import socket
import sys
import tempfile
import time

from ovs_multinic import collector, database, figures, page
from ovs_multinic.errors import Failure


def add_arguments(parser):
    """Adds to a parser of argparse."""
    database.add_arguments(parser)
    parser.add_argument('file', metavar='FILE',
                        help='where to write, or "-" for standard output')


def write(path, text):
    """Makes TEXT the contents of file PATH, or leaves all as it was.  What is
    a device, a pipe or a link stays that, and gets the text."""
    directory = os.path.dirname(path) or '.'
    try:
        if os.path.islink(path) or (os.path.exists(path)
                                    and not os.path.isfile(path)):
            with open(path, 'w', encoding='utf-8') as stream:
                stream.write(text)
            return
        handle, temporary = tempfile.mkstemp(dir=directory, prefix='.report')
        try:
            with open(handle, 'w', encoding='utf-8') as stream:
                stream.write(text)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise Failure('%s: %s' % (path, error.strerror)) from None


def run(arguments):
    """Returns the exit status."""
    source = collector.Collector(arguments.db, arguments.target, whole=True)
    view = figures.Figures()
    view.add(source.sample())
    source.close()
    problem = view.sample.error or view.sample.database_error
    if problem:
        raise Failure(problem)
    text = page.page(view, view.sample.host or socket.gethostname(),
                     time.localtime())
    if arguments.file == '-':
        sys.stdout.buffer.write(text.encode())
    else:
        write(arguments.file, text)
    return 0
