/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#include <config.h>

#include "test.h"

#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

/* Random rules and random packets: the model against a twin.
 *
 * A packet begins as a description, from which its bytes are written.  The
 * twin compares the items of a rule with the description, one by one, and
 * never sees the bytes; the model sees nothing but the bytes. */

struct level {
    bool eth;
    uint8_t dst, src;           /* Last bytes of the MAC addresses. */
    unsigned n_tags;
    uint16_t tpid[2], tci[2];
    uint16_t type;              /* Behind the tags. */
    uint8_t ip_src, ip_dst;     /* Last bytes. */
    uint8_t tos, ttl, proto;
    uint8_t fragment;           /* 0: none, 1: first, 2: later. */
    uint8_t sport, flags, icmp_type, icmp_code;
    uint16_t dport;
};

struct description {
    struct level level[2];
    unsigned kind;              /* enum tunnel_kind. */
    uint8_t vni, oam;
    bool other, ours;           /* Options. */
    uint32_t data;
};

enum { IPV4 = 0x0800, IPV6 = 0x86dd, ARP = 0x0806, OTHER_TYPE = 0x88cc };

static bool
chance(unsigned percent)
{
    return test_random() % 100 < percent;
}

static unsigned
one_of(const unsigned *values, unsigned n)
{
    return values[test_random() % n];
}

#define ONE_OF(...) \
    one_of((const unsigned[]) { __VA_ARGS__ }, \
           sizeof((const unsigned[]) { __VA_ARGS__ }) / sizeof(unsigned))

static void
random_level(struct level *l, bool carries_tunnel)
{
    l->eth = true;
    l->dst = ONE_OF(1, 2, 3);
    l->src = ONE_OF(1, 2);
    l->n_tags = ONE_OF(0, 0, 0, 1, 1, 2);
    for (int i = 0; i < 2; i++) {
        l->tpid[i] = ONE_OF(0x8100, 0x8100, 0x88a8);
        l->tci[i] = ONE_OF(1, 2, 0x2001, 0x6002);
    }
    l->type = (carries_tunnel ? ONE_OF(IPV4, IPV6)
               : ONE_OF(IPV4, IPV4, IPV6, IPV6, ARP, OTHER_TYPE));
    l->ip_src = ONE_OF(1, 2);
    l->ip_dst = ONE_OF(1, 2);
    l->tos = ONE_OF(0, 4, 0xb8);
    l->ttl = ONE_OF(1, 64);
    l->proto = (carries_tunnel ? 17
                : ONE_OF(6, 17, l->type == IPV4 ? 1 : 58, 132));
    l->fragment = carries_tunnel ? 0 : ONE_OF(0, 0, 0, 1, 2);
    l->sport = ONE_OF(0, 1, 2);
    l->dport = ONE_OF(0, 1, 2);
    l->flags = ONE_OF(2, 16, 18);
    l->icmp_type = ONE_OF(0, 8);
    l->icmp_code = ONE_OF(0, 1);
}

static void
random_packet(struct description *d)
{
    d->kind = ONE_OF(TUNNEL_NONE, TUNNEL_VXLAN, TUNNEL_GENEVE,
                     TUNNEL_GENEVE);
    random_level(&d->level[0], d->kind);
    random_level(&d->level[1], false);
    if (d->kind) {
        d->level[0].dport = d->kind == TUNNEL_VXLAN ? 4789 : 6081;
    }
    d->vni = ONE_OF(5, 6);
    d->oam = chance(20);
    d->other = chance(30);
    d->ours = chance(70);
    d->data = ONE_OF(0x10002, 0x10003, 0x80010002);
    if (d->kind == TUNNEL_GENEVE && chance(20)
        && (d->level[1].type == IPV4 || d->level[1].type == IPV6)) {
        d->level[1].eth = false;
        d->level[1].n_tags = 0;
    }
}

