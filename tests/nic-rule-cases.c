/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-rule-cases.h"

#include "util.h"

/* Pieces of flows. */
#define IN(PORT) "recirc_id(0),in_port(" #PORT "),packet_type(ns=0,id=0),"
#define TUNNEL(ID, REST) "recirc_id(0),tunnel(tun_id=" ID                    \
    ",src=192.0.2.2,dst=192.0.2.1,ttl=64/0" REST ")"
#define GENEVE(OPTIONS) TUNNEL("0x5", ",tos=0,geneve(" OPTIONS               \
    "),flags(-df+csum+key)") ",in_port(60),packet_type(ns=0,id=0),"
#define OVN_OPTION "{class=0x102,type=0x80,len=4,0x10002/0x7fffffff}"
#define ETH "eth(dst=0a:00:00:00:00:01)"
#define IP ",eth_type(0x0800),ipv4(frag=no)"

/* And of rules. */
#define OUTER "port 1 group 1: eth(type=0x0800),ip(src=192.0.2.2,"           \
    "dst=192.0.2.1,proto=17,tos=0x0),l4(dst=6081),geneve(vni=5,"
#define OUTER_OPTION OUTER "options=8 bytes,"                                \
    "option=0x0102:0x80:4:0x00010002/0x7fffffff),"
#define INNER "inner eth(dst=0a:00:00:00:00:01,type=0x0800),notag,"
#define MATCH "unsupported-match "
#define ACTION "unsupported-action "

/* Actions.  The options of OVN are in the longer header. */
#define HEADER4(SIZE, TYPE, PORT, REST)                                      \
    "header(size=" #SIZE ",type=" #TYPE ",eth(dst=f8:bc:12:44:34:b6,"        \
    "src=aa:55:aa:55:00:00,dl_type=0x0800),ipv4(src=1.1.2.88,dst=1.1.2.92,"  \
    "proto=17,tos=0,ttl=64,frag=0x4000),udp(src=0,dst=" #PORT                \
    ",csum=0xffff)," REST ")"
#define HEADER6(SIZE, TYPE, PORT, REST)                                      \
    "header(size=" #SIZE ",type=" #TYPE ",eth(dst=f8:bc:12:44:34:b6,"        \
    "src=aa:55:aa:55:00:00,dl_type=0x86dd),ipv6(src=2001:cafe::88,"          \
    "dst=2001:cafe::92,label=0,proto=17,tclass=0x0,hlimit=64),"              \
    "udp(src=0,dst=" #PORT ",csum=0xffff)," REST ")"
#define OPTIONS "geneve(crit,vni=0x7b,options({class=0x102,type=0x80,"       \
    "len=4,0x10002}))"
#define PUSH "tnl_push(tnl_port(60)," HEADER4(58, 5, 6081, OPTIONS)          \
    ",out_port(100))"
#define PUSH6 "tnl_push(tnl_port(60)," HEADER6(78, 5, 6081, OPTIONS)         \
    ",out_port(100))"
#define PUSH_VXLAN "tnl_push(tnl_port(61)," HEADER4(50, 4, 4789,             \
    "vxlan(flags=0x8000000,vni=0x7b)") ",out_port(100))"
#define PUSH_GRE "tnl_push(tnl_port(62),header(size=42,type=3,"              \
    "eth(dst=f8:bc:12:44:34:b6,src=aa:55:aa:55:00:00,dl_type=0x0800),"       \
    "ipv4(src=1.1.2.88,dst=1.1.2.92,proto=47,tos=0,ttl=64,frag=0x4000),"     \
    "gre((flags=0x2000,proto=0x6558),key=0x1c8)),out_port(100))"
#define PUSH_LONG "tnl_push(tnl_port(60)," HEADER4(138, 5, 6081,             \
    "geneve(crit,vni=0x7b,options({class=0x102,type=0x80,len=84,0x1}))")     \
    ",out_port(100))"

