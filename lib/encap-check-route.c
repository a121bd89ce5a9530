/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-check-private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "encap-bridge.h"
#include "encap-text.h"
#include "neighbor-peek.h"
#include "netdev.h"
#include "netdev-provider.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/flow.h"
#include "ovs-router.h"
#include "packets.h"
#include "route-db.h"
#include "route-lookup.h"
#include "sset.h"
#include "tunnel-egress.h"
#include "util.h"

/* Tables that are proposed begin behind this one. */
enum { TABLE_BASE = 100 };

/* Some of the remotes of an endpoint: how many, and which one came first. */
struct remotes {
    size_t n;
    struct in6_addr first;
};

/* What becomes of the packets of one endpoint. */
struct ways {
    size_t n;                   /* Remotes that are known. */
    struct remotes refused;
    char *refusal;              /* Of the first. */
    struct remotes astray;      /* That leave by another device... */
    char astray_dev[IFNAMSIZ];  /* ...the first by this one. */
    struct remotes no_port;     /* That leave by what is no port. */
    char no_port_dev[IFNAMSIZ];
    struct sset strangers;      /* "IP of BRIDGE": next hops whose MAC is not
                                 * known. */
};

static void
add_remote(struct remotes *remotes, const struct in6_addr *ip)
{
    if (!remotes->n++) {
        remotes->first = *ip;
    }
}

/* Appends "10.0.0.1", or "10.0.0.1 and 2 more of 5 remotes". */
static void
format_remotes(const struct remotes *remotes, const struct ways *ways,
               struct ds *s)
{
    ipv6_format_mapped(&remotes->first, s);
    if (remotes->n > 1) {
        ds_put_format(s, " and %"PRIuSIZE" more of %"PRIuSIZE" remotes",
                      remotes->n - 1, ways->n);
    }
}

/* Rules and tables of a source. */

static bool
is_standard_table(uint32_t table)
{
    return table >= ROUTE_TABLE_DEFAULT && table <= ROUTE_TABLE_LOCAL;
}

static const struct route_rules *
get_rules(bool ipv6)
{
    return ovsrcu_get(struct route_rules *, &ovs_router_db()->rules[ipv6]);
}

/* The first rule that sends packets from 'ip', and not those from anywhere,
 * to a table of its own, or NULL; '*fib' is that table. */
static const struct route_rule *
find_rule(const struct in6_addr *ip, const struct route_fib **fib)
{
    const struct route_rules *rules = get_rules(encap_is_ipv6(ip));
    int any_plen = encap_is_ipv6(ip) ? 0 : 96;

    for (size_t i = 0; i < route_rules_count(rules); i++) {
        const struct route_rule *rule = route_rules_at(rules, i);

        if (rule->action == ROUTE_RULE_LOOKUP
            && !is_standard_table(rule->table)
            && !rule->invert
            && rule->from_plen > any_plen
            && route_prefix_contains(&rule->from, rule->from_plen, ip)) {
            *fib = route_rules_fib(rules, i);
            return rule;
        }
    }
    return NULL;
}

/* The rule of find_rule(), unless its table serves another device, too: what
 * is made the default route there takes away that of the other. */
static const struct route_rule *
find_own_rule(const struct encap_registry *registry,
              const struct encap_endpoint *endpoint)
{
    const struct route_fib *fib;
    const struct route_rule *rule = find_rule(&endpoint->ip, &fib);

    for (size_t i = 0; i < registry->n_endpoints && rule; i++) {
        const struct encap_endpoint *other = registry->endpoints[i];

        if (other->dev[0]
            && strcmp(other->dev, endpoint->dev)
            && encap_is_ipv6(&other->ip) == encap_is_ipv6(&endpoint->ip)) {
            const struct route_rule *rule2 = find_rule(&other->ip, &fib);

            if (rule2 && rule2->table == rule->table) {
                return NULL;
            }
        }
    }
    return rule;
}

static bool
is_used_table(uint32_t table)
{
    for (int ipv6 = 0; ipv6 < 2; ipv6++) {
        const struct route_rules *rules = get_rules(ipv6);

        for (size_t i = 0; i < route_rules_count(rules); i++) {
            if (route_rules_at(rules, i)->table == table) {
                return true;
            }
        }
    }
    return is_standard_table(table);
}

/* A table that no rule names for 'endpoint', which has no rule of its own.
 * Each endpoint before it that has none has another one, whether it needs it
 * or not, so that all commands of one answer agree. */
