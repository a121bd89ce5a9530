# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# N x N Geneve tunnels between two hosts, and what came over each of them.
#
# Sourced after hosts.sh.  Tunnel I.J goes from NIC I of host 1 to NIC J of
# host 2 and has VNI 10 * I + J; it is interface tI.J on both hosts.  Workload
# 1 is 172.16.0.1; workload 2 has an address for each tunnel, 172.16.I.J, and
# OpenFlow sends what goes to or comes from that address over tunnel I.J.

inner() { echo "172.16.$1.$2"; }

# tunnels N: the tunnels and their flows on both hosts.
tunnels() {
    local n=$1 h i j from to args
    for h in 1 2; do
        args=()
        for i in $(seq "$n"); do
            for j in $(seq "$n"); do
                from=$(endpoint 1 "$i") to=$(endpoint 2 "$j")
                [ $h = 1 ] || { to=$from from=$(endpoint 2 "$j"); }
                args+=(-- add-port br-int "t$i.$j"
                       -- set Interface "t$i.$j" type=geneve
                          "options:local_ip=$from"
                          "options:remote_ip=$to"
                          "options:key=$((10 * i + j))")
            done
        done
        vsctl $h "${args[@]}"
        flows $h "$n"
    done
}

# flows H N: the OpenFlow flows of host H, between its workload and tunnels.
flows() {
    local field=nw_src i j
    [ "$1" = 1 ] && field=nw_dst
    for i in $(seq "$2"); do
        for j in $(seq "$2"); do
            echo "ip,in_port=vm,$field=$(inner "$i" "$j")," \
                "actions=output:t$i.$j"
            echo "in_port=t$i.$j,actions=output:vm"
        done
    done | host "$1" ovs-ofctl --names add-flows br-int -
}

# workload_addresses N: the addresses above.  The workloads know each other's
# MAC address, so all that crosses the tunnels is what a test sends.
workload_addresses() {
    local n=$1 i j
    for i in $(seq "$n"); do
        for j in $(seq "$n"); do
            echo "addr add $(inner "$i" "$j")/12 dev eth0"
        done
    done | ip -n "$lab-work2" -batch -
    ip -n "$lab-work1" addr add 172.16.0.1/12 dev eth0
    ip -n "$lab-work2" neigh add 172.16.0.1 dev eth0 \
        lladdr 02:00:00:00:00:01
    for i in $(seq "$n"); do
        for j in $(seq "$n"); do
            echo "neigh add $(inner "$i" "$j") dev eth0" \
                "lladdr 02:00:00:00:00:02"
        done
    done | ip -n "$lab-work1" -batch -
}

# two_hosts N: all of it, from nothing to two hosts of N NICs whose tunnels are
# ready.
two_hosts() {
    local n=$1 h i one
    lab_start
    for h in 1 2; do
        for i in $(seq "$n"); do
            nic $h "$i"
        done
        workload $h
    done
    daemons 1 & one=$!
    daemons 2 || exit 1
    wait $one || exit 1
    for h in 1 2; do
        bridges $h "$n"
        for i in $(seq "$n"); do
            address $h "$i"
            strict $h "$i"
            policy $h "$i"
        done
        # What looks at the destination alone finds this way.
        ip -"$family" -n "$lab-host$h" route add default \
            via "$(gateway $h 1)" dev br-nic1
    done
    tunnels "$n"
    workload_addresses "$n"
}

# pings N COUNT SECONDS: COUNT pings over each tunnel at once; with COUNT 1,
# until there is one reply.  Prints "I J REPLIES".
pings() {
    local n=$1 count=$2 seconds=$3 i j how pids=()
    how=(-i 0.2 -c "$count" -W "$seconds")
    [ "$count" = 1 ] && how=(-i 0.5 -c 1 -w "$seconds")
    for i in $(seq "$n"); do
        for j in $(seq "$n"); do
            echo "$i $j $(work 1 ping -nq "${how[@]}" "$(inner "$i" "$j")" \
                | sed -nE 's/.* ([0-9]+) received.*/\1/p')" &
            pids+=($!)
        done
    done
    wait "${pids[@]}"
}

# nics_seen SEEN I J: reads seen() output in file SEEN and prints two words,
# the NICs by which tunnel I.J's packets entered the fabric: those of host 1,
# those of host 2, as "3" or "1,3", or "-" if none came.
nics_seen() {
    awk -v vni="$(printf '0x%x' $((10 * $2 + $3)))" '
        $4 == vni && $1 ~ /^h[12]n/ && !($1 in leg) {
            leg[$1] = 1; h = substr($1, 2, 1); nic = substr($1, 4)
            seen[h] = seen[h] (seen[h] == "" ? "" : ",") nic
        }
        END { print seen[1] == "" ? "-" : seen[1],
                    seen[2] == "" ? "-" : seen[2] }' "$1"
}
