/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_BASE_FLOW_H
#define NIC_BASE_FLOW_H 1

/* Which flows the base's own offload has: it does not say.  Any thread. */

#include <stdbool.h>

#include "openvswitch/types.h"

struct netdev;

/* Says that the base has flow 'ufid' of 'netdev', or has it no more.  The
 * second returns what it was before. */
void nic_base_flow_add(const struct netdev *netdev, const ovs_u128 *ufid);
bool nic_base_flow_remove(const struct netdev *netdev, const ovs_u128 *ufid);

/* Forgets all flows of 'netdev'. */
void nic_base_flow_remove_all(const struct netdev *netdev);

#endif /* nic-base-flow.h */
