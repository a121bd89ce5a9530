/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "route-lookup.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "hash.h"
#include "packets.h"
#include "route-db.h"
#include "util.h"

/* Next hops as they were when a table was asked. */
struct nexthops {
    const struct route_nexthop *array;
    size_t n;
};

/* What 'usable' of a table lookup needs, and what it leaves: the next hops of
 * the last route that it found usable, which is the route that the table
 * returns.  Their object may be replaced or gone by then, so nobody asks for
 * them again. */
struct lookup {
    const struct route_db *db;
    bool ipv6;
    struct nexthops *found;
};

/* Next hops. */

static bool
nexthop_is_live(const struct route_nexthop *nexthop,
                const struct route *route, bool ipv6)
{
    const struct route_link *link;

    /* Local routes do not die with their device. */
    if (ipv6
        ? route->type == ROUTE_LOCAL || route->type == ROUTE_ANYCAST
        : route->scope == ROUTE_SCOPE_HOST) {
        return true;
    }
    link = route_device_link(nexthop->device);
    return (!nexthop->dead && link->up
            && (link->carrier || !(ipv6 ? link->ignore_linkdown_ipv6
                                   : link->ignore_linkdown_ipv4)));
}

static bool
route_is_usable(const struct route *route, const void *lookup_)
{
    const struct lookup *lookup = lookup_;
    struct nexthops nexthops;
    bool usable;

    if (route->type >= ROUTE_BLACKHOLE) {
        return true;
    }
    /* A blackhole object is something to end at, too. */
    nexthops.array = route_db_nexthops(lookup->db, route, &nexthops.n,
                                       &usable);
    for (size_t i = 0; i < nexthops.n && !usable; i++) {
        usable = nexthop_is_live(&nexthops.array[i], route, lookup->ipv6);
    }
    if (usable) {
        *lookup->found = nexthops;
    }
    return usable;
}

/* A number for the pair of flow 'flow_hash' and next hop 'nexthop', the same
 * wherever the next hop stands and whatever others there are.  Numbers of one
 * flow and different next hops are independent: hash_bytes() alone, a CRC on
 * some machines, would leave their difference the same for all flows. */
static uint64_t
nexthop_draw(const struct route_nexthop *nexthop, uint32_t flow_hash)
{
    const char *name = route_device_link(nexthop->device)->name;
    uint32_t own = hash_bytes(&nexthop->gateway, sizeof nexthop->gateway,
                              hash_string(name, 0));
    uint64_t x = ((uint64_t) own << 32 | flow_hash) + 1;

    for (int i = 0; i < 3; i++) {
        x *= UINT64_C(0x9e3779b97f4a7c15);
        x ^= x >> 29;
    }
    return x;
}

static bool
nexthop_has_source(const struct route_db *db, const struct route *route,
                   const struct route_nexthop *nexthop,
                   const struct in6_addr *src)
{
    struct in6_addr own;

    return (route_device_select_ipv4(db, nexthop->device, &nexthop->gateway,
                                     route->scope, &own)
            && ipv6_addr_equals(&own, src));
}

/* Returns the next hop of 'route', which 'lookup' found, for 'query' (whose
 * source is set if 'src_set').  Of several it is the one with the lowest
 * -ln(u)/weight, where u in (0,1) belongs to flow and next hop: each gets its
 * share by weight, and flows of the others stay when one goes (rendezvous
 * hashing).  Sets '*hashed' if there was a choice.  Returns NULL if 'route'
 * has no next hop. */
