/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#undef NDEBUG

#include "tunnel-egress.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "coverage.h"
#include "flow.h"
#include "netdev.h"
#include "openvswitch/dynamic-string.h"
#include "ovs-rcu.h"
#include "ovs-router.h"
#include "ovstest.h"
#include "packets.h"
#include "route-scene.h"
#include "util.h"

/* The drop counters, as COVERAGE_DEFINE makes them. */
#define COUNTERS \
    COUNTER(no_route) \
    COUNTER(source_not_local) \
    COUNTER(bad_source) \
    COUNTER(no_source) \
    COUNTER(blackhole) \
    COUNTER(unreachable) \
    COUNTER(prohibit) \
    COUNTER(rule_blackhole) \
    COUNTER(rule_unreachable) \
    COUNTER(rule_prohibit) \
    COUNTER(not_unicast) \
    COUNTER(endpoint_down) \
    COUNTER(all_endpoints_down)

#define COUNTER(NAME) \
    extern struct coverage_counter counter_tunnel_egress_##NAME;
COUNTERS
#undef COUNTER

#define COUNTER(NAME) { #NAME, &counter_tunnel_egress_##NAME },
static const struct {
    const char *name;
    struct coverage_counter *counter;
} counters[] = { COUNTERS };
#undef COUNTER

/* Returns the name of the one counter that has gone up, by one, since the
 * last call, "" if none has, or "several". */
static const char *
counted(void)
{
    const char *name = "";

    for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
        unsigned int n = counters[i].counter->count();

        if (n) {
            name = n == 1 && !name[0] ? counters[i].name : "several";
        }
    }
    return name;
}

/* A UDP flow, number 'i' of many, in a Geneve tunnel from 'src' (or NULL) to
 * 'dst'. */
static struct flow
tunnel_flow(const char *src, const char *dst, uint16_t i)
{
    struct flow flow;
    struct in6_addr addr;

    memset(&flow, 0, sizeof flow);
    flow.packet_type = htonl(PT_ETH);
    flow.dl_type = htons(ETH_TYPE_IP);
    flow.nw_src = htonl(0x0a000001);
    flow.nw_dst = htonl(0x0a000002);
    flow.nw_proto = IPPROTO_UDP;
    flow.tp_src = htons(49152 + i);
    flow.tp_dst = htons(4791);

    addr = route_scene_ip(dst, NULL);
    flow.tunnel.ip_dst = in6_addr_get_mapped_ipv4(&addr);
    if (!flow.tunnel.ip_dst) {
        flow.tunnel.ipv6_dst = addr;
    }
    if (src) {
        addr = route_scene_ip(src, NULL);
        flow.tunnel.ip_src = in6_addr_get_mapped_ipv4(&addr);
        if (!flow.tunnel.ip_src) {
            flow.tunnel.ipv6_src = addr;
        }
    }
    flow.tunnel.tp_dst = htons(6081);
    return flow;
}

/* "DEV NEXT-HOP SOURCE", or "ERRNO COUNTER: REASON" with a line's worth of
 * reason.  The caller frees it. */
static struct tunnel_sender sender;

static char *
ask(const struct flow *flow, struct flow_wildcards *wc)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    struct ds reason = DS_EMPTY_INITIALIZER;
    struct tunnel_egress egress;
    int error = tunnel_egress_lookup(flow, &sender, wc, &egress, &reason);
    const char *counter = counted();

    if (error) {
        ds_put_format(&s, "%d %s: %s", error, counter, ds_cstr(&reason));
        ovs_assert(reason.length && !strchr(ds_cstr(&reason), '\n'));
    } else {
        ovs_assert(!counter[0] && !strchr(ds_cstr(&reason), '\n'));
        ds_put_format(&s, "%s ", egress.dev);
        ipv6_format_mapped(&egress.next_hop, &s);
        ds_put_char(&s, ' ');
        ipv6_format_mapped(&egress.src, &s);
    }
    ds_destroy(&reason);
    return ds_steal_cstr(&s);
}

