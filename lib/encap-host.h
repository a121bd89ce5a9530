/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENCAP_HOST_H
#define ENCAP_HOST_H 1

/* What this host has of what a configuration names
 * ================================================
 *
 * Where each wanted address is, from what the tunnel router mirrors
 * (route-db.h), and how each port of the bridges is, from its netdev.  What
 * has not changed is not read again: a device by its place in the mirror, a
 * port by its netdev's change_seq.
 *
 * Main thread. */

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "encap-config.h"
#include "nic.h"
#include "openvswitch/hmap.h"
#include "openvswitch/shash.h"

struct netdev;

struct encap_host_port {
    const struct encap_config_port *config;
    const struct encap_config_bridge *bridge;

    bool open;                  /* ovs-vswitchd has its netdev.  If not, the
                                 * rest is unset. */
    bool admin_up;
    bool up;                    /* Admin state and link, and those of the
                                 * device of the kernel that shares the NIC, of
                                 * which the kernel tells at once what DPDK
                                 * looks for every few seconds. */
    int mtu;                    /* Bytes; 0: not known. */
    struct nic nic;

    /* For encap_host_update(). */
    const struct netdev *netdev; /* Compared only: it may be gone. */
    uint64_t change_seq;
    bool carrier;
};

/* Where a wanted address is. */
struct encap_home {
    struct hmap_node node;      /* In encap_host 'homes', by 'ip'. */
    struct in6_addr ip;
    char dev[IFNAMSIZ];         /* Empty: nowhere, and the rest is unset. */
    char other_dev[IFNAMSIZ];   /* Another one that has it, or empty. */
    const struct encap_host_port *port; /* That 'dev' is, or NULL. */
    bool up;                    /* Admin state of 'dev'. */
    bool tentative;
};

struct encap_host_bridge {
    const struct encap_config_bridge *config;
    struct encap_host_port *ports; /* As many as in 'config'. */
};

struct encap_host {
    const struct encap_config *config;
    struct encap_host_bridge *bridges; /* As many as in 'config'. */
    struct shash ports;         /* "struct encap_host_port"s, by name. */
    struct hmap homes;          /* "struct encap_home"s: one for each address
                                 * that 'config' wants. */
};

/* Reads the host.  'config' must outlive what is returned. */
struct encap_host *encap_host_create(const struct encap_config *config);
void encap_host_destroy(struct encap_host *);

/* Brings 'host' up to date.  Returns true if anything is not what it was. */
bool encap_host_update(struct encap_host *host);

/* The home of 'ip', which must be wanted. */
const struct encap_home *encap_host_find(const struct encap_host *,
                                         const struct in6_addr *ip);

/* True if 'port' is an uplink of its bridge: a NIC, and neither a function
 * behind one nor a workload's, which nothing but the database can tell of one
 * end of a veth pair. */
static inline bool
encap_host_port_is_uplink(const struct encap_host_port *port)
{
    return (port->nic.physical && !port->nic.representor
            && !port->config->workload);
}

#endif /* encap-host.h */
