/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "route-update-private.h"

#include <errno.h>

#include "packets.h"
#include "route-lookup.h"
#include "util.h"

/* Walking all routes.
 *
 * What the kernel drops without a message is found by a walk over all of its
 * routes of one family, which costs about 50 ns each.  It is done only when a
 * link, address or object goes away that routes can depend on: for links, if
 * a next hop uses the device; for objects, if any route names an object. */

/* Says what becomes of 'route': returns itself to keep it, NULL to remove it,
 * or a new route to take its place. */
typedef struct route *judge_func(const struct route_db *,
                                 const struct route_fib *,
                                 struct route *route, const void *aux);

static void
judge_routes(struct route_db *db, bool ipv6, judge_func *judge,
             const void *aux)
    OVS_REQUIRES(db->mutex)
{
    struct route_fib *fib;
    struct route *route;

    HMAP_FOR_EACH (fib, node, &db->fibs) {
        if (fib->ipv6 != ipv6 || !fib->held) {
            continue;
        }
        ROUTE_FIB_FOR_EACH (route, fib) {
            if (route->owner == ROUTE_KERNEL) {
                struct route *new = judge(db, fib, route, aux);

                if (!new) {
                    route_db_remove_route(db, fib, route);
                } else if (new != route) {
                    route_db_swap_route(db, fib, route, new);
                }
            }
        }
    }
}

static bool
uses_device(const struct route *route, const struct route_device *device)
{
    for (size_t i = 0; i < route->n_nexthops; i++) {
        if (route->nexthops[i].device == device) {
            return true;
        }
    }
    return false;
}

/* Returns a copy of 'route' without the next hops on 'device', or NULL if
 * there are no others. */
static struct route *
clone_without_device(const struct route *route,
                     const struct route_device *device)
{
    struct route *new = route_clone(route);
    size_t n = 0;

    for (size_t i = 0; i < route->n_nexthops; i++) {
        if (route->nexthops[i].device != device) {
            new->nexthops[n++] = route->nexthops[i];
        }
    }
    new->n_nexthops = n;
    if (!n) {
        route_destroy(new);
        return NULL;
    }
    return new;
}

/* Objects. */

struct gone_objects {
    const uint32_t *ids;
    size_t n;
};

static struct route *
judge_object_gone(const struct route_db *db OVS_UNUSED,
                  const struct route_fib *fib OVS_UNUSED,
                  struct route *route, const void *gone_)
{
    const struct gone_objects *gone = gone_;

    if (route->nexthop_id) {
        for (size_t i = 0; i < gone->n; i++) {
            if (gone->ids[i] == route->nexthop_id) {
                return NULL;
            }
        }
    }
    return route;
}

void
route_update_remove_object(struct route_db *db, uint32_t id)
{
    struct gone_objects gone;
    uint32_t *ids;

    if (route_db_remove_object(db, id, &ids, &gone.n)) {
        gone.ids = ids;
        judge_routes(db, false, judge_object_gone, &gone);
        judge_routes(db, true, judge_object_gone, &gone);
    }
    free(ids);
}

/* The kernel removes an object with its device, and also when the link goes
 * down or loses its carrier. */