#define EGRESS IN(11) ETH IP
#define EGRESS_RULE "port 11 group 0: eth(dst=0a:00:00:00:00:01,"            \
    "type=0x0800),notag,ip(frag=no) -> count,"
#define TCP IN(11) ETH ",eth_type(0x0800),ipv4(src=10.0.0.1,proto=6,"        \
    "ttl=64,frag=no),tcp(dst=80)"
#define TCP_RULE "port 11 group 0: eth(dst=0a:00:00:00:00:01,type=0x0800),"  \
    "notag,ip(src=10.0.0.1,proto=6,ttl=64,frag=no),l4(dst=80) -> count,"

const struct nic_rule_case nic_rule_cases[] = {
    /* Rule A. */
    { "A: Geneve", 0,
      IN(1) "eth(dst=aa:55:aa:55:00:00),eth_type(0x0800),"
      "ipv4(dst=1.1.2.88,proto=17,frag=no),udp(dst=6081)", "tnl_pop(60)",
      "port 1 group 0: eth(dst=aa:55:aa:55:00:00,type=0x0800),notag,"
      "ip(dst=1.1.2.88,proto=17,frag=no),l4(dst=6081) -> count,jump(1)" },
    { "A: VXLAN, IPv6", 0,
      IN(2) "eth(),eth_type(0x86dd),"
      "ipv6(dst=2001:cafe::88,proto=17,frag=no),udp(dst=4789)",
      "tnl_pop(61)",
      "port 2 group 0: eth(type=0x86dd),notag,"
      "ip(dst=2001:cafe::88,proto=17,frag=no),l4(dst=4789) -> count,"
      "jump(2)" },
    { "A: tag of the underlay", 0,
      IN(1) "eth(),eth_type(0x8100),vlan(vid=200,pcp=0),"
      "encap(eth_type(0x0800),ipv4(dst=1.1.2.88,proto=17,frag=no),"
      "udp(dst=6081))", "pop_vlan,tnl_pop(60)",
      "port 1 group 0: eth(type=0x0800),tag(0x00c8/0xefff),"
      "ip(dst=1.1.2.88,proto=17,frag=no),l4(dst=6081) -> count,jump(1)" },
    { "A: first fragment", 0,
      IN(1) "eth(),eth_type(0x0800),ipv4(dst=1.1.2.88,proto=17,frag=first),"
      "udp(dst=6081)", "tnl_pop(60)", MATCH "ip_frag" },
    { "A: and another output", 0,
      IN(1) "eth(),eth_type(0x0800),ipv4(proto=17,frag=no),udp(dst=6081)",
      "tnl_pop(60),100", "several-outputs" },
    { "A: output before", 0,
      IN(1) "eth(),eth_type(0x0800),ipv4(frag=no)", "100,tnl_pop(60)",
      "several-outputs" },
    { "A: GRE", 0,
      IN(1) "eth(),eth_type(0x0800),ipv4(proto=47,frag=no)", "tnl_pop(62)",
      ACTION "tnl_pop" },
    { "A: Geneve by another port", 0,
      IN(1) "eth(),eth_type(0x0800),ipv4(proto=17,frag=no),udp(dst=6082)",
      "tnl_pop(63)", MATCH "udp_dst" },
    { "A: unknown driver", 0,
      IN(31) "eth(),eth_type(0x0800),ipv4(frag=no)", "tnl_pop(60)",
      "foreign-driver" },
    { "A: from a workload", 0,
      IN(11) "eth(),eth_type(0x0800),ipv4(frag=no)", "tnl_pop(60)",
      "no-representor" },
    { "A: connection tracking", 0,
      IN(1) "eth(),eth_type(0x0800),ipv4(frag=no)", "ct,tnl_pop(60)",
      "conntrack" },

    /* Rule B. */
    { "B: OVN's option", 1, GENEVE(OVN_OPTION) ETH IP, "11",
      OUTER_OPTION INNER "ip(frag=no) -> count,decap(58 bytes),output(11)" },
    { "B: no options", 1, GENEVE("") ETH IP, "11",
      OUTER "options=0 bytes)," INNER
      "ip(frag=no) -> count,decap(50 bytes),output(11)" },
    /* Two that are empty are as long as one of 4 bytes, and so on. */
    { "B: length of one option", 1,
      GENEVE("{class=0/0,type=0/0,len=4,0/0}") ETH IP, "12",
      MATCH "tun_metadata" },
    { "B: lengths of two options", 1,
      GENEVE("{class=0/0,type=0/0,len=4,0/0}"
             "{class=0/0,type=0/0,len=8,0/0}") ETH IP, "12",
      MATCH "tun_metadata" },
    { "B: length of an odd option", 1,
      GENEVE("{class=0/0,type=0/0,len=12,0/0}") ETH IP, "12",
      MATCH "tun_metadata" },
    { "B: option present, no matter which", 1,
      GENEVE("{class=0x102,type=0x80,len=4,0x10002/0}") ETH IP, "11",
      MATCH "tun_metadata" },
    { "B: option value zero", 1,
      GENEVE("{class=0x102,type=0x80,len=4,0x10000/0xffff}") ETH IP, "11",
      "option-value-zero" },
    { "B: two options", 1,
      GENEVE(OVN_OPTION "{class=0x103,type=0,len=4,0x1/0xffffffff}") ETH IP,
      "11", MATCH "tun_metadata" },
    { "B: 8 bytes of data", 1,
      GENEVE("{class=0x102,type=0x80,len=8,0x100000002}") ETH IP, "11",
      MATCH "tun_metadata" },
    { "B: OAM and an option", 1,
      TUNNEL("0x5", ",tos=0,geneve(" OVN_OPTION "),flags(-df+csum+key+oam)")
      ",in_port(60),packet_type(ns=0,id=0)," ETH IP, "11",
      OUTER "oam=1,options=8 bytes,"
      "option=0x0102:0x80:4:0x00010002/0x7fffffff)," INNER
      "ip(frag=no) -> count,decap(58 bytes),output(11)" },
    { "B: VXLAN", 1,
      TUNNEL("0x5", ",tos=0,flags(-df-csum+key)")
      ",in_port(61),packet_type(ns=0,id=0)," ETH IP, "11",
      "port 1 group 2: eth(type=0x0800),ip(src=192.0.2.2,dst=192.0.2.1,"
      "proto=17,tos=0x0),l4(dst=4789),vxlan(vni=5)," INNER
      "ip(frag=no) -> count,decap(50 bytes),output(11)" },
    { "B: VXLAN with GBP", 1,
      TUNNEL("0x5", ",tos=0,vxlan(gbp(id=10,flags=0)),flags(-df-csum+key)")
      ",in_port(61),packet_type(ns=0,id=0)," ETH IP, "11",
      MATCH "tun_gbp_id" },
    { "B: IPv6", 1,
      "recirc_id(0),tunnel(tun_id=0x5,ipv6_src=2001:cafe::2,"
      "ipv6_dst=2001:cafe::1,tos=0,ttl=64/0,geneve(" OVN_OPTION
      "),flags(-df+csum+key)),in_port(60),packet_type(ns=0,id=0)," ETH
      ",eth_type(0x86dd),ipv6(dst=fd00::1,label=0x5/0xf,proto=58,"
      "frag=no),icmpv6(type=128,code=0)", "11",
      "port 1 group 1: eth(type=0x86dd),ip(src=2001:cafe::2,"
      "dst=2001:cafe::1,proto=17,tos=0x0),l4(dst=6081),geneve(vni=5,"
      "options=8 bytes,option=0x0102:0x80:4:0x00010002/0x7fffffff),"
      "inner eth(dst=0a:00:00:00:00:01,type=0x86dd),notag,"
      "ip(dst=fd00::1,label=0x5/0xf,proto=58,frag=no),"
      "icmp(type=128,code=0) -> count,decap(78 bytes),output(11)" },
    { "B: rewrites", 1,
      GENEVE(OVN_OPTION) ETH ",eth_type(0x0800),"
      "ipv4(src=10.0.0.1,dst=10.0.0.2,proto=6,ttl=64,frag=no),"
      "tcp(src=1000,dst=80)",
      "set(eth(src=0a:00:00:00:00:02,dst=0a:00:00:00:00:03)),"
      "set(ipv4(src=10.0.0.1,dst=10.0.0.9,ttl=63)),set(tcp(dst=8080)),11",
      OUTER_OPTION INNER "ip(src=10.0.0.1,dst=10.0.0.2,proto=6,ttl=64,"
      "frag=no),l4(src=1000,dst=80) -> count,decap(58 bytes),"
      "set(eth_src=0a:00:00:00:00:02),set(eth_dst=0a:00:00:00:00:03),"
      "set(ip_dst=10.0.0.9),set(ttl=63),set(l4_dst=8080),output(11)" },
    { "B: inner tag off", 1,
      GENEVE(OVN_OPTION) ETH ",eth_type(0x8100),vlan(vid=5,pcp=0/0),"
      "encap(eth_type(0x0800),ipv4(frag=no))", "pop_vlan,11",
      OUTER_OPTION "inner eth(dst=0a:00:00:00:00:01,type=0x0800),"
      "tag(0x0005/0x0fff),ip(frag=no) -> count,decap(58 bytes),pop_vlan,"
      "output(11)" },
    { "B: inner tag on", 1, GENEVE(OVN_OPTION) ETH IP,
      "push_vlan(vid=7,pcp=3),11",
      OUTER_OPTION INNER "ip(frag=no) -> count,decap(58 bytes),"
      "push_vlan(0x8100,0x6007),output(11)" },
    { "B: ARP", 1, GENEVE(OVN_OPTION) ETH ",eth_type(0x0806),arp()", "11",
      OUTER_OPTION "inner eth(dst=0a:00:00:00:00:01,type=0x0806),notag -> "
      "count,decap(58 bytes),output(11)" },
    { "B: into ARP", 1,
      GENEVE(OVN_OPTION) ETH ",eth_type(0x0806),arp(tip=10.0.0.1)", "11",
      MATCH "arp_tpa" },
    { "B: drop", 1, GENEVE(OVN_OPTION) ETH IP, "drop",
      OUTER_OPTION INNER "ip(frag=no) -> count,drop" },
    { "B: drop of options that are not matched", 1,
      GENEVE("{class=0/0,type=0/0,len=4,0/0}") ETH IP, "drop",
      MATCH "tun_metadata" },
    { "B: drop without options", 1, GENEVE("") ETH IP, "drop",
      OUTER "options=0 bytes)," INNER "ip(frag=no) -> count,drop" },
    { "B: no actions", 1, GENEVE(OVN_OPTION) ETH IP, "",
      OUTER_OPTION INNER "ip(frag=no) -> count,drop" },
    { "B: second uplink of the host", 2, GENEVE(OVN_OPTION) ETH IP, "11",
      "cross-nic" },
    { "B: to another NIC", 1, GENEVE(OVN_OPTION) ETH IP, "21", "cross-nic" },
    { "B: to vhost-user", 1, GENEVE(OVN_OPTION) ETH IP, "30",
      "no-representor" },
    { "B: back to the wire", 1, GENEVE(OVN_OPTION) ETH IP, "1",
      "no-representor" },
    { "B: to an unknown driver", 1, GENEVE(OVN_OPTION) ETH IP, "31",
      "foreign-driver" },
    { "B: from an unknown driver", 31, GENEVE(OVN_OPTION) ETH IP, "11",
      "foreign-driver" },
    { "B: from nowhere", 77, GENEVE(OVN_OPTION) ETH IP, "11",
      "no-representor" },
    { "B: two outputs", 1, GENEVE(OVN_OPTION) ETH IP, "11,12",
      "several-outputs" },
    { "B: into a tunnel", 1, GENEVE(OVN_OPTION) ETH IP, PUSH ",1",
      "tunnel-to-tunnel" },
    { "B: connection tracking", 1, GENEVE(OVN_OPTION) ETH IP,
      "ct(zone=3),recirc(5)", "conntrack" },
    { "B: after connection tracking", 1,
      "ct_state(+est+trk)," GENEVE(OVN_OPTION) ETH IP, "11", "conntrack" },
    { "B: not tracked", 1,
      "ct_state(-trk)," GENEVE(OVN_OPTION) ETH IP, "11",
      OUTER_OPTION INNER "ip(frag=no) -> count,decap(58 bytes),output(11)" },
    { "B: recirculated", 1,
      "recirc_id(0x5),tunnel(tun_id=0x5,src=192.0.2.2,dst=192.0.2.1,"
      "ttl=64/0,geneve(),flags(-df+csum+key)),in_port(60),"
      "packet_type(ns=0,id=0)," ETH IP, "11", "recirculation" },
    { "B: GRE", 1,
      TUNNEL("0x5", ",tos=0,flags(-df-csum+key)")
      ",in_port(62),packet_type(ns=0,id=0)," ETH IP, "11",
      MATCH "tunnel" },

    /* Egress. */
    { "egress", 0, EGRESS, PUSH ",1",
      EGRESS_RULE "encap(58 bytes),output(1)" },
    { "egress in a clone", 0, EGRESS, "clone(" PUSH ",1)",
      EGRESS_RULE "encap(58 bytes),output(1)" },
    { "egress, IPv6", 0, EGRESS, PUSH6 ",1",
      EGRESS_RULE "encap(78 bytes),output(1)" },
    { "egress, VXLAN", 0, EGRESS, PUSH_VXLAN ",1",
      EGRESS_RULE "encap(50 bytes),output(1)" },
    { "egress, tag of the underlay", 0, EGRESS,
      PUSH ",push_vlan(vid=200,pcp=0),1",
      EGRESS_RULE "encap(62 bytes),output(1)" },
    { "egress, marked", 0, EGRESS, "set(skb_mark(0x4d2))," PUSH ",1",
      EGRESS_RULE "encap(58 bytes),output(1)" },
    { "egress, rewrites", 0, TCP,
      "set(eth(src=0a:00:00:00:00:02,dst=0a:00:00:00:00:01)),"
      "set(ipv4(src=10.0.0.7/255.255.255.255,ttl=63/0xff,tos=0xb8/0xfc)),"
      "set(tcp(src=7,dst=80))," PUSH ",1",
      TCP_RULE "set(eth_src=0a:00:00:00:00:02),set(ip_src=10.0.0.7),"
      "set(dscp=46),set(ttl=63),set(l4_src=7),encap(58 bytes),output(1)" },
    { "egress, set and set again", 0, TCP,
      "set(ipv4(ttl=63/0xff)),set(ipv4(ttl=64/0xff))," PUSH ",1",
      TCP_RULE "set(ttl=64),encap(58 bytes),output(1)" },
    { "egress, half an address", 0, TCP,
      "set(ipv4(src=10.0.0.7/0.0.0.255))," PUSH ",1", ACTION "set(ipv4)" },
    { "egress, ECN", 0, TCP, "set(ipv4(tos=3/0x3))," PUSH ",1",
      ACTION "set(tos)" },
    { "egress, all of the TOS", 0,
      IN(11) ETH ",eth_type(0x0800),ipv4(tos=0x2/0x3,frag=no)",
      "set(ipv4(tos=0xba/0xff))," PUSH ",1",
      "port 11 group 0: eth(dst=0a:00:00:00:00:01,type=0x0800),notag,"
      "ip(tos=0x2/0x3,frag=no) -> count,set(dscp=46),encap(58 bytes),"
      "output(1)" },
    { "egress, ports of UDP in a TCP flow", 0, TCP,
      "set(udp(dst=7/0xffff))," PUSH ",1", ACTION "set(udp)" },
    { "egress, addresses of ICMPv6", 0,
      IN(11) ETH ",eth_type(0x86dd),ipv6(proto=58,frag=no),"
      "icmpv6(type=0/0,code=0/0)",
      "set(ipv6(dst=fd00::1/ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff)),"
      PUSH ",1", ACTION "set(ipv6)" },
    { "egress, addresses of IPv6", 0,
      IN(11) ETH ",eth_type(0x86dd),ipv6(proto=17,hlimit=9,frag=no),"
      "udp(src=0/0)",
      "set(ipv6(dst=fd00::1/ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff,"
      "hlimit=8/0xff))," PUSH ",1",
      "port 11 group 0: eth(dst=0a:00:00:00:00:01,type=0x86dd),notag,"
      "ip(proto=17,ttl=9,frag=no) -> count,set(ip_dst=fd00::1),set(ttl=8),"
      "encap(58 bytes),output(1)" },
    { "egress, tag changed", 0,
      IN(11) "eth(),eth_type(0x8100),vlan(vid=5,pcp=0),"
      "encap(eth_type(0x0800),ipv4(frag=no))",
      "pop_vlan,push_vlan(vid=6,pcp=0)," PUSH ",1",
      "port 11 group 0: eth(type=0x0800),tag(0x0005/0xefff),ip(frag=no) -> "
      "count,pop_vlan,push_vlan(0x8100,0x0006),encap(58 bytes),output(1)" },
    { "egress, second tag", 0,
      IN(11) "eth(),eth_type(0x8100),vlan(vid=5,pcp=0),"
      "encap(eth_type(0x0800),ipv4(frag=no))",
      "push_vlan(vid=6,pcp=0)," PUSH ",1", ACTION "push_vlan" },
    { "egress, a VLAN ID that is reserved", 0, EGRESS,
      "push_vlan(vid=4095,pcp=0)," PUSH ",1", ACTION "push_vlan" },
    { "egress, 802.1ad", 0,
      IN(11) "eth(),eth_type(0x88a8),vlan(vid=5,pcp=0),"
      "encap(eth_type(0x0800),ipv4(frag=no))", PUSH ",1",
      MATCH "vlan_tpid" },
    { "egress, any fragment of IPv6", 0,
      IN(11) ETH ",eth_type(0x86dd),ipv6(frag=later)", PUSH ",1",
      MATCH "ip_frag" },
    { "egress, SCTP", 0,
      IN(11) ETH ",eth_type(0x0800),ipv4(proto=132,frag=no),sctp(dst=9)",
      PUSH ",1", MATCH "sctp_dst" },
    { "egress, TCP flags", 0,
      IN(11) ETH ",eth_type(0x0800),ipv4(proto=6,frag=no),"
      "tcp(dst=80),tcp_flags(+syn-ack)", PUSH ",1",
      "port 11 group 0: eth(dst=0a:00:00:00:00:01,type=0x0800),notag,"
      "ip(proto=6,frag=no),l4(dst=80,flags=0x2/0x12) -> count,"
      "encap(58 bytes),output(1)" },
    { "egress, header too long", 0, EGRESS, PUSH_LONG ",1",
      "header-too-long" },
    { "egress, GRE", 0, EGRESS, PUSH_GRE ",1", ACTION "tnl_push" },
    { "egress, another NIC", 0, EGRESS, PUSH ",2", "cross-nic" },
    { "egress, internal port", 0, EGRESS, PUSH ",100", "no-representor" },
    { "egress, unknown driver", 0, EGRESS, PUSH ",31", "foreign-driver" },
    { "egress, a workload behind the tunnel", 0, EGRESS, PUSH ",12",
      "no-representor" },
    { "egress, no output", 0, EGRESS, PUSH, ACTION "tnl_push" },
    { "egress, changes that end with a clone", 0, EGRESS,
      "clone(set(eth(dst=0a:00:00:00:00:09)))," PUSH ",1", ACTION "clone" },
    { "egress, tunnel that ends with a clone", 0, EGRESS,
      "clone(" PUSH "),1", ACTION "clone" },
    { "egress, fields of a tunnel without one", 0,
      "recirc_id(0),tunnel(tun_id=0x5,ttl=64),in_port(11),"
      "packet_type(ns=0,id=0)," ETH IP, PUSH ",1", MATCH "tun_id" },
    { "egress from vhost-user", 0, IN(30) ETH IP, PUSH ",1",
      "no-representor" },
    { "egress from the wire", 0, IN(1) ETH IP, PUSH ",1",
      "no-representor" },
    { "egress, two tunnels", 0, EGRESS, "clone(" PUSH ",1)," PUSH ",1",
      "several-outputs" },
    { "egress, tunnel in a tunnel", 0, EGRESS, PUSH "," PUSH ",1",
      "tunnel-to-tunnel" },
    { "egress, and a port here", 0, EGRESS, "12," PUSH ",1",
      "several-outputs" },
    { "egress, trunc", 0, EGRESS, "trunc(100)," PUSH ",1", ACTION "trunc" },
    { "egress, meter", 0, EGRESS, "meter(1)," PUSH ",1", ACTION "meter" },
    { "egress, sampled", 0, EGRESS,
      "sample(sample=1%,actions(userspace(pid=0)))," PUSH ",1",
      ACTION "sample" },
    { "egress, underlay changes addresses", 0, EGRESS,
      PUSH ",set(eth(dst=0a:00:00:00:00:09)),1", ACTION "set" },
    { "egress, bond by hash", 0, EGRESS, PUSH ",recirc(1)",
      "recirculation" },
    { "egress after connection tracking", 0,
      "recirc_id(0x7),ct_state(+est+trk),in_port(11),"
      "packet_type(ns=0,id=0)," ETH IP, PUSH ",1", "conntrack" },
    { "no tunnel", 0, EGRESS, "12", "not-tunnel" },
    { "no such port", 0, IN(99) ETH IP, PUSH ",1", "no-representor" },
};
const size_t n_nic_rule_cases = ARRAY_SIZE(nic_rule_cases);

