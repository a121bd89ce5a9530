/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#undef NDEBUG

#include "encap-flow.h"

#include <string.h>

#include "dpif.h"
#include "odp-util.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofpbuf.h"
#include "ovstest.h"
#include "packets.h"
#include "route-scene.h"
#include "route-test.h"
#include "util.h"

/* Actions in the base's own words. */
#define ETH(TYPE) \
    "eth(dst=02:00:00:00:00:fe,src=02:00:00:00:00:01,dl_type=" TYPE "),"
#define GENEVE "udp(src=0,dst=6081,csum=0x0),geneve(vni=0x7)),out_port(1))"
#define PUSH4(SRC) \
    "tnl_push(tnl_port(6),header(size=50,type=5," ETH("0x0800") \
    "ipv4(src=" SRC ",dst=10.9.0.1,proto=17,tos=0,ttl=64,frag=0x4000)," GENEVE
#define PUSH6(SRC) \
    "tnl_push(tnl_port(6),header(size=70,type=5," ETH("0x86dd") \
    "ipv6(src=" SRC ",dst=2001:db8:9::1,label=0,proto=17,tclass=0x0," \
    "hlimit=64)," \
    GENEVE

#define KEY4(DST) \
    "in_port(1),eth(src=02:00:00:00:00:fe,dst=02:00:00:00:00:01)," \
    "eth_type(0x0800),ipv4(src=10.9.0.1,dst=" DST ",proto=17,tos=0,ttl=64," \
    "frag=no),udp(src=1,dst=6081)"
#define TAGGED_KEY4(DST) \
    "in_port(1),eth(src=02:00:00:00:00:fe,dst=02:00:00:00:00:01)," \
    "eth_type(0x8100),vlan(vid=5,pcp=0),encap(eth_type(0x0800)," \
    "ipv4(src=10.9.0.1,dst=" DST ",proto=17,tos=0,ttl=64,frag=no)," \
    "udp(src=1,dst=6081))"
#define KEY6(DST) \
    "in_port(1),eth(src=02:00:00:00:00:fe,dst=02:00:00:00:00:01)," \
    "eth_type(0x86dd),ipv6(src=2001:db8:9::1,dst=" DST ",label=0,proto=17," \
    "tclass=0,hlimit=64,frag=no),udp(src=1,dst=6081)"

struct test_flow {
    const char *key;
    const char *actions;
    uint64_t packets, bytes;
    const char *layer;          /* NULL: not offloaded. */
};

static void
add_flow(struct encap_flow_sums *sums, const struct test_flow *test)
{
    struct ofpbuf key, mask, actions;
    struct dpif_flow flow;
    char *error;

    ofpbuf_init(&key, 0);
    ofpbuf_init(&mask, 0);
    ofpbuf_init(&actions, 0);
    if (odp_flow_from_string(test->key, NULL, &key, &mask, &error)) {
        route_test_fail("%s: %s", test->key, error);
    }
    if (odp_actions_from_string(test->actions, NULL, &actions)) {
        route_test_fail("bad actions: %s", test->actions);
    }

    memset(&flow, 0, sizeof flow);
    flow.key = key.data;
    flow.key_len = key.size;
    flow.actions = actions.data;
    flow.actions_len = actions.size;
    flow.stats.n_packets = test->packets;
    flow.stats.n_bytes = test->bytes;
    flow.attrs.offloaded = test->layer != NULL;
    flow.attrs.dp_layer = test->layer ? test->layer : "ovs";
    encap_flow_sums_add(sums, &flow);

    ofpbuf_uninit(&key);
    ofpbuf_uninit(&mask);
    ofpbuf_uninit(&actions);
}

static void
check_sum(const struct encap_flow_sums *sums, const char *ip_string,
          uint64_t flows, uint64_t offloaded, uint64_t tx_packets,
          uint64_t tx_bytes, uint64_t rx_packets, uint64_t rx_bytes)
{
    const struct in6_addr ip = route_scene_ip(ip_string, NULL);
    const struct encap_flow_sum *sum = encap_flow_sums_find(sums, &ip);

    if (!sum) {
        route_test_fail("%s: no sum", ip_string);
    }
    if (sum->n_flows != flows || sum->n_offloaded != offloaded
        || sum->tx_packets != tx_packets || sum->tx_bytes != tx_bytes
        || sum->rx_packets != rx_packets || sum->rx_bytes != rx_bytes) {
        route_test_fail("%s: %"PRIu64" flows, %"PRIu64" offloaded, tx "
                        "%"PRIu64" %"PRIu64", rx %"PRIu64" %"PRIu64,
                        ip_string, sum->n_flows, sum->n_offloaded,
                        sum->tx_packets, sum->tx_bytes, sum->rx_packets,
                        sum->rx_bytes);
    }
}

