# SPDX-License-Identifier: Apache-2.0
"""Names of representors: DPDK's ("vf0", "sf3", "c1pf0vf0"), and the kernel's,
which are in phys_port_name ("pf0vf0", "c1pf0sf3")."""
import collections
import re

# DPDK's number of the VF that stands for the host's own function.
HOST = 65535
WORD = re.compile(r'(?:(?:c(\d+))?pf(\d+))?(vf|sf)(\d+)')
PORT = re.compile(r'(?:c(\d+))?pf(\d+)(?:(vf|sf)(\d+)|(?:hpf)?)')

# CONTROLLER and PF are None where DPDK's name does not tell.
Representor = collections.namedtuple('Representor',
                                     'controller pf kind number')


def number(text):
    """A number, or None."""
    return int(text) if text else None


def parse(word):
    """What DPDK's WORD means, or None if it is no such word."""
    match = WORD.fullmatch(word)
    return match and Representor(number(match[1]), number(match[2]), match[3],
                                 int(match[4]))


def prefix(word):
    """WORD without its last number."""
    return word.rstrip('0123456789')


def of_port(name):
    """What phys_port_name NAME means, or None if it is no representor's.  The
    host's own function is "pf0hpf", "pf0" or "c1pf0"."""
    match = PORT.fullmatch(name)
    return match and Representor(int(match[1] or 0), int(match[2]),
                                 match[3] or 'vf', int(match[4] or HOST))


def matches(wanted, found, pf):
    """Whether FOUND, of a port of the eSwitch, is what is WANTED of the uplink
    of PF (None if unknown)."""
    return (wanted.controller in (None, found.controller)
            and (pf if wanted.pf is None else wanted.pf) in (None, found.pf)
            and wanted[2:] == found[2:])
