/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-mend.h"

#include <inttypes.h>
#include <limits.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "encap-endpoint.h"
#include "encap-text.h"
#include "netlink.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/shash.h"
#include "ovs-router.h"
#include "packets.h"
#include "route-db.h"
#include "route-dump.h"
#include "route-lookup.h"
#include "util.h"

/* Tables that are proposed begin behind this one. */
enum { TABLE_BASE = 100 };

/* The kernel may have so many tables in a row that no rule names. */
enum { MAX_TABLES_OF_KERNEL = 64 };

/* What is known of the packets from one endpoint. */
struct source {
    const struct route_rule *rule; /* Of encap_mends_rule(). */
    const struct route_fib *fib;
    const struct route_rule *plain; /* The first such rule that asks for
                                     * nothing but the source... */
    const struct route_fib *plain_fib; /* ...and its table. */
    bool shared;                /* That table serves another device, too: what
                                 * is made the default route there takes away
                                 * that of the other. */
    uint32_t table;             /* To propose; 0: none. */
};

/* A way out of a device. */
struct gateway {
    int plen;                   /* Of the shortest prefix that it leads to. */
    struct in6_addr ip;
    bool onlink;                /* In no subnet of the device. */
};

struct encap_mends {
    const struct encap_registry *registry;
    struct source *sources;     /* One for each endpoint. */

    /* What only commands need is looked up for the first of them. */
    bool complete;
    struct shash gateways[2];   /* [ipv6]: "struct gateway"s by device. */
};

/* Rules. */

static const struct route_rules *
get_rules(bool ipv6)
{
    return ovsrcu_get(struct route_rules *, &ovs_router_db()->rules[ipv6]);
}

static bool
is_standard_table(uint32_t table)
{
    return table >= ROUTE_TABLE_DEFAULT && table <= ROUTE_TABLE_LOCAL;
}

/* True if all packets match 'rule' whose source does, and every route of its
 * table counts. */
static bool
is_plain(const struct route_rule *rule)
{
    struct route_rule plain;

    route_rule_init(&plain, rule->ipv6, rule->priority, rule->table,
                    rule->owner);
    plain.from = rule->from;
    plain.from_plen = rule->from_plen;
    return route_rule_equal(rule, &plain);
}

static void
find_rule(const struct in6_addr *ip, struct source *source)
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
            if (!source->rule) {
                source->rule = rule;
                source->fib = route_rules_fib(rules, i);
            }
            if (is_plain(rule)) {
                source->plain = rule;
                source->plain_fib = route_rules_fib(rules, i);
                return;
            }
        }
    }
}

/* True if the table of the endpoint at 'index' is that of an endpoint on
 * another device. */
static bool
is_shared(const struct encap_mends *mends, size_t index)
{
    const struct encap_registry *registry = mends->registry;
    const struct encap_endpoint *endpoint = registry->endpoints[index];
    const struct route_fib *fib = mends->sources[index].plain_fib;

    for (size_t i = 0; i < registry->n_endpoints && fib; i++) {
        const char *dev = registry->endpoints[i]->dev;

        if ((mends->sources[i].fib == fib
             || mends->sources[i].plain_fib == fib)
            && dev[0] && strcmp(dev, endpoint->dev)) {
            return true;
        }
    }
    return false;
}

static const struct route_rule *
own_rule(const struct encap_mends *mends, size_t index)
{
    const struct source *source = &mends->sources[index];

    return source->shared ? NULL : source->plain;
}

const struct route_rule *
encap_mends_rule(const struct encap_mends *mends, size_t index,
                 const struct route_fib **fib)
{
    *fib = mends->sources[index].fib;
    return mends->sources[index].rule;
}

/* The priority of a rule that is added without one: the kernel puts it before
 * the second of its own. */
