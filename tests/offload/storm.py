# SPDX-License-Identifier: Apache-2.0
"""Random changes of all that rules in NICs depend on, while numbered packets
pass and oracle.Oracle judges what becomes of each."""
import os
import random
import re
import time

import host
import lab
import oracle
import packets
import load
import wire
from flows import Flows

# What ovs-vswitchd may say of what is done to it.
EXPECTED = re.compile('|'.join((
    # What the model refuses because it was told to.
    r'netdev_offload_dpdk\(.*rte_flow creation failed: ',
    r'netdev_offload_dpdk\(.*Failed flow: ',
    r'nic_driver(\(\w+\))?\|WARN\|.*: the NIC did not remove a rule, ',
    # It deletes what it has not been able to modify.
    r'netdev_offload_dpdk\(.*ufid \S+ is not associated with an rte flow',
    # A flow is purged while a revalidator has a look at it.
    r'dpif\(revalidator\d+\)\|WARN\|\S+ failed to (flow_get|put\[modify\]) '
    r'\(No such file',
    r'Failed to acquire udpif_key corresponding to unexpected flow \(No such',
    # Two packets of a flow are translated at once, or while its copy goes.
    r'ofproto_dpif_upcall\(.*upcall_cb failure: ukey installation fails',
    # A tunnel's port or the map of options is away, or any port.
    r'Invalid Geneve tunnel metadata on bridge br-int',
    r'receive tunnel port not found',
    r'received packet on unknown port',
    r'netdev_dpdk\|WARN\|Rx checksum offload is not supported on port',
    # A kernel without what net_tap's own rte_flow needs.
    r'dpdk\|ERR\|(qdisc_create_multiq|eth_dev_tap_create|'
    r'tap_nl_dump_ext_ack)\(\)',
    # Restarts, and where it runs.
    r'bridge\|ERR\|another ovs-vswitchd process is running',
    r'fatal_signal(\(\w+\))?\|WARN\|terminating with signal 15',
    r'ovs_rcu(\(\w+\))?\|WARN\|blocked \d{4} ms waiting for ',
    r'\|WARN\|Dropped \d+ log messages in last',
    r'dpif\|WARN\|failed to enumerate system datapaths',
    r'timeval(\(\w+\))?\|WARN\|',
)))


