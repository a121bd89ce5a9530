/* SPDX-License-Identifier: Apache-2.0 */

/* Looks up routes in two threads while another changes the table: each lookup
 * must end as it would have before or after some change.
 *
 *     ovstest test-route-threads [SEED [CHANGES]]
 */

#include <config.h>

#include "route-fib.h"

#include <stdlib.h>

#include "ovs-atomic.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "ovstest.h"
#include "random.h"
#include "route-test.h"
#include "util.h"

/* What 'nexthop_id' says of a route. */
enum { STABLE = 1, REPLACED, MOVED, OTHER };

static struct route_fib *fib;
static struct route *replaced, *moved; /* The writer's. */
static atomic_bool done;
static atomic_size_t n_rounds;  /* Of all readers. */

static bool
usable(const struct route *route, const void *aux OVS_UNUSED)
{
    return route->nexthop_id != 0;
}

static void
expect(const struct in6_addr *dst, uint32_t id)
{
    struct route_fib_query query = { .dst = *dst, .usable = usable };
    const struct route *route = route_fib_lookup(fib, &query);
    uint32_t found = route ? route->nexthop_id : 0;

    if (found != id) {
        route_test_fail("found route %"PRIu32" instead of %"PRIu32,
                        found, id);
    }
}

static void *
reader(void *aux OVS_UNUSED)
{
    struct in6_addr in_stable = route_test_parse("10.200.0.1", NULL);
    struct in6_addr in_replaced = route_test_parse("10.1.2.3", NULL);
    struct in6_addr in_moved = route_test_parse("10.2.2.3", NULL);
    size_t before;
    bool stop;

    do {
        for (int i = 0; i < 32; i++) {
            expect(&in_stable, STABLE);
            expect(&in_replaced, REPLACED);
            expect(&in_moved, MOVED);
        }
        ovsrcu_quiesce();
        atomic_add_relaxed(&n_rounds, 1, &before);
        atomic_read_relaxed(&done, &stop);
    } while (!stop);
    return NULL;
}

static struct route *
add(const char *dst, uint32_t id)
{
    struct route *route = route_create(0);

    route->dst = route_test_parse(dst, &route->dst_plen);
    route->nexthop_id = id;
    route_fib_insert(fib, route, true);
    return route;
}

static void
take_away(struct route *route)
{
    route_fib_remove(fib, route);
    ovsrcu_postpone(route_destroy, route);
}

static void
change(size_t n_changes)
{
    struct route *others[512] = { NULL };

    for (size_t i = 0; i < n_changes; i++) {
        size_t slot = random_range(ARRAY_SIZE(others));
        struct route *new;

        /* One route takes another's place. */
        new = route_clone(replaced);
        new->metric++;
        route_fib_replace(fib, replaced, new);
        ovsrcu_postpone(route_destroy, replaced);
        replaced = new;

        /* The new way is there before the old one goes. */
        new = add(moved->dst_plen == 96 + 16 ? "10.2.2.0/24" : "10.2.0.0/16",
                  MOVED);
        take_away(moved);
        moved = new;

        /* Others come and go, so that the table grows and shrinks. */
        if (others[slot]) {
            take_away(others[slot]);
            others[slot] = NULL;
        } else {
            char *dst = xasprintf("11.0.%"PRIuSIZE".%"PRIuSIZE"/%"PRIuSIZE,
                                  slot / 16, slot % 16 * 16, 28 + slot % 5);

            others[slot] = add(dst, OTHER);
            free(dst);
        }
        if (!(i % 64)) {
            ovsrcu_quiesce();
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        if (others[i]) {
            take_away(others[i]);
        }
    }
}

static void
test_route_threads_main(int argc, char *argv[])
{
    size_t n_changes = argc > 2 ? strtoul(argv[2], NULL, 0) : 100000;
    pthread_t threads[2];
    size_t rounds;

    route_test_seed(argc > 1 ? argv[1] : NULL);
    fib = route_fib_create(1, false);
    add("10.0.0.0/8", STABLE);
    replaced = add("10.1.0.0/16", REPLACED);
    moved = add("10.2.0.0/16", MOVED);
    atomic_init(&done, false);
    atomic_init(&n_rounds, 0);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        threads[i] = ovs_thread_create("reader", reader, NULL);
    }

    /* As long as it takes for readers and writer to have met. */
    do {
        change(n_changes);
        atomic_read_relaxed(&n_rounds, &rounds);
    } while (rounds < 1000);

    atomic_store_relaxed(&done, true);
    ovsrcu_quiesce_start();     /* Who waits holds up nobody. */
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        xpthread_join(threads[i], NULL);
    }
    ovsrcu_quiesce_end();
    route_fib_destroy(fib);
}

OVSTEST_REGISTER("test-route-threads", test_route_threads_main);