static uint32_t
next_priority(bool ipv6)
{
    const struct route_rules *rules = get_rules(ipv6);
    size_t n_kernel = 0;

    for (size_t i = 0; i < route_rules_count(rules); i++) {
        const struct route_rule *rule = route_rules_at(rules, i);

        if (rule->owner == ROUTE_KERNEL && ++n_kernel == 2) {
            return rule->priority ? rule->priority - 1 : 0;
        }
    }
    return 0;
}

/* A route that is added for a remote is in table main.  In a table of the
 * endpoint's own, a default route does not help where a longer prefix or a
 * user route goes before it. */
bool
encap_mends_help(const struct encap_mends *mends, size_t index,
                 const struct route_result *result)
{
    const struct encap_endpoint *endpoint = mends->registry->endpoints[index];
    const struct route_rule *own = own_rule(mends, index);
    const struct route_rule *rule = result->rule;
    bool ipv6 = encap_is_ipv6(&endpoint->ip);

    if (!rule) {
        return true;
    } else if (rule == own) {
        return (!result->route
                || (result->route->dst_plen == (ipv6 ? 0 : 96)
                    && result->route->owner != ROUTE_USER));
    } else {
        return (own ? rule->priority >= own->priority
                : endpoint->any_nic ? rule->priority >= 32766
                : rule->priority > next_priority(ipv6));
    }
}

/* Tables that are free. */

static int
compare_tables(const void *a_, const void *b_)
{
    const uint32_t *a = a_, *b = b_;

    return *a < *b ? -1 : *a > *b;
}

/* Returns the tables that rules name or routes are in, '*n' of them in
 * order.  The caller frees the array. */
static uint32_t *
get_tables(struct route_db *db, size_t *n)
    OVS_REQUIRES(db->mutex)
{
    size_t max = hmap_count(&db->fibs);
    const struct route_fib *fib;
    uint32_t *tables;

    for (int ipv6 = 0; ipv6 < 2; ipv6++) {
        max += route_rules_count(get_rules(ipv6));
    }
    tables = xmalloc(max * sizeof *tables);
    *n = 0;
    for (int ipv6 = 0; ipv6 < 2; ipv6++) {
        const struct route_rules *rules = get_rules(ipv6);

        for (size_t i = 0; i < route_rules_count(rules); i++) {
            tables[(*n)++] = route_rules_at(rules, i)->table;
        }
    }
    HMAP_FOR_EACH (fib, node, &db->fibs) {
        tables[(*n)++] = fib->id;
    }
    qsort(tables, *n, sizeof *tables, compare_tables);
    return tables;
}

/* Routes that the kernel listed for one table. */
struct listed {
    uint8_t family;
    uint32_t table;
    size_t n, n_other;          /* Of that table, and of others. */
};

static void
count_listed(const struct ofpbuf *msg, void *listed_)
{
    static const struct nl_policy policy[] = {
        [RTA_TABLE] = { .type = NL_A_U32, .optional = true },
    };
    const struct rtmsg *rtm = ofpbuf_at(msg, NLMSG_HDRLEN, sizeof *rtm);
    struct nlattr *attrs[ARRAY_SIZE(policy)];
    struct listed *listed = listed_;

    if (rtm && rtm->rtm_family == listed->family
        && nl_policy_parse(msg, NLMSG_HDRLEN + sizeof(struct rtmsg), policy,
                        attrs, ARRAY_SIZE(policy))
        && attrs[RTA_TABLE]
        && nl_attr_get_u32(attrs[RTA_TABLE]) == listed->table) {
        listed->n++;
    } else {
        listed->n_other++;
    }
}

/* True if the kernel has 'table' though no rule names it: it was filled before
 * its rule, or is that of a VRF, which has it from the start, without
 * routes.  (An old kernel lists other tables, too.) */
static bool
kernel_has_table(uint32_t table)
{
    for (int ipv6 = 0; ipv6 < 2; ipv6++) {
        struct rtmsg rtm = { .rtm_family = ipv6 ? AF_INET6 : AF_INET };
        struct listed listed = {
            .family = rtm.rtm_family, .table = table
        };

        if (!route_dump(RTM_GETROUTE, &rtm, sizeof rtm, table, count_listed,
                        &listed, NULL)
            && (listed.n || !listed.n_other)) {
            return true;
        }
    }
    return false;
}

