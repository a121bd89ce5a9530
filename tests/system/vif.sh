# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Several workloads on each host, what OVN calls VIFs, and what crosses the
# fabric between them.
#
# Sourced after scene.sh.  VIF V of host H is port vifHV of br-int; behind it
# is eth0, 172.16.H.V/16, in a namespace of its own.  What it sends to
# 172.16.255.1 is for all.  V is at most 9.

vif() { local h=$1 v=$2; shift 2; ip netns exec "$lab-vif$h$v" "$@"; }
vif_address() { echo "172.16.$1.$2"; }
vif_mac() { echo "0a:00:00:00:0$1:0$2"; }

# vif_hosts N V: two hosts of N NICs and V VIFs each behind a strict fabric,
# which is captured from the start.  No tunnels, no flows.
vif_hosts() {
    local n=$1 h i v one
    vif_count=$2
    lab_namespaces='fabric host1 host2 work1 work2'
    for v in $(seq "$vif_count"); do
        lab_namespaces+=" vif1$v vif2$v"
    done
    lab_start
    for h in 1 2; do
        for i in $(seq "$n"); do
            nic $h "$i"
        done
        workload $h
        for v in $(seq "$vif_count"); do
            vif_device $h "$v"
        done
    done
    daemons 1 & one=$!
    daemons 2 || exit 1
    wait $one || exit 1
    packets_start
    far
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
}

# vif_device H V: the VIF's end and the host's end.
vif_device() {
    local ns=$lab-vif$1$2
    ip -n "$ns" link add eth0 address "$(vif_mac "$1" "$2")" mtu 1400 \
        type veth peer name "vif$1$2" netns "$lab-host$1"
    vif "$1" "$2" sh -c "sysctl -qw net.ipv6.conf.eth0.disable_ipv6=1
        $plain" - eth0 >/dev/null
    host "$1" sh -c "sysctl -qw net.ipv6.conf.vif$1$2.disable_ipv6=1
        $plain" - "vif$1$2" >/dev/null
    ip -n "$lab-host$1" link set "vif$1$2" arp off up
    ip -n "$ns" link set eth0 up
    ip -n "$ns" addr add "$(vif_address "$1" "$2")/16" dev eth0
    ip -n "$ns" neigh add 172.16.255.1 dev eth0 lladdr ff:ff:ff:ff:ff:ff
}

# vif_port H V [SETTING...]: the port of br-int, and settings of its Interface.
vif_port() {
    local h=$1 v=$2
    shift 2
    vsctl "$h" add-port br-int "vif$h$v" -- set Interface "vif$h$v" \
        type=dpdk "options:dpdk-devargs=net_af_packet_vif$h$v,iface=vif$h$v" \
        "$@" || fail "host $h: port of VIF $v"
}

# vif_pings COUNT SECONDS: COUNT pings from each VIF of host 1 to each of host
# 2; with COUNT 1, until there is one reply.  Prints "V W REPLIES".
vif_pings() {
    local v w how pids=()
    how=(-i 0.2 -c "$1" -W "$2")
    [ "$1" = 1 ] && how=(-i 0.3 -c 1 -w "$2")
    for v in $(seq "$vif_count"); do
        for w in $(seq "$vif_count"); do
            echo "$v $w $(vif 1 "$v" ping -nq "${how[@]}" \
                "$(vif_address 2 "$w")" \
                | sed -nE 's/.* ([0-9]+) received.*/\1/p')" &
            pids+=($!)
        done
    done
    wait "${pids[@]}"
}

# far: the fabric swallows what goes to the endpoints of a third host.
far() {
    local net=10.3.0.0/16
    [ $family = 4 ] || net=2001:db8:3::/48
    ip -n "$lab-fabric" link add far type veth peer name far netns "$lab-work1"
    ip -n "$lab-work1" link set far up
    ip -n "$lab-fabric" link set far arp off up
    ip -n "$lab-fabric" route add $net dev far
}

# packets_start: captures all tunnel packets that enter the fabric, whole.
packets_start() {
    packets=$lab_dir/packets
    fabric tcpdump -i any -y LINUX_SLL2 -Q in -U --immediate-mode \
        -B 16384 -w "$packets" 'udp port 6081' 2>"$packets.err" &
    wait_for 10 grep -q 'listening on' "$packets.err" \
        || die "tcpdump: $(cat "$packets.err")"
}

