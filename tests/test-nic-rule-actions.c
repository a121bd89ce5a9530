/* SPDX-License-Identifier: Apache-2.0 */

/* Checks that a rule changes packets as the datapath does: random changes of
 * random packets, by the base's odp_execute_actions() and by a naive NIC.
 *
 *     ovstest test-nic-rule-actions [SEED [FLOWS]]
 */

#include <config.h>

#undef NDEBUG

#include "nic-rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dp-packet.h"
#include "flow.h"
#include "netlink.h"
#include "nic-rule-apply.h"
#include "nic-rule-check.h"
#include "nic-rule-flow.h"
#include "nic-rule-packet.h"
#include "nic-rule-rte.h"
#include "nic-rule-scene.h"
#include "nic-rule-twin.h"
#include "odp-execute.h"
#include "odp-util.h"
#include "openvswitch/dynamic-string.h"
#include "ovstest.h"
#include "packets.h"
#include "random.h"
#include "route-test.h"
#include "util.h"

/* Half of the sets have a mask.  A key may be the same as the packet's. */
static void
put_set(struct ofpbuf *actions, enum ovs_key_attr type, const void *key,
        const void *mask, size_t size)
{
    bool masked = random_range(2);
    uint8_t both[2 * 128];
    size_t nested;

    ovs_assert(size <= sizeof both / 2);
    memcpy(both, key, size);
    memcpy(both + size, mask, size);
    for (size_t i = 0; masked && i < size; i++) {
        both[i] &= both[size + i];
    }
    nested = nl_msg_start_nested(actions, (masked ? OVS_ACTION_ATTR_SET_MASKED
                                           : OVS_ACTION_ATTR_SET));
    nl_msg_put_unspec(actions, type, both, masked ? size * 2 : size);
    nl_msg_end_nested(actions, nested);
}

/* Sets 'FIELD' of 'key' to 'VALUE' with a mask, mostly of all its bits. */
#define CHANGE(FIELD, VALUE)                                            \
    do {                                                                \
        if (random_range(2)) {                                          \
            key.FIELD = VALUE;                                          \
            memset(&mask.FIELD, random_range(16) ? 0xff : 0x0f,         \
                   sizeof mask.FIELD);                                  \
        }                                                               \
    } while (0)

static void
put_ethernet(struct ofpbuf *actions, const struct flow *flow)
{
    struct ovs_key_ethernet key = { flow->dl_src, flow->dl_dst }, mask;

    memset(&mask, 0, sizeof mask);
    CHANGE(eth_src.ea[5], random_range(3));
    if (mask.eth_src.ea[5]) {
        memset(&mask.eth_src, 0xff, sizeof mask.eth_src);
    }
    put_set(actions, OVS_KEY_ATTR_ETHERNET, &key, &mask, sizeof key);
}

static void
put_ipv4(struct ofpbuf *actions, const struct flow *flow)
{
    struct ovs_key_ipv4 key = {
        .ipv4_src = flow->nw_src, .ipv4_dst = flow->nw_dst,
        .ipv4_proto = flow->nw_proto, .ipv4_tos = flow->nw_tos,
        .ipv4_ttl = flow->nw_ttl,
    }, mask;

    memset(&mask, 0, sizeof mask);
    CHANGE(ipv4_src, htonl(0x0a000000 + random_range(3)));
    CHANGE(ipv4_dst, htonl(0x0a000000 + random_range(3)));
    CHANGE(ipv4_ttl, 62 + random_range(3));
    if (random_range(2)) {
        key.ipv4_tos = random_range(256);
        mask.ipv4_tos = random_range(4) ? IP_DSCP_MASK : 0xff;
    }
    put_set(actions, OVS_KEY_ATTR_IPV4, &key, &mask, sizeof key);
}

static void
put_ipv6(struct ofpbuf *actions, const struct flow *flow)
{
    struct ovs_key_ipv6 key, mask;

    memset(&key, 0, sizeof key);
    memset(&mask, 0, sizeof mask);
    key.ipv6_src = flow->ipv6_src;
    key.ipv6_dst = flow->ipv6_dst;
    key.ipv6_label = flow->ipv6_label;
    key.ipv6_proto = flow->nw_proto;
    key.ipv6_tclass = flow->nw_tos;
    key.ipv6_hlimit = flow->nw_ttl;
    if (random_range(2)) {
        key.ipv6_dst.s6_addr[15] = random_range(3);
        mask.ipv6_dst = in6addr_exact;
    }
    CHANGE(ipv6_hlimit, 62 + random_range(3));
    if (random_range(2)) {
        key.ipv6_tclass = random_range(256);
        mask.ipv6_tclass = random_range(4) ? IP_DSCP_MASK : 0xff;
    }
    if (random_range(8) == 0) {
        mask.ipv6_label = htonl(IPV6_LABEL_MASK);
    }
    put_set(actions, OVS_KEY_ATTR_IPV6, &key, &mask, sizeof key);
}

