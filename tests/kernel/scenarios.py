# SPDX-License-Identifier: Apache-2.0
"""Named cases that must be right.  Each runs in a namespace of its own, and
each answer is compared with the kernel's; what the case is about is asserted
of the kernel's answer as well, so that a case cannot pass by testing
nothing."""

import errno
import random

from kernel import Query, describe
from mirror import difference, other_size


class Skip(Exception):
    pass


class Failure(Exception):
    pass


def run(function, ovstest):
    from __main__ import Trial
    with Trial(ovstest) as trial:
        function(Scenario(trial))


class Scenario:
    def __init__(self, trial):
        self.trial = trial
        self.kernel = trial.kernel
        self.r = random.Random(1)
        # Until the first rule changes, the kernel searches the IPv4 tables
        # local and main as one.
        self.kernel.run(["ip link set lo up",
                         "ip rule add pref 40001 lookup main",
                         "ip rule del pref 40001",
                         "sysctl net.ipv6.conf.all.accept_dad=0",
                         "sysctl net.ipv6.conf.default.accept_dad=0",
                         "sysctl net.ipv4.fib_multipath_hash_policy=1",
                         "sysctl net.ipv6.fib_multipath_hash_policy=1"],
                        strict=True)

    @property
    def mirror(self):
        return self.trial.mirror

    def do(self, text):
        """Executes the lines of 'text', all of which must succeed."""
        self.kernel.run([line.strip() for line in text.splitlines()],
                        strict=True)
        self.trial.apply([])

    def nics(self, n):
        """v1, v2, ...: up, with carrier from p1, p2, ..."""
        self.do("\n".join("ip link add v%d type veth peer name p%d\n"
                          "ip link set p%d up\nip link set v%d up"
                          % (i, i, i, i) for i in range(1, n + 1)))

    def check(self, condition, text):
        if not condition:
            raise Failure(text)

    def same(self, dst, src=None, dev=None, via=None, error=0, source=None,
             mark=0, tos=0, proto=17, dport=6081):
        """Both sides agree, and the kernel says what is expected ('error'
        None: anything)."""
        query = Query(dst, src, mark, tos, proto, dport)
        what = difference(self.kernel, self.mirror, query, self.r)
        self.check(not what, "%s: %s" % (describe(query), what))
        answer = self.kernel.get(query)
        self.check(error in (None, answer.error), "%s: kernel answers %s"
                   % (describe(query), answer))
        if not error:
            for expected, found in ((dev, answer.dev), (via, answer.gateway),
                                    (source, answer.src)):
                self.check(expected in (None, found or "-"),
                           "%s: kernel answers %s, not %s"
                           % (describe(query), answer, expected))

    def sizes(self):
        what = other_size(self.kernel, self.mirror)
        self.check(not what, what)


def three_vteps(s):
    s.nics(3)
    for i in (1, 2, 3):
        s.do("""ip addr add 192.0.2.%(i)d/24 dev v%(i)d
                ip route add 192.0.2.0/24 dev v%(i)d table 10%(i)d
                ip route add default via 192.0.2.254 dev v%(i)d table 10%(i)d
                ip rule add pref 10%(i)d from 192.0.2.%(i)d lookup 10%(i)d"""
             % {"i": i})


def case_three_vteps_in_one_subnet(s):
    three_vteps(s)

    def nine(devs=("v1", "v2", "v3")):
        for remote in ("203.0.113.11", "203.0.113.12", "203.0.113.13"):
            for i, dev in enumerate(devs):
                s.same(remote, "192.0.2.%d" % (i + 1), dev=dev,
                       via="192.0.2.254")
        for remote in ("192.0.2.11", "192.0.2.12", "192.0.2.13"):
            for i, dev in enumerate(devs):
                s.same(remote, "192.0.2.%d" % (i + 1), dev=dev, via="-")

    nine()
    s.do("ip rule del pref 102")
    s.same("203.0.113.12", "192.0.2.2", error=errno.ENETUNREACH)
    s.same("203.0.113.12", "192.0.2.1", dev="v1")
    s.do("ip rule add pref 102 from 192.0.2.2 lookup 102")
    nine()
    s.do("""ip route replace default via 192.0.2.254 dev v2 table 101
            ip route replace 192.0.2.0/24 dev v2 table 101""")
    s.same("203.0.113.12", "192.0.2.1", dev="v2")
    nine(("v2", "v2", "v3"))
    s.do("""ip route replace default via 192.0.2.254 dev v1 table 101
            ip route flush table 101
            ip route add default via 192.0.2.254 dev v1 table 101 onlink
            ip route add 192.0.2.0/24 dev v1 table 101""")
    nine()
    # All of them, then each before and behind its own.
    s.do("ip rule add pref 50 from 192.0.2.0/24 lookup 103")
    nine(("v3", "v3", "v3"))
    s.do("""ip rule add pref 200 from 192.0.2.0/24 lookup 103
            ip rule del pref 50""")
    nine()


