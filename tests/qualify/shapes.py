# SPDX-License-Identifier: Apache-2.0
"""The rules that the product asks NICs for, each by a datapath flow that a
tunnel makes.  No packet is needed."""
import re
import time

import host
import packets
from report import FAILED, OK

OFFLOADED = 'offloaded'
OVN = (0x102, 0x80)
OTHER = (0x103, 0x81)
TUNNELS = [(kind, family) for kind in ('geneve', 'vxlan')
           for family in (4, 6)]
UDP_PORTS = {'geneve': 6081, 'vxlan': 4789}
VPORTS = {'geneve': 5, 'vxlan': 4}      # ovs_vport_type
REFUSED = re.compile(r'the NIC refused a rule[^:]*: (.*?) \(port')


class Flows:
    """Makes datapath flows of a host."""

    def __init__(self, one):
        self.one = one
        self.ports = one.odp_ports()

    def port(self, name):
        """A number; tunnels by their kind."""
        return self.ports[{'geneve': 'genev_sys_6081',
                           'vxlan': 'vxlan_sys_4789'}.get(name, name)]

    @staticmethod
    def address(family, net, n):
        """1 is ours, 2 the peer's."""
        return ('198.%d.%d.1' % (17 + net, n) if family == 4
                else '2001:2:0:%x%02x::1' % (net, n))

    def header(self, kind, family, n, vni, option=None):
        """What is put before a packet by NIC N."""
        udp = UDP_PORTS[kind]
        src, dst = (self.address(family, net, n) for net in (1, 2))
        if kind == 'geneve':
            text = 'geneve(%svni=%#x%s)' % (
                'crit,' if option else '', vni,
                ',options({class=%#x,type=%#x,len=4,0x20001})' % option
                if option else '')
        else:
            text = 'vxlan(flags=0x8000000,vni=%#x)' % vni
        if family == 4:
            ip = ('ipv4(src=%s,dst=%s,proto=17,tos=0,ttl=64,frag=0x4000)'
                  % (src, dst))
        else:
            ip = ('ipv6(src=%s,dst=%s,label=0,proto=17,tclass=0x0,hlimit=64)'
                  % (src, dst))
        return ('header(size=%d,type=%d,eth(dst=%s,src=%s,dl_type=%s),%s,'
                'udp(src=0,dst=%d,csum=0x0),%s)'
                % (14 + (20 if family == 4 else 40) + 16
                   + (8 if option else 0), VPORTS[kind],
                   self.one.gateway_mac(n), self.one.mac(n),
                   '0x0800' if family == 4 else '0x86dd', ip, udp, text))

    def egress(self, kind, family, n=1, vm='vm1a', match='udp', change='',
               vni=5, option=None):
        """From VM into a tunnel, by NIC N."""
        return 'in_port(%d),%s %stnl_push(tnl_port(%d),%s,out_port(%d)),%d' % (
            self.port(vm), inner(match), change, self.port(kind),
            self.header(kind, family, n, vni, option),
            self.port('br-nic%d' % n), self.port('nic%d' % n))

    def outer(self, kind, family, n=1):
        """Rule A: to our end of a tunnel."""
        ip = ('eth_type(0x0800),ipv4(dst=%s,proto=17,frag=no)' if family == 4
              else 'eth_type(0x86dd),ipv6(dst=%s,proto=17,frag=no)')
        return ('in_port(%d),recirc_id(0),packet_type(ns=0,id=0),eth(dst=%s),'
                '%s,udp(dst=%d) tnl_pop(%d)' % (
                    self.port('nic%d' % n), self.one.mac(n),
                    ip % self.address(family, 1, n), UDP_PORTS[kind],
                    self.port(kind)))

    def ingress(self, kind, family, n=1, vm='vm1a', match='udp', change='',
                vni=5, option=None, value='0x20001/0x7fffffff', to=None):
        """Rule B: out of the tunnel, to VM or whatever TO says."""
        src, dst = (self.address(family, net, n) for net in (2, 1))
        ip = (('src=%s,dst=%s,' if family == 4
               else 'ipv6_src=%s,ipv6_dst=%s,') % (src, dst))
        geneve = (',geneve({class=%#x,type=%#x,len=4,%s})' % (*option, value)
                  if option else '')
        return ('tunnel(tun_id=%#x,%sttl=64/0,tp_src=0/0,tp_dst=%d/0%s,'
                'flags(-df-csum+key)),in_port(%d),%s %s%s' % (
                    vni, ip, UDP_PORTS[kind], geneve, self.port(kind),
                    inner(match), change, to or self.port(vm)))


