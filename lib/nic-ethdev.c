/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-ethdev.h"

#include <stdlib.h>
#include <string.h>

#include "coverage.h"
#include "hash.h"
#include "netdev.h"
#include "nic-base-rule.h"
#include "nic-count.h"
#include "nic-driver.h"
#include "nic-eswitch.h"
#include "odp-util.h"
#include "openvswitch/geneve.h"
#include "openvswitch/vlog.h"
#include "packets.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(nic_ethdev);

COVERAGE_DEFINE(nic_header_shared);
COVERAGE_DEFINE(nic_rule_created);
COVERAGE_DEFINE(nic_rule_destroyed);
COVERAGE_DEFINE(nic_rule_failed);
COVERAGE_DEFINE(nic_rule_stuck);

/* After which time a NIC that did not remove a rule is asked again, and for
 * how many rules at once. */
enum { STUCK_MS = 1000, STUCK_BATCH = 16 };

/* A rule that a NIC did not remove. */
struct stuck_rule {
    struct ovs_list node;       /* In 'stuck' of 'handle.ethdev', in order. */
    long long int until;        /* Not to be tried before. */
    struct nic_handle handle;   /* Without gate. */
};

struct ovs_rwlock nic_ethdev_rwlock = OVS_RWLOCK_INITIALIZER;

static struct hmap ethdevs OVS_GUARDED_BY(nic_ethdev_rwlock)
    = HMAP_INITIALIZER(&ethdevs);

/* Ports. */

void
nic_ethdev_lose_rules(uint16_t port_id)
{
    struct nic_ethdev *ethdev;

    ovs_rwlock_wrlock(&nic_ethdev_rwlock);
    HMAP_FOR_EACH (ethdev, node, &ethdevs) {
        if (ethdev->port_id == port_id) {
            VLOG_INFO("DPDK port %"PRIu16" needs a reset, its rules are gone",
                      port_id);
            ethdev->gone = true;
        }
    }
    nic_base_rule_suspend(port_id);
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
}

static void
get_facts(struct nic_ethdev *ethdev, const struct nic_driver_info *info)
{
    struct nic_port *facts = &ethdev->facts;

    if (strncmp(info->name, "mlx5_", 5)) {
        facts->kind = NIC_PORT_FOREIGN;
    } else if (info->switchable) {
        facts->kind = (info->representor ? NIC_PORT_REPRESENTOR
                       : NIC_PORT_UPLINK);
        ethdev->eswitch = nic_eswitch_get(info->name, info->domain);
        facts->eswitch = ethdev->eswitch->id;
    }
}

void
nic_ethdev_add(const struct netdev *netdev, int port_id)
{
    struct nic_driver_info info;
    struct nic_ethdev *ethdev;

    if (nic_driver_get_info(port_id, &info)) {
        return;
    }

    ethdev = xzalloc(sizeof *ethdev);
    ethdev->netdev = netdev;
    ethdev->name = xstrdup(netdev_get_name(netdev));
    ethdev->port_id = port_id;
    ethdev->odp_port = ODPP_NONE;
    ovs_mutex_init(&ethdev->mutex);
    ovs_list_init(&ethdev->stuck);
    hmap_init(&ethdev->gates);
    get_facts(ethdev, &info);

    ovs_assert(!nic_ethdev_find(netdev));
    hmap_insert(&ethdevs, &ethdev->node, hash_pointer(netdev, 0));
}

/* Ends the account of a rule that is gone. */
static void
forget_rule(const struct nic_handle *handle, bool *news)
{
    *news |= nic_eswitch_unuse(handle->ethdev->eswitch, handle->context,
                               handle->option, true);
    nic_count_unref(handle->count);
    COVERAGE_INC(nic_rule_destroyed);
}

