/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-host.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "netdev.h"
#include "netdev-provider.h"
#include "ovs-router.h"
#include "packets.h"
#include "route-db.h"
#include "util.h"

/* Ports. */

/* True unless the kernel has device 'ifindex' and says that it or its link is
 * down. */
static bool
kernel_link_is_up(int ifindex)
{
    struct route_db *db = ovs_router_db();
    const struct route_device *device;
    bool up = true;

    if (ifindex <= 0) {
        return true;
    }
    ovs_mutex_lock(&db->mutex);
    device = route_db_find_device(db, ifindex);
    if (device) {
        up = (route_device_link(device)->up
              && route_device_link(device)->carrier);
    }
    ovs_mutex_unlock(&db->mutex);
    return up;
}

/* Reads all facts of 'port', whose netdev is 'netdev'. */
static void
read_netdev(struct encap_host_port *port, struct netdev *netdev)
{
    enum netdev_flags flags;

    port->admin_up = (!netdev_get_flags(netdev, &flags)
                      && flags & NETDEV_UP);
    port->carrier = netdev_get_carrier(netdev);
    if (netdev_get_mtu(netdev, &port->mtu)) {
        port->mtu = 0;
    }
    nic_get(netdev, &port->nic);
}

static bool
equal_facts(const struct encap_host_port *a, const struct encap_host_port *b)
{
    return (a->open == b->open
            && a->admin_up == b->admin_up
            && a->up == b->up
            && a->mtu == b->mtu
            && !strcmp(a->nic.eswitch, b->nic.eswitch)
            && a->nic.representor == b->nic.representor
            && a->nic.physical == b->nic.physical
            && a->nic.numa_id == b->nic.numa_id);
}

static bool
update_port(struct encap_host_port *port)
{
    struct netdev *netdev = netdev_from_name(port->config->name);
    uint64_t change_seq = netdev ? netdev_get_change_seq(netdev) : 0;
    const struct encap_host_port old = *port;

    /* A port of this name that was made anew has another netdev, or comes with
     * another configuration. */
    if (netdev != port->netdev || change_seq != port->change_seq) {
        port->netdev = netdev;
        port->change_seq = change_seq;
        port->open = netdev != NULL;
        port->admin_up = port->carrier = false;
        port->mtu = 0;
        port->nic = (struct nic) { .numa_id = -1 };
        if (netdev) {
            read_netdev(port, netdev);
        }
    }
    netdev_close(netdev);

    port->up = port->carrier && kernel_link_is_up(port->nic.ifindex);
    return !equal_facts(port, &old);
}

static bool
update_ports(struct encap_host *host)
{
    bool changed = false;

    for (size_t i = 0; i < host->config->n_bridges; i++) {
        struct encap_host_bridge *bridge = &host->bridges[i];

        for (size_t j = 0; j < bridge->config->n_ports; j++) {
            changed |= update_port(&bridge->ports[j]);
        }
    }
    return changed;
}

/* Addresses. */

static uint32_t
hash_ip(const struct in6_addr *ip)
{
    return hash_bytes(ip, sizeof *ip, 0);
}

static struct encap_home *
find_home(const struct hmap *homes, const struct in6_addr *ip)
{
    struct encap_home *home;

    HMAP_FOR_EACH_WITH_HASH (home, node, hash_ip(ip), homes) {
        if (ipv6_addr_equals(&home->ip, ip)) {
            return home;
        }
    }
    return NULL;
}

static void
destroy_homes(struct hmap *homes)
{
    struct encap_home *home;

    HMAP_FOR_EACH_POP (home, node, homes) {
        free(home);
    }
    hmap_destroy(homes);
}

/* Which one of two devices with an address counts: packets are sent and taken
 * at internal ports; a NIC that is a port should have none. */
static int
rank_home(const struct encap_home *home)
{
    return ((home->up && !home->tentative ? 3 : 0)
            + (!home->port ? 0
               : strcmp(home->port->config->type, "internal") ? 1 : 2));
}