def inner(match):
    """The headers of the packet in the tunnel."""
    protocol, _, port = match.partition(':')
    text = 'recirc_id(0),packet_type(ns=0,id=0),eth(dst=%s),' % packets.REMOTE
    if protocol == 'arp':
        return text + 'eth_type(0x0806),arp()'
    if protocol == 'tag':
        return text + ('eth_type(0x8100),vlan(vid=5,pcp=0),'
                       'encap(eth_type(0x0800),ipv4(frag=no))')
    six = protocol.endswith('6')
    number = {'udp': 17, 'tcp': 6, 'icmp': 58 if six else 1}[
        protocol.rstrip('6')]
    text += ('eth_type(0x86dd),ipv6(dst=fd00:2::1,proto=%d,frag=no)' if six
             else 'eth_type(0x0800),ipv4(dst=172.16.2.1,proto=%d,frag=no)'
             ) % number
    if protocol == 'icmp':
        return text + ',icmp(%s)' % (port and 'type=' + port)
    if protocol == 'icmp6':
        return text + ',icmpv6()'
    return text + ',%s(dst=%s)' % (protocol.rstrip('6'), port or '5000')


MACS = ('set(eth(src=02:00:00:00:99:01,dst=02:00:00:00:99:02)),')
IPV4 = MACS + 'set(ipv4(src=10.9.9.9,dst=10.9.9.8,ttl=63)),'
IPV6 = MACS + 'set(ipv6(src=fd00:9::9,dst=fd00:9::8,hlimit=63)),'


def shapes_of_tunnel(flows, kind, family):
    """(name, flows, what must become of the last one) of one tunnel."""
    tunnel = (kind, family)
    option = {'option': OVN} if kind == 'geneve' else {}
    yield 'egress', [flows.egress(*tunnel)], OFFLOADED
    for match in ('tcp', 'icmp', 'udp6', 'tcp6', 'icmp6', 'arp', 'tag'):
        yield 'egress, ' + match, [flows.egress(*tunnel, match=match)], \
            OFFLOADED
    for match, change in (('udp', IPV4 + 'set(udp(src=7,dst=8)),'),
                          ('tcp6', IPV6 + 'set(tcp(src=7,dst=8)),'),
                          ('udp', 'push_vlan(vid=9,pcp=0),'),
                          ('tag', 'pop_vlan,')):
        yield ('egress, %s with %s' % (match, words(change)),
               [flows.egress(*tunnel, match=match, change=change)], OFFLOADED)
    outer = flows.outer(*tunnel)
    yield 'rule A', [outer], OFFLOADED
    for match in ('udp', 'tcp', 'icmp', 'udp6', 'tcp6', 'icmp6', 'arp',
                  'tag'):
        yield ('rule B, ' + match,
               [outer, flows.ingress(*tunnel, match=match)], OFFLOADED)
    for match, change in (('udp', IPV4 + 'set(udp(src=7,dst=8)),'),
                          ('tcp6', IPV6 + 'set(tcp(src=7,dst=8)),'),
                          ('tag', 'pop_vlan,')):
        yield ('rule B, %s with %s' % (match, words(change)),
               [outer, flows.ingress(*tunnel, match=match, change=change)],
               OFFLOADED)
    if option:
        yield ('egress, option set', [flows.egress(*tunnel, **option)],
               OFFLOADED)
        yield ('rule B, option matched',
               [outer, flows.ingress(*tunnel, **option)], OFFLOADED)
        yield ('rule B, option and tcp6 with %s' % words(IPV6),
               [outer, flows.ingress(*tunnel, match='tcp6', change=IPV6,
                                     **option)], OFFLOADED)


def words(change):
    """The names in some actions."""
    return ' '.join(re.findall(r'(?:set\()?(\w+)(?=\(|,$)', change)) \
        .replace('set ', '')