void
nic_ethdev_remove(struct nic_ethdev *ethdev)
{
    struct stuck_rule *rule;
    struct nic_gate *gate;
    bool news = false;

    /* They go with the port. */
    LIST_FOR_EACH_POP (rule, node, &ethdev->stuck) {
        nic_ethdev_count(&rule->handle);
        forget_rule(&rule->handle, &news);
        free(rule);
    }
    hmap_remove(&ethdevs, &ethdev->node);
    HMAP_FOR_EACH_POP (gate, node, &ethdev->gates) {
        free(gate);
    }
    hmap_destroy(&ethdev->gates);
    ovs_mutex_destroy(&ethdev->mutex);
    free(ethdev->name);
    free(ethdev);
}

struct nic_ethdev *
nic_ethdev_find(const struct netdev *netdev)
{
    struct nic_ethdev *ethdev;

    HMAP_FOR_EACH_WITH_HASH (ethdev, node, hash_pointer(netdev, 0),
                             &ethdevs) {
        if (ethdev->netdev == netdev) {
            return ethdev;
        }
    }
    return NULL;
}

struct nic_ethdev *
nic_ethdev_next(const struct nic_ethdev *ethdev)
{
    struct hmap_node *node = (ethdev ? hmap_next(&ethdevs, &ethdev->node)
                              : hmap_first(&ethdevs));

    return node ? CONTAINER_OF(node, struct nic_ethdev, node) : NULL;
}

void
nic_ethdev_set_port(struct nic_ethdev *ethdev, odp_port_t odp_port)
{
    ovs_mutex_lock(&ethdev->mutex);
    ethdev->odp_port = odp_port;
    ovs_mutex_unlock(&ethdev->mutex);
}

/* Gates. */

static uint32_t
hash_gate(enum nic_group group, const struct in6_addr *dst)
{
    return hash_bytes(dst, sizeof *dst, group);
}

static struct nic_gate *
find_gate(const struct nic_ethdev *ethdev, enum nic_group group,
          const struct in6_addr *dst)
    OVS_REQUIRES(ethdev->mutex)
{
    struct nic_gate *gate;

    HMAP_FOR_EACH_WITH_HASH (gate, node, hash_gate(group, dst),
                             &ethdev->gates) {
        if (gate->group == group && ipv6_addr_equals(&gate->dst, dst)) {
            return gate;
        }
    }
    return NULL;
}

/* What 'rule' is for its gate: 1: rule A, -1: rule B, 0: there is none. */
static int
gate_side(const struct nic_rule *rule, enum nic_group *group)
{
    const struct nic_action *jump = nic_rule_find(rule, NIC_ACTION_JUMP);

    *group = jump ? jump->group : rule->group;
    return jump ? 1 : rule->group != NIC_GROUP_ENTRY ? -1 : 0;
}

/* The length of the headers that packets of rule B have and software would not
 * count, but for a tag.  A rule that drops does not say, and what it does not
 * match is not known. */
static size_t
outer_len(const struct nic_rule *rule)
{
    bool ipv6 = nic_level_eth_type(&rule->match.outer) == ETH_TYPE_IPV6;

    return (rule->header_len ? rule->header_len
            : ETH_HEADER_LEN + (ipv6 ? IPV6_HEADER_LEN : IP_HEADER_LEN)
              + UDP_HEADER_LEN + sizeof(struct genevehdr)
              + rule->match.options_length * 4);
}

/* Adds 'handle' to the gate that it belongs to. */
static void
enter_gate(struct nic_handle *handle, const struct nic_rule *rule, bool *news)
{
    struct nic_ethdev *ethdev = handle->ethdev;
    const struct in6_addr *dst = &rule->match.outer.value.ip_dst;
    enum nic_group group;
    int side = gate_side(rule, &group);
    struct nic_gate *gate;

    if (!side) {
        return;
    }

    ovs_mutex_lock(&ethdev->mutex);
    gate = find_gate(ethdev, group, dst);
    if (!gate) {
        gate = xzalloc(sizeof *gate);
        gate->group = group;
        gate->dst = *dst;
        hmap_insert(&ethdev->gates, &gate->node, hash_gate(group, dst));
    }
    handle->outer = side > 0;
    if (handle->outer) {
        *news |= !gate->n_outer++;
        gate->tagged = rule->match.outer.tags == NIC_TAGS_ONE;
    } else {
        gate->n_inner++;
        handle->header_len = outer_len(rule);
    }
    handle->gate = gate;
    ovs_mutex_unlock(&ethdev->mutex);
}

