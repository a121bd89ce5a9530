/* SPDX-License-Identifier: Apache-2.0 */

/* Checks lookups by cases whose answers follow from ip-rule(8), from the
 * kernel's "ip route get" and from RFC 6724, and the words in which users read
 * them.  (Random states: test-route-twin.c.) */

#include <config.h>
#undef NDEBUG

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "ovstest.h"
#include "packets.h"
#include "route-db.h"
#include "route-lookup.h"
#include "route-scene.h"
#include "util.h"

/* Cases: a state, and lines of "query => answer". */
struct test_case {
    const char *name;
    const char *state;
    const char *answers;
};

/* Two NICs as in an ordinary multi-NIC host. */
#define TWO_NICS                                                            \
    "link lo 1; link a 2; link b 3; link d 4;"                              \
    "addr lo 127.0.0.1/8 scope 254;"                                        \
    "addr a 192.0.2.1/24; addr b 198.51.100.1/24; addr d 10.0.0.1/32;"      \
    "route 255 127.0.0.0/8 local scope 254 src 127.0.0.1 dev lo;"           \
    "route 255 192.0.2.1/32 local scope 254 src 192.0.2.1 dev a;"           \
    "route 254 192.0.2.0/24 scope 253 src 192.0.2.1 dev a;"                 \
    "route 254 198.51.100.0/24 scope 253 src 198.51.100.1 dev b;"           \
    "route 254 0.0.0.0/0 dev a via 192.0.2.254;"

#define TWO_TABLES                                                          \
    TWO_NICS                                                                \
    "rule 101 from 192.0.2.1 table 101;"                                    \
    "rule 102 from 198.51.100.1 table 102;"                                 \
    "route 101 0.0.0.0/0 dev a via 192.0.2.254;"                            \
    "route 102 0.0.0.0/0 dev b via 198.51.100.254;"

#define TWO_NICS_IPV6                                                       \
    "link lo 1; link a 2; link b 3;"                                        \
    "addr lo ::1/128 scope 254;"                                            \
    "addr a fe80::a/64 scope 253; addr a 2001:db8:a::1/64;"                 \
    "addr b fe80::b/64 scope 253; addr b 2001:db8:b::1/64;"                 \
    "route 254 2001:db8:a::/64 dev a; route 254 2001:db8:b::/64 dev b;"     \
    "route 254 ::/0 dev a via fe80::fe;"                                    \
    "route 101 ::/0 dev b via fe80::ff;"                                    \
    "rule 101 -6 from 2001:db8:b::1 table 101;"

