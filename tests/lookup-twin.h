/* SPDX-License-Identifier: Apache-2.0 */

#ifndef LOOKUP_TWIN_H
#define LOOKUP_TWIN_H 1

/* A naive twin of route_lookup()
 * ==============================
 *
 * Linear lists, asked bit by bit, straight from the words of ip-rule(8) and
 * ip-route(8).  One state is of one family; it has no next-hop objects and no
 * source-specific routes. */

#include "route-device.h"
#include "route-lookup.h"
#include "route-rule.h"

#define TWIN_N_DEVICES 5
#define TWIN_MAX_ROUTES 80
#define TWIN_MAX_RULES 24
#define TWIN_MAX_LEGS 3

struct twin_leg {
    struct in6_addr gateway;
    int device;
};

struct twin_route {
    uint32_t table;
    int64_t rank;               /* Lower: asked first among equals. */
    size_t n_legs;
    struct twin_leg legs[TWIN_MAX_LEGS];
    struct route *head;         /* Without next hops. */
};

struct twin_device {
    struct route_link link;
    struct route_address addresses[4];
    size_t n_addresses;
};

/* One state, of one family. */
struct twin {
    bool ipv6;
    struct twin_device devices[TWIN_N_DEVICES];
    struct twin_route routes[TWIN_MAX_ROUTES];
    size_t n_routes;
    struct route_rule rules[TWIN_MAX_RULES];
    size_t n_rules;
};

struct twin_answer {
    enum route_verdict verdict;
    uint32_t table;
    const struct twin_route *route;
    bool possible[TWIN_MAX_LEGS];    /* Next hops that may be chosen. */
    struct in6_addr src[TWIN_MAX_LEGS];
    bool has_src[TWIN_MAX_LEGS];
};

/* Fills in '*answer'. */
void twin_lookup(const struct twin *, const struct route_query *,
                 struct twin_answer *answer);

#endif /* lookup-twin.h */
