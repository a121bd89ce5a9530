/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#include <config.h>

#include "model.h"

#include <string.h>

/* The NIC's parser: outer headers, one tunnel on its well known UDP port, and
 * inner headers.  What is cut short or malformed ends the parse; the headers
 * before it still count.  What the lengths in IP headers say does not: as far
 * as is known of the mlx5 driver, which cannot match them, headers are where
 * those before them end. */

enum {
    PORT_GENEVE = 6081, PORT_VXLAN = 4789,
    TYPE_IPV4 = 0x0800, TYPE_IPV6 = 0x86dd, TYPE_TEB = 0x6558,
    TYPE_C = 0x8100, TYPE_S = 0x88a8
};

struct parse {
    const uint8_t *data;
    size_t size;
    size_t at;                  /* Next byte. */
    struct level_key *key;
    struct level_place *place;
};

static unsigned
get16(const uint8_t *p)
{
    return p[0] << 8 | p[1];
}

static bool
left(const struct parse *p, size_t n)
{
    return p->size - p->at >= n;
}

/* Returns the type of what follows, or -1. */
static int
parse_ethernet(struct parse *p)
{
    const uint8_t *eth = p->data + p->at;
    unsigned type, tags = 0;

    if (!left(p, 14)) {
        return -1;
    }
    memcpy(p->key->eth_dst, eth, 6);
    memcpy(p->key->eth_src, eth + 6, 6);
    p->key->ethernet = 1;
    p->place->eth = p->at;
    type = get16(eth + 12);
    p->at += 14;
    while ((type == TYPE_C || type == TYPE_S) && tags < 2) {
        const uint8_t *tag = p->data + p->at;

        if (!left(p, 4)) {
            return -1;
        }
        if (!tags++) {
            p->key->vlan = type == TYPE_C ? VLAN_C : VLAN_S;
            memcpy(&p->key->tci, tag, 2);
        } else {
            p->key->vlan_more = 1;
        }
        type = get16(tag + 2);
        p->at += 4;
    }
    p->key->eth_type = rte_cpu_to_be_16(type);
    p->place->end = p->at;
    return type;
}

static void
parse_l4(struct parse *p, bool later_fragment)
{
    const uint8_t *l4 = p->data + p->at;
    uint8_t proto = p->key->ip_proto;
    size_t need = (proto == IPPROTO_TCP ? 20
                   : proto == IPPROTO_UDP || proto == IPPROTO_ICMP ? 8
                   : proto == IPPROTO_ICMPV6 ? 4 : SIZE_MAX);

    if (later_fragment || !left(p, need)) {
        return;
    }
    p->key->l4 = 1;
    p->place->l4 = p->at;
    if (proto == IPPROTO_TCP || proto == IPPROTO_UDP) {
        memcpy(&p->key->l4_src, l4, 2);
        memcpy(&p->key->l4_dst, l4 + 2, 2);
        p->key->tcp_flags = proto == IPPROTO_TCP ? l4[13] : 0;
    } else {
        p->key->icmp_type = l4[0];
        p->key->icmp_code = l4[1];
        if (proto == IPPROTO_ICMP) {
            memcpy(&p->key->icmp_ident, l4 + 4, 2);
            memcpy(&p->key->icmp_seq, l4 + 6, 2);
        }
    }
    p->at += need;
    p->place->end = p->at;
}

static void
parse_ipv4(struct parse *p)
{
    const uint8_t *ip = p->data + p->at;
    unsigned offset, header;

    if (!left(p, 20) || ip[0] >> 4 != 4 || (ip[0] & 0xf) < 5) {
        return;
    }
    header = (ip[0] & 0xf) * 4;
    offset = get16(ip + 6) & 0x3fff;
    p->key->ip_version = 4;
    p->key->ip_proto = ip[9];
    p->key->tos = ip[1];
    p->key->ttl = ip[8];
    p->key->fragment = offset != 0;
    memcpy(p->key->ip_src, ip + 12, 4);
    memcpy(p->key->ip_dst, ip + 16, 4);
    p->place->l3 = p->at;
    if (!left(p, header)) {
        p->at = p->size;
        return;
    }
    p->at += header;
    p->place->end = p->at;
    parse_l4(p, offset & 0x1fff);
}

