/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "neighbor-request.h"

#include <net/if.h>
#include <netinet/icmp6.h>
#include <stdlib.h>
#include <string.h>

#include "coverage.h"
#include "encap-conflict.h"
#include "encap-endpoint.h"
#include "flow.h"
#include "hash.h"
#include "neighbor-peek.h"
#include "netdev.h"
#include "openvswitch/hmap.h"
#include "openvswitch/list.h"
#include "ovs-thread.h"
#include "packets.h"
#include "timeval.h"
#include "tnl-neigh-cache.h"
#include "util.h"

COVERAGE_DEFINE(neighbor_request_sent);
COVERAGE_DEFINE(neighbor_request_held);
COVERAGE_DEFINE(neighbor_data_ignored);
COVERAGE_DEFINE(neighbor_bad_mac);

/* Requests. */

struct request {
    struct hmap_node node;      /* In 'requests', by 'dev' and 'target'. */
    struct ovs_list list_node;  /* In 'by_age'. */
    char dev[IFNAMSIZ];
    struct in6_addr target;
    long long int sent_ms;
};

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static struct hmap requests OVS_GUARDED_BY(mutex)
    = HMAP_INITIALIZER(&requests);
static struct ovs_list by_age OVS_GUARDED_BY(mutex)
    = OVS_LIST_INITIALIZER(&by_age); /* The oldest first. */

static uint32_t
hash_request(const char *dev, const struct in6_addr *target)
{
    return hash_bytes(target, sizeof *target, hash_string(dev, 0));
}

static void
forget_oldest(void)
    OVS_REQUIRES(mutex)
{
    struct request *request;

    request = CONTAINER_OF(ovs_list_pop_front(&by_age), struct request,
                           list_node);
    hmap_remove(&requests, &request->node);
    free(request);
}

/* Forgets what holds nothing back any more. */
static void
forget_old(long long int now)
    OVS_REQUIRES(mutex)
{
    while (!ovs_list_is_empty(&by_age)) {
        const struct request *oldest
            = CONTAINER_OF(ovs_list_front(&by_age), struct request, list_node);

        if (now - oldest->sent_ms < NEIGHBOR_REQUEST_INTERVAL_MS) {
            break;
        }
        forget_oldest();
    }
}

static bool
is_held(const char *dev, const struct in6_addr *target)
    OVS_REQUIRES(mutex)
{
    const struct request *request;

    forget_old(time_msec());
    HMAP_FOR_EACH_WITH_HASH (request, node, hash_request(dev, target),
                             &requests) {
        if (!strcmp(request->dev, dev)
            && ipv6_addr_equals(&request->target, target)) {
            return true;
        }
    }
    return false;
}

static void
remember(const char *dev, const struct in6_addr *target)
    OVS_REQUIRES(mutex)
{
    struct request *request = xmalloc(sizeof *request);

    if (hmap_count(&requests) >= NEIGHBOR_REQUEST_MAX) {
        forget_oldest();
    }
    ovs_strlcpy(request->dev, dev, sizeof request->dev);
    request->target = *target;
    request->sent_ms = time_msec();
    hmap_insert(&requests, &request->node, hash_request(dev, target));
    ovs_list_push_back(&by_age, &request->list_node);
}

bool
neighbor_request_allowed(const char *dev, const struct in6_addr *target)
{
    bool held;

    ovs_mutex_lock(&mutex);
    held = is_held(dev, target);
    if (!held) {
        remember(dev, target);
    }
    ovs_mutex_unlock(&mutex);

    if (held) {
        COVERAGE_INC(neighbor_request_held);
    } else {
        COVERAGE_INC(neighbor_request_sent);
    }
    return !held;
}

bool
neighbor_request_due(const char *dev, const struct in6_addr *target)
{
    bool held;

    ovs_mutex_lock(&mutex);
    held = is_held(dev, target);
    ovs_mutex_unlock(&mutex);
    return !held;
}

/* Learning. */

/* Stores the address of which 'flow' says who has it.  Returns false if 'flow'
 * is neither ARP nor ND. */
static bool
sender_address(const struct flow *flow, struct flow_wildcards *wc,
               struct in6_addr *ip)
{
    if (is_arp(flow)) {
        WC_MASK_FIELD(wc, nw_src);
        *ip = in6_addr_mapped_ipv4(flow->nw_src);
    } else if (!is_nd(flow, wc)) {
        return false;
    } else if (flow->tp_src == htons(ND_NEIGHBOR_ADVERT)) {
        WC_MASK_FIELD(wc, nd_target);
        *ip = flow->nd_target;
    } else {
        WC_MASK_FIELD(wc, ipv6_src);
        *ip = flow->ipv6_src;
    }
    return true;
}

/* The MAC that 'flow', ARP or ND, says that address has; zero if ND tells
 * none. */
