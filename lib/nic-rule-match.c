/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-rule-flow-private.h"

#include <netinet/in.h>
#include <netinet/ip6.h>
#include <string.h>

#include "flow.h"
#include "openvswitch/match.h"
#include "openvswitch/meta-flow.h"
#include "packets.h"
#include "util.h"

/* What mlx5 matches is in the rte_flow guide of mlx5 and in the masks that
 * its driver takes (mlx5_flow.c, mlx5_flow_dv.c of DPDK). */

/* Moves one field from 'flow' and 'left' to 'level'. */
#define TAKE(LEVEL_FIELD, FLOW_FIELD)                                   \
    do {                                                                \
        level->mask.LEVEL_FIELD = left->FLOW_FIELD;                     \
        level->value.LEVEL_FIELD = flow->FLOW_FIELD & left->FLOW_FIELD; \
        left->FLOW_FIELD = 0;                                           \
    } while (0)

static void
take_mac(struct eth_addr *value, struct eth_addr *mask,
         const struct eth_addr *flow, struct eth_addr *left)
{
    *mask = *left;
    for (int i = 0; i < ETH_ADDR_LEN; i++) {
        value->ea[i] = flow->ea[i] & left->ea[i];
    }
    *left = eth_addr_zero;
}

/* A rule says how many tags there are, because the driver reads an EtherType
 * as "and no tag" or not depending on what else is matched.  Where the flow
 * does not care, the rule wants as many as the flow's first packet had: the
 * datapath does the same (handle_packet_upcall()). */
static bool
match_ethernet(struct nic_rule *rule, const struct flow *flow,
               struct flow *left, struct nic_level *level)
{
    take_mac(&level->value.eth_dst, &level->mask.eth_dst,
             &flow->dl_dst, &left->dl_dst);
    take_mac(&level->value.eth_src, &level->mask.eth_src,
             &flow->dl_src, &left->dl_src);

    if (flow->vlans[0].tci & htons(VLAN_CFI)) {
        if (flow->vlans[0].tpid != htons(ETH_TYPE_VLAN_8021Q)) {
            return nic_rule_refuse_field(rule, "vlan_tpid");
        }
        if (flow->vlans[1].tci & htons(VLAN_CFI)) {
            return nic_rule_refuse_field(rule, "second_vlan");
        }
        level->tags = NIC_TAGS_ONE;
        left->vlans[0].tci &= htons(~VLAN_CFI);
        TAKE(vlan_tci, vlans[0].tci);
    } else {
        level->tags = NIC_TAGS_NONE;
    }
    memset(left->vlans, 0, sizeof left->vlans);

    if (left->dl_type) {
        /* Not a type: 802.3, or more tags than the datapath looks into. */
        if (left->dl_type != OVS_BE16_MAX
            || ntohs(flow->dl_type) < ETH_TYPE_MIN
            || eth_type_vlan(flow->dl_type)) {
            return nic_rule_refuse_field(rule, "eth_type");
        }
        TAKE(eth_type, dl_type);
    }
    return true;
}

static void
take_ipv6(struct in6_addr *value, struct in6_addr *mask,
          const struct in6_addr *flow, struct in6_addr *left)
{
    *mask = *left;
    *value = ipv6_addr_bitand(flow, left);
    *left = in6addr_any;
}

/* mlx5 tells fragments from whole packets, not first from later ones.  In
 * IPv6 it sees whether there is a fragment header, which is also in "atomic"
 * fragments (RFC 6946), that are whole: only "no fragment" is safe. */
static bool
match_fragments(struct nic_rule *rule, const struct flow *flow,
                struct flow *left, struct nic_level *level)
{
    uint8_t mask = left->nw_frag & FLOW_NW_FRAG_MASK;
    uint8_t value = flow->nw_frag & mask;

    left->nw_frag = 0;
    if (!mask) {
        level->fragments = NIC_FRAGMENTS_ANY;
    } else if (mask & FLOW_NW_FRAG_ANY && !value) {
        level->fragments = NIC_FRAGMENTS_NONE;
    } else if (mask == FLOW_NW_FRAG_ANY
               && flow->dl_type == htons(ETH_TYPE_IP)) {
        level->fragments = NIC_FRAGMENTS_ONLY;
    } else {
        return nic_rule_refuse_field(rule, "ip_frag");
    }
    return true;
}

