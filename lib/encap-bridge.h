/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENCAP_BRIDGE_H
#define ENCAP_BRIDGE_H 1

/* From the device that a route names to its bridge, and from there to the
 * NICs.  Main thread. */

struct encap_config;
struct encap_endpoint;
struct encap_registry;

/* The bridge that has a port 'name', or NULL.  Belongs to 'config'. */
const char *encap_bridge_of_port(const struct encap_config *config,
                                 const char *name);

/* An endpoint whose uplinks are those of 'bridge', or NULL if there is no
 * endpoint on that bridge. */
const struct encap_endpoint *encap_bridge_endpoint(
    const struct encap_registry *, const char *bridge);

#endif /* encap-bridge.h */
