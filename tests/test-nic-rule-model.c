/* SPDX-License-Identifier: Apache-2.0 */

/* Checks rules against the eSwitch model (tests/eswitch), which is preloaded:
 * the NIC takes every rule that we make of a random flow, does with each
 * packet what the datapath does, and nothing with a packet that the flow does
 * not match.
 *
 *     LD_PRELOAD=libeswitch.so \
 *         ovstest test-nic-rule-model DIRECTORY [SEED [FLOWS]]
 */

#include <config.h>

#undef NDEBUG

#include "nic-rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ovstest.h"
#include "util.h"

#ifdef DPDK_NETDEV

#include "dp-packet.h"
#include "flow.h"
#include "netdev-native-tnl.h"
#include "netlink.h"
#include "nic-rule-cases.h"
#include "nic-rule-flow.h"
#include "nic-rule-packet.h"
#include "nic-rule-ports.h"
#include "nic-rule-random.h"
#include "nic-rule-rte.h"
#include "nic-rule-scene.h"
#include "odp-execute.h"
#include "odp-util.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "random.h"
#include "route-test.h"

/* A flow and its rule. */
struct subject {
    enum nic_random_kind kind;
    struct nic_scene_flow scene;
    uint8_t seed[PACKET_SEED_LEN];      /* Of the packet that it is of. */
    struct packet packet;
    struct nic_rule rule;
    uint16_t in, out;           /* Ports of DPDK. */
};

struct tally {
    unsigned int rules, hits, misses;
    unsigned int garbage;       /* Rules of flows that no datapath has. */
    unsigned int icmp_and_option;       /* Refusals. */
};

static void OVS_NO_RETURN
fail(const struct subject *subject, const char *why, const struct packet *p,
     const struct packet *software, const struct packet *nic)
{
    const struct packet *packets[] = { p, software, nic };
    static const char *names[] = { "packet", "software", "NIC" };
    struct ds s = DS_EMPTY_INITIALIZER;

    nic_rule_format(&subject->rule, true, &s);
    ds_put_cstr(&s, "\nflow: ");
    match_format(&subject->scene.match, NULL, &s, 0);
    ds_put_cstr(&s, "\nactions: ");
    format_odp_actions(&s, subject->scene.actions.data,
                       subject->scene.actions.size, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(packets); i++) {
        ds_put_format(&s, "\n%s: ", names[i]);
        for (size_t j = 0; packets[i] && j < packets[i]->n; j++) {
            ds_put_format(&s, "%02x", packets[i]->data[j]);
        }
    }
    route_test_fail("%s\nrule: %s", why, ds_cstr(&s));
}

/* Software. */

/* What dpif-netdev does with the actions that it does itself. */
static void
execute(void *dp OVS_UNUSED, struct dp_packet_batch *batch,
        const struct nlattr *action, bool steal OVS_UNUSED)
{
    struct dp_packet *packet;

    switch (nl_attr_type(action)) {
    case OVS_ACTION_ATTR_TUNNEL_PUSH:
        DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
            dp_packet_set_rss_hash(packet, 1);
            netdev_tnl_push_udp_header(NULL, packet, nl_attr_get(action));
        }
        break;
    case OVS_ACTION_ATTR_OUTPUT:
        break;
    default:
        OVS_NOT_REACHED();
    }
}

/* Stores in '*result' what the datapath makes of 'p', which the flow of
 * 'subject' matches. */
static void
run_software(const struct subject *subject, const struct packet *p,
             struct packet *result)
{
    struct dp_packet_batch batch;
    struct dp_packet *packet;
    struct flow flow;

    if (subject->kind == NIC_RANDOM_OUTER) {
        *result = *p;           /* Nothing is removed yet. */
        return;
    }
    packet = nic_scene_receive(p, nic_random_in_port(subject->kind), &flow);
    dp_packet_batch_init_packet(&batch, packet);
    odp_execute_actions(NULL, &batch, false, subject->scene.actions.data,
                        subject->scene.actions.size, execute);
    memset(result, 0, sizeof *result);
    result->n = dp_packet_size(packet);
    ovs_assert(result->n <= PACKET_MAX);
    memcpy(result->data, dp_packet_data(packet), result->n);
    dp_packet_delete(packet);
}

/* Checks what NICs choose in the outer header of 'nic', and makes 'software'
 * the same there. */
static void
settle_outer(const struct subject *subject, struct packet *software,
             const struct packet *nic)
{
    const uint8_t *data = nic->data;
    size_t l3 = data[12] == 0x81 ? 18 : 14;
    size_t udp = l3 + (data[l3] >> 4 == 4 ? 20 : 40);

    if (data[udp] < 0xc0) {
        fail(subject, "a UDP source port", NULL, software, nic);
    } else if (data[udp + 6] || data[udp + 7]) {
        fail(subject, "a UDP checksum", NULL, software, nic);
    }
    memcpy(&software->data[udp], &data[udp], 2);
    memcpy(&software->data[udp + 6], &data[udp + 6], 2);
}

/* Flows. */

