/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-rule-packet.h"

#include <string.h>

#include "csum.h"
#include "util.h"

/* What the bytes of a seed choose. */
struct level_seed {
    uint8_t eth_dst, eth_src, tags, tpid, tci[2], type;
    uint8_t ip_src, ip_dst, tos, ttl, fragment, proto, options, label;
    uint8_t l4_src, l4_dst, l4_flags, udp_dst;
};

struct packet_seed {
    struct level_seed outer, inner;
    uint8_t vni, geneve_flags, geneve_options, option[8];
};
BUILD_ASSERT_DECL(sizeof(struct packet_seed) <= PACKET_SEED_LEN);

#define PICK(SEED, ...) \
    ((const unsigned int[]) { __VA_ARGS__ } \
     [(SEED) % ARRAY_SIZE(((const unsigned int[]) { __VA_ARGS__ }))])

static void
put8(struct packet *p, unsigned int x)
{
    ovs_assert(p->n < PACKET_MAX);
    p->data[p->n++] = x;
}

static void
put16(struct packet *p, unsigned int x)
{
    put8(p, x >> 8);
    put8(p, x);
}

static void
put32(struct packet *p, unsigned int x)
{
    put16(p, x >> 16);
    put16(p, x);
}

static void
set16(struct packet *p, size_t offset, unsigned int x)
{
    p->data[offset] = x >> 8;
    p->data[offset + 1] = x;
}

/* The bits 'mask' of 'n' bytes at 'offset' say where something is. */
static void
fix(struct packet *p, size_t offset, size_t n, unsigned int mask)
{
    for (size_t i = 0; i < n; i++) {
        p->fixed[offset + i] |= mask;
    }
}

/* Returns the EtherType. */
static unsigned int
put_ethernet(struct packet *p, const struct level_seed *seed, bool tunnel)
{
    unsigned int n_tags = (tunnel ? PICK(seed->tags, 0, 0, 0, 1)
                           : PICK(seed->tags, 0, 0, 0, 1, 1, 2));
    unsigned int type = (tunnel ? PICK(seed->type, 0x0800, 0x86dd)
                         : PICK(seed->type, 0x0800, 0x0800, 0x0800, 0x86dd,
                                0x86dd, 0x0806, 0x88cc));

    put32(p, 0x0a000000);
    put16(p, seed->eth_dst % 3);
    put32(p, 0x0a000000);
    put16(p, seed->eth_src % 3);
    for (size_t i = 0; i < n_tags; i++) {
        put16(p, PICK(seed->tpid, 0x8100, 0x8100, 0x8100, 0x88a8));
        put16(p, PICK(seed->tci[i], 0, 5, 0x6005, 0x1005, 7));
    }
    put16(p, type);
    return type;
}

static void
put_l4(struct packet *p, const struct level_seed *seed, unsigned int proto)
{
    switch (proto) {
    case 6:
        put16(p, seed->l4_src % 3);
        put16(p, seed->l4_dst % 3);
        put32(p, 0);
        put32(p, 0);
        fix(p, p->n, 1, 0xf0);
        put8(p, 0x50 | PICK(seed->l4_flags, 0, 0, 0, 1));
        put8(p, PICK(seed->l4_flags, 2, 0x12, 0x10));
        put16(p, 100);
        put32(p, 0);
        break;
    case 17:
        put16(p, seed->l4_src % 3);
        put16(p, PICK(seed->l4_dst, 0, 1, 2, 6081));
        put16(p, 16);
        put16(p, 0);
        put32(p, 0);
        put32(p, 0);
        break;
    case 1:
        put8(p, PICK(seed->l4_src, 0, 8));
        put8(p, seed->l4_dst % 2);
        put16(p, 0);
        put32(p, 0x12345678);
        break;
    case 58:
        put8(p, PICK(seed->l4_src, 128, 129, 135));
        put8(p, seed->l4_dst % 2);
        put16(p, 0);
        put32(p, 0);
        put32(p, 0xfd000000);
        put32(p, 0);
        put32(p, 0);
        put32(p, 1);
        break;
    case 132:
        put16(p, seed->l4_src % 3);
        put16(p, seed->l4_dst % 3);
        put32(p, 0);
        put32(p, 0);
        break;
    }
    put32(p, 0xdeadbeef);
    put32(p, 0xdeadbeef);
    put32(p, 0xdeadbeef);
}