static bool
is_extension_header(uint8_t proto)
{
    return (proto == IPPROTO_HOPOPTS || proto == IPPROTO_ROUTING
            || proto == IPPROTO_FRAGMENT || proto == IPPROTO_ESP
            || proto == IPPROTO_AH || proto == IPPROTO_DSTOPTS
            || proto == IPPROTO_NONE || proto == 135 /* Mobility. */
            || proto == 139 /* HIP. */ || proto == 140 /* Shim6. */);
}

static bool
match_ip(struct nic_rule *rule, const struct flow *flow, struct flow *left,
         struct nic_level *level)
{
    if (flow->dl_type == htons(ETH_TYPE_IP)) {
        level->value.ip_src = nic_ipv4(flow->nw_src & left->nw_src);
        level->mask.ip_src = nic_ipv4(left->nw_src);
        level->value.ip_dst = nic_ipv4(flow->nw_dst & left->nw_dst);
        level->mask.ip_dst = nic_ipv4(left->nw_dst);
        left->nw_src = left->nw_dst = 0;
    } else {
        take_ipv6(&level->value.ip_src, &level->mask.ip_src,
                  &flow->ipv6_src, &left->ipv6_src);
        take_ipv6(&level->value.ip_dst, &level->mask.ip_dst,
                  &flow->ipv6_dst, &left->ipv6_dst);
        left->ipv6_label &= htonl(IPV6_LABEL_MASK);
        TAKE(ipv6_label, ipv6_label);
    }
    TAKE(ip_tos, nw_tos);
    TAKE(ip_ttl, nw_ttl);
    if (left->nw_proto) {
        if (left->nw_proto != UINT8_MAX
            || (flow->dl_type == htons(ETH_TYPE_IPV6)
                && is_extension_header(flow->nw_proto))) {
            return nic_rule_refuse_field(rule, "nw_proto");
        }
        TAKE(ip_proto, nw_proto);
    }
    if (!match_fragments(rule, flow, left, level)) {
        return false;
    }
    /* In software, later fragments of IPv6 have protocol "fragment". */
    if (flow->dl_type == htons(ETH_TYPE_IPV6) && level->mask.ip_proto) {
        level->fragments = NIC_FRAGMENTS_NONE;
    }
    return true;
}

static bool
match_icmp(struct nic_rule *rule, const struct flow *flow, struct flow *left,
           struct nic_level *level)
{
    ovs_be16 high = htons(0xff00);

    if ((flow->tp_src & left->tp_src & high)
        || (flow->tp_dst & left->tp_dst & high)) {
        return nic_rule_refuse_field(rule, "icmp_type");
    }
    level->mask.icmp_type = ntohs(left->tp_src);
    level->value.icmp_type = ntohs(flow->tp_src & left->tp_src);
    level->mask.icmp_code = ntohs(left->tp_dst);
    level->value.icmp_code = ntohs(flow->tp_dst & left->tp_dst);
    left->tp_src = left->tp_dst = 0;
    return true;
}

static bool
match_l4(struct nic_rule *rule, const struct flow *flow, struct flow *left,
         struct nic_level *level)
{
    int proto = nic_level_ip_proto(level);
    bool icmp = (flow->dl_type == htons(ETH_TYPE_IP)
                 ? proto == IPPROTO_ICMP : proto == IPPROTO_ICMPV6);

    if (!left->tp_src && !left->tp_dst && !left->tcp_flags) {
        return true;
    }
    if (proto == IPPROTO_TCP || proto == IPPROTO_UDP) {
        if (proto == IPPROTO_TCP) {
            /* The driver takes 8 bits of the flags. */
            if (left->tcp_flags & htons(0xff00)) {
                return nic_rule_refuse_field(rule, "tcp_flags");
            }
            level->mask.tcp_flags = ntohs(left->tcp_flags);
            level->value.tcp_flags = ntohs(flow->tcp_flags & left->tcp_flags);
            left->tcp_flags = 0;
        }
        TAKE(l4_src, tp_src);
        TAKE(l4_dst, tp_dst);
    } else if (!icmp) {
        return true;            /* For nic_rule_match_rest() to name. */
    } else if (!match_icmp(rule, flow, left, level)) {
        return false;
    }

