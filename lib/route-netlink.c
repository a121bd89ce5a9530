/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "route-netlink.h"
#include "route-netlink-private.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

#include "hash.h"
#include "netlink.h"
#include "openvswitch/ofpbuf.h"
#include "packets.h"
#include "util.h"

const char route_netlink_irrelevant[] = "irrelevant";
const char route_netlink_bad_attrs[] = "malformed attributes";
const char route_netlink_bad_address[] = "address of a wrong size";

const void *
route_netlink_header(const struct ofpbuf *msg, size_t size,
                     const struct nl_policy *policy, struct nlattr **attrs,
                     size_t n)
{
    const void *header = ofpbuf_at(msg, NLMSG_HDRLEN, NLMSG_ALIGN(size));

    return header && nl_policy_parse(msg, NLMSG_HDRLEN + NLMSG_ALIGN(size),
                                     policy, attrs, n) ? header : NULL;
}

static bool
get_bytes(const void *data, size_t size, bool ipv6, struct in6_addr *addr)
{
    if (size != (ipv6 ? sizeof(struct in6_addr) : sizeof(ovs_be32))) {
        return false;
    }
    if (ipv6) {
        memcpy(addr, data, size);
    } else {
        ovs_be32 ipv4;

        memcpy(&ipv4, data, size);
        in6_addr_set_mapped_ipv4(addr, ipv4);
    }
    return true;
}

bool
route_netlink_addr(const struct nlattr *nla, bool ipv6,
                   struct in6_addr *addr)
{
    return get_bytes(nl_attr_get(nla), nl_attr_get_size(nla), ipv6, addr);
}

const char *
route_netlink_prefix(const struct nlattr *nla, bool ipv6, uint8_t len,
                     struct in6_addr *prefix, uint8_t *plen)
{
    if (len > (ipv6 ? 128 : 32)) {
        return "prefix longer than an address";
    }
    if (nla) {
        if (!route_netlink_addr(nla, ipv6, prefix)) {
            return route_netlink_bad_address;
        }
    } else if (len) {
        return "prefix length without a prefix";
    } else if (ipv6) {
        *prefix = in6addr_any;
    } else {
        in6_addr_set_mapped_ipv4(prefix, 0);
    }
    *plen = ipv6 ? len : len + 96;
    *prefix = route_prefix_mask(prefix, *plen);
    return NULL;
}

/* Stores in '*gw' what 'gateway' (of family 'ipv6') or 'via' (of a family of
 * its own), both optional, says: in6addr_any if nothing. */
static const char *
parse_gateway(const struct nlattr *gateway, const struct nlattr *via,
              bool ipv6, struct in6_addr *gw)
{
    *gw = in6addr_any;
    if (gateway && via) {
        return "two gateways for one next hop";
    } else if (gateway) {
        if (!route_netlink_addr(gateway, ipv6, gw)) {
            return route_netlink_bad_address;
        }
    } else if (via) {
        const struct rtvia *rtvia = nl_attr_get(via);
        size_t size = nl_attr_get_size(via) - sizeof *rtvia;

        if (rtvia->rtvia_family != AF_INET
            && rtvia->rtvia_family != AF_INET6) {
            return route_netlink_irrelevant;
        }
        if (!get_bytes(rtvia->rtvia_addr, size,
                       rtvia->rtvia_family == AF_INET6, gw)) {
            return route_netlink_bad_address;
        }
    }
    if (IN6_IS_ADDR_V4MAPPED(gw) && !in6_addr_get_mapped_ipv4(gw)) {
        *gw = in6addr_any;
    }
    return NULL;
}

/* Routes. */

#define VIA_POLICY                                                      \
    { .type = NL_A_UNSPEC, .min_len = sizeof(struct rtvia),             \
      .max_len = sizeof(struct rtvia) + 16, .optional = true }

