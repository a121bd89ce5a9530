/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "tunnel-ingress.h"

#include <stdlib.h>
#include <string.h>

#include "coverage.h"
#include "encap-endpoint.h"
#include "encap-foreign.h"
#include "encap-text.h"
#include "flow.h"
#include "netdev.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "tnl-ports.h"
#include "tunnel-listener.h"
#include "util.h"

COVERAGE_DEFINE(tunnel_ingress_foreign);
COVERAGE_DEFINE(tunnel_ingress_refused);

/* True if what is sent to 'dev' is for this host: the local port of a bridge
 * or another internal one.  Uplinks have MACs of this host, too (a bridge's
 * own is that of an uplink), but what they are sent leaves. */
static bool
is_internal(const struct netdev *dev)
{
    const char *type = netdev_get_type(dev);

    return (!strcmp(type, "tap")
            || !strcmp(type, "internal")
            || !strcmp(type, "dummy-internal"));
}

bool
tunnel_ingress_asks(const struct netdev *dev)
{
    const struct encap_registry *registry = encap_registry_get();

    return (registry->n_endpoints
            && is_internal(dev)
            && encap_registry_is_underlay(registry, netdev_get_name(dev)));
}

/* The base's own condition for asking tnl-ports, which stays: a copy of a
 * packet that is flooded to a port without addresses must not become a second
 * packet out of the tunnel. */
static bool
is_numbered(const struct netdev *dev)
{
    struct in6_addr *addrs, *masks;
    int n;

    if (netdev_get_addr_list(dev, &addrs, &masks, &n)) {
        return false;
    }
    free(addrs);
    free(masks);
    return n > 0;
}

/* The endpoint that 'flow', which is IP, is sent to, or NULL. */
static const struct encap_endpoint *
flow_endpoint(const struct encap_registry *registry, const struct flow *flow)
{
    struct in6_addr dst = (flow->dl_type == htons(ETH_TYPE_IP)
                           ? in6_addr_mapped_ipv4(flow->nw_dst)
                           : flow->ipv6_dst);

    return encap_registry_find(registry, &dst);
}

/* True if 'endpoint' (or NULL) is one of this host that is reached without
 * being on 'dev' or its 'bridge'. */
static bool
is_elsewhere(const struct encap_endpoint *endpoint, const char *bridge,
             const struct netdev *dev)
{
    return (endpoint
            && endpoint->state != ENCAP_ABSENT
            && strcmp(endpoint->dev, netdev_get_name(dev))
            && !(endpoint->bridge && !strcmp(endpoint->bridge, bridge)));
}

/* True if a tunnel of ours could have sent 'flow' to the MAC of 'dev': what
 * tnl-ports looks at but addresses and ports, in the order that leaves the
 * most packets with the fewest fields. */
static bool
may_be_tunnel_to(const struct netdev *dev, const struct flow *flow,
                 struct flow_wildcards *wc)
{
    struct eth_addr mac;

    if (!tunnel_ingress_asks(dev) || !is_ip_any(flow)) {
        return false;
    }

    WC_MASK_FIELD_MASK(wc, nw_frag, FLOW_NW_FRAG_MASK);
    WC_MASK_FIELD(wc, vlans[0].tci);
    if (flow->nw_frag & FLOW_NW_FRAG_MASK || flow->vlans[0].tci) {
        return false;
    }

    WC_MASK_FIELD(wc, dl_dst);
    if (netdev_get_etheraddr(dev, &mac)
        || !eth_addr_equals(mac, flow->dl_dst)) {
        return false;
    }

    WC_MASK_FIELD(wc, nw_proto);
    return flow->nw_proto == IPPROTO_UDP || flow->nw_proto == IPPROTO_GRE;
}

/* The tunnel port for 'flow', which is IP, by protocol and UDP port alone. */
static odp_port_t
find_listener(const struct flow *flow, struct flow_wildcards *wc)
{
    if (flow->nw_proto != IPPROTO_UDP) {
        return tunnel_listener_find(flow->nw_proto, 0);
    }
    WC_MASK_FIELD(wc, tp_dst);
    return tunnel_listener_find(flow->nw_proto, flow->tp_dst);
}

static void
mask_destination(const struct flow *flow, struct flow_wildcards *wc)
{
    if (flow->dl_type == htons(ETH_TYPE_IP)) {
        WC_MASK_FIELD(wc, nw_dst);
    } else {
        WC_MASK_FIELD(wc, ipv6_dst);
    }
}

static void
count_taken(const struct flow_effect *effect, uint64_t n_packets)
{
    COVERAGE_ADD(tunnel_ingress_foreign, n_packets);
    encap_foreign_add(&effect->ip, effect->bridge, false, n_packets);
}

static void
count_refused(const struct flow_effect *effect, uint64_t n_packets)
{
    COVERAGE_ADD(tunnel_ingress_foreign, n_packets);
    COVERAGE_ADD(tunnel_ingress_refused, n_packets);
    encap_foreign_add(&effect->ip, effect->bridge, true, n_packets);
}

/* 'ingress->port' takes a packet to 'endpoint', which is on another NIC than
 * that of 'bridge'. */
static void
judge_foreign(const struct encap_registry *registry,
              const struct encap_endpoint *endpoint, const char *bridge,
              struct tunnel_ingress *ingress)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    ingress->refused = registry->strict_rx;
    ingress->effect.cause = ingress->refused ? count_refused : count_taken;
    ingress->effect.ip = endpoint->ip;
    ovs_strlcpy(ingress->effect.bridge, bridge,
                sizeof ingress->effect.bridge);

    ipv6_format_mapped(&endpoint->ip, &s);
    ds_put_cstr(&s, " is the endpoint of ");
    encap_text_put(endpoint->bridge ? endpoint->bridge : endpoint->dev, &s);
    ds_put_cstr(&s, ", not of ");
    encap_text_put(bridge, &s);
    ds_put_format(&s, ": %s", (ingress->refused ? "refused (encap-strict-rx)"
                               : "taken"));
    ovs_strlcpy(ingress->reason, ds_cstr(&s), sizeof ingress->reason);
    ds_destroy(&s);
    if (ingress->refused) {
        ingress->port = ODPP_NONE;
    }
}

void
tunnel_ingress_lookup(const char *bridge, const struct netdev *dev,
                      struct flow *flow, struct flow_wildcards *wc,
                      struct tunnel_ingress *ingress)
{
    const struct encap_registry *registry = encap_registry_get();
    const struct encap_endpoint *endpoint;

    *ingress = (struct tunnel_ingress) { .port = ODPP_NONE };

    /* What tnl-ports knows it has looked at wholly. */
    if (!tunnel_ingress_asks(dev) || is_numbered(dev)) {
        ingress->port = tnl_port_map_lookup(flow, wc);
    }
    if (!registry->n_endpoints
        || (ingress->port == ODPP_NONE && !may_be_tunnel_to(dev, flow, wc))) {
        return;
    }

    mask_destination(flow, wc);
    endpoint = flow_endpoint(registry, flow);
    if (!is_elsewhere(endpoint, bridge, dev)) {
        return;
    }

    /* A workload's frame, whatever it says that it is. */
    if (!encap_registry_is_underlay(registry, netdev_get_name(dev))) {
        ingress->port = ODPP_NONE;
        return;
    }

    if (ingress->port == ODPP_NONE) {
        ingress->port = find_listener(flow, wc);
    }
    if (ingress->port != ODPP_NONE && !endpoint->any_nic) {
        judge_foreign(registry, endpoint, bridge, ingress);
    }
}
