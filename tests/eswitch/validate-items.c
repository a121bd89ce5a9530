/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#include <config.h>

#include "validate-items.h"

#include <errno.h>
#include <string.h>

/* Patterns: what mlx5 with software steering matches, and what it says to the
 * rest.  First failure from left to right wins. */

int
walk_no(struct walk *w, int code, const char *why)
{
    return eswitch_refuse(w->error, code, RTE_FLOW_ERROR_TYPE_ITEM, w->item,
                          why);
}

unsigned
walk_level(const struct walk *w)
{
    return w->draft->seen[0] & SEEN_TUNNEL ? 1 : 0;
}

static unsigned
seen(const struct walk *w)
{
    return w->draft->seen[walk_level(w)];
}

int
walk_acceptable(struct walk *w, const void *default_mask,
                const void *allowed, size_t size, bool range)
{
    const struct rte_flow_item *item = w->item;
    const uint8_t *spec = item->spec, *last = item->last, *mask, *nic;

    if (!spec && (item->mask || last)) {
        return walk_no(w, EINVAL, "mask or last without spec");
    }
    mask = w->mask = item->mask ? item->mask : default_mask;
    nic = allowed;
    for (size_t i = 0; spec && i < size; i++) {
        if (mask[i] & ~nic[i]) {
            return walk_no(w, ENOTSUP, "mask has an unsupported field");
        }
        if (last && !range && (spec[i] & mask[i]) != (last[i] & mask[i])) {
            return walk_no(w, EINVAL, "range is not supported");
        }
    }
    return 0;
}

void
walk_match(struct walk *w, void *key, void *mask, const void *spec,
           const void *spec_mask, size_t size)
{
    uint8_t *k = key, *m = mask;
    const uint8_t *s = spec, *sm = spec_mask;

    for (size_t i = 0; i < size; i++) {
        w->contradiction |= ((k[i] ^ s[i]) & m[i] & sm[i]) != 0;
        m[i] |= sm[i];
        k[i] = (k[i] & ~sm[i]) | (s[i] & sm[i]);
    }
}

void
walk_match_byte(struct walk *w, uint8_t *key, uint8_t *mask, uint8_t value)
{
    walk_match(w, key, mask, &value, &(uint8_t) { 0xff }, 1);
}

/* An L2 type with its mask.  Fully matched it also says what tags there are:
 * 'tagged' is set behind a VLAN item. */
static void
match_type(struct walk *w, uint16_t type, uint16_t mask, bool tagged)
{
    unsigned level = walk_level(w);

    if (mask != 0xffff) {
        type &= mask;
        MATCH(level, eth_type, type, mask);
        return;
    }
    w->next_type = type;
    if (type == RTE_BE16(RTE_ETHER_TYPE_VLAN)
        || type == RTE_BE16(RTE_ETHER_TYPE_QINQ)) {
        if (tagged) {
            MATCH_BYTE(level, vlan_more, 1);
        } else {
            MATCH_BYTE(level, vlan, type == RTE_BE16(RTE_ETHER_TYPE_VLAN)
                       ? VLAN_C : VLAN_S);
        }
        return;
    }
    if (tagged) {
        MATCH_BYTE(level, vlan_more, 0);
    } else {
        MATCH_BYTE(level, vlan, VLAN_NONE);
    }
    if (type == RTE_BE16(RTE_ETHER_TYPE_IPV4)) {
        MATCH_BYTE(level, ip_version, 4);
    } else if (type == RTE_BE16(RTE_ETHER_TYPE_IPV6)) {
        MATCH_BYTE(level, ip_version, 6);
    } else {
        MATCH(level, eth_type, type, mask);
    }
}

