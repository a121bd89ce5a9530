/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ROUTE_WATCH_H
#define ROUTE_WATCH_H 1

/* Who asked for which destination
 * ===============================
 *
 * Flows must be revalidated when the way out of a tunnel may have changed,
 * and only then.  Each lookup for a tunnel leaves its destination here; a
 * change of the routing state is asked against them.
 *
 * The set only grows, until it holds ROUTE_WATCH_MAX destinations: then it is
 * emptied and reports a change once, which makes every live flow ask (and so
 * be noted) again. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROUTE_WATCH_MAX 65536

/* Empties the set. */
void route_watch_init(void);

/* Notes 'dst'.  Must come before the lookup, so that no change between the
 * two is missed.  Costs one hash lookup if 'dst' is known already.  Any
 * thread. */
void route_watch_add(const struct in6_addr *dst);

/* True if a destination that was noted lies in 'prefix'/'plen' (mapped form;
 * 'ipv6' tells ::/0 from 0.0.0.0/0).  Logarithmic in the number of
 * destinations.  Any thread. */
bool route_watch_covers(bool ipv6, const struct in6_addr *prefix,
                        uint8_t plen);

/* True once after the set was emptied because it was full.  To be asked at
 * each change, after route_watch_covers(): the set may be emptied between
 * the two.  Any thread. */
bool route_watch_overflowed(void);

/* Destinations noted.  Any thread. */
size_t route_watch_count(void);

#endif /* route-watch.h */