uint32_t
encap_mend_next_table(uint32_t table, const uint32_t *used, size_t n,
                      encap_mend_has_table **kernel_has)
{
    unsigned int n_kernel = 0;

    for (;;) {
        table++;
        if (is_standard_table(table)
            || bsearch(&table, used, n, sizeof table, compare_tables)) {
            continue;
        }
        if (n_kernel == MAX_TABLES_OF_KERNEL) {
            *kernel_has = NULL;
        }
        if (!*kernel_has || !(*kernel_has)(table)) {
            return table;
        }
        n_kernel++;
    }
}

/* Gives each endpoint that has no rule of its own a table that is free,
 * whether it needs it or not.  'kernel': there is one to ask. */
static void
propose_tables(struct encap_mends *mends, const uint32_t *used, size_t n,
               bool kernel)
{
    encap_mend_has_table *kernel_has = kernel ? kernel_has_table : NULL;
    const struct encap_registry *registry = mends->registry;
    uint32_t table = TABLE_BASE;

    for (size_t i = 0; i < registry->n_endpoints; i++) {
        if (registry->endpoints[i]->state == ENCAP_UP && !own_rule(mends, i)) {
            table = encap_mend_next_table(table, used, n, &kernel_has);
            mends->sources[i].table = table;
        }
    }
}

/* Gateways. */

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

static void
add_gateway(struct shash *gateways, const struct route *route,
            const struct route_nexthop *nexthop)
{
    const char *dev = route_device_link(nexthop->device)->name;
    struct gateway *gateway = shash_find_data(gateways, dev);

    if (!gateway) {
        gateway = xmalloc(sizeof *gateway);
        gateway->plen = INT_MAX;
        shash_add(gateways, dev, gateway);
    }
    if (route->dst_plen < gateway->plen) {
        gateway->plen = route->dst_plen;
        gateway->ip = nexthop->gateway;
        gateway->onlink = !is_next_to(nexthop->device, &nexthop->gateway);
    }
}

/* Finds, for each device and family, the gateway of the shortest prefix in any
 * table. */
static void
find_gateways(struct route_db *db, struct shash gateways[2])
    OVS_REQUIRES(db->mutex)
{
    const struct route_fib *fib;

    HMAP_FOR_EACH (fib, node, &db->fibs) {
        const struct route *route;

        ROUTE_FIB_FOR_EACH (route, fib) {
            const struct route_nexthop *nexthops;
            bool blackhole;
            size_t n;

            nexthops = route_db_nexthops(db, route, &n, &blackhole);
            for (size_t i = 0; i < n; i++) {
                const struct in6_addr *ip = &nexthops[i].gateway;

                if (ipv6_addr_is_set(ip) && encap_is_ipv6(ip) == fib->ipv6) {
                    add_gateway(&gateways[fib->ipv6], route, &nexthops[i]);
                }
            }
        }
    }
}

static void
complete(struct encap_mends *mends)
{
    struct route_db *db = ovs_router_db();
    uint32_t *tables;
    bool kernel;
    size_t n;

    if (mends->complete) {
        return;
    }
    mends->complete = true;
    ovs_mutex_lock(&db->mutex);
    find_gateways(db, mends->gateways);
    tables = get_tables(db, &n);
    kernel = !hmap_is_empty(&db->devices);
    ovs_mutex_unlock(&db->mutex);
    propose_tables(mends, tables, n, kernel);
    free(tables);
}

