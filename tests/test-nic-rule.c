/* SPDX-License-Identifier: Apache-2.0 */

/* Checks rules for NICs: known flows against rules written by hand, headers
 * byte by byte, what rte_flow gets against what mlx5 takes, and that no rule
 * matches what its flow does not.
 *
 *     ovstest test-nic-rule cases
 *     ovstest test-nic-rule headers
 *     ovstest test-nic-rule values
 *     ovstest test-nic-rule random [SEED [FLOWS]]
 *     ovstest test-nic-rule flow UPLINK FLOW ACTIONS    (prints its rule)
 */

#include <config.h>

#undef NDEBUG

#include "nic-rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dp-packet.h"
#include "flow.h"
#include "nic-rule-cases.h"
#include "nic-rule-check.h"
#include "nic-rule-flow.h"
#include "nic-rule-packet.h"
#include "nic-rule-random.h"
#include "nic-rule-rte.h"
#include "nic-rule-scene.h"
#include "nic-rule-twin.h"
#include "odp-util.h"
#include "openvswitch/dynamic-string.h"
#include "ovstest.h"
#include "packets.h"
#include "random.h"
#include "route-test.h"
#include "util.h"

/* What rte_flow gets for 'rule', which is not a refusal. */
static void
check_rte(const char *name OVS_UNUSED, const struct nic_rule *rule OVS_UNUSED)
{
#ifdef DPDK_NETDEV
    struct nic_rule_rte *rte = nic_rule_to_rte(rule, 7);
    const char *error = nic_check_rte(&rte->attr, rte->items, rte->actions);

    if (error || rte->attr.group != rule->group) {
        struct ds s = DS_EMPTY_INITIALIZER;

        nic_rule_format(rule, false, &s);
        route_test_fail("%s: %s: %s", name, error ? error : "group",
                        ds_cstr(&s));
    }
    free(rte);
#endif
}

static void
check_cases(void)
{
    for (size_t i = 0; i < n_nic_rule_cases; i++) {
        const struct nic_rule_case *c = &nic_rule_cases[i];
        struct ds s = DS_EMPTY_INITIALIZER;
        struct nic_scene_flow scene;
        struct nic_rule rule;

        nic_scene_flow_init(&scene, c->flow, c->actions, c->uplink);
        nic_rule_from_flow(&scene.flow, &rule);
        nic_rule_format(&rule, false, &s);
        if (strcmp(ds_cstr(&s), c->rule)) {
            route_test_fail("%s:\nexpected: %s\ngot:      %s",
                            c->name, c->rule, ds_cstr(&s));
        }
        if (rule.refusal == NIC_OFFLOADABLE) {
            check_rte(c->name, &rule);
        }
        ds_destroy(&s);
        nic_scene_flow_uninit(&scene);
    }
}

static void
print_rule(const char *uplink, const char *flow, const char *actions)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    struct nic_scene_flow scene;
    struct nic_rule rule;

    nic_scene_flow_init(&scene, flow, actions, atoi(uplink));
    nic_rule_from_flow(&scene.flow, &rule);
    nic_rule_format(&rule, false, &s);
    puts(ds_cstr(&s));
    ds_destroy(&s);
    nic_scene_flow_uninit(&scene);
}

/* Headers. */

static void
check_headers(void)
{
    for (size_t i = 0; i < n_nic_header_cases; i++) {
        const struct nic_header_case *c = &nic_header_cases[i];
        struct nic_scene_flow scene;
        struct nic_rule rule;

        nic_scene_flow_init(&scene, nic_header_flow, c->actions, 0);
        nic_rule_from_flow(&scene.flow, &rule);
        if (rule.header_len * 2 != strlen(c->bytes)) {
            route_test_fail("%s: %"PRIuSIZE" bytes", c->name,
                            rule.header_len);
        }
        for (size_t j = 0; j < rule.header_len; j++) {
            const char *s = &c->bytes[j * 2];
            unsigned int byte = rule.header[j];
            bool ok;

            if (s[0] == '.') {
                /* Source ports are 0xc000...0xc00f. */
                ok = c->bytes[j * 2 + 2] == '.' ? byte == 0xc0 : byte < 16;
            } else {
                ok = byte == hexits_value(s, 2, &ok);
            }
            if (!ok) {
                route_test_fail("%s: byte %"PRIuSIZE" is %02x", c->name, j,
                                byte);
            }
        }
        nic_scene_flow_uninit(&scene);
    }
}

