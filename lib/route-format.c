/* SPDX-License-Identifier: Apache-2.0 */

/* The words in which users read routes, rules and the ends of lookups. */

#include <config.h>

#include "route-lookup.h"

#include "encap-text.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "route-db.h"
#include "util.h"

static bool
is_ipv6(const struct in6_addr *address)
{
    return !IN6_IS_ADDR_V4MAPPED(address);
}

static void
format_table(uint32_t table, struct ds *ds)
{
    switch (table) {
    case ROUTE_TABLE_LOCAL:
        ds_put_cstr(ds, "local");
        break;
    case ROUTE_TABLE_MAIN:
        ds_put_cstr(ds, "main");
        break;
    case ROUTE_TABLE_DEFAULT:
        ds_put_cstr(ds, "default");
        break;
    default:
        ds_put_format(ds, "%"PRIu32, table);
        break;
    }
}

void
route_prefix_format(const struct in6_addr *prefix, uint8_t plen, struct ds *ds)
{
    ipv6_format_mapped(prefix, ds);
    ds_put_format(ds, "/%d", is_ipv6(prefix) ? plen : plen - 96);
}

/* As a selector: the length only if it is not that of a host. */
static void
format_selector_prefix(const struct in6_addr *prefix, uint8_t plen,
                       struct ds *ds)
{
    if (plen == 128) {
        ipv6_format_mapped(prefix, ds);
    } else {
        route_prefix_format(prefix, plen, ds);
    }
}

static void
format_owner(enum route_owner owner, struct ds *ds)
{
    ds_put_cstr(ds, owner == ROUTE_USER ? "User: " : "Cached: ");
}

static void
format_nexthops(const struct route_nexthop *nexthops, size_t n, struct ds *ds)
{
    for (size_t i = 0; i < n; i++) {
        ds_put_cstr(ds, " dev ");
        encap_text_put(route_device_link(nexthops[i].device)->name, ds);
        if (ipv6_addr_is_set(&nexthops[i].gateway)) {
            ds_put_cstr(ds, " GW ");
            ipv6_format_mapped(&nexthops[i].gateway, ds);
        }
        if (n > 1) {
            ds_put_format(ds, " weight %"PRIu32, nexthops[i].weight);
        }
    }
}

/* Appends what a route says, without owner and table.  'nexthops' are those
 * of its object, if it names one. */
static void
format_route(const struct route *route, const struct route_nexthop *nexthops,
             size_t n, bool blackhole, struct ds *ds)
{
    route_prefix_format(&route->dst, route->dst_plen, ds);
    if (route->src_plen) {
        ds_put_cstr(ds, " from ");
        format_selector_prefix(&route->src, route->src_plen, ds);
    }
    if (route->tos) {
        ds_put_format(ds, " tos 0x%02"PRIx8, route->tos);
    }
    if (route->mark) {
        ds_put_format(ds, " MARK %"PRIu32, route->mark);
    }
    if (route->nexthop_id) {
        ds_put_format(ds, " nhid %"PRIu32, route->nexthop_id);
        if (blackhole) {
            ds_put_cstr(ds, " blackhole");
        }
    }
    format_nexthops(nexthops, n, ds);
    if (ipv6_addr_is_set(&route->prefsrc)) {
        ds_put_cstr(ds, " SRC ");
        ipv6_format_mapped(&route->prefsrc, ds);
    }
    if (route->type != ROUTE_UNICAST) {
        ds_put_format(ds, " %s", route_type_to_string(route->type));
    }
}

void
route_format(const struct route_db *db, const struct route *route,
             uint32_t table, struct ds *ds)
{
    const struct route_nexthop *nexthops;
    bool blackhole;
    size_t n;

    nexthops = route_db_nexthops(db, route, &n, &blackhole);
    format_owner(route->owner, ds);
    format_route(route, nexthops, n, blackhole, ds);
    if (table) {
        ds_put_cstr(ds, " table ");
        format_table(table, ds);
    }
}

/* Rules. */

static void
format_mark(const struct route_rule *rule, struct ds *ds)
{
    if (rule->mark_mask) {
        ds_put_format(ds, " fwmark 0x%"PRIx32, rule->mark);
        if (rule->mark_mask != UINT32_MAX) {
            ds_put_format(ds, "/0x%"PRIx32, rule->mark_mask);
        }
    }
}

