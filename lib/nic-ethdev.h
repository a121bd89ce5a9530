/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_ETHDEV_H
#define NIC_ETHDEV_H 1

/* Ports of DPDK and the rules on them
 * ===================================
 *
 * 'nic_ethdev_rwlock' is read-held by those who ask NICs for something, and
 * write-held by those who take ports away.  Only the locks of single flows,
 * ports and eSwitches are taken inside; in particular none of netdevs, because
 * these come first: a port is reconfigured under its own mutex, and closed
 * under the one of all netdevs. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nic-rule-flow.h"
#include "openvswitch/hmap.h"
#include "openvswitch/list.h"
#include "openvswitch/thread.h"
#include "ovs-thread.h"

struct netdev;
struct nic_context;
struct nic_count;
struct nic_eswitch;
struct nic_traffic;
struct rte_flow;

extern struct ovs_rwlock nic_ethdev_rwlock;

/* Packets to one local address of one type of tunnel, on one uplink.  Rules A
 * ("outer") let them into the group of the tunnel, rules B ("inner") of the
 * same gate find them there. */
struct nic_gate {
    struct hmap_node node;      /* In 'gates' of the uplink. */
    enum nic_group group;
    struct in6_addr dst;        /* As in 'struct nic_headers'. */
    size_t n_outer, n_inner;    /* Rules. */
    bool tagged;                /* The latest rule A matches a tag.  Rules B
                                 * do not look, so nothing else tells. */
    uint64_t outer_packets;     /* That rules A have seen. */
    uint64_t inner_packets, inner_bytes;        /* That rules B have done,
                                                 * with outer headers. */
};

struct nic_ethdev {
    struct hmap_node node;      /* By 'netdev'. */

    /* Constant. */
    const struct netdev *netdev;
    char *name;
    uint16_t port_id;
    struct nic_port facts;      /* NIC_PORT_UPLINK, _REPRESENTOR or
                                 * _FOREIGN. */
    struct nic_eswitch *eswitch;        /* NULL: none, or _FOREIGN. */

    bool gone;                  /* The driver has no rules any more. */

    struct ovs_mutex mutex;
    struct ovs_list stuck OVS_GUARDED;  /* Contains "struct stuck_rule"s. */
    odp_port_t odp_port OVS_GUARDED;    /* ODPP_NONE: not known yet. */
    struct hmap gates OVS_GUARDED;      /* Contains "struct nic_gate"s. */
};

/* A rule that a NIC has accepted. */
struct nic_handle {
    struct nic_ethdev *ethdev;  /* That it was created on. */
    struct nic_ethdev *target;  /* Of its output, NULL: it has none. */
    struct rte_flow *flow;
    struct nic_context *context;
    struct nic_gate *gate;      /* Rules A and B. */
    bool option;                /* It matches one. */
    bool outer;                 /* Rule A. */
    size_t header_len;          /* Of rule B: outer headers without tag; 0 of
                                 * others. */
    uint64_t packets, bytes;    /* Seen by it, so far ... */
    uint64_t header_bytes;      /* ... and what of that software would not
                                 * count. */
    uint64_t last_packets, last_bytes;  /* Its counters when last read. */
    struct nic_count *count;    /* Of its flow. */
    uint64_t told_packets, told_bytes;  /* To that. */
};

/* DPDK's port 'port_id' is to be reset, after which the driver has no rules
 * any more (rte_ethdev.h); it may crash when asked about one.  Returns when
 * nobody asks.  To be called before anybody else is told: if the base was
 * through with the reset by then, the port would be without rules for ever. */
void nic_ethdev_lose_rules(uint16_t port_id)
    OVS_EXCLUDED(nic_ethdev_rwlock);

/* Lets 'netdev', DPDK's Ethernet port 'port_id', have rules; or no more: the
 * caller has removed those on it and to it. */
void nic_ethdev_add(const struct netdev *netdev, int port_id)
    OVS_REQ_WRLOCK(nic_ethdev_rwlock);
void nic_ethdev_remove(struct nic_ethdev *)
    OVS_REQ_WRLOCK(nic_ethdev_rwlock);

/* The one of 'netdev', or NULL. */
struct nic_ethdev *nic_ethdev_find(const struct netdev *netdev)
    OVS_REQ_RDLOCK(nic_ethdev_rwlock);

/* All: the following one, or the first one for NULL. */
struct nic_ethdev *nic_ethdev_next(const struct nic_ethdev *)
    OVS_REQ_RDLOCK(nic_ethdev_rwlock);

/* Tells that 'ethdev' is 'odp_port' of the datapath. */
void nic_ethdev_set_port(struct nic_ethdev *ethdev, odp_port_t odp_port)
    OVS_REQ_RDLOCK(nic_ethdev_rwlock);

/* Stores up to 'max' datapath ports of uplinks that have a rule A for 'dst' in
 * 'group'.  Returns how many. */
size_t nic_ethdev_find_gates(enum nic_group group, const struct in6_addr *dst,
                             odp_port_t ports[], size_t max)
    OVS_REQ_RDLOCK(nic_ethdev_rwlock);

/* True if 'handle' is a rule A for which there are no rules B, so that its
 * packets go on to software. */
bool nic_ethdev_is_unused(const struct nic_handle *handle)
    OVS_REQ_RDLOCK(nic_ethdev_rwlock);

/* Asks the NIC for 'rule' of the flow of 'count' on 'ethdev', output to
 * 'target' or NULL.  If it agrees, returns NIC_OFFLOADABLE and fills in
 * '*handle', which refers to 'count'.  Otherwise returns the reason; what the
 * NIC itself says is in the log.  '*news' becomes true if what other flows
 * should have in NICs is different now. */
enum nic_refusal nic_ethdev_create(struct nic_ethdev *ethdev,
                                   struct nic_ethdev *target,
                                   const struct nic_rule *rule,
                                   struct nic_count *count,
                                   struct nic_handle *handle, bool *news)
    OVS_REQ_RDLOCK(nic_ethdev_rwlock);

/* True if packets that 'rule' puts a header before can be longer than the MTU
 * of 'target'. */
bool nic_ethdev_exceeds_mtu(const struct nic_ethdev *ethdev,
                            const struct nic_ethdev *target,
                            const struct nic_rule *rule)
    OVS_REQ_RDLOCK(nic_ethdev_rwlock);

/* Removes a rule, and counts what the NIC tells last.  If the NIC does not
 * remove it, it stays accounted for, as one of nobody, and what it counts is
 * its flow's as before. */
void nic_ethdev_destroy(struct nic_handle *, bool *news)
    OVS_REQ_RDLOCK(nic_ethdev_rwlock);

/* To be called often, by any thread that may wait for NICs: removes rules of
 * nobody, each tried once a second at most.  '*news' as above. */
void nic_ethdev_run(bool *news)
    OVS_REQ_RDLOCK(nic_ethdev_rwlock);

/* Adds what the NIC has counted for 'handle' since the last time to the count
 * of its flow; a NIC's counters may be a second old. */
void nic_ethdev_count(struct nic_handle *)
    OVS_REQ_RDLOCK(nic_ethdev_rwlock);

/* Adds what 'ethdev' has received for software and sent for it. */
void nic_ethdev_add_software(const struct nic_ethdev *ethdev,
                             struct nic_traffic *)
    OVS_REQ_RDLOCK(nic_ethdev_rwlock);

#endif /* nic-ethdev.h */