static int
item_eth(struct walk *w)
{
    static const struct rte_flow_item_eth allowed = {
        .hdr.dst_addr.addr_bytes = { 255, 255, 255, 255, 255, 255 },
        .hdr.src_addr.addr_bytes = { 255, 255, 255, 255, 255, 255 },
        .hdr.ether_type = 0xffff, .has_vlan = 1,
    };
    const struct rte_flow_item_eth *spec = w->item->spec, *mask;
    unsigned level = walk_level(w);
    int error;

    if (seen(w) & SEEN_ETH) {
        return walk_no(w, ENOTSUP, "second Ethernet header of a level");
    } else if (seen(w) & (SEEN_VLAN | SEEN_L3 | SEEN_L4)) {
        return walk_no(w, EINVAL, "Ethernet behind VLAN, L3 or L4");
    }
    error = walk_acceptable(w, &rte_flow_item_eth_mask, &allowed,
                            sizeof allowed, false);
    if (error) {
        return error;
    }
    w->draft->seen[level] |= SEEN_ETH;
    w->draft->sublevel = 2;
    MATCH_BYTE(level, ethernet, 1);
    if (spec) {
        mask = w->mask;
        MATCH(level, eth_dst, spec->dst, mask->dst);
        MATCH(level, eth_src, spec->src, mask->src);
        if (mask->type) {
            match_type(w, spec->type, mask->type, false);
        }
        if (mask->has_vlan) {
            const uint8_t any = VLAN_ANY;
            uint8_t kind = spec->has_vlan ? VLAN_ANY : VLAN_NONE;

            MATCH(level, vlan, kind, any);
        }
    }
    return 0;
}

static int
item_vlan(struct walk *w)
{
    static const struct rte_flow_item_vlan allowed = {
        .tci = 0xffff, .inner_type = 0xffff, .has_more_vlan = 1,
    };
    const struct rte_flow_item_vlan *spec = w->item->spec, *mask;
    unsigned level = walk_level(w);
    int error;

    if (seen(w) & SEEN_VLAN) {
        return walk_no(w, EINVAL, "second VLAN of a level");
    } else if (seen(w) & (SEEN_L3 | SEEN_L4)) {
        return walk_no(w, EINVAL, "VLAN behind L3 or L4");
    }
    error = walk_acceptable(w, &rte_flow_item_vlan_mask, &allowed,
                            sizeof allowed, false);
    if (error) {
        return error;
    }
    w->draft->seen[level] |= SEEN_VLAN;
    w->draft->sublevel = 2;
    if (w->next_type != RTE_BE16(RTE_ETHER_TYPE_QINQ)) {
        MATCH_BYTE(level, vlan, VLAN_C);
    }
    w->next_type = 0;
    if (spec) {
        mask = w->mask;
        MATCH(level, tci, spec->tci, mask->tci);
        if (mask->inner_type) {
            match_type(w, spec->inner_type, mask->inner_type, true);
        }
        if (mask->has_more_vlan) {
            MATCH_BYTE(level, vlan_more, spec->has_more_vlan);
        }
    }
    return 0;
}

/* What IPv4 and IPv6 items share. */
static int
l3_place(struct walk *w, uint16_t type)
{
    if (seen(w) & SEEN_L3) {
        return walk_no(w, ENOTSUP, "second L3 header of a level");
    } else if (seen(w) & SEEN_L4) {
        return walk_no(w, EINVAL, "L3 behind L4");
    } else if (w->next_type && w->next_type != type) {
        return walk_no(w, EINVAL, "L3 differs from the Ethernet type");
    }
    return 0;
}

/* mlx5 matches "not a fragment" and "any fragment", nothing finer. */
static int
ipv4_fragment(struct walk *w, const struct rte_flow_item_ipv4 *spec,
              const struct rte_flow_item_ipv4 *mask)
{
    const struct rte_flow_item_ipv4 *last = w->item->last;
    const uint16_t all = RTE_BE16(0x3fff);
    uint16_t m = mask->hdr.fragment_offset;
    uint16_t s = spec->hdr.fragment_offset & m;
    uint16_t l = last ? last->hdr.fragment_offset & m : s;

    if (!m) {
        return 0;
    } else if (m != all) {
        return walk_no(w, ENOTSUP, "partial mask of the fragment field");
    }
    if (l == s) {
        if (s) {
            return walk_no(w, ENOTSUP, "one kind of fragment");
        }
    } else if (s != RTE_BE16(1) || l != all) {
        return eswitch_refuse(w->error, ENOTSUP,
                              RTE_FLOW_ERROR_TYPE_ITEM_LAST, last,
                              "one range of fragments");
    }
    MATCH_BYTE(walk_level(w), fragment, s ? 1 : 0);
    return 0;
}

