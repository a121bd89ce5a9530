/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_BASE_RULE_H
#define NIC_BASE_RULE_H 1

/* Rules that the base's own offload has on ports of DPDK.
 *
 * A port that is stopped or reset loses its rules (rte_eth_dev_stop() in
 * rte_ethdev.h; mlx5 guide), while the base goes on to use their handles.  So
 * handles are noted when a rule is created, and are good for nothing once they
 * are forgotten.  Any thread. */

#include <stdbool.h>
#include <stdint.h>

struct rte_flow;

/* Notes 'rule' of port 'port_id', unless it is NULL. */
void nic_base_rule_add(uint16_t port_id, const struct rte_flow *rule);

/* True if 'rule' is still there; _remove() forgets it. */
bool nic_base_rule_exists(uint16_t port_id, const struct rte_flow *rule);
bool nic_base_rule_remove(uint16_t port_id, const struct rte_flow *rule);

/* Forgets all rules of 'port_id'. */
void nic_base_rule_remove_all(uint16_t port_id);

#endif /* nic-base-rule.h */
