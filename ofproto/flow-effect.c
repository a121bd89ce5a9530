/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "flow-effect.h"

#include "coverage.h"
#include "dpif.h"
#include "neighbor-request.h"
#include "ofproto/ofproto-dpif-xlate-cache.h"
#include "packets.h"
#include "util.h"

COVERAGE_DEFINE(tunnel_egress_no_neighbor);

void
flow_effect_add(const struct flow_effect *effect,
                const struct dpif_flow_stats *stats,
                struct xlate_cache *xcache)
{
    if (stats) {
        effect->cause(effect, stats->n_packets);
    }
    if (xcache) {
        xlate_cache_add_entry(xcache, XC_EFFECT)->effect = *effect;
    }
}

static void
confirm(const struct flow_effect *effect, uint64_t n_packets OVS_UNUSED)
{
    neighbor_confirm(effect->bridge, &effect->ip);
}

bool
flow_effect_snoop(const struct flow *flow, struct flow_wildcards *wc,
                  const char *bridge, bool allow_update,
                  struct xlate_cache *xcache)
{
    struct flow_effect effect = { .cause = confirm };
    bool slow = neighbor_snoop(flow, wc, bridge, allow_update, &effect.ip);

    if (ipv6_addr_is_set(&effect.ip)) {
        ovs_strlcpy(effect.bridge, bridge, sizeof effect.bridge);
        flow_effect_add(&effect, NULL, xcache);
    }
    return slow;
}

bool
flow_effect_ask_neighbor(const char *bridge, const char *dev,
                         const struct in6_addr *target,
                         const struct in6_addr *source, bool known,
                         struct xlate_cache *xcache)
{
    const struct neighbor_question question = {
        .bridge = bridge,
        .dev = dev,
        .target = *target,
        .source = *source,
    };

    if (known) {
        return neighbor_confirm_allowed(&question);
    }

    COVERAGE_INC(tunnel_egress_no_neighbor);
    if (xcache) {
        struct xc_entry *entry = xlate_cache_add_entry(xcache, XC_NEIGHBOR);

        ovs_strlcpy(entry->tnl_neigh_cache.br_name, dev,
                    sizeof entry->tnl_neigh_cache.br_name);
        entry->tnl_neigh_cache.d_ipv6 = *target;
    }
    return neighbor_request_allowed(&question);
}

/* XC_NEIGHBOR has the name of the device, the base's XC_TNL_NEIGH that of the
 * bridge. */
static bool
asks_again(const struct xc_entry *entry)
{
    const char *name = entry->tnl_neigh_cache.br_name;
    const struct in6_addr *ip = &entry->tnl_neigh_cache.d_ipv6;

    return (entry->type == XC_NEIGHBOR ? neighbor_request_due(name, ip)
            : entry->type == XC_TNL_NEIGH ? neighbor_confirm_due(name, ip)
            : false);
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
        if (asks_again(entry)) {
            return true;
        }
    }
    return false;
}
