/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-flow-api.h"

#include <errno.h>
#include <string.h>

#include "dpif.h"
#include "netdev-dpdk.h"
#include "netdev-offload-provider.h"
#include "netdev-provider.h"
#include "netdev-vport.h"
#include "netlink.h"
#include "nic-base-flow.h"
#include "nic-base-rule.h"
#include "nic-ethdev.h"
#include "nic-offload.h"
#include "nic-tally.h"
#include "odp-netlink.h"
#include "openvswitch/ofpbuf.h"
#include "util.h"

#ifdef DPDK_NETDEV

/* The base's flow API. */
#define BASE netdev_offload_dpdk

/* Says whether the flow is in a NIC, and counts what that did for it: of the
 * base, which does not tell while it is about to change a rule, nor after the
 * port was stopped. */
static int
base_get(struct netdev *netdev, const ovs_u128 *ufid,
         struct dpif_flow_attrs *attrs)
{
    struct dpif_flow_stats stats = { .used = 0 };
    int error;

    error = BASE.flow_get(netdev, NULL, NULL, ufid, &stats, attrs, NULL);
    if (error || nic_base_flow_is_lost(netdev, ufid)) {
        attrs->offloaded = false;
        attrs->dp_layer = "ovs";
    }
    return nic_base_flow_count(netdev, ufid, &stats) ? 0 : error;
}

static int
base_put(struct netdev *netdev, struct match *match, struct nlattr *actions,
         size_t actions_len, const ovs_u128 *ufid, struct offload_info *info)
{
    struct dpif_flow_attrs attrs;
    int error;

    base_get(netdev, ufid, &attrs);
    error = BASE.flow_put(netdev, match, actions, actions_len, ufid, info,
                          NULL);
    if (!error) {
        nic_base_flow_add(netdev, ufid, actions, actions_len);
    } else {
        nic_base_flow_remove(netdev, ufid);
    }
    return error;
}

static void
base_forget(struct netdev *netdev, const ovs_u128 *ufid)
{
    struct dpif_flow_attrs attrs;

    base_get(netdev, ufid, &attrs);
    if (nic_base_flow_remove(netdev, ufid)) {
        BASE.flow_del(netdev, ufid, NULL);
    }
}

/* Lets the base mark the packets of a flow that no NIC can do as a whole, so
 * that software need not classify them: its second choice, if it cannot make
 * sense of the actions.  So it gets none that make sense: those of a tunnel it
 * would try without knowing which ports are of which NIC. */
static void
base_mark(struct netdev *netdev, struct match *match, const ovs_u128 *ufid,
          struct offload_info *info)
{
    uint64_t stub[NLA_HDRLEN / 8 + 1];
    struct ofpbuf actions;

    if (!netdev_vport_is_vport_class(netdev->netdev_class)) {
        ofpbuf_use_stack(&actions, stub, sizeof stub);
        nl_msg_put_flag(&actions, OVS_ACTION_ATTR_CT_CLEAR);
        base_put(netdev, match, actions.data, actions.size, ufid, info);
    }
}

/* None of these tells what was counted: see nic_count_claim(). */

static int
flow_put(struct netdev *netdev, struct match *match, struct nlattr *actions,
         size_t actions_len, const ovs_u128 *ufid, struct offload_info *info,
         struct dpif_flow_stats *stats OVS_UNUSED)
{
    struct dpif_flow_attrs attrs;

    if (!nic_offload_put(netdev, ufid, match, actions, actions_len,
                         info->orig_in_port)) {
        int error = base_put(netdev, match, actions, actions_len, ufid, info);

        /* A flow that fails is forgotten, with what its NIC has. */
        return nic_offload_get(netdev, ufid, &attrs) ? 0 : error;
    }
    base_forget(netdev, ufid);
    if (nic_offload_get(netdev, ufid, &attrs) && !attrs.offloaded) {
        base_mark(netdev, match, ufid, info);
    }
    return 0;
}

static int
flow_del(struct netdev *netdev, const ovs_u128 *ufid,
         struct dpif_flow_stats *stats)
{
    if (!nic_offload_del(netdev, ufid)) {
        nic_base_flow_remove(netdev, ufid);
        return BASE.flow_del(netdev, ufid, stats);
    }
    base_forget(netdev, ufid);
    return 0;
}

static int
flow_get(struct netdev *netdev, struct match *match OVS_UNUSED,
         struct nlattr **actions OVS_UNUSED, const ovs_u128 *ufid,
         struct dpif_flow_stats *stats, struct dpif_flow_attrs *attrs,
         struct ofpbuf *buf OVS_UNUSED)
{
    memset(stats, 0, sizeof *stats);
    attrs->dp_extra_info = NULL;
    if (!nic_offload_get(netdev, ufid, attrs)) {
        return base_get(netdev, ufid, attrs);
    }
    if (!attrs->offloaded) {
        /* Marked, or no flow of a tunnel any more. */
        base_get(netdev, ufid, attrs);
    }
    return 0;
}

static int
flow_get_n_flows(struct netdev *netdev, uint64_t *n_flows)
{
    BASE.flow_get_n_flows(netdev, n_flows);
    nic_base_flow_subtract_lost(netdev, n_flows);
    nic_tally_get(netdev, n_flows);
    return 0;
}

static bool
is_known_tunnel(const struct netdev *netdev)
{
    const char *type = netdev_get_type(netdev);

    return (!strcmp(netdev_get_dpif_type(netdev), "netdev")
            && (!strcmp(type, "geneve") || !strcmp(type, "vxlan")));
}

static int
init_flow_api(struct netdev *netdev)
{
    int error = BASE.init_flow_api(netdev);
    int port_id = netdev_dpdk_get_port_id(netdev);

    if (is_known_tunnel(netdev)) {
        return 0;
    }
    if (!error && port_id >= 0) {
        ovs_rwlock_wrlock(&nic_ethdev_rwlock);
        nic_ethdev_add(netdev, port_id);
        ovs_rwlock_unlock(&nic_ethdev_rwlock);
    }
    return error;
}

static void
uninit_flow_api(struct netdev *netdev)
{
    int port_id = netdev_dpdk_get_port_id(netdev);

    nic_offload_remove_netdev(netdev);
    nic_base_flow_remove_all(netdev);
    BASE.uninit_flow_api(netdev);
    if (port_id >= 0) {
        ovs_rwlock_wrlock(&nic_ethdev_rwlock);
        nic_base_rule_forget(port_id);
        ovs_rwlock_unlock(&nic_ethdev_rwlock);
    }
}

static int
flow_flush(struct netdev *netdev)
{
    return BASE.flow_flush(netdev);
}

static int
hw_miss_packet_recover(struct netdev *netdev, struct dp_packet *packet)
{
    return BASE.hw_miss_packet_recover(netdev, packet);
}

const struct netdev_flow_api nic_flow_api = {
    .type = "dpdk_flow_api",
    .flow_put = flow_put,
    .flow_del = flow_del,
    .flow_get = flow_get,
    .flow_get_n_flows = flow_get_n_flows,
    .flow_flush = flow_flush,
    .hw_miss_packet_recover = hw_miss_packet_recover,
    .init_flow_api = init_flow_api,
    .uninit_flow_api = uninit_flow_api,
};

#endif /* DPDK_NETDEV */
