/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#undef NDEBUG

#include "ofproto/tunnel-ingress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coverage.h"
#include "dpif.h"
#include "dummy.h"
#include "encap-endpoint.h"
#include "encap-foreign.h"
#include "flow.h"
#include "netdev.h"
#include "netdev-dummy-address.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/match.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovstest.h"
#include "packets.h"
#include "random.h"
#include "route-scene.h"
#include "route-test.h"
#include "sset.h"
#include "tnl-ports.h"
#include "tunnel-listener.h"
#include "util.h"

extern struct coverage_counter counter_tunnel_ingress_foreign;
extern struct coverage_counter counter_tunnel_ingress_refused;

enum { GENEVE = 6081, VXLAN = 4789, GRE = 47 };

/* The ports of some bridges.  p1 is an uplink with the MAC of its bridge, as
 * bridges have it; twin has that MAC, too.  'int' is not of the underlay. */
static struct device {
    const char *name, *bridge, *type;
    const char *addresses[2];   /* Or NULL. */
    struct netdev *netdev;      /* Filled in by open_devices(). */
    struct eth_addr mac;        /* Likewise. */
} devices[] = {
#define DEVICE(NAME, BRIDGE, TYPE, ADDRESS1, ADDRESS2) \
    { .name = NAME, .bridge = BRIDGE, .type = TYPE, \
      .addresses = { ADDRESS1, ADDRESS2 } }
    DEVICE("br1", "br1", "dummy-internal", "192.0.2.1", "2001:db8::1"),
    DEVICE("v1", "br1", "dummy-internal", "203.0.113.1", NULL),
    DEVICE("p1", "br1", "dummy", NULL, NULL),
    DEVICE("br2", "br2", "dummy-internal", "198.51.100.2", "2001:db8:2::2"),
    DEVICE("br3", "br3", "dummy-internal", NULL, NULL),
    DEVICE("twin", "br4", "dummy-internal", "10.4.4.4", NULL),
    DEVICE("mp0", "int", "dummy-internal", "10.5.5.5", NULL),
    DEVICE("vm", "int", "dummy-internal", NULL, NULL),
};
enum { BR1, V1, P1, BR2, BR3, TWIN, MP0, VM, N_DEVICES };

/* 192.0.2.9 is no endpoint; eth7 is a device of the kernel with a link of its
 * own, which a registry may hold though it is none of the bridges'. */
static const struct endpoint {
    const char *ip, *dev, *bridge;
    bool any_nic;
} endpoints[] = {
    { "192.0.2.1", "br1", "br1", false },
    { "2001:db8::1", "br1", "br1", false },
    { "203.0.113.1", "v1", "br1", false },
    { "198.51.100.2", "br2", "br2", false },
    { "2001:db8:2::2", "br2", "br2", false },
    { "10.9.9.9", "lo", NULL, true },
    { "2001:db8:9::9", "lo", NULL, true },
    { "10.7.7.7", "eth7", NULL, false },
    { "10.8.8.8", "", NULL, false },
};

static struct in6_addr
parse(const char *ip)
{
    return route_test_parse(ip, NULL);
}

static void
open_devices(void)
{
    for (size_t i = 0; i < N_DEVICES; i++) {
        struct device *device = &devices[i];

        ovs_assert(!netdev_open(device->name, device->type, &device->netdev));
        if (i == P1 || i == TWIN) {
            ovs_assert(!netdev_set_etheraddr(device->netdev,
                                             devices[BR1].mac));
        }
        ovs_assert(!netdev_get_etheraddr(device->netdev, &device->mac));
        for (size_t j = 0; j < 2 && device->addresses[j]; j++) {
            struct in6_addr ip = parse(device->addresses[j]);

            if (IN6_IS_ADDR_V4MAPPED(&ip)) {
                netdev_dummy_address_add_ipv4(
                    device->netdev, in6_addr_get_mapped_ipv4(&ip),
                    htonl(0xffffff00));
            } else {
                struct in6_addr mask = ipv6_create_mask(64);

                netdev_dummy_address_add_ipv6(device->netdev, &ip, &mask);
            }
        }
    }
}

