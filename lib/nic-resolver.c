/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-resolver.h"

#include <string.h>

#include "netdev.h"
#include "netdev-offload.h"
#include "netdev-vport.h"
#include "nic-ethdev.h"
#include "util.h"

void
nic_resolver_init(struct nic_resolver *resolver, const char *dpif_type)
{
    resolver->dpif_type = dpif_type;
    resolver->n_ports = 0;
}

void
nic_resolver_uninit(struct nic_resolver *resolver)
{
    for (size_t i = 0; i < resolver->n_ports; i++) {
        netdev_close(resolver->ports[i].netdev);
    }
}

static void
get_tunnel(const struct netdev *netdev, struct nic_port *facts)
{
    const struct netdev_tunnel_config *config
        = netdev_get_tunnel_config(netdev);
    const char *type = netdev_get_type(netdev);

    facts->kind = NIC_PORT_TUNNEL;
    if (config) {
        facts->tunnel = (config->exts ? NIC_TUNNEL_NONE
                         : !strcmp(type, "geneve") ? NIC_TUNNEL_GENEVE
                         : !strcmp(type, "vxlan") ? NIC_TUNNEL_VXLAN
                         : NIC_TUNNEL_NONE);
    }
}

static void
get_ethdev(const struct netdev *netdev, odp_port_t odp_port,
           struct nic_port *facts)
{
    struct nic_ethdev *ethdev;

    ovs_rwlock_rdlock(&nic_ethdev_rwlock);
    ethdev = nic_ethdev_find(netdev);
    if (ethdev) {
        nic_ethdev_set_port(ethdev, odp_port);
        *facts = ethdev->facts;
    }
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
}

static const struct nic_resolved *
find(const struct nic_resolver *resolver, odp_port_t odp_port)
{
    for (size_t i = 0; i < resolver->n_ports; i++) {
        if (resolver->ports[i].odp_port == odp_port) {
            return &resolver->ports[i];
        }
    }
    return NULL;
}

static const struct nic_resolved *
resolve(struct nic_resolver *resolver, odp_port_t odp_port)
{
    struct nic_resolved *port;

    if (resolver->n_ports == ARRAY_SIZE(resolver->ports)) {
        return NULL;
    }
    port = &resolver->ports[resolver->n_ports++];
    *port = (struct nic_resolved) {
        .odp_port = odp_port,
        .netdev = netdev_ports_get(odp_port, resolver->dpif_type),
    };
    if (!port->netdev) {
        /* Nothing to know. */
    } else if (netdev_get_tunnel_config(port->netdev)) {
        get_tunnel(port->netdev, &port->facts);
    } else {
        get_ethdev(port->netdev, odp_port, &port->facts);
    }
    return port;
}

bool
nic_resolver_get_port(odp_port_t odp_port, struct nic_port *facts,
                      const void *aux)
{
    struct nic_resolver *resolver = CONST_CAST(struct nic_resolver *, aux);
    const struct nic_resolved *port = find(resolver, odp_port);

    if (!port) {
        port = resolve(resolver, odp_port);
    }
    if (!port || !port->netdev) {
        return false;
    }
    *facts = port->facts;
    return true;
}

const struct netdev *
nic_resolver_netdev(const struct nic_resolver *resolver, odp_port_t odp_port)
{
    const struct nic_resolved *port = find(resolver, odp_port);

    return port ? port->netdev : NULL;
}

unsigned int
nic_resolver_eswitch(const struct nic_resolver *resolver)
{
    for (size_t i = 0; i < resolver->n_ports; i++) {
        if (resolver->ports[i].facts.eswitch) {
            return resolver->ports[i].facts.eswitch;
        }
    }
    return 0;
}
