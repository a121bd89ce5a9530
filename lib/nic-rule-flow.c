/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-rule-flow-private.h"

#include "netlink.h"
#include "odp-util.h"
#include "openvswitch/match.h"
#include "util.h"

enum nic_group
nic_tunnel_group(enum nic_tunnel tunnel)
{
    return tunnel == NIC_TUNNEL_VXLAN ? NIC_GROUP_VXLAN : NIC_GROUP_GENEVE;
}

bool
nic_rule_output(struct nic_rule *rule, const struct nic_flow *flow,
                odp_port_t port_no, enum nic_port_kind kind,
                unsigned int eswitch)
{
    struct nic_port port;

    if (!flow->get_port(port_no, &port, flow->aux)) {
        return nic_rule_refuse(rule, NIC_NO_REPRESENTOR, NULL);
    }
    if (port.kind == NIC_PORT_FOREIGN) {
        return nic_rule_refuse(rule, NIC_FOREIGN_DRIVER, NULL);
    }
    if (port.kind != NIC_PORT_UPLINK && port.kind != NIC_PORT_REPRESENTOR) {
        return nic_rule_refuse(rule, NIC_NO_REPRESENTOR, NULL);
    }
    if (port.eswitch != eswitch) {
        return nic_rule_refuse(rule, NIC_CROSS_NIC, NULL);
    }
    if (port.kind != kind) {
        return nic_rule_refuse(rule, NIC_NO_REPRESENTOR, NULL);
    }
    nic_rule_put(rule, NIC_ACTION_OUTPUT)->port = port_no;
    return true;
}

/* True if 'actions' have 'type', also in clones. */
static bool
has_action(const struct nlattr *actions, size_t actions_len,
           enum ovs_action_attr type)
{
    const struct nlattr *a;
    size_t left;

    NL_ATTR_FOR_EACH (a, left, actions, actions_len) {
        if (nl_attr_type(a) == type
            || (nl_attr_type(a) == OVS_ACTION_ATTR_CLONE
                && has_action(nl_attr_get(a), nl_attr_get_size(a), type))) {
            return true;
        }
    }
    return false;
}

/* An outer header can leave only by a port that the packet's NIC has. */
static void
from_port_without_eswitch(struct nic_rule *rule, const struct nic_port *port)
{
    nic_rule_refuse(rule, (port->kind == NIC_PORT_FOREIGN
                           ? NIC_FOREIGN_DRIVER : NIC_NO_REPRESENTOR), NULL);
}

bool
nic_rule_has_tunnel_action(const struct nlattr *actions, size_t actions_len)
{
    return (has_action(actions, actions_len, OVS_ACTION_ATTR_TUNNEL_PUSH)
            || has_action(actions, actions_len, OVS_ACTION_ATTR_TUNNEL_POP));
}

void
nic_rule_from_flow(const struct nic_flow *flow, struct nic_rule *rule)
{
    odp_port_t in_port = flow->match->flow.in_port.odp_port;
    bool push = has_action(flow->actions, flow->actions_len,
                           OVS_ACTION_ATTR_TUNNEL_PUSH);
    bool pop = has_action(flow->actions, flow->actions_len,
                          OVS_ACTION_ATTR_TUNNEL_POP);
    struct nic_port port;

    nic_rule_init(rule, in_port, NIC_GROUP_ENTRY);
    if (!flow->get_port(in_port, &port, flow->aux)) {
        nic_rule_refuse(rule, NIC_NO_REPRESENTOR, NULL);
    } else if (port.kind == NIC_PORT_TUNNEL) {
        if (push || pop) {
            nic_rule_refuse(rule, NIC_TUNNEL_TO_TUNNEL, NULL);
        } else {
            nic_rule_ingress_inner(rule, flow, &port);
        }
    } else if (!push && !pop) {
        nic_rule_refuse(rule, NIC_NOT_TUNNEL, NULL);
    } else if (push && pop) {
        nic_rule_refuse(rule, NIC_SEVERAL_OUTPUTS, NULL);
    } else if (push && port.kind == NIC_PORT_REPRESENTOR) {
        nic_rule_egress(rule, flow, in_port, &port);
    } else if (pop && port.kind == NIC_PORT_UPLINK) {
        nic_rule_ingress_outer(rule, flow, in_port);
    } else {
        from_port_without_eswitch(rule, &port);
    }
}
