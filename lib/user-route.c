/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "user-route.h"

#include <errno.h>
#include <stdlib.h>

#include "netdev-provider.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/vlog.h"
#include "packets.h"
#include "route-lookup.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(user_route);

static bool
is_ipv6(const struct in6_addr *addr)
{
    return !IN6_IS_ADDR_V4MAPPED(addr);
}

/* Appends 'addr' itself, as users write it. */
static void
format_address(const struct in6_addr *addr, struct ds *s)
{
    ipv6_format_mapped(addr, s);
}

/* The prefix length of 'mask' of 'addr'.  The first 96 bits of an IPv4 mask
 * are ones or those of a mapped address, depending on the netdev. */
static uint8_t
mask_plen(const struct in6_addr *addr, const struct in6_addr *mask)
{
    ovs_be32 mask4;

    if (!IN6_IS_ADDR_V4MAPPED(addr)) {
        return ipv6_count_cidr_bits(mask);
    }
    memcpy(&mask4, &mask->s6_addr[12], sizeof mask4);
    return 96 + ip_count_cidr_bits(mask4);
}

int
netdev_route_addresses(const char *dev, struct route_addresses **addressesp)
{
    struct route_addresses *addresses;
    struct in6_addr *addrs = NULL;
    struct in6_addr *masks = NULL;
    struct netdev *netdev;
    int n = 0;
    int error;

    error = netdev_open(dev, netdev_get_type_from_name(dev), &netdev);
    if (error) {
        return error;
    }
    if (netdev_get_addr_list(netdev, &addrs, &masks, &n)) {
        n = 0;
    }

    addresses = xzalloc(sizeof *addresses + n * sizeof *addresses->addresses);
    for (int i = 0; i < n; i++) {
        struct route_address *address = &addresses->addresses[i];

        address->address = addrs[i];
        address->plen = mask_plen(&addrs[i], &masks[i]);
        address->prefix = route_prefix_mask(&addrs[i], address->plen);
        address->scope = (IN6_IS_ADDR_LINKLOCAL(&addrs[i])
                          ? ROUTE_SCOPE_LINK : ROUTE_SCOPE_UNIVERSE);
    }
    addresses->n = n;
    *addressesp = addresses;

    if (n) {
        free(addrs);
        free(masks);
    }
    netdev_close(netdev);
    return 0;
}

const struct route_address *
route_addresses_fit(const struct route_addresses *addresses,
                    const struct in6_addr *addr)
{
    const struct route_address *best = NULL;

    for (size_t i = 0; i < addresses->n; i++) {
        const struct route_address *address = &addresses->addresses[i];

        if (is_ipv6(&address->address) == is_ipv6(addr)
            && route_prefix_contains(&address->prefix, address->plen, addr)
            && (!best || address->plen > best->plen)) {
            best = address;
        }
    }
    return best;
}

/* The entry of 'addr' itself. */
static const struct route_address *
find_address(const struct route_addresses *addresses,
             const struct in6_addr *addr)
{
    for (size_t i = 0; i < addresses->n; i++) {
        if (ipv6_addr_equals(&addresses->addresses[i].address, addr)) {
            return &addresses->addresses[i];
        }
    }
    return NULL;
}

static const struct route_address *
first_global_address(const struct route_addresses *addresses, bool ipv6)
{
    for (size_t i = 0; i < addresses->n; i++) {
        const struct route_address *address = &addresses->addresses[i];

        if (is_ipv6(&address->address) == ipv6
            && address->scope < ROUTE_SCOPE_LINK) {
            return address;
        }
    }
    return NULL;
}

/* The source for packets to 'dst' by 'gateway' among the addresses of the
 * device that they leave by, or NULL if none fits. */
