/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#undef NDEBUG

#include "nic-rule-ports.h"

#ifdef DPDK_NETDEV

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "nic-rule-packet.h"
#include "ovs-thread.h"
#include "route-test.h"
#include "util.h"

struct nic_ports nic_ports[N_NIC_PORTS];

static struct rte_mempool *pool;

static void
configure(const char *directory)
{
    char *path = xasprintf("%s/product.conf", directory);
    char *log = xasprintf("%s/product.log", directory);
    FILE *file = fopen(path, "w");

    if (!file) {
        route_test_fail("%s: cannot write", path);
    }
    remove(log);
    fprintf(file, "# Made by test-nic-rule-model.\n"
            "log %s\n"
            "eswitch option\n"
            "uplink option net_ring_u0\n"
            "representor option net_ring_r0 vf=0\n"
            "eswitch icmp profile=2\n"
            "uplink icmp net_ring_u1\n"
            "representor icmp net_ring_r1 vf=0\n", log);
    fclose(file);
    setenv("ESWITCH_CONFIG", path, 1);
    free(path);
    free(log);
}

static uint16_t
start(const char *kind, int i)
{
    struct rte_eth_conf conf;
    struct rte_eth_dev_info info;
    char name[32];
    uint16_t id;

    memset(&conf, 0, sizeof conf);
    conf.rxmode.mtu = kind[0] == 'u' ? 9000 : 1500;     /* For headers. */
    snprintf(name, sizeof name, "net_ring_%s%d", kind, i);
    if (rte_eth_dev_get_port_by_name(name, &id)
        || rte_eth_dev_configure(id, 1, 1, &conf)
        || rte_eth_rx_queue_setup(id, 0, 64, 0, NULL, pool)
        || rte_eth_tx_queue_setup(id, 0, 64, 0, NULL)
        || rte_eth_dev_start(id)
        || rte_eth_dev_info_get(id, &info)) {
        route_test_fail("%s: cannot start", name);
    }
    if (strcmp(info.driver_name, "mlx5_pci")) {
        route_test_fail("%s: the eSwitch model is not preloaded", name);
    }
    return id;
}

void
nic_ports_start(const char *directory)
{
    char *arguments[] = {
        "ovstest", "--no-huge", "--no-pci", "-m64", "--no-telemetry",
        "--no-shconf", "-l0", "--log-level=lib.eal:error",
        "--vdev=net_ring_u0", "--vdev=net_ring_r0", "--vdev=net_ring_u1",
        "--vdev=net_ring_r1", NULL
    };

    configure(directory);
    if (rte_eal_init(ARRAY_SIZE(arguments) - 1, arguments) < 0) {
        route_test_fail("DPDK did not start");
    }
    pool = rte_pktmbuf_pool_create("packets", 255, 0, 0, 1536, 0);
    for (int i = 0; i < N_NIC_PORTS; i++) {
        nic_ports[i].uplink = start("u", i);
        nic_ports[i].representor = start("r", i);
    }
}

void
nic_ports_stop(uint16_t port)
{
    ovs_assert(!rte_eth_dev_stop(port));
}

void
nic_ports_restart(uint16_t port)
{
    ovs_assert(!rte_eth_dev_start(port));
}

void
nic_ports_control(const char *command)
{
    char *(*control)(const char *);
    char *answer;

    *(void **) &control = dlsym(RTLD_DEFAULT, "eswitch_control");
    ovs_assert(control);
    answer = control(command);
    if (strcmp(answer, "ok\n")) {
        route_test_fail("%s: %s", command, answer);
    }
    free(answer);
}

struct rte_flow *
nic_ports_create(uint16_t port, const struct rte_flow_attr *attr,
                 const struct rte_flow_item items[],
                 const struct rte_flow_action actions[], const char **reason)
{
    struct rte_flow_error error = { .message = NULL };
    struct rte_flow *flow;

    flow = rte_flow_create(port, attr, items, actions, &error);
    if (!flow) {
        *reason = error.message ? error.message : "no reason given";
    }
    return flow;
}

void
nic_ports_destroy(uint16_t port, struct rte_flow *flow)
{
    struct rte_flow_error error;

    ovs_assert(!rte_flow_destroy(port, flow, &error));
}

struct rte_flow *
nic_ports_create_any(uint16_t port, uint32_t group, uint32_t jump,
                     uint16_t out)
{
    const struct rte_flow_attr attr = { .transfer = 1, .group = group };
    const struct rte_flow_item items[] = {
        { .type = RTE_FLOW_ITEM_TYPE_ETH },
        { .type = RTE_FLOW_ITEM_TYPE_END },
    };
    const struct rte_flow_action_jump to = { .group = group + jump };
    const struct rte_flow_action_ethdev by = { .port_id = out };
    const struct rte_flow_action actions[] = {
        { .type = (jump ? RTE_FLOW_ACTION_TYPE_JUMP
                   : RTE_FLOW_ACTION_TYPE_REPRESENTED_PORT),
          .conf = jump ? (const void *) &to : &by },
        { .type = RTE_FLOW_ACTION_TYPE_END },
    };
    const char *reason;
    struct rte_flow *flow;

    flow = nic_ports_create(port, &attr, items, actions, &reason);
    if (!flow) {
        route_test_fail("a rule for all packets: %s", reason);
    }
    return flow;
}

/* Moves the bytes of 'mbuf' to '*p'. */
static void
take(struct rte_mbuf *mbuf, struct packet *p)
{
    ovs_assert(mbuf->nb_segs == 1 && mbuf->data_len <= sizeof p->data);
    memset(p, 0, sizeof *p);
    p->n = mbuf->data_len;
    memcpy(p->data, rte_pktmbuf_mtod(mbuf, void *), p->n);
    rte_pktmbuf_free(mbuf);
}

bool
nic_ports_pass(uint16_t in, uint16_t out, const struct packet *p,
               struct packet *result)
{
    struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
    struct packet kept;

    ovs_assert(mbuf);
    memcpy(rte_pktmbuf_append(mbuf, p->n), p->data, p->n);
    ovs_assert(rte_eth_tx_burst(in, 0, &mbuf, 1) == 1);
    if (rte_eth_rx_burst(in, 0, &mbuf, 1)) {
        take(mbuf, &kept);
        if (kept.n != p->n || memcmp(kept.data, p->data, p->n)) {
            route_test_fail("a packet that no rule sent has changed");
        }
        return false;
    }
    if (!rte_eth_rx_burst(out, 0, &mbuf, 1)) {
        route_test_fail("a packet is lost");
    }
    take(mbuf, result);
    return true;
}

#endif /* DPDK_NETDEV */
