/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "route-device.h"

#include <string.h>

#include "packets.h"
#include "route-db-private.h"
#include "route-prefix.h"
#include "util.h"

struct route_device *
route_device_create(int ifindex, const struct route_link *link)
{
    struct route_device *device = xzalloc(sizeof *device);

    device->ifindex = ifindex;
    ovsrcu_init(&device->link, xmemdup(link, sizeof *link));
    ovsrcu_init(&device->addresses, xzalloc(sizeof(struct route_addresses)));
    return device;
}

void
route_device_destroy(struct route_device *device)
{
    free(ovsrcu_get_protected(struct route_link *, &device->link));
    free(ovsrcu_get_protected(struct route_addresses *, &device->addresses));
    free(device);
}

void
route_device_set_link(struct route_device *device,
                      const struct route_link *link)
{
    ovsrcu_postpone(free, ovsrcu_get_protected(struct route_link *,
                                               &device->link));
    ovsrcu_set(&device->link, xmemdup(link, sizeof *link));
}

void
route_device_set_addresses(struct route_device *device,
                           struct route_addresses *addresses)
{
    ovsrcu_postpone(free, ovsrcu_get_protected(struct route_addresses *,
                                               &device->addresses));
    ovsrcu_set(&device->addresses, addresses);
}

/* The order of addresses. */

static bool
is_ipv4(const struct route_address *address)
{
    return IN6_IS_ADDR_V4MAPPED(&address->address);
}

static bool
route_address_same(const struct route_address *a, const struct in6_addr *b,
                   uint8_t plen)
{
    return a->plen == plen && ipv6_addr_equals(&a->address, b);
}

/* True if lookups treat 'a' and 'b' alike. */
static bool
route_address_alike(const struct route_address *a,
                    const struct route_address *b)
{
    return (route_address_same(a, &b->address, b->plen)
            && ipv6_addr_equals(&a->prefix, &b->prefix)
            && a->scope == b->scope
            && a->secondary == b->secondary
            && a->deprecated == b->deprecated
            && a->tentative == b->tentative
            && a->temporary == b->temporary);
}

/* Where 'new' belongs among the 'n' addresses in 'list'. */
static size_t
route_address_position(const struct route_address *list, size_t n,
                       const struct route_address *new)
{
    size_t pos;

    if (new->dumped) {
        pos = 0;
        for (size_t i = 0; i < n; i++) {
            if (is_ipv4(&list[i]) == is_ipv4(new)
                && list[i].epoch == new->epoch) {
                pos = i + 1;
            }
        }
    } else if (!is_ipv4(new)) {
        for (pos = 0; pos < n; pos++) {
            if (!is_ipv4(&list[pos]) && list[pos].scope >= new->scope) {
                break;
            }
        }
    } else if (new->secondary) {
        pos = n;
    } else {
        pos = 0;
        for (size_t i = 0; i < n; i++) {
            if (is_ipv4(&list[i]) && !list[i].secondary
                && list[i].scope >= new->scope) {
                pos = i + 1;
            }
        }
    }
    return pos;
}

bool
route_device_add_address(struct route_device *device,
                         const struct route_address *address)
{
    const struct route_addresses *old
        = ovsrcu_get_protected(struct route_addresses *, &device->addresses);
    struct route_addresses *new
        = xmalloc(sizeof *new + (old->n + 1) * sizeof new->addresses[0]);
    size_t old_pos = old->n;
    size_t n = 0;

    for (size_t i = 0; i < old->n; i++) {
        if (old_pos == old->n
            && route_address_same(&old->addresses[i], &address->address,
                                  address->plen)) {
            old_pos = i;
        } else {
            new->addresses[n++] = old->addresses[i];
        }
    }

    /* An event about an address that is there does not move it, unless it
     * was promoted to primary. */
    bool found = old_pos < old->n;
    const struct route_address *prev
        = found ? &old->addresses[old_pos] : NULL;
    bool stays = found && !address->dumped
                 && prev->secondary == address->secondary;
    size_t pos = stays ? old_pos
                       : route_address_position(new->addresses, n, address);
    bool changed = !found || pos != old_pos
                   || !route_address_alike(prev, address);

    memmove(&new->addresses[pos + 1], &new->addresses[pos],
            (n - pos) * sizeof new->addresses[0]);
    new->addresses[pos] = *address;
    new->n = n + 1;
    route_device_set_addresses(device, new);
    return changed;
}

