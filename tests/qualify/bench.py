# SPDX-License-Identifier: Apache-2.0
"""The host of tests/offload on real NICs, or on the model with no more than
what real NICs tell."""
import ipaddress
import os
import unittest

import devices
import host
import lab
import packets
import remote
import wire

# Rules and tables of ours; what comes before is the machine's.
TABLE = 7600


class NeedsModel(unittest.SkipTest):
    """A test asked what only the model can tell."""


class Bench(host.Host):
    """Addresses are those for benchmarks (RFC 2544, RFC 5180), and nothing is
    routed by them but our own packets."""

    def address(self, net, n, number):
        return str(ipaddress.ip_address(
            '198.%d.%d.%d' % (17 + net, n, number) if self.family == 4
            else '2001:2:0:%x%02x::%x' % (net, n, number)))

    def add_address(self, n):
        bridge, table = 'br-nic%d' % n, str(TABLE + n)
        if self.family == 6:
            self.host('sysctl', '-qw', *(
                'net.ipv6.conf.%s.%s=0' % (bridge, name) for name in (
                    'accept_dad', 'router_solicitations', 'autoconf',
                    'accept_ra', 'disable_ipv6')))
        self.ip('addr add %s/%d dev %s' % (
            self.endpoint(n), 32 if self.family == 4 else 128, bridge))
        self.ip('link set %s up' % bridge)
        family = '-%d' % self.family
        self.ip('%s rule add pref %s from %s lookup %s'
                % (family, table, self.endpoint(n), table))
        self.ip('%s route add default via %s dev %s onlink table %s'
                % (family, self.gateway(n), bridge, table))
        self.neighbor(n, self.gateway_mac(n))

    def model(self, *command):
        raise NeedsModel(' '.join(command))

    def hear(self):
        """Without what is for groups, which kernels and switches send by
        themselves; broadcast ARP is of the tests."""
        heard = {}
        for port, frames in super().hear().items():
            frames = [frame for frame in frames if not frame[0] & 1
                      or frame[:6] == b'\xff' * 6]
            if frames:
                heard[port] = frames
        return heard

    def purge(self):
        """Not of flows without tunnels, which others in the segment can make
        at any time."""
        self.appctl('revalidator/purge')
        host.until('no tunnel in a NIC', lambda: not self.flows_in_nics())

    def set_offload(self, on):
        """Turns other_config:encap-offload on or off.  When off, waits until
        no tunnel is in a NIC."""
        self.vsctl('set', 'Open_vSwitch', '.',
                   'other_config:encap-offload=%s' % str(on).lower())
        host.until('encap-offload', lambda: self.offload_show()['offload']
                   is on and (on or not self.flows_in_nics()))

    def flows_in_nics(self):
        """How many flows of tunnels are in NICs."""
        return sum(nic['flows']['offloaded']
                   for nic in self.offload_show()['nics'])

    def flows_in_software(self):
        """{reason: number} of all NICs."""
        return self.reasons()

    def forwarded(self):
        """How many packets NICs have forwarded."""
        return sum(nic['hardware']['packets']
                   for nic in self.offload_show()['nics'])

    def odp_ports(self):
        """{name: number} of the datapath."""
        ports = {}
        for text in self.appctl('dpctl/show').splitlines():
            words = text.split()
            if words[:1] == ['port']:
                ports[words[2]] = int(words[1].rstrip(':'))
        return ports


class ModelBench(Bench):
    """On the model; MODEL has words for its configuration."""

    def __init__(self, setup, **how):
        super().__init__(nics=setup.count, vms=setup.vms,
                         eswitch=setup.model, **how)

    def release(self):
        """Gives back what was borrowed: nothing."""
        return {}


class HardwareBench(Bench):
    """On the machine's NICs.  DPDK's driver wants the kernel's devices of a
    NIC in its own namespace, so that "host" is another name for ours."""

    def __init__(self, setup, **how):
        self.setup = setup
        self.borrowed = None
        super().__init__(nics=setup.count, vms=setup.vms, **how)

    def start(self, eswitch, settings):
        lab.run('ip', 'netns', 'del', self.ns('host'))
        lab.run('ip', 'netns', 'attach', self.ns('host'), str(os.getpid()))
        self.host('sysctl', '-qw', 'net.ipv6.conf.all.disable_ipv6=1',
                  'net.ipv6.conf.default.disable_ipv6=1', part='far')
        self.borrowed = devices.Devices(self.ns('host'))
        for n, nic in zip(self.nics, self.setup.nics):
            self.devices['nic%d' % n] = nic.devargs()
            for port, word in zip(self.vms_of(n), nic.representors):
                self.devices[port] = nic.devargs(word)
            self.borrow(n, nic)
        self.start_database(
            'other_config:dpdk-init=true',
            'other_config:dpdk-extra="%s --file-prefix=%s"' % (
                ' '.join('-a ' + nic.allow() for nic in self.setup.nics),
                self.name),
            'other_config:max-idle=60000', 'other_config:hw-offload=true',
            *('other_config:' + setting for setting in settings))
        self.start_vswitchd()
        self.add_bridges()
        self.add_addresses()

    def vms_of(self, n):
        """The representors of NIC N."""
        return [port for port in self.vms if port[2:-1] == str(n)]

    def borrow(self, n, nic):
        """The devices of NIC N.  DPDK changes the MTU of those that it
        uses."""
        for name in nic.kept:
            self.borrowed.borrow(name)
        for port, name in zip(self.vms_of(n), nic.vf_netdevs):
            if name:
                self.borrow_far(port, name, address=packets.WORKLOAD)
        if nic.peer:
            self.borrow_far('nic%d' % n, nic.peer, promisc='on')
        if nic.responder:
            self.far['nic%d' % n] = remote.Remote(*nic.responder)

    def borrow_far(self, port, name, **changes):
        """The device at the far end of PORT."""
        self.borrowed.borrow(name, self.ns('far'), **changes)
        self.far[port] = wire.Wire(self.ns('far'), name)

    def start_vswitchd(self, **variables):
        lab.Daemons.start_vswitchd(self, **variables)

    def port_words(self, port, *settings):
        words = [word.replace(',iface=' + port, '')
                 for word in super().port_words(port, *settings)]
        return tuple(words)

    def remove_addresses(self):
        """Bridges go with the daemon, the rest of it stays."""
        for n in self.nics:
            for words in ('route flush table %d' % (TABLE + n),
                          'rule del pref %d' % (TABLE + n)):
                try:
                    self.ip('-%d %s' % (self.family, words))
                except AssertionError:
                    pass

    def release(self):
        """Gives back what was borrowed, {name: None or what is wrong}."""
        return self.borrowed.give_back() if self.borrowed else {}

    def close(self):
        for end in self.far.values():
            end.close()
        self.far = {}
        self.stop_bridges()
        self.remove_addresses()
        self.setup.restored.update(self.release())
        super().close()

    def stop_bridges(self):
        """The daemon's devices go if it ends so, and only then."""
        try:
            self.appctl('exit', '--cleanup')
            host.until('ovs-vswitchd ends', lambda: not os.path.exists(
                self.dir + '/ovs-vswitchd.pid'))
        except AssertionError:
            pass
