/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ROUTE_PREFIX_H
#define ROUTE_PREFIX_H 1

/* Prefixes as numbers
 * ===================
 *
 * An address as two 64-bit integers in host byte order, for code that masks,
 * compares and hashes the same address at many prefix lengths.  Lengths count
 * as in route.h: 0...128, IPv4 96...128. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "byte-order.h"

struct route_bits {
    uint64_t hi, lo;
};

static inline struct route_bits
route_bits_get(const struct in6_addr *addr)
{
    ovs_be64 words[2];

    memcpy(words, addr, sizeof words);
    return (struct route_bits) { ntohll(words[0]), ntohll(words[1]) };
}

static inline struct in6_addr
route_bits_put(struct route_bits bits)
{
    ovs_be64 words[2] = { htonll(bits.hi), htonll(bits.lo) };
    struct in6_addr addr;

    memcpy(&addr, words, sizeof addr);
    return addr;
}

/* 'bits' with all beyond 'plen' cleared. */
static inline struct route_bits
route_bits_mask(struct route_bits bits, unsigned int plen)
{
    /* Two shifts, because one by 64 is undefined. */
    if (plen >= 128) {
        return bits;
    } else if (plen >= 64) {
        bits.lo &= UINT64_MAX << 1 << (127 - plen);
    } else {
        bits.lo = 0;
        bits.hi &= UINT64_MAX << 1 << (63 - plen);
    }
    return bits;
}

static inline bool
route_bits_equal(struct route_bits a, struct route_bits b)
{
    return !((a.hi ^ b.hi) | (a.lo ^ b.lo));
}

/* Hash of the prefix 'bits'/'plen', whose bits beyond 'plen' are zero.  A
 * lookup hashes once for each prefix length, hence no more than what is
 * necessary: the upper half of a product depends on all bits of its factors,
 * and what 'hi' adds is the same for all lengths from 64 on.  (The constants
 * are odd, with their bits spread evenly.) */
static inline uint32_t
route_bits_hash(struct route_bits bits, unsigned int plen)
{
    uint64_t hi = bits.hi * UINT64_C(0x9e3779b97f4a7c15);

    return ((hi ^ hi >> 32 ^ (bits.lo + plen))
            * UINT64_C(0xd1342543de82ef95)) >> 32;
}

#endif /* route-prefix.h */
