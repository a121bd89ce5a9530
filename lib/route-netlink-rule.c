/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "route-netlink-private.h"

#include <string.h>
#include <sys/socket.h>
#include <linux/fib_rules.h>

#include "openvswitch/ofpbuf.h"
#include "packets.h"
#include "util.h"

/* Selectors that the distribution's headers may be too old to name. */
enum {
    RULE_DSCP = 25,             /* FRA_DSCP, u8, in the lower six bits. */
    RULE_FLOWLABEL = 26,        /* FRA_FLOWLABEL, be32. */
    RULE_FLOWLABEL_MASK = 27,
    RULE_SPORT_MASK = 28,       /* FRA_SPORT_MASK, u16. */
    RULE_DPORT_MASK = 29,
    RULE_DSCP_MASK = 30,        /* FRA_DSCP_MASK, u8. */
    RULE_N_ATTRS
};

static const char *
parse_ifname(const struct nlattr *nla, char name[IFNAMSIZ])
{
    if (nla) {
        if (nl_attr_get_size(nla) > IFNAMSIZ) {
            return "device name too long";
        }
        ovs_strlcpy(name, nl_attr_get_string(nla), IFNAMSIZ);
    }
    return NULL;
}

static void
parse_ports(const struct nlattr *range, const struct nlattr *mask,
            uint16_t *min, uint16_t *max, uint16_t *maskp)
{
    if (range) {
        const struct fib_rule_port_range *ports = nl_attr_get(range);

        *min = ports->start;
        *max = ports->end;
        *maskp = mask ? nl_attr_get_u16(mask) : 0;
    }
}

static void
parse_rule_action(const struct fib_rule_hdr *frh, struct nlattr *attrs[],
                  struct route_rule *rule)
{
    switch (frh->action) {
    case FR_ACT_TO_TBL:
        rule->action = ROUTE_RULE_LOOKUP;
        break;
    case FR_ACT_GOTO:
        rule->action = ROUTE_RULE_GOTO;
        rule->target = route_netlink_u32(attrs[FRA_GOTO], 0);
        break;
    case FR_ACT_NOP:
        rule->action = ROUTE_RULE_NOP;
        break;
    case FR_ACT_BLACKHOLE:
        rule->action = ROUTE_RULE_BLACKHOLE_ACTION;
        break;
    case FR_ACT_UNREACHABLE:
        rule->action = ROUTE_RULE_UNREACHABLE_ACTION;
        break;
    case FR_ACT_PROHIBIT:
        rule->action = ROUTE_RULE_PROHIBIT_ACTION;
        break;
    default:
        rule->action = ROUTE_RULE_NOP;
        rule->unknown_selector = true;
        break;
    }

    if (attrs[FRA_SUPPRESS_PREFIXLEN]) {
        int32_t plen = nl_attr_get_u32(attrs[FRA_SUPPRESS_PREFIXLEN]);

        rule->suppress_plen = plen < 0 ? -1
                              : MIN(plen, rule->ipv6 ? 128 : 32);
    }
    if (attrs[FRA_SUPPRESS_IFGROUP]) {
        int32_t group = nl_attr_get_u32(attrs[FRA_SUPPRESS_IFGROUP]);

        rule->suppress_group = group < 0 ? -1 : group;
    }
}

static bool
has_unknown_selector(const struct ofpbuf *msg)
{
    size_t offset = NLMSG_HDRLEN + sizeof(struct fib_rule_hdr);
    const struct nlattr *nla;
    size_t left;

    NL_ATTR_FOR_EACH (nla, left, ofpbuf_at(msg, offset, 0),
                      msg->size - offset) {
        if (nl_attr_type(nla) >= RULE_N_ATTRS) {
            return true;
        }
    }
    return false;
}

