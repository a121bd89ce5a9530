/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "ovs-router.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "coverage.h"
#include "encap-endpoint.h"
#include "fatal-signal.h"
#include "netdev.h"
#include "ovs-atomic.h"
#include "ovs-router-command.h"
#include "ovs-thread.h"
#include "packets.h"
#include "route-db.h"
#include "route-lookup.h"
#include "route-watch.h"
#include "seq.h"
#include "tnl-ports.h"
#include "user-route.h"
#include "util.h"

COVERAGE_DEFINE(ovs_router_change);
COVERAGE_DEFINE(ovs_router_change_unwatched);

static bool use_system_routing_table = true;
static struct route_db router_db;
static atomic_uint64_t change_seq = ATOMIC_VAR_INIT(0);
static struct seq *devices_seq; /* From ovs_router_db() on. */

/* Some device's addresses have changed since user routes were last looked
 * at. */
static atomic_bool addresses_changed = ATOMIC_VAR_INIT(false);

/* Programs that use the router without datapaths (tests) have neither the
 * sequence number nor tnl-ports. */
static bool
has_datapaths(void)
{
    return tnl_conf_seq != NULL;
}

/* Callbacks of the db. */

static void
router_changed(struct route_db *db OVS_UNUSED, bool ipv6,
               const struct in6_addr *dst, uint8_t plen, void *aux OVS_UNUSED)
{
    /* In this order: see route_watch_overflowed(). */
    if (!route_watch_covers(ipv6, dst, plen) && !route_watch_overflowed()) {
        COVERAGE_INC(ovs_router_change_unwatched);
        return;
    }

    COVERAGE_INC(ovs_router_change);
    ovs_router_ways_changed();
}

static void
router_device_gained(struct route_device *device, void *aux OVS_UNUSED)
{
    if (has_datapaths()) {
        tnl_port_map_insert_ipdev(route_device_link(device)->name);
    }
}

static void
router_device_lost(struct route_device *device, void *aux OVS_UNUSED)
{
    if (has_datapaths()) {
        tnl_port_map_delete_ipdev(route_device_link(device)->name);
    }
}

static void
router_addresses_changed(struct route_device *device, void *aux)
{
    atomic_store(&addresses_changed, true);
    seq_change(devices_seq);

    /* A device without addresses was not taken by tnl-ports when it was
     * gained; one that it has taken is read again only if the netdev has
     * noticed, too. */
    netdev_get_addrs_list_flush();
    if (device->n_users) {
        router_device_gained(device, aux);
    }
}

static void
router_link_changed(struct route_device *device OVS_UNUSED,
                    void *aux OVS_UNUSED)
{
    seq_change(devices_seq);
}

static void
router_link_goes_down(struct route_device *device, void *aux OVS_UNUSED)
{
    encap_registry_device_down(route_device_link(device)->name);
}

struct route_db *
ovs_router_db(void)
{
    static struct ovsthread_once once = OVSTHREAD_ONCE_INITIALIZER;

    if (ovsthread_once_start(&once)) {
        route_watch_init();
        devices_seq = seq_create();
        route_db_init(&router_db);
        router_db.changed = router_changed;
        router_db.device_gained = router_device_gained;
        router_db.device_lost = router_device_lost;
        router_db.addresses_changed = router_addresses_changed;
        router_db.link_changed = router_link_changed;
        router_db.link_goes_down = router_link_goes_down;
        ovsthread_once_done(&once);
    }
    return &router_db;
}

static void
router_flush_hook(void *aux OVS_UNUSED)
{
    ovs_router_flush();
}

void
ovs_router_init(void)
{
    static struct ovsthread_once once = OVSTHREAD_ONCE_INITIALIZER;

    if (ovsthread_once_start(&once)) {
        ovs_router_db();
        fatal_signal_add_hook(router_flush_hook, NULL, NULL, true);
        ovs_router_command_init();
        ovsthread_once_done(&once);
    }
}

