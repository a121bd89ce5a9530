/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "route-test.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "packets.h"
#include "random.h"
#include "util.h"

static uint32_t seed;           /* Of the random numbers, 0: none. */

void
route_test_fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    if (seed) {
        printf(" (seed %"PRIu32")", seed);
    }
    putchar('\n');
    exit(EXIT_FAILURE);
}

void
route_test_seed(const char *argument)
{
    if (!argument) {
        argument = getenv("TEST_SEED");
    }
    seed = (argument && strcmp(argument, "random")
            ? strtoul(argument, NULL, 0) : time(NULL));
    random_set_seed(seed);
    printf("seed %"PRIu32"\n", seed);
    fflush(stdout);
}

struct in6_addr
route_test_parse(const char *s, uint8_t *plen)
{
    char *copy = xstrdup(s);
    char *slash = strchr(copy, '/');
    struct in6_addr addr;
    uint8_t length = 128;
    ovs_be32 ip;

    if (slash) {
        *slash++ = '\0';
        length = atoi(slash);
    }
    if (inet_pton(AF_INET, copy, &ip) == 1) {
        in6_addr_set_mapped_ipv4(&addr, ip);
        length += slash ? 96 : 0;
    } else if (inet_pton(AF_INET6, copy, &addr) != 1) {
        route_test_fail("%s: bad address", s);
    }
    free(copy);
    if (plen) {
        *plen = length;
    }
    return addr;
}

struct in6_addr
route_test_cut(const struct in6_addr *addr_, int plen)
{
    struct in6_addr addr = *addr_;

    for (int i = plen; i < 128; i++) {
        addr.s6_addr[i / 8] &= ~(0x80 >> i % 8);
    }
    return addr;
}

/* Tables. */

static bool
naive_bit(const struct in6_addr *addr, int i)
{
    return addr->s6_addr[i / 8] & (0x80 >> i % 8);
}

bool
route_twin_contains(const struct in6_addr *prefix, int plen,
                    const struct in6_addr *addr)
{
    for (int i = 0; i < plen; i++) {
        if (naive_bit(prefix, i) != naive_bit(addr, i)) {
            return false;
        }
    }
    return true;
}

bool
route_twin_same_key(const struct route *a, const struct route *b)
{
    return (IN6_ARE_ADDR_EQUAL(&a->dst, &b->dst) && a->dst_plen == b->dst_plen
            && IN6_ARE_ADDR_EQUAL(&a->src, &b->src)
            && a->src_plen == b->src_plen && a->tos == b->tos
            && a->metric == b->metric && a->mark == b->mark
            && a->owner == b->owner);
}

struct route *
route_twin_find(const struct route_twin *twin, const struct route *key)
{
    struct route *best = NULL;

    for (size_t i = 0; i < twin->n; i++) {
        struct route *route = twin->routes[i];

        if (route_twin_same_key(route, key)
            && (!best || route->preference > best->preference)) {
            best = route;
        }
    }
    return best;
}

void
route_twin_insert(struct route_twin *twin, struct route *route, bool append)
{
    size_t pos = append ? twin->n : 0;

    if (twin->n >= twin->allocated) {
        twin->routes = x2nrealloc(twin->routes, &twin->allocated,
                                  sizeof *twin->routes);
    }
    memmove(&twin->routes[pos + 1], &twin->routes[pos],
            (twin->n - pos) * sizeof *twin->routes);
    twin->routes[pos] = route;
    twin->n++;
}

size_t
route_twin_index(const struct route_twin *twin, const struct route *route)
{
    for (size_t i = 0; i < twin->n; i++) {
        if (twin->routes[i] == route) {
            return i;
        }
    }
    OVS_NOT_REACHED();
}

void
route_twin_remove(struct route_twin *twin, const struct route *route)
{
    size_t i = route_twin_index(twin, route);

    twin->n--;
    memmove(&twin->routes[i], &twin->routes[i + 1],
            (twin->n - i) * sizeof *twin->routes);
}

bool
route_twin_before(const struct route *a, const struct route *b)
{
    int64_t x[] = { a->src_plen, a->owner, a->tos, -(int64_t) a->metric,
                    a->preference };
    int64_t y[] = { b->src_plen, b->owner, b->tos, -(int64_t) b->metric,
                    b->preference };

    for (size_t i = 0; i < ARRAY_SIZE(x); i++) {
        if (x[i] != y[i]) {
            return x[i] > y[i];
        }
    }
    return false;
}

static bool
naive_usable(const struct route *route, uint32_t forbidden)
{
    return (route->type >= ROUTE_BLACKHOLE
            || !(route->nexthop_id & forbidden));
}