def case_same_prefix_in_a_table_without_a_rule(s):
    for order in ((254, 77), (77, 254)):
        s.nics(2)
        s.do("""ip addr add 10.0.1.1/24 dev v1
                ip addr add 10.0.2.1/24 dev v2""")
        for table in order:
            s.do("ip route add 203.0.113.0/24 via 10.0.%d.9 table %d"
                 % (1 if table == 254 else 2, table))
        s.same("203.0.113.5", dev="v1", via="10.0.1.9")
        s.same("203.0.113.5", "10.0.2.1", dev="v1")
        s.do("ip route replace 203.0.113.0/24 via 10.0.2.8 table 77")
        s.same("203.0.113.5", dev="v1", via="10.0.1.9")
        s.do("ip rule add pref 9 fwmark 7 lookup 77")
        s.same("203.0.113.5", dev="v1")
        s.same("203.0.113.5", mark=7, dev="v2", via="10.0.2.8")
        s.do("ip rule del pref 9")
        s.same("203.0.113.5", mark=7, dev="v1")
        s.do("ip route del 203.0.113.0/24 table 77")
        s.same("203.0.113.5", dev="v1")
        s.do("""ip link del v1
                ip link del v2""")


def case_two_defaults_by_metric(s):
    s.nics(2)
    s.do("""ip addr add 10.0.1.1/24 dev v1
            ip addr add 10.0.2.1/24 dev v2
            ip addr add 2001:db8:0:1::1/64 dev v1 nodad
            ip addr add 2001:db8:0:2::1/64 dev v2 nodad
            ip rule add pref 9 fwmark 7 lookup 77
            ip -6 rule add pref 9 fwmark 7 lookup 77""")
    for mark, table in ((0, "main"), (7, "77")):
        for dst, low, high in (
                ("8.8.8.8", "via 10.0.1.9 dev v1", "via 10.0.2.9 dev v2"),
                ("2001:dead::1", "via 2001:db8:0:1::9 dev v1",
                 "via 2001:db8:0:2::9 dev v2")):
            family = "-6 " if ":" in dst else ""
            routes = ["default %s metric %d table %s" % (hop, metric, table)
                      for hop, metric in ((low, 50), (high, 700))]
            for first in (0, 1):
                for i in (first, 1 - first):
                    s.do("ip %sroute add %s" % (family, routes[i]))
                s.same(dst, mark=mark, dev="v1")
                for i, other in ((0, "v2"), (1, "v1")):
                    s.do("ip %sroute del %s" % (family, routes[i]))
                    s.same(dst, mark=mark, dev=other)
                    s.do("ip %sroute add %s" % (family, routes[i]))
                    s.same(dst, mark=mark, dev="v1")
                for text in routes:
                    s.do("ip %sroute del %s" % (family, text))
                s.same(dst, mark=mark, error=errno.ENETUNREACH)


def case_table_with_only_a_default(s):
    s.nics(2)
    s.do("""ip addr add 10.0.1.1/24 dev v1
            ip addr add 10.0.2.1/24 dev v2
            ip route add default via 10.0.2.254 dev v2 table 20
            ip rule add pref 20 from 10.0.2.1 lookup 20""")
    s.same("10.0.2.9", "10.0.2.1", dev="v2", via="10.0.2.254")
    s.same("10.0.1.9", "10.0.2.1", dev="v2", via="10.0.2.254")
    s.same("10.0.2.9", "10.0.1.1", dev="v2", via="-")
    s.same("10.0.2.9", dev="v2", via="-")


