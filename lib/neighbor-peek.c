/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "neighbor-peek.h"

#include "ovs-thread.h"
#include "tnl-neigh-cache.h"
#include "util.h"

DEFINE_STATIC_PER_THREAD_DATA(bool, peeking, false);

bool
neighbor_peek(const char *bridge, const struct in6_addr *ip,
              struct eth_addr *mac)
{
    int error;

    *peeking_get() = true;
    error = tnl_neigh_lookup(bridge, ip, mac);
    *peeking_get() = false;
    return !error;
}

bool
neighbor_is_peek(void)
{
    return *peeking_get();
}
