/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ROUTE_H
#define ROUTE_H 1

/* Routes as values
 * ================
 *
 * The vocabulary of the tunnel router: one route, its next hops, and the
 * reasons why a lookup may not end at one.  Nothing here knows where routes
 * come from, who reads them, or how they are printed for users.
 *
 * Addresses are 'struct in6_addr' with IPv4 in its mapped form, and prefix
 * lengths count in that form: 0.0.0.0/0 is ::ffff:0:0/96, 192.0.2.1/32 has
 * length 128.  The family of a route is that of its table, so that ::/0 and
 * 0.0.0.0/0 never meet.
 *
 * A 'struct route' is immutable once it is in a table.  A change makes a new
 * route that takes the place of the old one, which readers may hold until
 * their next quiescent state (see ovs-rcu.h). */

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "cmap.h"

struct route_device;

/* Well-known tables, numbered as in linux/rtnetlink.h. */
enum {
    ROUTE_TABLE_DEFAULT = 253,
    ROUTE_TABLE_MAIN = 254,
    ROUTE_TABLE_LOCAL = 255,
};

/* What a route does with what it matches (RTN_* in linux/rtnetlink.h). */
enum route_type {
    ROUTE_UNICAST,
    ROUTE_LOCAL,
    ROUTE_BROADCAST,
    ROUTE_ANYCAST,
    ROUTE_MULTICAST,
    ROUTE_BLACKHOLE,
    ROUTE_UNREACHABLE,
    ROUTE_PROHIBIT,
    ROUTE_THROW,
};

/* Who put a route or rule where it is.  Only that owner may take it away, and
 * of two routes for one prefix in one table the higher owner is asked
 * first. */
enum route_owner {
    ROUTE_KERNEL,               /* Mirrored from rtnetlink. */
    ROUTE_PORT,                 /* Follows from a dummy port's address. */
    ROUTE_USER,                 /* ovs/route/add, ovs/route/rule/add. */
};

/* Scopes of routes and addresses (RT_SCOPE_* in linux/rtnetlink.h). */
enum {
    ROUTE_SCOPE_UNIVERSE = 0,
    ROUTE_SCOPE_SITE = 200,
    ROUTE_SCOPE_LINK = 253,
    ROUTE_SCOPE_HOST = 254,
    ROUTE_SCOPE_NOWHERE = 255,
};

struct route_nexthop {
    struct in6_addr gateway;    /* in6addr_any if on-link.  May be of the
                                 * other family (RFC 5549). */
    struct route_device *device; /* Never NULL. */
    uint32_t weight;            /* 1 or more. */
    bool dead;                  /* IPv6, one of several: its link went down
                                 * and has not run since. */
};

struct route {
    /* What a lookup in a table reads stands in the first cache line (64
     * bytes, where route_create() begins one). */
    struct cmap_node node;      /* In 'struct route_fib'. */

    /* Key. */
    struct in6_addr dst;        /* Bits beyond 'dst_plen' are zero. */
    struct in6_addr src;        /* IPv6 source-specific routes only. */
    uint8_t dst_plen;           /* 0...128, IPv4 96...128. */
    uint8_t src_plen;           /* 0: any source. */
    uint8_t tos;                /* IPv4 only, 0: any. */
    uint8_t owner;              /* enum route_owner. */
    uint32_t metric;            /* The lowest is asked first. */
    uint32_t mark;              /* 0: fits every packet mark. */

    /* Value. */
    uint8_t type;               /* enum route_type. */
    uint8_t scope;              /* ROUTE_SCOPE_*. */
    uint8_t preference;         /* RFC 4191: 1 low, 2 medium, 3 high. */
    bool prefsrc_computed;      /* User route: 'prefsrc' was not given but
                                 * found on the device. */
    uint32_t nexthop_id;        /* Next-hop object, or 0: 'nexthops'. */
    uint32_t n_nexthops;        /* 0 if 'type' or 'nexthop_id' says so. */
    struct in6_addr prefsrc;    /* in6addr_any: none. */

    /* Writers only. */
    int64_t order;              /* Among routes alike in all of the key:
                                 * lower is asked first. */
    uint32_t epoch;             /* Of the last dump that contained it. */
    uint32_t variant;           /* IPv4: a hash of what makes it another route
                                 * for the kernel and nothing here, such as
                                 * the protocol that it is from. */

    struct route_nexthop nexthops[];
};

/* How a lookup ended.  Each has one errno that the kernel would answer and
 * one sentence for users: see route_verdict_errno(), route_verdict_format()
 * in route-lookup.h. */
enum route_verdict {
    ROUTE_OK,
    ROUTE_NO_ROUTE,             /* No rule led to a route. */
    ROUTE_NOT_LOCAL,            /* The source is no address of this host. */
    ROUTE_BAD_SOURCE,           /* The source cannot be one: multicast, ... */
    ROUTE_VIA_BLACKHOLE,        /* A route says so. */
    ROUTE_VIA_UNREACHABLE,
    ROUTE_VIA_PROHIBIT,
    ROUTE_RULE_BLACKHOLE,       /* A rule says so. */
    ROUTE_RULE_UNREACHABLE,
    ROUTE_RULE_PROHIBIT,
    ROUTE_NO_SOURCE,            /* No address of the family to send from. */
    ROUTE_N_VERDICTS
};

/* Allocates a zeroed route with room for 'n_nexthops' next hops, that number
 * set, metric 0, owner kernel, preference medium.  The caller owns it. */
struct route *route_create(size_t n_nexthops);

/* Returns a copy of 'route' that is in no table, owned by the caller. */
struct route *route_clone(const struct route *route);

/* Frees 'route', which must be in no table and seen by no reader. */
void route_destroy(struct route *route);

/* True if 'a' and 'b' agree on the key: destination, source, TOS, metric,
 * mark and owner. */
bool route_key_equal(const struct route *a, const struct route *b);

/* True if 'a' and 'b' agree on key and value, next hops in order included
 * ('epoch' and 'order' do not count). */
bool route_equal(const struct route *a, const struct route *b);

/* The names that users know: "unicast", "blackhole", ... */
const char *route_type_to_string(enum route_type);

static inline bool
route_type_is_reject(enum route_type type)
{
    return type >= ROUTE_BLACKHOLE && type <= ROUTE_PROHIBIT;
}

/* True if 'addr' lies in 'prefix'/'plen' (plen 0...128). */
bool route_prefix_contains(const struct in6_addr *prefix, uint8_t plen,
                           const struct in6_addr *addr);

/* 'addr' with all bits beyond 'plen' (0...128) cleared. */
struct in6_addr route_prefix_mask(const struct in6_addr *addr, uint8_t plen);

#endif /* route.h */