/* Values: order, equality, reasons. */

static void
check_values(void)
{
    struct nic_rule a, b;

    nic_rule_init(&a, u32_to_odp(1), NIC_GROUP_ENTRY);
    nic_rule_put(&a, NIC_ACTION_OUTPUT)->port = u32_to_odp(2);
    nic_rule_put(&a, NIC_ACTION_SET_TTL)->byte = 1;
    nic_rule_put(&a, NIC_ACTION_SET_TTL)->byte = 2;
    nic_rule_put(&a, NIC_ACTION_DECAP);
    ovs_assert(a.n_actions == 4);
    ovs_assert(a.actions[0].type == NIC_ACTION_COUNT);
    ovs_assert(a.actions[1].type == NIC_ACTION_DECAP);
    ovs_assert(a.actions[2].type == NIC_ACTION_SET_TTL);
    ovs_assert(a.actions[2].byte == 2);
    ovs_assert(a.actions[3].type == NIC_ACTION_OUTPUT);

    b = a;
    ovs_assert(nic_rule_equal(&a, &b));
    nic_rule_put(&b, NIC_ACTION_SET_TTL)->byte = 3;
    ovs_assert(!nic_rule_equal(&a, &b));
    ovs_assert(!nic_rule_refuse(&a, NIC_UNSUPPORTED_MATCH, "x"));
    ovs_assert(!nic_rule_refuse(&a, NIC_CROSS_NIC, NULL));
    ovs_assert(!nic_rule_refuse(&b, NIC_UNSUPPORTED_MATCH, "x"));
    ovs_assert(a.refusal == NIC_UNSUPPORTED_MATCH);
    ovs_assert(nic_rule_equal(&a, &b));
    for (int i = 0; i < NIC_N_REFUSALS; i++) {
        ovs_assert(nic_refusal_to_string(i)[0]);
    }
}

/* Random flows. */

static void
fail_packet(const char *why, const struct nic_rule *rule,
            const struct match *match, const struct packet *p)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    nic_rule_format(rule, false, &s);
    ds_put_cstr(&s, "\nflow: ");
    match_format(match, NULL, &s, 0);
    ds_put_cstr(&s, "\npacket: ");
    for (size_t i = 0; i < p->n; i++) {
        ds_put_format(&s, "%02x", p->data[i]);
    }
    route_test_fail("%s\nrule: %s", why, ds_cstr(&s));
}

/* Compares rule and flow for 'p'.  Returns true if the rule hits. */
static bool
compare(enum nic_random_kind kind, const struct nic_rule *rule,
        const struct nic_rule_rte *rte OVS_UNUSED, const struct match *match,
        const struct packet *p)
{
    bool hit = nic_twin_hits(&rule->match, p->data, p->n);
    struct flow flow;

    if (hit && (!nic_random_extract(kind, p, &flow)
                || !nic_random_hits(match, &flow))) {
        fail_packet("the rule hits what the flow does not", rule, match, p);
    }
#ifdef DPDK_NETDEV
    if (nic_twin_hits_items(rte->items, p->data, p->n) != hit) {
        fail_packet("rte_flow items differ from the rule", rule, match, p);
    }
#endif
    return hit;
}

struct tally {
    unsigned int rules, refusals[NIC_N_REFUSALS];
    unsigned int hits, misses;
};

static void
check_flow(enum nic_random_kind kind, const struct nic_scene_flow *actions,
           struct tally *tally)
{
    uint8_t seed[PACKET_SEED_LEN], other[PACKET_SEED_LEN];
    struct nic_rule_rte *rte = NULL;
    struct nic_flow nic_flow = actions->flow;
    struct packet p;
    struct match match;
    struct nic_rule rule;

    nic_random_seed_bytes(seed);
    packet_build(&p, seed, nic_random_tunnel(kind));
    if (!nic_random_match(kind, &p, &match)) {
        return;
    }
    nic_flow.match = &match;
    nic_rule_from_flow(&nic_flow, &rule);
    tally->refusals[rule.refusal]++;
    if (rule.refusal != NIC_OFFLOADABLE) {
        return;
    }
    tally->rules++;
    check_rte("random flow", &rule);
#ifdef DPDK_NETDEV
    rte = nic_rule_to_rte(&rule, 7);
#endif

