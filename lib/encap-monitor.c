/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-monitor.h"

#include <stdlib.h>
#include <string.h>

#include "connectivity.h"
#include "coverage.h"
#include "encap-bridge.h"
#include "encap-conflict.h"
#include "encap-host.h"
#include "encap-problem.h"
#include "encap-text.h"
#include "netdev.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/shash.h"
#include "openvswitch/vlog.h"
#include "ovs-router.h"
#include "packets.h"
#include "seq.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(encap_monitor);

COVERAGE_DEFINE(encap_registry_build);
COVERAGE_DEFINE(encap_registry_change);

/* For what becomes of endpoints. */
static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(60, 60);
static struct vlog_rate_limit problem_rl = VLOG_RATE_LIMIT_INIT(60, 300);

static struct encap_config *config; /* From get_config(). */
static struct encap_host *host; /* Of 'config'; NULL: not read yet. */
static struct encap_problems problems = ENCAP_PROBLEMS_INITIALIZER(&problems);

/* Of the last run. */
static uint64_t connectivity_seqno;
static uint64_t devices_seqno;
static bool has_run;            /* Since the last wait. */

/* Configuration. */

static struct encap_config *
get_config(void)
{
    if (!config) {
        config = encap_config_create();
    }
    return config;
}

static bool
wanted_equal(const struct encap_config *a, const struct encap_config *b)
{
    const struct encap_wanted *x, *y;

    HMAP_FOR_EACH (x, node, &a->wanted) {
        bool found = false;

        HMAP_FOR_EACH_WITH_HASH (y, node, x->node.hash, &b->wanted) {
            found |= (ipv6_addr_equals(&x->ip, &y->ip)
                      && x->origins == y->origins
                      && x->n_tunnels == y->n_tunnels);
        }
        if (!found) {
            return false;
        }
    }
    return hmap_count(&a->wanted) == hmap_count(&b->wanted);
}

static bool
bridges_equal(const struct encap_config *a, const struct encap_config *b)
{
    if (a->n_bridges != b->n_bridges) {
        return false;
    }
    for (size_t i = 0; i < a->n_bridges; i++) {
        const struct encap_config_bridge *x = &a->bridges[i];
        const struct encap_config_bridge *y = &b->bridges[i];

        if (strcmp(x->name, y->name)
            || x->n_ports != y->n_ports
            || x->has_tunnels != y->has_tunnels
            || x->has_patches != y->has_patches) {
            return false;
        }
        for (size_t j = 0; j < x->n_ports; j++) {
            if (strcmp(x->ports[j].name, y->ports[j].name)
                || strcmp(x->ports[j].type, y->ports[j].type)
                || x->ports[j].workload != y->ports[j].workload
                || !ipv6_addr_equals(&x->ports[j].pin, &y->ports[j].pin)) {
                return false;
            }
        }
    }
    return true;
}

static bool
config_equal(const struct encap_config *a, const struct encap_config *b)
{
    return (ipv6_addr_equals(&a->defaults[0], &b->defaults[0])
            && ipv6_addr_equals(&a->defaults[1], &b->defaults[1])
            && a->n_order == b->n_order
            && !memcmp(a->order, b->order, a->n_order * sizeof *a->order)
            && a->failover == b->failover
            && a->strict_rx == b->strict_rx
            && a->has_remotes[0] == b->has_remotes[0]
            && a->has_remotes[1] == b->has_remotes[1]
            && wanted_equal(a, b)
            && bridges_equal(a, b)
            && sset_equals(&a->tunnels, &b->tunnels)
            && sset_equals(&a->problems, &b->problems));
}

void
encap_monitor_configure(struct encap_config *new)
{
    if (config_equal(get_config(), new)) {
        encap_config_destroy(new);
        return;
    }
    encap_host_destroy(host);
    host = NULL;
    encap_config_destroy(config);
    config = new;
}

const struct encap_config *
encap_monitor_config(void)
{
    return get_config();
}

/* Building. */

static unsigned int
get_eswitch(struct encap_registry *registry,
            const struct encap_host_port *port)
{
    return (port->nic.eswitch[0]
            ? encap_registry_eswitch(registry, port->nic.eswitch) : 0);
}

/* True if 'bridge' is one of the underlay: a NIC or an endpoint of 'registry'
 * is on it, or it leads to other bridges and is not the one where tunnels
 * are. */
static bool
is_underlay(const struct encap_registry *registry,
            const struct encap_host_bridge *bridge)
{
    for (size_t i = 0; i < bridge->config->n_ports; i++) {
        if (encap_host_port_is_uplink(&bridge->ports[i])) {
            return true;
        }
    }
    return ((bridge->config->has_patches && !bridge->config->has_tunnels)
            || encap_bridge_endpoint(registry, bridge->config->name));
}

