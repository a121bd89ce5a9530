# SPDX-License-Identifier: Apache-2.0
"""Files for systemd-networkd, compared with systemd.network(5)."""
import argparse
import os
import tempfile
import unittest
from unittest import mock

from ovs_multinic import check
from ovs_multinic import endpoints
from ovs_multinic import networkd
from ovs_multinic import plan
from ovs_multinic.errors import Failure
from ovs_multinic.kernel_steps import Addresses
from test_plan import TWO, a_host

BRIDGE = '''\
# Written by ovs-multinic.

[Match]
Name=br-nic1

[Link]
RequiredForOnline=no

[Network]
IPv6AcceptRA=no

[Address]
Address=10.1.1.1/24

[Address]
Address=2001:db8::1/64

[Route]
Destination=10.1.1.0/24
PreferredSource=10.1.1.1
Scope=link
Table=101

[Route]
Gateway=10.1.1.254
PreferredSource=10.1.1.1
Table=101

[Route]
Destination=2001:db8::/64
PreferredSource=2001:db8::1
Table=101

[Route]
Gateway=2001:db8::2
PreferredSource=2001:db8::1
Table=101

[Route]
Gateway=10.1.1.254
Metric=5
MTUBytes=1400

[Route]
Destination=10.8.0.0/16
Gateway=10.1.1.253
GatewayOnLink=yes

[RoutingPolicyRule]
From=10.1.1.1/32
Table=101
Priority=1001

[RoutingPolicyRule]
From=2001:db8::1/128
Table=101
Priority=1001
'''

LINK = '''\
# Written by ovs-multinic.

[Match]
OriginalName=br-nic1

[Link]
MACAddress=02:00:00:00:00:01
'''

NIC = '''\
# Written by ovs-multinic.

[Match]
Name=nic1

[Link]
RequiredForOnline=no

[Network]
LinkLocalAddressing=no
IPv6AcceptRA=no
'''

ROUTES = [
    {'family': 4, 'table': 254, 'dst': '0.0.0.0/0', 'device': 'nic1',
     'via': '10.1.1.254', 'metric': 5, 'metrics': {'RTAX_MTU': 1400}},
    {'family': 4, 'table': 254, 'dst': '10.8.0.0/16', 'flags': 4,
     'device': 'nic1', 'via': '10.1.1.253'},
    # These come with the address and the link.
    {'family': 4, 'table': 254, 'dst': '10.1.1.0/24', 'device': 'nic1',
     'protocol': 2},
    {'family': 4, 'table': 255, 'dst': '10.1.1.1/32', 'device': 'nic1',
     'protocol': 2},
    {'family': 6, 'table': 254, 'dst': 'fe80::/64', 'device': 'nic1',
     'protocol': 2}]


def steps(words, **host):
    """The steps of the plan for WORDS."""
    return plan.make(endpoints.parse(words), plan.Options(),
                     a_host(**host))[0]


