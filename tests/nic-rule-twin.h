/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_RULE_TWIN_H
#define NIC_RULE_TWIN_H 1

/* A naive NIC: what rules match, by looking at bytes. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nic_match;
struct rte_flow_item;

bool nic_twin_hits(const struct nic_match *, const uint8_t *packet, size_t n);

/* The same for items of rte_flow as mlx5 takes them; only if DPDK is there. */
bool nic_twin_hits_items(const struct rte_flow_item *, const uint8_t *packet,
                         size_t n);

#endif /* nic-rule-twin.h */