void
ovs_router_disable_system_routing_table(void)
{
    use_system_routing_table = false;
}

bool
ovs_router_uses_system_routing_table(void)
{
    return use_system_routing_table;
}

void
ovs_router_ways_changed(void)
{
    uint64_t orig;

    atomic_add(&change_seq, 1, &orig);
    if (has_datapaths()) {
        seq_change(tnl_conf_seq);
    }
}

uint64_t
ovs_router_change_seq(void)
{
    uint64_t seq;

    atomic_read(&change_seq, &seq);
    return seq;
}

struct seq *
ovs_router_devices_seq(void)
{
    ovs_router_db();
    return devices_seq;
}

int
ovs_router_lookup_query(const struct route_query *query,
                        struct route_result *result,
                        struct route_trail *trail)
{
    struct route_db *db = ovs_router_db();

    route_watch_add(&query->dst);
    route_lookup(db, query, result, trail);

    /* The kernel drops a route with its source; a user's route stays, and may
     * not send from an address that is not ours meanwhile. */
    if (result->verdict == ROUTE_OK
        && result->route->owner == ROUTE_USER
        && ipv6_addr_is_set(&result->route->prefsrc)
        && ipv6_addr_equals(&result->route->prefsrc, &result->src)
        && !route_lookup_is_local(db, &result->src)) {
        result->verdict = ROUTE_NO_SOURCE;
    }
    return result->verdict;
}

bool
ovs_router_lookup(uint32_t mark, const struct in6_addr *ip_dst,
                  char out_dev[], struct in6_addr *src, struct in6_addr *gw)
{
    struct route_query query = {
        .dst = *ip_dst,
        .src = src ? *src : in6addr_any,
        .mark = mark,
    };
    struct route_result result;

    ovs_router_lookup_query(&query, &result, NULL);
    if (result.verdict != ROUTE_OK
        || (result.route->type != ROUTE_UNICAST
            && result.route->type != ROUTE_LOCAL)) {
        return false;
    }

    ovs_strlcpy(out_dev, result.dev, IFNAMSIZ);
    *gw = result.gateway;
    if (src) {
        *src = result.src;
    }
    return true;
}

int
ovs_router_get_netdev_source_address(const struct in6_addr *ip6_dst,
                                     const char output_bridge[],
                                     struct in6_addr *psrc)
{
    struct route_addresses *addresses;
    const struct route_address *address;
    int error;

    error = netdev_route_addresses(output_bridge, &addresses);
    if (error) {
        return error;
    }

    address = route_addresses_fit(addresses, ip6_dst);
    if (address) {
        *psrc = address->address;
    } else {
        error = ENOENT;
    }
    free(addresses);
    return error;
}

void
ovs_router_flush(void)
{
    struct route_db *db = ovs_router_db();
    struct route_fib *fib;

    ovs_mutex_lock(&db->mutex);
    HMAP_FOR_EACH_SAFE (fib, node, &db->fibs) {
        size_t n;
        const struct route **routes = route_fib_sort(fib, &n);

        /* The kernel's first: with the last of the others the table may
         * go. */
        for (int owner = ROUTE_KERNEL; owner < ROUTE_USER; owner++) {
            for (size_t i = 0; i < n; i++) {
                if (routes[i] && routes[i]->owner == owner) {
                    route_db_remove_route(db, fib, CONST_CAST(struct route *,
                                                              routes[i]));
                    routes[i] = NULL;
                }
            }
        }
        free(routes);
    }
    ovs_mutex_unlock(&db->mutex);
}

void
ovs_router_run(void)
{
    struct route_db *db = ovs_router_db();
    bool changed = true;

    if (atomic_compare_exchange_strong(&addresses_changed, &changed, false)) {
        ovs_mutex_lock(&db->mutex);
        user_route_refresh(db);
        ovs_mutex_unlock(&db->mutex);
    }
}

/* The two routes that come with an address of a port. */