static const struct test_case cases[] = {
    { "no rule, no route", "", "203.0.113.9 => refused no-route" },
    { "main table", TWO_NICS,
      "203.0.113.9 => dev a via 192.0.2.254 src 192.0.2.1 table 254\n"
      "203.0.113.9 from 198.51.100.1"
          " => dev a via 192.0.2.254 src 198.51.100.1 table 254\n"
      "198.51.100.9 => dev b src 198.51.100.1 table 254\n"
      "192.0.2.1 => dev a src 192.0.2.1 table 255\n" },
    /* As the kernel has it: no gateway, for IPv4. */
    { "own address as gateway",
      TWO_NICS "route 254 203.0.113.0/24 dev a via 192.0.2.1",
      "203.0.113.9 => dev a src 192.0.2.1 table 254\n" },
    { "source", TWO_NICS,
      "203.0.113.9 from 10.9.9.9 => refused not-local\n"
      /* RFC 1122, section 3.2.1.3: not outside of a host. */
      "203.0.113.9 from 127.0.0.9 => refused bad-source\n"
      "127.0.0.8 from 127.0.0.9 => dev lo src 127.0.0.9 table 255\n"
      "203.0.113.9 from 224.0.0.1 => refused bad-source\n"
      "203.0.113.9 from 255.255.255.255 => refused bad-source\n"
      "203.0.113.9 from 0.1.2.3 => refused not-local\n"
      "203.0.113.9 from 2001:db8::1 => refused bad-source\n"
      "203.0.113.9 from 0.0.0.0"
          " => dev a via 192.0.2.254 src 192.0.2.1 table 254\n" },
    { "source on a device that is down", TWO_NICS "link b 3 down",
      "203.0.113.9 from 198.51.100.1"
          " => dev a via 192.0.2.254 src 198.51.100.1 table 254\n" },
    { "a table for each source", TWO_TABLES,
      "203.0.113.9 from 192.0.2.1"
          " => dev a via 192.0.2.254 src 192.0.2.1 table 101\n"
      "203.0.113.9 from 198.51.100.1"
          " => dev b via 198.51.100.254 src 198.51.100.1 table 102\n"
      "203.0.113.9 => dev a via 192.0.2.254 src 192.0.2.1 table 254\n"
      /* The tables have no connected route. */
      "198.51.100.7 from 198.51.100.1"
          " => dev b via 198.51.100.254 src 198.51.100.1 table 102\n" },
    { "connected routes first by suppress_prefixlength", TWO_TABLES
      "rule 50 suppress 0 table 254",
      "198.51.100.7 from 198.51.100.1"
          " => dev b src 198.51.100.1 table 254\n"
      "203.0.113.9 from 198.51.100.1"
          " => dev b via 198.51.100.254 src 198.51.100.1 table 102\n" },
    { "suppress_ifgroup",
      "link a 2 group 7; link b 3 group 8; addr a 192.0.2.1/24;"
      "route 101 0.0.0.0/0 dev a; route 254 0.0.0.0/0 dev b;"
      "rule 10 suppress-group 7 table 101",
      "203.0.113.9 => dev b src 192.0.2.1 table 254" },
    { "reject routes are not suppressed", TWO_NICS
      "route 101 0.0.0.0/0 prohibit; rule 10 suppress 0 table 101",
      "203.0.113.9 => refused route-prohibit" },
    { "reject routes", TWO_NICS
      "route 254 203.0.113.0/28 blackhole;"
      "route 254 203.0.113.16/28 unreachable;"
      "route 254 203.0.113.32/28 prohibit;"
      "route 254 203.0.113.48/28 throw",
      "203.0.113.1 => refused route-blackhole\n"
      "203.0.113.17 => refused route-unreachable\n"
      "203.0.113.33 => refused route-prohibit\n"
      "203.0.113.49 => refused no-route\n" },
    { "throw goes on at the next rule", TWO_NICS
      "route 101 0.0.0.0/0 dev b via 198.51.100.254;"
      "route 101 203.0.113.0/24 throw; rule 101 table 101",
      "203.0.113.9 => dev a via 192.0.2.254 src 192.0.2.1 table 254\n"
      "203.0.114.9 => dev b via 198.51.100.254 src 198.51.100.1 table 101\n" },
    { "rules that refuse", TWO_NICS
      "rule 10 to 203.0.113.1 blackhole; rule 11 to 203.0.113.2 unreachable;"
      "rule 12 to 203.0.113.3 prohibit; rule 13 to 203.0.113.0/24 nop",
      "203.0.113.1 => refused rule-blackhole\n"
      "203.0.113.2 => refused rule-unreachable\n"
      "203.0.113.3 => refused rule-prohibit\n"
      "203.0.113.4 => dev a via 192.0.2.254 src 192.0.2.1 table 254\n" },
    { "goto", TWO_TABLES
      "rule 20 to 203.0.113.0/24 goto 40; rule 30 blackhole;"
      "rule 40 to 203.0.113.0/25 table 102;"
      "rule 5 to 203.0.115.0/24 goto 7; rule 7 to 203.0.116.0/24 blackhole;"
      "rule 8 to 203.0.115.0/24 table 102;"
      "rule 9 to 203.0.116.0/24 goto 9999",
      "203.0.113.9 => dev b via 198.51.100.254 src 198.51.100.1 table 102\n"
      "203.0.113.200 => dev a via 192.0.2.254 src 192.0.2.1 table 254\n"
      "203.0.114.1 => refused rule-blackhole\n"
      "203.0.115.1 => dev b via 198.51.100.254 src 198.51.100.1 table 102\n"
      "203.0.116.1 => refused rule-blackhole\n" },
    { "mark, TOS, port", TWO_TABLES
      "rule 20 fwmark 5 table 102; rule 21 tos 0x10 table 102;"
      "rule 22 dport 6081 table 102",
      "203.0.113.9 mark 5"
          " => dev b via 198.51.100.254 src 198.51.100.1 table 102\n"
      "203.0.113.9 mark 4"
          " => dev a via 192.0.2.254 src 192.0.2.1 table 254\n"
      "203.0.113.9 tos 0x13"
          " => dev b via 198.51.100.254 src 198.51.100.1 table 102\n"
      "203.0.113.9 tos 0x08"
          " => dev a via 192.0.2.254 src 192.0.2.1 table 254\n"
      "203.0.113.9 proto 17 dport 6081"
          " => dev b via 198.51.100.254 src 198.51.100.1 table 102\n"
      "203.0.113.9 proto 17 dport 4789"
          " => dev a via 192.0.2.254 src 192.0.2.1 table 254\n" },
    { "the local rule moved behind", TWO_NICS
      "- rule 0 table 255; rule 40000 table 255;",
      "192.0.2.1 => dev a src 192.0.2.1 table 254\n"
      /* A local source all the same, but not for the default route. */
      "127.0.0.8 from 127.0.0.9 => refused bad-source\n" },
    { "a table that appears and goes", TWO_NICS
      "rule 10 table 77; route 77 0.0.0.0/0 dev b via 198.51.100.254;"
      "- route 77 0.0.0.0/0",
      "203.0.113.9 => dev a via 192.0.2.254 src 192.0.2.1 table 254\n" },
    { "metrics", TWO_NICS "- route 254 0.0.0.0/0;"
      "route 254 0.0.0.0/0 metric 700 dev a via 192.0.2.254;"
      "route 254 0.0.0.0/0 metric 50 dev b via 198.51.100.254",
      "203.0.113.9 => dev b via 198.51.100.254 src 198.51.100.1 table 254\n" },
    { "user routes come before the kernel's for a prefix", TWO_NICS
      "route 254 0.0.0.0/0 user metric 9000 dev b via 198.51.100.254",
      "203.0.113.9 => dev b via 198.51.100.254 src 198.51.100.1 table 254\n" },
    { "a user route by a device that is not there", TWO_NICS
      "route 254 203.0.113.0/24 user dev nic9",
      "203.0.113.9 => dev a via 192.0.2.254 src 192.0.2.1 table 254\n" },
    { "the device of a user route appears", TWO_NICS
      "route 254 203.0.113.0/24 user dev nic9; link nic9 9",
      "203.0.113.9 => dev nic9 src 192.0.2.1 table 254\n" },
    { "a device takes the name that a user route waits for", TWO_NICS
      "route 254 203.0.113.0/24 user dev nic9; link x 9; link nic9 9",
      "203.0.113.9 => dev nic9 src 192.0.2.1 table 254\n" },
    { "a device is made anew, seen in the wrong order", TWO_NICS
      "route 254 203.0.113.0/24 user dev b via 198.51.100.254;"
      "link b 9; addr b 198.51.100.1/24; - link b 3",
      "203.0.113.9"
          " => dev b via 198.51.100.254 src 198.51.100.1 table 254\n" },
    { "link down", TWO_NICS
      "route 254 203.0.113.0/24 dev b via 198.51.100.254; link b 3 down",
      "203.0.113.9 => dev a via 192.0.2.254 src 192.0.2.1 table 254\n" },
    { "no carrier", TWO_NICS
      "route 254 203.0.113.0/24 dev b via 198.51.100.254; link b 3 nocarrier",
      "203.0.113.9 => dev b via 198.51.100.254 src 198.51.100.1 table 254\n" },
    { "no carrier, ignore_routes_with_linkdown", TWO_NICS
      "route 254 203.0.113.0/24 dev b via 198.51.100.254;"
      "link b 3 nocarrier ignore-linkdown",
      "203.0.113.9 => dev a via 192.0.2.254 src 192.0.2.1 table 254\n" },
    { "local routes outlive the link", TWO_NICS "link a 2 down",
      "192.0.2.1 => dev a src 192.0.2.1 table 255\n" },
    { "preferred source on another device", TWO_NICS
      "route 254 203.0.113.0/24 src 10.0.0.1 dev b via 198.51.100.254",
      "203.0.113.9 => dev b via 198.51.100.254 src 10.0.0.1 table 254\n" },
    { "multipath: the leg where the source sits", TWO_NICS
      "route 254 203.0.113.0/24 dev a via 192.0.2.254"
      " dev b via 198.51.100.254",
      "203.0.113.9 from 192.0.2.1 hash 1"
          " => dev a via 192.0.2.254 src 192.0.2.1 table 254\n"
      "203.0.113.9 from 192.0.2.1 hash 2"
          " => dev a via 192.0.2.254 src 192.0.2.1 table 254\n"
      "203.0.113.9 from 198.51.100.1 hash 1"
          " => dev b via 198.51.100.254 src 198.51.100.1 table 254\n"
      "203.0.113.9 from 198.51.100.1 hash 2"
          " => dev b via 198.51.100.254 src 198.51.100.1 table 254\n" },
    { "multipath: the dead leg", TWO_NICS
      "route 254 203.0.113.0/24 dev a via 192.0.2.254"
      " dev b via 198.51.100.254; link a 2 down",
      "203.0.113.9 hash 1"
          " => dev b via 198.51.100.254 src 198.51.100.1 table 254\n"
      "203.0.113.9 hash 2"
          " => dev b via 198.51.100.254 src 198.51.100.1 table 254\n"
      "203.0.113.9 from 192.0.2.1 hash 3"
          " => dev b via 198.51.100.254 src 192.0.2.1 table 254\n" },
    { "next-hop objects", TWO_NICS
      "nh 5 dev b via 198.51.100.254; nh 6 blackhole; nh 7 group 5;"
      "nh 9 group 6; route 254 203.0.112.0/24 nhid 9;"
      "route 254 203.0.113.0/26 nhid 5; route 254 203.0.113.64/26 nhid 6;"
      "route 254 203.0.113.128/26 nhid 7; route 254 203.0.113.192/26 nhid 8",
      "203.0.113.1 => dev b via 198.51.100.254 src 198.51.100.1 table 254\n"
      "203.0.113.65 => refused route-blackhole\n"
      "203.0.112.1 => refused route-blackhole\n"
      "203.0.113.129 => dev b via 198.51.100.254 src 198.51.100.1 table 254\n"
      "203.0.113.193 => dev a via 192.0.2.254 src 192.0.2.1 table 254\n" },
    { "gateway of the other family", TWO_NICS
      "route 254 203.0.113.0/24 dev b via fe80::9",
      "203.0.113.9 => dev b via fe80::9 src 198.51.100.1 table 254\n" },

    /* IPv4 sources. */
    { "address whose prefix holds the gateway",
      "link a 2; addr a 192.0.2.1/24; addr a 198.51.100.1/24;"
      "route 254 0.0.0.0/0 dev a via 198.51.100.254",
      "203.0.113.9 => dev a via 198.51.100.254 src 198.51.100.1 table 254" },
    { "first address without a gateway",
      "link a 2; addr a 192.0.2.1/24; addr a 198.51.100.1/24;"
      "addr a 192.0.2.2/24 secondary; route 254 0.0.0.0/0 dev a",
      "203.0.113.9 => dev a src 192.0.2.1 table 254" },
    { "secondary addresses are passed over",
      "link a 2; addr a 192.0.2.1/24; addr a 192.0.2.2/32;"
      "addr a 192.0.2.255/31 secondary;"
      "route 254 0.0.0.0/0 dev a via 192.0.2.254",
      "203.0.113.9 => dev a via 192.0.2.254 src 192.0.2.1 table 254" },
    { "peer address",
      "link a 2; addr a 192.0.2.1/24; addr a 10.0.0.1/32 peer 10.0.0.2/32;"
      "route 254 0.0.0.0/0 dev a via 10.0.0.2",
      "203.0.113.9 => dev a via 10.0.0.2 src 10.0.0.1 table 254" },
    { "scope of the route",
      "link a 2; addr a 192.0.2.1/24 scope 253; addr a 198.51.100.1/24;"
      "route 254 203.0.113.0/24 scope 253 dev a; route 254 0.0.0.0/0 dev a",
      "203.0.113.9 => dev a src 192.0.2.1 table 254\n"
      "203.0.114.9 => dev a src 198.51.100.1 table 254\n" },
    { "another device's address",
      "link lo 1; link x 2; link a 3; addr lo 127.0.0.1/8 scope 254;"
      "addr x 192.0.2.1/24 scope 253; addr x 192.0.2.2/24 secondary;"
      "addr x 10.0.0.1/32; route 254 0.0.0.0/0 dev a",
      "203.0.113.9 => dev a src 10.0.0.1 table 254" },
    { "no address", "link a 3; route 254 0.0.0.0/0 dev a",
      "203.0.113.9 => refused no-source" },

    /* IPv6. */
    { "IPv6 tables", TWO_NICS_IPV6,
      "2001:db8:9::1"
          " => dev a via fe80::fe src 2001:db8:a::1 table 254\n"
      "2001:db8:9::1 from 2001:db8:b::1"
          " => dev b via fe80::ff src 2001:db8:b::1 table 101\n"
      "2001:db8:b::9 from 2001:db8:a::1"
          " => dev b src 2001:db8:a::1 table 254\n"
      "2001:db8:9::1 from 2001:db8:c::1 => refused not-local\n"
      "2001:db8:9::1 from ff02::1 => refused bad-source\n"
      "2001:db8:9::1 from 192.0.2.1 => refused bad-source\n"
      "203.0.113.1 => refused no-route\n" },
    { "IPv6 preferred source", TWO_NICS_IPV6
      "route 254 2001:db8:9::/48 src 2001:db8:b::1 dev a via fe80::fe",
      "2001:db8:9::1 => dev a via fe80::fe src 2001:db8:b::1 table 254" },
    { "IPv6 rule without a source", TWO_NICS_IPV6
      "rule 5 -6 not from 2001:db8:b::1 table 102;"
      "route 102 ::/0 dev b via fe80::77",
      "2001:db8:9::1 => dev b via fe80::77 src 2001:db8:b::1 table 102" },

    /* RFC 6724 section 10.1, with a route by device a. */
#define SOURCES(ADDRS) "link a 2;" ADDRS ";route 254 ::/0 dev a"
    { "RFC 6724: appropriate scope",
      SOURCES("addr a 2001:db8:3::1/64; addr a fe80::1/64 scope 253"),
      "2001:db8:1::1 => dev a src 2001:db8:3::1 table 254\n"
      "ff05::1 => dev a src 2001:db8:3::1 table 254\n" },
    { "RFC 6724: same address",
      SOURCES("addr a 2001:db8:1::1/64 deprecated; addr a 2001:db8:2::1/64"),
      "2001:db8:1::1 => dev a src 2001:db8:1::1 table 254" },
    { "RFC 6724: scope before deprecation",
      SOURCES("addr a fe80::2/64 scope 253 deprecated;"
              "addr a 2001:db8:1::1/64"),
      "fe80::1 => dev a src fe80::2 table 254" },
    { "RFC 6724: longest prefix",
      SOURCES("addr a 2001:db8:1::2/64; addr a 2001:db8:3::2/64"),
      "2001:db8:1::1 => dev a src 2001:db8:1::2 table 254\n"
      "2001:db8:3::1 => dev a src 2001:db8:3::2 table 254\n" },
    { "RFC 6724: matching label",
      SOURCES("addr a 2002:c633:6401::1/64; addr a 2001:db8:1::2/64"),
      "2002:c633:6401::9 => dev a src 2002:c633:6401::1 table 254\n"
      "2001:db8:9::1 => dev a src 2001:db8:1::2 table 254\n" },
    { "RFC 6724: avoid deprecated",
      SOURCES("addr a 2001:db8:1::2/64 deprecated; addr a 2001:db8:3::2/64"),
      "2001:db8:1::1 => dev a src 2001:db8:3::2 table 254" },
    { "RFC 6724: outgoing interface",
      SOURCES("link b 3; addr b 2001:db8:1::2/64; addr a 2001:db8:3::2/64"),
      "2001:db8:1::1 => dev a src 2001:db8:3::2 table 254" },
    { "RFC 6724: unique local addresses have a label of their own",
      SOURCES("addr a fd00::1/64; addr a 2001:db8:3::2/64"),
      "2001:db8:1::1 => dev a src 2001:db8:3::2 table 254\n"
      "fd00:9::1 => dev a src fd00::1 table 254\n" },
    { "RFC 6724: the prefix counts no further than its length",
      SOURCES("addr a 2001:db8:1:8000::1/49; addr a 2001:db8:1:1::1/49"),
      /* Both agree in 48 bits; the newer comes first. */
      "2001:db8:1:4000::1 => dev a src 2001:db8:1:1::1 table 254" },
    { "Linux: public before temporary",
      SOURCES("addr a 2001:db8:1::2/64;"
              "addr a 2001:db8:1::d5e3:7953:13eb:22e8/64 temporary"),
      "2001:db8:1::d5e3:0:0:1 => dev a src 2001:db8:1::2 table 254" },
    { "tentative addresses are no sources",
      SOURCES("addr a 2001:db8:1::2/64 tentative"),
      "2001:db8:1::1 => refused no-source" },
    { "link-local destinations keep to the device",
      SOURCES("link b 3; addr b fe80::b/64 scope 253"),
      "fe80::1 => refused no-source\n"
      "2001:db8:1::1 => dev a src fe80::b table 254" },
    { "the address added last comes first",
      SOURCES("addr a 2001:db8::1/64; addr a 2001:db8::2/64"),
      "2001:db9::1 => dev a src 2001:db8::2 table 254" },
    { "a dump has the kernel's order",
      SOURCES("addr a 2001:db8::1/64 dumped; addr a 2001:db8::2/64 dumped"),
      "2001:db9::1 => dev a src 2001:db8::1 table 254" },
};

