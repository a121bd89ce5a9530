# SPDX-License-Identifier: Apache-2.0
"""What the user asks for: NICs, their addresses and gateways."""
import collections
import ipaddress

from ovs_multinic.errors import Failure

Request = collections.namedtuple('Request', 'nic addresses')
Request.__doc__ = """A NIC and its list of Endpoint."""

Endpoint = collections.namedtuple('Endpoint', 'interface gateway')
Endpoint.__doc__ = """An ipaddress.ip_interface, and an address or None."""

SYNTAX = 'NIC,ADDRESS/LENGTH[,GATEWAY]'


def parse(words):
    """Returns a list of Request from WORDS like SYNTAX, in their order.
    Words that name the same NIC give it several addresses."""
    requests = {}
    for word in words:
        nic, endpoint = parse_word(word)
        requests.setdefault(nic, Request(nic, [])).addresses.append(endpoint)
    requests = list(requests.values())
    refuse_doubles(requests)
    return requests


def parse_word(word):
    """Returns (NIC, Endpoint)."""
    fields = word.split(',')
    nic = fields[0]
    if not nic or not 2 <= len(fields) <= 3 or not all(fields):
        raise Failure('%s: not %s' % (word or "''", SYNTAX))
    interface = parse_interface(nic, fields[1])
    gateway = parse_gateway(nic, interface, fields[2]) \
        if len(fields) == 3 else None
    return nic, Endpoint(interface, gateway)


def parse_interface(nic, text):
    """Returns the ipaddress.ip_interface that TEXT says, if a host can have
    that address."""
    if '/' not in text:
        raise Failure('%s: address %s has no prefix length' % (nic, text))
    try:
        if '%' in text:
            raise ValueError
        interface = ipaddress.ip_interface(text)
    except ValueError:
        raise Failure('%s: %s is no address with a prefix length%s'
                      % (nic, text, without_zone(text))) from None
    if not text.split('/')[1].isdigit():
        raise Failure('%s: the prefix length of %s is no number'
                      % (nic, text))
    why = unusable(interface.ip, interface.network)
    if why:
        raise Failure('%s: address %s is %s' % (nic, text, why))
    if not interface.network.prefixlen:
        raise Failure('%s: the prefix length of %s is 0' % (nic, text))
    return interface


def parse_gateway(nic, interface, text):
    """Returns the address that TEXT says, if it can be the gateway of
    INTERFACE."""
    try:
        if '%' in text:
            raise ValueError
        gateway = ipaddress.ip_address(text)
    except ValueError:
        raise Failure('%s: gateway %s is no address%s'
                      % (nic, text, without_zone(text))) from None
    if gateway.version != interface.version:
        raise Failure('%s: gateway %s is IPv%d, address %s is IPv%d' % (
            nic, text, gateway.version, interface, interface.version))
    if gateway == interface.ip:
        raise Failure('%s: gateway %s is its own address' % (nic, text))
    why = unusable(gateway, interface.network)
    if why == 'link-local' and fits(interface, gateway):
        why = None
    if why:
        raise Failure('%s: gateway %s is %s' % (nic, text, why))
    if not fits(interface, gateway):
        raise Failure('%s: gateway %s is not in the subnet of %s'
                      % (nic, text, interface))
    return gateway


def without_zone(text):
    """What to do about the zone (RFC 4007) of TEXT: the NIC says it."""
    _, percent, zone = text.split('/')[0].partition('%')
    return ': leave %s out' % (percent + zone) if percent else ''


def fits(interface, gateway):
    """Whether GATEWAY can be that of INTERFACE: it is in its subnet, or
    link-local (IPv6: RFC 4861 section 6.2.1), or INTERFACE has no subnet."""
    return (gateway in interface.network or is_alone(interface)
            or gateway.version == 6 and gateway.is_link_local)


def is_alone(interface):
    """Whether INTERFACE, a /32 or /128, has no subnet."""
    return interface.network.prefixlen == interface.max_prefixlen


def needs_onlink(interface, gateway):
    """Whether the kernel takes a route by GATEWAY only if it is told that
    this is on the link."""
    return gateway not in interface.network and not (
        gateway.version == 6 and gateway.is_link_local)


def unusable(address, network):
    """Why no host can have ADDRESS in NETWORK, or None."""
    for name in ('unspecified', 'multicast', 'loopback', 'link_local'):
        if getattr(address, 'is_' + name):
            return {'unspecified': 'the unspecified address',
                    'link_local': 'link-local'}.get(name, name)
    if getattr(address, 'ipv4_mapped', None):
        return 'an IPv4 address in the form of IPv6 (%s)' % address.ipv4_mapped
    if address == ipaddress.ip_address('255.255.255.255'):
        return 'the broadcast address'
    if network.version == 4 and network.prefixlen < 31:
        if address == network.network_address:
            return 'the address of its subnet'
        if address == network.broadcast_address:
            return 'the broadcast address of its subnet'
    if network.version == 6 and network.prefixlen < 127 \
            and address == network.network_address:
        return "the anycast address of its subnet's routers"
    return None


def refuse_doubles(requests):
    """Fails if an address is given twice, or is the gateway of another."""
    owners = {}
    for request in requests:
        for interface, _gateway in request.addresses:
            if interface.ip in owners:
                raise Failure('%s: address %s is given twice%s' % (
                    request.nic, interface,
                    '' if owners[interface.ip] == request.nic
                    else ', the first time for ' + owners[interface.ip]))
            owners[interface.ip] = request.nic
    for request in requests:
        for _interface, gateway in request.addresses:
            if gateway in owners:
                raise Failure('%s: gateway %s is the address of %s'
                              % (request.nic, gateway, owners[gateway]))
