/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-offload-private.h"

#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "netdev.h"
#include "nic-offload.h"
#include "nic-policer.h"
#include "nic-resolver.h"
#include "nic-rule-flow.h"
#include "openvswitch/match.h"
#include "packets.h"
#include "timeval.h"
#include "util.h"

/* A flow of a tunnel port has rules on that many uplinks; what comes in by
 * further ones is for software. */
enum { MAX_UPLINKS = 16 };

/* Rules that NICs have. */

static void
remove_handle(struct nic_offload *offload, struct nic_handle *handle,
              bool *news)
    OVS_REQ_RDLOCK(nic_ethdev_rwlock)
    OVS_REQUIRES(offload->mutex)
{
    nic_ethdev_destroy(handle, news);
    *handle = offload->handles[--offload->n_handles];
}

static bool
concerns(const struct nic_handle *handle, const struct netdev *netdev)
{
    return (!netdev || handle->ethdev->netdev == netdev
            || (handle->target && handle->target->netdev == netdev));
}

void
nic_offload_remove_rules(struct nic_offload *offload,
                         const struct netdev *netdev, bool *news)
{
    for (size_t i = offload->n_handles; i-- > 0; ) {
        if (concerns(&offload->handles[i], netdev)) {
            remove_handle(offload, &offload->handles[i], news);
        }
    }
}

void
nic_offload_refresh(struct nic_offload *offload)
{
    bool partial = true;

    for (size_t i = 0; i < offload->n_handles; i++) {
        nic_ethdev_count(&offload->handles[i]);
        partial &= nic_ethdev_is_unused(&offload->handles[i]);
    }
    ovs_mutex_lock(&offload->last_mutex);
    offload->partial = partial;
    ovs_mutex_unlock(&offload->last_mutex);
}

static void
append_handle(struct nic_offload *offload, const struct nic_handle *handle)
    OVS_REQUIRES(offload->mutex)
{
    offload->handles = xrealloc(offload->handles, (offload->n_handles + 1)
                                * sizeof *offload->handles);
    offload->handles[offload->n_handles++] = *handle;
}

static struct nic_handle *
find_handle(struct nic_offload *offload, const struct nic_ethdev *ethdev)
    OVS_REQUIRES(offload->mutex)
{
    for (size_t i = 0; i < offload->n_handles; i++) {
        if (offload->handles[i].ethdev == ethdev) {
            return &offload->handles[i];
        }
    }
    return NULL;
}

/* Sees to it that 'offload' has 'rule' on 'ethdev', and with 'replace' not the
 * one that it has there.  Of two rules with one match the older one counts, so
 * the new one takes over when the old one goes (mlx5 guide).  Only if the NIC
 * will not have both, there is none for a moment. */
static enum nic_refusal
install__(struct nic_offload *offload, const struct nic_rule *rule,
          struct nic_ethdev *ethdev, struct nic_ethdev *target, bool replace,
          bool *news)
    OVS_REQ_RDLOCK(nic_ethdev_rwlock)
    OVS_REQUIRES(offload->mutex)
{
    struct nic_handle *old = find_handle(offload, ethdev);
    struct nic_handle handle;
    enum nic_refusal refusal;

    if (old && !replace) {
        return NIC_OFFLOADABLE;
    }
    refusal = nic_ethdev_create(ethdev, target, rule, offload->count,
                                &handle, news);
    if (old) {
        remove_handle(offload, old, news);
        if (refusal != NIC_OFFLOADABLE) {
            refusal = nic_ethdev_create(ethdev, target, rule, offload->count,
                                        &handle, news);
        }
    }
    if (refusal == NIC_OFFLOADABLE) {
        append_handle(offload, &handle);
    }
    return refusal;
}

