/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENCAP_CHECK_PRIVATE_H
#define ENCAP_CHECK_PRIVATE_H 1

/* The parts of encap_check(): each looks for one kind of fault and appends
 * what it finds to 'check->findings'. */

#include <stdbool.h>
#include <stddef.h>

#include "encap-config.h"
#include "encap-endpoint.h"
#include "encap-finding.h"

struct neighbor_silence;

struct encap_check {
    const struct encap_registry *registry;
    const struct encap_config *config;
    const struct neighbor_silence *silences; /* Of neighbors that were asked in
                                              * vain, */
    size_t n_silences;          /* that many. */
    struct encap_findings *findings;
};

/* Packets from each endpoint: whether they leave at all, by the endpoint's own
 * device, and to known neighbors.  What rules are not evaluated. */
void encap_check_routes(const struct encap_check *);

/* Neighbors that do not answer. */
void encap_check_neighbors(const struct encap_check *);

/* True if neighbor 'ip' of 'bridge' is one of them. */
bool encap_check_is_silent(const struct encap_check *, const char *bridge,
                           const struct in6_addr *ip);

/* Tunnel packets that come in by another NIC than their endpoint's. */
void encap_check_foreign(const struct encap_check *);

/* Room for the outer headers. */
void encap_check_mtu(const struct encap_check *);

/* How the kernel treats ARP and the packets to endpoints, from the files
 * below 'conf_dir', "/proc/sys/net/ipv4/conf" but for tests. */
void encap_check_sysctls(const struct encap_check *, const char *conf_dir);

#define ENCAP_CHECK_SYSCTL_DIR "/proc/sys/net/ipv4/conf"

/* The netdevs, '*n', of the tunnel ports of bridges with the userspace
 * datapath; the kernel encapsulates for those of others.  The caller closes
 * them and frees the array. */
struct netdev **encap_check_tunnels(const struct encap_check *, size_t *n);

/* The first prefix length with which 'ip' is on device 'dev' (mapped form,
 * 0...128), or -1 if it is not. */
int encap_check_prefix_length(const char *dev, const struct in6_addr *ip);

#endif /* encap-check-private.h */
