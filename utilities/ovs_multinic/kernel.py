# SPDX-License-Identifier: Apache-2.0
"""Links, addresses, routes and rules of this network namespace.

Addresses, routes and rules are plain dictionaries, so that they can be
compared and kept in files:

  address  address ("10.1.0.1/24"), flags, scope, broadcast, peer, lifetime,
           preferred; the last two in seconds, where it ends
  route    family (4 or 6), table, dst ("10.1.0.0/24"), device, via, src,
           metric, type, scope, protocol, tos, flags, metrics, pref; of
           several next hops hops, their number, and devices, their names
  neighbor ip, mac; one that is there for good
  rule     family, priority, from ("10.1.0.1/32"), table, text; plain is true
           if it has no other selector or action
"""
import collections
import errno
import ipaddress
import os
import socket

from ovs_multinic.errors import Failure

try:
    from pyroute2 import IPRoute
    from pyroute2.netlink import (NLM_F_ACK, NLM_F_APPEND, NLM_F_CREATE,
                                  NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST)
    from pyroute2.netlink.exceptions import NetlinkError
    from pyroute2.netlink.rtnl import (RTM_DELADDR, RTM_DELROUTE, RTM_DELRULE,
                                       RTM_NEWADDR, RTM_NEWNEIGH, RTM_NEWROUTE,
                                       RTM_NEWRULE)
    from pyroute2.netlink.rtnl.fibmsg import fibmsg
    from pyroute2.netlink.rtnl.ifaddrmsg import ifaddrmsg
    from pyroute2.netlink.rtnl.ndmsg import ndmsg
    from pyroute2.netlink.rtnl.rtmsg import rtmsg
except ImportError as error:
    raise ImportError('package python3-pyroute2 is missing') from error

FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}
VERSIONS = {number: version for version, number in FAMILIES.items()}

# From linux/if.h, linux/if_addr.h, linux/rtnetlink.h and linux/fib_rules.h.
IFF_UP = 0x1
IFF_LOOPBACK = 0x8
IFA_F_NODAD = 0x02
IFA_F_DADFAILED = 0x08
IFA_F_DEPRECATED = 0x20
IFA_F_TENTATIVE = 0x40
IFA_F_NOPREFIXROUTE = 0x200
IFA_F_KEPT = IFA_F_NOPREFIXROUTE | 0x100 | 0x400    # MANAGETEMPADDR, MCAUTO
FOREVER = 0xffffffff
NUD_PERMANENT = 0x80
RTNH_F_ONLINK = 0x4
RTN_UNICAST = 1
RTPROT_KERNEL = 2
RTPROT_STATIC = 4
RT_SCOPE_LINK = 253
TABLE_DEFAULT, TABLE_MAIN, TABLE_LOCAL = 253, 254, 255
FR_ACT_TO_TBL = 1
RTA_NH_ID = 30


Link = collections.namedtuple(
    'Link', 'index name mac mtu up carrier loopback master lower kind pci')
Link.__doc__ = """An interface.  MASTER is the name of the bond or bridge that
it is part of, LOWER that of the interface below it (VLAN, macvlan), KIND the
driver of a virtual interface, PCI the address of the device; each may be
None."""


def attributes(message):
    """The attributes of a netlink message by name; those that pyroute2 does
    not know by number."""
    return {value['header']['type'] & 0x3fff if name == 'UNKNOWN' else name:
            value for name, value in message['attrs']}


def compact(**values):
    """A dictionary of what is neither None nor 0 nor empty."""
    return {key: value for key, value in values.items() if value}


def default_dst(family):
    """The prefix of a default route."""
    return '0.0.0.0/0' if family == 4 else '::/0'


def version_of(text):
    """4 or 6, the family of an address or prefix."""
    return 6 if ':' in text else 4


