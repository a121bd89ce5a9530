/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "route-update.h"

#include <errno.h>
#include <string.h>

#include "packets.h"
#include "route-update-private.h"
#include "util.h"

/* Next hops as sets. */

static bool
has_nexthop(const struct route *route, const struct route_nexthop *nexthop)
{
    for (size_t i = 0; i < route->n_nexthops; i++) {
        const struct route_nexthop *other = &route->nexthops[i];

        if (other->device == nexthop->device
            && ipv6_addr_equals(&other->gateway, &nexthop->gateway)) {
            return true;
        }
    }
    return false;
}

/* The number of next hops of 'a' that 'b' has too. */
static size_t
n_common_nexthops(const struct route *a, const struct route *b)
{
    size_t n = 0;

    for (size_t i = 0; i < a->n_nexthops; i++) {
        n += has_nexthop(b, &a->nexthops[i]);
    }
    return n;
}

/* True if 'b' has all next hops of 'a'. */
static bool
is_subset(const struct route *a, const struct route *b)
{
    return n_common_nexthops(a, b) == a->n_nexthops;
}

/* True if 'a' and 'b' send packets the same way, next hops apart. */
static bool
is_alike(const struct route *a, const struct route *b)
{
    return (a->type == b->type && a->nexthop_id == b->nexthop_id
            && a->variant == b->variant);
}

/* True if IPv6 lets 'route' be one of several next hops under one key: the
 * kernel joins routes via gateways, and only these. */
static bool
is_joinable(const struct route *route)
{
    for (size_t i = 0; i < route->n_nexthops; i++) {
        if (ipv6_addr_is_set(&route->nexthops[i].gateway)) {
            return true;
        }
    }
    return false;
}

/* Routes. */

/* True if a next hop on 'device' that the kernel calls dead is so not because
 * of the link as it is now, but because the device had no address for a while
 * (IPv4), or because the link went down and has not run since (IPv6). */
static bool
should_be_alive(const struct route_device *device, bool ipv6)
{
    const struct route_link *link = route_device_link(device);

    return link->up && (link->carrier
                        || !(ipv6 ? link->ignore_linkdown_ipv6
                             : link->ignore_linkdown_ipv4));
}

/* The kernel lists the next hops of an IPv6 route now in this, now in that
 * order, which means nothing. */
static int
compare_nexthops(const void *a_, const void *b_)
{
    const struct route_nexthop *a = a_;
    const struct route_nexthop *b = b_;

    return (a->device->ifindex != b->device->ifindex
            ? (a->device->ifindex < b->device->ifindex ? -1 : 1)
            : memcmp(&a->gateway, &b->gateway, sizeof a->gateway));
}

/* Stores in '*routep' the route of 'event', owned by the caller, or NULL if
 * no next hop of it can be used.  Returns 0, or EAGAIN if a device is
 * unknown. */
static int
create_route(struct route_db *db, const struct route_event *event,
             uint32_t epoch, struct route **routep)
    OVS_REQUIRES(db->mutex)
{
    struct route *route = route_create(event->n_nexthops);

    route->dst = event->route.dst;
    route->src = event->route.src;
    route->dst_plen = event->route.dst_plen;
    route->src_plen = event->route.src_plen;
    route->tos = event->route.tos;
    route->metric = event->route.metric;
    route->type = event->route.type;
    route->scope = event->route.scope;
    route->preference = event->route.preference;
    route->prefsrc = event->route.prefsrc;
    route->nexthop_id = event->route.nexthop_id;
    route->variant = event->route.variant;
    route->epoch = epoch;

    route->n_nexthops = 0;
    for (size_t i = 0; i < event->n_nexthops; i++) {
        const struct route_event_nexthop *leg = &event->nexthops[i];
        struct route_device *device = route_db_find_device(db, leg->ifindex);

        if (!device || !route_device_link(device)->name[0]) {
            if (event->deleted) {
                continue;
            }
            route_destroy(route);
            *routep = NULL;
            return EAGAIN;
        }
        /* The link's own message may be on its way. */
        bool carrier = route_device_link(device)->carrier;
        bool dead = (leg->dead && should_be_alive(device, event->ipv6)
                     && !(leg->linkdown && carrier));
        if (dead && !event->deleted && !event->ipv6) {
            device->stopped_ipv4 = true;
            continue;
        }
        route->nexthops[route->n_nexthops++] = (struct route_nexthop) {
            .gateway = leg->gateway,
            .device = device,
            .weight = leg->weight,
            .dead = dead && event->ipv6,
        };
    }

    if (event->ipv6) {
        qsort(route->nexthops, route->n_nexthops, sizeof *route->nexthops,
              compare_nexthops);
    }
    if (event->n_nexthops && !route->n_nexthops) {
        route_destroy(route);
        route = NULL;
    }
    *routep = route;
    return 0;
}

