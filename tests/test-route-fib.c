/* SPDX-License-Identifier: Apache-2.0 */

/* Checks one route table: first what is known to be right, then random
 * operations against the naive twin.
 *
 *     ovstest test-route-fib cases
 *     ovstest test-route-fib random [SEED [OPERATIONS]]
 */

#include <config.h>

#include "route-fib.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "ovs-rcu.h"
#include "ovstest.h"
#include "packets.h"
#include "random.h"
#include "route-test.h"
#include "util.h"

static bool
usable(const struct route *route, const void *forbidden_)
{
    const uint32_t *forbidden = forbidden_;

    if (route->type >= ROUTE_BLACKHOLE) {
        route_test_fail("a reject or throw route was asked whether it is "
                        "usable");
    }
    return !(route->nexthop_id & *forbidden);
}

/* Fixed cases. */

static struct route *
add(struct route_fib *fib, const char *dst, const char *src,
    enum route_owner owner, uint32_t metric, uint32_t id)
{
    struct route *route = route_create(0);

    route->dst = route_test_parse(dst, &route->dst_plen);
    if (src) {
        route->src = route_test_parse(src, &route->src_plen);
    }
    route->owner = owner;
    route->metric = metric;
    route->nexthop_id = id;
    route_fib_insert(fib, route, true);
    return route;
}

/* The answer must be the route whose 'nexthop_id' is 'id', 0: none. */
static void
expect(const struct route_fib *fib, const char *dst, const char *src,
       uint32_t forbidden, uint32_t id)
{
    struct route_fib_query query = {
        .dst = route_test_parse(dst, NULL),
        .usable = usable,
        .aux = &forbidden,
    };

    if (src) {
        query.src = route_test_parse(src, NULL);
    }

    const struct route *route = route_fib_lookup(fib, &query);
    uint32_t found = route ? route->nexthop_id : 0;

    if (found != id) {
        route_test_fail("%s from %s: expected %"PRIu32", got %"PRIu32, dst,
                        src ? src : "any", id, found);
    }
}

/* What Linux 6.18 answers for these routes ("ip -6 route get"). */
static void
case_source_specific(void)
{
    struct route_fib *fib = route_fib_create(100, true);

    add(fib, "2001:db8:1::/48", NULL, ROUTE_KERNEL, 1024, 1);
    add(fib, "2001:db8::/32", NULL, ROUTE_KERNEL, 1024, 2);
    add(fib, "2001:db8:1::/48", "2001:db8:a::/64", ROUTE_KERNEL, 1024, 4);
    expect(fib, "2001:db8:1::5", "2001:db8:a::1", 0, 4);
    expect(fib, "2001:db8:1::5", "2001:db8:b::1", 0, 2);
    expect(fib, "2001:db8:1::5", NULL, 0, 2);

    add(fib, "::/0", NULL, ROUTE_KERNEL, 1024, 8);
    add(fib, "::/0", "2001:db8:a::/64", ROUTE_KERNEL, 1024, 16);
    expect(fib, "2001:db9::5", "2001:db8:a::1", 0, 16);
    expect(fib, "2001:db9::5", "2001:db8:b::1", 0, 8);
    expect(fib, "2001:db9::5", NULL, 0, 8);

    add(fib, "2001:db8:2::/48", NULL, ROUTE_KERNEL, 1024, 32);
    add(fib, "2001:db8:2::/48", "2001:db8:a::/64", ROUTE_KERNEL, 1024, 64);
    add(fib, "2001:db8:2:3::/64", "2001:db8:b::/64", ROUTE_KERNEL, 1024, 128);
    expect(fib, "2001:db8:2:3::5", "2001:db8:a::1", 0, 64);
    expect(fib, "2001:db8:2:3::5", "2001:db8:b::1", 0, 128);
    expect(fib, "2001:db8:2:3::5", NULL, 0, 2);

    /* On the way back from a dead route nothing is hidden. */
    expect(fib, "2001:db8:2:3::5", "2001:db8:b::1", 128, 32);
    expect(fib, "2001:db8:2:3::5", "2001:db8:a::1", 64, 32);

    /* A user's route for any source is not the kernel's to hide. */
    add(fib, "2001:db8:1::/48", NULL, ROUTE_USER, 1024, 256);
    expect(fib, "2001:db8:1::5", "2001:db8:b::1", 0, 256);
    expect(fib, "2001:db8:1::5", "2001:db8:a::1", 0, 4);

    add(fib, "2001:db8:4::/48", "::/16", ROUTE_KERNEL, 1024, 512);
    expect(fib, "2001:db8:4::5", NULL, 0, 512);
    route_fib_destroy(fib);
}

