/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-rule-rte.h"

#ifdef DPDK_NETDEV

#include <netinet/in.h>
#include <string.h>

#include "packets.h"
#include "util.h"

/* Whole packets have neither an offset nor "more fragments" (RFC 791). */
#define FRAGMENT_BITS 0x3fff

#define GENEVE_OAM 0x0080       /* RFC 8926, 3.4, in the first word. */
#define GENEVE_LENGTH_SHIFT 8

static void
add_item(struct nic_rule_rte *rte, enum rte_flow_item_type type,
         const void *spec, const void *mask)
{
    struct rte_flow_item *item = &rte->items[rte->n_items++];

    ovs_assert(rte->n_items <= NIC_RTE_ITEMS_MAX);
    item->type = type;
    item->spec = spec;
    item->mask = mask;
}

/* Adds an item of 'PAIR', value and mask. */
#define ADD_ITEM(RTE, TYPE, PAIR) \
    add_item(RTE, RTE_FLOW_ITEM_TYPE_##TYPE, &(PAIR)[0], &(PAIR)[1])

static void
put_eth(struct rte_flow_item_eth *eth, const struct nic_headers *headers)
{
    memcpy(&eth->hdr.dst_addr, &headers->eth_dst, ETH_ADDR_LEN);
    memcpy(&eth->hdr.src_addr, &headers->eth_src, ETH_ADDR_LEN);
}

/* The driver takes a full EtherType to mean "and no tag".  So where tags do
 * not matter, the IP item alone says what follows. */
static void
add_ethernet(struct nic_rule_rte *rte, const struct nic_level *level, int i)
{
    struct rte_flow_item_eth *eth = rte->level[i].eth;
    struct rte_flow_item_vlan *vlan = rte->level[i].vlan;

    put_eth(&eth[0], &level->value);
    put_eth(&eth[1], &level->mask);
    ADD_ITEM(rte, ETH, eth);
    if (level->tags == NIC_TAGS_NONE) {
        eth[1].has_vlan = 1;
        eth[0].hdr.ether_type = level->value.eth_type;
        eth[1].hdr.ether_type = level->mask.eth_type;
    } else if (level->tags == NIC_TAGS_ONE) {
        eth[0].has_vlan = 1;
        eth[1].has_vlan = 1;
        eth[0].hdr.ether_type = htons(ETH_TYPE_VLAN_8021Q);
        eth[1].hdr.ether_type = OVS_BE16_MAX;
        vlan[0].hdr.vlan_tci = level->value.vlan_tci;
        vlan[1].hdr.vlan_tci = level->mask.vlan_tci;
        vlan[0].hdr.eth_proto = level->value.eth_type;
        vlan[1].hdr.eth_proto = level->mask.eth_type;
        vlan[1].has_more_vlan = 1;
        ADD_ITEM(rte, VLAN, vlan);
    }
}

static void
put_ipv4(struct rte_flow_item_ipv4 *ipv4, const struct nic_headers *headers)
{
    ipv4->hdr.type_of_service = headers->ip_tos;
    ipv4->hdr.time_to_live = headers->ip_ttl;
    ipv4->hdr.next_proto_id = headers->ip_proto;
    memcpy(&ipv4->hdr.src_addr, &headers->ip_src.s6_addr[12], 4);
    memcpy(&ipv4->hdr.dst_addr, &headers->ip_dst.s6_addr[12], 4);
}

static void
add_ipv4(struct nic_rule_rte *rte, const struct nic_level *level, int i)
{
    struct rte_flow_item_ipv4 *ipv4 = rte->level[i].ipv4;

    put_ipv4(&ipv4[0], &level->value);
    put_ipv4(&ipv4[1], &level->mask);
    ADD_ITEM(rte, IPV4, ipv4);
    if (level->fragments != NIC_FRAGMENTS_ANY) {
        ipv4[1].hdr.fragment_offset = htons(FRAGMENT_BITS);
    }
    if (level->fragments == NIC_FRAGMENTS_ONLY) {
        ipv4[0].hdr.fragment_offset = htons(1);
        ipv4[2] = ipv4[0];
        ipv4[2].hdr.fragment_offset = htons(FRAGMENT_BITS);
        rte->items[rte->n_items - 1].last = &ipv4[2];
    }
}

static void
put_ipv6(struct rte_flow_item_ipv6 *ipv6, const struct nic_headers *headers)
{
    ipv6->hdr.vtc_flow = htonl((uint32_t) headers->ip_tos << 20)
                         | headers->ipv6_label;
    ipv6->hdr.hop_limits = headers->ip_ttl;
    ipv6->hdr.proto = headers->ip_proto;
    memcpy(&ipv6->hdr.src_addr, &headers->ip_src, sizeof headers->ip_src);
    memcpy(&ipv6->hdr.dst_addr, &headers->ip_dst, sizeof headers->ip_dst);
}

static void
add_ipv6(struct nic_rule_rte *rte, const struct nic_level *level, int i)
{
    struct rte_flow_item_ipv6 *ipv6 = rte->level[i].ipv6;

    ovs_assert(level->fragments != NIC_FRAGMENTS_ONLY);
    put_ipv6(&ipv6[0], &level->value);
    put_ipv6(&ipv6[1], &level->mask);
    if (level->fragments == NIC_FRAGMENTS_NONE) {
        ipv6[1].has_frag_ext = 1;
    }
    ADD_ITEM(rte, IPV6, ipv6);
}

/* The item is there if anything is matched or, as the driver wants to see the
 * layer then, changed in it. */
static void
add_l4(struct nic_rule_rte *rte, const struct nic_level *level, int i,
       bool needed)
{
    const struct nic_headers *value = &level->value;
    const struct nic_headers *mask = &level->mask;
    bool ipv6 = nic_level_eth_type(level) == ETH_TYPE_IPV6;
    int proto = nic_level_ip_proto(level);

    needed |= mask->l4_src || mask->l4_dst || mask->tcp_flags;
    if (proto == IPPROTO_TCP && needed) {
        struct rte_flow_item_tcp *tcp = rte->level[i].tcp;

        tcp[0].hdr.src_port = value->l4_src;
        tcp[1].hdr.src_port = mask->l4_src;
        tcp[0].hdr.dst_port = value->l4_dst;
        tcp[1].hdr.dst_port = mask->l4_dst;
        tcp[0].hdr.tcp_flags = value->tcp_flags;
        tcp[1].hdr.tcp_flags = mask->tcp_flags;
        ADD_ITEM(rte, TCP, tcp);
    } else if (proto == IPPROTO_UDP && needed) {
        struct rte_flow_item_udp *udp = rte->level[i].udp;

        udp[0].hdr.src_port = value->l4_src;
        udp[1].hdr.src_port = mask->l4_src;
        udp[0].hdr.dst_port = value->l4_dst;
        udp[1].hdr.dst_port = mask->l4_dst;
        ADD_ITEM(rte, UDP, udp);
    } else if (!mask->icmp_type && !mask->icmp_code) {
        return;
    } else if (ipv6) {
        struct rte_flow_item_icmp6 *icmp6 = rte->level[i].icmp6;

        icmp6[0].type = value->icmp_type;
        icmp6[1].type = mask->icmp_type;
        icmp6[0].code = value->icmp_code;
        icmp6[1].code = mask->icmp_code;
        ADD_ITEM(rte, ICMP6, icmp6);
    } else {
        struct rte_flow_item_icmp *icmp = rte->level[i].icmp;

        icmp[0].hdr.icmp_type = value->icmp_type;
        icmp[1].hdr.icmp_type = mask->icmp_type;
        icmp[0].hdr.icmp_code = value->icmp_code;
        icmp[1].hdr.icmp_code = mask->icmp_code;
        ADD_ITEM(rte, ICMP, icmp);
    }
}

static void
add_level(struct nic_rule_rte *rte, const struct nic_level *level, int i,
          bool l4_needed)
{
    add_ethernet(rte, level, i);
    switch (nic_level_eth_type(level)) {
    case ETH_TYPE_IP:
        add_ipv4(rte, level, i);
        add_l4(rte, level, i, l4_needed);
        break;
    case ETH_TYPE_IPV6:
        add_ipv6(rte, level, i);
        add_l4(rte, level, i, l4_needed);
        break;
    }
}

static void
put_vni(uint8_t vni[3], ovs_be32 value)
{
    memcpy(vni, (const uint8_t *) &value + 1, 3);
}

/* The driver wants full masks of class, type and length, data in both, and
 * nothing between the two items. */
static void
add_geneve(struct nic_rule_rte *rte, const struct nic_match *match)
{
    struct rte_flow_item_geneve *geneve = rte->geneve;
    struct rte_flow_item_geneve_opt *option = rte->option;
    uint16_t word = 0, word_mask = 0;

    put_vni(geneve[0].vni, match->vni);
    put_vni(geneve[1].vni, match->vni_mask);
    if (match->options_length_matched) {
        word |= match->options_length << GENEVE_LENGTH_SHIFT;
        word_mask |= 0x3f << GENEVE_LENGTH_SHIFT;
    }
    if (match->oam_matched) {
        word |= match->oam ? GENEVE_OAM : 0;
        word_mask |= GENEVE_OAM;
    }
    geneve[0].ver_opt_len_o_c_rsvd0 = htons(word);
    geneve[1].ver_opt_len_o_c_rsvd0 = htons(word_mask);
    ADD_ITEM(rte, GENEVE, geneve);

    if (match->option.length) {
        option[0].option_class = match->option.class;
        option[1].option_class = OVS_BE16_MAX;
        option[0].option_type = match->option.type;
        option[1].option_type = UINT8_MAX;
        option[0].option_len = match->option.length;
        option[1].option_len = 0x1f;
        memcpy(&rte->option_data[0], &match->option.data, 4);
        memcpy(&rte->option_data[1], &match->option.mask, 4);
        option[0].data = &rte->option_data[0];
        option[1].data = &rte->option_data[1];
        ADD_ITEM(rte, GENEVE_OPT, option);
    }
}

static void
add_tunnel(struct nic_rule_rte *rte, const struct nic_match *match)
{
    if (match->tunnel == NIC_TUNNEL_GENEVE) {
        add_geneve(rte, match);
    } else {
        rte->vxlan[0].hdr.vx_vni = htonl(ntohl(match->vni) << 8);
        rte->vxlan[1].hdr.vx_vni = htonl(ntohl(match->vni_mask) << 8);
        ADD_ITEM(rte, VXLAN, rte->vxlan);
    }
}

/* Adds an action whose configuration is conf[] of the same index. */
static void
add_action(struct nic_rule_rte *rte, enum rte_flow_action_type type)
{
    struct rte_flow_action *action = &rte->actions[rte->n_actions];

    action->type = type;
    action->conf = &rte->conf[rte->n_actions];
    rte->n_actions++;
    ovs_assert(rte->n_actions < NIC_RTE_ACTIONS_MAX);
}

#define ADD_ACTION(RTE, TYPE, CONF, VALUE)                              \
    do {                                                                \
        memcpy(&(RTE)->conf[(RTE)->n_actions].CONF, &(VALUE),           \
               sizeof (RTE)->conf[(RTE)->n_actions].CONF);              \
        add_action(RTE, RTE_FLOW_ACTION_TYPE_##TYPE);                   \
    } while (0)

static void
add_push_vlan(struct nic_rule_rte *rte, const struct nic_action *action)
{
    uint8_t pcp = vlan_tci_to_pcp(action->vlan.tci);
    ovs_be16 vid = htons(vlan_tci_to_vid(action->vlan.tci));

    ADD_ACTION(rte, OF_PUSH_VLAN, push_vlan.ethertype, action->vlan.tpid);
    ADD_ACTION(rte, OF_SET_VLAN_PCP, vlan_pcp.vlan_pcp, pcp);
    ADD_ACTION(rte, OF_SET_VLAN_VID, vlan_vid.vlan_vid, vid);
}

static void
add_nic_action(struct nic_rule_rte *rte, const struct nic_rule *rule,
               const struct nic_action *action, uint16_t out_port_id)
{
    struct rte_flow_action_raw_encap encap = {
        .data = rte->header, .size = rule->header_len
    };
    struct rte_flow_action_raw_decap decap = {
        .data = rte->header, .size = rule->header_len
    };
    uint32_t group = action->group;

    switch (action->type) {
    case NIC_ACTION_COUNT:
        add_action(rte, RTE_FLOW_ACTION_TYPE_COUNT);
        break;
    case NIC_ACTION_DECAP:
        ADD_ACTION(rte, RAW_DECAP, raw_decap, decap);
        break;
    case NIC_ACTION_POP_VLAN:
        add_action(rte, RTE_FLOW_ACTION_TYPE_OF_POP_VLAN);
        break;
    case NIC_ACTION_SET_ETH_SRC:
        ADD_ACTION(rte, SET_MAC_SRC, mac, action->mac);
        break;
    case NIC_ACTION_SET_ETH_DST:
        ADD_ACTION(rte, SET_MAC_DST, mac, action->mac);
        break;
    case NIC_ACTION_SET_IPV4_SRC:
        ADD_ACTION(rte, SET_IPV4_SRC, ipv4, action->ip.s6_addr[12]);
        break;
    case NIC_ACTION_SET_IPV4_DST:
        ADD_ACTION(rte, SET_IPV4_DST, ipv4, action->ip.s6_addr[12]);
        break;
    case NIC_ACTION_SET_IPV6_SRC:
        ADD_ACTION(rte, SET_IPV6_SRC, ipv6, action->ip);
        break;
    case NIC_ACTION_SET_IPV6_DST:
        ADD_ACTION(rte, SET_IPV6_DST, ipv6, action->ip);
        break;
    case NIC_ACTION_SET_IPV4_DSCP:
        ADD_ACTION(rte, SET_IPV4_DSCP, dscp, action->byte);
        break;
    case NIC_ACTION_SET_IPV6_DSCP:
        ADD_ACTION(rte, SET_IPV6_DSCP, dscp, action->byte);
        break;
    case NIC_ACTION_SET_TTL:
        ADD_ACTION(rte, SET_TTL, ttl, action->byte);
        break;
    case NIC_ACTION_SET_L4_SRC:
        ADD_ACTION(rte, SET_TP_SRC, tp, action->be16);
        break;
    case NIC_ACTION_SET_L4_DST:
        ADD_ACTION(rte, SET_TP_DST, tp, action->be16);
        break;
    case NIC_ACTION_PUSH_VLAN:
        add_push_vlan(rte, action);
        break;
    case NIC_ACTION_ENCAP:
        ADD_ACTION(rte, RAW_ENCAP, raw_encap, encap);
        break;
    case NIC_ACTION_JUMP:
        ADD_ACTION(rte, JUMP, jump.group, group);
        break;
    case NIC_ACTION_OUTPUT:
        ADD_ACTION(rte, REPRESENTED_PORT, ethdev.port_id, out_port_id);
        break;
    case NIC_ACTION_DROP:
        add_action(rte, RTE_FLOW_ACTION_TYPE_DROP);
        break;
    }
}

struct nic_rule_rte *
nic_rule_to_rte(const struct nic_rule *rule, uint16_t out_port_id)
{
    struct nic_rule_rte *rte = xzalloc(sizeof *rte);
    const struct nic_match *match = &rule->match;
    bool tunnel = match->tunnel != NIC_TUNNEL_NONE;
    bool l4 = (nic_rule_find(rule, NIC_ACTION_SET_L4_SRC)
               || nic_rule_find(rule, NIC_ACTION_SET_L4_DST));

    ovs_assert(rule->refusal == NIC_OFFLOADABLE);
    ovs_assert(rule->header_len <= NIC_HEADER_MAX);

    rte->attr.transfer = 1;
    rte->attr.group = rule->group;
    memcpy(rte->header, rule->header, rule->header_len);

    add_level(rte, &match->outer, 0, tunnel || l4);
    if (tunnel) {
        add_tunnel(rte, match);
        add_level(rte, &match->inner, 1, l4);
    }
    add_item(rte, RTE_FLOW_ITEM_TYPE_END, NULL, NULL);

    for (size_t i = 0; i < rule->n_actions; i++) {
        add_nic_action(rte, rule, &rule->actions[i], out_port_id);
    }
    rte->actions[rte->n_actions++].type = RTE_FLOW_ACTION_TYPE_END;
    return rte;
}

#endif /* DPDK_NETDEV */
