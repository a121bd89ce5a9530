/* SPDX-License-Identifier: Apache-2.0 */

/* Checks rules against the eSwitch model (tests/eswitch), which is preloaded:
 * the NIC takes every rule that we make of a random flow, does with each
 * packet what the datapath does, and nothing with a packet that the flow does
 * not match.  Of packets with a fault that NICs do not see, it makes what it
 * makes of the same ones without.
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
    struct packet right;                /* 'packet' without its fault. */
    struct nic_rule rule;
    uint16_t in, out;           /* Ports of DPDK. */
};

struct tally {
    unsigned int rules, hits, misses;
    unsigned int garbage;       /* Rules of flows that no datapath has. */
    unsigned int icmp_and_option;       /* Refusals. */
    unsigned int excused[N_PACKET_FAULTS];      /* Hits of such packets. */
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

/* Builds '*p', once in a while with a fault, and the same without one. */
static void
build(struct packet *p, struct packet *right,
      const uint8_t seed[PACKET_SEED_LEN], enum nic_random_kind kind)
{
    enum packet_fault fault = (random_range(6) ? PACKET_RIGHT
                               : random_range(N_PACKET_FAULTS));
    /* Padding at most, headers cut, all lengths, too long by little. */
    int error = (random_range(3) == 0 ? -random_range(13)
                 : random_range(3) ? -random_range(100)
                 : random_range(4) == 0 ? random_uint32()
                 : 1 + random_range(8));

    packet_build(right, seed, nic_random_tunnel(kind));
    packet_build_faulty(p, seed, nic_random_tunnel(kind), fault, error);
}

/* Makes '*subject' a random flow with its rule.  Returns false if there is
 * none. */
static bool
subject_init(struct subject *subject, enum nic_random_kind kind)
{
    subject->kind = kind;
    nic_scene_flow_init(&subject->scene, nic_header_flow, "", 1);
    nic_random_seed_bytes(subject->seed);
    build(&subject->packet, &subject->right, subject->seed, kind);
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

/* Returns NULL if it is right that the NIC makes '*nic' of 'p', otherwise the
 * reason.  Stores in '*software' what software makes of it, if anything. */
static const char *
judge(const struct subject *subject, const struct packet *p,
      const struct packet *nic, struct packet *software)
{
    struct flow flow;

    software->n = 0;
    if (!nic_random_extract(subject->kind, p, &flow)
        || !nic_random_hits(&subject->scene.match, &flow)) {
        return "the NIC hits what the flow does not";
    }
    run_software(subject, p, software);
    if (subject->kind == NIC_RANDOM_EGRESS) {
        settle_outer(subject, software, nic);
    }
    if (software->n != nic->n || memcmp(software->data, nic->data, nic->n)) {
        return "the NIC does not do what software does";
    }
    return NULL;
}

/* Makes the length that is wrong in 'p', and with it the checksum, in '*nic',
 * which the NIC makes of 'p', as it is in 'right', if the header is still
 * there: nothing that follows it changes its size. */
static void
mend_length(const struct packet *p, struct packet *nic,
            const struct packet *right)
{
    size_t rest = p->n - p->wrong;
    size_t l3 = nic->n - rest;

    if (p->fault == PACKET_OUTER_OPTIONS || nic->n < rest) {
        return;
    } else if (p->data[p->wrong] >> 4 == 6) {
        memcpy(&nic->data[l3 + 4], &right->data[l3 + 4], 2);
    } else {
        memcpy(&nic->data[l3 + 2], &right->data[l3 + 2], 2);
        memcpy(&nic->data[l3 + 10], &right->data[l3 + 10], 2);
    }
}

/* A NIC does not see the fault that 'p' has: what it does with it is what it
 * rightly does with the same packet, 'right', without the fault. */
static void
check_faulty(const struct subject *subject, const struct packet *p,
             const struct packet *right, struct packet *nic)
{
    struct packet other, software;
    const char *why;

    if (!nic_ports_pass(subject->in, subject->out, right, &other)) {
        fail(subject, "the NIC sees a fault", p, right, nic);
    }
    why = judge(subject, right, &other, &software);
    if (why) {
        fail(subject, why, right, &software, &other);
    }
    mend_length(p, nic, &other);
    if (other.n != nic->n || memcmp(other.data, nic->data, nic->n)) {
        fail(subject, "the NIC does something else with a fault", p, &other,
             nic);
    }
}

/* Returns true if the NIC's rule hits 'p', which is 'right' but for a
 * fault. */
static bool
check_packet(const struct subject *subject, const struct packet *p,
             const struct packet *right, struct tally *tally)
{
    struct packet nic, software;
    const char *why;

    if (!nic_ports_pass(subject->in, subject->out, p, &nic)) {
        return false;
    }
    why = judge(subject, p, &nic, &software);
    if (why && p->fault == PACKET_RIGHT) {
        fail(subject, why, p, &software, &nic);
    } else if (why) {
        check_faulty(subject, p, right, &nic);
        tally->excused[p->fault]++;
    }
    return true;
}

/* True if software sees a fault in 'p', so that a flow of 'p' may be none of
 * what a NIC sees. */
static bool
is_seen(enum nic_random_kind kind, const struct packet *p,
        const struct packet *right)
{
    struct flow flow, other;

    return (p->fault != PACKET_RIGHT
            && (!nic_random_extract(kind, p, &flow)
                || !nic_random_extract(kind, right, &other)
                || !flow_equal(&flow, &other)));
}

static void
check_packets(const struct subject *subject, struct tally *tally)
{
    const struct packet *own = &subject->packet;
    uint8_t seed[PACKET_SEED_LEN];
    struct packet p, right;

    if (!check_packet(subject, own, &subject->right, tally)
        && !nic_random_may_miss(&subject->scene.match.flow, own)
        && !is_seen(subject->kind, own, &subject->right)) {
        fail(subject, "the NIC misses the flow's own packet", own, NULL, NULL);
    }
    for (int i = 0; i < 40; i++) {
        p = subject->right;
        packet_flip(&p, random_range(p.n), random_range(8));
        check_packet(subject, &p, NULL, tally);
    }
    for (int i = 0; i < 60; i++) {
        memcpy(seed, subject->seed, sizeof seed);
        for (int j = random_range(6); j >= 0; j--) {
            seed[random_range(PACKET_SEED_LEN)] = random_uint32();
        }
        if (i % 10 == 9) {
            nic_random_seed_bytes(seed);
        }
        build(&p, &right, seed, subject->kind);
        if (check_packet(subject, &p, &right, tally)) {
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

/* True if each kind of fault that concerns rules of 'kind' was met. */
static bool
are_all_excused(enum nic_random_kind kind, const struct tally *tally)
{
    const unsigned int *excused = tally->excused;

    /* To rules A, options are those of any packet, and what is inner is
     * payload. */
    return ((kind == NIC_RANDOM_EGRESS || excused[PACKET_OUTER_LENGTH])
            && (kind == NIC_RANDOM_OUTER || excused[PACKET_INNER_LENGTH])
            && (kind < NIC_RANDOM_INNER || excused[PACKET_OUTER_OPTIONS]));
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
           "many flows of garbage, %u refused for ICMP with an option, hits "
           "that software would not do: %u outer options, %u outer lengths, "
           "%u inner lengths\n",
           kinds[kind].name, tally.rules, n, tally.hits, tally.misses,
           tally.garbage, tally.icmp_and_option,
           tally.excused[PACKET_OUTER_OPTIONS],
           tally.excused[PACKET_OUTER_LENGTH],
           tally.excused[PACKET_INNER_LENGTH]);
    /* Else the test would prove nothing. */
    ovs_assert(n < 1000 || (tally.rules > n / 20
                            && tally.hits > tally.misses / 20
                            && are_all_excused(kind, &tally)));
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