static void
test_encap_flow_main(int argc OVS_UNUSED, char *argv[] OVS_UNUSED)
{
    static const struct test_flow flows[] = {
        /* One header, hence 50 or 70 bytes more a packet. */
        { KEY4("10.0.0.9"), PUSH4("10.1.0.1") ",1", 10, 1000, "ovs" },
        { KEY4("10.0.0.9"), PUSH6("2001:db8::1") ",1", 2, 200, "dpdk" },

        /* Flooded: two headers of one source, one of another, below others. */
        { KEY4("10.0.0.9"), "clone(" PUSH4("10.1.0.1") ",1),clone("
          PUSH4("10.2.0.1") ",2)," PUSH4("10.1.0.1") ",1", 3, 300, "dpdk" },
        { KEY4("10.0.0.9"), "sample(sample=50.0%,actions(clone("
          PUSH4("10.3.0.1") ",1))),4", 5, 500, NULL },
        { KEY4("10.0.0.9"), "check_pkt_len(size=100,gt(" PUSH4("10.4.0.1")
          ",1),le(" PUSH4("10.5.0.1") ",1))", 7, 700, "ovs" },

        /* Received, also on several ports. */
        { KEY4("10.1.0.1"), "tnl_pop(6)", 11, 1100, "dpdk" },
        { KEY6("2001:db8::1"), "tnl_pop(6)", 13, 1300, NULL },
        { KEY4("10.2.0.1"), "clone(tnl_pop(6)),2", 17, 1700, "ovs" },

        /* A tag of the underlay: what comes in counts with it, and what goes
         * out gets it behind its headers.  A tag that the inner packet loses
         * before is not sent. */
        { KEY4("10.0.0.9"), "clone(" PUSH4("10.8.0.1")
          ",push_vlan(vid=5,pcp=0),1),2", 3, 300, "dpdk" },
        { TAGGED_KEY4("10.8.0.1"), "pop_vlan,tnl_pop(6)", 5, 5 * 154, "ovs" },
        { KEY4("10.0.0.9"), "clone(pop_vlan," PUSH4("10.8.0.2") ",1),clone("
          PUSH4("10.8.0.3") ",1,push_vlan(vid=5,pcp=0),2),pop_vlan,clone("
          PUSH4("10.8.0.4") ",push_vlan(vid=5,pcp=0),1)", 7, 7 * 104, "ovs" },

        /* Received and sent again at once. */
        { KEY4("10.6.0.1"), "clone(" PUSH4("10.6.0.1") ",1),tnl_pop(6)", 19,
          1900, "dpdk" },

        /* Nothing of interest. */
        { KEY4("10.7.0.1"), "1,clone(2)", 23, 2300, NULL },
        { KEY4("10.7.0.1"), "drop", 29, 2900, "ovs" },
    };
    const struct in6_addr other = route_scene_ip("10.7.0.1", NULL);
    struct encap_flow_sums sums;

    encap_flow_sums_init(&sums);
    for (size_t i = 0; i < ARRAY_SIZE(flows); i++) {
        add_flow(&sums, &flows[i]);
    }

    check_sum(&sums, "10.1.0.1", 3, 2, 10 + 3 + 3,
              1000 + 10 * 50 + 2 * (300 + 3 * 50), 11, 1100);
    check_sum(&sums, "2001:db8::1", 2, 1, 2, 200 + 2 * 70, 13, 1300);
    check_sum(&sums, "10.2.0.1", 2, 1, 3, 300 + 3 * 50, 17, 1700);
    check_sum(&sums, "10.3.0.1", 1, 0, 5, 500 + 5 * 50, 0, 0);
    check_sum(&sums, "10.4.0.1", 1, 0, 7, 700 + 7 * 50, 0, 0);
    check_sum(&sums, "10.5.0.1", 1, 0, 7, 700 + 7 * 50, 0, 0);
    check_sum(&sums, "10.8.0.1", 2, 1, 3, 3 * (100 + 50 + 4),
              5, 5 * (4 + 50 + 100));
    check_sum(&sums, "10.8.0.2", 1, 0, 7, 7 * (104 - 4 + 50), 0, 0);
    check_sum(&sums, "10.8.0.3", 1, 0, 7, 7 * (104 + 50), 0, 0);
    check_sum(&sums, "10.8.0.4", 1, 0, 7, 7 * (104 - 4 + 50 + 4), 0, 0);
    check_sum(&sums, "10.6.0.1", 1, 1, 19, 1900 + 19 * 50, 19, 1900);
    if (encap_flow_sums_find(&sums, &other)) {
        route_test_fail("10.7.0.1: a sum of nothing");
    }
    encap_flow_sums_destroy(&sums);
}

OVSTEST_REGISTER("test-encap-flow", test_encap_flow_main);
