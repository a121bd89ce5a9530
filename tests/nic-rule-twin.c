/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-rule-twin.h"

#include <string.h>

#ifdef DPDK_NETDEV
#include <rte_flow.h>
#endif

#include "nic-rule.h"
#include "util.h"

/* What a NIC knows of one level of headers, as plain numbers in the order of
 * the wire.  -1: there is no such thing. */
struct seen {
    const uint8_t *eth;         /* Destination, source. */
    int tags, tpid, tci, type;
    int ip;                     /* 4, 6 or 0. */
    const uint8_t *src, *dst;
    size_t addr_len;
    int tos, ttl, proto, fragment;
    unsigned int label;
    int l4_src, l4_dst, flags, icmp_type, icmp_code;
    const uint8_t *payload;     /* Of UDP, or NULL. */
};

static int
be16(const uint8_t *p)
{
    return p[0] << 8 | p[1];
}

static unsigned int
be32(const uint8_t *p)
{
    return (unsigned int) be16(p) << 16 | be16(p + 2);
}

static void
see_l4(struct seen *seen, const uint8_t *p)
{
    if (seen->proto == 6 || seen->proto == 17) {
        seen->l4_src = be16(p);
        seen->l4_dst = be16(p + 2);
        if (seen->proto == 6) {
            seen->flags = p[13];
        } else {
            seen->payload = p + 8;
        }
    } else if (seen->proto == (seen->ip == 4 ? 1 : 58)) {
        seen->icmp_type = p[0];
        seen->icmp_code = p[1];
    }
}

static void
see_ipv4(struct seen *seen, const uint8_t *p)
{
    seen->ip = 4;
    seen->tos = p[1];
    seen->ttl = p[8];
    seen->proto = p[9];
    seen->src = p + 12;
    seen->dst = p + 16;
    seen->addr_len = 4;
    seen->fragment = (be16(p + 6) & 0x3fff) != 0;
    if (!(be16(p + 6) & 0x1fff)) {
        see_l4(seen, p + (p[0] & 0xf) * 4);
    }
}

/* The protocol is that behind extension headers, also for fragments. */
static void
see_ipv6(struct seen *seen, const uint8_t *p)
{
    const uint8_t *next = p + 40;
    bool later = false;

    seen->ip = 6;
    seen->tos = be32(p) >> 20 & 0xff;
    seen->label = be32(p) & 0xfffff;
    seen->ttl = p[7];
    seen->proto = p[6];
    seen->src = p + 8;
    seen->dst = p + 24;
    seen->addr_len = 16;
    seen->fragment = 0;
    while (seen->proto == 0 || seen->proto == 60 || seen->proto == 44) {
        if (seen->proto == 44) {
            seen->fragment = 1;
            later = be16(next + 2) & 0xfff8;
        }
        seen->proto = next[0];
        next += 8;
    }
    if (!later) {
        see_l4(seen, next);
    }
}

static void
see(struct seen *seen, const uint8_t *p)
{
    memset(seen, 0, sizeof *seen);
    seen->tpid = seen->tci = seen->proto = -1;
    seen->l4_src = seen->l4_dst = seen->flags = -1;
    seen->icmp_type = seen->icmp_code = -1;

    seen->eth = p;
    p += 12;
    while (be16(p) == 0x8100 || be16(p) == 0x88a8) {
        if (!seen->tags++) {
            seen->tpid = be16(p);
            seen->tci = be16(p + 2);
        }
        p += 4;
    }
    seen->type = be16(p);
    if (seen->type == 0x0800) {
        see_ipv4(seen, p + 2);
    } else if (seen->type == 0x86dd) {
        see_ipv6(seen, p + 2);
    }
}

static bool
same_bytes(const uint8_t *packet, const void *value, const void *mask,
           size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if ((packet[i] ^ ((const uint8_t *) value)[i])
            & ((const uint8_t *) mask)[i]) {
            return false;
        }
    }
    return true;
}

/* A field that the packet does not have is met by no match on it. */
static bool
same(int packet, int value, int mask)
{
    return !mask || (packet >= 0 && !((packet ^ value) & mask));
}