/* Endpoints come before. */
static void
add_ports(struct encap_registry *registry)
{
    for (size_t i = 0; i < config->n_bridges; i++) {
        const struct encap_host_bridge *bridge = &host->bridges[i];
        /* Without endpoints nobody asks, and nothing is to be told. */
        bool underlay = (registry->n_endpoints
                         && is_underlay(registry, bridge));

        for (size_t j = 0; j < bridge->config->n_ports; j++) {
            const struct encap_host_port *from = &bridge->ports[j];
            struct encap_port *port
                = encap_registry_add_port(registry, from->config->name,
                                          bridge->config->name);

            port->pin = from->config->pin;
            port->eswitch = get_eswitch(registry, from);
            port->uplink = encap_host_port_is_uplink(from);
            port->up = from->up;
            port->internal = !strcmp(from->config->type, "internal");
            port->numa_id = from->nic.numa_id;
            port->on_underlay = underlay;
            port->underlay = underlay && !from->config->workload;
        }
    }
}

/* Makes '*mtu' the least of what is known. */
static void
limit_mtu(int *mtu, int limit)
{
    if (limit > 0 && (!*mtu || limit < *mtu)) {
        *mtu = limit;
    }
}

static const struct encap_host_bridge *
find_bridge(const struct encap_config_bridge *bridge)
{
    return &host->bridges[bridge - config->bridges];
}

/* Gives 'endpoint' the uplinks of 'bridge', and what they have in common. */
static void
add_uplinks(struct encap_registry *registry, struct encap_endpoint *endpoint,
            const struct encap_host_bridge *bridge)
{
    for (size_t i = 0; i < bridge->config->n_ports; i++) {
        const struct encap_host_port *port = &bridge->ports[i];
        struct encap_uplink *uplink;

        if (!encap_host_port_is_uplink(port)) {
            continue;
        }
        uplink = encap_endpoint_add_uplink(endpoint, port->config->name);
        uplink->up = port->up;
        uplink->eswitch = get_eswitch(registry, port);
        uplink->numa_id = port->nic.numa_id;
        limit_mtu(&endpoint->mtu, port->mtu);

        if (endpoint->n_uplinks == 1) {
            endpoint->eswitch = uplink->eswitch;
            endpoint->numa_id = uplink->numa_id;
        }
        if (endpoint->eswitch != uplink->eswitch) {
            endpoint->eswitch = 0;
        }
        if (endpoint->numa_id != uplink->numa_id) {
            endpoint->numa_id = -1;
        }
    }
}

/* Limits the MTU of 'endpoint', which is reached through any NIC.  NICs are on
 * bridges without tunnels, where workloads' ports that look like one are
 * not. */
static void
limit_to_all_uplinks(struct encap_endpoint *endpoint)
{
    for (size_t i = 0; i < config->n_bridges; i++) {
        const struct encap_host_bridge *bridge = &host->bridges[i];

        for (size_t j = 0; (j < bridge->config->n_ports
                            && !bridge->config->has_tunnels); j++) {
            if (encap_host_port_is_uplink(&bridge->ports[j])) {
                limit_mtu(&endpoint->mtu, bridge->ports[j].mtu);
            }
        }
    }
}

/* A NIC may also be behind a patch port, where nobody looks. */
static bool
has_no_link(const struct encap_endpoint *endpoint,
            const struct encap_home *home)
{
    for (size_t i = 0; i < endpoint->n_uplinks; i++) {
        if (endpoint->uplinks[i].up) {
            return false;
        }
    }
    return home->port && (endpoint->n_uplinks
                          || !home->port->bridge->has_patches);
}

static enum encap_state
get_state(const struct encap_endpoint *endpoint, const struct encap_home *home)
{
    return (!home->dev[0] ? ENCAP_ABSENT
            : !home->up || (home->port && !home->port->open)
            ? ENCAP_DEVICE_DOWN
            : home->tentative ? ENCAP_TENTATIVE
            : has_no_link(endpoint, home) ? ENCAP_LINK_DOWN
            : ENCAP_UP);
}

static void
add_endpoint(struct encap_registry *registry,
             const struct encap_wanted *wanted)
{
    const struct encap_home *home = encap_host_find(host, &wanted->ip);
    bool ipv6 = encap_is_ipv6(&wanted->ip);
    struct encap_endpoint *endpoint
        = encap_registry_add_endpoint(registry, &wanted->ip);

    endpoint->origins = wanted->origins;
    endpoint->is_default = ipv6_addr_equals(&wanted->ip,
                                            &config->defaults[ipv6]);
    endpoint->n_tunnels = wanted->n_tunnels;
    ovs_strlcpy_arrays(endpoint->dev, home->dev);
    if (home->port) {
        endpoint->bridge = xstrdup(home->port->bridge->name);
        limit_mtu(&endpoint->mtu, home->port->mtu);
        add_uplinks(registry, endpoint, find_bridge(home->port->bridge));
    }
    endpoint->any_nic = home->dev[0] && !home->port;
    if (endpoint->any_nic) {
        limit_to_all_uplinks(endpoint);
    }
    endpoint->state = get_state(endpoint, home);
}

