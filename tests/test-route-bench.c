/* SPDX-License-Identifier: Apache-2.0 */

/* How long lookups and changes take, after their answers were checked.
 *
 *     ovstest test-route-bench [check | lookup | change] [SEED]
 *
 * One line for each figure; all of them if none is named. */

#include <config.h>

#include "route-lookup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ovs-rcu.h"
#include "ovstest.h"
#include "packets.h"
#include "random.h"
#include "route-db.h"
#include "route-test.h"
#include "util.h"

enum {
    N_NICS = 8,
    N_ROUTES = 12500,           /* In the table of each NIC. */
    N_QUERIES = 1024,           /* Remote endpoints, asked in turn. */
    N_CHECKS = 100,             /* Of these, those that are checked. */
    N_ROUNDS = 400,             /* The best one counts: others may share the
                                 * machine and its caches. */
};

static double
now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static struct in6_addr
ipv4(uint32_t ip)
{
    struct in6_addr addr;

    in6_addr_set_mapped_ipv4(&addr, htonl(ip));
    return addr;
}

/* A host with N_NICS NICs, each with a table of its own, and for all that the
 * twin of each table and of the rules. */
struct host {
    struct route_db db;
    struct route_device *nics[N_NICS];
    struct route_twin local, tables[N_NICS];
    struct route_rule *rules;
    size_t n_rules, n_from;
};

enum { FIRST_TABLE = 101 };

static struct in6_addr
nic_address(size_t i)
{
    return ipv4(0x0afe0001 + (i << 8));
}

static void
add_route(struct host *host, uint32_t table, struct route_twin *twin,
          struct in6_addr dst, uint8_t plen, enum route_type type, size_t nic)
    OVS_REQUIRES(host->db.mutex)
{
    struct route *route = route_create(1);

    route->type = type;
    route->scope = (type == ROUTE_LOCAL
                    ? ROUTE_SCOPE_HOST : ROUTE_SCOPE_UNIVERSE);
    route->dst = route_test_cut(&dst, plen);
    route->dst_plen = plen;
    route->nexthops[0].device = host->nics[nic];
    route->nexthops[0].weight = 1;
    if (type == ROUTE_UNICAST) {
        route->nexthops[0].gateway = ipv4(0x0afe00fe + (nic << 8));
    }

    struct route_fib *fib = route_db_fib(&host->db, table, false);

    if (route_fib_find(fib, route)) {
        route_destroy(route);
        return;
    }
    if (twin) {
        route_twin_insert(twin, route, true);
    }
    route_db_add_route(&host->db, fib, route, false, true);
}

static void
add_rule(struct host *host, const struct route_rule *rule)
    OVS_REQUIRES(host->db.mutex)
{
    route_db_add_rule(&host->db, rule);
    host->rules[host->n_rules++] = *rule;
}

/* An address, the rules and the local routes that the kernel adds for it. */
static void
add_address(struct host *host, size_t i)
    OVS_REQUIRES(host->db.mutex)
{
    size_t nic = i % N_NICS;
    struct route_address address = {
        .address = nic_address(i),
        .plen = 128 - 8,
    };
    struct route_rule rule;

    address.prefix = route_test_cut(&address.address, address.plen);
    route_db_add_address(&host->db, host->nics[nic], &address);
    add_route(host, ROUTE_TABLE_LOCAL, &host->local, address.address, 128,
              ROUTE_LOCAL, nic);
    add_route(host, ROUTE_TABLE_LOCAL, &host->local,
              ipv4(0x0afe00ff + (i << 8)), 128, ROUTE_BROADCAST, nic);

    route_rule_init(&rule, false, 1000 + i, FIRST_TABLE + nic, ROUTE_KERNEL);
    rule.from = address.address;
    rule.from_plen = 128;
    add_rule(host, &rule);
}

/* Initializes 'host' with 'n_from' addresses and tables whose routes have the
 * prefix lengths 16, 16 + 'step', ... 32. */
