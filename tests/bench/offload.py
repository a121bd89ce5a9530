# SPDX-License-Identifier: Apache-2.0
"""What offload to NICs costs, on the eSwitch model (tests/eswitch)."""

import collections
import json
import os
import re
import socket
import struct
import subprocess
import threading
import time
from statistics import median

from daemon import Daemon, wait_until
from figures import Figure, add_port, ip_batch, packets, settle

N_RULES = int(os.environ.get("MULTINIC_BENCH_RULES", 100000))
QUEUE_MS = 1000 + N_RULES // 5   # In that time all flows are there.
BURST = 256                     # Packets that are sent before one waits.
SHOWS = 9                       # Times that a command is measured.


def checksum(header):
    total = sum(struct.unpack(">%dH" % (len(header) // 2), header))
    total = (total & 0xffff) + (total >> 16)
    return (total + (total >> 16)) ^ 0xffff


def udp_packet(source, destination, ports, payload, macs):
    """Ethernet, IPv4, UDP."""
    addresses = socket.inet_aton(source) + socket.inet_aton(destination)
    udp = struct.pack(">HHHH", ports[0], ports[1], 8 + len(payload), 0)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp) + len(payload), 0,
                     0, 64, 17, 0) + addresses
    ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
    return b"".join(bytes.fromhex(mac.replace(":", "")) for mac in macs) \
        + b"\x08\0" + ip + udp + payload


WORKLOAD, PEER, GATEWAY = ("02:00:00:00:00:01", "02:00:00:00:00:02",
                           "02:00:00:00:00:99")


def flow_of(i):
    """The packet of a flow of its own."""
    return udp_packet("10.%d.%d.%d" % (1 + (i >> 16), i >> 8 & 255, i & 255),
                      "10.200.0.1", (1024 + i % 60000, 53), bytes(18),
                      (PEER, WORKLOAD))


def add_flow(daemon, bridge, flow):
    daemon.run("utilities/ovs-ofctl", "add-flow", "unix:%s/%s.mgmt"
               % (daemon.dir, bridge), flow)


class Host:
    """A switch with NICs of the eSwitch model, one workload, by default behind
    the first NIC, and a Geneve tunnel from that NIC."""

    def __init__(self, build, n_nics=1, home=1, offload=True):
        self.n_nics = n_nics
        self.home = home
        self.offload = offload
        lines = "".join("eswitch e%d\nuplink e%d net_af_packet_nic%d\n"
                        % (i, i, i) for i in self.nics())
        lines += "representor e%d net_af_packet_vm vf=0\n" % home
        self.daemon = Daemon(build, dpdk=True, eswitch=lines)

    def nics(self):
        return range(1, self.n_nics + 1)

    def __enter__(self):
        self.links = ["vm"] + ["nic%d" % i for i in self.nics()]
        for link in self.links:
            subprocess.run(["ip", "link", "del", link],
                           stderr=subprocess.DEVNULL)
        ip_batch("link add %s type veth peer name %s-far" % (link, link)
                 for link in self.links)
        ip_batch("link set %s%s up" % (link, end)
                 for link in self.links for end in ("", "-far"))
        self.daemon.__enter__()
        try:
            self.configure()
        except BaseException:
            self.daemon.__exit__()
            raise
        self.workload = self.open_socket("vm-far")
        self.wire = self.open_socket("nic%d-far" % self.home)
        self.stopped = threading.Event()
        self.keeper = threading.Thread(target=self.keep_limit)
        self.keeper.start()
        return self

    def keep_limit(self):
        """Lets there be many flows though revalidators find that there are
        too many for so few CPUs."""
        while True:
            self.daemon.ctl("upcall/set-flow-limit", str(N_RULES * 20))
            if self.stopped.wait(0.3):
                break

    def open_socket(self, link):
        result = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        result.bind((link, 0))
        return result

    def configure(self):
        daemon = self.daemon
        daemon.vsctl("set", "Open_vSwitch", ".", "other_config:hw-offload=%s"
                     % str(self.offload).lower(),
                     "other_config:max-idle=3600000")
        for i in self.nics():
            bridge = "br-nic%d" % i
            daemon.vsctl("add-br", bridge, "--", "set", "bridge", bridge,
                         "datapath_type=netdev", "fail_mode=secure")
            self.add_port(bridge, "nic%d" % i, 1)
            self.add_flows(bridge, "in_port=1,actions=LOCAL",
                           "in_port=LOCAL,actions=1")
            ip_batch(["addr replace 192.0.%d.1/24 dev %s" % (i, bridge),
                      "link set %s up" % bridge])
        daemon.vsctl("add-br", "br-int", "--", "set", "bridge", "br-int",
                     "datapath_type=netdev", "fail_mode=secure", "--",
                     "add-port", "br-int", "tunnel", "--", "set", "interface",
                     "tunnel", "type=geneve", "ofport_request=2",
                     "options:key=5",
                     "options:local_ip=192.0.%d.1" % self.home,
                     "options:remote_ip=192.0.%d.2" % self.home)
        self.add_port("br-int", "vm", 1, "mtu_request=1400")
        # The hash over addresses and ports makes each packet its own flow.
        self.add_flows("br-int", "in_port=1,actions=multipath(symmetric_l4,"
                       "1024,modulo_n,4,0,NXM_NX_REG0[]),2",
                       "in_port=2,actions=1")
        daemon.ctl("tnl/neigh/set", "br-nic%d" % self.home,
                   "192.0.%d.2" % self.home, GATEWAY)

    def add_port(self, bridge, name, number, *settings):
        self.daemon.vsctl("add-port", bridge, name, "--", "set", "interface",
                          name, "type=dpdk", "ofport_request=%d" % number,
                          "options:dpdk-devargs=net_af_packet_%s,iface=%s"
                          % (name, name), *settings)

    def add_flows(self, bridge, *flows):
        for flow in flows:
            add_flow(self.daemon, bridge, flow)

    def show(self):
        return json.loads(self.daemon.ctl("encap/offload-show",
                                          "format=json"))

    def n_rules(self):
        """Rules that the NICs have, as the model says."""
        return sum(map(int, re.findall(r"^eswitch .* rules=(\d+)",
                                       self.daemon.model("show", "eswitches"),
                                       re.MULTILINE)))

    def totals(self):
        return {key: int(value) for key, value
                in re.findall(r"([a-z-]+)=(\d+)",
                              self.daemon.model("show", "totals"))}

    def count(self, port, what):
        """A counter of the model's for a port."""
        return int(re.search(r"^port name=net_af_packet_%s .* %s=(\d+)"
                             % (port, what), self.daemon.model(
                                 "show", "eswitches"), re.MULTILINE).group(1))

    def add_many_flows(self, n):
        """Has each of 'n' packets make a flow of its own."""
        start = self.count("vm", "missed")
        for i in range(n):
            self.workload.send(flow_of(i))
            if i % BURST == BURST - 1 or i == n - 1:
                wait_until(lambda: self.count("vm", "missed") - start > i,
                           "packets", interval=0.0005)

    def wait_for_rules(self, n, seconds=120):
        wait_until(lambda: self.n_rules() == n, "%d rules" % n, seconds)

    def __exit__(self, *arguments):
        self.stopped.set()
        self.keeper.join()
        self.workload.close()
        self.wire.close()
        self.daemon.__exit__()
        for link in self.links:
            subprocess.run(["ip", "link", "del", link])


def n_flows(daemon):
    return int(re.search(r"flows +: \(current (\d+)\)",
                         daemon.ctl("upcall/show")).group(1))


def measure_memory(build, offload):
    """Bytes for N_RULES flows."""
    with Host(build, offload=offload) as host:
        daemon = host.daemon
        settle(daemon)
        before = daemon.resident_bytes()
        host.add_many_flows(N_RULES)
        wait_until(lambda: n_flows(daemon) >= N_RULES, "flows")
        if offload:
            host.wait_for_rules(N_RULES)
        # Revalidators add what they keep about a flow.
        time.sleep(2)
        cpu = daemon.cpu_ms("revalidator")
        time.sleep(5)
        cpu = (daemon.cpu_ms("revalidator") - cpu) / 5
        print("rules: revalidators use %.0f ms CPU a second for %d flows, "
              "hw-offload=%s" % (cpu, N_RULES, str(offload).lower()))
        model = host.totals()["rule-bytes"]
        return daemon.resident_bytes() - before, model


def timed(action, condition):
    """Seconds from 'action' until 'condition' holds."""
    start = time.monotonic()
    action()
    condition()
    return time.monotonic() - start


def queue_flows(host):
    """Has all flows wait for the offload thread, which sleeps over the first
    one."""
    host.daemon.model("slow-create", str(QUEUE_MS))
    start = time.monotonic()
    host.add_many_flows(N_RULES)
    host.daemon.model("slow-create", "0")
    assert host.n_rules() == 0, "flows came too slowly: %.1f s" \
        % (time.monotonic() - start)


def measure_rules(build, label):
    """CPU us of the offload thread for each rule, without what the model takes
    in rte_flow_create()."""
    software, _ = measure_memory(build, False)
    memory, model = measure_memory(build, True)
    print("rules: memory %.0f bytes each, and the model %.0f" % (
        (memory - model - software) / N_RULES, model / N_RULES))
    with Host(build) as host:
        daemon = host.daemon
        settle(daemon)
        cpu = daemon.cpu_ms("hw_offload")
        queue_flows(host)
        wait_until(lambda: host.n_rules(), "the first rule", interval=0.001)
        seconds = timed(lambda: None, lambda: host.wait_for_rules(N_RULES))
        cpu = (daemon.cpu_ms("hw_offload") - cpu) * 1e3 / N_RULES
        model = host.totals()["create-ns"] / 1e3 / N_RULES
        print("rules: %.0f a second (%d in %.2f s); offload thread %.2f us "
              "CPU each, of these the model %.2f"
              % (N_RULES / seconds, N_RULES, seconds, cpu, model))

        def switch(value):
            return lambda: daemon.vsctl("set", "Open_vSwitch", ".",
                                        "other_config:encap-offload=" + value)
        print("rules: all gone %.2f s after the switch-off"
              % timed(switch("false"), lambda: host.wait_for_rules(0)))
        print("rules: all back %.2f s after the switch-on"
              % timed(switch("true"), lambda: host.wait_for_rules(N_RULES)))
        return cpu - model


def measure_unused(build, label):
    """PMD cycles for each packet into a tunnel whose NIC has no offload, with
    hw-offload as 'label' says."""
    with Daemon(build, dpdk=True) as daemon:
        daemon.vsctl("set", "Open_vSwitch", ".", "other_config:hw-offload="
                     + {"off": "false", "on": "true"}[label])
        for bridge in "br0", "br1":
            daemon.vsctl("add-br", bridge, "--", "set", "bridge", bridge,
                         "datapath_type=netdev", "fail_mode=secure")
        add_port(daemon, 1, "null0", "net_null0")
        daemon.vsctl("add-port", "br0", "tunnel", "--", "set", "interface",
                     "tunnel", "type=geneve", "options:remote_ip=192.0.2.2",
                     "options:key=5", "ofport_request=2", "--",
                     "add-port", "br1", "null1", "--", "set", "interface",
                     "null1", "type=dpdk", "ofport_request=1",
                     "options:dpdk-devargs=net_null1,no-rx=1")
        for bridge, flow in ("br0", "in_port=1,actions=2"), \
                            ("br1", "in_port=LOCAL,actions=1"):
            add_flow(daemon, bridge, flow)
        ip_batch(["addr replace 192.0.2.1/24 dev br1", "link set br1 up"])
        daemon.ctl("tnl/neigh/set", "br1", "192.0.2.2", GATEWAY)
        wait_until(lambda: "tnl_push" in daemon.ctl("dpctl/dump-flows"),
                   "the flow")
        wait_until(lambda: packets(daemon) > 100000, "packets")
        if label == "on":
            wait_until(lambda: "foreign-driver" in daemon.ctl(
                "encap/offload-show", "format=json"), "the reason")
        daemon.ctl("dpif-netdev/pmd-stats-clear")
        start = time.monotonic()
        time.sleep(3)           # The interval that is measured.
        statistics = daemon.ctl("dpif-netdev/pmd-stats-show")
        seconds = time.monotonic() - start
        n = int(re.search(r"packets received: (\d+)", statistics).group(1))
        assert n > 100000, statistics
        print("unused %s: %.3f million packets a second" % (
            label, n / seconds / 1e6))
        return float(re.search(r"avg processing cycles per packet: ([0-9.]+)",
                               statistics).group(1))


class Sender(threading.Thread):
    """Sends a packet again and again."""

    def __init__(self, wire, packet):
        super().__init__(daemon=True)
        self.wire, self.packet = wire, packet
        self.stopped = threading.Event()

    def run(self):
        while not self.stopped.is_set():
            for _ in range(BURST):
                self.wire.send(self.packet)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *arguments):
        self.stopped.set()
        self.join()


