/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-rule.h"

#include "flow.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "util.h"

/* "name(a=1,b=2)," as long as something is put into it, else nothing. */
struct group {
    struct ds *s;
    const char *name;
    bool open;
};

static void
group_next(struct group *group, const char *key)
{
    ds_put_format(group->s, "%s%s%s=", group->open ? "" : group->name,
                  group->open ? "," : "(", key);
    group->open = true;
}

static void
group_close(struct group *group)
{
    if (group->open) {
        ds_put_cstr(group->s, "),");
    }
}

static void
put_mac(struct group *group, const char *key, struct eth_addr value,
        struct eth_addr mask)
{
    if (eth_addr_is_zero(mask)) {
        return;
    }
    group_next(group, key);
    ds_put_format(group->s, ETH_ADDR_FMT, ETH_ADDR_ARGS(value));
    if (!eth_mask_is_exact(mask)) {
        ds_put_format(group->s, "/"ETH_ADDR_FMT, ETH_ADDR_ARGS(mask));
    }
}

static void
put_ip(struct group *group, const char *key, bool ipv6,
       const struct in6_addr *value, const struct in6_addr *mask)
{
    if (!ipv6_addr_is_set(mask)) {
        return;
    }
    group_next(group, key);
    if (ipv6) {
        ipv6_format_addr(value, group->s);
        if (!ipv6_mask_is_exact(mask)) {
            ds_put_char(group->s, '/');
            ipv6_format_addr(mask, group->s);
        }
    } else {
        ovs_be32 ip, bits;

        memcpy(&ip, &value->s6_addr[12], sizeof ip);
        memcpy(&bits, &mask->s6_addr[12], sizeof bits);
        ip_format_masked(ip, bits, group->s);
    }
}

static void
put_number(struct group *group, const char *key, const char *format,
           unsigned int value, unsigned int mask, unsigned int exact)
{
    if (!mask) {
        return;
    }
    group_next(group, key);
    ds_put_format(group->s, mask == exact ? format : "0x%x", value);
    if (mask != exact) {
        ds_put_format(group->s, "/0x%x", mask);
    }
}

static void
put_l4(struct ds *s, const struct nic_headers *value,
       const struct nic_headers *mask)
{
    struct group l4 = { s, "l4", false };
    struct group icmp = { s, "icmp", false };

    put_number(&l4, "src", "%u", ntohs(value->l4_src), ntohs(mask->l4_src),
               UINT16_MAX);
    put_number(&l4, "dst", "%u", ntohs(value->l4_dst), ntohs(mask->l4_dst),
               UINT16_MAX);
    put_number(&l4, "flags", "0x%x", value->tcp_flags, mask->tcp_flags,
               UINT8_MAX);
    group_close(&l4);
    put_number(&icmp, "type", "%u", value->icmp_type, mask->icmp_type,
               UINT8_MAX);
    put_number(&icmp, "code", "%u", value->icmp_code, mask->icmp_code,
               UINT8_MAX);
    group_close(&icmp);
}

static void
put_level(struct ds *s, const struct nic_level *level)
{
    const struct nic_headers *value = &level->value;
    const struct nic_headers *mask = &level->mask;
    bool ipv6 = nic_level_eth_type(level) == ETH_TYPE_IPV6;
    struct group eth = { s, "eth", false };
    struct group ip = { s, "ip", false };

    put_mac(&eth, "src", value->eth_src, mask->eth_src);
    put_mac(&eth, "dst", value->eth_dst, mask->eth_dst);
    put_number(&eth, "type", "0x%04x", ntohs(value->eth_type),
               ntohs(mask->eth_type), UINT16_MAX);
    group_close(&eth);
    if (level->tags == NIC_TAGS_NONE) {
        ds_put_cstr(s, "notag,");
    } else if (level->tags == NIC_TAGS_ONE) {
        ds_put_format(s, "tag(0x%04x/0x%04x),", ntohs(value->vlan_tci),
                      ntohs(mask->vlan_tci));
    }

    put_ip(&ip, "src", ipv6, &value->ip_src, &mask->ip_src);
    put_ip(&ip, "dst", ipv6, &value->ip_dst, &mask->ip_dst);
    put_number(&ip, "label", "0x%x", ntohl(value->ipv6_label),
               ntohl(mask->ipv6_label), IPV6_LABEL_MASK);
    put_number(&ip, "proto", "%u", value->ip_proto, mask->ip_proto,
               UINT8_MAX);
    put_number(&ip, "tos", "0x%x", value->ip_tos, mask->ip_tos, UINT8_MAX);
    put_number(&ip, "ttl", "%u", value->ip_ttl, mask->ip_ttl, UINT8_MAX);
    if (level->fragments != NIC_FRAGMENTS_ANY) {
        group_next(&ip, "frag");
        ds_put_cstr(s, level->fragments == NIC_FRAGMENTS_NONE
                       ? "no" : "yes");
    }
    group_close(&ip);
    put_l4(s, value, mask);
}

