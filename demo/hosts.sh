# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Hosts with several NICs behind a fabric, in network namespaces.
#
# Sourced by demo/demo and tests/system/*.  One "lab" is
#
#   work 1 --vm-- host 1 ==nic1..N== fabric ==nic1..N== host 2 --vm-- work 2
#
# Every name carries $lab, which is unique to the process, so several labs can
# run side by side.  A host runs its own ovsdb-server and ovs-vswitchd (DPDK,
# no hugepages) with all their files below $lab_dir.  Veth pairs are made
# inside the namespaces: nothing ever appears in the caller's namespace.
#
#   nicI      in host H: the NIC, a veth; a net_af_packet port of br-nicI
#   hHnI      in the fabric: the other end, the leg to NIC I of host H
#   br-nicI   in host H: bridge whose local port holds the tunnel endpoint
#   vm, eth0  the workload: a net_af_packet port of br-int, its other end

lab=mn$$
lab_dir=${TMPDIR:-/tmp}/$lab
lab_namespaces='fabric host1 host2 work1 work2'
family=4                        # 4 or 6, the family of the underlay

die() { echo "${0##*/}: $*" >&2; exit 1; }

fabric() { ip netns exec "$lab-fabric" "$@"; }
work() { local h=$1; shift; ip netns exec "$lab-work$h" "$@"; }

# host H COMMAND...: runs it in host H, where ovs-* tools reach H's daemons.
host() {
    local h=$1 d=$lab_dir/h$1
    shift
    OVS_RUNDIR=$d OVS_LOGDIR=$d OVS_DBDIR=$d OVS_SYSCONFDIR=$d \
        RUNTIME_DIRECTORY=$d ip netns exec "$lab-host$h" "$@"
}

# lab_need: succeeds if a lab can be made here, else prints what is missing.
lab_need() {
    local tool
    [ "$(id -u)" = 0 ] || { echo "needs root"; return 1; }
    [ -c /dev/net/tun ] || { echo "needs /dev/net/tun"; return 1; }
    for tool in ip ethtool tcpdump ping python3; do
        type $tool >/dev/null 2>&1 || { echo "needs $tool"; return 1; }
    done
    ip netns add "$lab-probe" 2>/dev/null \
        || { echo "needs network namespaces"; return 1; }
    ip netns del "$lab-probe"
}

# lab_binaries DIR: takes the daemons and tools from DIR, a build tree of Open
# vSwitch or the root of its unpacked packages.
lab_binaries() {
    if [ -x "$1/vswitchd/ovs-vswitchd" ]; then
        vswitchd=$1/vswitchd/ovs-vswitchd
        schema=$1/vswitchd/vswitch.ovsschema
        PATH=$1/utilities:$1/ovsdb:$PATH
    elif [ -x "$1/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk" ]; then
        vswitchd=$1/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk
        schema=$1/usr/share/openvswitch/vswitch.ovsschema
        PATH=$1/usr/bin:$1/usr/sbin:$PATH
    else
        die "no ovs-vswitchd in $1: build it first (make)"
    fi
}

# lab_start: an empty fabric and two empty hosts, to be removed on exit.
lab_start() {
    local ns
    mkdir -m 700 "$lab_dir" || exit 1
    trap lab_stop EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    for ns in $lab_namespaces; do
        ip netns add "$lab-$ns"
        ip -n "$lab-$ns" link set lo up
    done
    # Hosts answer ARP for an address only on the interface that holds it.
    for ns in 1 2; do
        host $ns sysctl -qw net.ipv4.conf.all.arp_ignore=1 \
            net.ipv4.conf.all.arp_announce=2 net.ipv4.conf.all.rp_filter=0 \
            net.ipv4.conf.default.rp_filter=0 \
            net.ipv6.conf.default.accept_dad=0
    done
    fabric sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 \
        net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 \
        net.ipv6.conf.default.accept_dad=0
}

# lab_stop: ends what runs in the lab's namespaces, then removes the lab.
lab_stop() {
    local ns pids i
    trap '' INT TERM HUP
    for i in $(seq 50); do
        pids=''
        for ns in $lab_namespaces; do
            [ -e "/run/netns/$lab-$ns" ] || continue
            pids+=" $(ip netns pids "$lab-$ns" 2>/dev/null | xargs)"
        done
        [ -n "${pids// }" ] || break
        # shellcheck disable=SC2086
        case $i in
        1) kill $pids ;;
        25) kill -9 $pids ;;
        esac 2>/dev/null
        sleep 0.1
    done
    for ns in $lab_namespaces; do
        [ -e "/run/netns/$lab-$ns" ] && ip netns del "$lab-$ns"
    done
    rm -rf "$lab_dir"
}

