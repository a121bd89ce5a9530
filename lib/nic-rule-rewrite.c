/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-rule-flow-private.h"

#include <netinet/in.h>
#include <string.h>

#include "netlink.h"
#include "odp-util.h"
#include "packets.h"
#include "util.h"

static bool
refuse(struct nic_rule *rule, const char *action)
{
    return nic_rule_refuse(rule, NIC_UNSUPPORTED_ACTION, action);
}

bool
nic_rule_refuse_action(struct nic_rule *rule, const struct nlattr *a)
{
    switch (nl_attr_type(a)) {
    case OVS_ACTION_ATTR_CT:
    case OVS_ACTION_ATTR_CT_CLEAR:
        return nic_rule_refuse(rule, NIC_CONNTRACK, NULL);
    case OVS_ACTION_ATTR_RECIRC:
    case OVS_ACTION_ATTR_HASH:
        return nic_rule_refuse(rule, NIC_RECIRCULATION, NULL);
    case OVS_ACTION_ATTR_TUNNEL_PUSH:
    case OVS_ACTION_ATTR_TUNNEL_POP:
        return nic_rule_refuse(rule, NIC_TUNNEL_TO_TUNNEL, NULL);
    case OVS_ACTION_ATTR_OUTPUT: return refuse(rule, "output");
    case OVS_ACTION_ATTR_USERSPACE: return refuse(rule, "userspace");
    case OVS_ACTION_ATTR_SET:
    case OVS_ACTION_ATTR_SET_MASKED: return refuse(rule, "set");
    case OVS_ACTION_ATTR_PUSH_VLAN: return refuse(rule, "push_vlan");
    case OVS_ACTION_ATTR_POP_VLAN: return refuse(rule, "pop_vlan");
    case OVS_ACTION_ATTR_SAMPLE: return refuse(rule, "sample");
    case OVS_ACTION_ATTR_PUSH_MPLS: return refuse(rule, "push_mpls");
    case OVS_ACTION_ATTR_ADD_MPLS: return refuse(rule, "add_mpls");
    case OVS_ACTION_ATTR_POP_MPLS: return refuse(rule, "pop_mpls");
    case OVS_ACTION_ATTR_TRUNC: return refuse(rule, "trunc");
    case OVS_ACTION_ATTR_PUSH_ETH: return refuse(rule, "push_eth");
    case OVS_ACTION_ATTR_POP_ETH: return refuse(rule, "pop_eth");
    case OVS_ACTION_ATTR_PUSH_NSH: return refuse(rule, "push_nsh");
    case OVS_ACTION_ATTR_POP_NSH: return refuse(rule, "pop_nsh");
    case OVS_ACTION_ATTR_METER: return refuse(rule, "meter");
    case OVS_ACTION_ATTR_CLONE: return refuse(rule, "clone");
    case OVS_ACTION_ATTR_CHECK_PKT_LEN:
        return refuse(rule, "check_pkt_len");
    case OVS_ACTION_ATTR_LB_OUTPUT: return refuse(rule, "lb_output");
    case OVS_ACTION_ATTR_DROP: return refuse(rule, "drop");
    default:
        return refuse(rule, "unknown");
    }
}

static bool
pop_vlan(struct nic_rule *rule, const struct nic_level *level)
{
    if (level->tags != NIC_TAGS_ONE
        || nic_rule_find(rule, NIC_ACTION_POP_VLAN)
        || nic_rule_find(rule, NIC_ACTION_PUSH_VLAN)) {
        return refuse(rule, "pop_vlan");
    }
    nic_rule_put(rule, NIC_ACTION_POP_VLAN);
    return true;
}

