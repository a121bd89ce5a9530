/* SPDX-License-Identifier: Apache-2.0 */

/* Room for the outer headers
 * ==========================
 *
 * A packet that fills the MTU M of an overlay port needs, on the underlay, an
 * MTU of
 *
 *     M + 14 (inner Ethernet header, IEEE 802.3)
 *       + 8 (Geneve, RFC 8926 section 3.4) + options
 *       + 8 (UDP, RFC 768)
 *       + 20 (IPv4, RFC 791 section 3.1) or 40 (IPv6, RFC 8200 section 3)
 *
 * that is M + 50 for IPv4 and M + 70 for IPv6, and 8 bytes more with OVN,
 * which has one option of 4 bytes behind an option header of 4.  VXLAN (RFC
 * 7348 section 5) is as long as Geneve without options; GRE has no UDP header
 * and 4 bytes plus a key of 4 (RFC 2784, RFC 2890). */

#include <config.h>

#include "encap-check-private.h"

#include <stdlib.h>
#include <string.h>

#include "encap-bridge.h"
#include "encap-text.h"
#include "netdev.h"
#include "netdev-provider.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "util.h"

enum {
    OVN_OPTION_LEN = 8,
    GRE_LEN = 8,
};

/* Returns the MTU of port 'name', or 0 if it is not known. */
static int
get_mtu(const char *name)
{
    struct netdev *netdev = netdev_from_name(name);
    int mtu;

    if (!netdev || netdev_get_mtu(netdev, &mtu)) {
        mtu = 0;
    }
    netdev_close(netdev);
    return mtu;
}

/* True if port 'name' is the device, the bridge or an uplink of an endpoint,
 * where packets have their outer headers: one bridge may have those, tunnels
 * and workloads. */
static bool
is_underlay_port(const struct encap_registry *registry, const char *name)
{
    for (size_t i = 0; i < registry->n_endpoints; i++) {
        const struct encap_endpoint *endpoint = registry->endpoints[i];

        if (!strcmp(endpoint->dev, name)
            || (endpoint->bridge && !strcmp(endpoint->bridge, name))) {
            return true;
        }
        for (size_t j = 0; j < endpoint->n_uplinks; j++) {
            if (!strcmp(endpoint->uplinks[j].name, name)) {
                return true;
            }
        }
    }
    return false;
}

/* A bridge's own port counts if this host itself uses the overlay, and so has
 * an address there. */
static bool
is_overlay_port(const struct encap_registry *registry,
                const struct encap_config_bridge *bridge, const char *name)
{
    struct in6_addr *addrs, *masks;
    struct netdev *netdev;
    int n = 0;

    if (is_underlay_port(registry, name)) {
        return false;
    }
    if (strcmp(name, bridge->name)) {
        return true;
    }
    netdev = netdev_from_name(name);
    if (netdev && !netdev_get_addr_list(netdev, &addrs, &masks, &n)) {
        free(addrs);
        free(masks);
    }
    netdev_close(netdev);
    return n > 0;
}

/* Finds the port with the largest MTU on the bridges that have tunnels.
 * Returns its MTU, or 0 if there is none, and its name in '*port'. */
static int
overlay_mtu(const struct encap_check *check, const char **port)
{
    const struct encap_config *config = check->config;
    int max = 0;

    for (size_t i = 0; i < config->n_bridges; i++) {
        const struct encap_config_bridge *bridge = &config->bridges[i];

        for (size_t j = 0; j < bridge->n_ports && bridge->has_tunnels; j++) {
            const char *name = bridge->ports[j].name;
            int mtu = (is_overlay_port(check->registry, bridge, name)
                       ? get_mtu(name) : 0);

            if (mtu > max) {
                max = mtu;
                *port = name;
            }
        }
    }
    return max;
}

/* The kinds of tunnel ports that there are. */
struct kinds {
    bool geneve, vxlan, gre;
};

static struct kinds
tunnel_kinds(const struct encap_check *check)
{
    struct kinds kinds = { .geneve = false };
    struct netdev **vports;
    size_t n;

    vports = encap_check_tunnels(check, &n);
    for (size_t i = 0; i < n; i++) {
        const char *type = netdev_get_type(vports[i]);

        kinds.geneve |= !strcmp(type, "geneve");
        kinds.vxlan |= !strcmp(type, "vxlan");
        kinds.gre |= !strcmp(type, "gre") || !strcmp(type, "ip6gre");
        netdev_close(vports[i]);
    }
    free(vports);
    return kinds;
}