def case_own_subnet_by_main(s):
    s.nics(2)
    s.do("""ip addr add 10.0.1.1/24 dev v1
            ip addr add 10.0.2.1/24 dev v2
            ip route add default via 10.0.2.254 dev v2 table 20
            ip rule add pref 20 from 10.0.2.1 lookup 20""")
    s.do("ip rule add pref 19 from 10.0.2.1 to 10.0.2.0/24 lookup main")
    s.same("10.0.2.9", "10.0.2.1", dev="v2", via="-")
    s.same("10.0.1.9", "10.0.2.1", dev="v2", via="10.0.2.254")
    s.do("ip rule del pref 19")
    s.same("10.0.2.9", "10.0.2.1", dev="v2", via="10.0.2.254")


def case_suppress_prefixlength_0(s):
    s.nics(2)
    s.do("""ip addr add 10.0.1.1/24 dev v1
            ip addr add 10.0.2.1/24 dev v2
            ip route add default via 10.0.1.254
            ip route add default via 10.0.2.254 dev v2 table 20
            ip rule add pref 19 lookup main suppress_prefixlength 0
            ip rule add pref 20 from 10.0.2.1 lookup 20""")
    s.same("10.0.2.9", "10.0.2.1", dev="v2", via="-")
    s.same("10.0.1.9", "10.0.2.1", dev="v1", via="-")
    s.same("8.8.8.8", "10.0.2.1", dev="v2", via="10.0.2.254")
    s.same("8.8.8.8", "10.0.1.1", dev="v1", via="10.0.1.254")


def case_refusing_routes(s):
    s.nics(1)
    s.do("""ip addr add 10.0.1.1/24 dev v1
            ip addr add 2001:db8:0:1::1/64 dev v1 nodad
            ip rule add pref 9 fwmark 7 lookup 77
            ip -6 rule add pref 9 fwmark 7 lookup 77""")
    kinds = (("blackhole", errno.EINVAL), ("prohibit", errno.EACCES),
             ("unreachable", errno.EHOSTUNREACH), ("throw", None))
    for family, dst, net, gw in (
            ("", "203.0.113.5", "203.0.113.0/24", "10.0.1.9"),
            ("-6 ", "2001:db8:9::5", "2001:db8:9::/48", "2001:db8:0:1::9")):
        everything = "::/0" if family else "0.0.0.0/0"
        for mark, table in ((0, "main"), (7, "77")):
            for kind, error in kinds:
                here = {"family": family, "kind": kind, "net": net,
                        "gw": gw, "table": table, "all": everything}
                # Below a default: more specific than it.
                s.do("""ip %(family)sroute add default via %(gw)s table main
                        ip %(family)sroute replace default via %(gw)s \
table %(table)s
                        ip %(family)sroute add %(kind)s %(net)s \
table %(table)s""" % here)
                if error:
                    s.same(dst, mark=mark, error=error)
                elif table == "main":
                    s.same(dst, mark=mark, error=errno.ENETUNREACH)
                else:
                    s.same(dst, mark=mark, dev="v1", via=gw)
                # Above: a route inside what is refused.
                s.do("""ip %(family)sroute del %(kind)s %(net)s \
table %(table)s
                        ip %(family)sroute del default table main
                        ip %(family)sroute flush table 77
                        ip %(family)sroute add %(kind)s %(all)s \
table %(table)s
                        ip %(family)sroute add %(net)s via %(gw)s \
table %(table)s""" % here)
                s.same(dst, mark=mark, dev="v1", via=gw)
                other = "2001:dead::1" if family else "8.8.8.8"
                s.same(other, mark=mark, error=error or errno.ENETUNREACH)
                s.do("""ip %(family)sroute del %(net)s table %(table)s
                        ip %(family)sroute del %(kind)s %(all)s \
table %(table)s""" % here)


