/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-bridge.h"

#include <stdlib.h>
#include <string.h>

#include "encap-config.h"
#include "encap-endpoint.h"
#include "util.h"

const char *
encap_bridge_of_port(const struct encap_config *config, const char *name)
{
    for (size_t i = 0; i < config->n_bridges; i++) {
        const struct encap_config_bridge *bridge = &config->bridges[i];

        for (size_t j = 0; j < bridge->n_ports; j++) {
            if (!strcmp(bridge->ports[j].name, name)) {
                return bridge->name;
            }
        }
    }
    return NULL;
}

const struct encap_endpoint *
encap_bridge_endpoint(const struct encap_registry *registry,
                      const char *bridge)
{
    for (size_t i = 0; i < registry->n_endpoints; i++) {
        const struct encap_endpoint *endpoint = registry->endpoints[i];

        if (endpoint->bridge && !strcmp(endpoint->bridge, bridge)) {
            return endpoint;
        }
    }
    return NULL;
}

static int
compare_uplinks(const void *a_, const void *b_)
{
    const struct encap_uplink *a = a_;
    const struct encap_uplink *b = b_;

    return strcmp(a->name, b->name);
}

struct encap_uplink *
encap_bridge_uplinks(const struct encap_registry *registry,
                     const char *bridge, size_t *n)
{
    struct encap_uplink *uplinks = NULL;
    const struct encap_port *port;
    size_t allocated = 0;

    *n = 0;
    HMAP_FOR_EACH (port, node, &registry->ports) {
        if (port->uplink && (!bridge || !strcmp(port->bridge, bridge))) {
            if (*n >= allocated) {
                uplinks = x2nrealloc(uplinks, &allocated, sizeof *uplinks);
            }
            uplinks[(*n)++] = (struct encap_uplink) {
                .name = port->name,
                .up = port->up,
                .eswitch = port->eswitch,
                .numa_id = port->numa_id,
            };
        }
    }
    if (*n) {
        qsort(uplinks, *n, sizeof *uplinks, compare_uplinks);
    }
    return uplinks;
}
