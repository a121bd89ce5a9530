/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-bridge.h"

#include <string.h>

#include "encap-config.h"
#include "encap-endpoint.h"

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
