/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENCAP_CONFIG_H
#define ENCAP_CONFIG_H 1

/* What a user or OVN wants of encapsulation endpoints
 * ===================================================
 *
 * A plain value without OVSDB in it: vswitchd/encap-database.c makes one of
 * the database's rows, encap-monitor.h makes a registry of it and of the state
 * of this host. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#include "encap-endpoint.h"
#include "openvswitch/hmap.h"
#include "sset.h"

/* An address that shall be an endpoint. */
struct encap_wanted {
    struct hmap_node node;      /* In encap_config 'wanted', by 'ip'. */
    struct in6_addr ip;
    unsigned int origins;       /* ENCAP_ORIGIN_*. */
    size_t n_tunnels;
};

/* A port of a bridge, tunnels and patches excepted. */
struct encap_config_port {
    char *name;
    char *type;                 /* Of its netdev: "dpdk", "internal", ... */
    struct in6_addr pin;        /* in6addr_any: none. */
    bool workload;              /* It is said to be that of a workload, so it
                                 * is no uplink. */
};

struct encap_config_bridge {
    char *name;
    bool has_tunnels;           /* Some ports of it are tunnels. */
    bool has_patches;           /* Some lead to other bridges. */
    struct encap_config_port *ports;
    size_t n_ports;
};

struct encap_config {
    struct hmap wanted;         /* Contains "struct encap_wanted"s. */
    struct in6_addr defaults[2];  /* [ipv6]; in6addr_any: none. */
    char *default_keys[2];      /* Key that gave it, or NULL. */
    enum encap_step order[ENCAP_MAX_ORDER];
    size_t n_order;
    bool failover;
    bool strict_rx;
    struct encap_config_bridge *bridges;
    size_t n_bridges;
    bool has_remotes[2];        /* [ipv6]: remotes of some tunnels are, or as
                                 * flows tell may be, of that family. */
    struct sset tunnels;        /* Names of the tunnel ports of 'bridges'. */
    struct sset problems;       /* What could not be made sense of, a line
                                 * each that names key and value. */
};

/* An empty one, with the default order. */
struct encap_config *encap_config_create(void);
void encap_config_destroy(struct encap_config *);

/* Adds 'ip' or, if it is there, just 'origin', and returns it. */
struct encap_wanted *encap_config_want(struct encap_config *,
                                       const struct in6_addr *ip,
                                       enum encap_origin origin);

/* The parsers of the values of ovn-encap-ip and encap-ip (comma separated
 * lists of addresses), of ovn-encap-ip-default and encap-ip-default (such a
 * list, at most one of each family), of encap-ip of an interface (one
 * address), and of encap-select ("pin", "nic", "default", "route", each at
 * most once, separated by commas).  'value' NULL or empty means not set.
 * Spaces around an item do not count, nor do empty addresses in a list.
 *
 * What is malformed, cannot be a source (not unicast: RFC 1122 section
 * 3.2.1.3, RFC 4291 section 2; or of the loopback network), or is there twice
 * is left out and becomes a problem that names 'key'.  A default stays if
 * another one of its family follows, be it from another key; a malformed order
 * leaves the one that is there.  _parse_address() returns true and stores the
 * address in '*ip', or returns false and leaves it alone. */
void encap_config_parse_list(struct encap_config *, const char *key,
                             const char *value, enum encap_origin origin);
void encap_config_parse_default(struct encap_config *, const char *key,
                                const char *value);
bool encap_config_parse_address(struct encap_config *, const char *key,
                                const char *value, struct in6_addr *ip);
void encap_config_parse_order(struct encap_config *, const char *key,
                              const char *value);

/* Once everything has been parsed and wanted: a default that is not configured
 * (origin OVN or CONFIG) becomes a problem and is forgotten; then, in a family
 * that has no default and one configured endpoint, that one is it. */
void encap_config_finish(struct encap_config *);

/* True if there are tunnels, and all their remotes are of the other family
 * than 'ip'. */
static inline bool
encap_config_lacks_tunnels(const struct encap_config *config,
                           const struct in6_addr *ip)
{
    bool ipv6 = encap_is_ipv6(ip);

    return config->has_remotes[!ipv6] && !config->has_remotes[ipv6];
}

#endif /* encap-config.h */
