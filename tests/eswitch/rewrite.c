/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#include <config.h>

#include "model.h"

#include <string.h>

/* What actions do to a packet. */

static unsigned
get16(const uint8_t *p)
{
    return p[0] << 8 | p[1];
}

static void
put16(uint8_t *p, unsigned value)
{
    p[0] = value >> 8;
    p[1] = value;
}

/* The one's complement sum of RFC 1071. */
static uint32_t
sum(const uint8_t *p, size_t size, uint32_t start)
{
    for (; size > 1; p += 2, size -= 2) {
        start += get16(p);
    }
    start += size ? p[0] << 8 : 0;
    while (start >> 16) {
        start = (start & 0xffff) + (start >> 16);
    }
    return start;
}

/* RFC 1624, equation 3: the checksum 'check' after 'size' bytes, an even
 * number at an even place, changed from 'old' to 'new'. */
static void
sum_change(uint8_t *check, const uint8_t *old, const uint8_t *new,
           size_t size)
{
    uint32_t s = ~get16(check) & 0xffff;

    for (size_t i = 0; i < size; i += 2) {
        s += (~get16(old + i) & 0xffff) + get16(new + i);
    }
    put16(check, ~sum(NULL, 0, s) & 0xffff);
}

/* The checksum of the transport header, NULL if there is none to keep. */
static uint8_t *
l4_checksum(struct frame *frame)
{
    const struct level_key *key = &frame->packet.key.level[0];
    uint8_t *l4 = frame->data + frame->packet.place[0].l4;

    if (!key->l4) {
        return NULL;
    } else if (key->ip_proto == IPPROTO_TCP) {
        return l4 + 16;
    } else if (key->ip_proto == IPPROTO_UDP) {
        return l4[6] || l4[7] ? l4 + 6 : NULL;
    } else if (key->ip_proto == IPPROTO_ICMPV6) {
        return l4 + 2;
    }
    return NULL;
}

/* Changes 'size' bytes at 'field', and the checksums over them.  'pseudo':
 * the transport checksum covers them. */
static void
change(struct frame *frame, uint8_t *field, const uint8_t *value, size_t size,
       bool header, bool pseudo)
{
    const struct level_key *key = &frame->packet.key.level[0];
    uint8_t *l4 = pseudo ? l4_checksum(frame) : NULL;

    if (header && key->ip_version == 4) {
        sum_change(frame->data + frame->packet.place[0].l3 + 10, field,
                   value, size);
    }
    if (l4) {
        sum_change(l4, field, value, size);
        if (key->ip_proto == IPPROTO_UDP && !l4[0] && !l4[1]) {
            put16(l4, 0xffff);  /* RFC 768: 0 means none. */
        }
    }
    memcpy(field, value, size);
}

/* A byte, with its neighbour, as checksums need an even place. */
static void
change_byte(struct frame *frame, size_t offset, uint8_t value)
{
    uint8_t *ip = frame->data + frame->packet.place[0].l3;
    uint8_t pair[2];

    memcpy(pair, ip + (offset & ~1UL), 2);
    pair[offset & 1] = value;
    change(frame, ip + (offset & ~1UL), pair, 2, true, false);
}

static void
reparse(struct frame *frame)
{
    eswitch_packet_parse(frame->eswitch, frame->data, frame->size,
                         &frame->packet);
}

/* Removes 'size' bytes at 'offset'. */
static void
cut(struct frame *frame, size_t offset, size_t size)
{
    memmove(frame->data + size, frame->data, offset);
    frame->data += size;
    frame->size -= size;
    reparse(frame);
}

static void
insert(struct frame *frame, size_t offset, const void *bytes, size_t size)
{
    memmove(frame->data - size, frame->data, offset);
    frame->data -= size;
    frame->size += size;
    memcpy(frame->data + offset, bytes, size);
    reparse(frame);
}

/* Any port of the range that hardware uses, the same for a flow.  Inner
 * fragments of one packet share it, since ports are left out. */
static uint16_t
entropy(const struct level_key *key)
{
    uint64_t hash = table_mix(key->ip_proto, key->eth_type);
    uint64_t words[4];

    memcpy(words, key->ip_src, 16);
    memcpy(words + 2, key->ip_dst, 16);
    if (!key->ip_version) {
        memcpy(words, key->eth_dst, 12);
    }
    for (int i = 0; i < 4; i++) {
        hash = table_mix(hash, words[i]);
    }
    if (!key->fragment) {
        hash = table_mix(hash, (uint32_t) key->l4_src << 16 | key->l4_dst);
    }
    return 0xc000 | (hash >> 32 & 0x3fff);
}

void
eswitch_encap_finish(uint8_t *data, size_t size, uint16_t source_port)
{
    size_t l3 = 14, udp;
    uint8_t proto;

    while (get16(data + l3 - 2) == 0x8100 || get16(data + l3 - 2) == 0x88a8) {
        l3 += 4;
    }
    if (get16(data + l3 - 2) == 0x0800) {
        udp = l3 + (data[l3] & 0xf) * 4;
        put16(data + l3 + 2, size - l3);
        put16(data + l3 + 10, 0);
        put16(data + l3 + 10, ~sum(data + l3, udp - l3, 0) & 0xffff);
        proto = data[l3 + 9];
    } else {
        udp = l3 + 40;
        put16(data + l3 + 4, size - udp);
        proto = data[l3 + 6];
    }
    if (proto == IPPROTO_UDP && udp + 8 <= size) {
        put16(data + udp, source_port);
        put16(data + udp + 4, size - udp);
    }
}

