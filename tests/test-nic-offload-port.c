/* SPDX-License-Identifier: Apache-2.0 */

/* Takes a port away while the offload thread waits for the NIC to insert a
 * rule that leads to it, on the eSwitch model (tests/eswitch), which is
 * preloaded: of the flow it must be known at once why it has no rule.
 *
 *     LD_PRELOAD=libeswitch.so ovstest test-nic-offload-port DIRECTORY
 */

#include <config.h>

#undef NDEBUG

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ovstest.h"
#include "util.h"

#ifdef DPDK_NETDEV

#include "dpif.h"
#include "dummy.h"
#include "netdev.h"
#include "netdev-offload.h"
#include "nic-ethdev.h"
#include "nic-offload.h"
#include "nic-rule-cases.h"
#include "nic-rule-ports.h"
#include "nic-rule-scene.h"
#include "odp-util.h"
#include "ovs-thread.h"
#include "route-test.h"

static struct netdev *
add_port(const char *name, uint32_t odp_port, uint16_t port_id)
{
    struct dpif_port port = {
        .name = CONST_CAST(char *, name),
        .type = CONST_CAST(char *, "dummy"),
        .port_no = u32_to_odp(odp_port),
    };
    struct netdev *netdev;

    ovs_assert(!netdev_open(name, "dummy", &netdev));
    netdev_set_dpif_type(netdev, "netdev");
    netdev_ports_insert(netdev, &port);
    ovs_rwlock_wrlock(&nic_ethdev_rwlock);
    nic_ethdev_add(netdev, port_id);
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
    return netdev;
}

static void
put(struct netdev *netdev, uint32_t id)
{
    const ovs_u128 ufid = { .u32 = { id } };
    struct nic_scene_flow scene;

    nic_scene_flow_init(&scene, nic_header_flow, nic_header_cases[0].actions,
                        1);
    ovs_assert(nic_offload_put(netdev, &ufid, &scene.match,
                               scene.actions.data, scene.actions.size,
                               ODPP_NONE));
    nic_scene_flow_uninit(&scene);
}

static void *
put_two(void *netdev)
{
    put(netdev, 1);
    nic_ports_control("slow-create 60");
    put(netdev, 2);
    return NULL;
}

/* Until a thread has kept the lock for some time: it asks the NIC. */
static void
wait_for_request(void)
{
    int n = 0;

    while (n < 20) {
        if (ovs_rwlock_trywrlock(&nic_ethdev_rwlock)) {
            n++;
        } else {
            ovs_rwlock_unlock(&nic_ethdev_rwlock);
            n = 0;
        }
        usleep(1000);
    }
}

static void
see(unsigned int eswitch OVS_UNUSED, enum nic_refusal why,
    const char *detail OVS_UNUSED, void *n_)
{
    int *n = n_;

    ovs_assert(why == NIC_PORT_STOPPED);
    ++*n;
}

static void
test_nic_offload_port(int argc, char *argv[])
{
    struct netdev *uplink, *representor;
    pthread_t thread;
    int n = 0;

    if (argc < 2) {
        ovs_fatal(0, "usage: test-nic-offload-port DIRECTORY");
    }
    nic_ports_start(argv[1]);
    netdev_dummy_register(DUMMY_OVERRIDE_NONE);
    uplink = add_port("uplink", 1, nic_ports[0].uplink);
    representor = add_port("representor", 11, nic_ports[0].representor);

    thread = ovs_thread_create("hw_offload", put_two, representor);
    wait_for_request();
    nic_offload_suspend(uplink, nic_ports[0].uplink);
    xpthread_join(thread, NULL);
    nic_offload_for_each(see, &n);
    if (n != 2) {
        route_test_fail("%d of 2 flows have a reason", n);
    }
    puts("test-nic-offload-port: 1 passed, 0 failed, 0 skipped");
}

#else /* !DPDK_NETDEV */

static void
test_nic_offload_port(int argc OVS_UNUSED, char *argv[] OVS_UNUSED)
{
    puts("test-nic-offload-port: 0 passed, 0 failed, 1 skipped");
}

#endif /* !DPDK_NETDEV */

OVSTEST_REGISTER("test-nic-offload-port", test_nic_offload_port);
