# SPDX-License-Identifier: Apache-2.0
"""Plans, from hosts that are made by hand."""
import ipaddress
import os
import unittest

from ovs_multinic import endpoints
from ovs_multinic import host
from ovs_multinic import plan
from ovs_multinic.errors import Failure
from ovs_multinic.kernel import Link


def link(index, name, **fields):
    """An Ethernet interface that is up."""
    values = dict(mac='02:00:00:00:00:0%d' % index, mtu=1500, up=True,
                  carrier=True, loopback=False, master=None, lower=None,
                  kind=None, pci='0000:0%d:00.0' % index)
    return Link(index=index, name=name, **{**values, **fields})


def a_host(**fields):
    """A host of two NICs that nobody uses."""
    there = host.Host(links={'nic1': link(1, 'nic1'),
                             'nic2': link(2, 'nic2')},
                      pci_devices={'0000:01:00.0', '0000:02:00.0',
                                   '0000:09:00.0'})
    for name, value in fields.items():
        setattr(there, name, value)
    return there


def rule(priority, source, table, plain=True):
    """A policy rule as kernel.py has it."""
    return {'family': 6 if ':' in (source or '') else 4, 'plain': plain,
            'priority': priority, 'from': source, 'table': table,
            'text': 'rule %d' % priority}


def route(table, dst, device, **fields):
    """A route as kernel.py has it."""
    return {'family': 6 if ':' in dst else 4, 'table': table, 'dst': dst,
            'device': device, 'type': 1, **fields}


TWO = ['nic1,10.1.1.1/24,10.1.1.254', 'nic2,10.1.2.1/24,10.1.2.254']


def texts(words=TWO, there=None, **options):
    """The lines of the plan for WORDS."""
    steps, _notes = plan.make(endpoints.parse(words),
                              plan.Options(**options), there or a_host())
    return [step.text() for step in steps]