static uint32_t
unused_table(const struct encap_registry *registry,
             const struct encap_endpoint *endpoint)
{
    uint32_t table = TABLE_BASE;

    for (size_t i = 0; i < registry->n_endpoints; i++) {
        const struct encap_endpoint *other = registry->endpoints[i];

        if (other != endpoint && (other->state != ENCAP_UP
                                  || find_own_rule(registry, other))) {
            continue;
        }
        do {
            table++;
        } while (is_used_table(table));
        if (other == endpoint) {
            break;
        }
    }
    return table;
}

/* True if a route by 'device' and 'gateway' needs no "onlink". */
static bool
is_next_to(const struct route_device *device, const struct in6_addr *gateway)
{
    const struct route_addresses *addresses = route_device_addresses(device);

    for (size_t i = 0; i < addresses->n; i++) {
        if (route_prefix_contains(&addresses->addresses[i].prefix,
                                  addresses->addresses[i].plen, gateway)) {
            return true;
        }
    }
    return IN6_IS_ADDR_LINKLOCAL(gateway);
}

/* Finds the gateway of the shortest prefix in any table that is reached by
 * 'dev' and is of the family, and whether its route needs "onlink".  Returns
 * false if there is none. */
static bool
find_gateway(const char *dev, bool ipv6, struct in6_addr *gateway,
             bool *onlink)
{
    struct route_db *db = ovs_router_db();
    const struct route_fib *fib;
    int best = INT_MAX;

    ovs_mutex_lock(&db->mutex);
    HMAP_FOR_EACH (fib, node, &db->fibs) {
        const struct route *route;

        if (fib->ipv6 != ipv6) {
            continue;
        }
        ROUTE_FIB_FOR_EACH (route, fib) {
            const struct route_nexthop *nexthops;
            bool blackhole;
            size_t n;

            nexthops = route_db_nexthops(db, route, &n, &blackhole);
            for (size_t i = 0; i < n; i++) {
                const struct route_nexthop *nexthop = &nexthops[i];

                if (route->dst_plen < best
                    && ipv6_addr_is_set(&nexthop->gateway)
                    && encap_is_ipv6(&nexthop->gateway) == ipv6
                    && !strcmp(route_device_link(nexthop->device)->name,
                               dev)) {
                    best = route->dst_plen;
                    *gateway = nexthop->gateway;
                    *onlink = !is_next_to(nexthop->device, gateway);
                }
            }
        }
    }
    ovs_mutex_unlock(&db->mutex);
    return best != INT_MAX;
}

/* The command that gives 'endpoint', which is on no bridge, a way to 'remote'
 * by whatever bridge the user means: the default route only in a table that is
 * for its packets alone. */
static char *
mend_any_nic(const struct encap_registry *registry,
             const struct encap_endpoint *endpoint,
             const struct in6_addr *remote)
{
    const char *ip = encap_is_ipv6(&endpoint->ip) ? "ip -6" : "ip";
    const struct route_rule *rule = find_own_rule(registry, endpoint);
    char dst[INET6_ADDRSTRLEN];

    return (rule
            ? xasprintf("%s route replace default via GATEWAY dev BRIDGE "
                        "table %"PRIu32, ip, rule->table)
            : xasprintf("%s route replace %s via GATEWAY dev BRIDGE", ip,
                        ipv6_string_mapped(dst, remote)));
}

/* The commands that give 'endpoint' a rule, if it has none of its own, and a
 * way out by its own device.  A rule without a priority goes before all
 * others. */
static char *
mend_routes(const struct encap_registry *registry,
            const struct encap_endpoint *endpoint)
{
    const char *ip = encap_is_ipv6(&endpoint->ip) ? "ip -6" : "ip";
    const struct route_rule *rule = find_own_rule(registry, endpoint);
    uint32_t table = rule ? rule->table : unused_table(registry, endpoint);
    struct ds s = DS_EMPTY_INITIALIZER;
    struct in6_addr gateway;
    bool onlink = false;

    if (!rule) {
        ds_put_format(&s, "%s rule add from ", ip);
        ipv6_format_mapped(&endpoint->ip, &s);
        ds_put_format(&s, " lookup %"PRIu32" && ", table);
    }
    ds_put_format(&s, "%s route replace default via ", ip);
    if (find_gateway(endpoint->dev, encap_is_ipv6(&endpoint->ip), &gateway,
                     &onlink)) {
        ipv6_format_mapped(&gateway, &s);
    } else {
        ds_put_cstr(&s, "GATEWAY");
    }
    ds_put_cstr(&s, " dev ");
    encap_text_put_word(endpoint->dev, &s);
    ds_put_format(&s, "%s table %"PRIu32, onlink ? " onlink" : "", table);
    return ds_steal_cstr(&s);
}

