/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "route-netlink-private.h"

#include <limits.h>
#include <sys/socket.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/netconf.h>
#include <linux/rtnetlink.h>

#include "openvswitch/ofpbuf.h"
#include "util.h"

/* linux/if.h, which has it, does not go together with net/if.h. */
#ifndef IFF_LOWER_UP
#define IFF_LOWER_UP (1 << 16)
#endif

const char *
route_netlink_parse_link(const struct ofpbuf *msg,
                         struct route_event *event)
{
    static const struct nl_policy policy[] = {
        [IFLA_IFNAME] = ROUTE_NETLINK_OPTIONAL(NL_A_STRING),
        [IFLA_WIRELESS] = ROUTE_NETLINK_OPTIONAL(NL_A_UNSPEC),
        [IFLA_GROUP] = ROUTE_NETLINK_OPTIONAL(NL_A_U32),
    };
    struct nlattr *attrs[ARRAY_SIZE(policy)];
    const struct ifinfomsg *ifi = route_netlink_header(msg, sizeof *ifi,
                                                       policy, attrs,
                                                       ARRAY_SIZE(attrs));
    struct route_link *link = &event->link.link;

    if (!ifi) {
        return route_netlink_bad_attrs;
    }
    /* A bridge reports on its ports in AF_BRIDGE; their deletion there does
     * not mean that the device is gone. */
    if (ifi->ifi_family != AF_UNSPEC
        || (attrs[IFLA_WIRELESS] && !ifi->ifi_change)) {
        return route_netlink_irrelevant;
    }
    if (ifi->ifi_index < 1) {
        return "link without an index";
    }
    if (attrs[IFLA_IFNAME]) {
        if (nl_attr_get_size(attrs[IFLA_IFNAME]) > IFNAMSIZ) {
            return "device name too long";
        }
        ovs_strlcpy(link->name, nl_attr_get_string(attrs[IFLA_IFNAME]),
                    sizeof link->name);
    }
    if (!link->name[0] && !event->deleted) {
        return "link without a name";
    }

    event->kind = ROUTE_EVENT_LINK;
    event->link.ifindex = ifi->ifi_index;
    link->up = (ifi->ifi_flags & IFF_UP) != 0;
    link->carrier = (ifi->ifi_flags & (IFF_RUNNING | IFF_LOWER_UP)) != 0;
    link->loopback = (ifi->ifi_flags & IFF_LOOPBACK) != 0;
    link->group = route_netlink_u32(attrs[IFLA_GROUP], 0);
    return NULL;
}

const char *
route_netlink_parse_address(const struct ofpbuf *msg,
                            struct route_event *event)
{
    static const struct nl_policy policy[] = {
        [IFA_ADDRESS] = ROUTE_NETLINK_ADDR,
        [IFA_LOCAL] = ROUTE_NETLINK_ADDR,
        [IFA_FLAGS] = ROUTE_NETLINK_OPTIONAL(NL_A_U32),
    };
    struct nlattr *attrs[ARRAY_SIZE(policy)];
    const struct ifaddrmsg *ifa = route_netlink_header(msg, sizeof *ifa,
                                                       policy, attrs,
                                                       ARRAY_SIZE(attrs));
    struct route_address *address = &event->address.address;
    const char *error;

    if (!ifa) {
        return route_netlink_bad_attrs;
    }
    if (ifa->ifa_family != AF_INET && ifa->ifa_family != AF_INET6) {
        return route_netlink_irrelevant;
    }
    if (ifa->ifa_index < 1 || ifa->ifa_index > INT_MAX) {
        return "address without a device";
    }

    /* With a peer, IFA_ADDRESS is the peer's; without, both are the same or
     * one of them is left out. */
    const struct nlattr *local = attrs[IFA_LOCAL] ? attrs[IFA_LOCAL]
                                 : attrs[IFA_ADDRESS];
    const struct nlattr *peer = attrs[IFA_ADDRESS] ? attrs[IFA_ADDRESS]
                                : attrs[IFA_LOCAL];
    if (!local) {
        return "address without an address";
    }

    event->kind = ROUTE_EVENT_ADDRESS;
    event->ipv6 = ifa->ifa_family == AF_INET6;
    event->address.ifindex = ifa->ifa_index;
    if (!route_netlink_addr(local, event->ipv6, &address->address)) {
        return route_netlink_bad_address;
    }
    error = route_netlink_prefix(peer, event->ipv6, ifa->ifa_prefixlen,
                                 &address->prefix, &address->plen);
    if (error) {
        return error;
    }

    uint32_t flags = route_netlink_u32(attrs[IFA_FLAGS], ifa->ifa_flags);
    address->scope = ifa->ifa_scope;
    if (event->ipv6) {
        address->deprecated = (flags & IFA_F_DEPRECATED) != 0;
        address->tentative = (flags & IFA_F_DADFAILED
                              || (flags & IFA_F_TENTATIVE
                                  && !(flags & IFA_F_OPTIMISTIC)));
        address->temporary = (flags & IFA_F_TEMPORARY) != 0;
    } else {
        address->secondary = (flags & IFA_F_SECONDARY) != 0;
    }
    return NULL;
}

const char *
route_netlink_parse_netconf(const struct ofpbuf *msg,
                            struct route_event *event)
{
    static const struct nl_policy policy[] = {
        [NETCONFA_IFINDEX] = { .type = NL_A_U32 },
        [NETCONFA_IGNORE_ROUTES_WITH_LINKDOWN]
            = ROUTE_NETLINK_OPTIONAL(NL_A_U32),
    };
    struct nlattr *attrs[ARRAY_SIZE(policy)];
    const struct netconfmsg *ncm = route_netlink_header(msg, sizeof *ncm,
                                                        policy, attrs,
                                                        ARRAY_SIZE(attrs));
    const struct nlattr *ignore;
    int ifindex;

    if (!ncm) {
        return route_netlink_bad_attrs;
    }
    ifindex = nl_attr_get_u32(attrs[NETCONFA_IFINDEX]);
    ignore = attrs[NETCONFA_IGNORE_ROUTES_WITH_LINKDOWN];
    if ((ncm->ncm_family != AF_INET && ncm->ncm_family != AF_INET6)
        || event->deleted || !ignore || ifindex == NETCONFA_IFINDEX_DEFAULT) {
        return route_netlink_irrelevant;
    }
    if (ifindex < 1 && ifindex != ROUTE_NETCONF_ALL) {
        return "settings of no device";
    }

    event->kind = ROUTE_EVENT_NETCONF;
    event->ipv6 = ncm->ncm_family == AF_INET6;
    event->netconf.ifindex = ifindex;
    event->netconf.ignore_linkdown = nl_attr_get_u32(ignore) != 0;
    return NULL;
}
