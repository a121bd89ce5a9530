/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "route-object.h"

#include "hash.h"
#include "packets.h"
#include "route-db-private.h"
#include "util.h"

static const struct route_nexthop no_nexthops[1];

const struct route_object *
route_db_find_object(const struct route_db *db, uint32_t id)
{
    struct route_object *object;

    CMAP_FOR_EACH_WITH_HASH (object, node, hash_int(id, 0), &db->objects) {
        if (object->id == id) {
            return object;
        }
    }
    return NULL;
}

const struct route_nexthop *
route_db_nexthops(const struct route_db *db, const struct route *route,
                  size_t *n, bool *blackhole)
{
    const struct route_object *object;

    *blackhole = false;
    if (!route->nexthop_id) {
        *n = route->n_nexthops;
        return route->nexthops;
    }

    object = route_db_find_object(db, route->nexthop_id);
    if (!object || object->blackhole) {
        *blackhole = object != NULL;
        *n = 0;
        return NULL;
    }
    *n = object->n_nexthops;
    return object->nexthops ? object->nexthops : no_nexthops;
}

static void
route_object_destroy(struct route_object *object)
{
    free(object->members);
    free(object->nexthops);
    free(object);
}

static bool
route_object_equal(const struct route_object *a, const struct route_object *b)
{
    if (a->blackhole != b->blackhole
        || a->n_members != b->n_members
        || a->n_nexthops != b->n_nexthops) {
        return false;
    }
    for (size_t i = 0; i < a->n_members; i++) {
        if (a->members[i].id != b->members[i].id
            || a->members[i].weight != b->members[i].weight) {
            return false;
        }
    }
    for (size_t i = 0; i < a->n_nexthops; i++) {
        const struct route_nexthop *x = &a->nexthops[i];
        const struct route_nexthop *y = &b->nexthops[i];

        if (!ipv6_addr_equals(&x->gateway, &y->gateway)
            || x->device != y->device || x->weight != y->weight) {
            return false;
        }
    }
    return true;
}

/* Finds the next hops of the members of 'group'.  Members that are missing or
 * (which the kernel refuses) groups have none; a blackhole, which the kernel
 * takes as the only member, makes the group one. */
static void
resolve_group(const struct route_db *db, struct route_object *group)
{
    group->n_nexthops = 0;
    group->blackhole = false;
    group->nexthops = xmalloc(group->n_members * sizeof *group->nexthops);
    for (size_t i = 0; i < group->n_members; i++) {
        const struct route_object *member
            = route_db_find_object(db, group->members[i].id);

        group->blackhole |= member && member->blackhole;
        if (member && !member->n_members && member->n_nexthops) {
            struct route_nexthop *nexthop
                = &group->nexthops[group->n_nexthops++];

            *nexthop = member->nexthops[0];
            nexthop->weight = group->members[i].weight;
        }
    }
}

static void
remove_object(struct route_db *db, struct route_object *object)
    OVS_REQUIRES(db->mutex)
{
    cmap_remove(&db->objects, &object->node, hash_int(object->id, 0));
    route_db_unuse(db, object->nexthops, object->n_nexthops);
    ovsrcu_postpone(route_object_destroy, object);
}

/* Enters 'new' in the place of 'old', which may be NULL. */
static void
put_object(struct route_db *db, struct route_object *old,
           struct route_object *new)
    OVS_REQUIRES(db->mutex)
{
    uint32_t hash = hash_int(new->id, 0);

    route_db_use(db, new->nexthops, new->n_nexthops);
    if (old) {
        cmap_replace(&db->objects, &old->node, &new->node, hash);
        route_db_unuse(db, old->nexthops, old->n_nexthops);
        ovsrcu_postpone(route_object_destroy, old);
    } else {
        cmap_insert(&db->objects, &new->node, hash);
    }
}

/* The groups that have 'id' as a member.  The caller frees the array. */
static struct route_object **
groups_of(const struct route_db *db, uint32_t id, size_t *n)
{
    struct route_object **groups = NULL;
    struct route_object *group;
    size_t allocated = 0;

    *n = 0;
    CMAP_FOR_EACH (group, node, &db->objects) {
        for (size_t i = 0; i < group->n_members; i++) {
            if (group->members[i].id == id) {
                if (*n >= allocated) {
                    groups = x2nrealloc(groups, &allocated, sizeof *groups);
                }
                groups[(*n)++] = group;
                break;
            }
        }
    }
    return groups;
}

/* Returns a copy of 'group' without member 'except' (0: with all members),
 * resolved anew. */
static struct route_object *
clone_group(const struct route_db *db, const struct route_object *group,
            uint32_t except)
{
    struct route_object *new = xzalloc(sizeof *new);

    new->id = group->id;
    new->epoch = group->epoch;
    new->members = xmalloc(group->n_members * sizeof *new->members);
    for (size_t i = 0; i < group->n_members; i++) {
        if (group->members[i].id != except) {
            new->members[new->n_members++] = group->members[i];
        }
    }
    resolve_group(db, new);
    return new;
}

/* Any route of either family may name any object. */
static void
objects_changed(struct route_db *db)
    OVS_REQUIRES(db->mutex)
{
    route_db_changed_all(db, false);
    route_db_changed_all(db, true);
}

void
route_db_set_object(struct route_db *db, struct route_object *object)
{
    struct route_object *old
        = CONST_CAST(struct route_object *,
                     route_db_find_object(db, object->id));

    if (object->n_members) {
        free(object->nexthops);
        resolve_group(db, object);
    }
    if (old && route_object_equal(old, object)) {
        old->epoch = object->epoch;
        route_object_destroy(object);
        return;
    }
    put_object(db, old, object);

    size_t n_groups;
    struct route_object **groups = groups_of(db, object->id, &n_groups);

    for (size_t i = 0; i < n_groups; i++) {
        put_object(db, groups[i], clone_group(db, groups[i], 0));
    }
    free(groups);
    objects_changed(db);
}

bool
route_db_remove_object(struct route_db *db, uint32_t id, uint32_t **gone,
                       size_t *n_gone)
{
    struct route_object *object
        = CONST_CAST(struct route_object *, route_db_find_object(db, id));

    *gone = NULL;
    *n_gone = 0;
    if (!object) {
        return false;
    }

    size_t n_groups;
    struct route_object **groups = groups_of(db, id, &n_groups);

    *gone = xmalloc((n_groups + 1) * sizeof **gone);
    (*gone)[(*n_gone)++] = id;
    for (size_t i = 0; i < n_groups; i++) {
        struct route_object *group = clone_group(db, groups[i], id);

        if (groups[i] == object) {
            route_object_destroy(group);
        } else if (group->n_members) {
            put_object(db, groups[i], group);
        } else {
            (*gone)[(*n_gone)++] = group->id;
            route_object_destroy(group);
            remove_object(db, groups[i]);
        }
    }
    free(groups);
    remove_object(db, object);
    objects_changed(db);
    return true;
}

void
route_db_destroy_objects(struct route_db *db)
{
    struct route_object *object;

    CMAP_FOR_EACH (object, node, &db->objects) {
        route_object_destroy(object);
    }
    cmap_destroy(&db->objects);
}