static const struct route_nexthop *
choose_nexthop(const struct lookup *lookup, const struct route *route,
               const struct route_query *query, bool src_set, bool *hashed)
{
    const struct route_nexthop *nexthops = lookup->found->array;
    const struct route_nexthop *best = NULL;
    bool by_source = false, weighted = false;
    size_t n = lookup->found->n;
    uint64_t best_draw = 0;
    double best_score = 0;
    size_t n_choices = 0;

    *hashed = false;
    if (n <= 1) {
        return n ? nexthops : NULL;
    }

    /* As the kernel has it, IPv4 next hops where the source sits take all. */
    if (!lookup->ipv6 && src_set && !route->nexthop_id) {
        for (size_t i = 0; i < n && !by_source; i++) {
            by_source = (nexthop_is_live(&nexthops[i], route, false)
                         && nexthop_has_source(lookup->db, route,
                                               &nexthops[i], &query->src));
        }
    }
    for (size_t i = 1; i < n; i++) {
        weighted |= nexthops[i].weight != nexthops[0].weight;
    }

    for (size_t i = 0; i < n; i++) {
        const struct route_nexthop *nexthop = &nexthops[i];

        if (!nexthop_is_live(nexthop, route, lookup->ipv6)
            || (by_source && !nexthop_has_source(lookup->db, route, nexthop,
                                                 &query->src))) {
            continue;
        }

        uint64_t draw = nexthop_draw(nexthop, query->hash);
        bool better;

        if (weighted) {
            double u = ((draw >> 12) + 0.5) / (UINT64_C(1) << 52);
            double score = -log(u) / nexthop->weight;

            better = score < best_score;
            if (!n_choices || better) {
                best_score = score;
            }
        } else {
            better = draw > best_draw;
        }
        if (!n_choices || better) {
            best = nexthop;
            best_draw = draw;
        }
        n_choices++;
    }
    *hashed = n_choices > 1;

    /* If the last live one has died since the table was asked, the packet is
     * lost either way. */
    return best ? best : nexthops;
}

/* Ends. */

/* Whether 'rule' does not accept 'route', which its table found. */
static bool
is_suppressed(const struct lookup *lookup, const struct route_rule *rule,
              const struct route *route,
              const struct route_nexthop *chosen)
{
    if (route->dst_plen - (lookup->ipv6 ? 0 : 96) <= rule->suppress_plen) {
        return true;
    }
    if (rule->suppress_group >= 0) {
        /* The kernel looks at the first next hop in IPv4. */
        const struct route_nexthop *nexthop
            = lookup->ipv6 ? chosen : lookup->found->array;

        return (route_device_link(nexthop->device)->group
                == (uint32_t) rule->suppress_group);
    }
    return false;
}

static bool
choose_source(const struct lookup *lookup, const struct route *route,
              const struct route_nexthop *nexthop,
              const struct in6_addr *dst, struct in6_addr *src)
{
    if (ipv6_addr_is_set(&route->prefsrc)) {
        *src = route->prefsrc;
        return true;
    } else if (lookup->ipv6) {
        /* The kernel takes the first device of a group, whatever next hop it
         * chooses. */
        if (route->nexthop_id) {
            nexthop = lookup->found->array;
        }
        return route_device_select_ipv6(lookup->db, nexthop->device, dst,
                                        src);
    } else if (route->type == ROUTE_LOCAL) {
        *src = *dst;
        return true;
    } else {
        return route_device_select_ipv4(lookup->db, nexthop->device,
                                        &nexthop->gateway, route->scope, src);
    }
}

/* True if no packet may have 'src' as its source. */
static bool
is_bad_source(const struct in6_addr *src, bool ipv6)
{
    if (ipv6 == IN6_IS_ADDR_V4MAPPED(src)) {
        return true;            /* Of the other family. */
    } else if (ipv6) {
        return IN6_IS_ADDR_MULTICAST(src);
    } else {
        ovs_be32 ip = in6_addr_get_mapped_ipv4(src);

        return ip_is_multicast(ip) || ip == OVS_BE32_MAX;
    }
}

static void
add_step(struct route_trail *trail, const struct route_rule *rule,
         enum route_step_end end, const struct route *route)
{
    if (trail) {
        if (trail->n_steps < ROUTE_TRAIL_MAX) {
            trail->steps[trail->n_steps] = (struct route_step) {
                .rule = rule, .end = end, .route = route
            };
        }
        trail->n_steps++;
    }
}

static enum route_verdict
rule_verdict(const struct route_rule *rule)
{
    return (rule->action == ROUTE_RULE_BLACKHOLE_ACTION ? ROUTE_RULE_BLACKHOLE
            : rule->action == ROUTE_RULE_UNREACHABLE_ACTION
            ? ROUTE_RULE_UNREACHABLE
            : ROUTE_RULE_PROHIBIT);
}