bool
route_device_remove_address(struct route_device *device,
                            const struct in6_addr *address, uint8_t plen)
{
    const struct route_addresses *old
        = ovsrcu_get_protected(struct route_addresses *, &device->addresses);

    for (size_t i = 0; i < old->n; i++) {
        if (route_address_same(&old->addresses[i], address, plen)) {
            struct route_addresses *new
                = xmemdup(old, sizeof *old
                               + old->n * sizeof old->addresses[0]);

            new->n--;
            memmove(&new->addresses[i], &new->addresses[i + 1],
                    (new->n - i) * sizeof new->addresses[0]);
            route_device_set_addresses(device, new);
            return true;
        }
    }
    return false;
}

/* The devices of a route_db. */

static uint32_t
name_hash(const char *name)
{
    return hash_string(name, 0);
}

struct route_device *
route_db_find_device(const struct route_db *db, int ifindex)
{
    struct route_device *device;

    HMAP_FOR_EACH_WITH_HASH (device, index_node, hash_int(ifindex, 0),
                             &db->devices) {
        if (device->ifindex == ifindex) {
            return device;
        }
    }
    return NULL;
}

struct route_device *
route_db_find_named_device(const struct route_db *db, const char *name)
{
    struct route_device *device;

    HMAP_FOR_EACH_WITH_HASH (device, name_node, name_hash(name),
                             &db->device_names) {
        if (!strcmp(route_device_link(device)->name, name)) {
            return device;
        }
    }
    return NULL;
}

static int
compare_devices(const void *a_, const void *b_)
{
    const struct route_device *const *a = a_;
    const struct route_device *const *b = b_;
    unsigned int index_a = (*a)->ifindex - 1u; /* Not in the kernel: last. */
    unsigned int index_b = (*b)->ifindex - 1u;

    if (index_a != index_b) {
        return index_a < index_b ? -1 : 1;
    }
    return strcmp(route_device_link(*a)->name, route_device_link(*b)->name);
}

static void
update_device_list(struct route_db *db)
    OVS_REQUIRES(db->mutex)
{
    struct route_device_list *list
        = xmalloc(sizeof *list
                  + (hmap_count(&db->device_names)
                     * sizeof list->devices[0]));
    struct route_device *device;

    list->n = 0;
    HMAP_FOR_EACH (device, name_node, &db->device_names) {
        list->devices[list->n++] = device;
    }
    qsort(list->devices, list->n, sizeof list->devices[0], compare_devices);

    ovsrcu_postpone(free, ovsrcu_get_protected(struct route_device_list *,
                                               &db->device_list));
    ovsrcu_set(&db->device_list, list);
}

/* Enters 'device', whose name has been set, under its name. */
static void
insert_name(struct route_db *db, struct route_device *device)
    OVS_REQUIRES(db->mutex)
{
    hmap_insert(&db->device_names, &device->name_node,
                name_hash(route_device_link(device)->name));
}

static void
bind_device(struct route_db *db, struct route_device *device, int ifindex)
    OVS_REQUIRES(db->mutex)
{
    device->ifindex = ifindex;
    hmap_insert(&db->devices, &device->index_node, hash_int(ifindex, 0));
    update_device_list(db);
}

static struct route_device *
create_device(struct route_db *db, const char *name)
    OVS_REQUIRES(db->mutex)
{
    struct route_link link = { .up = false };
    struct route_device *device;

    ovs_strlcpy(link.name, name, sizeof link.name);
    device = route_device_create(0, &link);
    insert_name(db, device);
    update_device_list(db);
    return device;
}

