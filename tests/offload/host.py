# SPDX-License-Identifier: Apache-2.0
"""A host whose ovs-vswitchd runs on the eSwitch model.

For each NIC I of it there are

  nicI    the uplink, the only port of bridge br-nicI besides br-nicI itself,
          which has the endpoint; its far end is what is sent on the wire
  vmIa..  representors, ports of br-int; their far ends are the VFs
  tI      a tunnel port of br-int from endpoint I to peer I, with any key

and all far ends, of the same names, are in namespace "far".  The peers are
behind a gateway, one for each NIC, whose MAC is known."""
import collections
import importlib.machinery
import importlib.util
import ipaddress
import json
import os
import re
import time

import lab
import packets
import wire

ESWITCH = os.path.join(lab.TOP, 'tests/eswitch')
LIBRARY = os.path.join(lab.TOP, 'build/eswitch/libeswitch.so')
MAX_IDLE = 60000
# In milliseconds.  Those of NICs are refreshed once a second.
COUNTER_LAG = 200
OPTIONS = ('{class=0x0102,type=0x80,len=4}->tun_metadata0,'
           '{class=0x0103,type=0x81,len=4}->tun_metadata1')


def load(path):
    """A script as a module."""
    loader = importlib.machinery.SourceFileLoader(os.path.basename(path), path)
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


control = load(os.path.join(ESWITCH, 'control'))


def until(what, condition, seconds=15):
    """Waits until CONDITION() is true, and returns its value."""
    deadline = lab.Deadline(seconds)
    while True:
        value = condition()
        if value:
            return value
        if not deadline.left():
            raise AssertionError('not in %d s: %s' % (
                seconds, what() if callable(what) else what))
        time.sleep(0.03)


def settled(read, seconds=1.5):
    """Waits until what READ returns has been the same for SECONDS, in which
    all counters are refreshed, and returns it."""
    value, since = read(), time.monotonic()

    def rests():
        nonlocal value, since
        now = read()
        if now != value:
            value, since = now, time.monotonic()
        return time.monotonic() - since > seconds
    until(lambda: 'resting: %s' % value, rests)
    return value


def sanitizers():
    """What has to be preloaded before all else: the library of a sanitizer
    that ovs-vswitchd is built with, and a space; or nothing."""
    said = lab.run('ldd', lab.TREE + '/vswitchd/ovs-vswitchd')
    return ''.join(path + ' ' for path in
                   re.findall(r'lib[at]san\S* => (\S+)', said))


def words(line):
    """The KEY=VALUE words of a line, as a dictionary."""
    return dict(re.findall(r'([a-z-]+)=(\S+)', line))


