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
COVERAGE_DEFINE(tunnel_egress_endpoint_down);
COVERAGE_DEFINE(tunnel_egress_all_endpoints_down);

bool
tunnel_egress_is_unicast(const struct in6_addr *addr)
{
    if (IN6_IS_ADDR_V4MAPPED(addr)) {
        ovs_be32 ip = in6_addr_get_mapped_ipv4(addr);

        return ip && ip != htonl(INADDR_BROADCAST) && !ip_is_multicast(ip);
    }
    return ipv6_addr_is_set(addr) && !ipv6_addr_is_multicast(addr);
}

static bool
is_sendable(const struct route_result *result)
{
    return (result->verdict == ROUTE_OK
            && (result->route->type == ROUTE_UNICAST
                || result->route->type == ROUTE_LOCAL));
}

/* For encap_select(). */
static bool
routing_prefers(const struct encap_query *encap, struct in6_addr *src)
{
    struct tunnel_decision *decision = CONST_CAST(void *, encap->aux);
    struct route_query query = decision->route;
    struct route_result result;

    query.src = in6addr_any;
    ovs_router_lookup_query(&query, &result, NULL);
    decision->hashed |= result.hashed;
    if (!is_sendable(&result)) {
        return false;
    }
    *src = result.src;
    return true;
}

/* Decides for 'decision->encap' and 'decision->route', which are filled in.
 * Destinations that no tunnel has are refused before the router notes them,
 * and what only the router knows (a subnet's broadcast address) after. */
static void
decide(struct tunnel_decision *decision, struct route_trail *trail)
{
    struct encap_query *encap = &decision->encap;
    struct route_query *query = &decision->route;

    decision->registry = encap_registry_get();
    decision->hashed = false;
    if (!tunnel_egress_is_unicast(&query->dst)) {
        decision->outcome = TUNNEL_NOT_UNICAST;
        return;
    }

    encap->dst = query->dst;
    encap->prefers = routing_prefers;
    encap->aux = decision;
    if (encap_select(decision->registry, encap, &decision->choice)) {
        decision->outcome = TUNNEL_NO_ENDPOINT;
        return;
    }

    query->src = decision->choice.src;
    if (ipv6_addr_is_set(&query->src)
        && !IN6_IS_ADDR_V4MAPPED(&query->src)
           != !IN6_IS_ADDR_V4MAPPED(&query->dst)) {
        decision->outcome = TUNNEL_FAMILIES_DIFFER;
        return;
    }

    ovs_router_lookup_query(query, &decision->result, trail);
    decision->hashed |= decision->result.hashed;
    decision->outcome = (decision->result.verdict == ROUTE_OK
                         && !is_sendable(&decision->result)
                         ? TUNNEL_NOT_UNICAST : TUNNEL_ROUTED);
}