static const struct {
    const char *name;
    uint32_t group;             /* Of the rules. */
} kinds[] = {
    [NIC_RANDOM_EGRESS] = { "egress", NIC_GROUP_ENTRY },
    [NIC_RANDOM_OUTER] = { "outer", NIC_GROUP_ENTRY },
    [NIC_RANDOM_INNER] = { "inner", NIC_GROUP_GENEVE },
    [NIC_RANDOM_INNER_VXLAN] = { "inner, VXLAN", NIC_GROUP_VXLAN },
};

static void
or_flow(struct flow *flow, const struct flow *other)
{
    uint8_t *a = (uint8_t *) flow;
    const uint8_t *b = (const uint8_t *) other;

    for (size_t i = 0; i < sizeof *flow; i++) {
        a[i] |= b[i];
    }
}

static void
put_changes(struct nic_scene_flow *scene)
{
    struct flow mask;

    nic_random_put_changes(&scene->actions, &scene->match.flow);
    nic_random_mask_changes(&scene->match.flow, &mask);
    or_flow(&scene->match.wc.masks, &mask);
}

static void
put_actions(struct subject *subject)
{
    struct nic_scene_flow *scene = &subject->scene;
    size_t i = random_range(n_nic_header_cases);

    if (subject->kind != NIC_RANDOM_OUTER && random_range(2)) {
        put_changes(scene);
    }
    switch (subject->kind) {
    case NIC_RANDOM_EGRESS:
        odp_actions_from_string(nic_header_cases[i].actions, NULL,
                                &scene->actions);
        break;
    case NIC_RANDOM_OUTER:
        nl_msg_put_odp_port(&scene->actions, OVS_ACTION_ATTR_TUNNEL_POP,
                            u32_to_odp(60 + random_range(2)));
        break;
    case NIC_RANDOM_INNER:
    case NIC_RANDOM_INNER_VXLAN:
        nl_msg_put_odp_port(&scene->actions, OVS_ACTION_ATTR_OUTPUT,
                            u32_to_odp(11));
        break;
    }
}

/* Makes the rule of 'subject', whose match is there.  Returns false if there
 * is none. */
static bool
make_rule(struct subject *subject)
{
    struct nic_scene_flow *scene = &subject->scene;

    put_actions(subject);
    scene->flow.actions = scene->actions.data;
    scene->flow.actions_len = scene->actions.size;
    nic_rule_from_flow(&scene->flow, &subject->rule);
    return subject->rule.refusal == NIC_OFFLOADABLE;
}

/* Makes '*subject' a random flow with its rule.  Returns false if there is
 * none. */
static bool
subject_init(struct subject *subject, enum nic_random_kind kind)
{
    subject->kind = kind;
    nic_scene_flow_init(&subject->scene, nic_header_flow, "", 1);
    nic_random_seed_bytes(subject->seed);
    packet_build(&subject->packet, subject->seed, nic_random_tunnel(kind));
    return (nic_random_match(kind, &subject->packet, &subject->scene.match)
            && make_rule(subject));
}

/* The NIC. */

/* Asks a NIC whose firmware can do it for the rule.  Returns NULL if there is
 * none. */
static struct rte_flow *
install(struct subject *subject, struct tally *tally)
{
    const struct nic_rule *rule = &subject->rule;
    bool icmp = nic_rule_matches_icmp_fields(rule);
    const struct nic_ports *ports = &nic_ports[icmp ? NIC_PORTS_ICMP
                                               : NIC_PORTS_OPTION];
    struct nic_rule_rte *rte;
    const char *reason;
    struct rte_flow *flow;

    if (subject->kind == NIC_RANDOM_EGRESS) {
        subject->in = ports->representor;
        subject->out = ports->uplink;
    } else {
        subject->in = ports->uplink;
        subject->out = ports->representor;
    }
    rte = nic_rule_to_rte(rule, subject->out);
    flow = nic_ports_create(subject->in, &rte->attr, rte->items, rte->actions,
                            &reason);
    free(rte);                  /* A NIC has copied what it needs. */
    if (!flow && icmp && rule->match.option.length) {
        tally->icmp_and_option++;
    } else if (!flow) {
        fail(subject, reason, NULL, NULL, NULL);
    }
    return flow;
}

/* Returns true if the NIC's rule hits 'p'. */
static bool
check_packet(const struct subject *subject, const struct packet *p)
{
    struct packet nic, software;
    struct flow flow;

    if (!nic_ports_pass(subject->in, subject->out, p, &nic)) {
        return false;
    }
    if (!nic_random_extract(subject->kind, p, &flow)
        || !nic_random_hits(&subject->scene.match, &flow)) {
        fail(subject, "the NIC hits what the flow does not", p, NULL, &nic);
    }
    run_software(subject, p, &software);
    if (subject->kind == NIC_RANDOM_EGRESS) {
        settle_outer(subject, &software, &nic);
    }
    if (software.n != nic.n || memcmp(software.data, nic.data, nic.n)) {
        fail(subject, "the NIC does not do what software does", p, &software,
             &nic);
    }
    return true;
}