static void
publish(bool strict_rx)
{
    struct encap_registry *registry = encap_registry_create();

    registry->strict_rx = strict_rx;
    for (size_t i = 0; i < ARRAY_SIZE(endpoints); i++) {
        const struct endpoint *e = &endpoints[i];
        struct in6_addr ip = parse(e->ip);
        struct encap_endpoint *endpoint
            = encap_registry_add_endpoint(registry, &ip);

        endpoint->state = e->dev[0] ? ENCAP_UP : ENCAP_ABSENT;
        ovs_strlcpy(endpoint->dev, e->dev, sizeof endpoint->dev);
        endpoint->any_nic = e->any_nic;
        endpoint->bridge = e->bridge ? xstrdup(e->bridge) : NULL;
    }
    for (size_t i = 0; i < N_DEVICES; i++) {
        encap_registry_add_port(registry, devices[i].name,
                                devices[i].bridge)->underlay = i < MP0;
    }
    encap_registry_finish(registry);
    encap_registry_publish(registry);
}

/* A packet to MAC 'mac' and address 'dst': UDP to 'port', or GRE. */
static struct flow
outer_flow(struct eth_addr mac, const char *dst, uint16_t port)
{
    struct in6_addr ip = parse(dst);
    struct flow flow;

    memset(&flow, 0, sizeof flow);
    flow.packet_type = htonl(PT_ETH);
    flow.dl_dst = mac;
    flow.dl_src = (struct eth_addr) ETH_ADDR_C(02,00,00,00,00,99);
    if (IN6_IS_ADDR_V4MAPPED(&ip)) {
        flow.dl_type = htons(ETH_TYPE_IP);
        flow.nw_src = htonl(0xcb007163);
        flow.nw_dst = in6_addr_get_mapped_ipv4(&ip);
    } else {
        flow.dl_type = htons(ETH_TYPE_IPV6);
        flow.ipv6_src = parse("2001:db8:ff::1");
        flow.ipv6_dst = ip;
    }
    flow.nw_ttl = 64;
    flow.nw_proto = port == GRE ? IPPROTO_GRE : IPPROTO_UDP;
    if (port != GRE) {
        flow.tp_src = htons(50000);
        flow.tp_dst = htons(port);
    }
    return flow;
}

static void
lookup(size_t device, const struct flow *flow, struct flow_wildcards *wc,
       struct tunnel_ingress *ingress)
{
    struct flow copy = *flow;

    tunnel_ingress_lookup(devices[device].bridge, devices[device].netdev,
                          &copy, wc, ingress);
    ovs_assert(flow_equal(&copy, flow));
}

/* Expectations.  Masks are words: all of the fields that must be matched, each
 * wholly, beyond those that tnl-ports asks for ("base"). */

static void
add_mask(struct flow_wildcards *wc, const char *name)
{
    if (!strcmp(name, "frag")) {
        WC_MASK_FIELD_MASK(wc, nw_frag, FLOW_NW_FRAG_MASK);
    } else if (!strcmp(name, "tci")) {
        WC_MASK_FIELD(wc, vlans[0].tci);
    } else if (!strcmp(name, "dl_dst")) {
        WC_MASK_FIELD(wc, dl_dst);
    } else if (!strcmp(name, "proto")) {
        WC_MASK_FIELD(wc, nw_proto);
    } else if (!strcmp(name, "nw_dst")) {
        WC_MASK_FIELD(wc, nw_dst);
    } else if (!strcmp(name, "ipv6_dst")) {
        WC_MASK_FIELD(wc, ipv6_dst);
    } else if (!strcmp(name, "tp_dst")) {
        WC_MASK_FIELD(wc, tp_dst);
    } else {
        OVS_NOT_REACHED();
    }
}

/* Looks 'flow' up at 'device', and fails unless the answer and the masks are
 * "PORT" or "none", then "foreign" or "refused" if it is. */
