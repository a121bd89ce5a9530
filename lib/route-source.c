/* SPDX-License-Identifier: Apache-2.0 */

/* Source address selection: the part of route-device.h that asks all devices
 * of a route_db. */

#include <config.h>

#include "route-device.h"

#include "packets.h"
#include "route.h"
#include "route-db.h"
#include "util.h"

static const struct route_device_list *
all_devices(const struct route_db *db)
{
    return ovsrcu_get(struct route_device_list *, &db->device_list);
}

/* IPv4. */

static bool
is_primary_ipv4(const struct route_address *address)
{
    return !address->secondary && IN6_IS_ADDR_V4MAPPED(&address->address);
}

bool
route_device_select_ipv4(const struct route_db *db,
                         const struct route_device *device,
                         const struct in6_addr *gateway, uint8_t scope,
                         struct in6_addr *src)
{
    const struct route_addresses *addresses = route_device_addresses(device);
    bool any_gateway = !IN6_IS_ADDR_V4MAPPED(gateway);
    const struct route_address *first = NULL;

    for (size_t i = 0; i < addresses->n; i++) {
        const struct route_address *a = &addresses->addresses[i];

        if (!is_primary_ipv4(a) || a->scope > scope) {
            continue;
        }
        if (any_gateway
            || route_prefix_contains(&a->prefix, a->plen, gateway)) {
            *src = a->address;
            return true;
        }
        if (!first) {
            first = a;
        }
    }
    if (first) {
        *src = first->address;
        return true;
    }

    /* An address that is valid only on its own link is no help here. */
    const struct route_device_list *list = all_devices(db);

    for (size_t i = 0; i < list->n; i++) {
        addresses = route_device_addresses(list->devices[i]);
        for (size_t j = 0; j < addresses->n; j++) {
            const struct route_address *a = &addresses->addresses[j];

            if (is_primary_ipv4(a) && a->scope != ROUTE_SCOPE_LINK
                && a->scope <= scope) {
                *src = a->address;
                return true;
            }
        }
    }
    return false;
}

/* IPv6. */

/* RFC 6724 section 2.1, as far as labels go, most specific first.  Linux adds
 * the label of 2001:10::/28. */
static const struct {
    uint8_t prefix[16];
    uint8_t plen;
    int label;
} labels[] = {
    { { [15] = 1 }, 128, 0 },
    { { [10] = 0xff, [11] = 0xff }, 96, 4 },
    { { 0 }, 96, 3 },
    { { 0x20, 0x01 }, 32, 5 },
    { { 0x20, 0x01, 0x00, 0x10 }, 28, 7 },
    { { 0x20, 0x02 }, 16, 2 },
    { { 0x3f, 0xfe }, 16, 12 },
    { { 0xfe, 0xc0 }, 10, 11 },
    { { 0xfc }, 7, 13 },
    { { 0 }, 0, 1 },
};

static int
ipv6_label(const struct in6_addr *address)
{
    for (size_t i = 0; i < ARRAY_SIZE(labels) - 1; i++) {
        struct in6_addr prefix;

        memcpy(&prefix, labels[i].prefix, sizeof prefix);
        if (route_prefix_contains(&prefix, labels[i].plen, address)) {
            return labels[i].label;
        }
    }
    return labels[ARRAY_SIZE(labels) - 1].label;
}

/* Scopes of RFC 4291 section 2.7. */
enum {
    IPV6_LINK_LOCAL = 0x2,
    IPV6_SITE_LOCAL = 0x5,
    IPV6_GLOBAL = 0xe,
};

static int
ipv6_scope(const struct in6_addr *address)
{
    return (IN6_IS_ADDR_MULTICAST(address) ? address->s6_addr[1] & 0xf
            : IN6_IS_ADDR_LINKLOCAL(address) ? IPV6_LINK_LOCAL
            : IN6_IS_ADDR_LOOPBACK(address) ? IPV6_LINK_LOCAL
            : IN6_IS_ADDR_SITELOCAL(address) ? IPV6_SITE_LOCAL
            : IPV6_GLOBAL);
}

/* The number of leading bits in which 'a' and 'b' agree, at most 'max'. */
static int
common_prefix(const struct in6_addr *a, const struct in6_addr *b, int max)
{
    for (int i = 0; i < 16; i++) {
        uint8_t diff = a->s6_addr[i] ^ b->s6_addr[i];

        if (diff) {
            return MIN(i * 8 + clz32(diff) - 24, max);
        }
    }
    return max;
}

struct ipv6_candidate {
    const struct route_address *address;
    bool on_device;             /* The outgoing device has it. */
};

/* True if rule 2 to 8 of section 5 prefers 'a' to 'b', and rule 1 does not
 * decide. */
static bool
ipv6_preferred(const struct ipv6_candidate *a, const struct ipv6_candidate *b,
               const struct in6_addr *dst)
{
    const struct in6_addr *addr_a = &a->address->address;
    const struct in6_addr *addr_b = &b->address->address;

    /* Rule 2. */
    int scope_a = ipv6_scope(addr_a);
    int scope_b = ipv6_scope(addr_b);
    int scope_dst = ipv6_scope(dst);

    if (scope_a < scope_b) {
        return scope_a >= scope_dst;
    } else if (scope_b < scope_a) {
        return scope_b < scope_dst;
    }

    /* Rule 3. */
    if (a->address->deprecated != b->address->deprecated) {
        return b->address->deprecated;
    }

    /* Rule 5. */
    if (a->on_device != b->on_device) {
        return a->on_device;
    }

    /* Rule 6. */
    int label_dst = ipv6_label(dst);
    bool label_a = ipv6_label(addr_a) == label_dst;
    bool label_b = ipv6_label(addr_b) == label_dst;

    if (label_a != label_b) {
        return label_a;
    }

    /* Rule 7. */
    if (a->address->temporary != b->address->temporary) {
        return b->address->temporary;
    }

    /* Rule 8. */
    return (common_prefix(addr_a, dst, a->address->plen)
            > common_prefix(addr_b, dst, b->address->plen));
}

bool
route_device_select_ipv6(const struct route_db *db,
                         const struct route_device *device,
                         const struct in6_addr *dst, struct in6_addr *src)
{
    bool one_link = (IN6_IS_ADDR_MULTICAST(dst)
                     || ipv6_scope(dst) <= IPV6_LINK_LOCAL);
    const struct route_device_list *list = all_devices(db);
    struct ipv6_candidate best = { .address = NULL };

    for (size_t i = 0; i < list->n; i++) {
        const struct route_addresses *addresses
            = route_device_addresses(list->devices[i]);
        bool on_device = list->devices[i] == device;

        for (size_t j = 0; j < addresses->n; j++) {
            const struct route_address *a = &addresses->addresses[j];
            struct ipv6_candidate candidate = { a, on_device };

            if (IN6_IS_ADDR_V4MAPPED(&a->address) || a->tentative
                || (one_link && !on_device)) {
                continue;
            }
            if (ipv6_addr_equals(&a->address, dst)) {
                *src = *dst;    /* Rule 1. */
                return true;
            }
            if (!best.address || ipv6_preferred(&candidate, &best, dst)) {
                best = candidate;
            }
        }
    }
    if (best.address) {
        *src = best.address->address;
    }
    return best.address != NULL;
}
