# SPDX-License-Identifier: Apache-2.0
"""Files that are there as a whole or not at all."""
import contextlib
import os

from ovs_multinic.errors import Failure

# While it is written.
SUFFIX = '.new'


def write(path, text):
    """Makes TEXT the contents of file PATH, or fails and leaves it alone."""
    try:
        with open(path + SUFFIX, 'w') as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.rename(path + SUFFIX, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(path + SUFFIX)
        raise Failure('%s: %s' % (path, error.strerror)) from None