/* Packets. */

/* What was asked in vain is told elsewhere. */
static void
note_neighbor(const struct encap_check *check, struct ways *ways,
              const char *bridge, const struct in6_addr *next_hop)
{
    char ip[INET6_ADDRSTRLEN];
    struct eth_addr mac;

    if (!neighbor_peek(bridge, next_hop, &mac)
        && !encap_check_is_silent(check, bridge, next_hop)) {
        sset_add_and_free(&ways->strangers,
                          xasprintf("%s of %s",
                                    ipv6_string_mapped(ip, next_hop),
                                    bridge));
    }
}

/* Sends, in thought, a packet of a tunnel with 'config' from 'endpoint'. */
static void
try_way(const struct encap_check *check, const struct encap_endpoint *endpoint,
        const struct netdev_tunnel_config *config_, struct ways *ways)
{
    struct netdev_tunnel_config config = *config_;
    struct tunnel_decision decision;
    struct tunnel_sender sender;
    const char *bridge;
    struct flow flow;

    config.ip_src_flow = false;
    config.ipv6_src = endpoint->ip;
    tunnel_egress_flow(&config, &flow, &sender);
    ways->n++;
    if (tunnel_egress_decide(&flow, &sender, &decision, NULL)) {
        add_remote(&ways->refused, &config.ipv6_dst);
        if (!ways->refusal) {
            struct ds s = DS_EMPTY_INITIALIZER;

            tunnel_decision_format_refusal(&decision, &s);
            ways->refusal = ds_steal_cstr(&s);
        }
        return;
    }

    bridge = encap_bridge_of_port(check->config, decision.result.dev);
    if (!bridge) {
        if (!ways->no_port.n) {
            ovs_strlcpy_arrays(ways->no_port_dev, decision.result.dev);
        }
        add_remote(&ways->no_port, &config.ipv6_dst);
        return;
    }
    if (!endpoint->any_nic && strcmp(decision.result.dev, endpoint->dev)) {
        if (!ways->astray.n) {
            ovs_strlcpy_arrays(ways->astray_dev, decision.result.dev);
        }
        add_remote(&ways->astray, &config.ipv6_dst);
        return;
    }
    note_neighbor(check, ways, bridge,
                  (ipv6_addr_is_set(&decision.result.gateway)
                   ? &decision.result.gateway : &decision.route.dst));
}

/* True if packets of a tunnel with 'config' may be from 'endpoint'. */
static bool
may_send(const struct encap_endpoint *endpoint,
         const struct netdev_tunnel_config *config)
{
    if (config->ip_dst_flow || !ipv6_addr_is_set(&config->ipv6_dst)
        || (encap_is_ipv6(&config->ipv6_dst)
            != encap_is_ipv6(&endpoint->ip))) {
        return false;
    }
    return (config->ip_src_flow ? true
            : ipv6_addr_is_set(&config->ipv6_src)
            ? ipv6_addr_equals(&config->ipv6_src, &endpoint->ip)
            : encap_endpoint_is_configured(endpoint));
}

/* True if another endpoint of the family of 'endpoint' is on another device,
 * so that routing by destination alone cannot serve both. */
static bool
needs_rule(const struct encap_registry *registry,
           const struct encap_endpoint *endpoint)
{
    for (size_t i = 0; i < registry->n_endpoints; i++) {
        const struct encap_endpoint *other = registry->endpoints[i];

        if (encap_is_ipv6(&other->ip) == encap_is_ipv6(&endpoint->ip)
            && other->dev[0] && strcmp(other->dev, endpoint->dev)) {
            return true;
        }
    }
    return false;
}

/* An endpoint whose remotes are only known to flows: rule and table can be
 * looked at all the same. */
static void
check_rule(const struct encap_check *check,
           const struct encap_endpoint *endpoint, const char *ip)
{
    const struct route_fib *fib;
    const struct route_rule *rule = find_rule(&endpoint->ip, &fib);

    if (endpoint->any_nic || !needs_rule(check->registry, endpoint)) {
        return;
    }
    if (!rule) {
        encap_findings_add(check->findings, ENCAP_WARNING, ip,
                           xstrdup("no policy rule is for packets from here: "
                                   "their destination alone decides by which "
                                   "NIC they leave"),
                           mend_routes(check->registry, endpoint));
    } else if (!route_fib_count(fib)) {
        encap_findings_add(check->findings, ENCAP_WARNING, ip,
                           xasprintf("table %"PRIu32", to which rule %"PRIu32
                                     " leads, has no route", rule->table,
                                     rule->priority),
                           mend_routes(check->registry, endpoint));
    }
}

