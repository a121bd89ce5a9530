/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "route-fib.h"

#include <stdlib.h>

#include "route-filter.h"
#include "route-prefix.h"
#include "util.h"

/* The bits of the TOS byte that the kernel compares with a route's. */
#define ROUTE_FIB_TOS_MASK 0x1c

static struct route_filter *
get_filter(const struct route_fib *fib)
{
    return ovsrcu_get(struct route_filter *, &fib->filter);
}

struct route_fib *
route_fib_create(uint32_t id, bool ipv6)
{
    struct route_fib *fib = xzalloc(sizeof *fib);

    fib->id = id;
    fib->ipv6 = ipv6;
    cmap_init(&fib->routes);
    ovsrcu_init(&fib->filter, route_filter_create(0));
    for (size_t i = 0; i < ARRAY_SIZE(fib->plens); i++) {
        atomic_init(&fib->plens[i], 0);
    }
    atomic_init(&fib->n_marked, 0);
    atomic_init(&fib->n_sourced, 0);
    atomic_init(&fib->version, 0);
    return fib;
}

void
route_fib_destroy(struct route_fib *fib)
{
    struct route *route;

    if (!fib) {
        return;
    }

    ROUTE_FIB_FOR_EACH (route, fib) {
        route_destroy(route);
    }
    cmap_destroy(&fib->routes);
    route_filter_destroy(get_filter(fib));
    free(fib);
}

uint32_t
route_fib_hash(const struct route *route)
{
    return route_bits_hash(route_bits_get(&route->dst), route->dst_plen);
}

static bool
same_prefix(const struct route *route, struct route_bits dst, uint8_t plen)
{
    return route->dst_plen == plen
           && route_bits_equal(route_bits_get(&route->dst), dst);
}

/* Negative if 'a' is asked before 'b', of two routes for one prefix.  This
 * does not depend on the query, because only routes that fit it compete: two
 * that differ in mark or TOS compete only if one of them has none, and two
 * source prefixes of one length never do (the address is there for order in
 * lists). */