# plain DEV...: in the current namespace, turns off what would leave frames
# unfinished (checksums, segments) for a DPDK port to read.
# shellcheck disable=SC2016
plain='for dev; do ethtool -K "$dev" tx off tso off gso off gro off; done'

# nic H I: a NIC and its leg.  The kernel's own stack stays off the NIC: it
# has no address, and neither ARP nor IPv6.
nic() {
    local leg=h$1n$2 ns=$lab-host$1
    ip -n "$lab-fabric" link add "$leg" type veth peer name "nic$2" netns "$ns"
    fabric sh -c "$plain" - "$leg" >/dev/null
    host "$1" sh -c "sysctl -qw net.ipv6.conf.nic$2.disable_ipv6=1; $plain" \
        - "nic$2" >/dev/null
    ip -n "$ns" link set "nic$2" arp off up
    ip -n "$lab-fabric" link set "$leg" up
}

# workload H: the namespace of the workload of host H and its port.
workload() {
    ip -n "$lab-work$1" link add eth0 address "02:00:00:00:00:0$1" \
        type veth peer name vm netns "$lab-host$1"
    host "$1" sh -c "sysctl -qw net.ipv6.conf.vm.disable_ipv6=1; $plain" \
        - vm >/dev/null
    work "$1" sh -c "$plain" - eth0 >/dev/null
    ip -n "$lab-host$1" link set vm arp off up
    ip -n "$lab-work$1" link set eth0 mtu 1400 up
}

# pmd_mask H: a mask with one of the CPUs that this process may use.
pmd_mask() {
    python3 -c 'import os, sys
cpus = sorted(os.sched_getaffinity(0))
print("%#x" % (1 << cpus[(int(sys.argv[1]) - 1) % len(cpus)]))' "$1"
}

# vswitchd_start H: starts ovs-vswitchd of host H.  What a build with
# sanitizers has to say goes to files "sanitizer.PID".
vswitchd_start() {
    local d=$lab_dir/h$1
    ASAN_OPTIONS=log_path=$d/sanitizer:detect_leaks=0:${ASAN_OPTIONS:-} \
        UBSAN_OPTIONS=log_path=$d/sanitizer:${UBSAN_OPTIONS:-} \
        TSAN_OPTIONS=log_path=$d/sanitizer:${TSAN_OPTIONS:-} \
        host "$1" "$vswitchd" --detach --pidfile --log-file --no-chdir \
        -vconsole:off "unix:$d/db.sock" >"$d/vswitchd.out" 2>&1 && return
    grep -E '\|(ERR|EMER)\|' "$d/ovs-vswitchd.log" | head -5 >&2
    die "host $1: ovs-vswitchd does not start"
}

# vsctl H ARGUMENT...: ovs-vsctl in host H, with a limit to its patience.
vsctl() { local h=$1; shift; host "$h" ovs-vsctl --timeout=30 "$@"; }

# ovsdb_start H: starts ovsdb-server of host H with the database it has.
ovsdb_start() {
    local d=$lab_dir/h$1
    host "$1" ovsdb-server --detach --pidfile --log-file --no-chdir \
        -vconsole:off --remote="punix:$d/db.sock" "$d/conf.db" \
        >"$d/ovsdb.out" 2>&1 || die "host $1: $(tail -1 "$d/ovsdb.out")"
}

# daemons H: starts ovsdb-server and ovs-vswitchd of host H.
daemons() {
    local d=$lab_dir/h$1
    mkdir "$d"
    ovsdb-tool create "$d/conf.db" "$schema"
    ovsdb_start "$1"
    local eal='--no-huge --legacy-mem -m 256 --no-pci --no-telemetry'
    # Idle PMD threads sleep, so that two hosts share two CPUs.
    vsctl "$1" --no-wait init -- set Open_vSwitch . \
        other_config:dpdk-init=true \
        other_config:dpdk-extra="$eal --file-prefix=$lab-h$1" \
        other_config:pmd-cpu-mask="$(pmd_mask "$1")" \
        other_config:pmd-maxsleep=200 other_config:pmd-sleep-max=200
    vswitchd_start "$1"
}

