/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ROUTE_UPDATE_PRIVATE_H
#define ROUTE_UPDATE_PRIVATE_H 1

/* What the files that apply rtnetlink events share.  The mutex of the db is
 * held over all of it.  Return values as for route_update_apply(). */

#include "route-update.h"

int route_update_link(struct route_db *db, const struct route_event *event,
                      uint32_t epoch)
    OVS_REQUIRES(db->mutex);
int route_update_address(struct route_db *db, const struct route_event *event,
                         uint32_t epoch, bool dumped)
    OVS_REQUIRES(db->mutex);
int route_update_netconf(struct route_db *db, const struct route_event *event,
                         uint32_t epoch)
    OVS_REQUIRES(db->mutex);

/* Remove next-hop object 'id', or 'device', with all of the kernel's that
 * goes with it. */
void route_update_remove_object(struct route_db *db, uint32_t id)
    OVS_REQUIRES(db->mutex);
void route_update_remove_device(struct route_db *db,
                                struct route_device *device)
    OVS_REQUIRES(db->mutex);

/* Removes the IPv4 routes that prefer 'source', which is on no device any
 * more, unless the local table says that it is local nevertheless.  When an
 * address goes, its own route is in that table for one more message. */
void route_update_forget_source(struct route_db *db,
                                const struct in6_addr *source)
    OVS_REQUIRES(db->mutex);

#endif /* route-update-private.h */