static bool
push_vlan(struct nic_rule *rule, const struct nic_level *level,
          const struct nlattr *a)
{
    const struct ovs_action_push_vlan *vlan = nl_attr_get(a);
    struct nic_action *action;

    /* A second tag is nothing that the facts about mlx5 promise.  The ID 4095
     * is reserved (IEEE 802.1Q), and mlx5 refuses it. */
    if ((level->tags == NIC_TAGS_ONE
         && !nic_rule_find(rule, NIC_ACTION_POP_VLAN))
        || nic_rule_find(rule, NIC_ACTION_PUSH_VLAN)
        || !eth_type_vlan(vlan->vlan_tpid)
        || vlan_tci_to_vid(vlan->vlan_tci) == 4095) {
        return refuse(rule, "push_vlan");
    }
    action = nic_rule_put(rule, NIC_ACTION_PUSH_VLAN);
    action->vlan.tpid = vlan->vlan_tpid;
    action->vlan.tci = vlan->vlan_tci & htons(~VLAN_CFI);
    return true;
}

/* One field of a set action: 'size' bytes of 'value', where 'mask' (NULL: all)
 * has 1-bits, and what the rule knows of the packet's bytes. */
struct change {
    const void *value, *mask;
    const void *known, *known_mask;
    size_t size;
};

/* Stores whether the field must be set, that is, may change.  Returns false
 * if only some of its bits are set, which no action of the NIC does. */
static bool
change_needed(const struct nic_rule *rule, enum nic_action_type type,
              const struct change *change, bool *needed)
{
    *needed = !change->mask || !is_all_zeros(change->mask, change->size);
    if (!*needed) {
        return true;
    }
    if (change->mask && !is_all_ones(change->mask, change->size)) {
        return false;
    }
    /* Sets that change nothing are frequent, as a set without mask has all
     * fields of its header. */
    if (is_all_ones(change->known_mask, change->size)
        && !memcmp(change->known, change->value, change->size)
        && !nic_rule_find(rule, type)) {
        *needed = false;
    }
    return true;
}

static bool
set_mac(struct nic_rule *rule, enum nic_action_type type,
        const struct change *change)
{
    bool needed;

    if (!change_needed(rule, type, change, &needed)) {
        return refuse(rule, "set(eth)");
    }
    if (needed) {
        memcpy(&nic_rule_put(rule, type)->mac, change->value, change->size);
    }
    return true;
}

static bool
set_ip(struct nic_rule *rule, enum nic_action_type type,
       const struct change *change, const struct nic_level *level)
{
    bool ipv6 = change->size == sizeof(struct in6_addr);
    int proto = nic_level_ip_proto(level);
    bool needed;

    /* The NIC corrects the checksums of TCP and UDP, but finds none in
     * fragments; it does not correct ICMPv6's, which includes the
     * addresses. */
    if (!change_needed(rule, type, change, &needed)
        || (needed && (level->fragments != NIC_FRAGMENTS_NONE
                       || (ipv6 && proto != IPPROTO_TCP
                           && proto != IPPROTO_UDP)))) {
        return refuse(rule, ipv6 ? "set(ipv6)" : "set(ipv4)");
    }
    if (needed) {
        struct nic_action *action = nic_rule_put(rule, type);

        if (ipv6) {
            memcpy(&action->ip, change->value, sizeof action->ip);
        } else {
            ovs_be32 ip;

            memcpy(&ip, change->value, sizeof ip);
            in6_addr_set_mapped_ipv4(&action->ip, ip);
        }
    }
    return true;
}

static bool
set_ttl(struct nic_rule *rule, const struct change *change)
{
    bool needed;

    if (!change_needed(rule, NIC_ACTION_SET_TTL, change, &needed)) {
        return refuse(rule, "set(ttl)");
    }
    if (needed) {
        nic_rule_put(rule, NIC_ACTION_SET_TTL)->byte
            = *(const uint8_t *) change->value;
    }
    return true;
}

