/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-packet.h"

#include <inttypes.h>
#include <string.h>

#include "encap-endpoint.h"
#include "netdev.h"
#include "netdev-provider.h"
#include "netdev-vport.h"
#include "packets.h"
#include "route-argument.h"
#include "util.h"

/* The UDP port of Geneve (RFC 8926 section 3.3), for want of a tunnel. */
enum { DEFAULT_DPORT = 6081 };

/* The configuration of 'netdev' if it is a tunnel port, else NULL.  The
 * datapath's own ports for tunnels have no destination. */
static const struct netdev_tunnel_config *
get_tunnel_config(const struct netdev *netdev)
{
    const struct netdev_tunnel_config *config
        = netdev_get_tunnel_config(netdev);

    return (config && (config->ip_dst_flow
                       || ipv6_addr_is_set(&config->ipv6_dst))
            ? config : NULL);
}

/* Why the port of 'netdev', which may be NULL and is not in the registry, is
 * no 'ingress', or NULL: tunnels may be, but have neither pin nor eSwitch. */
static const char *
refuse_ingress(const struct netdev *netdev)
{
    if (netdev && get_tunnel_config(netdev)) {
        return NULL;
    }
    return (netdev && netdev_vport_is_patch(netdev)
            ? "a patch port, which no packet first comes in by"
            : "no port of a bridge has this name");
}

static char *
find_ingress(struct encap_packet *packet, const struct route_arguments *args)
{
    const char *name = args->in_port;
    struct netdev *netdev;
    const char *reason;

    if (!name) {
        return NULL;
    }
    packet->sender.ingress = name;
    packet->ingress = encap_registry_find_port(packet->registry, name);
    if (packet->ingress) {
        return NULL;
    }

    netdev = netdev_from_name(name);
    reason = refuse_ingress(netdev);
    netdev_close(netdev);
    return (reason
            ? xasprintf("Invalid argument: in_port=%s: %s", name, reason)
            : NULL);
}

static char *
find_tunnel(struct encap_packet *packet, const struct route_arguments *args)
{
    const char *name = args->tunnel;

    if (!name) {
        return (args->given & ROUTE_ARG_DST ? NULL
                : xstrdup("Not enough arguments: tunnel= or dst= is missing"));
    }
    packet->tunnel = netdev_from_name(name);
    if (!packet->tunnel) {
        return xasprintf("Invalid argument: tunnel=%s: no such port", name);
    }
    packet->config = get_tunnel_config(packet->tunnel);
    if (!packet->config) {
        return xasprintf("Invalid argument: tunnel=%s: not a tunnel port",
                         name);
    }
    return NULL;
}

/* The next two compare an argument with what the tunnel port fixes, and
 * translation would not take from a flow.  They return NULL if the two do not
 * contradict each other, or a line that says so. */

static char *
check_address(const struct encap_packet *packet, const char *key,
              const struct in6_addr *given, const char *option,
              const struct in6_addr *fixed)
{
    char given_buf[INET6_ADDRSTRLEN], fixed_buf[INET6_ADDRSTRLEN];

    if (ipv6_addr_equals(given, fixed)) {
        return NULL;
    }
    return xasprintf("Invalid argument: %s=%s: tunnel %s has %s%s", key,
                     ipv6_string_mapped(given_buf, given),
                     netdev_get_name(packet->tunnel),
                     ipv6_addr_is_set(fixed) ? option : "no local_ip",
                     (ipv6_addr_is_set(fixed)
                      ? ipv6_string_mapped(fixed_buf, fixed) : ""));
}

static char *
check_number(const struct encap_packet *packet, const char *key,
             uint32_t given, const char *option, uint32_t fixed)
{
    if (given == fixed) {
        return NULL;
    }
    return xasprintf("Invalid argument: %s=%"PRIu32": tunnel %s has "
                     "%s%"PRIu32, key, given, netdev_get_name(packet->tunnel),
                     option, fixed);
}

static char *
check_against_tunnel(const struct encap_packet *packet,
                     const struct route_arguments *args)
{
    const struct netdev_tunnel_config *config = packet->config;
    uint32_t given = args->given;
    char *error = NULL;

    if (given & ROUTE_ARG_DST && !config->ip_dst_flow) {
        error = check_address(packet, "dst", &args->address, "remote_ip=",
                              &config->ipv6_dst);
    }
    if (!error && given & ROUTE_ARG_SRC && !config->ip_src_flow) {
        error = check_address(packet, "src", &args->src, "local_ip=",
                              &config->ipv6_src);
    }
    if (!error && given & ROUTE_ARG_OUTER_MARK
        && config->set_egress_pkt_mark) {
        error = check_number(packet, "mark", args->mark, "egress_pkt_mark=",
                             config->egress_pkt_mark);
    }
    if (!error && given & ROUTE_ARG_TOS && !config->tos_inherit) {
        error = check_number(packet, "tos", args->tos, "tos=", config->tos);
    }
    if (!error && given & ROUTE_ARG_DPORT) {
        error = check_number(packet, "dport", args->dport, "dst_port=",
                             ntohs(config->dst_port));
    }
    if (!error && config->ip_dst_flow && !(given & ROUTE_ARG_DST)) {
        error = xasprintf("Not enough arguments: dst= is missing: tunnel %s "
                          "has remote_ip=flow",
                          netdev_get_name(packet->tunnel));
    }
    return error;
}

static void
set_outer_address(const struct in6_addr *ip, ovs_be32 *ip4,
                  struct in6_addr *ip6)
{
    *ip4 = in6_addr_get_mapped_ipv4(ip);
    *ip6 = *ip4 ? in6addr_any : *ip;
}

/* The outer headers of the tunnel and, where it leaves them open, those of
 * the arguments. */
static void
make_flow(struct encap_packet *packet, const struct route_arguments *args)
{
    static const struct netdev_tunnel_config open = {
        .ip_src_flow = true,
        .ip_dst_flow = true,
        .tos_inherit = true,
        .dst_port = CONSTANT_HTONS(DEFAULT_DPORT),
    };
    struct flow_tnl *tnl = &packet->flow.tunnel;
    const char *ingress = packet->sender.ingress;

    tunnel_egress_flow(packet->config ? packet->config : &open, &packet->flow,
                       &packet->sender);
    packet->sender.ingress = ingress;
    if (args->given & ROUTE_ARG_DST) {
        set_outer_address(&args->address, &tnl->ip_dst, &tnl->ipv6_dst);
    }
    if (args->given & ROUTE_ARG_SRC) {
        set_outer_address(&args->src, &tnl->ip_src, &tnl->ipv6_src);
    }
    if (args->given & ROUTE_ARG_OUTER_MARK) {
        packet->flow.pkt_mark = args->mark;
    }
    if (args->given & ROUTE_ARG_TOS) {
        tnl->ip_tos = args->tos;
    }
    if (args->given & ROUTE_ARG_DPORT) {
        tnl->tp_dst = htons(args->dport);
    }
}

char *
encap_packet_init(struct encap_packet *packet,
                  const struct route_arguments *args)
{
    char *error;

    memset(packet, 0, sizeof *packet);
    packet->registry = encap_registry_get();
    error = find_ingress(packet, args);
    if (!error) {
        error = find_tunnel(packet, args);
    }
    if (!error && packet->config) {
        error = check_against_tunnel(packet, args);
    }
    if (!error) {
        make_flow(packet, args);
    }
    return error;
}

void
encap_packet_uninit(struct encap_packet *packet)
{
    netdev_close(packet->tunnel);
}
