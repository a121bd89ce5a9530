/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-rule-check.h"

#ifdef DPDK_NETDEV

#include <stdbool.h>
#include <string.h>

#include <rte_flow.h>

#include "util.h"

/* The rank of an item within one level; a level's items ascend. */
static int
rank_of_item(int type)
{
    switch (type) {
    case RTE_FLOW_ITEM_TYPE_ETH: return 1;
    case RTE_FLOW_ITEM_TYPE_VLAN: return 2;
    case RTE_FLOW_ITEM_TYPE_IPV4:
    case RTE_FLOW_ITEM_TYPE_IPV6: return 3;
    case RTE_FLOW_ITEM_TYPE_UDP:
    case RTE_FLOW_ITEM_TYPE_TCP:
    case RTE_FLOW_ITEM_TYPE_ICMP:
    case RTE_FLOW_ITEM_TYPE_ICMP6: return 4;
    case RTE_FLOW_ITEM_TYPE_GENEVE:
    case RTE_FLOW_ITEM_TYPE_VXLAN: return 5;
    case RTE_FLOW_ITEM_TYPE_GENEVE_OPT: return 6;
    default: return -1;
    }
}

static size_t
size_of_item(int type)
{
    switch (type) {
    case RTE_FLOW_ITEM_TYPE_ETH: return sizeof(struct rte_flow_item_eth);
    case RTE_FLOW_ITEM_TYPE_VLAN: return sizeof(struct rte_flow_item_vlan);
    case RTE_FLOW_ITEM_TYPE_IPV4: return sizeof(struct rte_flow_item_ipv4);
    case RTE_FLOW_ITEM_TYPE_IPV6: return sizeof(struct rte_flow_item_ipv6);
    case RTE_FLOW_ITEM_TYPE_UDP: return sizeof(struct rte_flow_item_udp);
    case RTE_FLOW_ITEM_TYPE_TCP: return sizeof(struct rte_flow_item_tcp);
    case RTE_FLOW_ITEM_TYPE_ICMP: return sizeof(struct rte_flow_item_icmp);
    case RTE_FLOW_ITEM_TYPE_ICMP6: return sizeof(struct rte_flow_item_icmp6);
    case RTE_FLOW_ITEM_TYPE_GENEVE: return sizeof(struct rte_flow_item_geneve);
    case RTE_FLOW_ITEM_TYPE_VXLAN: return sizeof(struct rte_flow_item_vxlan);
    default: return 0;
    }
}

/* Fills in what an item may match, all 1-bits where it may. */
static void
may_match(int type, void *mask)
{
    struct rte_flow_item_ipv4 *ipv4 = mask;
    struct rte_flow_item_ipv6 *ipv6 = mask;
    struct rte_flow_item_udp *udp = mask;
    struct rte_flow_item_tcp *tcp = mask;
    struct rte_flow_item_icmp *icmp = mask;
    struct rte_flow_item_icmp6 *icmp6 = mask;
    struct rte_flow_item_geneve *geneve = mask;
    struct rte_flow_item_vxlan *vxlan = mask;

    memset(mask, 0, size_of_item(type));
    switch (type) {
    case RTE_FLOW_ITEM_TYPE_ETH:
    case RTE_FLOW_ITEM_TYPE_VLAN:
        memset(mask, 0xff, size_of_item(type));
        break;
    case RTE_FLOW_ITEM_TYPE_IPV4:
        memset(&ipv4->hdr.src_addr, 0xff, 4);
        memset(&ipv4->hdr.dst_addr, 0xff, 4);
        ipv4->hdr.type_of_service = 0xff;
        ipv4->hdr.next_proto_id = 0xff;
        ipv4->hdr.time_to_live = 0xff;
        ipv4->hdr.fragment_offset = htons(0x3fff);
        break;
    case RTE_FLOW_ITEM_TYPE_IPV6:
        memset(&ipv6->hdr.src_addr, 0xff, 16);
        memset(&ipv6->hdr.dst_addr, 0xff, 16);
        ipv6->hdr.vtc_flow = htonl(0x0fffffff);
        ipv6->hdr.proto = 0xff;
        ipv6->hdr.hop_limits = 0xff;
        ipv6->has_frag_ext = 1;
        break;
    case RTE_FLOW_ITEM_TYPE_UDP:
        udp->hdr.src_port = udp->hdr.dst_port = 0xffff;
        break;
    case RTE_FLOW_ITEM_TYPE_TCP:
        tcp->hdr.src_port = tcp->hdr.dst_port = 0xffff;
        tcp->hdr.tcp_flags = 0xff;
        break;
    case RTE_FLOW_ITEM_TYPE_ICMP:
        icmp->hdr.icmp_type = icmp->hdr.icmp_code = 0xff;
        break;
    case RTE_FLOW_ITEM_TYPE_ICMP6:
        icmp6->type = icmp6->code = 0xff;
        break;
    case RTE_FLOW_ITEM_TYPE_GENEVE:
        memset(geneve->vni, 0xff, 3);
        geneve->protocol = 0xffff;
        geneve->ver_opt_len_o_c_rsvd0 = htons(0x3f80);
        break;
    case RTE_FLOW_ITEM_TYPE_VXLAN:
        vxlan->hdr.vx_vni = htonl(0xffffff00);
        break;
    }
}

