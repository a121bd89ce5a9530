/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_RESOLVER_H
#define NIC_RESOLVER_H 1

/* The ports that a flow names, found once and held: as long as a resolver has
 * a netdev, no other one can come to have the same address in memory.
 *
 * Not to be used with 'nic_ethdev_rwlock' held.  One thread. */

#include <stdbool.h>
#include <stddef.h>

#include "nic-rule-flow.h"

struct netdev;

struct nic_resolved {
    odp_port_t odp_port;
    struct netdev *netdev;      /* A reference; NULL: no such port. */
    struct nic_port facts;
};

/* A flow of a tunnel port can have 16 uplinks (nic-offload-rule.c); all else
 * that can be in a NIC names few ports. */
struct nic_resolver {
    const char *dpif_type;      /* As of netdev_get_dpif_type(). */
    struct nic_resolved ports[24];
    size_t n_ports;
};

void nic_resolver_init(struct nic_resolver *, const char *dpif_type);
void nic_resolver_uninit(struct nic_resolver *);

/* The 'get_port' of struct nic_flow, with the resolver as 'aux'. */
bool nic_resolver_get_port(odp_port_t, struct nic_port *, const void *aux);

/* The netdev of 'odp_port', or NULL if there is none or nobody asked. */
const struct netdev *nic_resolver_netdev(const struct nic_resolver *,
                                         odp_port_t odp_port);

/* The id of the first eSwitch among the ports, 0: none. */
unsigned int nic_resolver_eswitch(const struct nic_resolver *);

#endif /* nic-resolver.h */