const char *
route_netlink_parse_rule(const struct ofpbuf *msg, struct route_event *event)
{
    static const struct nl_policy policy[RULE_N_ATTRS] = {
        [FRA_DST] = ROUTE_NETLINK_ADDR,
        [FRA_SRC] = ROUTE_NETLINK_ADDR,
        [FRA_IIFNAME] = ROUTE_NETLINK_OPTIONAL(NL_A_STRING),
        [FRA_GOTO] = ROUTE_NETLINK_OPTIONAL(NL_A_U32),
        [FRA_PRIORITY] = ROUTE_NETLINK_OPTIONAL(NL_A_U32),
        [FRA_FWMARK] = ROUTE_NETLINK_OPTIONAL(NL_A_U32),
        [FRA_TUN_ID] = ROUTE_NETLINK_OPTIONAL(NL_A_U64),
        [FRA_SUPPRESS_IFGROUP] = ROUTE_NETLINK_OPTIONAL(NL_A_U32),
        [FRA_SUPPRESS_PREFIXLEN] = ROUTE_NETLINK_OPTIONAL(NL_A_U32),
        [FRA_TABLE] = ROUTE_NETLINK_OPTIONAL(NL_A_U32),
        [FRA_FWMASK] = ROUTE_NETLINK_OPTIONAL(NL_A_U32),
        [FRA_OIFNAME] = ROUTE_NETLINK_OPTIONAL(NL_A_STRING),
        [FRA_L3MDEV] = ROUTE_NETLINK_OPTIONAL(NL_A_U8),
        [FRA_UID_RANGE] = { NL_POLICY_FOR(struct fib_rule_uid_range),
                            .optional = true },
        [FRA_IP_PROTO] = ROUTE_NETLINK_OPTIONAL(NL_A_U8),
        [FRA_SPORT_RANGE] = { NL_POLICY_FOR(struct fib_rule_port_range),
                              .optional = true },
        [FRA_DPORT_RANGE] = { NL_POLICY_FOR(struct fib_rule_port_range),
                              .optional = true },
        [RULE_DSCP] = ROUTE_NETLINK_OPTIONAL(NL_A_U8),
        [RULE_FLOWLABEL] = ROUTE_NETLINK_OPTIONAL(NL_A_U32),
        [RULE_FLOWLABEL_MASK] = ROUTE_NETLINK_OPTIONAL(NL_A_U32),
        [RULE_SPORT_MASK] = ROUTE_NETLINK_OPTIONAL(NL_A_U16),
        [RULE_DPORT_MASK] = ROUTE_NETLINK_OPTIONAL(NL_A_U16),
        [RULE_DSCP_MASK] = ROUTE_NETLINK_OPTIONAL(NL_A_U8),
    };
    struct nlattr *attrs[ARRAY_SIZE(policy)];
    const struct fib_rule_hdr *frh
        = route_netlink_header(msg, sizeof *frh, policy, attrs,
                               ARRAY_SIZE(attrs));
    struct route_rule *rule = &event->rule;
    const char *error;

    if (!frh) {
        return route_netlink_bad_attrs;
    }
    if (frh->family != AF_INET && frh->family != AF_INET6) {
        return route_netlink_irrelevant;
    }

    event->kind = ROUTE_EVENT_RULE;
    event->ipv6 = frh->family == AF_INET6;
    route_rule_init(rule, event->ipv6,
                    route_netlink_u32(attrs[FRA_PRIORITY], 0),
                    route_netlink_table(attrs[FRA_TABLE], frh->table),
                    ROUTE_KERNEL);
    parse_rule_action(frh, attrs, rule);
    rule->unknown_selector |= has_unknown_selector(msg);
    rule->invert = (frh->flags & FIB_RULE_INVERT) != 0;

    error = route_netlink_prefix(attrs[FRA_SRC], event->ipv6, frh->src_len,
                         &rule->from, &rule->from_plen);
    if (!error) {
        error = route_netlink_prefix(attrs[FRA_DST], event->ipv6, frh->dst_len,
                             &rule->to, &rule->to_plen);
    }
    if (!error) {
        error = parse_ifname(attrs[FRA_IIFNAME], rule->iif);
    }
    if (!error) {
        error = parse_ifname(attrs[FRA_OIFNAME], rule->oif);
    }
    if (error) {
        return error;
    }

    rule->mark = route_netlink_u32(attrs[FRA_FWMARK], 0);
    rule->mark_mask = route_netlink_u32(attrs[FRA_FWMASK],
                                        rule->mark ? UINT32_MAX : 0);
    rule->tos = frh->tos;
    if (attrs[RULE_DSCP]) {
        uint8_t mask = attrs[RULE_DSCP_MASK]
                       ? nl_attr_get_u8(attrs[RULE_DSCP_MASK]) : 0x3f;

        rule->dscp = nl_attr_get_u8(attrs[RULE_DSCP]) << 2;
        rule->dscp_mask = mask << 2;
    }
    if (attrs[FRA_IP_PROTO]) {
        rule->ipproto = nl_attr_get_u8(attrs[FRA_IP_PROTO]);
    }
    parse_ports(attrs[FRA_SPORT_RANGE], attrs[RULE_SPORT_MASK],
                &rule->sport_min, &rule->sport_max, &rule->sport_mask);
    parse_ports(attrs[FRA_DPORT_RANGE], attrs[RULE_DPORT_MASK],
                &rule->dport_min, &rule->dport_max, &rule->dport_mask);
    if (attrs[FRA_UID_RANGE]) {
        const struct fib_rule_uid_range *uids
            = nl_attr_get(attrs[FRA_UID_RANGE]);

        rule->uid_min = uids->start;
        rule->uid_max = uids->end;
    }
    if (attrs[FRA_L3MDEV]) {
        rule->l3mdev = nl_attr_get_u8(attrs[FRA_L3MDEV]) != 0;
    }
    if (attrs[FRA_TUN_ID]) {
        rule->tun_id = ntohll(nl_attr_get_be64(attrs[FRA_TUN_ID]));
    }
    if (attrs[RULE_FLOWLABEL]) {
        rule->flow_label = ntohl(nl_attr_get_be32(attrs[RULE_FLOWLABEL]));
        rule->flow_label_mask
            = (attrs[RULE_FLOWLABEL_MASK]
               ? ntohl(nl_attr_get_be32(attrs[RULE_FLOWLABEL_MASK]))
               : IPV6_LABEL_MASK);
    }
    return NULL;
}
