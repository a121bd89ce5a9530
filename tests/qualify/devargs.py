# SPDX-License-Identifier: Apache-2.0
"""DPDK's arguments of devices in the database of Open vSwitch."""
import json
import re
import shlex

from report import FAILED, OK, SKIPPED

# What the offload needs.  All are mlx5's defaults, as those of OTHERS.
NEEDED = {'dv_flow_en': '1', 'dv_xmeta_en': '0', 'dv_esw_en': '1',
          'fdb_def_rule_en': '1', 'decap_en': '1'}
OTHERS = {'allow_duplicate_pattern': '1', 'reclaim_mem_mode': '0'}
PCI = re.compile(r'(?:pci:|bus=pci,addr=)?([0-9a-f]{4}:)?'
                 r'([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?=[,/]|$)', re.I)


def rows(text):
    """Rows of what "ovs-vsctl --format=json list" prints, none of anything
    else.  Maps become dictionaries."""
    try:
        data = json.loads(text)['data']
    except (ValueError, KeyError, TypeError):
        return []
    return [[dict(cell[1]) if cell[:1] == ['map'] else cell for cell in row]
            for row in data]


def address(text):
    """The PCI address that TEXT, a device with arguments, names, or None."""
    found = PCI.match(text.strip())
    return found and ((found[1] or '0000:') + found[2]).lower()


def arguments(text):
    """{key: value} of TEXT, which has an address, but for what says which
    device of DPDK's it is.  Lists in brackets have commas of their own."""
    text, lists = text.strip(), 1
    text = text[PCI.match(text).end():]
    while lists:
        text, lists = re.subn(r'\[[^][]*\]', '', text)
    pairs = (word.strip().partition('=') for word in re.split('[,/]', text))
    return {key: value for key, _, value in pairs
            if key not in ('', 'representor', 'class', 'driver')}


def allowed(extra):
    """The devices with arguments in EXTRA, other_config:dpdk-extra."""
    try:
        words = shlex.split(extra)
    except ValueError:
        words = extra.split()
    for word, following in zip(words, words[1:] + ['']):
        if word in ('-a', '--allow'):
            yield following
        elif word.startswith('--allow='):
            yield word[len('--allow='):]
        elif re.match('-a.', word):
            yield word[2:]


def named(interfaces, extra):
    """(who, text) for all devices that a database names.  INTERFACES are
    (name, type, options)."""
    for name, kind, options in interfaces:
        if kind == 'dpdk' and 'dpdk-devargs' in options:
            yield name, options['dpdk-devargs']
    for text in allowed(extra):
        yield 'dpdk-extra', text


def faults(found):
    """What is wrong with the arguments of one NIC, lines.  FOUND is (who,
    {key: value})."""
    keys = sorted({key for _, values in found for key in values})
    for key in keys:
        default = NEEDED.get(key, OTHERS.get(key, 'none'))
        users = {}
        for who, values in found:
            users.setdefault(values.get(key, default), []).append(who)
        for value in sorted(set(users) - {NEEDED.get(key)}):
            if key in NEEDED:
                yield '%s=%s (%s), needs %s' % (
                    key, value, ', '.join(users[value]), NEEDED[key])
        if len(users) > 1:
            yield '%s is not the same for all: %s' % (key, ', '.join(
                '%s (%s)' % (value, ', '.join(users[value]))
                for value in sorted(users)))


def check(pci, devices):
    """(status, detail) of what DEVICES, (who, text), give the NIC."""
    found = [(who, arguments(text)) for who, text in devices
             if address(text) == pci]
    if not found:
        return SKIPPED, 'no port of a running Open vSwitch names it'
    wrong = '; '.join(faults(found))
    return (FAILED, wrong) if wrong else (
        OK, 'of ' + ', '.join(who for who, _ in found))
