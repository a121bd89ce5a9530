/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#undef NDEBUG

/* The mirror of the kernel's routing state in the current network namespace,
 * driven by lines on stdin, one answer line each on stdout:
 *
 *     sync                 applies all that the kernel has sent so far
 *     get DST SRC|- MARK TOS IPPROTO DPORT
 *                          looks up, with many flow hashes if they make a
 *                          difference: "ok" and each answer that some flow
 *                          gets, TYPE/DEV/GATEWAY|-/SRC|-/TABLE or
 *                          refused/ERRNO/VERDICT
 *     routes TABLE|all     counts the kernel's routes
 *     tables               counts them by family and table
 *     list TABLE           prints them, sorted, and "." at the end
 *     dumps                counts the lists that were read from the kernel
 *     quit
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovs-router.h"
#include "ovstest.h"
#include "packets.h"
#include "route-db.h"
#include "route-dump.h"
#include "route-lookup.h"
#include "route-table.h"
#include "svec.h"
#include "util.h"

/* So many that a next hop with 1/16 of all flows is missed in one of 10^28
 * queries. */
#define N_HASHES 1000

static bool
parse_address(const char *s, struct in6_addr *addr)
{
    ovs_be32 ipv4;

    if (!strcmp(s, "-")) {
        *addr = in6addr_any;
        return true;
    } else if (ip_parse(s, &ipv4)) {
        in6_addr_set_mapped_ipv4(addr, ipv4);
        return true;
    }
    return ipv6_parse(s, addr);
}

static void
format_address(const struct in6_addr *addr, struct ds *s)
{
    if (ipv6_addr_is_set(addr)) {
        ipv6_format_mapped(addr, s);
    } else {
        ds_put_char(s, '-');
    }
}

static const char *
verdict_name(enum route_verdict verdict)
{
    static const char *const names[ROUTE_N_VERDICTS] = {
        [ROUTE_OK] = "ok",
        [ROUTE_NO_ROUTE] = "no-route",
        [ROUTE_NOT_LOCAL] = "not-local",
        [ROUTE_BAD_SOURCE] = "bad-source",
        [ROUTE_VIA_BLACKHOLE] = "via-blackhole",
        [ROUTE_VIA_UNREACHABLE] = "via-unreachable",
        [ROUTE_VIA_PROHIBIT] = "via-prohibit",
        [ROUTE_RULE_BLACKHOLE] = "rule-blackhole",
        [ROUTE_RULE_UNREACHABLE] = "rule-unreachable",
        [ROUTE_RULE_PROHIBIT] = "rule-prohibit",
        [ROUTE_NO_SOURCE] = "no-source",
    };

    return names[verdict] ? names[verdict] : "unknown";
}

/* Formats what 'query' finds as one word. */
static char *
format_answer(const struct route_query *query, bool *hashed)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    struct route_result result;
    enum route_verdict verdict;

    verdict = route_lookup(ovs_router_db(), query, &result, NULL);
    *hashed = result.hashed;
    if (verdict) {
        ds_put_format(&s, "refused/%d/%s", route_verdict_errno(verdict),
                      verdict_name(verdict));
    } else {
        ds_put_format(&s, "%s/%s/", route_type_to_string(result.route->type),
                      result.dev);
        format_address(&result.gateway, &s);
        ds_put_char(&s, '/');
        format_address(&result.src, &s);
        ds_put_format(&s, "/%"PRIu32, result.table);
    }
    return ds_steal_cstr(&s);
}

static void
do_get(struct svec *args, struct ds *reply)
{
    struct route_query query = { .tos = 0 };
    struct svec answers = SVEC_EMPTY_INITIALIZER;
    bool hashed = true;

    if (args->n != 7 || !parse_address(args->names[1], &query.dst)
        || !parse_address(args->names[2], &query.src)) {
        ds_put_cstr(reply, "error usage: get DST SRC|- MARK TOS IPPROTO "
                    "DPORT");
        return;
    }
    query.mark = strtoul(args->names[3], NULL, 0);
    query.tos = strtoul(args->names[4], NULL, 0);
    query.ipproto = strtoul(args->names[5], NULL, 0);
    query.dport = htons(strtoul(args->names[6], NULL, 0));

    for (uint32_t i = 0; hashed && i < N_HASHES; i++) {
        query.hash = hash_int(i, 0);
        svec_add_nocopy(&answers, format_answer(&query, &hashed));
    }
    if (answers.n > 1 && !hashed) {
        ds_put_cstr(reply, "error the hash counts for some flows only");
        svec_destroy(&answers);
        return;
    }
    svec_sort_unique(&answers);

    char *joined = svec_join(&answers, " ", "");
    ds_put_format(reply, "ok %s", joined);
    free(joined);
    svec_destroy(&answers);
}