class Make(unittest.TestCase):
    def test_all_of_it(self):
        self.assertEqual(texts(TWO[:1] + ['nic1,2001:db8::1/64,2001:db8::2'],
                               a_host()), '''\
add-br br-nic1 datapath_type=netdev other_config:hwaddr=02:00:00:00:00:01
sysctl net/ipv4/conf/br-nic1/rp_filter=2
sysctl net/ipv4/conf/br-nic1/arp_ignore=1
sysctl net/ipv4/conf/br-nic1/arp_announce=2
sysctl net/ipv6/conf/br-nic1/accept_ra=0
link set nic1 up
link set br-nic1 up
add-port br-nic1 nic1
addr add 10.1.1.1/24 dev br-nic1; addr add 2001:db8::1/64 dev br-nic1
route add 10.1.1.0/24 dev br-nic1 src 10.1.1.1 table 101
route add default via 10.1.1.254 dev br-nic1 src 10.1.1.1 table 101
route add 2001:db8::/64 dev br-nic1 src 2001:db8::1 metric 1024 table 101
route add default via 2001:db8::2 dev br-nic1 src 2001:db8::1 metric 1024 \
table 101
sysctl net/ipv4/conf/nic1/arp_ignore=8
sysctl net/ipv4/conf/nic1/rp_filter=1
sysctl net/ipv6/conf/nic1/disable_ipv6=1
rule add pref 1001 from 10.1.1.1 lookup 101
rule add pref 1001 from 2001:db8::1 lookup 101
set Open_vSwitch . external_ids:ovn-encap-type=geneve \
external_ids:ovn-encap-ip=10.1.1.1,2001:db8::1 \
external_ids:ovn-encap-ip-default=10.1.1.1 \
external_ids:ovn-bridge-datapath-type=netdev
set Open_vSwitch . other_config:encap-ip-default=2001:db8::1'''.split('\n'))

    def test_the_sample_of_the_documentation(self):
        with open(os.path.join(os.path.dirname(__file__), '../../'
                               'Documentation/ovs-multinic.rst')) as stream:
            text = stream.read()
        block = text[text.index('$ ovs-multinic plan '):].split('\n\n')[0]
        command, *lines = block.split('\n')
        self.assertEqual([line.removeprefix('    + ') for line in lines],
                         texts(command.split()[3:]))

    def has(self, lines, *wanted):
        """LINES have all of WANTED, in that order."""
        rest = iter(lines)
        for line in wanted:
            self.assertIn(line, rest, '\n'.join(lines))

    def test_numbers_count_within_a_family(self):
        lines = texts(TWO + ['nic1,2001:db8:1::1/64', 'nic2,10.1.3.1/24',
                             'nic2,2001:db8:2::1/64'],
                      table_base=7, priority_base=50)
        self.has(lines, 'rule add pref 50 from 10.1.1.1 lookup 7',
                 'rule add pref 50 from 2001:db8:1::1 lookup 7',
                 'rule add pref 51 from 10.1.2.1 lookup 8',
                 'rule add pref 52 from 10.1.3.1 lookup 9',
                 'rule add pref 51 from 2001:db8:2::1 lookup 8')

    def test_gateways_outside_the_subnet(self):
        lines = texts(['nic1,10.1.1.1/32,10.9.9.9',
                       'nic1,2001:db8:1::1/64,fe80::1',
                       'nic2,2001:db8:2::1/128,2001:db8:9::9'])
        self.assertEqual([line for line in lines if 'route' in line], [
            'route add default via 10.9.9.9 dev br-nic1 src 10.1.1.1 onlink'
            ' table 101',
            'route add 2001:db8:1::/64 dev br-nic1 src 2001:db8:1::1 metric'
            ' 1024 table 101',
            'route add default via fe80::1 dev br-nic1 src 2001:db8:1::1'
            ' metric 1024 table 101',
            'route add default via 2001:db8:9::9 dev br-nic2 src'
            ' 2001:db8:2::1 metric 1024 onlink table 102'])
        # Configured like this, it is not the router advertisements' business.
        self.has(lines, 'sysctl net/ipv6/conf/br-nic1/accept_ra=0',
                 'sysctl net/ipv6/conf/br-nic2/accept_ra=0')

    def test_a_link_local_gateway_says_nothing_about_other_links(self):
        there = a_host(addresses={'eth5': [{'address': 'fe80::1/64',
                                            'scope': 253}]})
        words = ['nic1,2001:db8::1/64,fe80::1']
        texts(words, there)
        for device in 'nic1', 'br-nic1':
            there.addresses = {device: [{'address': 'fe80::1/64',
                                         'scope': 253}]}
            with self.assertRaises(Failure) as caught:
                texts(words, there)
            self.assertEqual(str(caught.exception), 'nic1: gateway fe80::1 is'
                             ' an address of this host (%s)' % device)

    def test_a_default_for_each_family(self):
        both = TWO + ['nic1,2001:db8::1/64', 'nic2,2001:db8:1::1/64']

        def defaults(words=both, **options):
            return [word.partition(':')[2]
                    for line in texts(words, **options)
                    for word in line.split() if 'encap-ip-default' in word]
        self.assertEqual(defaults(), ['ovn-encap-ip-default=10.1.1.1',
                                      'encap-ip-default=2001:db8::1'])
        self.assertEqual(defaults(both[::-1]), [
            'ovn-encap-ip-default=2001:db8:1::1',
            'encap-ip-default=10.1.2.1'])
        self.assertEqual(defaults(default='10.1.2.1'), [
            'ovn-encap-ip-default=10.1.2.1', 'encap-ip-default=2001:db8::1'])
        self.assertEqual(defaults(default='2001:DB8:1:0::1'), [
            'ovn-encap-ip-default=2001:db8:1::1',
            'encap-ip-default=10.1.1.1'])
        self.assertEqual(defaults(default='10.1.2.1,2001:db8:1::1'), [
            'ovn-encap-ip-default=10.1.2.1',
            'encap-ip-default=2001:db8:1::1'])
        self.assertEqual(defaults(default='10.1.2.1', ovn=False), [
            'encap-ip-default=10.1.2.1,2001:db8::1'])
        self.assertEqual(defaults(TWO), ['ovn-encap-ip-default=10.1.1.1'])
        self.assertEqual(defaults(TWO, ovn=False),
                         ['encap-ip-default=10.1.1.1'])

    def test_no_subnet_and_no_gateway(self):
        lines = texts(['nic1,10.1.1.1/32', 'nic2,10.1.2.1/31'])
        self.assertEqual([line for line in lines if 'route' in line], [
            'route add 10.1.2.0/31 dev br-nic2 src 10.1.2.1 table 102'])
        _steps, notes = plan.make(endpoints.parse([
            'nic1,10.1.1.1/32', 'nic1,10.1.1.2/32,10.1.1.3',
            'nic2,10.1.2.1/31', 'nic2,2001:db8::1/128']), plan.Options(),
            a_host())
        self.assertEqual(notes, [
            '%s: without subnet and gateway, table %d stays empty: table main'
            ' decides' % pair for pair in (('10.1.1.1/32', 101),
                                           ('2001:db8::1/128', 101))])

    def test_router_advertisements_where_they_give_the_gateway(self):
        lines = texts(['nic1,2001:db8::1/64'])
        self.assertNotIn('sysctl net/ipv6/conf/br-nic1/accept_ra=0', lines)

    def test_no_ipv6(self):
        self.assertFalse([line for line in texts(there=a_host(ipv6=False))
                          if 'ipv6' in line])

    def test_ports(self):
        lines = texts(dpdk=True)
        self.assertEqual(lines[0],
                         'set Open_vSwitch . other_config:dpdk-init=try')
        self.has(lines, 'add-port br-nic1 nic1 type=dpdk'
                        ' options:dpdk-devargs=0000:01:00.0',
                 'add-port br-nic2 nic2 type=dpdk'
                 ' options:dpdk-devargs=0000:02:00.0')
        self.has(texts(devargs='net_af_packet_{nic},iface={nic},pci={pci}'),
                 'add-port br-nic2 nic2 type=dpdk options:dpdk-devargs='
                 'net_af_packet_nic2,iface=nic2,pci=0000:02:00.0')
        self.has(texts(mtu=9000), 'add-port br-nic1 nic1 mtu_request=9000')

    def test_dpdk_keeps_the_mtu(self):
        there = a_host()
        there.links['nic1'] = link(1, 'nic1', mtu=9000)
        self.has(texts(there=there, dpdk=True),
                 'add-port br-nic1 nic1 type=dpdk options:dpdk-devargs='
                 '0000:01:00.0 mtu_request=9000')
        self.has(texts(there=there), 'add-port br-nic1 nic1')

    def test_dpdk_init_true_is_kept(self):
        self.assertEqual(
            texts(there=a_host(other_config={'dpdk-init': 'true'}),
                  dpdk=True)[0],
            'set Open_vSwitch . other_config:dpdk-init=true')

    def test_pci_address(self):
        lines = texts(['0000:01:00.0,10.1.1.1/24'], dpdk=True)
        self.has(lines, 'add-port br-nic1 nic1 type=dpdk'
                        ' options:dpdk-devargs=0000:01:00.0')
        # Its driver is not the kernel's: no link, no MAC address.
        lines = texts(['0000:09:00.0,10.1.1.1/24'], dpdk=True)
        self.has(lines, 'add-br br-p09000 datapath_type=netdev',
                 'link set br-p09000 up',
                 'add-port br-p09000 p09000 type=dpdk'
                 ' options:dpdk-devargs=0000:09:00.0')
        self.assertNotIn('link set p09000 up', lines)

    def test_without_ovn(self):
        self.assertEqual(
            texts(ovn=False, default='10.1.2.1')[-1],
            'set Open_vSwitch . other_config:encap-ip=10.1.1.1,10.1.2.1'
            ' other_config:encap-ip-default=10.1.2.1')

    def test_the_key_of_the_chassis_wins(self):
        there = a_host(external_ids={'system-id': 'c1',
                                     'ovn-encap-ip-c1': '10.9.9.9',
                                     'ovn-encap-type-c2': 'vxlan'})
        _steps, notes = plan.make(endpoints.parse(TWO), plan.Options(), there)
        self.assertEqual(notes,
                         ['external_ids:ovn-encap-ip-c1: is 10.9.9.9 now'])
        self.assertIn('external_ids:ovn-encap-type=geneve external_ids:'
                      'ovn-encap-ip-c1=10.1.1.1,10.1.2.1 ',
                      texts(there=there)[-1])

    def test_own_rules_keep_their_numbers(self):
        there = a_host(rules=[rule(1001, '10.1.2.1/32', 101),
                              rule(0, None, 255), rule(32766, None, 254)])
        lines = texts(there=there)
        self.has(lines, 'rule add pref 1002 from 10.1.1.1 lookup 102',
                 'rule add pref 1001 from 10.1.2.1 lookup 101')

    def test_what_is_there_already_changes_nothing(self):
        there = a_host(
            bridges={'br-nic1': 'netdev', 'br-nic2': 'netdev'},
            ports={'nic1': 'br-nic1', 'nic2': 'br-nic2'},
            addresses={'br-nic1': [{'address': '10.1.1.1/24'}]},
            rules=[rule(1001, '10.1.1.1/32', 101)],
            routes=[route(101, '0.0.0.0/0', 'br-nic1', via='10.1.1.254')])
        there.links['br-nic1'] = link(3, 'br-nic1', kind='tun', pci=None)
        self.assertEqual(texts(there=there), texts())

    def test_notes(self):
        there = a_host(rules=[
            rule(0, None, 255), rule(500, '10.1.0.0/16', 7),
            rule(600, '10.2.0.0/16', 7), rule(700, '10.2.0.1/16', 7)],
            bridges={'br-nic2': 'netdev'}, secure_bridges={'br-nic2'})
        there.addresses = {'nic1': [{'address': '10.1.1.1/24',
                                     'lifetime': 100}]}
        _steps, notes = plan.make(endpoints.parse(TWO), plan.Options(), there)
        self.assertEqual(notes, [
            'nic1: address 10.1.1.1/24 has a lifetime: stop what renews it'
            ' (DHCP client, router advertisements)',
            '10.1.1.1: "rule 500" comes before its own rule',
            'nic2: fail_mode of br-nic2 is secure: only flows of its'
            ' controller connect the two',
            '10.1.2.1: "rule 500" comes before its own rule'])

    def dpdk_host(self):
        """nic1 is a DPDK port of a bridge that somebody made."""
        return a_host(bridges={'br-nic1': 'netdev'},
                      hwaddrs={'br-nic1': '02:00:00:00:00:99'},
                      ports={'nic1': 'br-nic1'},
                      dpdk_ports={'nic1': {'dpdk-devargs': '0000:01:00.0,x=1',
                                           'n_rxq': '2'}})

    def test_a_dpdk_port_is_noted(self):
        there = self.dpdk_host()
        replaced = ('nic1: other_config:hwaddr of br-nic1 is'
                    ' 02:00:00:00:00:99 now, becomes 02:00:00:00:00:01')
        for options, expected in (
                ({}, ["nic1: is a DPDK port (0000:01:00.0,x=1); becomes a port"
                      " of the kernel's driver without --devargs", replaced]),
                ({'dpdk': True}, [replaced]),
                ({'from_host': True}, [replaced])):
            _steps, notes = plan.make(endpoints.parse(TWO),
                                      plan.Options(**options), there)
            self.assertEqual(notes, expected)
        there.hwaddrs['br-nic1'] = '02:00:00:00:00:01'
        there.dpdk_ports = {}
        self.assertEqual(plan.make(endpoints.parse(TWO), plan.Options(),
                                   there)[1], [])

    def test_from_host_keeps_a_dpdk_port(self):
        there = self.dpdk_host()
        there.links['nic1'] = link(1, 'nic1', mtu=9000)
        lines = texts(there=there, from_host=True)
        self.has(lines, 'set Open_vSwitch . other_config:dpdk-init=try',
                 'add-port br-nic1 nic1 type=dpdk options:dpdk-devargs='
                 '0000:01:00.0,x=1 options:n_rxq=2',
                 'add-port br-nic2 nic2')
        self.has(texts(there=there, from_host=True, dpdk=True),
                 'add-port br-nic1 nic1 type=dpdk options:dpdk-devargs='
                 '0000:01:00.0 mtu_request=9000')
        # The kernel may have no NIC of that name.
        del there.links['nic1']
        self.assertEqual(texts(there=there, from_host=True)[1],
                         'add-br br-nic1 datapath_type=netdev')


