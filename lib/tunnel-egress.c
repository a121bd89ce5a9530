/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "tunnel-egress.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "coverage.h"
#include "flow.h"
#include "netdev.h"
#include "openvswitch/dynamic-string.h"
#include "ovs-router.h"
#include "packets.h"
#include "route-device.h"
#include "route-lookup.h"
#include "util.h"

/* One counter a reason.  They count translations, not packets: a flow that is
 * dropped in the datapath counts when it is set up and each time that it is
 * revalidated. */
COVERAGE_DEFINE(tunnel_egress_no_route);
COVERAGE_DEFINE(tunnel_egress_source_not_local);
COVERAGE_DEFINE(tunnel_egress_bad_source);
COVERAGE_DEFINE(tunnel_egress_no_source);
COVERAGE_DEFINE(tunnel_egress_blackhole);
COVERAGE_DEFINE(tunnel_egress_unreachable);
COVERAGE_DEFINE(tunnel_egress_prohibit);
COVERAGE_DEFINE(tunnel_egress_rule_blackhole);
COVERAGE_DEFINE(tunnel_egress_rule_unreachable);
COVERAGE_DEFINE(tunnel_egress_rule_prohibit);
COVERAGE_DEFINE(tunnel_egress_not_unicast);

/* What became of a query: a verdict of the router, or a refusal of ours. */
enum outcome {
    OUTCOME_VERDICT,
    OUTCOME_NOT_UNICAST,        /* Destination. */
    OUTCOME_FAMILIES_DIFFER,    /* Of source and destination. */
};

bool
tunnel_egress_is_unicast(const struct in6_addr *addr)
{
    if (IN6_IS_ADDR_V4MAPPED(addr)) {
        ovs_be32 ip = in6_addr_get_mapped_ipv4(addr);

        return ip && ip != htonl(INADDR_BROADCAST) && !ip_is_multicast(ip);
    }
    return ipv6_addr_is_set(addr) && !ipv6_addr_is_multicast(addr);
}

/* Destinations that no tunnel has are refused before the router notes them,
 * and what only the router knows (a subnet's broadcast address) after. */
static enum outcome
ask(const struct route_query *query, struct route_result *result)
{
    if (!tunnel_egress_is_unicast(&query->dst)) {
        return OUTCOME_NOT_UNICAST;
    }
    if (ipv6_addr_is_set(&query->src)
        && !IN6_IS_ADDR_V4MAPPED(&query->src)
           != !IN6_IS_ADDR_V4MAPPED(&query->dst)) {
        return OUTCOME_FAMILIES_DIFFER;
    }

    ovs_router_lookup_query(query, result, NULL);
    if (result->verdict == ROUTE_OK
        && result->route->type != ROUTE_UNICAST
        && result->route->type != ROUTE_LOCAL) {
        return OUTCOME_NOT_UNICAST;
    }
    return OUTCOME_VERDICT;
}

static void
count_verdict(enum route_verdict verdict)
{
    switch (verdict) {
    case ROUTE_NO_ROUTE:
        COVERAGE_INC(tunnel_egress_no_route);
        break;
    case ROUTE_NOT_LOCAL:
        COVERAGE_INC(tunnel_egress_source_not_local);
        break;
    case ROUTE_BAD_SOURCE:
        COVERAGE_INC(tunnel_egress_bad_source);
        break;
    case ROUTE_VIA_BLACKHOLE:
        COVERAGE_INC(tunnel_egress_blackhole);
        break;
    case ROUTE_VIA_UNREACHABLE:
        COVERAGE_INC(tunnel_egress_unreachable);
        break;
    case ROUTE_VIA_PROHIBIT:
        COVERAGE_INC(tunnel_egress_prohibit);
        break;
    case ROUTE_RULE_BLACKHOLE:
        COVERAGE_INC(tunnel_egress_rule_blackhole);
        break;
    case ROUTE_RULE_UNREACHABLE:
        COVERAGE_INC(tunnel_egress_rule_unreachable);
        break;
    case ROUTE_RULE_PROHIBIT:
        COVERAGE_INC(tunnel_egress_rule_prohibit);
        break;
    case ROUTE_NO_SOURCE:
        COVERAGE_INC(tunnel_egress_no_source);
        break;
    case ROUTE_OK:
    case ROUTE_N_VERDICTS:
        OVS_NOT_REACHED();
    }
}