def measure_refused(build, label):
    """PMD cycles for each packet through connection tracking into a tunnel,
    which offload looks at and refuses, with hw-offload as 'label' says.  The
    NIC of the model is full, so that it does not cost what no NIC does."""
    with Host(build, offload=label == "on") as host:
        daemon = host.daemon
        daemon.model("limit-rules", "all", "0")
        host.add_flows("br-int", "priority=40000,in_port=1,ip,"
                       "actions=ct(table=1)", "table=1,ip,actions=2")
        with Sender(host.workload, flow_of(0)):
            wait_until(lambda: "tnl_push" in daemon.ctl("dpctl/dump-flows"),
                       "the flow")
            wait_until(lambda: packets(daemon) > 10000, "packets")
            if label == "on":
                wait_until(lambda: "recirculation" in json.dumps(host.show()),
                           "the refusal")
            daemon.ctl("dpif-netdev/pmd-stats-clear")
            time.sleep(3)           # The interval that is measured.
            statistics = daemon.ctl("dpif-netdev/pmd-stats-show")
        assert host.n_rules() == 0
        n = int(re.search(r"packets received: (\d+)", statistics).group(1))
        assert n > 10000, statistics
        return float(re.search(r"avg processing cycles per packet: ([0-9.]+)",
                               statistics).group(1))


