/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ROUTE_DB_H
#define ROUTE_DB_H 1

/* The routing state of one network namespace
 * ==========================================
 *
 * Tables, rules, next-hop objects, devices and local addresses, and the
 * changes that can be made to them.  There is one in ovs-vswitchd (see
 * ovs-router.h); tests make their own.
 *
 * Threads: a writer holds 'mutex' over each call that is marked so.  Readers
 * need nothing but RCU.  Each call here is one step for readers: they see the
 * state before or after, never between.
 *
 * Whoever must know what has changed sets 'changed'.  It is called with the
 * mutex held, after the change is visible to readers, with the family and
 * the destination prefix whose lookups may now end elsewhere (plen 0 of the
 * mapped form, i.e. 0 for IPv6 and 96 for IPv4, for all of a family).
 *
 * The other callbacks come with the mutex held, too, and must not change the
 * db.  'device_gained' and 'device_lost' mean the first and the last next hop
 * that names a device; the rename of a device in use is both, first lost
 * under its old name.  'addresses_changed' follows each change by
 * route_db_add_address() and route_db_remove_address(), 'link_changed' each
 * change of a link, its name included, by route_db_set_link() and
 * route_db_forget_device(), and each device that they add or take away.
 * 'link_goes_down' comes before a link is seen to be down that was up.  All
 * may be NULL. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "openvswitch/hmap.h"
#include "cmap.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "route.h"
#include "route-device.h"
#include "route-fib.h"
#include "route-object.h"
#include "route-rule.h"

struct route_db {
    struct ovs_mutex mutex;

    /* Read by lookups. */
    OVSRCU_TYPE(struct route_rules *) rules[2];    /* [ipv6]; never NULL. */
    struct cmap objects;        /* Contains "struct route_object"s. */
    struct cmap local;          /* "struct route_local"s, by address. */
    struct route_fib *local_fibs[2]; /* [ipv6]: table local, always there. */
    OVSRCU_TYPE(struct route_device_list *) device_list; /* Not NULL. */

    /* Writers only. */
    struct hmap fibs OVS_GUARDED;          /* "struct route_fib"s. */
    struct hmap devices OVS_GUARDED;       /* By ifindex, not 0. */
    struct hmap device_names OVS_GUARDED;  /* By current name. */
    struct route_rule *rule_array[2] OVS_GUARDED; /* Source of 'rules'. */
    size_t n_rules[2] OVS_GUARDED;
    bool rules_deferred OVS_GUARDED;
    struct {                    /* Changes of rules not yet published. */
        size_t n;
        struct in6_addr to;     /* For 'changed'. */
        uint8_t plen;
    } pending[2] OVS_GUARDED;
    bool ignore_linkdown_ipv4 OVS_GUARDED; /* net.ipv4.conf.all. */

    void (*changed)(struct route_db *, bool ipv6, const struct in6_addr *dst,
                    uint8_t plen, void *aux);
    void (*device_gained)(struct route_device *, void *aux); /* First use. */
    void (*device_lost)(struct route_device *, void *aux);   /* Last use. */
    void (*addresses_changed)(struct route_device *, void *aux);
    void (*link_changed)(struct route_device *, void *aux);
    void (*link_goes_down)(struct route_device *, void *aux); /* Before. */
    void *aux;
};

/* An address of this host. */
struct route_local {
    struct cmap_node node;      /* In route_db 'local'. */
    struct in6_addr address;
    unsigned int count;         /* How many times devices have it.  Writers
                                 * only. */
};

/* All devices, for source selection, in the order in which the kernel asks
 * them; those that are not in the kernel at the end. */
struct route_device_list {
    size_t n;
    struct route_device *devices[];
};

/* Initializes 'db' with the kernel's standard rules (0 local, 32766 main, and
 * for IPv4 32767 default) and nothing else.  route_db_destroy() frees all at
 * once and calls no callback: no reader may be left. */
void route_db_init(struct route_db *db);
void route_db_destroy(struct route_db *db);

/* Tables.
 *
 * route_db_fib() returns table 'id' (1 or more), which it creates if
 * necessary; route_db_find_fib() returns NULL instead.  When the last rule
 * that named a table is gone, its kernel routes go; a table that no rule names
 * is destroyed with its last other route, or at the next change of a rule if
 * none was ever in it.  The local tables are always held.  A destroyed table
 * stays readable until the next quiescent state. */
struct route_fib *route_db_fib(struct route_db *db, uint32_t id, bool ipv6)
    OVS_REQUIRES(db->mutex);
struct route_fib *route_db_find_fib(const struct route_db *db, uint32_t id,
                                    bool ipv6)
    OVS_REQUIRES(db->mutex);

/* Calls 'changed' as needed.  route_db_add_route() takes ownership of 'route',
 * whose next hops' devices must belong to 'db'.  If a route of the same key is
 * there: with 'replace' the first such is replaced; without, 'route' goes
 * before ('append': behind) it, unless one is equal altogether, when nothing
 * changes but its epoch (and 'route' is freed at once).
 * route_db_swap_route() puts 'new', of which it takes ownership, in the place
 * of 'old', which must agree with it in 'dst' and 'dst_plen'.  Routes that
 * leave are freed when readers are done. */
