/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "route-output.h"

#include <stdlib.h>

#include "encap-json.h"
#include "openvswitch/json.h"
#include "packets.h"
#include "route-json.h"
#include "route-lookup.h"
#include "unixctl.h"
#include "util.h"

void
route_output_init(struct route_output *output, bool json)
{
    output->json = json;
    ds_init(&output->text);
    output->array = json_array_create_empty();
}

void
route_output_uninit(struct route_output *output)
{
    ds_destroy(&output->text);
    json_destroy(output->array);
}

void
route_output_reply(struct route_output *output, struct unixctl_conn *conn)
{
    if (output->json) {
        char *s = encap_json_to_string(output->array);

        unixctl_command_reply(conn, s);
        free(s);
    } else {
        unixctl_command_reply(conn, ds_cstr(&output->text));
    }
    route_output_uninit(output);
}

bool
route_is_shown(const struct route *route)
{
    return (route->type != ROUTE_BROADCAST
            && route->type != ROUTE_ANYCAST
            && route->type != ROUTE_MULTICAST);
}

/* Returns a copy of 'route' with the source that a packet would get, where the
 * route leaves it to the device. */
static struct route *
with_source(const struct route_db *db, const struct route *route)
{
    struct route *copy = route_clone(route);
    const struct route_nexthop *nexthops;
    bool blackhole;
    size_t n;

    nexthops = route_db_nexthops(db, route, &n, &blackhole);
    if (n == 1 && !ipv6_addr_is_set(&route->prefsrc)) {
        const struct route_device *device = nexthops[0].device;

        if (route->type == ROUTE_LOCAL) {
            copy->prefsrc = route->dst_plen == 128 ? route->dst : in6addr_any;
        } else if (IN6_IS_ADDR_V4MAPPED(&route->dst)) {
            route_device_select_ipv4(db, device, &nexthops[0].gateway,
                                     route->scope, &copy->prefsrc);
        } else {
            route_device_select_ipv6(db, device, &route->dst, &copy->prefsrc);
        }
    }
    return copy;
}

/* Appends table 'id', with 'shown_id', if not 0, in each line. */
static bool
put_table(struct route_output *output, const struct route_db *db, uint32_t id,
          uint32_t shown_id)
    OVS_REQUIRES(db->mutex)
{
    bool found = false;

    for (int ipv6 = 0; ipv6 < 2; ipv6++) {
        const struct route_fib *fib = route_db_find_fib(db, id, ipv6);
        const struct route **routes;
        size_t n;

        if (!fib) {
            continue;
        }
        found = true;
        routes = route_fib_sort(fib, &n);
        for (size_t i = 0; i < n; i++) {
            struct route *route;

            if (!route_is_shown(routes[i])) {
                continue;
            }
            route = with_source(db, routes[i]);
            if (output->json) {
                json_array_add(output->array, route_to_json(db, route, id));
            } else {
                route_format(db, route, shown_id, &output->text);
                ds_put_char(&output->text, '\n');
            }
            route_destroy(route);
        }
        free(routes);
    }
    return found;
}

bool
route_output_put_table(struct route_output *output, const struct route_db *db,
                       uint32_t id)
{
    return put_table(output, db, id, 0);
}

static const uint32_t standard_tables[] = {
    ROUTE_TABLE_LOCAL, ROUTE_TABLE_MAIN, ROUTE_TABLE_DEFAULT,
};

void
route_output_put_standard_tables(struct route_output *output,
                                 const struct route_db *db)
{
    for (size_t i = 0; i < ARRAY_SIZE(standard_tables); i++) {
        put_table(output, db, standard_tables[i], 0);
    }
}

static bool
is_standard_table(uint32_t id)
{
    return id >= ROUTE_TABLE_DEFAULT && id <= ROUTE_TABLE_LOCAL;
}

static int
compare_table_ids(const void *a_, const void *b_)
{
    const uint32_t *a = a_;
    const uint32_t *b = b_;

    return *a < *b ? -1 : *a > *b;
}

void
route_output_put_other_tables(struct route_output *output,
                              const struct route_db *db)
{
    uint32_t *ids = xmalloc((hmap_count(&db->fibs) + 1) * sizeof *ids);
    const struct route_fib *fib;
    size_t n = 0;

    HMAP_FOR_EACH (fib, node, &db->fibs) {
        if (!is_standard_table(fib->id)) {
            ids[n++] = fib->id;
        }
    }
    qsort(ids, n, sizeof *ids, compare_table_ids);
    for (size_t i = 0; i < n; i++) {
        /* Each family has a table of its own under one number. */
        if (!i || ids[i] != ids[i - 1]) {
            put_table(output, db, ids[i], ids[i]);
        }
    }
    free(ids);
}

void
route_output_put_rules(struct route_output *output, const struct route_db *db,
                       bool ipv6)
{
    const struct route_rules *rules
        = ovsrcu_get(struct route_rules *, &db->rules[ipv6]);

    for (size_t i = 0; i < route_rules_count(rules); i++) {
        const struct route_rule *rule = route_rules_at(rules, i);

        if (output->json) {
            json_array_add(output->array, route_rule_to_json(rule));
        } else {
            route_rule_format(rule, &output->text);
            ds_put_char(&output->text, '\n');
        }
    }
}