static enum nic_refusal
install(struct nic_offload *offload, const struct nic_rule *rule,
        const struct nic_resolver *resolver, bool replace, bool *news)
    OVS_EXCLUDED(nic_ethdev_rwlock)
{
    const struct nic_action *output = nic_rule_find(rule, NIC_ACTION_OUTPUT);
    struct nic_ethdev *ethdev, *target = NULL;
    enum nic_refusal refusal;

    ovs_rwlock_rdlock(&nic_ethdev_rwlock);
    ovs_mutex_lock(&offload->mutex);
    ethdev = nic_ethdev_find(nic_resolver_netdev(resolver, rule->port));
    if (output) {
        target = nic_ethdev_find(nic_resolver_netdev(resolver, output->port));
    }
    if (offload->dead || !ethdev || (output && !target)) {
        refusal = NIC_PORT_STOPPED;
    } else if (nic_ethdev_exceeds_mtu(ethdev, target, rule)) {
        refusal = NIC_MTU;
    } else {
        refusal = install__(offload, rule, ethdev, target, replace, news);
    }
    ovs_mutex_unlock(&offload->mutex);
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
    return refusal;
}

/* Rules that they should have. */

bool
nic_offload_can_pass(enum nic_refusal why)
{
    return (why == NIC_TABLE_FULL || why == NIC_CONTEXTS_FULL
            || why == NIC_MTU || why == NIC_NIC_REFUSED
            || why == NIC_PORT_STOPPED || why == NIC_SECOND_OPTION_TUPLE);
}

struct wanted {
    struct nic_resolver resolver;
    struct match match;
    struct nic_flow flow;       /* 'orig_in_port' varies. */
    odp_port_t ports[MAX_UPLINKS];      /* To try. */
    size_t n_ports;
    bool in_place;              /* The flow's port is the one it was. */
    bool outer;                 /* For rule B: there is a rule A. */
    const struct netdev *netdevs[MAX_UPLINKS];  /* That have a rule. */
    size_t n_netdevs;
};

/* The uplinks where tunnel packets of the flow are let into the tunnel's
 * group, or failing that the one where they were seen. */
static void
find_uplinks(struct wanted *wanted, enum nic_tunnel tunnel)
{
    const struct flow_tnl *tnl = &wanted->match.flow.tunnel;
    struct in6_addr dst = tnl->ipv6_dst;

    if (tnl->ip_dst) {
        memset(&dst, 0, sizeof dst);
        memcpy(&dst.s6_addr[12], &tnl->ip_dst, sizeof tnl->ip_dst);
    }
    ovs_rwlock_rdlock(&nic_ethdev_rwlock);
    wanted->n_ports = nic_ethdev_find_gates(nic_tunnel_group(tunnel), &dst,
                                            wanted->ports, MAX_UPLINKS);
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
    wanted->outer = wanted->n_ports > 0;
    if (!wanted->outer) {
        wanted->ports[wanted->n_ports++] = wanted->flow.orig_in_port;
    }
}

static void
wanted_init(struct wanted *wanted, const struct nic_offload *offload)
{
    odp_port_t in_port;
    struct nic_port port;

    memset(wanted, 0, sizeof *wanted);
    nic_resolver_init(&wanted->resolver, offload->dpif_type);
    miniflow_expand(offload->flow, &wanted->match.flow);
    miniflow_expand(offload->mask, &wanted->match.wc.masks);
    wanted->flow = (struct nic_flow) {
        .match = &wanted->match,
        .actions = offload->actions,
        .actions_len = offload->actions_len,
        .orig_in_port = offload->orig_in_port,
        .get_port = nic_resolver_get_port,
        .aux = &wanted->resolver,
    };

    in_port = wanted->match.flow.in_port.odp_port;
    if (nic_resolver_get_port(in_port, &port, &wanted->resolver)
        && port.kind == NIC_PORT_TUNNEL) {
        find_uplinks(wanted, port.tunnel);
    } else {
        wanted->outer = true;
        wanted->ports[wanted->n_ports++] = in_port;
    }
    wanted->in_place = (nic_resolver_netdev(&wanted->resolver, in_port)
                        == offload->netdev);
}

/* Rules of a tunnel's group are for one address of this host: the gate's. */
static void
check_gate(struct nic_rule *rule)
{
    const uint8_t *mask = rule->match.outer.mask.ip_dst.s6_addr;
    bool ipv6 = nic_level_eth_type(&rule->match.outer) == ETH_TYPE_IPV6;

    if (rule->refusal == NIC_OFFLOADABLE
        && (rule->group != NIC_GROUP_ENTRY
            || nic_rule_find(rule, NIC_ACTION_JUMP))
        && !is_all_ones(ipv6 ? mask : mask + 12, ipv6 ? 16 : 4)) {
        nic_rule_refuse(rule, NIC_UNSUPPORTED_MATCH, "tun_dst");
    }
}