static void
put_ports(struct ofpbuf *actions, const struct flow *flow)
{
    struct ovs_key_tcp key = { flow->tp_src, flow->tp_dst }, mask;

    memset(&mask, 0, sizeof mask);
    CHANGE(tcp_src, htons(random_range(3)));
    CHANGE(tcp_dst, htons(random_range(3)));
    BUILD_ASSERT(sizeof(struct ovs_key_udp) == sizeof key);
    put_set(actions, (flow->nw_proto == IPPROTO_TCP ? OVS_KEY_ATTR_TCP
                      : OVS_KEY_ATTR_UDP), &key, &mask, sizeof key);
}

static void
put_tag(struct ofpbuf *actions)
{
    struct ovs_action_push_vlan vlan = {
        .vlan_tpid = htons(random_range(4) ? 0x8100 : 0x88a8),
        .vlan_tci = htons(VLAN_CFI | (random_range(8) << 13)
                          | random_range(4096)),
    };

    nl_msg_put_unspec(actions, OVS_ACTION_ATTR_PUSH_VLAN, &vlan, sizeof vlan);
}

/* Few of many, as prerequisites allow. */
static void
put_changes(struct ofpbuf *actions, const struct flow *flow)
{
    for (int n = random_range(5); n; n--) {
        switch (random_range(6)) {
        case 0:
            put_ethernet(actions, flow);
            break;
        case 1:
        case 2:
            if (flow->dl_type == htons(ETH_TYPE_IP)) {
                put_ipv4(actions, flow);
            } else if (flow->dl_type == htons(ETH_TYPE_IPV6)) {
                put_ipv6(actions, flow);
            }
            break;
        case 3:
            if (is_ip_any(flow) && !(flow->nw_frag & FLOW_NW_FRAG_LATER)
                && (flow->nw_proto == IPPROTO_TCP
                    || flow->nw_proto == IPPROTO_UDP)) {
                put_ports(actions, flow);
            }
            break;
        case 4:
            if (flow->vlans[0].tci && random_range(2)) {
                nl_msg_put_flag(actions, OVS_ACTION_ATTR_POP_VLAN);
            }
            break;
        case 5:
            if (random_range(4) == 0) {
                put_tag(actions);
            }
            break;
        }
    }
}

/* As translation masks what a change reads: its prerequisites, and often the
 * fields themselves. */
static void
put_wildcards(const struct flow *flow, struct flow *m)
{
    memset(m, 0, sizeof *m);
    memset(&m->dl_type, 0xff, sizeof m->dl_type);
    m->vlans[0].tci = OVS_BE16_MAX;
    if (is_ip_any(flow)) {
        m->nw_frag = FLOW_NW_FRAG_MASK;
        m->nw_proto = 0xff;
        m->nw_ttl = random_range(2) ? 0xff : 0;
        m->nw_tos = random_range(2) ? 0xff : 0;
    }
    if (random_range(2) && flow->dl_type == htons(ETH_TYPE_IP)) {
        m->nw_src = m->nw_dst = OVS_BE32_MAX;
    }
    if (random_range(2) && flow->dl_type == htons(ETH_TYPE_IPV6)) {
        m->ipv6_dst = in6addr_exact;
        m->ipv6_label = htonl(IPV6_LABEL_MASK);
    }
    if (random_range(2)) {
        memset(&m->dl_src, 0xff, sizeof m->dl_src);
    }
}

/* Stores the flows of 'p' after the actions in software and after those of
 * 'rule' in the NIC. */
static void
execute(const struct packet *p, const struct ofpbuf *changes,
        const struct nic_rule *rule, struct flow *software, struct flow *nic)
{
    struct dp_packet *packet = nic_scene_receive(p, 60, software);
    struct dp_packet_batch batch;
    struct packet copy = *p;

    ovs_assert(packet);
    dp_packet_batch_init_packet(&batch, packet);
    odp_execute_actions(NULL, &batch, false, changes->data, changes->size,
                        NULL);
    memset(&packet->md, 0, sizeof packet->md);
    flow_extract(packet, software);
    dp_packet_delete(packet);

    nic_twin_apply(rule, &copy);
    packet = nic_scene_receive(&copy, 0, nic);
    memset(&packet->md, 0, sizeof packet->md);
    flow_extract(packet, nic);
    dp_packet_delete(packet);
}

