/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-rule-flow-private.h"

#include <netinet/in.h>
#include <string.h>

#include "flow.h"
#include "netlink.h"
#include "odp-util.h"
#include "openvswitch/geneve.h"
#include "openvswitch/match.h"
#include "packets.h"
#include "util.h"

/* mlx5 recognises tunnels by these UDP ports (RFC 8926, 3.3; RFC 7348, 8;
 * guide of mlx5).  A packet has the port that is in its flow.  The datapath
 * port's tunnel may have another one by now, if several shared that port. */
static bool
is_known_port(enum nic_tunnel tunnel, ovs_be16 udp_port)
{
    return udp_port == htons(tunnel == NIC_TUNNEL_VXLAN ? 4789 : 6081);
}

/* Rule A. */

static bool
add_jump(struct nic_rule *rule, const struct nic_flow *flow,
         const struct nlattr *a)
{
    struct nic_port tunnel;

    if (!flow->get_port(nl_attr_get_odp_port(a), &tunnel, flow->aux)
        || tunnel.kind != NIC_PORT_TUNNEL
        || tunnel.tunnel == NIC_TUNNEL_NONE) {
        return nic_rule_refuse(rule, NIC_UNSUPPORTED_ACTION, "tnl_pop");
    }
    if (!is_known_port(tunnel.tunnel, flow->match->flow.tp_dst)) {
        return nic_rule_refuse_field(rule, "udp_dst");
    }
    nic_rule_put(rule, NIC_ACTION_JUMP)->group
        = nic_tunnel_group(tunnel.tunnel);
    return true;
}

/* Removes nothing: what misses rule B must reach software whole.  So the
 * underlay's tag, which comes off before tnl_pop, stays on, and rule B takes
 * it off with the rest of the outer header. */
static bool
add_outer_actions(struct nic_rule *rule, const struct nic_flow *flow)
{
    const struct nlattr *a;
    size_t left;

    NL_ATTR_FOR_EACH (a, left, flow->actions, flow->actions_len) {
        if (nic_rule_find(rule, NIC_ACTION_JUMP)) {
            return nic_rule_refuse(rule, NIC_SEVERAL_OUTPUTS, NULL);
        } else if (nl_attr_type(a) == OVS_ACTION_ATTR_TUNNEL_POP) {
            if (!add_jump(rule, flow, a)) {
                return false;
            }
        } else if (nl_attr_type(a) == OVS_ACTION_ATTR_OUTPUT) {
            return nic_rule_refuse(rule, NIC_SEVERAL_OUTPUTS, NULL);
        } else if (nl_attr_type(a) != OVS_ACTION_ATTR_POP_VLAN) {
            return nic_rule_refuse_action(rule, a);
        }
    }
    return true;
}

void
nic_rule_ingress_outer(struct nic_rule *rule, const struct nic_flow *nic_flow,
                       odp_port_t in_port)
{
    const struct flow *flow = &nic_flow->match->flow;
    struct flow left = nic_flow->match->wc.masks;

    nic_rule_init(rule, in_port, NIC_GROUP_ENTRY);
    nic_rule_match_no_tunnel(flow, &left);
    if (nic_rule_match_metadata(rule, flow, &left)
        && nic_rule_match_headers(rule, flow, &left, &rule->match.outer)
        && nic_rule_match_rest(rule, flow, &left)) {
        add_outer_actions(rule, nic_flow);
    }
}

/* Rule B. */

static bool
match_outer_addresses(struct nic_rule *rule, const struct flow_tnl *tnl,
                      struct flow_tnl *left)
{
    struct nic_headers *value = &rule->match.outer.value;
    struct nic_headers *mask = &rule->match.outer.mask;
    bool ipv6 = !tnl->ip_dst;