static void
case_edges(void)
{
    struct route_fib *fib = route_fib_create(254, false);
    struct route_fib *fib6 = route_fib_create(254, true);
    struct route *other;
    size_t n;

    expect(fib, "192.0.2.1", NULL, 0, 0);
    add(fib, "0.0.0.0/0", NULL, ROUTE_KERNEL, 0, 1);
    add(fib, "128.0.0.0/1", NULL, ROUTE_KERNEL, 0, 2);
    add(fib, "255.255.255.255/32", NULL, ROUTE_KERNEL, 0, 4);
    add(fib, "192.0.2.0/31", NULL, ROUTE_KERNEL, 0, 8);
    expect(fib, "127.255.255.255", NULL, 0, 1);
    expect(fib, "128.0.0.0", NULL, 0, 2);
    expect(fib, "255.255.255.255", NULL, 0, 4);
    expect(fib, "255.255.255.255", NULL, 4, 2);
    expect(fib, "255.255.255.255", NULL, 6, 1);
    expect(fib, "255.255.255.255", NULL, 7, 0);
    expect(fib, "192.0.2.1", NULL, 0, 8);
    expect(fib, "192.0.2.2", NULL, 0, 2);

    add(fib6, "::/0", NULL, ROUTE_KERNEL, 0, 1);
    add(fib6, "8000::/1", NULL, ROUTE_KERNEL, 0, 2);
    add(fib6, "fe80::/64", NULL, ROUTE_KERNEL, 0, 4);
    add(fib6, "fe80::/65", NULL, ROUTE_KERNEL, 0, 8);
    add(fib6, "fe80::1/128", NULL, ROUTE_KERNEL, 0, 16);
    add(fib6, "fe80::/63", NULL, ROUTE_KERNEL, 0, 32);
    expect(fib6, "::1", NULL, 0, 1);
    expect(fib6, "ffff::", NULL, 0, 2);
    expect(fib6, "fe80::8000:0:0:1", NULL, 0, 4);
    expect(fib6, "fe80::2", NULL, 0, 8);
    expect(fib6, "fe80::1", NULL, 0, 16);
    expect(fib6, "fe80:0:0:1::1", NULL, 0, 32);

    /* Owner before metric; order; replacing keeps the place. */
    add(fib, "10.0.0.0/8", NULL, ROUTE_KERNEL, 5, 64);
    other = add(fib, "10.0.0.0/8", NULL, ROUTE_KERNEL, 5, 128);
    expect(fib, "10.1.1.1", NULL, 0, 64);
    expect(fib, "10.1.1.1", NULL, 64, 128);
    route_fib_remove(fib, other);
    route_fib_insert(fib, other, false);
    expect(fib, "10.1.1.1", NULL, 0, 128);

    struct route *new = route_clone(other);

    new->nexthop_id = 256;
    route_fib_replace(fib, other, new);
    route_destroy(other);
    expect(fib, "10.1.1.1", NULL, 0, 256);
    add(fib, "10.0.0.0/8", NULL, ROUTE_PORT, 9, 512);
    add(fib, "10.0.0.0/8", NULL, ROUTE_USER, 99, 1024);
    expect(fib, "10.1.1.1", NULL, 0, 1024);
    expect(fib, "10.1.1.1", NULL, 1024, 512);
    if (route_fib_count(fib) != 8 || fib->n_user != 2) {
        route_test_fail("wrong count");
    }

    free(route_fib_sort(fib, &n));
    if (n != 8) {
        route_test_fail("wrong number of sorted routes");
    }
    route_fib_destroy(fib);
    route_fib_destroy(fib6);
}

/* More routes for one prefix than the filter counts. */
static void
case_many(void)
{
    struct route_fib *fib = route_fib_create(254, false);
    struct route *routes[600];

    for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
        routes[i] = add(fib, "10.0.0.0/8", NULL, ROUTE_KERNEL, i, i + 1);
    }
    for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
        expect(fib, "10.1.2.3", NULL, 0, i + 1);
        route_fib_remove(fib, routes[i]);
        ovsrcu_postpone(route_destroy, routes[i]);
    }
    expect(fib, "10.1.2.3", NULL, 0, 0);
    add(fib, "10.0.0.0/8", NULL, ROUTE_KERNEL, 0, 1);
    expect(fib, "10.1.2.3", NULL, 0, 1);
    route_fib_destroy(fib);
}