/* Takes some parts from another packet. */
static void
mutate(struct description *d)
{
    struct description other;
    unsigned at = test_random() % 2;
    struct level *l = &d->level[at];
    const struct level *o = &other.level[at];

    random_packet(&other);
    switch (test_random() % 12) {
    case 0: l->dst = o->dst; break;
    case 1: l->src = o->src; break;
    case 2: l->n_tags = l->eth ? o->n_tags : 0; break;
    case 3: memcpy(l->tci, o->tci, sizeof l->tci); break;
    case 4: memcpy(l->tpid, o->tpid, sizeof l->tpid); break;
    case 5: l->ip_src = o->ip_src; l->ip_dst = o->ip_dst; break;
    case 6: l->ttl = o->ttl; l->tos = o->tos; break;
    case 7:
        l->sport = o->sport;
        l->dport = !at && d->kind ? l->dport : o->dport;
        break;
    case 8: l->flags = o->flags; l->icmp_type = o->icmp_type; break;
    case 9: d->vni = other.vni; d->oam = other.oam; break;
    case 10: d->data = other.data; d->ours = other.ours; break;
    case 11: d->other = other.other; l->icmp_code = o->icmp_code; break;
    }
}

/* The bytes. */
static uint8_t *
put(uint8_t *p, uint64_t value, unsigned bytes)
{
    while (bytes--) {
        *p++ = bytes < 8 ? value >> (8 * bytes) : 0;
    }
    return p;
}

static uint8_t *
put_l4(uint8_t *p, const struct level *l)
{
    if (l->fragment == 2) {
        return put(p, 0x0001000100010001, 8);
    } else if (l->proto == 6) {
        p = put(put(p, l->sport, 2), l->dport, 2);
        p = put(p, 0, 8);
        p = put(put(p, 0x50, 1), l->flags, 1);
        return put(p, 0, 6);
    } else if (l->proto == 17) {
        p = put(put(p, l->sport, 2), l->dport, 2);
        return put(p, 0, 4);
    } else if (l->proto == 1 || l->proto == 58) {
        p = put(put(p, l->icmp_type, 1), l->icmp_code, 1);
        return put(p, 0, 6);
    }
    return put(p, 0, 8);
}

static uint8_t *
put_level(uint8_t *p, const struct level *l)
{
    if (l->eth) {
        p = put(put(p, l->dst, 6), l->src, 6);
        for (unsigned i = 0; i < l->n_tags; i++) {
            p = put(put(p, l->tpid[i], 2), l->tci[i], 2);
        }
        p = put(p, l->type, 2);
    }
    if (l->type == IPV4) {
        p = put(put(p, 0x45, 1), l->tos, 1);
        p = put(p, 0, 4);
        p = put(p, l->fragment == 1 ? 0x2000 : l->fragment ? 5 : 0, 2);
        p = put(put(p, l->ttl, 1), l->proto, 1);
        p = put(p, 0, 2);
        p = put(put(p, l->ip_src, 4), l->ip_dst, 4);
        p = put_l4(p, l);
    } else if (l->type == IPV6) {
        p = put(p, 6 << 28 | l->tos << 20, 4);
        p = put(p, 0, 2);
        p = put(put(p, l->fragment ? 44 : l->proto, 1), l->ttl, 1);
        p = put(put(p, 0, 8), l->ip_src, 8);
        p = put(put(p, 0, 8), l->ip_dst, 8);
        if (l->fragment) {
            p = put(put(p, l->proto, 1), 0, 1);
            p = put(p, l->fragment == 1 ? 1 : 5 << 3, 2);
            p = put(p, 1, 4);
        }
        p = put_l4(p, l);
    } else {
        p = put(p, 0x0001080006040001, 8);
    }
    return p;
}