static int
check_case(const struct test_case *c)
{
    struct route_db db;
    int n_failed = 0;

    route_db_init(&db);
    route_scene_apply(&db, c->state);

    char *answers = xstrdup(c->answers);
    char *save = NULL;

    for (char *line = strtok_r(answers, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        char *arrow = strstr(line, " => ");

        ovs_assert(arrow);
        *arrow = '\0';

        char *answer = route_scene_ask(&db, line);

        if (strcmp(answer, arrow + 4)) {
            printf("%s: \"%s\": expected \"%s\", got \"%s\"\n",
                   c->name, line, arrow + 4, answer);
            n_failed++;
        }
        free(answer);
    }
    free(answers);
    route_db_destroy(&db);
    return n_failed;
}

/* What users read. */

static const char formatted[] =
    "Cached: 192.0.2.0/24 dev a SRC 192.0.2.1\n"
    "User: 203.0.115.0/24 MARK 7 dev b GW 198.51.100.254 SRC 198.51.100.1"
        " table 101\n"
    "Cached: 192.0.2.1/32 dev a SRC 192.0.2.1 local\n"
    "Cached: 203.0.113.0/24 blackhole table 101\n"
    "Cached: 203.0.116.0/24 dev a GW 192.0.2.254 weight 1"
        " dev b GW 198.51.100.254 weight 3\n"
    "Cached: 203.0.117.0/24 nhid 5 dev b GW 198.51.100.254\n"
    "Cached: 2001:db8:5::/48 dev b\n"
    "Cached: 0: from all lookup local\n"
    "User: 100: from 192.0.2.0/24 lookup 102\n"
    "User: 32765: from 198.51.100.1 lookup main\n"
    "Cached: 7: not from all to 203.0.113.0/24 tos 0x10 fwmark 0x1/0xff iif lo"
        " uidrange 0-9 ipproto udp dport 6081 lookup 9"
        " suppress_prefixlength 0\n"
    "Cached: 8: from 2001:db8::1 goto 50\n"
    "Cached: 9: from all dport 1-2 unreachable\n"
    "source 10.9.9.9 is not a local address\n"
    "no route to 203.0.113.9\n"
    "route 203.0.113.0/24 in table 101 says blackhole\n"
    "rule 9 says unreachable\n"
    "  rule 0: from all lookup local: no route\n"
    "  rule 100: from 192.0.2.1 lookup 101: 203.0.113.0/24 blackhole\n";

static void
put_route(const struct route_db *db, struct ds *ds, uint32_t table,
          uint32_t shown, const char *query)
{
    struct route_query q = route_scene_query(query);
    struct route_fib *fib = NULL;
    struct route key = { .dst = q.dst, .mark = q.mark };
    const struct route **routes;
    size_t n;

    HMAP_FOR_EACH (fib, node, &db->fibs) {
        if (fib->id != table) {
            continue;
        }
        routes = route_fib_sort(fib, &n);
        for (size_t i = 0; i < n; i++) {
            if (ipv6_addr_equals(&routes[i]->dst, &key.dst)) {
                route_format(db, routes[i], shown, ds);
                ds_put_char(ds, '\n');
            }
        }
        free(routes);
    }
}

static void
put_verdict(const struct route_db *db, struct ds *ds, const char *query)
{
    struct route_query q = route_scene_query(query);
    struct route_result result;

    route_lookup(db, &q, &result, NULL);
    route_verdict_format(&q, &result, ds);
    ds_put_char(ds, '\n');
}

static int
check_format(void)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    struct route_trail trail;
    struct route_result result;
    struct route_rule rule;
    struct route_query q;
    struct route_db db;
    int n_failed = 0;

    route_db_init(&db);
    route_scene_apply(&db, TWO_NICS
        "nh 5 dev b via 198.51.100.254; - route 254 0.0.0.0/0;"
        "route 101 203.0.115.0/24 user mark 7 src 198.51.100.1 dev b"
            " via 198.51.100.254;"
        "route 101 203.0.113.0/24 blackhole;"
        "route 254 203.0.116.0/24 dev a via 192.0.2.254"
            " dev b via 198.51.100.254 weight 3;"
        "route 254 203.0.117.0/24 nhid 5;"
        "route 254 2001:db8:5::/48 dev b;"
        "rule 100 from 192.0.2.1 table 101; rule 9 dport 5 unreachable");
    put_route(&db, &ds, 254, 0, "192.0.2.0");
    put_route(&db, &ds, 101, 101, "203.0.115.0");
    put_route(&db, &ds, 255, 0, "192.0.2.1");
    put_route(&db, &ds, 101, 101, "203.0.113.0");
    put_route(&db, &ds, 254, 0, "203.0.116.0");
    put_route(&db, &ds, 254, 0, "203.0.117.0");
    put_route(&db, &ds, 254, 0, "2001:db8:5::");

#define PUT_RULE()                                      \
    (route_rule_format(&rule, &ds), ds_put_char(&ds, '\n'))

    route_rule_init(&rule, false, 0, ROUTE_TABLE_LOCAL, ROUTE_KERNEL);
    PUT_RULE();
    route_rule_init(&rule, false, 100, 102, ROUTE_USER);
    rule.from = route_scene_ip("192.0.2.0/24", &rule.from_plen);
    PUT_RULE();
    route_rule_init(&rule, false, 32765, ROUTE_TABLE_MAIN, ROUTE_USER);
    rule.from = route_scene_ip("198.51.100.1", &rule.from_plen);
    PUT_RULE();
    route_rule_init(&rule, false, 7, 9, ROUTE_KERNEL);
    rule.invert = true;
    rule.to = route_scene_ip("203.0.113.0/24", &rule.to_plen);
    rule.tos = 0x10;
    rule.mark = 1;
    rule.mark_mask = 0xff;
    ovs_strlcpy(rule.iif, "lo", sizeof rule.iif);
    rule.uid_max = 9;
    rule.ipproto = IPPROTO_UDP;
    rule.dport_min = rule.dport_max = 6081;
    rule.suppress_plen = 0;
    PUT_RULE();
    route_rule_init(&rule, true, 8, 0, ROUTE_KERNEL);
    rule.from = route_scene_ip("2001:db8::1", &rule.from_plen);
    rule.action = ROUTE_RULE_GOTO;
    rule.target = 50;
    PUT_RULE();
    route_rule_init(&rule, false, 9, 0, ROUTE_KERNEL);
    rule.action = ROUTE_RULE_UNREACHABLE_ACTION;
    rule.dport_min = 1;
    rule.dport_max = 2;
    PUT_RULE();

    put_verdict(&db, &ds, "203.0.113.9 from 10.9.9.9");
    put_verdict(&db, &ds, "203.0.113.9");
    put_verdict(&db, &ds, "203.0.113.9 from 192.0.2.1");
    put_verdict(&db, &ds, "203.0.113.9 dport 5");
    q = route_scene_query("203.0.113.9 from 192.0.2.1");
    route_lookup(&db, &q, &result, &trail);
    route_trail_format(&trail, &ds);
    if (strcmp(ds_cstr(&ds), formatted)) {
        printf("expected:\n%sgot:\n%s", formatted, ds_cstr(&ds));
        n_failed++;
    }
    ds_destroy(&ds);
    route_db_destroy(&db);
    return n_failed;
}

