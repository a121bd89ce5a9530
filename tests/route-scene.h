/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ROUTE_SCENE_H
#define ROUTE_SCENE_H 1

/* Routing states and lookups as text, for tests
 * =============================================
 *
 * One statement a line or between semicolons, in words like those of ip(8).
 * "-" in front takes away what the statement names.
 *
 *     link NAME INDEX [down] [nocarrier] [ignore-linkdown] [group N]
 *     addr DEV IP/PLEN [peer IP/PLEN] [scope N] [secondary] [deprecated]
 *          [tentative] [temporary] [dumped] [epoch N]
 *     nh ID (blackhole | group ID,WEIGHT... | dev DEV [via IP])
 *     route TABLE PREFIX [TYPE] [metric N] [tos N] [mark N] [scope N]
 *           [src IP] [nhid N] [user] [append] [replace]
 *           {dev DEV [via IP] [weight N]}
 *     rule PRIO [-6] [not] [from PREFIX] [to PREFIX] [fwmark N] [tos N]
 *          [dport N] [iif NAME] [oif NAME] [user] [suppress N]
 *          [suppress-group N] (table N | goto N | nop | blackhole |
 *          unreachable | prohibit)
 *
 * Anything else aborts the test. */

#include <stdint.h>

#include "route-lookup.h"

struct route_db;

/* Applies 'statements' to 'db', whose mutex is taken for each.  Devices must
 * have been named by "link" before, unless the route is a "user" one. */
void route_scene_apply(struct route_db *db, const char *statements);

/* Parses "DST [from SRC] [mark N] [tos N] [proto N] [dport N] [hash N]". */
struct route_query route_scene_query(const char *query);

/* Looks 'query' up and returns the answer, e.g. "dev a via 192.0.2.254 src
 * 192.0.2.1 table 101" or "refused no-route".  The caller frees it. */
char *route_scene_ask(const struct route_db *db, const char *query);

/* Parses an address or "IP/PLEN", into the mapped form. */
struct in6_addr route_scene_ip(const char *s, uint8_t *plen);

#endif /* route-scene.h */