static size_t
count_kernel_routes(const struct route_fib *fib)
{
    return route_fib_count(fib) - fib->n_user;
}

static void
do_routes(struct svec *args, struct ds *reply)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct route_db *db = ovs_router_db();
    const struct route_fib *fib;
    size_t n = 0;

    if (args->n != 2) {
        ds_put_cstr(reply, "error usage: routes TABLE|all");
        return;
    }
    HMAP_FOR_EACH (fib, node, &db->fibs) {
        if (!strcmp(args->names[1], "all")
            || strtoul(args->names[1], NULL, 0) == fib->id) {
            n += count_kernel_routes(fib);
        }
    }
    ds_put_format(reply, "ok %"PRIuSIZE, n);
}

static void
do_tables(struct ds *reply)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct route_db *db = ovs_router_db();
    struct svec tables = SVEC_EMPTY_INITIALIZER;
    const struct route_fib *fib;

    HMAP_FOR_EACH (fib, node, &db->fibs) {
        svec_add_nocopy(&tables, xasprintf("%d:%"PRIu32"=%"PRIuSIZE,
                                           fib->ipv6 ? 6 : 4, fib->id,
                                           count_kernel_routes(fib)));
    }
    svec_sort(&tables);
    char *joined = svec_join(&tables, " ", "");
    ds_put_format(reply, "ok %s", joined);
    free(joined);
    svec_destroy(&tables);
}

static void
do_list(struct svec *args, struct ds *reply)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct route_db *db = ovs_router_db();

    if (args->n != 2) {
        ds_put_cstr(reply, "error usage: list TABLE");
        return;
    }
    for (int ipv6 = 0; ipv6 < 2; ipv6++) {
        const struct route_fib *fib
            = route_db_find_fib(db, strtoul(args->names[1], NULL, 0), ipv6);
        const struct route **routes;
        size_t n;

        if (!fib) {
            continue;
        }
        routes = route_fib_sort(fib, &n);
        for (size_t i = 0; i < n; i++) {
            route_format(db, routes[i], fib->id, reply);
            ds_put_char(reply, '\n');
        }
        free(routes);
    }
    ds_put_char(reply, '.');
}

static void
do_sync(struct ds *reply)
{
    do {
        route_table_run();
        ovsrcu_quiesce();
    } while (!route_table_is_idle());
    ds_put_cstr(reply, "ok");
}

static void
test_route_mirror(int argc OVS_UNUSED, char *argv[] OVS_UNUSED)
{
    struct ds line = DS_EMPTY_INITIALIZER;
    struct ds reply = DS_EMPTY_INITIALIZER;
    bool quit = false;

    setvbuf(stdout, NULL, _IOLBF, 0);
    vlog_set_levels(NULL, VLF_CONSOLE, VLL_ERR);
    route_table_init();
    while (!quit && !ds_get_line(&line, stdin)) {
        struct svec args = SVEC_EMPTY_INITIALIZER;

        svec_parse_words(&args, ds_cstr(&line));
        const char *verb = args.n ? args.names[0] : "";
        ds_clear(&reply);
        if (!strcmp(verb, "sync")) {
            do_sync(&reply);
        } else if (!strcmp(verb, "get")) {
            do_get(&args, &reply);
        } else if (!strcmp(verb, "routes")) {
            do_routes(&args, &reply);
        } else if (!strcmp(verb, "tables")) {
            do_tables(&reply);
        } else if (!strcmp(verb, "list")) {
            do_list(&args, &reply);
        } else if (!strcmp(verb, "dumps")) {
            ds_put_format(&reply, "ok %"PRIu64, route_dump_count());
        } else if (!strcmp(verb, "quit")) {
            ds_put_cstr(&reply, "ok");
            quit = true;
        } else {
            ds_put_cstr(&reply, "error unknown request");
        }
        puts(ds_cstr(&reply));
        fflush(stdout);
        svec_destroy(&args);
    }
    ds_destroy(&line);
    ds_destroy(&reply);
}

OVSTEST_REGISTER("test-route-mirror", test_route_mirror);