static void
add_nexthop(struct route_event *event, const struct in6_addr *gateway,
            int ifindex, uint32_t weight, unsigned int flags,
            size_t *allocated)
{
    if (event->n_nexthops >= *allocated) {
        event->nexthops = x2nrealloc(event->nexthops, allocated,
                                     sizeof *event->nexthops);
    }
    event->nexthops[event->n_nexthops++] = (struct route_event_nexthop) {
        .gateway = *gateway,
        .ifindex = ifindex,
        .weight = weight,
        .dead = flags & RTNH_F_DEAD,
        .linkdown = flags & RTNH_F_LINKDOWN,
    };
}

static const char *
parse_multipath(const struct nlattr *nla, struct route_event *event)
{
    static const struct nl_policy policy[] = {
        [RTA_GATEWAY] = ROUTE_NETLINK_ADDR,
        [RTA_VIA] = VIA_POLICY,
    };
    struct nlattr *attrs[ARRAY_SIZE(policy)];
    const uint8_t *p = nl_attr_get(nla);
    size_t left = nl_attr_get_size(nla);
    size_t allocated = 0;

    while (left >= sizeof(struct rtnexthop)) {
        struct rtnexthop rtnh;
        struct in6_addr gateway;
        const char *error;

        memcpy(&rtnh, p, sizeof rtnh);
        if (rtnh.rtnh_len < sizeof rtnh || rtnh.rtnh_len > left) {
            return "next hop of a wrong size";
        }

        struct ofpbuf nested
            = ofpbuf_const_initializer(p + sizeof rtnh,
                                       rtnh.rtnh_len - sizeof rtnh);
        if (!nl_policy_parse(&nested, 0, policy, attrs, ARRAY_SIZE(attrs))) {
            return route_netlink_bad_attrs;
        }
        error = parse_gateway(attrs[RTA_GATEWAY], attrs[RTA_VIA],
                              event->ipv6, &gateway);
        if (error) {
            return error;
        }
        add_nexthop(event, &gateway, rtnh.rtnh_ifindex, rtnh.rtnh_hops + 1,
                    rtnh.rtnh_flags, &allocated);

        size_t step = ROUND_UP((size_t) rtnh.rtnh_len, RTNH_ALIGNTO);
        step = MIN(step, left);
        p += step;
        left -= step;
    }
    return left ? "next hops followed by garbage" : NULL;
}

/* Returns the enum route_type for 'type' (RTN_*), or -1 if it is none. */
static int
parse_route_type(uint8_t type)
{
    switch (type) {
    case RTN_UNICAST: return ROUTE_UNICAST;
    case RTN_LOCAL: return ROUTE_LOCAL;
    case RTN_BROADCAST: return ROUTE_BROADCAST;
    case RTN_ANYCAST: return ROUTE_ANYCAST;
    case RTN_MULTICAST: return ROUTE_MULTICAST;
    case RTN_BLACKHOLE: return ROUTE_BLACKHOLE;
    case RTN_UNREACHABLE: return ROUTE_UNREACHABLE;
    case RTN_PROHIBIT: return ROUTE_PROHIBIT;
    case RTN_THROW: return ROUTE_THROW;
    default: return -1;
    }
}

/* RFC 4191, section 2.1, to 1 low, 2 medium, 3 high. */
static uint8_t
parse_preference(const struct nlattr *nla)
{
    uint8_t pref = nla ? nl_attr_get_u8(nla) & 3 : 0;

    return pref == 1 ? 3 : pref == 3 ? 1 : 2;
}

static uint32_t
hash_attribute(const struct nlattr *nla, uint32_t basis)
{
    return (nla ? hash_bytes(nl_attr_get(nla), nl_attr_get_size(nla), basis)
            : basis);
}

