/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "route-update-check.h"

#include "openvswitch/hmap.h"
#include "packets.h"
#include "route-db.h"

static size_t
count_users(const struct route_nexthop *nexthops, size_t n,
            const struct route_device *device)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        count += nexthops[i].device == device;
    }
    return count;
}

static const char *
check_device(const struct route_db *db, const struct route_device *device)
    OVS_REQUIRES(db->mutex)
{
    const struct route_object *object;
    const struct route_fib *fib;
    struct route *route;
    size_t n_users = 0;

    if (device->ifindex < 0
        || (device->ifindex
            && route_db_find_device(db, device->ifindex) != device)) {
        return "device not found by its index";
    }
    HMAP_FOR_EACH (fib, node, &db->fibs) {
        ROUTE_FIB_FOR_EACH (route, fib) {
            n_users += count_users(route->nexthops, route->n_nexthops,
                                   device);
        }
    }
    CMAP_FOR_EACH (object, node, &db->objects) {
        n_users += count_users(object->nexthops, object->n_nexthops, device);
    }
    if (n_users != device->n_users) {
        return "device with a wrong number of users";
    }
    if (!device->ifindex && !n_users) {
        return "device of nobody";
    }

    const struct route_addresses *list = route_device_addresses(device);
    for (size_t i = 0; i < list->n; i++) {
        if (!route_db_has_address(db, &list->addresses[i].address)) {
            return "address that is not local";
        }
    }
    return NULL;
}

static const char *
check_fib(const struct route_db *db, const struct route_fib *fib)
    OVS_REQUIRES(db->mutex)
{
    struct route *route;
    size_t n = 0;
    size_t n_user = 0;

    ROUTE_FIB_FOR_EACH (route, fib) {
        n++;
        n_user += route->owner != ROUTE_KERNEL;
        if (route->owner == ROUTE_KERNEL && !fib->held) {
            return "route of the kernel in a table that is not held";
        }
        if (route->nexthop_id && route->n_nexthops) {
            return "route with an object and next hops";
        }
        if (route->type == ROUTE_UNICAST && !route->nexthop_id
            && !route->n_nexthops) {
            return "unicast route without a next hop";
        }
        for (size_t i = 0; i < route->n_nexthops; i++) {
            const struct route_device *device = route->nexthops[i].device;

            if (route->owner == ROUTE_KERNEL
                && route_db_find_device(db, device->ifindex) != device) {
                return "route of the kernel via a device that is gone";
            }
            if (!route->nexthops[i].weight) {
                return "next hop of weight 0";
            }
        }
    }
    if (n != route_fib_count(fib) || n_user != fib->n_user) {
        return "table with a wrong number of routes";
    }
    return NULL;
}

static const char *
check_objects(const struct route_db *db)
    OVS_REQUIRES(db->mutex)
{
    const struct route_object *object;

    CMAP_FOR_EACH (object, node, &db->objects) {
        if (!object->blackhole && !object->n_members
            && object->n_nexthops != 1) {
            return "object that is nothing";
        }
        if (object->n_nexthops > object->n_members + !object->n_members) {
            return "group with too many next hops";
        }
    }
    return NULL;
}

const char *
route_update_check(struct route_db *db)
{
    const struct route_device *device;
    const struct route_fib *fib;
    const char *error;

    ovs_mutex_lock(&db->mutex);
    error = check_objects(db);
    HMAP_FOR_EACH (device, name_node, &db->device_names) {
        if (!error) {
            error = check_device(db, device);
        }
    }
    HMAP_FOR_EACH (fib, node, &db->fibs) {
        if (!error) {
            error = check_fib(db, fib);
        }
    }
    ovs_mutex_unlock(&db->mutex);
    return error;
}
