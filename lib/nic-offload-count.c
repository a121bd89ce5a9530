/* SPDX-License-Identifier: Apache-2.0 */

/* What NICs counted for flows, and to whom it is told. */

#include <config.h>

#include "nic-offload.h"

#include "dpif.h"
#include "nic-ethdev.h"
#include "nic-offload-private.h"
#include "ovs-thread.h"
#include "util.h"

bool
nic_offload_get(const struct netdev *netdev, const ovs_u128 *ufid,
                struct dpif_flow_stats *stats, struct dpif_flow_attrs *attrs)
{
    struct nic_offload *offload;

    ovs_rwlock_rdlock(&nic_ethdev_rwlock);
    offload = nic_offload_find(netdev, ufid);
    if (offload) {
        if (!ovs_mutex_trylock(&offload->mutex)) {
            nic_offload_refresh(offload);
            ovs_mutex_unlock(&offload->mutex);
        }
        ovs_mutex_lock(&offload->last_mutex);
        *stats = offload->stats;
        attrs->offloaded = offload->counted != NULL;
        attrs->dp_layer = (attrs->offloaded && !offload->partial
                           && offload->why == NIC_OFFLOADABLE
                           ? "dpdk" : "ovs");
        ovs_mutex_unlock(&offload->last_mutex);
    }
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
    return offload != NULL;
}

void
nic_offload_add_stats(const struct netdev *netdev, const ovs_u128 *ufid,
                      const struct dpif_flow_stats *stats)
{
    struct nic_offload *offload;

    ovs_rwlock_rdlock(&nic_ethdev_rwlock);
    offload = nic_offload_find(netdev, ufid);
    if (offload) {
        ovs_mutex_lock(&offload->mutex);
        offload->past.n_packets += stats->n_packets;
        offload->past.n_bytes += stats->n_bytes;
        offload->past.used = MAX(offload->past.used, stats->used);
        ovs_mutex_unlock(&offload->mutex);
    }
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
}

/* Returns NULL if 'copy' has claimed nothing. */
static struct nic_claim *
find_claim(struct nic_offload *offload, const void *copy)
    OVS_REQUIRES(offload->last_mutex)
{
    for (size_t i = 0; i < offload->n_claims; i++) {
        if (offload->claims[i].copy == copy) {
            return &offload->claims[i];
        }
    }
    return NULL;
}

static struct nic_claim *
get_claim(struct nic_offload *offload, const void *copy)
    OVS_REQUIRES(offload->last_mutex)
{
    struct nic_claim *claim = find_claim(offload, copy);

    if (!claim) {
        offload->claims = xrealloc(offload->claims, (offload->n_claims + 1)
                                   * sizeof *offload->claims);
        claim = &offload->claims[offload->n_claims++];
        *claim = (struct nic_claim) { .copy = copy };
    }
    return claim;
}

/* Adds to '*share' what '*total' has grown by since '*claimed'. */
static void
claim_growth(uint64_t *share, uint64_t *claimed, uint64_t total)
{
    if (total > *claimed) {
        *share += total - *claimed;
        *claimed = total;
    }
}

void
nic_offload_claim(const struct netdev *netdev, const ovs_u128 *ufid,
                  const void *copy, struct dpif_flow_stats *stats)
{
    struct nic_offload *offload;

    ovs_rwlock_rdlock(&nic_ethdev_rwlock);
    offload = nic_offload_find(netdev, ufid);
    if (offload) {
        struct nic_claim *claim;

        ovs_mutex_lock(&offload->last_mutex);
        claim = get_claim(offload, copy);
        claim_growth(&claim->packets, &offload->claimed_packets,
                     stats->n_packets);
        claim_growth(&claim->bytes, &offload->claimed_bytes, stats->n_bytes);
        stats->n_packets = claim->packets;
        stats->n_bytes = claim->bytes;
        ovs_mutex_unlock(&offload->last_mutex);
    }
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
}

void
nic_offload_disclaim(const ovs_u128 *ufid, const void *copy)
{
    struct nic_offload *offload;

    ovs_rwlock_rdlock(&nic_ethdev_rwlock);
    offload = nic_offload_find_any(ufid);
    if (offload) {
        struct nic_claim *claim;

        ovs_mutex_lock(&offload->last_mutex);
        claim = find_claim(offload, copy);
        if (claim) {
            *claim = offload->claims[--offload->n_claims];
        }
        ovs_mutex_unlock(&offload->last_mutex);
    }
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
}