void route_db_add_route(struct route_db *db, struct route_fib *fib,
                        struct route *route, bool replace, bool append)
    OVS_REQUIRES(db->mutex);
void route_db_swap_route(struct route_db *db, struct route_fib *fib,
                         struct route *old, struct route *new)
    OVS_REQUIRES(db->mutex);
void route_db_remove_route(struct route_db *db, struct route_fib *fib,
                           struct route *route)
    OVS_REQUIRES(db->mutex);

/* Rules.  Adding copies 'rule'; of two rules with one priority and owner the
 * earlier added comes first.  If a rule that is route_rule_equal() is there,
 * only its epoch changes.  Moving puts the rule that is route_rule_equal()
 * behind all others of its priority and owner, if there is one.  Removing
 * takes it away; returns false if there is none.  Tables that rules name are
 * held, others are let go (see route_fib 'held'); whoever mirrors the kernel
 * fills a table before the first rule for it is added.  What
 * route_db_find_rule() returns is valid until the next change of a rule. */
void route_db_add_rule(struct route_db *db, const struct route_rule *rule)
    OVS_REQUIRES(db->mutex);
void route_db_move_rule(struct route_db *db, const struct route_rule *rule)
    OVS_REQUIRES(db->mutex);
bool route_db_remove_rule(struct route_db *db, const struct route_rule *rule)
    OVS_REQUIRES(db->mutex);
const struct route_rule *route_db_find_rule(const struct route_db *db,
                                            const struct route_rule *rule)
    OVS_REQUIRES(db->mutex);

/* Each change of a rule costs a new list of all of them for readers.  Changes
 * after route_db_defer_rules() are published together, and reported once, by
 * route_db_publish_rules(); until then readers see the list from before.  The
 * mutex may be released in between. */
void route_db_defer_rules(struct route_db *db)
    OVS_REQUIRES(db->mutex);
void route_db_publish_rules(struct route_db *db)
    OVS_REQUIRES(db->mutex);

/* Devices.  route_db_device() finds or creates a device by its kernel index
 * (a created one has no name and is down), route_db_named_device() by name (a
 * created one is not in the kernel; it goes with the last route that names
 * it).  route_db_set_link() also renames and binds a device known by name only
 * to 'ifindex' (1 or more).  route_db_forget_device() takes the kernel's part
 * away, addresses included: routes and objects that the kernel drops must have
 * been removed before.  A device that is renamed while in use is reported lost
 * and then gained.  All return devices that stay readable until the next
 * quiescent state. */
struct route_device *route_db_device(struct route_db *db, int ifindex)
    OVS_REQUIRES(db->mutex);
struct route_device *route_db_named_device(struct route_db *db,
                                           const char *name)
    OVS_REQUIRES(db->mutex);
struct route_device *route_db_find_device(const struct route_db *db,
                                          int ifindex)
    OVS_REQUIRES(db->mutex);
struct route_device *route_db_find_named_device(const struct route_db *db,
                                                const char *name)
    OVS_REQUIRES(db->mutex);
struct route_device *route_db_set_link(struct route_db *db, int ifindex,
                                       const struct route_link *link)
    OVS_REQUIRES(db->mutex);
void route_db_forget_device(struct route_db *db, struct route_device *device)
    OVS_REQUIRES(db->mutex);

/* Addresses.  As route_device_add_address() and _remove_address(), and keeps
 * 'local'.  Returns true if anything changed. */
bool route_db_add_address(struct route_db *db, struct route_device *device,
                          const struct route_address *address)
    OVS_REQUIRES(db->mutex);
bool route_db_remove_address(struct route_db *db,
                             struct route_device *device,
                             const struct in6_addr *address, uint8_t plen)
    OVS_REQUIRES(db->mutex);

/* True if 'address' is on some device of 'db'.  (An address may be local by a
 * route alone, e.g. 127.0.0.0/8: see route_lookup_is_local().)  Any
 * thread. */
bool route_db_has_address(const struct route_db *db,
                          const struct in6_addr *address);

/* Next-hop objects.  route_db_set_object() takes ownership of 'object', its
 * 'members' and its 'nexthops' (all allocated with malloc(); a group's
 * 'nexthops' are NULL, as the db finds them); it replaces one of the same id.
 * route_db_remove_object() also takes the id out of all groups and removes
 * groups that it leaves empty; the caller removes the routes that named them,
 * which '*gone' lists (ids, '*n_gone' of them, freed by the caller).  It
 * returns false, with an empty list, if there is no such object. */
void route_db_set_object(struct route_db *db, struct route_object *object)
    OVS_REQUIRES(db->mutex);
bool route_db_remove_object(struct route_db *db, uint32_t id,
                            uint32_t **gone, size_t *n_gone)
    OVS_REQUIRES(db->mutex);

/* Any thread; valid until the next quiescent state. */
const struct route_object *route_db_find_object(const struct route_db *db,
                                                uint32_t id);

/* The next hops of 'route', its own or its object's.  Returns NULL, '*n' 0,
 * if the object is missing or a blackhole ('*blackhole' says which).  Any
 * thread. */
const struct route_nexthop *route_db_nexthops(const struct route_db *db,
                                              const struct route *route,
                                              size_t *n, bool *blackhole);

#endif /* route-db.h */
