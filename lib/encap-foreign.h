/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENCAP_FOREIGN_H
#define ENCAP_FOREIGN_H 1

/* Tunnel packets that came in by another NIC than their endpoint's
 * ================================================================
 *
 * For users: which endpoint's, by which NIC, how many, and what became of
 * them.  (ofproto/tunnel-ingress.h says which packets that are.)
 *
 * Any thread. */

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What has not come for so long is over, and forgotten. */
#define ENCAP_FOREIGN_MS (60 * 1000)

/* Of more at once, the newest are not remembered. */
#define ENCAP_FOREIGN_MAX 1024

struct encap_foreign {
    struct in6_addr ip;         /* The endpoint... */
    char bridge[IFNAMSIZ];      /* ...and the NIC that they came by. */
    bool refused;               /* Else taken. */
    uint64_t n_packets;         /* Since they have been coming. */
    long long int last_ms;      /* How long ago the last ones were told. */
};

/* 'n_packets' more came to 'ip' by 'bridge', and were refused or taken. */
void encap_foreign_add(const struct in6_addr *ip, const char *bridge,
                       bool refused, uint64_t n_packets);

/* Returns all that are not over, '*n', by address, bridge and fate.  The
 * caller frees the array. */
struct encap_foreign *encap_foreign_list(size_t *n);

#endif /* encap-foreign.h */