/* Random operations. */

struct random_test {
    struct route_fib *fib;
    struct route_twin twin;
    struct in6_addr pool[24];   /* Destinations and sources grow from these. */
    size_t max_routes;
};

static uint8_t
random_plen(bool ipv6)
{
    return ipv6 ? random_range(129) : 96 + random_range(33);
}

/* An address of the pool with its end changed from a random bit on. */
static struct in6_addr
random_address(const struct random_test *t)
{
    struct in6_addr addr = t->pool[random_range(ARRAY_SIZE(t->pool))];

    for (int i = random_plen(t->fib->ipv6); i < 128; i++) {
        if (random_range(2)) {
            addr.s6_addr[i / 8] ^= 0x80 >> i % 8;
        }
    }
    return addr;
}

static struct in6_addr
random_prefix(const struct random_test *t, uint8_t plen)
{
    return route_test_cut(&t->pool[random_range(ARRAY_SIZE(t->pool))], plen);
}

static uint8_t
random_tos(void)
{
    return random_range(3) ? 0 : 4 << random_range(4);
}

static void
randomize_value(struct route *route)
{
    static const enum route_type types[] = {
        ROUTE_UNICAST, ROUTE_UNICAST, ROUTE_UNICAST, ROUTE_LOCAL,
        ROUTE_BLACKHOLE, ROUTE_UNREACHABLE, ROUTE_PROHIBIT, ROUTE_THROW,
    };

    route->type = types[random_range(ARRAY_SIZE(types))];
    route->preference = 1 + random_range(3);
    route->nexthop_id = 1u << random_range(4);
}

static void
randomize_key(const struct random_test *t, struct route *route)
{
    bool ipv6 = t->fib->ipv6;

    route->owner = random_range(2) ? ROUTE_KERNEL : random_range(3);
    route->metric = random_range(3) * 100;
    route->mark = (route->owner == ROUTE_KERNEL || random_range(2)
                   ? 0 : 1 + random_range(3));
    route->tos = ipv6 ? 0 : random_tos();
    route->src = in6addr_any;
    route->src_plen = 0;
    if (ipv6 && !random_range(4)) {
        route->src_plen = 1 + random_range(128);
        route->src = random_prefix(t, route->src_plen);
    }
}

static void
random_insert(struct random_test *t)
{
    bool append = random_range(2);
    struct route *route;

    if (t->twin.n && !random_range(2)) {
        /* Something like a route that is there. */
        route = route_clone(t->twin.routes[random_range(t->twin.n)]);
        if (random_range(2)) {
            randomize_key(t, route);
        }
    } else {
        route = route_create(random_range(3));
        route->dst_plen = random_plen(t->fib->ipv6);
        route->dst = random_prefix(t, route->dst_plen);
        randomize_key(t, route);
    }
    randomize_value(route);

    route_twin_insert(&t->twin, route, append);
    route_fib_insert(t->fib, route, append);
}

static void
random_remove(struct random_test *t)
{
    struct route *route = t->twin.routes[random_range(t->twin.n)];

    route_twin_remove(&t->twin, route);
    route_fib_remove(t->fib, route);
    ovsrcu_postpone(route_destroy, route);
}

static void
random_replace(struct random_test *t)
{
    size_t i = random_range(t->twin.n);
    struct route *old = t->twin.routes[i];
    struct route *new = route_clone(old);

    if (random_range(2)) {
        /* The new key must have no order of its own. */
        randomize_key(t, new);
        if (route_twin_find(&t->twin, new)) {
            route_destroy(new);
            return;
        }
    }
    randomize_value(new);
    t->twin.routes[i] = new;
    route_fib_replace(t->fib, old, new);
    ovsrcu_postpone(route_destroy, old);
}

static void
random_lookup(const struct random_test *t)
{
    uint32_t forbidden = random_range(16);
    struct route_fib_query query = {
        .dst = random_address(t),
        .src = random_range(4) ? random_address(t) : in6addr_any,
        .mark = random_range(2) ? 0 : random_range(5),
        .tos = random_tos() | random_range(4) | random_range(2) << 7,
        .usable = usable,
        .aux = &forbidden,
    };
    const struct route *want = route_twin_lookup(&t->twin, &query, forbidden);

    if (route_fib_lookup(t->fib, &query) != want) {
        char dst[INET6_ADDRSTRLEN];

        route_test_fail("lookup of %s differs from the twin's with %"PRIuSIZE
                        " routes",
                        inet_ntop(AF_INET6, &query.dst, dst, sizeof dst),
                        t->twin.n);
    }
}

