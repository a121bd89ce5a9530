/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_OFFLOAD_PRIVATE_H
#define NIC_OFFLOAD_PRIVATE_H 1

/* Parts of nic-offload.h: the flow and its rules. */

#include "cmap.h"
#include "heap.h"
#include "nic-ethdev.h"
#include "nic-rule.h"
#include "openvswitch/list.h"
#include "ovs-thread.h"

struct miniflow;
struct nic_count;

struct nic_offload {
    struct cmap_node node;      /* By 'ufid'. */

    /* In the worker's lists, or if 'waits' in its heap.  Touched only by the
     * worker with 'nic_ethdev_rwlock' read-held, or with that write-held. */
    struct ovs_list list_node;
    struct heap_node heap_node;
    bool waits;

    /* Constant. */
    ovs_u128 ufid;
    const struct netdev *netdev;        /* Of the flow's in_port. */
    const char *dpif_type;
    unsigned int worker;        /* Offload thread. */

    /* The worker's own.  (Not a minimatch: that has no values of fields whose
     * mask is 0, and the length of Geneve options has none.) */
    struct miniflow *flow, *mask;
    struct nlattr *actions;
    size_t actions_len;
    odp_port_t orig_in_port;
    int retry_ms;               /* How long it last waited. */

    /* Held while a NIC thinks. */
    struct ovs_mutex mutex;
    bool dead OVS_GUARDED;
    struct nic_count *count OVS_GUARDED;        /* NULL if 'dead'. */
    struct nic_handle *handles OVS_GUARDED;
    size_t n_handles OVS_GUARDED;

    /* For those who do not wait. */
    struct ovs_mutex last_mutex;        /* Inside 'mutex'. */
    const struct netdev *counted OVS_GUARDED;   /* In nic-tally.h; NULL: it
                                                 * has no rules. */
    unsigned int counted_eswitch OVS_GUARDED;   /* If 'counted'. */
    enum nic_refusal why OVS_GUARDED;   /* It lacks rules, on 'eswitch'. */
    const char *detail OVS_GUARDED;
    bool partial OVS_GUARDED;   /* Packets go on to software. */
    unsigned int eswitch OVS_GUARDED;
};

struct nic_offload_outcome {
    enum nic_refusal why;       /* Why rules are missing; NIC_OFFLOADABLE: none
                                 * is. */
    const char *detail;         /* Constant string, or NULL. */
    unsigned int eswitch;       /* Where they are missing, or of the flow's
                                 * ports; 0: none. */
    bool news;                  /* For other flows. */
};

/* Returns the flow 'ufid' of 'netdev', or of any: there is not more than one,
 * see nic_offload_put(); or NULL.  Callers hold 'nic_ethdev_rwlock' or are the
 * flow's worker. */
struct nic_offload *nic_offload_find(const struct netdev *netdev,
                                     const ovs_u128 *ufid);
struct nic_offload *nic_offload_find_any(const ovs_u128 *ufid);

/* True if what 'why' says can change without news. */
bool nic_offload_can_pass(enum nic_refusal why);

/* Brings NICs in line with 'offload': it has a rule wherever it can, and with
 * 'replace' none of those that it had before. */
void nic_offload_set_rules(struct nic_offload *offload, bool replace,
                           struct nic_offload_outcome *)
    OVS_EXCLUDED(nic_ethdev_rwlock);

/* Removes the rules that are on 'netdev' or to it, or all if that is NULL.
 * '*news' becomes true if there are some for other flows. */
void nic_offload_remove_rules(struct nic_offload *offload,
                              const struct netdev *netdev, bool *news)
    OVS_REQ_RDLOCK(nic_ethdev_rwlock)
    OVS_REQUIRES(offload->mutex);

/* Counts what NICs have done, and sets 'partial' of 'offload' as it is now. */
void nic_offload_refresh(struct nic_offload *offload)
    OVS_REQ_RDLOCK(nic_ethdev_rwlock)
    OVS_REQUIRES(offload->mutex);

/* nic-offload-worker.c: which flows are tried when. */

void nic_offload_workers_init(void);

/* Adds a flow to those of its worker; takes it away. */
void nic_offload_enqueue(struct nic_offload *)
    OVS_REQ_RDLOCK(nic_ethdev_rwlock);
void nic_offload_dequeue(struct nic_offload *)
    OVS_REQ_RDLOCK(nic_ethdev_rwlock);

/* Says that a flow was tried, with this outcome, which decides when it is
 * tried next. */
void nic_offload_settle(struct nic_offload *, enum nic_refusal why,
                        long long int now)
    OVS_REQ_RDLOCK(nic_ethdev_rwlock);

/* Returns a flow of 'worker' to try, for which nic_offload_settle() follows,
 * or NULL if there is none now.  'news' and 'rooms' are new numbers whenever
 * there is something new for all flows, and for some that found a table
 * full. */
struct nic_offload *nic_offload_next(unsigned int worker, long long int now,
                                     uint64_t news, uint64_t rooms)
    OVS_REQ_RDLOCK(nic_ethdev_rwlock);

#endif /* nic-offload-private.h */