static const char *
check_bits(const struct rte_flow_item *item)
{
    size_t size = size_of_item(item->type);
    const uint8_t *spec = item->spec, *mask = item->mask;
    uint8_t may[128];

    ovs_assert(size <= sizeof may);
    if (!spec || !mask) {
        return "an item without value or mask";
    }
    may_match(item->type, may);
    for (size_t i = 0; i < size; i++) {
        if (mask[i] & ~may[i]) {
            return "a bit in a mask that no NIC can match";
        }
        if (spec[i] & ~mask[i]) {
            return "a value beyond its mask";
        }
    }
    return item->last && item->type != RTE_FLOW_ITEM_TYPE_IPV4
           ? "a range" : NULL;
}

static const char *
check_ip(const struct rte_flow_item *item, int *proto)
{
    const struct rte_flow_item_ipv4 *ipv4 = item->spec, *mask4 = item->mask;
    const struct rte_flow_item_ipv6 *ipv6 = item->spec, *mask6 = item->mask;
    const struct rte_flow_item_ipv4 *last = item->last;
    bool is_ipv4 = item->type == RTE_FLOW_ITEM_TYPE_IPV4;
    uint8_t mask = (is_ipv4 ? mask4->hdr.next_proto_id : mask6->hdr.proto);
    uint8_t value = (is_ipv4 ? ipv4->hdr.next_proto_id : ipv6->hdr.proto);

    if (mask != 0 && mask != 0xff) {
        return "half an IP protocol";
    }
    *proto = mask ? value : -1;
    if (is_ipv4) {
        int offset = ntohs(ipv4->hdr.fragment_offset);
        int bits = ntohs(mask4->hdr.fragment_offset);

        if (last ? (offset != 1 || bits != 0x3fff
                    || ntohs(last->hdr.fragment_offset) != 0x3fff)
            : offset || (bits && bits != 0x3fff)) {
            return "other fragments than none or any";
        }
    } else if (mask && (value == 0 || value == 43 || value == 44 || value == 50
                        || value == 51 || value == 60 || value == 135)) {
        return "an extension header as protocol";
    }
    return NULL;
}

static const char *
check_l4(const struct rte_flow_item *item, int ip, int proto)
{
    int wanted = (item->type == RTE_FLOW_ITEM_TYPE_TCP ? 6
                  : item->type == RTE_FLOW_ITEM_TYPE_UDP ? 17
                  : item->type == RTE_FLOW_ITEM_TYPE_ICMP ? 1 : 58);

    if (!ip || (wanted == 1 && ip != 4) || (wanted == 58 && ip != 6)) {
        return "L4 without its L3";
    }
    return proto >= 0 && proto != wanted ? "L4 of another protocol" : NULL;
}

static const char *
check_option(const struct rte_flow_item *item, bool after_geneve)
{
    const struct rte_flow_item_geneve_opt *v = item->spec, *m = item->mask;
    const struct rte_flow_item_geneve *geneve = item[-1].spec;
    const struct rte_flow_item_geneve *geneve_m = item[-1].mask;
    int word, bits;

    if (!after_geneve) {
        return "an option that is not directly behind Geneve";
    }
    if (!v || !m || !v->data || !m->data) {
        return "an option without value, mask or data";
    }
    if (m->option_class != 0xffff || m->option_type != 0xff
        || m->option_len != 0x1f) {
        return "an option without full masks";
    }
    if (v->option_len != 1 || !(v->data[0] & m->data[0])
        || v->data[0] & ~m->data[0]) {
        return "an option's data";
    }
    word = ntohs(geneve->ver_opt_len_o_c_rsvd0);
    bits = ntohs(geneve_m->ver_opt_len_o_c_rsvd0);
    if ((word || bits) && ((word & bits) >> 8 & 0x3f) <= v->option_len) {
        return "the first word of Geneve with an option";
    }
    return NULL;
}

