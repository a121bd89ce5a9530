/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_RULE_RANDOM_H
#define NIC_RULE_RANDOM_H 1

/* Random flows for tests of NIC rules, on the host of nic-rule-scene.h. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nic-rule.h"
#include "nic-rule-packet.h"

struct flow;
struct match;
struct ofpbuf;

/* Where a flow's packets come from: a representor, or the wire, as they are
 * before the tunnel is left (rule A) or after (rule B). */
enum nic_random_kind {
    NIC_RANDOM_EGRESS,
    NIC_RANDOM_OUTER,
    NIC_RANDOM_INNER,
    NIC_RANDOM_INNER_VXLAN,
};

uint32_t nic_random_in_port(enum nic_random_kind);
enum nic_tunnel nic_random_tunnel(enum nic_random_kind);
void nic_random_seed_bytes(uint8_t seed[PACKET_SEED_LEN]);

/* Stores the flow that the datapath sees for 'p'.  Returns false if software
 * drops it. */
bool nic_random_extract(enum nic_random_kind, const struct packet *p,
                        struct flow *);

/* Makes '*match' one that 'p' matches, with random wildcards.  Returns false
 * if software drops 'p'. */
bool nic_random_match(enum nic_random_kind, const struct packet *p,
                      struct match *match);

/* Makes '*match' one that no datapath has. */
void nic_random_garbage(enum nic_random_kind, struct match *match);

/* True if 'flow' meets 'match', but for what rules cannot see, by
 * nic-rule-flow.h. */
bool nic_random_hits(const struct match *match, const struct flow *flow);

/* True if 'flow' or its packet is one for which a rule may be stricter. */
bool nic_random_may_miss(const struct flow *flow, const struct packet *p);

/* Appends random actions that change packets of 'flow'. */
void nic_random_put_changes(struct ofpbuf *actions, const struct flow *flow);

/* Makes '*mask' what translation would mask for changes to 'flow': what they
 * need, and often the fields themselves. */
void nic_random_mask_changes(const struct flow *flow, struct flow *mask);

#endif /* nic-rule-random.h */
