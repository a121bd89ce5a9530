/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-base-flow.h"

#include <stdlib.h>

#include "dpif.h"
#include "hash.h"
#include "netdev-offload.h"
#include "nic-count.h"
#include "openvswitch/hmap.h"
#include "ovs-thread.h"
#include "util.h"

struct base_flow {
    struct hmap_node node;      /* In 'flows', by 'ufid'. */
    const struct netdev *netdev;
    ovs_u128 ufid;
    ovs_u128 actions;           /* Their hash. */
    unsigned int thread;        /* That put it. */
    bool lost;                  /* No NIC has it. */
    struct nic_count *count;
    uint64_t packets, bytes;    /* The most that the base ever told. */
};

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static struct hmap flows OVS_GUARDED_BY(mutex) = HMAP_INITIALIZER(&flows);

static uint32_t
hash_ufid(const ovs_u128 *ufid)
{
    return hash_bytes(ufid, sizeof *ufid, 0);
}

static struct base_flow *
find(const struct netdev *netdev, const ovs_u128 *ufid)
    OVS_REQUIRES(mutex)
{
    struct base_flow *flow;

    HMAP_FOR_EACH_WITH_HASH (flow, node, hash_ufid(ufid), &flows) {
        if (flow->netdev == netdev && ovs_u128_equals(flow->ufid, *ufid)) {
            return flow;
        }
    }
    return NULL;
}

static void
destroy(struct base_flow *flow)
    OVS_REQUIRES(mutex)
{
    hmap_remove(&flows, &flow->node);
    nic_count_unref(flow->count);
    free(flow);
}

void
nic_base_flow_add(const struct netdev *netdev, const ovs_u128 *ufid,
                  const struct nlattr *actions, size_t actions_len)
{
    struct base_flow *flow;

    ovs_mutex_lock(&mutex);
    flow = find(netdev, ufid);
    if (!flow) {
        flow = xzalloc(sizeof *flow);
        flow->netdev = netdev;
        flow->ufid = *ufid;
        flow->count = nic_count_get(ufid);
        hmap_insert(&flows, &flow->node, hash_ufid(ufid));
    }
    hash_bytes128(actions, actions_len, 0, &flow->actions);
    flow->thread = netdev_offload_thread_id();
    flow->lost = false;
    ovs_mutex_unlock(&mutex);
}

bool
nic_base_flow_remove(const struct netdev *netdev, const ovs_u128 *ufid)
{
    struct base_flow *flow;

    ovs_mutex_lock(&mutex);
    flow = find(netdev, ufid);
    if (flow) {
        destroy(flow);
    }
    ovs_mutex_unlock(&mutex);
    return flow != NULL;
}

bool
nic_base_flow_is_stale(const ovs_u128 *ufid, const struct nlattr *actions,
                       size_t actions_len)
{
    struct base_flow *flow;
    bool stale = false;
    ovs_u128 hash;

    hash_bytes128(actions, actions_len, 0, &hash);
    ovs_mutex_lock(&mutex);
    HMAP_FOR_EACH_WITH_HASH (flow, node, hash_ufid(ufid), &flows) {
        if (ovs_u128_equals(flow->ufid, *ufid)) {
            stale |= !ovs_u128_equals(flow->actions, hash);
        }
    }
    ovs_mutex_unlock(&mutex);
    return stale;
}

bool
nic_base_flow_count(const struct netdev *netdev, const ovs_u128 *ufid,
                    const struct dpif_flow_stats *stats)
{
    struct base_flow *flow;

    ovs_mutex_lock(&mutex);
    flow = find(netdev, ufid);
    if (flow) {
        struct dpif_flow_stats more = { .used = stats->used };

        more.n_packets = stats->n_packets - MIN(stats->n_packets,
                                                flow->packets);
        more.n_bytes = stats->n_bytes - MIN(stats->n_bytes, flow->bytes);
        flow->packets += more.n_packets;
        flow->bytes += more.n_bytes;
        nic_count_add(flow->count, &more);
    }
    ovs_mutex_unlock(&mutex);
    return flow != NULL;
}

void
nic_base_flow_remove_all(const struct netdev *netdev)
{
    struct base_flow *flow;

    ovs_mutex_lock(&mutex);
    HMAP_FOR_EACH_SAFE (flow, node, &flows) {
        if (flow->netdev == netdev) {
            destroy(flow);
        }
    }
    ovs_mutex_unlock(&mutex);
}

void
nic_base_flow_lose_all(const struct netdev *netdev)
{
    struct base_flow *flow;

    ovs_mutex_lock(&mutex);
    HMAP_FOR_EACH (flow, node, &flows) {
        flow->lost |= flow->netdev == netdev;
    }
    ovs_mutex_unlock(&mutex);
}

bool
nic_base_flow_is_lost(const struct netdev *netdev, const ovs_u128 *ufid)
{
    struct base_flow *flow;
    bool lost;

    ovs_mutex_lock(&mutex);
    flow = find(netdev, ufid);
    lost = flow && flow->lost;
    ovs_mutex_unlock(&mutex);
    return lost;
}

void
nic_base_flow_subtract_lost(const struct netdev *netdev, uint64_t n_flows[])
{
    struct base_flow *flow;

    ovs_mutex_lock(&mutex);
    HMAP_FOR_EACH (flow, node, &flows) {
        if (flow->netdev == netdev && flow->lost && n_flows[flow->thread]) {
            n_flows[flow->thread]--;
        }
    }
    ovs_mutex_unlock(&mutex);
}