static struct encap_registry *
build(void)
{
    struct encap_registry *registry = encap_registry_create();
    const struct encap_wanted *wanted;

    COVERAGE_INC(encap_registry_build);
    memcpy(registry->order, config->order, sizeof registry->order);
    registry->n_order = config->n_order;
    registry->failover = config->failover;
    registry->strict_rx = config->strict_rx;
    HMAP_FOR_EACH (wanted, node, &config->wanted) {
        add_endpoint(registry, wanted);
    }
    add_ports(registry);
    encap_registry_finish(registry);
    return registry;
}

/* Telling. */

static void
log_state(const struct encap_endpoint *endpoint)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    char *line;

    if (VLOG_DROP_INFO(&rl)) {
        return;
    }
    ds_put_cstr(&s, "endpoint ");
    ipv6_format_mapped(&endpoint->ip, &s);
    ds_put_format(&s, " on %s is %s", endpoint->dev,
                  encap_state_to_string(endpoint->state));
    if (endpoint->state != ENCAP_UP) {
        ds_put_cstr(&s, ": ");
        encap_endpoint_format_reason(endpoint, &s);
    }
    line = encap_text_line(ds_cstr(&s));
    VLOG_INFO("%s", line);
    free(line);
    ds_destroy(&s);
}

/* Logs what has become of each endpoint, but for those that are on no device:
 * that is a problem, or all there is to say of an address that only tunnels
 * name. */
static void
log_states(const struct encap_registry *old, const struct encap_registry *new)
{
    for (size_t i = 0; i < new->n_endpoints; i++) {
        const struct encap_endpoint *x = new->endpoints[i];
        const struct encap_endpoint *y = encap_registry_find(old, &x->ip);

        if (x->state != ENCAP_ABSENT
            && (!y || x->state != y->state || strcmp(x->dev, y->dev))) {
            log_state(x);
        }
    }
}

/* Logs those of 'lines' that are not in 'old'. */
static void
log_problems(const struct sset *lines, const struct sset *old,
             enum vlog_level level)
{
    const char *line;

    SSET_FOR_EACH (line, lines) {
        if (!sset_contains(old, line)) {
            char *safe = encap_text_line(line);

            VLOG_RL(&problem_rl, level, "%s", safe);
            free(safe);
        }
    }
}

static void
update_problems(const struct encap_registry *registry)
{
    struct encap_problems found = ENCAP_PROBLEMS_INITIALIZER(&found);

    encap_problems_find(config, host, registry, &found);
    log_problems(&found.warnings, &problems.warnings, VLL_WARN);
    log_problems(&found.infos, &problems.infos, VLL_INFO);
    sset_swap(&found.warnings, &problems.warnings);
    sset_swap(&found.infos, &problems.infos);
    encap_problems_destroy(&found);
}

static void
rebuild(void)
{
    const struct encap_registry *old = encap_registry_get();
    struct encap_registry *new = build();

    /* Flows from before a device went down know nothing of that. */
    bool equivalent = (!encap_registry_is_stale(old)
                       && encap_registry_equivalent(old, new));

    update_problems(new);
    log_states(old, new);
    encap_registry_publish(new);
    encap_conflict_forget();
    if (!equivalent) {
        COVERAGE_INC(encap_registry_change);
        ovs_router_ways_changed();
    }
}

void
encap_monitor_run(void)
{
    uint64_t connectivity = seq_read(connectivity_seq_get());
    uint64_t devices = seq_read(ovs_router_devices_seq());
    long long int start = time_usec();
    bool changed = true;

    has_run = true;
    if (!host) {
        host = encap_host_create(get_config());
    } else if (connectivity != connectivity_seqno
               || devices != devices_seqno) {
        changed = (encap_host_update(host)
                   || encap_registry_is_stale(encap_registry_get()));
    } else {
        return;
    }
    connectivity_seqno = connectivity;
    devices_seqno = devices;

    if (changed) {
        rebuild();
        VLOG_DBG("registry of %"PRIuSIZE" endpoints and %"PRIuSIZE" ports "
                 "built in %lld us", hmap_count(&config->wanted),
                 shash_count(&host->ports), time_usec() - start);
    }
}

void
encap_monitor_wait(void)
{
    /* Who does not run because it has no right to the database must not wake
     * up again and again. */
    if (has_run) {
        seq_wait(connectivity_seq_get(), connectivity_seqno);
        seq_wait(ovs_router_devices_seq(), devices_seqno);
        if (!host) {
            poll_immediate_wake();
        }
    }
    has_run = false;
}
