/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ROUTE_DB_PRIVATE_H
#define ROUTE_DB_PRIVATE_H 1

/* What the files that make up route_db share.  The mutex is held over all of
 * it. */

#include "route-db.h"

/* 'nexthops' become, or cease to be, part of an installed route or object:
 * counts the users of their devices.  A device that only user routes named is
 * gone with its last user, so readers must have lost sight of 'nexthops'
 * before route_db_unuse(). */
void route_db_use(struct route_db *db, const struct route_nexthop *nexthops,
                  size_t n)
    OVS_REQUIRES(db->mutex);
void route_db_unuse(struct route_db *db, const struct route_nexthop *nexthops,
                    size_t n)
    OVS_REQUIRES(db->mutex);

/* Calls 'changed' for one prefix, or for all of a family. */
void route_db_changed(struct route_db *db, bool ipv6,
                      const struct in6_addr *dst, uint8_t plen)
    OVS_REQUIRES(db->mutex);
void route_db_changed_all(struct route_db *db, bool ipv6)
    OVS_REQUIRES(db->mutex);

/* Calls 'changed' for what the routes by 'device' answer, because its link has
 * changed. */
void route_db_link_changed(struct route_db *db, const struct route_device *)
    OVS_REQUIRES(db->mutex);

/* Makes every route that names 'from' name 'to' instead. */
void route_db_move_routes(struct route_db *db, const struct route_device *from,
                          struct route_device *to)
    OVS_REQUIRES(db->mutex);

/* For route_db_destroy(): free all at once. */
void route_db_destroy_devices(struct route_db *db)
    OVS_REQUIRES(db->mutex);
void route_db_destroy_objects(struct route_db *db)
    OVS_REQUIRES(db->mutex);

#endif /* route-db-private.h */
