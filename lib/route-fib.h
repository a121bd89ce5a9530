/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ROUTE_FIB_H
#define ROUTE_FIB_H 1

/* One route table
 * ===============
 *
 * Routes of one family under one number.  A route is found by its longest
 * matching prefix, and among the routes for one prefix by, in this order:
 *
 *     1. a mark equal to the packet's before none (over all prefixes: an
 *        unmarked route is asked only where no marked one fits);
 *     2. the longer source prefix (IPv6 source-specific routes);
 *     3. the higher owner: user, port, kernel;
 *     4. a TOS equal to the packet's before none (IPv4);
 *     5. the lower metric;
 *     6. the higher router preference (IPv6, RFC 4191);
 *     7. the order of insertion.
 *
 * As in the kernel, a source-specific route also hides the kernel's routes for
 * any source at its prefix (but ::/0) from sources that it does not fit,
 * unless a route for a longer prefix fitted and had no live next hop.
 *
 * Inside, all routes are in one cmap, by prefix, and a bit set says which
 * prefix lengths occur: a lookup probes these from the longest to the
 * shortest, each first in a filter (route-filter.h).  Insertion and removal
 * cost the same in a table of any size.
 *
 * One thread writes, under the mutex of the route_db; any thread looks up
 * under RCU, and sees each change either whole or not at all. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "openvswitch/hmap.h"
#include "cmap.h"
#include "ovs-atomic.h"
#include "ovs-rcu.h"
#include "route.h"

struct route_filter;

/* Prefix lengths 0...128. */
#define ROUTE_FIB_N_PLENS 129

struct route_fib {
    struct hmap_node node;      /* In route_db 'fibs'. */
    uint32_t id;                /* Table number, 1...2^32-1. */
    bool ipv6;
    bool held;                  /* A rule names it, so that the kernel's
                                 * routes are mirrored.  Writers only. */
    struct cmap routes;         /* Contains "struct route"s. */
    atomic_uint64_t plens[3];   /* Bit 'n': some route has length 'n'. */
    atomic_size_t n_marked;     /* Routes with a mark. */
    OVSRCU_TYPE(struct route_filter *) filter; /* By prefix; never NULL. */
    atomic_size_t n_sourced;    /* Routes with a source prefix. */
    atomic_uint version;        /* Counts changes, see route_fib_lookup(). */
    size_t n_at_plen[ROUTE_FIB_N_PLENS]; /* Writers only. */
    size_t n_user;              /* Routes not of the kernel.  Writers only. */
};

struct route_fib *route_fib_create(uint32_t id, bool ipv6);

/* Frees 'fib' and every route in it at once: no reader may see it, and no
 * device is told. */
void route_fib_destroy(struct route_fib *);

static inline size_t
route_fib_count(const struct route_fib *fib)
{
    return cmap_count(&fib->routes);
}

/* Inserts 'route', of which 'fib' takes ownership.  'append': behind all
 * routes of an equal key, else before them. */
void route_fib_insert(struct route_fib *, struct route *, bool append);

/* Puts 'new' in the place of 'old', in one step for readers.  They must agree
 * in 'dst' and 'dst_plen'; 'order' is inherited.  'old' goes back to the
 * caller, who frees it with ovsrcu_postpone(). */
void route_fib_replace(struct route_fib *, struct route *old,
                       struct route *new);

/* Takes 'route' out; it goes back to the caller, as above. */
void route_fib_remove(struct route_fib *, struct route *);

/* Returns the first route, in the order of precedence, whose key equals that
 * of 'key', or NULL.  Writers. */
struct route *route_fib_find(const struct route_fib *,
                             const struct route *key);

/* Returns the route after 'route', in the order of precedence, of an equal
 * key, or NULL.  Writers. */
struct route *route_fib_next(const struct route_fib *,
                             const struct route *route);

/* Returns a route that is route_equal() to 'route', or NULL.  Writers. */
struct route *route_fib_find_equal(const struct route_fib *,
                                   const struct route *route);

/* What a lookup asks of each candidate. */
struct route_fib_query {
    struct in6_addr dst;
    struct in6_addr src;        /* in6addr_any: none. */
    uint32_t mark;
    uint8_t tos;                /* Whole byte; only the bits that the kernel
                                 * compares (0x1c) count. */
    /* Whether 'route' can be used at all now (has a live next hop); reject
     * and throw routes are never asked about.  If the lookup returns any
     * other, it is the last one that this was true of. */
    bool (*usable)(const struct route *route, const void *aux);
    const void *aux;
};

/* Returns the route that 'query' finds, or NULL: that of one state of the
 * table, even if a writer changes it meanwhile.  The route is valid until the
 * next quiescent state.  Any thread; 'usable' must not wait or quiesce. */
const struct route *route_fib_lookup(const struct route_fib *,
                                     const struct route_fib_query *query);

/* Iterates in no particular order; 'ROUTE' may be removed on the way. */
#define ROUTE_FIB_FOR_EACH(ROUTE, FIB) \
    CMAP_FOR_EACH (ROUTE, node, &(FIB)->routes)

/* The hash in 'routes' of all routes for the destination prefix of 'route'. */
uint32_t route_fib_hash(const struct route *route);

/* Iterates over the routes for the destination prefix of 'LIKE', and perhaps
 * some others.  Writers. */
#define ROUTE_FIB_FOR_EACH_AT(ROUTE, FIB, LIKE) \
    CMAP_FOR_EACH_WITH_HASH_PROTECTED (ROUTE, node, route_fib_hash(LIKE), \
                                       &(FIB)->routes)

/* All routes of 'fib' in the order that users read: longest prefix first,
 * then by address, then by precedence.  The caller frees the array ('*n'
 * entries), not the routes.  Writers. */
const struct route **route_fib_sort(const struct route_fib *, size_t *n);

#endif /* route-fib.h */