    /* In software, later fragments have ports 0.  NICs find none there. */
    if (level->fragments == NIC_FRAGMENTS_ONLY) {
        return nic_rule_refuse_field(rule, "ip_frag");
    }
    level->fragments = NIC_FRAGMENTS_NONE;
    return true;
}

bool
nic_rule_match_headers(struct nic_rule *rule, const struct flow *flow,
                       struct flow *left, struct nic_level *level)
{
    if (!match_ethernet(rule, flow, left, level)) {
        return false;
    }
    if (nic_level_eth_type(level) != ETH_TYPE_IP
        && nic_level_eth_type(level) != ETH_TYPE_IPV6) {
        return true;
    }
    return (match_ip(rule, flow, left, level)
            && match_l4(rule, flow, left, level));
}

#define MUST_BE_ZERO(FIELD, REFUSAL, DETAIL)                    \
    do {                                                        \
        if (flow->FIELD & left->FIELD) {                        \
            return nic_rule_refuse(rule, REFUSAL, DETAIL);      \
        }                                                       \
        left->FIELD = 0;                                        \
    } while (0)

bool
nic_rule_match_metadata(struct nic_rule *rule, const struct flow *flow,
                        struct flow *left)
{
    ovs_u128 label = ovs_u128_and(flow->ct_label, left->ct_label);

    MUST_BE_ZERO(ct_state, NIC_CONNTRACK, NULL);
    MUST_BE_ZERO(ct_zone, NIC_CONNTRACK, NULL);
    MUST_BE_ZERO(ct_mark, NIC_CONNTRACK, NULL);
    if (!ovs_u128_is_zero(label)) {
        return nic_rule_refuse(rule, NIC_CONNTRACK, NULL);
    }
    memset(&left->ct_label, 0, sizeof left->ct_label);
    MUST_BE_ZERO(recirc_id, NIC_RECIRCULATION, NULL);
    MUST_BE_ZERO(dp_hash, NIC_RECIRCULATION, NULL);
    MUST_BE_ZERO(pkt_mark, NIC_UNSUPPORTED_MATCH, "pkt_mark");
    MUST_BE_ZERO(skb_priority, NIC_UNSUPPORTED_MATCH, "skb_priority");
    MUST_BE_ZERO(packet_type, NIC_UNSUPPORTED_MATCH, "packet_type");
    memset(&left->in_port, 0, sizeof left->in_port);

    /* The original direction of a connection, of which packets without a
     * connection have none. */
    if (!flow->ct_nw_proto) {
        left->ct_nw_proto = 0;
        left->ct_nw_src = left->ct_nw_dst = 0;
        left->ct_ipv6_src = left->ct_ipv6_dst = in6addr_any;
        left->ct_tp_src = left->ct_tp_dst = 0;
    }
    return true;
}

void
nic_rule_match_no_tunnel(const struct flow *flow, struct flow *left)
{
    const uint8_t *value = (const uint8_t *) &flow->tunnel;
    const uint8_t *mask = (const uint8_t *) &left->tunnel;

    for (size_t i = 0; i < sizeof left->tunnel; i++) {
        if (value[i] & mask[i]) {
            return;
        }
    }
    memset(&left->tunnel, 0, sizeof left->tunnel);
}

static const char *
field_name(const struct flow *flow, const struct flow *left)
{
    struct flow_wildcards wc;

    wc.masks = *left;
    /* OpenFlow has no field for how many bytes of options there are, and its
     * fields for options need a table of them. */
    if (!is_all_zeros(&left->tunnel.metadata, sizeof left->tunnel.metadata)) {
        return "tun_metadata";
    }
    for (int i = 0; i < MFF_N_IDS; i++) {
        const struct mf_field *mf = mf_from_id(i);

        if (!mf_is_tun_metadata(mf) && !mf_is_all_wild(mf, &wc)
            && mf_are_prereqs_ok(mf, flow, NULL)) {
            return mf->name;
        }
    }
    return left->igmp_group_ip4 ? "igmp" : "other";
}

bool
nic_rule_match_rest(struct nic_rule *rule, const struct flow *flow,
                    const struct flow *left)
{
    return (is_all_zeros(left, sizeof *left)
            || nic_rule_refuse_field(rule, field_name(flow, left)));
}