static void
expect(size_t device, const struct flow *flow_, const char *answer,
       const char *masks)
{
    struct flow flow = *flow_;
    struct flow_wildcards wc, expected;
    struct tunnel_ingress ingress;
    struct ds s = DS_EMPTY_INITIALIZER;
    char *copy = xstrdup(masks);
    char *save = NULL;

    memset(&wc, 0, sizeof wc);
    memset(&expected, 0, sizeof expected);
    for (char *word = strtok_r(copy, " ", &save); word;
         word = strtok_r(NULL, " ", &save)) {
        if (!strcmp(word, "base")) {
            tnl_port_map_lookup(&flow, &expected);
        } else {
            add_mask(&expected, word);
        }
    }

    lookup(device, &flow, &wc, &ingress);
    if (ingress.port == ODPP_NONE) {
        ds_put_cstr(&s, "none");
    } else {
        ds_put_format(&s, "%"PRIu32, odp_to_u32(ingress.port));
    }
    if (ingress.refused) {
        ovs_assert(ingress.port == ODPP_NONE && ingress.effect.cause);
        ds_put_cstr(&s, " refused");
    } else if (ingress.effect.cause) {
        ds_put_cstr(&s, " foreign");
    }
    ovs_assert(!ingress.effect.cause == !ingress.reason[0]);

    if (strcmp(ds_cstr(&s), answer)) {
        route_test_fail("%s, %s: expected %s, got %s (%s)",
                        devices[device].name, flow_to_string(&flow, NULL),
                        answer, ds_cstr(&s), ingress.reason);
    }
    if (!flow_wildcards_equal(&wc, &expected)) {
        struct match match;

        match_init(&match, &flow, &wc);
        route_test_fail("%s, %s: expected masks \"%s\", got %s",
                        devices[device].name, flow_to_string(&flow, NULL),
                        masks, match_to_string(&match, NULL, 0));
    }
    ds_destroy(&s);
    free(copy);
}

/* Like tnl-ports alone, masks included, and nothing at all for ports without
 * addresses. */
static void
check_without_endpoints(void)
{
    struct eth_addr mac = devices[BR1].mac;
    struct flow flow = outer_flow(mac, "192.0.2.1", GENEVE);

    expect(BR1, &flow, "6081", "base");
    flow = outer_flow(mac, "10.9.9.9", GENEVE);
    expect(BR1, &flow, "none", "base");
    flow = outer_flow(devices[BR2].mac, "198.51.100.2", GENEVE);
    expect(BR1, &flow, "6081", "base");
    ovs_assert(!tunnel_ingress_asks(devices[BR1].netdev));
    ovs_assert(!tunnel_ingress_asks(devices[BR3].netdev));
}

/* At a port without addresses nothing comes from tnl-ports, so that the masks
 * are ours alone. */
static void
check_masks(void)
{
    struct eth_addr mac = devices[BR3].mac;
    struct flow flow;

    ovs_assert(tunnel_ingress_asks(devices[BR3].netdev));
    ovs_assert(!tunnel_ingress_asks(devices[P1].netdev));

    /* An endpoint on no NIC. */
    flow = outer_flow(mac, "10.9.9.9", GENEVE);
    expect(BR3, &flow, "6081", "frag tci dl_dst proto nw_dst tp_dst");
    flow = outer_flow(mac, "10.9.9.9", VXLAN);
    expect(BR3, &flow, "4789", "frag tci dl_dst proto nw_dst tp_dst");
    flow = outer_flow(mac, "10.9.9.9", GRE);
    expect(BR3, &flow, "47", "frag tci dl_dst proto nw_dst");
    flow = outer_flow(mac, "2001:db8:9::9", GENEVE);
    expect(BR3, &flow, "6081", "frag tci dl_dst proto ipv6_dst tp_dst");
    flow = outer_flow(mac, "2001:db8:9::9", VXLAN);
    expect(BR3, &flow, "4789", "frag tci dl_dst proto ipv6_dst tp_dst");
    flow = outer_flow(mac, "2001:db8:9::9", GRE);
    expect(BR3, &flow, "47", "frag tci dl_dst proto ipv6_dst");

    /* No tunnel listens there. */
    flow = outer_flow(mac, "10.9.9.9", 53);
    expect(BR3, &flow, "none", "frag tci dl_dst proto nw_dst tp_dst");

    /* Not to an endpoint: the port does not matter. */
    flow = outer_flow(mac, "10.9.9.8", GENEVE);
    expect(BR3, &flow, "none", "frag tci dl_dst proto nw_dst");
    flow = outer_flow(mac, "2001:db8:9::8", GENEVE);
    expect(BR3, &flow, "none", "frag tci dl_dst proto ipv6_dst");
    flow = outer_flow(mac, "10.8.8.8", GENEVE); /* Absent. */
    expect(BR3, &flow, "none", "frag tci dl_dst proto nw_dst");

    /* Neither UDP nor GRE: addresses and ports do not matter. */
    flow = outer_flow(mac, "10.9.9.9", GENEVE);
    flow.nw_proto = IPPROTO_TCP;
    expect(BR3, &flow, "none", "frag tci dl_dst proto");
    flow.nw_proto = IPPROTO_ICMP;
    expect(BR3, &flow, "none", "frag tci dl_dst proto");

    /* To somebody else's MAC. */
    flow = outer_flow(devices[BR2].mac, "10.9.9.9", GENEVE);
    expect(BR3, &flow, "none", "frag tci dl_dst");
    flow.dl_dst = eth_addr_broadcast;
    expect(BR3, &flow, "none", "frag tci dl_dst");

    /* With a tag; fragments, the first included; not IP. */
    flow = outer_flow(mac, "10.9.9.9", GENEVE);
    flow.vlans[0].tpid = htons(ETH_TYPE_VLAN);
    flow.vlans[0].tci = htons(VLAN_CFI | 10);
    expect(BR3, &flow, "none", "frag tci");
    flow = outer_flow(mac, "10.9.9.9", GENEVE);
    flow.nw_frag = FLOW_NW_FRAG_ANY;
    expect(BR3, &flow, "none", "frag tci");
    flow.nw_frag = FLOW_NW_FRAG_ANY | FLOW_NW_FRAG_LATER;
    expect(BR3, &flow, "none", "frag tci");
    flow.nw_frag = 0;
    flow.dl_type = htons(ETH_TYPE_ARP);
    expect(BR3, &flow, "none", "");

    /* What leaves by an uplink is none of ours, whatever its MAC. */
    flow = outer_flow(devices[P1].mac, "10.9.9.9", GENEVE);
    expect(P1, &flow, "none", "base");
}

