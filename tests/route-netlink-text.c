/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#undef NDEBUG

#include "route-netlink-text.h"

#include <errno.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofpbuf.h"
#include "packets.h"
#include "route-netlink.h"
#include "util.h"

static void
put_address(struct ds *s, const char *before, const struct in6_addr *addr)
{
    if (ipv6_addr_is_set(addr)) {
        ds_put_cstr(s, before);
        ipv6_format_mapped(addr, s);
    }
}

static void
put_prefix(struct ds *s, const struct in6_addr *prefix, uint8_t plen,
           bool ipv6)
{
    ipv6_format_mapped(prefix, s);
    ds_put_format(s, "/%d", ipv6 ? plen : plen - 96);
}

static void
put_if(struct ds *s, const char *what, uint32_t value)
{
    if (value) {
        ds_put_format(s, " %s %"PRIu32, what, value);
    }
}

static void
put_route(struct ds *s, const struct route_event *event)
{
    ds_put_format(s, "route %"PRIu32" ", event->route.table);
    put_prefix(s, &event->route.dst, event->route.dst_plen, event->ipv6);
    if (event->route.src_plen) {
        ds_put_cstr(s, " from ");
        put_prefix(s, &event->route.src, event->route.src_plen, true);
    }
    ds_put_format(s, " %s", route_type_to_string(event->route.type));
    put_if(s, "metric", event->route.metric);
    put_if(s, "tos", event->route.tos);
    put_if(s, "scope", event->route.scope);
    put_if(s, "pref", event->route.preference == 2 ? 0
                      : event->route.preference);
    put_address(s, " src ", &event->route.prefsrc);
    put_if(s, "nhid", event->route.nexthop_id);
    ds_put_cstr(s, event->route.replace ? " replace" : "");
    ds_put_cstr(s, event->route.append ? " append" : "");
}

static void
put_ports(struct ds *s, const char *what, int min, int max, int mask)
{
    if (min || max) {
        ds_put_format(s, " %s %d-%d/%d", what, min, max, mask);
    }
}

static void
put_rule(struct ds *s, const struct route_rule *rule)
{
    static const char *const actions[] = {
        "lookup", "goto", "nop", "blackhole", "unreachable", "prohibit",
    };

    ds_put_format(s, "rule %"PRIu32":%s", rule->priority,
                  rule->invert ? " not" : "");
    if (rule->from_plen != (rule->ipv6 ? 0 : 96)) {
        ds_put_cstr(s, " from ");
        put_prefix(s, &rule->from, rule->from_plen, rule->ipv6);
    }
    if (rule->to_plen != (rule->ipv6 ? 0 : 96)) {
        ds_put_cstr(s, " to ");
        put_prefix(s, &rule->to, rule->to_plen, rule->ipv6);
    }
    if (rule->mark_mask) {
        ds_put_format(s, " mark %#"PRIx32"/%#"PRIx32, rule->mark,
                      rule->mark_mask);
    }
    put_if(s, "tos", rule->tos);
    if (rule->dscp_mask) {
        ds_put_format(s, " dscp %#x/%#x", rule->dscp, rule->dscp_mask);
    }
    if (rule->iif[0]) {
        ds_put_format(s, " iif %s", rule->iif);
    }
    if (rule->oif[0]) {
        ds_put_format(s, " oif %s", rule->oif);
    }
    put_if(s, "ipproto", rule->ipproto);
    put_ports(s, "sport", rule->sport_min, rule->sport_max, rule->sport_mask);
    put_ports(s, "dport", rule->dport_min, rule->dport_max, rule->dport_mask);
    if (rule->uid_max != UINT32_MAX) {
        ds_put_format(s, " uid %"PRIu32"-%"PRIu32, rule->uid_min,
                      rule->uid_max);
    }
    ds_put_cstr(s, rule->l3mdev ? " l3mdev" : "");
    put_if(s, "tun-id", rule->tun_id);
    if (rule->flow_label_mask) {
        ds_put_format(s, " flow-label %#"PRIx32"/%#"PRIx32,
                      rule->flow_label, rule->flow_label_mask);
    }
    ds_put_cstr(s, rule->unknown_selector ? " unknown" : "");
    if (rule->suppress_plen >= 0) {
        ds_put_format(s, " suppress-plen %d", rule->suppress_plen);
    }
    if (rule->suppress_group >= 0) {
        ds_put_format(s, " suppress-group %d", rule->suppress_group);
    }
    ds_put_format(s, " %s", actions[rule->action]);
    if (rule->action == ROUTE_RULE_LOOKUP) {
        ds_put_format(s, " %"PRIu32, rule->table);
    } else if (rule->action == ROUTE_RULE_GOTO) {
        ds_put_format(s, " %"PRIu32, rule->target);
    }
}

