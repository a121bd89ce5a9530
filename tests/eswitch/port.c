/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#include <config.h>

#include "model.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include <rte_mbuf.h>

/* The calls of rte_ethdev that tell the model when a port starts and ends,
 * and that let it say what the port is. */

#define REAL(FUNCTION) \
    ({ static __typeof__(FUNCTION) *real; \
       if (!real) { \
           real = (__typeof__(FUNCTION) *) dlsym(RTLD_NEXT, #FUNCTION); \
       } \
       real; })

/* Who wants to hear of a reset. */
static struct listener {
    uint16_t port_id;
    rte_eth_dev_cb_fn function;
    void *argument;
} listeners[16];
static unsigned n_listeners;

static const struct port *
uplink_of(const struct eswitch *eswitch)
{
    for (unsigned i = 0; i < model.n_ports; i++) {
        if (model.ports[i].eswitch == eswitch && model.ports[i].uplink) {
            return &model.ports[i];
        }
    }
    return NULL;
}

int
rte_eth_dev_info_get(uint16_t port_id, struct rte_eth_dev_info *info)
{
    int retval = REAL(rte_eth_dev_info_get)(port_id, info);
    struct port *port = retval ? NULL : eswitch_port_find(port_id);

    if (port) {
        const struct port *uplink = uplink_of(port->eswitch);

        info->driver_name = port->eswitch->driver;
        info->switch_info.name = uplink ? uplink->name : port->eswitch->name;
        info->switch_info.domain_id = port->eswitch->domain;
        info->switch_info.port_id = (port->uplink ? UINT16_MAX
                                     : port->pf << 14 | 1 << 12 | port->vf);
        if (!port->uplink && info->dev_flags) {
            port->dev_flags = *info->dev_flags | RTE_ETH_DEV_REPRESENTOR;
            info->dev_flags = &port->dev_flags;
        }
    }
    return retval;
}

/* The counters of mlx5 are those of its queues: what the eSwitch did by itself
 * is not in them. */
int
rte_eth_stats_get(uint16_t port_id, struct rte_eth_stats *stats)
{
    int retval = REAL(rte_eth_stats_get)(port_id, stats);
    struct port *port = retval ? NULL : eswitch_port_find(port_id);

    if (port) {
        stats->ipackets -= (port->n_executed + port->n_dropped
                            - port->old_taken);
        stats->ibytes -= port->taken_bytes - port->old_taken_bytes;
        stats->opackets -= port->n_tx - port->old_tx;
        stats->obytes -= port->tx_bytes - port->old_tx_bytes;
    }
    return retval;
}

/* The driver counts from 0 again. */
static void
forget_traffic(struct port *port)
{
    port->old_taken = port->n_executed + port->n_dropped;
    port->old_taken_bytes = port->taken_bytes;
    port->old_tx = port->n_tx;
    port->old_tx_bytes = port->tx_bytes;
}

static uint16_t
rx_callback(uint16_t port_id, uint16_t queue, struct rte_mbuf **mbufs,
            uint16_t n, uint16_t max, void *port)
{
    (void) port_id;
    (void) queue;
    (void) max;
    return eswitch_receive(port, mbufs, n);
}

static void
remove_callbacks(struct port *port, uint16_t port_id)
{
    for (uint16_t i = 0; i < MAX_QUEUES; i++) {
        if (port->rx_callbacks[i]) {
            /* The memory stays: DPDK does not tell when a poll is over. */
            rte_eth_remove_rx_callback(port_id, i, port->rx_callbacks[i]);
            port->rx_callbacks[i] = NULL;
        }
    }
}

/* Stands in for the driver's function: the program's threads and ours pass
 * through one mutex, since a driver's queue is for one thread. */
static uint16_t
locked_burst(void *queue, struct rte_mbuf **mbufs, uint16_t n)
{
    struct tx_queue *tx = queue;
    uint16_t sent = 0;

    pthread_mutex_lock(&tx->port->tx_mutex);
    if (tx->port->started) {
        sent = tx->port->tx_burst(tx->queue, mbufs, n);
    }
    pthread_mutex_unlock(&tx->port->tx_mutex);
    return sent;
}

static uint16_t
forwarded_prepare(void *queue, struct rte_mbuf **mbufs, uint16_t n)
{
    struct tx_queue *tx = queue;

    return tx->port->tx_prepare(tx->queue, mbufs, n);
}

static void
wrap_transmission(struct port *port, uint16_t n_queues)
{
    struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[port->id];

    for (uint16_t i = 0; i < n_queues; i++) {
        port->tx[i].port = port;
        port->tx[i].queue = ops->txq.data[i];
        port->tx_data[i] = &port->tx[i];
    }
    port->tx_burst = ops->tx_pkt_burst;
    port->tx_prepare = ops->tx_pkt_prepare;
    ops->txq.data = port->tx_data;
    ops->tx_pkt_burst = locked_burst;
    ops->tx_pkt_prepare = port->tx_prepare ? forwarded_prepare : NULL;
    ops->tx_descriptor_status = NULL;
}

uint16_t
eswitch_port_send(struct port *port, struct rte_mbuf **mbufs, uint16_t n)
{
    uint64_t bytes = 0;
    uint16_t sent = 0;

    for (uint16_t i = 0; i < n; i++) {
        bytes += rte_pktmbuf_pkt_len(mbufs[i]);
    }
    pthread_mutex_lock(&port->tx_mutex);
    if (port->started) {
        sent = port->tx_burst(port->tx[0].queue, mbufs, n);
    }
    pthread_mutex_unlock(&port->tx_mutex);
    for (uint16_t i = sent; i < n; i++) {
        bytes -= rte_pktmbuf_pkt_len(mbufs[i]);
    }
    port->n_tx += sent;
    port->tx_bytes += bytes;
    port->n_tx_failed += n - sent;
    for (uint16_t i = sent; i < n; i++) {
        rte_pktmbuf_free(mbufs[i]);
    }
    return sent;
}

int
rte_eth_dev_start(uint16_t port_id)
{
    struct port *port = eswitch_port_find(port_id);
    struct rte_eth_dev_info info;
    int retval;

    if (!port || port->started || rte_eth_dev_info_get(port_id, &info)) {
        return REAL(rte_eth_dev_start)(port_id);
    }
    if (info.nb_rx_queues > MAX_QUEUES || info.nb_tx_queues > MAX_QUEUES) {
        eswitch_die("%s: more than %d queues", port->name, MAX_QUEUES);
    }
    for (uint16_t i = 0; i < info.nb_rx_queues; i++) {
        port->rx_callbacks[i] = rte_eth_add_rx_callback(port_id, i,
                                                        rx_callback, port);
        if (!port->rx_callbacks[i]) {
            eswitch_die("%s: no receive callback", port->name);
        }
    }
    retval = REAL(rte_eth_dev_start)(port_id);
    if (retval) {
        remove_callbacks(port, port_id);
        return retval;
    }
    pthread_mutex_lock(&port->tx_mutex);
    port->id = port_id;
    wrap_transmission(port, info.nb_tx_queues);
    port->started = true;
    pthread_mutex_unlock(&port->tx_mutex);
    eswitch_log(LOG_INFO, "port %u, %s, started: %s of %s", port_id,
                port->name, port->uplink ? "uplink" : "representor",
                port->eswitch->name);
    return 0;
}

/* Nothing is sent through the port any more, and its rules are gone. */
static void
stop(struct port *port, const char *why)
{
    pthread_mutex_lock(&port->tx_mutex);
    port->started = false;
    pthread_mutex_unlock(&port->tx_mutex);
    eswitch_port_flush(port, why);
}

int
rte_eth_dev_stop(uint16_t port_id)
{
    struct port *port = eswitch_port_find(port_id);
    bool started = port && port->started;
    int retval;

    if (started) {
        stop(port, "rte_eth_dev_stop");
    }
    retval = REAL(rte_eth_dev_stop)(port_id);
    if (started) {
        remove_callbacks(port, port_id);
    }
    return retval;
}

int
rte_eth_dev_close(uint16_t port_id)
{
    struct port *port = eswitch_port_find(port_id);

    if (port) {
        stop(port, "rte_eth_dev_close");
        remove_callbacks(port, port_id);
        forget_traffic(port);
        port->id = RTE_MAX_ETHPORTS;
    }
    return REAL(rte_eth_dev_close)(port_id);
}

/* The drivers below the model know no reset; stopping does as much. */
int
rte_eth_dev_reset(uint16_t port_id)
{
    struct port *port = eswitch_port_find(port_id);

    if (!port) {
        return REAL(rte_eth_dev_reset)(port_id);
    }
    stop(port, "rte_eth_dev_reset");
    REAL(rte_eth_dev_stop)(port_id);
    remove_callbacks(port, port_id);
    return 0;
}

int
rte_eth_dev_callback_register(uint16_t port_id, enum rte_eth_event_type event,
                              rte_eth_dev_cb_fn function, void *argument)
{
    if (event == RTE_ETH_EVENT_INTR_RESET
        && n_listeners < RTE_DIM(listeners)) {
        listeners[n_listeners++] = (struct listener) {
            port_id, function, argument,
        };
    }
    return REAL(rte_eth_dev_callback_register)(port_id, event, function,
                                               argument);
}

void
eswitch_port_reset_event(struct port *port, unsigned pause)
{
    uint16_t id = port->id;
    unsigned heard = 0;

    for (unsigned i = 0; i < n_listeners; i++) {
        if (id < RTE_MAX_ETHPORTS && (listeners[i].port_id == RTE_ETH_ALL
                                      || listeners[i].port_id == id)) {
            if (heard++) {
                usleep(pause * 1000);
            }
            listeners[i].function(id, RTE_ETH_EVENT_INTR_RESET,
                                  listeners[i].argument, NULL);
        }
    }
    eswitch_port_flush(port, "reset by the test");
}