/* 'last' may differ from 'spec' in the fragment field only. */
static bool
ipv4_range_ok(const struct rte_flow_item *item,
              const struct rte_flow_item_ipv4 *mask)
{
    struct rte_ipv4_hdr spec, last;
    const uint8_t *m = (const uint8_t *) &mask->hdr;

    if (!item->spec || !item->last) {
        return true;
    }
    spec = ((const struct rte_flow_item_ipv4 *) item->spec)->hdr;
    last = ((const struct rte_flow_item_ipv4 *) item->last)->hdr;
    last.fragment_offset = spec.fragment_offset;
    for (size_t i = 0; i < sizeof spec; i++) {
        if ((((uint8_t *) &spec)[i] ^ ((uint8_t *) &last)[i]) & m[i]) {
            return false;
        }
    }
    return true;
}

static int
item_ipv4(struct walk *w)
{
    static const struct rte_flow_item_ipv4 allowed = {
        .hdr = { .src_addr = UINT32_MAX, .dst_addr = UINT32_MAX,
                 .type_of_service = 0xff, .next_proto_id = 0xff,
                 .time_to_live = 0xff, .fragment_offset = 0xffff },
    };
    const struct rte_flow_item_ipv4 *spec = w->item->spec, *mask;
    unsigned level = walk_level(w);
    int error = l3_place(w, RTE_BE16(RTE_ETHER_TYPE_IPV4));

    if (error) {
        return error;
    }
    mask = w->item->mask ? w->item->mask : &rte_flow_item_ipv4_mask;
    if (spec && mask->hdr.next_proto_id && mask->hdr.next_proto_id != 0xff) {
        return eswitch_refuse(w->error, EINVAL,
                              RTE_FLOW_ERROR_TYPE_ITEM_MASK, w->item->mask,
                              "partial mask of the protocol");
    }
    error = walk_acceptable(w, mask, &allowed, sizeof allowed, true);
    if (!error && !ipv4_range_ok(w->item, mask)) {
        error = walk_no(w, EINVAL, "range is not supported");
    }
    if (!error && spec) {
        error = ipv4_fragment(w, spec, mask);
    }
    if (error) {
        return error;
    }
    w->draft->seen[level] |= SEEN_IPV4;
    w->draft->sublevel = 1;
    w->next_proto = -1;
    MATCH_BYTE(level, ip_version, 4);
    if (spec) {
        MATCH(level, ip_src, spec->hdr.src_addr, mask->hdr.src_addr);
        MATCH(level, ip_dst, spec->hdr.dst_addr, mask->hdr.dst_addr);
        MATCH(level, tos, spec->hdr.type_of_service,
              mask->hdr.type_of_service);
        MATCH(level, ttl, spec->hdr.time_to_live, mask->hdr.time_to_live);
        MATCH(level, ip_proto, spec->hdr.next_proto_id,
              mask->hdr.next_proto_id);
        if (mask->hdr.next_proto_id) {
            w->next_proto = spec->hdr.next_proto_id;
        }
    }
    return 0;
}

static bool
is_extension(uint8_t proto)
{
    return proto == 0 || proto == 43 || proto == 44 || proto == 51
           || proto == 60;
}

static int
item_ipv6(struct walk *w)
{
    struct rte_flow_item_ipv6 allowed = {
        .hdr = { .vtc_flow = UINT32_MAX, .proto = 0xff, .hop_limits = 0xff },
        .has_frag_ext = 1,
    };
    const struct rte_flow_item_ipv6 *spec = w->item->spec, *mask;
    unsigned level = walk_level(w);
    int error = l3_place(w, RTE_BE16(RTE_ETHER_TYPE_IPV6));

    if (error) {
        return error;
    }
    memset(allowed.hdr.src_addr, 0xff, sizeof allowed.hdr.src_addr);
    memset(allowed.hdr.dst_addr, 0xff, sizeof allowed.hdr.dst_addr);
    mask = w->item->mask ? w->item->mask : &rte_flow_item_ipv6_mask;
    if (spec && mask->hdr.proto == 0xff && is_extension(spec->hdr.proto)) {
        return walk_no(w, EINVAL, "protocol is an extension header");
    }
    error = walk_acceptable(w, mask, &allowed, sizeof allowed, false);
    if (error) {
        return error;
    }
    w->draft->seen[level] |= SEEN_IPV6;
    w->draft->sublevel = 1;
    w->next_proto = -1;
    MATCH_BYTE(level, ip_version, 6);
    if (spec) {
        MATCH(level, ip_src, spec->hdr.src_addr, mask->hdr.src_addr);
        MATCH(level, ip_dst, spec->hdr.dst_addr, mask->hdr.dst_addr);
        MATCH(level, vtc_flow, spec->hdr.vtc_flow, mask->hdr.vtc_flow);
        MATCH(level, ttl, spec->hdr.hop_limits, mask->hdr.hop_limits);
        MATCH(level, ip_proto, spec->hdr.proto, mask->hdr.proto);
        if (mask->has_frag_ext) {
            MATCH_BYTE(level, fragment, spec->has_frag_ext);
        }
        if (mask->hdr.proto == 0xff) {
            w->next_proto = spec->hdr.proto;
        }
    }
    return 0;
}