/* True if a route behind 'route' under the same key has been confirmed by the
 * dump that confirms 'route' now, so that it should be before it. */
static bool
is_out_of_order(const struct route_fib *fib, const struct route *route,
                uint32_t epoch)
{
    const struct route *next;

    for (next = route_fib_next(fib, route); next;
         next = route_fib_next(fib, next)) {
        if (next->epoch == epoch) {
            return true;
        }
    }
    return false;
}

/* 'same' is what 'route' says, or becomes it, and is marked as confirmed.
 * Takes ownership of 'route'. */
static void
confirm_route(struct route_db *db, struct route_fib *fib, struct route *same,
              struct route *route, bool dumped)
    OVS_REQUIRES(db->mutex)
{
    if (dumped && same->epoch != route->epoch
        && is_out_of_order(fib, same, route->epoch)) {
        route_db_remove_route(db, fib, same);
        route_db_add_route(db, fib, route, false, true);
    } else if (route_equal(same, route)) {
        same->epoch = route->epoch;
        route_destroy(route);
    } else {
        route_db_swap_route(db, fib, same, route);
    }
}

static void
add_ipv4_route(struct route_db *db, struct route_fib *fib,
               struct route *route, const struct route_event *event,
               bool dumped)
    OVS_REQUIRES(db->mutex)
{
    struct route *same = route_fib_find_equal(fib, route);

    if (same) {
        confirm_route(db, fib, same, route, dumped);
    } else {
        route_db_add_route(db, fib, route, event->route.replace && !dumped,
                           event->route.append || dumped);
    }
}

/* The route that "replace" of 'route' takes the place of, or NULL. */
static struct route *
find_ipv6_replaced(const struct route_fib *fib, const struct route *route)
{
    struct route *first = route_fib_find(fib, route);
    struct route *old;

    for (old = first; old; old = route_fib_next(fib, old)) {
        if (is_joinable(old) == is_joinable(route)) {
            return old;
        }
    }
    return first;
}

/* A message for an IPv6 route via gateways has all next hops of its key, so
 * it takes the place of the route that has some of them.  (Routes that router
 * advertisements made stay apart, and so share none.)  One that has fewer
 * than the route has is from before a dump, unless it is part of one. */
static void
add_ipv6_route(struct route_db *db, struct route_fib *fib,
               struct route *route, const struct route_event *event,
               bool dumped)
    OVS_REQUIRES(db->mutex)
{
    struct route *same = route_fib_find_equal(fib, route);
    struct route *old, *next;
    struct route *place = NULL;

    /* "replace" by an equal of another route makes two of it. */
    old = (event->route.replace && !dumped ? find_ipv6_replaced(fib, route)
           : NULL);
    if (same && (!old || old == same)) {
        confirm_route(db, fib, same, route, dumped);
        return;
    }
    if (event->route.replace && !dumped) {
        if (old) {
            route_db_swap_route(db, fib, old, route);
        } else {
            route_db_add_route(db, fib, route, false, true);
        }
        return;
    }

    bool stale = false;
    for (old = route_fib_find(fib, route); old; old = next) {
        next = route_fib_next(fib, old);
        if (!is_alike(old, route) || is_joinable(old) != is_joinable(route)) {
            continue;
        }
        if (is_subset(old, route)
            || (dumped && old->epoch != route->epoch
                && n_common_nexthops(old, route))) {
            if (place) {
                route_db_remove_route(db, fib, old);
            } else {
                place = old;
            }
        } else if (is_subset(route, old)) {
            stale = true;
        }
    }
    if (place) {
        confirm_route(db, fib, place, route, dumped);
    } else if (stale) {
        route_destroy(route);
    } else {
        route_db_add_route(db, fib, route, false, true);
    }
}