def shapes_refused(flows, two):
    """What has to stay in software, and why."""
    outer = flows.outer('geneve', 4)
    yield ('second option tuple', [
        outer, flows.ingress('geneve', 4, option=OVN),
        flows.ingress('geneve', 4, option=OTHER)], 'second-option-tuple')
    yield ('option value zero', [outer, flows.ingress(
        'geneve', 4, option=OVN, value='0/0x7fffffff')], 'option-value-zero')
    yield ('connection tracking', [outer, flows.ingress(
        'geneve', 4, to='ct(zone=1),recirc(7)')], 'conntrack')
    yield ('two outputs', [outer, flows.ingress(
        'geneve', 4, to='%d,%d' % (flows.port('vm1a'),
                                   flows.port('br-int')))],
           'several-outputs')
    if two:
        yield ('tunnel by another NIC', [flows.egress('geneve', 4, n=2)],
               'cross-nic')
        yield ('another option tuple on the other NIC', [
            outer, flows.ingress('geneve', 4, option=OVN),
            flows.outer('geneve', 4, n=2),
            flows.ingress('geneve', 4, n=2, vm='vm2a', option=OTHER)],
               OFFLOADED)


class Trial:
    """Puts flows into a host's datapath and looks what becomes of them."""

    def __init__(self, one):
        self.one = one
        self.flows = Flows(one)
        # Each refusal is logged.
        one.appctl('vlog/disable-rate-limit', 'nic_driver')

    def add(self, flows):
        """Adds flows; returns the time before the first."""
        path = self.one.dir + '/datapath-flows'
        with open(path, 'w') as stream:
            stream.writelines('add %s\n' % flow for flow in flows)
        for _ in range(5):
            begun = time.monotonic()
            try:
                said = self.one.appctl('dpctl/add-flows', 'netdev@ovs-netdev',
                                       path)
            except AssertionError as error:
                said = str(error)
            if not said.strip():
                return begun
            # A packet that someone sent by itself, as hosts do with IPv6, can
            # have made a flow that is wide enough to be in the way.
            if 'File exists' not in said:
                break
            self.clear()
        raise AssertionError(said)

    def clear(self):
        """Removes all."""
        self.one.appctl('dpctl/del-flows', 'netdev@ovs-netdev')
        host.until('no flow left', lambda: not self.state()[0]
                   and not self.state()[1], 60)

    def state(self):
        """(number of flows in NICs, {reason: number of those in
        software})."""
        return self.one.flows_in_nics(), self.one.flows_in_software()

    def wait(self, number, seconds=30):
        """Until NUMBER flows are decided upon; returns the last state."""
        def decided():
            state = self.state()
            return (state if state[0] + sum(state[1].values()) >= number
                    else None)
        return host.until(lambda: '%d flows, now %s' % (number, self.state()),
                          decided, seconds)

    def try_shape(self, flows, expected):
        """(status, detail)."""
        seen = len(self.one.log())
        try:
            self.add(flows)
            offloaded, software = self.wait(len(flows))
        except AssertionError as error:
            return FAILED, ' '.join(str(error).split())
        finally:
            self.clear()
        said = ''.join(': the NIC says ' + text for text in
                       REFUSED.findall(self.one.log()[seen:])[-1:])
        outcome = ' and '.join(software) or OFFLOADED
        good = (outcome == expected and offloaded
                == len(flows) - (expected != OFFLOADED))
        return (OK, said[2:]) if good else (FAILED, '%s, not %s%s' % (
            outcome, expected, said))


def run(setup, report):
    """All shapes."""
    with_trial(setup, lambda trial: try_all(setup, trial, report))


def with_trial(setup, action):
    """Calls ACTION with a trial on a host that has tunnels of both kinds."""
    one = setup.make()
    try:
        one.vsctl('--', 'add-port', 'br-int', 'vxlan', '--', 'set',
                  'Interface', 'vxlan', 'type=vxlan', 'options:key=flow',
                  'options:remote_ip="%s"' % one.peer(1))
        # Revalidators would remove flows that translation does not make, and
        # the daemon does not end while they are paused.
        one.appctl('revalidator/pause')
        try:
            action(Trial(one))
        finally:
            one.appctl('revalidator/resume')
    finally:
        one.close()


def try_all(setup, trial, report):
    """Tries them on one host."""
    for kind, family in TUNNELS:
        for name, flows, expected in shapes_of_tunnel(trial.flows, kind,
                                                      family):
            report.check('shapes', '%s over IPv%d: %s' % (kind, family, name),
                         *trial.try_shape(flows, expected))
    for name, flows, expected in shapes_refused(trial.flows,
                                                setup.count > 1):
        report.check('shapes', 'refused: ' + name if expected != OFFLOADED
                     else name, *trial.try_shape(flows, expected))
