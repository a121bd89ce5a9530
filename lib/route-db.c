/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "route-db.h"

#include <string.h>

#include "hash.h"
#include "packets.h"
#include "route-db-private.h"
#include "util.h"

static void update_rules(struct route_db *db, bool ipv6)
    OVS_REQUIRES(db->mutex);

static const struct {
    uint32_t priority, table;
    bool ipv4, ipv6;
} standard_rules[] = {
    { 0, ROUTE_TABLE_LOCAL, true, true },
    { 32766, ROUTE_TABLE_MAIN, true, true },
    { 32767, ROUTE_TABLE_DEFAULT, true, false },
};

void
route_db_init(struct route_db *db)
{
    memset(db, 0, sizeof *db);
    ovs_mutex_init(&db->mutex);
    ovs_mutex_lock(&db->mutex);
    cmap_init(&db->objects);
    cmap_init(&db->local);
    ovsrcu_init(&db->device_list, xzalloc(sizeof(struct route_device_list)));
    hmap_init(&db->fibs);
    hmap_init(&db->devices);
    hmap_init(&db->device_names);

    for (int ipv6 = 0; ipv6 < 2; ipv6++) {
        struct route_rule *rules = xmalloc(sizeof standard_rules
                                           / sizeof standard_rules[0]
                                           * sizeof *rules);
        size_t n = 0;

        for (size_t i = 0; i < ARRAY_SIZE(standard_rules); i++) {
            if (ipv6 ? standard_rules[i].ipv6 : standard_rules[i].ipv4) {
                route_rule_init(&rules[n++], ipv6, standard_rules[i].priority,
                                standard_rules[i].table, ROUTE_KERNEL);
            }
        }
        db->rule_array[ipv6] = rules;
        db->n_rules[ipv6] = n;
        db->local_fibs[ipv6] = route_db_fib(db, ROUTE_TABLE_LOCAL, ipv6);
        ovsrcu_init(&db->rules[ipv6], NULL);
        update_rules(db, ipv6);
    }
    ovs_mutex_unlock(&db->mutex);
}

void
route_db_destroy(struct route_db *db)
{
    struct route_local *local;
    struct route_fib *fib;

    ovs_mutex_lock(&db->mutex);
    for (int ipv6 = 0; ipv6 < 2; ipv6++) {
        route_rules_destroy(ovsrcu_get_protected(struct route_rules *,
                                                 &db->rules[ipv6]));
        free(db->rule_array[ipv6]);
    }
    HMAP_FOR_EACH_POP (fib, node, &db->fibs) {
        route_fib_destroy(fib);
    }
    hmap_destroy(&db->fibs);
    route_db_destroy_objects(db);
    CMAP_FOR_EACH (local, node, &db->local) {
        free(local);
    }
    cmap_destroy(&db->local);
    route_db_destroy_devices(db);
    ovs_mutex_unlock(&db->mutex);
    ovs_mutex_destroy(&db->mutex);
}

void
route_db_changed(struct route_db *db, bool ipv6, const struct in6_addr *dst,
                 uint8_t plen)
{
    if (db->changed) {
        db->changed(db, ipv6, dst, plen, db->aux);
    }
}

void
route_db_changed_all(struct route_db *db, bool ipv6)
{
    struct in6_addr any = ipv6 ? in6addr_any : in6_addr_mapped_ipv4(0);

    route_db_changed(db, ipv6, &any, ipv6 ? 0 : 96);
}

/* Tables. */

static uint32_t
fib_hash(uint32_t id, bool ipv6)
{
    return hash_int(id, ipv6);
}

struct route_fib *
route_db_find_fib(const struct route_db *db, uint32_t id, bool ipv6)
{
    struct route_fib *fib;

    HMAP_FOR_EACH_WITH_HASH (fib, node, fib_hash(id, ipv6), &db->fibs) {
        if (fib->id == id && fib->ipv6 == ipv6) {
            return fib;
        }
    }
    return NULL;
}

struct route_fib *
route_db_fib(struct route_db *db, uint32_t id, bool ipv6)
{
    struct route_fib *fib = route_db_find_fib(db, id, ipv6);

    if (!fib) {
        fib = route_fib_create(id, ipv6);
        fib->held = id == ROUTE_TABLE_LOCAL;
        hmap_insert(&db->fibs, &fib->node, fib_hash(id, ipv6));
    }
    return fib;
}

static void
unuse_route(struct route_db *db, const struct route *route)
    OVS_REQUIRES(db->mutex)
{
    route_db_unuse(db, route->nexthops, route->n_nexthops);
}

/* Takes the kernel's part of 'fib', which no rule names, away, and all of it
 * if that leaves it empty. */
