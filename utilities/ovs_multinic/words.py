# SPDX-License-Identifier: Apache-2.0
"""Numbers with their nouns."""


def count(number, noun):
    """NUMBER and NOUN, which has an "s" unless there is just one."""
    return '%d %s%s' % (number, noun, '' if number == 1 else 's')
