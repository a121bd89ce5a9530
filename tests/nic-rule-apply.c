/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-rule-apply.h"

#include <string.h>

#include "nic-rule.h"
#include "nic-rule-packet.h"
#include "util.h"

static int
be16(const uint8_t *p)
{
    return p[0] << 8 | p[1];
}

static void
cut(struct packet *p, size_t offset, size_t n)
{
    memmove(&p->data[offset], &p->data[offset + n], p->n - offset - n);
    p->n -= n;
}

static void
insert(struct packet *p, size_t offset, const void *data, size_t n)
{
    ovs_assert(p->n + n <= PACKET_MAX);
    memmove(&p->data[offset + n], &p->data[offset], p->n - offset);
    memcpy(&p->data[offset], data, n);
    p->n += n;
}

/* The offset of IP. */
static size_t
find_l3(const struct packet *p)
{
    size_t offset = 12;

    while (be16(&p->data[offset]) == 0x8100
           || be16(&p->data[offset]) == 0x88a8) {
        offset += 4;
    }
    return offset + 2;
}

/* The offset of TCP or UDP; a rule changes these only where there are. */
static size_t
find_l4(const struct packet *p)
{
    size_t l3 = find_l3(p);
    int proto = p->data[l3 + 6];
    size_t l4 = l3 + 40;

    if (p->data[l3] >> 4 == 4) {
        return l3 + (p->data[l3] & 0xf) * 4;
    }
    while (proto == 0 || proto == 60 || proto == 44) {
        proto = p->data[l4];
        l4 += 8;
    }
    return l4;
}

static void
decap(struct packet *p)
{
    size_t udp = find_l4(p);
    size_t n = udp + 16;

    if (be16(&p->data[udp + 2]) == 6081) {
        n += (p->data[udp + 8] & 0x3f) * 4;
    }
    cut(p, 0, n);
}

static void
set_dscp(uint8_t *p, uint8_t dscp)
{
    if (p[0] >> 4 == 4) {
        p[1] = dscp << 2 | (p[1] & 3);
    } else {
        unsigned int tos = (be16(p) >> 4 & 3) | dscp << 2;

        p[0] = 0x60 | tos >> 4;
        p[1] = (tos & 0xf) << 4 | (p[1] & 0xf);
    }
}

static void
apply(const struct nic_rule *rule, const struct nic_action *a,
      struct packet *p)
{
    uint8_t tag[4];
    uint8_t *l3 = &p->data[find_l3(p)];

    switch (a->type) {
    case NIC_ACTION_COUNT:
    case NIC_ACTION_JUMP:
    case NIC_ACTION_OUTPUT:
    case NIC_ACTION_DROP:
        break;
    case NIC_ACTION_DECAP:
        decap(p);
        break;
    case NIC_ACTION_POP_VLAN:
        cut(p, 12, 4);
        break;
    case NIC_ACTION_SET_ETH_SRC:
        memcpy(&p->data[6], &a->mac, 6);
        break;
    case NIC_ACTION_SET_ETH_DST:
        memcpy(&p->data[0], &a->mac, 6);
        break;
    case NIC_ACTION_SET_IPV4_SRC:
        memcpy(l3 + 12, &a->ip.s6_addr[12], 4);
        break;
    case NIC_ACTION_SET_IPV4_DST:
        memcpy(l3 + 16, &a->ip.s6_addr[12], 4);
        break;
    case NIC_ACTION_SET_IPV6_SRC:
        memcpy(l3 + 8, &a->ip, 16);
        break;
    case NIC_ACTION_SET_IPV6_DST:
        memcpy(l3 + 24, &a->ip, 16);
        break;
    case NIC_ACTION_SET_IPV4_DSCP:
    case NIC_ACTION_SET_IPV6_DSCP:
        set_dscp(l3, a->byte);
        break;
    case NIC_ACTION_SET_TTL:
        l3[l3[0] >> 4 == 4 ? 8 : 7] = a->byte;
        break;
    case NIC_ACTION_SET_L4_SRC:
        memcpy(&p->data[find_l4(p)], &a->be16, 2);
        break;
    case NIC_ACTION_SET_L4_DST:
        memcpy(&p->data[find_l4(p) + 2], &a->be16, 2);
        break;
    case NIC_ACTION_PUSH_VLAN:
        memcpy(tag, &a->vlan.tpid, 2);
        memcpy(tag + 2, &a->vlan.tci, 2);
        insert(p, 12, tag, 4);
        break;
    case NIC_ACTION_ENCAP:
        insert(p, 0, rule->header, rule->header_len);
        break;
    }
}

void
nic_twin_apply(const struct nic_rule *rule, struct packet *p)
{
    for (size_t i = 0; i < rule->n_actions; i++) {
        apply(rule, &rule->actions[i], p);
    }
}
