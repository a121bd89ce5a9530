/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NETDEV_DUMMY_ADDRESS_H
#define NETDEV_DUMMY_ADDRESS_H 1

/* Addresses of dummy ports
 * ========================
 *
 * A dummy port may have several addresses of each family.  Each comes with a
 * local and a connected route (ovs-router.h), as the kernel makes them for its
 * devices.  When the port is removed they go, too. */

#include <netinet/in.h>
#include <stdbool.h>

#include "openvswitch/types.h"

struct netdev;

/* Gives dummy port 'netdev' one more address.  A port may be given an address
 * again, with the same subnet or with another, which then counts.  Of masks
 * only those of a prefix are known: others count as that of a host.  Main
 * thread. */
void netdev_dummy_address_add_ipv4(struct netdev *netdev, ovs_be32 ip,
                                   ovs_be32 mask);
void netdev_dummy_address_add_ipv6(struct netdev *netdev,
                                   const struct in6_addr *ip,
                                   const struct in6_addr *mask);

/* As netdev_get_addr_list(): the addresses of 'netdev' in the order of their
 * coming.  'addrs' may be NULL.  Returns false, with nothing stored, if there
 * are none.  Any thread. */
bool netdev_dummy_address_list(const struct netdev *netdev,
                               struct in6_addr **addrs,
                               struct in6_addr **masks, int *n);

/* True if 'ip' is an address of 'netdev'.  Any thread. */
bool netdev_dummy_address_has_ipv4(const struct netdev *netdev, ovs_be32 ip);

/* Takes the addresses of ports that are not there any more out of the router.
 * Main thread. */
void netdev_dummy_address_run(void);

#endif /* netdev-dummy-address.h */
