/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_RULE_CHECK_H
#define NIC_RULE_CHECK_H 1

#ifdef DPDK_NETDEV

struct rte_flow_action;
struct rte_flow_attr;
struct rte_flow_item;

/* Returns what the mlx5 driver would refuse a transfer rule for, or worse,
 * would take and do wrong; NULL if nothing.  As its guide and its code
 * (mlx5_flow.c, mlx5_flow_dv.c, dv_flow_en=1) have it. */
const char *nic_check_rte(const struct rte_flow_attr *,
                          const struct rte_flow_item *,
                          const struct rte_flow_action *);

#endif /* DPDK_NETDEV */

#endif /* nic-rule-check.h */
