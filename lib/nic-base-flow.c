/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-base-flow.h"

#include <stdlib.h>

#include "hash.h"
#include "openvswitch/hmap.h"
#include "ovs-thread.h"
#include "util.h"

struct base_flow {
    struct hmap_node node;      /* In 'flows', by 'ufid'. */
    const struct netdev *netdev;
    ovs_u128 ufid;
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

void
nic_base_flow_add(const struct netdev *netdev, const ovs_u128 *ufid)
{
    ovs_mutex_lock(&mutex);
    if (!find(netdev, ufid)) {
        struct base_flow *flow = xmalloc(sizeof *flow);

        flow->netdev = netdev;
        flow->ufid = *ufid;
        hmap_insert(&flows, &flow->node, hash_ufid(ufid));
    }
    ovs_mutex_unlock(&mutex);
}

bool
nic_base_flow_remove(const struct netdev *netdev, const ovs_u128 *ufid)
{
    struct base_flow *flow;

    ovs_mutex_lock(&mutex);
    flow = find(netdev, ufid);
    if (flow) {
        hmap_remove(&flows, &flow->node);
        free(flow);
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
            hmap_remove(&flows, &flow->node);
            free(flow);
        }
    }
    ovs_mutex_unlock(&mutex);
}
