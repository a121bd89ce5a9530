/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-cases.h"

#include "util.h"

/* One NIC a bridge, an eSwitch each, of which the first two have an address of
 * each family, and an endpoint that only a tunnel names. */
#define A4 "10.0.0.1 ovn nic=A dev=br1 bridge=br1"
#define B4 "10.0.0.2 ovn nic=B dev=br2 bridge=br2"
#define C4 "10.0.0.3 config nic=C dev=br3 bridge=br3"
#define A6 "2001:db8::1 ovn nic=A dev=br1 bridge=br1"
#define B6 "2001:db8::2 ovn nic=B dev=br2 bridge=br2"
#define TUNNEL4 "10.0.0.8 tunnel nic=D dev=br4 bridge=br4"
#define DEFAULT " default"
#define DOWN " link-down"
#define HOST A4 "," B4 DEFAULT "," C4 "," A6 "," B6 DEFAULT "," TUNNEL4

#define PORTS "pin1 pin=10.0.0.1,pin8 pin=10.0.0.8,pin9 pin=10.0.0.9," \
              "pin61 pin=2001:db8::1,nicC nic=C,nicD nic=D,nicE nic=E," \
              "pin1C pin=10.0.0.1 nic=C,plain"

/* Destinations. */
#define DST4 "192.0.2.9"
#define DST6 "2001:db8:9::9"

