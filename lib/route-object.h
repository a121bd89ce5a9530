/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ROUTE_OBJECT_H
#define ROUTE_OBJECT_H 1

/* Next-hop objects
 * ================
 *
 * The kernel's "ip nexthop": next hops with a number of their own, alone or
 * in groups, that routes name by 'nexthop_id'.  Routes see a change of the
 * object at once, without a message for each of them.
 *
 * An object is immutable; a change replaces it.  A group is kept as the ids
 * and weights of its members and, for readers, as their next hops, which
 * route_db keeps right when a member changes.  Threads as in route-db.h. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmap.h"
#include "route.h"

struct route_object_member {
    uint32_t id;
    uint32_t weight;            /* 1 or more. */
};

struct route_object {
    struct cmap_node node;      /* In route_db 'objects'. */
    uint32_t id;
    bool blackhole;
    uint32_t epoch;             /* Writers only. */

    struct route_object_member *members; /* A group's, else NULL. */
    size_t n_members;

    struct route_nexthop *nexthops; /* What readers use: one, or those of all
                                     * members that exist. */
    size_t n_nexthops;
};

#endif /* route-object.h */
