/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-tally.h"

#include <stdlib.h>

#include "hash.h"
#include "netdev-offload.h"
#include "openvswitch/hmap.h"
#include "ovs-thread.h"
#include "util.h"

struct tally {
    struct hmap_node node;      /* In 'tallies', by 'netdev'. */
    const struct netdev *netdev;
    uint64_t n_flows[];         /* By offload thread. */
};

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static struct hmap tallies OVS_GUARDED_BY(mutex) = HMAP_INITIALIZER(&tallies);

static struct tally *
find(const struct netdev *netdev)
    OVS_REQUIRES(mutex)
{
    struct tally *tally;

    HMAP_FOR_EACH_WITH_HASH (tally, node, hash_pointer(netdev, 0), &tallies) {
        if (tally->netdev == netdev) {
            return tally;
        }
    }
    return NULL;
}

void
nic_tally_add(const struct netdev *netdev, unsigned int thread, int n)
{
    struct tally *tally;

    ovs_mutex_lock(&mutex);
    tally = find(netdev);
    if (!tally) {
        tally = xzalloc(sizeof *tally + (netdev_offload_thread_nb()
                                         * sizeof *tally->n_flows));
        tally->netdev = netdev;
        hmap_insert(&tallies, &tally->node, hash_pointer(netdev, 0));
    }
    tally->n_flows[thread] += n;
    ovs_mutex_unlock(&mutex);
}

void
nic_tally_get(const struct netdev *netdev, uint64_t n_flows[])
{
    const struct tally *tally;

    ovs_mutex_lock(&mutex);
    tally = find(netdev);
    for (size_t i = 0; tally && i < netdev_offload_thread_nb(); i++) {
        n_flows[i] += tally->n_flows[i];
    }
    ovs_mutex_unlock(&mutex);
}

void
nic_tally_remove(const struct netdev *netdev)
{
    struct tally *tally;

    ovs_mutex_lock(&mutex);
    tally = find(netdev);
    if (tally) {
        hmap_remove(&tallies, &tally->node);
        free(tally);
    }
    ovs_mutex_unlock(&mutex);
}