static void
format_ports(const char *name, uint16_t min, uint16_t max, uint16_t mask,
             struct ds *ds)
{
    if (!min && !max && !mask) {
        return;
    }
    ds_put_format(ds, " %s ", name);
    if (mask && mask != UINT16_MAX) {
        ds_put_format(ds, "0x%"PRIx16"/0x%"PRIx16, min, mask);
    } else if (mask || min == max) {
        ds_put_format(ds, "%"PRIu16, min);
    } else {
        ds_put_format(ds, "%"PRIu16"-%"PRIu16, min, max);
    }
}

static void
format_ipproto(uint8_t ipproto, struct ds *ds)
{
    switch (ipproto) {
    case 0:
        break;
    case IPPROTO_TCP:
        ds_put_cstr(ds, " ipproto tcp");
        break;
    case IPPROTO_UDP:
        ds_put_cstr(ds, " ipproto udp");
        break;
    case IPPROTO_ICMP:
        ds_put_cstr(ds, " ipproto icmp");
        break;
    case IPPROTO_ICMPV6:
        ds_put_cstr(ds, " ipproto ipv6-icmp");
        break;
    case IPPROTO_GRE:
        ds_put_cstr(ds, " ipproto gre");
        break;
    default:
        ds_put_format(ds, " ipproto %"PRIu8, ipproto);
        break;
    }
}

static void
format_selectors(const struct route_rule *rule, struct ds *ds)
{
    int any_plen = rule->ipv6 ? 0 : 96;

    ds_put_cstr(ds, rule->invert ? "not from " : "from ");
    if (rule->from_plen == any_plen) {
        ds_put_cstr(ds, "all");
    } else {
        format_selector_prefix(&rule->from, rule->from_plen, ds);
    }
    if (rule->to_plen != any_plen) {
        ds_put_cstr(ds, " to ");
        format_selector_prefix(&rule->to, rule->to_plen, ds);
    }
    if (rule->tos) {
        ds_put_format(ds, " tos 0x%02"PRIx8, rule->tos);
    }
    if (rule->dscp_mask) {
        ds_put_format(ds, " dscp 0x%02x", rule->dscp >> 2);
        if (rule->dscp_mask >> 2 != 0x3f) {
            ds_put_format(ds, "/0x%02x", rule->dscp_mask >> 2);
        }
    }
    format_mark(rule, ds);
    if (rule->iif[0]) {
        ds_put_cstr(ds, " iif ");
        encap_text_put(rule->iif, ds);
    }
    if (rule->oif[0]) {
        ds_put_cstr(ds, " oif ");
        encap_text_put(rule->oif, ds);
    }
    if (rule->l3mdev) {
        ds_put_cstr(ds, " l3mdev");
    }
    if (rule->uid_min || rule->uid_max != UINT32_MAX) {
        ds_put_format(ds, " uidrange %"PRIu32"-%"PRIu32,
                      rule->uid_min, rule->uid_max);
    }
    format_ipproto(rule->ipproto, ds);
    format_ports("sport", rule->sport_min, rule->sport_max, rule->sport_mask,
                 ds);
    format_ports("dport", rule->dport_min, rule->dport_max, rule->dport_mask,
                 ds);
    if (rule->tun_id) {
        ds_put_format(ds, " tun_id %"PRIu64, rule->tun_id);
    }
    if (rule->flow_label_mask) {
        ds_put_format(ds, " flowlabel 0x%"PRIx32"/0x%"PRIx32,
                      rule->flow_label, rule->flow_label_mask);
    }
}

/* Appends the rule without owner. */
static void
format_rule(const struct route_rule *rule, struct ds *ds)
{
    ds_put_format(ds, "%"PRIu32": ", rule->priority);
    format_selectors(rule, ds);

    switch ((enum route_rule_action) rule->action) {
    case ROUTE_RULE_LOOKUP:
        if (rule->table) {
            ds_put_cstr(ds, " lookup ");
            format_table(rule->table, ds);
        }
        break;
    case ROUTE_RULE_GOTO:
        ds_put_format(ds, " goto %"PRIu32, rule->target);
        break;
    case ROUTE_RULE_NOP:
        ds_put_cstr(ds, " nop");
        break;
    case ROUTE_RULE_BLACKHOLE_ACTION:
        ds_put_cstr(ds, " blackhole");
        break;
    case ROUTE_RULE_UNREACHABLE_ACTION:
        ds_put_cstr(ds, " unreachable");
        break;
    case ROUTE_RULE_PROHIBIT_ACTION:
        ds_put_cstr(ds, " prohibit");
        break;
    }
    if (rule->suppress_plen >= 0) {
        ds_put_format(ds, " suppress_prefixlength %d", rule->suppress_plen);
    }
    if (rule->suppress_group >= 0) {
        ds_put_format(ds, " suppress_ifgroup %d", rule->suppress_group);
    }
}

