/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-rule-flow-private.h"

#include <netinet/in.h>
#include <string.h>

#include "hash.h"
#include "netlink.h"
#include "odp-util.h"
#include "openvswitch/match.h"
#include "packets.h"
#include "util.h"

/* The actions of a flow that enters a tunnel, as translation writes them
 * (native_tunnel_output() of the base): changes of the packet, tnl_push with
 * the outer header, what the bridge of the underlay does, output to its port;
 * from tnl_push on perhaps in a clone. */

struct egress {
    struct nic_rule *rule;
    const struct nic_flow *flow;
    unsigned int eswitch;
};

/* Positions in rule->header, from bytes that are checked to be there. */
struct outer {
    size_t l3, l4;
    bool ipv6;
};

static bool
find_outer(const struct nic_rule *rule, struct outer *outer)
{
    const uint8_t *header = rule->header;
    size_t eth_type = 2 * ETH_ADDR_LEN;
    ovs_be16 type;

    if (rule->header_len < NIC_HEADER_MIN) {
        return false;
    }
    memcpy(&type, &header[eth_type], sizeof type);
    if (eth_type_vlan(type)) {
        eth_type += VLAN_HEADER_LEN;
        memcpy(&type, &header[eth_type], sizeof type);
    }
    outer->l3 = eth_type + sizeof type;
    outer->ipv6 = type == htons(ETH_TYPE_IPV6);
    if (!outer->ipv6 && type != htons(ETH_TYPE_IP)) {
        return false;
    }
    outer->l4 = outer->l3 + (outer->ipv6 ? IPV6_HEADER_LEN : IP_HEADER_LEN);
    return (rule->header_len >= outer->l4 + UDP_HEADER_LEN + 8
            && (outer->ipv6
                || header[outer->l3] == IP_IHL_VER(5, IP_VERSION))
            && header[outer->l3 + (outer->ipv6 ? 6 : 9)] == IPPROTO_UDP);
}

static void
put_source_port(struct nic_rule *rule, const struct outer *outer,
                unsigned int number)
{
    ovs_be16 port = htons(NIC_SOURCE_PORT_MIN + number);

    memcpy(&rule->header[outer->l4], &port, sizeof port);
}

void
nic_rule_set_source_port(struct nic_rule *rule, unsigned int number)
{
    struct outer outer;

    if (find_outer(rule, &outer)) {
        put_source_port(rule, &outer, number);
    }
}

static void
clear(struct nic_rule *rule, size_t offset, size_t n)
{
    memset(&rule->header[offset], 0, n);
}

/* The NIC writes the outer lengths and the IPv4 header checksum.  It has no
 * outer UDP checksum; 0 means none, also with IPv6 (RFC 6935), but the header
 * of tnl_push has 0xffff there where software shall compute it. */
static bool
finish_header(struct nic_rule *rule)
{
    uint32_t hash = hash_bytes(&rule->match, sizeof rule->match, 0);
    struct outer outer;

    if (!find_outer(rule, &outer)) {
        return nic_rule_refuse(rule, NIC_UNSUPPORTED_ACTION, "tnl_push");
    }
    if (outer.ipv6) {
        clear(rule, outer.l3 + 4, 2);       /* Payload length. */
    } else {
        clear(rule, outer.l3 + 2, 2);       /* Total length. */
        clear(rule, outer.l3 + 10, 2);      /* Checksum. */
    }
    clear(rule, outer.l4 + 4, 4);           /* Length, checksum. */
    put_source_port(rule, &outer, hash % NIC_SOURCE_PORTS);
    return true;
}

static bool
push_tunnel(const struct egress *egress, const struct nlattr *a)
{
    const struct ovs_action_push_tnl *push = nl_attr_get(a);
    struct nic_rule *rule = egress->rule;

    if (nic_rule_find(rule, NIC_ACTION_ENCAP)) {
        return nic_rule_refuse(rule, NIC_TUNNEL_TO_TUNNEL, NULL);
    }
    if (push->tnl_type != OVS_VPORT_TYPE_GENEVE
        && push->tnl_type != OVS_VPORT_TYPE_VXLAN) {
        return nic_rule_refuse(rule, NIC_UNSUPPORTED_ACTION, "tnl_push");
    }
    /* The NIC is told of 16-bit words. */
    if (push->header_len > NIC_HEADER_MAX || push->header_len % 2) {
        return nic_rule_refuse(rule, NIC_HEADER_TOO_LONG, NULL);
    }
    nic_rule_put(rule, NIC_ACTION_ENCAP);
    memcpy(rule->header, push->header, push->header_len);
    rule->header_len = push->header_len;
    return finish_header(rule);
}

