/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "route-json.h"

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "packets.h"
#include "route-db.h"
#include "route-lookup.h"
#include "util.h"

static void
put_bool(struct json *json, const char *name, bool value)
{
    json_object_put(json, name, json_boolean_create(value));
}

static void
put_integer(struct json *json, const char *name, long long int value)
{
    json_object_put(json, name, json_integer_create(value));
}

/* Nothing if 'value' is zero. */
static void
put_set_integer(struct json *json, const char *name, long long int value)
{
    if (value) {
        put_integer(json, name, value);
    }
}

static void
put_address(struct json *json, const char *name, const struct in6_addr *addr)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    ipv6_format_mapped(addr, &s);
    json_object_put(json, name, json_string_create_nocopy(ds_steal_cstr(&s)));
}

/* A prefix length in the count of 'addr''s own family. */
static int
own_plen(const struct in6_addr *addr, uint8_t plen)
{
    return IN6_IS_ADDR_V4MAPPED(addr) ? plen - 96 : plen;
}

static struct json *
nexthops_to_json(const struct route_nexthop *nexthops, size_t n)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < n; i++) {
        const struct route_nexthop *nexthop = &nexthops[i];
        struct json *json = json_object_create();

        json_object_put_string(json, "dev",
                               route_device_link(nexthop->device)->name);
        if (ipv6_addr_is_set(&nexthop->gateway)) {
            put_address(json, "gateway", &nexthop->gateway);
        }
        if (n > 1) {
            put_integer(json, "weight", nexthop->weight);
        }
        json_array_add(array, json);
    }
    return array;
}

struct json *
route_to_json(const struct route_db *db, const struct route *route,
              uint32_t table)
{
    const struct route_nexthop *nexthops;
    struct json *json = json_object_create();
    bool blackhole;
    size_t n;

    nexthops = route_db_nexthops(db, route, &n, &blackhole);
    put_address(json, "dst", &route->dst);
    put_integer(json, "prefix", own_plen(&route->dst, route->dst_plen));
    json_object_put(json, "nexthops", nexthops_to_json(nexthops, n));
    if (ipv6_addr_is_set(&route->prefsrc)) {
        put_address(json, "prefsrc", &route->prefsrc);
    }
    put_integer(json, "table", table);
    put_bool(json, "local", route->type == ROUTE_LOCAL);
    put_bool(json, "user", route->owner == ROUTE_USER);
    put_set_integer(json, "mark", route->mark);

    if (route->src_plen) {
        put_address(json, "from", &route->src);
        put_integer(json, "src-prefix", route->src_plen);
    }
    put_set_integer(json, "tos", route->tos);
    put_set_integer(json, "metric", route->metric);
    put_set_integer(json, "nhid", route->nexthop_id);
    if (route->type != ROUTE_UNICAST && route->type != ROUTE_LOCAL) {
        json_object_put_string(json, "type",
                               route_type_to_string(route->type));
    }
    return json;
}

/* A selector that is a range, or a value with a mask. */
static void
put_port(struct json *json, const char *name, uint16_t min, uint16_t max,
         uint16_t mask)
{
    if (mask && mask != UINT16_MAX) {
        json_object_put_format(json, name, "%#x/%#x", min, mask);
    } else if (mask || (min && min == max)) {
        json_object_put_format(json, name, "%d", min);
    } else if (max) {
        json_object_put_format(json, name, "%d-%d", min, max);
    }
}

static const char *
action_to_string(enum route_rule_action action)
{
    switch (action) {
    case ROUTE_RULE_LOOKUP:
        return "lookup";
    case ROUTE_RULE_GOTO:
        return "goto";
    case ROUTE_RULE_NOP:
        return "nop";
    case ROUTE_RULE_BLACKHOLE_ACTION:
        return "blackhole";
    case ROUTE_RULE_UNREACHABLE_ACTION:
        return "unreachable";
    case ROUTE_RULE_PROHIBIT_ACTION:
        return "prohibit";
    }
    OVS_NOT_REACHED();
}

static void
put_selectors(struct json *json, const struct route_rule *rule)
{
    int any_plen = rule->ipv6 ? 0 : 96;

    put_bool(json, "invert", rule->invert);
    if (rule->from_plen == any_plen) {
        json_object_put_string(json, "from", "all");
    } else {
        put_address(json, "from", &rule->from);
    }
    put_integer(json, "src-prefix", rule->from_plen - any_plen);
    if (rule->to_plen != any_plen) {
        put_address(json, "to", &rule->to);
        put_integer(json, "dst-prefix", rule->to_plen - any_plen);
    }
    if (rule->mark_mask) {
        put_integer(json, "fwmark", rule->mark);
        put_integer(json, "fwmask", rule->mark_mask);
    }
    put_set_integer(json, "tos", rule->tos);
    if (rule->dscp_mask) {
        put_integer(json, "dscp", rule->dscp >> 2);
        put_integer(json, "dscp-mask", rule->dscp_mask >> 2);
    }
    put_set_integer(json, "ipproto", rule->ipproto);
    put_port(json, "sport", rule->sport_min, rule->sport_max,
             rule->sport_mask);
    put_port(json, "dport", rule->dport_min, rule->dport_max,
             rule->dport_mask);
    if (rule->uid_min || rule->uid_max != UINT32_MAX) {
        json_object_put_format(json, "uidrange", "%"PRIu32"-%"PRIu32,
                               rule->uid_min, rule->uid_max);
    }
    if (rule->iif[0]) {
        json_object_put_string(json, "iif", rule->iif);
    }
    if (rule->oif[0]) {
        json_object_put_string(json, "oif", rule->oif);
    }
    if (rule->l3mdev) {
        put_bool(json, "l3mdev", true);
    }
    put_set_integer(json, "tun-id", rule->tun_id);
    if (rule->flow_label_mask) {
        json_object_put_format(json, "flowlabel", "%#x/%#x",
                               rule->flow_label, rule->flow_label_mask);
    }
}

struct json *
route_rule_to_json(const struct route_rule *rule)
{
    const char *caveat = route_rule_caveat(rule);
    struct json *json = json_object_create();

    put_integer(json, "priority", rule->priority);
    put_bool(json, "ipv4", !rule->ipv6);
    put_bool(json, "user", rule->owner == ROUTE_USER);
    put_selectors(json, rule);
    if (rule->action == ROUTE_RULE_LOOKUP) {
        put_integer(json, "lookup", rule->table);
    } else {
        json_object_put_string(json, "action", action_to_string(rule->action));
        put_set_integer(json, "goto", rule->target);
    }
    if (rule->suppress_plen >= 0) {
        put_integer(json, "suppress-prefixlength", rule->suppress_plen);
    }
    if (rule->suppress_group >= 0) {
        put_integer(json, "suppress-ifgroup", rule->suppress_group);
    }
    if (caveat) {
        json_object_put_string(json, "not-evaluated", caveat);
    }
    return json;
}

struct json *
route_result_to_json(const struct route_result *result)
{
    struct json *json = json_object_create();

    put_address(json, "src", &result->src);
    if (ipv6_addr_is_set(&result->gateway)) {
        put_address(json, "gateway", &result->gateway);
    }
    json_object_put_string(json, "dev", result->dev);
    put_integer(json, "table", result->table);
    if (result->rule) {
        put_integer(json, "rule", result->rule->priority);
    }
    return json;
}