static size_t
put_packet(uint8_t *start_, const struct description *d)
{
    const struct level *inner = &d->level[1];
    uint8_t *p = start_;

    p = put_level(p, &d->level[0]);
    if (d->kind == TUNNEL_VXLAN) {
        p = put(put(p, 0x08000000, 4), d->vni << 8, 4);
    } else if (d->kind == TUNNEL_GENEVE) {
        p = put(p, (d->other ? 3 : 0) + (d->ours ? 2 : 0), 1);
        p = put(p, d->oam << 7, 1);
        p = put(p, inner->eth ? 0x6558 : inner->type, 2);
        p = put(p, d->vni << 8, 4);
        if (d->other) {
            p = put(put(p, 0x01030102, 4), 0x0102030405060708, 8);
        }
        if (d->ours) {
            p = put(put(p, 0x01028001, 4), d->data, 4);
        }
    }
    if (d->kind) {
        p = put_level(p, inner);
    }
    return put(p, 0, 20) - start_;
}

/* A rule, and for each item what the twin says to a description. */
struct wish {
    bool eth, vlan, ip, l4;
    uint8_t dst, dst_mask, src, src_mask;
    uint16_t type, inner_type, tci, tci_mask;
    bool want_type, want_inner_type, want_more, more, want_fragment, fragment;
    unsigned version;
    uint8_t ip_src, ip_src_mask, ip_dst, ip_dst_mask, ttl, ttl_mask;
    uint8_t tos, tos_mask, proto, l4_proto;
    bool want_proto;
    uint8_t sport, sport_mask, dport_mask, flags, flags_mask;
    uint16_t dport;
};

struct rule_wish {
    struct wish level[2];
    unsigned kind;
    uint8_t vni, vni_mask;
    bool want_oam, oam, want_len, want_option;
    uint8_t len;
    uint32_t data, data_mask;
};

static uint8_t
random_mask(void)
{
    return ONE_OF(0, 0, 0xff, 0xff, 1);
}

static void
wish_level(struct wish *w, const struct level *l, bool tunnel)
{
    memset(w, 0, sizeof *w);
    w->eth = l->eth && chance(85);
    w->dst = l->dst;
    w->dst_mask = random_mask();
    w->src = l->src;
    w->src_mask = random_mask();
    w->want_type = chance(50);
    w->type = l->n_tags ? l->tpid[0] : l->type;
    w->vlan = w->eth && (l->n_tags ? chance(70) : chance(5));
    w->tci = l->tci[0];
    w->tci_mask = ONE_OF(0, 0xfff, 0xffff, 0xe000);
    w->want_inner_type = chance(40);
    w->inner_type = l->n_tags == 2 ? l->tpid[1] : l->type;
    w->want_more = chance(20);
    w->more = l->n_tags == 2;
    w->version = l->type == IPV4 ? 4 : l->type == IPV6 ? 6 : 0;
    w->ip = w->version && (tunnel || chance(80));
    w->ip_src = l->ip_src;
    w->ip_src_mask = random_mask();
    w->ip_dst = l->ip_dst;
    w->ip_dst_mask = random_mask();
    w->ttl = l->ttl;
    w->ttl_mask = chance(20) ? 0xff : 0;
    w->tos = l->tos;
    w->tos_mask = ONE_OF(0, 0, 0, 0xff, 0xfc);
    w->want_fragment = chance(40);
    w->fragment = l->fragment != 0;
    w->want_proto = chance(40);
    w->proto = w->l4_proto = l->proto;
    w->l4 = w->ip && (tunnel || chance(70))
            && (l->proto == 6 || l->proto == 17 || l->proto == 1
                || l->proto == 58);
    w->sport = l->sport;
    w->sport_mask = random_mask();
    w->dport = l->dport;
    w->dport_mask = tunnel ? 0 : random_mask();
    w->flags = l->flags;
    w->flags_mask = random_mask();
    if (chance(15)) {
        w->ip_dst ^= 3;
    }
    if (chance(5)) {
        w->want_proto = true;
        w->l4 = tunnel;
        w->proto = tunnel ? w->proto : 6;
    }
}

