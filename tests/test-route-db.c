/* SPDX-License-Identifier: Apache-2.0 */

/* Checks the routing state itself: the order of addresses, next-hop objects,
 * shares of next hops, what is held, and what is reported.
 *
 *     ovstest test-route-db [SEED]
 */

#include <config.h>
#undef NDEBUG

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "openvswitch/dynamic-string.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "ovstest.h"
#include "packets.h"
#include "random.h"
#include "route-db.h"
#include "route-lookup.h"
#include "route-scene.h"
#include "util.h"

static struct route_db db;

static void
check_text(const char *where, const char *expected, const char *got)
{
    if (strcmp(expected, got)) {
        printf("%s: expected \"%s\", got \"%s\"\n", where, expected, got);
        exit(EXIT_FAILURE);
    }
}

static void
ask(const char *where, const char *query, const char *expected)
{
    char *answer = route_scene_ask(&db, query);

    check_text(where, expected, answer);
    free(answer);
}

/* Addresses. */

static void
check_order(const char *where, const char *expected)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const struct route_addresses *addresses;

    ovs_mutex_lock(&db.mutex);
    addresses = route_device_addresses(route_db_find_named_device(&db, "a"));
    for (size_t i = 0; i < addresses->n; i++) {
        ds_put_cstr(&ds, i ? " " : "");
        ipv6_format_mapped(&addresses->addresses[i].address, &ds);
    }
    ovs_mutex_unlock(&db.mutex);
    check_text(where, expected, ds_cstr(&ds));
    ds_destroy(&ds);
}

/* The orders in which Linux 6.18 lists what was added so ("ip address"). */
static void
test_address_order(void)
{
    route_db_init(&db);
    route_scene_apply(&db,
        "link a 2; addr a 10.0.0.1/24; addr a 10.0.1.1/24;"
        "addr a 10.0.0.2/24 secondary; addr a 10.0.2.1/24 scope 253;"
        "addr a 10.0.3.1/24");
    check_order("IPv4", "10.0.2.1 10.0.0.1 10.0.1.1 10.0.3.1 10.0.0.2");
    route_scene_apply(&db, "- addr a 10.0.0.1/24; addr a 10.0.0.2/24");
    check_order("promotion", "10.0.2.1 10.0.1.1 10.0.3.1 10.0.0.2");
    route_scene_apply(&db, "addr a 10.0.1.1/24");
    check_order("repeated", "10.0.2.1 10.0.1.1 10.0.3.1 10.0.0.2");
    ovs_assert(route_db_has_address(&db, &(struct in6_addr) {
        .s6_addr = { [10] = 255, [11] = 255, 10, 0, 3, 1 } }));
    route_db_destroy(&db);

    route_db_init(&db);
    route_scene_apply(&db,
        "link a 2; addr a fe80::1/64 scope 253; addr a 2001:db8::1/64;"
        "addr a 2001:db8::2/64; addr a 2001:db8::3/64");
    check_order("IPv6", "2001:db8::3 2001:db8::2 2001:db8::1 fe80::1");
    for (int i = 0; i < 2; i++) {
        route_scene_apply(&db,
            "addr a 2001:db8::3/64 dumped epoch 1;"
            "addr a 2001:db8::4/64 dumped epoch 1;"
            "addr a 2001:db8::2/64 dumped epoch 1;"
            "addr a fe80::1/64 scope 253 dumped epoch 1");
        check_order("dump", "2001:db8::3 2001:db8::4 2001:db8::2 fe80::1"
                            " 2001:db8::1");
    }
    route_db_destroy(&db);

    /* An address on two devices is local until both have lost it. */
    route_db_init(&db);
    route_scene_apply(&db,
        "link a 2; link b 3; addr a 10.0.0.1/24; addr b 10.0.0.1/24;"
        "route 254 0.0.0.0/0 dev b; - addr a 10.0.0.1/24");
    ask("address twice", "203.0.113.1 from 10.0.0.1",
        "dev b src 10.0.0.1 table 254");
    route_scene_apply(&db, "- link b 3; link b 3");
    ask("address gone", "203.0.113.1 from 10.0.0.1", "refused not-local");
    route_db_destroy(&db);
}