/* By field: RFC 791 and 8200, 768, 8926 and 7348, IEEE 802.1Q. */
#define MACS "f8bc124434b6" "aa55aa550000"
#define IPV4_BYTES "45" "00" "0000" "0000" "4000" "40" "11" "0000"           \
    "01010258" "0101025c"
#define IPV6_BYTES "60000000" "0000" "11" "40"                               \
    "2001cafe000000000000000000000088" "2001cafe000000000000000000000092"
#define GENEVE_BYTES "...." "17c1" "0000" "0000"                             \
    "02" "40" "6558" "00007b" "00" "0102" "80" "01" "00010002"

const char nic_header_flow[] = EGRESS;
const struct nic_header_case nic_header_cases[] = {
    { "Geneve, IPv4, 58 bytes", PUSH ",1",
      MACS "0800" IPV4_BYTES GENEVE_BYTES },
    { "Geneve, IPv6, 78 bytes", PUSH6 ",1",
      MACS "86dd" IPV6_BYTES GENEVE_BYTES },
    { "Geneve, tagged, 62 bytes", PUSH ",push_vlan(vid=200,pcp=5),1",
      MACS "8100" "a0c8" "0800" IPV4_BYTES GENEVE_BYTES },
    { "VXLAN, 50 bytes", PUSH_VXLAN ",1",
      MACS "0800" IPV4_BYTES "...." "12b5" "0000" "0000"
      "08000000" "00007b" "00" },
};
const size_t n_nic_header_cases = ARRAY_SIZE(nic_header_cases);
