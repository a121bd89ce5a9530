/* SPDX-License-Identifier: Apache-2.0 */

/* Checks what PMD threads' copies of one flow have in common: its rule, and
 * what NICs count for it.
 *
 *     ovstest test-nic-offload-copies [SEED]
 */

#include <config.h>

#undef NDEBUG

#include <string.h>

#include "dpif.h"
#include "dummy.h"
#include "netdev.h"
#include "netdev-offload.h"
#include "netlink.h"
#include "nic-base-flow.h"
#include "nic-count.h"
#include "nic-offload.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "openvswitch/match.h"
#include "openvswitch/ofpbuf.h"
#include "ovs-thread.h"
#include "ovstest.h"
#include "random.h"
#include "route-test.h"
#include "util.h"

/* To a tunnel, and not. */
static struct ofpbuf push, other_push, plain;

static struct netdev *netdev;
static struct match match;
static const ovs_u128 ufid = { .u32 = { 1, 2, 3, 4 } };
static const ovs_u128 other_ufid = { .u32 = { 1, 2, 3, 5 } };

static void
make_flows(void)
{
    struct dpif_port port = { .name = "vm", .type = "dummy",
                              .port_no = u32_to_odp(1) };
    struct ovs_action_push_tnl header;

    dummy_enable(NULL);
    ovs_assert(!netdev_open("vm", "dummy", &netdev));
    netdev_set_dpif_type(netdev, "dummy");
    ovs_assert(!netdev_ports_insert(netdev, &port));
    match_init_catchall(&match);
    match_set_in_port(&match, 1);
    match.flow.in_port.odp_port = u32_to_odp(1);

    memset(&header, 0, sizeof header);
    nl_msg_put_unspec(&push, OVS_ACTION_ATTR_TUNNEL_PUSH, &header,
                      sizeof header);
    header.header[0] = 1;
    nl_msg_put_unspec(&other_push, OVS_ACTION_ATTR_TUNNEL_PUSH, &header,
                      sizeof header);
    nl_msg_put_u32(&plain, OVS_ACTION_ATTR_OUTPUT, 2);
}

static bool
put(const struct ofpbuf *actions)
{
    return nic_offload_put(netdev, &ufid, &match, actions->data,
                           actions->size, ODPP_NONE);
}

static bool
is_stale(const ovs_u128 *id, const struct ofpbuf *actions)
{
    return nic_offload_is_stale(id, actions->data, actions->size);
}

static bool
is_known(void)
{
    struct dpif_flow_attrs attrs;

    return nic_offload_get(netdev, &ufid, &attrs);
}

static void
check_stale(void)
{
    /* Of what is not here nothing is known. */
    ovs_assert(!is_stale(&ufid, &push));

    ovs_assert(put(&push));
    ovs_assert(!is_stale(&ufid, &push) && !is_stale(&other_ufid, &plain));
    ovs_assert(is_stale(&ufid, &other_push) && is_stale(&ufid, &plain));
    ovs_assert(put(&other_push));
    ovs_assert(is_stale(&ufid, &push) && !is_stale(&ufid, &other_push));
    ovs_assert(nic_offload_del(netdev, &ufid) && !is_stale(&ufid, &push));

    /* The base's flows. */
    ovs_assert(!put(&plain) && !is_known());
    nic_base_flow_add(netdev, &ufid, plain.data, plain.size);
    ovs_assert(!is_stale(&ufid, &plain) && is_stale(&ufid, &push));
    nic_base_flow_add(netdev, &ufid, push.data, push.size);
    ovs_assert(is_stale(&ufid, &plain) && !is_stale(&ufid, &push));
    ovs_assert(!is_stale(&other_ufid, &plain));
    ovs_assert(nic_base_flow_remove(netdev, &ufid));
    ovs_assert(!is_stale(&ufid, &plain));
}

/* Flows of the same values and other masks have names of their own. */
static void
check_masks(void)
{
    ovs_u128 first = ufid, second = ufid, third = ufid, fourth = other_ufid;
    struct match same = match;

    nic_offload_mix_masks(&first, &match.wc);
    nic_offload_mix_masks(&second, &same.wc);
    ovs_assert(ovs_u128_equals(first, second));
    nic_offload_mix_masks(&fourth, &same.wc);
    ovs_assert(!ovs_u128_equals(first, fourth));

    same.wc.masks.nw_dst = htonl(0xffffff00);
    nic_offload_mix_masks(&third, &same.wc);
    ovs_assert(!ovs_u128_equals(first, third));

    /* Not where translation keeps its table. */
    same = match;
    same.wc.masks.tunnel.metadata.tab = (const struct tun_table *) &same;
    third = ufid;
    nic_offload_mix_masks(&third, &same.wc);
    ovs_assert(ovs_u128_equals(first, third));
}

/* What 'copy' is told now. */
static struct dpif_flow_stats
told(const void *copy)
{
    struct dpif_flow_stats stats = { .n_packets = 0 };

    nic_count_claim(&ufid, copy, &stats);
    return stats;
}