static void
parse_ipv6(struct parse *p)
{
    const uint8_t *ip = p->data + p->at;
    bool later = false;
    uint8_t proto;

    if (!left(p, 40) || ip[0] >> 4 != 6) {
        return;
    }
    proto = ip[6];
    p->key->ip_version = 6;
    p->key->ttl = ip[7];
    memcpy(&p->key->vtc_flow, ip, 4);
    memcpy(p->key->ip_src, ip + 8, 16);
    memcpy(p->key->ip_dst, ip + 24, 16);
    p->place->l3 = p->at;
    p->at += 40;
    while (proto == 0 || proto == 43 || proto == 44 || proto == 51
           || proto == 60) {
        const uint8_t *extension = p->data + p->at;
        size_t size;

        if (!left(p, 8)) {
            break;
        }
        size = (proto == 44 ? 8 : proto == 51 ? (extension[1] + 2) * 4
                : (extension[1] + 1) * 8);
        if (!left(p, size)) {
            break;
        }
        if (proto == 44) {
            p->key->fragment = 1;
            later |= (get16(extension + 2) & 0xfff8) != 0;
        }
        proto = extension[0];
        p->at += size;
        if (later) {
            break;
        }
    }
    p->key->ip_proto = proto;
    p->place->end = p->at;
    parse_l4(p, later);
}

/* The option that the eSwitch matches, wherever it is among the others. */
static void
parse_options(const struct eswitch *eswitch, const uint8_t *option,
              size_t size, struct tunnel_key *key)
{
    while (size >= 4) {
        size_t length = 4 + (option[3] & 0x1f) * 4;

        if (length > size) {
            return;
        }
        if (!memcmp(option, &eswitch->tuple_class, 2)
            && option[2] == eswitch->tuple_type
            && (option[3] & 0x1f) == eswitch->tuple_len && length >= 8) {
            key->option = 1;
            memcpy(&key->option_data, option + 4, 4);
            return;
        }
        option += length;
        size -= length;
    }
}

/* Returns the type of what follows, or -1 if there is no tunnel. */
static int
parse_tunnel(const struct eswitch *eswitch, struct parse *p,
             struct packet *packet)
{
    const uint8_t *header = p->data + p->at;
    struct tunnel_key *key = &packet->key.tunnel;
    size_t options;

    if (p->key->ip_proto != IPPROTO_UDP || !p->key->l4 || !left(p, 8)) {
        return -1;
    }
    packet->tunnel = p->at;
    if (p->key->l4_dst == RTE_BE16(PORT_VXLAN)) {
        if (header[0] & 0x08) {
            key->kind = TUNNEL_VXLAN;
            memcpy(key->vni, header + 4, 3);
            p->at += 8;
            packet->payload = p->at;
            return TYPE_TEB;
        }
        return -1;
    }
    options = (header[0] & 0x3f) * 4;
    if (p->key->l4_dst != RTE_BE16(PORT_GENEVE) || header[0] & 0xc0
        || !left(p, 8 + options)) {
        return -1;
    }
    key->kind = TUNNEL_GENEVE;
    key->opt_len = options / 4;
    key->oam = header[1] >> 7;
    memcpy(&key->protocol, header + 2, 2);
    memcpy(key->vni, header + 4, 3);
    if (eswitch && eswitch->option_users) {
        parse_options(eswitch, header + 8, options, key);
    }
    p->at += 8 + options;
    packet->payload = p->at;
    return get16(header + 2);
}

static void
parse_level(struct parse *p, int type)
{
    if (type == TYPE_TEB) {
        type = parse_ethernet(p);
    }
    if (type == TYPE_IPV4) {
        parse_ipv4(p);
    } else if (type == TYPE_IPV6) {
        parse_ipv6(p);
    }
}

void
eswitch_packet_parse(const struct eswitch *eswitch, const uint8_t *data,
                     size_t size, struct packet *packet)
{
    struct parse p = {
        .data = data, .size = size, .key = &packet->key.level[0],
        .place = &packet->place[0],
    };
    int type;

    memset(packet, 0, sizeof *packet);
    parse_level(&p, TYPE_TEB);
    type = parse_tunnel(eswitch, &p, packet);
    if (type >= 0) {
        p.key = &packet->key.level[1];
        p.place = &packet->place[1];
        parse_level(&p, type);
    }
}