static const struct route *
twin_lookup_mark(const struct route_twin *twin,
                 const struct route_fib_query *query,
                 uint32_t mark, uint32_t forbidden)
{
    bool entered = false;

    for (int plen = 128; plen >= 0; plen--) {
        const struct route *best = NULL;
        int n_any = 0;
        int n_other = 0;
        bool hidden;

        for (size_t i = 0; i < twin->n; i++) {
            const struct route *r = twin->routes[i];

            if (r->dst_plen == plen && r->owner == ROUTE_KERNEL
                && route_twin_contains(&r->dst, plen, &query->dst)) {
                if (!r->src_plen) {
                    n_any++;
                } else if (route_twin_contains(&r->src, r->src_plen,
                                               &query->src)) {
                    entered = true;
                } else {
                    n_other++;
                }
            }
        }
        hidden = n_other && !entered && plen;
        entered |= n_any && !hidden;

        for (size_t i = 0; i < twin->n; i++) {
            const struct route *r = twin->routes[i];

            if (r->dst_plen == plen
                && route_twin_contains(&r->dst, plen, &query->dst)
                && r->mark == mark
                && route_twin_contains(&r->src, r->src_plen, &query->src)
                && (!r->tos || r->tos == (query->tos & 0x1c))
                && !(hidden && !r->src_plen && r->owner == ROUTE_KERNEL)
                && naive_usable(r, forbidden)
                && (!best || route_twin_before(r, best))) {
                best = r;
            }
        }
        if (best) {
            return best;
        }
    }
    return NULL;
}

const struct route *
route_twin_lookup(const struct route_twin *twin,
                  const struct route_fib_query *query, uint32_t forbidden)
{
    const struct route *route = NULL;

    if (query->mark) {
        route = twin_lookup_mark(twin, query, query->mark, forbidden);
    }
    return route ? route : twin_lookup_mark(twin, query, 0, forbidden);
}

/* Rules. */

static bool
naive_port(int min, int max, int mask, int port)
{
    if (mask) {
        return (port & mask) == (min & mask);
    }
    return (min == 0 && max == 0) || (port >= min && port <= max);
}

bool
route_twin_match(const struct route_rule *r, const struct route_rule_query *q)
{
    static const struct in6_addr zero;
    bool unset = IN6_ARE_ADDR_EQUAL(&q->src, &zero);
    struct in6_addr src = (unset && !r->ipv6
                           ? route_test_parse("0.0.0.0", NULL) : q->src);
    int tos_bits = r->ipv6 ? 0xfc : 0x1c;
    bool ok = true;

    if (r->unknown_selector) {
        return false;
    }
    ok &= route_twin_contains(&r->from, r->from_plen, &src);
    ok &= !r->ipv6 || !unset || !r->from_plen;
    ok &= route_twin_contains(&r->to, r->to_plen, &q->dst);
    ok &= (r->mark & r->mark_mask) == (q->mark & r->mark_mask);
    ok &= !r->tos || r->tos == (q->tos & tos_bits);
    ok &= (r->dscp & r->dscp_mask) == (q->tos & r->dscp_mask);
    ok &= !r->ipproto || r->ipproto == q->ipproto;
    ok &= naive_port(r->sport_min, r->sport_max, r->sport_mask,
                     ntohs(q->sport));
    ok &= naive_port(r->dport_min, r->dport_max, r->dport_mask,
                     ntohs(q->dport));
    ok &= r->uid_min == 0;
    ok &= !strcmp(r->iif, "") || !strcmp(r->iif, "lo");
    ok &= !strcmp(r->oif, "");
    ok &= !r->l3mdev && !r->tun_id;
    ok &= !(r->flow_label & r->flow_label_mask);
    return r->invert ? !ok : ok;
}

/* An exchange of neighbours at a time keeps equal
 * ones as they are. */
void
route_twin_sort_rules(struct route_rule *rules, size_t n)
{
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 1; i < n; i++) {
            struct route_rule *a = &rules[i - 1];
            struct route_rule *b = &rules[i];

            if (a->priority > b->priority
                || (a->priority == b->priority && a->owner < b->owner)) {
                struct route_rule tmp = *a;

                *a = *b;
                *b = tmp;
                again = true;
            }
        }
    }
}

size_t
route_twin_next_rule(const struct route_rule *rules, size_t n, size_t i,
                     const struct route_rule_query *q)
{
    while (i < n) {
        size_t next = i + 1;

        if (route_twin_match(&rules[i], q)) {
            if (rules[i].action != ROUTE_RULE_GOTO) {
                return i;
            }
            for (size_t j = i + 1; j < n; j++) {
                if (rules[j].priority == rules[i].target
                    && rules[i].priority != rules[i].target) {
                    next = j;
                    break;
                }
            }
        }
        i = next;
    }
    return n;
}