static const struct route_address *
choose_source(const struct route_addresses *addresses,
              const struct in6_addr *dst, const struct in6_addr *gateway)
{
    const struct route_address *source = route_addresses_fit(addresses, dst);

    if (source || !ipv6_addr_is_set(gateway)) {
        return source;
    }

    /* A gateway of the other family shares no subnet with a source, and a
     * link-local one only with sources that reach no further than itself. */
    if (is_ipv6(gateway) != is_ipv6(dst) || IN6_IS_ADDR_LINKLOCAL(gateway)) {
        return first_global_address(addresses, is_ipv6(dst));
    }
    return route_addresses_fit(addresses, gateway);
}

/* Ports are netdevs that may have no device in the kernel, and devices that
 * nobody has opened yet are no ports.  (Opening proves nothing by itself:
 * where dummies stand in for system devices every name can be opened.) */
static bool
netdev_exists(const char *name)
{
    struct netdev *netdev = netdev_from_name(name);
    bool exists = netdev != NULL;

    if (!netdev && !netdev_open(name, NULL, &netdev)) {
        exists = netdev_get_ifindex(netdev) > 0;
    }
    netdev_close(netdev);
    return exists;
}

/* The addresses of device 'dev', from 'db' if they are the kernel's and from
 * its netdev if not, to be freed by the caller, or NULL if there is no such
 * device. */
static struct route_addresses *
device_addresses(const struct route_db *db, const char *dev)
    OVS_REQUIRES(db->mutex)
{
    const struct route_device *device = route_db_find_named_device(db, dev);
    struct route_addresses *addresses;

    if (device && device->ifindex) {
        const struct route_addresses *known = route_device_addresses(device);

        return xmemdup(known, (sizeof *known
                               + known->n * sizeof *known->addresses));
    }
    if (!netdev_exists(dev) || netdev_route_addresses(dev, &addresses)) {
        return NULL;
    }
    return addresses;
}

struct route_device *
netdev_route_device(struct route_db *db, const char *name)
{
    struct route_device *device = route_db_named_device(db, name);

    if (!device->ifindex && !route_device_link(device)->up) {
        struct route_link link = *route_device_link(device);

        link.up = link.carrier = true;
        route_device_set_link(device, &link);
    }
    return device;
}

/* Why a route as 'wanted' cannot be, or NULL if it can.  '*src' is then its
 * source. */
static char *
check_route(const struct user_route *wanted,
            const struct route_addresses *addresses, struct in6_addr *src)
{
    bool has_gateway = ipv6_addr_is_set(&wanted->gateway);
    const struct route_address *source;
    struct ds s = DS_EMPTY_INITIALIZER;

    if (ipv6_addr_is_set(&wanted->src)) {
        if (!find_address(addresses, &wanted->src)) {
            ds_put_cstr(&s, "source ");
            format_address(&wanted->src, &s);
            ds_put_format(&s, " is no address of device %s", wanted->dev);
            return ds_steal_cstr(&s);
        }
        *src = wanted->src;
        return NULL;
    }

    if (has_gateway && !IN6_IS_ADDR_LINKLOCAL(&wanted->gateway)
        && !route_addresses_fit(addresses, &wanted->gateway)) {
        ds_put_cstr(&s, "gateway ");
        format_address(&wanted->gateway, &s);
        ds_put_format(&s, " is unreachable: in no subnet of device %s",
                      wanted->dev);
        return ds_steal_cstr(&s);
    }

    source = choose_source(addresses, &wanted->dst, &wanted->gateway);
    if (!source) {
        ds_put_format(&s, "no address on device %s fits ", wanted->dev);
        route_prefix_format(&wanted->dst, wanted->plen, &s);
        return ds_steal_cstr(&s);
    }
    *src = source->address;
    return NULL;
}

/* The db learns the addresses of a device that is not the kernel's when a
 * route names it. */
static void
import_addresses(struct route_db *db, struct route_device *device,
                 const struct route_addresses *addresses)
    OVS_REQUIRES(db->mutex)
{
    for (size_t i = 0; i < addresses->n; i++) {
        const struct route_address *address = &addresses->addresses[i];

        if (!find_address(route_device_addresses(device),
                          &address->address)) {
            route_db_add_address(db, device, address);
        }
    }
}