static void
check_all(const struct random_test *t)
{
    size_t n_user = 0;
    const struct route **sorted;
    const struct route *route;
    size_t n = 0;

    ROUTE_FIB_FOR_EACH (route, t->fib) {
        route_twin_index(&t->twin, route);
        n_user += route->owner != ROUTE_KERNEL;
        n++;
    }
    if (n != t->twin.n || route_fib_count(t->fib) != n) {
        route_test_fail("%"PRIuSIZE" routes instead of %"PRIuSIZE,
                        n, t->twin.n);
    }
    if (n_user != t->fib->n_user) {
        route_test_fail("%"PRIuSIZE" user routes instead of %"PRIuSIZE,
                        t->fib->n_user, n_user);
    }

    sorted = route_fib_sort(t->fib, &n);
    if (n != t->twin.n) {
        route_test_fail("%"PRIuSIZE" sorted instead of %"PRIuSIZE,
                        n, t->twin.n);
    }
    for (size_t i = 1; i < n; i++) {
        const struct route *a = sorted[i - 1];
        const struct route *b = sorted[i];
        int cmp = memcmp(&a->dst, &b->dst, sizeof a->dst);

        if (a->dst_plen < b->dst_plen
            || (a->dst_plen == b->dst_plen && cmp > 0)
            || (a->dst_plen == b->dst_plen && !cmp && a->mark == b->mark
                && (a->src_plen != b->src_plen
                    || IN6_ARE_ADDR_EQUAL(&a->src, &b->src))
                && route_twin_before(b, a))
            || (route_twin_same_key(a, b) && !route_twin_before(a, b)
                && (route_twin_index(&t->twin, a)
                    > route_twin_index(&t->twin, b)))) {
            route_test_fail("routes %"PRIuSIZE" and %"PRIuSIZE" are out of "
                            "order", i - 1, i);
        }
    }
    free(sorted);
}

static void
random_test(bool ipv6, size_t n_operations, size_t max_routes)
{
    struct random_test t = {
        .fib = route_fib_create(1, ipv6),
        .max_routes = max_routes,
    };

    for (size_t i = 0; i < ARRAY_SIZE(t.pool); i++) {
        /* Half of the pool is near to another. */
        random_bytes(&t.pool[i], sizeof t.pool[i]);
        if (!ipv6) {
            in6_addr_set_mapped_ipv4(&t.pool[i], htonl(random_uint32()));
        }
        if (i % 2) {
            memcpy(&t.pool[i], &t.pool[i - 1], ipv6 ? 7 : 14);
        }
    }

    for (size_t i = 0; i < n_operations; i++) {
        int choice = random_range(16);

        if (!t.twin.n || (choice < 2 && t.twin.n < t.max_routes)) {
            random_insert(&t);
        } else if (choice < 4) {
            random_remove(&t);
        } else if (choice < 6) {
            random_replace(&t);
        } else if (choice < 7) {
            const struct route *key
                = t.twin.routes[random_range(t.twin.n)];

            if (route_fib_find(t.fib, key) != route_twin_find(&t.twin, key)) {
                route_test_fail("find differs from the twin's");
            }
        } else {
            random_lookup(&t);
        }
        if (!(i % 1024)) {
            check_all(&t);
            ovsrcu_quiesce();
        }
    }

    check_all(&t);
    free(t.twin.routes);
    route_fib_destroy(t.fib);
}

static void
test_route_fib_main(int argc, char *argv[])
{
    const char *what = argc > 1 ? argv[1] : "";

    if (!strcmp(what, "cases")) {
        case_edges();
        case_many();
        case_source_specific();
    } else if (!strcmp(what, "random")) {
        size_t n = argc > 3 ? strtoul(argv[3], NULL, 0) : 100000;

        route_test_seed(argc > 2 ? argv[2] : NULL);
        for (size_t max_routes = 16; max_routes <= 256; max_routes *= 16) {
            random_test(false, n, max_routes);
            random_test(true, n, max_routes);
        }
    } else {
        route_test_fail("%s: not one of cases, random", what);
    }
}

OVSTEST_REGISTER("test-route-fib", test_route_fib_main);
