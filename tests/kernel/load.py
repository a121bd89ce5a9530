# SPDX-License-Identifier: Apache-2.0
"""Named cases, as in scenarios.py, about many routes and lost messages."""

import errno
import os
import signal

from scenarios import three_vteps


def usage(pid):
    """CPU seconds used and kB held by process 'pid'."""
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    with open("/proc/%d/status" % pid) as f:
        memory = [line for line in f if line.startswith("VmRSS:")]
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), \
        int(memory[0].split()[1])


def flood(n, table, verb="add", via="via 10.0.1.9 dev v1", first=0):
    return ["ip route %s 11.%d.%d.%d/32 %s table %d"
            % (verb, i >> 16, i >> 8 & 255, i & 255, via, table)
            for i in range(first, first + n)]


def case_100000_routes_in_a_table_without_a_rule(s):
    n, step = 100000, 1000
    s.nics(2)
    s.do("""ip addr add 10.0.1.1/24 dev v1
            ip addr add 10.0.2.1/24 dev v2
            ip route add 11.0.0.0/8 via 10.0.2.9""")
    dumps = s.mirror.number("dumps")
    cpu, memory = usage(s.mirror.pid)
    for first in range(0, n, step):
        s.kernel.run(flood(step, 88, first=first))
        s.mirror.sync()
    cpu_after, memory_after = usage(s.mirror.pid)
    s.check((4, 88) not in s.mirror.tables(), "table 88 is held")
    s.check(memory_after - memory < 1024,
            "%d kB more for a table without a rule" % (memory_after - memory))
    # What it costs to read and drop a message; the clock ticks at 10 ms.
    s.check((cpu_after - cpu) / n < 10e-6, "%.1f us a route in a table "
            "without a rule" % ((cpu_after - cpu) / n * 1e6))
    s.check(s.mirror.number("dumps") == dumps, "lists were asked for")
    s.same("11.0.5.5", dev="v2")
    s.do("ip rule add pref 30 lookup 88")
    s.check(s.mirror.number("routes 88") == n, "%d of %d routes held"
            % (s.mirror.number("routes 88"), n))
    for i in range(200):
        i = s.r.randrange(2 * n)
        s.same("11.%d.%d.%d" % (i >> 16, i >> 8 & 255, i & 255),
               dev="v1" if i < n else "v2")
    s.do("ip rule del pref 30")
    s.check((4, 88) not in s.mirror.tables(), "table 88 is still held")
    s.same("11.0.5.5", dev="v2")


def case_lost_messages(s):
    n = 30000
    s.nics(3)
    s.do("""ip addr add 10.0.1.1/24 dev v1
            ip addr add 10.0.2.1/24 dev v2
            ip addr add 10.0.3.1/24 dev v3
            ip addr add 2001:db8:0:1::1/64 dev v1 nodad
            ip route add 203.0.113.0/24 via 10.0.2.9
            ip route add 198.51.100.0/24 via 10.0.3.9
            ip nexthop add id 3 via 10.0.1.7 dev v1
            ip rule add pref 30 from 10.0.2.1 lookup 88
            ip rule add pref 31 lookup 89""")
    s.kernel.run(flood(1000, 88))
    s.do("")
    dumps = s.mirror.number("dumps")
    os.kill(s.mirror.pid, signal.SIGSTOP)
    try:
        s.kernel.run(flood(1000, 88, verb="del") + flood(n, 89) + [
            "ip route replace 203.0.113.0/24 via 10.0.1.9",
            "ip link set v3 down",
            "ip addr add 10.0.4.1/24 dev v2",
            "ip addr del 10.0.2.1/24 dev v2",
            "ip nexthop del id 3",
            "ip nexthop add id 4 via 10.0.4.7 dev v2",
            "ip route add 192.0.2.0/24 nhid 4 table 90",
            "ip rule del pref 30",
            "ip rule add pref 30 from 10.0.4.1 lookup 90",
            "ip -6 route add default via 2001:db8:0:1::9"]
            + flood(n // 2, 89, verb="del"), strict=True)
        s.kernel.settle()
    finally:
        os.kill(s.mirror.pid, signal.SIGCONT)
    s.mirror.sync()
    s.check(s.mirror.number("dumps") > dumps, "no message was lost")
    s.sizes()
    s.same("203.0.113.5", dev="v1")
    s.same("198.51.100.5", error=errno.ENETUNREACH)
    s.same("192.0.2.5", "10.0.4.1", dev="v2", via="10.0.4.7")
    s.same("192.0.2.5", "10.0.2.1", error=errno.ENETUNREACH)
    s.same("2001:dead::1", dev="v1")
    for i in range(200):
        i = s.r.randrange(2 * n)
        s.same("11.%d.%d.%d" % (i >> 16, i >> 8 & 255, i & 255),
               error=0 if n // 2 <= i < n else errno.ENETUNREACH)


def case_no_list_for_a_single_change(s):
    three_vteps(s)
    s.do("ip -6 rule add pref 9 lookup 20")
    dumps = s.mirror.number("dumps")
    for command in ("ip route add 203.0.113.0/24 via 192.0.2.254 dev v1",
                    "ip route replace 203.0.113.0/24 via 192.0.2.254 dev v2",
                    "ip route append 203.0.113.0/24 via 192.0.2.253 dev v2",
                    "ip route del 203.0.113.0/24 via 192.0.2.254 dev v2",
                    "ip route add 203.0.113.0/24 via 192.0.2.9 dev v1 "
                    "table 101",
                    "ip addr add 10.0.1.1/24 dev v1",
                    "ip addr del 10.0.1.1/24 dev v1",
                    "ip addr add 2001:db8::1/64 dev v1 nodad",
                    "ip -6 route add default via 2001:db8::9 table 20",
                    "ip nexthop add id 5 via 192.0.2.9 dev v1",
                    "ip route add 198.51.100.0/24 nhid 5",
                    "ip rule add pref 500 from 192.0.2.1 lookup 102",
                    "ip rule del pref 500", "ip nexthop del id 5",
                    "ip link set p3 down", "ip link set v2 down",
                    "ip link set v2 up", "ip link set v1 name v9",
                    "ip link add v8 type veth peer name p8",
                    "ip link del v8"):
        s.do(command)
        s.check(s.mirror.number("dumps") == dumps,
                "%s: lists were asked for" % command)
        s.sizes()
        for dst in ("203.0.113.5", "198.51.100.5", "192.0.2.9"):
            for src in (None, "192.0.2.1", "192.0.2.2", "192.0.2.3"):
                s.same(dst, src, error=None)
