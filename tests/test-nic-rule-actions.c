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
#include "nic-rule-random.h"
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
    nic_random_mask_changes(&scene->match.flow,
                            &scene->match.wc.masks);

    nic_random_put_changes(changes, &scene->match.flow);
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

    nic_random_seed_bytes(seed);
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