/* The underlay's tag becomes part of the header. */
static bool
push_outer_vlan(struct nic_rule *rule, const struct nlattr *a)
{
    const struct ovs_action_push_vlan *vlan = nl_attr_get(a);
    size_t macs = 2 * ETH_ADDR_LEN;
    ovs_be16 tci = vlan->vlan_tci & htons(~VLAN_CFI);
    ovs_be16 type;

    memcpy(&type, &rule->header[macs], sizeof type);
    if (eth_type_vlan(type) || !eth_type_vlan(vlan->vlan_tpid)) {
        return nic_rule_refuse(rule, NIC_UNSUPPORTED_ACTION, "push_vlan");
    }
    if (rule->header_len + VLAN_HEADER_LEN > NIC_HEADER_MAX) {
        return nic_rule_refuse(rule, NIC_HEADER_TOO_LONG, NULL);
    }
    memmove(&rule->header[macs + VLAN_HEADER_LEN], &rule->header[macs],
            rule->header_len - macs);
    memcpy(&rule->header[macs], &vlan->vlan_tpid, sizeof vlan->vlan_tpid);
    memcpy(&rule->header[macs + 2], &tci, sizeof tci);
    rule->header_len += VLAN_HEADER_LEN;
    return true;
}

/* After tnl_push. */
static bool
change_outer(const struct egress *egress, const struct nlattr *a)
{
    struct nic_rule *rule = egress->rule;

    switch (nl_attr_type(a)) {
    case OVS_ACTION_ATTR_OUTPUT:
        return nic_rule_output(rule, egress->flow, nl_attr_get_odp_port(a),
                               NIC_PORT_UPLINK, egress->eswitch);
    case OVS_ACTION_ATTR_PUSH_VLAN:
        return push_outer_vlan(rule, a);
    default:
        return nic_rule_refuse_action(rule, a);
    }
}

static bool
add_actions(const struct egress *egress, const struct nlattr *actions,
            size_t actions_len)
{
    struct nic_rule *rule = egress->rule;
    const struct nlattr *a;
    size_t left;
    bool ok;

    NL_ATTR_FOR_EACH (a, left, actions, actions_len) {
        if (nic_rule_find(rule, NIC_ACTION_OUTPUT)) {
            return nic_rule_refuse(rule, NIC_SEVERAL_OUTPUTS, NULL);
        } else if (nl_attr_type(a) == OVS_ACTION_ATTR_CLONE) {
            /* What ends with the clone would go on here. */
            ok = (add_actions(egress, nl_attr_get(a), nl_attr_get_size(a))
                  && (nic_rule_find(rule, NIC_ACTION_OUTPUT)
                      || nic_rule_refuse(rule, NIC_UNSUPPORTED_ACTION,
                                         "clone")));
        } else if (nl_attr_type(a) == OVS_ACTION_ATTR_TUNNEL_PUSH) {
            ok = push_tunnel(egress, a);
        } else if (nic_rule_find(rule, NIC_ACTION_ENCAP)) {
            ok = change_outer(egress, a);
        } else if (nl_attr_type(a) == OVS_ACTION_ATTR_OUTPUT) {
            /* There is a tnl_push somewhere behind it. */
            ok = nic_rule_refuse(rule, NIC_SEVERAL_OUTPUTS, NULL);
        } else {
            ok = nic_rule_rewrite(rule, &rule->match.outer, a);
        }
        if (!ok) {
            return false;
        }
    }
    return true;
}

void
nic_rule_egress(struct nic_rule *rule, const struct nic_flow *nic_flow,
                odp_port_t in_port, const struct nic_port *port)
{
    const struct egress egress = { rule, nic_flow, port->eswitch };
    const struct flow *flow = &nic_flow->match->flow;
    struct flow left = nic_flow->match->wc.masks;

    nic_rule_init(rule, in_port, NIC_GROUP_ENTRY);
    nic_rule_match_no_tunnel(flow, &left);
    if (nic_rule_match_metadata(rule, flow, &left)
        && nic_rule_match_headers(rule, flow, &left, &rule->match.outer)
        && nic_rule_match_rest(rule, flow, &left)
        && add_actions(&egress, nic_flow->actions, nic_flow->actions_len)
        && !nic_rule_find(rule, NIC_ACTION_OUTPUT)) {
        /* The underlay drops it. */
        nic_rule_refuse(rule, NIC_UNSUPPORTED_ACTION, "tnl_push");
    }
}
