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
COVERAGE_DEFINE(neighbor_request_confirm);
COVERAGE_DEFINE(neighbor_data_ignored);
COVERAGE_DEFINE(neighbor_bad_mac);

/* Requests. */

struct request {
    struct hmap_node node;      /* In 'requests', by 'target'. */
    struct ovs_list list_node;  /* In 'by_age'. */
    char dev[IFNAMSIZ];
    char bridge[IFNAMSIZ];
    struct in6_addr target;
    struct in6_addr source;     /* Of the packets that last asked. */
    long long int sent_ms;      /* The last one. */
    unsigned int n;             /* Sent since the target was last heard... */
    long long int since_ms;     /* ...the first of them then. */
};

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static struct hmap requests OVS_GUARDED_BY(mutex)
    = HMAP_INITIALIZER(&requests);
static struct ovs_list by_age OVS_GUARDED_BY(mutex)
    = OVS_LIST_INITIALIZER(&by_age); /* The oldest first. */

static uint32_t
hash_target(const struct in6_addr *target)
{
    return hash_bytes(target, sizeof *target, 0);
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

static void
forget_old(long long int now)
    OVS_REQUIRES(mutex)
{
    while (!ovs_list_is_empty(&by_age)) {
        const struct request *oldest
            = CONTAINER_OF(ovs_list_front(&by_age), struct request, list_node);

        if (now - oldest->sent_ms < NEIGHBOR_REQUEST_KEEP_MS) {
            break;
        }
        forget_oldest();
    }
}

static struct request *
find_request(const char *dev, const struct in6_addr *target)
    OVS_REQUIRES(mutex)
{
    struct request *request;

    HMAP_FOR_EACH_WITH_HASH (request, node, hash_target(target), &requests) {
        if (!strcmp(request->dev, dev)
            && ipv6_addr_equals(&request->target, target)) {
            return request;
        }
    }
    return NULL;
}

static bool
is_held(const char *dev, const struct in6_addr *target)
    OVS_REQUIRES(mutex)
{
    const struct request *request = find_request(dev, target);

    return (request
            && time_msec() - request->sent_ms < NEIGHBOR_REQUEST_INTERVAL_MS);
}

/* True if a request out of any device of 'bridge' is as young that a neighbor
 * that is known need not be asked again. */
static bool
is_confirm_held(const char *bridge, const struct in6_addr *target)
    OVS_REQUIRES(mutex)
{
    long long int now = time_msec();
    const struct request *request;

    HMAP_FOR_EACH_WITH_HASH (request, node, hash_target(target), &requests) {
        if (!strcmp(request->bridge, bridge)
            && ipv6_addr_equals(&request->target, target)
            && (now - request->sent_ms
                < (request->n < NEIGHBOR_UNANSWERED
                   ? NEIGHBOR_REQUEST_INTERVAL_MS : NEIGHBOR_CONFIRM_MS))) {
            return true;
        }
    }
    return false;
}

static void
remember(const struct neighbor_question *question)
    OVS_REQUIRES(mutex)
{
    struct request *request;

    forget_old(time_msec());
    request = find_request(question->dev, &question->target);
    if (request) {
        ovs_list_remove(&request->list_node);
    } else {
        if (hmap_count(&requests) >= NEIGHBOR_REQUEST_MAX) {
            forget_oldest();
        }
        request = xzalloc(sizeof *request);
        ovs_strlcpy(request->dev, question->dev, sizeof request->dev);
        request->target = question->target;
        hmap_insert(&requests, &request->node, hash_target(&request->target));
    }
    ovs_strlcpy(request->bridge, question->bridge, sizeof request->bridge);
    request->source = question->source;
    request->sent_ms = time_msec();
    if (!request->n++) {
        request->since_ms = request->sent_ms;
    }
    ovs_list_push_back(&by_age, &request->list_node);
}

bool
neighbor_request_allowed(const struct neighbor_question *question)
{
    bool held;

    ovs_mutex_lock(&mutex);
    held = is_held(question->dev, &question->target);
    if (!held) {
        remember(question);
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

/* True if nobody has confirmed 'target' for long, so that it is to be asked
 * unless it was just now. */
static bool
is_doubtful(const char *bridge, const struct in6_addr *target)
{
    return (encap_registry_get()->n_endpoints
            && (neighbor_peek_unconfirmed(bridge, target)
                >= NEIGHBOR_CONFIRM_MS));
}

bool
neighbor_confirm_allowed(const struct neighbor_question *question)
{
    bool held;

    if (!is_doubtful(question->bridge, &question->target)) {
        return false;
    }
    ovs_mutex_lock(&mutex);
    held = is_confirm_held(question->bridge, &question->target);
    if (!held) {
        remember(question);
    }
    ovs_mutex_unlock(&mutex);

    if (!held) {
        COVERAGE_INC(neighbor_request_sent);
        COVERAGE_INC(neighbor_request_confirm);
    }
    return !held;
}

bool
neighbor_confirm_due(const char *bridge, const struct in6_addr *target)
{
    bool held;

    if (!is_doubtful(bridge, target)) {
        return false;
    }
    ovs_mutex_lock(&mutex);
    held = is_confirm_held(bridge, target);
    ovs_mutex_unlock(&mutex);
    return !held;
}

/* Who does not answer. */

/* Something was heard of 'target' on 'bridge'. */
static void
forget_unanswered(const char *bridge, const struct in6_addr *target)
{
    struct request *request;

    ovs_mutex_lock(&mutex);
    HMAP_FOR_EACH_WITH_HASH (request, node, hash_target(target), &requests) {
        if (!strcmp(request->bridge, bridge)
            && ipv6_addr_equals(&request->target, target)) {
            request->n = 0;
        }
    }
    ovs_mutex_unlock(&mutex);
}

static int
compare_silences(const void *a_, const void *b_)
{
    const struct neighbor_silence *a = a_;
    const struct neighbor_silence *b = b_;
    int order = strcmp(a->dev, b->dev);

    return order ? order : memcmp(&a->target, &b->target, sizeof a->target);
}

struct neighbor_silence *
neighbor_silences(size_t *n)
{
    struct neighbor_silence *silences;
    const struct request *request;

    *n = 0;
    ovs_mutex_lock(&mutex);
    forget_old(time_msec());
    silences = xmalloc((hmap_count(&requests) + 1) * sizeof *silences);
    HMAP_FOR_EACH (request, node, &requests) {
        if (request->n >= NEIGHBOR_UNANSWERED) {
            struct neighbor_silence *silence = &silences[(*n)++];

            ovs_strlcpy_arrays(silence->dev, request->dev);
            ovs_strlcpy_arrays(silence->bridge, request->bridge);
            silence->target = request->target;
            silence->source = request->source;
            silence->n = request->n;
            silence->ms = time_msec() - request->since_ms;
        }
    }
    ovs_mutex_unlock(&mutex);
    qsort(silences, *n, sizeof *silences, compare_silences);
    return silences;
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

/* True if 'flow', which came to 'bridge', says that another host has '*ip', an
 * endpoint; stores that host's MAC in '*mac'.  Workloads may have any address
 * in networks of their own.  Who sends ND without a MAC names the one that it
 * is sent from. */
static bool
claims_endpoint(const struct flow *flow, struct flow_wildcards *wc,
                const char *bridge, struct in6_addr *ip, struct eth_addr *mac)
{
    const struct encap_registry *registry = encap_registry_get();

    if (!registry->n_endpoints
        || !encap_registry_is_underlay_bridge(registry, bridge)
        || !sender_address(flow, wc, ip)
        || !encap_registry_find(registry, ip)) {
        return false;
    }
    *mac = sender_mac(flow, wc);
    if (eth_addr_is_zero(*mac)) {
        WC_MASK_FIELD(wc, dl_src);
        *mac = flow->dl_src;
    }
    return encap_conflict_is(ip, *mac);
}

/* True if 'flow' is ND by which a neighbor tells all hosts, unasked, which MAC
 * it has. */
static bool
is_announcement(const struct flow *flow, struct flow_wildcards *wc)
{
    if (!is_nd(flow, wc) || flow->tp_src != htons(ND_NEIGHBOR_ADVERT)) {
        return false;
    }
    WC_MASK_FIELD(wc, ipv6_dst);
    return ipv6_is_all_hosts(&flow->ipv6_dst);
}

/* True if what the neighbor advertisement 'flow' says goes before what is
 * known. */
static bool
overrides(const struct flow *flow, struct flow_wildcards *wc)
{
    WC_MASK_FIELD(wc, igmp_group_ip4); /* The flags, of ND. */
    return flow->igmp_group_ip4 & htonl(ND_RSO_OVERRIDE);
}

/* True if 'flow' is of a VLAN: what it says is not about the network where
 * endpoints are, also if that is the native one of the same port. */
static bool
is_of_vlan(const struct flow *flow, struct flow_wildcards *wc)
{
    WC_MASK_FIELD(wc, vlans[0].tci);
    return vlan_tci_to_vid(flow->vlans[0].tci);
}

bool
neighbor_concerns_endpoint(const struct flow *flow, struct flow_wildcards *wc,
                           const char *bridge)
{
    const struct encap_registry *registry = encap_registry_get();
    struct eth_addr mac;
    struct in6_addr ip;

    if (!registry->n_endpoints
        || !encap_registry_is_underlay_bridge(registry, bridge)) {
        return false;
    }
    if ((is_arp(flow) || is_nd(flow, wc)) && is_of_vlan(flow, wc)) {
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
            || is_announcement(flow, wc)
            || claims_endpoint(flow, wc, bridge, &ip, &mac));
}

/* The MAC of a host is not a group's, and not none. */
static bool
is_bad_mac(struct eth_addr mac)
{
    return eth_addr_is_multicast(mac) || eth_addr_is_zero(mac);
}

bool
neighbor_snoop(const struct flow *flow, struct flow_wildcards *wc,
               const char *bridge, bool allow_update,
               struct in6_addr *confirmed)
{
    struct eth_addr told, known;
    struct in6_addr ip;
    bool announces, answers, is_known;

    *confirmed = in6addr_any;
    if (encap_registry_get()->n_endpoints && is_of_vlan(flow, wc)) {
        return false;
    }
    if (claims_endpoint(flow, wc, bridge, &ip, &told)) {
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

    announces = is_announcement(flow, wc);
    answers = (!announces
               && !tnl_neigh_snoop(flow, wc, bridge, allow_update));
    is_known = neighbor_peek(bridge, &ip, &known);
    if ((!answers && !is_known)
        || (announces && !eth_addr_equals(known, told)
            && !overrides(flow, wc))) {
        return false;
    }
    if (allow_update) {
        if (!answers) {
            tnl_neigh_set(bridge, &ip, told);
        }
        forget_unanswered(bridge, &ip);
    }
    if ((is_known && eth_addr_equals(known, told))
        || (!answers && allow_update)) {
        *confirmed = ip;
        return false;
    }
    return true;
}

void
neighbor_confirm(const char *bridge, const struct in6_addr *ip)
{
    neighbor_peek_confirm(bridge, ip);
    forget_unanswered(bridge, ip);
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
