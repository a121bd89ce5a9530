/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_DRIVER_H
#define NIC_DRIVER_H 1

/* What is asked of DPDK's driver of a port
 * ========================================
 *
 * Only DPDK's stable API.  Errors are positive errno values.  mlx5 lets any
 * thread ask, also several at once (RTE_ETH_DEV_FLOW_OPS_THREAD_SAFE).
 * Without DPDK all of it fails with EOPNOTSUPP. */

#include <stdbool.h>
#include <stdint.h>

struct nic_rule;
struct rte_flow;

struct nic_driver_info {
    char name[64];              /* "mlx5_pci" */
    bool switchable;            /* Has an eSwitch: */
    uint16_t domain;            /* switch_info.domain_id. */
    bool representor;
};

int nic_driver_get_info(uint16_t port_id, struct nic_driver_info *);
int nic_driver_get_mtu(uint16_t port_id, uint16_t *mtu);

/* Packets and bytes that the program has received and sent. */
int nic_driver_get_traffic(uint16_t port_id, uint64_t *packets,
                           uint64_t *bytes);

/* Creates 'rule' on 'port_id', with output to 'out_port_id', which must be of
 * the same driver and domain: see nic_rule_to_rte().  Refusals are logged, at
 * a limited rate; '*of_action' says if the driver refused an action. */
int nic_driver_create(uint16_t port_id, const struct nic_rule *rule,
                      uint16_t out_port_id, struct rte_flow **,
                      bool *of_action);
int nic_driver_destroy(uint16_t port_id, struct rte_flow *);

/* Stores what the rule has counted since it was created. */
int nic_driver_query(uint16_t port_id, struct rte_flow *, uint64_t *packets,
                     uint64_t *bytes);

#endif /* nic-driver.h */