static enum route_verdict
reject_verdict(const struct route *route)
{
    return (route->type == ROUTE_PROHIBIT ? ROUTE_VIA_PROHIBIT
            : route->type == ROUTE_UNREACHABLE ? ROUTE_VIA_UNREACHABLE
            : ROUTE_VIA_BLACKHOLE);
}

/* Asks the table of 'rule' and fills in '*result' if that is the end.  Returns
 * how it ended. */
static enum route_step_end
ask_table(const struct lookup *lookup, const struct route_query *query,
          bool src_set, const struct route_rule *rule,
          const struct route *route, struct route_result *result)
{
    const struct route_nexthop *nexthop = NULL;
    bool hashed = false;

    if (!route) {
        return ROUTE_STEP_NO_MATCH;
    } else if (route->type == ROUTE_THROW) {
        return ROUTE_STEP_THROW;
    }

    if (!route_type_is_reject(route->type)) {
        nexthop = choose_nexthop(lookup, route, query, src_set, &hashed);
        if (nexthop && is_suppressed(lookup, rule, route, nexthop)) {
            /* Another flow may not be. */
            result->hashed |= (hashed && lookup->ipv6
                               && rule->suppress_group >= 0);
            return ROUTE_STEP_SUPPRESSED;
        }
    }

    result->hashed |= hashed;
    result->route = route;
    result->table = rule->table;
    result->rule = rule;
    if (!nexthop) {             /* A blackhole object counts as one. */
        result->verdict = reject_verdict(route);
        return ROUTE_STEP_REFUSED;
    }

    if (src_set) {
        result->src = query->src;
    } else if (!choose_source(lookup, route, nexthop, &query->dst,
                              &result->src)) {
        result->verdict = ROUTE_NO_SOURCE;
        return ROUTE_STEP_REFUSED;
    }
    if (!lookup->ipv6 && IN6_IS_ADDR_V4MAPPED(&result->src)
        && result->src.s6_addr[12] == 127
        && !route_device_link(nexthop->device)->loopback
        && route->type != ROUTE_LOCAL) {
        result->verdict = ROUTE_BAD_SOURCE; /* RFC 1122, section 3.2.1.3. */
        return ROUTE_STEP_REFUSED;
    }
    result->verdict = ROUTE_OK;
    result->device = nexthop->device;
    memcpy(result->dev, route_device_link(nexthop->device)->name,
           sizeof result->dev);
    /* By way of an own address, IPv4 means "on the link". */
    if (lookup->ipv6 || !IN6_IS_ADDR_V4MAPPED(&nexthop->gateway)
        || !route_db_has_address(lookup->db, &nexthop->gateway)) {
        result->gateway = nexthop->gateway;
    }
    return ROUTE_STEP_FOUND;
}

enum route_verdict
route_lookup(const struct route_db *db, const struct route_query *query,
             struct route_result *result, struct route_trail *trail)
{
    bool ipv6 = !IN6_IS_ADDR_V4MAPPED(&query->dst);
    struct nexthops found = { NULL, 0 };
    struct lookup lookup = { .db = db, .ipv6 = ipv6, .found = &found };
    struct in6_addr no_ipv4 = in6_addr_mapped_ipv4(0);
    bool src_set = (ipv6_addr_is_set(&query->src)
                    && !ipv6_addr_equals(&query->src, &no_ipv4));

    memset(result, 0, sizeof *result);
    if (trail) {
        trail->n_steps = 0;
    }
    if (src_set) {
        if (is_bad_source(&query->src, ipv6)) {
            return result->verdict = ROUTE_BAD_SOURCE;
        } else if (!route_lookup_is_local(db, &query->src)) {
            return result->verdict = ROUTE_NOT_LOCAL;
        }
    }

    const struct route_rules *rules = ovsrcu_get(struct route_rules *,
                                                 &db->rules[ipv6]);
    struct route_rule_query rule_query = {
        .src = src_set ? query->src : in6addr_any,
        .dst = query->dst,
        .mark = query->mark,
        .tos = query->tos,
        .ipproto = query->ipproto,
        .sport = query->sport,
        .dport = query->dport,
    };
    struct route_fib_query fib_query = {
        .dst = query->dst,
        .src = rule_query.src,
        .mark = query->mark,
        .tos = query->tos,
        .usable = route_is_usable,
        .aux = &lookup,
    };
    struct route_rules_cursor cursor;
    size_t index;