/* Reports what became of the packets of 'endpoint'. */
static void
report_ways(const struct encap_check *check,
            const struct encap_endpoint *endpoint, const char *ip,
            const struct ways *ways)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    if (ways->refused.n) {
        ds_put_cstr(&s, "no way to ");
        format_remotes(&ways->refused, ways, &s);
        ds_put_format(&s, ": %s", ways->refusal);
        encap_findings_add(check->findings, ENCAP_ERROR, ip,
                           ds_steal_cstr(&s),
                           (endpoint->any_nic
                            ? mend_any_nic(check->registry, endpoint,
                                           &ways->refused.first)
                            : mend_routes(check->registry, endpoint)));
    }
    if (ways->astray.n) {
        ds_put_cstr(&s, "packets to ");
        format_remotes(&ways->astray, ways, &s);
        ds_put_format(&s, " leave by %s, not by %s", ways->astray_dev,
                      endpoint->dev);
        encap_findings_add(check->findings, ENCAP_ERROR, ip,
                           ds_steal_cstr(&s),
                           mend_routes(check->registry, endpoint));
    }
    if (ways->no_port.n) {
        ds_put_cstr(&s, "packets to ");
        format_remotes(&ways->no_port, ways, &s);
        ds_put_format(&s, " would leave by %s, which is not a port of any "
                      "bridge", ways->no_port_dev);
        encap_findings_add(check->findings, ENCAP_ERROR, ip,
                           ds_steal_cstr(&s), NULL);
    }
    if (!sset_is_empty(&ways->strangers)) {
        const char **array = sset_sort(&ways->strangers);
        size_t n = sset_count(&ways->strangers);

        ds_put_format(&s, "neighbor %s", array[0]);
        if (n > 1) {
            ds_put_format(&s, " and %"PRIuSIZE" more", n - 1);
        }
        ds_put_format(&s, " %s not known: no packet was sent there lately, "
                      "or there is no answer yet", n > 1 ? "are" : "is");
        encap_findings_add(check->findings, ENCAP_INFO, ip,
                           ds_steal_cstr(&s), NULL);
        free(array);
    }
}

static void
check_endpoint(const struct encap_check *check,
               const struct encap_endpoint *endpoint,
               struct netdev **vports, size_t n_vports)
{
    struct ways ways = { .n = 0 };
    char ip[INET6_ADDRSTRLEN];

    ipv6_string_mapped(ip, &endpoint->ip);
    sset_init(&ways.strangers);
    for (size_t i = 0; i < n_vports; i++) {
        const struct netdev_tunnel_config *config
            = netdev_get_tunnel_config(vports[i]);

        if (config && may_send(endpoint, config)) {
            try_way(check, endpoint, config, &ways);
        }
    }
    if (ways.n) {
        report_ways(check, endpoint, ip, &ways);
    } else {
        check_rule(check, endpoint, ip);
    }
    free(ways.refusal);
    sset_destroy(&ways.strangers);
}

/* Rules that do not do what their author may have meant. */
static void
check_caveats(const struct encap_check *check, bool ipv6)
{
    const struct route_rules *rules = get_rules(ipv6);

    for (size_t i = 0; i < route_rules_count(rules); i++) {
        const struct route_rule *rule = route_rules_at(rules, i);
        const char *caveat = route_rule_caveat(rule);

        if (caveat) {
            char *object = xasprintf("%s rule %"PRIu32,
                                     ipv6 ? "IPv6" : "IPv4", rule->priority);

            encap_findings_add(check->findings, ENCAP_WARNING, object,
                               xasprintf("not evaluated: %s", caveat), NULL);
            free(object);
        }
    }
}

void
encap_check_routes(const struct encap_check *check)
{
    struct netdev **vports;
    size_t n_vports;

    vports = netdev_get_vports(&n_vports);
    for (size_t i = 0; i < check->registry->n_endpoints; i++) {
        const struct encap_endpoint *endpoint = check->registry->endpoints[i];

        if (endpoint->state == ENCAP_UP) {
            check_endpoint(check, endpoint, vports, n_vports);
        }
    }
    for (size_t i = 0; i < n_vports; i++) {
        netdev_close(vports[i]);
    }
    free(vports);

    check_caveats(check, false);
    check_caveats(check, true);
}