static void
let_go_of_fib(struct route_db *db, struct route_fib *fib)
    OVS_REQUIRES(db->mutex)
{
    struct route *route;

    if (!fib->n_user) {
        hmap_remove(&db->fibs, &fib->node);
        ROUTE_FIB_FOR_EACH (route, fib) {
            unuse_route(db, route);
        }
        ovsrcu_postpone(route_fib_destroy, fib);
        return;
    }
    ROUTE_FIB_FOR_EACH (route, fib) {
        if (route->owner == ROUTE_KERNEL) {
            route_fib_remove(fib, route);
            unuse_route(db, route);
            ovsrcu_postpone(route_destroy, route);
        }
    }
}

/* Routes. */

/* The lookups that 'route' of 'fib' can answer have changed, if any. */
static void
route_changed(struct route_db *db, const struct route_fib *fib,
              const struct route *route)
    OVS_REQUIRES(db->mutex)
{
    if (!fib->held) {
        return;
    }
    if (route->type == ROUTE_LOCAL && fib == db->local_fibs[fib->ipv6]
        && (route->dst_plen < 128
            || !route_db_has_address(db, &route->dst))) {
        /* It alone makes its destinations sources, for any destination. */
        route_db_changed_all(db, fib->ipv6);
    } else {
        route_db_changed(db, fib->ipv6, &route->dst, route->dst_plen);
    }
}

void
route_db_swap_route(struct route_db *db, struct route_fib *fib,
                    struct route *old, struct route *new)
{
    route_db_use(db, new->nexthops, new->n_nexthops);
    route_fib_replace(fib, old, new);
    route_changed(db, fib, new);
    unuse_route(db, old);
    ovsrcu_postpone(route_destroy, old);
}

void
route_db_add_route(struct route_db *db, struct route_fib *fib,
                   struct route *route, bool replace, bool append)
{
    struct route *same;

    if (replace) {
        same = route_fib_find(fib, route);
        if (same && !route_equal(same, route)) {
            route_db_swap_route(db, fib, same, route);
            return;
        }
    } else {
        same = route_fib_find_equal(fib, route);
    }

    if (same) {
        same->epoch = route->epoch;
        route_destroy(route);
        return;
    }

    route_db_use(db, route->nexthops, route->n_nexthops);
    route_fib_insert(fib, route, append);
    route_changed(db, fib, route);
}

void
route_db_remove_route(struct route_db *db, struct route_fib *fib,
                      struct route *route)
{
    route_fib_remove(fib, route);
    route_changed(db, fib, route);
    unuse_route(db, route);
    ovsrcu_postpone(route_destroy, route);
    if (!fib->held && !fib->n_user) {
        let_go_of_fib(db, fib);
    }
}

static bool
names_device(const struct route_nexthop *nexthops, size_t n,
             const struct route_device *device)
{
    for (size_t i = 0; i < n; i++) {
        if (nexthops[i].device == device) {
            return true;
        }
    }
    return false;
}

void
route_db_link_changed(struct route_db *db, const struct route_device *device)
{
    const struct route_object *object;
    const struct route *route;
    struct route_fib *fib;

    if (!device->n_users || !db->changed) {
        return;
    }
    CMAP_FOR_EACH (object, node, &db->objects) {
        if (names_device(object->nexthops, object->n_nexthops, device)) {
            route_db_changed_all(db, false);
            route_db_changed_all(db, true);
            return;
        }
    }
    HMAP_FOR_EACH (fib, node, &db->fibs) {
        if (fib->held) {
            ROUTE_FIB_FOR_EACH (route, fib) {
                if (names_device(route->nexthops, route->n_nexthops,
                                 device)) {
                    route_changed(db, fib, route);
                }
            }
        }
    }
}

void
route_db_move_routes(struct route_db *db, const struct route_device *from,
                     struct route_device *to)
{
    struct route_fib *fib;

    HMAP_FOR_EACH (fib, node, &db->fibs) {
        size_t n;
        const struct route **routes = route_fib_sort(fib, &n);

        for (size_t i = 0; i < n; i++) {
            if (names_device(routes[i]->nexthops, routes[i]->n_nexthops,
                             from)) {
                struct route *new = route_clone(routes[i]);

                for (size_t j = 0; j < new->n_nexthops; j++) {
                    if (new->nexthops[j].device == from) {
                        new->nexthops[j].device = to;
                    }
                }
                route_db_swap_route(db, fib,
                                    CONST_CAST(struct route *, routes[i]),
                                    new);
            }
        }
        free(routes);
    }
}

/* Rules. */

static struct route_fib *
fib_of_rule(const struct route_rule *rule, void *db_)
    OVS_NO_THREAD_SAFETY_ANALYSIS /* Called from update_rules(). */
{
    struct route_fib *fib = route_db_fib(db_, rule->table, rule->ipv6);

    /* A rule of a VRF names table 0, which stays empty. */
    fib->held = rule->table != 0;
    return fib;
}

static void
destroy_rules(void *rules)
{
    route_rules_destroy(rules);
}

