/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_TALLY_H
#define NIC_TALLY_H 1

/* How many flows have their rules on each netdev, by offload thread.  Any
 * thread. */

#include <stdint.h>

struct netdev;

/* Adds 'n', which may be negative, to the flows of offload thread 'thread' on
 * 'netdev'. */
void nic_tally_add(const struct netdev *netdev, unsigned int thread, int n);

/* Adds the flows on 'netdev' to 'n_flows', which has an element for each
 * offload thread. */
void nic_tally_get(const struct netdev *netdev, uint64_t n_flows[]);

/* Forgets 'netdev', which has no flows. */
void nic_tally_remove(const struct netdev *netdev);

#endif /* nic-tally.h */
