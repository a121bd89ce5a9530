/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_H
#define NIC_H 1

/* Facts about the NIC behind a netdev
 * ===================================
 *
 * Which eSwitch a port belongs to, whether it is a representor, and its NUMA
 * node: from DPDK (rte_eth_dev_info, 'switch_info' and 'dev_flags') for ports
 * of type dpdk, from sysfs (phys_switch_id, phys_port_name,
 * device/numa_node, see Documentation/networking/switchdev.rst of Linux) for
 * the kernel's.
 *
 * Main thread. */

#include <stdbool.h>

struct netdev;

struct nic {
    char eswitch[64];           /* Name for users that is the same for two
                                 * ports exactly if both are on one eSwitch,
                                 * e.g. "mlx5_pci domain 2", or "" if not
                                 * known. */
    bool representor;           /* Of a function behind the eSwitch, not an
                                 * uplink. */
    bool physical;              /* May be an uplink: a DPDK port or a device
                                 * of the kernel, not what only software is
                                 * (internal, vhost-user, tap).  Dummy ports
                                 * count as physical: they stand in for NICs
                                 * in tests. */
    int numa_id;                /* -1: not known. */
    int ifindex;                /* Of the device of the kernel that a DPDK port
                                 * shares the NIC with, so that the link of
                                 * both is one (rte_eth_dev_info, 'if_index');
                                 * 0: none.  It may be in another network
                                 * namespace. */
};

/* Fills in '*nic' wholly with what can be learned about 'netdev'. */
void nic_get(const struct netdev *netdev, struct nic *nic);

/* True if a port of an eSwitch with sysfs attribute phys_port_name
 * 'phys_port_name' is a representor, such as "pf0vf1", "pf0sf3" or "c1pf0":
 * any but a physical port, "p0" or "p0s1" (Linux,
 * Documentation/networking/switchdev.rst and representors.rst). */
bool nic_is_representor_name(const char *phys_port_name);

/* For tests: registers "netdev-dummy/eswitch PORT [NAME]", which makes NAME
 * the eSwitch of dummy port PORT, or takes it away. */
void nic_register_dummy_command(void);

#endif /* nic.h */
