# SPDX-License-Identifier: Apache-2.0
"""What lines for people consist of."""


def count(number, noun):
    """NUMBER and NOUN, which has an "s" unless there is just one."""
    return '%d %s%s' % (number, noun, '' if number == 1 else 's')


def safe(text):
    """TEXT with nothing in it that moves the cursor or looks like nothing."""
    return ''.join(c if c.isprintable() else '?' for c in str(text))