/* Who owns what, at ports with and without addresses. */
static void
check_owners(bool strict)
{
    const char *foreign = strict ? "none refused" : "6081 foreign";
    struct flow flow;

    /* One's own. */
    flow = outer_flow(devices[BR1].mac, "192.0.2.1", GENEVE);
    expect(BR1, &flow, "6081", "base");
    flow = outer_flow(devices[BR1].mac, "2001:db8::1", GENEVE);
    expect(BR1, &flow, "6081", "base");

    /* An address that tnl-ports knows and that is no endpoint. */
    flow = outer_flow(devices[TWIN].mac, "10.4.4.4", GENEVE);
    expect(BR1, &flow, "6081", "base nw_dst");

    /* That of another NIC, to our MAC. */
    flow = outer_flow(devices[BR1].mac, "198.51.100.2", GENEVE);
    expect(BR1, &flow, foreign, "base dl_dst tci proto nw_dst tp_dst frag");
    flow = outer_flow(devices[BR1].mac, "2001:db8:2::2", GENEVE);
    expect(BR1, &flow, foreign, "base dl_dst tci proto ipv6_dst tp_dst frag");
    flow = outer_flow(devices[BR3].mac, "198.51.100.2", GENEVE);
    expect(BR3, &flow, foreign, "dl_dst tci proto nw_dst tp_dst frag");
    flow = outer_flow(devices[BR3].mac, "10.7.7.7", GENEVE);
    expect(BR3, &flow, foreign, "dl_dst tci proto nw_dst tp_dst frag");

    /* To its MAC, flooded by the fabric: tnl-ports takes it anywhere, the base
     * at ports with addresses. */
    flow = outer_flow(devices[BR2].mac, "198.51.100.2", GENEVE);
    expect(BR1, &flow, foreign, "base");
    expect(BR3, &flow, "none", "frag tci dl_dst");

    /* Two devices with one MAC. */
    flow = outer_flow(devices[TWIN].mac, "192.0.2.1", GENEVE);
    expect(TWIN, &flow, foreign, "base");

    /* Among the ports of one bridge: as in the base. */
    flow = outer_flow(devices[V1].mac, "203.0.113.1", GENEVE);
    expect(V1, &flow, "6081", "base");
    expect(BR1, &flow, "6081", "base");
    flow = outer_flow(devices[BR1].mac, "203.0.113.1", GENEVE);
    expect(BR1, &flow, "none", "base dl_dst tci proto nw_dst frag");

    /* No NIC's, with addresses of our own. */
    flow = outer_flow(devices[BR1].mac, "10.9.9.9", GENEVE);
    expect(BR1, &flow, "6081", "base dl_dst tci proto nw_dst tp_dst frag");
    flow = outer_flow(devices[BR2].mac, "2001:db8:9::9", VXLAN);
    expect(BR2, &flow, "4789", "base dl_dst tci proto ipv6_dst tp_dst frag");

    /* Nothing of that at ports of workloads. */
    for (size_t i = MP0; i <= VM; i++) {
        flow = outer_flow(devices[i].mac, "10.9.9.9", GENEVE);
        expect(i, &flow, "none", "base");
        flow = outer_flow(devices[BR2].mac, "198.51.100.2", GENEVE);
        expect(i, &flow, "none", "base nw_dst");
    }

    /* Unrelated packets to a port with addresses. */
    flow = outer_flow(devices[BR1].mac, "192.0.2.1", GENEVE);
    flow.nw_proto = IPPROTO_TCP;
    expect(BR1, &flow, "none", "base dl_dst tci proto frag");
    flow.nw_proto = IPPROTO_ICMP;
    expect(BR1, &flow, "none", "base dl_dst tci proto frag");
}

