/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "route-scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "route-db.h"
#include "util.h"

/* The words of the statement at hand. */
struct words {
    char *save;
    const char *statement;
};

static const char *
next_word(struct words *w)
{
    return strtok_r(NULL, " ", &w->save);
}

static const char *
need_word(struct words *w)
{
    const char *word = next_word(w);

    if (!word) {
        ovs_fatal(0, "%s: a word is missing", w->statement);
    }
    return word;
}

static uint32_t
need_number(struct words *w)
{
    return strtoul(need_word(w), NULL, 0);
}

static void
unknown(const struct words *w, const char *word)
{
    ovs_fatal(0, "%s: what is \"%s\"?", w->statement, word);
}

struct in6_addr
route_scene_ip(const char *s, uint8_t *plen_)
{
    struct in6_addr addr;
    unsigned int plen;
    char *error;
    ovs_be32 ip;

    if (strchr(s, ':')) {
        error = ipv6_parse_cidr(s, &addr, &plen);
    } else {
        error = ip_parse_cidr(s, &ip, &plen);
        addr = in6_addr_mapped_ipv4(ip);
        plen += 96;
    }
    if (error) {
        ovs_fatal(0, "%s", error);
    }
    if (plen_) {
        *plen_ = plen;
    }
    return addr;
}

static struct route_device *
need_device(struct route_db *db, struct words *w)
    OVS_REQUIRES(db->mutex)
{
    const char *name = need_word(w);
    struct route_device *device = route_db_find_named_device(db, name);

    if (!device) {
        ovs_fatal(0, "%s: no device %s", w->statement, name);
    }
    return device;
}

static void
apply_link(struct route_db *db, bool remove, struct words *w)
    OVS_REQUIRES(db->mutex)
{
    struct route_link link = { .up = true, .carrier = true };
    const char *word;
    int ifindex;

    ovs_strlcpy(link.name, need_word(w), sizeof link.name);
    ifindex = need_number(w);
    while ((word = next_word(w))) {
        if (!strcmp(word, "down")) {
            link.up = link.carrier = false;
        } else if (!strcmp(word, "nocarrier")) {
            link.carrier = false;
        } else if (!strcmp(word, "ignore-linkdown")) {
            link.ignore_linkdown_ipv4 = link.ignore_linkdown_ipv6 = true;
        } else if (!strcmp(word, "group")) {
            link.group = need_number(w);
        } else {
            unknown(w, word);
        }
    }
    if (remove) {
        route_db_forget_device(db, route_db_device(db, ifindex));
    } else {
        route_db_set_link(db, ifindex, &link);
    }
}

static void
apply_address(struct route_db *db, bool remove, struct words *w)
    OVS_REQUIRES(db->mutex)
{
    struct route_device *device = need_device(db, w);
    struct route_address a = { .scope = ROUTE_SCOPE_UNIVERSE };
    const char *word;

    a.address = route_scene_ip(need_word(w), &a.plen);
    a.prefix = route_prefix_mask(&a.address, a.plen);
    while ((word = next_word(w))) {
        if (!strcmp(word, "peer")) {
            a.prefix = route_scene_ip(need_word(w), &a.plen);
            a.prefix = route_prefix_mask(&a.prefix, a.plen);
        } else if (!strcmp(word, "scope")) {
            a.scope = need_number(w);
        } else if (!strcmp(word, "epoch")) {
            a.epoch = need_number(w);
        } else if (!strcmp(word, "secondary")) {
            a.secondary = true;
        } else if (!strcmp(word, "deprecated")) {
            a.deprecated = true;
        } else if (!strcmp(word, "tentative")) {
            a.tentative = true;
        } else if (!strcmp(word, "temporary")) {
            a.temporary = true;
        } else if (!strcmp(word, "dumped")) {
            a.dumped = true;
        } else {
            unknown(w, word);
        }
    }
    if (remove) {
        route_db_remove_address(db, device, &a.address, a.plen);
    } else {
        route_db_add_address(db, device, &a);
    }
}

static void
add_nexthop(struct route_nexthop **nexthops, size_t *n,
            struct route_device *device)
{
    *nexthops = xrealloc(*nexthops, (*n + 1) * sizeof **nexthops);
    (*nexthops)[(*n)++] = (struct route_nexthop) {
        .device = device, .weight = 1
    };
}

