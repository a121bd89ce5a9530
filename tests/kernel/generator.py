# SPDX-License-Identifier: Apache-2.0
"""Random topologies, routing state, changes and queries, from one seed.

Commands are lines as Kernel.run() takes them, so that a failing case reads
like a shell script.  Many are refused by the kernel, which is part of the
test.  What the mirror does not promise (Documentation: what is not evaluated)
is avoided, each time with a comment "Limit"."""

import ipaddress
import random

from kernel import Query

N_VETH = 4
TABLES = [254, 254, 254, 253, 1, 2, 10, 100, 1000, 4000000000]
PRIORITIES = [1, 5, 10, 50, 100, 100, 100, 200, 500, 1000, 30000, 32765,
              32766, 32767, 40000]
METRICS = [None, None, None, 0, 1, 50, 100, 700, 1024, 4294967295]
MARKS = [0, 0, 0, 1, 2, 0x10, 0xff, 0x100, 0xffffffff]
TOS = [0, 0, 0, 4, 8, 0x10, 0x1c, 0x20, 0x28, 0xb8, 0x3, 0xe0]
PORTS = [0, 53, 4789, 6081, 65535]

# Small pools, so that routes and queries meet.
DST = {
    4: ["0.0.0.0/0", "0.0.0.0/0", "0.0.0.0/1", "10.0.0.0/8", "10.1.0.0/16",
        "10.1.0.0/16", "10.1.0.0/24", "10.1.1.0/24", "10.1.1.0/25",
        "10.1.1.128/25", "10.1.1.1/32", "10.1.1.77/32", "10.0.0.0/16",
        "10.0.1.0/24", "10.0.2.0/24", "10.0.2.128/25", "10.0.3.3/32",
        "203.0.113.0/24", "203.0.113.64/26", "203.0.113.77/32",
        "198.51.100.0/22", "198.51.100.6/31", "127.0.0.0/16"],
    6: ["::/0", "::/0", "2000::/3", "2001:db8::/32", "2001:db8:100::/40",
        "2001:db8:100::/48", "2001:db8:100::/48",
        "2001:db8:100:1::/64", "2001:db8:100:1::/64", "2001:db8:100:1::1/128",
        "2001:db8:100:1:8000::/65", "2001:db8:0:1::/64", "2001:db8:0:2::/64",
        "2001:db8:0:2::80/121", "2001:db8:0:3::3/128", "fd00::/8",
        "fd00:1::/32", "fd00:1::77/128"],
}
# Limit: where a source-specific IPv6 route and others are for one prefix, and
# the others go, or more specific ones come before it, what the kernel finds
# depends on the history of its tree.  So these are for themselves; only the
# root of the tree has no such history.
SOURCED = ["::/0", "2001:db8:101::/48", "fd00:9::/32"]
DEST = {
    4: ["10.1.0.5", "10.1.1.1", "10.1.1.77", "10.1.1.200", "10.1.2.2",
        "10.0.1.9", "10.0.2.9", "10.0.2.200", "10.0.3.3", "10.0.4.4",
        "203.0.113.7", "203.0.113.77", "203.0.113.99", "198.51.100.7",
        "198.51.101.1", "8.8.8.8", "192.0.2.1", "172.16.0.9", "127.0.5.5",
        "10.9.0.2", "10.7.7.7"],
    6: ["2001:db8:100::5", "2001:db8:100:1::1", "2001:db8:100:1::77",
        "2001:db8:100:1:8000::1", "2001:db8:101::1", "2001:db8:0:1::9",
        "2001:db8:0:2::9", "2001:db8:0:2::81", "2001:db8:0:3::3",
        "2001:db8:0:4::4", "2001:db8:1ff::1", "2001:dead::1", "fd00:1::77",
        "fd00:1::1", "fd00:2::1", "2001:db8:101::9", "fd00:9:3::1", "4000::1",
        "::1"],
}