def tunnelled(mac):
    """A packet from the other end of the third NIC's tunnel."""
    return udp_packet("192.0.3.2", "192.0.3.1", (0xc001, 6081),
                      bytes((0, 0, 0x65, 0x58, 0, 0, 5, 0))
                      + udp_packet("10.200.0.1", "10.1.0.0", (53, 1024),
                                   bytes(18), (WORKLOAD, PEER)),
                      (mac, GATEWAY))


def measure_nics(build, label):
    """Rules for each flow with eight NICs, both directions."""
    with Host(build, n_nics=8, home=3) as host:
        mac = host.daemon.vsctl("get", "interface", "br-nic3",
                                "mac_in_use").strip().strip('"')

        def flows():
            """Tunnel flows: out, in as it comes, in without outer header."""
            text = host.daemon.ctl("dpctl/dump-flows", "type=offloaded")
            return (text.count("tnl_push"), text.count("tnl_pop"),
                    text.count("tunnel("))

        def tried():
            host.workload.send(flow_of(0))
            host.wire.send(tunnelled(mac))
            time.sleep(0.05)
            return flows() == (1, 1, 1)
        wait_until(tried, "flows")
        rules = host.n_rules()
        print("nics: 3 flows, %d rules of 8 NICs, all on the third: %s" % (
            rules, all("rules=0" in line or "name=e3 " in line for line
                       in host.daemon.model("show", "eswitches").splitlines()
                       if line.startswith("eswitch"))))
        return rules / sum(flows())


