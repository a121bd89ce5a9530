/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENCAP_BRIDGE_H
#define ENCAP_BRIDGE_H 1

/* From the device that a route names to its bridge, and from there to the
 * NICs.  Main thread. */

#include <stddef.h>

struct encap_config;
struct encap_endpoint;
struct encap_registry;
struct encap_uplink;

/* The bridge that has a port 'name', or NULL.  Belongs to 'config'. */
const char *encap_bridge_of_port(const struct encap_config *config,
                                 const char *name);

/* An endpoint on 'bridge', or NULL. */
const struct encap_endpoint *encap_bridge_endpoint(
    const struct encap_registry *, const char *bridge);

/* The uplinks of 'bridge', whether it has an endpoint or not, or of all
 * bridges if that is NULL; '*n' of them, by name.  The caller frees the array,
 * but the names in it are the registry's. */
struct encap_uplink *encap_bridge_uplinks(const struct encap_registry *,
                                          const char *bridge, size_t *n);

#endif /* encap-bridge.h */
