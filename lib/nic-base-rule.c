/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-base-rule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#ifdef DPDK_NETDEV
#include <rte_errno.h>
#include <rte_flow.h>
#endif

#include "bitmap.h"
#include "coverage.h"
#include "hash.h"
#include "nic-driver.h"
#include "openvswitch/hmap.h"
#include "openvswitch/list.h"
#include "ovs-thread.h"
#include "timeval.h"
#include "util.h"

/* DPDK's ports are numbered with 16 bits. */
static unsigned long suspended[BITMAP_N_LONGS(UINT16_MAX + 1)]
    OVS_GUARDED_BY(nic_ethdev_rwlock);

#ifdef DPDK_NETDEV
COVERAGE_DEFINE(nic_base_rule_cross_nic);
COVERAGE_DEFINE(nic_base_rule_stuck);

enum { STUCK_MS = 1000 };

struct base_rule {
    struct ovs_list node;       /* In 'rules' or 'stuck'. */
    struct hmap_node mark_node; /* In 'marks' unless 'mark' is 0. */
    uint32_t mark;              /* Of packets, or 0. */
    uint16_t port_id;
    long long int until;        /* In 'stuck': not to be tried before. */
    struct rte_flow *flow;      /* NULL: gone.  Changes with
                                 * 'nic_ethdev_rwlock' write-held. */
};

/* Inside 'nic_ethdev_rwlock'. */
static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static struct ovs_list rules OVS_GUARDED_BY(mutex)
    = OVS_LIST_INITIALIZER(&rules);
static struct ovs_list stuck OVS_GUARDED_BY(mutex)
    = OVS_LIST_INITIALIZER(&stuck);     /* By 'until'. */
static struct hmap marks OVS_GUARDED_BY(mutex) = HMAP_INITIALIZER(&marks);

static struct base_rule *
base_rule_cast(struct rte_flow *handle)
{
    return (struct base_rule *) (void *) handle;
}

/* The mark that 'actions' give packets, or 0. */
static uint32_t
get_mark(const struct rte_flow_action *actions)
{
    const struct rte_flow_action *action;

    for (action = actions; action->type != RTE_FLOW_ACTION_TYPE_END;
         action++) {
        if (action->type == RTE_FLOW_ACTION_TYPE_MARK) {
            const struct rte_flow_action_mark *mark = action->conf;

            return mark->id;
        }
    }
    return 0;
}

static struct rte_flow *
add(uint16_t port_id, struct rte_flow *flow, uint32_t mark)
{
    struct base_rule *rule = xmalloc(sizeof *rule);

    rule->port_id = port_id;
    rule->flow = flow;
    rule->mark = mark;
    ovs_mutex_lock(&mutex);
    ovs_list_push_back(&rules, &rule->node);
    if (mark) {
        hmap_insert(&marks, &rule->mark_node, hash_int(mark, 0));
    }
    ovs_mutex_unlock(&mutex);
    return (struct rte_flow *) (void *) rule;
}

/* True if 'action' is output to a port, '*target'. */
static bool
is_output(const struct rte_flow_action *action, uint32_t *target)
{
    if (action->type == RTE_FLOW_ACTION_TYPE_PORT_ID) {
        const struct rte_flow_action_port_id *port_id = action->conf;

        *target = port_id->id;
        return !port_id->original;
    } else if (action->type == RTE_FLOW_ACTION_TYPE_REPRESENTED_PORT) {
        const struct rte_flow_action_ethdev *ethdev = action->conf;

        *target = ethdev->port_id;
        return true;
    }
    return false;
}

static bool
same_eswitch(uint16_t port_id, uint32_t target)
{
    struct nic_driver_info from, to;

    return (target <= UINT16_MAX
            && !nic_driver_get_info(port_id, &from)
            && !nic_driver_get_info(target, &to)
            && !strcmp(from.name, to.name)
            && (strncmp(from.name, "mlx5_", 5) || from.domain == to.domain));
}

/* mlx5 takes the private data of the port that a rule sends packets to for its
 * own, whichever driver that port has (mlx5_port_to_eswitch_info() in DPDK),
 * so it must not be asked. */
static bool
leaves_eswitch(uint16_t port_id, const struct rte_flow_attr *attr,
               const struct rte_flow_action *actions)
{
    const struct rte_flow_action *action;

    for (action = actions; action->type != RTE_FLOW_ACTION_TYPE_END;
         action++) {
        uint32_t target;

        if (attr->transfer && is_output(action, &target)
            && !same_eswitch(port_id, target)) {
            return true;
        }
    }
    return false;
}

struct rte_flow *
nic_base_rule_create(uint16_t port_id, const struct rte_flow_attr *attr,
                     const struct rte_flow_item *items,
                     const struct rte_flow_action *actions,
                     struct rte_flow_error *error)
{
    struct rte_flow *handle = NULL;

