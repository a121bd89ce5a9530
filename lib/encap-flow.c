/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-flow.h"

#include <stdlib.h>
#include <string.h>

#include "dpif.h"
#include "flow.h"
#include "hash.h"
#include "netlink.h"
#include "odp-util.h"
#include "openvswitch/types.h"
#include "packets.h"
#include "sset.h"
#include "util.h"

/* Flows that are read at once. */
enum { BATCH = 50 };

void
encap_flow_sums_init(struct encap_flow_sums *sums)
{
    hmap_init(&sums->sums);
    sums->n_flows = 0;
}

void
encap_flow_sums_destroy(struct encap_flow_sums *sums)
{
    struct encap_flow_sum *sum;

    HMAP_FOR_EACH_POP (sum, node, &sums->sums) {
        free(sum);
    }
    hmap_destroy(&sums->sums);
}

static uint32_t
hash_ip(const struct in6_addr *ip)
{
    return hash_bytes(ip, sizeof *ip, 0);
}

const struct encap_flow_sum *
encap_flow_sums_find(const struct encap_flow_sums *sums,
                     const struct in6_addr *ip)
{
    const struct encap_flow_sum *sum;

    HMAP_FOR_EACH_WITH_HASH (sum, node, hash_ip(ip), &sums->sums) {
        if (ipv6_addr_equals(&sum->ip, ip)) {
            return sum;
        }
    }
    return NULL;
}

/* "ovs" is the layer of flows that a NIC only marks, or hands on (base's
 * netdev-offload-dpdk.c; nic-offload.h). */
static bool
is_in_hardware(const struct dpif_flow *flow)
{
    const char *layer = flow->attrs.dp_layer;

    return flow->attrs.offloaded && !(layer && !strcmp(layer, "ovs"));
}

/* The sum of 'ip', in which the flow that is being added is counted. */
static struct encap_flow_sum *
get_sum(struct encap_flow_sums *sums, const struct in6_addr *ip,
        const struct dpif_flow *flow)
{
    struct encap_flow_sum *sum = CONST_CAST(struct encap_flow_sum *,
                                            encap_flow_sums_find(sums, ip));

    if (!sum) {
        sum = xzalloc(sizeof *sum);
        sum->ip = *ip;
        hmap_insert(&sums->sums, &sum->node, hash_ip(ip));
    }
    if (sum->last_flow != sums->n_flows) {
        sum->last_flow = sums->n_flows;
        sum->n_flows++;
        sum->n_offloaded += is_in_hardware(flow);
    }
    return sum;
}

/* Finds the source in the 'size' bytes of outer headers 'header', which begin
 * with Ethernet (IEEE 802.3 section 3.1, RFC 791 section 3.1, RFC 8200 section
 * 3).  Returns false if it is neither IPv4 nor IPv6. */
static bool
header_source(const void *header, size_t size, struct in6_addr *src)
{
    const struct eth_header *eth = header;
    const void *l3 = eth + 1;

    if (size >= ETH_HEADER_LEN + IP_HEADER_LEN
        && eth->eth_type == htons(ETH_TYPE_IP)) {
        const struct ip_header *ip = l3;

        in6_addr_set_mapped_ipv4(src, get_16aligned_be32(&ip->ip_src));
        return true;
    } else if (size >= ETH_HEADER_LEN + IPV6_HEADER_LEN
               && eth->eth_type == htons(ETH_TYPE_IPV6)) {
        const struct ovs_16aligned_ip6_hdr *ip6 = l3;

        memcpy(src, &ip6->ip6_src, sizeof *src);
        return true;
    }
    return false;
}

/* The bytes that action 'a' adds to a packet, if it is one for a VLAN tag. */
static int
tag_len(const struct nlattr *a)
{
    return (nl_attr_type(a) == OVS_ACTION_ATTR_PUSH_VLAN ? VLAN_HEADER_LEN
            : nl_attr_type(a) == OVS_ACTION_ATTR_POP_VLAN ? -VLAN_HEADER_LEN
            : 0);
}

/* The bytes of the tags that outer headers get by the 'size' bytes of
 * 'actions' before they are sent. */
static int
outer_tags_len(const struct nlattr *actions, size_t size)
{
    const struct nlattr *a;
    int length = 0;
    size_t left;

    NL_ATTR_FOR_EACH (a, left, actions, size) {
        if (nl_attr_type(a) == OVS_ACTION_ATTR_OUTPUT) {
            break;
        }
        length += tag_len(a);
    }
    return length;
}

/* The attribute ends with the last byte of the headers; packets get 'tags_len'
 * bytes more of tags, inner and outer ones. */
