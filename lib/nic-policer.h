/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_POLICER_H
#define NIC_POLICER_H 1

/* Ports whose rate software limits
 * ================================
 *
 * netdev-dpdk drops what exceeds a rate when it receives
 * (Interface:ingress_policing_rate) and when it sends (QoS).  It does not see
 * what a NIC forwards by itself, so that flows of such ports must stay in
 * software.  Here is which ports these are, by the name of their netdev: as it
 * is configured, also while they are not there.
 *
 * Any thread, but for nic_policer_set(). */

#include <stdbool.h>

struct sset;

/* True if ports of DPDK carry out QoS of this 'type'; others they ignore. */
bool nic_policer_is_qos(const char *type);

/* Limited are from now on the ports 'in' when they receive and the ports 'out'
 * when they send, both copied.  Returns true if these are others than before.
 * Main thread. */
bool nic_policer_set(const struct sset *in, const struct sset *out);

/* True if port 'name' is limited when it receives; when it sends. */
bool nic_policer_limits_in(const char *name);
bool nic_policer_limits_out(const char *name);

#endif /* nic-policer.h */
