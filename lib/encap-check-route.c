/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-check-private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "encap-mend.h"
#include "encap-text.h"
#include "neighbor-peek.h"
#include "netdev.h"
#include "netdev-provider.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/flow.h"
#include "openvswitch/shash.h"
#include "ovs-router.h"
#include "packets.h"
#include "route-db.h"
#include "route-lookup.h"
#include "sset.h"
#include "tunnel-egress.h"
#include "util.h"

/* Some of the remotes of an endpoint: how many, which one came first, and
 * whether a rule or route for packets from the endpoint helps one of them. */
struct remotes {
    size_t n;
    struct in6_addr first;
    bool mendable;
};

/* What becomes of the packets of one endpoint. */
struct ways {
    size_t n;                   /* Remotes that are known. */
    struct remotes refused;
    char *refusal;              /* Of the first. */
    struct remotes own;         /* That are addresses of this host... */
    const char *own_tunnel;     /* ...the first of this tunnel. */
    struct remotes astray;      /* That leave by another device... */
    char *astray_dev;           /* ...the first by this one, or "A or B". */
    struct remotes partly;      /* The same of some flows only. */
    char partly_dev[IFNAMSIZ];
    struct remotes no_port;     /* That leave by what is no port. */
    char no_port_dev[IFNAMSIZ];
    struct sset strangers;      /* "IP of BRIDGE": next hops whose MAC is not
                                 * known. */
};