static void
put_checksum(struct packet *p, size_t l3)
{
    size_t length = (p->data[l3] & 0xf) * 4;
    ovs_be16 sum;

    set16(p, l3 + 10, 0);
    sum = csum(&p->data[l3], length);
    memcpy(&p->data[l3 + 10], &sum, sizeof sum);
}

/* Fills in what depends on what follows.  'fault' is that of a length here. */
static void
finish_ip(struct packet *p, size_t l3, bool ipv6, enum packet_fault fault)
{
    size_t length = ipv6 ? p->n - l3 - 40 : p->n - l3;

    if (p->wanted == fault) {
        p->fault = fault;
        p->wrong = l3;
        length += p->error;
    }
    if (ipv6) {
        set16(p, l3 + 4, length);
    } else {
        set16(p, l3 + 2, length);
        put_checksum(p, l3);
        fix(p, l3 + 10, 2, 0xff);
        p->ipv4[p->n_ipv4++] = l3;
    }
}

static void
put_ipv4(struct packet *p, const struct level_seed *seed, unsigned int proto,
         bool tunnel)
{
    bool options = (tunnel ? p->wanted == PACKET_OUTER_OPTIONS
                    : PICK(seed->options, 0, 0, 0, 1));

    fix(p, p->n, 1, 0xff);
    fix(p, p->n + 2, 2, 0xff);
    put8(p, options ? 0x46 : 0x45);
    put8(p, PICK(seed->tos, 0, 1, 0xb8, 0xbb));
    put16(p, 0);
    put16(p, 0);
    /* DF, "more fragments", offset. */
    put16(p, (tunnel ? PICK(seed->fragment, 0, 0x4000)
              : PICK(seed->fragment, 0, 0, 0x4000, 0x2000, 0x2010, 0x10)));
    put8(p, PICK(seed->ttl, 63, 64));
    put8(p, proto);
    put16(p, 0);
    put32(p, 0x0a000000 + seed->ip_src % 3);
    put32(p, 0x0a000000 + seed->ip_dst % 3);
    if (options) {
        put32(p, 0x01010101);
    }
    if (tunnel && options) {
        p->fault = PACKET_OUTER_OPTIONS;
    }
}

static void
put_ipv6(struct packet *p, const struct level_seed *seed, unsigned int proto,
         bool tunnel)
{
    unsigned int extension = (tunnel ? 255
                              : PICK(seed->options, 255, 255, 255, 0, 60, 44,
                                     44));

    fix(p, p->n, 1, 0xf0);
    fix(p, p->n + 4, 2, 0xff);
    /* Not one that is an extension's by then. */
    fix(p, p->n + 6, 1, extension == 255 && proto != 47 ? 0 : 0xff);
    put32(p, 0x60000000 | PICK(seed->tos, 0, 1, 0xb8, 0xbb) << 20
             | PICK(seed->label, 0, 1, 0xf000f));
    put16(p, 0);
    put8(p, extension == 255 ? proto : extension);
    put8(p, PICK(seed->ttl, 63, 64));
    put32(p, 0xfd000000);
    put32(p, 0);
    put32(p, 0);
    put32(p, seed->ip_src % 3);
    put32(p, 0xfd000000);
    put32(p, 0);
    put32(p, 0);
    put32(p, seed->ip_dst % 3);
    if (extension != 255) {
        fix(p, p->n, 2, 0xff);
    }
    if (extension == 44) {
        put16(p, proto << 8);
        put16(p, PICK(seed->fragment, 0, 1, 0x10, 0x11)); /* 0: atomic. */
        put32(p, 77);
    } else if (extension != 255) {
        put16(p, proto << 8);
        put16(p, 0x0104);
        put32(p, 0);
    }
}

static void
put_arp(struct packet *p, const struct level_seed *seed)
{
    put32(p, 0x00010800);
    put32(p, 0x06040000 | (1 + seed->proto % 2));
    put32(p, 0x0a000000);
    put16(p, 1);
    put32(p, 0x0a000000 + seed->ip_src % 3);
    put32(p, 0);
    put16(p, 0);
    put32(p, 0x0a000000 + seed->ip_dst % 3);
}