struct encap_mends *
encap_mends_create(const struct encap_registry *registry)
{
    struct encap_mends *mends = xzalloc(sizeof *mends);

    mends->registry = registry;
    mends->sources = xcalloc(registry->n_endpoints, sizeof *mends->sources);
    for (size_t i = 0; i < registry->n_endpoints; i++) {
        find_rule(&registry->endpoints[i]->ip, &mends->sources[i]);
    }
    for (size_t i = 0; i < registry->n_endpoints; i++) {
        mends->sources[i].shared = is_shared(mends, i);
    }
    shash_init(&mends->gateways[0]);
    shash_init(&mends->gateways[1]);
    return mends;
}

void
encap_mends_destroy(struct encap_mends *mends)
{
    shash_destroy_free_data(&mends->gateways[0]);
    shash_destroy_free_data(&mends->gateways[1]);
    free(mends->sources);
    free(mends);
}

/* Commands. */

static const char *
ip_command(const struct encap_endpoint *endpoint)
{
    return encap_is_ipv6(&endpoint->ip) ? "ip -6" : "ip";
}

/* IPv6 routes have metric 1024 unless they say otherwise, so a default route
 * of 'fib' with a lower one would go before another; returns its metric, or 0
 * if there is none. */
static uint32_t
find_low_metric(const struct route_fib *fib)
{
    uint32_t metric = 1024;
    const struct route *route;

    ROUTE_FIB_FOR_EACH (route, fib) {
        if (!route->dst_plen && !route->src_plen
            && route->owner == ROUTE_KERNEL) {
            metric = MIN(metric, route->metric);
        }
    }
    return metric < 1024 ? metric : 0;
}

/* Appends, to the command for a default route, where it goes: the table of
 * 'rule', which is the endpoint's own, or 'table'. */
static void
put_place(const struct source *source, const struct route_rule *rule,
          uint32_t table, struct ds *s)
{
    uint32_t metric = (rule && rule->ipv6
                       ? find_low_metric(source->plain_fib) : 0);

    if (metric) {
        ds_put_format(s, " metric %"PRIu32, metric);
    }
    ds_put_format(s, " table %"PRIu32, rule ? rule->table : table);
}

char *
encap_mend_any_nic(const struct encap_mends *mends, size_t index,
                   const struct in6_addr *remote)
{
    const char *ip = ip_command(mends->registry->endpoints[index]);
    const struct route_rule *rule = own_rule(mends, index);
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_format(&s, "%s route replace ", ip);
    if (rule) {
        ds_put_cstr(&s, "default");
    } else {
        ipv6_format_mapped(remote, &s);
    }
    ds_put_cstr(&s, " via GATEWAY dev BRIDGE");
    if (rule) {
        put_place(&mends->sources[index], rule, 0, &s);
    }
    return ds_steal_cstr(&s);
}

char *
encap_mend_routes(struct encap_mends *mends, size_t index)
{
    const struct encap_endpoint *endpoint = mends->registry->endpoints[index];
    const struct route_rule *rule = own_rule(mends, index);
    const char *ip = ip_command(endpoint);
    struct ds s = DS_EMPTY_INITIALIZER;
    const struct gateway *gateway;
    uint32_t table;

    complete(mends);
    table = mends->sources[index].table;
    gateway = shash_find_data(&mends->gateways[encap_is_ipv6(&endpoint->ip)],
                              endpoint->dev);
    if (!rule) {
        ds_put_format(&s, "%s rule add from ", ip);
        ipv6_format_mapped(&endpoint->ip, &s);
        ds_put_format(&s, " lookup %"PRIu32" && ", table);
    }
    ds_put_format(&s, "%s route replace default via ", ip);
    if (gateway) {
        ipv6_format_mapped(&gateway->ip, &s);
    } else {
        ds_put_cstr(&s, "GATEWAY");
    }
    ds_put_cstr(&s, " dev ");
    encap_text_put_word(endpoint->dev, &s);
    if (gateway && gateway->onlink) {
        ds_put_cstr(&s, " onlink");
    }
    put_place(&mends->sources[index], rule, table, &s);
    return ds_steal_cstr(&s);
}