static void
expect(const struct flow *flow, const char *expected)
{
    struct flow_wildcards wc;
    char *answer;

    memset(&wc, 0, sizeof wc);
    answer = ask(flow, &wc);
    if (strcmp(answer, expected)) {
        ovs_fatal(0, "expected \"%s\", got \"%s\"", expected, answer);
    }
    free(answer);
}

static void
expect_refusal(const struct flow *flow, int error, const char *counter)
{
    char *expected = xasprintf("%d %s: ", error, counter);
    struct flow_wildcards wc;
    char *answer;

    memset(&wc, 0, sizeof wc);
    answer = ask(flow, &wc);
    if (strncmp(answer, expected, strlen(expected))) {
        ovs_fatal(0, "expected \"%s\", got \"%s\"", expected, answer);
    }
    free(answer);
    free(expected);
}

static void
apply(const char *statements)
{
    route_scene_apply(ovs_router_db(), statements);
}

/* Every header field that decides reaches the rules. */
static void
check_fields(void)
{
    struct flow flow;

    apply("link a 1; link b 2; link c 3; link d 4; link e 5;"
          "addr a 192.0.2.1/24; addr b 198.51.100.1/24;"
          "addr a 2001:db8::1/64; addr b 2001:db8:1::1/64;"
          "addr c 10.1.0.1/24; addr d 10.2.0.1/24; addr e 10.3.0.1/24;"
          "rule 10 from 198.51.100.1 table 1;"
          "rule 11 -6 from 2001:db8:1::1 table 1;"
          "rule 12 tos 0x10 table 2;"
          "rule 13 fwmark 7 table 3;"
          "rule 14 dport 4789 table 4;"
          "route 254 0.0.0.0/0 dev a via 192.0.2.254;"
          "route 254 ::/0 dev a via 2001:db8::fe src 2001:db8::1;"
          "route 1 0.0.0.0/0 dev b via 198.51.100.254;"
          "route 1 203.0.113.7/32 dev b;"
          "route 1 ::/0 dev b via 2001:db8:1::fe src 2001:db8:1::1;"
          "route 2 0.0.0.0/0 dev c via 10.1.0.254;"
          "route 3 0.0.0.0/0 dev d via 10.2.0.254;"
          "route 4 0.0.0.0/0 dev e via 10.3.0.254");

    flow = tunnel_flow(NULL, "203.0.113.1", 0);
    expect(&flow, "a 192.0.2.254 192.0.2.1");
    flow.tunnel.ip_tos = 0x10;
    expect(&flow, "c 10.1.0.254 10.1.0.1");
    flow.tunnel.ip_tos = 0x10 | IP_ECN_CE;
    expect(&flow, "c 10.1.0.254 10.1.0.1");
    flow.tunnel.ip_tos = IP_ECN_CE;
    expect(&flow, "a 192.0.2.254 192.0.2.1");
    flow.pkt_mark = 7;
    expect(&flow, "d 10.2.0.254 10.2.0.1");
    flow.pkt_mark = 8;
    expect(&flow, "a 192.0.2.254 192.0.2.1");
    flow.tunnel.tp_dst = htons(4789);
    expect(&flow, "e 10.3.0.254 10.3.0.1");

    /* The source leads; the gateway is not asked for an on-link remote. */
    flow = tunnel_flow("198.51.100.1", "203.0.113.1", 0);
    expect(&flow, "b 198.51.100.254 198.51.100.1");
    flow = tunnel_flow("198.51.100.1", "203.0.113.7", 0);
    expect(&flow, "b 203.0.113.7 198.51.100.1");
    flow = tunnel_flow("2001:db8:1::1", "2001:db8:9::1", 0);
    expect(&flow, "b 2001:db8:1::fe 2001:db8:1::1");
    flow = tunnel_flow(NULL, "2001:db8:9::1", 0);
    expect(&flow, "a 2001:db8::fe 2001:db8::1");

    /* What the flow still has of the other family does not count. */
    flow = tunnel_flow("2001:db8:1::1", "2001:db8:9::1", 0);
    flow.tunnel.ip_src = htonl(0xc0000201);
    expect(&flow, "b 2001:db8:1::fe 2001:db8:1::1");
    flow.tunnel.ip_dst = htonl(0xcb007101);
    expect(&flow, "a 192.0.2.254 192.0.2.1");

    /* RFC 5549. */
    apply("route 1 203.0.113.8/32 dev b via fe80::1");
    flow = tunnel_flow("198.51.100.1", "203.0.113.8", 0);
    expect(&flow, "b fe80::1 198.51.100.1");
}

