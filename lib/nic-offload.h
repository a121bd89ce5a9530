/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_OFFLOAD_H
#define NIC_OFFLOAD_H 1

/* Flows of tunnels, and their rules in NICs
 * =========================================
 *
 * Here is each datapath flow that enters or leaves a tunnel while hw-offload
 * is on: with its rules, or with the reason why it has none.  A reason that
 * can pass is tried again.
 *
 * A flow belongs to the offload thread that it came by.  Only that one changes
 * the flow's rules, except that any thread may take away those of a port which
 * goes.  Revalidators only read, and do not wait for a NIC that is busy with a
 * new rule. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nic-ethdev.h"
#include "nic-rule.h"
#include "openvswitch/types.h"

struct dpif_flow_attrs;
struct flow_wildcards;
struct match;
struct netdev;
struct nlattr;
struct sset;

/* Adds the flow 'ufid' of 'netdev', or changes it: to 'match' and 'actions',
 * both copied.  'orig_in_port' is struct offload_info's.
 *
 * Returns true if it is ours, be it in a NIC or not.  Otherwise returns false:
 * it has no rules from here, and is here only for what NICs counted if it was
 * ours before.  Offload threads. */
bool nic_offload_put(struct netdev *netdev, const ovs_u128 *ufid,
                     const struct match *match, const struct nlattr *actions,
                     size_t actions_len, odp_port_t orig_in_port)
    OVS_EXCLUDED(nic_ethdev_rwlock);

/* The base takes the values that a flow matches for its name, so that flows
 * which match these values with other masks would share one rule.  Makes
 * '*ufid' the name of one with 'masks', too.  Any thread. */
void nic_offload_mix_masks(ovs_u128 *ufid, const struct flow_wildcards *masks);

/* A PMD thread has got a copy of the flow 'ufid', which other copies have
 * brought here.  Returns true if what is here was made of other actions, so
 * that it must be put again.  Offload threads. */
bool nic_offload_is_stale(const ovs_u128 *ufid, const struct nlattr *actions,
                          size_t actions_len)
    OVS_EXCLUDED(nic_ethdev_rwlock);

/* Removes flow 'ufid' of any netdev: the datapath has none any more, and its
 * port may be no port by now, or another one.  Offload threads. */
void nic_offload_forget(const ovs_u128 *ufid)
    OVS_EXCLUDED(nic_ethdev_rwlock);

/* Removes the flow.  Returns false if there is none.  Offload threads. */
bool nic_offload_del(const struct netdev *netdev, const ovs_u128 *ufid)
    OVS_EXCLUDED(nic_ethdev_rwlock);

/* If the flow is here, returns true, counts what NICs have done for it, see
 * nic-count.h, and says whether it is in one now ('offloaded'), wholly
 * ('dp_layer' "dpdk") or so that its packets go on to software ("ovs").  Any
 * thread. */
bool nic_offload_get(const struct netdev *netdev, const ovs_u128 *ufid,
                     struct dpif_flow_attrs *)
    OVS_EXCLUDED(nic_ethdev_rwlock);

/* Removes all flows of 'netdev', and all rules on it and to it; the flows that
 * these belong to stay, in software.  Any thread. */
void nic_offload_remove_netdev(const struct netdev *netdev)
    OVS_EXCLUDED(nic_ethdev_rwlock);

/* 'netdev', DPDK's port 'port_id', is going to be stopped or reset, which
 * takes its rules away; it has been started.  May be called with the netdev's
 * own mutex. */
void nic_offload_suspend(const struct netdev *netdev, int port_id)
    OVS_EXCLUDED(nic_ethdev_rwlock);
void nic_offload_resume(const struct netdev *netdev, int port_id)
    OVS_EXCLUDED(nic_ethdev_rwlock);

/* Tries again what can have become possible, for some milliseconds.  Returns
 * true if there is more to do.  Offload threads, when idle. */
bool nic_offload_run(void)
    OVS_EXCLUDED(nic_ethdev_rwlock);

/* The same for offload threads that are busy, ten times a second at most: to
 * be called after each change of a flow, whosever it is, because a thread may
 * not be idle for long. */
void nic_offload_run_now_and_then(void)
    OVS_EXCLUDED(nic_ethdev_rwlock);

/* other_config:encap-offload.  While off, all flows are in software; offload
 * threads see to it, for so many flows a second.  Any thread. */
void nic_offload_set_enabled(bool);
bool nic_offload_is_enabled(void);

/* nic_policer_set(), and flows follow.  Main thread. */
void nic_offload_set_policed(const struct sset *in, const struct sset *out);

/* Calls 'visit' for each flow.  'eswitch' is the id of the one that the flow's
 * packets come from or go to, 0: none.  'why' is NIC_OFFLOADABLE for flows
 * that are in a NIC, else the reason, with its 'detail' or NULL.  A flow of
 * several uplinks can be in one NIC and not in another: then once for each of
 * the two.  Any thread. */
void nic_offload_for_each(void (*visit)(unsigned int eswitch,
                                        enum nic_refusal why,
                                        const char *detail, void *aux),
                          void *aux)
    OVS_EXCLUDED(nic_ethdev_rwlock);

#endif /* nic-offload.h */
