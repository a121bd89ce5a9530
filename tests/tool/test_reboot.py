# SPDX-License-Identifier: Apache-2.0
"""What systemd-networkd itself makes of the files that are written for it.

It runs in the namespace of the host, with directories of its own in place of
those in /etc, /lib and /run."""
import json
import os
import shutil
import signal
import subprocess
import unittest

import test_gateway
import test_host
from test_host import wait_for

NETWORKD = '/lib/systemd/systemd-networkd'
SYSCTL = '/lib/systemd/systemd-sysctl'

# systemd-networkd waits for udev where /sys can be written.
START = '''
set -e
mount --make-rprivate /
for dir in /run/systemd /etc/systemd/network /lib/systemd/network; do
    mount -t tmpfs ovs-multinic $dir
done
cp "$1"/* /etc/systemd/network/
mkdir -p /run/systemd/netif/links /run/systemd/netif/leases \\
    /run/systemd/netif/lldp
chown -R systemd-network /run/systemd/netif
mount -o remount,bind,ro /sys
exec %s
''' % NETWORKD


def why_not():
    """Why it cannot run here, or None."""
    for path in (NETWORKD, SYSCTL, '/run/systemd', '/etc/systemd/network',
                 '/lib/systemd/network'):
        if not os.path.exists(path):
            return 'needs ' + path
    return None


@unittest.skipIf(why_not(), why_not())
class Reboot(test_host.Host):
    def networkd(self, directory):
        """Starts it; it ends with the test."""
        log = open(os.path.join(self.lab.dir, 'networkd.log'), 'w')
        self.addCleanup(log.close)
        daemon = subprocess.Popen(
            ['ip', 'netns', 'exec', self.lab.ns('host'), 'unshare', '-m',
             'sh', '-c', START, 'sh', directory], stdout=log, stderr=log,
            env=dict(os.environ, SYSTEMD_LOG_TARGET='console'))

        def stop():
            daemon.send_signal(signal.SIGTERM)
            daemon.wait()
        self.addCleanup(stop)

    def known(self):
        """What networkd has a say in: not who made a route."""
        shown = self.shown()
        del shown['sysctl']                     # "check" looks at ours.
        for key in list(shown):
            if 'route' in key:
                shown[key] = sorted(
                    ({name: value for name, value in route.items()
                      if name not in ('protocol', 'flags')}
                     for route in shown[key]), key=str)
            elif 'rule' in key:
                for rule in shown[key]:
                    rule.pop('protocol', None)
            elif key == 'addr':
                for link in shown[key]:
                    link['addr_info'].sort(key=str)
                    for address in link['addr_info']:
                        for name in 'noprefixroute', 'broadcast', 'nodad':
                            address.pop(name, None)
        return shown

    def mac(self, name):
        """The MAC address of an interface, or None."""
        try:
            return json.loads(self.lab.ip('-j link show ' + name)
                              )[0]['address']
        except AssertionError:
            return None

    @unittest.skipUnless(shutil.which('udevadm'), 'needs udevadm')
    def test_link_file(self):
        self.tool('apply', 'nic1,10.1.1.1/24')
        files, mac = self.lab.dir + '/network', self.mac('br-nic1')
        self.tool('networkd', '--networkd', files, '--sysctl',
                  self.lab.dir + '/sysctl')
        self.lose_bridges()
        self.lab.ip('tuntap add br-nic1 mode tap')
        self.assertNotEqual(self.mac('br-nic1'), mac)
        self.lab.host('unshare', '-m', 'sh', '-c', '''
            mount --make-rprivate /
            mount -t tmpfs ovs-multinic /etc/systemd/network
            cp "$1"/* /etc/systemd/network
            udevadm test-builtin net_setup_link /sys/class/net/br-nic1
            ''', 'sh', files)
        self.assertEqual(self.mac('br-nic1'), mac)

    def test_used_host(self):
        self.used_host()
        self.reboot('--from-host', 'nic1', 'nic2')

    def test_gateways_outside_the_subnet(self):
        self.reboot(*test_gateway.WORDS)

    def reboot(self, *words):
        """What "apply" with WORDS did comes back."""
        self.tool('apply', *words)
        files, sysctls = self.lab.dir + '/network', self.lab.dir + '/sysctl'
        self.tool('networkd', '--networkd', files, '--sysctl', sysctls)
        self.assertIn('\n0 errors, 0 warnings\n',
                      self.lab.tool('check', '--networkd', files)[1])
        before = self.known()

        self.lose_bridges()
        for family in '-4', '-6':
            self.lab.ip(family + ' rule flush')
            self.lab.ip(family + ' rule add pref 32766 lookup main')
            if family == '-4':
                self.lab.ip(family + ' rule add pref 32767 lookup default')
        for name, value in (('net.ipv4.conf.nic1.rp_filter', 0),
                            ('net.ipv6.conf.nic2.disable_ipv6', 0)):
            self.lab.host('sysctl', '-qw', '%s=%d' % (name, value))
        for nic in 'nic1', 'nic2':
            self.lab.ip('link set %s down' % nic)
        self.lab.start_vswitchd()
        # The .link files see to it that this is so from the beginning.
        self.assertTrue(wait_for(lambda: all(
            self.mac('nic' + n) == self.mac('br-nic' + n) for n in '12')))
        self.networkd(files)
        wait_for(lambda: self.known()['addr'] == before['addr'], 20)
        # As udev does when an interface appears.
        self.lab.host(SYSCTL, sysctls)
        wait_for(lambda: self.known() == before)
        after = self.known()
        with open(self.lab.dir + '/networkd.log') as stream:
            log = stream.read()
        for key, value in before.items():
            self.assertEqual(after[key], value, key + log)
        # That is how it would complain about a line of a file.
        self.assertNotIn('.network:', log)
        self.assertEqual(self.lab.tool('check', '--networkd', files)[0], 0)