static void
check_reasons(void)
{
    struct flow flow = outer_flow(devices[BR1].mac, "198.51.100.2", GENEVE);
    struct tunnel_ingress ingress;
    struct flow_wildcards wc;

    publish(false);
    lookup(BR1, &flow, &wc, &ingress);
    ovs_assert(!strcmp(ingress.reason, "198.51.100.2 is the endpoint of br2, "
                       "not of br1: taken"));
    ingress.effect.cause(&ingress.effect, 3);
    ovs_assert(counter_tunnel_ingress_foreign.count() == 3);
    ovs_assert(counter_tunnel_ingress_refused.count() == 0);

    publish(true);
    lookup(BR1, &flow, &wc, &ingress);
    ovs_assert(!strcmp(ingress.reason, "198.51.100.2 is the endpoint of br2, "
                       "not of br1: refused (encap-strict-rx)"));
    ingress.effect.cause(&ingress.effect, 5);
    ovs_assert(counter_tunnel_ingress_foreign.count() == 5);
    ovs_assert(counter_tunnel_ingress_refused.count() == 5);
    ingress.effect.cause(&ingress.effect, 7);
}

/* True if entry 'i' of 'list' is of 198.51.100.2 by br1, and the last just
 * now. */
static bool
is_arrival(const struct encap_foreign *list, bool refused, uint64_t n_packets)
{
    const struct in6_addr ip = route_scene_ip("198.51.100.2", NULL);

    return (ipv6_addr_equals(&list->ip, &ip)
            && !strcmp(list->bridge, "br1")
            && list->refused == refused
            && list->n_packets == n_packets
            && list->last_ms >= 0 && list->last_ms < ENCAP_FOREIGN_MS);
}

/* What check_reasons() counted, and no more than fits. */
static void
check_arrivals(void)
{
    struct encap_foreign *list;
    size_t n;

    list = encap_foreign_list(&n);
    ovs_assert(n == 2);
    ovs_assert(is_arrival(&list[0], true, 12));
    ovs_assert(is_arrival(&list[1], false, 3));
    free(list);

    for (uint32_t i = 0; i < ENCAP_FOREIGN_MAX + 100; i++) {
        const struct in6_addr ip = in6_addr_mapped_ipv4(htonl(i));

        encap_foreign_add(&ip, "br2", i % 2, 1);
    }
    list = encap_foreign_list(&n);
    ovs_assert(n == ENCAP_FOREIGN_MAX);
    free(list);
}

/* True if byte 'ofs' of a struct flow is one of a packet's L2, L3 or L4
 * headers. */
static bool
in_headers(size_t ofs)
{
    return (ofs >= offsetof(struct flow, dl_dst)
            && ofs != offsetof(struct flow, nw_frag)
            && !(ofs >= offsetof(struct flow, mpls_lse)
                 && ofs < offsetof(struct flow, nw_src)));
}