static void
leave_gate(struct nic_handle *handle, bool *news)
{
    struct nic_ethdev *ethdev = handle->ethdev;
    struct nic_gate *gate = handle->gate;

    if (!gate) {
        return;
    }
    ovs_mutex_lock(&ethdev->mutex);
    if (!handle->outer) {
        gate->n_inner--;
        handle->header_len += gate->tagged ? VLAN_HEADER_LEN : 0;
    } else if (!--gate->n_outer) {
        /* Rules B are of no use any more. */
        *news = true;
    }
    if (!gate->n_inner && !gate->n_outer) {
        hmap_remove(&ethdev->gates, &gate->node);
        free(gate);
    }
    ovs_mutex_unlock(&ethdev->mutex);
    handle->gate = NULL;
}

size_t
nic_ethdev_find_gates(enum nic_group group, const struct in6_addr *dst,
                      odp_port_t ports[], size_t max)
{
    struct nic_ethdev *ethdev;
    size_t n = 0;

    HMAP_FOR_EACH (ethdev, node, &ethdevs) {
        const struct nic_gate *gate;

        ovs_mutex_lock(&ethdev->mutex);
        gate = find_gate(ethdev, group, dst);
        if (gate && gate->n_outer && n < max) {
            ports[n++] = ethdev->odp_port;
        }
        ovs_mutex_unlock(&ethdev->mutex);
    }
    return n;
}

bool
nic_ethdev_is_unused(const struct nic_handle *handle)
{
    bool unused;

    ovs_mutex_lock(&handle->ethdev->mutex);
    unused = handle->gate && !handle->gate->n_inner;
    ovs_mutex_unlock(&handle->ethdev->mutex);
    return unused;
}

/* Rules. */

/* Asks the NIC of 'ethdev' for 'rule'. */
static enum nic_refusal
try_create(struct nic_ethdev *ethdev, struct nic_ethdev *target,
           const struct nic_rule *rule, struct nic_count *count,
           struct nic_handle *handle, bool *news)
{
    struct nic_eswitch *eswitch = ethdev->eswitch;
    bool option = rule->match.option.length > 0;
    struct nic_context *context;
    enum nic_refusal refusal;
    struct rte_flow *flow;
    bool of_action = false;
    int error;

    refusal = nic_eswitch_use(eswitch, rule, &context);
    if (refusal != NIC_OFFLOADABLE) {
        return refusal;
    }

    error = nic_driver_create(ethdev->port_id, rule,
                              target ? target->port_id : 0, &flow,
                              &of_action);
    if (error) {
        COVERAGE_INC(nic_rule_failed);
        refusal = nic_eswitch_judge(eswitch, rule, context, error, of_action);
        nic_eswitch_unuse(eswitch, context, option, false);
        return refusal;
    }
    *handle = (struct nic_handle) {
        .ethdev = ethdev,
        .target = target,
        .flow = flow,
        .context = context,
        .option = option,
        .count = nic_count_ref(count),
    };
    enter_gate(handle, rule, news);
    nic_eswitch_accept(eswitch, rule, context);
    COVERAGE_INC(nic_rule_created);
    return NIC_OFFLOADABLE;
}

enum nic_refusal
nic_ethdev_create(struct nic_ethdev *ethdev, struct nic_ethdev *target,
                  const struct nic_rule *rule, struct nic_count *count,
                  struct nic_handle *handle, bool *news)
{
    struct nic_eswitch *eswitch = ethdev->eswitch;
    struct nic_rule like = *rule;
    enum nic_refusal refusal;

