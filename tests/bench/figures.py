# SPDX-License-Identifier: Apache-2.0
"""What is measured.  measure(build, label) returns one value, or None if the
figure does not exist for that build."""

import collections
import re
import socket
import struct
import subprocess
import time

from daemon import Daemon, wait_until

# 'labels' are those that are measured in turn: "stock" is an unmodified build,
# all others are ours.
Figure = collections.namedtuple("Figure", "measure unit labels",
                                defaults=[("stock", "ours")])

N_ROUTES = 50000
N_CHANGES = 400                 # At most, and for CHANGE_SECONDS.
CHANGE_SECONDS = 10


def ip_batch(lines):
    subprocess.run(["ip", "-batch", "-"], input="\n".join(lines) + "\n",
                   check=True, universal_newlines=True)


def host_route(i):
    return "10.%d.%d.%d/32" % (64 + (i >> 16), (i >> 8) & 255, i & 255)


def measure_change(build, label):
    """CPU that ovs-vswitchd spends on one route change among N_ROUTES, in ms,
    less what the same questions cost without a change."""
    subprocess.run(["ip", "link", "del", "bench0"], stderr=subprocess.DEVNULL)
    ip_batch(["link add bench0 type veth peer name bench1",
              "link set bench0 up", "link set bench1 up",
              "addr add 192.0.2.1/24 dev bench0"])
    ip_batch("route add %s via 192.0.2.254 dev bench0" % host_route(i)
             for i in range(N_ROUTES))
    with Daemon(build) as daemon:
        def gateway(address):
            answer = daemon.ctl("ovs/route/lookup", address)
            match = re.search(r"gateway (\S+)", answer)
            return match.group(1) if match else None

        for i in 0, N_ROUTES // 2, N_ROUTES - 1:
            wait_until(lambda: gateway(host_route(i)[:-3]) == "192.0.2.254",
                       "the routes")
        settle(daemon)

        def changes(change):
            """CPU ms, changes made, and questions asked."""
            before = daemon.cpu_ms()
            deadline = time.monotonic() + CHANGE_SECONDS
            asked = made = 0
            while made < N_CHANGES and time.monotonic() < deadline:
                wanted = "192.0.2.%d" % (100 + made % 2)
                if change:
                    subprocess.run(["ip", "route", "replace",
                                    "203.0.113.0/24", "via", wanted],
                                   check=True)
                made += 1
                answer = None
                while answer != wanted:
                    asked += 1
                    answer = gateway("203.0.113.1")
                    if not change:
                        break
            return daemon.cpu_ms() - before, made, asked

        spent, made, asked = changes(True)
        settle(daemon)
        idle, _, idle_asked = changes(False)
        return (spent - idle / idle_asked * asked) / made


def settle(daemon):
    """Waits until ovs-vswitchd has nothing to do, but for PMD threads."""
    def spent():
        return daemon.cpu_ms() - daemon.cpu_ms("pmd")

    def quiet():
        before = spent()
        time.sleep(0.5)
        return spent() - before < 5
    wait_until(quiet, "ovs-vswitchd to be idle", 120)


def measure_lookup(build, label):
    """ns for a lookup, 8 rules, 8 tables of 12,500 routes.  Stock has neither
    rules nor tables: no figure."""
    if label == "stock":
        return None
    output = subprocess.run([build + "/tests/ovstest", "test-route-bench",
                             "lookup"],
                            check=True, stdout=subprocess.PIPE,
                            universal_newlines=True).stdout
    print(output, end="")
    return float(re.search(r"([0-9.]+) ns", output).group(1))


def add_bridge(daemon, *flows):
    daemon.vsctl("add-br", "br0", "--", "set", "bridge", "br0",
                 "datapath_type=netdev", "fail_mode=secure")
    for flow in flows:
        daemon.run("utilities/ovs-ofctl", "add-flow",
                   "unix:%s/br0.mgmt" % daemon.dir, flow)


def add_port(daemon, number, name, devargs):
    daemon.vsctl("add-port", "br0", name, "--", "set", "interface", name,
                 "type=dpdk", "options:dpdk-devargs=" + devargs,
                 "ofport_request=%d" % number)


def measure_forward(build, label):
    """PMD cycles for each packet, net_null to net_null."""
    with Daemon(build, dpdk=True) as daemon:
        add_bridge(daemon, "in_port=1,actions=2")
        add_port(daemon, 1, "null0", "net_null0")
        add_port(daemon, 2, "null1", "net_null1")
        wait_until(lambda: packets(daemon) > 100000, "packets")
        daemon.ctl("dpif-netdev/pmd-stats-clear")
        time.sleep(3)           # The interval that is measured.
        statistics = daemon.ctl("dpif-netdev/pmd-stats-show")
        hits = sum(map(int, re.findall(r"(?:emc|simple match|megaflow) "
                                       r"hits: (\d+)", statistics)))
        misses = int(re.search(r"miss with success upcall: (\d+)",
                               statistics).group(1))
        assert hits > 100000 and misses < 10, statistics
        return float(re.search(r"avg processing cycles per packet: ([0-9.]+)",
                               statistics).group(1))


def packets(daemon):
    match = re.search(r"packets received: (\d+)",
                      daemon.ctl("dpif-netdev/pmd-stats-show"))
    return int(match.group(1)) if match else 0


def new_flow(i):
    """A UDP packet with a source address and port of its own."""
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 46, i, 0, 64, 17, 0,
                     bytes((10, 1, i >> 8, i & 255)), bytes((10, 2, 0, 1)))
    udp = struct.pack(">HHHH", 1024 + i, 53, 26, 0) + bytes(18)
    return b"\x02\0\0\0\0\2\x02\0\0\0\0\1\x08\0" + ip + udp


def measure_upcall(build, label, n=4000):
    """PMD cycles for each packet that is the first of its flow."""
    subprocess.run(["ip", "link", "del", "bench2"], stderr=subprocess.DEVNULL)
    ip_batch(["link add bench2 type veth peer name bench3",
              "link set bench2 up", "link set bench3 up"])
    with Daemon(build, dpdk=True) as daemon, \
         socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        # The hash over addresses and ports makes each packet its own flow.
        add_bridge(daemon, "in_port=1,actions=multipath(symmetric_l4,1024,"
                   "modulo_n,4,0,NXM_NX_REG0[]),2")
        add_port(daemon, 2, "null1", "net_null1,no-rx=1")
        add_port(daemon, 1, "packet0", "net_af_packet0,iface=bench3")
        sender.bind(("bench2", 0))

        def counted(name):
            match = re.search(r"- %s:\s+(\d+)" % name,
                              daemon.ctl("dpif-netdev/pmd-perf-show", "-nh"))
            return int(match.group(1)) if match else 0

        def passed(i):
            sender.send(new_flow(i))
            return counted("Megaflow hits") > 0
        wait_until(lambda: passed(0), "the port to work")
        daemon.ctl("dpif-netdev/pmd-stats-clear")
        for i in range(1, n + 1):
            sender.send(new_flow(i))
            if i % 32 == 0:
                wait_until(lambda: counted("Upcalls") >= i, "upcalls")
        assert counted("Lost upcalls") == 0
        return float(re.search(r"([0-9.]+) cycles/pkt",
                               daemon.ctl("dpif-netdev/pmd-perf-show",
                                          "-nh")).group(1))


ALL = collections.OrderedDict((
    ("change", Figure(measure_change, "ms CPU")),
    ("lookup", Figure(measure_lookup, "ns")),
    ("forward", Figure(measure_forward, "cycles")),
    ("upcall", Figure(measure_upcall, "cycles")),
))