/* A flow that leaves the tunnel stays known, and in software. */
static void
check_plain(void)
{
    struct dpif_flow_attrs attrs;

    ovs_assert(put(&push));
    ovs_assert(!put(&plain));
    ovs_assert(nic_offload_get(netdev, &ufid, &attrs));
    ovs_assert(!attrs.offloaded && !strcmp(attrs.dp_layer, "ovs"));
    ovs_assert(put(&push));
    ovs_assert(nic_offload_del(netdev, &ufid) && !is_known());
}

/* Says that the base tells of so many packets. */
static bool
base_tells(uint64_t packets, uint64_t bytes)
{
    struct dpif_flow_stats stats = { .n_packets = packets, .n_bytes = bytes,
                                     .used = packets };

    return nic_base_flow_count(netdev, &ufid, &stats);
}

/* What the base tells may shrink; what was told before stays, over its flow's
 * end and becoming a tunnel's, while there is a copy. */
static void
check_base_counts(void)
{
    int copy;

    ovs_assert(!base_tells(7, 700));
    ovs_assert(!told(&copy).n_packets);
    nic_base_flow_add(netdev, &ufid, plain.data, plain.size);
    ovs_assert(base_tells(7, 700));
    ovs_assert(told(&copy).n_packets == 7 && told(&copy).n_bytes == 700);
    ovs_assert(told(&copy).used == 7);
    ovs_assert(base_tells(0, 0));
    ovs_assert(told(&copy).n_packets == 7 && told(&copy).n_bytes == 700);
    nic_base_flow_add(netdev, &ufid, push.data, push.size);
    ovs_assert(base_tells(8, 0));
    ovs_assert(told(&copy).n_packets == 8 && told(&copy).n_bytes == 700);

    ovs_assert(put(&push));
    ovs_assert(told(&copy).n_packets == 8 && told(&copy).n_bytes == 700);
    ovs_assert(base_tells(9, 900));
    ovs_assert(nic_base_flow_remove(netdev, &ufid));
    ovs_assert(told(&copy).n_packets == 9 && told(&copy).n_bytes == 900);
    ovs_assert(nic_offload_del(netdev, &ufid));
    ovs_assert(told(&copy).n_packets == 9 && told(&copy).n_bytes == 900);
    nic_base_flow_add(netdev, &ufid, plain.data, plain.size);
    ovs_assert(base_tells(2, 200));
    ovs_assert(told(&copy).n_packets == 11 && told(&copy).n_bytes == 1100);

    /* Nobody is left who was told anything. */
    nic_base_flow_remove_all(netdev);
    nic_count_disclaim(&ufid, &copy);
    ovs_assert(!told(&copy).n_packets);
}

/* Copies come and go, and what they are told adds up to what NICs counted.
 * Addresses are used again.  Those who count come and go, too. */

enum { N_COPIES = 4, N_COUNTERS = 3 };

struct copy {
    bool alive;
    uint64_t told;
};

static void
ask(struct copy *copy)
{
    struct dpif_flow_stats stats = told(copy);

    ovs_assert(stats.n_bytes == 100 * stats.n_packets);
    ovs_assert(stats.n_packets >= copy->told);
    copy->told = stats.n_packets;
}

static void
check_claims(void)
{
    /* The first stays. */
    struct nic_count *counters[N_COUNTERS] = { nic_count_get(&ufid) };
    struct nic_count *other = nic_count_get(&other_ufid);
    struct copy copies[N_COPIES];
    uint64_t total = 0, sum = 0;

    memset(copies, 0, sizeof copies);
    for (int i = 0; i < 100000; i++) {
        struct nic_count **counter = &counters[random_range(N_COUNTERS)];
        struct copy *copy = &copies[random_range(N_COPIES)];

        if (!*counter) {
            *counter = (random_range(2) ? nic_count_get(&ufid)
                        : nic_count_ref(counters[0]));
        } else if (random_range(4) || counter == counters) {
            uint64_t more = random_range(3);
            struct dpif_flow_stats stats = { .n_packets = more,
                                             .n_bytes = 100 * more };

            nic_count_add(*counter, &stats);
            nic_count_add(other, &stats);
            total += more;
        } else {
            nic_count_unref(*counter);
            *counter = NULL;
        }

        if (!copy->alive) {
            *copy = (struct copy) { .alive = true };
        } else if (random_range(4)) {
            uint64_t before = copy->told;

            ask(copy);
            sum += copy->told - before;
            ovs_assert(sum == total);
        } else {
            nic_count_disclaim(&ufid, copy);
            copy->alive = false;
        }
    }
    nic_count_unref(other);
    for (int i = 0; i < N_COUNTERS; i++) {
        nic_count_unref(counters[i]);
    }
    for (int i = 0; i < N_COPIES; i++) {
        nic_count_disclaim(&ufid, &copies[i]);
    }
    ovs_assert(!told(copies).n_packets);
}

static void *
check(void *aux OVS_UNUSED)
{
    make_flows();
    check_stale();
    check_masks();
    check_plain();
    check_base_counts();
    check_claims();
    return NULL;
}

static void
test_nic_offload_copies(int argc, char *argv[])
{
    route_test_seed(argc > 1 ? argv[1] : NULL);
    /* As which all this is done. */
    xpthread_join(ovs_thread_create("hw_offload", check, NULL), NULL);
}

OVSTEST_REGISTER("test-nic-offload-copies", test_nic_offload_copies);