static void
add_push(struct encap_flow_sums *sums, const struct dpif_flow *flow,
         const struct nlattr *attr, int tags_len)
{
    const struct ovs_action_push_tnl *push = nl_attr_get(attr);
    size_t fixed = offsetof(struct ovs_action_push_tnl, header);
    struct in6_addr src;
    size_t size;

    if (nl_attr_get_size(attr) < fixed) {
        return;
    }
    size = MIN(push->header_len, nl_attr_get_size(attr) - fixed);
    if (header_source(push->header, size, &src)) {
        struct encap_flow_sum *sum = get_sum(sums, &src, flow);

        sum->tx_packets += flow->stats.n_packets;
        sum->tx_bytes += (flow->stats.n_bytes
                          + flow->stats.n_packets * (size + tags_len));
    }
}

static void
add_pop(struct encap_flow_sums *sums, const struct dpif_flow *dpif_flow)
{
    struct encap_flow_sum *sum;
    struct in6_addr dst;
    struct flow flow;

    if (odp_flow_key_to_flow(dpif_flow->key, dpif_flow->key_len, &flow, NULL)
        == ODP_FIT_ERROR) {
        return;
    }
    if (flow.dl_type == htons(ETH_TYPE_IP)) {
        in6_addr_set_mapped_ipv4(&dst, flow.nw_dst);
    } else if (flow.dl_type == htons(ETH_TYPE_IPV6)) {
        dst = flow.ipv6_dst;
    } else {
        return;
    }
    sum = get_sum(sums, &dst, dpif_flow);
    sum->rx_packets += dpif_flow->stats.n_packets;
    sum->rx_bytes += dpif_flow->stats.n_bytes;
}

/* Where tunnels are used by what a packet may or may not meet (a sample, a
 * length), the flow's figures are an upper bound.  'tags_len' bytes of tags
 * were added to packets before. */
static void
add_actions(struct encap_flow_sums *sums, const struct dpif_flow *flow,
            const struct nlattr *actions, size_t size, int tags_len)
{
    const struct nlattr *a;
    size_t left;

    NL_ATTR_FOR_EACH (a, left, actions, size) {
        switch (nl_attr_type(a)) {
        case OVS_ACTION_ATTR_TUNNEL_PUSH:
            add_push(sums, flow, a,
                     tags_len + outer_tags_len(
                         nl_attr_next(a), left - nl_attr_len_pad(a, left)));
            break;

        case OVS_ACTION_ATTR_TUNNEL_POP:
            add_pop(sums, flow);
            break;

        case OVS_ACTION_ATTR_CLONE:
            add_actions(sums, flow, nl_attr_get(a), nl_attr_get_size(a),
                        tags_len);
            break;

        case OVS_ACTION_ATTR_SAMPLE: {
            const struct nlattr *nested
                = nl_attr_find_nested(a, OVS_SAMPLE_ATTR_ACTIONS);

            if (nested) {
                add_actions(sums, flow, nl_attr_get(nested),
                            nl_attr_get_size(nested), tags_len);
            }
            break;
        }

        case OVS_ACTION_ATTR_CHECK_PKT_LEN: {
            static const uint16_t branches[] = {
                OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_GREATER,
                OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_LESS_EQUAL,
            };

            for (size_t i = 0; i < ARRAY_SIZE(branches); i++) {
                const struct nlattr *nested
                    = nl_attr_find_nested(a, branches[i]);

                if (nested) {
                    add_actions(sums, flow, nl_attr_get(nested),
                                nl_attr_get_size(nested), tags_len);
                }
            }
            break;
        }

        default:
            tags_len += tag_len(a);
            break;
        }
    }
}

void
encap_flow_sums_add(struct encap_flow_sums *sums,
                    const struct dpif_flow *flow)
{
    sums->n_flows++;
    add_actions(sums, flow, flow->actions, flow->actions_len, 0);
}

static void
collect_datapath(struct encap_flow_sums *sums, const char *name,
                 const char *type)
{
    struct dpif_flow_dump_thread *thread;
    struct dpif_flow flows[BATCH];
    struct dpif_flow_dump *dump;
    struct dpif *dpif;
    int n;

    if (dpif_open(name, type, &dpif)) {
        return;
    }
    dump = dpif_flow_dump_create(dpif, false, NULL);
    thread = dpif_flow_dump_thread_create(dump);
    while ((n = dpif_flow_dump_next(thread, flows, BATCH)) > 0) {
        for (int i = 0; i < n; i++) {
            encap_flow_sums_add(sums, &flows[i]);
        }
    }
    dpif_flow_dump_thread_destroy(thread);
    dpif_flow_dump_destroy(dump);
    dpif_close(dpif);
}

void
encap_flow_sums_collect(struct encap_flow_sums *sums)
{
    struct sset types = SSET_INITIALIZER(&types);
    const char *type;

    dp_enumerate_types(&types);
    SSET_FOR_EACH (type, &types) {
        struct sset names = SSET_INITIALIZER(&names);
        const char *name;

        if (strcmp(type, "system") && !dp_enumerate_names(type, &names)) {
            SSET_FOR_EACH (name, &names) {
                collect_datapath(sums, name, type);
            }
        }
        sset_destroy(&names);
    }
    sset_destroy(&types);
}
