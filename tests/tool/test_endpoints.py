# SPDX-License-Identifier: Apache-2.0
"""The arguments NIC,ADDRESS/LENGTH[,GATEWAY]."""
import ipaddress
import unittest

from ovs_multinic import endpoints
from ovs_multinic.errors import Failure


class Parse(unittest.TestCase):
    def test_several_nics_and_families(self):
        got = endpoints.parse(['nic1,10.1.1.1/24,10.1.1.254',
                               'nic2,10.1.2.1/31,10.1.2.0',
                               'nic1,2001:db8::1/64'])
        address = ipaddress.ip_interface
        self.assertEqual(got, [
            ('nic1', [(address('10.1.1.1/24'),
                       ipaddress.ip_address('10.1.1.254')),
                      (address('2001:db8::1/64'), None)]),
            ('nic2', [(address('10.1.2.1/31'),
                       ipaddress.ip_address('10.1.2.0'))])])

    def test_addresses_without_a_subnet(self):
        for word in ('a,10.0.0.1/32', 'a,2001:db8::/128',
                     'a,10.0.0.0/31,10.0.0.1', 'a,2001:db8::/127'):
            self.assertEqual(len(endpoints.parse([word])), 1, word)

    def test_gateways_outside_the_subnet(self):
        for word, onlink in (('a,2001:db8::1/64,fe80::1', False),
                             ('a,2001:db8::1/128,fe80::1', False),
                             ('a,2001:db8::1/64,2001:db8::2', False),
                             ('a,10.0.0.1/24,10.0.0.2', False),
                             ('a,2001:db8::1/128,2001:db8:9::1', True),
                             ('a,10.0.0.1/32,10.9.9.9', True),
                             ('a,10.0.0.1/32,169.254.0.1', True)):
            [(_nic, [(interface, gateway)])] = endpoints.parse([word])
            self.assertEqual(str(gateway), word.split(',')[2])
            self.assertEqual(endpoints.needs_onlink(interface, gateway),
                             onlink, word)
        # Each link has a neighbor of that name.
        endpoints.parse(['a,10.0.0.1/32,10.9.9.9', 'b,10.0.0.2/32,10.9.9.9'])

    def test_refusals(self):
        for words, line in (
                ('nic1', 'nic1: not NIC,ADDRESS/LENGTH[,GATEWAY]'),
                ('', "'': not NIC,ADDRESS/LENGTH[,GATEWAY]"),
                (',10.0.0.1/8', ',10.0.0.1/8: not NIC,'),
                ('a,10.0.0.1/8,', 'a,10.0.0.1/8,: not NIC,'),
                ('a,1.2.3.4/8,1.2.3.5,x', 'a,1.2.3.4/8,1.2.3.5,x: not NIC,'),
                ('a,10.1.2.3', 'a: address 10.1.2.3 has no prefix length'),
                ('a,10.1.2/24', 'a: 10.1.2/24 is no address with a prefix'),
                ('a,10.1.2.3/33', 'a: 10.1.2.3/33 is no address'),
                ('a,10.1.2.3/-1', 'a: 10.1.2.3/-1 is no address'),
                ('a,10.1.2.3/255.0.0.0', 'a: the prefix length of'),
                ('a,10.1.2.3/0', 'a: the prefix length of 10.1.2.3/0 is 0'),
                ('a,2001:db8::1/129', 'a: 2001:db8::1/129 is no address'),
                ('a,2001:db8::1%x/64', 'a: 2001:db8::1%x/64 is no address'),
                ('a,fe80::1%n5/64', 'a: fe80::1%n5/64 is no address with a'
                                    ' prefix length: leave %n5 out'),
                ('a,2001:db8::1/64,fe80::1%n5', 'a: gateway fe80::1%n5 is no'
                                                ' address: leave %n5 out'),
                ('a,0.0.0.0/8', 'a: address 0.0.0.0/8 is the unspecified'),
                ('a,127.0.0.1/8', 'a: address 127.0.0.1/8 is loopback'),
                ('a,224.0.0.1/8', 'a: address 224.0.0.1/8 is multicast'),
                ('a,fe80::1/64', 'a: address fe80::1/64 is link-local'),
                ('a,::ffff:10.0.0.1/128', 'a: address ::ffff:10.0.0.1/128 is'
                                          ' an IPv4 address in the form of'
                                          ' IPv6 (10.0.0.1)'),
                ('a,10.1.2.0/24', 'a: address 10.1.2.0/24 is the address of'
                                  ' its subnet'),
                ('a,10.1.2.255/24', 'a: address 10.1.2.255/24 is the'
                                    ' broadcast address of its subnet'),
                ('a,2001:db8::/64', "a: address 2001:db8::/64 is the anycast"
                                    " address of its subnet's routers"),
                ('a,10.1.2.3/24,x', 'a: gateway x is no address'),
                ('a,10.1.2.3/24,2001:db8::1', 'a: gateway 2001:db8::1 is IPv6,'
                                              ' address 10.1.2.3/24 is IPv4'),
                ('a,10.1.2.3/24,10.1.3.1', 'a: gateway 10.1.3.1 is not in the'
                                           ' subnet of 10.1.2.3/24'),
                ('a,10.1.2.3/31,10.1.2.4', 'a: gateway 10.1.2.4 is not in'),
                ('a,2001:db8::1/64,2001:db8:1::1', 'a: gateway 2001:db8:1::1'
                                                   ' is not in the subnet'),
                ('a,10.1.2.3/24,169.254.0.1', 'a: gateway 169.254.0.1 is'
                                              ' link-local'),
                ('a,10.1.2.3/32,224.0.0.1', 'a: gateway 224.0.0.1 is'
                                            ' multicast'),
                ('a,10.1.2.3/32,fe80::1', 'a: gateway fe80::1 is IPv6,'),
                ('a,2001:db8::1/64,fe80::1%a', 'a: gateway fe80::1%a is no'),
                ('a,2001:db8::1/64,::1', 'a: gateway ::1 is loopback'),
                ('a,10.1.2.3/24,10.1.2.3', 'a: gateway 10.1.2.3 is its own'),
                ('a,10.1.2.3/24,10.1.2.255', 'a: gateway 10.1.2.255 is the'
                                             ' broadcast address'),
                ('nic2,10.1.2.3/24 nic2,10.1.2.3/24',
                 'nic2: address 10.1.2.3/24 is given twice'),
                ('nic1,10.1.2.3/24 nic2,10.1.2.3/25',
                 'nic2: address 10.1.2.3/25 is given twice, the first time'
                 ' for nic1'),
                ('nic1,10.1.2.3/24,10.1.2.4 nic2,10.1.2.4/24',
                 'nic1: gateway 10.1.2.4 is the address of nic2')):
            with self.subTest(words):
                with self.assertRaises(Failure) as caught:
                    endpoints.parse(words.split(' '))
                self.assertTrue(str(caught.exception).startswith(line),
                                str(caught.exception))
                self.assertNotIn('\n', str(caught.exception))