    /* Each flow is of one family, so the other's addresses are 0. */
    if (ipv6) {
        value->ip_src = ipv6_addr_bitand(&tnl->ipv6_src, &left->ipv6_src);
        value->ip_dst = ipv6_addr_bitand(&tnl->ipv6_dst, &left->ipv6_dst);
        mask->ip_src = left->ipv6_src;
        mask->ip_dst = left->ipv6_dst;
    } else {
        value->ip_src = nic_ipv4(tnl->ip_src & left->ip_src);
        value->ip_dst = nic_ipv4(tnl->ip_dst & left->ip_dst);
        mask->ip_src = nic_ipv4(left->ip_src);
        mask->ip_dst = nic_ipv4(left->ip_dst);
    }
    if (ipv6 && !ipv6_addr_is_set(&tnl->ipv6_dst)) {
        return nic_rule_refuse_field(rule, "tun_dst");
    }
    left->ip_src = left->ip_dst = 0;
    left->ipv6_src = left->ipv6_dst = in6addr_any;
    value->eth_type = htons(ipv6 ? ETH_TYPE_IPV6 : ETH_TYPE_IP);
    mask->eth_type = OVS_BE16_MAX;
    return true;
}

/* Rule A has looked at the outer Ethernet header, tag and fragments. */
static bool
match_outer(struct nic_rule *rule, const struct flow_tnl *tnl,
            struct flow_tnl *left)
{
    struct nic_headers *value = &rule->match.outer.value;
    struct nic_headers *mask = &rule->match.outer.mask;

    if (!match_outer_addresses(rule, tnl, left)) {
        return false;
    }
    value->ip_tos = tnl->ip_tos & left->ip_tos;
    mask->ip_tos = left->ip_tos;
    value->ip_ttl = tnl->ip_ttl & left->ip_ttl;
    mask->ip_ttl = left->ip_ttl;
    value->ip_proto = IPPROTO_UDP;
    mask->ip_proto = UINT8_MAX;
    left->ip_tos = left->ip_ttl = 0;

    value->l4_src = tnl->tp_src & left->tp_src;
    mask->l4_src = left->tp_src;
    value->l4_dst = tnl->tp_dst;
    mask->l4_dst = OVS_BE16_MAX;
    left->tp_src = left->tp_dst = 0;
    return true;
}

static bool
match_vni(struct nic_rule *rule, const struct flow_tnl *tnl,
          struct flow_tnl *left)
{
    uint64_t value = ntohll(tnl->tun_id & left->tun_id);
    uint64_t mask = ntohll(left->tun_id);

    if (value > 0xffffff) {
        return nic_rule_refuse_field(rule, "tun_id");
    }
    rule->match.vni = htonl(value);
    rule->match.vni_mask = htonl(mask & 0xffffff);
    left->tun_id = 0;
    return true;
}

/* 'flags' as FLOW_TNL_F_*.  KEY is set for every packet of these tunnels; for
 * DF and CSUM see nic-rule-flow.h. */
static bool
match_flags(struct nic_rule *rule, const struct flow_tnl *tnl,
            struct flow_tnl *left)
{
    struct nic_match *match = &rule->match;
    bool oam = tnl->flags & left->flags & FLOW_TNL_F_OAM;

    if (left->flags & FLOW_TNL_F_KEY && !(tnl->flags & FLOW_TNL_F_KEY)) {
        return nic_rule_refuse_field(rule, "tun_key");
    }
    if (left->flags & FLOW_TNL_F_OAM) {
        if (match->tunnel == NIC_TUNNEL_GENEVE) {
            match->oam_matched = true;
            match->oam = oam;
        } else if (oam) {
            return nic_rule_refuse_field(rule, "tun_flags");
        }
    }
    left->flags = 0;
    return true;
}