/* Returns a copy of 'route' without the next hops that 'gone' has. */
static struct route *
clone_without(const struct route *route, const struct route *gone)
{
    struct route *new = route_clone(route);

    new->n_nexthops = 0;
    for (size_t i = 0; i < route->n_nexthops; i++) {
        if (!has_nexthop(gone, &route->nexthops[i])) {
            new->nexthops[new->n_nexthops++] = route->nexthops[i];
        }
    }
    return new;
}

/* Removes what 'gone' says.  An IPv4 message names a whole route, with next
 * hops that may have been left out here; one for IPv6 names any of them. */
static void
delete_route(struct route_db *db, struct route_fib *fib,
             const struct route *gone)
    OVS_REQUIRES(db->mutex)
{
    struct route *route = route_fib_find_equal(fib, gone);

    if (route) {
        route_db_remove_route(db, fib, route);
        return;
    }
    for (route = route_fib_find(fib, gone); route;
         route = route_fib_next(fib, route)) {
        if (!is_alike(route, gone)) {
            continue;
        }
        if (is_subset(route, gone)) {
            if (fib->ipv6 || (ipv6_addr_equals(&route->prefsrc,
                                               &gone->prefsrc)
                              && route->n_nexthops < gone->n_nexthops)) {
                route_db_remove_route(db, fib, route);
                return;
            }
        } else if (fib->ipv6 && n_common_nexthops(gone, route)) {
            route_db_swap_route(db, fib, route, clone_without(route, gone));
            return;
        }
    }
}

static int
apply_route(struct route_db *db, const struct route_event *event,
            uint32_t epoch, bool dumped)
    OVS_REQUIRES(db->mutex)
{
    struct route_fib *fib = route_db_find_fib(db, event->route.table,
                                              event->ipv6);
    struct route *route;
    int error;

    if (!fib || !fib->held) {
        return 0;
    }
    error = create_route(db, event, epoch, &route);
    if (error || !route) {
        return error;
    }
    if (event->deleted) {
        delete_route(db, fib, route);
        if (!event->ipv6 && fib->id == ROUTE_TABLE_LOCAL
            && route->type == ROUTE_LOCAL && route->dst_plen == 128) {
            route_update_forget_source(db, &route->dst);
        }
        route_destroy(route);
    } else if (event->ipv6) {
        add_ipv6_route(db, fib, route, event, dumped);
    } else {
        add_ipv4_route(db, fib, route, event, dumped);
    }
    return 0;
}

/* Rules and objects. */

/* As is_out_of_order(), for rule 'i'. */
static bool
is_rule_out_of_order(const struct route_db *db, const struct route_rule *rule,
                     uint32_t epoch)
    OVS_REQUIRES(db->mutex)
{
    const struct route_rule *rules = db->rule_array[rule->ipv6];
    size_t n = db->n_rules[rule->ipv6];

    for (size_t i = rule - rules + 1; i < n; i++) {
        if (rules[i].priority == rule->priority
            && rules[i].owner == ROUTE_KERNEL && rules[i].epoch == epoch) {
            return true;
        }
    }
    return false;
}

static void
apply_rule(struct route_db *db, const struct route_event *event,
           uint32_t epoch, bool dumped)
    OVS_REQUIRES(db->mutex)
{
    struct route_rule rule = event->rule;

    rule.epoch = epoch;
    if (event->deleted) {
        route_db_remove_rule(db, &rule);
        return;
    }
    if (dumped) {
        const struct route_rule *same = route_db_find_rule(db, &rule);

        /* The kernel may have rules that only differ in what does not count
         * here, such as the protocol: the first decides. */
        if (same && same->epoch != epoch
            && is_rule_out_of_order(db, same, epoch)) {
            route_db_move_rule(db, &rule);
        }
    }
    route_db_add_rule(db, &rule);
}