class Refuse(unittest.TestCase):
    def refuses(self, line, words=TWO, there=None, **options):
        """The plan is refused with LINE."""
        with self.assertRaises(Failure) as caught:
            texts(words, there, **options)
        self.assertEqual(str(caught.exception), line)

    def test_bonds(self):
        """Of Open vSwitch, in whatever bridge."""
        there = a_host(bridges={'br-nic1': 'netdev'},
                       ports={'nic1': 'br-nic1', 'nic2': 'br-nic1'},
                       bonds={'nic1': 'bond0', 'nic2': 'bond0'})
        for dpdk in False, True:
            self.refuses('nic1: it is part of bond0', there=there, dpdk=dpdk)

    def test_nics(self):
        there = a_host(bridges={'br-x': 'netdev'},
                       ports={'nic2': 'br-x'})
        links = there.links
        links['lo'] = link(8, 'lo', loopback=True)
        links['br-x'] = link(7, 'br-x', pci=None)
        links['nic3'] = link(3, 'nic3', master='bond0')
        links['nic4'] = link(4, 'nic4')
        links['vlan7'] = link(5, 'vlan7', lower='nic4')
        for nic, why in (('nic9', 'no such interface'),
                         ('0000:08:00.0', 'no such PCI device'),
                         ('0000:09:00.0', 'a PCI address needs --dpdk'),
                         ('lo', 'it is no NIC'), ('br-x', 'it is no NIC'),
                         ('nic3', 'it is part of bond0'),
                         ('nic4', 'vlan7 runs on it'),
                         ('nic2', 'it is a port of bridge br-x')):
            with self.subTest(nic):
                self.refuses('%s: %s' % (nic, why), [nic + ',10.1.1.1/24'],
                             there)
        there.links['veth'] = link(6, 'veth', pci=None)
        self.refuses('veth: it has no PCI address for --dpdk (--devargs gives'
                     ' another)', ['veth,10.1.1.1/24'], there, dpdk=True)
        self.refuses('--devargs: {pci} has no value here, only {nic}',
                     ['veth,10.1.1.1/24'], there, devargs='{pci}')
        self.refuses("--devargs: {: Single '{' encountered in format string",
                     devargs='{')

    def test_names_that_are_no_interfaces(self):
        for name in 'all', 'default':
            with self.assertRaises(Failure) as caught:
                texts(TWO[:1], bridge=name)
            self.assertEqual(str(caught.exception), 'nic1: %s cannot be the'
                             ' name of its bridge (--bridge)' % name)

    def test_bridges(self):
        there = a_host(bridges={'br-nic2': ''})
        there.links['br-nic1'] = link(3, 'br-nic1')
        self.refuses('nic1: there is an interface br-nic1 that is no bridge'
                     ' of Open vSwitch (--bridge)', there=there)
        self.refuses('nic2: bridge br-nic2 has datapath_type system, not'
                     ' netdev', TWO[1:], there)
        self.refuses('nic2: br is taken by nic1 (--bridge)', bridge='br')
        self.refuses('nic2: nic2 is taken by nic1 (--bridge)', bridge='nic2')
        self.refuses('nic1: its bridge has its name (--bridge)',
                     bridge='{nic}')
        self.refuses('nic1: a-long-name-nic1 cannot be the name of its bridge'
                     ' (--bridge)', bridge='a-long-name-{nic}')
        # What the kernel does not take, by characters and by bytes.
        for name in ('', '.', '..', 'a b', 'a\n', 'a/b', 'a:b', 'a' * 16,
                     '\u00e9' * 8):
            self.refuses('nic1: %s cannot be the name of its bridge'
                         ' (--bridge)' % name, bridge=name)
        for name in '{nic:{pci}}', '{nic:{}}':
            with self.assertRaises(Failure) as caught:
                plan.fill('--bridge', name, nic='nic1')
            self.assertTrue(str(caught.exception).startswith(
                '--bridge: %s: ' % name))
        self.refuses('nic1: it is in the list already',
                     ['nic1,10.1.1.1/24', '0000:01:00.0,10.1.2.1/24'],
                     dpdk=True)

    def test_addresses(self):
        there = a_host(addresses={'eth5': [{'address': '10.1.2.1/16'}],
                                  'br-nic1': [{'address': '10.1.1.1/16'}],
                                  'nic1': []})
        self.refuses('nic2: address 10.1.2.1/24 is on eth5', TWO[1:], there)
        self.refuses('nic1: address 10.1.1.1/24 is on br-nic1 as 10.1.1.1/16',
                     TWO[:1], there)
        there.addresses['eth5'] = [{'address': '10.1.2.254/24'}]
        self.refuses('nic2: gateway 10.1.2.254 is an address of this host'
                     ' (eth5)', TWO[1:], there)
        there.addresses = {'nic1': [{'address': '10.1.1.1/24'},
                                    {'address': '2001:db8::9/64',
                                     'lifetime': 9},
                                    {'address': '10.9.9.9/24'}]}
        self.refuses('nic1: it has address 10.9.9.9/24 too, which would stay'
                     ' behind on the NIC', there=there)
        for default in '10.1.1.9', 'x':
            self.refuses('--default: %s is not in the list' % default,
                         default=default)
            self.refuses('--default: %s is not in the list' % default,
                         default='10.1.1.1,' + default)
        self.refuses('--default: 10.1.1.1 and 10.1.2.1 are both IPv4',
                     default='10.1.1.1,10.1.2.1')

    def test_routes_that_cannot_be_moved(self):
        there = a_host(addresses={'nic1': [{'address': '10.1.1.1/24'}]})
        there.routes = [{**route(254, '10.7.0.0/16', None, hops=2),
                         'devices': ['nic1']}]
        del there.routes[0]['device']
        self.refuses('nic1: route 10.7.0.0/16 table main cannot be moved, it'
                     ' has several next hops', there=there)
        # Without addresses it may stay, but IPv6 goes off on the NIC.
        there.addresses = {}
        self.assertEqual(texts(there=there), texts())
        there.routes[0].update(family=6, dst='2001:db8:7::/48')
        self.refuses('nic1: route 2001:db8:7::/48 table main cannot be moved,'
                     ' it has several next hops', there=there)

    def test_an_mtu_without_ipv6(self):
        """RFC 8200, section 5: 1280 is the least."""
        v6 = ['nic1,2001:db8::1/64', 'nic2,10.1.2.1/24']
        line = 'nic1: address 2001:db8::1/64 needs an MTU of 1280, not 1279' \
            ' (--mtu)'
        self.refuses(line, v6, mtu=1279)
        texts(v6, mtu=1280)
        texts(mtu=68)
        there = a_host()
        there.links['nic1'] = link(1, 'nic1', mtu=1279)
        self.refuses(line, v6, there)
        texts(v6, there, mtu=1500)
        for device in 'nic2', 'br-nic2':
            there = a_host(addresses={device: [{
                'address': '2001:db8::9/64', 'lifetime': 600}]})
            self.refuses('nic2: address 2001:db8::9/64 needs an MTU of 1280,'
                         ' not 1279 (--mtu)', there=there, mtu=1279)

    def test_numbers(self):
        self.refuses('priority 1002: taken by "rule 1002" (--priority-base)',
                     there=a_host(rules=[rule(1002, '10.9.0.1/32', 7)]))
        self.refuses('table 102: "rule 9" leads there too (--table-base)',
                     there=a_host(rules=[rule(9, '10.9.0.1/32', 102)]))
        self.refuses('table 101: "rule 9" leads there too (--table-base)',
                     there=a_host(rules=[rule(9, None, 101, plain=False)]))
        self.refuses('table 101: it holds "route 10.9.0.0/16 dev eth0 table'
                     ' 101" (--table-base)', there=a_host(
                         routes=[route(101, '10.9.0.0/16', 'eth0')]))
        self.refuses('--table-base: table 253 for 10.1.2.1 is not to be had',
                     table_base=252)
        self.refuses('--priority-base: priority 32766 for 10.1.2.1 is not'
                     ' from 1 to 32765', priority_base=32765)
        # Numbers of the other family are free.
        texts(there=a_host(rules=[rule(1001, '2001:db8::1/128', 101)]))

    def test_a_table_that_two_addresses_share(self):
        self.refuses('table 7: "rule 11" leads there too (--table-base)',
                     there=a_host(rules=[rule(10, '10.1.1.1/32', 7),
                                         rule(11, '10.1.2.1/32', 7)]))