static const char *
parse_route(const struct ofpbuf *msg, struct route_event *event)
{
    static const struct nl_policy policy[] = {
        [RTA_DST] = ROUTE_NETLINK_ADDR,
        [RTA_SRC] = ROUTE_NETLINK_ADDR,
        [RTA_OIF] = ROUTE_NETLINK_OPTIONAL(NL_A_U32),
        [RTA_GATEWAY] = ROUTE_NETLINK_ADDR,
        [RTA_PRIORITY] = ROUTE_NETLINK_OPTIONAL(NL_A_U32),
        [RTA_PREFSRC] = ROUTE_NETLINK_ADDR,
        [RTA_MULTIPATH] = ROUTE_NETLINK_OPTIONAL(NL_A_UNSPEC),
        [RTA_TABLE] = ROUTE_NETLINK_OPTIONAL(NL_A_U32),
        [RTA_VIA] = VIA_POLICY,
        [RTA_METRICS] = ROUTE_NETLINK_OPTIONAL(NL_A_UNSPEC),
        [RTA_FLOW] = ROUTE_NETLINK_OPTIONAL(NL_A_UNSPEC),
        [RTA_PREF] = ROUTE_NETLINK_OPTIONAL(NL_A_U8),
        [RTA_NH_ID] = ROUTE_NETLINK_OPTIONAL(NL_A_U32),
    };
    const uint16_t nlmsg_flags = nl_msg_nlmsghdr(msg)->nlmsg_flags;
    struct nlattr *attrs[ARRAY_SIZE(policy)];
    const struct rtmsg *rtm = route_netlink_header(msg, sizeof *rtm, policy,
                                                   attrs, ARRAY_SIZE(attrs));
    const char *error;

    if (!rtm) {
        return route_netlink_bad_attrs;
    }
    if ((rtm->rtm_family != AF_INET && rtm->rtm_family != AF_INET6)
        || rtm->rtm_flags & RTM_F_CLONED
        || parse_route_type(rtm->rtm_type) < 0) {
        return route_netlink_irrelevant;
    }

    event->kind = ROUTE_EVENT_ROUTE;
    event->ipv6 = rtm->rtm_family == AF_INET6;
    event->route.table = route_netlink_table(attrs[RTA_TABLE], rtm->rtm_table);
    event->route.replace = (nlmsg_flags & NLM_F_REPLACE) != 0;
    event->route.append = (nlmsg_flags & NLM_F_APPEND) != 0;
    event->route.type = parse_route_type(rtm->rtm_type);
    event->route.tos = event->ipv6 ? 0 : rtm->rtm_tos;
    event->route.scope = rtm->rtm_scope;
    event->route.preference = parse_preference(attrs[RTA_PREF]);
    event->route.metric = route_netlink_u32(attrs[RTA_PRIORITY], 0);
    event->route.nexthop_id = route_netlink_u32(attrs[RTA_NH_ID], 0);
    if (!event->ipv6) {
        event->route.variant = hash_attribute(
            attrs[RTA_METRICS], hash_attribute(attrs[RTA_FLOW],
                                               rtm->rtm_protocol));
    }
    if (event->route.nexthop_id && event->route.type == ROUTE_BLACKHOLE) {
        /* So the object is one now; it may become another. */
        event->route.type = ROUTE_UNICAST;
    }

    error = route_netlink_prefix(attrs[RTA_DST], event->ipv6, rtm->rtm_dst_len,
                         &event->route.dst, &event->route.dst_plen);
    if (error) {
        return error;
    }
    if (event->ipv6) {
        error = route_netlink_prefix(attrs[RTA_SRC], true, rtm->rtm_src_len,
                             &event->route.src, &event->route.src_plen);
        if (error) {
            return error;
        }
    } else if (rtm->rtm_src_len) {
        return "IPv4 route with a source prefix";
    }
    if (attrs[RTA_PREFSRC]
        && !route_netlink_addr(attrs[RTA_PREFSRC], event->ipv6,
                               &event->route.prefsrc)) {
        return route_netlink_bad_address;
    }

    /* With an object, what else the kernel may tell of next hops is a copy of
     * what the object says. */
    if (event->route.nexthop_id || event->route.type == ROUTE_THROW
        || route_type_is_reject(event->route.type)) {
        return NULL;
    }
    if (attrs[RTA_MULTIPATH]) {
        error = parse_multipath(attrs[RTA_MULTIPATH], event);
    } else {
        struct in6_addr gateway;
        size_t allocated = 0;

        error = parse_gateway(attrs[RTA_GATEWAY], attrs[RTA_VIA],
                              event->ipv6, &gateway);
        if (!error) {
            add_nexthop(event, &gateway,
                        route_netlink_u32(attrs[RTA_OIF], 0), 1,
                        rtm->rtm_flags, &allocated);
        }
    }
    if (error) {
        return error;
    }

    for (size_t i = 0; i < event->n_nexthops; i++) {
        if (event->nexthops[i].ifindex < !event->deleted) {
            return "next hop without a device";
        }
    }
    return event->n_nexthops || event->deleted ? NULL
           : "route without a next hop";
}