static bool
apply_encap(struct frame *frame, const struct action *action)
{
    const struct context *context = action->context;
    uint16_t port = entropy(&frame->packet.key.level[0]);

    if (action->kind == ACTION_ENCAP_L3) {
        if (frame->size < action->size) {
            return false;
        }
        frame->data += action->size;
        frame->size -= action->size;
    }
    insert(frame, 0, context->bytes, context->size);
    eswitch_encap_finish(frame->data, frame->size, port);
    reparse(frame);
    return true;
}

static bool
apply_decap(struct frame *frame, const struct action *action)
{
    const struct packet *packet = &frame->packet;

    if (!packet->payload) {
        return false;           /* No tunnel was found. */
    }
    if (action->kind == ACTION_DECAP) {
        cut(frame, 0, packet->payload);
        return true;
    } else if (!packet->place[1].l3) {
        return false;
    }
    cut(frame, 0, packet->place[1].l3);
    insert(frame, 0, action->context->bytes, action->context->size);
    return true;
}

static void
apply_ip(struct frame *frame, const struct action *action)
{
    struct level_place *place = &frame->packet.place[0];
    unsigned version = frame->packet.key.level[0].ip_version;
    uint8_t *ip = frame->data + place->l3;
    const uint8_t *value = action->bytes;
    uint8_t pair[2];

    switch ((enum action_kind) action->kind) {
    case ACTION_IPV4_SRC:
    case ACTION_IPV4_DST:
        if (version == 4) {
            change(frame, ip + (action->kind == ACTION_IPV4_SRC ? 12 : 16),
                   value, 4, true, true);
        }
        break;
    case ACTION_IPV6_SRC:
    case ACTION_IPV6_DST:
        if (version == 6) {
            change(frame, ip + (action->kind == ACTION_IPV6_SRC ? 8 : 24),
                   value, 16, false, true);
        }
        break;
    case ACTION_SET_TTL:
        if (version) {
            change_byte(frame, version == 4 ? 8 : 7, value[0]);
        }
        break;
    case ACTION_DEC_TTL:
        if (version) {
            change_byte(frame, version == 4 ? 8 : 7,
                        ip[version == 4 ? 8 : 7] - 1);
        }
        break;
    case ACTION_IPV4_DSCP:
        if (version == 4) {
            change_byte(frame, 1, value[0] << 2 | (ip[1] & 3));
        }
        break;
    case ACTION_IPV6_DSCP:
        if (version == 6) {
            pair[0] = 0x60 | (value[0] & 0x3f) >> 2;
            pair[1] = value[0] << 6 | (ip[1] & 0x3f);
            memcpy(ip, pair, 2);
        }
        break;
    default:
        break;
    }
    reparse(frame);
}

static void
apply_vlan(struct frame *frame, const struct action *action)
{
    bool tagged = frame->packet.key.level[0].vlan != VLAN_NONE;
    uint8_t tag[4] = { 0 };

    switch ((enum action_kind) action->kind) {
    case ACTION_POP_VLAN:
        if (tagged) {
            cut(frame, 12, 4);
        }
        break;
    case ACTION_PUSH_VLAN:
        memcpy(tag, &action->port16, 2);
        insert(frame, 12, tag, 4);
        break;
    case ACTION_SET_VID:
        if (tagged) {
            put16(frame->data + 14, (get16(frame->data + 14) & 0xf000)
                  | rte_be_to_cpu_16(action->port16));
        }
        break;
    case ACTION_SET_PCP:
        if (tagged) {
            frame->data[14] = (frame->data[14] & 0x1f)
                              | action->bytes[0] << 5;
        }
        break;
    default:
        break;
    }
    reparse(frame);
}

bool
eswitch_frame_apply(struct frame *frame, const struct action *action)
{
    const struct level_key *key = &frame->packet.key.level[0];
    uint8_t *l4 = frame->data + frame->packet.place[0].l4;

    switch ((enum action_kind) action->kind) {
    case ACTION_DECAP:
    case ACTION_DECAP_L3:
        return apply_decap(frame, action);
    case ACTION_ENCAP:
    case ACTION_ENCAP_L3:
        return apply_encap(frame, action);
    case ACTION_POP_VLAN:
    case ACTION_PUSH_VLAN:
    case ACTION_SET_VID:
    case ACTION_SET_PCP:
        apply_vlan(frame, action);
        break;
    case ACTION_MAC_SRC:
    case ACTION_MAC_DST:
        memcpy(frame->data + (action->kind == ACTION_MAC_SRC ? 6 : 0),
               action->bytes, 6);
        reparse(frame);
        break;
    case ACTION_TP_SRC:
    case ACTION_TP_DST:
        if (key->l4 && (key->ip_proto == IPPROTO_TCP
                        || key->ip_proto == IPPROTO_UDP)) {
            change(frame, l4 + (action->kind == ACTION_TP_SRC ? 0 : 2),
                   action->bytes, 2, false, true);
            reparse(frame);
        }
        break;
    case ACTION_COUNT:
    case ACTION_JUMP:
    case ACTION_PORT:
    case ACTION_DROP:
    case ACTION_MARK:
    case ACTION_INGRESS_FATE:
        break;
    default:
        apply_ip(frame, action);
        break;
    }
    return true;
}