void
route_rule_format(const struct route_rule *rule, struct ds *ds)
{
    const char *caveat = route_rule_caveat(rule);

    format_owner(rule->owner, ds);
    format_rule(rule, ds);
    if (caveat) {
        ds_put_format(ds, " [not evaluated: %s]", caveat);
    }
}

/* Ends of lookups. */

static void
format_says(const struct route_result *result, const char *what, struct ds *ds)
{
    if (result->route) {
        ds_put_cstr(ds, "route ");
        route_prefix_format(&result->route->dst, result->route->dst_plen, ds);
        ds_put_cstr(ds, " in table ");
        format_table(result->table, ds);
    } else if (result->rule) {
        ds_put_format(ds, "rule %"PRIu32, result->rule->priority);
    }
    ds_put_format(ds, " says %s", what);
}

void
route_verdict_format(const struct route_query *query,
                     const struct route_result *result, struct ds *ds)
{
    switch (result->verdict) {
    case ROUTE_OK:
        ds_put_cstr(ds, "found");
        break;
    case ROUTE_NO_ROUTE:
        ds_put_cstr(ds, "no route to ");
        ipv6_format_mapped(&query->dst, ds);
        break;
    case ROUTE_NOT_LOCAL:
        ds_put_cstr(ds, "source ");
        ipv6_format_mapped(&query->src, ds);
        ds_put_cstr(ds, " is not a local address");
        break;
    case ROUTE_BAD_SOURCE: {
        /* One that was found, or the one given. */
        const struct in6_addr *src = (ipv6_addr_is_set(&result->src)
                                      ? &result->src : &query->src);

        ds_put_cstr(ds, "source ");
        ipv6_format_mapped(src, ds);
        if (is_ipv6(src) != is_ipv6(&query->dst)) {
            ds_put_cstr(ds, " is not of the destination's family");
        } else if (result->route) {
            ds_put_cstr(ds, " cannot leave this host");
        } else {
            ds_put_cstr(ds, " cannot be the source of a packet");
        }
        break;
    }
    case ROUTE_VIA_BLACKHOLE:
    case ROUTE_RULE_BLACKHOLE:
        format_says(result, "blackhole", ds);
        break;
    case ROUTE_VIA_UNREACHABLE:
    case ROUTE_RULE_UNREACHABLE:
        format_says(result, "unreachable", ds);
        break;
    case ROUTE_VIA_PROHIBIT:
    case ROUTE_RULE_PROHIBIT:
        format_says(result, "prohibit", ds);
        break;
    case ROUTE_NO_SOURCE:
        ds_put_format(ds, "no local %s address to reach ",
                      is_ipv6(&query->dst) ? "IPv6" : "IPv4");
        ipv6_format_mapped(&query->dst, ds);
        ds_put_cstr(ds, " from");
        break;
    case ROUTE_N_VERDICTS:
        OVS_NOT_REACHED();
    }
}

void
route_trail_format(const struct route_trail *trail, struct ds *ds)
{
    size_t n = MIN(trail->n_steps, ROUTE_TRAIL_MAX);

    for (size_t i = 0; i < n; i++) {
        const struct route_step *step = &trail->steps[i];
        const struct route *route = step->route;

        ds_put_cstr(ds, "  rule ");
        format_rule(step->rule, ds);
        if (route) {
            ds_put_cstr(ds, ": ");
            format_route(route, route->nexthops, route->n_nexthops, false,
                         ds);
        }
        switch (step->end) {
        case ROUTE_STEP_FOUND:
        case ROUTE_STEP_THROW:
        case ROUTE_STEP_NOP:
        case ROUTE_STEP_REFUSED:
            break;
        case ROUTE_STEP_NO_MATCH:
            ds_put_cstr(ds, ": no route");
            break;
        case ROUTE_STEP_SUPPRESSED:
            ds_put_cstr(ds, ": suppressed");
            break;
        }
        ds_put_char(ds, '\n');
    }
    if (trail->n_steps > n) {
        ds_put_format(ds, "  (%"PRIuSIZE" more)\n", trail->n_steps - n);
    }
}