# packets_read [MARK]: what was captured, after the first MARK packets, up to
# now, as lines "LEG SOURCE DESTINATION VNI OPTIONS INNER-SOURCE
# INNER-DESTINATION INNER-PORT": outer addresses, Geneve options in
# hexadecimal, inner MAC addresses, the destination port of inner UDP (6081
# for all else).
packets_read() {
    local ip=ip
    [ $family = 4 ] || ip=ipv6
    {
        ip -n "$lab-fabric" -o link | sed -E 's/^([0-9]+): ([^:@]+).*/\1 \2/'
        echo
        # tshark complains when the last packet is not written yet.
        tshark -r "$packets" -T fields -E occurrence=a -E separator='|' \
            -e sll.ifindex -e $ip.src -e $ip.dst -e geneve.vni \
            -e geneve.options -e eth.src -e eth.dst -e udp.dstport \
            2>/dev/null
    } | awk -F '[ |]' -v mark="${1:-0}" '
        NF == 0 { packets = 1; next }
        !packets { leg[$1] = $2; next }
        ++n > mark {
            line = leg[$1]
            for (i = 2; i <= NF; i++) {
                count = split($i, value, ",")
                line = line " " (count == 0 ? "-" : value[i < NF ? 1 : count])
            }
            print line
        }'
}
packets_count() { packets_read | wc -l; }

# vif_key H V: the VIF's key in the Geneve option, and the switch's key, which
# is the VNI, as tests/ovn/flows has them.
vif_key() { echo $((($1 - 1) * vif_count + $2)); }
switch_key=1

# vif_pairs: all pairs of VIFs on different hosts as packets_read() should
# show them when VIF I is pinned to NIC I.
vif_pairs() {
    local h g v w
    for h in 1 2; do
        g=$((3 - h))
        for v in $(seq "$vif_count"); do
            for w in $(seq "$vif_count"); do
                printf '%s %s %s 0x%06x 01028001%04x%04x %s %s\n' \
                    "h${h}n$v" "$(endpoint $h "$v")" "$(endpoint $g "$w")" \
                    $switch_key \
                    "$(vif_key $h "$v")" "$(vif_key $g "$w")" \
                    "$(vif_mac $h "$v")" "$(vif_mac $g "$w")"
            done
        done
    done | sort
}

# must_pair WHAT: pings between all VIFs are answered, and all that VIFs send
# to each other goes by the NICs that they are pinned to.
must_pair() {
    local mark
    vif_pings 1 20 >"$lab_dir/first"
    mark=$(packets_count)
    vif_pings 3 5 >"$lab_dir/pings"
    ! grep -v ' 3$' "$lab_dir/pings" \
        || fail "$1: not all pings between these VIFs came back"
    vif_pairs >"$lab_dir/pairs"
    paired() {
        packets_read "$mark" | awk '
            $6 ~ /^0a:/ && $7 ~ /^0a:/ { NF = 7; print }' | sort -u \
            | diff "$lab_dir/pairs" - >"$lab_dir/diff"
    }
    wait_for 10 paired || fail "$1: $(cat "$lab_dir/diff")"
}