def case_refusing_rules(s):
    s.nics(1)
    s.do("""ip addr add 10.0.1.1/24 dev v1
            ip addr add 2001:db8:0:1::1/64 dev v1 nodad""")
    for family, dst in (("", "10.0.1.9"), ("-6 ", "2001:db8:0:1::9")):
        for action, error in (("type blackhole", errno.EINVAL),
                              ("type unreachable", errno.ENETUNREACH),
                              ("type prohibit", errno.EACCES),
                              ("nop", 0), ("goto 77777", 0),
                              ("goto 32766", 0)):
            s.do("ip %srule add pref 70 fwmark 7 %s" % (family, action))
            s.same(dst, mark=7, error=error, dev="v1")
            s.same(dst, dev="v1")
            s.do("ip %srule del pref 70" % family)
        # Over the refusal; onto it once the one before is gone.
        s.do("""ip %(f)srule add pref 72 goto 80
                ip %(f)srule add pref 75 type prohibit
                ip %(f)srule add pref 80 nop""" % {"f": family})
        s.same(dst, dev="v1")
        s.do("ip %srule del pref 80" % family)
        s.same(dst, error=errno.EACCES)
        s.do("ip %srule add pref 80 nop" % family)
        s.same(dst, dev="v1")
        s.do("""ip %(f)srule del pref 72
                ip %(f)srule del pref 75
                ip %(f)srule del pref 80""" % {"f": family})


def case_link_down_and_up(s):
    s.nics(2)
    s.do("""ip addr add 10.0.1.1/24 dev v1
            ip addr add 10.0.2.1/24 dev v2
            ip addr add 2001:db8:0:1::1/64 dev v1 nodad
            ip route add default via 10.0.1.254 table 20
            ip route add 10.0.1.0/24 dev v1 table 20
            ip route add default via 10.0.2.254 metric 900 table 20
            ip rule add pref 20 from 10.0.1.1 lookup 20
            ip -6 route add default via 2001:db8:0:1::254 table 20
            ip -6 rule add pref 20 from 2001:db8:0:1::1 lookup 20
            ip route add 203.0.113.0/24 nexthop via 10.0.1.9 \
nexthop via 10.0.2.9""")
    s.same("8.8.8.8", "10.0.1.1", dev="v1")
    s.do("ip link set v1 down")
    s.same("8.8.8.8", "10.0.1.1", dev="v2", via="10.0.2.254")
    s.same("203.0.113.5", dev="v2")
    s.sizes()
    s.do("ip link set v1 up")
    # The kernel makes the connected route anew, not the table's.
    s.same("8.8.8.8", "10.0.1.1", dev="v2", via="10.0.2.254")
    s.same("10.0.1.9", dev="v1")
    s.same("203.0.113.5")
    s.sizes()
    s.do("ip route add default via 10.0.1.254 table 20")
    s.same("8.8.8.8", "10.0.1.1", dev="v1")
    # Carrier alone: nothing goes, unless asked to ignore such routes.
    s.do("ip link set p1 down")
    s.same("8.8.8.8", "10.0.1.1", dev="v1")
    s.do("sysctl net.ipv4.conf.v1.ignore_routes_with_linkdown=1")
    s.same("8.8.8.8", "10.0.1.1", dev="v2")
    s.same("203.0.113.5", dev="v2")
    s.do("ip link set p1 up")
    s.same("8.8.8.8", "10.0.1.1", dev="v1")
    s.do("ip link set v1 name nic1")
    s.same("8.8.8.8", "10.0.1.1", dev="nic1")
    s.do("ip link del nic1")
    s.same("203.0.113.5", error=errno.ENETUNREACH)
    s.same("8.8.8.8", "10.0.2.1", error=errno.ENETUNREACH)
    s.sizes()


