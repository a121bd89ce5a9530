/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "flow-effect.h"

#include "coverage.h"
#include "dpif.h"
#include "neighbor-request.h"
#include "ofproto/ofproto-dpif-xlate-cache.h"
#include "util.h"

COVERAGE_DEFINE(tunnel_egress_no_neighbor);

void
flow_effect_count(void (*count)(uint64_t n_packets),
                  const struct dpif_flow_stats *stats,
                  struct xlate_cache *xcache)
{
    if (stats) {
        count(stats->n_packets);
    }
    if (xcache) {
        xlate_cache_add_entry(xcache, XC_COUNT)->count = count;
    }
}

bool
flow_effect_ask_neighbor(const char *dev, const struct in6_addr *target,
                         struct xlate_cache *xcache)
{
    COVERAGE_INC(tunnel_egress_no_neighbor);
    if (xcache) {
        struct xc_entry *entry = xlate_cache_add_entry(xcache, XC_NEIGHBOR);

        ovs_strlcpy(entry->tnl_neigh_cache.br_name, dev,
                    sizeof entry->tnl_neigh_cache.br_name);
        entry->tnl_neigh_cache.d_ipv6 = *target;
    }
    return neighbor_request_allowed(dev, target);
}

bool
flow_effect_asks_again(const struct xlate_cache *xcache)
{
    struct ofpbuf entries;
    struct xc_entry *entry;

    if (!xcache) {
        return false;
    }
    entries = xcache->entries;
    XC_ENTRY_FOR_EACH (entry, &entries) {
        if (entry->type == XC_NEIGHBOR
            && neighbor_request_due(entry->tnl_neigh_cache.br_name,
                                    &entry->tnl_neigh_cache.d_ipv6)) {
            return true;
        }
    }
    return false;
}