/* The NIC sets the DSCP and leaves the ECN bits (RFC 3168) alone. */
static bool
set_tos(struct nic_rule *rule, enum nic_action_type type,
        const struct nic_level *level, uint8_t tos, uint8_t mask)
{
    uint8_t ecn = mask & IP_ECN_MASK;
    uint8_t dscp = mask & IP_DSCP_MASK;
    uint8_t known = level->mask.ip_tos;
    uint8_t differ = (tos ^ level->value.ip_tos) | ~known;

    if (differ & ecn || (dscp && dscp != IP_DSCP_MASK)) {
        return refuse(rule, "set(tos)");
    }
    if (dscp && (differ & dscp || nic_rule_find(rule, type))) {
        nic_rule_put(rule, type)->byte = tos >> 2;
    }
    return true;
}

static bool
set_port(struct nic_rule *rule, enum nic_action_type type,
         const struct change *change, const struct nic_level *level,
         int proto)
{
    bool needed;

    if (!change_needed(rule, type, change, &needed)
        || nic_level_ip_proto(level) != proto
        || level->fragments != NIC_FRAGMENTS_NONE) {
        return refuse(rule, proto == IPPROTO_TCP ? "set(tcp)" : "set(udp)");
    }
    if (needed) {
        memcpy(&nic_rule_put(rule, type)->be16, change->value, change->size);
    }
    return true;
}

/* For 'key', 'mask' (or NULL), and 'level': the change of one field of the
 * key. */
#define CHANGE(KEY_FIELD, LEVEL_FIELD)                          \
    &(struct change) {                                          \
        &key->KEY_FIELD, mask ? &mask->KEY_FIELD : NULL,        \
        &level->value.LEVEL_FIELD, &level->mask.LEVEL_FIELD,    \
        sizeof key->KEY_FIELD                                   \
    }

static bool
rewrite_ethernet(struct nic_rule *rule, const struct nic_level *level,
                 const struct ovs_key_ethernet *key,
                 const struct ovs_key_ethernet *mask)
{
    return (set_mac(rule, NIC_ACTION_SET_ETH_SRC, CHANGE(eth_src, eth_src))
            && set_mac(rule, NIC_ACTION_SET_ETH_DST,
                       CHANGE(eth_dst, eth_dst)));
}

static bool
rewrite_ipv4(struct nic_rule *rule, const struct nic_level *level,
             const struct ovs_key_ipv4 *key, const struct ovs_key_ipv4 *mask)
{
    return (nic_level_eth_type(level) != ETH_TYPE_IP
            ? refuse(rule, "set(ipv4)")
            : set_ip(rule, NIC_ACTION_SET_IPV4_SRC,
                     CHANGE(ipv4_src, ip_src.s6_addr[12]), level)
              && set_ip(rule, NIC_ACTION_SET_IPV4_DST,
                        CHANGE(ipv4_dst, ip_dst.s6_addr[12]), level)
              && set_tos(rule, NIC_ACTION_SET_IPV4_DSCP, level,
                         key->ipv4_tos, mask ? mask->ipv4_tos : UINT8_MAX)
              && set_ttl(rule, CHANGE(ipv4_ttl, ip_ttl)));
}

static bool
rewrite_ipv6(struct nic_rule *rule, const struct nic_level *level,
             const struct ovs_key_ipv6 *key, const struct ovs_key_ipv6 *mask)
{
    ovs_be32 label_mask = (mask ? mask->ipv6_label
                           : htonl(IPV6_LABEL_MASK));

    if (nic_level_eth_type(level) != ETH_TYPE_IPV6) {
        return refuse(rule, "set(ipv6)");
    }
    if (((key->ipv6_label ^ level->value.ipv6_label)
         | ~level->mask.ipv6_label) & label_mask) {
        return refuse(rule, "set(ipv6_label)");
    }
    return (set_ip(rule, NIC_ACTION_SET_IPV6_SRC,
                   CHANGE(ipv6_src, ip_src), level)
            && set_ip(rule, NIC_ACTION_SET_IPV6_DST,
                      CHANGE(ipv6_dst, ip_dst), level)
            && set_tos(rule, NIC_ACTION_SET_IPV6_DSCP, level,
                       key->ipv6_tclass,
                       mask ? mask->ipv6_tclass : UINT8_MAX)
            && set_ttl(rule, CHANGE(ipv6_hlimit, ip_ttl)));
}