/* A user's route wins over the kernel's or a port's for the same prefix:
 * that may be a surprise. */
static void
log_shadowed(const struct route_db *db, const struct route_fib *fib,
             const struct route *route)
    OVS_REQUIRES(db->mutex)
{
    const struct route *other;

    ROUTE_FIB_FOR_EACH_AT (other, fib, route) {
        if (other->owner != ROUTE_USER
            && other->dst_plen == route->dst_plen
            && ipv6_addr_equals(&other->dst, &route->dst)) {
            struct ds s = DS_EMPTY_INITIALIZER;

            ds_put_format(&s, "table %"PRIu32": \"", fib->id);
            route_format(db, route, 0, &s);
            ds_put_cstr(&s, "\" comes before \"");
            route_format(db, other, 0, &s);
            VLOG_INFO("%s\"", ds_cstr(&s));
            ds_destroy(&s);
        }
    }
}

char *
user_route_add(struct route_db *db, const struct user_route *wanted)
{
    struct route_addresses *addresses;
    struct route_device *device;
    struct route_fib *fib;
    struct in6_addr src;
    struct route *route;
    char *error;

    addresses = device_addresses(db, wanted->dev);
    if (!addresses) {
        return xasprintf("no such device: %s", wanted->dev);
    }
    error = check_route(wanted, addresses, &src);
    if (error) {
        free(addresses);
        return error;
    }

    device = netdev_route_device(db, wanted->dev);
    if (!device->ifindex) {
        import_addresses(db, device, addresses);
    }
    free(addresses);

    route = route_create(1);
    route->owner = ROUTE_USER;
    route->type = ROUTE_UNICAST;
    route->scope = (wanted->ipv6 || ipv6_addr_is_set(&wanted->gateway)
                    ? ROUTE_SCOPE_UNIVERSE : ROUTE_SCOPE_LINK);
    route->dst = route_prefix_mask(&wanted->dst, wanted->plen);
    route->dst_plen = wanted->plen;
    route->mark = wanted->mark;
    route->prefsrc = src;
    route->prefsrc_computed = !ipv6_addr_is_set(&wanted->src);
    route->nexthops[0] = (struct route_nexthop) {
        .gateway = wanted->gateway,
        .device = device,
        .weight = 1,
    };

    fib = route_db_fib(db, wanted->table, wanted->ipv6);
    log_shadowed(db, fib, route);
    route_db_add_route(db, fib, route, true, false);
    return NULL;
}

bool
user_route_remove(struct route_db *db, const struct user_route *wanted)
{
    struct route_fib *fib = route_db_find_fib(db, wanted->table, wanted->ipv6);
    struct route *route = NULL;

    if (fib) {
        struct route *key = route_create(0);

        key->owner = ROUTE_USER;
        key->dst = route_prefix_mask(&wanted->dst, wanted->plen);
        key->dst_plen = wanted->plen;
        key->mark = wanted->mark;
        route = route_fib_find(fib, key);
        route_destroy(key);
    }
    if (route) {
        route_db_remove_route(db, fib, route);
    }
    return route != NULL;
}

void
user_route_refresh(struct route_db *db)
{
    struct route_fib *fib;

    HMAP_FOR_EACH (fib, node, &db->fibs) {
        struct route *route;

        if (!fib->n_user) {
            continue;
        }
        ROUTE_FIB_FOR_EACH (route, fib) {
            const struct route_addresses *addresses;
            const struct route_address *source;
            struct route *new;

            if (route->owner != ROUTE_USER || !route->prefsrc_computed) {
                continue;
            }
            addresses = route_device_addresses(route->nexthops[0].device);
            if (find_address(addresses, &route->prefsrc)) {
                continue;
            }
            source = choose_source(addresses, &route->dst,
                                   &route->nexthops[0].gateway);
            if (source) {
                new = route_clone(route);
                new->prefsrc = source->address;
                route_db_swap_route(db, fib, route, new);
            }
        }
    }
}