/* What is looked up once for all endpoints. */
struct scene {
    const struct encap_check *check;
    struct shash bridges;       /* Names of bridges, by port. */
    struct encap_mends *mends;
    struct netdev **vports;
    size_t n_vports;
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

static const struct route_rules *
get_rules(bool ipv6)
{
    return ovsrcu_get(struct route_rules *, &ovs_router_db()->rules[ipv6]);
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

/* True if a rule or route for packets from the endpoint at 'index' can change
 * 'decision'. */
static bool
can_mend(const struct encap_mends *mends, size_t index,
         const struct tunnel_decision *decision)
{
    return (decision->outcome == TUNNEL_ROUTED
            && encap_mends_help(mends, index, &decision->result));
}

/* Of several remotes that are refused, one that can be mended is told. */
static void
note_refusal(struct ways *ways, const struct tunnel_decision *decision,
             bool mendable)
{
    const struct in6_addr *remote = &decision->route.dst;

    if (!ways->refusal || (mendable && !ways->refused.mendable)) {
        struct ds s = DS_EMPTY_INITIALIZER;

        tunnel_decision_format_refusal(decision, &s);
        free(ways->refusal);
        ways->refusal = ds_steal_cstr(&s);
        ways->refused.first = *remote;
        ways->refused.mendable = mendable;
    }
    ways->refused.n++;
}

/* The device by which packets of 'decision' leave, or two of several, which
 * the caller frees. */
static char *
format_devices(const struct tunnel_decision *decision)
{
    const char *dev = decision->result.dev;
    const char *other = NULL;
    bool none;

    if (decision->hashed) {
        other = route_lookup_other_device(ovs_router_db(), &decision->route,
                                          &decision->result, dev, &none);
    }
    return other ? xasprintf("%s or %s", dev, other) : xstrdup(dev);
}

/* Sends, in thought, a packet of 'tunnel' with 'config_' from the endpoint at
 * 'index'. */
static void
try_way(const struct scene *scene, size_t index, const char *tunnel,
        const struct netdev_tunnel_config *config_, struct ways *ways)
{
    const struct encap_check *check = scene->check;
    const struct encap_endpoint *endpoint = check->registry->endpoints[index];
    struct netdev_tunnel_config config = *config_;
    struct tunnel_decision decision;
    const struct in6_addr *next_hop;
    struct tunnel_sender sender;
    const char *bridge, *stray;
    bool mendable, none = false;
    struct eth_addr mac;
    struct flow flow;
    int error;

    config.ip_src_flow = false;
    config.ipv6_src = endpoint->ip;
    tunnel_egress_flow(&config, &flow, &sender);
    ways->n++;
    error = tunnel_egress_decide(&flow, &sender, &decision, NULL);
    mendable = can_mend(scene->mends, index, &decision);
    if (error) {
        note_refusal(ways, &decision, mendable);
        return;
    }

    bridge = shash_find_data(&scene->bridges, decision.result.dev);
    next_hop = (ipv6_addr_is_set(&decision.result.gateway)
                ? &decision.result.gateway : &decision.route.dst);
    if (decision.result.route->type == ROUTE_LOCAL
        && !(bridge && neighbor_peek(bridge, next_hop, &mac))) {
        if (!bridge || !encap_check_is_silent(check, bridge, next_hop)) {
            if (!ways->own.n) {
                ways->own_tunnel = tunnel;
            }
            add_remote(&ways->own, &config.ipv6_dst);
        }
        return;
    }

    stray = (endpoint->any_nic || !decision.hashed ? NULL
             : route_lookup_other_device(ovs_router_db(), &decision.route,
                                         &decision.result, endpoint->dev,
                                         &none));
    if (stray && !none) {
        if (!ways->partly.n) {
            ovs_strlcpy(ways->partly_dev, stray, sizeof ways->partly_dev);
        }
        add_remote(&ways->partly, &config.ipv6_dst);
        ways->partly.mendable |= mendable;
        return;
    }
    if (!bridge) {
        if (!ways->no_port.n) {
            ovs_strlcpy_arrays(ways->no_port_dev, decision.result.dev);
        }
        add_remote(&ways->no_port, &config.ipv6_dst);
        return;
    }
    if (!endpoint->any_nic && strcmp(decision.result.dev, endpoint->dev)) {
        if (!ways->astray.n) {
            ways->astray_dev = format_devices(&decision);
        }
        add_remote(&ways->astray, &config.ipv6_dst);
        ways->astray.mendable |= mendable;
        return;
    }
    note_neighbor(check, ways, bridge, next_hop);
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
check_rule(const struct scene *scene, size_t index, const char *ip)
{
    const struct encap_check *check = scene->check;
    const struct encap_endpoint *endpoint = check->registry->endpoints[index];
    const struct route_fib *fib;
    const struct route_rule *rule = encap_mends_rule(scene->mends, index,
                                                     &fib);

    if (endpoint->any_nic || !needs_rule(check->registry, endpoint)) {
        return;
    }
    if (!rule) {
        encap_findings_add(check->findings, ENCAP_WARNING, ip,
                           xstrdup("no policy rule is for packets from here: "
                                   "their destination alone decides by which "
                                   "NIC they leave"),
                           encap_mend_routes(scene->mends, index));
    } else if (!route_fib_count(fib)) {
        encap_findings_add(check->findings, ENCAP_WARNING, ip,
                           xasprintf("table %"PRIu32", to which rule %"PRIu32
                                     " leads, has no route", rule->table,
                                     rule->priority),
                           encap_mend_routes(scene->mends, index));
    }
}

static void
report_refused(const struct scene *scene, size_t index, const char *ip,
               const struct ways *ways)
{
    const struct encap_check *check = scene->check;
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_cstr(&s, "no way to ");
    format_remotes(&ways->refused, ways, &s);
    ds_put_format(&s, ": %s", ways->refusal);
    encap_findings_add(check->findings, ENCAP_ERROR, ip, ds_steal_cstr(&s),
                       (!ways->refused.mendable ? NULL
                        : check->registry->endpoints[index]->any_nic
                        ? encap_mend_any_nic(scene->mends, index,
                                             &ways->refused.first)
                        : encap_mend_routes(scene->mends, index)));
}

static void
report_astray(const struct scene *scene, size_t index, const char *ip,
              const struct ways *ways, bool partly)
{
    const struct remotes *remotes = partly ? &ways->partly : &ways->astray;
    const struct encap_check *check = scene->check;
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_cstr(&s, partly ? "some packets to " : "packets to ");
    format_remotes(remotes, ways, &s);
    ds_put_format(&s, " leave by %s, not by %s",
                  partly ? ways->partly_dev : ways->astray_dev,
                  check->registry->endpoints[index]->dev);
    encap_findings_add(check->findings, ENCAP_ERROR, ip, ds_steal_cstr(&s),
                       (remotes->mendable
                        ? encap_mend_routes(scene->mends, index) : NULL));
}

/* Reports what became of the packets of the endpoint at 'index'. */
static void
report_ways(const struct scene *scene, size_t index, const char *ip,
            const struct ways *ways)
{
    const struct encap_check *check = scene->check;
    struct ds s = DS_EMPTY_INITIALIZER;

    if (ways->refused.n) {
        report_refused(scene, index, ip, ways);
    }
    if (ways->own.n) {
        ds_put_cstr(&s, "packets to ");
        format_remotes(&ways->own, ways, &s);
        ds_put_format(&s, " reach nobody: remote_ip of %s is an address of "
                      "this host", ways->own_tunnel);
        encap_findings_add(check->findings, ENCAP_ERROR, ip,
                           ds_steal_cstr(&s), NULL);
    }
    if (ways->astray.n) {
        report_astray(scene, index, ip, ways, false);
    }
    if (ways->partly.n) {
        report_astray(scene, index, ip, ways, true);
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
check_endpoint(const struct scene *scene, size_t index)
{
    const struct encap_endpoint *endpoint
        = scene->check->registry->endpoints[index];
    struct ways ways = { .n = 0 };
    char ip[INET6_ADDRSTRLEN];

    ipv6_string_mapped(ip, &endpoint->ip);
    sset_init(&ways.strangers);
    for (size_t i = 0; i < scene->n_vports; i++) {
        const struct netdev_tunnel_config *config
            = netdev_get_tunnel_config(scene->vports[i]);

        if (config && may_send(endpoint, config)) {
            try_way(scene, index, netdev_get_name(scene->vports[i]), config,
                    &ways);
        }
    }
    if (ways.n) {
        report_ways(scene, index, ip, &ways);
    } else {
        check_rule(scene, index, ip);
        if (encap_config_lacks_tunnels(scene->check->config, &endpoint->ip)) {
            encap_findings_add(scene->check->findings, ENCAP_INFO, ip,
                               xstrdup("all tunnels are of the other family"),
                               NULL);
        }
    }
    free(ways.astray_dev);
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

static void
add_bridges(struct shash *bridges, const struct encap_config *config)
{
    for (size_t i = 0; i < config->n_bridges; i++) {
        const struct encap_config_bridge *bridge = &config->bridges[i];

        for (size_t j = 0; j < bridge->n_ports; j++) {
            shash_add_once(bridges, bridge->ports[j].name, bridge->name);
        }
    }
}

void
encap_check_routes(const struct encap_check *check)
{
    struct scene scene = {
        .check = check,
        .bridges = SHASH_INITIALIZER(&scene.bridges),
        .mends = encap_mends_create(check->registry),
    };

    add_bridges(&scene.bridges, check->config);
    scene.vports = encap_check_tunnels(check, &scene.n_vports);
    for (size_t i = 0; i < check->registry->n_endpoints; i++) {
        if (check->registry->endpoints[i]->state == ENCAP_UP) {
            check_endpoint(&scene, i);
        }
    }
    for (size_t i = 0; i < scene.n_vports; i++) {
        netdev_close(scene.vports[i]);
    }
    free(scene.vports);
    shash_destroy(&scene.bridges);
    encap_mends_destroy(scene.mends);

    check_caveats(check, false);
    check_caveats(check, true);
}