# must_recirculate: what host 1's VIFs send to host 2's gets its tunnel header
# after conntrack, so after recirculation, every pair by itself.
must_recirculate() {
    local flows=$lab_dir/datapath-flows n
    recirculated() {
        # Flows that nobody uses expire.
        vif_pings 1 5 >/dev/null
        host 1 ovs-appctl dpctl/dump-flows | grep \
            'eth(dst=0a:00:00:00:02:.*eth_type(0x0800).*tnl_push' >"$flows"
        n=$(awk '/recirc_id\(0x/ {
                match($0, /in_port\([0-9]+/)
                from = substr($0, RSTART, RLENGTH)
                match($0, /eth\(dst=[0-9a-f:]+/)
                pairs[from " " substr($0, RSTART, RLENGTH)]
            }
            END { for (pair in pairs) n++; print n + 0 }' "$flows")
        [ "$n" = $((vif_count * vif_count)) ]
    }
    wait_for 20 recirculated \
        || fail "$n pairs of VIFs have flows after conntrack"
    grep -q 'recirc_id(0)' "$flows" \
        && fail "without conntrack: $(grep 'recirc_id(0)' "$flows")"
    host 1 ovs-appctl dpctl/dump-conntrack | grep -q '^icmp,.*zone=' \
        || fail "conntrack is empty"
}

# listen: every VIF of host 2 writes down the broadcasts that it hears.
listen() {
    local w
    for w in $(seq "$vif_count"); do
        vif 2 "$w" tcpdump -i eth0 -Q in -nn -l --immediate-mode \
            'udp and ether broadcast' >"$lab_dir/heard$w" \
            2>"$lab_dir/heard$w.err" &
    done
    for w in $(seq "$vif_count"); do
        wait_for 10 grep -q 'listening on' "$lab_dir/heard$w.err" \
            || fail "tcpdump: $(cat "$lab_dir/heard$w.err")"
    done
}

# broadcast V PORT: VIF V of host 1 sends broadcasts to UDP port PORT until
# all VIFs of host 2 have heard one.
broadcast() {
    local sent=0 v=$1 port=$2 w end=$((SECONDS + 10))
    all_heard() {
        for w in $(seq "$vif_count"); do
            grep -q "\.$port: UDP" "$lab_dir/heard$w" || return 1
        done
    }
    until all_heard; do
        [ $SECONDS -lt $end ] || fail "broadcast $port: VIF $w hears nothing"
        vif 1 "$v" bash -c "echo all >/dev/udp/172.16.255.1/$port"
        sent=$((sent + 1))
        wait_for 1 all_heard
    done
    echo "$port $sent" >>"$lab_dir/broadcasts"
}

# must_hear_once: no VIF has heard a broadcast more often than it was sent.
must_hear_once() {
    local port sent w
    while read -r port sent; do
        for w in $(seq "$vif_count"); do
            [ "$(grep -c "\.$port: UDP" "$lab_dir/heard$w")" -le "$sent" ] \
                || fail "VIF $w heard broadcast $port twice"
        done
    done <"$lab_dir/broadcasts"
}

# packets_wrong FILE: the lines of FILE, from packets_read(), of packets that
# came by another leg than the one that owns their source.
packets_wrong() {
    local h i owners=''
    for h in 1 2; do
        for i in 1 2 3 4 5 6 7 8; do
            owners+="h${h}n$i $(endpoint $h $i)"$'\n'
        done
    done
    awk 'NR == FNR { owns[$0] = 1; next } !(($1 " " $2) in owns)' \
        - "$1" <<<"$owners"
}

# must_be_right: nothing ever entered the fabric by a leg that does not own
# its source, as the capture shows and, for IPv4, as rp_filter counts.
must_be_right() {
    local wrong file=$packets.all
    packets_read >"$file"
    [ -s "$file" ] || fail "nothing was captured"
    wrong=$(packets_wrong "$file" | cut -d' ' -f1-3 | sort | uniq -c)
    [ -z "$wrong" ] || fail "wrongly sent: $wrong"
    wrong=$(fabric cat /proc/net/netstat | awk '
        $1 == "TcpExt:" && !n { n = split($0, name); next }
        $1 == "TcpExt:" { for (i = 1; i <= n; i++) {
            if (name[i] == "IPReversePathFilter") print $i } }')
    [ "$wrong" = 0 ] || fail "reverse-path filter: $wrong packets dropped"
    echo "IPv$family: $(wc -l <"$file") packets, none by a wrong NIC"
}

# ovn_flows H ARGUMENT...: host H gets the tunnel ports and the flows that
# tests/ovn/flows prints.
ovn_flows() {
    local h=$1 file=$lab_dir/h$1/flows
    shift
    "$top/tests/ovn/flows" --this "$h" --family $family "$@" >"$file" \
        || fail "tests/ovn/flows $*"
    sed -n 's/^# \(ovs-ofctl .*\)/\1/p' "$file" >"$file.sh"
    sed -n 's/^# ovs-vsctl / -- /p' "$file" \
        | sed '1s/^/ovs-vsctl --timeout=30/' | tr '\n' ' ' >>"$file.sh"
    host "$h" sh -e "$file.sh" || fail "host $h: $(cat "$file.sh")"
    host "$h" ovs-ofctl add-flows br-int "$file" || fail "host $h: flows"
}

# ovn_flood I J: host 1 floods from its NIC I to NIC J of the others.  With
# --flood, tests/ovn/flows changes no other flow.
ovn_flood() {
    local file=$lab_dir/h1/flood arguments
    read -ra arguments < <(sed -n 's:^# tests/ovn/flows ::p' \
        "$lab_dir/h1/flows")
    "$top/tests/ovn/flows" "${arguments[@]}" --flood "$1:$2" \
        | grep 'reg15=0x8000,.*tun_id' >"$file"
    host 1 ovs-ofctl add-flows br-int "$file" || fail "flood flow"
    host 1 ovs-appctl revalidator/purge
}

# must_flood N: broadcasts of host 1 reach all VIFs of host 2, whichever pair
# of NICs OVN floods by, and host 3 gets its copy.
must_flood() {
    local i j mark
    listen
    mark=$(packets_count)
    for i in $(seq "$1"); do
        for j in $(seq "$1"); do
            ovn_flood "$i" "$j"
            broadcast $((1 + (i + j) % vif_count)) $((4000 + 10 * i + j))
            for h in 2 3; do
                echo "h1n$i $(endpoint 1 "$i") $(endpoint $h "$j")" \
                    $((4000 + 10 * i + j))
            done
        done
    done | sort >"$lab_dir/floods"
    [ "${PIPESTATUS[0]}" = 0 ] || exit 1
    flooded() {
        packets_read "$mark" | awk '$8 ~ /^40/ { print $1, $2, $3, $8 }' \
            | sort -u | diff "$lab_dir/floods" - >"$lab_dir/diff"
    }
    wait_for 10 flooded || fail "floods: $(cat "$lab_dir/diff")"
    must_hear_once
}
