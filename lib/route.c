/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "route.h"

#include "route-prefix.h"
#include "util.h"

BUILD_ASSERT_DECL(offsetof(struct route, prefsrc) <= CACHE_LINE_SIZE);

static size_t
route_size(size_t n_nexthops)
{
    return sizeof(struct route) + n_nexthops * sizeof(struct route_nexthop);
}

struct route *
route_create(size_t n_nexthops)
{
    struct route *route = xzalloc_cacheline(route_size(n_nexthops));

    route->owner = ROUTE_KERNEL;
    route->preference = 2;
    route->n_nexthops = n_nexthops;
    return route;
}

struct route *
route_clone(const struct route *route)
{
    struct route *copy = route_create(route->n_nexthops);

    memcpy(copy, route, route_size(route->n_nexthops));
    memset(&copy->node, 0, sizeof copy->node);
    return copy;
}

void
route_destroy(struct route *route)
{
    free_cacheline(route);
}

bool
route_key_equal(const struct route *a, const struct route *b)
{
    return a->dst_plen == b->dst_plen
           && a->src_plen == b->src_plen
           && a->tos == b->tos
           && a->owner == b->owner
           && a->metric == b->metric
           && a->mark == b->mark
           && !memcmp(&a->dst, &b->dst, sizeof a->dst)
           && !memcmp(&a->src, &b->src, sizeof a->src);
}

bool
route_equal(const struct route *a, const struct route *b)
{
    if (!route_key_equal(a, b)
        || a->type != b->type
        || a->scope != b->scope
        || a->preference != b->preference
        || a->prefsrc_computed != b->prefsrc_computed
        || memcmp(&a->prefsrc, &b->prefsrc, sizeof a->prefsrc)
        || a->nexthop_id != b->nexthop_id
        || a->variant != b->variant
        || a->n_nexthops != b->n_nexthops) {
        return false;
    }

    for (size_t i = 0; i < a->n_nexthops; i++) {
        const struct route_nexthop *x = &a->nexthops[i];
        const struct route_nexthop *y = &b->nexthops[i];

        if (x->device != y->device || x->weight != y->weight
            || x->dead != y->dead
            || memcmp(&x->gateway, &y->gateway, sizeof x->gateway)) {
            return false;
        }
    }
    return true;
}

const char *
route_type_to_string(enum route_type type)
{
    switch (type) {
    case ROUTE_UNICAST:     return "unicast";
    case ROUTE_LOCAL:       return "local";
    case ROUTE_BROADCAST:   return "broadcast";
    case ROUTE_ANYCAST:     return "anycast";
    case ROUTE_MULTICAST:   return "multicast";
    case ROUTE_BLACKHOLE:   return "blackhole";
    case ROUTE_UNREACHABLE: return "unreachable";
    case ROUTE_PROHIBIT:    return "prohibit";
    case ROUTE_THROW:       return "throw";
    default:                return "unknown";
    }
}

bool
route_prefix_contains(const struct in6_addr *prefix, uint8_t plen,
                      const struct in6_addr *addr)
{
    struct route_bits a = route_bits_get(prefix);
    struct route_bits b = route_bits_get(addr);

    return route_bits_equal(route_bits_mask(a, plen),
                            route_bits_mask(b, plen));
}

struct in6_addr
route_prefix_mask(const struct in6_addr *addr, uint8_t plen)
{
    return route_bits_put(route_bits_mask(route_bits_get(addr), plen));
}