/* Next-hop objects. */

static void
test_objects(void)
{
    uint32_t *gone;
    size_t n_gone;

    route_db_init(&db);
    route_scene_apply(&db,
        "link a 2; link b 3; addr a 10.0.0.1/24;"
        "route 254 203.0.113.0/24 nhid 9; nh 9 group 1 2");
    ask("group before its members", "203.0.113.1", "refused no-route");
    route_scene_apply(&db, "nh 1 dev a via 10.0.0.8");
    ask("first member", "203.0.113.1",
        "dev a via 10.0.0.8 src 10.0.0.1 table 254");
    route_scene_apply(&db, "nh 1 dev b via 10.0.0.9");
    ask("member replaced", "203.0.113.1",
        "dev b via 10.0.0.9 src 10.0.0.1 table 254");
    route_scene_apply(&db, "nh 1 dev a; nh 2 dev b; link a 2 down");
    ask("member down", "203.0.113.1", "dev b src 10.0.0.1 table 254");
    route_scene_apply(&db, "nh 8 group 2; nh 7 group 7");

    ovs_mutex_lock(&db.mutex);
    ovs_assert(route_db_remove_object(&db, 2, &gone, &n_gone));
    ovs_assert(n_gone == 2 && gone[0] == 2 && gone[1] == 8);
    free(gone);
    ovs_assert(!route_db_remove_object(&db, 2, &gone, &n_gone));
    ovs_assert(!gone && !n_gone);
    ovs_assert(route_db_remove_object(&db, 7, &gone, &n_gone));
    ovs_assert(n_gone == 1);
    free(gone);
    ovs_assert(route_db_find_object(&db, 9)->n_members == 1);
    ovs_assert(!route_db_find_object(&db, 8));
    ovs_assert(route_db_find_named_device(&db, "b")->n_users == 0);
    /* The object and its group. */
    ovs_assert(route_db_find_named_device(&db, "a")->n_users == 2);
    ovs_mutex_unlock(&db.mutex);
    ask("last member is down", "203.0.113.1", "refused no-route");
    route_db_destroy(&db);
}

/* Shares of next hops. */

#define N_FLOWS 40000

/* Stores the device number of each flow in 'flows', by "nic0" and so on. */
static void
spread(uint8_t flows[N_FLOWS], uint32_t first_hash)
{
    for (int i = 0; i < N_FLOWS; i++) {
        struct route_query q = route_scene_query("203.0.113.1");
        struct route_result r;

        /* Half of the flows have hashes in a row. */
        q.hash = i < N_FLOWS / 2 ? first_hash + i : hash_int(i, first_hash);
        ovs_assert(route_lookup(&db, &q, &r, NULL) == ROUTE_OK);
        ovs_assert(r.hashed);
        flows[i] = r.dev[3] - '0';
    }
}

static void
check_shares(const char *where, const uint8_t flows[N_FLOWS],
             const int weights[4])
{
    int total = weights[0] + weights[1] + weights[2] + weights[3];
    int counts[4] = { 0, 0, 0, 0 };

    for (int i = 0; i < N_FLOWS; i++) {
        counts[flows[i]]++;
    }
    for (int i = 0; i < 4; i++) {
        /* Each flow is one Bernoulli trial; five standard deviations. */
        double p = (double) weights[i] / total;
        double bound = 5 * sqrt(N_FLOWS * p * (1 - p));

        if (fabs(counts[i] - N_FLOWS * p) > bound) {
            printf("%s: %d of %d flows by nic%d, expected %.0f +- %.0f\n",
                   where, counts[i], N_FLOWS, i, N_FLOWS * p, bound);
            exit(EXIT_FAILURE);
        }
    }
}

/* Only flows that were, or are now, on device 'device' may have moved. */
static void
check_moves(const char *where, const uint8_t before[N_FLOWS],
            const uint8_t after[N_FLOWS], int device)
{
    for (int i = 0; i < N_FLOWS; i++) {
        if (before[i] != after[i] && before[i] != device
            && after[i] != device) {
            printf("%s: flow %d moved from nic%d to nic%d\n",
                   where, i, before[i], after[i]);
            exit(EXIT_FAILURE);
        }
    }
}

