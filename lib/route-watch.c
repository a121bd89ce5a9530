/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "route-watch.h"

#include <stdlib.h>
#include <string.h>

#include "cmap.h"
#include "coverage.h"
#include "hash.h"
#include "ovs-atomic.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "packets.h"
#include "route.h"
#include "util.h"

COVERAGE_DEFINE(route_watch_overflow);

/* A destination, for whoever notes it again. */
struct watch {
    struct cmap_node node;      /* In 'watches'. */
    struct in6_addr dst;
};

/* The destinations of one family, for whoever asks about a prefix.  New ones
 * are appended and sorted in when that question comes. */
struct watch_list {
    struct in6_addr *dsts;
    size_t n, allocated;
    size_t n_sorted;            /* The first so many are in order. */
};

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static struct cmap watches = CMAP_INITIALIZER;
static struct watch_list lists[2] OVS_GUARDED_BY(mutex);   /* [ipv6] */
static atomic_bool overflowed = ATOMIC_VAR_INIT(false);

static uint32_t
hash_dst(const struct in6_addr *dst)
{
    return hash_bytes(dst, sizeof *dst, 0);
}

static bool
is_watched(const struct in6_addr *dst, uint32_t hash)
{
    const struct watch *watch;

    CMAP_FOR_EACH_WITH_HASH (watch, node, hash, &watches) {
        if (ipv6_addr_equals(&watch->dst, dst)) {
            return true;
        }
    }
    return false;
}

static void
clear(void)
    OVS_REQUIRES(mutex)
{
    struct watch *watch;

    CMAP_FOR_EACH (watch, node, &watches) {
        cmap_remove(&watches, &watch->node, hash_dst(&watch->dst));
        ovsrcu_postpone(free, watch);
    }
    for (int i = 0; i < ARRAY_SIZE(lists); i++) {
        lists[i].n = lists[i].n_sorted = 0;
    }
}

void
route_watch_init(void)
{
    ovs_mutex_lock(&mutex);
    clear();
    atomic_store(&overflowed, false);
    ovs_mutex_unlock(&mutex);
}

void
route_watch_add(const struct in6_addr *dst)
{
    uint32_t hash = hash_dst(dst);
    struct watch_list *list;
    struct watch *watch;

    if (OVS_LIKELY(is_watched(dst, hash))) {
        return;
    }

    ovs_mutex_lock(&mutex);
    if (!is_watched(dst, hash)) {
        if (cmap_count(&watches) >= ROUTE_WATCH_MAX) {
            COVERAGE_INC(route_watch_overflow);
            clear();
            atomic_store(&overflowed, true);
        }

        list = &lists[!IN6_IS_ADDR_V4MAPPED(dst)];
        if (list->n >= list->allocated) {
            list->dsts = x2nrealloc(list->dsts, &list->allocated,
                                    sizeof *list->dsts);
        }
        list->dsts[list->n++] = *dst;

        watch = xmalloc(sizeof *watch);
        watch->dst = *dst;
        cmap_insert(&watches, &watch->node, hash);
    }
    ovs_mutex_unlock(&mutex);
}

static int
compare_dsts(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct in6_addr));
}

/* Merges the unsorted tail of 'list' into its sorted part, from the end so
 * that only the tail needs a copy. */
static void
sort_list(struct watch_list *list)
{
    size_t n_tail = list->n - list->n_sorted;
    size_t i = list->n_sorted;
    struct in6_addr *tail;

    if (!n_tail) {
        return;
    }

    tail = xmemdup(&list->dsts[i], n_tail * sizeof *tail);
    qsort(tail, n_tail, sizeof *tail, compare_dsts);
    for (size_t j = n_tail; j > 0; ) {
        if (i > 0 && compare_dsts(&list->dsts[i - 1], &tail[j - 1]) > 0) {
            list->dsts[i + j - 1] = list->dsts[i - 1];
            i--;
        } else {
            list->dsts[i + j - 1] = tail[j - 1];
            j--;
        }
    }
    free(tail);
    list->n_sorted = list->n;
}

bool
route_watch_covers(bool ipv6, const struct in6_addr *prefix, uint8_t plen)
{
    struct in6_addr first = route_prefix_mask(prefix, plen);
    struct watch_list *list;
    size_t low, high;
    bool covers;

    ovs_mutex_lock(&mutex);
    list = &lists[ipv6];
    sort_list(list);

    /* The lowest destination that is not below the prefix. */
    low = 0;
    high = list->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_dsts(&list->dsts[middle], &first) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    covers = (low < list->n
              && route_prefix_contains(&first, plen, &list->dsts[low]));
    ovs_mutex_unlock(&mutex);

    return covers;
}

bool
route_watch_overflowed(void)
{
    bool was = true;

    /* Tried first with a plain read: this is asked at each change. */
    atomic_read_relaxed(&overflowed, &was);
    return was && atomic_compare_exchange_strong(&overflowed, &was, false);
}

size_t
route_watch_count(void)
{
    return cmap_count(&watches);
}