class FromHost(unittest.TestCase):
    def ask(self, there, *nics):
        """The requests, as words."""
        said = []
        requests = host.requests_from(there, list(nics), 'br-{}'.format,
                                      said.append)
        words = []
        for request in requests:
            for interface, gateway in request.addresses:
                self.assertIsInstance(interface.ip, ipaddress._BaseAddress)
                words.append(','.join([request.nic, str(interface)] + (
                    [str(gateway)] if gateway else [])))
        return words, said

    def test_gateways(self):
        there = a_host(
            addresses={'nic1': [{'address': '10.1.1.1/24'},
                                {'address': 'fe80::1/64', 'scope': 253}],
                       'nic2': [{'address': '10.1.2.1/24'},
                                {'address': '2001:db8::1/64'}]},
            rules=[rule(9, '10.1.2.1/32', 7)],
            routes=[route(254, '0.0.0.0/0', 'nic1', via='10.1.1.254'),
                    route(7, '0.0.0.0/0', 'nic2', via='10.1.2.254'),
                    route(254, '::/0', 'nic2', via='fe80::9')])
        words = ['nic1,10.1.1.1/24,10.1.1.254', 'nic2,10.1.2.1/24,10.1.2.254',
                 'nic2,2001:db8::1/64,fe80::9']
        there.addresses['nic2'].append({'address': '2001:db8::9/64',
                                        'lifetime': 9})     # Advertised.
        self.assertEqual(self.ask(there), (words, []))
        self.assertEqual(self.ask(there, 'nic2', 'nic1'),
                         (words[1:] + words[:1], []))
        there.logins = ('nic1',)
        self.assertEqual(self.ask(there), (
            words[1:], ['nic1: left out, you are logged in through it']))
        # What a router advertises, the kernel keeps.
        there.routes[-1]['protocol'] = 9
        self.assertEqual(self.ask(there, 'nic2')[0],
                         ['nic2,10.1.2.1/24,10.1.2.254',
                          'nic2,2001:db8::1/64'])

    def test_gateways_outside_the_subnet(self):
        there = a_host(
            addresses={'nic1': [{'address': '10.1.1.1/32'}],
                       'nic2': [{'address': '10.1.2.1/24'}]},
            routes=[route(254, '0.0.0.0/0', 'nic1', via='10.9.9.9', flags=4),
                    route(254, '0.0.0.0/0', 'nic2', via='10.9.9.8',
                          flags=4)])
        self.assertEqual(self.ask(there)[0], ['nic1,10.1.1.1/32,10.9.9.9',
                                              'nic2,10.1.2.1/24'])

    def test_after_apply(self):
        there = a_host(
            addresses={'br-nic1': [{'address': '10.1.1.1/24'}]},
            ports={'nic1': 'br-nic1'}, rules=[rule(9, '10.1.1.1/32', 7)],
            routes=[route(7, '0.0.0.0/0', 'br-nic1', via='10.1.1.254')])
        self.assertEqual(self.ask(there)[0], ['nic1,10.1.1.1/24,10.1.1.254'])

    def test_refusals(self):
        for nics, line in (
                (['nic9'], 'nic9: no such interface'),
                (['nic1'], 'nic1: it has no address'),
                ([], '--from-host: no PCI device of this host has an'
                     ' address: name the NICs')):
            with self.assertRaises(Failure) as caught:
                self.ask(a_host(), *nics)
            self.assertEqual(str(caught.exception), line)