static void
compare(const struct nic_scene_flow *scene, const struct ofpbuf *changes,
        const struct nic_rule *rule, const struct packet *p)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    struct flow software, nic;

    execute(p, changes, rule, &software, &nic);
    if (!memcmp(&software, &nic, sizeof nic)) {
        return;
    }
    nic_rule_format(rule, false, &s);
    ds_put_cstr(&s, "\nactions: ");
    format_odp_actions(&s, scene->actions.data, scene->actions.size, NULL);
    ds_put_cstr(&s, "\nsoftware: ");
    flow_format(&s, &software, NULL);
    ds_put_cstr(&s, "\nNIC: ");
    flow_format(&s, &nic, NULL);
    route_test_fail("%s", ds_cstr(&s));
}

static void
check_rte(const struct nic_rule *rule OVS_UNUSED)
{
#ifdef DPDK_NETDEV
    struct nic_rule_rte *rte = nic_rule_to_rte(rule, 7);
    const char *error = nic_check_rte(&rte->attr, rte->items, rte->actions);

    if (error) {
        struct ds s = DS_EMPTY_INITIALIZER;

        nic_rule_format(rule, false, &s);
        route_test_fail("%s: %s", error, ds_cstr(&s));
    }
    free(rte);
#endif
}

/* Makes 'scene' the flow of 'p', with random wildcards, 'changes' and an
 * output.  Returns false if software drops 'p'. */
static bool
random_flow(struct nic_scene_flow *scene, struct ofpbuf *changes,
            const struct packet *p)
{
    struct dp_packet *packet;

    memset(&scene->match, 0, sizeof scene->match);
    packet = nic_scene_receive(p, 60, &scene->match.flow);
    if (!packet) {
        return false;
    }
    dp_packet_delete(packet);
    put_wildcards(&scene->match.flow, &scene->match.wc.masks);

    put_changes(changes, &scene->match.flow);
    ofpbuf_put(&scene->actions, changes->data, changes->size);
    nl_msg_put_odp_port(&scene->actions, OVS_ACTION_ATTR_OUTPUT,
                        u32_to_odp(11));
    scene->flow.actions = scene->actions.data;
    scene->flow.actions_len = scene->actions.size;
    return true;
}

/* Changes the packet that a random flow comes from, and others that its rule
 * matches.  Returns true if there was a rule. */
static bool
check_flow(void)
{
    uint8_t seed[PACKET_SEED_LEN];
    struct nic_scene_flow scene;
    struct ofpbuf changes;
    struct packet p;
    struct nic_rule rule;
    bool offloadable = false;

    for (size_t i = 0; i < sizeof seed; i++) {
        seed[i] = random_uint32();
    }
    packet_build(&p, seed, NIC_TUNNEL_GENEVE);
    nic_scene_flow_init(&scene, "in_port(60),eth(),eth_type(0x1234)", "", 1);
    ofpbuf_init(&changes, 0);
    if (random_flow(&scene, &changes, &p)) {
        nic_rule_from_flow(&scene.flow, &rule);
        offloadable = rule.refusal == NIC_OFFLOADABLE;
    }
    if (offloadable) {
        check_rte(&rule);
        for (int i = 0; i < 10; i++) {
            packet_build(&p, seed, NIC_TUNNEL_GENEVE);
            if (nic_twin_hits(&rule.match, p.data, p.n)) {
                compare(&scene, &changes, &rule, &p);
            }
            seed[random_range(PACKET_SEED_LEN)] = random_uint32();
        }
    }
    ofpbuf_uninit(&changes);
    nic_scene_flow_uninit(&scene);
    return offloadable;
}

static void
test_nic_rule_actions(int argc, char *argv[])
{
    int n = argc > 2 ? atoi(argv[2]) : 30000;
    int n_rules = 0;

    odp_execute_init();
    route_test_seed(argc > 1 ? argv[1] : NULL);
    for (int i = 0; i < n; i++) {
        n_rules += check_flow();
    }
    printf("%d rules for %d flows\n", n_rules, n);
    ovs_assert(n < 1000 || n_rules > n / 5);
}

OVSTEST_REGISTER("test-nic-rule-actions", test_nic_rule_actions);