static void
make_level(const struct wish *w)
{
    if (w->eth) {
        struct rte_flow_item_eth spec = {
            .dst.addr_bytes[5] = w->dst, .src.addr_bytes[5] = w->src,
            .type = rte_cpu_to_be_16(w->type),
        };
        struct rte_flow_item_eth mask = {
            .dst.addr_bytes[5] = w->dst_mask,
            .src.addr_bytes[5] = w->src_mask,
            .type = w->want_type ? 0xffff : 0,
        };

        item(RTE_FLOW_ITEM_TYPE_ETH, &spec, &mask, sizeof spec);
    }
    if (w->vlan) {
        struct rte_flow_item_vlan spec = {
            .tci = rte_cpu_to_be_16(w->tci),
            .inner_type = rte_cpu_to_be_16(w->inner_type),
            .has_more_vlan = w->more,
        };
        struct rte_flow_item_vlan mask = {
            .tci = rte_cpu_to_be_16(w->tci_mask),
            .inner_type = w->want_inner_type ? 0xffff : 0,
            .has_more_vlan = w->want_more,
        };

        item(RTE_FLOW_ITEM_TYPE_VLAN, &spec, &mask, sizeof spec);
    }
    if (w->ip && w->version == 4) {
        struct rte_flow_item_ipv4 spec = { .hdr = {
            .src_addr = rte_cpu_to_be_32(w->ip_src),
            .dst_addr = rte_cpu_to_be_32(w->ip_dst),
            .time_to_live = w->ttl, .type_of_service = w->tos,
            .next_proto_id = w->proto,
            .fragment_offset = w->fragment ? RTE_BE16(1) : 0,
        } };
        struct rte_flow_item_ipv4 last = spec;
        struct rte_flow_item_ipv4 mask = { .hdr = {
            .src_addr = rte_cpu_to_be_32(w->ip_src_mask),
            .dst_addr = rte_cpu_to_be_32(w->ip_dst_mask),
            .time_to_live = w->ttl_mask, .type_of_service = w->tos_mask,
            .next_proto_id = w->want_proto ? 0xff : 0,
            .fragment_offset = w->want_fragment ? RTE_BE16(0x3fff) : 0,
        } };

        item(RTE_FLOW_ITEM_TYPE_IPV4, &spec, &mask, sizeof spec);
        if (w->want_fragment && w->fragment) {
            last.hdr.fragment_offset = RTE_BE16(0x3fff);
            item_last(&last, sizeof last);
        }
    } else if (w->ip) {
        struct rte_flow_item_ipv6 spec = { .hdr = {
            .vtc_flow = rte_cpu_to_be_32(w->tos << 20), .proto = w->proto,
            .hop_limits = w->ttl,
        }, .has_frag_ext = w->fragment };
        struct rte_flow_item_ipv6 mask = { .hdr = {
            .vtc_flow = rte_cpu_to_be_32(w->tos_mask << 20),
            .proto = w->want_proto ? 0xff : 0, .hop_limits = w->ttl_mask,
        }, .has_frag_ext = w->want_fragment };

        spec.hdr.src_addr[15] = w->ip_src;
        spec.hdr.dst_addr[15] = w->ip_dst;
        mask.hdr.src_addr[15] = w->ip_src_mask;
        mask.hdr.dst_addr[15] = w->ip_dst_mask;
        item(RTE_FLOW_ITEM_TYPE_IPV6, &spec, &mask, sizeof spec);
    }
    if (!w->l4) {
        return;
    }
    if (w->l4_proto == 1 || w->l4_proto == 58) {
        item(w->l4_proto == 1 ? RTE_FLOW_ITEM_TYPE_ICMP
             : RTE_FLOW_ITEM_TYPE_ICMP6, NULL, NULL, 0);
    } else if (w->l4_proto == 6) {
        struct rte_flow_item_tcp spec = { .hdr = {
            .src_port = rte_cpu_to_be_16(w->sport),
            .dst_port = rte_cpu_to_be_16(w->dport), .tcp_flags = w->flags,
        } };
        struct rte_flow_item_tcp mask = { .hdr = {
            .src_port = rte_cpu_to_be_16(w->sport_mask),
            .dst_port = rte_cpu_to_be_16(w->dport_mask),
            .tcp_flags = w->flags_mask,
        } };

        item(RTE_FLOW_ITEM_TYPE_TCP, &spec, &mask, sizeof spec);
    } else {
        struct rte_flow_item_udp spec = { .hdr = {
            .src_port = rte_cpu_to_be_16(w->sport),
            .dst_port = rte_cpu_to_be_16(w->dport),
        } };
        struct rte_flow_item_udp mask = { .hdr = {
            .src_port = rte_cpu_to_be_16(w->sport_mask),
            .dst_port = rte_cpu_to_be_16(w->dport_mask),
        } };

        item(RTE_FLOW_ITEM_TYPE_UDP, &spec, &mask, sizeof spec);
    }
}