static void
apply_object(struct route_db *db, bool remove, struct words *w)
    OVS_REQUIRES(db->mutex)
{
    struct route_object *object = xzalloc(sizeof *object);
    const char *word;

    object->id = need_number(w);
    if (remove) {
        uint32_t *gone;
        size_t n_gone;

        route_db_remove_object(db, object->id, &gone, &n_gone);
        free(gone);
        free(object);
        return;
    }
    while ((word = next_word(w))) {
        if (!strcmp(word, "blackhole")) {
            object->blackhole = true;
        } else if (!strcmp(word, "dev")) {
            add_nexthop(&object->nexthops, &object->n_nexthops,
                        need_device(db, w));
        } else if (!strcmp(word, "via")) {
            object->nexthops->gateway = route_scene_ip(need_word(w), NULL);
        } else if (!strcmp(word, "group")) {
            while ((word = next_word(w))) {
                struct route_object_member *m;

                object->members = xrealloc(object->members,
                                           (object->n_members + 1)
                                           * sizeof *m);
                m = &object->members[object->n_members++];
                m->id = strtoul(word, NULL, 0);
                m->weight = strchr(word, ',') ? atoi(strchr(word, ',') + 1)
                                              : 1;
            }
        } else {
            unknown(w, word);
        }
    }
    route_db_set_object(db, object);
}

static int
find_type(const char *word)
{
    for (int i = 0; i <= ROUTE_THROW; i++) {
        if (!strcmp(word, route_type_to_string(i))) {
            return i;
        }
    }
    return -1;
}

static void
apply_route(struct route_db *db, bool remove, struct words *w)
    OVS_REQUIRES(db->mutex)
{
    uint32_t table = need_number(w);
    struct route *r = route_create(0);
    struct route_nexthop *nexthops = NULL;
    bool append = false, replace = false;
    const char *word;
    size_t n = 0;

    r->dst = route_scene_ip(need_word(w), &r->dst_plen);
    while ((word = next_word(w))) {
        if (find_type(word) >= 0) {
            r->type = find_type(word);
        } else if (!strcmp(word, "metric")) {
            r->metric = need_number(w);
        } else if (!strcmp(word, "tos")) {
            r->tos = need_number(w);
        } else if (!strcmp(word, "mark")) {
            r->mark = need_number(w);
        } else if (!strcmp(word, "scope")) {
            r->scope = need_number(w);
        } else if (!strcmp(word, "nhid")) {
            r->nexthop_id = need_number(w);
        } else if (!strcmp(word, "src")) {
            r->prefsrc = route_scene_ip(need_word(w), NULL);
        } else if (!strcmp(word, "user")) {
            r->owner = ROUTE_USER;
        } else if (!strcmp(word, "append")) {
            append = true;
        } else if (!strcmp(word, "replace")) {
            replace = true;
        } else if (!strcmp(word, "dev")) {
            add_nexthop(&nexthops, &n,
                        r->owner == ROUTE_USER
                        ? route_db_named_device(db, need_word(w))
                        : need_device(db, w));
        } else if (!strcmp(word, "via")) {
            nexthops[n - 1].gateway = route_scene_ip(need_word(w), NULL);
        } else if (!strcmp(word, "weight")) {
            nexthops[n - 1].weight = need_number(w);
        } else {
            unknown(w, word);
        }
    }

    struct route *route = route_create(n);
    struct route_fib *fib
        = route_db_fib(db, table, !IN6_IS_ADDR_V4MAPPED(&r->dst));

    r->n_nexthops = n;
    memcpy(route, r, sizeof *r);
    if (n) {
        memcpy(route->nexthops, nexthops, n * sizeof *nexthops);
    }
    free(r);
    free(nexthops);
    if (remove) {
        struct route *old = route_fib_find(fib, route);

        route_destroy(route);
        if (!old) {
            ovs_fatal(0, "%s: no such route", w->statement);
        }
        route_db_remove_route(db, fib, old);
    } else {
        route_db_add_route(db, fib, route, replace, append);
    }
}

static void
apply_rule(struct route_db *db, bool remove, struct words *w)
    OVS_REQUIRES(db->mutex)
{
    uint32_t priority = need_number(w);
    struct route_rule r;
    const char *word;

    route_rule_init(&r, false, priority, 0, ROUTE_KERNEL);
    while ((word = next_word(w))) {
        if (!strcmp(word, "-6")) {
            route_rule_init(&r, true, priority, 0, ROUTE_KERNEL);
        } else if (!strcmp(word, "not")) {
            r.invert = true;
        } else if (!strcmp(word, "from")) {
            r.from = route_scene_ip(need_word(w), &r.from_plen);
        } else if (!strcmp(word, "to")) {
            r.to = route_scene_ip(need_word(w), &r.to_plen);
        } else if (!strcmp(word, "fwmark")) {
            r.mark = need_number(w);
            r.mark_mask = UINT32_MAX;
        } else if (!strcmp(word, "tos")) {
            r.tos = need_number(w);
        } else if (!strcmp(word, "dport")) {
            r.dport_min = r.dport_max = need_number(w);
        } else if (!strcmp(word, "iif")) {
            ovs_strlcpy(r.iif, need_word(w), sizeof r.iif);
        } else if (!strcmp(word, "oif")) {
            ovs_strlcpy(r.oif, need_word(w), sizeof r.oif);
        } else if (!strcmp(word, "user")) {
            r.owner = ROUTE_USER;
        } else if (!strcmp(word, "suppress")) {
            r.suppress_plen = need_number(w);
        } else if (!strcmp(word, "suppress-group")) {
            r.suppress_group = need_number(w);
        } else if (!strcmp(word, "table")) {
            r.table = need_number(w);
        } else if (!strcmp(word, "goto")) {
            r.action = ROUTE_RULE_GOTO;
            r.target = need_number(w);
        } else if (!strcmp(word, "nop")) {
            r.action = ROUTE_RULE_NOP;
        } else if (!strcmp(word, "blackhole")) {
            r.action = ROUTE_RULE_BLACKHOLE_ACTION;
        } else if (!strcmp(word, "unreachable")) {
            r.action = ROUTE_RULE_UNREACHABLE_ACTION;
        } else if (!strcmp(word, "prohibit")) {
            r.action = ROUTE_RULE_PROHIBIT_ACTION;
        } else {
            unknown(w, word);
        }
    }
    if (!remove) {
        route_db_add_rule(db, &r);
    } else if (!route_db_remove_rule(db, &r)) {
        ovs_fatal(0, "%s: no such rule", w->statement);
    }
}

