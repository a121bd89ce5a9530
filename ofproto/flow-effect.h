/* SPDX-License-Identifier: Apache-2.0 */

#ifndef FLOW_EFFECT_H
#define FLOW_EFFECT_H 1

/* What the packets of a datapath flow bring about besides
 * =======================================================
 *
 * Translation sees the first packet of a flow; of the others only their number
 * comes back, to the flow's xlate_cache.  Here is what we leave there.
 *
 * Any thread. */

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct dpif_flow_stats;
struct flow;
struct flow_wildcards;
struct xlate_cache;

/* What 'n_packets' packets bring about. */
struct flow_effect {
    void (*cause)(const struct flow_effect *, uint64_t n_packets);
    char bridge[IFNAMSIZ];      /* For 'cause'... */
    struct in6_addr ip;         /* ...as it likes. */
};

/* Causes 'effect' for the packets in 'stats', now, and for those of the flow
 * that 'xcache' belongs to, later.  Either may be NULL. */
void flow_effect_add(const struct flow_effect *effect,
                     const struct dpif_flow_stats *stats,
                     struct xlate_cache *xcache);

/* neighbor_snoop() for 'flow', which came to 'bridge', and neighbor_confirm()
 * for later packets of the flow that 'xcache' (or NULL) belongs to. */
bool flow_effect_snoop(const struct flow *flow, struct flow_wildcards *wc,
                       const char *bridge, bool allow_update,
                       struct xlate_cache *xcache);

/* Packets with outer source 'source' that leave by port 'dev' of 'bridge' need
 * the MAC of neighbor 'target'; 'known': which is known.  Returns true if a
 * request must be sent now, which then counts as sent (see
 * neighbor_request_allowed() and neighbor_confirm_allowed()).  If the MAC is
 * not known, the flow that 'xcache' belongs to, if that is not NULL, is from
 * now on one that waits.  Coverage counter then: tunnel_egress_no_neighbor, a
 * translation each. */
bool flow_effect_ask_neighbor(const char *bridge, const char *dev,
                              const struct in6_addr *target,
                              const struct in6_addr *source, bool known,
                              struct xlate_cache *xcache);

/* True if the flow that 'xcache' (or NULL) belongs to, and that had packets
 * just now, waits for or uses a neighbor who must be asked again: it must be
 * translated, even when there is no time for others, so that not one after
 * another of them is given up.  Nothing else would ask as long as the flow is
 * in use. */
bool flow_effect_asks_again(const struct xlate_cache *xcache);

#endif /* flow-effect.h */
