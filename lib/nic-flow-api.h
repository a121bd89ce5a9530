/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_FLOW_API_H
#define NIC_FLOW_API_H 1

/* The flow API of DPDK ports: flows of tunnels are ours (nic-offload.h), all
 * others the base's (netdev_offload_dpdk). */

struct netdev_flow_api;

extern const struct netdev_flow_api nic_flow_api;

#endif /* nic-flow-api.h */
