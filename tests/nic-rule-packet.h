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

/* What can be wrong with a packet. */
enum packet_fault {
    PACKET_RIGHT,
    PACKET_OUTER_OPTIONS,       /* Options in the outer IPv4 header. */
    PACKET_OUTER_LENGTH,        /* The length in the outer IP header. */
    PACKET_INNER_LENGTH,        /* That in the inner or only one. */
    N_PACKET_FAULTS
};

struct packet {
    uint8_t data[PACKET_MAX];
    size_t n;

    enum packet_fault wanted;
    enum packet_fault fault;    /* PACKET_RIGHT if it cannot be 'wanted'. */
    int error;                  /* Added to the length. */
    size_t wrong;               /* Offset of the header with the length. */

    /* For packet_flip(). */
    uint8_t fixed[PACKET_MAX];  /* Bits that must not change. */
    size_t ipv4[2], n_ipv4;     /* Offsets of headers. */
};

/* Without tunnel: any packet.  With: one that the tunnel carries, below outer
 * headers. */
void packet_build(struct packet *, const uint8_t seed[PACKET_SEED_LEN],
                  enum nic_tunnel);

/* The same with 'fault', if it is a packet that can have it.  'error' is added
 * to a length that is wrong. */
void packet_build_faulty(struct packet *, const uint8_t seed[PACKET_SEED_LEN],
                         enum nic_tunnel, enum packet_fault fault, int error);

/* Makes the other of a 'bit', 0 to 7, of 'byte', and checksums of IPv4 right;
 * or does nothing if what follows would not be where headers say, or a
 * tunnel's checksum wrong: NICs may do with that what they want. */
void packet_flip(struct packet *, size_t byte, unsigned int bit);

#endif /* nic-rule-packet.h */