static void
host_init(struct host *host, size_t n_from, size_t step)
{
    memset(host, 0, sizeof *host);
    route_db_init(&host->db);
    ovs_mutex_lock(&host->db.mutex);
    host->rules = xcalloc(n_from + 3, sizeof *host->rules);
    host->n_from = n_from;
    for (size_t i = 0; i < N_NICS; i++) {
        struct route_link link = { .up = true, .carrier = true };

        snprintf(link.name, sizeof link.name, "nic%"PRIuSIZE, i);
        host->nics[i] = route_db_set_link(&host->db, 10 + i, &link);
    }
    for (size_t i = 0; i < n_from; i++) {
        add_address(host, i);
    }
    add_route(host, ROUTE_TABLE_LOCAL, &host->local, ipv4(0x7f000000),
              96 + 8, ROUTE_LOCAL, 0);

    /* Those that the db has from the start. */
    route_rule_init(&host->rules[host->n_rules++], false, 0,
                    ROUTE_TABLE_LOCAL, ROUTE_KERNEL);
    route_rule_init(&host->rules[host->n_rules++], false, 32766,
                    ROUTE_TABLE_MAIN, ROUTE_KERNEL);
    route_rule_init(&host->rules[host->n_rules++], false, 32767,
                    ROUTE_TABLE_DEFAULT, ROUTE_KERNEL);
    route_twin_sort_rules(host->rules, host->n_rules);

    for (size_t i = 0; i < N_NICS; i++) {
        struct route_twin *twin = &host->tables[i];

        while (twin->n < N_ROUTES) {
            add_route(host, FIRST_TABLE + i, twin,
                      ipv4(0x0b000000 + random_range(0x40000000)),
                      96 + 16 + step * random_range(16 / step + 1),
                      ROUTE_UNICAST, i);
        }
    }
    ovs_mutex_unlock(&host->db.mutex);
}

static void
host_destroy(struct host *host)
{
    route_db_destroy(&host->db);
    for (size_t i = 0; i < N_NICS; i++) {
        free(host->tables[i].routes);
    }
    free(host->local.routes);
    free(host->rules);
    ovsrcu_quiesce();
}

/* A query from one of the sources into one of the routes of its table. */
static struct route_query
random_query(const struct host *host)
{
    size_t i = random_range(host->n_from);
    const struct route_twin *twin = &host->tables[i % N_NICS];
    const struct route *route = twin->routes[random_range(twin->n)];
    ovs_be32 host_bits = htonl(random_uint32());
    struct in6_addr within;

    memset(&within, 0, sizeof within);
    memcpy(&within.s6_addr[12], &host_bits, sizeof host_bits);

    struct in6_addr network = route_test_cut(&within, route->dst_plen);
    struct route_query query = {
        .dst = route->dst,
        .src = nic_address(i),
        .ipproto = IPPROTO_UDP,
        .dport = htons(6081),
        .hash = random_uint32(),
    };
    for (size_t j = 12; j < 16; j++) {
        query.dst.s6_addr[j] |= within.s6_addr[j] ^ network.s6_addr[j];
    }
    return query;
}

static bool
usable(const struct route *route OVS_UNUSED, const void *aux OVS_UNUSED)
{
    return true;
}

/* Where the twins end. */
static const struct route *
naive_lookup(const struct host *host, const struct route_query *query)
{
    struct route_rule_query rq = {
        .src = query->src,
        .dst = query->dst,
        .ipproto = query->ipproto,
        .dport = query->dport,
    };
    struct route_fib_query fq = {
        .dst = query->dst, .src = query->src, .usable = usable,
    };

    for (size_t i = 0; i < host->n_rules; i++) {
        i = route_twin_next_rule(host->rules, host->n_rules, i, &rq);
        if (i == host->n_rules) {
            break;
        }

        uint32_t table = host->rules[i].table;
        const struct route *route = NULL;

        if (table == ROUTE_TABLE_LOCAL) {
            route = route_twin_lookup(&host->local, &fq, 0);
        } else if (table >= FIRST_TABLE && table < FIRST_TABLE + N_NICS) {
            route = route_twin_lookup(&host->tables[table - FIRST_TABLE],
                                      &fq, 0);
        }
        if (route) {
            return route;
        }
    }
    return NULL;
}

static void
check(const struct host *host, const struct route_query *queries)
{
    for (size_t i = 0; i < N_CHECKS; i++) {
        struct route_query query = queries[i];
        struct route_result result;

        if (i % 4 == 3) {
            query.dst = ipv4(random_uint32() & 0x7fffffff);
        }

        const struct route *want = naive_lookup(host, &query);

        route_lookup(&host->db, &query, &result, NULL);
        if (result.route != want) {
            route_test_fail("the answer to a lookup with %"PRIuSIZE
                            " rules is wrong", host->n_rules);
        }
    }
}