    route_rules_walk(rules, &rule_query, &cursor);
    while (route_rules_next(&cursor, &index)) {
        const struct route_rule *rule = route_rules_at(rules, index);
        enum route_step_end end;

        switch ((enum route_rule_action) rule->action) {
        case ROUTE_RULE_LOOKUP: {
            const struct route *route
                = route_fib_lookup(route_rules_fib(rules, index), &fib_query);

            end = ask_table(&lookup, query, src_set, rule, route, result);
            add_step(trail, rule, end, route);
            if (end == ROUTE_STEP_FOUND || end == ROUTE_STEP_REFUSED) {
                return result->verdict;
            }
            break;
        }

        case ROUTE_RULE_GOTO:
        case ROUTE_RULE_NOP:
            add_step(trail, rule, ROUTE_STEP_NOP, NULL);
            break;

        case ROUTE_RULE_BLACKHOLE_ACTION:
        case ROUTE_RULE_UNREACHABLE_ACTION:
        case ROUTE_RULE_PROHIBIT_ACTION:
            add_step(trail, rule, ROUTE_STEP_REFUSED, NULL);
            result->rule = rule;
            return result->verdict = rule_verdict(rule);
        }
    }
    return result->verdict = ROUTE_NO_ROUTE;
}

bool
route_lookup_is_local(const struct route_db *db,
                      const struct in6_addr *address)
{
    if (OVS_LIKELY(route_db_has_address(db, address))) {
        return true;
    }

    bool ipv6 = !IN6_IS_ADDR_V4MAPPED(address);
    struct nexthops found = { NULL, 0 };
    struct lookup lookup = { .db = db, .ipv6 = ipv6, .found = &found };
    struct route_fib_query query = {
        .dst = *address,
        .usable = route_is_usable,
        .aux = &lookup,
    };
    const struct route *route = route_fib_lookup(db->local_fibs[ipv6],
                                                 &query);

    return route && route->type == ROUTE_LOCAL;
}

const char *
route_lookup_other_device(const struct route_db *db,
                          const struct route_query *query,
                          const struct route_result *result, const char *dev,
                          bool *none)
{
    bool ipv6 = !IN6_IS_ADDR_V4MAPPED(&query->dst);
    const struct route *route = result->route;
    const struct route_nexthop *nexthops;
    bool blackhole, by_source = false;
    const char *other = NULL;
    size_t n;

    *none = true;

    nexthops = route_db_nexthops(db, route, &n, &blackhole);
    for (size_t i = 0; i < n && !ipv6 && !route->nexthop_id; i++) {
        by_source |= (nexthop_is_live(&nexthops[i], route, false)
                      && nexthop_has_source(db, route, &nexthops[i],
                                            &query->src));
    }
    for (size_t i = 0; i < n; i++) {
        const char *name = route_device_link(nexthops[i].device)->name;

        if (nexthop_is_live(&nexthops[i], route, ipv6)
            && (!by_source || nexthop_has_source(db, route, &nexthops[i],
                                                 &query->src))) {
            if (!strcmp(name, dev)) {
                *none = false;
            } else if (!other) {
                other = name;
            }
        }
    }
    return other;
}

int
route_verdict_errno(enum route_verdict verdict)
{
    switch (verdict) {
    case ROUTE_OK:
        return 0;
    case ROUTE_NO_ROUTE:
    case ROUTE_NOT_LOCAL:
    case ROUTE_RULE_UNREACHABLE:
        return ENETUNREACH;
    case ROUTE_BAD_SOURCE:
    case ROUTE_VIA_BLACKHOLE:
    case ROUTE_RULE_BLACKHOLE:
        return EINVAL;
    case ROUTE_VIA_UNREACHABLE:
        return EHOSTUNREACH;
    case ROUTE_VIA_PROHIBIT:
    case ROUTE_RULE_PROHIBIT:
        return EACCES;
    case ROUTE_NO_SOURCE:
        return EADDRNOTAVAIL;
    case ROUTE_N_VERDICTS:
        break;
    }
    OVS_NOT_REACHED();
}
