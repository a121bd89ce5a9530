# SPDX-License-Identifier: Apache-2.0
"""Random flows of OpenFlow, into tunnels and out of them, and packets that
meet them."""
import oracle
import packets

VNIS = (5, 6, 7)
KINDS = ('udp', 'tcp', 'udp6')          # What each VF sends.


class Flows:
    """The flows of HOST, by RANDOM, in its 'history', and lanes for them."""

    def __init__(self, one, rng):
        self.host, self.random = one, rng
        self.options = ((None, 1, 2) if one.kind == 'geneve' else (None,))
        self.history = oracle.History()
        self.begin()
        self.lanes = list(self.make_lanes())

    def begin(self):
        """The first one."""
        one = self.host
        for n in one.nics:
            for part in ('nic', 'link', 'tunnel'):
                self.history.begin((part, n), True)
            self.history.begin(('mac', n), one.gateway_mac(n))
        for vm in one.vms:
            self.history.begin(('port', vm), True)
        self.history.begin(('daemon',), True)
        self.parts = [('out', vm, k) for vm in one.vms
                      for k in range(len(KINDS))]
        self.parts += [('in', n, vni, option) for n in one.nics
                       for vni in VNIS for option in self.options]
        for part in self.parts:
            self.history.begin(part, self.any_flow(part))
        self.set_all()

    def make_lanes(self):
        """Lanes for all flows; and for each NIC one with a VNI that no flow
        has, which counts as one whose flow never is."""
        lanes = []

        def add(source, inner, frame, *parts, nic=0):
            lanes.append(oracle.Lane(len(lanes), source, inner, frame, parts,
                                     nic))
        for vm in self.host.vms:
            for k, kind in enumerate(KINDS):
                inner = self.inner(kind, 5000 + k)
                add(vm, inner, inner, ('out', vm, k))
        for n in self.host.nics:
            for vni in VNIS + (99,):
                for option in self.options:
                    inner = self.inner('udp', 6000, False)
                    part = ('in', n, vni, option)
                    self.history.spans.setdefault(
                        part, [oracle.Span(-oracle.FOREVER, oracle.FOREVER,
                                           None)])
                    add('nic%d' % n, inner, packets.outer(
                        self.host, n, inner, vni, b'' if option is None
                        else packets.option(option), chksum=0), part,
                        ('in', n, vni, None), nic=n)
        return lanes

    def inner(self, kind, port, outgoing=True):
        """An inner frame, without an L4 checksum: what it carries changes."""
        return packets.inner(kind, oracle.Lane.payload(), outgoing, chksum=0,
                             dport=port)

    def any_flow(self, part):
        """A random value."""
        rng, one = self.random, self.host
        if rng.random() < 0.15:
            return None
        own = int(part[1][2]) if part[0] == 'out' else part[1]
        near = [vm for vm in one.vms if int(vm[2]) == own and vm != part[1]]
        other = [vm for vm in one.vms if vm != part[1]]
        option = rng.choice(self.options)
        nic, ports = 0, ()
        kind = rng.random()
        if part[0] == 'out':
            nic = own if kind < 0.75 else rng.choice(one.nics)
            if 0.8 < kind < 0.9:
                nic, ports = 0, (rng.choice(near),)
            elif kind > 0.9:
                ports = (rng.choice(other),)
        elif kind < 0.75:
            ports = (rng.choice(near),)
        elif kind < 0.9:
            ports = tuple(rng.sample(other, rng.choice((1, 2))))
        else:
            # What comes with an option would go with it.
            nic = rng.choice([n for n in one.nics if n != own])
            option = self.options[-1]
        return oracle.Flow(
            nic, rng.choice(VNIS), option, ports,
            rng.choice((None, None, '0a:00:00:00:99:%02x'
                        % rng.randrange(256))), rng.random() < 0.3)

    def number(self, port):
        """An OpenFlow port's number."""
        return (200 + int(port[1]) if port[0] == 't'
                else self.host.number(port))

    def match(self, part):
        """The match of a flow."""
        if part[0] == 'out':
            kind = KINDS[part[2]]
            return 'priority=200,%s,in_port=%d,tp_dst=%d' % (
                kind, self.number(part[1]), 5000 + part[2])
        option = part[3]
        return 'priority=%d,ip,in_port=%d,tun_id=%d%s' % (
            100 if option is None else 200, self.number('t%d' % part[1]),
            part[2], '' if option is None
            else ',tun_metadata0=%d' % option)

    def flow(self, part, flow):
        """Its text."""
        words = []
        if flow.mac:
            words.append('mod_dl_dst:' + flow.mac)
        if flow.ttl:
            words.append('dec_ttl')
        words += ['output:%d' % self.number(port) for port in flow.ports]
        if flow.nic:
            words.append('set_field:%d->tun_id' % flow.vni)
            if flow.option is not None:
                words.append('set_field:%d->tun_metadata0' % flow.option)
            words.append('output:%d' % self.number('t%d' % flow.nic))
        return '%s,actions=%s' % (self.match(part), ','.join(words))

    def set_all(self):
        """Sets all of them."""
        self.host.flows('\n'.join(
            self.flow(part, self.history.now(part)) for part in self.parts
            if self.history.now(part)))
