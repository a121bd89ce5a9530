/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "netdev-dummy-address.h"

#include <stdlib.h>
#include <string.h>

#include "netdev-provider.h"
#include "openvswitch/list.h"
#include "ovs-router.h"
#include "ovs-thread.h"
#include "packets.h"
#include "util.h"

/* An address of a port.  The reference keeps a removed port from being taken
 * for another at the same place in memory. */
struct dummy_address {
    struct ovs_list node;       /* In 'addresses'. */
    struct netdev *netdev;
    struct in6_addr ip;
    uint8_t plen;               /* Mapped form. */
};

/* Never held while calling out. */
static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static struct ovs_list addresses OVS_GUARDED_BY(mutex)
    = OVS_LIST_INITIALIZER(&addresses);

static struct dummy_address *
find_address(const struct netdev *netdev, const struct in6_addr *ip)
    OVS_REQUIRES(mutex)
{
    struct dummy_address *address;

    LIST_FOR_EACH (address, node, &addresses) {
        if (address->netdev == netdev
            && ipv6_addr_equals(&address->ip, ip)) {
            return address;
        }
    }
    return NULL;
}

static void
add_address(struct netdev *netdev, const struct in6_addr *ip, uint8_t plen)
{
    const char *name = netdev_get_name(netdev);
    struct dummy_address *address;
    struct netdev *unused = NULL;
    uint8_t old_plen = plen;

    /* The base asks with locks held that taking a reference needs, too. */
    netdev_ref(netdev);

    ovs_mutex_lock(&mutex);
    address = find_address(netdev, ip);
    if (address) {
        old_plen = address->plen;
        unused = netdev;
    } else {
        address = xmalloc(sizeof *address);
        address->netdev = netdev;
        address->ip = *ip;
        ovs_list_push_back(&addresses, &address->node);
    }
    address->plen = plen;
    ovs_mutex_unlock(&mutex);
    netdev_close(unused);

    if (old_plen != plen) {
        ovs_router_remove_port_address(name, ip, old_plen);
    }
    netdev_change_seq_changed(netdev);
    ovs_router_add_port_address(name, ip, plen);
}

void
netdev_dummy_address_add_ipv4(struct netdev *netdev, ovs_be32 ip,
                              ovs_be32 mask)
{
    struct in6_addr ip6 = in6_addr_mapped_ipv4(ip);

    add_address(netdev, &ip6,
                ip_is_cidr(mask) ? 96 + ip_count_cidr_bits(mask) : 128);
}

void
netdev_dummy_address_add_ipv6(struct netdev *netdev, const struct in6_addr *ip,
                              const struct in6_addr *mask)
{
    add_address(netdev, ip,
                ipv6_is_cidr(mask) ? ipv6_count_cidr_bits(mask) : 128);
}

bool
netdev_dummy_address_list(const struct netdev *netdev, struct in6_addr **addrs,
                          struct in6_addr **masks, int *n)
{
    const struct dummy_address *address;
    size_t n_found = 0;

    ovs_mutex_lock(&mutex);
    LIST_FOR_EACH (address, node, &addresses) {
        n_found += address->netdev == netdev;
    }
    if (n_found && addrs) {
        *addrs = xmalloc(n_found * sizeof **addrs);
        *masks = xmalloc(n_found * sizeof **masks);
        *n = 0;
        LIST_FOR_EACH (address, node, &addresses) {
            if (address->netdev == netdev) {
                (*addrs)[*n] = address->ip;
                (*masks)[*n] = ipv6_create_mask(address->plen);
                ++*n;
            }
        }
    }
    ovs_mutex_unlock(&mutex);
    return n_found > 0;
}

bool
netdev_dummy_address_has_ipv4(const struct netdev *netdev, ovs_be32 ip)
{
    struct in6_addr ip6 = in6_addr_mapped_ipv4(ip);
    bool has;

    ovs_mutex_lock(&mutex);
    has = find_address(netdev, &ip6) != NULL;
    ovs_mutex_unlock(&mutex);
    return has;
}

/* True if users cannot reach 'netdev' by its name any more. */
static bool
is_removed(const struct netdev *netdev)
{
    struct netdev *current = netdev_from_name(netdev_get_name(netdev));

    netdev_close(current);
    return current != netdev;
}

/* Reads the list without its mutex: only this thread changes it. */
void
netdev_dummy_address_run(void)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct dummy_address *address;

    LIST_FOR_EACH_SAFE (address, node, &addresses) {
        if (is_removed(address->netdev)) {
            ovs_mutex_lock(&mutex);
            ovs_list_remove(&address->node);
            ovs_mutex_unlock(&mutex);

            ovs_router_remove_port_address(netdev_get_name(address->netdev),
                                           &address->ip, address->plen);
            netdev_close(address->netdev);
            free(address);
        }
    }
}