static void
put_object(struct ds *s, const struct route_event *event)
{
    ds_put_format(s, "object %"PRIu32"%s", event->object.id,
                  event->object.blackhole ? " blackhole" : "");
    for (size_t i = 0; i < event->object.n_members; i++) {
        ds_put_format(s, "%s%"PRIu32",%"PRIu32, i ? " " : " group ",
                      event->object.members[i].id,
                      event->object.members[i].weight);
    }
}

static void
put_link(struct ds *s, const struct route_event *event)
{
    const struct route_link *link = &event->link.link;

    ds_put_format(s, "link %d %s%s%s%s group %"PRIu32, event->link.ifindex,
                  link->name, link->up ? " up" : "",
                  link->carrier ? " carrier" : "",
                  link->loopback ? " loopback" : "", link->group);
}

static void
put_event_address(struct ds *s, const struct route_event *event)
{
    const struct route_address *address = &event->address.address;

    put_address(s, "address ", &address->address);
    ds_put_char(s, ' ');
    put_prefix(s, &address->prefix, address->plen, event->ipv6);
    ds_put_format(s, " dev %d%s%s%s%s", event->address.ifindex,
                  address->secondary ? " secondary" : "",
                  address->deprecated ? " deprecated" : "",
                  address->tentative ? " tentative" : "",
                  address->temporary ? " temporary" : "");
    put_if(s, "scope", address->scope);
}

char *
route_netlink_describe(const void *data, size_t size)
{
    struct ofpbuf buf = ofpbuf_const_initializer(data, size);
    struct ds s = DS_EMPTY_INITIALIZER;
    struct route_event event;
    const char *reason;
    int error;

    error = route_event_parse(&buf, &event, &reason);
    if (error == EAGAIN) {
        return xstrdup("irrelevant");
    } else if (error) {
        ovs_assert(error == EPROTO && reason);
        return xasprintf("malformed: %s", reason);
    }

    ds_put_cstr(&s, event.deleted ? "del " : "");
    switch (event.kind) {
    case ROUTE_EVENT_ROUTE:
        put_route(&s, &event);
        break;
    case ROUTE_EVENT_RULE:
        put_rule(&s, &event.rule);
        break;
    case ROUTE_EVENT_OBJECT:
        put_object(&s, &event);
        break;
    case ROUTE_EVENT_LINK:
        put_link(&s, &event);
        break;
    case ROUTE_EVENT_ADDRESS:
        put_event_address(&s, &event);
        break;
    case ROUTE_EVENT_NETCONF:
        ds_put_format(&s, "netconf %d%s", event.netconf.ifindex,
                      event.netconf.ignore_linkdown ? " ignore-linkdown"
                      : "");
        break;
    }
    for (size_t i = 0; i < event.n_nexthops; i++) {
        put_address(&s, " via ", &event.nexthops[i].gateway);
        ds_put_format(&s, " dev %d", event.nexthops[i].ifindex);
        put_if(&s, "weight", event.nexthops[i].weight - 1
                             ? event.nexthops[i].weight : 0);
        ds_put_cstr(&s, event.nexthops[i].dead ? " dead" : "");
    }
    route_event_uninit(&event);
    return ds_steal_cstr(&s);
}
