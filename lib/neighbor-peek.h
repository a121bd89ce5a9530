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

/* Returns true and stores the MAC of 'ip' on bridge 'bridge' in '*mac', or
 * returns false and leaves it alone if it is not known or too old. */
bool neighbor_peek(const char *bridge, const struct in6_addr *ip,
                   struct eth_addr *mac);

/* True within neighbor_peek(), for the cache. */
bool neighbor_is_peek(void);

#endif /* neighbor-peek.h */
