/* SPDX-License-Identifier: Apache-2.0 */

/* Compares route_lookup() with its naive twin (lookup-twin.h) on random
 * states.
 *
 *     ovstest test-route-twin [SEED [STATES]]
 */

#include <config.h>
#undef NDEBUG

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lookup-twin.h"
#include "openvswitch/dynamic-string.h"
#include "ovstest.h"
#include "packets.h"
#include "random.h"
#include "route-db.h"
#include "route-lookup.h"
#include "util.h"

#define N_TABLES 4

/* Random states. */

static bool
one_in(int n)
{
    return random_range(n) == 0;
}

/* A small world, so that prefixes, sources and queries meet. */
static struct in6_addr
random_address(bool ipv6)
{
    struct in6_addr a = in6addr_any;

    if (!ipv6) {
        return in6_addr_mapped_ipv4(htonl(0x0a000000 | random_range(2) << 16
                                          | random_range(2) << 8
                                          | random_range(4)));
    }
    a.s6_addr[0] = one_in(6) ? 0xfd : 0x20;
    a.s6_addr[1] = 0x03;
    a.s6_addr[3] = random_range(2);
    a.s6_addr[7] = random_range(2);
    a.s6_addr[15] = random_range(4);
    return a;
}

static uint8_t
random_plen(bool ipv6)
{
    static const uint8_t ipv4[] = { 96, 104, 111, 112, 119, 120, 126, 127,
                                    128 };
    static const uint8_t v6[] = { 0, 8, 16, 31, 32, 63, 64, 126, 127, 128 };

    return (ipv6 ? v6[random_range(ARRAY_SIZE(v6))]
            : ipv4[random_range(ARRAY_SIZE(ipv4))]);
}

static uint32_t
random_table(void)
{
    return one_in(4) ? ROUTE_TABLE_MAIN : 100 + random_range(N_TABLES);
}

static void
random_device(struct twin *t, int i)
{
    struct twin_device *d = &t->devices[i];

    snprintf(d->link.name, sizeof d->link.name, "nic%d", i);
    d->link.up = !one_in(6);
    d->link.carrier = d->link.up && !one_in(5);
    d->link.ignore_linkdown_ipv4 = one_in(2);
    d->link.ignore_linkdown_ipv6 = one_in(2);
    d->link.group = random_range(3);
    for (int n = random_range(4); n > 0; n--) {
        struct route_address *a = &d->addresses[d->n_addresses];
        bool duplicate = false;

        a->address = random_address(t->ipv6);
        a->plen = random_plen(t->ipv6);
        a->prefix = route_prefix_mask(&a->address, a->plen);
        a->scope = one_in(6) ? ROUTE_SCOPE_LINK : ROUTE_SCOPE_UNIVERSE;
        a->secondary = !t->ipv6 && one_in(5);
        a->deprecated = t->ipv6 && one_in(5);
        a->tentative = t->ipv6 && one_in(8);
        a->temporary = t->ipv6 && one_in(5);
        a->dumped = true;       /* The order is that of this list. */
        for (size_t j = 0; j < d->n_addresses; j++) {
            duplicate |= ipv6_addr_equals(&d->addresses[j].address,
                                          &a->address);
        }
        d->n_addresses += !duplicate;
    }
}

static struct in6_addr
some_local_address(const struct twin *t)
{
    const struct twin_device *d = &t->devices[random_range(TWIN_N_DEVICES)];

    return (d->n_addresses
            ? d->addresses[random_range(d->n_addresses)].address
            : random_address(t->ipv6));
}

static void
random_route(struct twin *t)
{
    struct twin_route *r = &t->routes[t->n_routes];
    struct in6_addr dst = random_address(t->ipv6);
    bool append = one_in(2);

    memset(r, 0, sizeof *r);
    r->head = route_create(0);
    r->table = random_table();
    r->head->dst_plen = random_plen(t->ipv6);
    r->head->dst = route_prefix_mask(&dst, r->head->dst_plen);
    r->head->metric = random_range(3);
    r->head->mark = one_in(6) ? 1 + random_range(2) : 0;
    r->head->tos = !t->ipv6 && one_in(8) ? 0x10 : 0;
    r->head->owner = one_in(4) ? ROUTE_USER : ROUTE_KERNEL;
    r->head->scope = t->ipv6 ? 0 : one_in(3) ? ROUTE_SCOPE_LINK : 0;
    r->head->preference = 2;
    r->head->type = (one_in(4)
                    ? ROUTE_BLACKHOLE + random_range(4)
                    : one_in(10) ? ROUTE_LOCAL : ROUTE_UNICAST);
    if (r->head->type < ROUTE_BLACKHOLE) {
        r->n_legs = one_in(3) ? 1 + random_range(TWIN_MAX_LEGS) : 1;
        for (size_t i = 0; i < r->n_legs; i++) {
            r->legs[i].device = random_range(TWIN_N_DEVICES);
            r->legs[i].gateway = (one_in(3) ? in6addr_any
                                  : random_address(t->ipv6));
        }
        if (one_in(3)) {
            r->head->prefsrc = some_local_address(t);
        }
    }
    r->rank = append ? (int64_t) t->n_routes : -(int64_t) t->n_routes;

    /* What is there already is not added again. */
    for (size_t i = 0; i < t->n_routes; i++) {
        const struct twin_route *other = &t->routes[i];

        if (other->table == r->table && route_equal(other->head, r->head)
            && other->n_legs == r->n_legs
            && !memcmp(other->legs, r->legs, sizeof r->legs)) {
            route_destroy(r->head);
            return;
        }
    }
    t->n_routes++;
}