static void
remove_objects_of_device(struct route_db *db,
                         const struct route_device *device)
    OVS_REQUIRES(db->mutex)
{
    const struct route_object *object;
    uint32_t *ids = NULL;
    size_t allocated = 0;
    size_t n = 0;

    CMAP_FOR_EACH (object, node, &db->objects) {
        if (!object->n_members && object->n_nexthops
            && object->nexthops[0].device == device) {
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

/* Links. */

/* Returns a copy of 'route' whose next hops on 'device' are 'dead'. */
static struct route *
clone_with_dead(const struct route *route, const struct route_device *device,
                bool dead)
{
    struct route *new = route_clone(route);

    for (size_t i = 0; i < new->n_nexthops; i++) {
        if (new->nexthops[i].device == device) {
            new->nexthops[i].dead = dead;
        }
    }
    return new;
}

/* A link runs: IPv6 next hops on it come back. */
static struct route *
judge_link_runs(const struct route_db *db OVS_UNUSED,
                const struct route_fib *fib OVS_UNUSED, struct route *route,
                const void *device)
{
    for (size_t i = 0; i < route->n_nexthops; i++) {
        if (route->nexthops[i].dead && route->nexthops[i].device == device) {
            return clone_with_dead(route, device, false);
        }
    }
    return route;
}

/* A link is down: a route goes if no next hop is on a link that is up.  IPv4
 * routes of scope "host" stay.  The next hops on the link are out of use, in
 * IPv6 until it runs again. */
static struct route *
judge_link_down(const struct route_db *db OVS_UNUSED,
                const struct route_fib *fib, struct route *route,
                const void *device)
{
    if (!uses_device(route, device)
        || (!fib->ipv6 && route->scope == ROUTE_SCOPE_HOST)) {
        return route;
    }
    for (size_t i = 0; i < route->n_nexthops; i++) {
        if (route_device_link(route->nexthops[i].device)->up
            && !route->nexthops[i].dead) {
            return fib->ipv6 ? clone_with_dead(route, device, true) : route;
        }
    }
    return NULL;
}

/* A device is gone: IPv4 routes go as a whole, IPv6 ones leg by leg. */
static struct route *
judge_device_gone(const struct route_db *db OVS_UNUSED,
                  const struct route_fib *fib, struct route *route,
                  const void *device)
{
    return (!uses_device(route, device) ? route
            : fib->ipv6 ? clone_without_device(route, device)
            : NULL);
}

void
route_update_remove_device(struct route_db *db, struct route_device *device)
{
    if (device->n_users) {
        judge_routes(db, false, judge_device_gone, device);
        judge_routes(db, true, judge_device_gone, device);
        remove_objects_of_device(db, device);
    }
    device->ignore_linkdown_ipv4 = false;
    device->stopped_ipv4 = false;
    device->flushed_ipv6 = false;
    route_db_forget_device(db, device);
}

/* Returns ESTALE, once, if next hops on 'device' were left out of routes. */
static int
restart_ipv4(struct route_device *device)
{
    bool stopped = device->stopped_ipv4;

    device->stopped_ipv4 = false;
    return stopped ? ESTALE : 0;
}

int
route_update_link(struct route_db *db, const struct route_event *event,
                  uint32_t epoch)
{
    struct route_device *device = route_db_find_device(db,
                                                       event->link.ifindex);
    struct route_link link = event->link.link;
    bool was_up = false;
    bool had_carrier = false;

    if (event->deleted) {
        int error = 0;

        if (device) {
            /* The routes whose next hops were left out go, too. */
            error = restart_ipv4(device);
            route_update_remove_device(db, device);
        }
        return error;
    }

    link.ignore_linkdown_ipv4 = db->ignore_linkdown_ipv4;
    if (device) {
        const struct route_link *old = route_device_link(device);

        link.ignore_linkdown_ipv4 |= device->ignore_linkdown_ipv4;
        link.ignore_linkdown_ipv6 = old->ignore_linkdown_ipv6;
        was_up = old->up;
        had_carrier = old->carrier;
    }
    device = route_db_set_link(db, event->link.ifindex, &link);
    device->epoch = epoch;

    if (was_up != link.up) {
        device->flushed_ipv6 = was_up;
    }
    if (was_up && !link.up && device->n_users) {
        judge_routes(db, false, judge_link_down, device);
        judge_routes(db, true, judge_link_down, device);
    }
    if ((was_up && !link.up) || (had_carrier && !link.carrier)) {
        if (device->n_users) {
            remove_objects_of_device(db, device);
        }
    }
    if (link.up && link.carrier && !(was_up && had_carrier)
        && device->n_users) {
        judge_routes(db, true, judge_link_runs, device);
    }
    return ((!was_up && link.up) || (!had_carrier && link.carrier)
            ? restart_ipv4(device) : 0);
}

/* Addresses. */

/* An address is on no device any more.  The kernel drops IPv4 routes of the
 * main table that prefer it as their source, but not those of other tables;
 * IPv6 routes only forget it, unless they have it with a next-hop object or it
 * went with the link. */
static struct route *
judge_address_gone(const struct route_db *db OVS_UNUSED,
                   const struct route_fib *fib, struct route *route,
                   const void *address)
{
    if (!ipv6_addr_equals(&route->prefsrc, address)) {
        return route;
    }
    if (!fib->ipv6) {
        return fib->id == ROUTE_TABLE_MAIN ? NULL : route;
    }
    if (route->nexthop_id) {
        return route;
    }

    struct route *new = route_clone(route);
    new->prefsrc = in6addr_any;
    return new;
}

/* A device has lost its last IPv4 address: routes that only use it, or links
 * that are down, go.  Other routes lose their next hops on it until it has an
 * address again or the link goes down and up; if the link is down, they are
 * not used anyway. */
static struct route *
judge_ipv4_stopped(const struct route_db *db OVS_UNUSED,
                   const struct route_fib *fib OVS_UNUSED,
                   struct route *route, const void *device_)
{
    struct route_device *device = CONST_CAST(struct route_device *, device_);

    if (!uses_device(route, device)) {
        return route;
    }
    for (size_t i = 0; i < route->n_nexthops; i++) {
        const struct route_device *other = route->nexthops[i].device;

        if (other != device && route_device_link(other)->up) {
            if (!route_device_link(device)->up) {
                return route;
            }
            device->stopped_ipv4 = true;
            return clone_without_device(route, device);
        }
    }
    return NULL;
}

static bool
has_ipv4_address(const struct route_device *device)
{
    const struct route_addresses *list = route_device_addresses(device);

    for (size_t i = 0; i < list->n; i++) {
        if (IN6_IS_ADDR_V4MAPPED(&list->addresses[i].address)) {
            return true;
        }
    }
    return false;
}

void
route_update_forget_source(struct route_db *db, const struct in6_addr *source)
{
    if (!route_lookup_is_local(db, source)) {
        judge_routes(db, false, judge_address_gone, source);
    }
}

int
route_update_address(struct route_db *db, const struct route_event *event,
                     uint32_t epoch, bool dumped)
{
    struct route_device *device
        = route_db_find_device(db, event->address.ifindex);
    struct route_address address = event->address.address;

    if (!event->deleted) {
        if (!device) {
            return EAGAIN;
        }
        address.epoch = epoch;
        address.dumped = dumped;
        route_db_add_address(db, device, &address);
        device->flushed_ipv6 = false;
        return event->ipv6 || dumped ? 0 : restart_ipv4(device);
    }

    if (!device || !route_db_remove_address(db, device, &address.address,
                                            address.plen)) {
        return 0;
    }
    if (!event->ipv6) {
        route_update_forget_source(db, &address.address);
    } else if (!device->flushed_ipv6
               && !route_db_has_address(db, &address.address)) {
        judge_routes(db, true, judge_address_gone, &address.address);
    }
    if (!event->ipv6 && device->n_users && !has_ipv4_address(device)) {
        judge_routes(db, false, judge_ipv4_stopped, device);
    }
    return 0;
}

/* Settings. */

static void
set_ignore_linkdown(struct route_db *db, struct route_device *device,
                    bool ipv4, bool ipv6)
    OVS_REQUIRES(db->mutex)
{
    struct route_link link = *route_device_link(device);

    link.ignore_linkdown_ipv4 = ipv4;
    link.ignore_linkdown_ipv6 = ipv6;
    route_db_set_link(db, device->ifindex, &link);
}

int
route_update_netconf(struct route_db *db, const struct route_event *event,
                     uint32_t epoch)
{
    bool ignore = event->netconf.ignore_linkdown;
    struct route_device *device;

    if (event->netconf.ifindex == ROUTE_NETCONF_ALL) {
        int error = 0;

        /* For IPv6, "all" sets each device, which has a message of its own. */
        if (!event->ipv6 && db->ignore_linkdown_ipv4 != ignore) {
            db->ignore_linkdown_ipv4 = ignore;
            HMAP_FOR_EACH (device, index_node, &db->devices) {
                set_ignore_linkdown(
                    db, device, ignore || device->ignore_linkdown_ipv4,
                    route_device_link(device)->ignore_linkdown_ipv6);
                error |= restart_ipv4(device);
            }
        }
        return error;
    }

    /* Those of a new device come before the device itself. */
    device = route_db_find_device(db, event->netconf.ifindex);
    if (!device) {
        device = route_db_device(db, event->netconf.ifindex);
        device->epoch = epoch;
    }
    if (event->ipv6) {
        set_ignore_linkdown(db, device,
                            route_device_link(device)->ignore_linkdown_ipv4,
                            ignore);
        return 0;
    }
    device->ignore_linkdown_ipv4 = ignore;
    set_ignore_linkdown(db, device, ignore || db->ignore_linkdown_ipv4,
                        route_device_link(device)->ignore_linkdown_ipv6);
    return restart_ipv4(device);
}
