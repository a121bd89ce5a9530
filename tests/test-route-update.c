/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#undef NDEBUG

/* Applies random events to a route_db: 'test-route-update [SEED]'.
 *
 * Devices, addresses, objects and tables are few, so that events meet.  What
 * must hold in any state is checked now and then; in the end a sweep must
 * leave nothing but what is always there. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ovs-rcu.h"
#include "ovstest.h"
#include "packets.h"
#include "random.h"
#include "route-db.h"
#include "route-lookup.h"
#include "route-test.h"
#include "route-update-check.h"
#include "route-update.h"
#include "util.h"

#define N_EVENTS 200000
#define N_DEVICES 5
#define N_OBJECTS 6

static const uint32_t tables[] = { 254, 255, 100, 101 };

static struct in6_addr
random_address(bool ipv6)
{
    struct in6_addr addr = in6addr_any;

    if (ipv6) {
        addr.s6_addr[0] = 0x20;
        addr.s6_addr[1] = 0x01;
        addr.s6_addr[15] = random_range(4);
    } else {
        in6_addr_set_mapped_ipv4(&addr, htonl(0xc0000200 + random_range(4)));
    }
    return addr;
}

/* Bits beyond the length are zero, as the parser has it. */
static struct in6_addr
random_prefix(bool ipv6, uint8_t *plen)
{
    static const uint8_t plens[] = { 96, 120, 127, 128 };
    struct in6_addr addr = random_address(ipv6);

    *plen = plens[random_range(ARRAY_SIZE(plens))];
    return route_prefix_mask(&addr, *plen);
}

static void
random_nexthops(struct route_event *event, bool ipv6, size_t n)
{
    event->nexthops = xcalloc(n, sizeof *event->nexthops);
    event->n_nexthops = n;
    for (size_t i = 0; i < n; i++) {
        struct route_event_nexthop *leg = &event->nexthops[i];

        if (random_range(3)) {
            leg->gateway = random_address(random_range(8) ? ipv6 : !ipv6);
        }
        leg->ifindex = 1 + random_range(N_DEVICES);
        leg->weight = 1 + random_range(2);
        leg->dead = !random_range(10);
    }
}

static void
random_route(struct route_event *event)
{
    event->kind = ROUTE_EVENT_ROUTE;
    event->route.table = tables[random_range(ARRAY_SIZE(tables))];
    event->route.replace = !random_range(4);
    event->route.append = !random_range(4);
    event->route.dst = random_prefix(event->ipv6, &event->route.dst_plen);
    if (event->ipv6 && !random_range(8)) {
        event->route.src = random_prefix(true, &event->route.src_plen);
    }
    if (!random_range(4)) {
        event->route.prefsrc = random_address(event->ipv6);
    }
    event->route.type = random_range(2) ? ROUTE_UNICAST
                        : random_range(ROUTE_THROW + 1);
    event->route.tos = event->ipv6 || random_range(8) ? 0 : 0x10;
    event->route.scope = random_range(4) ? 0 : ROUTE_SCOPE_HOST;
    event->route.preference = 2;
    event->route.metric = random_range(2);
    event->route.variant = event->ipv6 ? 0 : random_range(2);
    if (event->route.type == ROUTE_THROW
        || route_type_is_reject(event->route.type)) {
        return;
    }
    if (!random_range(4)) {
        event->route.nexthop_id = 1 + random_range(N_OBJECTS);
    } else {
        random_nexthops(event, event->ipv6, 1 + random_range(3));
    }
}

static void
random_object(struct route_event *event)
{
    event->kind = ROUTE_EVENT_OBJECT;
    event->object.id = 1 + random_range(N_OBJECTS);
    switch (random_range(4)) {
    case 0:
        event->object.blackhole = true;
        break;
    case 1:
        event->object.n_members = 1 + random_range(3);
        event->object.members = xcalloc(event->object.n_members,
                                        sizeof *event->object.members);
        for (size_t i = 0; i < event->object.n_members; i++) {
            event->object.members[i].id = 1 + random_range(N_OBJECTS);
            event->object.members[i].weight = 1 + random_range(2);
        }
        break;
    default:
        random_nexthops(event, event->ipv6, 1);
        break;
    }
}