/* Errors as errno(3) has them in "ip route get". */
static int
check_errnos(void)
{
    static const int expected[ROUTE_N_VERDICTS] = {
        [ROUTE_OK] = 0,
        [ROUTE_NO_ROUTE] = ENETUNREACH,
        [ROUTE_NOT_LOCAL] = ENETUNREACH,
        [ROUTE_BAD_SOURCE] = EINVAL,
        [ROUTE_VIA_BLACKHOLE] = EINVAL,
        [ROUTE_VIA_UNREACHABLE] = EHOSTUNREACH,
        [ROUTE_VIA_PROHIBIT] = EACCES,
        [ROUTE_RULE_BLACKHOLE] = EINVAL,
        [ROUTE_RULE_UNREACHABLE] = ENETUNREACH,
        [ROUTE_RULE_PROHIBIT] = EACCES,
        [ROUTE_NO_SOURCE] = EADDRNOTAVAIL,
    };
    int n_failed = 0;

    for (int i = 0; i < ROUTE_N_VERDICTS; i++) {
        if (route_verdict_errno(i) != expected[i]) {
            printf("verdict %d: errno %d, expected %d\n",
                   i, route_verdict_errno(i), expected[i]);
            n_failed++;
        }
    }
    return n_failed;
}

static void
test_route_lookup_main(int argc OVS_UNUSED, char *argv[])
{
    int n_failed;

    set_program_name(argv[0]);
    n_failed = check_format() + check_errnos();
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        n_failed += check_case(&cases[i]);
    }
    if (n_failed) {
        exit(EXIT_FAILURE);
    }
}

OVSTEST_REGISTER("test-route-lookup", test_route_lookup_main);