static int
decision_errno(const struct tunnel_decision *decision)
{
    switch (decision->outcome) {
    case TUNNEL_ROUTED:
        return route_verdict_errno(decision->result.verdict);
    case TUNNEL_NOT_UNICAST:
        return EACCES;
    case TUNNEL_FAMILIES_DIFFER:
        return EINVAL;
    case TUNNEL_NO_ENDPOINT:
        return ENETDOWN;
    }
    OVS_NOT_REACHED();
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

static void
count_refusal(const struct tunnel_decision *decision)
{
    switch (decision->outcome) {
    case TUNNEL_ROUTED:
        count_verdict(decision->result.verdict);
        break;
    case TUNNEL_NOT_UNICAST:
        COVERAGE_INC(tunnel_egress_not_unicast);
        break;
    case TUNNEL_FAMILIES_DIFFER:
        COVERAGE_INC(tunnel_egress_bad_source);
        break;
    case TUNNEL_NO_ENDPOINT:
        if (decision->choice.verdict == ENCAP_REFUSED_DOWN) {
            COVERAGE_INC(tunnel_egress_endpoint_down);
        } else {
            COVERAGE_INC(tunnel_egress_all_endpoints_down);
        }
        break;
    }
}

void
tunnel_decision_format_refusal(const struct tunnel_decision *decision,
                               struct ds *reason)
{
    const struct route_query *query = &decision->route;

    switch (decision->outcome) {
    case TUNNEL_ROUTED:
        route_verdict_format(query, &decision->result, reason);
        break;

    case TUNNEL_NOT_UNICAST:
        ds_put_cstr(reason, "destination ");
        ipv6_format_mapped(&query->dst, reason);
        ds_put_cstr(reason, " is not a unicast address");
        break;

    case TUNNEL_FAMILIES_DIFFER:
        ds_put_cstr(reason, "source ");
        ipv6_format_mapped(&query->src, reason);
        ds_put_cstr(reason, " is not of the family of destination ");
        ipv6_format_mapped(&query->dst, reason);
        break;

    case TUNNEL_NO_ENDPOINT:
        encap_choice_format(decision->registry, &decision->encap,
                            &decision->choice, reason);
        break;
    }
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
tunnel_egress_decide(const struct flow *flow,
                     const struct tunnel_sender *sender,
                     struct tunnel_decision *decision,
                     struct route_trail *trail)
{
    const struct flow_tnl *tnl = &flow->tunnel;
    struct in6_addr src = outer_source(tnl);

    if (IN6_IS_ADDR_V4MAPPED(&src) && !in6_addr_get_mapped_ipv4(&src)) {
        src = in6addr_any;
    }
    decision->encap = (struct encap_query) {
        .tunnel_src = sender->src_flow ? in6addr_any : src,
        .flow_src = sender->src_flow ? src : in6addr_any,
        .ingress = sender->ingress,
    };
    decision->route = (struct route_query) {
        .dst = flow_tnl_dst(tnl),
        .mark = flow->pkt_mark,
        .tos = tnl->ip_tos,
        .ipproto = tunnel_ipproto(tnl->tp_dst),
        .dport = tnl->tp_dst,
        .hash = flow_hash_fields(flow, hash_fields(flow), 0),
    };
    decide(decision, trail);
    return decision_errno(decision);
}

int
tunnel_egress_lookup(const struct flow *flow,
                     const struct tunnel_sender *sender,
                     struct flow_wildcards *wc, struct tunnel_egress *egress,
                     struct ds *text)
{
    struct tunnel_decision decision;
    const struct route_result *result = &decision.result;
    int error = tunnel_egress_decide(flow, sender, &decision, NULL);

    /* A packet off the wire has no mark, one that was recirculated may have
     * got one on its way that its successors have not. */
    if (flow->pkt_mark || flow->recirc_id) {
        wc->masks.pkt_mark = UINT32_MAX;
    }
    if (decision.hashed) {
        /* Also of a refusal: another flow may not meet it. */
        flow_mask_hash_fields(flow, wc, hash_fields(flow));
    }

    if (error) {
        count_refusal(&decision);
        if (text) {
            tunnel_decision_format_refusal(&decision, text);
        }
        return error;
    }

    if (text) {
        encap_choice_format(decision.registry, &decision.encap,
                            &decision.choice, text);
    }
    ovs_strlcpy_arrays(egress->dev, result->dev);
    egress->next_hop = (ipv6_addr_is_set(&result->gateway)
                        ? result->gateway : decision.route.dst);
    egress->src = result->src;
    return 0;
}

void
tunnel_egress_flow(const struct netdev_tunnel_config *config,
                   struct flow *flow, struct tunnel_sender *sender)
{
    struct in6_addr src = (config->ip_src_flow
                           ? in6addr_any : config->ipv6_src);
    struct in6_addr dst = (config->ip_dst_flow
                           ? in6addr_any : config->ipv6_dst);

    memset(flow, 0, sizeof *flow);
    flow->packet_type = htonl(PT_ETH);
    flow->tunnel.ip_src = in6_addr_get_mapped_ipv4(&src);
    if (!flow->tunnel.ip_src) {
        flow->tunnel.ipv6_src = src;
    }
    flow->tunnel.ip_dst = in6_addr_get_mapped_ipv4(&dst);
    if (!flow->tunnel.ip_dst) {
        flow->tunnel.ipv6_dst = dst;
    }
    flow->tunnel.ip_tos = config->tos_inherit ? 0 : config->tos;
    flow->tunnel.tp_dst = config->dst_port;
    if (config->set_egress_pkt_mark) {
        flow->pkt_mark = config->egress_pkt_mark;
    }
    *sender = (struct tunnel_sender) { .src_flow = config->ip_src_flow };
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
    struct tunnel_decision decision;
    struct tunnel_sender sender;
    struct flow flow;

    if (config->ip_dst_flow) {
        return false;
    }
    tunnel_egress_flow(config, &flow, &sender);
    if (tunnel_egress_decide(&flow, &sender, &decision, NULL)) {
        return false;
    }
    ovs_strlcpy(dev, decision.result.dev, IFNAMSIZ);
    *carrier = device_carrier(decision.result.device);
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
