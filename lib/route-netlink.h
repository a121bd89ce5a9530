/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ROUTE_NETLINK_H
#define ROUTE_NETLINK_H 1

/* rtnetlink messages as plain structs
 * ===================================
 *
 * A pure function from the bytes of one message (linux/rtnetlink.h,
 * fib_rules.h, nexthop.h, if_link.h, if_addr.h, netconf.h) to a 'struct
 * route_event'.  It trusts no length and no value: a message that is short,
 * long, contradictory or of another kind is refused whole.  Devices are
 * numbers here; names come with link messages. */

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "route.h"
#include "route-device.h"
#include "route-object.h"
#include "route-rule.h"

struct ofpbuf;

enum route_event_kind {
    ROUTE_EVENT_ROUTE,
    ROUTE_EVENT_RULE,
    ROUTE_EVENT_OBJECT,         /* Next-hop object. */
    ROUTE_EVENT_LINK,
    ROUTE_EVENT_ADDRESS,
    ROUTE_EVENT_NETCONF,
};

struct route_event_nexthop {
    struct in6_addr gateway;    /* in6addr_any: on-link. */
    int ifindex;                /* 0 only in a message that deletes. */
    uint32_t weight;            /* 1 or more. */
    bool dead;                  /* The kernel does not use it now. */
    bool linkdown;              /* Its link has no carrier. */
};

struct route_event {
    enum route_event_kind kind;
    bool deleted;               /* RTM_DEL*. */
    bool ipv6;                  /* Routes, rules, addresses, netconf. */

    /* Next hops of a route or of a single object; owned. */
    struct route_event_nexthop *nexthops;
    size_t n_nexthops;

    union {
        struct {                /* ROUTE_EVENT_ROUTE. */
            uint32_t table;     /* 1 or more. */
            bool replace, append; /* NLM_F_REPLACE, NLM_F_APPEND. */
            struct in6_addr dst, src, prefsrc;
            uint8_t dst_plen, src_plen; /* Mapped form. */
            uint8_t type;       /* enum route_type. */
            uint8_t tos, scope, preference;
            uint32_t metric, nexthop_id;
            uint32_t variant;   /* See 'struct route'. */
        } route;
        struct route_rule rule;
        struct {                /* ROUTE_EVENT_OBJECT. */
            uint32_t id;        /* 1 or more. */
            bool blackhole;
            struct route_object_member *members; /* Owned; group only. */
            size_t n_members;
        } object;
        struct {                /* ROUTE_EVENT_LINK. */
            int ifindex;        /* 1 or more. */
            struct route_link link; /* 'ignore_linkdown_*' unset. */
        } link;
        struct {                /* ROUTE_EVENT_ADDRESS. */
            int ifindex;        /* 1 or more. */
            struct route_address address;
        } address;
        struct {                /* ROUTE_EVENT_NETCONF. */
            int ifindex;        /* ROUTE_NETCONF_ALL, or 1 or more. */
            bool ignore_linkdown;
        } netconf;
    };
};

#define ROUTE_NETCONF_ALL (-1)

/* Parses the one message at the start of 'buf' (nlmsghdr included; the length
 * there must fit 'buf', and the data must be aligned to 4 bytes).  Returns 0
 * and fills in '*event', which the caller gives to route_event_uninit();
 * EAGAIN for a message that is well-formed but says nothing about routing
 * here (another family or type, a cloned or cached route, an FDB next hop, a
 * link message about bridging or wireless only); EPROTO for one that is
 * malformed, with a constant sentence in '*error'.  Leaves '*event' without
 * owned memory unless it returns 0.  'buf' is not changed.  Any thread. */
int route_event_parse(const struct ofpbuf *buf, struct route_event *event,
                      const char **error);

/* Frees what 'event' owns, not 'event'. */
void route_event_uninit(struct route_event *event);

/* The table that a RTM_NEWROUTE or RTM_DELROUTE message for IPv4 or IPv6
 * names, with '*ipv6' filled in, or 0 if it is not one or too short: tells
 * without parsing whether a message matters.  Any thread. */
uint32_t route_event_peek_table(const struct ofpbuf *buf, bool *ipv6);

#endif /* route-netlink.h */
