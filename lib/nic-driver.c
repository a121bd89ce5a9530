/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-driver.h"

#include <errno.h>
#include <stdlib.h>
#ifdef DPDK_NETDEV
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#endif

#include "nic-rule.h"
#include "nic-rule-rte.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/vlog.h"
#include "util.h"

#ifdef DPDK_NETDEV
VLOG_DEFINE_THIS_MODULE(nic_driver);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(12, 12);

int
nic_driver_get_info(uint16_t port_id, struct nic_driver_info *driver)
{
    struct rte_eth_dev_info info;
    int error;

    if (!rte_eth_dev_is_valid_port(port_id)) {
        return ENODEV;
    }
    error = rte_eth_dev_info_get(port_id, &info);
    if (!error) {
        ovs_strlcpy(driver->name, info.driver_name, sizeof driver->name);
        driver->domain = info.switch_info.domain_id;
        driver->switchable
            = driver->domain != RTE_ETH_DEV_SWITCH_DOMAIN_ID_INVALID;
        driver->representor = *info.dev_flags & RTE_ETH_DEV_REPRESENTOR;
    }
    return -error;
}

int
nic_driver_get_mtu(uint16_t port_id, uint16_t *mtu)
{
    return -rte_eth_dev_get_mtu(port_id, mtu);
}

int
nic_driver_get_traffic(uint16_t port_id, uint64_t *packets, uint64_t *bytes)
{
    struct rte_eth_stats stats;
    int error = rte_eth_stats_get(port_id, &stats);

    if (!error) {
        *packets = stats.ipackets + stats.opackets;
        *bytes = stats.ibytes + stats.obytes;
    }
    return -error;
}

/* rte_errno, which must say something. */
static int
last_error(void)
{
    return rte_errno ? rte_errno : EINVAL;
}

static void
log_refusal(uint16_t port_id, const struct nic_rule *rule, int error,
            const char *message)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    if (!VLOG_DROP_INFO(&rl)) {
        nic_rule_format(rule, true, &s);
        VLOG_INFO("DPDK port %"PRIu16": the NIC refused a rule, its flow "
                  "stays in software: %s%s%s (%s)", port_id,
                  ovs_strerror(error),
                  message ? ": " : "", message ? message : "", ds_cstr(&s));
    }
    ds_destroy(&s);
}

int
nic_driver_create(uint16_t port_id, const struct nic_rule *rule,
                  uint16_t out_port_id, struct rte_flow **flow,
                  bool *of_action)
{
    struct nic_rule_rte *rte = nic_rule_to_rte(rule, out_port_id);
    struct rte_flow_error rte_error = { .message = NULL };
    int error = 0;

    rte_errno = 0;
    *flow = rte_flow_create(port_id, &rte->attr, rte->items, rte->actions,
                            &rte_error);
    if (!*flow) {
        error = last_error();
        *of_action = rte_error.type == RTE_FLOW_ERROR_TYPE_ACTION;
        log_refusal(port_id, rule, error, rte_error.message);
    }
    free(rte);
    return error;
}

int
nic_driver_destroy(uint16_t port_id, struct rte_flow *flow)
{
    static struct vlog_rate_limit destroy_rl = VLOG_RATE_LIMIT_INIT(2, 2);
    struct rte_flow_error rte_error = { .message = NULL };
    int error = 0;

    rte_errno = 0;
    if (rte_flow_destroy(port_id, flow, &rte_error)) {
        error = last_error();
        VLOG_WARN_RL(&destroy_rl, "DPDK port %"PRIu16": the NIC did not "
                     "remove a rule, it is tried again: %s%s%s", port_id,
                     ovs_strerror(error),
                     rte_error.message ? ": " : "",
                     rte_error.message ? rte_error.message : "");
    }
    return error;
}

int
nic_driver_query(uint16_t port_id, struct rte_flow *flow, uint64_t *packets,
                 uint64_t *bytes)
{
    const struct rte_flow_action actions[] = {
        { .type = RTE_FLOW_ACTION_TYPE_COUNT },
        { .type = RTE_FLOW_ACTION_TYPE_END },
    };
    struct rte_flow_query_count count = { .reset = 0 };
    struct rte_flow_error rte_error;

    rte_errno = 0;
    if (rte_flow_query(port_id, flow, actions, &count, &rte_error)) {
        return last_error();
    }
    if (!count.hits_set || !count.bytes_set) {
        return ENODATA;
    }
    *packets = count.hits;
    *bytes = count.bytes;
    return 0;
}

#else /* !DPDK_NETDEV */

int
nic_driver_get_info(uint16_t port_id OVS_UNUSED,
                    struct nic_driver_info *driver OVS_UNUSED)
{
    return EOPNOTSUPP;
}

int
nic_driver_get_mtu(uint16_t port_id OVS_UNUSED, uint16_t *mtu OVS_UNUSED)
{
    return EOPNOTSUPP;
}

int
nic_driver_get_traffic(uint16_t port_id OVS_UNUSED,
                       uint64_t *packets OVS_UNUSED,
                       uint64_t *bytes OVS_UNUSED)
{
    return EOPNOTSUPP;
}

int
nic_driver_create(uint16_t port_id OVS_UNUSED,
                  const struct nic_rule *rule OVS_UNUSED,
                  uint16_t out_port_id OVS_UNUSED,
                  struct rte_flow **flow OVS_UNUSED,
                  bool *of_action OVS_UNUSED)
{
    return EOPNOTSUPP;
}

int
nic_driver_destroy(uint16_t port_id OVS_UNUSED,
                   struct rte_flow *flow OVS_UNUSED)
{
    return EOPNOTSUPP;
}

int
nic_driver_query(uint16_t port_id OVS_UNUSED,
                 struct rte_flow *flow OVS_UNUSED,
                 uint64_t *packets OVS_UNUSED, uint64_t *bytes OVS_UNUSED)
{
    return EOPNOTSUPP;
}

#endif /* !DPDK_NETDEV */