/* 'device' has 'address', which 'home' is about. */
static void
settle(const struct encap_host *host, struct encap_home *home,
       const struct route_device *device, const struct route_address *address)
{
    const struct route_link *link = route_device_link(device);
    struct encap_home new = {
        .port = shash_find_data(&host->ports, link->name),
        .tentative = address->tentative,
    };

    if (!strcmp(home->dev, link->name)) {
        return;                 /* With another prefix length. */
    }
    new.up = device->ifindex ? link->up : new.port && new.port->admin_up;

    if (home->dev[0] && rank_home(&new) <= rank_home(home)) {
        ovs_strlcpy_arrays(home->other_dev, link->name);
        return;
    }
    ovs_strlcpy_arrays(home->other_dev, home->dev);
    ovs_strlcpy_arrays(home->dev, link->name);
    home->port = new.port;
    home->up = new.up;
    home->tentative = new.tentative;
}

static void
read_homes(const struct encap_host *host, struct hmap *homes)
{
    const struct route_device_list *list
        = ovsrcu_get(struct route_device_list *,
                     &ovs_router_db()->device_list);
    const struct encap_wanted *wanted;

    hmap_init(homes);
    HMAP_FOR_EACH (wanted, node, &host->config->wanted) {
        struct encap_home *home = xzalloc(sizeof *home);

        home->ip = wanted->ip;
        hmap_insert(homes, &home->node, hash_ip(&home->ip));
    }
    for (size_t i = 0; i < list->n && !hmap_is_empty(homes); i++) {
        const struct route_device *device = list->devices[i];
        const struct route_addresses *addresses
            = route_device_addresses(device);

        for (size_t j = 0; j < addresses->n; j++) {
            const struct route_address *address = &addresses->addresses[j];
            struct encap_home *home = find_home(homes, &address->address);

            if (home) {
                settle(host, home, device, address);
            }
        }
    }
}

static bool
equal_homes(const struct hmap *a, const struct hmap *b)
{
    const struct encap_home *x;

    HMAP_FOR_EACH (x, node, a) {
        const struct encap_home *y = find_home(b, &x->ip);

        if (!y
            || strcmp(x->dev, y->dev)
            || strcmp(x->other_dev, y->other_dev)
            || x->port != y->port
            || x->up != y->up
            || x->tentative != y->tentative) {
            return false;
        }
    }
    return hmap_count(a) == hmap_count(b);
}

static bool
update_homes(struct encap_host *host)
{
    struct hmap homes;
    bool changed;

    read_homes(host, &homes);
    changed = !equal_homes(&homes, &host->homes);
    hmap_swap(&homes, &host->homes);
    destroy_homes(&homes);
    return changed;
}

struct encap_host *
encap_host_create(const struct encap_config *config)
{
    struct encap_host *host = xzalloc(sizeof *host);

    host->config = config;
    host->bridges = xcalloc(config->n_bridges, sizeof *host->bridges);
    shash_init(&host->ports);
    hmap_init(&host->homes);
    for (size_t i = 0; i < config->n_bridges; i++) {
        struct encap_host_bridge *bridge = &host->bridges[i];

        bridge->config = &config->bridges[i];
        bridge->ports = xcalloc(bridge->config->n_ports,
                                sizeof *bridge->ports);
        for (size_t j = 0; j < bridge->config->n_ports; j++) {
            struct encap_host_port *port = &bridge->ports[j];

            port->config = &bridge->config->ports[j];
            port->bridge = bridge->config;
            port->nic.numa_id = -1;
            shash_add_once(&host->ports, port->config->name, port);
        }
    }
    encap_host_update(host);
    return host;
}

void
encap_host_destroy(struct encap_host *host)
{
    if (host) {
        destroy_homes(&host->homes);
        shash_destroy(&host->ports);
        for (size_t i = 0; i < host->config->n_bridges; i++) {
            free(host->bridges[i].ports);
        }
        free(host->bridges);
        free(host);
    }
}

bool
encap_host_update(struct encap_host *host)
{
    /* Ports first: homes refer to them. */
    bool changed = update_ports(host);

    return update_homes(host) || changed;
}

const struct encap_home *
encap_host_find(const struct encap_host *host, const struct in6_addr *ip)
{
    return find_home(&host->homes, ip);
}
