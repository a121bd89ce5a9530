# SPDX-License-Identifier: Apache-2.0
"""What the fields of steps in a file must be.

Files can be edited and cut off: a field that makes no sense is found before
anything is done, not halfway.
"""
import dataclasses
import ipaddress
import re

from ovs_multinic.errors import Failure

IFNAMSIZ = 16                   # Of linux/if.h, in bytes, with a final zero.
NAME = re.compile(r'[^/:\s]+')  # What the kernel takes.
MAC = re.compile(r'[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}')
SYSCTL = re.compile(r'net/ipv[46]/conf/([^/]+)/[a-z0-9_]+')
ENDPOINTS = re.compile(r'(ovn-)?encap-ip(-.+)?')
MAX_U32 = 0xffffffff
COLUMNS = ('external_ids', 'other_config')


def is_text(value):
    """A string."""
    return isinstance(value, str)


def is_number(value, low=0, high=MAX_U32):
    """A whole number from LOW to HIGH."""
    return type(value) is int and low <= value <= high


def is_name(value):
    """The name of an interface."""
    return (is_text(value) and bool(NAME.fullmatch(value))
            and len(value.encode(errors='replace')) < IFNAMSIZ
            and value not in ('.', '..'))


def converts(convert, value):
    """Whether CONVERT takes VALUE, a string."""
    try:
        return is_text(value) and convert(value) is not None
    except ValueError:
        return False


def is_address(value):
    """An IP address."""
    return converts(ipaddress.ip_address, value) and '%' not in value


def is_interface(value):
    """An IP address with a prefix length."""
    return (converts(ipaddress.ip_interface, value)
            and bool(re.fullmatch(r'[^%/]+/\d+', value)))


def is_prefix(value):
    """A prefix."""
    return is_interface(value) and converts(ipaddress.ip_network, value)


def is_source(value):
    """A prefix that is one address."""
    return is_prefix(value) and ipaddress.ip_network(value).num_addresses == 1


def is_sysctl(value):
    """A file below /proc/sys that a plan may write."""
    found = is_text(value) and SYSCTL.fullmatch(value)
    return bool(found) and is_name(found.group(1))


def is_map(value):
    """An object of strings."""
    return isinstance(value, dict) and all(
        is_text(item) for item in value.values())


def is_settings(value):
    """An object of strings with good lists of endpoints."""
    return is_map(value) and bool(value) and all(
        all(is_address(word) for word in text.split(','))
        for key, text in value.items() if ENDPOINTS.fullmatch(key))


def optional(check):
    """A check that takes None as well."""
    return lambda value: value is None or check(value)


def choice(*values):
    """A check for one of VALUES."""
    return lambda value: is_text(value) and value in values


def is_table(value):
    """The number of a routing table."""
    return is_number(value, 1)


def is_metrics(value):
    """The metrics of a route, as kernel.py has them."""
    return isinstance(value, dict) and all(
        is_text(item) or is_number(item) for item in value.values())


NUMBER = is_number, 'a number'
DEVICE = is_name, 'the name of an interface'
ADDRESS = is_address, 'an address'
PREFIX = is_prefix, 'a prefix'
TABLE = is_table, 'the number of a table'
LABEL = (lambda value: is_text(value) or is_number(value)), 'a word'

# Those of a route that moves, as kernel.py has it.
MOVED = {
    'family': (lambda value: is_number(value, 4, 6) and value != 5,
               '4 or 6'),
    'table': TABLE, 'dst': PREFIX, 'device': DEVICE, 'via': ADDRESS,
    'src': ADDRESS, 'metric': NUMBER, 'type': NUMBER, 'scope': NUMBER,
    'protocol': NUMBER, 'tos': NUMBER, 'flags': NUMBER,
    'metrics': (is_metrics, 'an object of metrics'), 'pref': LABEL,
    'other': LABEL,
}
NEEDED = ('family', 'table', 'dst', 'device')

