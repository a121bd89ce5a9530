/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NEIGHBOR_PEEK_H
#define NEIGHBOR_PEEK_H 1

/* A look at the cache of underlay neighbors that leaves no trace: a lookup by
 * translation keeps an entry from ageing, which one for users must not do.
 *
 * Any thread. */

#include <netinet/in.h>
#include <stdbool.h>

#include "openvswitch/types.h"
#include "ovs-atomic.h"

/* Returns true and stores the MAC of 'ip' on bridge 'bridge' in '*mac', or
 * returns false and leaves it alone if it is not known or too old. */
bool neighbor_peek(const char *bridge, const struct in6_addr *ip,
                   struct eth_addr *mac);

/* Returns the milliseconds since the MAC of 'ip' was last told, be it the same
 * again or a new one, or 0 if it is not known. */
long long int neighbor_peek_unconfirmed(const char *bridge,
                                        const struct in6_addr *ip);

/* The MAC of 'ip', if it is known, was told again just now. */
void neighbor_peek_confirm(const char *bridge, const struct in6_addr *ip);

/* True within the functions above, for the cache.  'confirmed' is the time, as
 * of time_msec(), at which the entry that was found was last told. */
bool neighbor_is_peek(atomic_llong *confirmed);

#endif /* neighbor-peek.h */