static bool
same_address(const struct seen *seen, const uint8_t *packet,
             const struct in6_addr *value, const struct in6_addr *mask)
{
    size_t skip = 16 - seen->addr_len;

    return (is_all_zeros(mask, sizeof *mask)
            || (seen->ip && same_bytes(packet, &value->s6_addr[skip],
                                       &mask->s6_addr[skip],
                                       seen->addr_len)));
}

static bool
hits_level(const struct nic_level *level, const struct seen *seen)
{
    const struct nic_headers *v = &level->value;
    const struct nic_headers *m = &level->mask;

    return (same_bytes(seen->eth, &v->eth_dst, &m->eth_dst, 6)
            && same_bytes(seen->eth + 6, &v->eth_src, &m->eth_src, 6)
            && same(seen->type, ntohs(v->eth_type), ntohs(m->eth_type))
            && (level->tags == NIC_TAGS_ANY
                || (level->tags == NIC_TAGS_NONE && seen->tags == 0)
                || (level->tags == NIC_TAGS_ONE && seen->tags == 1
                    && seen->tpid == 0x8100
                    && same(seen->tci, ntohs(v->vlan_tci),
                            ntohs(m->vlan_tci))))
            && same_address(seen, seen->src, &v->ip_src, &m->ip_src)
            && same_address(seen, seen->dst, &v->ip_dst, &m->ip_dst)
            && same(seen->label, ntohl(v->ipv6_label), ntohl(m->ipv6_label))
            && same(seen->proto, v->ip_proto, m->ip_proto)
            && same(seen->tos, v->ip_tos, m->ip_tos)
            && same(seen->ttl, v->ip_ttl, m->ip_ttl)
            && (level->fragments == NIC_FRAGMENTS_ANY
                || (seen->fragment
                    == (level->fragments == NIC_FRAGMENTS_ONLY)))
            && same(seen->l4_src, ntohs(v->l4_src), ntohs(m->l4_src))
            && same(seen->l4_dst, ntohs(v->l4_dst), ntohs(m->l4_dst))
            && same(seen->flags, v->tcp_flags, m->tcp_flags)
            && same(seen->icmp_type, v->icmp_type, m->icmp_type)
            && same(seen->icmp_code, v->icmp_code, m->icmp_code));
}

/* The bytes behind the tunnel header. */
static const uint8_t *
inside(const struct seen *outer, bool geneve)
{
    return outer->payload + 8 + (geneve ? (outer->payload[0] & 0x3f) * 4 : 0);
}

/* An option of this class, type and length, wherever it stands. */
static const uint8_t *
find_option(const uint8_t *geneve, int class, int type, int words)
{
    const uint8_t *p = geneve + 8;
    const uint8_t *end = p + (geneve[0] & 0x3f) * 4;

    while (p < end) {
        if (be16(p) == class && p[2] == type && (p[3] & 0x1f) == words) {
            return p + 4;
        }
        p += 4 + (p[3] & 0x1f) * 4;
    }
    return NULL;
}

static bool
hits_geneve(const struct nic_match *match, const uint8_t *geneve)
{
    const struct nic_option *option = &match->option;

    if (!same(geneve[0] & 0x3f, match->options_length,
              match->options_length_matched ? 0x3f : 0)
        || !same(geneve[1] >> 7, match->oam, match->oam_matched)) {
        return false;
    }
    if (option->length) {
        const uint8_t *data = find_option(geneve, ntohs(option->class),
                                          option->type, option->length);

        return data && same_bytes(data, &option->data, &option->mask, 4);
    }
    return true;
}

bool
nic_twin_hits(const struct nic_match *match, const uint8_t *packet,
              size_t n OVS_UNUSED)
{
    bool geneve = match->tunnel == NIC_TUNNEL_GENEVE;
    struct seen outer, inner;

    see(&outer, packet);
    if (!hits_level(&match->outer, &outer)) {
        return false;
    }
    if (match->tunnel == NIC_TUNNEL_NONE) {
        return true;
    }
    if (!outer.payload || outer.l4_dst != (geneve ? 6081 : 4789)
        || !same(be32(outer.payload + 4) >> 8, ntohl(match->vni),
                 ntohl(match->vni_mask))
        || (geneve && !hits_geneve(match, outer.payload))) {
        return false;
    }
    see(&inner, inside(&outer, geneve));
    return hits_level(&match->inner, &inner);
}