static double
time_lookups(const struct host *host, const struct route_query *queries)
{
    double best = 0;

    for (int i = 0; i < N_ROUNDS; i++) {
        double start = now_ns();
        double ns;

        for (size_t j = 0; j < N_QUERIES; j++) {
            struct route_result result;

            if (route_lookup(&host->db, &queries[j], &result, NULL)) {
                route_test_fail("a lookup found no route");
            }
        }
        ns = (now_ns() - start) / N_QUERIES;
        if (!i || ns < best) {
            best = ns;
        }
    }
    return best;
}

static void
bench_lookup(bool timed)
{
    /* First what a fabric has, then more than that: tables with all lengths
     * ask much of a lookup that probes them one by one. */
    static const struct {
        size_t n_from, step;
    } cases[] = { { N_NICS, 8 }, { 64, 8 }, { 512, 8 }, { N_NICS, 1 } };
    struct route_query *queries = xmalloc(N_QUERIES * sizeof *queries);

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct host host;

        host_init(&host, cases[i].n_from, cases[i].step);
        for (size_t j = 0; j < N_QUERIES; j++) {
            queries[j] = random_query(&host);
        }
        check(&host, queries);
        if (timed) {
            printf("lookup: %.1f ns (%"PRIuSIZE" from rules, %d tables of %d "
                   "routes of %"PRIuSIZE" lengths)\n",
                   time_lookups(&host, queries), cases[i].n_from,
                   N_NICS, N_ROUTES, 16 / cases[i].step + 1);
        }
        host_destroy(&host);
    }
    free(queries);
}

/* Adds and removes one route in a table of 'n' others. */
static void
bench_change(size_t n, bool timed)
{
    const int n_changes = timed ? 20000 : 200;
    struct route_db db;
    struct route_device *device;
    struct route_link link = { .name = "nic0", .up = true, .carrier = true };
    struct route_rule rule;
    struct route_fib *fib;
    double insert = 0;
    double remove = 0;

    route_db_init(&db);
    ovs_mutex_lock(&db.mutex);
    device = route_db_set_link(&db, 10, &link);
    route_rule_init(&rule, false, 1000, FIRST_TABLE, ROUTE_KERNEL);
    route_db_add_rule(&db, &rule);
    fib = route_db_fib(&db, FIRST_TABLE, false);
    for (size_t i = 0; i < n + n_changes; i++) {
        struct route *route = route_create(1);
        double start = now_ns();

        route->dst = ipv4(0x0b000000 + (i << 8));
        route->dst_plen = 96 + 24;
        route->nexthops[0].device = device;
        route->nexthops[0].weight = 1;
        route_db_add_route(&db, fib, route, false, false);
        if (i < n) {
            continue;
        }

        double middle = now_ns();

        if (route_fib_count(fib) != n + 1) {
            route_test_fail("a route was not added");
        }
        route_db_remove_route(&db, fib, route);
        insert += middle - start;
        remove += now_ns() - middle;
        if (route_fib_count(fib) != n) {
            route_test_fail("a route was not removed");
        }
        if (!(i % 64)) {
            ovsrcu_quiesce();
        }
    }
    ovs_mutex_unlock(&db.mutex);
    route_db_destroy(&db);
    ovsrcu_quiesce();

    if (timed) {
        printf("change: insert %.0f ns, remove %.0f ns (table of %"PRIuSIZE
               " routes)\n", insert / n_changes, remove / n_changes, n);
    }
}

static void
test_route_bench_main(int argc, char *argv[])
{
    const char *what = argc > 1 ? argv[1] : "";
    bool all = !*what || !strcmp(what, "check");
    bool timed = strcmp(what, "check");

    if (!all && strcmp(what, "lookup") && strcmp(what, "change")) {
        route_test_fail("%s: not one of check, lookup, change", what);
    }

    route_test_seed(argc > 2 ? argv[2] : NULL);
    if (all || !strcmp(what, "lookup")) {
        bench_lookup(timed);
    }
    if (all || !strcmp(what, "change")) {
        bench_change(100, timed);
        bench_change(1000, timed);
        bench_change(50000, timed);
    }
}

OVSTEST_REGISTER("test-route-bench", test_route_bench_main);