static void
test_shares(void)
{
    static const int even[4] = { 1, 1, 1, 1 };
    static const int even_but_2[4] = { 1, 1, 0, 1 };
    static const int weighted[4] = { 1, 2, 5, 8 };
    static const int weighted_but_2[4] = { 1, 2, 0, 8 };
    uint8_t *flows[2] = { xmalloc(N_FLOWS), xmalloc(N_FLOWS) };
    uint32_t first_hash = random_uint32();

    route_db_init(&db);
    route_scene_apply(&db,
        "link nic0 1; link nic1 2; link nic2 3; link nic3 4;"
        "addr nic0 10.0.0.1/24;"
        "route 254 0.0.0.0/0 dev nic0 dev nic1 dev nic2 dev nic3");
    spread(flows[0], first_hash);
    check_shares("even", flows[0], even);
    route_scene_apply(&db, "link nic2 3 down");
    spread(flows[1], first_hash);
    check_shares("even, one down", flows[1], even_but_2);
    check_moves("even, one down", flows[0], flows[1], 2);

    route_scene_apply(&db,
        "route 254 0.0.0.0/0 replace dev nic3 weight 8 dev nic1 weight 2"
        " dev nic0 weight 1");
    spread(flows[0], first_hash);
    check_shares("weighted", flows[0], weighted_but_2);
    route_scene_apply(&db,
        "link nic2 3;"
        "route 254 0.0.0.0/0 replace dev nic1 weight 2 dev nic2 weight 5"
        " dev nic0 weight 1 dev nic3 weight 8");
    spread(flows[1], first_hash);
    check_shares("weighted, one more", flows[1], weighted);
    check_moves("weighted, one more", flows[0], flows[1], 2);

    route_scene_apply(&db,
        "nh 1 dev nic0; nh 2 dev nic1; nh 3 dev nic2; nh 4 dev nic3;"
        "nh 9 group 1,1 2,2 3,5 4,8; route 254 203.0.113.0/24 nhid 9");
    spread(flows[0], first_hash);
    check_shares("objects", flows[0], weighted);
    check_moves("objects", flows[0], flows[1], -1);
    free(flows[0]);
    free(flows[1]);
    route_db_destroy(&db);
}

/* What is held and reported. */

static struct ds events = DS_EMPTY_INITIALIZER;

static void
note_change(struct route_db *db_ OVS_UNUSED, bool ipv6,
            const struct in6_addr *dst, uint8_t plen, void *aux OVS_UNUSED)
{
    ds_put_cstr(&events, ipv6 ? "6:" : "4:");
    route_prefix_format(dst, plen, &events);
    ds_put_char(&events, ' ');
}

static void
note_gained(struct route_device *device, void *aux OVS_UNUSED)
{
    ds_put_format(&events, "+%s ", route_device_link(device)->name);
}

static void
note_lost(struct route_device *device, void *aux OVS_UNUSED)
{
    ds_put_format(&events, "-%s ", route_device_link(device)->name);
}

static void
note_addresses(struct route_device *device, void *aux OVS_UNUSED)
{
    ds_put_format(&events, "a:%s ", route_device_link(device)->name);
}

static void
note_link(struct route_device *device, void *aux OVS_UNUSED)
{
    ds_put_format(&events, "l:%s ", route_device_link(device)->name);
}

static void
expect(const char *statements, const char *expected)
{
    ds_clear(&events);
    route_scene_apply(&db, statements);
    check_text(statements, expected, ds_cstr(&events));
}

static bool
has_fib(uint32_t id)
{
    bool found;

    ovs_mutex_lock(&db.mutex);
    found = route_db_find_fib(&db, id, false) != NULL;
    ovs_mutex_unlock(&db.mutex);
    return found;
}

static void
defer_rules(void)
{
    ovs_mutex_lock(&db.mutex);
    route_db_defer_rules(&db);
    ovs_mutex_unlock(&db.mutex);
}