static int
l4_place(struct walk *w, unsigned l3, unsigned l4, uint8_t proto)
{
    unsigned level = walk_level(w);

    if (w->next_proto >= 0 && w->next_proto != proto) {
        return walk_no(w, EINVAL, "L4 differs from the IP protocol");
    } else if (!(seen(w) & l3)) {
        return walk_no(w, EINVAL, "L4 without its L3");
    } else if (seen(w) & SEEN_L4) {
        return walk_no(w, EINVAL, "second L4 header of a level");
    }
    w->draft->seen[level] |= l4;
    w->draft->sublevel = 0;
    MATCH_BYTE(level, ip_proto, proto);
    return 0;
}

/* Fields of a header that is not there (later fragments) match nothing. */
static void
l4_fields(struct walk *w, bool some)
{
    if (some) {
        MATCH_BYTE(walk_level(w), l4, 1);
    }
}

static int
item_udp(struct walk *w)
{
    static const struct rte_flow_item_udp allowed = {
        .hdr = { .src_port = 0xffff, .dst_port = 0xffff },
    };
    const struct rte_flow_item_udp *spec = w->item->spec, *mask;
    unsigned level = walk_level(w);
    int error = l4_place(w, SEEN_L3, SEEN_UDP, IPPROTO_UDP);

    if (!error) {
        error = walk_acceptable(w, &rte_flow_item_udp_mask, &allowed,
                                sizeof allowed, false);
    }
    if (!error && spec) {
        mask = w->mask;
        MATCH(level, l4_src, spec->hdr.src_port, mask->hdr.src_port);
        MATCH(level, l4_dst, spec->hdr.dst_port, mask->hdr.dst_port);
        l4_fields(w, mask->hdr.src_port || mask->hdr.dst_port);
        if (!level && mask->hdr.dst_port) {
            w->dport_given = true;
        }
    }
    return error;
}

static int
item_tcp(struct walk *w)
{
    static const struct rte_flow_item_tcp allowed = {
        .hdr = { .src_port = 0xffff, .dst_port = 0xffff, .tcp_flags = 0xff },
    };
    const struct rte_flow_item_tcp *spec = w->item->spec, *mask;
    unsigned level = walk_level(w);
    int error = l4_place(w, SEEN_L3, SEEN_TCP, IPPROTO_TCP);

    if (!error) {
        error = walk_acceptable(w, &rte_flow_item_tcp_mask, &allowed,
                                sizeof allowed, false);
    }
    if (!error && spec) {
        mask = w->mask;
        MATCH(level, l4_src, spec->hdr.src_port, mask->hdr.src_port);
        MATCH(level, l4_dst, spec->hdr.dst_port, mask->hdr.dst_port);
        MATCH(level, tcp_flags, spec->hdr.tcp_flags, mask->hdr.tcp_flags);
        l4_fields(w, mask->hdr.src_port || mask->hdr.dst_port
                     || mask->hdr.tcp_flags);
    }
    return error;
}

static void
icmp_fields(struct walk *w, bool some)
{
    w->draft->icmp_fields |= some;
    l4_fields(w, some);
}

