/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-endpoint.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "openvswitch/dynamic-string.h"
#include "ovs-rcu.h"
#include "packets.h"
#include "util.h"

#define DEFAULT_ORDER { ENCAP_BY_PIN, ENCAP_BY_NIC, ENCAP_BY_DEFAULT, \
                        ENCAP_BY_ROUTE }

/* What readers get before anything is published. */
static char *no_eswitches[1];
static struct encap_registry empty = {
    .by_ip = HMAP_INITIALIZER(&empty.by_ip),
    .ports = HMAP_INITIALIZER(&empty.ports),
    .eswitches = no_eswitches,
    .n_eswitches = 1,
    .order = DEFAULT_ORDER,
    .n_order = ENCAP_MAX_ORDER,
};

static OVSRCU_TYPE(struct encap_registry *) current = OVSRCU_INITIALIZER(NULL);

/* Building. */

struct encap_registry *
encap_registry_create(void)
{
    struct encap_registry *registry = xzalloc(sizeof *registry);

    hmap_init(&registry->by_ip);
    hmap_init(&registry->ports);
    registry->eswitches = xzalloc(sizeof *registry->eswitches);
    registry->n_eswitches = 1;
    memcpy(registry->order, empty.order, sizeof registry->order);
    registry->n_order = empty.n_order;
    return registry;
}

static void
encap_endpoint_destroy(struct encap_endpoint *endpoint)
{
    for (size_t i = 0; i < endpoint->n_uplinks; i++) {
        free(endpoint->uplinks[i].name);
    }
    free(endpoint->uplinks);
    free(endpoint->bridge);
    free(endpoint);
}

void
encap_registry_destroy(struct encap_registry *registry)
{
    struct encap_port *port;

    if (!registry) {
        return;
    }

    for (size_t i = 0; i < registry->n_endpoints; i++) {
        encap_endpoint_destroy(registry->endpoints[i]);
    }
    free(registry->endpoints);
    hmap_destroy(&registry->by_ip);
    HMAP_FOR_EACH_POP (port, node, &registry->ports) {
        free(port->name);
        free(port->bridge);
        free(port);
    }
    hmap_destroy(&registry->ports);
    for (size_t i = 0; i < registry->n_eswitches; i++) {
        free(registry->eswitches[i]);
    }
    free(registry->eswitches);
    free(registry->by_eswitch);
    free(registry);
}

static uint32_t
hash_ip(const struct in6_addr *ip)
{
    return hash_bytes(ip, sizeof *ip, 0);
}

static struct encap_endpoint *
find_endpoint(const struct encap_registry *registry, const struct in6_addr *ip)
{
    struct encap_endpoint *endpoint;

    HMAP_FOR_EACH_WITH_HASH (endpoint, node, hash_ip(ip), &registry->by_ip) {
        if (ipv6_addr_equals(&endpoint->ip, ip)) {
            return endpoint;
        }
    }
    return NULL;
}

static struct encap_port *
find_port(const struct encap_registry *registry, const char *name)
{
    struct encap_port *port;

    HMAP_FOR_EACH_WITH_HASH (port, node, hash_string(name, 0),
                             &registry->ports) {
        if (!strcmp(port->name, name)) {
            return port;
        }
    }
    return NULL;
}

struct encap_endpoint *
encap_registry_add_endpoint(struct encap_registry *registry,
                            const struct in6_addr *ip)
{
    struct encap_endpoint *endpoint = find_endpoint(registry, ip);

    if (!endpoint) {
        endpoint = xzalloc(sizeof *endpoint);
        atomic_init(&endpoint->went_down, false);
        endpoint->ip = *ip;
        endpoint->numa_id = -1;
        hmap_insert(&registry->by_ip, &endpoint->node, hash_ip(ip));
        registry->endpoints = xrealloc(registry->endpoints,
                                       (registry->n_endpoints + 1)
                                       * sizeof *registry->endpoints);
        registry->endpoints[registry->n_endpoints++] = endpoint;
    }
    return endpoint;
}

struct encap_uplink *
encap_endpoint_add_uplink(struct encap_endpoint *endpoint, const char *name)
{
    struct encap_uplink *uplink;

    endpoint->uplinks = xrealloc(endpoint->uplinks, (endpoint->n_uplinks + 1)
                                                    * sizeof *uplink);
    uplink = &endpoint->uplinks[endpoint->n_uplinks++];
    *uplink = (struct encap_uplink) {
        .name = xstrdup(name),
        .numa_id = -1,
    };
    return uplink;
}

struct encap_port *
encap_registry_add_port(struct encap_registry *registry, const char *name,
                        const char *bridge)
{
    struct encap_port *port = find_port(registry, name);

    if (!port) {
        port = xzalloc(sizeof *port);
        port->name = xstrdup(name);
        port->bridge = xstrdup(bridge);
        port->numa_id = -1;
        hmap_insert(&registry->ports, &port->node, hash_string(name, 0));
    }
    return port;
}