static void
put_plain(struct packet *p, const struct level_seed *seed)
{
    unsigned int type = put_ethernet(p, seed, false);
    bool ipv6 = type == 0x86dd;
    size_t l3 = p->n;
    unsigned int proto = PICK(seed->proto, 6, 6, 17, 17, ipv6 ? 58 : 1, 132,
                              47);

    if (type == 0x0806) {
        put_arp(p, seed);
    } else if (type == 0x0800 || ipv6) {
        (ipv6 ? put_ipv6 : put_ipv4)(p, seed, proto, false);
        put_l4(p, seed, proto);
        finish_ip(p, l3, ipv6, PACKET_INNER_LENGTH);
    } else {
        put32(p, 0);
    }
}

static void
put_option(struct packet *p, const uint8_t *seed, unsigned int words)
{
    put16(p, PICK(seed[0], 0x102, 0x102, 0x103));
    put8(p, PICK(seed[1], 0x80, 0x80, 0x81));
    fix(p, p->n, 1, 0xff);
    put8(p, words);
    for (unsigned int i = 0; i < words; i++) {
        put32(p, PICK(seed[2 + i], 0x10002, 0x10003, 0x80010002, 0));
    }
}

static void
put_geneve(struct packet *p, const struct packet_seed *seed)
{
    size_t start = p->n;

    fix(p, start, 1, 0xff);
    put8(p, 0);
    put8(p, PICK(seed->geneve_flags, 0x40, 0, 0x80));
    put16(p, 0x6558);
    put32(p, seed->vni % 3 << 8);
    switch (seed->geneve_options % 8) {
    case 0:
        break;
    case 1:                     /* As long as one with 4 bytes. */
        put_option(p, &seed->option[0], 0);
        put_option(p, &seed->option[4], 0);
        break;
    case 2:
        put_option(p, &seed->option[0], 1);
        put_option(p, &seed->option[4], 1);
        break;
    case 3:
        put_option(p, &seed->option[0], 2);
        break;
    default:
        put_option(p, &seed->option[0], 1);
        break;
    }
    p->data[start] = (p->n - start - 8) / 4;
}

void
packet_build(struct packet *p, const uint8_t bytes[PACKET_SEED_LEN],
             enum nic_tunnel tunnel)
{
    packet_build_faulty(p, bytes, tunnel, PACKET_RIGHT, 0);
}

void
packet_build_faulty(struct packet *p, const uint8_t bytes[PACKET_SEED_LEN],
                    enum nic_tunnel tunnel, enum packet_fault fault,
                    int error)
{
    struct packet_seed seed;
    size_t l3, l4;
    bool ipv6;

    memcpy(&seed, bytes, sizeof seed);
    memset(p, 0, sizeof *p);
    p->wanted = fault;
    p->error = error;
    if (tunnel == NIC_TUNNEL_NONE) {
        put_plain(p, &seed.inner);
        return;
    }
    ipv6 = put_ethernet(p, &seed.outer, true) == 0x86dd;
    l3 = p->n;
    (ipv6 ? put_ipv6 : put_ipv4)(p, &seed.outer, 17, true);
    l4 = p->n;
    put16(p, 0xc000 + seed.outer.l4_src % 3);
    if (tunnel == NIC_TUNNEL_GENEVE) {
        put16(p, PICK(seed.outer.udp_dst, 6081, 6081, 6081, 6081, 6082));
    } else {
        put16(p, PICK(seed.outer.udp_dst, 4789, 4789, 4789, 4789, 4790));
    }
    fix(p, p->n, 4, 0xff);
    put32(p, 0);
    if (tunnel == NIC_TUNNEL_GENEVE) {
        put_geneve(p, &seed);
    } else {
        /* Software drops what is reserved, NICs cannot match it. */
        fix(p, p->n, 4, 0xff);
        fix(p, p->n + 7, 1, 0xff);
        put32(p, 0x08000000);
        put32(p, seed.vni % 3 << 8);
    }
    put_plain(p, &seed.inner);
    set16(p, l4 + 4, p->n - l4);
    finish_ip(p, l3, ipv6, PACKET_OUTER_LENGTH);
}

void
packet_flip(struct packet *p, size_t byte, unsigned int bit)
{
    p->data[byte] ^= (1 << bit) & ~p->fixed[byte];
    for (size_t i = 0; i < p->n_ipv4; i++) {
        put_checksum(p, p->ipv4[i]);
    }
}
