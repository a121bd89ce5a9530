# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the system tests share.  Each sources this, makes its hosts, and calls
# fail with one line when something is not as it must be.

set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$top/demo/hosts.sh"
. "$top/demo/tunnels.sh"
tree=${OVS_TREE:-$top/build/ovs}

skip() { echo "$*"; exit 77; }

fail() {
    echo "FAILED: $*"
    show_logs
    exit 1
}

show_logs() {
    local h
    for h in 1 2; do
        grep -hE '\|(ERR|EMER)\|' "$lab_dir/h$h/ovs-vswitchd.log" \
            2>/dev/null | tail -5 | sed "s/^/host $h: /"
    done
}

# begin: what every test does first.
begin() {
    local why
    why=$(lab_need) || skip "$why"
    [ -e "$tree/vswitchd/ovs-vswitchd" ] || skip "no ovs-vswitchd in $tree"
    lab_binaries "$tree"
}

# finish: the daemons must have lived through it without a complaint of theirs
# that says something broke.
finish() {
    local h bad
    for h in 1 2; do
        host $h ovs-appctl --timeout=10 version >/dev/null \
            || fail "host $h: ovs-vswitchd is gone"
        bad=$(grep -hE '\|EMER\||assertion|SIGSEGV' \
            "$lab_dir/h$h/ovs-vswitchd.log" | head -3)
        [ -z "$bad" ] || fail "host $h: $bad"
    done
    bad=$("$top/build-aux/sanitizer" "$top" "$lab_dir"/h?/sanitizer.*) \
        || fail "$(echo "$bad" | head -40)"
}

# kernel_nic H DST SRC: the NIC that the kernel of host H takes for a tunnel
# packet, or "none".
kernel_nic() {
    local nic
    nic=$(kernel_way "$@" | sed -nE 's/.* dev br-nic([0-9]).*/\1/p')
    echo "${nic:-none}"
}
kernel_way() {
    ip -n "$lab-host$1" route get "$2" ${3:+from "$3"} ipproto udp dport 6081 \
        2>/dev/null
}

# count H COUNTER: total of a coverage counter of host H's ovs-vswitchd.
count() { host "$1" ovs-appctl coverage/read-counter "$2"; }

# refusals H: total of the counters of tunnel packets that found no way out.
refusals() {
    host "$1" ovs-appctl coverage/show \
        | awk '$1 ~ /^tunnel_egress_/ { n += $NF } END { print n + 0 }'
}

# ping_one ADDRESS [SECONDS]: from workload 1, until there is one reply.
ping_one() { work 1 ping -nq -i 0.2 -c 1 -w "${2:-10}" "$1" >/dev/null; }

# delivered N: succeeds when each of the N x N tunnels carries pings, and each
# packet comes by its own NIC.
delivered() {
    local n=$1 i j replies one two file=$lab_dir/delivered ok=0
    pings "$n" 1 20 >/dev/null
    capture "$file"
    pings "$n" 3 5 >"$file.replies"
    capture_stop
    seen "$file" >"$file.seen"
    while read -r i j replies; do
        read -r one two <<<"$(nics_seen "$file.seen" "$i" "$j")"
        [ "$replies $one $two" = "3 $i $j" ] && continue
        echo "tunnel $i.$j: $replies of 3 replies, NICs $one and $two"
        ok=1
    done <"$file.replies"
    return $ok
}

# Endpoints.

# endpoints H IP...: the endpoints of host H, as OVN sets them.
endpoints() {
    local h=$1
    shift
    vsctl "$h" set Open_vSwitch . \
        external_ids:ovn-encap-ip="\"$(IFS=,; echo "$*")\""
}

# endpoint_is H IP STATE: succeeds if encap/show says so.
endpoint_is() {
    host "$1" ovs-appctl encap/show format=json | python3 -c '
import json, sys
ip, state = sys.argv[1:]
for endpoint in json.load(sys.stdin)["endpoints"]:
    if endpoint["ip"] == ip:
        sys.exit(endpoint["state"] != state)
sys.exit(1)' "$2" "$3"
}

# wrong_packets N SEEN: reads seen() output in file SEEN and counts the packets
# that entered the fabric, from either host, by another NIC than that of their
# outer source.
wrong_packets() {
    local h i owners=''
    for h in 1 2; do
        for i in $(seq "$1"); do
            owners+="$(endpoint "$h" "$i") h${h}n$i "
        done
    done
    awk -v owners="$owners" '
        BEGIN { n = split(owners, o, " ")
                for (i = 1; i < n; i += 2) leg[o[i]] = o[i + 1] }
        $1 ~ /^h[12]n/ && leg[$2] != $1 { wrong++ }
        END { print wrong + 0 }' "$2"
}

# must_send WHAT E1 [E2...]: packets of workload K, which is 172.16.0.K, have
# the endpoint of host 1's NIC EK as their source and come by that NIC.
must_send() {
    local what=$1 wrong packets=$lab_dir/packets
    shift
    wait_for 20 sends "$@" || fail "$what: $(sources | tr '\n' ';')"
    # A NIC that a host does not have sends nothing.
    wrong=$(wrong_packets 4 "$packets.seen")
    [ "$wrong" = 0 ] || fail "$what: $wrong packets by a wrong NIC"
}
sends() {
    local n=$# k want
    want=$(for k in $(seq $n); do
               echo "172.16.0.$k h1n${!k} $(endpoint 1 "${!k}")"
           done)
    all_seen() {
        for k in $(seq $n); do
            grep -q " 172.16.0.$k > " "$packets" || return 1
        done
    }
    capture "$packets"
    wait_for 5 all_seen
    capture_stop
    seen "$packets" >"$packets.seen"
    [ "$(sources)" = "$want" ]
}
sources() {
    sed -nE "s/^(h1n.) ([^ ]+) .* (172.16.0.[1-9]) > .*/\3 \1 \2/p" \
        "$packets.seen" | sort -u
}