def case_source_on_another_device(s):
    s.nics(2)
    s.do("""ip addr add 10.0.1.1/24 dev v1
            ip addr add 10.0.2.1/24 dev v2
            ip addr add 192.0.2.1/32 dev lo
            ip addr add 2001:db8:0:1::1/64 dev v1 nodad
            ip addr add 2001:db8:ff::1/128 dev lo nodad
            ip route add 203.0.113.0/24 via 10.0.1.9 src 10.0.2.1
            ip route add 198.51.100.0/24 via 10.0.2.9 src 192.0.2.1
            ip -6 route add 2001:db8:9::/48 via 2001:db8:0:1::9 \
src 2001:db8:ff::1
            ip rule add pref 20 from 192.0.2.1 lookup 20
            ip route add 203.0.113.0/24 table 20 nexthop via 10.0.1.9 \
nexthop via 10.0.2.9""")
    s.same("203.0.113.5", dev="v1", source="10.0.2.1")
    s.same("198.51.100.5", dev="v2", source="192.0.2.1")
    s.same("2001:db8:9::5", dev="v1", source="2001:db8:ff::1")
    s.same("203.0.113.5", "192.0.2.1")
    s.same("198.51.100.5", "192.0.2.1", dev="v2")
    s.same("198.51.100.5", "10.0.1.1", dev="v2")
    s.same("2001:db8:9::5", "2001:db8:ff::1", dev="v1")
    # The address goes, and with it IPv4 routes that prefer it, silently.
    s.do("""ip addr del 192.0.2.1/32 dev lo
            ip addr del 2001:db8:ff::1/128 dev lo
            ip addr del 10.0.2.1/24 dev v2""")
    s.same("203.0.113.5", error=errno.ENETUNREACH)
    s.same("198.51.100.5", "192.0.2.1", error=errno.ENETUNREACH)
    s.same("198.51.100.5", error=errno.ENETUNREACH)
    s.same("2001:db8:9::5", dev="v1", source="2001:db8:0:1::1")
    s.sizes()


def case_ipv6_table_per_source(s):
    s.nics(4)
    for i in range(1, 5):
        s.do("""ip addr add 2001:db8::%(i)d/64 dev v%(i)d nodad
                ip -6 route add 2001:db8::/64 dev v%(i)d table 10%(i)d
                ip -6 route add default via 2001:db8::fe dev v%(i)d \
table 10%(i)d
                ip -6 rule add pref 10%(i)d from 2001:db8::%(i)d \
lookup 10%(i)d""" % {"i": i})
    for i in range(1, 5):
        s.same("2001:db8:9::%d" % i, "2001:db8::%d" % i, dev="v%d" % i,
               via="2001:db8::fe")
        s.same("2001:db8::1%d" % i, "2001:db8::%d" % i, dev="v%d" % i)
    # The product refuses this one, although "ip route get" does not.
    s.same("2001:db8::11", "2001:db8::77")
    s.do("ip -6 rule del pref 103")
    s.same("2001:db8:9::1", "2001:db8::3", error=errno.ENETUNREACH)
    # Source-specific routes in one table instead.  Such a route hides the
    # others for its prefix, but for a default, from all other sources.
    s.do("""ip -6 rule add pref 103 from 2001:db8::3 lookup 200
            ip -6 route add default from 2001:db8::3 via 2001:db8::fe \
dev v3 table 200
            ip -6 route add default via 2001:db8::fe dev v1 table 200""")
    s.same("2001:db8:9::1", "2001:db8::3", dev="v3")
    s.do("""ip -6 rule add pref 104 from 2001:db8::4 lookup 200
            ip -6 rule del pref 104 lookup 104
            ip -6 route add 2001:db8:9::/48 from 2001:db8::3 \
via 2001:db8::fd dev v3 table 200
            ip -6 route add 2001:db8:9::/48 via 2001:db8::fd dev v2 \
table 200""")
    s.same("2001:db8:9::1", "2001:db8::3", dev="v3", via="2001:db8::fd")
    s.same("2001:db8:9::1", "2001:db8::4", dev="v1", via="2001:db8::fe")
    s.do("""ip -6 route del 2001:db8:9::/48 from 2001:db8::3 \
via 2001:db8::fd dev v3 table 200""")
    s.same("2001:db8:9::1", "2001:db8::4", dev="v2", via="2001:db8::fd")
    s.same("2001:db8:9::1", "2001:db8::3", dev="v2")
    s.do("""ip -6 route del 2001:db8:9::/48 table 200
            ip -6 route del default from 2001:db8::3 via 2001:db8::fe \
dev v3 table 200""")
    s.same("2001:db8:9::1", "2001:db8::3", dev="v1")