class Kernel:
    """A connection to the kernel, in the namespace where it was made."""

    def __init__(self):
        # Strict checks make the kernel itself filter what it dumps.
        self.ip = IPRoute(strict_check=True)

    def close(self):
        """Ends the connection."""
        self.ip.close()

    def request(self, what, message, kind, flags=0, but=()):
        """Sends MESSAGE; fails with a line about WHAT.  False if the error
        is one of BUT."""
        try:
            self.ip.nlm_request(message, msg_type=kind, msg_flags=(
                NLM_F_REQUEST | NLM_F_ACK | flags))
        except NetlinkError as error:
            if error.code in but:
                return False
            raise Failure('%s: %s' % (what, os.strerror(error.code))) from None
        return True

    # Links.

    def links(self):
        """All interfaces by name."""
        rows = [(message, attributes(message))
                for message in self.ip.get_links()]
        names = {message['index']: a['IFLA_IFNAME'] for message, a in rows}
        links = {}
        for message, a in rows:
            info = attributes(a['IFLA_LINKINFO']) if 'IFLA_LINKINFO' in a \
                else {}
            # The lower end of a veth pair has its index here as well.
            lower = None if info.get('IFLA_INFO_KIND') == 'veth' \
                else names.get(a.get('IFLA_LINK'))
            links[a['IFLA_IFNAME']] = Link(
                message['index'], a['IFLA_IFNAME'], a.get('IFLA_ADDRESS'),
                a['IFLA_MTU'], bool(message['flags'] & IFF_UP),
                bool(a.get('IFLA_CARRIER')),
                bool(message['flags'] & IFF_LOOPBACK),
                names.get(a.get('IFLA_MASTER')), lower,
                info.get('IFLA_INFO_KIND'),
                a.get('IFLA_PARENT_DEV_NAME')
                if a.get('IFLA_PARENT_DEV_BUS_NAME') == 'pci' else None)
        return links

    def index(self, name):
        """The number of an interface, or None."""
        found = self.ip.link_lookup(ifname=name)
        return found[0] if found else None

    def need_index(self, name):
        """The number of an interface; fails if there is none."""
        index = self.index(name)
        if index is None:
            raise Failure('%s: no such interface' % name)
        return index

    def set_link(self, name, **values):
        """Sets the state ("up" or "down") or mtu of an interface."""
        try:
            self.ip.link('set', index=self.need_index(name), **values)
        except NetlinkError as error:
            raise Failure('%s: %s' % (name, os.strerror(error.code))) \
                from None

    # Addresses.

    def addresses(self, name):
        """The addresses of an interface, in the kernel's order; [] if there
        is no such interface."""
        index = self.index(name)
        return [] if index is None else [
            self._address(message)
            for message in self.ip.get_addr(index=index)]

    def all_addresses(self):
        """The addresses of all interfaces, by the interface's number."""
        found = {}
        for message in self.ip.get_addr():
            found.setdefault(message['index'], []).append(
                self._address(message))
        return found

    def own_addresses(self, name):
        """The addresses, as text, that somebody gave interface NAME: not those
        that the kernel makes for a link."""
        interfaces = [ipaddress.ip_interface(address['address'])
                      for address in self.addresses(name)]
        return [str(interface) for interface in interfaces
                if interface.version == 4 or not interface.is_link_local]

    def holders(self, ip):
        """The names of the interfaces that have address IP."""
        addresses = self.all_addresses()
        return [link.name for link in self.links().values()
                if ip in [address['address'].split('/')[0]
                          for address in addresses.get(link.index, [])]]

    def _address(self, message):
        a = attributes(message)
        local = a.get('IFA_LOCAL', a['IFA_ADDRESS'])
        ends = a.get('IFA_CACHEINFO', {})
        life, preferred = (ends.get(name, FOREVER)
                           for name in ('ifa_valid', 'ifa_preferred'))
        return compact(
            address='%s/%d' % (local, message['prefixlen']),
            flags=a.get('IFA_FLAGS', message['flags']),
            scope=message['scope'], broadcast=a.get('IFA_BROADCAST'),
            peer=a['IFA_ADDRESS'] if a['IFA_ADDRESS'] != local else None,
            lifetime=None if life == FOREVER else life,
            preferred=None if preferred == FOREVER else preferred)

    def _address_message(self, name, address, flags=None, ends=False):
        interface = ipaddress.ip_interface(address['address'])
        message = ifaddrmsg()
        message['family'] = FAMILIES[interface.version]
        message['index'] = self.need_index(name)
        message['prefixlen'] = interface.network.prefixlen
        message['scope'] = address.get('scope', 0)
        local = str(interface.ip)
        message['attrs'] = [['IFA_LOCAL', local],
                            ['IFA_ADDRESS', address.get('peer', local)]]
        if flags is not None:
            message['attrs'].append(['IFA_FLAGS', flags])
            if 'broadcast' in address:
                message['attrs'].append(['IFA_BROADCAST',
                                         address['broadcast']])
            if interface.version == 4:
                message['attrs'].append(['IFA_LABEL', name])
        if ends:
            deprecated = address.get('flags', 0) & IFA_F_DEPRECATED
            message['attrs'].append(['IFA_CACHEINFO', {
                'ifa_preferred': 0 if deprecated
                else address.get('preferred', FOREVER),
                'ifa_valid': address.get('lifetime', FOREVER)}])
        return message, 'address %s on %s' % (address['address'], name)

    def add_address(self, name, address, dad=True, ends=False):
        """Gives ADDRESS to an interface; without DAD an IPv6 address is
        usable at once.  It stays for good, or ENDS when it says."""
        flags = address.get('flags', 0) & IFA_F_KEPT
        if not dad and version_of(address['address']) == 6:
            flags |= IFA_F_NODAD
        message, what = self._address_message(name, address, flags, ends)
        added = self.request(what, message, RTM_NEWADDR,
                             NLM_F_CREATE | NLM_F_EXCL,
                             but=(errno.EEXIST,))
        if added and flags & IFA_F_NODAD & ~address.get('flags', 0):
            # It is as it would be after DAD: take the mark away.
            message, what = self._address_message(
                name, address, flags & ~IFA_F_NODAD, ends)
            self.request(what, message, RTM_NEWADDR, NLM_F_REPLACE)
        return added

    def delete_address(self, name, address):
        """Takes ADDRESS from an interface; False if it is not there."""
        message, what = self._address_message(name, address)
        return self.request(what, message, RTM_DELADDR,
                            but=(errno.EADDRNOTAVAIL,))

    # Neighbours.

    def neighbors(self, name):
        """The permanent neighbours on an interface."""
        index = self.index(name)
        return [] if index is None else [
            {'ip': message.get_attr('NDA_DST'),
             'mac': message.get_attr('NDA_LLADDR')}
            for message in self.ip.get_neighbours(
                match=lambda message: message['ifindex'] == index
                and message['family'] in VERSIONS
                and message['state'] & NUD_PERMANENT)]

    def add_neighbor(self, name, neighbor):
        """Gives an interface a permanent neighbour, in place of what it knows
        of that address."""
        message = ndmsg()
        message['family'] = FAMILIES[version_of(neighbor['ip'])]
        message['ifindex'] = self.need_index(name)
        message['state'] = NUD_PERMANENT
        message['attrs'] = [['NDA_DST', neighbor['ip']],
                            ['NDA_LLADDR', neighbor['mac']]]
        self.request('neighbour %s on %s' % (neighbor['ip'], name), message,
                     RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE)

    # Routes.

    def routes(self, family, device=None, table=None):
        """The routes of FAMILY by that device or in that table.  Those with
        several next hops have no device, but "hops"."""
        wanted = {'family': FAMILIES[family], 'match': lambda message: True}
        if device is not None:
            wanted['oif'] = self.index(device)
            if wanted['oif'] is None:
                return []
        if table is not None:
            wanted['table'] = table
        names = {message['index']: message.get_attr('IFLA_IFNAME')
                 for message in self.ip.get_links()}
        try:
            messages = self.ip.route('dump', **wanted)
        except NetlinkError as error:
            if error.code == errno.ENOENT:      # No table of that number.
                return []
            raise
        return [self._route(message, names) for message in messages
                if message['family'] == FAMILIES[family]]

    def _route(self, message, names):
        a = attributes(message)
        family = VERSIONS[message['family']]
        metrics = attributes(a['RTA_METRICS']) if 'RTA_METRICS' in a else {}
        hops = a.get('RTA_MULTIPATH', ())
        other = next((name for name in ('RTA_ENCAP', 'RTA_VIA', RTA_NH_ID)
                      if name in a), 'RTA_SRC' if message['src_len'] else None)
        return compact(
            family=family, table=a.get('RTA_TABLE', message['table']),
            dst='%s/%d' % (a['RTA_DST'], message['dst_len'])
            if 'RTA_DST' in a else default_dst(family),
            device=names.get(a.get('RTA_OIF')), via=a.get('RTA_GATEWAY'),
            src=a.get('RTA_PREFSRC'), metric=a.get('RTA_PRIORITY'),
            type=message['type'], scope=message['scope'],
            protocol=message['proto'], tos=message['tos'],
            flags=message['flags'] & RTNH_F_ONLINK,
            metrics={name: value for name, value in metrics.items()
                     if isinstance(name, str)},
            pref=a.get('RTA_PREF'), hops=len(hops),
            devices=sorted({names[hop['oif']] for hop in hops}),
            other='RTA_NH_ID' if other == RTA_NH_ID else other)

    def _route_message(self, route):
        message = rtmsg()
        dst, length = route['dst'].split('/')
        message['family'] = FAMILIES[route['family']]
        message['dst_len'] = int(length)
        message['table'] = route['table'] if route['table'] < 256 else 0
        for field, key in (('type', 'type'), ('scope', 'scope'),
                           ('proto', 'protocol'), ('tos', 'tos'),
                           ('flags', 'flags')):
            message[field] = route.get(key, 0)
        message['attrs'] = [['RTA_TABLE', route['table']],
                            ['RTA_OIF', self.need_index(route['device'])]]
        if int(length):
            message['attrs'].append(['RTA_DST', dst])
        for name, key in (('RTA_GATEWAY', 'via'), ('RTA_PREFSRC', 'src'),
                          ('RTA_PRIORITY', 'metric'), ('RTA_PREF', 'pref')):
            if key in route:
                message['attrs'].append([name, route[key]])
        if 'metrics' in route:
            message['attrs'].append(['RTA_METRICS', {
                'attrs': [list(item) for item in route['metrics'].items()]}])
        return message, route_text(route)

    def add_route(self, route, replace=False, first=False):
        """Adds a route; False if there is an equal one.  With REPLACE, takes
        the place of one with its destination and metric.  With FIRST, one of
        IPv4 comes before these."""
        message, what = self._route_message(route)
        # Appended, since several IPv4 routes may have one destination and
        # metric.  An appended IPv6 route would join the other's next hops.
        flags = NLM_F_CREATE | (
            NLM_F_REPLACE if replace else
            NLM_F_EXCL if route['family'] == 6 else
            0 if first else NLM_F_APPEND)
        return self.request(what, message, RTM_NEWROUTE, flags,
                            but=() if replace else (errno.EEXIST,))

    def delete_route(self, route):
        """Deletes a route; False if it is not there."""
        message, what = self._route_message(route)
        return self.request(what, message, RTM_DELROUTE,
                            but=(errno.ESRCH, errno.ENOENT))

    def way(self, dst, src=None):
        """The name of the interface by which packets to DST go, or None."""
        wanted = {'family': FAMILIES[version_of(dst)], 'dst': dst}
        if src:
            wanted['src'] = src
        try:
            reply = self.ip.route('get', **wanted)
        except NetlinkError:
            return None
        index = reply[0].get_attr('RTA_OIF')
        return next((link.name for link in self.links().values()
                     if link.index == index), None)

    # Rules.

    def rules(self, family):
        """The policy rules of FAMILY, in order."""
        return [self._rule(family, message)
                for message in self.ip.get_rules(family=FAMILIES[family])]

    def _rule(self, family, message):
        a = attributes(message)
        usual = {'FRA_TABLE', 'FRA_PRIORITY', 'FRA_PROTOCOL', 'FRA_SRC',
                 'FRA_SUPPRESS_PREFIXLEN'}
        plain = (message['action'] == FR_ACT_TO_TBL and set(a) <= usual
                 and not message['flags'] and not message['tos']
                 and a.get('FRA_SUPPRESS_PREFIXLEN', FOREVER) == FOREVER)
        source = '%s/%d' % (a['FRA_SRC'], message['src_len']) \
            if 'FRA_SRC' in a else None
        rule = {'family': family, 'priority': a.get('FRA_PRIORITY', 0),
                'from': source, 'plain': plain,
                'table': a.get('FRA_TABLE', message['table'])
                if message['action'] == FR_ACT_TO_TBL else 0}
        rule['text'] = rule_text(rule) + ('' if plain else ' (and more)')
        return rule

    def _rule_message(self, rule):
        message = fibmsg()
        source, length = rule['from'].split('/')
        message['family'] = FAMILIES[rule['family']]
        message['src_len'] = int(length)
        message['table'] = rule['table'] if rule['table'] < 256 else 0
        message['action'] = FR_ACT_TO_TBL
        message['attrs'] = [['FRA_TABLE', rule['table']],
                            ['FRA_PRIORITY', rule['priority']],
                            ['FRA_SRC', source],
                            ['FRA_PROTOCOL', RTPROT_STATIC]]
        return message, rule_text(rule)

    def add_rule(self, rule):
        """Adds a rule of the plain kind; False if there is an equal one."""
        message, what = self._rule_message(rule)
        return self.request(what, message, RTM_NEWRULE,
                            NLM_F_CREATE | NLM_F_EXCL,
                            but=(errno.EEXIST,))

    def delete_rule(self, rule):
        """Deletes a rule of the plain kind; False if it is not there."""
        message, what = self._rule_message(rule)
        message['attrs'].pop()          # Whoever made it.
        return self.request(what, message, RTM_DELRULE,
                            but=(errno.ENOENT,))


def table_text(table):
    """The name of a table, or its number."""
    return {TABLE_DEFAULT: 'default', TABLE_MAIN: 'main',
            TABLE_LOCAL: 'local'}.get(table, str(table))


def route_text(route):
    """A route as "ip route" would take it, after the word "route"."""
    dst = route['dst']
    words = ['route', 'default' if dst.endswith('/0') else dst]
    for word, key in (('via', 'via'), ('dev', 'device'), ('src', 'src'),
                      ('metric', 'metric')):
        if key in route:
            words += [word, str(route[key])]
    if route.get('flags', 0) & RTNH_F_ONLINK:
        words.append('onlink')
    return ' '.join(words + ['table', table_text(route['table'])])


def rule_text(rule):
    """A rule as "ip rule" would take it, after the word "rule"."""
    source = (rule['from'] or 'all').removesuffix(
        '/32' if rule['family'] == 4 else '/128')
    return 'rule pref %d from %s lookup %s' % (
        rule['priority'], source, table_text(rule['table']))