/* Which layers a rule has. */
struct layers {
    int ip[2], l4[2];           /* 4 or 6, protocol; outer, inner. */
    bool vlan[2], tunnel;
    int icmp6[2];
};

static const char *
check_items(const struct rte_flow_item *items, struct layers *layers)
{
    int rank = 0, level = 0, proto = -1;
    const char *error = NULL;

    for (int i = 0; !error && items[i].type != RTE_FLOW_ITEM_TYPE_END; i++) {
        const struct rte_flow_item *item = &items[i];
        int this = rank_of_item(item->type);

        if (this < 0) {
            return "an unknown item";
        }
        if (this == 1 && layers->tunnel && !level) {
            rank = 0;
            level = 1;
            proto = -1;
        }
        if (this <= rank) {
            return "items out of order";
        }
        if (rank == 0 && this != 1) {
            return "a level without Ethernet";
        }
        if (this == 6) {
            error = check_option(item, i && items[i - 1].type
                                            == RTE_FLOW_ITEM_TYPE_GENEVE);
        } else {
            error = check_bits(item);
        }
        if (!error && this == 2) {
            layers->vlan[level] = true;
        } else if (!error && this == 3) {
            layers->ip[level] = item->type == RTE_FLOW_ITEM_TYPE_IPV4 ? 4 : 6;
            error = check_ip(item, &proto);
            layers->icmp6[level] = proto == 58;
        } else if (!error && this == 4) {
            layers->l4[level] = item->type;
            error = check_l4(item, layers->ip[level], proto);
        } else if (!error && this == 5) {
            if (layers->tunnel
                || layers->l4[0] != RTE_FLOW_ITEM_TYPE_UDP) {
                return "a second tunnel, or one without UDP";
            }
            layers->tunnel = true;
        }
        rank = this;
    }
    return error ? error : layers->tunnel && !level
           ? "a tunnel without inner Ethernet" : NULL;
}

/* COUNT, decap, pop, changes, push, encap, fate. */
static int
rank_of_action(int type)
{
    switch (type) {
    case RTE_FLOW_ACTION_TYPE_COUNT: return 1;
    case RTE_FLOW_ACTION_TYPE_RAW_DECAP: return 2;
    case RTE_FLOW_ACTION_TYPE_OF_POP_VLAN: return 3;
    case RTE_FLOW_ACTION_TYPE_SET_MAC_SRC:
    case RTE_FLOW_ACTION_TYPE_SET_MAC_DST:
    case RTE_FLOW_ACTION_TYPE_SET_IPV4_SRC:
    case RTE_FLOW_ACTION_TYPE_SET_IPV4_DST:
    case RTE_FLOW_ACTION_TYPE_SET_IPV6_SRC:
    case RTE_FLOW_ACTION_TYPE_SET_IPV6_DST:
    case RTE_FLOW_ACTION_TYPE_SET_IPV4_DSCP:
    case RTE_FLOW_ACTION_TYPE_SET_IPV6_DSCP:
    case RTE_FLOW_ACTION_TYPE_SET_TTL:
    case RTE_FLOW_ACTION_TYPE_SET_TP_SRC:
    case RTE_FLOW_ACTION_TYPE_SET_TP_DST: return 4;
    case RTE_FLOW_ACTION_TYPE_OF_PUSH_VLAN: return 5;
    case RTE_FLOW_ACTION_TYPE_OF_SET_VLAN_PCP: return 6;
    case RTE_FLOW_ACTION_TYPE_OF_SET_VLAN_VID: return 7;
    case RTE_FLOW_ACTION_TYPE_RAW_ENCAP: return 8;
    case RTE_FLOW_ACTION_TYPE_JUMP:
    case RTE_FLOW_ACTION_TYPE_REPRESENTED_PORT:
    case RTE_FLOW_ACTION_TYPE_DROP: return 9;
    default: return -1;
    }
}

