/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_BASE_RULE_H
#define NIC_BASE_RULE_H 1

/* Rules that the base's own offload has on ports of DPDK
 * ======================================================
 *
 * A port that is stopped or reset loses its rules (rte_eth_dev_stop() in
 * rte_ethdev.h; mlx5 guide), while the base goes on to use their handles,
 * which the driver may have given to other rules by then.  So the base gets
 * handles of ours, which outlive a port's stop.
 *
 * Any thread. */

#include <stdbool.h>
#include <stdint.h>

#include "nic-ethdev.h"

struct rte_flow;
struct rte_flow_action;
struct rte_flow_attr;
struct rte_flow_error;
struct rte_flow_item;

/* As rte_flow_create(), rte_flow_destroy() and rte_flow_query(), for the base
 * alone.  Handles can always be destroyed, with success: the base would never
 * try again what a NIC does not remove, and ends the program when it puts the
 * flow again.  Those of rules that are gone are not queried.  Between
 * nic_base_rule_suspend() and _resume() a port takes no rules: ENODEV.  Nor
 * does it ever take one with 'transfer' whose output is to a port of another
 * driver or, with mlx5, another switch domain: EINVAL. */
struct rte_flow *nic_base_rule_create(uint16_t port_id,
                                      const struct rte_flow_attr *,
                                      const struct rte_flow_item *,
                                      const struct rte_flow_action *,
                                      struct rte_flow_error *)
    OVS_EXCLUDED(nic_ethdev_rwlock);
int nic_base_rule_destroy(uint16_t port_id, struct rte_flow *,
                          struct rte_flow_error *)
    OVS_EXCLUDED(nic_ethdev_rwlock);
int nic_base_rule_query(uint16_t port_id, struct rte_flow *,
                        const struct rte_flow_action *, void *data,
                        struct rte_flow_error *)
    OVS_EXCLUDED(nic_ethdev_rwlock);

/* True if some NIC may give packets 'mark' (RTE_FLOW_ACTION_TYPE_MARK): it has
 * a rule that does, which the base may have destroyed.  The base handles a
 * packet by its mark alone, so another flow must not have it then. */
bool nic_base_rule_has_mark(uint32_t mark)
    OVS_EXCLUDED(nic_ethdev_rwlock);

/* Removes what NICs would not remove before, now and then. */
void nic_base_rule_run(void)
    OVS_REQ_RDLOCK(nic_ethdev_rwlock);

/* 'port_id' is no port any more, nor has it rules. */
void nic_base_rule_forget(uint16_t port_id)
    OVS_REQ_WRLOCK(nic_ethdev_rwlock);

/* The rules of 'port_id' are gone or will be at once. */
void nic_base_rule_suspend(uint16_t port_id)
    OVS_REQ_WRLOCK(nic_ethdev_rwlock);
void nic_base_rule_resume(uint16_t port_id)
    OVS_REQ_WRLOCK(nic_ethdev_rwlock);

#endif /* nic-base-rule.h */