static int
item_icmp(struct walk *w)
{
    static const struct rte_flow_item_icmp allowed = {
        .hdr = { .icmp_type = 0xff, .icmp_code = 0xff,
                 .icmp_ident = 0xffff, .icmp_seq_nb = 0xffff },
    };
    const struct rte_flow_item_icmp *spec = w->item->spec, *mask;
    unsigned level = walk_level(w);
    int error = l4_place(w, SEEN_IPV4, SEEN_ICMP, IPPROTO_ICMP);

    if (!error) {
        error = walk_acceptable(w, &rte_flow_item_icmp_mask, &allowed,
                                sizeof allowed, false);
    }
    if (!error && spec) {
        mask = w->mask;
        MATCH(level, icmp_type, spec->hdr.icmp_type, mask->hdr.icmp_type);
        MATCH(level, icmp_code, spec->hdr.icmp_code, mask->hdr.icmp_code);
        MATCH(level, icmp_ident, spec->hdr.icmp_ident, mask->hdr.icmp_ident);
        MATCH(level, icmp_seq, spec->hdr.icmp_seq_nb, mask->hdr.icmp_seq_nb);
        icmp_fields(w, mask->hdr.icmp_type || mask->hdr.icmp_code
                       || mask->hdr.icmp_ident || mask->hdr.icmp_seq_nb);
    }
    return error;
}

static int
item_icmp6(struct walk *w)
{
    static const struct rte_flow_item_icmp6 allowed = {
        .type = 0xff, .code = 0xff,
    };
    const struct rte_flow_item_icmp6 *spec = w->item->spec, *mask;
    unsigned level = walk_level(w);
    int error = l4_place(w, SEEN_IPV6, SEEN_ICMP6, IPPROTO_ICMPV6);

    if (!error) {
        error = walk_acceptable(w, &rte_flow_item_icmp6_mask, &allowed,
                                sizeof allowed, false);
    }
    if (!error && spec) {
        mask = w->mask;
        MATCH(level, icmp_type, spec->type, mask->type);
        MATCH(level, icmp_code, spec->code, mask->code);
        icmp_fields(w, mask->type || mask->code);
    }
    return error;
}

static int
walk_item(struct walk *w)
{
    switch ((int) w->item->type) {
    case RTE_FLOW_ITEM_TYPE_ETH:
        return item_eth(w);
    case RTE_FLOW_ITEM_TYPE_VLAN:
        return item_vlan(w);
    case RTE_FLOW_ITEM_TYPE_IPV4:
        return item_ipv4(w);
    case RTE_FLOW_ITEM_TYPE_IPV6:
        return item_ipv6(w);
    case RTE_FLOW_ITEM_TYPE_UDP:
        return item_udp(w);
    case RTE_FLOW_ITEM_TYPE_TCP:
        return item_tcp(w);
    case RTE_FLOW_ITEM_TYPE_ICMP:
        return item_icmp(w);
    case RTE_FLOW_ITEM_TYPE_ICMP6:
        return item_icmp6(w);
    case RTE_FLOW_ITEM_TYPE_VXLAN:
        return walk_vxlan(w);
    case RTE_FLOW_ITEM_TYPE_GENEVE:
        return walk_geneve(w);
    case RTE_FLOW_ITEM_TYPE_GENEVE_OPT:
        return walk_geneve_option(w);
    case RTE_FLOW_ITEM_TYPE_PORT_ID:
    case RTE_FLOW_ITEM_TYPE_REPRESENTED_PORT:
    case RTE_FLOW_ITEM_TYPE_PORT_REPRESENTOR:
        return walk_port(w);
    default:
        return walk_no(w, ENOTSUP, "item is not supported");
    }
}

int
eswitch_validate_items(struct draft *draft,
                       const struct rte_flow_item items[],
                       struct rte_flow_error *error)
{
    struct walk w = { .draft = draft, .error = error, .next_proto = -1 };
    const uint16_t all = UINT16_MAX;
    uint16_t source;

    if (!items) {
        return eswitch_refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM_NUM,
                              NULL, "no pattern");
    }
    draft->source = draft->port;
    draft->sublevel = 2;
    for (; items->type != RTE_FLOW_ITEM_TYPE_END; items++) {
        int retval;

        if (items->type == RTE_FLOW_ITEM_TYPE_VOID) {
            continue;
        }
        w.item = items;
        retval = walk_item(&w);
        if (retval) {
            return retval;
        }
        w.last = items;
    }
    walk_tunnel_inner(&w);

    /* No traffic has source 0, that of nobody. */
    source = draft->source ? draft->source->index : 0;
    walk_match(&w, &draft->key.source, &draft->mask.source, &source, &all,
               sizeof source);
    if (w.contradiction) {
        return eswitch_refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, NULL,
                              "pattern contradicts itself");
    }
    return 0;
}