static void
remove_addresses(struct route_db *db, struct route_device *device)
    OVS_REQUIRES(db->mutex)
{
    const struct route_addresses *addresses;

    while ((addresses = route_device_addresses(device))->n) {
        const struct route_address *last
            = &addresses->addresses[addresses->n - 1];

        route_db_remove_address(db, device, &last->address, last->plen);
    }
}

/* Frees 'device', which is not in the kernel, unless it has a user. */
static void
drop_device(struct route_db *db, struct route_device *device)
    OVS_REQUIRES(db->mutex)
{
    if (!device->ifindex && !device->n_users) {
        remove_addresses(db, device);
        hmap_remove(&db->device_names, &device->name_node);
        update_device_list(db);
        ovsrcu_postpone(route_device_destroy, device);
    }
}

struct route_device *
route_db_device(struct route_db *db, int ifindex)
{
    struct route_device *device = route_db_find_device(db, ifindex);

    if (!device) {
        device = create_device(db, "");
        bind_device(db, device, ifindex);
    }
    return device;
}

struct route_device *
route_db_named_device(struct route_db *db, const char *name)
{
    struct route_device *device = route_db_find_named_device(db, name);

    return device ? device : create_device(db, name);
}

static bool
route_link_equal(const struct route_link *a, const struct route_link *b)
{
    return (!strcmp(a->name, b->name)
            && a->up == b->up
            && a->carrier == b->carrier
            && a->loopback == b->loopback
            && a->ignore_linkdown_ipv4 == b->ignore_linkdown_ipv4
            && a->ignore_linkdown_ipv6 == b->ignore_linkdown_ipv6
            && a->group == b->group);
}

/* Gives 'device' the properties 'link', its name among them. */
static void
change_link(struct route_db *db, struct route_device *device,
            const struct route_link *link)
    OVS_REQUIRES(db->mutex)
{
    bool renamed = strcmp(route_device_link(device)->name, link->name);

    if (route_device_link(device)->up && !link->up && db->link_goes_down) {
        db->link_goes_down(device, db->aux);
    }

    if (renamed) {
        if (device->n_users && db->device_lost) {
            db->device_lost(device, db->aux);
        }
        hmap_remove(&db->device_names, &device->name_node);
    }
    route_device_set_link(device, link);
    if (renamed) {
        insert_name(db, device);
        if (device->n_users && db->device_gained) {
            db->device_gained(device, db->aux);
        }
    }
}

static void
report_link(struct route_db *db, struct route_device *device)
    OVS_REQUIRES(db->mutex)
{
    if (db->link_changed) {
        db->link_changed(device, db->aux);
    }
}

struct route_device *
route_db_set_link(struct route_db *db, int ifindex,
                  const struct route_link *link)
{
    struct route_device *device = route_db_find_device(db, ifindex);
    struct route_device *named = route_db_find_named_device(db, link->name);
    bool absent = named && !named->ifindex;
    bool changed = !device;

    if (!device) {
        device = absent ? named : create_device(db, link->name);
        bind_device(db, device, ifindex);
        absent = false;
    }
    if (!route_link_equal(route_device_link(device), link)) {
        change_link(db, device, link);
        route_db_link_changed(db, device);
        changed = true;
    }
    if (changed) {
        report_link(db, device);
    }
    if (absent) {
        /* Routes waited for the name that 'device' has taken just now. */
        if (named->n_users) {
            route_db_move_routes(db, named, device);
        } else {
            drop_device(db, named);
        }
    }
    return device;
}