/* The layer that an action changes must be in the pattern. */
static const char *
check_layer(int type, const struct layers *layers, bool decap)
{
    int level = decap ? 1 : 0;
    int ip = layers->ip[level];

    switch (type) {
    case RTE_FLOW_ACTION_TYPE_OF_POP_VLAN:
        return layers->vlan[level] ? NULL : "pop without tag";
    case RTE_FLOW_ACTION_TYPE_SET_IPV4_SRC:
    case RTE_FLOW_ACTION_TYPE_SET_IPV4_DST:
    case RTE_FLOW_ACTION_TYPE_SET_IPV4_DSCP:
        return ip == 4 ? NULL : "a change of IPv4 without IPv4";
    case RTE_FLOW_ACTION_TYPE_SET_IPV6_SRC:
    case RTE_FLOW_ACTION_TYPE_SET_IPV6_DST:
        return ip == 6 && !layers->icmp6[level] ? NULL
               : "a change of IPv6 without IPv6, or of ICMPv6";
    case RTE_FLOW_ACTION_TYPE_SET_IPV6_DSCP:
        return ip == 6 ? NULL : "a change of IPv6 without IPv6";
    case RTE_FLOW_ACTION_TYPE_SET_TTL:
        return ip ? NULL : "a change of TTL without IP";
    case RTE_FLOW_ACTION_TYPE_SET_TP_SRC:
    case RTE_FLOW_ACTION_TYPE_SET_TP_DST:
        return (layers->l4[level] == RTE_FLOW_ITEM_TYPE_TCP
                || layers->l4[level] == RTE_FLOW_ITEM_TYPE_UDP
                ? NULL : "a change of ports without ports");
    default:
        return NULL;
    }
}

static const char *
check_encap(const struct rte_flow_action_raw_encap *encap)
{
    int type = encap->data[12] << 8 | encap->data[13];
    size_t l3 = 14;

    if (encap->size > 132 || encap->size <= 34 || encap->size % 2) {
        return "the size of a header";
    }
    if (type == 0x8100 || type == 0x88a8) {
        type = encap->data[16] << 8 | encap->data[17];
        l3 += 4;
    }
    if (type != 0x0800 && type != 0x86dd) {
        return "a header that is not IP";
    }
    l3 += type == 0x0800 ? 20 : 40;
    return (encap->data[l3 + 6] || encap->data[l3 + 7]
            ? "an outer UDP checksum"
            : encap->data[l3] < 0xc0 ? "an outer UDP source port" : NULL);
}

static const char *
check_actions(const struct rte_flow_attr *attr,
              const struct rte_flow_action *actions,
              const struct layers *layers)
{
    int rank = 0, n = 0, last = 0;
    bool decap = false, changed = false, encap = false;
    const char *error = NULL;

    for (; !error && actions->type != RTE_FLOW_ACTION_TYPE_END; actions++) {
        const struct rte_flow_action_jump *jump = actions->conf;
        int this = rank_of_action(actions->type);

        if (this < rank || this < 0 || (this == rank && this != 4)) {
            return "actions out of order";
        }
        /* All changes are one action of the hardware, and so is a push. */
        n += this != rank && this != 6 && this != 7;
        rank = this;
        last = actions->type;
        decap |= this == 2;
        encap |= this == 8;
        changed |= this > 1 && this < 9;
        error = (this == 8 ? check_encap(actions->conf)
                 : this == 1 ? NULL
                 : check_layer(actions->type, layers, decap));
        if (last == RTE_FLOW_ACTION_TYPE_JUMP
            && (jump->group == attr->group || jump->group == 0)) {
            return "a jump to its own group or to 0";
        }
    }
    if (error) {
        return error;
    }
    return (rank != 9 ? "no fate"
            : n > 8 ? "more than 8 actions"
            : decap && encap ? "decap and encap"
            : decap && !layers->tunnel ? "decap without tunnel"
            : last == RTE_FLOW_ACTION_TYPE_DROP && changed
            ? "changes before a drop" : NULL);
}

const char *
nic_check_rte(const struct rte_flow_attr *attr,
              const struct rte_flow_item *items,
              const struct rte_flow_action *actions)
{
    struct layers layers;
    const char *error;

    memset(&layers, 0, sizeof layers);
    if (!attr->transfer || attr->ingress || attr->egress
        || attr->priority > 21843) {
        return "attributes";
    }
    error = check_items(items, &layers);
    return error ? error : check_actions(attr, actions, &layers);
}

#endif /* DPDK_NETDEV */
