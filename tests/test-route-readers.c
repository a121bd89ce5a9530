/* SPDX-License-Identifier: Apache-2.0 */

/* Looks up routes in several threads while the routing state changes: each
 * lookup must end as it would have before or after some change.
 *
 *     ovstest test-route-readers [SEED]
 */

#include <config.h>

#include "route-lookup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ovs-atomic.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "ovstest.h"
#include "random.h"
#include "route-db.h"
#include "route-scene.h"
#include "route-test.h"
#include "util.h"

static struct route_db db;
static atomic_bool stop;
static atomic_count n_lookups = ATOMIC_COUNT_INIT(0);

static void *
reader(void *query_)
{
    struct route_query q = route_scene_query(query_);
    bool done = false;

    while (!done) {
        struct route_trail trail;
        struct route_result r;

        if (route_lookup(&db, &q, &r, &trail) != ROUTE_OK
            || (strcmp(r.dev, "a") && strcmp(r.dev, "b"))) {
            route_test_fail("%s: verdict %d dev %s",
                            (char *) query_, r.verdict, r.dev);
        }
        q.hash++;
        atomic_count_inc(&n_lookups);
        ovsrcu_quiesce();
        atomic_read_relaxed(&stop, &done);
    }
    return NULL;
}

static void
start_readers(pthread_t threads[], const char *const queries[], size_t n)
{
    atomic_init(&stop, false);
    atomic_count_init(&n_lookups, 0);
    for (size_t i = 0; i < n; i++) {
        threads[i] = ovs_thread_create("reader", reader,
                                       CONST_CAST(char *, queries[i]));
    }
}

static void
stop_readers(pthread_t threads[], size_t n)
{
    atomic_store_relaxed(&stop, true);
    for (size_t i = 0; i < n; i++) {
        xpthread_join(threads[i], NULL);
    }
}

/* Everything changes, but so that each lookup ends at a or b. */
static void
test_changes(void)
{
    static const char *const queries[] = {
        "203.0.113.1", "203.0.113.1 from 10.0.0.1", "203.0.114.1 mark 5",
    };
    static const char *const changes[] = {
        "route 254 203.0.113.0/24 replace dev b via 10.0.0.9",
        "route 254 203.0.113.0/24 replace dev a via 10.0.0.8",
        "route 254 203.0.113.0/24 replace dev a dev b weight 7",
        "route 254 203.0.113.0/24 replace dev a dev d",
        "route 254 203.0.0.0/16 dev d; - route 254 203.0.0.0/16",
        "route 254 203.0.114.0/25 user dev nic9;"
            "- route 254 203.0.114.0/25 user",
        "nh 1 dev b", "nh 1 dev a via 10.0.0.8", "nh 9 group 1 2 3,4",
        "nh 9 group 1,3", "nh 2 dev b; - nh 2", "nh 3 dev b; - nh 3",
        "rule 10 from 10.0.0.1 table 77; route 77 0.0.0.0/0 dev b;"
            "- rule 10 from 10.0.0.1 table 77",
        "rule 11 fwmark 5 goto 12; rule 12 table 254;"
            "- rule 11 fwmark 5 goto 12; - rule 12 table 254",
        "addr b 10.0.1.1/24", "- addr b 10.0.1.1/24",
        "link c 4; addr c 10.0.2.1/24; link c2 4; - link c2 4",
        "link b 3 group 5", "link b 3",
        "addr d 10.0.3.1/24; - addr d 10.0.3.1/24",
    };
    pthread_t threads[ARRAY_SIZE(queries)];
    int n_changes = 0;

    route_db_init(&db);
    route_scene_apply(&db,
        "link a 2; link b 3; link d 5 down; addr a 10.0.0.1/24;"
        "route 254 0.0.0.0/0 dev a; route 254 203.0.113.0/24 dev a;"
        "nh 1 dev a; nh 9 group 1; route 254 203.0.114.0/24 nhid 9");
    start_readers(threads, queries, ARRAY_SIZE(queries));
    while (n_changes++ < 20000 || atomic_count_get(&n_lookups) < 20000) {
        route_scene_apply(&db, changes[random_range(ARRAY_SIZE(changes))]);
        ovsrcu_quiesce();
    }
    stop_readers(threads, ARRAY_SIZE(queries));
    route_db_destroy(&db);
}

/* Makes object 'id' one next hop by 'device' or, if that is NULL, a group. */
static void
set_object(uint32_t id, struct route_device *device,
           const struct route_object_member *members, size_t n_members)
    OVS_REQUIRES(db.mutex)
{
    struct route_object *object = xzalloc(sizeof *object);

    object->id = id;
    if (device) {
        object->n_nexthops = 1;
        object->nexthops = xzalloc(sizeof *object->nexthops);
        object->nexthops[0].device = device;
        object->nexthops[0].weight = 1;
    } else {
        object->members = xmemdup(members, n_members * sizeof *members);
        object->n_members = n_members;
    }
    route_db_set_object(&db, object);
}

/* Next-hop objects come and go, as fast as can be, under routes that name
 * them.  With them lookups end at a, without them at b. */
static void
test_objects(void)
{
    static const char *const queries[] = {
        "2001:db8:8::1", "2001:db8:9::1", "203.0.113.1",
    };
    /* Object 2 never comes: without object 1 the group has no next hops. */
    static const struct route_object_member members[] = {
        { .id = 1, .weight = 1 }, { .id = 2, .weight = 1 },
    };
    pthread_t threads[ARRAY_SIZE(queries)];
    struct route_device *a;
    int n_changes = 0;

    route_db_init(&db);
    route_scene_apply(&db,
        "link a 2; link b 3;"
        "addr a 10.0.0.1/24; addr a 2001:db8::1/64;"
        "rule 9 suppress-group 7 table 20; route 20 203.0.113.0/24 nhid 1;"
        "route 254 2001:db8:8::/48 nhid 1; route 254 2001:db8:9::/48 nhid 9;"
        "route 254 0.0.0.0/0 dev b; route 254 ::/0 dev b");
    start_readers(threads, queries, ARRAY_SIZE(queries));
    while (n_changes++ < 50000 || atomic_count_get(&n_lookups) < 50000) {
        uint32_t *gone;
        size_t n_gone;

        ovs_mutex_lock(&db.mutex);
        a = route_db_find_named_device(&db, "a");
        set_object(1, a, NULL, 0);
        set_object(9, NULL, members, ARRAY_SIZE(members));
        route_db_remove_object(&db, 1, &gone, &n_gone);
        free(gone);
        ovs_mutex_unlock(&db.mutex);
        ovsrcu_quiesce();
    }
    stop_readers(threads, ARRAY_SIZE(queries));
    route_db_destroy(&db);
}

static void
test_route_readers_main(int argc, char *argv[])
{
    set_program_name(argv[0]);
    route_test_seed(argc > 1 ? argv[1] : NULL);
    test_changes();
    test_objects();
    ovsrcu_exit();
}

OVSTEST_REGISTER("test-route-readers", test_route_readers_main);