class Storm:
    """SECONDS of it, by random SEED."""

    def __init__(self, seconds, seed, rate=8, taps=None,
                 say=lambda text: None):
        self.seconds, self.seed, self.say = seconds, seed, say
        self.random = random.Random(seed)
        self.steps = []
        self.away = []          # (when, what, function that brings it back)
        self.restarts = self.grown = 0
        settings = ['n-offload-threads=%d' % self.random.choice((1, 2, 3))]
        if taps is None:
            taps = self.random.random() < 0.7
        self.host = load.Host(
            nics=3, vms=2, taps=taps, family=self.random.choice((4, 6)),
            kind=self.random.choice(('geneve', 'geneve', 'vxlan')),
            settings=settings)
        self.note('%s over IPv%d, %s, %s' % (
            self.host.kind, self.host.family, settings,
            'net_tap' if taps else 'net_af_packet'))
        self.routes()
        self.flows = Flows(self.host, self.random)
        self.history, self.lanes = self.flows.history, self.flows.lanes
        self.judge = oracle.Oracle(self.host, self.history)
        self.traffic = load.Traffic(self.host, self.judge, self.lanes,
                                       rate)

    def routes(self):
        """While a NIC has no route its traffic goes by no other one, and ports
        keep their numbers."""
        one = self.host
        for n in one.nics:
            one.vsctl('set', 'Interface', 't%d' % n,
                      'ofport_request=%d' % (200 + n))
            one.ip('-%d route add unreachable default metric 4000 table %d'
                   % (one.family, 100 + n))
            one.ip('-%d rule add pref %d from %s lookup %d' % (
                one.family, 50 + n, one.endpoint(n), 100 + n))

    # Steps.

    def note(self, text):
        """Remembers a step."""
        now = time.time()
        text = '%10.3f %s.%03d %s' % (
            time.monotonic(), time.strftime('%H:%M:%S', time.gmtime(now)),
            now % 1 * 1000, text)
        self.steps.append(text)
        self.say(text)

    def later(self, what, function):
        """Calls FUNCTION after a while."""
        self.away.append((time.monotonic() + self.random.uniform(0.3, 4),
                          what, function))

    def is_away(self, what):
        """True if so, or settling still."""
        return any(what == entry[1] for entry in self.away)

    def nic_here(self):
        """A random NIC of which nothing is missing, or None."""
        return self.pick(n for n in self.host.nics if not self.is_away(n))

    def pick(self, choices):
        """One of CHOICES, or None."""
        choices = list(choices)
        return self.random.choice(choices) if choices else None

    def blink(self, part, function):
        """PART is away while FUNCTION works."""
        with self.history.change({part: False}):
            function()
        with self.history.change({part: True}):
            pass

    def reopen(self, *ports):
        """New far ends of PORTS: their devices are new."""
        if self.host.taps:
            with self.traffic.wires:
                for port in ports:
                    self.host.far[port].close()
                    self.host.far[port] = wire.Wire(self.host.ns('host'),
                                                    port)

    def step_flow(self):
        """A flow is added, modified or deleted."""
        part = self.random.choice(self.flows.parts)
        old, new = self.history.now(part), self.flows.any_flow(part)
        if new == old:
            return
        self.note('%s: %s' % (part, new))
        with self.history.change({part: new}):
            if new is None:
                self.host.ofctl('--strict', 'del-flows', 'br-int',
                                self.flows.match(part))
            else:
                self.host.ofctl('add-flow', 'br-int',
                                self.flows.flow(part, new))

    def step_flows(self):
        """Several at once."""
        new = {part: self.flows.any_flow(part) for part in self.random.sample(
            self.flows.parts, self.random.randrange(2, 9))}
        self.note('flows %s' % new)
        with self.history.change(new):
            self.flows.set_all()

    def step_vm(self):
        """A VF's port is removed, and comes back."""
        vm = self.pick(vm for vm in self.host.vms if not self.is_away(vm))
        if not vm:
            return
        self.note('del-port ' + vm)
        with self.history.change({('port', vm): False}):
            self.host.vsctl('del-port', vm)

        def back():
            with self.history.change({('port', vm): True}):
                self.host.vsctl(*self.host.port_words(vm)[1:])
                self.reopen(vm)
        self.later(vm, back)

    def step_nic(self):
        """A NIC loses its bridge, its port, its address or its wire."""
        n, one = self.nic_here(), self.host
        if not n:
            return
        kind = self.random.choice(('bridge', 'port', 'address', 'link',
                                   'tunnel'))
        part = (kind if kind in ('link', 'tunnel') else 'nic', n)
        bound = (oracle.LINK_BOUND if kind in ('bridge', 'port', 'link')
                 else oracle.BOUND)
        length = 24 if one.family == 4 else 64
        away = {
            'bridge': lambda: one.vsctl('del-br', 'br-nic%d' % n),
            'port': lambda: one.vsctl('del-port', 'nic%d' % n),
            'address': lambda: one.ip('addr del %s/%d dev br-nic%d' % (
                one.endpoint(n), length, n)),
            'link': lambda: self.link(n, 'down'),
            'tunnel': lambda: one.vsctl('del-port', 't%d' % n)}
        back = {'bridge': lambda: self.bridge_back(n),
                'port': lambda: self.port_back(n),
                'address': lambda: self.address_back(n),
                'link': lambda: self.link(n, 'up'),
                'tunnel': lambda: self.tunnel_back(n)}
        self.note('%s of NIC %d away' % (kind, n))
        with self.history.change({part: False}):
            away[kind]()

        def come_back():
            with self.history.change({part: True}, bound):
                back[kind]()
        self.later(n, come_back)

    def link(self, n, how):
        """Pulls the wire, or puts it back."""
        self.host.ip('link set nic%d %s' % (n, how),
                     'host' if self.host.taps else 'far')

    def bridge_back(self, n):
        """A NIC's bridge."""
        self.host.vsctl(*self.host.nic_words(n)[1:])
        self.reopen('nic%d' % n)
        self.address_back(n)

    def port_back(self, n):
        """A NIC's port."""
        self.host.vsctl(*self.host.port_words('nic%d' % n)[1:])
        self.reopen('nic%d' % n)

    def address_back(self, n):
        """A NIC's address, and what went with it."""
        self.host.ip('-%d rule del pref %d' % (self.host.family, 100 + n))
        self.host.add_address(n)

    def tunnel_back(self, n):
        """A tunnel port."""
        one = self.host
        one.vsctl(*one.tunnel_words(
            't%d' % n, 'options:remote_ip="%s"' % one.peer(n),
            'options:local_ip="%s"' % one.endpoint(n),
            'ofport_request=%d' % (200 + n))[1:])

    def port_part(self):
        """A random DPDK port that is there, and its part; or None."""
        port = self.pick(port for port in self.host.ports
                         if not self.is_away(port if port in self.host.vms
                                             else int(port[3:])))
        return port and (port, ('port', port) if port in self.host.vms
                         else ('nic', int(port[3:])))

    def step_mtu(self):
        """A port is stopped and started because its MTU changes."""
        port, part = self.port_part() or (None, None)
        if not port:
            return
        mtu = (self.random.randrange(1480, 1501) if part[0] == 'nic'
               else self.random.randrange(1380, 1401))
        self.note('MTU of %s: %d' % (port, mtu))
        self.blink(part, lambda: self.host.vsctl(
            'set', 'Interface', port, 'mtu_request=%d' % mtu))

    def step_reset(self):
        """A port resets itself."""
        port, part = self.port_part() or (None, None)
        if not port:
            return
        self.note('reset of ' + port)

        def starts():
            return self.host.log('eswitch').count(
                ', %s, started' % self.host.devices[port])

        def reset():
            before = starts()
            self.host.model('reset', self.host.devices[port])
            host.until('%s starts' % port, lambda: starts() > before)
        self.blink(part, reset)

    def step_fault(self):
        """A NIC has no room, refuses, or takes its time, for a while."""
        rng = self.random
        nic = 'nic%d' % rng.choice(self.host.nics)
        begin, end = rng.choice((
            ('limit-rules %s %d' % (nic, rng.randrange(12)),
             'limit-rules %s none' % nic),
            ('limit-encaps %s %d' % (nic, rng.randrange(5)),
             'limit-encaps %s none' % nic),
            ('fail-create %s %d' % (rng.choice(('ENOMEM', 'EIO', 'EINVAL')),
                                    rng.randrange(1, 9)), 'fail-create off'),
            ('fail-create %s' % rng.choice(('ENOMEM', 'EIO')),
             'fail-create off'),
            ('slow-create %d' % rng.randrange(1, 30), 'slow-create 0'),
            ('fail-destroy EIO %d' % rng.randrange(1, 5), 'fail-destroy off'),
            ('geneve-option all %s' % rng.choice(('no', 'late')),
             'geneve-option all yes'),
            ('fail-query EIO', 'fail-query off')))
        what = begin.split()[0]
        # Old rules stay: one is tried again after a second, as many times as
        # all of them fail.
        slack = {'slow-create': 3, 'fail-destroy': 6}.get(what, 0)
        if slack:
            what = 'slack'
        if self.is_away(what):
            return
        self.note(begin)
        if slack:
            self.history.be_slow(slack)
        self.host.model(begin)

        def stop():
            self.host.model(end)
            if slack:
                self.history.stall(3)
                self.history.slack = 0
        self.later(what, stop)

    def step_mac(self):
        """A gateway has another MAC."""
        n, one = self.nic_here(), self.host
        if not n:
            return
        mac = '02:00:00:fd:%02x:%02x' % (n, self.random.randrange(256))
        # A packet would be lost while the port or its link is unsettled.
        now = time.monotonic()
        stable = all(len(self.history.valid((part, n), now, now)) == 1
                     for part in ('nic', 'link', 'mac'))
        speak = one.family == 4 and stable and self.random.random() < 0.5
        self.note('gateway %d is %s%s' % (n, mac, ', as it says' * speak))
        with self.history.change({('mac', n): mac}):
            one.set_gateway_mac(n, mac)
            if speak:
                self.announce(n, mac)
            else:
                one.neighbor(n, mac)

    def announce(self, n, mac):
        """Gratuitous ARP."""
        address = self.host.gateway(n)
        frame = bytes(packets.Ether(src=mac, dst='ff:ff:ff:ff:ff:ff')
                      / packets.ARP(op=2, hwsrc=mac, psrc=address,
                                    hwdst='ff:ff:ff:ff:ff:ff',
                                    pdst=address))
        with self.traffic.wires:
            self.host.far['nic%d' % n].send(frame)

    def step_switch(self):
        """Offload is switched off for a while."""
        if self.is_away('switch'):
            return

        def turn(how):
            self.host.vsctl('set', 'Open_vSwitch', '.',
                            'other_config:encap-offload=' + how)
        self.note('encap-offload=false')
        turn('false')
        self.later('switch', lambda: turn('true'))

    def step_purge(self):
        """All flows of the datapath are deleted."""
        self.note('revalidator/purge')
        self.host.appctl('revalidator/purge')

    def step_look(self):
        """Somebody wants to know."""
        vm, n = self.random.choice(self.host.vms), self.nic_here()
        words = self.random.choice((
            ('encap/check',), ('version',) if self.is_away(vm) or not n else
            ('encap/trace', 'in_port=' + vm, 'tunnel=t%d' % n),
            ('dpctl/dump-flows', '-m', 'type=offloaded'),
            ('dpctl/dump-flows', '-m'), ('encap/show',),
            ('encap/offload-show', 'format=json'), ('encap/offload-show',),
            ('dpctl/offload-stats-show', '-m'), ('memory/show',),
            ('dpif-netdev/pmd-stats-show',)))
        self.note(' '.join(words))
        self.host.appctl(*words)

    def step_pause(self):
        """Nothing, for a while."""
        self.note('pause')
        time.sleep(self.random.uniform(0.2, 3))

    def step_restart(self):
        """ovs-vswitchd ends, and starts again."""
        self.all_back()
        self.note('restart')
        one = self.host
        with self.history.change({('daemon',): False}):
            one.stop('ovs-vswitchd')
        with self.history.change({('daemon',): True}, oracle.LINK_BOUND):
            one.start_vswitchd()
            self.reopen(*one.ports)
            one.restore()
            self.flows.set_all()
        self.restarts += 1

    WEIGHTS = (('flow', 24), ('flows', 4), ('vm', 3), ('nic', 2), ('mtu', 2),
               ('reset', 2), ('fault', 6), ('mac', 5), ('switch', 1),
               ('purge', 1), ('look', 4), ('pause', 3))

    # What stops a port and starts it, which net_af_packet cannot.
    STOPS = ('mtu', 'reset')

    def back(self, until):
        """Brings back what should be by time UNTIL."""
        for entry in sorted(self.away, key=lambda entry: entry[0]):
            if entry[0] <= until:
                self.note('back: %s' % (entry[1],))
                entry[2]()
                self.away.remove(entry)

    def all_back(self):
        """All is there."""
        self.back(oracle.FOREVER)

    # The whole.

    def run(self):
        """Does it; raises AssertionError if something is wrong."""
        try:
            self.traffic.start()
            self.blow()
            self.all_back()
            self.until_in_nics()
            self.traffic.finish()
            self.look_for_faults()
            self.end()
        except Exception as error:
            raise AssertionError('seed %d, after\n%s\n%s%s' % (
                self.seed, '\n'.join(self.steps), error,
                self.obituary())) from error
        self.read_logs()

    def blow(self):
        """SECONDS of random steps; a restart in each minute of the first
        half."""
        begun = time.monotonic()
        names, weights = zip(*(
            (name, weight) for name, weight in self.WEIGHTS
            if self.host.taps or name not in self.STOPS))
        memory = None
        while time.monotonic() < begun + self.seconds:
            passed = time.monotonic() - begun
            if 60 * self.restarts + 20 < passed < self.seconds / 2:
                self.step_restart()
            if memory is None and passed > self.seconds * 0.6:
                memory = self.memory()
            self.back(time.monotonic())
            name = self.random.choices(names, weights)[0]
            getattr(self, 'step_' + name)()
            self.look_for_faults()
            time.sleep(self.random.uniform(0, 0.3))
        self.grown = self.memory() - (memory or self.memory())

    def pid(self):
        """That of ovs-vswitchd."""
        with open(self.host.dir + '/ovs-vswitchd.pid') as stream:
            return int(stream.read())

    def memory(self):
        """What ovs-vswitchd has in memory, in bytes."""
        with open('/proc/%d/statm' % self.pid()) as stream:
            return int(stream.read().split()[1]) * os.sysconf('SC_PAGESIZE')

    def obituary(self):
        """What ovs-vswitchd said last if it is gone."""
        try:
            gone = lab.ended(self.pid())
        except OSError:
            gone = True
        return gone * ('\novs-vswitchd is gone:\n%s\n%s' % (
            self.host.log()[-2000:], self.host.log('eswitch')[-1000:]))

    def look_for_faults(self):
        """Fails if there are some."""
        if lab.ended(self.pid()):
            raise AssertionError('no ovs-vswitchd')
        found = self.traffic.faults + [
            line for line in self.host.faults() if line]
        if found:
            raise AssertionError('%d faults, found at %.3f\n%s%s' % (
                len(found), time.monotonic(), '\n'.join(found[:5]),
                self.scene()))

    def scene(self):
        """What the datapath, the NICs and the bridge have now."""
        one = self.host
        return '\n%s\n%s\n%s' % ('\n'.join(one.dump('all')),
                                 '\n'.join(one.rules()),
                                 one.ofctl('dump-flows', 'br-int'))

    def is_for_nic(self, lane):
        """True if a NIC should do what is to be done with packets of LANE.
        (What enters no tunnel is the base's, which tries once.)"""
        flow, number = self.judge.expected(lane)
        if number != 1 or bool(lane.nic) == bool(flow.nic):
            return False
        own = lane.nic or int(lane.source[2])
        return (int(flow.ports[0][2]) if flow.ports else flow.nic) == own

    def until_in_nics(self):
        """What NICs can do comes to them when nothing is in the way, also what
        they have refused before."""
        some = [self.is_for_nic(lane) for lane in self.lanes]
        self.note('%d of %d lanes are for NICs' % (sum(some), len(some)))
        last = []

        def settled():
            before, sent = self.host.passed(), self.traffic.sent
            time.sleep(2)
            after, sent = self.host.passed(), self.traffic.sent - sent
            missed, done = (sum(after[port].get(key, 0)
                                - before[port].get(key, 0) for port in after)
                            for key in ('missed', 'executed'))
            last[:] = [sent, done, missed]
            self.look_for_faults()
            return done >= 0.97 * sent * sum(some) / len(some) - 3
        host.until(lambda: 'all in NICs: sent, done, missed %s, %d/%d lanes\n'
                   '%s\n%s\n%s' % (
                       last, sum(some), len(some),
                       self.host.appctl('encap/offload-show'),
                       '\n'.join(line for line in self.host.dump('all')
                                 if 'dp:dpdk' not in line),
                       '\n'.join(self.host.rules())), settled, 45)
        self.note('sent, done, missed in 2 s: %s' % last)

    def end(self):
        """Nothing is left when flows are gone."""
        one = self.host
        one.flows('')
        one.purge()
        self.note('packets: %d sent, %d with one possible outcome, %d '
                  'arrived; memory +%d KB, %d restarts'
                  % (self.traffic.sent, self.judge.certain,
                     self.traffic.arrived, self.grown // 1024,
                     self.restarts))
        if self.judge.certain < self.traffic.sent / 4:
            raise AssertionError('too much was allowed')
        for nic in one.offload_show()['nics']:
            if (nic['rules'] or nic['encap-contexts']
                    or nic['flows']['offloaded']):
                raise AssertionError('left: %s' % nic)
            if max(nic['hardware']['packets'],
                   nic['software']['packets']) > 2 * self.traffic.sent + 1000:
                raise AssertionError('never counted: %s' % nic)
        for n in one.nics:
            shown = one.nic(n)
            if shown['rules'] != '0' or shown['encaps'] != '0':
                raise AssertionError('left: %s' % shown)
        # AddressSanitizer keeps what was freed for a while.
        if self.grown > 8 << 20 and not host.sanitizers():
            raise AssertionError('%d KB more memory' % (self.grown // 1024))
        self.look_for_faults()

    def read_logs(self):
        """Ends ovs-vswitchd.  Nothing is left then, and nothing has been said
        that was not to be expected."""
        one = self.host
        before = len(one.log('eswitch'))
        one.stop('ovs-vswitchd')
        bad = [line for line in one.log('eswitch')[before:].splitlines()
               if 'exit: ' in line and ' has 0 rules, 0 ' not in line]
        bad += [line for line in one.log().splitlines()
                if re.search(r'\|(WARN|ERR|EMER)\|', line)
                and not EXPECTED.search(line)]
        if bad:
            raise AssertionError('seed %d, logs:\n%s' % (
                self.seed, '\n'.join(bad[:200])))

    def close(self):
        """Removes the host."""
        self.traffic.ending.set()
        if self.traffic.is_alive():
            self.traffic.join()
        self.host.close()