def case_one_next_hop_removed(s):
    s.nics(4)
    for i in range(1, 5):
        s.do("ip addr add 10.0.%d.1/24 dev v%d" % (i, i))
    hops = ["nexthop via 10.0.%d.9 weight %d" % (i, i) for i in range(1, 5)]
    s.do("""ip addr add 192.0.2.1/32 dev lo
            ip rule add pref 20 from 192.0.2.1 lookup 20
            ip rule add pref 21 from 10.0.2.1 lookup 20
            ip route add 203.0.113.0/24 table 20 """ + " ".join(hops))
    s.same("203.0.113.5", "192.0.2.1")
    # A source that sits on one leg keeps to that leg.
    s.same("203.0.113.5", "10.0.2.1", dev="v2")
    s.do("ip route replace 203.0.113.0/24 table 20 "
         + " ".join(hops[:1] + hops[2:]))
    s.same("203.0.113.5", "192.0.2.1")
    s.same("203.0.113.5", "10.0.2.1")
    s.do("ip link set v3 down")
    s.same("203.0.113.5", "192.0.2.1")
    s.do("ip link set v3 up")
    s.same("203.0.113.5", "192.0.2.1")
    s.sizes()


def next_hop_objects(s, compatible):
    s.nics(4)
    s.do("sysctl net.ipv4.nexthop_compat_mode=%d" % compatible)
    for i in range(1, 5):
        s.do("""ip addr add 10.0.%(i)d.1/24 dev v%(i)d
                ip addr add 2001:db8:0:%(i)d::1/64 dev v%(i)d nodad
                ip nexthop add id %(i)d via 10.0.%(i)d.9 dev v%(i)d
                ip nexthop add id 6%(i)d via 2001:db8:0:%(i)d::9 dev v%(i)d"""
             % {"i": i})
    s.do("""ip nexthop add id 10 group 1,1/2,2/3,4
            ip nexthop add id 70 group 61,1/62,2/63,4
            ip nexthop add id 4000000000 blackhole
            ip route add 203.0.113.0/24 nhid 10
            ip route add 198.51.100.0/24 nhid 62 table 20
            ip route add 198.51.100.0/25 nhid 4000000000 table 20
            ip -6 route add 2001:db8:9::/48 nhid 70
            ip rule add pref 20 fwmark 7 lookup 20""")
    s.same("203.0.113.5")
    s.same("203.0.113.5", "10.0.2.1")
    s.same("2001:db8:9::5")
    s.same("2001:db8:9::5", "2001:db8:0:2::1")
    s.same("198.51.100.5", mark=7, error=errno.EINVAL)
    s.same("198.51.100.200", mark=7, dev="v2", via="2001:db8:0:2::9")
    s.do("""ip nexthop replace id 2 via 10.0.4.8 dev v4
            ip nexthop replace id 62 via 2001:db8:0:4::8 dev v4""")
    s.same("203.0.113.5")
    s.same("2001:db8:9::5")
    s.same("198.51.100.200", mark=7, dev="v4", via="2001:db8:0:4::8")
    s.do("""ip nexthop del id 1
            ip nexthop del id 61""")
    s.same("203.0.113.5")
    s.same("2001:db8:9::5")
    # The carrier's loss removes objects, their groups and routes.
    s.do("ip link set p4 down")
    s.same("203.0.113.5", dev="v3")
    s.same("2001:db8:9::5", dev="v3")
    s.same("198.51.100.200", mark=7, error=errno.ENETUNREACH)
    s.sizes()
    s.do("ip link set v3 down")
    s.same("203.0.113.5", error=errno.ENETUNREACH)
    s.same("2001:db8:9::5", error=errno.ENETUNREACH)
    s.sizes()


def case_next_hop_objects_compatible(s):
    next_hop_objects(s, 1)


def case_next_hop_objects_by_id_alone(s):
    next_hop_objects(s, 0)


def case_device_names_of_15_characters(s):
    name = "n" * 15
    s.do("""ip link add %s type veth peer name p1
            ip link set p1 up
            ip link set %s up
            ip addr add 10.0.1.1/24 dev %s
            ip rule add pref 5 iif %s lookup 20
            ip rule add pref 6 not oif %s lookup 20
            ip route add 8.8.8.0/24 via 10.0.1.9 table 20""" % ((name,) * 5))
    s.same("8.8.8.8", dev=name)