# bridges H N: br-nic1 to br-nicN, each with its NIC, and br-int with the
# workload.
bridges() {
    local h=$1 n=$2 i args=()
    for i in $(seq "$n"); do
        args+=(-- add-br "br-nic$i"
               -- set Bridge "br-nic$i" datapath_type=netdev
                  "other_config:hwaddr=02:00:00:0$h:00:0$i"
               -- add-port "br-nic$i" "nic$i"
               -- set Interface "nic$i" type=dpdk
                  "options:dpdk-devargs=net_af_packet_nic$i,iface=nic$i")
    done
    vsctl "$h" "${args[@]}" \
        -- add-br br-int \
        -- set Bridge br-int datapath_type=netdev fail_mode=secure \
           other_config:hwaddr="02:00:00:0$h:00:ff" \
        -- add-port br-int vm \
        -- set Interface vm type=dpdk \
           options:dpdk-devargs=net_af_packet_vm,iface=vm \
        || die "host $h: cannot make the bridges"
    i=$(vsctl "$h" --bare --columns=name,error find Interface \
        'error!=[]' | xargs)
    [ -z "$i" ] || die "host $h: $i"
}

# endpoint H I: the encapsulation address of NIC I of host H; gateway H I: the
# address of the leg behind that NIC.  Every NIC has its own subnet.
endpoint() {
    [ $family = 4 ] && echo "10.$1.$2.1" || echo "2001:db8:$1:$2::1"
}
gateway() {
    [ $family = 4 ] && echo "10.$1.$2.254" || echo "2001:db8:$1:$2::fe"
}
prefix_length() { [ $family = 4 ] && echo 24 || echo 64; }

# address H I: gives br-nicI of host H its endpoint, and its leg the gateway.
address() {
    local h=$1 i=$2 gw
    gw=$(gateway "$h" "$i")
    ip -n "$lab-fabric" addr replace "$gw/$(prefix_length)" dev "h${h}n$i"
    ip -n "$lab-host$h" addr replace "$(endpoint "$h" "$i")/$(prefix_length)" \
        dev "br-nic$i"
    ip -n "$lab-host$h" link set "br-nic$i" up
}

# strict H I: makes the fabric refuse, on the leg to NIC I of host H, what has
# a source from elsewhere.  Linux has rp_filter for IPv4, and for IPv6 nothing
# of that name: policy rules in the fabric do the same.
strict() {
    local leg=h$1n$2 gw
    gw=$(gateway "$1" "$2")
    if [ $family = 4 ]; then
        fabric sysctl -qw "net.ipv4.conf.$leg.rp_filter=1"
    else
        ip -6 -n "$lab-fabric" rule add pref 100 iif "$leg" \
            from "${gw%fe}/64" lookup main
        ip -6 -n "$lab-fabric" rule add pref 200 iif "$leg" blackhole
    fi
}

# policy H I: host H sends what has NIC I's endpoint as its source by NIC I.
# table H I is the half of it that goes when br-nicI goes.
policy() {
    ip -"$family" -n "$lab-host$1" rule add pref $((100 + $2)) \
        from "$(endpoint "$1" "$2")" lookup $((100 + $2))
    table "$1" "$2"
}
table() {
    ip -"$family" -n "$lab-host$1" route replace default \
        via "$(gateway "$1" "$2")" dev "br-nic$2" table $((100 + $2))
}

# capture FILE: starts to write what enters the fabric, a line a packet.
capture() {
    local tool=$1.err
    # Not fabric(): a function in the background would be a shell, and that,
    # not tcpdump, what is ended.
    # Short frames: of long ones the buffer has room for eight, and a flood is
    # sixteen at once.
    ip netns exec "$lab-fabric" tcpdump -i any -Q in -nn -l --immediate-mode \
        -s 256 -B 8192 'udp port 6081' >"$1" 2>"$tool" &
    capture_pid=$!
    wait_for 10 grep -q 'listening on' "$tool" \
        || die "tcpdump: $(cat "$tool")"
}

# capture_stop: ends the capture once what has arrived is written.
capture_stop() {
    sleep 0.3
    kill "$capture_pid"
    wait "$capture_pid" 2>/dev/null
}

# seen FILE: the capture as lines "INTERFACE SOURCE DESTINATION VNI INNER".
seen() {
    local outer='^[^ ]+ ([^ ]+) +(In|P) +IP6? ([^ ]+)\.[0-9]+ > ([^ ]+)\.6081'
    local geneve='Geneve, .*vni (0x[0-9a-f]+)[^:]*: (.*)'
    sed -nE "s/$outer: $geneve/\1 \3 \4 \5 \6/p" "$1"
}

# wait_for SECONDS COMMAND...: until COMMAND succeeds; fails after SECONDS.
wait_for() {
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.1
    done
}