# By kind and field: a check, and what it wants.
FIELDS = {
    'bridge': {
        'name': DEVICE,
        'hwaddr': (optional(lambda value: is_text(value)
                            and bool(MAC.fullmatch(value))),
                   'a MAC address')},
    'dpdk': {
        'column': (choice('other_config'), 'other_config'),
        'values': (lambda value: value in ({'dpdk-init': 'try'},
                                           {'dpdk-init': 'true'}),
                   'dpdk-init with try or true')},
    'settings': {
        'column': (choice(*COLUMNS), ' or '.join(COLUMNS)),
        'values': (is_settings, 'an object of strings, with addresses where'
                                ' endpoints are')},
    'port': {
        'name': DEVICE, 'bridge': DEVICE,
        'type': (choice('', 'dpdk'), 'dpdk or empty'),
        'options': (is_map, 'an object of strings'),
        'mtu': (optional(lambda value: is_number(value, 68, 65535)),
                'a number from 68 to 65535')},
    'addresses': {
        'device': DEVICE, 'nic': DEVICE,
        'addresses': (lambda value: isinstance(value, list) and bool(value)
                      and all(map(is_interface, value)),
                      'a list of addresses with prefix lengths'),
        'routes': (lambda value: isinstance(value, list)
                   and all(isinstance(one, dict) for one in value),
                   'a list of objects')},
    'route': {
        'table': TABLE, 'dst': PREFIX, 'device': DEVICE, 'src': ADDRESS,
        'via': (optional(is_address), 'an address'),
        'onlink': (lambda value: isinstance(value, bool), 'true or false')},
    'rule': {
        'priority': (lambda value: is_number(value, 1, 32765),
                     'a number from 1 to 32765'),
        'source': (is_source, 'a prefix of one address'), 'table': TABLE},
    'sysctl': {
        'name': (is_sysctl, 'a file of net/ipv4/conf or net/ipv6/conf'),
        'value': (lambda value: is_text(value)
                  and bool(re.fullmatch(r'-?\d+', value)),
                  'a string of digits')},
    'up': {'device': DEVICE},
}


def quote(value):
    """VALUE for a line: short, and nothing else than text."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + '...'


def check_fields(values, wanted, where=''):
    """Fails if one of VALUES is not as WANTED, in the style of FIELDS."""
    for name, value in values.items():
        if name not in wanted:
            raise Failure('%s%s: no such field' % (where, name))
        check, what = wanted[name]
        if not check(value):
            raise Failure('%s%s: %s is not %s'
                          % (where, name, quote(value), what))


def check_families(dst, where='', **addresses):
    """Fails if one of ADDRESSES, which may be None, is of another family than
    DST."""
    for name, value in addresses.items():
        if value is not None and (':' in value) != (':' in dst):
            raise Failure('%s%s: %s is of another family than %s'
                          % (where, name, value, dst))


def check_step(kind, values):
    """Fails if VALUES are not the fields of a step of class KIND."""
    for field in dataclasses.fields(kind):
        if field.name not in values \
                and field.default is dataclasses.MISSING \
                and field.default_factory is dataclasses.MISSING:
            raise Failure('%s is missing' % field.name)
    check_fields(values, FIELDS[kind.kind])
    if kind.kind == 'route':
        check_families(values['dst'], src=values['src'],
                       via=values.get('via'))
    if kind.kind == 'addresses':
        for number, route in enumerate(values.get('routes', ()), 1):
            check_moved(route, 'routes: %d: ' % number)


def check_moved(route, where):
    """Fails if ROUTE is not as kernel.py has routes."""
    for name in NEEDED:
        if name not in route:
            raise Failure('%s%s is missing' % (where, name))
    check_fields(route, MOVED, where)
    if (route['family'] == 6) != (':' in route['dst']):
        raise Failure('%sdst: %s is not IPv%d'
                      % (where, route['dst'], route['family']))
    check_families(route['dst'], where, src=route.get('src'),
                   via=route.get('via'))
