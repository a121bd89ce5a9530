/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-base-rule.h"

#include <stdlib.h>

#include "hash.h"
#include "openvswitch/hmap.h"
#include "ovs-thread.h"
#include "util.h"

struct base_rule {
    struct hmap_node node;      /* In 'rules', by 'rule' and 'port_id'. */
    const struct rte_flow *rule;
    uint16_t port_id;
};

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static struct hmap rules OVS_GUARDED_BY(mutex) = HMAP_INITIALIZER(&rules);

static struct base_rule *
find(uint16_t port_id, const struct rte_flow *rule)
    OVS_REQUIRES(mutex)
{
    struct base_rule *base_rule;

    HMAP_FOR_EACH_WITH_HASH (base_rule, node, hash_pointer(rule, port_id),
                             &rules) {
        if (base_rule->rule == rule && base_rule->port_id == port_id) {
            return base_rule;
        }
    }
    return NULL;
}

static void
forget(struct base_rule *base_rule)
    OVS_REQUIRES(mutex)
{
    hmap_remove(&rules, &base_rule->node);
    free(base_rule);
}

void
nic_base_rule_add(uint16_t port_id, const struct rte_flow *rule)
{
    struct base_rule *base_rule;

    if (rule) {
        base_rule = xmalloc(sizeof *base_rule);
        base_rule->rule = rule;
        base_rule->port_id = port_id;
        ovs_mutex_lock(&mutex);
        hmap_insert(&rules, &base_rule->node, hash_pointer(rule, port_id));
        ovs_mutex_unlock(&mutex);
    }
}

bool
nic_base_rule_exists(uint16_t port_id, const struct rte_flow *rule)
{
    bool exists;

    ovs_mutex_lock(&mutex);
    exists = find(port_id, rule) != NULL;
    ovs_mutex_unlock(&mutex);
    return exists;
}

bool
nic_base_rule_remove(uint16_t port_id, const struct rte_flow *rule)
{
    struct base_rule *base_rule;

    ovs_mutex_lock(&mutex);
    base_rule = find(port_id, rule);
    if (base_rule) {
        forget(base_rule);
    }
    ovs_mutex_unlock(&mutex);
    return base_rule != NULL;
}

void
nic_base_rule_remove_all(uint16_t port_id)
{
    struct base_rule *base_rule;

    ovs_mutex_lock(&mutex);
    HMAP_FOR_EACH_SAFE (base_rule, node, &rules) {
        if (base_rule->port_id == port_id) {
            forget(base_rule);
        }
    }
    ovs_mutex_unlock(&mutex);
}