#ifdef DPDK_NETDEV
/* How mlx5 reads items, with dv_flow_en=1. */

static bool
hits_eth(const struct rte_flow_item_eth *v, const struct rte_flow_item_eth *m,
         const struct seen *seen)
{
    int type = ntohs(v->hdr.ether_type);

    if (!same_bytes(seen->eth, &v->hdr.dst_addr, &m->hdr.dst_addr, 6)
        || !same_bytes(seen->eth + 6, &v->hdr.src_addr, &m->hdr.src_addr, 6)
        || (m->has_vlan && v->has_vlan != (seen->tags > 0))) {
        return false;
    }
    if (m->hdr.ether_type != 0xffff) {
        return !m->hdr.ether_type;
    }
    return (type == 0x8100 ? seen->tags == 1 && seen->tpid == type
            : seen->tags == 0 && seen->type == type);
}

static bool
hits_vlan(const struct rte_flow_item_vlan *v,
          const struct rte_flow_item_vlan *m, const struct seen *seen)
{
    return (seen->tags
            && same(seen->tci, ntohs(v->hdr.vlan_tci), ntohs(m->hdr.vlan_tci))
            && same(seen->type, ntohs(v->hdr.eth_proto),
                    ntohs(m->hdr.eth_proto))
            && (!m->has_more_vlan || v->has_more_vlan == (seen->tags > 1)));
}

static bool
hits_ipv4(const struct rte_flow_item *item, const struct seen *seen)
{
    const struct rte_flow_item_ipv4 *v = item->spec;
    const struct rte_flow_item_ipv4 *m = item->mask;

    return (seen->ip == 4
            && same_bytes(seen->src, &v->hdr.src_addr, &m->hdr.src_addr, 4)
            && same_bytes(seen->dst, &v->hdr.dst_addr, &m->hdr.dst_addr, 4)
            && same(seen->tos, v->hdr.type_of_service, m->hdr.type_of_service)
            && same(seen->ttl, v->hdr.time_to_live, m->hdr.time_to_live)
            && same(seen->proto, v->hdr.next_proto_id, m->hdr.next_proto_id)
            && (!m->hdr.fragment_offset || !!item->last == seen->fragment));
}

static bool
hits_ipv6(const struct rte_flow_item_ipv6 *v,
          const struct rte_flow_item_ipv6 *m, const struct seen *seen)
{
    return (seen->ip == 6
            && same_bytes(seen->src, &v->hdr.src_addr, &m->hdr.src_addr, 16)
            && same_bytes(seen->dst, &v->hdr.dst_addr, &m->hdr.dst_addr, 16)
            && !((((unsigned int) seen->tos << 20 | seen->label)
                  ^ ntohl(v->hdr.vtc_flow)) & ntohl(m->hdr.vtc_flow))
            && same(seen->ttl, v->hdr.hop_limits, m->hdr.hop_limits)
            && same(seen->proto, v->hdr.proto, m->hdr.proto)
            && (!m->has_frag_ext || v->has_frag_ext == seen->fragment));
}