    ovs_rwlock_rdlock(&nic_ethdev_rwlock);
    if (bitmap_is_set(suspended, port_id)) {
        rte_flow_error_set(error, ENODEV, RTE_FLOW_ERROR_TYPE_UNSPECIFIED,
                           NULL, "the port is stopped");
    } else if (leaves_eswitch(port_id, attr, actions)) {
        COVERAGE_INC(nic_base_rule_cross_nic);
        rte_flow_error_set(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION, NULL,
                           "the port of the output is not of the same NIC");
    } else {
        struct rte_flow *flow = rte_flow_create(port_id, attr, items, actions,
                                                error);

        if (flow) {
            handle = add(port_id, flow, get_mark(actions));
        }
    }
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
    return handle;
}

/* 'rule' is in no list. */
static void
destroy(struct base_rule *rule)
    OVS_REQ_RDLOCK(nic_ethdev_rwlock)
{
    if (rule->flow && nic_driver_destroy(rule->port_id, rule->flow)) {
        COVERAGE_INC(nic_base_rule_stuck);
        rule->until = time_msec() + STUCK_MS;
        ovs_mutex_lock(&mutex);
        ovs_list_push_back(&stuck, &rule->node);
        ovs_mutex_unlock(&mutex);
    } else {
        if (rule->mark) {
            ovs_mutex_lock(&mutex);
            hmap_remove(&marks, &rule->mark_node);
            ovs_mutex_unlock(&mutex);
        }
        free(rule);
    }
}

int
nic_base_rule_destroy(uint16_t port_id OVS_UNUSED, struct rte_flow *handle,
                      struct rte_flow_error *error OVS_UNUSED)
{
    struct base_rule *rule = base_rule_cast(handle);

    ovs_rwlock_rdlock(&nic_ethdev_rwlock);
    ovs_mutex_lock(&mutex);
    ovs_list_remove(&rule->node);
    ovs_mutex_unlock(&mutex);
    destroy(rule);
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
    return 0;
}

/* Returns a stuck rule that is to be tried, out of its list, or NULL. */
static struct base_rule *
take_stuck(void)
{
    struct base_rule *rule = NULL;

    ovs_mutex_lock(&mutex);
    if (!ovs_list_is_empty(&stuck)) {
        rule = CONTAINER_OF(ovs_list_front(&stuck), struct base_rule, node);
        if (rule->until <= time_msec()) {
            ovs_list_remove(&rule->node);
        } else {
            rule = NULL;
        }
    }
    ovs_mutex_unlock(&mutex);
    return rule;
}

int
nic_base_rule_query(uint16_t port_id, struct rte_flow *handle,
                    const struct rte_flow_action *action, void *data,
                    struct rte_flow_error *error)
{
    struct base_rule *rule = base_rule_cast(handle);
    int retval;

    ovs_rwlock_rdlock(&nic_ethdev_rwlock);
    retval = (rule->flow
              ? rte_flow_query(port_id, rule->flow, action, data, error)
              : rte_flow_error_set(error, ENODEV,
                                   RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
                                   "the port was stopped"));
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
    return retval;
}
#endif

bool
nic_base_rule_has_mark(uint32_t mark OVS_UNUSED)
{
    bool has = false;
#ifdef DPDK_NETDEV
    struct base_rule *rule;

    ovs_rwlock_rdlock(&nic_ethdev_rwlock);
    ovs_mutex_lock(&mutex);
    HMAP_FOR_EACH_WITH_HASH (rule, mark_node, hash_int(mark, 0), &marks) {
        has |= rule->mark == mark && rule->flow;
    }
    ovs_mutex_unlock(&mutex);
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
#endif
    return has;
}

void
nic_base_rule_forget(uint16_t port_id OVS_UNUSED)
{
#ifdef DPDK_NETDEV
    struct base_rule *rule;

    ovs_mutex_lock(&mutex);
    LIST_FOR_EACH (rule, node, &rules) {
        if (rule->port_id == port_id) {
            rule->flow = NULL;
        }
    }
    LIST_FOR_EACH (rule, node, &stuck) {
        if (rule->port_id == port_id) {
            rule->flow = NULL;
        }
    }
    ovs_mutex_unlock(&mutex);
#endif
}

void
nic_base_rule_suspend(uint16_t port_id)
{
    bitmap_set1(suspended, port_id);
    nic_base_rule_forget(port_id);
}

void
nic_base_rule_run(void)
{
#ifdef DPDK_NETDEV
    /* Not all of many at once. */
    for (int i = 0; i < 16; i++) {
        struct base_rule *rule = take_stuck();

        if (!rule) {
            break;
        }
        destroy(rule);
    }
#endif
}

void
nic_base_rule_resume(uint16_t port_id)
{
    bitmap_set0(suspended, port_id);
}