static struct route *
port_route(struct route_device *device, const struct in6_addr *ip,
           uint8_t plen, bool local)
{
    struct route *route = route_create(1);

    route->owner = ROUTE_PORT;
    route->type = local ? ROUTE_LOCAL : ROUTE_UNICAST;
    route->scope = (local ? ROUTE_SCOPE_HOST
                    : IN6_IS_ADDR_V4MAPPED(ip) ? ROUTE_SCOPE_LINK
                    : ROUTE_SCOPE_UNIVERSE);
    route->dst_plen = local ? 128 : plen;
    route->dst = route_prefix_mask(ip, route->dst_plen);
    route->prefsrc = *ip;
    route->nexthops[0] = (struct route_nexthop) {
        .device = device,
        .weight = 1,
    };
    return route;
}

/* True if 'device' has another address than 'ip' in that address's subnet. */
static bool
has_neighbor_address(const struct route_device *device,
                     const struct in6_addr *ip, uint8_t plen)
{
    const struct route_addresses *addresses = route_device_addresses(device);

    for (size_t i = 0; i < addresses->n; i++) {
        const struct route_address *address = &addresses->addresses[i];

        if (address->plen == plen
            && !ipv6_addr_equals(&address->address, ip)
            && route_prefix_contains(&address->prefix, plen, ip)) {
            return true;
        }
    }
    return false;
}

void
ovs_router_add_port_address(const char *dev, const struct in6_addr *ip,
                            uint8_t plen)
{
    struct route_db *db = ovs_router_db();
    bool ipv6 = !IN6_IS_ADDR_V4MAPPED(ip);
    struct route_device *device;
    bool has_neighbor;

    ovs_mutex_lock(&db->mutex);
    device = netdev_route_device(db, dev);
    has_neighbor = has_neighbor_address(device, ip, plen);

    struct route_address address = {
        .address = *ip,
        .prefix = route_prefix_mask(ip, plen),
        .plen = plen,
        .scope = ROUTE_SCOPE_UNIVERSE,
        .secondary = !ipv6 && has_neighbor,
    };
    route_db_add_address(db, device, &address);

    /* Appended, as the kernel does: of two ports in one subnet the first is
     * the way to it. */
    route_db_add_route(db, route_db_fib(db, ROUTE_TABLE_LOCAL, ipv6),
                       port_route(device, ip, plen, true), false, true);
    if (!has_neighbor && plen < 128) {
        route_db_add_route(db, route_db_fib(db, ROUTE_TABLE_MAIN, ipv6),
                           port_route(device, ip, plen, false), false, true);
    }
    ovs_mutex_unlock(&db->mutex);

    ovs_router_run();
}

/* Removes the route that equals 'wanted', which it frees. */
static void
remove_port_route(struct route_db *db, uint32_t table, struct route *wanted)
    OVS_REQUIRES(db->mutex)
{
    struct route_fib *fib
        = route_db_find_fib(db, table, !IN6_IS_ADDR_V4MAPPED(&wanted->dst));
    struct route *route;

    if (fib) {
        ROUTE_FIB_FOR_EACH (route, fib) {
            if (route_equal(route, wanted)) {
                route_db_remove_route(db, fib, route);
                break;
            }
        }
    }
    route_destroy(wanted);
}

void
ovs_router_remove_port_address(const char *dev, const struct in6_addr *ip,
                               uint8_t plen)
{
    struct route_db *db = ovs_router_db();
    struct route_device *device;

    ovs_mutex_lock(&db->mutex);
    device = route_db_find_named_device(db, dev);
    if (device) {
        /* The device may go with its last route. */
        route_db_remove_address(db, device, ip, plen);
        struct route *connected = port_route(device, ip, plen, false);
        struct route *local = port_route(device, ip, plen, true);

        remove_port_route(db, ROUTE_TABLE_MAIN, connected);
        remove_port_route(db, ROUTE_TABLE_LOCAL, local);
    }
    ovs_mutex_unlock(&db->mutex);

    ovs_router_run();
}