/* A packet that differs only where the masks do not look meets the same. */
static void
check_masks_at_random(int n)
{
    static const char *ips[] = {
        "192.0.2.1", "192.0.2.9", "203.0.113.1", "198.51.100.2", "10.9.9.9",
        "10.7.7.7", "10.8.8.8", "10.4.4.4", "2001:db8::1", "2001:db8:2::2",
        "2001:db8:9::9", "2001:db8:9::8",
    };
    static const uint16_t ports[] = { GENEVE, VXLAN, GRE, 53, 6080 };
    size_t answers = 0;

    for (int i = 0; i < n; i++) {
        size_t device = random_range(N_DEVICES);
        struct tunnel_ingress a, b;
        struct flow_wildcards wc;
        struct flow flow, other;

        if (!random_range(100)) {
            publish(random_range(2));
        }
        flow = outer_flow(devices[random_range(N_DEVICES)].mac,
                          ips[random_range(ARRAY_SIZE(ips))],
                          ports[random_range(ARRAY_SIZE(ports))]);
        flow.nw_proto = !random_range(8) ? random_range(256) : flow.nw_proto;
        flow.nw_frag = !random_range(8) ? random_range(4) : 0;
        flow.vlans[0].tci = htons(!random_range(8) ? VLAN_CFI | 5 : 0);

        memset(&wc, 0, sizeof wc);
        lookup(device, &flow, &wc, &a);
        answers += a.port != ODPP_NONE;

        /* Translation always matches the Ethernet type. */
        WC_MASK_FIELD(&wc, dl_type);
        for (int j = 0; j < 8; j++) {
            uint8_t *bytes = (uint8_t *) &other;
            const uint8_t *mask = (const uint8_t *) &wc.masks;
            struct flow_wildcards unused;

            other = outer_flow(devices[random_range(N_DEVICES)].mac,
                               ips[random_range(ARRAY_SIZE(ips))],
                               ports[random_range(ARRAY_SIZE(ports))]);
            other.nw_proto = random_range(3) ? other.nw_proto : IPPROTO_TCP;
            other.nw_frag = random_range(4);
            other.vlans[0].tci = htons(random_range(2) ? VLAN_CFI | 7 : 0);
            for (size_t k = 0; k < sizeof other; k++) {
                uint8_t byte = (!in_headers(k) || random_range(2) ? bytes[k]
                                : random_range(256));

                bytes[k] = ((((const uint8_t *) &flow)[k] & mask[k])
                            | (byte & ~mask[k]));
            }
            lookup(device, &other, &unused, &b);
            if (a.port != b.port || a.refused != b.refused
                || a.effect.cause != b.effect.cause) {
                route_test_fail("%s: %s and %s differ beyond their masks",
                                devices[device].name,
                                flow_to_string(&flow, NULL),
                                flow_to_string(&other, NULL));
            }
        }
    }
    ovs_assert(answers > n / 100);
}

/* ERSPAN and GRE share a protocol: the first stays, as in tnl-ports. */
static void
check_listeners(void)
{
    ovs_assert(tunnel_listener_find(IPPROTO_UDP, htons(GENEVE))
               == u32_to_odp(GENEVE));
    ovs_assert(tunnel_listener_find(IPPROTO_TCP, htons(GENEVE)) == ODPP_NONE);
    ovs_assert(tunnel_listener_find(IPPROTO_UDP, 0) == ODPP_NONE);

    tnl_port_map_insert(u32_to_odp(99), 0, "erspan_sys", "erspan");
    ovs_assert(tunnel_listener_find(IPPROTO_GRE, 0) == u32_to_odp(GRE));
    tnl_port_map_insert(u32_to_odp(GRE), 0, "gre_sys", "gre");
    tnl_port_map_delete(u32_to_odp(GRE), "gre");
    ovs_assert(tunnel_listener_find(IPPROTO_GRE, 0) == u32_to_odp(GRE));
    tnl_port_map_delete(u32_to_odp(GRE), "gre");
    ovs_assert(tunnel_listener_find(IPPROTO_GRE, 0) == u32_to_odp(99));
    tnl_port_map_delete(u32_to_odp(99), "erspan");
    ovs_assert(tunnel_listener_find(IPPROTO_GRE, 0) == ODPP_NONE);
}

static void
test_tunnel_ingress_main(int argc, char *argv[])
{
    struct sset types = SSET_INITIALIZER(&types);

    set_program_name(argv[0]);
    route_test_seed(argc > 1 ? argv[1] : NULL);
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_WARN);
    dummy_enable("");
    dp_enumerate_types(&types);
    sset_destroy(&types);

    open_devices();
    tnl_port_map_insert(u32_to_odp(GENEVE), htons(GENEVE), "geneve_sys_6081",
                        "geneve");
    tnl_port_map_insert(u32_to_odp(VXLAN), htons(VXLAN), "vxlan_sys_4789",
                        "vxlan");
    tnl_port_map_insert(u32_to_odp(GRE), 0, "gre_sys", "gre");

    check_without_endpoints();
    publish(false);
    check_masks();
    check_owners(false);
    publish(true);
    check_masks();
    check_owners(true);
    check_reasons();
    check_arrivals();
    check_masks_at_random(20000);
    check_listeners();
    ovsrcu_exit();
}

OVSTEST_REGISTER("test-tunnel-ingress", test_tunnel_ingress_main);