/* Counts a refusal, appends its reason to 'reason' and returns its errno. */
static int
refuse(enum outcome outcome, const struct route_query *query,
       const struct route_result *result, struct ds *reason)
{
    switch (outcome) {
    case OUTCOME_NOT_UNICAST:
        COVERAGE_INC(tunnel_egress_not_unicast);
        if (reason) {
            ds_put_cstr(reason, "destination ");
            ipv6_format_mapped(&query->dst, reason);
            ds_put_cstr(reason, " is not a unicast address");
        }
        return EACCES;

    case OUTCOME_FAMILIES_DIFFER:
        COVERAGE_INC(tunnel_egress_bad_source);
        if (reason) {
            ds_put_cstr(reason, "source ");
            ipv6_format_mapped(&query->src, reason);
            ds_put_cstr(reason, " is not of the family of destination ");
            ipv6_format_mapped(&query->dst, reason);
        }
        return EINVAL;

    case OUTCOME_VERDICT:
        break;
    }

    count_verdict(result->verdict);
    if (reason) {
        route_verdict_format(query, result, reason);
    }
    return route_verdict_errno(result->verdict);
}

/* The headers of what is inside the tunnel that spread over next hops. */
static enum nx_hash_fields
hash_fields(const struct flow *flow)
{
    return (is_ip_any(flow)
            ? NX_HASH_FIELDS_SYMMETRIC_L3L4_UDP
            : NX_HASH_FIELDS_SYMMETRIC_L4);
}

/* The protocol over IP of a tunnel to port 'dst_port': those without a port
 * are the GRE kinds. */
static uint8_t
tunnel_ipproto(ovs_be16 dst_port)
{
    return dst_port ? IPPROTO_UDP : IPPROTO_GRE;
}

/* The source that was given: that of the destination's family, if there are
 * two. */
static struct in6_addr
outer_source(const struct flow_tnl *tnl)
{
    return (tnl->ip_dst || !ipv6_addr_is_set(&tnl->ipv6_src)
            ? flow_tnl_src(tnl) : tnl->ipv6_src);
}

int
tunnel_egress_lookup(const struct flow *flow, struct flow_wildcards *wc,
                     struct tunnel_egress *egress, struct ds *reason)
{
    const struct flow_tnl *tnl = &flow->tunnel;
    struct route_query query = {
        .dst = flow_tnl_dst(tnl),
        .src = outer_source(tnl),
        .mark = flow->pkt_mark,
        .tos = tnl->ip_tos,
        .ipproto = tunnel_ipproto(tnl->tp_dst),
        .dport = tnl->tp_dst,
        .hash = flow_hash_fields(flow, hash_fields(flow), 0),
    };
    struct route_result result;
    enum outcome outcome;

    /* A packet off the wire has no mark, one that was recirculated may have
     * got one on its way that its successors have not. */
    if (flow->pkt_mark || flow->recirc_id) {
        wc->masks.pkt_mark = UINT32_MAX;
    }

    outcome = ask(&query, &result);
    if (outcome == OUTCOME_VERDICT && result.hashed) {
        /* Also of a refusal: another flow may not meet it. */
        flow_mask_hash_fields(flow, wc, hash_fields(flow));
    }
    if (outcome != OUTCOME_VERDICT || result.verdict != ROUTE_OK) {
        return refuse(outcome, &query, &result, reason);
    }

    ovs_strlcpy_arrays(egress->dev, result.dev);
    egress->next_hop = (ipv6_addr_is_set(&result.gateway)
                        ? result.gateway : query.dst);
    egress->src = result.src;
    return 0;
}

/* What the kernel last told about the link decides on routes, too, and so is
 * never older than the answer.  A dummy port has only its netdev. */
