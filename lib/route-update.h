/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ROUTE_UPDATE_H
#define ROUTE_UPDATE_H 1

/* What one rtnetlink event does to the routing state
 * ==================================================
 *
 * The kernel does not announce all that it does.  When a link goes down or an
 * address, a next-hop object or a device goes away, it drops or changes
 * routes without a message; these rules (net/ipv4/fib_semantics.c,
 * net/ipv6/route.c, net/ipv4/nexthop.c) are applied here, so that the state
 * stays the kernel's without asking it again.
 *
 * Events may be repeated or arrive again after a dump that already contained
 * them: applying one twice is harmless. */

#include <stdbool.h>
#include <stdint.h>

#include "route-db.h"
#include "route-netlink.h"

/* Applies 'event' to 'db', whose kernel part it may change (owner
 * ROUTE_KERNEL).  Routes for tables that are not held are ignored.  'epoch'
 * marks what is added or confirmed.  'dumped' tells an entry of a list, which
 * comes in the kernel's order and is how things are now, from a change.
 *
 * Returns 0; EAGAIN, with nothing changed, if the event names a device that
 * is not known: then the caller asks for that device and tries again; or
 * ESTALE, with the event applied, if it has made the kernel use next hops
 * again that are not known here: then the caller dumps anew. */
int route_update_apply(struct route_db *db, const struct route_event *event,
                       uint32_t epoch, bool dumped)
    OVS_REQUIRES(db->mutex);

/* Removes what is older than 'epoch', because the dump of that epoch did not
 * confirm it: the kernel's routes of 'fib', or with 'fib' NULL everything of
 * the kernel.  An epoch is older than the 2^31 that follow it. */
void route_update_sweep(struct route_db *db, struct route_fib *fib,
                        uint32_t epoch)
    OVS_REQUIRES(db->mutex);

/* The same for the kernel's rules of one family alone. */
void route_update_sweep_rules(struct route_db *db, bool ipv6, uint32_t epoch)
    OVS_REQUIRES(db->mutex);

#endif /* route-update.h */
