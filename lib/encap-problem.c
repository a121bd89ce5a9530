/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-problem.h"

#include <stdarg.h>

#include "encap-config.h"
#include "encap-host.h"
#include "packets.h"
#include "util.h"

void
encap_problems_destroy(struct encap_problems *problems)
{
    sset_destroy(&problems->warnings);
    sset_destroy(&problems->infos);
}

static void OVS_PRINTF_FORMAT(2, 3)
add(struct sset *lines, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    sset_add_and_free(lines, xvasprintf(format, args));
    va_end(args);
}

static void
find_in_config(const struct encap_config *config,
               struct encap_problems *problems)
{
    const char *line;

    SSET_FOR_EACH (line, &config->problems) {
        sset_add(&problems->warnings, line);
    }
}

/* What is known of an endpoint alone.  'listed': others of its family are
 * configured. */
static void
find_in_endpoint(const struct encap_config *config,
                 const struct encap_endpoint *endpoint,
                 const struct encap_home *home, bool listed,
                 struct encap_problems *problems)
{
    /* Tunnels have a reason of their own for each packet. */
    bool configured = encap_endpoint_is_configured(endpoint);
    const char *what = configured ? "endpoint" : "local_ip";
    struct sset *lines = (configured ? &problems->warnings
                          : &problems->infos);
    char ip[INET6_ADDRSTRLEN];

    ipv6_string_mapped(ip, &endpoint->ip);
    if (!configured && listed) {
        add(&problems->warnings, "local_ip %s of tunnels is not one of the "
            "configured endpoints", ip);
    }
    if (endpoint->state == ENCAP_ABSENT) {
        add(lines, "%s %s is not an address of this host", what, ip);
    }
    if (home->port && !home->port->open) {
        add(lines, "%s %s is on %s, but bridge %s has no such port open",
            what, ip, home->dev, endpoint->bridge);
    }
    if (home->other_dev[0]) {
        add(lines, "%s %s is an address of two devices, %s and %s",
            what, ip, home->dev, home->other_dev);
    }
    if (encap_config_lacks_tunnels(config, &endpoint->ip)) {
        add(&problems->infos, "%s %s: all tunnels are of the other family",
            what, ip);
    }
}

static void
find_in_endpoints(const struct encap_config *config,
                  const struct encap_host *host,
                  const struct encap_registry *registry,
                  struct encap_problems *problems)
{
    bool listed[2] = { false, false }; /* [ipv6] */

    for (size_t i = 0; i < registry->n_endpoints; i++) {
        const struct encap_endpoint *endpoint = registry->endpoints[i];

        listed[encap_is_ipv6(&endpoint->ip)]
            |= encap_endpoint_is_configured(endpoint);
    }
    for (size_t i = 0; i < registry->n_endpoints; i++) {
        const struct encap_endpoint *endpoint = registry->endpoints[i];

        find_in_endpoint(config, endpoint,
                         encap_host_find(host, &endpoint->ip),
                         listed[encap_is_ipv6(&endpoint->ip)], problems);
    }
}

static void
find_in_pins(const struct encap_config *config,
             const struct encap_registry *registry,
             struct encap_problems *problems)
{
    const struct encap_port *port;

    HMAP_FOR_EACH (port, node, &registry->ports) {
        char ip[INET6_ADDRSTRLEN];

        if (!ipv6_addr_is_set(&port->pin)) {
            continue;
        }
        ipv6_string_mapped(ip, &port->pin);
        if (!encap_registry_find(registry, &port->pin)) {
            add(&problems->warnings,
                "port %s is pinned to %s, which is no endpoint", port->name,
                ip);
        } else if (encap_config_lacks_tunnels(config, &port->pin)) {
            add(&problems->warnings, "port %s is pinned to %s, but all "
                "tunnels are of the other family", port->name, ip);
        }
    }
}

/* Several endpoints of one family on one bridge, other than those of tunnels
 * alone, do not spread over NICs. */
static void
find_shared_nics(const struct encap_registry *registry, bool ipv6,
                 struct encap_problems *problems)
{
    struct sset bridges = SSET_INITIALIZER(&bridges);

    for (size_t i = 0; i < registry->n_endpoints; i++) {
        const struct encap_endpoint *endpoint = registry->endpoints[i];

        if (endpoint->bridge && encap_is_ipv6(&endpoint->ip) == ipv6
            && encap_endpoint_is_configured(endpoint)
            && !sset_add(&bridges, endpoint->bridge)) {
            add(&problems->infos, "bridge %s has several %s endpoints",
                endpoint->bridge, ipv6 ? "IPv6" : "IPv4");
        }
    }
    sset_destroy(&bridges);
}

void
encap_problems_find(const struct encap_config *config,
                    const struct encap_host *host,
                    const struct encap_registry *registry,
                    struct encap_problems *problems)
{
    find_in_config(config, problems);
    find_in_endpoints(config, host, registry, problems);
    find_in_pins(config, registry, problems);
    find_shared_nics(registry, false, problems);
    find_shared_nics(registry, true, problems);
}