/* mlx5 matches 4 bytes of data, and needs a 1-bit among them. */
static bool
match_option(struct nic_rule *rule, const struct geneve_opt *value,
             const struct geneve_opt *mask)
{
    struct nic_option *option = &rule->match.option;
    ovs_be32 data, data_mask;

    if (value->length != 1) {
        return nic_rule_refuse_field(rule, "tun_metadata");
    }
    memcpy(&data, value + 1, sizeof data);
    memcpy(&data_mask, mask + 1, sizeof data_mask);
    if (!data_mask) {
        /* Only that there is an option of this type. */
        return nic_rule_refuse_field(rule, "tun_metadata");
    }
    if (!(data & data_mask)) {
        return nic_rule_refuse(rule, NIC_OPTION_VALUE_ZERO, NULL);
    }
    option->class = value->opt_class;
    option->type = value->type;
    option->length = value->length;
    option->data = data & data_mask;
    option->mask = data_mask;
    return true;
}

/* In flows from the datapath, options are the packet's bytes, and how many
 * there are is matched.  If any is matched, class, type and length of all are
 * (tun_metadata_to_geneve_udpif_mask()); then there may be only one, because
 * the datapath matches by place and the NIC anywhere.  A match on lengths of
 * options alone, of which a NIC sees only the sum, comes only from users. */
static bool
match_options(struct nic_rule *rule, const struct flow_tnl *tnl,
              struct flow_tnl *left)
{
    const struct geneve_opt *value = tnl->metadata.opts.gnv;
    struct tun_metadata *mask = &left->metadata;
    size_t length = tnl->metadata.present.len;

    if (!(left->flags & FLOW_TNL_F_UDPIF)) {
        return true;            /* nic_rule_match_rest() sees what is left. */
    }
    /* Without options, a flow may be in the other format. */
    if ((!(tnl->flags & FLOW_TNL_F_UDPIF) && tnl->metadata.present.map)
        || mask->present.len != 0xff
        || length > sizeof mask->opts || length % 4) {
        return nic_rule_refuse_field(rule, "tun_metadata");
    }
    rule->match.options_length_matched = true;
    rule->match.options_length = length / 4;
    if (!is_all_zeros(mask->opts.gnv, length)) {
        if (length != sizeof *value * (value->length + 1)) {
            return nic_rule_refuse_field(rule, "tun_metadata");
        }
        if (!match_option(rule, value, mask->opts.gnv)) {
            return false;
        }
    }
    memset(mask, 0, sizeof *mask);
    return true;
}

static bool
match_tunnel(struct nic_rule *rule, const struct flow_tnl *tnl,
             struct flow_tnl *left, const struct nic_port *tunnel)
{
    rule->match.tunnel = tunnel->tunnel;
    return (match_outer(rule, tnl, left)
            && match_vni(rule, tnl, left)
            && (tunnel->tunnel != NIC_TUNNEL_GENEVE
                || match_options(rule, tnl, left))
            && match_flags(rule, tnl, left));
}

/* The header that the NIC removes.  mlx5 does not look at it and removes all
 * up to the tunnel's end, with a tag of the underlay, of which this rule knows
 * nothing.  Other drivers and the documentation of RAW_DECAP want it as long
 * as it is, as to its protocols. */
static bool
put_decap(struct nic_rule *rule)
{
    const struct nic_match *match = &rule->match;
    bool ipv6 = nic_level_eth_type(&match->outer) == ETH_TYPE_IPV6;
    size_t options = 4 * match->options_length;
    size_t l3 = ETH_HEADER_LEN;
    size_t l4 = l3 + (ipv6 ? IPV6_HEADER_LEN : IP_HEADER_LEN);
    size_t tunnel = l4 + UDP_HEADER_LEN;
    uint8_t *header = rule->header;
    ovs_be16 teb = htons(ETH_TYPE_TEB);

    if (tunnel + 8 + options > NIC_HEADER_MAX) {
        return nic_rule_refuse(rule, NIC_HEADER_TOO_LONG, NULL);
    }
    nic_rule_put(rule, NIC_ACTION_DECAP);
    rule->header_len = tunnel + 8 + options;
    memcpy(&header[2 * ETH_ADDR_LEN], &match->outer.value.eth_type, 2);
    if (ipv6) {
        header[l3] = 0x60;
        header[l3 + 6] = IPPROTO_UDP;
    } else {
        header[l3] = IP_IHL_VER(5, IP_VERSION);
        header[l3 + 9] = IPPROTO_UDP;
    }
    memcpy(&header[l4 + 2], &match->outer.value.l4_dst, 2);
    if (match->tunnel == NIC_TUNNEL_GENEVE) {
        header[tunnel] = match->options_length;
        memcpy(&header[tunnel + 2], &teb, sizeof teb);
    } else {
        header[tunnel] = VXLAN_FLAGS >> 24;
    }
    return true;
}

