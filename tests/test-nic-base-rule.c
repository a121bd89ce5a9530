/* SPDX-License-Identifier: Apache-2.0 */

/* Checks the handles that the base has of its rules, against a plain list, on
 * the eSwitch model (tests/eswitch), which is preloaded and writes "ERROR" to
 * its log if it gets a handle that is no rule's any more.
 *
 *     LD_PRELOAD=libeswitch.so ovstest test-nic-base-rule DIRECTORY [SEED]
 */

#include <config.h>

#undef NDEBUG

#include "nic-base-rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ovstest.h"
#include "util.h"

#ifdef DPDK_NETDEV

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#include "nic-rule-ports.h"
#include "random.h"
#include "route-test.h"

enum { N_PORTS = 2, MAX_RULES = 50 };

struct handle {
    struct rte_flow *flow;
    int port;
    bool alive;                 /* Its port was not stopped since. */
};

static struct handle handles[MAX_RULES];
static size_t n_handles;
static bool stopped[N_PORTS];

static uint16_t
port_id(int port)
{
    return port ? nic_ports[0].representor : nic_ports[0].uplink;
}

static void
create(int port)
{
    const struct rte_flow_attr attr = { .transfer = 1 };
    const struct rte_flow_item items[] = {
        { .type = RTE_FLOW_ITEM_TYPE_ETH },
        { .type = RTE_FLOW_ITEM_TYPE_END },
    };
    const struct rte_flow_action actions[] = {
        { .type = RTE_FLOW_ACTION_TYPE_COUNT },
        { .type = RTE_FLOW_ACTION_TYPE_DROP },
        { .type = RTE_FLOW_ACTION_TYPE_END },
    };
    struct rte_flow_error error;
    struct rte_flow *flow;

    flow = nic_base_rule_create(port_id(port), &attr, items, actions, &error);
    if (stopped[port]) {
        ovs_assert(!flow && rte_errno == ENODEV);
    } else {
        ovs_assert(flow);
        handles[n_handles++] = (struct handle) { flow, port, true };
    }
}

/* Asks for a rule on the uplink of the first NIC with 'action' alone. */
static bool
takes_output(enum rte_flow_action_type type, const void *conf)
{
    const struct rte_flow_attr attr = { .transfer = 1 };
    const struct rte_flow_item items[] = {
        { .type = RTE_FLOW_ITEM_TYPE_ETH },
        { .type = RTE_FLOW_ITEM_TYPE_END },
    };
    const struct rte_flow_action actions[] = {
        { .type = type, .conf = conf },
        { .type = RTE_FLOW_ACTION_TYPE_END },
    };
    struct rte_flow_error error;
    struct rte_flow *flow;

    flow = nic_base_rule_create(port_id(0), &attr, items, actions, &error);
    if (flow) {
        ovs_assert(!nic_base_rule_destroy(port_id(0), flow, &error));
    } else {
        ovs_assert(rte_errno == EINVAL);
        ovs_assert(error.type == RTE_FLOW_ERROR_TYPE_ACTION);
    }
    return flow != NULL;
}

/* Output is to ports of the same NIC only. */
static void
check_outputs(void)
{
    const uint32_t own = nic_ports[0].representor;
    const uint32_t others[] = {
        nic_ports[1].representor, nic_ports[1].uplink,
        RTE_MAX_ETHPORTS - 1,                   /* No port. */
        own + UINT16_MAX + 1,
    };

    for (size_t i = 0; i <= ARRAY_SIZE(others); i++) {
        uint32_t id = i ? others[i - 1] : own;
        const struct rte_flow_action_port_id port = { .id = id };
        const struct rte_flow_action_ethdev ethdev = { .port_id = id };

        ovs_assert(takes_output(RTE_FLOW_ACTION_TYPE_PORT_ID, &port)
                   == !i);
        if (id <= UINT16_MAX) {
            ovs_assert(takes_output(RTE_FLOW_ACTION_TYPE_REPRESENTED_PORT,
                                    &ethdev) == !i);
        }
    }
}

static void
query(const struct handle *handle)
{
    const struct rte_flow_action actions[] = {
        { .type = RTE_FLOW_ACTION_TYPE_COUNT },
        { .type = RTE_FLOW_ACTION_TYPE_END },
    };
    struct rte_flow_query_count count = { .reset = 0 };
    struct rte_flow_error error;
    int retval = nic_base_rule_query(port_id(handle->port), handle->flow,
                                     actions, &count, &error);

    ovs_assert(retval == (handle->alive ? 0 : -ENODEV));
}

static void
destroy(struct handle *handle)
{
    struct rte_flow_error error;

    ovs_assert(!nic_base_rule_destroy(port_id(handle->port), handle->flow,
                                      &error));
    *handle = handles[--n_handles];
}

static void
stop(int port)
{
    ovs_rwlock_wrlock(&nic_ethdev_rwlock);
    nic_base_rule_suspend(port_id(port));
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
    nic_ports_stop(port_id(port));
    stopped[port] = true;
    for (size_t i = 0; i < n_handles; i++) {
        handles[i].alive &= handles[i].port != port;
    }
}

static void
restart(int port)
{
    nic_ports_restart(port_id(port));
    ovs_rwlock_wrlock(&nic_ethdev_rwlock);
    nic_base_rule_resume(port_id(port));
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
    stopped[port] = false;
}

static void
do_something(void)
{
    int port = random_range(N_PORTS);

    if (random_range(50) == 0) {
        (stopped[port] ? restart : stop)(port);
    } else if (n_handles < MAX_RULES && random_range(n_handles + 5) < 5) {
        create(port);
    } else if (n_handles) {
        struct handle *handle = &handles[random_range(n_handles)];

        query(handle);
        if (random_range(2)) {
            destroy(handle);
        }
    }
}

static void
test_nic_base_rule(int argc, char *argv[])
{
    if (argc < 2) {
        ovs_fatal(0, "usage: test-nic-base-rule DIRECTORY [SEED]");
    }
    route_test_seed(argc > 2 ? argv[2] : NULL);
    nic_ports_start(argv[1]);
    check_outputs();
    for (int i = 0; i < 30000; i++) {
        do_something();
    }
    while (n_handles) {
        destroy(handles);
    }
    puts("test-nic-base-rule: 1 passed, 0 failed, 0 skipped");
}

#else /* !DPDK_NETDEV */

static void
test_nic_base_rule(int argc OVS_UNUSED, char *argv[] OVS_UNUSED)
{
    puts("test-nic-base-rule: 0 passed, 0 failed, 1 skipped");
}

#endif /* !DPDK_NETDEV */

OVSTEST_REGISTER("test-nic-base-rule", test_nic_base_rule);