void
route_scene_apply(struct route_db *db, const char *statements)
{
    char *copy = xstrdup(statements);
    char *save = NULL;

    for (char *s = strtok_r(copy, ";\n", &save); s;
         s = strtok_r(NULL, ";\n", &save)) {
        struct words w = { .statement = xstrdup(s) };
        const char *word = strtok_r(s, " ", &w.save);
        bool remove = word && !strcmp(word, "-");

        if (remove) {
            word = next_word(&w);
        }
        ovs_mutex_lock(&db->mutex);
        if (!word) {
            /* An empty line. */
        } else if (!strcmp(word, "link")) {
            apply_link(db, remove, &w);
        } else if (!strcmp(word, "addr")) {
            apply_address(db, remove, &w);
        } else if (!strcmp(word, "nh")) {
            apply_object(db, remove, &w);
        } else if (!strcmp(word, "route")) {
            apply_route(db, remove, &w);
        } else if (!strcmp(word, "rule")) {
            apply_rule(db, remove, &w);
        } else {
            unknown(&w, word);
        }
        ovs_mutex_unlock(&db->mutex);
        free(CONST_CAST(char *, w.statement));
    }
    free(copy);
}

struct route_query
route_scene_query(const char *text)
{
    struct words w = { .statement = text };
    char *copy = xstrdup(text);
    struct route_query q = {
        .dst = route_scene_ip(strtok_r(copy, " ", &w.save), NULL)
    };
    const char *word;

    while ((word = next_word(&w))) {
        if (!strcmp(word, "from")) {
            q.src = route_scene_ip(need_word(&w), NULL);
        } else if (!strcmp(word, "mark")) {
            q.mark = need_number(&w);
        } else if (!strcmp(word, "tos")) {
            q.tos = need_number(&w);
        } else if (!strcmp(word, "proto")) {
            q.ipproto = need_number(&w);
        } else if (!strcmp(word, "dport")) {
            q.dport = htons(need_number(&w));
        } else if (!strcmp(word, "hash")) {
            q.hash = need_number(&w);
        } else {
            unknown(&w, word);
        }
    }
    free(copy);
    return q;
}

char *
route_scene_ask(const struct route_db *db, const char *text)
{
    static const char *const refusals[ROUTE_N_VERDICTS] = {
        [ROUTE_NO_ROUTE] = "no-route",
        [ROUTE_NOT_LOCAL] = "not-local",
        [ROUTE_BAD_SOURCE] = "bad-source",
        [ROUTE_VIA_BLACKHOLE] = "route-blackhole",
        [ROUTE_VIA_UNREACHABLE] = "route-unreachable",
        [ROUTE_VIA_PROHIBIT] = "route-prohibit",
        [ROUTE_RULE_BLACKHOLE] = "rule-blackhole",
        [ROUTE_RULE_UNREACHABLE] = "rule-unreachable",
        [ROUTE_RULE_PROHIBIT] = "rule-prohibit",
        [ROUTE_NO_SOURCE] = "no-source",
    };
    struct route_query q = route_scene_query(text);
    struct ds ds = DS_EMPTY_INITIALIZER;
    struct route_result r;

    if (route_lookup(db, &q, &r, NULL) != ROUTE_OK) {
        return xasprintf("refused %s", refusals[r.verdict]);
    }
    ds_put_format(&ds, "dev %s", r.dev);
    if (ipv6_addr_is_set(&r.gateway)) {
        ds_put_cstr(&ds, " via ");
        ipv6_format_mapped(&r.gateway, &ds);
    }
    ds_put_cstr(&ds, " src ");
    ipv6_format_mapped(&r.src, &ds);
    ds_put_format(&ds, " table %"PRIu32, r.table);
    return ds_steal_cstr(&ds);
}