class Files(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = os.path.join(directory.name, 'network')
        self.said = []

    def replace(self, contents):
        """Writes the files; returns what was said."""
        self.said.clear()
        networkd.replace(self.dir, contents, self.said.append)
        return [line.replace(self.dir + '/05-ovs-multinic-', '')
                for line in self.said]

    def test_texts(self):
        files = networkd.files(
            steps([TWO[0], 'nic1,2001:db8::1/64,2001:db8::2'], routes=ROUTES,
                  addresses={'nic1': [{'address': '10.1.1.1/24'}]}))
        self.assertEqual(files, {
            '05-ovs-multinic-br-nic1.link': LINK,
            '05-ovs-multinic-br-nic1.network': BRIDGE,
            '05-ovs-multinic-nic1.network': NIC})

    def test_names_that_match_others(self):
        for name in '!x', 'e*', 'e?', '[e]', 'e]', '\\e', '"e', "'e":
            with self.assertRaises(Failure) as caught:
                networkd.files([Addresses('br0', name, ['10.1.1.1/24'])])
            self.assertEqual(str(caught.exception), name + ': systemd-networkd'
                             ' cannot match just this name')

    def test_a_rule_is_in_the_file_of_its_address(self):
        files = networkd.files(steps(TWO))
        self.assertEqual(sorted(files), [
            '05-ovs-multinic-br-nic1.link',
            '05-ovs-multinic-br-nic1.network',
            '05-ovs-multinic-br-nic2.link',
            '05-ovs-multinic-br-nic2.network',
            '05-ovs-multinic-nic1.network', '05-ovs-multinic-nic2.network'])
        for n in '12':
            text = files['05-ovs-multinic-br-nic%s.network' % n]
            self.assertEqual([line for line in text.split('\n')
                              if line.startswith('From')],
                             ['From=10.1.%s.1/32' % n])

    def test_gateways_outside_the_subnet(self):
        text = networkd.files(steps([
            'nic1,10.1.1.1/32,10.9.9.9', 'nic1,2001:db8::1/128,2001:db8::2',
            'nic1,2001:db8:1::1/64,fe80::1']))[
                '05-ovs-multinic-br-nic1.network']
        for lines in (
                'Gateway=10.9.9.9\nGatewayOnLink=yes\n'
                'PreferredSource=10.1.1.1\nTable=101\n',
                'Gateway=2001:db8::2\nGatewayOnLink=yes\n'
                'PreferredSource=2001:db8::1\nTable=101\n',
                'Gateway=fe80::1\nPreferredSource=2001:db8:1::1\n'):
            self.assertIn('\n[Route]\n' + lines, text)

    def test_router_advertisements(self):
        files = networkd.files(steps(['nic1,2001:db8::1/64']))
        self.assertNotIn('IPv6AcceptRA',
                         files['05-ovs-multinic-br-nic1.network'])

    def test_replace(self):
        prefix = networkd.PREFIX
        self.assertEqual(self.replace({
            prefix + 'a': networkd.HEADER, prefix + 'b': networkd.HEADER}),
            ['wrote a', 'wrote b'])
        self.assertEqual(self.replace({
            prefix + 'a': networkd.HEADER, prefix + 'c': networkd.HEADER}),
            ['unchanged a', 'wrote c', 'deleted b'])
        self.assertEqual(self.replace({}), ['deleted a', 'deleted c'])
        self.assertEqual(os.listdir(self.dir), [])

    def test_no_room(self):
        """What cannot be written is said, and not left half written."""
        name = '05-ovs-multinic-a.link'
        self.replace({name: networkd.HEADER})
        with mock.patch('os.fsync', side_effect=OSError(28, 'No space')):
            with self.assertRaises(Failure) as caught:
                self.replace({name: networkd.HEADER + 'x'})
        path = os.path.join(self.dir, name)
        self.assertEqual(str(caught.exception), path + ': No space')
        self.assertEqual(os.listdir(self.dir), [name])
        # Who wrote that was killed.
        with open(path + '.new', 'w'):
            pass
        self.replace({name: networkd.HEADER})
        self.assertEqual(os.listdir(self.dir), [name])

    def test_files_of_others(self):
        os.mkdir(self.dir)
        path = os.path.join(self.dir, networkd.PREFIX + 'a')
        for contents in b'[Match]\n', b'[Match]\nName=\xff\n':
            with open(path, 'wb') as stream:
                stream.write(contents)
            with self.assertRaises(Failure) as caught:
                self.replace({networkd.PREFIX + 'b': networkd.HEADER})
            self.assertEqual(str(caught.exception),
                             path + ': it is not from ovs-multinic')
            self.assertEqual(os.listdir(self.dir), [networkd.PREFIX + 'a'])

    def test_files_that_are_no_text(self):
        """Others' edits are differences, whatever they are."""
        name, text = list(networkd.files(steps(['nic1,10.1.1.1/24'])).items())[
            0]
        os.mkdir(self.dir)
        path = os.path.join(self.dir, name)
        with open(path, 'wb') as stream:
            stream.write(text.encode() + b'\xff')
        found = [one for one in check.of_files(
            steps(['nic1,10.1.1.1/24']), argparse.Namespace(
                networkd=self.dir, sysctl=self.dir + '.sysctl', state='x'))
            if one['severity'] == 'warning']
        self.assertEqual([(one['object'], one['problem']) for one in found],
                         [(path, 'it differs from what was applied')])
        self.replace({name: text})
        with open(path, 'rb') as stream:
            self.assertEqual(stream.read(), text.encode())

    def test_no_regular_file(self):
        """A pipe, as /dev/stdout may be, or a directory."""
        path = self.dir + '.sysctl'
        os.mkfifo(path)
        for other in path, os.path.dirname(path):
            with self.assertRaises(Failure) as caught:
                networkd.replace_sysctl(other, networkd.HEADER, print)
            self.assertEqual(str(caught.exception),
                             other + ': it is no regular file')

    def test_one_option_of_two(self):
        made = steps(['nic1,10.1.1.1/24'])
        path = self.dir + '.sysctl'
        networkd.write(made, argparse.Namespace(networkd=None, sysctl=path),
                       self.said.append)
        self.assertEqual(self.said, ['wrote ' + path])
        self.said.clear()
        networkd.write(made, argparse.Namespace(networkd=None, sysctl=None),
                       self.said.append)
        self.assertEqual(self.said, [])
        networkd.write(made, argparse.Namespace(networkd=self.dir,
                                                sysctl=None),
                       self.said.append)
        self.assertEqual(len(self.said), 4)
        self.assertEqual(self.said[-1], 'the sysctls are not in these files'
                                        ' (--sysctl FILE)')

    def test_sysctls(self):
        self.assertEqual(networkd.sysctl_text(
            steps(['nic1,10.1.1.1/24'])), '''\
# Written by ovs-multinic.
net/ipv4/conf/br-nic1/rp_filter = 2
net/ipv4/conf/br-nic1/arp_ignore = 1
net/ipv4/conf/br-nic1/arp_announce = 2
net/ipv6/conf/br-nic1/accept_ra = 0
net/ipv4/conf/nic1/arp_ignore = 8
net/ipv4/conf/nic1/rp_filter = 1
net/ipv6/conf/nic1/disable_ipv6 = 1
''')