/* The errno is that of "ip route get". */
static void
check_refusals(void)
{
    struct flow flow;

    apply("rule 5 from 192.0.2.1 table 5;"
          "route 5 203.0.113.1/32 blackhole;"
          "route 5 203.0.113.2/32 unreachable;"
          "route 5 203.0.113.3/32 prohibit;"
          "route 5 203.0.113.4/32 broadcast dev a;"
          "route 5 203.0.113.5/32 anycast dev a;"
          "route 5 203.0.113.6/32 multicast dev a;"
          "rule 6 from 10.1.0.1 blackhole;"
          "rule 7 from 10.2.0.1 unreachable;"
          "rule 8 from 10.3.0.1 prohibit");

    static const struct {
        const char *src, *dst;
        int error;
        const char *counter;
    } cases[] = {
        { "192.0.2.1", "203.0.113.1", EINVAL, "blackhole" },
        { "192.0.2.1", "203.0.113.2", EHOSTUNREACH, "unreachable" },
        { "192.0.2.1", "203.0.113.3", EACCES, "prohibit" },
        { "192.0.2.1", "203.0.113.4", EACCES, "not_unicast" },
        { "192.0.2.1", "203.0.113.5", EACCES, "not_unicast" },
        { "192.0.2.1", "203.0.113.6", EACCES, "not_unicast" },
        { "10.1.0.1", "203.0.113.9", EINVAL, "rule_blackhole" },
        { "10.2.0.1", "203.0.113.9", ENETUNREACH, "rule_unreachable" },
        { "10.3.0.1", "203.0.113.9", EACCES, "rule_prohibit" },
        { "10.9.9.9", "203.0.113.9", ENETUNREACH, "source_not_local" },
        { "224.0.0.1", "203.0.113.9", EINVAL, "bad_source" },
        { "192.0.2.1", "224.0.0.1", EACCES, "not_unicast" },
        { "192.0.2.1", "255.255.255.255", EACCES, "not_unicast" },
        { NULL, "ff02::1", EACCES, "not_unicast" },
        { NULL, "::", EACCES, "not_unicast" },
        { "192.0.2.1", "2001:db8:9::1", EINVAL, "bad_source" },
        { "2001:db8::1", "203.0.113.9", EINVAL, "bad_source" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        flow = tunnel_flow(cases[i].src, cases[i].dst, 0);
        expect_refusal(&flow, cases[i].error, cases[i].counter);
    }

    apply("- route 254 0.0.0.0/0 dev a via 192.0.2.254;"
          "- rule 5 from 192.0.2.1 table 5;"
          "- rule 6 from 10.1.0.1 blackhole;"
          "- rule 7 from 10.2.0.1 unreachable;"
          "- rule 8 from 10.3.0.1 prohibit");
    flow = tunnel_flow("192.0.2.1", "203.0.113.9", 0);
    expect_refusal(&flow, ENETUNREACH, "no_route");
    apply("route 254 0.0.0.0/0 dev a via 192.0.2.254");
}

/* The match becomes narrower by what the choice depended on, and by nothing
 * else. */
static void
check_wildcards(void)
{
    struct flow_wildcards none, wc, expected;
    struct flow flow = tunnel_flow(NULL, "203.0.113.1", 0);

    memset(&none, 0, sizeof none);

    wc = none;
    free(ask(&flow, &wc));
    ovs_assert(!memcmp(&wc, &none, sizeof wc));

    expected = none;
    expected.masks.pkt_mark = UINT32_MAX;
    flow.recirc_id = 1;
    free(ask(&flow, &wc));
    ovs_assert(!memcmp(&wc, &expected, sizeof wc));
    flow.recirc_id = 0;
    flow.pkt_mark = 8;
    wc = none;
    free(ask(&flow, &wc));
    ovs_assert(!memcmp(&wc, &expected, sizeof wc));
    flow.pkt_mark = 0;

    apply("route 254 203.0.113.64/26 dev a via 192.0.2.253 "
          "dev b via 198.51.100.253");

    /* One of several next hops: the inner 5-tuple. */
    flow = tunnel_flow(NULL, "203.0.113.65", 0);
    expected = none;
    expected.masks.nw_src = expected.masks.nw_dst = OVS_BE32_MAX;
    expected.masks.nw_proto = UINT8_MAX;
    expected.masks.tp_src = expected.masks.tp_dst = OVS_BE16_MAX;
    wc = none;
    free(ask(&flow, &wc));
    ovs_assert(!memcmp(&wc, &expected, sizeof wc));

    /* A fragment has no ports. */
    flow.nw_frag = FLOW_NW_FRAG_ANY | FLOW_NW_FRAG_LATER;
    expected.masks.tp_src = expected.masks.tp_dst = 0;
    wc = none;
    free(ask(&flow, &wc));
    ovs_assert(!memcmp(&wc, &expected, sizeof wc));

    /* Neither IPv4 nor IPv6: Ethernet addresses and VLANs. */
    flow.nw_frag = 0;
    flow.dl_type = htons(0x88b5);
    wc = none;
    free(ask(&flow, &wc));
    ovs_assert(eth_addr_is_broadcast(wc.masks.dl_src)
               && eth_addr_is_broadcast(wc.masks.dl_dst)
               && !wc.masks.nw_src && !wc.masks.tp_src);
}

/* Fields outside of the mask must not change the answer, or packets of one
 * datapath flow would not be alike. */
static void
check_hash_within_mask(void)
{
    for (uint16_t i = 0; i < 500; i++) {
        struct flow flow = tunnel_flow(NULL, "203.0.113.65", i);
        struct flow_wildcards wc;
        char *answer;

        if (i % 3 == 1) {
            flow.dl_type = htons(0x88b5);
            flow.dl_src.ea[5] = i;
            flow.dl_src.ea[4] = i >> 8;
        } else if (i % 3 == 2) {
            flow.dl_type = htons(ETH_TYPE_IPV6);
            flow.ipv6_src.s6_addr[15] = i;
            flow.ipv6_src.s6_addr[14] = i >> 8;
        }

        memset(&wc, 0, sizeof wc);
        answer = ask(&flow, &wc);
        for (size_t ofs = 0; ofs < offsetof(struct flow, igmp_group_ip4);
             ofs++) {
            uint8_t mask = ((uint8_t *) &wc.masks)[ofs];
            struct flow other = flow;
            char *other_answer;

            /* Only what hashes could read: the packet's own headers, but not
             * the EtherType, which every flow matches. */
            if (ofs < offsetof(struct flow, dl_dst)
                || mask == UINT8_MAX
                || (ofs >= offsetof(struct flow, dl_type)
                    && ofs < (offsetof(struct flow, dl_type)
                              + sizeof flow.dl_type))
                || (ofs >= offsetof(struct flow, nw_frag)
                    && ofs < (offsetof(struct flow, nw_frag)
                              + sizeof flow.nw_frag))) {
                continue;
            }
            ((uint8_t *) &other)[ofs] ^= 0xff & ~mask;
            other_answer = ask(&other, &wc);
            if (strcmp(answer, other_answer)) {
                ovs_fatal(0, "flow %d: byte %"PRIuSIZE" changes \"%s\" to "
                          "\"%s\"", i, ofs, answer, other_answer);
            }
            free(other_answer);
            memset(&wc, 0, sizeof wc);
            free(ask(&flow, &wc));
        }
        free(answer);
    }
}

/* Flows spread by weight, stay where they are, and only those of a next hop
 * that goes move. */
static void
check_multipath(void)
{
    enum { N = 1000 };
    char *before[N];
    int n_a = 0, n_b = 0;
    double sigma;

    apply("route 254 203.0.113.128/26 dev a via 192.0.2.253 weight 3 "
          "dev b via 198.51.100.253 weight 1 "
          "dev c via 10.1.0.253 weight 4");
    for (int i = 0; i < N; i++) {
        struct flow flow = tunnel_flow(NULL, "203.0.113.129", i);
        struct flow_wildcards wc;
        char *again;

        memset(&wc, 0, sizeof wc);
        before[i] = ask(&flow, &wc);
        again = ask(&flow, &wc);
        ovs_assert(!strcmp(before[i], again));
        free(again);
        n_a += before[i][0] == 'a';
        n_b += before[i][0] == 'b';
    }

    /* Five standard deviations of a binomial distribution. */
    sigma = sqrt(N * 3 / 8. * 5 / 8.);
    if (fabs(n_a - N * 3 / 8.) > 5 * sigma) {
        ovs_fatal(0, "%d of %d flows by a, which has 3/8 of the weight", n_a,
                  N);
    }
    sigma = sqrt(N * 1 / 8. * 7 / 8.);
    if (fabs(n_b - N * 1 / 8.) > 5 * sigma) {
        ovs_fatal(0, "%d of %d flows by b, which has 1/8 of the weight", n_b,
                  N);
    }

    apply("route 254 203.0.113.128/26 replace "
          "dev a via 192.0.2.253 weight 3 dev c via 10.1.0.253 weight 4");
    for (int i = 0; i < N; i++) {
        struct flow flow = tunnel_flow(NULL, "203.0.113.129", i);
        struct flow_wildcards wc;
        char *after;

        memset(&wc, 0, sizeof wc);
        after = ask(&flow, &wc);
        if (before[i][0] == 'b' ? after[0] == 'b'
            : strcmp(before[i], after)) {
            ovs_fatal(0, "flow %d was by \"%s\", is by \"%s\"", i, before[i],
                      after);
        }
        free(after);
        free(before[i]);
    }
}

static bool
carrier_of(const struct netdev_tunnel_config *config)
{
    char dev[IFNAMSIZ];
    bool carrier;

    ovs_assert(tunnel_egress_status(config, dev, &carrier));
    ovs_assert(!strcmp(dev, "a"));
    return carrier;
}

static void
check_carrier(void)
{
    const struct netdev_tunnel_config config = {
        .ipv6_dst = route_scene_ip("203.0.113.1", NULL),
        .dst_port = htons(6081),
    };

    ovs_assert(carrier_of(&config));
    apply("link a 1 nocarrier");
    ovs_assert(!carrier_of(&config));
    apply("link a 1");
    ovs_assert(carrier_of(&config));
}

/* What users read is what packets do. */
static void
check_status(void)
{
    static const char *const srcs[] = {
        NULL, "192.0.2.1", "198.51.100.1", "10.9.9.9",
    };
    static const uint8_t toses[] = { 0, 0x10 };
    static const uint32_t marks[] = { 0, 7 };
    static const uint16_t ports[] = { 0, 6081, 4789 };

    for (int i = 0; i < 4 * 2 * 2 * 3; i++) {
        const char *src = srcs[i % 4];
        uint8_t tos = toses[i / 4 % 2];
        uint32_t mark = marks[i / 8 % 2];
        ovs_be16 port = htons(ports[i / 16]);
        struct flow flow = tunnel_flow(src, "203.0.113.1", 0);
        struct netdev_tunnel_config config = {
            .ipv6_dst = route_scene_ip("203.0.113.1", NULL),
            .ipv6_src = src ? route_scene_ip(src, NULL) : in6addr_any,
            .tos = tos,
            .egress_pkt_mark = 7,
            .set_egress_pkt_mark = mark != 0,
            .dst_port = port,
        };
        struct tunnel_egress egress;
        struct flow_wildcards wc;
        char dev[IFNAMSIZ] = "";
        bool carrier;
        bool found = tunnel_egress_status(&config, dev, &carrier);

        ovs_assert(!counted()[0]);
        memset(&wc, 0, sizeof wc);
        flow.tunnel.ip_tos = tos;
        flow.pkt_mark = mark;
        flow.tunnel.tp_dst = port;
        if (found != !tunnel_egress_lookup(&flow, &sender, &wc, &egress, NULL)
            || (found && strcmp(dev, egress.dev))) {
            ovs_fatal(0, "case %d: status %s, packets %s", i,
                      found ? dev : "none", egress.dev);
        }
        counted();

        config.ip_dst_flow = true;
        ovs_assert(!tunnel_egress_status(&config, dev, &carrier));
    }
    check_carrier();
}

/* The endpoint that sends is chosen before the route, by the port that the
 * packet came in by, and nothing more is matched for it. */
static void
check_selection(void)
{
    static const char *const ips[] = {
        "192.0.2.1", "198.51.100.1", "2001:db8:1::1",
    };
    struct flow flow = tunnel_flow(NULL, "203.0.113.1", 0);
    struct flow flow6 = tunnel_flow(NULL, "2001:db8:9::1", 0);
    struct flow from_flow = tunnel_flow("198.51.100.1", "203.0.113.1", 0);

    for (int down = 0; down < 2; down++) {
        struct encap_registry *registry = encap_registry_create();
        struct flow_wildcards none, wc;

        for (size_t i = 0; i < ARRAY_SIZE(ips); i++) {
            struct in6_addr ip = route_scene_ip(ips[i], NULL);
            struct encap_endpoint *endpoint
                = encap_registry_add_endpoint(registry, &ip);

            endpoint->origins = ENCAP_ORIGIN_CONFIG;
            endpoint->state = i && down ? ENCAP_DEVICE_DOWN : ENCAP_UP;
            strcpy(endpoint->dev, i ? "b" : "a");
        }
        encap_registry_add_port(registry, "vm", "br-int")->pin
            = route_scene_ip("198.51.100.1", NULL);
        if (down) {
            registry->n_order = 1;  /* Pins only. */
        }
        encap_registry_finish(registry);
        encap_registry_publish(registry);

        sender.ingress = NULL;
        expect(&flow, "a 192.0.2.254 192.0.2.1");
        sender.ingress = "vm";
        expect(&flow, (down ? "a 192.0.2.254 192.0.2.1"
                       : "b 198.51.100.254 198.51.100.1"));
        memset(&none, 0, sizeof none);
        wc = none;
        free(ask(&flow, &wc));
        ovs_assert(!memcmp(&wc, &none, sizeof wc));

        for (int src_flow = 0; src_flow < 2; src_flow++) {
            sender.src_flow = src_flow;
            if (down) {
                expect_refusal(&from_flow, ENETDOWN, "endpoint_down");
            } else {
                expect(&from_flow, "b 198.51.100.254 198.51.100.1");
            }
        }
        sender.src_flow = false;
        if (down) {
            expect_refusal(&flow6, ENETDOWN, "all_endpoints_down");
        }
    }
}

static void
test_tunnel_egress_main(int argc OVS_UNUSED, char *argv[])
{
    set_program_name(argv[0]);
    check_fields();
    check_refusals();
    check_wildcards();
    check_hash_within_mask();
    check_multipath();
    check_status();
    check_selection();
    ovsrcu_exit();
}

OVSTEST_REGISTER("test-tunnel-egress", test_tunnel_egress_main);