static bool
rewrite_tcp(struct nic_rule *rule, const struct nic_level *level,
            const struct ovs_key_tcp *key, const struct ovs_key_tcp *mask)
{
    return (set_port(rule, NIC_ACTION_SET_L4_SRC, CHANGE(tcp_src, l4_src),
                     level, IPPROTO_TCP)
            && set_port(rule, NIC_ACTION_SET_L4_DST, CHANGE(tcp_dst, l4_dst),
                        level, IPPROTO_TCP));
}

static bool
rewrite_udp(struct nic_rule *rule, const struct nic_level *level,
            const struct ovs_key_udp *key, const struct ovs_key_udp *mask)
{
    return (set_port(rule, NIC_ACTION_SET_L4_SRC, CHANGE(udp_src, l4_src),
                     level, IPPROTO_UDP)
            && set_port(rule, NIC_ACTION_SET_L4_DST, CHANGE(udp_dst, l4_dst),
                        level, IPPROTO_UDP));
}

/* A masked set has the mask behind the key. */
#define KEY_AND_MASK(TYPE) \
    nl_attr_get_unspec(key, sizeof(TYPE)), \
    masked ? (const TYPE *) nl_attr_get(key) + 1 : NULL

static bool
rewrite(struct nic_rule *rule, const struct nic_level *level,
        const struct nlattr *key, bool masked)
{
    switch (nl_attr_type(key)) {
    case OVS_KEY_ATTR_ETHERNET:
        return rewrite_ethernet(rule, level,
                                KEY_AND_MASK(struct ovs_key_ethernet));
    case OVS_KEY_ATTR_IPV4:
        return rewrite_ipv4(rule, level, KEY_AND_MASK(struct ovs_key_ipv4));
    case OVS_KEY_ATTR_IPV6:
        return rewrite_ipv6(rule, level, KEY_AND_MASK(struct ovs_key_ipv6));
    case OVS_KEY_ATTR_TCP:
        return rewrite_tcp(rule, level, KEY_AND_MASK(struct ovs_key_tcp));
    case OVS_KEY_ATTR_UDP:
        return rewrite_udp(rule, level, KEY_AND_MASK(struct ovs_key_udp));

    /* Marks end with the packet's way through the datapath. */
    case OVS_KEY_ATTR_SKB_MARK:
    case OVS_KEY_ATTR_PRIORITY:
        return true;

    case OVS_KEY_ATTR_SCTP: return refuse(rule, "set(sctp)");
    case OVS_KEY_ATTR_ICMP: return refuse(rule, "set(icmp)");
    case OVS_KEY_ATTR_ICMPV6: return refuse(rule, "set(icmpv6)");
    case OVS_KEY_ATTR_ARP: return refuse(rule, "set(arp)");
    case OVS_KEY_ATTR_ND: return refuse(rule, "set(nd)");
    case OVS_KEY_ATTR_ND_EXTENSIONS: return refuse(rule, "set(nd_ext)");
    case OVS_KEY_ATTR_MPLS: return refuse(rule, "set(mpls)");
    case OVS_KEY_ATTR_NSH: return refuse(rule, "set(nsh)");
    case OVS_KEY_ATTR_TUNNEL: return refuse(rule, "set(tunnel)");
    default: return refuse(rule, "set");
    }
}

bool
nic_rule_rewrite(struct nic_rule *rule, const struct nic_level *level,
                 const struct nlattr *a)
{
    switch (nl_attr_type(a)) {
    case OVS_ACTION_ATTR_SET:
        return rewrite(rule, level, nl_attr_get(a), false);
    case OVS_ACTION_ATTR_SET_MASKED:
        return rewrite(rule, level, nl_attr_get(a), true);
    case OVS_ACTION_ATTR_PUSH_VLAN:
        return push_vlan(rule, level, a);
    case OVS_ACTION_ATTR_POP_VLAN:
        return pop_vlan(rule, level);
    default:
        return nic_rule_refuse_action(rule, a);
    }
}