static int
apply_object(struct route_db *db, const struct route_event *event,
             uint32_t epoch)
    OVS_REQUIRES(db->mutex)
{
    struct route_object *object;

    if (event->deleted) {
        route_update_remove_object(db, event->object.id);
        return 0;
    }

    object = xzalloc(sizeof *object);
    object->id = event->object.id;
    object->blackhole = event->object.blackhole;
    object->epoch = epoch;
    if (event->object.n_members) {
        object->n_members = event->object.n_members;
        object->members = xmemdup(event->object.members,
                                  object->n_members
                                  * sizeof *object->members);
    } else if (event->n_nexthops) {
        const struct route_event_nexthop *leg = &event->nexthops[0];
        struct route_device *device = route_db_find_device(db, leg->ifindex);

        if (!device || !route_device_link(device)->name[0]) {
            free(object);
            return EAGAIN;
        }
        object->n_nexthops = 1;
        object->nexthops = xmalloc(sizeof *object->nexthops);
        object->nexthops[0] = (struct route_nexthop) {
            .gateway = leg->gateway,
            .device = device,
            .weight = leg->weight,
        };
    }
    route_db_set_object(db, object);
    return 0;
}

int
route_update_apply(struct route_db *db, const struct route_event *event,
                   uint32_t epoch, bool dumped)
{
    switch (event->kind) {
    case ROUTE_EVENT_ROUTE:
        return apply_route(db, event, epoch, dumped);

    case ROUTE_EVENT_RULE:
        apply_rule(db, event, epoch, dumped);
        return 0;

    case ROUTE_EVENT_OBJECT:
        return apply_object(db, event, epoch);

    case ROUTE_EVENT_LINK:
        return route_update_link(db, event, epoch);

    case ROUTE_EVENT_ADDRESS:
        return route_update_address(db, event, epoch, dumped);

    case ROUTE_EVENT_NETCONF:
        return route_update_netconf(db, event, epoch);
    }
    return 0;
}

/* Sweeping. */

static bool
is_older(uint32_t epoch, uint32_t than)
{
    return (int32_t) (epoch - than) < 0;
}

void
route_update_sweep_rules(struct route_db *db, bool ipv6, uint32_t epoch)
{
    for (size_t i = 0; i < db->n_rules[ipv6]; ) {
        const struct route_rule *rule = &db->rule_array[ipv6][i];

        if (rule->owner != ROUTE_KERNEL || !is_older(rule->epoch, epoch)
            || !route_db_remove_rule(db, rule)) {
            i++;
        }
    }
}

static void
sweep_objects(struct route_db *db, uint32_t epoch)
    OVS_REQUIRES(db->mutex)
{
    const struct route_object *object;
    uint32_t *ids = NULL;
    size_t allocated = 0;
    size_t n = 0;

    CMAP_FOR_EACH (object, node, &db->objects) {
        if (is_older(object->epoch, epoch)) {
            if (n >= allocated) {
                ids = x2nrealloc(ids, &allocated, sizeof *ids);
            }
            ids[n++] = object->id;
        }
    }
    for (size_t i = 0; i < n; i++) {
        route_update_remove_object(db, ids[i]);
    }
    free(ids);
}

static void
sweep_addresses(struct route_db *db, struct route_device *device,
                uint32_t epoch)
    OVS_REQUIRES(db->mutex)
{
    const struct route_addresses *list = route_device_addresses(device);
    size_t i = 0;

    while (i < list->n) {
        const struct route_address *address = &list->addresses[i];

        if (is_older(address->epoch, epoch)) {
            route_db_remove_address(db, device, &address->address,
                                    address->plen);
            list = route_device_addresses(device);
        } else {
            i++;
        }
    }
}

void
route_update_sweep(struct route_db *db, struct route_fib *fib,
                   uint32_t epoch)
{
    if (fib) {
        struct route *route;

        ROUTE_FIB_FOR_EACH (route, fib) {
            if (route->owner == ROUTE_KERNEL
                && is_older(route->epoch, epoch)) {
                route_db_remove_route(db, fib, route);
            }
        }
        return;
    }

    route_update_sweep_rules(db, false, epoch);
    route_update_sweep_rules(db, true, epoch);
    HMAP_FOR_EACH (fib, node, &db->fibs) {
        if (fib->held) {
            route_update_sweep(db, fib, epoch);
        }
    }
    sweep_objects(db, epoch);

    struct route_device *device;
    HMAP_FOR_EACH_SAFE (device, index_node, &db->devices) {
        if (is_older(device->epoch, epoch)) {
            route_update_remove_device(db, device);
        } else {
            sweep_addresses(db, device, epoch);
        }
    }
}
