/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ROUTE_DEVICE_H
#define ROUTE_DEVICE_H 1

/* Network devices as the tunnel router sees them: a name, whether the link is
 * up, and the addresses in the order in which the kernel asks them.
 *
 * One thread writes (the one that holds the mutex of the 'struct route_db'
 * that owns the device, see route-db.h); any thread reads, under RCU.  What
 * readers see of a device are two immutable snapshots, its link and its
 * addresses, each replaced as a whole.
 *
 * A device stays as long as the kernel has it or a next hop names it: user
 * routes may name a device that is gone for now. */

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "openvswitch/hmap.h"
#include "cmap.h"
#include "ovs-atomic.h"
#include "ovs-rcu.h"

struct route_link {
    char name[IFNAMSIZ];
    bool up;                    /* IFF_UP. */
    bool carrier;               /* IFF_LOWER_UP or IFF_RUNNING. */
    bool loopback;              /* IFF_LOOPBACK. */
    bool ignore_linkdown_ipv4;  /* net.ipv4.conf.*.ignore_routes_with_... */
    bool ignore_linkdown_ipv6;  /* ...linkdown, "all" already applied. */
    uint32_t group;             /* Link group, for suppress_ifgroup. */
};

struct route_address {
    struct in6_addr address;    /* The local address. */
    struct in6_addr prefix;     /* Of the peer, if there is one; masked. */
    uint8_t plen;               /* 0...128, IPv4 96...128. */
    uint8_t scope;              /* ROUTE_SCOPE_*. */
    bool secondary;             /* IPv4 only. */
    bool deprecated;            /* IPv6, RFC 4862 section 5.5.4. */
    bool tentative;             /* IPv6, not yet usable as a source. */
    bool temporary;             /* IPv6, RFC 8981. */
    bool dumped;                /* Writers only: from a list, which comes in
                                 * the kernel's order, not from an event. */
    uint32_t epoch;             /* Writers only: of the last dump with it. */
};

struct route_addresses {
    size_t n;
    struct route_address addresses[];
};

struct route_device {
    struct hmap_node index_node; /* In route_db 'devices', by ifindex. */
    struct hmap_node name_node;  /* In route_db 'device_names'. */
    int ifindex;                 /* 0: not in the kernel. */
    unsigned int n_users;        /* Next hops of routes and objects. */
    uint32_t epoch;              /* Of the last dump that contained it. */
    bool ignore_linkdown_ipv4;   /* Writers only: without "all". */
    bool stopped_ipv4;           /* Writers only: left out IPv4 next hops that
                                  * the kernel may use again later. */
    bool flushed_ipv6;           /* Writers only: went down, so that the kernel
                                  * takes its IPv6 addresses away. */
    OVSRCU_TYPE(struct route_link *) link;           /* Never NULL. */
    OVSRCU_TYPE(struct route_addresses *) addresses; /* Never NULL. */
};

static inline const struct route_link *
route_device_link(const struct route_device *device)
{
    return ovsrcu_get(struct route_link *, &device->link);
}

static inline const struct route_addresses *
route_device_addresses(const struct route_device *device)
{
    return ovsrcu_get(struct route_addresses *, &device->addresses);
}

/* Creates a device without addresses, not in any db.  'link' is copied. */
struct route_device *route_device_create(int ifindex,
                                         const struct route_link *link);

/* Frees 'device' and its snapshots at once: no reader may see it. */
void route_device_destroy(struct route_device *device);

/* Replace a snapshot; the old one is freed after the readers are done.
 * 'link' is copied; route_device_set_addresses() takes ownership. */
void route_device_set_link(struct route_device *device,
                           const struct route_link *link);
void route_device_set_addresses(struct route_device *device,
                                struct route_addresses *addresses);

/* Inserts a copy of 'address' where the kernel's list has it, or updates the
 * address equal in 'address' and 'plen'.  One that is 'dumped' goes behind the
 * last address of its family with the same epoch, so that a whole dump, all
 * in one epoch, gives the kernel's order.  Any other goes where the kernel
 * inserts a new one: IPv4 primary, behind the last primary address of a scope
 * number not lower than its own; IPv4 secondary, at the end; IPv6, before the
 * first address of the same or a narrower scope (the newest comes first).
 * Returns true if anything a lookup can see has changed. */
bool route_device_add_address(struct route_device *device,
                              const struct route_address *address);

/* Removes the address equal in 'address' and 'plen'.  Returns true if it was
 * there. */
bool route_device_remove_address(struct route_device *device,
                                 const struct in6_addr *address,
                                 uint8_t plen);

struct route_db;

/* The IPv4 address that the kernel puts in packets that leave by 'device'
 * towards the next hop 'gateway' (in6addr_any: none) over a route of scope
 * 'scope': the first primary address whose prefix holds the gateway, else the
 * first primary one of a fitting scope, else one of another device of 'db'.
 * Returns false, and leaves '*src' alone, if there is none.  Any thread. */
bool route_device_select_ipv4(const struct route_db *db,
                              const struct route_device *device,
                              const struct in6_addr *gateway, uint8_t scope,
                              struct in6_addr *src);

/* The IPv6 source for 'dst' by RFC 6724 section 5 (rules 1, 2, 3, 5, 6, 7 and
 * 8, with the default policy table of section 2.1), as Linux has it: rule 7
 * prefers public addresses (sysctl use_tempaddr below 2), the table has labels
 * of its own for 2001:10::/28 (ORCHID), and of addresses that are alike the
 * first wins.  Candidates are the addresses of all devices of 'db', or of
 * 'device' alone if 'dst' is link-local or multicast.  Returns false, and
 * leaves '*src' alone, if there is none.  Any thread. */
bool route_device_select_ipv6(const struct route_db *db,
                              const struct route_device *device,
                              const struct in6_addr *dst,
                              struct in6_addr *src);

#endif /* route-device.h */