unsigned int
encap_registry_eswitch(struct encap_registry *registry, const char *name)
{
    size_t n = registry->n_eswitches;

    for (size_t i = 1; i < n; i++) {
        if (!strcmp(registry->eswitches[i], name)) {
            return i;
        }
    }
    registry->eswitches = xrealloc(registry->eswitches,
                                   (n + 1) * sizeof *registry->eswitches);
    registry->eswitches[n] = xstrdup(name);
    registry->n_eswitches++;
    return n;
}

static int
compare_endpoints(const void *a_, const void *b_)
{
    const struct encap_endpoint *const *a = a_;
    const struct encap_endpoint *const *b = b_;
    bool a_first = encap_endpoint_is_configured(*a);
    bool b_first = encap_endpoint_is_configured(*b);

    return (a_first != b_first
            ? (a_first ? -1 : 1)
            : memcmp(&(*a)->ip, &(*b)->ip, sizeof (*a)->ip));
}

static void
group_add(struct encap_group *group, const struct encap_endpoint *endpoint)
{
    bool ipv6 = encap_is_ipv6(&endpoint->ip);

    if (!group->first[ipv6]) {
        group->first[ipv6] = endpoint;
    }
    if (!group->up[ipv6] && endpoint->state == ENCAP_UP) {
        group->up[ipv6] = endpoint;
    }
}

void
encap_registry_finish(struct encap_registry *registry)
{
    if (registry->n_endpoints) {
        qsort(registry->endpoints, registry->n_endpoints,
              sizeof *registry->endpoints, compare_endpoints);
    }

    registry->by_eswitch = xcalloc(registry->n_eswitches,
                                   sizeof *registry->by_eswitch);
    for (size_t i = 0; i < registry->n_endpoints; i++) {
        const struct encap_endpoint *endpoint = registry->endpoints[i];

        ovs_assert(endpoint->eswitch < registry->n_eswitches);
        group_add(&registry->all, endpoint);
        group_add(&registry->by_eswitch[endpoint->eswitch], endpoint);
        if (endpoint->is_default) {
            group_add(&registry->defaults, endpoint);
        }
    }
}

/* Reading. */

const struct encap_endpoint *
encap_registry_find(const struct encap_registry *registry,
                    const struct in6_addr *ip)
{
    return find_endpoint(registry, ip);
}

const struct encap_port *
encap_registry_find_port(const struct encap_registry *registry,
                         const char *name)
{
    return find_port(registry, name);
}

bool
encap_registry_is_underlay(const struct encap_registry *registry,
                           const char *name)
{
    const struct encap_port *port = find_port(registry, name);

    return port && port->underlay;
}

bool
encap_registry_is_underlay_bridge(const struct encap_registry *registry,
                                  const char *bridge)
{
    /* The bridge's own port has its name. */
    const struct encap_port *port = find_port(registry, bridge);

    return port && port->on_underlay;
}

const struct encap_registry *
encap_registry_get(void)
{
    const struct encap_registry *registry
        = ovsrcu_get(struct encap_registry *, &current);

    return registry ? registry : &empty;
}

void
encap_registry_publish(struct encap_registry *registry)
{
    struct encap_registry *old
        = ovsrcu_get_protected(struct encap_registry *, &current);

    ovs_assert(registry->by_eswitch); /* Finished. */
    ovsrcu_set(&current, registry);
    if (old) {
        ovsrcu_postpone(encap_registry_destroy, old);
    }
}

void
encap_registry_device_down(const char *dev)
{
    const struct encap_registry *registry = encap_registry_get();

    for (size_t i = 0; i < registry->n_endpoints; i++) {
        struct encap_endpoint *endpoint = registry->endpoints[i];

        if (!strcmp(endpoint->dev, dev)) {
            atomic_store_explicit(&endpoint->went_down, true,
                                  memory_order_release);
        }
    }
}

bool
encap_registry_is_stale(const struct encap_registry *registry)
{
    for (size_t i = 0; i < registry->n_endpoints; i++) {
        const struct encap_endpoint *endpoint = registry->endpoints[i];

        if (encap_endpoint_state(endpoint) != endpoint->state) {
            return true;
        }
    }
    return false;
}

/* Comparing. */

/* Which eSwitch of one registry is which of the other: 0 if that has not
 * shown yet. */
struct eswitch_pairs {
    unsigned int *a_to_b;
    unsigned int *b_to_a;
};

/* False if 'a' and 'b' cannot be one eSwitch, after what was paired before. */
static bool
pair_eswitches(struct eswitch_pairs *pairs, unsigned int a, unsigned int b)
{
    if (!a || !b) {
        return a == b;
    }
    if (!pairs->a_to_b[a] && !pairs->b_to_a[b]) {
        pairs->a_to_b[a] = b;
        pairs->b_to_a[b] = a;
    }
    return pairs->a_to_b[a] == b;
}