/* Next-hop objects. */

static const char *
parse_group(const struct nlattr *nla, struct route_event *event)
{
    const struct nexthop_grp *grp = nl_attr_get(nla);
    size_t size = nl_attr_get_size(nla);

    if (!size || size % sizeof *grp) {
        return "next-hop group of a wrong size";
    }

    event->object.n_members = size / sizeof *grp;
    event->object.members = xmalloc(event->object.n_members
                                    * sizeof *event->object.members);
    for (size_t i = 0; i < event->object.n_members; i++) {
        /* Newer kernels keep the upper byte of the weight in 'resvd1'. */
        event->object.members[i] = (struct route_object_member) {
            .id = grp[i].id,
            .weight = (grp[i].resvd1 << 8 | grp[i].weight) + 1,
        };
        if (!grp[i].id) {
            return "next-hop group with a member 0";
        }
    }
    return NULL;
}

static const char *
parse_object(const struct ofpbuf *msg, struct route_event *event)
{
    static const struct nl_policy policy[] = {
        [NHA_ID] = { .type = NL_A_U32 },
        [NHA_GROUP] = ROUTE_NETLINK_OPTIONAL(NL_A_UNSPEC),
        [NHA_BLACKHOLE] = ROUTE_NETLINK_OPTIONAL(NL_A_FLAG),
        [NHA_OIF] = ROUTE_NETLINK_OPTIONAL(NL_A_U32),
        [NHA_GATEWAY] = ROUTE_NETLINK_ADDR,
        [NHA_FDB] = ROUTE_NETLINK_OPTIONAL(NL_A_FLAG),
    };
    struct nlattr *attrs[ARRAY_SIZE(policy)];
    const struct nhmsg *nhm = route_netlink_header(msg, sizeof *nhm, policy,
                                                   attrs, ARRAY_SIZE(attrs));

    if (!nhm) {
        return route_netlink_bad_attrs;
    }
    if (attrs[NHA_FDB]) {
        return route_netlink_irrelevant;
    }

    event->kind = ROUTE_EVENT_OBJECT;
    event->object.id = nl_attr_get_u32(attrs[NHA_ID]);
    if (!event->object.id) {
        return "next-hop object 0";
    }
    if (event->deleted) {
        return NULL;
    }

    if (attrs[NHA_GROUP]) {
        return parse_group(attrs[NHA_GROUP], event);
    }
    event->object.blackhole = attrs[NHA_BLACKHOLE] != NULL;
    if (!event->object.blackhole) {
        int ifindex = route_netlink_u32(attrs[NHA_OIF], 0);
        struct in6_addr gateway;
        size_t allocated = 0;
        const char *error;

        if (ifindex < 1) {
            return "next-hop object without a device";
        }
        error = parse_gateway(attrs[NHA_GATEWAY], NULL,
                              nhm->nh_family == AF_INET6, &gateway);
        if (error) {
            return error;
        }
        add_nexthop(event, &gateway, ifindex, 1, false, &allocated);
    }
    return NULL;
}