static void
random_rule(struct twin *t)
{
    static const enum route_rule_action actions[] = {
        ROUTE_RULE_GOTO, ROUTE_RULE_NOP, ROUTE_RULE_BLACKHOLE_ACTION,
        ROUTE_RULE_UNREACHABLE_ACTION, ROUTE_RULE_PROHIBIT_ACTION,
    };
    struct route_rule *r = &t->rules[t->n_rules++];

    route_rule_init(r, t->ipv6, random_range(12), random_table(),
                    one_in(4) ? ROUTE_USER : ROUTE_KERNEL);
    r->invert = one_in(6);
    if (one_in(2)) {
        r->from = some_local_address(t);
        r->from_plen = random_plen(t->ipv6);
        r->from = route_prefix_mask(&r->from, r->from_plen);
    }
    if (one_in(4)) {
        r->to = random_address(t->ipv6);
        r->to_plen = random_plen(t->ipv6);
        r->to = route_prefix_mask(&r->to, r->to_plen);
    }
    if (one_in(6)) {
        r->mark_mask = one_in(2) ? UINT32_MAX : 1;
        r->mark = random_range(3) & r->mark_mask;
    }
    if (one_in(8)) {
        ovs_strlcpy(r->iif, one_in(2) ? "lo" : "nic0", sizeof r->iif);
    }
    if (one_in(10)) {
        ovs_strlcpy(r->oif, "nic0", sizeof r->oif);
    }
    if (one_in(8)) {
        r->ipproto = one_in(2) ? 17 : 6;
    }
    if (one_in(8)) {
        r->dport_min = 6081 - random_range(2);
        r->dport_max = 6081 + random_range(2);
    }
    if (one_in(3)) {
        r->action = actions[random_range(ARRAY_SIZE(actions))];
        r->target = random_range(14);
    } else {
        r->suppress_plen = one_in(5) ? random_range(2) * 8 : -1;
        /* In IPv6 the choice among next hops comes first. */
        r->suppress_group = (!t->ipv6 && one_in(6) ? random_range(3) : -1);
    }
}

/* Comparison. */

static void
fill_db(struct route_db *db, struct twin *t)
{
    struct route_rule standard;

    route_db_init(db);
    ovs_mutex_lock(&db->mutex);
    while (db->n_rules[t->ipv6]) {
        standard = db->rule_array[t->ipv6][0];
        route_db_remove_rule(db, &standard);
    }
    for (int i = 0; i < TWIN_N_DEVICES; i++) {
        struct route_device *device
            = route_db_set_link(db, i + 1, &t->devices[i].link);

        for (size_t j = 0; j < t->devices[i].n_addresses; j++) {
            route_db_add_address(db, device, &t->devices[i].addresses[j]);
        }
    }
    for (size_t i = 0; i < t->n_rules; i++) {
        route_db_add_rule(db, &t->rules[i]);
    }
    for (size_t i = 0; i < t->n_routes; i++) {
        struct twin_route *r = &t->routes[i];
        struct route *route = route_create(r->n_legs);

        memcpy(route, r->head, sizeof *route);
        route->n_nexthops = r->n_legs;
        for (size_t j = 0; j < r->n_legs; j++) {
            route->nexthops[j] = (struct route_nexthop) {
                .gateway = r->legs[j].gateway,
                .device = route_db_find_device(db, r->legs[j].device + 1),
                .weight = 1 + r->legs[j].device % 3,
            };
        }
        route_db_add_route(db, route_db_fib(db, r->table, t->ipv6), route,
                           false, r->rank >= 0 && i);
    }
    ovs_mutex_unlock(&db->mutex);
}

/* The gateway that 'leg' leads to: an own IPv4 address is none. */
static struct in6_addr
gateway_of(const struct twin *t, const struct twin_leg *leg)
{
    for (int i = 0; i < TWIN_N_DEVICES && !t->ipv6; i++) {
        for (size_t j = 0; j < t->devices[i].n_addresses; j++) {
            if (ipv6_addr_equals(&t->devices[i].addresses[j].address,
                                 &leg->gateway)) {
                return in6addr_any;
            }
        }
    }
    return leg->gateway;
}