static void
put_tunnel(struct ds *s, const struct nic_match *match)
{
    struct group tunnel = {
        s, match->tunnel == NIC_TUNNEL_GENEVE ? "geneve" : "vxlan", false
    };

    if (match->tunnel == NIC_TUNNEL_NONE) {
        return;
    }
    put_number(&tunnel, "vni", "%u", ntohl(match->vni),
               ntohl(match->vni_mask), 0xffffff);
    if (match->oam_matched) {
        group_next(&tunnel, "oam");
        ds_put_format(s, "%d", match->oam);
    }
    if (match->options_length_matched) {
        group_next(&tunnel, "options");
        ds_put_format(s, "%u bytes", match->options_length * 4);
    }
    if (match->option.length) {
        group_next(&tunnel, "option");
        ds_put_format(s, "0x%04x:0x%02x:%u:0x%08x/0x%08x",
                      ntohs(match->option.class), match->option.type,
                      match->option.length * 4, ntohl(match->option.data),
                      ntohl(match->option.mask));
    }
    if (!tunnel.open) {
        ds_put_format(s, "%s,", tunnel.name);
    }
    group_close(&tunnel);
    ds_put_cstr(s, "inner ");
}

static void
put_header(struct ds *s, const struct nic_rule *rule, bool bytes)
{
    ds_put_format(s, "(%"PRIuSIZE" bytes", rule->header_len);
    if (bytes) {
        ds_put_cstr(s, ": ");
        for (size_t i = 0; i < rule->header_len; i++) {
            ds_put_format(s, "%02x", rule->header[i]);
        }
    }
    ds_put_char(s, ')');
}

static void
put_action(struct ds *s, const struct nic_rule *rule,
           const struct nic_action *action, bool bytes)
{
    static const char *names[] = {
        [NIC_ACTION_COUNT] = "count",
        [NIC_ACTION_DECAP] = "decap",
        [NIC_ACTION_POP_VLAN] = "pop_vlan",
        [NIC_ACTION_SET_ETH_SRC] = "set(eth_src=",
        [NIC_ACTION_SET_ETH_DST] = "set(eth_dst=",
        [NIC_ACTION_SET_IPV4_SRC] = "set(ip_src=",
        [NIC_ACTION_SET_IPV4_DST] = "set(ip_dst=",
        [NIC_ACTION_SET_IPV6_SRC] = "set(ip_src=",
        [NIC_ACTION_SET_IPV6_DST] = "set(ip_dst=",
        [NIC_ACTION_SET_IPV4_DSCP] = "set(dscp=",
        [NIC_ACTION_SET_IPV6_DSCP] = "set(dscp=",
        [NIC_ACTION_SET_TTL] = "set(ttl=",
        [NIC_ACTION_SET_L4_SRC] = "set(l4_src=",
        [NIC_ACTION_SET_L4_DST] = "set(l4_dst=",
        [NIC_ACTION_PUSH_VLAN] = "push_vlan(",
        [NIC_ACTION_ENCAP] = "encap",
        [NIC_ACTION_JUMP] = "jump(",
        [NIC_ACTION_OUTPUT] = "output(",
        [NIC_ACTION_DROP] = "drop",
    };

    ds_put_cstr(s, names[action->type]);
    switch (action->type) {
    case NIC_ACTION_COUNT:
    case NIC_ACTION_POP_VLAN:
    case NIC_ACTION_DROP:
        return;
    case NIC_ACTION_DECAP:
    case NIC_ACTION_ENCAP:
        put_header(s, rule, bytes);
        return;
    case NIC_ACTION_SET_ETH_SRC:
    case NIC_ACTION_SET_ETH_DST:
        ds_put_format(s, ETH_ADDR_FMT, ETH_ADDR_ARGS(action->mac));
        break;
    case NIC_ACTION_SET_IPV4_SRC:
    case NIC_ACTION_SET_IPV4_DST:
    case NIC_ACTION_SET_IPV6_SRC:
    case NIC_ACTION_SET_IPV6_DST:
        ipv6_format_mapped(&action->ip, s);
        break;
    case NIC_ACTION_SET_IPV4_DSCP:
    case NIC_ACTION_SET_IPV6_DSCP:
    case NIC_ACTION_SET_TTL:
        ds_put_format(s, "%u", action->byte);
        break;
    case NIC_ACTION_SET_L4_SRC:
    case NIC_ACTION_SET_L4_DST:
        ds_put_format(s, "%u", ntohs(action->be16));
        break;
    case NIC_ACTION_PUSH_VLAN:
        ds_put_format(s, "0x%04x,0x%04x", ntohs(action->vlan.tpid),
                      ntohs(action->vlan.tci));
        break;
    case NIC_ACTION_JUMP:
        ds_put_format(s, "%d", action->group);
        break;
    case NIC_ACTION_OUTPUT:
        ds_put_format(s, "%"PRIu32, odp_to_u32(action->port));
        break;
    }
    ds_put_char(s, ')');
}

void
nic_rule_format(const struct nic_rule *rule, bool bytes, struct ds *s)
{
    if (rule->refusal != NIC_OFFLOADABLE) {
        ds_put_cstr(s, nic_refusal_to_string(rule->refusal));
        if (rule->detail) {
            ds_put_format(s, " %s", rule->detail);
        }
        return;
    }

    ds_put_format(s, "port %"PRIu32" group %d: ", odp_to_u32(rule->port),
                  rule->group);
    put_level(s, &rule->match.outer);
    if (rule->match.tunnel != NIC_TUNNEL_NONE) {
        put_tunnel(s, &rule->match);
        put_level(s, &rule->match.inner);
    }
    ds_chomp(s, ',');
    ds_chomp(s, ' ');
    ds_put_cstr(s, " ->");
    for (size_t i = 0; i < rule->n_actions; i++) {
        ds_put_char(s, i ? ',' : ' ');
        put_action(s, rule, &rule->actions[i], bytes);
    }
}