    if (!eswitch) {
        return NIC_FOREIGN_DRIVER;
    }
    if (target && target->eswitch != eswitch) {
        return NIC_CROSS_NIC;
    }
    if (ethdev->gone || (target && target->gone)) {
        return NIC_PORT_STOPPED;
    }
    refusal = try_create(ethdev, target, rule, count, handle, news);
    if (refusal == NIC_CONTEXTS_FULL
        && nic_eswitch_share_header(eswitch, &like)) {
        COVERAGE_INC(nic_header_shared);
        refusal = try_create(ethdev, target, &like, count, handle, news);
    }
    if (refusal != NIC_OFFLOADABLE) {
        nic_eswitch_count_refusal(eswitch, refusal);
    }
    return refusal;
}

bool
nic_ethdev_exceeds_mtu(const struct nic_ethdev *ethdev,
                       const struct nic_ethdev *target,
                       const struct nic_rule *rule)
{
    size_t outer = ETH_HEADER_LEN, inner = ETH_HEADER_LEN;
    uint16_t from, to;
    ovs_be16 type;

    if (!target || !nic_rule_find(rule, NIC_ACTION_ENCAP)
        || nic_driver_get_mtu(ethdev->port_id, &from)
        || nic_driver_get_mtu(target->port_id, &to)) {
        return false;
    }

    /* An MTU counts what follows the Ethernet header and its tag. */
    memcpy(&type, &rule->header[2 * ETH_ADDR_LEN], sizeof type);
    if (eth_type_vlan(type)) {
        outer += VLAN_HEADER_LEN;
    }
    if (nic_rule_find(rule, NIC_ACTION_PUSH_VLAN)
        || (rule->match.outer.tags != NIC_TAGS_NONE
            && !nic_rule_find(rule, NIC_ACTION_POP_VLAN))) {
        inner += VLAN_HEADER_LEN;
    }
    return from + inner + rule->header_len - outer > to;
}

static bool
try_destroy(const struct nic_handle *handle, bool *news)
{
    struct nic_ethdev *ethdev = handle->ethdev;

    if (!ethdev->gone && nic_driver_destroy(ethdev->port_id, handle->flow)) {
        COVERAGE_INC(nic_rule_stuck);
        return false;
    }
    forget_rule(handle, news);
    return true;
}

static void
put_stuck(struct stuck_rule *rule)
{
    struct nic_ethdev *ethdev = rule->handle.ethdev;

    ovs_mutex_lock(&ethdev->mutex);
    rule->until = time_msec() + STUCK_MS;
    ovs_list_push_back(&ethdev->stuck, &rule->node);
    ovs_mutex_unlock(&ethdev->mutex);
}

void
nic_ethdev_destroy(struct nic_handle *handle, bool *news)
{
    bool destroyed;

    nic_ethdev_count(handle);
    destroyed = try_destroy(handle, news);
    leave_gate(handle, news);
    if (!destroyed) {
        struct stuck_rule *rule = xmalloc(sizeof *rule);

        rule->handle = *handle;
        rule->handle.target = NULL;
        put_stuck(rule);
    }
    handle->flow = NULL;
}

/* Moves rules of 'ethdev' that are to be tried now to 'rules'. */
static void
take_stuck(struct nic_ethdev *ethdev, struct ovs_list *rules)
{
    long long int now = time_msec();
    struct stuck_rule *rule;
    int n = 0;

    ovs_mutex_lock(&ethdev->mutex);
    LIST_FOR_EACH_SAFE (rule, node, &ethdev->stuck) {
        if (rule->until > now || n++ == STUCK_BATCH) {
            break;
        }
        ovs_list_remove(&rule->node);
        ovs_list_push_back(rules, &rule->node);
    }
    ovs_mutex_unlock(&ethdev->mutex);
}

void
nic_ethdev_run(bool *news)
{
    struct ovs_list rules = OVS_LIST_INITIALIZER(&rules);
    struct nic_ethdev *ethdev;
    struct stuck_rule *rule;

    HMAP_FOR_EACH (ethdev, node, &ethdevs) {
        take_stuck(ethdev, &rules);
    }
    LIST_FOR_EACH_POP (rule, node, &rules) {
        /* Packets still go by it. */
        nic_ethdev_count(&rule->handle);
        if (try_destroy(&rule->handle, news)) {
            free(rule);
        } else {
            put_stuck(rule);
        }
    }
}
