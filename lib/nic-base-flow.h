/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_BASE_FLOW_H
#define NIC_BASE_FLOW_H 1

/* Which flows the base's own offload has, what of, and what it told of their
 * packets: it does not say, or not always.  Any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "openvswitch/types.h"

struct dpif_flow_stats;
struct netdev;
struct nlattr;

/* Says that the base has flow 'ufid' of 'netdev', with 'actions', or has it no
 * more.  The second returns what it was before. */
void nic_base_flow_add(const struct netdev *netdev, const ovs_u128 *ufid,
                       const struct nlattr *actions, size_t actions_len);
bool nic_base_flow_remove(const struct netdev *netdev, const ovs_u128 *ufid);

/* True if the base has flow 'ufid', of any netdev, with other actions than
 * these. */
bool nic_base_flow_is_stale(const ovs_u128 *ufid, const struct nlattr *actions,
                            size_t actions_len);

/* If the base has the flow, returns true and counts, see nic-count.h, by what
 * '*stats', which it now has for the flow, are above the highest so far: it
 * does not always tell all. */
bool nic_base_flow_count(const struct netdev *netdev, const ovs_u128 *ufid,
                         const struct dpif_flow_stats *stats);

/* Forgets all flows of 'netdev'. */
void nic_base_flow_remove_all(const struct netdev *netdev);

/* Says that the rules of all flows of 'netdev' are gone, which the base is not
 * told; until a flow is added again, the next one is true of it. */
void nic_base_flow_lose_all(const struct netdev *netdev);
bool nic_base_flow_is_lost(const struct netdev *netdev, const ovs_u128 *ufid);

/* Takes these flows away from 'n_flows', which has how many flows of 'netdev'
 * the base takes to be in a NIC, by offload thread. */
void nic_base_flow_subtract_lost(const struct netdev *netdev,
                                 uint64_t n_flows[]);

#endif /* nic-base-flow.h */