const struct encap_case encap_cases[] = {
    /* Step 1. */
    { .name = "local_ip of an endpoint",
      HOST, PORTS, .local_ip = "10.0.0.1", .tun_src = "10.0.0.2",
      .dst = DST4, .ingress = "nicC",
      .step = ENCAP_BY_TUNNEL, .src = "10.0.0.1", .endpoint = "10.0.0.1",
      .text = "endpoint 10.0.0.1 by local_ip" },
    { .name = "local_ip that is no endpoint is routing's matter",
      HOST, PORTS, .failover = true, .local_ip = "10.0.0.9", .dst = DST4,
      .step = ENCAP_BY_TUNNEL, .src = "10.0.0.9",
      .text = "source 10.0.0.9 by local_ip" },
    { .name = "local_ip that is absent is routing's matter",
      A4 " absent," B4 DEFAULT, PORTS, .local_ip = "10.0.0.1", .dst = DST4,
      .step = ENCAP_BY_TUNNEL, .src = "10.0.0.1", .endpoint = "10.0.0.1",
      .text = "endpoint 10.0.0.1 by local_ip, but not a local address" },
    { .name = "local_ip of the other family is routing's matter",
      A4 DOWN "," B6, PORTS, .failover = true, .local_ip = "10.0.0.1",
      .dst = DST6,
      .step = ENCAP_BY_TUNNEL, .src = "10.0.0.1", .endpoint = "10.0.0.1",
      .text = "endpoint 10.0.0.1 by local_ip, "
              "but no uplink of br1 has a link" },
    { .name = "local_ip without a link: fail closed",
      A4 DOWN "," B4 DEFAULT, PORTS, .local_ip = "10.0.0.1", .dst = DST4,
      .ingress = "plain", .prefers = "10.0.0.2",
      .verdict = ENCAP_REFUSED_DOWN, .step = ENCAP_BY_TUNNEL,
      .endpoint = "10.0.0.1",
      .text = "endpoint 10.0.0.1 (local_ip) is down: "
              "no uplink of br1 has a link" },
    { .name = "local_ip on a device that is down: fail closed",
      A4 " device-down," B4, PORTS, .local_ip = "10.0.0.1", .dst = DST4,
      .verdict = ENCAP_REFUSED_DOWN, .step = ENCAP_BY_TUNNEL,
      .endpoint = "10.0.0.1",
      .text = "endpoint 10.0.0.1 (local_ip) is down: device br1 is down" },
    { .name = "local_ip that is tentative: fail closed",
      A6 " tentative," B6, PORTS, .local_ip = "2001:db8::1", .dst = DST6,
      .verdict = ENCAP_REFUSED_DOWN, .step = ENCAP_BY_TUNNEL,
      .endpoint = "2001:db8::1",
      .text = "endpoint 2001:db8::1 (local_ip) is down: "
              "address is tentative" },
    { .name = "local_ip that no one else has configured: routing gets it",
      A4 "," TUNNEL4 DOWN, PORTS, .local_ip = "10.0.0.8", .dst = DST4,
      .step = ENCAP_BY_TUNNEL, .src = "10.0.0.8", .endpoint = "10.0.0.8",
      .text = "endpoint 10.0.0.8 by local_ip, but no uplink of br4 has a "
              "link" },

    /* Step 2. */
    { .name = "tun_src of an endpoint",
      HOST, PORTS, .tun_src = "10.0.0.3", .dst = DST4, .ingress = "pin1",
      .step = ENCAP_BY_FLOW, .src = "10.0.0.3", .endpoint = "10.0.0.3",
      .text = "endpoint 10.0.0.3 by tun_src" },
    { .name = "tun_src, IPv6",
      HOST, PORTS, .tun_src = "2001:db8::1", .dst = DST6,
      .step = ENCAP_BY_FLOW, .src = "2001:db8::1", .endpoint = "2001:db8::1",
      .text = "endpoint 2001:db8::1 by tun_src" },
    { .name = "tun_src without a link: fail closed",
      A4 DOWN "," B4 DEFAULT, PORTS, .tun_src = "10.0.0.1", .dst = DST4,
      .verdict = ENCAP_REFUSED_DOWN, .step = ENCAP_BY_FLOW,
      .endpoint = "10.0.0.1",
      .text = "endpoint 10.0.0.1 (tun_src) is down: "
              "no uplink of br1 has a link" },

    /* Failover. */
    { .name = "failover of local_ip to the default",
      A4 DOWN "," B4 DEFAULT, PORTS, .failover = true,
      .local_ip = "10.0.0.1", .tun_src = "10.0.0.3", .dst = DST4,
      .step = ENCAP_BY_DEFAULT, .failed_over = true,
      .src = "10.0.0.2", .endpoint = "10.0.0.2",
      .skipped = "local_ip down 10.0.0.1,pin unset,nic unset",
      .text = "endpoint 10.0.0.2 by default, for failover (local_ip "
              "10.0.0.1 is down: no uplink of br1 has a link)" },
    { .name = "failover of tun_src to the pin",
      A4 "," B4 DOWN DEFAULT, PORTS, .failover = true,
      .tun_src = "10.0.0.2", .dst = DST4, .ingress = "pin1",
      .step = ENCAP_BY_PIN, .failed_over = true,
      .src = "10.0.0.1", .endpoint = "10.0.0.1",
      .skipped = "tun_src down 10.0.0.2",
      .text = "endpoint 10.0.0.1 by pin of port pin1, for failover (tun_src "
              "10.0.0.2 is down: no uplink of br2 has a link)" },
    { .name = "failover of what is absent",
      A4 " absent," B4 DEFAULT, PORTS, .failover = true,
      .local_ip = "10.0.0.1", .dst = DST4,
      .step = ENCAP_BY_DEFAULT, .failed_over = true,
      .src = "10.0.0.2", .endpoint = "10.0.0.2",
      .skipped = "local_ip down 10.0.0.1,pin unset,nic unset",
      .text = "endpoint 10.0.0.2 by default, for failover (local_ip "
              "10.0.0.1 is down: not a local address)" },
    { .name = "failover by NIC to what only a tunnel names",
      A4 DOWN "," B4 DEFAULT "," TUNNEL4, PORTS, .failover = true,
      .local_ip = "10.0.0.1", .dst = DST4, .ingress = "nicD",
      .step = ENCAP_BY_NIC, .failed_over = true,
      .src = "10.0.0.8", .endpoint = "10.0.0.8",
      .skipped = "local_ip down 10.0.0.1,pin unset",
      .text = "endpoint 10.0.0.8 by nic of port nicD, for failover "
              "(local_ip 10.0.0.1 is down: no uplink of br1 has a link)" },
    { .name = "failover by route to an endpoint",
      A4 DOWN "," B4 "," C4, PORTS, .failover = true,
      .local_ip = "10.0.0.1", .dst = DST4, .prefers = "10.0.0.3",
      .step = ENCAP_BY_ROUTE, .failed_over = true,
      .src = "10.0.0.3", .endpoint = "10.0.0.3",
      .skipped = "local_ip down 10.0.0.1,pin unset,nic unset,default unset",
      .text = "endpoint 10.0.0.3 by route, for failover (local_ip 10.0.0.1 "
              "is down: no uplink of br1 has a link)" },
    { .name = "failover to endpoints only, whatever routing prefers",
      A4 DOWN "," B4 "," C4, PORTS, .failover = true,
      .local_ip = "10.0.0.1", .dst = DST4, .prefers = "10.0.0.9",
      .step = ENCAP_N_STEPS, .failed_over = true,
      .src = "10.0.0.2", .endpoint = "10.0.0.2",
      .skipped = "local_ip down 10.0.0.1,pin unset,nic unset,default unset,"
                 "route unknown 10.0.0.9",
      .text = "endpoint 10.0.0.2, the first that is up, for failover "
              "(local_ip 10.0.0.1 is down: no uplink of br1 has a link; "
              "preferred source 10.0.0.9 is no endpoint)" },
    { .name = "failover between endpoints of tunnels alone",
      TUNNEL4 DOWN ",10.0.0.7 tunnel", PORTS, .failover = true,
      .local_ip = "10.0.0.8", .dst = DST4,
      .step = ENCAP_N_STEPS, .failed_over = true,
      .src = "10.0.0.7", .endpoint = "10.0.0.7",
      .skipped = "local_ip down 10.0.0.8,pin unset,nic unset,default unset,"
                 "route no-route",
      .text = "endpoint 10.0.0.7, the first that is up, for failover "
              "(local_ip 10.0.0.8 is down: no uplink of br4 has a link; no "
              "route to 192.0.2.9)" },
    { .name = "failover with nothing left of the family",
      A4 DOWN "," B4 " device-down," B6, PORTS, .failover = true,
      .local_ip = "10.0.0.1", .dst = DST4, .prefers = "10.0.0.2",
      .verdict = ENCAP_REFUSED_ALL_DOWN, .step = ENCAP_N_STEPS,
      .failed_over = true, .endpoint = "10.0.0.1",
      .skipped = "local_ip down 10.0.0.1,pin unset,nic unset,default unset,"
                 "route down 10.0.0.2",
      .text = "no IPv4 endpoint is up (local_ip 10.0.0.1 is down: no uplink "
              "of br1 has a link; preferred source 10.0.0.2 is down: device "
              "br2 is down)" },

    /* Step 3. */
    { .name = "pin",
      HOST, PORTS, .dst = DST4, .ingress = "pin1C", .prefers = "10.0.0.2",
      .step = ENCAP_BY_PIN, .src = "10.0.0.1", .endpoint = "10.0.0.1",
      .text = "endpoint 10.0.0.1 by pin of port pin1C" },
    { .name = "pin, IPv6",
      HOST, PORTS, .dst = DST6, .ingress = "pin61",
      .step = ENCAP_BY_PIN, .src = "2001:db8::1", .endpoint = "2001:db8::1",
      .text = "endpoint 2001:db8::1 by pin of port pin61" },
    { .name = "pin to what only a tunnel names",
      HOST, PORTS, .dst = DST4, .ingress = "pin8",
      .step = ENCAP_BY_PIN, .src = "10.0.0.8", .endpoint = "10.0.0.8",
      .text = "endpoint 10.0.0.8 by pin of port pin8" },
    { .name = "pin to what only a tunnel names, nothing configured",
      TUNNEL4, PORTS, .dst = DST4, .ingress = "pin8", .prefers = "10.0.0.9",
      .step = ENCAP_BY_PIN, .src = "10.0.0.8", .endpoint = "10.0.0.8",
      .text = "endpoint 10.0.0.8 by pin of port pin8" },
    { .name = "pin that is no endpoint",
      HOST, PORTS, .dst = DST4, .ingress = "pin9",
      .step = ENCAP_BY_DEFAULT, .src = "10.0.0.2", .endpoint = "10.0.0.2",
      .skipped = "pin unknown 10.0.0.9,nic unset",
      .text = "endpoint 10.0.0.2 by default "
              "(pin 10.0.0.9 of port pin9 is no endpoint)" },
    { .name = "pin of the other family",
      HOST, PORTS, .dst = DST6, .ingress = "pin1",
      .step = ENCAP_BY_DEFAULT, .src = "2001:db8::2",
      .endpoint = "2001:db8::2",
      .skipped = "pin family 10.0.0.1,nic unset",
      .text = "endpoint 2001:db8::2 by default "
              "(pin 10.0.0.1 of port pin1 is not IPv6)" },
    { .name = "pin without a link, no failover needed",
      A4 DOWN "," B4 DEFAULT "," C4, PORTS, .dst = DST4, .ingress = "pin1C",
      .step = ENCAP_BY_NIC, .src = "10.0.0.3", .endpoint = "10.0.0.3",
      .skipped = "pin down 10.0.0.1",
      .text = "endpoint 10.0.0.3 by nic of port pin1C (pin 10.0.0.1 of port "
              "pin1C is down: no uplink of br1 has a link)" },
    { .name = "pin that is absent",
      A4 " absent," B4 DEFAULT, PORTS, .failover = true, .dst = DST4,
      .ingress = "pin1",
      .step = ENCAP_BY_DEFAULT, .src = "10.0.0.2", .endpoint = "10.0.0.2",
      .skipped = "pin down 10.0.0.1,nic unset",
      .text = "endpoint 10.0.0.2 by default (pin 10.0.0.1 of port pin1 is "
              "down: not a local address)" },

    /* Step 4. */
    { .name = "NIC",
      HOST, PORTS, .dst = DST4, .ingress = "nicC",
      .step = ENCAP_BY_NIC, .src = "10.0.0.3", .endpoint = "10.0.0.3",
      .skipped = "pin unset",
      .text = "endpoint 10.0.0.3 by nic of port nicC" },
    { .name = "NIC with two endpoints, the first of which is down",
      C4 DOWN ",10.0.0.5 ovn nic=C,10.0.0.4 ovn nic=C," B4 DEFAULT, PORTS,
      .dst = DST4, .ingress = "nicC",
      .step = ENCAP_BY_NIC, .src = "10.0.0.4", .endpoint = "10.0.0.4",
      .skipped = "pin unset",
      .text = "endpoint 10.0.0.4 by nic of port nicC" },
    { .name = "NIC of the other family",
      HOST, PORTS, .dst = DST6, .ingress = "nicC",
      .step = ENCAP_BY_DEFAULT, .src = "2001:db8::2",
      .endpoint = "2001:db8::2",
      .skipped = "pin unset,nic family 10.0.0.3",
      .text = "endpoint 2001:db8::2 by default "
              "(nic 10.0.0.3 of port nicC is not IPv6)" },
    { .name = "NIC without a link",
      A4 "," B4 DEFAULT "," C4 DOWN, PORTS, .dst = DST4, .ingress = "nicC",
      .step = ENCAP_BY_DEFAULT, .src = "10.0.0.2", .endpoint = "10.0.0.2",
      .skipped = "pin unset,nic down 10.0.0.3",
      .text = "endpoint 10.0.0.2 by default (nic 10.0.0.3 of port nicC is "
              "down: no uplink of br3 has a link)" },
    { .name = "NIC of what only a tunnel names",
      HOST, PORTS, .dst = DST4, .ingress = "nicD",
      .step = ENCAP_BY_DEFAULT, .src = "10.0.0.2", .endpoint = "10.0.0.2",
      .skipped = "pin unset,nic unset",
      .text = "endpoint 10.0.0.2 by default" },
    { .name = "NIC without endpoints",
      HOST, PORTS, .dst = DST4, .ingress = "nicE",
      .step = ENCAP_BY_DEFAULT, .src = "10.0.0.2", .endpoint = "10.0.0.2",
      .skipped = "pin unset,nic unset",
      .text = "endpoint 10.0.0.2 by default" },

    /* Step 5. */
    { .name = "default, from a port that has nothing",
      HOST, PORTS, .dst = DST4, .ingress = "plain", .prefers = "10.0.0.1",
      .step = ENCAP_BY_DEFAULT, .src = "10.0.0.2", .endpoint = "10.0.0.2",
      .skipped = "pin unset,nic unset",
      .text = "endpoint 10.0.0.2 by default" },
    { .name = "default, from a port that nobody knows",
      HOST, PORTS, .dst = DST4, .ingress = "vm99",
      .step = ENCAP_BY_DEFAULT, .src = "10.0.0.2", .endpoint = "10.0.0.2",
      .skipped = "pin unset,nic unset",
      .text = "endpoint 10.0.0.2 by default" },
    { .name = "default, from no port",
      HOST, PORTS, .dst = DST6,
      .step = ENCAP_BY_DEFAULT, .src = "2001:db8::2",
      .endpoint = "2001:db8::2", .skipped = "pin unset,nic unset",
      .text = "endpoint 2001:db8::2 by default" },
    { .name = "the only endpoint is the default",
      C4 DEFAULT, PORTS, .dst = DST4, .prefers = "10.0.0.9",
      .step = ENCAP_BY_DEFAULT, .src = "10.0.0.3", .endpoint = "10.0.0.3",
      .skipped = "pin unset,nic unset",
      .text = "endpoint 10.0.0.3 by default" },
    { .name = "default of the other family only",
      A4 "," B4 "," B6 DEFAULT, PORTS, .dst = DST4, .prefers = "10.0.0.1",
      .step = ENCAP_BY_ROUTE, .src = "10.0.0.1", .endpoint = "10.0.0.1",
      .skipped = "pin unset,nic unset,default family 2001:db8::2",
      .text = "endpoint 10.0.0.1 by route "
              "(default 2001:db8::2 is not IPv4)" },
    { .name = "default without a link",
      A4 "," B4 DEFAULT DOWN, PORTS, .dst = DST4, .prefers = "10.0.0.1",
      .step = ENCAP_BY_ROUTE, .src = "10.0.0.1", .endpoint = "10.0.0.1",
      .skipped = "pin unset,nic unset,default down 10.0.0.2",
      .text = "endpoint 10.0.0.1 by route (default 10.0.0.2 is down: no "
              "uplink of br2 has a link)" },

    /* Step 6. */
    { .name = "route to what is no endpoint",
      A4 "," B4, PORTS, .dst = DST4, .prefers = "10.0.0.9",
      .step = ENCAP_BY_ROUTE, .src = "10.0.0.9",
      .skipped = "pin unset,nic unset,default unset",
      .text = "source 10.0.0.9 by route" },
    { .name = "route to what only a tunnel names",
      A4 "," B4 "," TUNNEL4, PORTS, .dst = DST4, .prefers = "10.0.0.8",
      .step = ENCAP_BY_ROUTE, .src = "10.0.0.8", .endpoint = "10.0.0.8",
      .skipped = "pin unset,nic unset,default unset",
      .text = "endpoint 10.0.0.8 by route" },
    { .name = "route prefers what is down",
      A4 DOWN "," B4, PORTS, .dst = DST4, .prefers = "10.0.0.1",
      .step = ENCAP_N_STEPS, .src = "10.0.0.2", .endpoint = "10.0.0.2",
      .skipped = "pin unset,nic unset,default unset,route down 10.0.0.1",
      .text = "endpoint 10.0.0.2, the first that is up (preferred source "
              "10.0.0.1 is down: no uplink of br1 has a link)" },
    { .name = "no route",
      C4 "," B4 "," A4 DOWN, PORTS, .dst = DST4,
      .step = ENCAP_N_STEPS, .src = "10.0.0.2", .endpoint = "10.0.0.2",
      .skipped = "pin unset,nic unset,default unset,route no-route",
      .text = "endpoint 10.0.0.2, the first that is up "
              "(no route to 192.0.2.9)" },

    /* After all steps. */
    { .name = "all down, tunnels' own not asked",
      A4 DOWN "," B4 DEFAULT " absent," A6 "," TUNNEL4, PORTS, .dst = DST4,
      .ingress = "pin1",
      .verdict = ENCAP_REFUSED_ALL_DOWN, .step = ENCAP_N_STEPS,
      .endpoint = "10.0.0.1",
      .skipped = "pin down 10.0.0.1,nic unset,default down 10.0.0.2,"
                 "route no-route",
      .text = "no IPv4 endpoint is up (pin 10.0.0.1 of port pin1 is down: no "
              "uplink of br1 has a link; default 10.0.0.2 is down: not a "
              "local address; no route to 192.0.2.9)" },
    { .name = "nothing configured",
      NULL, PORTS, .dst = DST4, .ingress = "pin9", .prefers = "10.0.0.9",
      .step = ENCAP_N_STEPS,
      .skipped = "pin unknown 10.0.0.9,nic unset,default unset,route unset",
      .text = "routing decides, no IPv4 endpoint is configured "
              "(pin 10.0.0.9 of port pin9 is no endpoint)" },
    { .name = "nothing configured, tunnels' own not asked",
      TUNNEL4, PORTS, .failover = true, .dst = DST4, .ingress = "nicD",
      .prefers = "10.0.0.8",
      .step = ENCAP_N_STEPS,
      .skipped = "pin unset,nic unset,default unset,route unset",
      .text = "routing decides, no IPv4 endpoint is configured" },
    { .name = "nothing of the family configured",
      A4 "," B4 DEFAULT, PORTS, .dst = DST6, .prefers = "2001:db8::9",
      .step = ENCAP_N_STEPS,
      .skipped = "pin unset,nic unset,default family 10.0.0.2,route unset",
      .text = "routing decides, no IPv6 endpoint is configured "
              "(default 10.0.0.2 is not IPv6)" },

    /* other_config:encap-select. */
    { .name = "order: default before pin",
      HOST, PORTS, "default,pin", .dst = DST4, .ingress = "pin1",
      .step = ENCAP_BY_DEFAULT, .src = "10.0.0.2", .endpoint = "10.0.0.2",
      .text = "endpoint 10.0.0.2 by default" },
    { .name = "order: NIC before pin",
      HOST, PORTS, "nic,pin,route", .dst = DST4, .ingress = "pin1C",
      .step = ENCAP_BY_NIC, .src = "10.0.0.3", .endpoint = "10.0.0.3",
      .text = "endpoint 10.0.0.3 by nic of port pin1C" },
    { .name = "order: route first",
      HOST, PORTS, "route,pin,nic,default", .dst = DST4, .ingress = "pin1",
      .prefers = "10.0.0.3",
      .step = ENCAP_BY_ROUTE, .src = "10.0.0.3", .endpoint = "10.0.0.3",
      .text = "endpoint 10.0.0.3 by route" },
    { .name = "order: route first, no way, then pin",
      HOST, PORTS, "route,pin", .dst = DST4, .ingress = "pin1",
      .step = ENCAP_BY_PIN, .src = "10.0.0.1", .endpoint = "10.0.0.1",
      .skipped = "route no-route",
      .text = "endpoint 10.0.0.1 by pin of port pin1 "
              "(no route to 192.0.2.9)" },
    { .name = "order: pin alone, from no port",
      HOST, PORTS, "pin", .dst = DST4, .prefers = "10.0.0.9",
      .step = ENCAP_N_STEPS, .src = "10.0.0.1", .endpoint = "10.0.0.1",
      .skipped = "pin unset",
      .text = "endpoint 10.0.0.1, the first that is up" },
    { .name = "order: default alone, all down",
      A4 DOWN "," B4 " device-down", PORTS, "default", .dst = DST4,
      .prefers = "10.0.0.9",
      .verdict = ENCAP_REFUSED_ALL_DOWN, .step = ENCAP_N_STEPS,
      .endpoint = "10.0.0.1", .skipped = "default unset",
      .text = "no IPv4 endpoint is up" },
    { .name = "order: NIC alone for failover",
      A4 DOWN "," B4 DEFAULT "," C4, PORTS, "nic", .failover = true,
      .tun_src = "10.0.0.1", .dst = DST4, .ingress = "nicC",
      .step = ENCAP_BY_NIC, .failed_over = true,
      .src = "10.0.0.3", .endpoint = "10.0.0.3",
      .skipped = "tun_src down 10.0.0.1",
      .text = "endpoint 10.0.0.3 by nic of port nicC, for failover (tun_src "
              "10.0.0.1 is down: no uplink of br1 has a link)" },
};

const size_t n_encap_cases = ARRAY_SIZE(encap_cases);