class Host(lab.Daemons):
    """See above.  NICS is how many NICs, VMS how many representors each has,
    FAMILY that of the endpoints, KIND "geneve" or "vxlan", MTU that of the
    representors.  Ports are net_tap's if TAPS, otherwise those of
    net_af_packet, which puts fragments together and cannot be started again.
    With ONE_ESWITCH they are all on one, as ports of one card can be.  With
    TAG the endpoints are in that VLAN, tagged on the wire.  PMDS is how many
    PMD threads there are, at most one for each CPU.
    Without OFFLOAD all is done in software, and the model only says what NICs
    there are.  ESWITCH has words for the model's configuration, SETTINGS such
    for other_config."""
    count = 0

    def __init__(self, nics=1, vms=1, family=4, kind='geneve', offload=True,
                 eswitch='', settings=(), mtu=1400, taps=False,
                 one_eswitch=False, tag=None, pmds=1):
        Host.count += 1
        super().__init__('mnoff%d-%d' % (os.getpid(), Host.count),
                         ('host', 'far'))
        self.nics, self.family, self.kind = range(1, nics + 1), family, kind
        self.offload, self.mtu, self.one_eswitch = offload, mtu, one_eswitch
        self.tag = tag
        cpus = sorted(os.sched_getaffinity(0))
        self.cores = sorted(cpus[(Host.count + i) % len(cpus)]
                            for i in range(pmds))
        self.uplinks = ['nic%d' % n for n in self.nics]
        self.vms = ['vm%d%c' % (n, 97 + i)
                    for n in self.nics for i in range(vms)]
        self.ports = self.uplinks + self.vms
        self.taps = taps
        self.devices = {port: 'net_tap%d' % number if taps
                        else 'net_af_packet_' + port
                        for number, port in enumerate(self.ports)}
        self.far, self.seen = {}, {}
        self.gateways = {self.gateway(n): self.gateway_mac(n)
                         for n in self.nics}
        try:
            self.start(eswitch, settings)
        except BaseException:
            self.close()
            raise

    def start(self, eswitch, settings):
        """What __init__() does."""
        for part in self.parts:
            self.host('sysctl', '-qw', 'net.ipv6.conf.all.disable_ipv6=1',
                      'net.ipv6.conf.default.disable_ipv6=1',
                      'net.ipv4.conf.all.arp_ignore=1', part=part)
        if not self.taps:
            for port in self.ports:
                self.add_device(port)
        with open(self.dir + '/eswitch.conf', 'w') as stream:
            print('log %s/eswitch.log' % self.dir, file=stream)
            print('control %s/control' % self.dir, file=stream)
            print('counter-lag %d' % COUNTER_LAG, file=stream)
            for n in self.nics:
                if n == self.eswitch_of(n):
                    print('eswitch nic%d domain=%d %s' % (n, n, eswitch),
                          file=stream)
                print('uplink nic%d %s' % (self.eswitch_of(n),
                                           self.devices['nic%d' % n]),
                      file=stream)
            for number, port in enumerate(self.vms):
                print('representor nic%d %s vf=%d'
                      % (self.eswitch_of(int(port[2])), self.devices[port],
                         number if self.one_eswitch else ord(port[3]) - 97),
                      file=stream)
        self.start_database(
            'other_config:dpdk-init=true',
            'other_config:dpdk-extra="--no-huge --legacy-mem -m 256 --no-pci '
            '--no-telemetry --file-prefix=%s"' % self.name,
            'other_config:pmd-cpu-mask=%#x'
            % sum(1 << core for core in self.cores),
            'other_config:max-idle=%d' % MAX_IDLE,
            'other_config:hw-offload=%s' % str(self.offload).lower(),
            *('other_config:' + setting for setting in settings))
        self.start_vswitchd()
        self.add_bridges()
        if self.taps:
            self.far.update((port, wire.Wire(self.ns('host'), port))
                            for port in self.ports)
        self.add_addresses()

    def eswitch_of(self, n):
        """The number of the eSwitch of NIC N's ports."""
        return 1 if self.one_eswitch else n

    def add_device(self, port):
        """A veth pair for PORT."""
        mtu = 1500 if port in self.uplinks else self.mtu
        self.ip('link add %s mtu %d type veth peer name %s mtu %d netns %s'
                % (port, mtu, port, mtu, self.ns('far')))
        self.ip('link set %s arp off up' % port)
        self.ip('link set %s arp off up' % port, 'far')
        self.far[port] = wire.Wire(self.ns('far'), port)

    def start_vswitchd(self, **variables):
        super().start_vswitchd(LD_PRELOAD=sanitizers() + LIBRARY, **variables,
                               ESWITCH_CONFIG=self.dir + '/eswitch.conf')

    def port_words(self, port, *settings):
        """Words for vsctl() that add PORT, an uplink or representor."""
        bridge = 'br-int' if port in self.vms else 'br-' + port
        return ('--', 'add-port', bridge, port, '--', 'set', 'Interface',
                port, 'type=dpdk',
                'ofport_request=%d' % self.number(port),
                'options:dpdk-devargs=%s,iface=%s'
                % (self.devices[port], port), *settings,
                # As many as there are queues for sending.
                *(('options:n_rxq=%d' % (len(self.cores) + 1),)
                  if self.taps else ()),
                'mtu_request=%d'
                % (1500 if port in self.uplinks else self.mtu))

    def number(self, port):
        """OpenFlow's number of PORT."""
        return 100 + self.ports.index(port)

    def nic_words(self, n):
        """Words for vsctl() that add NIC N's bridge."""
        return ('--', 'add-br', 'br-nic%d' % n, '--', 'set', 'Bridge',
                'br-nic%d' % n, 'datapath_type=netdev',
                'other_config:hwaddr=' + self.mac(n),
                *(('--', 'set', 'Port', 'br-nic%d' % n, 'tag=%d' % self.tag)
                  if self.tag else ()), *self.port_words('nic%d' % n))

    def tunnel_words(self, name, *options):
        """Words for vsctl() that add a tunnel port."""
        return ('--', 'add-port', 'br-int', name, '--', 'set', 'Interface',
                name, 'type=' + self.kind, 'options:key=flow', *options)

    def add_bridges(self):
        """All bridges, ports and tunnels."""
        arguments = ['--', 'add-br', 'br-int', '--', 'set', 'Bridge',
                     'br-int', 'datapath_type=netdev', 'fail_mode=secure',
                     'other_config:hwaddr=02:00:00:01:00:ff']
        for n in self.nics:
            arguments += self.nic_words(n)
            arguments += self.tunnel_words(
                't%d' % n, 'options:remote_ip="%s"' % self.peer(n),
                'options:local_ip="%s"' % self.endpoint(n))
        for port in self.vms:
            arguments += self.port_words(port)
        self.vsctl(*arguments[1:])
        errors = self.vsctl('--bare', '--columns=name,error', 'find',
                            'Interface', 'error!=[]')
        if errors.strip():
            raise AssertionError(errors)
        self.add_options()

    def add_options(self):
        """What is not in the database: OVN's option and another one."""
        if self.kind == 'geneve':
            self.ofctl('add-tlv-map', 'br-int', OPTIONS)

    def restore(self):
        """After a new start of ovs-vswitchd: what it does not remember."""
        self.add_options()
        for n in self.nics:
            if self.endpoint(n) not in self.ip('addr show dev br-nic%d' % n):
                self.ip('-%d rule del pref %d' % (self.family, 100 + n))
                self.add_address(n)
            self.neighbor(n, self.gateway_mac(n))

    def add_addresses(self):
        """The endpoints, and the ways to the peers."""
        for n in self.nics:
            self.add_address(n)

    def add_address(self, n):
        """Endpoint N, and its way to the peers."""
        bridge = 'br-nic%d' % n
        if self.family == 6:
            self.host('sysctl', '-qw', *(
                'net.ipv6.conf.%s.%s=0' % (bridge, name) for name in (
                    'accept_dad', 'router_solicitations', 'autoconf',
                    'accept_ra', 'disable_ipv6')))
        length = 24 if self.family == 4 else 64
        self.ip('addr add %s/%d dev %s' % (self.endpoint(n), length, bridge))
        self.ip('link set %s up' % bridge)
        self.ip('-%d rule add pref %d from %s lookup %d'
                % (self.family, 100 + n, self.endpoint(n), 100 + n))
        for table in (100 + n,) + (('main',) if n == 1 else ()):
            self.ip('-%d route replace default via %s dev %s table %s'
                    % (self.family, self.gateway(n), bridge, table))
        self.neighbor(n, self.gateway_mac(n))

    def neighbor(self, n, mac):
        """The MAC of gateway N."""
        self.appctl('tnl/neigh/set', 'br-nic%d' % n, self.gateway(n), mac)

    # Addresses.

    def address(self, net, n, host):
        """An address of the underlay."""
        return str(ipaddress.ip_address(
            '10.%d.%d.%d' % (net, n, host) if self.family == 4
            else '2001:db8:%d:%d::%x' % (net, n, host)))

    def endpoint(self, n):
        """The endpoint on NIC N."""
        return self.address(1, n, 1)

    def gateway(self, n):
        """The gateway behind NIC N."""
        return self.address(1, n, 254)

    def peer(self, n):
        """Endpoint N of the other host."""
        return self.address(2, n, 1)

    @staticmethod
    def mac(n):
        """The MAC of endpoint N."""
        return '02:00:00:01:00:%02x' % n

    @staticmethod
    def gateway_mac(n):
        """The MAC of gateway N."""
        return '02:00:00:fe:00:%02x' % n

    def hear(self):
        """What has come out of the ports since the last call, {port:
        [frame]}.  On the wire, only what is for one host: the rest is the
        kernel's.  Gateways answer who asks for them."""
        heard = {}
        for port, end in list(self.far.items()):
            frames = end.receive()
            if port in self.uplinks:
                for frame in frames:
                    answer = packets.answer(frame, self.gateways)
                    if answer:
                        end.send(answer)
                frames = [frame for frame in frames if not frame[0] & 1]
            if frames:
                heard[port] = frames
        return heard

    # Tools.

    def ofctl(self, *arguments):
        """Runs ovs-ofctl."""
        return self.host(lab.TREE + '/utilities/ovs-ofctl', '--names',
                         *arguments)

    def flows(self, text, bridge='br-int'):
        """The flows of a bridge, and no others."""
        path = self.dir + '/flows'
        with open(path, 'w') as stream:
            stream.write(text)
        self.ofctl('-OOpenFlow15', '--bundle', 'replace-flows', bridge, path)

    def model(self, *command):
        """Asks the model."""
        answer = control.ask(self.dir + '/control', ' '.join(command))
        if answer.startswith(('error:', 'commands:')):
            raise AssertionError('%s: %s' % (' '.join(command), answer))
        return answer

    def rules(self, *parts, source=None):
        """The model's rules, lines, those that have all PARTS, for packets
        from port SOURCE."""
        if source:
            parts += ('source=%s ' % self.devices[source],)
        return [line for line in self.model('show rules').splitlines()
                if line.startswith('rule ')
                and all(part in line for part in parts)]

    def nic(self, n):
        """The model's counters of NIC N: rules, encaps and so on."""
        for line in self.model('show eswitches').splitlines():
            if line.startswith('eswitch name=nic%d ' % n):
                return words(line)
        raise AssertionError('no eswitch %d' % n)

    def passed(self):
        """What the model's ports did so far: {port: {counter: number}}."""
        names = {device: port for port, device in self.devices.items()}
        return {names[entry['name']]: {
            key: int(value) for key, value in entry.items()
            if value.isdigit()}
                for entry in map(words, self.model('show eswitches')
                                 .splitlines())
                if 'kind' in entry}

    def polled(self):
        """How many packets the PMD threads have received."""
        number, pmd = 0, False
        for line in self.appctl('dpif-netdev/pmd-stats-show').splitlines():
            if not line.startswith(' '):
                pmd = line.startswith('pmd thread')
            elif pmd and 'packets received' in line:
                number += int(line.split()[-1])
        return number

    def offloads(self, state):
        """The number of datapath flows in that state."""
        text = self.appctl('dpctl/offload-stats-show')
        return int(re.search(state + r' offloads: *(\d+)', text).group(1))

    def inserted(self):
        """How many datapath flows are in the NICs."""
        return self.offloads('Inserted')

    def enqueued(self):
        """How many changes of datapath flows wait for offload threads."""
        return self.offloads('Enqueued')

    def dump(self, kind='offloaded'):
        """Datapath flows, lines."""
        return self.appctl('dpctl/dump-flows', '-m',
                           'type=' + kind).splitlines()

    def offload_show(self):
        """What encap/offload-show says."""
        return json.loads(self.appctl('encap/offload-show', 'format=json'))

    def reasons(self):
        """Software flows by reason, of all NICs; also by reason without what
        follows its name."""
        counts = collections.Counter()
        for nic in self.offload_show()['nics']:
            for reason, number in nic['flows']['software'].items():
                for key in {reason, reason.split()[0]}:
                    counts[key] += number
        return counts

    def purge(self):
        """No datapath flow is left, nor any rule."""
        def gone():
            # A late packet may have made another flow.
            if self.dump('all'):
                self.appctl('revalidator/purge')
            return not self.rules() and not self.inserted()
        self.appctl('revalidator/purge')
        if self.offload:
            until(lambda: 'no rules, left:\n%s\n%d wait, flows:\n%s' % (
                '\n'.join(self.rules()), self.enqueued(),
                '\n'.join(self.dump('all'))), gone)

    def max_idle(self, milliseconds):
        """Flows without traffic end after that time."""
        self.vsctl('set', 'Open_vSwitch', '.',
                   'other_config:max-idle=%d' % milliseconds)

    def log(self, name='ovs-vswitchd'):
        """A log of this host."""
        try:
            with open('%s/%s.log' % (self.dir, name)) as stream:
                return stream.read()
        except OSError:
            return ''

    def faults(self):
        """What the logs have that no test allows, since the last call."""
        found = []
        for name, bad in (('ovs-vswitchd', r'\|EMER\||ssertion'),
                          ('eswitch', r'\b(ERROR|ABORT|FLAG)\b')):
            text = self.log(name)
            found += [line for line in text[self.seen.get(name, 0):]
                      .splitlines() if re.search(bad, line)]
            self.seen[name] = len(text)
        self.appctl('version')
        return found

    def close(self):
        for end in self.far.values():
            end.close()
        super().close()