static bool
agrees(const struct twin *t, const struct twin_answer *a,
       const struct route_result *r)
{
    int n_possible = 0;
    bool found = false;

    if (!a->route) {
        return a->verdict == r->verdict && a->table == r->table;
    }
    for (size_t i = 0; i < a->route->n_legs; i++) {
        const struct twin_leg *leg = &a->route->legs[i];
        struct in6_addr gateway = gateway_of(t, leg);

        if (!a->possible[i]) {
            continue;
        }
        n_possible++;
        if (!a->has_src[i]) {
            found |= r->verdict == ROUTE_NO_SOURCE;
        } else {
            found |= (r->verdict == ROUTE_OK
                      && !strcmp(r->dev, t->devices[leg->device].link.name)
                      && ipv6_addr_equals(&r->gateway, &gateway)
                      && ipv6_addr_equals(&r->src, &a->src[i]));
        }
    }
    return (found && a->table == r->table
            && (r->verdict != ROUTE_OK || r->hashed == (n_possible > 1)));
}

static void
explain(const struct route_db *db, const struct twin_answer *a,
        const struct route_query *q, const struct route_result *r,
        const struct route_trail *trail)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    ds_put_cstr(&ds, "lookup of ");
    ipv6_format_mapped(&q->dst, &ds);
    ds_put_cstr(&ds, " from ");
    ipv6_format_mapped(&q->src, &ds);
    ds_put_format(&ds, " mark %"PRIu32" tos %d: verdict %d dev %s src ",
                  q->mark, q->tos, r->verdict, r->dev);
    ipv6_format_mapped(&r->src, &ds);
    ds_put_format(&ds, " table %"PRIu32"; expected verdict %d table %"PRIu32
                  " route ", r->table, a->verdict, a->table);
    if (a->route) {
        route_format(db, a->route->head, 0, &ds);
        for (size_t i = 0; i < a->route->n_legs; i++) {
            ds_put_format(&ds, " nic%d%s src ", a->route->legs[i].device,
                          a->possible[i] ? "" : " (no)");
            ipv6_format_mapped(&a->src[i], &ds);
        }
    }
    ds_put_char(&ds, '\n');
    route_trail_format(trail, &ds);
    fputs(ds_cstr(&ds), stdout);
    ds_destroy(&ds);
}

static void
print_rules(const struct route_db *db, bool ipv6)
{
    const struct route_rules *rules = ovsrcu_get(struct route_rules *,
                                                 &db->rules[ipv6]);
    struct ds ds = DS_EMPTY_INITIALIZER;

    ds_put_cstr(&ds, "all rules:\n");
    for (size_t i = 0; i < route_rules_count(rules); i++) {
        ds_put_cstr(&ds, "  ");
        route_rule_format(route_rules_at(rules, i), &ds);
        ds_put_char(&ds, '\n');
    }
    fputs(ds_cstr(&ds), stdout);
    ds_destroy(&ds);
}

static void
check_state(bool ipv6)
{
    struct twin *t = xzalloc(sizeof *t);
    struct route_db db;

    t->ipv6 = ipv6;
    for (int i = 0; i < TWIN_N_DEVICES; i++) {
        random_device(t, i);
    }
    for (int n = random_range(TWIN_MAX_ROUTES); n >= 0; n--) {
        random_route(t);
    }
    for (int n = random_range(TWIN_MAX_RULES); n >= 0; n--) {
        random_rule(t);
    }
    fill_db(&db, t);
    for (int i = 0; i < 100; i++) {
        struct route_query q = {
            .dst = random_address(ipv6),
            .src = one_in(3) ? in6addr_any : some_local_address(t),
            .mark = random_range(3),
            .tos = one_in(3) ? 0x10 : 0,
            .ipproto = one_in(2) ? 17 : 0,
            .dport = htons(one_in(2) ? 6081 : 4789),
            .hash = random_uint32(),
        };
        struct route_result result;
        struct route_trail trail;
        struct twin_answer answer;

        route_lookup(&db, &q, &result, &trail);
        twin_lookup(t, &q, &answer);
        if (!agrees(t, &answer, &result)) {
            explain(&db, &answer, &q, &result, &trail);
            print_rules(&db, ipv6);
            exit(EXIT_FAILURE);
        }
    }
    route_db_destroy(&db);
    for (size_t i = 0; i < t->n_routes; i++) {
        route_destroy(t->routes[i].head);
    }
    free(t);
}

static void
test_route_twin_main(int argc, char *argv[])
{
    uint32_t seed = argc > 1 ? strtoul(argv[1], NULL, 0) : time(NULL);
    int n_states = argc > 2 ? atoi(argv[2]) : 500;

    set_program_name(argv[0]);
    printf("seed %"PRIu32"\n", seed);
    random_set_seed(seed ? seed : 1);
    for (int i = 0; i < n_states; i++) {
        check_state(i & 1);
    }
}

OVSTEST_REGISTER("test-route-twin", test_route_twin_main);