class Generator:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.families = [4, 6]
        self.devices = {}       # Name: number in addresses.
        self.carriers = {}      # Name of the veth peer that gives carrier.
        self.addresses = []     # (family, device, text).
        self.routes = []        # (family, text).
        self.rules = []
        self.objects = {}       # id: "single", "group".
        self.n_names = 0
        self.object_route = "%s table %d" % (self.r.choice(DST[6]),
                                             self.r.choice(TABLES))
        # Limit: the kernel keeps the source that it chose for an IPv4
        # next-hop object as long as no address changes, whatever the scope of
        # the route that asks.  So there are either objects for IPv4 or
        # addresses of other scopes.
        self.scopes = self.r.choice([(), ("link", "host", "200")])
        # Limit: the kernel does not share out the flows of a multipath route
        # anew when ignore_routes_with_linkdown changes, but at the next event
        # of a link; it keeps the own source of each IPv4 next hop until some
        # packet without a source takes it.  So there are either such changes
        # or such routes.
        self.multipath = {4: self.r.random() < 0.5, 6: self.r.random() < 0.5}
        # Limit: the kernel does not mark an IPv4 route by an IPv6 gateway as
        # without carrier until the carrier changes.
        self.ignore = self.r.random() < 0.5
        # Limit: where IPv6 is disabled on a device, the kernel stops using
        # next hops on it, of several or objects, without a message.
        self.ipv6_off = not self.multipath[6] and self.r.random() < 0.5

    def one(self, *things):
        return self.r.choice(things)

    def maybe(self, p, text):
        return text if self.r.random() < p else ""

    def device(self):
        return self.r.choice(sorted(self.devices) or ["lo"])

    def any_device(self):
        return self.r.choice(sorted(self.devices) + ["lo"])

    # Topology.

    def setup(self):
        r = self.r
        c = ["sysctl net.ipv6.conf.%s.accept_dad=0" % d
             for d in ("all", "default")]
        # Limit: reachability of IPv6 routers counts on hosts that do not
        # forward; without traffic there is no neighbour entry to ask, so both
        # settings are used.
        c += ["sysctl net.ipv6.conf.all.forwarding=%d" % r.randrange(2),
              "sysctl net.ipv4.nexthop_compat_mode=%d" % r.randrange(2),
              "sysctl net.ipv6.conf.default.addr_gen_mode=%d" % r.randrange(2),
              "sysctl net.ipv4.conf.all.promote_secondaries=%d"
              % r.randrange(2),
              # With ports in the hash, other source ports show other legs.
              "sysctl net.ipv4.fib_multipath_hash_policy=1",
              "sysctl net.ipv6.fib_multipath_hash_policy=1",
              "ip link set lo up"]
        # Limit: until the first rule is added, the kernel searches local and
        # main as one IPv4 table, and both for IPv6 even if the rules for them
        # are deleted.
        c += ["ip %srule %s pref 40001 lookup main" % (family, verb)
              for family in ("", "-6 ") for verb in ("add", "del")]
        for i in range(1, 1 + N_VETH):
            name, peer = "v%d" % i, "p%d" % i
            c += ["ip link add %s type veth peer name %s" % (name, peer),
                  "ip link set %s up" % peer, "ip link set %s up" % name]
            self.devices[name] = i
            self.carriers[name] = peer
        # A bridge with a port that stays, and one without carrier; a tap
        # without a reader has none either.
        c += ["ip link add br0 type bridge",
              "ip link add w0 type veth peer name w1",
              "ip link set w0 master br0", "ip link set w0 up",
              "ip link set w1 up", "ip link set br0 up",
              "ip tuntap add dev tap0 mode tap", "ip link set tap0 up",
              "ip link add mv0 link v4 type macvlan", "ip link set mv0 up"]
        self.devices.update(br0=5, tap0=6, mv0=4)
        c += ["ip link set %s group %d" % (self.device(), r.randrange(1, 4))
              for _ in range(3)]
        for name in sorted(self.devices) * 2:
            c += self.add_address(r.choice(self.families), name)
        c += self.add_address(4, "lo") + self.add_address(6, "lo")
        c += self.add_address(4) + self.add_address(6)
        if r.random() < 0.5:
            c.append("ip rule del pref 0")
            c.append("ip rule add pref 60 lookup local")
        if r.random() < 0.3:
            c.append("ip -6 rule del pref 0")
            c.append("ip -6 rule add pref 60 lookup local")
        for _ in range(r.choice([0, 0, 1, 3])):
            c += self.sysctl(first=True)
        for _ in range(r.randrange(4, 14)):
            c += self.add_object()
        for _ in range(r.randrange(3, 12)):
            c += self.add_rule(r.choice(self.families))
        for _ in range(r.randrange(20, 120)):
            c += self.add_route(r.choice(self.families))
        return c

    # Addresses.

    def add_address(self, family, name=None):
        r = self.r
        name = name or self.any_device()
        number = self.devices.get(name, r.randrange(1, 7))
        if r.random() < 0.1:
            number = r.randrange(1, 7)
        host = r.randrange(1, 6)
        if family == 4:
            text = r.choice(["10.0.%d.%d/24" % (number, host)] * 6
                            + ["10.0.%d.%d/16" % (number, host),
                               "10.0.%d.%d/32" % (number, host),
                               "192.0.2.%d/28" % host,
                               "192.0.2.%d/32" % host,
                               "10.9.0.%d peer 10.9.0.2/32" % host,
                               "10.9.1.%d peer 10.9.2.0/24" % host])
            text += r.choice([""] * 4 + [" brd +"])
            text += r.choice([""] * 3 + [" noprefixroute", " metric 77"]
                             + [" scope " + s for s in self.scopes])
        else:
            text = r.choice(["2001:db8:0:%d::%d/64" % (number, host)] * 5
                            + ["2001:db8:0:%d::%d/128" % (number, host),
                               "fd00:%d::%d/64" % (number, host)])
            text += r.choice([""] * 6 + [" noprefixroute", " metric 77",
                                         " preferred_lft 0"])
            text += " nodad"
        self.addresses.append((family, name, text))
        # Limit: the order in which IPv6 addresses of one device are announced
        # need not be that of their list, which decides between equals.
        return (["ip addr add %s dev %s" % (text, name)]
                + ["settle"] * (family == 6))

    def del_address(self):
        if not self.addresses:
            return []
        i = self.r.randrange(len(self.addresses))
        if self.addresses[i][0] == 4 and self.multipath[4]:
            return []
        _, name, text = self.addresses.pop(i)
        words = text.split()
        text = " ".join(words[:3]) if "peer" in words else words[0]
        return ["ip addr del %s dev %s" % (text, name)]

    def address(self, family):
        """Some address that is or was local, bare."""
        known = [t.split()[0].split("/")[0] for f, _, t in self.addresses
                 if f == family]
        return self.r.choice(known or ["10.0.1.1" if family == 4
                                       else "2001:db8:0:1::1"])

    # Routes.

    def gateway(self, family, name):
        number = self.devices.get(name, 1)
        host = self.r.randrange(200, 204)
        if family == 4:
            return "10.0.%d.%d" % (number, host)
        if self.r.random() < 0.2:
            return "fe80::%d" % host
        return "2001:db8:0:%d::%d" % (number, host)

    def hop(self, family):
        r = self.r
        name = self.device()
        kind = r.random()
        if kind < 0.25:
            return "dev " + name
        if family == 4 and kind < 0.35 and not self.ignore:
            return "via inet6 %s dev %s" % (self.gateway(6, name), name) \
                + self.maybe(0.7, " onlink")
        return "via %s dev %s" % (self.gateway(family, name), name) \
            + self.maybe(0.7, " onlink")

    def hops(self, family):
        if self.r.random() < 0.75 or not self.multipath[family]:
            return " " + self.hop(family)
        return "".join(" nexthop %s weight %d"
                       % (self.hop(family), self.one(1, 1, 2, 5))
                       for _ in range(self.r.randrange(2, 5)))

    def route(self, family):
        """Verb, options and text of a route."""
        r = self.r
        dst = r.choice(DST[family])
        default = dst.startswith("0.0.0.0/0")
        verb = r.choice(["add"] * 6 + ["append", "append", "prepend",
                                       "replace", "replace", "change"])
        text = dst
        if r.random() < 0.2:
            text = r.choice(["blackhole ", "unreachable ", "prohibit ",
                             "throw "]) + text
            via = ""
        elif r.random() < 0.05:
            text = "local " + text
            via = " dev lo"
        elif self.objects and r.random() < 0.2 \
                and not (family == 4 and self.scopes):
            via = " nhid %d" % r.choice(sorted(self.objects))
            if family == 6:
                # Limit: the kernel caches an IPv6 route by next hop and CPU.
                # Where two routes share an object, it may answer with source,
                # prefix length and table of the other.  So there is only one.
                return verb, self.object_route + via
        else:
            via = self.hops(family)
        if family == 4:
            if default:
                # Limit: among equal IPv4 default routes the kernel asks the
                # neighbours, so there is at most one of each metric and none
                # by TOS.
                if verb not in ("replace", "change"):
                    verb = "add"
            else:
                text += self.maybe(0.2, " tos %#x" % self.one(4, 8, 0x10,
                                                              0x1c, 0xb8))
        elif via and "nhid" not in via and "local" not in text \
                and r.random() < 0.15:
            text = text.replace(dst, r.choice(SOURCED)) + " from " + self.one(
                "2001:db8:0:1::/64", "2001:db8:0:1::1/128", "2001:db8::/32",
                "fd00::/8")
        metric = r.choice(METRICS)
        src = via and "local" not in text and r.random() < 0.2
        if family == 6 and src:
            # Limit: IPv6 next hops that come one by one keep a preferred
            # source each, but are announced with one for all.
            metric = r.randrange(2000, 1 << 30)
        if family == 6 and not self.multipath[6] \
                and verb in ("append", "prepend"):
            verb = "add"                # These make next hops of one route.
        if metric is not None:
            text += " metric %d" % metric
        text += " table %d" % r.choice(TABLES + [255] * (r.random() < 0.1))
        text += self.maybe(0.1, " proto " + self.one("static", "bird"))
        text += self.maybe(0.05, self.one(" mtu 1400", " realms 7"))
        if src:
            text += " src " + self.address(family)
        if family == 6:
            text += self.maybe(0.15, " pref " + self.one("low", "medium",
                                                         "high"))
        elif via and "nhid" not in via and r.random() < 0.1:
            text += " scope " + self.one("link", "global", "site", "200")
        return verb, text + via

    def add_route(self, family):
        verb, text = self.route(family)
        self.routes.append((family, text))
        return ["ip -6 route %s %s" % (verb, text) if family == 6
                else "ip route %s %s" % (verb, text)]

    def del_route(self):
        if not self.routes:
            return []
        family, text = self.routes.pop(self.r.randrange(len(self.routes)))
        if self.r.random() < 0.3:       # By less than all of it.
            text = text.split(" nexthop")[0].split(" nhid")[0]
            text = text.split(" via")[0]
        return ["ip %sroute del %s" % ("-6 " if family == 6 else "", text)]

    # Next-hop objects.

    def add_object(self):
        r = self.r
        number = r.randrange(1, 13)
        singles = [i for i, kind in self.objects.items() if kind == "single"]
        verb = "replace" if number in self.objects else "add"
        if number > 7 and singles:
            self.objects[number] = "group"
            members = sorted(r.sample(singles, min(len(singles),
                                                   r.randrange(1, 4))))
            return ["ip nexthop %s id %d group %s"
                    % (verb, number, "/".join(
                        "%d,%d" % (m, self.one(1, 1, 3)) for m in members))]
        if self.objects.get(number) == "group":
            return []
        self.objects[number] = "single"
        if r.random() < 0.1:
            return ["ip nexthop %s id %d blackhole" % (verb, number)]
        # An IPv4 route may name an IPv6 object, too.
        family = 4 if self.ipv6_off or self.ignore else r.choice([4, 4, 6])
        name = self.device()
        if r.random() < 0.15:
            return ["ip %snexthop %s id %d dev %s"
                    % ("-6 " if family == 6 else "", verb, number, name)]
        return ["ip nexthop %s id %d via %s dev %s%s"
                % (verb, number, self.gateway(family, name), name,
                   self.maybe(0.7, " onlink"))]

    def del_object(self):
        if not self.objects:
            return []
        number = self.r.choice(sorted(self.objects))
        del self.objects[number]
        return ["ip nexthop del id %d" % number]

    # Rules.

    def rule(self, family):
        r = self.r
        # Refusing rules must not end all queries at once.
        refuses = r.random() < 0.12
        text = "pref %d" % r.choice(PRIORITIES)
        text += self.maybe(0.03 if refuses else 0.15, " not")
        n = r.choice([0, 1, 1, 1, 1, 2, 2, 3]) + refuses
        selectors = set(r.choice(["from", "from", "from", "to", "mark", "tos",
                                  "iif", "oif", "proto", "dport", "sport",
                                  "uid", "l3mdev", "tun"])
                        for _ in range(n))
        l3mdev = False
        for s in sorted(selectors):
            if s == "from":
                text += " from " + (self.address(family) if r.random() < 0.7
                                    else r.choice(
                                        ["10.0.0.0/16", "10.0.1.0/24",
                                         "0.0.0.0/0", "0.0.0.0/8"]
                                        if family == 4 else
                                        ["2001:db8::/32", "::/0",
                                         "2001:db8:0:1::/64", "fd00::/8"]))
            elif s == "to":
                text += " to " + r.choice(DST[family])
            elif s == "mark":
                text += " fwmark " + self.one("1", "0x10/0xf0", "0/0x1",
                                              "0xff", "0x100/0x100", "2/0")
            elif s == "tos":
                text += " tos %#x" % self.one(4, 8, 0x10, 0x1c, 0xb8, 0x20)
            elif s == "iif":
                text += " iif " + self.one("lo", "lo", self.device(), "none9")
            elif s == "oif":
                text += " oif " + self.one("lo", self.device(), "none9")
            elif s == "proto":
                text += " ipproto " + self.one("udp", "udp", "tcp", "icmp")
            elif s == "dport":
                text += " dport " + self.one("4789", "6081", "53-5000",
                                             "6000-65534")
            elif s == "sport":
                # Limit: the outer source port is chosen packet by packet, so
                # a query has none; ports below 1000 find other legs.
                text += " sport " + self.one("4789", "1000-65534")
            elif s == "uid":
                text += " uidrange " + self.one("0-0", "0-1000",
                                                "1000-2000")
            elif s == "l3mdev":
                l3mdev = True
                text += " l3mdev"
            elif s == "tun":
                text += " tun_id %d" % r.randrange(1, 4)
        kind = r.random()
        if l3mdev:
            pass                        # The table is that of the VRF.
        elif refuses:
            text += " type " + self.one("blackhole", "unreachable",
                                        "prohibit")
        elif kind < 0.8:
            text += " lookup %d" % r.choice(TABLES + [255])
            text += self.maybe(0.15, " suppress_prefixlength %d"
                               % self.one(0, 0, 8, 16, 24, 48, 64))
            text += self.maybe(0.08, " suppress_ifgroup %d"
                               % r.randrange(0, 4))
        elif kind < 0.93:
            text += " goto %d" % r.choice(PRIORITIES)
        else:
            text += " nop"
        return text

    def add_rule(self, family):
        if self.r.random() < 0.06:
            return ["dscp-rule %d %d %d %d %d"
                    % (family, self.r.choice(PRIORITIES),
                       self.r.choice(TABLES), self.one(0, 1, 7, 46, 8),
                       self.one(0, 0, 0x3f, 0x38))]
        text = self.rule(family)
        self.rules.append((family, text))
        return ["ip %srule add %s" % ("-6 " if family == 6 else "", text)]

    def del_rule(self):
        if not self.rules:
            return []
        family, text = self.rules.pop(self.r.randrange(len(self.rules)))
        return ["ip %srule del %s" % ("-6 " if family == 6 else "", text)]

    # Changes.

    def move_local(self):
        family = self.one("", "-6 ")
        return self.one(["ip %srule del pref 0" % family],
                        ["ip %srule add pref 0 lookup local" % family],
                        ["ip %srule add pref 60 lookup local" % family],
                        ["ip %srule del pref 60" % family])

    def standard_rule(self):
        family = self.one("", "-6 ")
        return self.one(["ip %srule del pref 32766" % family],
                        ["ip %srule add pref 32766 lookup main" % family],
                        ["ip %srule add pref 32766 lookup main" % family],
                        ["ip rule del pref 32767"],
                        ["ip rule add pref 32767 lookup default"])

    def link(self):
        name = self.device() if self.r.random() < 0.97 else "lo"
        # Limit of the test, not of the product: linkwatch delays the news
        # about devices that are not paired by up to a second.
        if name == "br0" or self.r.random() < 0.5:
            return ["ip link set %s %s" % (name, self.one("up", "up",
                                                          "down"))]
        return ["ip link set %s %s" % (self.carriers.get(name, name),
                                       self.one("up", "up", "down"))]

    def new_device(self):
        self.n_names += 1
        name, peer = "n%d" % self.n_names, "q%d" % self.n_names
        self.devices[name] = self.r.randrange(1, 7)
        self.carriers[name] = peer
        return (["ip link add %s type veth peer name %s" % (name, peer),
                 "ip link set %s up" % peer, "ip link set %s up" % name]
                + ([] if self.multipath[4] else self.add_address(4, name))
                + self.add_address(6, name))

    def del_device(self):
        if len(self.devices) < 4 or self.multipath[4]:
            return self.new_device()
        name = self.device()
        del self.devices[name]
        return ["ip link del %s" % name]

    def rename(self):
        old = self.device()
        self.n_names += 1
        new = self.one("v%d" % self.r.randrange(1, 1 + N_VETH),
                       "r%d" % self.n_names)
        if new in self.devices:
            return []
        self.devices[new] = self.devices.pop(old)
        if old in self.carriers:
            self.carriers[new] = self.carriers.pop(old)
        self.addresses = [(f, new if d == old else d, t)
                          for f, d, t in self.addresses]
        down = self.r.random() < 0.5
        return (["ip link set %s down" % old] * down
                + ["ip link set %s name %s" % (old, new)]
                + ["ip link set %s up" % new] * down)

    def change_address(self):
        known = [a for a in self.addresses if a[0] == 6]
        if not known:
            return []
        _, name, text = self.r.choice(known)
        return ["ip addr change %s dev %s nodad preferred_lft %s"
                % (text.split()[0], name, self.one("0", "forever"))]

    def flush(self):
        return ["ip %sroute flush table %d" % (self.one("", "-6 "),
                                               self.r.choice(TABLES[4:]))]

    def port(self):
        name = "v%d" % self.r.randrange(1, 1 + N_VETH)
        return ["ip link set %s %s" % (name, self.one("master br0",
                                                      "nomaster"))]

    def ipv6_on_device(self):
        """IPv6 off and on, by itself or by an MTU that is too small."""
        if not self.ipv6_off:
            return []
        name = self.device()
        return [self.one("sysctl net.ipv6.conf.%s.disable_ipv6=1",
                         "sysctl net.ipv6.conf.%s.disable_ipv6=0",
                         "ip link set %s mtu 1200", "ip link set %s mtu 1500")
                % name]

    def sysctl(self, first=False):
        if self.r.random() < 0.2:
            return ["sysctl net.ipv6.conf.all.forwarding=%d"
                    % self.r.randrange(2)]
        family = self.one(4, 6)
        if (self.multipath[family] and not first) \
                or (family == 4 and not self.ignore):
            return []
        return ["sysctl net.ipv%d.conf.%s.ignore_routes_with_linkdown=%d"
                % (family, self.one("all", self.device()),
                   self.r.randrange(2))]

    def group(self):
        return ["ip link set %s group %d" % (self.device(),
                                             self.r.randrange(4))]

    def changes(self):
        """A batch of changes, mostly few, that the mirror takes as one."""
        r = self.r
        c = []
        actions = ([lambda: self.add_route(r.choice(self.families))] * 24
                   + [self.del_route] * 14
                   + [lambda: self.add_rule(r.choice(self.families))] * 6
                   + [self.del_rule] * 5 + [self.link] * 9
                   + [lambda: self.add_address(
                       6 if self.multipath[4] else r.choice(self.families))]
                   * 4
                   + [self.del_address] * 4 + [self.add_object] * 5
                   + [self.del_object] * 2 + [self.rename, self.del_device,
                                              self.new_device, self.sysctl,
                                              self.group, self.move_local,
                                              self.standard_rule, self.flush,
                                              self.port, self.ipv6_on_device,
                                              self.change_address])
        for _ in range(r.choice([1, 1, 2, 3, 5, 8, 20])):
            c += r.choice(actions)()
        return c

    # Queries.

    def query(self, local):
        """'local': the addresses that are on devices now."""
        r = self.r
        family = r.choice(self.families)
        dst = r.choice(DEST[family])
        if r.random() < 0.1:
            net = ipaddress.ip_network(r.choice(DST[family][2:]))
            dst = str(net[r.randrange(net.num_addresses)])
        elif r.random() < 0.1:
            dst = self.address(family)
        # Limit: only unicast destinations; link-local ones need a device.
        ip = ipaddress.ip_address(dst)
        if ip.is_multicast or ip.is_link_local or ip.is_unspecified \
                or (family == 4 and dst.startswith("0.")) \
                or int(ip) >> 28 == 0xf:
            dst = DEST[family][0]
        sources = [a for a in local if (":" in a) == (family == 6)
                   and not a.startswith("fe80")]
        kind = r.random()
        if kind < 0.3 or not sources:
            src = None
        elif family == 4 and kind < 0.42:
            src = self.one("1.2.3.4", self.address(4), "127.0.0.9",
                           "224.0.0.1", "255.255.255.255", "0.1.2.3")
        elif kind < 0.42:
            src = self.one("2001:db8:77::1", "2001:db8:0:1::77", "fd00:9::1")
        else:
            src = r.choice(sources)
        # "ip route get" takes UDP for an IPv4 query without protocol.
        proto = self.one(17, 17, 17, 6)
        return Query(dst, src, r.choice(MARKS), r.choice(TOS) & ~3, proto,
                     r.choice(PORTS))