void
route_db_forget_device(struct route_db *db, struct route_device *device)
{
    struct route_link link;

    if (!device->ifindex) {
        return;
    }
    remove_addresses(db, device);
    hmap_remove(&db->devices, &device->index_node);
    device->ifindex = 0;
    update_device_list(db);

    link = (struct route_link) { .up = false };
    ovs_strlcpy(link.name, route_device_link(device)->name, sizeof link.name);
    change_link(db, device, &link);
    route_db_link_changed(db, device);
    report_link(db, device);

    /* If messages were lost, a new device may have had its name before. */
    struct route_device *other;

    HMAP_FOR_EACH_WITH_HASH (other, name_node, name_hash(link.name),
                             &db->device_names) {
        if (device->n_users && other->ifindex
            && !strcmp(route_device_link(other)->name, link.name)) {
            route_db_move_routes(db, device, other);
            return;             /* Freed with its last user. */
        }
    }
    drop_device(db, device);
}

void
route_db_use(struct route_db *db, const struct route_nexthop *nexthops,
             size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct route_device *device = nexthops[i].device;

        if (!device->n_users++ && db->device_gained) {
            db->device_gained(device, db->aux);
        }
    }
}

void
route_db_unuse(struct route_db *db, const struct route_nexthop *nexthops,
               size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct route_device *device = nexthops[i].device;

        if (!--device->n_users) {
            if (db->device_lost) {
                db->device_lost(device, db->aux);
            }
            drop_device(db, device);
        }
    }
}

void
route_db_destroy_devices(struct route_db *db)
{
    struct route_device *device;

    HMAP_FOR_EACH_POP (device, name_node, &db->device_names) {
        route_device_destroy(device);
    }
    hmap_destroy(&db->device_names);
    hmap_destroy(&db->devices);
    free(ovsrcu_get_protected(struct route_device_list *, &db->device_list));
}

/* Addresses of this host. */

static uint32_t
address_hash(const struct in6_addr *address)
{
    return route_bits_hash(route_bits_get(address), 128);
}

static struct route_local *
find_local(const struct route_db *db, const struct in6_addr *address,
           uint32_t hash)
{
    struct route_local *local;

    CMAP_FOR_EACH_WITH_HASH (local, node, hash, &db->local) {
        if (ipv6_addr_equals(&local->address, address)) {
            return local;
        }
    }
    return NULL;
}

bool
route_db_has_address(const struct route_db *db,
                     const struct in6_addr *address)
{
    return find_local(db, address, address_hash(address)) != NULL;
}

static void
addresses_changed(struct route_db *db, struct route_device *device, bool ipv6)
    OVS_REQUIRES(db->mutex)
{
    if (db->addresses_changed) {
        db->addresses_changed(device, db->aux);
    }
    route_db_changed_all(db, ipv6);
}

bool
route_db_add_address(struct route_db *db, struct route_device *device,
                     const struct route_address *address)
{
    size_t n_before = route_device_addresses(device)->n;

    if (!route_device_add_address(device, address)) {
        return false;
    }
    if (route_device_addresses(device)->n > n_before) {
        uint32_t hash = address_hash(&address->address);
        struct route_local *local = find_local(db, &address->address, hash);

        if (local) {
            local->count++;
        } else {
            local = xmalloc(sizeof *local);
            local->address = address->address;
            local->count = 1;
            cmap_insert(&db->local, &local->node, hash);
        }
    }
    addresses_changed(db, device, !is_ipv4(address));
    return true;
}

bool
route_db_remove_address(struct route_db *db, struct route_device *device,
                        const struct in6_addr *address_, uint8_t plen)
{
    struct in6_addr address = *address_; /* May be in the old snapshot. */
    uint32_t hash = address_hash(&address);

    if (!route_device_remove_address(device, &address, plen)) {
        return false;
    }

    struct route_local *local = find_local(db, &address, hash);

    if (!--local->count) {
        cmap_remove(&db->local, &local->node, hash);
        ovsrcu_postpone(free, local);
    }
    addresses_changed(db, device, !IN6_IS_ADDR_V4MAPPED(&address));
    return true;
}