/* Software limits rates where packets pass a port; past the NIC's rule they
 * would pass without limit. */
static void
check_policers(struct nic_rule *rule, const struct nic_resolver *resolver)
{
    const struct nic_action *output;
    const struct netdev *from, *to;

    if (rule->refusal != NIC_OFFLOADABLE) {
        return;
    }
    output = nic_rule_find(rule, NIC_ACTION_OUTPUT);
    from = nic_resolver_netdev(resolver, rule->port);
    to = output ? nic_resolver_netdev(resolver, output->port) : NULL;
    if (from && nic_policer_limits_in(netdev_get_name(from))) {
        nic_rule_refuse(rule, NIC_POLICED, "ingress_policing_rate");
    } else if (to && nic_policer_limits_out(netdev_get_name(to))) {
        nic_rule_refuse(rule, NIC_POLICED, "qos");
    }
}

/* Sees to the rule on 'port'.  Returns false, with the reason in '*outcome',
 * if there is none. */
static bool
set_rule(struct nic_offload *offload, struct wanted *wanted, odp_port_t port,
         bool replace, struct nic_offload_outcome *outcome)
{
    struct nic_flow flow = wanted->flow;
    struct nic_rule rule;

    flow.orig_in_port = port;
    nic_rule_from_flow(&flow, &rule);
    check_gate(&rule);
    check_policers(&rule, &wanted->resolver);
    if (rule.refusal != NIC_OFFLOADABLE) {
        outcome->why = rule.refusal;
        outcome->detail = rule.detail;
        return false;
    }

    outcome->detail = NULL;
    outcome->why = (!nic_offload_is_enabled() ? NIC_SWITCHED_OFF
                    : !wanted->in_place ? NIC_PORT_STOPPED
                    : !wanted->outer ? NIC_OUTER_IN_SOFTWARE
                    : install(offload, &rule, &wanted->resolver, replace,
                              &outcome->news));
    return outcome->why == NIC_OFFLOADABLE;
}

static bool
is_wanted(const struct wanted *wanted, const struct nic_handle *handle)
{
    for (size_t i = 0; i < wanted->n_netdevs; i++) {
        if (wanted->netdevs[i] == handle->ethdev->netdev) {
            return true;
        }
    }
    return false;
}

static void
remove_unwanted(struct nic_offload *offload, const struct wanted *wanted,
                bool *news)
    OVS_EXCLUDED(nic_ethdev_rwlock)
{
    ovs_rwlock_rdlock(&nic_ethdev_rwlock);
    ovs_mutex_lock(&offload->mutex);
    for (size_t i = offload->n_handles; i-- > 0; ) {
        if (!is_wanted(wanted, &offload->handles[i])) {
            remove_handle(offload, &offload->handles[i], news);
        }
    }
    ovs_mutex_unlock(&offload->mutex);
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
}

/* The eSwitch of 'port', 0: none. */
static unsigned int
port_eswitch(const struct nic_resolver *resolver, odp_port_t port)
{
    struct nic_port facts;

    return (nic_resolver_get_port(port, &facts, resolver)
            ? facts.eswitch : 0);
}

void
nic_offload_set_rules(struct nic_offload *offload, bool replace,
                      struct nic_offload_outcome *outcome)
{
    struct nic_offload_outcome missing = { .why = NIC_OFFLOADABLE };
    struct wanted wanted;

    *outcome = missing;
    wanted_init(&wanted, offload);
    for (size_t i = 0; i < wanted.n_ports; i++) {
        odp_port_t port = wanted.ports[i];

        if (set_rule(offload, &wanted, port, replace, outcome)) {
            wanted.netdevs[wanted.n_netdevs++]
                = nic_resolver_netdev(&wanted.resolver, port);
        } else if (!nic_offload_can_pass(missing.why)) {
            missing = *outcome;
            missing.eswitch = port_eswitch(&wanted.resolver, port);
        }
    }
    missing.news = outcome->news;
    *outcome = missing;
    if (!outcome->eswitch) {
        outcome->eswitch = nic_resolver_eswitch(&wanted.resolver);
    }
    remove_unwanted(offload, &wanted, &outcome->news);
    nic_resolver_uninit(&wanted.resolver);
}