/* The bytes that the longest of 'kinds' adds to an inner IP packet that is
 * sent from 'endpoint', and in '*kind' what that assumes.  OVN is taken to use
 * the endpoints that it names. */
static int
overhead(const struct kinds *kinds, const struct encap_endpoint *endpoint,
         const char **kind)
{
    int outer = ETH_HEADER_LEN + (encap_is_ipv6(&endpoint->ip)
                                  ? IPV6_HEADER_LEN : IP_HEADER_LEN);

    if (kinds->geneve || !(kinds->vxlan || kinds->gre)) {
        bool ovn = endpoint->origins & ENCAP_ORIGIN_OVN;

        *kind = ovn ? "Geneve with OVN's option" : "Geneve without options";
        return (outer + UDP_HEADER_LEN + sizeof(struct genevehdr)
                + (ovn ? OVN_OPTION_LEN : 0));
    } else if (kinds->vxlan) {
        *kind = "VXLAN";
        return outer + UDP_HEADER_LEN + sizeof(struct vxlanhdr);
    } else {
        *kind = "GRE with a key";
        return outer + GRE_LEN;
    }
}

/* Appends to 's' the part of a command that gives port 'name' at least 'mtu'.
 * Returns false if it has that. */
static bool
mend_port(const char *name, int mtu, struct ds *s)
{
    if (get_mtu(name) >= mtu) {
        return false;
    }
    ds_put_format(s, "%s set Interface ", s->length ? " --" : "ovs-vsctl");
    encap_text_put_word(name, s);
    ds_put_format(s, " mtu_request=%d", mtu);
    return true;
}

/* Likewise for the uplinks of 'bridge'. */
static bool
mend_uplinks(const struct encap_registry *registry, const char *bridge,
             int mtu, struct ds *s)
{
    size_t n;
    struct encap_uplink *uplinks = encap_bridge_uplinks(registry, bridge, &n);
    bool mended = false;

    for (size_t i = 0; i < n; i++) {
        mended |= mend_port(uplinks[i].name, mtu, s);
    }
    free(uplinks);
    return mended;
}

/* The command that gives what counts for the MTU of 'endpoint' at least 'mtu'.
 * The base takes a port whose driver refuses off its bridge. */
static char *
mend(const struct encap_check *check, const struct encap_endpoint *endpoint,
     int mtu)
{
    const struct encap_config *config = check->config;
    struct ds s = DS_EMPTY_INITIALIZER;
    bool nic = false;

    for (size_t i = 0; endpoint->any_nic && i < config->n_bridges; i++) {
        if (!config->bridges[i].has_tunnels) {
            nic |= mend_uplinks(check->registry, config->bridges[i].name, mtu,
                                &s);
        }
    }
    if (endpoint->bridge) {
        nic |= mend_uplinks(check->registry, endpoint->bridge, mtu, &s);
        mend_port(endpoint->dev, mtu, &s);
    }
    if (nic) {
        ds_put_cstr(&s, " # if the NIC can: one that refuses is taken off "
                    "its bridge");
    }
    return ds_steal_cstr(&s);
}

void
encap_check_mtu(const struct encap_check *check)
{
    const struct encap_registry *registry = check->registry;
    const struct kinds kinds = tunnel_kinds(check);
    const char *port = NULL;
    int inner = overlay_mtu(check, &port);

    for (size_t i = 0; i < registry->n_endpoints && inner; i++) {
        const struct encap_endpoint *endpoint = registry->endpoints[i];
        char ip[INET6_ADDRSTRLEN];
        const char *kind;
        int extra = overhead(&kinds, endpoint, &kind);

        if (endpoint->mtu && endpoint->mtu < inner + extra) {
            encap_findings_add(
                check->findings, ENCAP_WARNING,
                ipv6_string_mapped(ip, &endpoint->ip),
                xasprintf("MTU %d is below %d: port %s has %d and %s over %s "
                          "adds %d", endpoint->mtu, inner + extra, port, inner,
                          kind, encap_is_ipv6(&endpoint->ip) ? "IPv6" : "IPv4",
                          extra),
                mend(check, endpoint, inner + extra));
        }
    }
}