static void
expect_published(const char *expected)
{
    ds_clear(&events);
    ovs_mutex_lock(&db.mutex);
    route_db_publish_rules(&db);
    ovs_mutex_unlock(&db.mutex);
    check_text("publish", expected, ds_cstr(&events));
}

static size_t
n_readers_rules(void)
{
    return route_rules_count(ovsrcu_get(struct route_rules *, &db.rules[0]));
}

static void
test_reports(void)
{
    route_db_init(&db);
    db.changed = note_change;
    db.device_gained = note_gained;
    db.device_lost = note_lost;

    expect("link a 2; link b 3", "");
    expect("addr a 10.0.0.1/24", "4:0.0.0.0/0 ");
    expect("addr a 10.0.0.1/24", "");
    expect("addr a 2001:db8::1/64", "6:::/0 ");
    expect("route 254 10.9.0.0/16 dev a", "+a 4:10.9.0.0/16 ");
    expect("route 254 10.9.0.0/16 dev a", "");
    expect("route 254 10.9.0.0/16 replace dev a", "");
    expect("route 254 10.9.0.0/16 replace dev b",
           "+b 4:10.9.0.0/16 -a ");
    expect("link b 3 down", "4:10.9.0.0/16 ");
    expect("link b 3 down", "");
    expect("link a 2 down", "");
    expect("link c 3 down", "-b +c 4:10.9.0.0/16 ");
    expect("route 254 2001:db8:9::/48 dev c", "6:2001:db8:9::/48 ");
    expect("- route 254 10.9.0.0/16", "4:10.9.0.0/16 ");
    expect("link c 3", "6:2001:db8:9::/48 ");
    expect("nh 4 dev c", "4:0.0.0.0/0 6:::/0 ");
    expect("nh 4 dev c", "");
    expect("link c 3 nocarrier", "4:0.0.0.0/0 6:::/0 ");
    expect("- nh 4", "4:0.0.0.0/0 6:::/0 ");
    expect("- route 254 2001:db8:9::/48", "6:2001:db8:9::/48 -c ");

    /* Addresses that are local by a route alone. */
    expect("route 255 10.1.0.0/16 local dev a", "+a 4:0.0.0.0/0 ");
    expect("- route 255 10.1.0.0/16", "4:0.0.0.0/0 -a ");
    expect("route 255 10.0.0.1/32 local dev a", "+a 4:10.0.0.1/32 ");
    expect("- route 255 10.0.0.1/32", "4:10.0.0.1/32 -a ");

    /* A table without a rule. */
    expect("route 77 10.9.0.0/16 dev a", "+a ");
    expect("rule 10 to 10.9.0.0/16 table 77", "4:10.9.0.0/16 ");
    expect("rule 10 to 10.9.0.0/16 table 77", "");
    expect("route 77 10.8.0.0/16 user dev nic9", "+nic9 4:10.8.0.0/16 ");
    ovs_assert(has_fib(77));
    expect("- rule 10 to 10.9.0.0/16 table 77", "-a 4:10.9.0.0/16 ");
    ovs_assert(has_fib(77));
    expect("- route 77 10.8.0.0/16 user", "-nic9 ");
    ovs_assert(!has_fib(77));
    ovs_mutex_lock(&db.mutex);
    ovs_assert(!route_db_find_named_device(&db, "nic9"));
    ovs_mutex_unlock(&db.mutex);
    expect("rule 10 not table 77", "4:0.0.0.0/0 ");
    expect("- rule 10 not table 77", "4:0.0.0.0/0 ");
    ovs_assert(!has_fib(77));

    /* Changes of rules that are published together. */
    defer_rules();
    expect("rule 10 to 10.9.0.0/16 table 77", "");
    expect("rule 11 to 10.9.0.0/16 table 78", "");
    ovs_assert(n_readers_rules() == 3);
    expect_published("4:10.9.0.0/16 ");
    ovs_assert(n_readers_rules() == 5);
    defer_rules();
    expect("- rule 10 to 10.9.0.0/16 table 77", "");
    expect("- rule 11 to 10.9.0.0/16 table 78", "");
    expect("rule 9 to 10.8.0.0/16 table 77", "");
    ovs_assert(n_readers_rules() == 5);
    ovs_assert(has_fib(78));
    expect_published("4:0.0.0.0/0 ");
    ovs_assert(n_readers_rules() == 4);
    ovs_assert(has_fib(77) && !has_fib(78));
    expect_published("");
    expect("- rule 9 to 10.8.0.0/16 table 77", "4:10.8.0.0/16 ");

    /* "goto" may land on a rule that matches little. */
    expect("rule 10 goto 20", "4:0.0.0.0/0 ");
    expect("rule 20 to 10.9.0.0/16 blackhole", "4:0.0.0.0/0 ");

    /* A device that user routes wait for. */
    expect("route 254 10.7.0.0/16 user dev nic9", "+nic9 4:10.7.0.0/16 ");
    expect("link nic9 9", "4:10.7.0.0/16 ");
    expect("- link nic9 9", "4:10.7.0.0/16 ");
    expect("link x 9", "");
    expect("link nic9 9", "+nic9 4:10.7.0.0/16 -nic9 ");
    expect("- route 254 10.7.0.0/16 user", "4:10.7.0.0/16 -nic9 ");
    expect("- link nic9 9", "");
    route_db_destroy(&db);
}