static bool
differ(uint32_t a, uint32_t b, uint32_t mask)
{
    return (a ^ b) & mask;
}

/* The twin. */
static bool
fits_level(const struct wish *w, const struct level *l)
{
    if (w->eth) {
        bool tpid = w->type == 0x8100 || w->type == 0x88a8;

        if (!l->eth || differ(w->dst, l->dst, w->dst_mask)
            || differ(w->src, l->src, w->src_mask)
            || (w->want_type && tpid
                && (!l->n_tags || l->tpid[0] != w->type))
            || (w->want_type && !tpid && (l->n_tags || l->type != w->type))) {
            return false;
        }
    }
    if (w->vlan) {
        bool s = w->want_type && w->type == 0x88a8;
        bool tpid = w->inner_type == 0x8100 || w->inner_type == 0x88a8;

        if (!l->n_tags || l->tpid[0] != (s ? 0x88a8 : 0x8100)
            || differ(w->tci, l->tci[0], w->tci_mask)
            || (w->want_more && w->more != (l->n_tags == 2))
            || (w->want_inner_type && tpid && l->n_tags != 2)
            || (w->want_inner_type && !tpid
                && (l->n_tags != 1 || l->type != w->inner_type))) {
            return false;
        }
    }
    if (w->ip) {
        if (l->type != (w->version == 4 ? IPV4 : IPV6)
            || differ(w->ip_src, l->ip_src, w->ip_src_mask)
            || differ(w->ip_dst, l->ip_dst, w->ip_dst_mask)
            || differ(w->ttl, l->ttl, w->ttl_mask)
            || differ(w->tos, l->tos, w->tos_mask)
            || (w->want_proto && w->proto != l->proto)
            || (w->want_fragment && w->fragment != (l->fragment != 0))) {
            return false;
        }
    }
    if (w->l4) {
        bool tcp_ = w->l4_proto == 6, ports = tcp_ || w->l4_proto == 17;
        bool some = (ports && (w->sport_mask || w->dport_mask))
                    || (tcp_ && w->flags_mask);

        if (w->l4_proto != l->proto || (some && l->fragment == 2)
            || (ports && (differ(w->sport, l->sport, w->sport_mask)
                          || differ(w->dport, l->dport, w->dport_mask)))
            || (tcp_ && differ(w->flags, l->flags, w->flags_mask))) {
            return false;
        }
    }
    return true;
}

static bool
fits(const struct rule_wish *r, const struct description *d)
{
    const struct wish *in = &r->level[1];
    unsigned len = (d->other ? 3 : 0) + (d->ours ? 2 : 0);

    if (!fits_level(&r->level[0], &d->level[0])) {
        return false;
    } else if (!r->kind) {
        return true;
    } else if (r->kind != d->kind || differ(r->vni, d->vni, r->vni_mask)) {
        return false;
    }
    if (r->kind == TUNNEL_GENEVE) {
        if ((r->want_oam && r->oam != d->oam) || (r->want_len && r->len != len)
            || (r->want_option && (!d->ours || differ(r->data, d->data,
                                                      r->data_mask)))) {
            return false;
        }
        /* Inner headers ask for the protocol they begin with. */
        if (!in->eth && !in->vlan && in->ip && d->level[1].eth) {
            return false;
        }
    }
    return fits_level(in, &d->level[1]);
}

