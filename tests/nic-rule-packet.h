/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_RULE_PACKET_H
#define NIC_RULE_PACKET_H 1

/* Random packets that are likely to resemble each other.
 *
 * A seed is an array of bytes, each the choice of one thing about a packet
 * from very few possible values.  Another packet that differs in little comes
 * from changing few bytes of it. */

#include <stddef.h>
#include <stdint.h>

#include "nic-rule.h"

#define PACKET_SEED_LEN 64
#define PACKET_MAX 600

struct packet {
    uint8_t data[PACKET_MAX];
    size_t n;

    /* For packet_flip(). */
    uint8_t fixed[PACKET_MAX];  /* Bits that must not change. */
    size_t ipv4[2], n_ipv4;     /* Offsets of headers. */
};

/* Without tunnel: any packet.  With: one that the tunnel carries, below outer
 * headers. */
void packet_build(struct packet *, const uint8_t seed[PACKET_SEED_LEN],
                  enum nic_tunnel);

/* Makes the other of a 'bit', 0 to 7, of 'byte', and checksums of IPv4 right;
 * or does nothing if what follows would not be where headers say, or a
 * tunnel's checksum wrong: NICs may do with that what they want. */
void packet_flip(struct packet *, size_t byte, unsigned int bit);

#endif /* nic-rule-packet.h */