static bool
device_carrier(const struct route_device *device)
{
    const struct route_link *link = route_device_link(device);
    struct netdev *netdev;
    bool carrier;

    if (device->ifindex) {
        return link->up && link->carrier;
    }
    if (netdev_open(link->name, NULL, &netdev)) {
        return false;
    }
    carrier = netdev_get_carrier(netdev);
    netdev_close(netdev);
    return carrier;
}

bool
tunnel_egress_status(const struct netdev_tunnel_config *config,
                     char dev[IFNAMSIZ], bool *carrier)
{
    struct route_query query = {
        .dst = config->ipv6_dst,
        .src = config->ip_src_flow ? in6addr_any : config->ipv6_src,
        .mark = config->set_egress_pkt_mark ? config->egress_pkt_mark : 0,
        .tos = config->tos_inherit ? 0 : config->tos,
        .ipproto = tunnel_ipproto(config->dst_port),
        .dport = config->dst_port,
    };
    struct route_result result;

    if (config->ip_dst_flow
        || ask(&query, &result) != OUTCOME_VERDICT
        || result.verdict != ROUTE_OK) {
        return false;
    }
    ovs_strlcpy(dev, result.dev, IFNAMSIZ);
    *carrier = device_carrier(result.device);
    return true;
}

/* How well 'addr'/'mask' of a device suits a request for 'next_hop' on behalf
 * of packets from 'src', 0: not at all. */
static int
rank_address(const struct in6_addr *addr, const struct in6_addr *mask,
             const struct in6_addr *next_hop, const struct in6_addr *src)
{
    struct in6_addr net = ipv6_addr_bitand(addr, mask);
    struct in6_addr target = ipv6_addr_bitand(next_hop, mask);
    bool is_src = ipv6_addr_equals(addr, src);

    if (!IN6_IS_ADDR_V4MAPPED(addr) != !IN6_IS_ADDR_V4MAPPED(next_hop)) {
        return 0;
    }
    if (ipv6_addr_equals(&net, &target)) {
        return is_src ? 4 : 3;
    }
    return is_src ? 2 : 1;
}

struct in6_addr
tunnel_egress_neighbor_source(const char *dev,
                              const struct in6_addr *next_hop,
                              const struct in6_addr *src)
{
    struct in6_addr *addrs, *masks;
    bool same_family = (!IN6_IS_ADDR_V4MAPPED(next_hop)
                        == !IN6_IS_ADDR_V4MAPPED(src));
    struct in6_addr best = same_family ? *src : in6addr_any;
    struct netdev *netdev;
    int best_rank = 0;
    size_t best_index = 0;
    int n;

    if (netdev_open(dev, NULL, &netdev)) {
        return best;
    }

    if (!netdev_get_addr_list(netdev, &addrs, &masks, &n)) {
        for (size_t i = 0; i < n; i++) {
            int rank = rank_address(&addrs[i], &masks[i], next_hop, src);

            /* Contiguous masks in network byte order: the greater is the
             * longer. */
            if (rank > best_rank
                || (rank == 3 && best_rank == 3
                    && memcmp(&masks[i], &masks[best_index],
                              sizeof *masks) > 0)) {
                best = addrs[i];
                best_rank = rank;
                best_index = i;
            }
        }
        free(addrs);
        free(masks);
    }

    netdev_close(netdev);
    return best;
}

bool
tunnel_egress_neighbor_answers(const struct flow *flow,
                               const struct in6_addr *addrs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (IN6_IS_ADDR_V4MAPPED(&addrs[i])
            ? (flow->dl_type == htons(ETH_TYPE_ARP)
               && flow->nw_dst == in6_addr_get_mapped_ipv4(&addrs[i]))
            : (flow->dl_type == htons(ETH_TYPE_IPV6)
               && flow->nw_proto == IPPROTO_ICMPV6
               && ipv6_addr_equals(&flow->ipv6_dst, &addrs[i]))) {
            return true;
        }
    }
    return false;
}