def measure_show(build, label):
    """CPU ms of the main thread, which does nothing else meanwhile, for one
    "encap/show" with N_RULES flows, which are in the NIC if 'label' is
    "on"."""
    with Host(build, offload=label == "on") as host:
        daemon = host.daemon
        host.add_many_flows(N_RULES)
        wait_until(lambda: n_flows(daemon) >= N_RULES, "flows")
        if host.offload:
            host.wait_for_rules(N_RULES)
        endpoint, = json.loads(daemon.ctl("encap/show",
                                          "format=json"))["endpoints"]
        assert endpoint["flows"] >= N_RULES, endpoint
        assert endpoint["offloaded-flows"] == N_RULES * host.offload, endpoint

        def spent(command):
            before = daemon.cpu_ms("ovs-vswitchd")
            daemon.ctl(command, "format=json")
            return daemon.cpu_ms("ovs-vswitchd") - before
        print("show %s: encap/offload-show %.1f ms CPU" % (
            label, median(spent("encap/offload-show")
                          for _ in range(SHOWS))))
        return median(spent("encap/show") for _ in range(SHOWS))


OURS = ("ours",)
ALL = collections.OrderedDict((
    ("rules", Figure(measure_rules, "us CPU", OURS)),
    ("unused", Figure(measure_unused, "cycles", ("off", "on"))),
    ("refused", Figure(measure_refused, "cycles", ("off", "on"))),
    ("nics", Figure(measure_nics, "rules", OURS)),
    ("show", Figure(measure_show, "ms CPU", ("off", "on"))),
))