/* Makes 'rule_array' what readers see, and 'held' what it says. */
static void
update_rules(struct route_db *db, bool ipv6)
{
    struct route_rules *old = ovsrcu_get_protected(struct route_rules *,
                                                   &db->rules[ipv6]);
    struct route_fib *fib;

    HMAP_FOR_EACH (fib, node, &db->fibs) {
        if (fib->ipv6 == ipv6) {
            fib->held = fib->id == ROUTE_TABLE_LOCAL;
        }
    }
    ovsrcu_set(&db->rules[ipv6],
               route_rules_create(db->rule_array[ipv6], db->n_rules[ipv6],
                                  fib_of_rule, db));
    if (old) {
        /* The macro without underscores wants a complete type. */
        ovsrcu_postpone__(destroy_rules, old);
    }
    HMAP_FOR_EACH_SAFE (fib, node, &db->fibs) {
        if (fib->ipv6 == ipv6 && fib->id && !fib->held) {
            let_go_of_fib(db, fib);
        }
    }
}

static void
publish_rules(struct route_db *db, bool ipv6)
    OVS_REQUIRES(db->mutex)
{
    if (db->pending[ipv6].n) {
        db->pending[ipv6].n = 0;
        update_rules(db, ipv6);
        route_db_changed(db, ipv6, &db->pending[ipv6].to,
                         db->pending[ipv6].plen);
    }
}

/* Lets others know that 'rule' has come or gone.  If a rule jumps to others,
 * the change may let it land elsewhere, whatever 'rule' itself matches. */
static void
rule_changed(struct route_db *db, const struct route_rule *rule)
    OVS_REQUIRES(db->mutex)
{
    bool all = rule->invert || rule->action == ROUTE_RULE_GOTO;

    for (size_t i = 0; i < db->n_rules[rule->ipv6]; i++) {
        all |= db->rule_array[rule->ipv6][i].action == ROUTE_RULE_GOTO;
    }

    bool ipv6 = rule->ipv6;
    uint8_t plen = all ? (ipv6 ? 0 : 96) : rule->to_plen;
    struct in6_addr to = route_prefix_mask(&rule->to, plen);

    if (db->pending[ipv6].n++
        && (plen != db->pending[ipv6].plen
            || !ipv6_addr_equals(&to, &db->pending[ipv6].to))) {
        plen = ipv6 ? 0 : 96;
        to = route_prefix_mask(&to, plen);
    }
    db->pending[ipv6].to = to;
    db->pending[ipv6].plen = plen;
    if (!db->rules_deferred) {
        publish_rules(db, ipv6);
    }
}

void
route_db_defer_rules(struct route_db *db)
{
    db->rules_deferred = true;
}

void
route_db_publish_rules(struct route_db *db)
{
    db->rules_deferred = false;
    publish_rules(db, false);
    publish_rules(db, true);
}

/* Returns the index of the rule equal to 'rule', or SIZE_MAX. */
static size_t
find_rule(const struct route_db *db, const struct route_rule *rule)
    OVS_REQUIRES(db->mutex)
{
    for (size_t i = 0; i < db->n_rules[rule->ipv6]; i++) {
        if (route_rule_equal(&db->rule_array[rule->ipv6][i], rule)) {
            return i;
        }
    }
    return SIZE_MAX;
}

const struct route_rule *
route_db_find_rule(const struct route_db *db, const struct route_rule *rule)
{
    size_t i = find_rule(db, rule);

    return i != SIZE_MAX ? &db->rule_array[rule->ipv6][i] : NULL;
}

void
route_db_add_rule(struct route_db *db, const struct route_rule *rule)
{
    bool ipv6 = rule->ipv6;
    size_t n = db->n_rules[ipv6];
    size_t i = find_rule(db, rule);

    if (i != SIZE_MAX) {
        db->rule_array[ipv6][i].epoch = rule->epoch;
        return;
    }
    db->rule_array[ipv6] = xrealloc(db->rule_array[ipv6],
                                    (n + 1) * sizeof *db->rule_array[ipv6]);
    db->rule_array[ipv6][n] = *rule;
    db->n_rules[ipv6]++;
    rule_changed(db, rule);
}

void
route_db_move_rule(struct route_db *db, const struct route_rule *rule_)
{
    struct route_rule rule = *rule_; /* May be an element of the array. */
    struct route_rule *rules = db->rule_array[rule.ipv6];
    size_t i = find_rule(db, &rule);

    if (i != SIZE_MAX) {
        size_t last = db->n_rules[rule.ipv6] - 1;

        rule = rules[i];
        memmove(&rules[i], &rules[i + 1], (last - i) * sizeof *rules);
        rules[last] = rule;
        rule_changed(db, &rule);
    }
}

bool
route_db_remove_rule(struct route_db *db, const struct route_rule *rule_)
{
    struct route_rule rule = *rule_; /* May be an element of the array. */
    struct route_rule *rules = db->rule_array[rule.ipv6];
    size_t i = find_rule(db, &rule);

    if (i == SIZE_MAX) {
        return false;
    }
    db->n_rules[rule.ipv6]--;
    memmove(&rules[i], &rules[i + 1],
            (db->n_rules[rule.ipv6] - i) * sizeof *rules);
    rule_changed(db, &rule);
    return true;
}