static void
check_packets(const struct subject *subject, struct tally *tally)
{
    const struct packet *own = &subject->packet;
    enum nic_tunnel tunnel = nic_random_tunnel(subject->kind);
    uint8_t seed[PACKET_SEED_LEN];
    struct packet p;

    if (!check_packet(subject, own)
        && !nic_random_may_miss(&subject->scene.match.flow, own)) {
        fail(subject, "the NIC misses the flow's own packet", own, NULL, NULL);
    }
    for (int i = 0; i < 40; i++) {
        p = *own;
        packet_flip(&p, random_range(p.n), random_range(8));
        check_packet(subject, &p);
    }
    for (int i = 0; i < 60; i++) {
        memcpy(seed, subject->seed, sizeof seed);
        for (int j = random_range(6); j >= 0; j--) {
            seed[random_range(PACKET_SEED_LEN)] = random_uint32();
        }
        if (i % 10 == 9) {
            nic_random_seed_bytes(seed);
        }
        packet_build(&p, seed, tunnel);
        if (check_packet(subject, &p)) {
            tally->hits++;
        } else {
            tally->misses++;
        }
    }
}

static void
check_flow(enum nic_random_kind kind, struct tally *tally)
{
    struct subject subject;

    if (subject_init(&subject, kind)) {
        struct rte_flow *flow = install(&subject, tally);

        if (flow) {
            tally->rules++;
            check_packets(&subject, tally);
            nic_ports_destroy(subject.in, flow);
        }
    }
    nic_scene_flow_uninit(&subject.scene);
}

/* Whatever is in a flow, the NIC takes its rule. */
static void
check_garbage(enum nic_random_kind kind, struct tally *tally)
{
    struct subject subject = { .kind = kind };
    struct rte_flow *flow;

    nic_scene_flow_init(&subject.scene, nic_header_flow, "", 1);
    nic_random_garbage(kind, &subject.scene.match);
    if (make_rule(&subject)) {
        flow = install(&subject, tally);
        if (flow) {
            tally->garbage++;
            nic_ports_destroy(subject.in, flow);
        }
    }
    nic_scene_flow_uninit(&subject.scene);
}

/* Leads packets to the group of rules B, and those that a rule A has let into
 * a group to a representor, where they are seen. */
static void
set_stage(enum nic_random_kind kind, const struct nic_ports *ports,
          struct rte_flow *stage[2])
{
    stage[0] = stage[1] = NULL;
    if (kind == NIC_RANDOM_OUTER) {
        for (int i = 0; i < 2; i++) {
            stage[i] = nic_ports_create_any(ports->uplink,
                                            NIC_GROUP_GENEVE + i, 0,
                                            ports->representor);
        }
    } else if (kinds[kind].group) {
        stage[0] = nic_ports_create_any(ports->uplink, NIC_GROUP_ENTRY,
                                        kinds[kind].group, 0);
    }
}

static void
check_kind(enum nic_random_kind kind, int n)
{
    struct rte_flow *stage[N_NIC_PORTS][2];
    struct tally tally;

    memset(&tally, 0, sizeof tally);
    for (int i = 0; i < N_NIC_PORTS; i++) {
        set_stage(kind, &nic_ports[i], stage[i]);
    }
    for (int i = 0; i < n; i++) {
        flow_limit_vlans(1 + i % 2);    /* other_config:vlan-limit */
        check_flow(kind, &tally);
        check_garbage(kind, &tally);
    }
    for (int i = 0; i < N_NIC_PORTS; i++) {
        for (int j = 0; j < 2; j++) {
            if (stage[i][j]) {
                nic_ports_destroy(nic_ports[i].uplink, stage[i][j]);
            }
        }
    }
    printf("%s: %u rules for %d flows, %u hits, %u misses, %u rules for as "
           "many flows of garbage, %u refused for ICMP with an option\n",
           kinds[kind].name, tally.rules, n, tally.hits, tally.misses,
           tally.garbage, tally.icmp_and_option);
    /* Else the test would prove nothing. */
    ovs_assert(n < 1000 || (tally.rules > n / 20
                            && tally.hits > tally.misses / 20));
}

static void
test_nic_rule_model(int argc, char *argv[])
{
    int n = argc > 3 ? atoi(argv[3]) : 5000;

    if (argc < 2) {
        ovs_fatal(0, "usage: test-nic-rule-model DIRECTORY [SEED [FLOWS]]");
    }
    odp_execute_init();
    route_test_seed(argc > 2 ? argv[2] : NULL);
    nic_ports_start(argv[1]);
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        check_kind(i, n);
    }
    printf("test-nic-rule-model: %"PRIuSIZE" passed, 0 failed, 0 skipped\n",
           ARRAY_SIZE(kinds));
}

#else /* !DPDK_NETDEV */

static void
test_nic_rule_model(int argc OVS_UNUSED, char *argv[] OVS_UNUSED)
{
    puts("test-nic-rule-model: 0 passed, 0 failed, 1 skipped");
}

#endif /* !DPDK_NETDEV */

OVSTEST_REGISTER("test-nic-rule-model", test_nic_rule_model);
