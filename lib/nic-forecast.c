/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-forecast.h"

#include <string.h>

#include "encap-text.h"
#include "nic-driver.h"
#include "nic-eswitch.h"
#include "nic-ethdev.h"
#include "nic-offload.h"
#include "nic-policer.h"
#include "nic-rule.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "util.h"

static const struct nic_ethdev *
find(const char *name)
    OVS_REQ_RDLOCK(nic_ethdev_rwlock)
{
    const struct nic_ethdev *ethdev = NULL;

    while ((ethdev = nic_ethdev_next(ethdev))) {
        if (!strcmp(ethdev->name, name)) {
            break;
        }
    }
    return ethdev;
}

/* Appends "WHY: NAME TEXT". */
static bool
refuse(enum nic_refusal why, const char *name, const char *text,
       struct ds *reason)
{
    ds_put_format(reason, "%s: ", nic_refusal_to_string(why));
    encap_text_put(name, reason);
    ds_put_format(reason, " %s", text);
    return false;
}

static bool
check_port(const struct nic_ethdev *ethdev, const char *name,
           enum nic_port_kind kind, struct ds *reason)
{
    if (ethdev && ethdev->facts.kind == NIC_PORT_FOREIGN) {
        return refuse(NIC_FOREIGN_DRIVER, name, "is of a driver that is not "
                      "known", reason);
    }
    if (!ethdev || ethdev->facts.kind != kind) {
        return refuse(NIC_NO_REPRESENTOR, name, kind == NIC_PORT_UPLINK
                      ? "is not the uplink of an eSwitch, as a DPDK port"
                      : "is not a representor, as a DPDK port", reason);
    }
    return true;
}

/* Neither is for long. */
static bool
check_state(const struct nic_ethdev *ethdev, struct ds *reason)
{
    if (ethdev->gone) {
        return refuse(NIC_PORT_STOPPED, ethdev->name, "is to be reset",
                      reason);
    }
    if (nic_eswitch_is_full(ethdev->eswitch, NIC_TABLE_FULL)) {
        return refuse(NIC_TABLE_FULL, ethdev->name,
                      "has no room for more rules", reason);
    }
    if (nic_eswitch_is_full(ethdev->eswitch, NIC_CONTEXTS_FULL)) {
        return refuse(NIC_CONTEXTS_FULL, ethdev->name,
                      "has room for no outer header but those that it has",
                      reason);
    }
    return true;
}

static bool
check_policers(const char *from, const char *to, struct ds *reason)
{
    if (nic_policer_limits_in(from)) {
        return refuse(NIC_POLICED, from, "has an ingress_policing_rate, which "
                      "software enforces", reason);
    }
    if (nic_policer_limits_out(to)) {
        return refuse(NIC_POLICED, to, "has a QoS, which software enforces",
                      reason);
    }
    return true;
}

static bool
check_mtu(const struct nic_ethdev *from, const struct nic_ethdev *to,
          size_t header_len, struct ds *reason)
{
    uint16_t inner, outer;

    if (!nic_driver_get_mtu(from->port_id, &inner)
        && !nic_driver_get_mtu(to->port_id, &outer)
        && inner + header_len > outer) {
        ds_put_format(reason, "%s: ", nic_refusal_to_string(NIC_MTU));
        encap_text_put(from->name, reason);
        ds_put_format(reason, " has MTU %"PRIu16" and the tunnel adds %"
                      PRIuSIZE", but ", inner, header_len);
        encap_text_put(to->name, reason);
        ds_put_format(reason, " has %"PRIu16, outer);
        return false;
    }
    return true;
}

bool
nic_forecast_encap(const char *from_name, const char *to_name,
                   size_t header_len, struct ds *reason)
{
    const struct nic_ethdev *from, *to;
    bool ok;

    if (!nic_offload_is_enabled()) {
        ds_put_format(reason, "%s: encap-offload is false",
                      nic_refusal_to_string(NIC_SWITCHED_OFF));
        return false;
    }
    ovs_rwlock_rdlock(&nic_ethdev_rwlock);
    from = find(from_name);
    to = find(to_name);
    ok = (check_port(from, from_name, NIC_PORT_REPRESENTOR, reason)
          && check_port(to, to_name, NIC_PORT_UPLINK, reason)
          && check_policers(from_name, to_name, reason)
          && check_mtu(from, to, header_len, reason));
    if (ok && from->eswitch != to->eswitch) {
        ok = refuse(NIC_CROSS_NIC, from_name, "is on another eSwitch", reason);
    }
    ok = ok && check_state(to, reason) && check_state(from, reason);
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
    return ok;
}
