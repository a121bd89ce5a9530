/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_RULE_FLOW_H
#define NIC_RULE_FLOW_H 1

/* From a datapath flow to the rule that does the same in a NIC
 * ============================================================
 *
 * A flow that enters a tunnel becomes one rule on the representor that its
 * packets come from: match, rewrites, the outer header, the uplink of the
 * same eSwitch.
 *
 * A packet that leaves a tunnel meets two flows in software, and two rules
 * here.  A, from the flow that has tnl_pop, on the uplink: the outer match,
 * jump to the group of that type of tunnel.  B, from the flow of the tunnel
 * port, in that group of the same uplink: outer addresses and port, VNI,
 * option and inner match, removal of the outer header, rewrites, a
 * representor.  What meets A and no B reaches software unchanged.
 *
 * A rule matches nothing that its flow does not match; where the NIC has no
 * such match, it matches less or there is none.  With these exceptions, all
 * of what a NIC of mlx5 cannot see:
 *
 * - whether the outer UDP checksum is 0 and whether the outer IPv4 header has
 *   DF set.  Every flow of a tunnel port matches them (tnl_wc_init()), but as
 *   OpenFlow has no field for them no flow depends on them.
 * - VXLAN flags and reserved bytes, Geneve version, and whether the outer
 *   checksums are right.
 *   Software drops what is wrong there.
 * - whether the outer IPv4 header has options, with which software drops the
 *   packet: mlx5 matches the header's length only where firmware can.
 * - whether the lengths in IP headers, outer and inner, fit the packet.  In
 *   software a header with a length that is too large has no fields but the
 *   EtherType, and what is behind a length that is too small does not count,
 *   be it the ports.  To a rule the packet is the one with right lengths.
 *
 * Pure functions of their arguments, any thread, no allocation. */

#include <stdbool.h>
#include <stddef.h>

#include "nic-rule.h"

struct match;
struct nlattr;

/* UDP source ports that rules put into outer headers are 0xc000 (RFC 7348,
 * section 5) and the following ones, so many, chosen by a hash of the rule's
 * match.  mlx5 replaces them by a hash of each packet, unless that is switched
 * off.  Every distinct header takes one of the NIC's encap contexts, so that
 * a port of its own for every flow would use these up. */
#define NIC_SOURCE_PORT_MIN 0xc000
#define NIC_SOURCE_PORTS 16

enum nic_port_kind {
    NIC_PORT_OTHER,             /* Not one of the following. */
    NIC_PORT_FOREIGN,           /* A NIC with a driver that we do not know. */
    NIC_PORT_UPLINK,
    NIC_PORT_REPRESENTOR,
    NIC_PORT_TUNNEL,
};

struct nic_port {
    enum nic_port_kind kind;
    unsigned int eswitch;       /* Of uplinks and representors: equal exactly
                                 * if driver and switch_info.domain_id are;
                                 * never 0. */
    enum nic_tunnel tunnel;     /* Of tunnels; NIC_TUNNEL_NONE: another type,
                                 * or with extensions (GBP, GPE). */
};

/* What a datapath flow and its ports are.  'match' and 'actions' are as
 * dpif-netdev gives them to netdev_flow_put(), 'in_port' is
 * match->flow.in_port.odp_port and 'orig_in_port' is offload_info's: for flows
 * of tunnel ports, the port where the outer packet came in.
 *
 * 'get_port' stores facts about 'port' and returns true, or returns false if
 * there is no such port. */
struct nic_flow {
    const struct match *match;
    const struct nlattr *actions;
    size_t actions_len;
    odp_port_t orig_in_port;
    bool (*get_port)(odp_port_t port, struct nic_port *, const void *aux);
    const void *aux;
};

/* Fills in '*rule' wholly, as a rule or as the reason why there is none.
 * NIC_NOT_TUNNEL means that the base's own offload may try. */
void nic_rule_from_flow(const struct nic_flow *flow, struct nic_rule *rule);

/* Makes the UDP source port of the header that 'rule', one with
 * NIC_ACTION_ENCAP, puts before packets the one of this 'number', less than
 * NIC_SOURCE_PORTS. */
void nic_rule_set_source_port(struct nic_rule *rule, unsigned int number);

/* True if a tunnel is entered or left by 'actions' (a flow of a tunnel port
 * has left one before). */
bool nic_rule_has_tunnel_action(const struct nlattr *actions,
                                size_t actions_len);

/* The group where rule B of a type of tunnel lives. */
enum nic_group nic_tunnel_group(enum nic_tunnel);

#endif /* nic-rule-flow.h */