    if (!compare(kind, &rule, rte, &match, &p)
        && !nic_random_may_miss(&match.flow, &p)) {
        fail_packet("the rule misses its own packet", &rule, &match, &p);
    }
    for (int i = 0; i < 60; i++) {
        memcpy(other, seed, sizeof other);
        for (int j = random_range(6); j >= 0; j--) {
            other[random_range(PACKET_SEED_LEN)] = random_uint32();
        }
        if (i % 10 == 9) {
            nic_random_seed_bytes(other);
        }
        packet_build(&p, other, nic_random_tunnel(kind));
        if (compare(kind, &rule, rte, &match, &p)) {
            tally->hits++;
        } else {
            tally->misses++;
        }
    }
    free(rte);
}

/* Whatever is in a flow, there is a rule that the NIC takes, or a reason. */
static void
check_garbage(const struct nic_scene_flow *actions, enum nic_random_kind kind)
{
    struct nic_flow nic_flow = actions->flow;
    struct match match;
    struct nic_rule rule;

    nic_random_garbage(kind, &match);
    nic_flow.match = &match;
    nic_rule_from_flow(&nic_flow, &rule);
    if (rule.refusal == NIC_OFFLOADABLE) {
        check_rte("garbage", &rule);
    }
}

static void
check_random(const char *seed, const char *n_flows)
{
    static const struct {
        const char *name, *flow, *actions;
    } kinds[] = {
        [NIC_RANDOM_EGRESS] = { "egress", nic_header_flow, NULL },
        [NIC_RANDOM_OUTER] = { "outer", nic_header_flow, "tnl_pop(60)" },
        [NIC_RANDOM_INNER] = { "inner", nic_header_flow, "11" },
        [NIC_RANDOM_INNER_VXLAN] = { "inner, VXLAN", nic_header_flow, "11" },
    };
    int n = n_flows ? atoi(n_flows) : 20000;

    route_test_seed(seed);
    for (size_t kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
        const char *actions = (kinds[kind].actions ? kinds[kind].actions
                               : nic_header_cases[0].actions);
        struct nic_scene_flow scene;
        struct tally tally;

        memset(&tally, 0, sizeof tally);
        nic_scene_flow_init(&scene, kinds[kind].flow, actions, 1);
        for (int i = 0; i < n; i++) {
            /* other_config:vlan-limit */
            flow_limit_vlans(1 + i % 2);
            check_flow(kind, &scene, &tally);
            check_garbage(&scene, kind);
        }
        printf("%s: %u rules, %u hits, %u misses", kinds[kind].name,
               tally.rules, tally.hits, tally.misses);
        for (int i = 1; i < NIC_N_REFUSALS; i++) {
            if (tally.refusals[i]) {
                printf(", %u %s", tally.refusals[i],
                       nic_refusal_to_string(i));
            }
        }
        putchar('\n');
        /* Else the test would prove nothing. */
        ovs_assert(n < 1000 || (tally.rules > n / 20
                                && tally.hits > tally.misses / 20));
        nic_scene_flow_uninit(&scene);
    }
}

static void
test_nic_rule(int argc, char *argv[])
{
    const char *command = argc > 1 ? argv[1] : "";

    if (!strcmp(command, "cases")) {
        check_cases();
    } else if (!strcmp(command, "headers")) {
        check_headers();
    } else if (!strcmp(command, "values")) {
        check_values();
    } else if (!strcmp(command, "random")) {
        check_random(argc > 2 ? argv[2] : NULL, argc > 3 ? argv[3] : NULL);
    } else if (!strcmp(command, "reasons")) {
        for (int i = NIC_OFFLOADABLE + 1; i < NIC_N_REFUSALS; i++) {
            puts(nic_refusal_to_string(i));
        }
    } else if (!strcmp(command, "flow") && argc == 5) {
        print_rule(argv[2], argv[3], argv[4]);
    } else {
        ovs_fatal(0, "usage: test-nic-rule cases | headers | values | reasons "
                  "| random [SEED [FLOWS]] | flow UPLINK FLOW ACTIONS");
    }
}

OVSTEST_REGISTER("test-nic-rule", test_nic_rule);