static struct eth_addr
sender_mac(const struct flow *flow, struct flow_wildcards *wc)
{
    if (!is_arp(flow) && flow->tp_src == htons(ND_NEIGHBOR_ADVERT)) {
        WC_MASK_FIELD(wc, arp_tha);
        return flow->arp_tha;
    }
    WC_MASK_FIELD(wc, arp_sha);
    return flow->arp_sha;
}

/* True if 'flow' says that another host has '*ip', an endpoint; stores that
 * host's MAC in '*mac'.  Who sends ND without a MAC names the one that it is
 * sent from. */
static bool
claims_endpoint(const struct flow *flow, struct flow_wildcards *wc,
                struct in6_addr *ip, struct eth_addr *mac)
{
    if (!encap_registry_get()->n_endpoints
        || !sender_address(flow, wc, ip)
        || !encap_registry_find(encap_registry_get(), ip)) {
        return false;
    }
    *mac = sender_mac(flow, wc);
    if (eth_addr_is_zero(*mac)) {
        WC_MASK_FIELD(wc, dl_src);
        *mac = flow->dl_src;
    }
    return encap_conflict_is(ip, *mac);
}

bool
neighbor_concerns_endpoint(const struct flow *flow, struct flow_wildcards *wc)
{
    const struct encap_registry *registry = encap_registry_get();
    struct eth_addr mac;
    struct in6_addr ip;

    if (!registry->n_endpoints) {
        return false;
    }
    if (is_arp(flow)) {
        WC_MASK_FIELD(wc, nw_dst);
        ip = in6_addr_mapped_ipv4(flow->nw_dst);
    } else if (is_nd(flow, wc)) {
        WC_MASK_FIELD(wc, ipv6_dst);
        ip = flow->ipv6_dst;
    } else {
        return false;
    }
    return (encap_registry_find(registry, &ip)
            || claims_endpoint(flow, wc, &ip, &mac));
}

/* The MAC of a host is not a group's, and not none. */
static bool
is_bad_mac(struct eth_addr mac)
{
    return eth_addr_is_multicast(mac) || eth_addr_is_zero(mac);
}

bool
neighbor_snoop(const struct flow *flow, struct flow_wildcards *wc,
               const char *bridge, bool allow_update)
{
    struct eth_addr told, known;
    struct in6_addr ip;
    bool answers, is_known;

    if (claims_endpoint(flow, wc, &ip, &told)) {
        if (allow_update) {
            encap_conflict_add(&ip, told, bridge);
        }
        return true;
    }
    if (!sender_address(flow, wc, &ip)) {
        return false;
    }
    told = sender_mac(flow, wc);
    if (is_bad_mac(told)) {
        if (allow_update && (is_arp(flow) || !eth_addr_is_zero(told))) {
            COVERAGE_INC(neighbor_bad_mac);
        }
        return false;
    }

    answers = !tnl_neigh_snoop(flow, wc, bridge, allow_update);
    is_known = neighbor_peek(bridge, &ip, &known);
    if (is_known && eth_addr_equals(known, told)) {
        return false;
    }
    if (!answers && is_known && allow_update) {
        tnl_neigh_set(bridge, &ip, told);
        return false;
    }
    return answers || is_known;
}

static bool
is_on_link(const struct netdev *dev, const struct in6_addr *ip)
{
    struct in6_addr *addrs, *masks;
    bool found = false;
    int n;

    if (netdev_get_addr_list(dev, &addrs, &masks, &n)) {
        return false;
    }
    for (int i = 0; i < n && !found; i++) {
        struct in6_addr here = ipv6_addr_bitand(&addrs[i], &masks[i]);
        struct in6_addr there = ipv6_addr_bitand(ip, &masks[i]);

        found = (!IN6_IS_ADDR_V4MAPPED(&addrs[i]) == !IN6_IS_ADDR_V4MAPPED(ip)
                 && ipv6_addr_equals(&here, &there));
    }
    free(addrs);
    free(masks);
    return found;
}

void
neighbor_learn_from_data(const char *bridge, const struct netdev *dev,
                         const struct in6_addr *src, struct eth_addr mac)
{
    struct eth_addr known;
    bool is_known;

    if (is_bad_mac(mac)) {
        COVERAGE_INC(neighbor_bad_mac);
        return;
    }
    if (!encap_registry_get()->n_endpoints) {
        tnl_neigh_set(bridge, src, mac);
        return;
    }

    is_known = neighbor_peek(bridge, src, &known);
    if (is_known && eth_addr_equals(known, mac)) {
        return;
    }
    if (is_known || !is_on_link(dev, src)) {
        COVERAGE_INC(neighbor_data_ignored);
        return;
    }
    tnl_neigh_set(bridge, src, mac);
}
