/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef DPDK_NETDEV
#include <rte_ethdev.h>
#endif

#include "netdev.h"
#include "netdev-dpdk.h"
#include "netdev-provider.h"
#include "openvswitch/shash.h"
#include "smap.h"
#include "unixctl.h"
#include "util.h"

/* The eSwitches of dummy ports, by name. */
static struct smap dummy_eswitches = SMAP_INITIALIZER(&dummy_eswitches);

static bool
is_dummy(const struct netdev *netdev)
{
    const char *type = netdev_get_type(netdev);

    return !strcmp(type, "dummy") || !strcmp(type, "dummy-pmd");
}

static void
get_dummy(const struct netdev *netdev, struct nic *nic)
{
    int numa_id = netdev_get_numa_id(netdev);

    ovs_strlcpy(nic->eswitch,
                smap_get_def(&dummy_eswitches, netdev_get_name(netdev), ""),
                sizeof nic->eswitch);
    nic->physical = true;
    nic->numa_id = numa_id == NETDEV_NUMA_UNSPEC ? -1 : numa_id;
}

/* DPDK. */

#ifdef DPDK_NETDEV
static void
get_dpdk(const struct netdev *netdev, struct nic *nic)
{
    int port = netdev_dpdk_get_port_id(CONST_CAST(struct netdev *, netdev));
    struct rte_eth_dev_info info;

    /* A port whose device is not there (any more) has no valid number. */
    if (port < 0 || !rte_eth_dev_is_valid_port(port)
        || rte_eth_dev_info_get(port, &info)) {
        return;
    }

    if (info.switch_info.domain_id != RTE_ETH_DEV_SWITCH_DOMAIN_ID_INVALID) {
        /* The PMDs of different vendors may count domains each for itself. */
        snprintf(nic->eswitch, sizeof nic->eswitch, "%s domain %"PRIu16,
                 info.driver_name, info.switch_info.domain_id);
    }
    nic->representor = *info.dev_flags & RTE_ETH_DEV_REPRESENTOR;
    nic->physical = true;
    nic->numa_id = MAX(rte_eth_dev_socket_id(port), -1);
    nic->ifindex = info.if_index;
}
#else
static void
get_dpdk(const struct netdev *netdev OVS_UNUSED, struct nic *nic OVS_UNUSED)
{
}
#endif

/* The kernel. */

/* Reads the first line of 'attribute' of device 'dev'.  Returns false, with an
 * empty 'value', if it has none. */
static bool
read_sysfs(const char *dev, const char *attribute, char *value, int size)
{
    char *path = xasprintf("/sys/class/net/%s/%s", dev, attribute);
    FILE *stream = fopen(path, "r");

    value[0] = '\0';
    if (stream) {
        if (!fgets(value, size, stream)) {
            value[0] = '\0';
        }
        fclose(stream);
    }
    free(path);
    value[strcspn(value, "\n")] = '\0';
    return value[0] != '\0';
}

bool
nic_is_representor_name(const char *phys_port_name)
{
    return !(phys_port_name[0] == 'p'
             && phys_port_name[1] >= '0' && phys_port_name[1] <= '9');
}

static void
get_system(const char *dev, struct nic *nic)
{
    char value[64];

    if (read_sysfs(dev, "phys_switch_id", value, sizeof value)) {
        snprintf(nic->eswitch, sizeof nic->eswitch, "switch %.50s", value);
        if (read_sysfs(dev, "phys_port_name", value, sizeof value)) {
            nic->representor = nic_is_representor_name(value);
        }
    }
    nic->physical = !read_sysfs(dev, "tun_flags", value, sizeof value);
    if (read_sysfs(dev, "device/numa_node", value, sizeof value)) {
        nic->numa_id = atoi(value);
    }
}

void
nic_get(const struct netdev *netdev, struct nic *nic)
{
    const char *type = netdev_get_type(netdev);

    *nic = (struct nic) { .numa_id = -1 };
    if (is_dummy(netdev)) {
        get_dummy(netdev, nic);
    } else if (!strcmp(type, "dpdk")) {
        get_dpdk(netdev, nic);
    } else if (!strcmp(type, "system") || !strncmp(type, "afxdp", 5)) {
        get_system(netdev_get_name(netdev), nic);
    }
}

/* For tests. */

static void
dummy_eswitch(struct unixctl_conn *conn, int argc, const char *argv[],
              void *aux OVS_UNUSED)
{
    struct netdev *netdev = netdev_from_name(argv[1]);

    if (!netdev || !is_dummy(netdev)) {
        unixctl_command_reply_error(conn, "unknown dummy port");
    } else {
        if (argc > 2) {
            smap_replace(&dummy_eswitches, argv[1], argv[2]);
        } else {
            smap_remove(&dummy_eswitches, argv[1]);
        }
        netdev_change_seq_changed(netdev);
        unixctl_command_reply(conn, "OK");
    }
    netdev_close(netdev);
}

void
nic_register_dummy_command(void)
{
    unixctl_command_register("netdev-dummy/eswitch", "port [name]", 1, 2,
                             dummy_eswitch, NULL);
}
