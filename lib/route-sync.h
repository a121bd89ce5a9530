/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ROUTE_SYNC_H
#define ROUTE_SYNC_H 1

/* Keeping a route_db what the kernel has
 * ======================================
 *
 * By reading the kernel's lists, and by applying its messages, which must
 * start to arrive before the lists are read.  For one db and the main thread,
 * with the mutex of the db held.
 *
 * Readers keep the state that they have while lists are read: what is in a
 * list is confirmed or added, and the rest is removed at the end.  A table is
 * read before the first rule for it becomes visible. */

#include <stdbool.h>
#include <stdint.h>

#include "route-db.h"

struct ofpbuf;

/* Reads everything.  Returns 0 or a positive errno, when some of it may be
 * missing, but nothing was removed. */
int route_sync_all(struct route_db *db)
    OVS_REQUIRES(db->mutex);

/* Applies a message that the kernel has sent.  Sets '*devices_changed' to true
 * if it is about links or addresses, else leaves it alone.  Returns 0, or a
 * positive errno if the db is not what the kernel has any more, so that
 * everything must be read. */
int route_sync_message(struct route_db *db, const struct ofpbuf *msg,
                       bool *devices_changed)
    OVS_REQUIRES(db->mutex);

/* Reads the routes of table 'id', unless it is held, and marks it as held:
 * the caller adds a rule for it.  Returns 0 or a positive errno, when routes
 * may be missing. */
int route_sync_table(struct route_db *db, uint32_t id, bool ipv6)
    OVS_REQUIRES(db->mutex);

/* Whether something that was read waits to be verified, and does that.  To be
 * called when all messages that came while it was read have been applied.
 * Returns as route_sync_all(). */
bool route_sync_is_finished(void);
int route_sync_finish(struct route_db *db)
    OVS_REQUIRES(db->mutex);

#endif /* route-sync.h */