static bool
hits_l4_item(const struct rte_flow_item *item, const struct seen *seen)
{
    const struct rte_flow_item_tcp *tcp = item->spec, *tcp_m = item->mask;
    const struct rte_flow_item_udp *udp = item->spec, *udp_m = item->mask;
    const struct rte_flow_item_icmp *icmp = item->spec, *icmp_m = item->mask;
    const struct rte_flow_item_icmp6 *icmp6 = item->spec;
    const struct rte_flow_item_icmp6 *icmp6_m = item->mask;

    switch ((int) item->type) {
    case RTE_FLOW_ITEM_TYPE_TCP:
        return (seen->proto == 6 && seen->l4_src >= 0
                && same(seen->l4_src, ntohs(tcp->hdr.src_port),
                        ntohs(tcp_m->hdr.src_port))
                && same(seen->l4_dst, ntohs(tcp->hdr.dst_port),
                        ntohs(tcp_m->hdr.dst_port))
                && same(seen->flags, tcp->hdr.tcp_flags,
                        tcp_m->hdr.tcp_flags));
    case RTE_FLOW_ITEM_TYPE_UDP:
        return (seen->proto == 17 && seen->l4_src >= 0
                && same(seen->l4_src, ntohs(udp->hdr.src_port),
                        ntohs(udp_m->hdr.src_port))
                && same(seen->l4_dst, ntohs(udp->hdr.dst_port),
                        ntohs(udp_m->hdr.dst_port)));
    case RTE_FLOW_ITEM_TYPE_ICMP:
        return (seen->ip == 4 && seen->proto == 1
                && same(seen->icmp_type, icmp->hdr.icmp_type,
                        icmp_m->hdr.icmp_type)
                && same(seen->icmp_code, icmp->hdr.icmp_code,
                        icmp_m->hdr.icmp_code));
    case RTE_FLOW_ITEM_TYPE_ICMP6:
        return (seen->ip == 6 && seen->proto == 58
                && same(seen->icmp_type, icmp6->type, icmp6_m->type)
                && same(seen->icmp_code, icmp6->code, icmp6_m->code));
    default:
        return false;
    }
}

static bool
hits_geneve_item(const struct rte_flow_item_geneve *v,
                 const struct rte_flow_item_geneve *m, const struct seen *seen)
{
    return (seen->payload && seen->l4_dst == 6081
            && same(be16(seen->payload), ntohs(v->ver_opt_len_o_c_rsvd0),
                    ntohs(m->ver_opt_len_o_c_rsvd0))
            && same_bytes(seen->payload + 4, v->vni, m->vni, 3));
}

static bool
hits_option_item(const struct rte_flow_item_geneve_opt *v,
                 const struct rte_flow_item_geneve_opt *m,
                 const struct seen *seen)
{
    const uint8_t *data = find_option(seen->payload, ntohs(v->option_class),
                                      v->option_type, v->option_len);

    return data && same_bytes(data, v->data, m->data, 4);
}

static bool
hits_item(const struct rte_flow_item *item, struct seen *seen)
{
    struct seen outer = *seen;

    switch ((int) item->type) {
    case RTE_FLOW_ITEM_TYPE_ETH:
        return hits_eth(item->spec, item->mask, seen);
    case RTE_FLOW_ITEM_TYPE_VLAN:
        return hits_vlan(item->spec, item->mask, seen);
    case RTE_FLOW_ITEM_TYPE_IPV4:
        return hits_ipv4(item, seen);
    case RTE_FLOW_ITEM_TYPE_IPV6:
        return hits_ipv6(item->spec, item->mask, seen);
    case RTE_FLOW_ITEM_TYPE_GENEVE:
        if (!hits_geneve_item(item->spec, item->mask, seen)
            || (item[1].type == RTE_FLOW_ITEM_TYPE_GENEVE_OPT
                && !hits_option_item(item[1].spec, item[1].mask, seen))) {
            return false;
        }
        see(seen, inside(&outer, true));
        return true;
    case RTE_FLOW_ITEM_TYPE_GENEVE_OPT:
        return true;
    case RTE_FLOW_ITEM_TYPE_VXLAN: {
        const struct rte_flow_item_vxlan *v = item->spec, *m = item->mask;

        if (!seen->payload || seen->l4_dst != 4789
            || !same_bytes(seen->payload, v, m, 8)) {
            return false;
        }
        see(seen, inside(&outer, false));
        return true;
    }
    default:
        return hits_l4_item(item, seen);
    }
}

bool
nic_twin_hits_items(const struct rte_flow_item *items, const uint8_t *packet,
                    size_t n OVS_UNUSED)
{
    struct seen seen;

    see(&seen, packet);
    for (; items->type != RTE_FLOW_ITEM_TYPE_END; items++) {
        if (!hits_item(items, &seen)) {
            return false;
        }
    }
    return true;
}
#endif
