/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ROUTE_NETLINK_PRIVATE_H
#define ROUTE_NETLINK_PRIVATE_H 1

/* What the files of the rtnetlink parser share.
 *
 * A parser of one kind of message returns NULL if it has filled in the event,
 * 'route_netlink_irrelevant', or else a constant sentence that says what is
 * wrong with the message. */

#include "netlink.h"
#include "route-netlink.h"

struct ofpbuf;

extern const char route_netlink_irrelevant[];
extern const char route_netlink_bad_attrs[];
extern const char route_netlink_bad_address[];

/* An address of either family, whose exact size the family decides. */
#define ROUTE_NETLINK_ADDR \
    { .type = NL_A_UNSPEC, .min_len = 4, .max_len = 16, .optional = true }
#define ROUTE_NETLINK_OPTIONAL(TYPE) { .type = TYPE, .optional = true }

/* Returns the header of 'size' bytes behind the nlmsghdr of 'msg', with the
 * attributes that follow it in the 'n' 'attrs'; NULL if either is
 * malformed. */
const void *route_netlink_header(const struct ofpbuf *msg, size_t size,
                                 const struct nl_policy *policy,
                                 struct nlattr **attrs, size_t n);

/* Stores in '*addr' (mapped form) the address 'nla'.  Returns false if its
 * size is not that of the family. */
bool route_netlink_addr(const struct nlattr *nla, bool ipv6,
                        struct in6_addr *addr);

/* Stores in '*prefix' and '*plen' (mapped form) the prefix 'nla', NULL if the
 * message has none, whose length is 'len' in the family's own count. */
const char *route_netlink_prefix(const struct nlattr *nla, bool ipv6,
                                 uint8_t len, struct in6_addr *prefix,
                                 uint8_t *plen);

/* 'event' must be zeroed but for 'deleted'. */
const char *route_netlink_parse_rule(const struct ofpbuf *msg,
                                     struct route_event *event);
const char *route_netlink_parse_link(const struct ofpbuf *msg,
                                     struct route_event *event);
const char *route_netlink_parse_address(const struct ofpbuf *msg,
                                        struct route_event *event);
const char *route_netlink_parse_netconf(const struct ofpbuf *msg,
                                        struct route_event *event);

static inline uint32_t
route_netlink_u32(const struct nlattr *nla, uint32_t def)
{
    return nla ? nl_attr_get_u32(nla) : def;
}

/* Table 0 means main, as it does in requests to the kernel. */
static inline uint32_t
route_netlink_table(const struct nlattr *nla, uint8_t table)
{
    uint32_t id = route_netlink_u32(nla, table);

    return id ? id : ROUTE_TABLE_MAIN;
}

#endif /* route-netlink-private.h */