static void
test_device_reports(void)
{
    route_db_init(&db);
    db.addresses_changed = note_addresses;
    db.link_changed = note_link;

    expect("link a 2", "l:a ");
    expect("link a 2", "");
    expect("link b 3 down", "l:b ");
    expect("link b 3 down", "");
    expect("link b 3", "l:b ");
    expect("link b 3 nocarrier", "l:b ");
    expect("link c 3", "l:c ");
    expect("addr a 10.0.0.1/24", "a:a ");
    expect("addr a 10.0.0.1/24", "");
    expect("addr a 10.0.0.1/25", "a:a ");
    expect("- addr a 10.0.0.1/25", "a:a ");
    expect("- addr a 10.0.0.1/25", "");
    expect("- link a 2", "a:a l:a ");

    /* A device that a route waits for. */
    expect("route 254 10.7.0.0/16 user dev nic9", "");
    expect("link nic9 9", "l:nic9 ");
    expect("- link nic9 9", "l:nic9 ");
    route_db_destroy(&db);
    ds_destroy(&events);
}

/* One next hop of two is suppressed: its flows go on with the next rule.  All
 * answers, the refusal too, depend on the flow. */
static void
test_suppressed_nexthop(void)
{
    struct route_query q = route_scene_query("2001:db8:9::1");
    int n_found = 0, n_refused = 0;
    struct route_result r;

    route_db_init(&db);
    route_scene_apply(&db,
        "link a 2; link b 3 group 7; addr a 2001:db8::1/64;"
        "rule 9 -6 suppress-group 7 table 20;"
        "route 20 2001:db8:9::/48 dev a via fe80::1 dev b via fe80::2");
    for (q.hash = 0; q.hash < 100; q.hash++) {
        enum route_verdict verdict = route_lookup(&db, &q, &r, NULL);

        n_found += verdict == ROUTE_OK && !strcmp(r.dev, "a");
        n_refused += verdict == ROUTE_NO_ROUTE;
        ovs_assert(r.hashed);
    }
    ovs_assert(n_found && n_refused && n_found + n_refused == 100);

    /* Not so if the whole route is. */
    route_scene_apply(&db, "- rule 9 -6 suppress-group 7 table 20;"
                           "rule 9 -6 suppress 48 table 20");
    ovs_assert(route_lookup(&db, &q, &r, NULL) == ROUTE_NO_ROUTE);
    ovs_assert(!r.hashed);
    route_db_destroy(&db);
}

static void
test_route_db_main(int argc, char *argv[])
{
    uint32_t seed = argc > 1 ? strtoul(argv[1], NULL, 0) : time(NULL);

    set_program_name(argv[0]);
    printf("seed %"PRIu32"\n", seed);
    random_set_seed(seed ? seed : 1);
    test_address_order();
    test_objects();
    test_shares();
    test_suppressed_nexthop();
    test_reports();
    test_device_reports();
    ovsrcu_exit();
}

OVSTEST_REGISTER("test-route-db", test_route_db_main);
