/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ROUTE_UPDATE_CHECK_H
#define ROUTE_UPDATE_CHECK_H 1

struct route_db;

/* What must hold in a route_db whatever events it was given, counted anew from
 * end to end: returns NULL, or a constant sentence that says what does not.
 * Takes the mutex of 'db'. */
const char *route_update_check(struct route_db *db);

#endif /* route-update-check.h */