/* Messages. */

/* Fills in '*msg' with the message at the start of 'buf' alone. */
static bool
get_message(const struct ofpbuf *buf, struct ofpbuf *msg)
{
    const struct nlmsghdr *nlmsg = buf->data;

    if (buf->size < sizeof *nlmsg || nlmsg->nlmsg_len < sizeof *nlmsg
        || nlmsg->nlmsg_len > buf->size) {
        return false;
    }
    ofpbuf_use_const(msg, nlmsg, nlmsg->nlmsg_len);
    return true;
}

int
route_event_parse(const struct ofpbuf *buf, struct route_event *event,
                  const char **errorp)
{
    struct ofpbuf msg;
    const char *error;

    memset(event, 0, sizeof *event);
    *errorp = NULL;
    if (!get_message(buf, &msg)) {
        *errorp = "message of a wrong size";
        return EPROTO;
    }

    uint16_t type = nl_msg_nlmsghdr(&msg)->nlmsg_type;
    switch (type) {
    case RTM_NEWROUTE:
    case RTM_DELROUTE:
        event->deleted = type == RTM_DELROUTE;
        error = parse_route(&msg, event);
        break;

    case RTM_NEWRULE:
    case RTM_DELRULE:
        event->deleted = type == RTM_DELRULE;
        error = route_netlink_parse_rule(&msg, event);
        break;

    case RTM_NEWNEXTHOP:
    case RTM_DELNEXTHOP:
        event->deleted = type == RTM_DELNEXTHOP;
        error = parse_object(&msg, event);
        break;

    case RTM_NEWLINK:
    case RTM_DELLINK:
        event->deleted = type == RTM_DELLINK;
        error = route_netlink_parse_link(&msg, event);
        break;

    case RTM_NEWADDR:
    case RTM_DELADDR:
        event->deleted = type == RTM_DELADDR;
        error = route_netlink_parse_address(&msg, event);
        break;

    case RTM_NEWNETCONF:
    case RTM_DELNETCONF:
        event->deleted = type == RTM_DELNETCONF;
        error = route_netlink_parse_netconf(&msg, event);
        break;

    default:
        return EAGAIN;
    }
    if (!error) {
        return 0;
    }

    route_event_uninit(event);
    if (error == route_netlink_irrelevant) {
        return EAGAIN;
    }
    *errorp = error;
    return EPROTO;
}

void
route_event_uninit(struct route_event *event)
{
    free(event->nexthops);
    event->nexthops = NULL;
    event->n_nexthops = 0;
    if (event->kind == ROUTE_EVENT_OBJECT) {
        free(event->object.members);
        event->object.members = NULL;
        event->object.n_members = 0;
    }
}

uint32_t
route_event_peek_table(const struct ofpbuf *buf, bool *ipv6)
{
    const struct nlattr *nla;
    const struct rtmsg *rtm;
    struct ofpbuf msg;

    if (!get_message(buf, &msg)) {
        return 0;
    }
    uint16_t type = nl_msg_nlmsghdr(&msg)->nlmsg_type;
    rtm = ofpbuf_at(&msg, NLMSG_HDRLEN, sizeof *rtm);
    if ((type != RTM_NEWROUTE && type != RTM_DELROUTE) || !rtm
        || (rtm->rtm_family != AF_INET && rtm->rtm_family != AF_INET6)) {
        return 0;
    }

    *ipv6 = rtm->rtm_family == AF_INET6;
    nla = nl_attr_find(&msg, NLMSG_HDRLEN + sizeof *rtm, RTA_TABLE);
    if (nla && nl_attr_get_size(nla) != sizeof(uint32_t)) {
        nla = NULL;
    }
    return route_netlink_table(nla, rtm->rtm_table);
}
