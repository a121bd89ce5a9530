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

#include <stdbool.h>
#include <stdint.h>

struct dpif_flow_stats;
struct in6_addr;
struct xlate_cache;

/* Has 'count' called for the packets in 'stats', now, and for those of the
 * flow that 'xcache' belongs to, later.  Either may be NULL. */
void flow_effect_count(void (*count)(uint64_t n_packets),
                       const struct dpif_flow_stats *stats,
                       struct xlate_cache *xcache);

/* Packets wait for the MAC of neighbor 'target' on device 'dev'.  Returns true
 * if a request must be sent now, which then counts as sent (see
 * neighbor_request_allowed()).  The flow that 'xcache' belongs to, if that is
 * not NULL, is from now on one that waits.  Coverage
 * counter: tunnel_egress_no_neighbor, a translation each. */
bool flow_effect_ask_neighbor(const char *dev, const struct in6_addr *target,
                              struct xlate_cache *xcache);

/* True if the flow that 'xcache' (or NULL) belongs to, and that had packets
 * just now, waits for a neighbor who must be asked again: it must be
 * translated.  Nothing else would ask as long as the flow is in use. */
bool flow_effect_asks_again(const struct xlate_cache *xcache);

#endif /* flow-effect.h */
