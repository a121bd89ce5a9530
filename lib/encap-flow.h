/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENCAP_FLOW_H
#define ENCAP_FLOW_H 1

/* What the flows in the datapaths carry, by local tunnel address
 * ==============================================================
 *
 * A datapath flow sends from an address if it pushes a tunnel header with
 * that source, and receives at an address if it pops the header of packets
 * that it matches with that destination.  Both figures are those of packets
 * as they are on the wire of the underlay, with their outer headers and, if
 * the underlay is tagged, with its VLAN tag.  They are sums over the
 * flows that are there now: they shrink when flows go.
 *
 * Main thread. */

#include <netinet/in.h>
#include <stdint.h>

#include "openvswitch/hmap.h"

struct dpif_flow;

struct encap_flow_sum {
    struct hmap_node node;      /* By 'ip'. */
    struct in6_addr ip;         /* Mapped form. */
    uint64_t n_flows;           /* That send, receive, or both. */
    uint64_t n_offloaded;       /* Of these, in hardware. */
    uint64_t tx_packets, tx_bytes;
    uint64_t rx_packets, rx_bytes;

    /* While adding. */
    uint64_t last_flow;
};

struct encap_flow_sums {
    struct hmap sums;           /* Contains "struct encap_flow_sum"s. */
    uint64_t n_flows;           /* All that were added. */
};

void encap_flow_sums_init(struct encap_flow_sums *);
void encap_flow_sums_destroy(struct encap_flow_sums *);

/* Adds what 'flow' carries.  A flow that pushes several headers sends each
 * of its packets as often. */
void encap_flow_sums_add(struct encap_flow_sums *,
                         const struct dpif_flow *flow);

/* Adds all flows of all userspace datapaths of this process (the kernel's
 * datapath pushes no headers).  Costs a walk over them. */
void encap_flow_sums_collect(struct encap_flow_sums *);

/* The sum of 'ip', or NULL if no flow carries anything for it. */
const struct encap_flow_sum *encap_flow_sums_find(
    const struct encap_flow_sums *, const struct in6_addr *ip);

#endif /* encap-flow.h */
