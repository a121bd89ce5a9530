/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENCAP_CONFLICT_H
#define ENCAP_CONFLICT_H 1

/* Other hosts that claim an endpoint's address
 * ============================================
 *
 * A host that says by ARP or ND that it has the address of an endpoint of this
 * host takes away that endpoint's packets (RFC 5227 section 2.4; RFC 4862
 * section 5.4.4).  That cannot be mended from here, but is remembered for
 * users: for each endpoint the newest claim and the hosts that made the last
 * ones, until the endpoint goes.
 *
 * Any thread. */

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>

#include "openvswitch/types.h"

struct encap_registry;

/* A claim that is as old is over: its host was found, or is silent. */
#define ENCAP_CONFLICT_MS (5 * 60 * 1000)

/* Hosts of an address that are remembered: how many may claim it in turn, and
 * be logged once each. */
#define ENCAP_CONFLICT_HOSTS 8

struct encap_conflict {
    struct eth_addr mac;        /* Who claims the address. */
    char bridge[IFNAMSIZ];      /* Where that was heard last. */
};

/* True if a host with 'mac' that claims 'ip' (mapped form) is another than
 * this one, and 'ip' an endpoint of this one.
 *
 * The MACs of this host are those of the devices of all endpoints and of the
 * local ports of all bridges: NICs in one subnet hear each other, and the
 * kernel may answer by any of them.  Where the MAC of the endpoint's own
 * device cannot be read, and for an endpoint on no bridge, nobody can say who
 * is another host: false. */
bool encap_conflict_is(const struct in6_addr *ip, struct eth_addr mac);

/* Remembers that 'mac' claimed 'ip' on 'bridge' just now, for which
 * encap_conflict_is() is true, and logs it unless a claim of 'ip' by that MAC
 * is remembered and not over.  Coverage counter: neighbor_conflict. */
void encap_conflict_add(const struct in6_addr *ip, struct eth_addr mac,
                        const char *bridge);

/* Stores the newest claim of 'ip' in '*conflict'.  Returns false, and leaves
 * that alone, if there is none or it is over. */
bool encap_conflict_get(const struct in6_addr *ip,
                        struct encap_conflict *conflict);

/* Forgets claims of what is no endpoint of this host in the registry that was
 * published last.  To be called after each publication. */
void encap_conflict_forget(void);

#endif /* encap-conflict.h */