static bool
equal_names(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

/* Why an endpoint that this host has is down makes no difference. */
static bool
states_equivalent(enum encap_state a, enum encap_state b)
{
    return (a == b || (a != ENCAP_UP && a != ENCAP_ABSENT
                       && b != ENCAP_UP && b != ENCAP_ABSENT));
}

static bool
endpoints_equivalent(const struct encap_registry *a,
                     const struct encap_registry *b,
                     struct eswitch_pairs *pairs)
{
    if (a->n_endpoints != b->n_endpoints) {
        return false;
    }
    for (size_t i = 0; i < a->n_endpoints; i++) {
        const struct encap_endpoint *x = a->endpoints[i];
        const struct encap_endpoint *y = b->endpoints[i];

        if (!ipv6_addr_equals(&x->ip, &y->ip)
            || (encap_endpoint_is_configured(x)
                != encap_endpoint_is_configured(y))
            || x->is_default != y->is_default
            || x->any_nic != y->any_nic
            || !states_equivalent(encap_endpoint_state(x),
                                  encap_endpoint_state(y))
            || strcmp(x->dev, y->dev)
            || !equal_names(x->bridge, y->bridge)
            || !pair_eswitches(pairs, x->eswitch, y->eswitch)) {
            return false;
        }
    }
    return true;
}

/* True if the ports of 'a' have what they have in 'b', where a port that is
 * not there has nothing. */
static bool
ports_equivalent(const struct encap_registry *a,
                 const struct encap_registry *b,
                 struct eswitch_pairs *pairs)
{
    static const struct encap_port none;
    const struct encap_port *x;

    HMAP_FOR_EACH (x, node, &a->ports) {
        const struct encap_port *y = find_port(b, x->name);

        y = y ? y : &none;
        if (!ipv6_addr_equals(&x->pin, &y->pin)
            || x->on_underlay != y->on_underlay
            || x->underlay != y->underlay
            || !pair_eswitches(pairs, x->eswitch, y->eswitch)) {
            return false;
        }
    }
    return true;
}

bool
encap_registry_equivalent(const struct encap_registry *a,
                          const struct encap_registry *b)
{
    struct eswitch_pairs pairs, inverse;
    bool equivalent;

    if (a->n_order != b->n_order
        || memcmp(a->order, b->order, a->n_order * sizeof *a->order)
        || a->failover != b->failover
        || a->strict_rx != b->strict_rx) {
        return false;
    }

    pairs.a_to_b = xcalloc(a->n_eswitches, sizeof *pairs.a_to_b);
    pairs.b_to_a = xcalloc(b->n_eswitches, sizeof *pairs.b_to_a);
    inverse = (struct eswitch_pairs) { pairs.b_to_a, pairs.a_to_b };
    equivalent = (endpoints_equivalent(a, b, &pairs)
                  && ports_equivalent(a, b, &pairs)
                  && ports_equivalent(b, a, &inverse));
    free(pairs.a_to_b);
    free(pairs.b_to_a);
    return equivalent;
}

/* For users. */

const char *
encap_state_to_string(enum encap_state state)
{
    return state == ENCAP_UP ? "up" : "down";
}

const char *
encap_state_reason(enum encap_state state)
{
    switch (state) {
    case ENCAP_UP:          return NULL;
    case ENCAP_ABSENT:      return "not a local address";
    case ENCAP_TENTATIVE:   return "address is tentative";
    case ENCAP_DEVICE_DOWN: return "device is down";
    case ENCAP_LINK_DOWN:   return "no uplink has a link";
    default:                OVS_NOT_REACHED();
    }
}

void
encap_endpoint_format_reason(const struct encap_endpoint *endpoint,
                             struct ds *s)
{
    enum encap_state state = encap_endpoint_state(endpoint);
    const char *reason = encap_state_reason(state);

    if (state == ENCAP_DEVICE_DOWN && endpoint->dev[0]) {
        ds_put_format(s, "device %s is down", endpoint->dev);
    } else if (state == ENCAP_LINK_DOWN && endpoint->bridge) {
        ds_put_format(s, (endpoint->n_uplinks
                          ? "no uplink of %s has a link"
                          : "%s has no uplink"), endpoint->bridge);
    } else if (reason) {
        ds_put_cstr(s, reason);
    }
}

const char *
encap_step_to_string(enum encap_step step)
{
    switch (step) {
    case ENCAP_BY_TUNNEL:  return "local_ip";
    case ENCAP_BY_FLOW:    return "tun_src";
    case ENCAP_BY_PIN:     return "pin";
    case ENCAP_BY_NIC:     return "nic";
    case ENCAP_BY_DEFAULT: return "default";
    case ENCAP_BY_ROUTE:   return "route";
    case ENCAP_N_STEPS:    return "first";
    default:               OVS_NOT_REACHED();
    }
}

bool
encap_step_from_string(const char *name, enum encap_step *stepp)
{
    for (enum encap_step step = ENCAP_BY_PIN; step < ENCAP_N_STEPS; step++) {
        if (!strcmp(name, encap_step_to_string(step))) {
            *stepp = step;
            return true;
        }
    }
    return false;
}
