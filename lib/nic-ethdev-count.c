/* SPDX-License-Identifier: Apache-2.0 */

/* What rules have counted. */

#include <config.h>

#include "nic-ethdev.h"

#include "dpif.h"
#include "nic-count.h"
#include "nic-driver.h"
#include "nic-eswitch.h"
#include "packets.h"
#include "timeval.h"

/* A NIC's counters of packets and bytes may be of different moments. */
static uint64_t
without_headers(uint64_t bytes, uint64_t header_bytes)
{
    return bytes > header_bytes ? bytes - header_bytes : 0;
}

static void
account(struct nic_handle *handle, uint64_t packets, uint64_t bytes)
{
    struct nic_ethdev *ethdev = handle->ethdev;
    struct nic_gate *gate = handle->gate;
    uint64_t header_bytes = packets * handle->header_len;

    if (gate) {
        ovs_mutex_lock(&ethdev->mutex);
        if (!handle->outer) {
            gate->inner_packets += packets;
            gate->inner_bytes += bytes;
            header_bytes += gate->tagged ? packets * VLAN_HEADER_LEN : 0;
        } else {
            gate->outer_packets += packets;
        }
        ovs_mutex_unlock(&ethdev->mutex);
    }
    if (!handle->outer) {
        nic_eswitch_count_traffic(ethdev->eswitch, handle->header_len > 0,
                                  packets,
                                  without_headers(bytes, header_bytes));
    }
    handle->packets += packets;
    handle->bytes += bytes;
    handle->header_bytes += header_bytes;
}

/* A counter that is smaller than it was has begun anew. */
static uint64_t
advance(uint64_t now, uint64_t *last)
{
    uint64_t n = now >= *last ? now - *last : now;

    *last = now;
    return n;
}

/* Returns true if there were packets since the last call. */
static bool
query(struct nic_handle *handle)
    OVS_REQ_RDLOCK(nic_ethdev_rwlock)
{
    struct nic_ethdev *ethdev = handle->ethdev;
    uint64_t packets, bytes;

    if (ethdev->gone || nic_driver_query(ethdev->port_id, handle->flow,
                                         &packets, &bytes)) {
        return false;
    }
    packets = advance(packets, &handle->last_packets);
    bytes = advance(bytes, &handle->last_bytes);
    account(handle, packets, bytes);
    return packets > 0;
}

/* What rule A counts are all packets that it sees, also those for which there
 * is no rule B.  So of what rules B of the gate have done, each rule A gets
 * the share that it has of the packets seen. */
static double
share(const struct nic_handle *handle)
{
    return (handle->gate->outer_packets
            ? (double) handle->packets / handle->gate->outer_packets : 0);
}

/* What a flow of software would have counted for the packets of 'handle' that
 * did not reach software. */
static void
get_stats(const struct nic_handle *handle, uint64_t *packets, uint64_t *bytes)
{
    struct nic_gate *gate = handle->gate;

    if (!handle->outer) {
        *packets = handle->packets;
        *bytes = without_headers(handle->bytes, handle->header_bytes);
    } else if (gate) {
        ovs_mutex_lock(&handle->ethdev->mutex);
        *packets = share(handle) * gate->inner_packets;
        *bytes = share(handle) * gate->inner_bytes;
        ovs_mutex_unlock(&handle->ethdev->mutex);
    } else {
        *packets = *bytes = 0;
    }
}

/* Returns by how much '*highest' has to be raised to 'now'.  The share of a
 * rule A can shrink, a flow's packets cannot. */
static uint64_t
grow(uint64_t now, uint64_t *highest)
{
    uint64_t n = now > *highest ? now - *highest : 0;

    *highest += n;
    return n;
}

void
nic_ethdev_count(struct nic_handle *handle)
{
    struct dpif_flow_stats stats = { .used = 0 };
    uint64_t packets, bytes;

    if (query(handle)) {
        stats.used = time_msec();
    }
    get_stats(handle, &packets, &bytes);
    stats.n_packets = grow(packets, &handle->told_packets);
    stats.n_bytes = grow(bytes, &handle->told_bytes);
    nic_count_add(handle->count, &stats);
}

void
nic_ethdev_add_software(const struct nic_ethdev *ethdev,
                        struct nic_traffic *traffic)
{
    uint64_t packets, bytes;

    if (!nic_driver_get_traffic(ethdev->port_id, &packets, &bytes)) {
        traffic->packets += packets;
        traffic->bytes += bytes;
    }
}