static int
compare_precedence(const struct route *a, const struct route *b)
{
    if (a->mark != b->mark) {
        return a->mark && (!b->mark || a->mark < b->mark) ? -1 : 1;
    }
    if (a->src_plen != b->src_plen) {
        return a->src_plen > b->src_plen ? -1 : 1;
    }

    int retval = memcmp(&a->src, &b->src, sizeof a->src);
    if (retval) {
        return retval;
    }
    if (a->owner != b->owner) {
        return a->owner > b->owner ? -1 : 1;
    }
    if (a->tos != b->tos) {
        return a->tos > b->tos ? -1 : 1;
    }
    if (a->metric != b->metric) {
        return a->metric < b->metric ? -1 : 1;
    }
    if (a->preference != b->preference) {
        return a->preference > b->preference ? -1 : 1;
    }
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Writing. */

static void
add_size(atomic_size_t *counter, ptrdiff_t delta)
{
    size_t value;

    atomic_read_relaxed(counter, &value);
    atomic_store_relaxed(counter, value + delta);
}

/* Counts 'route' in ('delta' 1) or out (-1). */
static void
route_fib_account(struct route_fib *fib, const struct route *route, int delta)
{
    uint8_t plen = route->dst_plen;

    fib->n_at_plen[plen] += delta;
    if (route->owner != ROUTE_KERNEL) {
        fib->n_user += delta;
    }
    if (route->mark) {
        add_size(&fib->n_marked, delta);
    }
    if (route->src_plen) {
        add_size(&fib->n_sourced, delta);
    }

    if (fib->n_at_plen[plen] == (delta > 0 ? 1 : 0)) {
        uint64_t bit = UINT64_C(1) << (plen % 64);
        uint64_t bits;

        atomic_read_relaxed(&fib->plens[plen / 64], &bits);
        atomic_store_relaxed(&fib->plens[plen / 64],
                             delta > 0 ? bits | bit : bits & ~bit);
    }
}

/* Tells readers on the way that what they have read so far may be of another
 * state than what they read from now on. */
static void
route_fib_changed(struct route_fib *fib)
{
    unsigned int version;

    atomic_read_relaxed(&fib->version, &version);
    atomic_store_explicit(&fib->version, version + 1, memory_order_release);
}

/* Makes a new filter if there will be so many routes, 'n', that the old one
 * does not suit them.  This is rare enough to cost each change the same. */
static void
route_fib_fit_filter(struct route_fib *fib, size_t n)
{
    struct route_filter *old = get_filter(fib);

    if (!route_filter_fits(old, n)) {
        struct route_filter *new = route_filter_create(n);
        const struct route *route;

        ROUTE_FIB_FOR_EACH (route, fib) {
            route_filter_add(new, route_fib_hash(route));
        }
        ovsrcu_set(&fib->filter, new);
        ovsrcu_postpone(route_filter_destroy, old);
    }
}

void
route_fib_insert(struct route_fib *fib, struct route *route, bool append)
{
    uint32_t hash = route_fib_hash(route);
    const struct route *other;
    bool first = true;

    route->order = 0;
    CMAP_FOR_EACH_WITH_HASH_PROTECTED (other, node, hash, &fib->routes) {
        if (route_key_equal(other, route)) {
            int64_t order = other->order + (append ? 1 : -1);

            if (first || (append
                          ? order > route->order
                          : order < route->order)) {
                route->order = order;
            }
            first = false;
        }
    }

    /* The route comes last: a reader that finds it must know that there are
     * such routes. */
    route_fib_account(fib, route, 1);
    route_fib_fit_filter(fib, route_fib_count(fib) + 1);
    route_filter_add(get_filter(fib), hash);
    cmap_insert(&fib->routes, &route->node, hash);
    route_fib_changed(fib);
}

void
route_fib_replace(struct route_fib *fib, struct route *old, struct route *new)
{
    new->order = old->order;
    route_fib_account(fib, new, 1);
    cmap_replace(&fib->routes, &old->node, &new->node, route_fib_hash(old));
    route_fib_account(fib, old, -1);
    route_fib_changed(fib);
}

void
route_fib_remove(struct route_fib *fib, struct route *route)
{
    uint32_t hash = route_fib_hash(route);

    cmap_remove(&fib->routes, &route->node, hash);
    route_filter_remove(get_filter(fib), hash);
    route_fib_fit_filter(fib, route_fib_count(fib));
    route_fib_account(fib, route, -1);
    route_fib_changed(fib);
}

struct route *
route_fib_find(const struct route_fib *fib, const struct route *key)
{
    struct route *best = NULL;
    struct route *route;

    CMAP_FOR_EACH_WITH_HASH_PROTECTED (route, node, route_fib_hash(key),
                                       &fib->routes) {
        if (route_key_equal(route, key)
            && (!best || compare_precedence(route, best) < 0)) {
            best = route;
        }
    }
    return best;
}

struct route *
route_fib_next(const struct route_fib *fib, const struct route *route)
{
    struct route *best = NULL;
    struct route *other;

    CMAP_FOR_EACH_WITH_HASH_PROTECTED (other, node, route_fib_hash(route),
                                       &fib->routes) {
        if (route_key_equal(other, route)
            && compare_precedence(other, route) > 0
            && (!best || compare_precedence(other, best) < 0)) {
            best = other;
        }
    }
    return best;
}

struct route *
route_fib_find_equal(const struct route_fib *fib, const struct route *like)
{
    struct route *route;

    CMAP_FOR_EACH_WITH_HASH_PROTECTED (route, node, route_fib_hash(like),
                                       &fib->routes) {
        if (route_equal(route, like)) {
            return route;
        }
    }
    return NULL;
}

/* Looking up. */

/* One walk down the prefix lengths. */
struct walk {
    const struct route_fib_query *query;
    uint32_t mark;              /* Only routes of this mark. */
    bool sourced;               /* The table has source-specific routes. */
    bool entered;               /* The kernel would have met a route. */
};

static bool
source_fits(const struct route *route, const struct walk *w)
{
    return !route->src_plen
           || route_prefix_contains(&route->src, route->src_plen,
                                    &w->query->src);
}

/* Whether the kernel passes over its routes without a source at 'dst'/'plen',
 * in the chain that starts at 'first'.
 *
 * On its way to the first prefix that fits, the kernel goes past each prefix
 * that has source-specific routes when none of them fits the source, although
 * a route for any source may be there too.  It asks the latter only on its
 * way back from routes that turned out to be unusable, or if it is the
 * default route.  (This is how Linux behaves, whether meant or not.) */
static bool
kernel_passes_over(const struct cmap_node *first, struct walk *w,
                   struct route_bits dst, uint8_t plen)
{
    const struct route *route;
    bool any = false;
    bool sourced = false;

    CMAP_NODE_FOR_EACH (route, node, first) {
        if (route->owner == ROUTE_KERNEL && same_prefix(route, dst, plen)) {
            if (!route->src_plen) {
                any = true;
            } else if (source_fits(route, w)) {
                w->entered = true;
                return false;
            } else {
                sourced = true;
            }
        }
    }

    if (w->entered || !any) {
        return false;
    }
    w->entered = !sourced || !plen;
    return !w->entered;
}

/* Returns the best route of 'w' in the chain that starts at 'first', of those
 * for exactly 'dst'/'plen', or NULL. */
static const struct route *
best_in_chain(const struct cmap_node *first, struct walk *w,
              struct route_bits dst, uint8_t plen)
{
    const struct route_fib_query *query = w->query;
    uint8_t tos = query->tos & ROUTE_FIB_TOS_MASK;
    const struct route *best = NULL;
    const struct route *route;
    bool pass_over = (OVS_UNLIKELY(w->sourced)
                      && kernel_passes_over(first, w, dst, plen));

    CMAP_NODE_FOR_EACH (route, node, first) {
        if (same_prefix(route, dst, plen)
            && route->mark == w->mark
            && (!route->tos || route->tos == tos)
            && source_fits(route, w)
            && !(pass_over && route->owner == ROUTE_KERNEL)
            && (!best || compare_precedence(route, best) < 0)
            && (route_type_is_reject(route->type)
                || route->type == ROUTE_THROW
                || query->usable(route, query->aux))) {
            best = route;
        }
    }
    return best;
}

/* Probes the prefix lengths from 64 * 'word' on that 'fib' has, the longest
 * first.  'word' is constant where this is called, which leaves little to
 * compute for each length. */
static inline const struct route * ALWAYS_INLINE
lookup_word(struct route_fib *fib, const struct route_filter *filter,
            struct walk *w, struct route_bits dst, unsigned int word)
{
    uint64_t plens;

    atomic_read_relaxed(&fib->plens[word], &plens);
    while (plens) {
        unsigned int bit = 63 - raw_clz64(plens);
        unsigned int plen = word * 64 + bit;
        struct route_bits prefix = route_bits_mask(dst, plen);
        uint32_t hash = route_bits_hash(prefix, plen);

        plens ^= UINT64_C(1) << bit;
        if (OVS_UNLIKELY(route_filter_may_have(filter, hash))) {
            const struct cmap_node *first = cmap_find(&fib->routes, hash);
            const struct route *route;

            if (!first) {
                continue;
            }

            /* The next hops are in the second cache line. */
            OVS_PREFETCH(CONTAINER_OF(first, struct route, node)->nexthops);
            route = best_in_chain(first, w, prefix, plen);
            if (route) {
                return route;
            }
        }
    }
    return NULL;
}

static const struct route *
lookup_mark(struct route_fib *fib, const struct route_fib_query *query,
            uint32_t mark)
{
    struct route_bits dst = route_bits_get(&query->dst);
    const struct route_filter *filter = get_filter(fib);
    struct walk w = { .query = query, .mark = mark };
    const struct route *route;
    size_t n_sourced;

    atomic_read_relaxed(&fib->n_sourced, &n_sourced);
    w.sourced = n_sourced && !mark;

    route = lookup_word(fib, filter, &w, dst, 2);
    if (!route) {
        route = lookup_word(fib, filter, &w, dst, 1);
    }
    if (!route && fib->ipv6) {
        route = lookup_word(fib, filter, &w, dst, 0);
    }
    return route;
}

const struct route *
route_fib_lookup(const struct route_fib *fib_,
                 const struct route_fib_query *query)
{
    struct route_fib *fib = CONST_CAST(struct route_fib *, fib_);
    const struct route *route;
    unsigned int before, after;

    /* Several prefixes are probed one after another.  If the table changes
     * meanwhile, say from one route to another that covers the same address,
     * both could be missed. */
    do {
        size_t n_marked;

        atomic_read_explicit(&fib->version, &before, memory_order_acquire);
        atomic_read_relaxed(&fib->n_marked, &n_marked);

        route = (query->mark && n_marked
                 ? lookup_mark(fib, query, query->mark)
                 : NULL);
        if (!route) {
            route = lookup_mark(fib, query, 0);
        }

        atomic_thread_fence(memory_order_acquire);
        atomic_read_relaxed(&fib->version, &after);
    } while (OVS_UNLIKELY(before != after));

    return route;
}

static int
compare_for_users(const void *a_, const void *b_)
{
    const struct route *const *ap = a_;
    const struct route *const *bp = b_;
    const struct route *a = *ap;
    const struct route *b = *bp;

    if (a->dst_plen != b->dst_plen) {
        return a->dst_plen > b->dst_plen ? -1 : 1;
    }

    int retval = memcmp(&a->dst, &b->dst, sizeof a->dst);
    return retval ? retval : compare_precedence(a, b);
}

const struct route **
route_fib_sort(const struct route_fib *fib, size_t *n)
{
    const struct route **routes = xmalloc(MAX(1, route_fib_count(fib))
                                          * sizeof *routes);
    const struct route *route;

    *n = 0;
    ROUTE_FIB_FOR_EACH (route, fib) {
        routes[(*n)++] = route;
    }
    qsort(routes, *n, sizeof *routes, compare_for_users);
    return routes;
}
