/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_RULE_FLOW_PRIVATE_H
#define NIC_RULE_FLOW_PRIVATE_H 1

/* Parts of nic-rule-flow.h.  Each returns false once 'rule' is a refusal. */

#include <string.h>

#include "nic-rule-flow.h"

struct flow;

static inline bool
nic_rule_refuse_field(struct nic_rule *rule, const char *field)
{
    return nic_rule_refuse(rule, NIC_UNSUPPORTED_MATCH, field);
}

/* An IPv4 address or mask in 'struct nic_headers'. */
static inline struct in6_addr
nic_ipv4(ovs_be32 ip)
{
    struct in6_addr addr;

    memset(&addr, 0, sizeof addr);
    memcpy(&addr.s6_addr[12], &ip, sizeof ip);
    return addr;
}

/* nic-rule-match.c: matches the packet's own headers, those of 'flow' that
 * are in the packet after its tunnel header, as 'level'.  Clears what it
 * matches in 'left', a copy of the flow's wildcards. */
bool nic_rule_match_headers(struct nic_rule *, const struct flow *,
                            struct flow *left, struct nic_level *level);

/* Clears in 'left' what every packet has when it comes out of a port or a
 * tunnel: no recirculation, no connection, no mark.  Refuses if 'flow' wants
 * anything else. */
bool nic_rule_match_metadata(struct nic_rule *, const struct flow *,
                             struct flow *left);

/* Clears in 'left' the fields of tunnels, for packets that did not come out of
 * one and so have none, unless 'flow' wants some that is not zero. */
void nic_rule_match_no_tunnel(const struct flow *, struct flow *left);

/* Refuses, with the name of a field, unless 'left' is all zeros.  Comes after
 * all other match functions. */
bool nic_rule_match_rest(struct nic_rule *, const struct flow *,
                         const struct flow *left);

/* nic-rule-rewrite.c: adds the action 'a', a change of 'level', or refuses it
 * if it is anything else.  Packets are without their outer header by then. */
bool nic_rule_rewrite(struct nic_rule *, const struct nic_level *,
                      const struct nlattr *a);

/* Refuses as an unsupported action; with a reason of its own for connection
 * tracking, recirculation and tunnels. */
bool nic_rule_refuse_action(struct nic_rule *, const struct nlattr *a);

/* nic-rule-flow.c: output to 'port', which must be of 'kind' and on
 * 'eswitch'. */
bool nic_rule_output(struct nic_rule *, const struct nic_flow *,
                     odp_port_t port, enum nic_port_kind kind,
                     unsigned int eswitch);

/* nic-rule-egress.c: the rule on representor 'in_port', which is 'port'. */
void nic_rule_egress(struct nic_rule *, const struct nic_flow *,
                     odp_port_t in_port, const struct nic_port *port);

/* nic-rule-ingress.c: rule A, on uplink 'in_port'; rule B, of tunnel port
 * 'tunnel'. */
void nic_rule_ingress_outer(struct nic_rule *, const struct nic_flow *,
                            odp_port_t in_port);
void nic_rule_ingress_inner(struct nic_rule *, const struct nic_flow *,
                            const struct nic_port *tunnel);

#endif /* nic-rule-flow-private.h */
