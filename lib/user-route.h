/* SPDX-License-Identifier: Apache-2.0 */

#ifndef USER_ROUTE_H
#define USER_ROUTE_H 1

/* Routes of users
 * ===============
 *
 * What a user asks for with "ovs/route/add", checked against the devices and
 * their addresses, and kept with a source that its device has.
 *
 * All functions but the last two: the main thread, with the db's mutex. */

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"
#include "openvswitch/thread.h"
#include "route-db.h"

struct route_addresses;
struct route_address;

struct user_route {
    uint32_t table;             /* 1 or more. */
    bool ipv6;
    struct in6_addr dst;        /* As given: may have bits beyond 'plen'. */
    uint8_t plen;               /* Mapped form. */
    char dev[IFNAMSIZ];
    struct in6_addr gateway;    /* in6addr_any: on-link. */
    struct in6_addr src;        /* in6addr_any: to be computed. */
    uint32_t mark;              /* 0: none. */
};

/* Adds 'wanted' to 'db', in the place of a user's route for the same
 * destination, table and mark if there is one.  Without a source the route
 * gets the address of the device whose subnet holds the destination, else the
 * one whose subnet holds the gateway.  Returns NULL or, with 'db' as it was,
 * one sentence that the caller frees. */
char *user_route_add(struct route_db *db, const struct user_route *wanted)
    OVS_REQUIRES(db->mutex) OVS_WARN_UNUSED_RESULT;

/* Removes the user's route for the destination, table and mark of 'wanted'.
 * Returns false if there is none. */
bool user_route_remove(struct route_db *db, const struct user_route *wanted)
    OVS_REQUIRES(db->mutex);

/* Computes the source anew of each user's route whose computed source is not
 * on its device any more.  Where no address fits, the route stays as it is:
 * lookups refuse it until one does. */
void user_route_refresh(struct route_db *db)
    OVS_REQUIRES(db->mutex);

/* As route_db_named_device(), for a port: one that the kernel does not have
 * counts as up with carrier. */
struct route_device *netdev_route_device(struct route_db *db, const char *name)
    OVS_REQUIRES(db->mutex);

/* Stores in '*addresses' what netdev 'dev' has, possibly none, to be freed by
 * the caller.  Returns 0, or a positive errno with '*addresses' untouched.
 * Any thread. */
int netdev_route_addresses(const char *dev,
                           struct route_addresses **addresses);

/* Returns the address whose subnet holds 'addr', of the longest such subnet,
 * or NULL.  Any thread. */
const struct route_address *route_addresses_fit(
    const struct route_addresses *addresses, const struct in6_addr *addr);

#endif /* user-route.h */