static void
make_rule(struct rule_wish *r, const struct description *d)
{
    memset(r, 0, sizeof *r);
    r->kind = d->kind && chance(80) ? d->kind : TUNNEL_NONE;
    wish_level(&r->level[0], &d->level[0], r->kind);
    r->vni = d->vni;
    r->vni_mask = random_mask();
    start(UA);
    make_level(&r->level[0]);
    if (r->kind == TUNNEL_VXLAN) {
        struct rte_flow_item_vxlan spec = { .vni = { 0, 0, d->vni } };
        struct rte_flow_item_vxlan mask = { .vni = { 0, 0, r->vni_mask } };

        item(RTE_FLOW_ITEM_TYPE_VXLAN, &spec, &mask, sizeof spec);
    } else if (r->kind) {
        struct rte_flow_item_geneve spec = { .vni = { 0, 0, d->vni } };
        struct rte_flow_item_geneve mask = { .vni = { 0, 0, r->vni_mask } };

        r->want_len = chance(20);
        r->len = (d->other ? 3 : 0) + (d->ours ? 2 : 0);
        r->want_oam = (r->want_len || chance(10));
        r->oam = d->oam;
        spec.ver_opt_len_o_c_rsvd0 = rte_cpu_to_be_16(r->len << 8
                                                      | r->oam << 7);
        mask.ver_opt_len_o_c_rsvd0 = rte_cpu_to_be_16(
            (r->want_len ? 0x3f00 : 0) | (r->want_oam ? 0x80 : 0));
        if (!r->want_len && !r->want_oam) {
            spec.ver_opt_len_o_c_rsvd0 = 0;
        }
        item(RTE_FLOW_ITEM_TYPE_GENEVE, &spec, &mask, sizeof spec);
        r->want_option = d->ours && chance(60);
        r->data = d->data;
        r->data_mask = ONE_OF(0x7fffffff, 0xffffffff, 0xffff);
        if (r->want_option) {
            option(0x0102, 0x80, 1, r->data, r->data_mask);
        }
    }
    if (r->kind) {
        wish_level(&r->level[1], &d->level[1], false);
        make_level(&r->level[1]);
    }
    drop();
}

void
test_fuzz(unsigned n_rules)
{
    unsigned n_made = 0, n_hits = 0, n_packets = 0;
    struct rule_wish wish;
    struct description base, d;
    struct rte_flow *rule;
    struct rte_mbuf *mbuf;
    uint8_t bytes[512];
    bool kept, fit;

    test_begin("the matcher and its twin, seed %lu", test_seed);
    for (unsigned i = 0; i < n_rules; i++) {
        random_packet(&base);
        make_rule(&wish, &base);
        rule = make_quiet();
        if (!rule) {
            continue;
        }
        n_made++;
        for (int j = 0; j < 40; j++) {
            d = base;
            for (unsigned k = test_random() % 4; k; k--) {
                mutate(&d);
            }
            if (chance(10)) {
                random_packet(&d);
            }
            mbuf = test_mbuf(bytes, put_packet(bytes, &d));
            kept = eswitch_receive(test_ports[UA], &mbuf, 1);
            if (kept) {
                rte_pktmbuf_free(mbuf);
            }
            fit = fits(&wish, &d);
            n_hits += fit;
            n_packets++;
            if (fit == kept) {
                char *text = eswitch_show("rules");

                test_check(false, "rule %u, packet %d: the model says %s\n%s",
                           i, j, kept ? "no" : "yes", text);
                for (size_t k = 0; k < 200; k++) {
                    printf("%02x", bytes[k]);
                }
                putchar('\n');
                free(text);
                unmake(UA, rule);
                test_end();
                return;
            }
        }
        unmake(UA, rule);
    }
    printf("info: %u rules, %u packets, of which %u fit\n", n_made,
           n_packets, n_hits);
    test_check(n_made > n_rules / 2 && n_hits > n_packets / 10,
               "too few rules or hits");
    test_end();
}
