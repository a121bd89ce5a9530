/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-count.h"

#include <stdlib.h>

#include "cmap.h"
#include "dpif.h"
#include "hash.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "util.h"

/* The share of a copy. */
struct claim {
    const void *copy;
    uint64_t packets, bytes;
};

struct nic_count {
    struct cmap_node node;      /* In 'counts', by 'ufid'. */
    ovs_u128 ufid;

    struct ovs_mutex mutex;     /* Inside 'counts_mutex'. */
    size_t n_refs OVS_GUARDED;
    uint64_t packets OVS_GUARDED, bytes OVS_GUARDED;
    long long int used OVS_GUARDED;
    uint64_t told_packets OVS_GUARDED, told_bytes OVS_GUARDED; /* Ever. */
    struct claim *claims OVS_GUARDED;
    size_t n_claims OVS_GUARDED;
};

static struct ovs_mutex counts_mutex = OVS_MUTEX_INITIALIZER;
static struct cmap counts = CMAP_INITIALIZER;   /* Written with the mutex. */

static uint32_t
hash_ufid(const ovs_u128 *ufid)
{
    return hash_bytes(ufid, sizeof *ufid, 0);
}

static struct nic_count *
find(const ovs_u128 *ufid)
{
    struct nic_count *count;

    CMAP_FOR_EACH_WITH_HASH (count, node, hash_ufid(ufid), &counts) {
        if (ovs_u128_equals(count->ufid, *ufid)) {
            return count;
        }
    }
    return NULL;
}

static void
free_count(struct nic_count *count)
    OVS_NO_THREAD_SAFETY_ANALYSIS       /* Nobody else knows it. */
{
    ovs_mutex_destroy(&count->mutex);
    free(count->claims);
    free(count);
}

static bool
is_used(const struct nic_count *count)
    OVS_REQUIRES(count->mutex)
{
    return count->n_refs || count->n_claims;
}

/* Forgets 'count' unless somebody refers to it or has a share. */
static void
check_use(struct nic_count *count)
    OVS_REQUIRES(counts_mutex, count->mutex)
{
    if (!is_used(count)) {
        cmap_remove(&counts, &count->node, hash_ufid(&count->ufid));
        ovsrcu_postpone(free_count, count);
    }
}

struct nic_count *
nic_count_get(const ovs_u128 *ufid)
{
    struct nic_count *count;

    ovs_mutex_lock(&counts_mutex);
    count = find(ufid);
    if (!count) {
        count = xzalloc(sizeof *count);
        count->ufid = *ufid;
        ovs_mutex_init(&count->mutex);
        cmap_insert(&counts, &count->node, hash_ufid(ufid));
    }
    nic_count_ref(count);
    ovs_mutex_unlock(&counts_mutex);
    return count;
}

struct nic_count *
nic_count_ref(struct nic_count *count)
{
    ovs_mutex_lock(&count->mutex);
    count->n_refs++;
    ovs_mutex_unlock(&count->mutex);
    return count;
}

void
nic_count_unref(struct nic_count *count)
{
    if (count) {
        ovs_mutex_lock(&counts_mutex);
        ovs_mutex_lock(&count->mutex);
        count->n_refs--;
        check_use(count);
        ovs_mutex_unlock(&count->mutex);
        ovs_mutex_unlock(&counts_mutex);
    }
}

void
nic_count_add(struct nic_count *count, const struct dpif_flow_stats *stats)
{
    ovs_mutex_lock(&count->mutex);
    count->packets += stats->n_packets;
    count->bytes += stats->n_bytes;
    count->used = MAX(count->used, stats->used);
    ovs_mutex_unlock(&count->mutex);
}

/* Returns NULL if 'copy' has no share. */
static struct claim *
find_claim(struct nic_count *count, const void *copy)
    OVS_REQUIRES(count->mutex)
{
    for (size_t i = 0; i < count->n_claims; i++) {
        if (count->claims[i].copy == copy) {
            return &count->claims[i];
        }
    }
    return NULL;
}

static struct claim *
get_claim(struct nic_count *count, const void *copy)
    OVS_REQUIRES(count->mutex)
{
    struct claim *claim = find_claim(count, copy);

    if (!claim) {
        count->claims = xrealloc(count->claims, (count->n_claims + 1)
                                 * sizeof *count->claims);
        claim = &count->claims[count->n_claims++];
        *claim = (struct claim) { .copy = copy };
    }
    return claim;
}

void
nic_count_claim(const ovs_u128 *ufid, const void *copy,
                struct dpif_flow_stats *stats)
{
    struct nic_count *count;

    /* So that nothing is computed where no NIC has flows. */
    count = cmap_is_empty(&counts) ? NULL : find(ufid);
    if (!count) {
        return;
    }
    ovs_mutex_lock(&count->mutex);
    if (is_used(count)) {
        struct claim *claim = get_claim(count, copy);

        claim->packets += count->packets - count->told_packets;
        claim->bytes += count->bytes - count->told_bytes;
        count->told_packets = count->packets;
        count->told_bytes = count->bytes;
        stats->n_packets += claim->packets;
        stats->n_bytes += claim->bytes;
        stats->used = MAX(stats->used, count->used);
    }
    ovs_mutex_unlock(&count->mutex);
}

void
nic_count_disclaim(const ovs_u128 *ufid, const void *copy)
{
    struct nic_count *count;

    if (cmap_is_empty(&counts)) {
        return;
    }
    ovs_mutex_lock(&counts_mutex);
    count = find(ufid);
    if (count) {
        struct claim *claim;

        ovs_mutex_lock(&count->mutex);
        claim = find_claim(count, copy);
        if (claim) {
            *claim = count->claims[--count->n_claims];
            check_use(count);
        }
        ovs_mutex_unlock(&count->mutex);
    }
    ovs_mutex_unlock(&counts_mutex);
}