static bool
add_inner_actions(struct nic_rule *rule, const struct nic_flow *flow,
                  unsigned int eswitch)
{
    const struct nlattr *a;
    size_t left;
    bool ok;

    NL_ATTR_FOR_EACH (a, left, flow->actions, flow->actions_len) {
        if (nic_rule_find(rule, NIC_ACTION_OUTPUT)) {
            return nic_rule_refuse(rule, NIC_SEVERAL_OUTPUTS, NULL);
        } else if (nl_attr_type(a) == OVS_ACTION_ATTR_OUTPUT) {
            ok = nic_rule_output(rule, flow, nl_attr_get_odp_port(a),
                                 NIC_PORT_REPRESENTOR, eswitch);
        } else if (nl_attr_type(a) == OVS_ACTION_ATTR_DROP) {
            break;
        } else {
            ok = nic_rule_rewrite(rule, &rule->match.inner, a);
        }
        if (!ok) {
            return false;
        }
    }
    if (!nic_rule_find(rule, NIC_ACTION_OUTPUT)) {
        /* Options that translation could not read end in a flow that matches
         * none and drops, in the way of others.  In software, where the better
         * subtable wins, it soon goes. */
        if (rule->match.options_length && !rule->match.option.length) {
            return nic_rule_refuse_field(rule, "tun_metadata");
        }
        /* The NIC takes no changes before a drop. */
        rule->n_actions = 0;
        memset(rule->actions, 0, sizeof rule->actions);
        nic_rule_put(rule, NIC_ACTION_COUNT);
        nic_rule_put(rule, NIC_ACTION_DROP);
        return true;
    }
    return put_decap(rule);
}

void
nic_rule_ingress_inner(struct nic_rule *rule, const struct nic_flow *nic_flow,
                       const struct nic_port *tunnel)
{
    const struct flow *flow = &nic_flow->match->flow;
    struct flow left = nic_flow->match->wc.masks;
    struct nic_port uplink = { .kind = NIC_PORT_OTHER };

    if (tunnel->tunnel == NIC_TUNNEL_NONE) {
        nic_rule_refuse(rule, NIC_UNSUPPORTED_MATCH, "tunnel");
        return;
    }
    if (!nic_flow->get_port(nic_flow->orig_in_port, &uplink, nic_flow->aux)
        || uplink.kind != NIC_PORT_UPLINK) {
        nic_rule_refuse(rule, (uplink.kind == NIC_PORT_FOREIGN
                               ? NIC_FOREIGN_DRIVER : NIC_NO_REPRESENTOR),
                        NULL);
        return;
    }

    nic_rule_init(rule, nic_flow->orig_in_port,
                  nic_tunnel_group(tunnel->tunnel));
    if (!is_known_port(tunnel->tunnel, flow->tunnel.tp_dst)) {
        nic_rule_refuse_field(rule, "udp_dst");
    } else if (match_tunnel(rule, &flow->tunnel, &left.tunnel, tunnel)
               && nic_rule_match_metadata(rule, flow, &left)
               && nic_rule_match_headers(rule, flow, &left,
                                         &rule->match.inner)
               && nic_rule_match_rest(rule, flow, &left)) {
        add_inner_actions(rule, nic_flow, uplink.eswitch);
    }
}