static void
random_rule(struct route_event *event)
{
    event->kind = ROUTE_EVENT_RULE;
    route_rule_init(&event->rule, event->ipv6, 100 + random_range(3),
                    tables[random_range(ARRAY_SIZE(tables))], ROUTE_KERNEL);
    event->rule.action = random_range(3) ? ROUTE_RULE_LOOKUP
                         : random_range(ROUTE_RULE_PROHIBIT_ACTION + 1);
    event->rule.target = 100 + random_range(4);
    event->rule.invert = !random_range(5);
}

static void
random_link(struct route_event *event)
{
    event->kind = ROUTE_EVENT_LINK;
    event->link.ifindex = 1 + random_range(N_DEVICES);
    snprintf(event->link.link.name, sizeof event->link.link.name, "eth%d",
             random_range(20) ? event->link.ifindex
             : 100 + event->link.ifindex);
    event->link.link.up = random_range(3) != 0;
    event->link.link.carrier = event->link.link.up && random_range(4);
    event->deleted = !random_range(6);
}

static void
random_event(struct route_event *event)
{
    memset(event, 0, sizeof *event);
    event->ipv6 = random_range(2);
    event->deleted = !random_range(3);
    switch (random_range(16)) {
    case 0:
        random_link(event);
        break;
    case 1:
    case 2:
        event->kind = ROUTE_EVENT_ADDRESS;
        event->address.ifindex = 1 + random_range(N_DEVICES);
        event->address.address.address = random_address(event->ipv6);
        event->address.address.prefix = event->address.address.address;
        event->address.address.plen = 128;
        break;
    case 3:
        event->kind = ROUTE_EVENT_NETCONF;
        event->deleted = false;
        event->netconf.ifindex = random_range(N_DEVICES);
        if (!event->netconf.ifindex) {
            event->netconf.ifindex = ROUTE_NETCONF_ALL;
        }
        event->netconf.ignore_linkdown = random_range(2);
        break;
    case 4:
        random_object(event);
        break;
    case 5:
        random_rule(event);
        break;
    default:
        random_route(event);
        break;
    }
}

static void
check(struct route_db *db, int i)
{
    const char *error = route_update_check(db);

    if (error) {
        route_test_fail("after event %d: %s", i, error);
    }
}

static void
look_up(const struct route_db *db)
{
    struct route_query query = { .ipproto = 17, .hash = random_uint32() };
    struct route_result result;
    bool ipv6 = random_range(2);

    query.dst = random_address(ipv6);
    if (random_range(2)) {
        query.src = random_address(ipv6);
    }
    route_lookup(db, &query, &result, NULL);
}

static void
check_swept(struct route_db *db)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    const struct route_fib *fib;

    HMAP_FOR_EACH (fib, node, &db->fibs) {
        if (route_fib_count(fib)) {
            route_test_fail("routes left after a sweep");
        }
    }
    if (db->n_rules[0] || db->n_rules[1]) {
        route_test_fail("rules left after a sweep");
    }
    if (!hmap_is_empty(&db->devices) || !hmap_is_empty(&db->device_names)
        || !cmap_is_empty(&db->objects) || !cmap_is_empty(&db->local)) {
        route_test_fail("devices, addresses or objects left after a sweep");
    }
}

static void
test_route_update(int argc, char *argv[])
{
    struct route_db db;

    route_test_seed(argc > 1 ? argv[1] : NULL);
    route_db_init(&db);
    for (int i = 0; i < N_EVENTS; i++) {
        uint32_t epoch = UINT32_MAX - N_EVENTS / 2 + i; /* Wraps around. */
        struct route_event event;
        int error;

        random_event(&event);
        ovs_mutex_lock(&db.mutex);
        error = route_update_apply(&db, &event, epoch, !random_range(4));
        if (!random_range(5000)) {
            route_update_sweep(&db, NULL, epoch - random_range(2000));
        }
        ovs_mutex_unlock(&db.mutex);
        ovs_assert(!error || error == EAGAIN || error == ESTALE);
        route_event_uninit(&event);

        look_up(&db);
        if (!(i % 16)) {
            check(&db, i);
            ovsrcu_quiesce();
        }
    }

    ovs_mutex_lock(&db.mutex);
    route_update_sweep(&db, NULL, UINT32_MAX - N_EVENTS / 2 + N_EVENTS);
    ovs_mutex_unlock(&db.mutex);
    check(&db, N_EVENTS);
    check_swept(&db);
    route_db_destroy(&db);
}

OVSTEST_REGISTER("test-route-update", test_route_update);
