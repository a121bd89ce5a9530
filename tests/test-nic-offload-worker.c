/* SPDX-License-Identifier: Apache-2.0 */

/* Checks which flows are tried when, against rules that are as plain as can
 * be: by news all flows once, by time those whose time has come, in its order,
 * and by room those that wait, each at most once and none after one has found
 * the table full.  Time is an argument, so nothing waits.
 *
 *     ovstest test-nic-offload-worker
 */

#include <config.h>

#undef NDEBUG

#include <string.h>

#include "nic-offload-private.h"
#include "ovstest.h"
#include "util.h"

enum { N = 5 };

static struct nic_offload flows[N];

/* Takes the next flow, which must be 'expected', or none for -1, and says that
 * trying it led to 'why'. */
static void
expect(int expected, long long int now, uint64_t news, uint64_t rooms,
       enum nic_refusal why)
{
    struct nic_offload *flow = nic_offload_next(0, now, news, rooms);

    ovs_assert(flow == (expected < 0 ? NULL : &flows[expected]));
    if (flow) {
        nic_offload_settle(flow, why, now);
    }
}

/* News: all flows once, in the order of their last turn. */
static void
check_news(void)
{
    for (int i = 0; i < N; i++) {
        expect(i, 0, 1, 0, NIC_CROSS_NIC);
    }
    expect(-1, 0, 1, 0, 0);
    expect(-1, LLONG_MAX, 1, 0, 0);
    expect(0, 0, 2, 0, NIC_OFFLOADABLE);
    /* More of them before the first are through. */
    for (int i = 1; i < N; i++) {
        expect(i, 0, 3, 0, NIC_OFFLOADABLE);
    }
    expect(0, 0, 3, 0, NIC_OFFLOADABLE);
    expect(-1, 0, 3, 0, 0);
}

/* Time: after 1, 2, 4... 32 s, and from the start after a success. */
static void
check_time(void)
{
    long long int now = 1000000;

    for (int i = 0; i < N; i++) {
        expect(i + 1 < N ? i + 1 : 0, now, 4, 0,
               i == 2 ? NIC_MTU : NIC_CONNTRACK);
    }
    for (int wait = 1000; wait <= 32000; wait *= 2) {
        expect(-1, now + wait - 1, 4, 0, 0);
        now += wait;
        expect(3, now, 4, 0, NIC_MTU);
    }
    expect(-1, now + 31999, 4, 0, 0);
    expect(3, now + 32000, 4, 0, NIC_OFFLOADABLE);
    expect(-1, LLONG_MAX, 4, 0, 0);
}

/* Room: who waits is tried, whatever for, but not again and again. */
static void
check_room(void)
{
    const enum nic_refusal reasons[N] = {
        NIC_MTU, NIC_TABLE_FULL, NIC_TABLE_FULL, NIC_NIC_REFUSED, NIC_CONNTRACK
    };
    int order[N], n = 0;
    struct nic_offload *flow;

    while ((flow = nic_offload_next(0, 0, 5, 0))) {
        order[n] = flow - flows;
        nic_offload_settle(flow, reasons[n], n);
        n++;
    }
    ovs_assert(n == N);

    /* Nobody finds room: the first two, of which the second is disappointed,
     * and no more before the next room. */
    expect(order[0], 10, 5, 1, NIC_MTU);
    expect(order[1], 11, 5, 1, NIC_TABLE_FULL);
    expect(-1, 11, 5, 1, 0);

    /* There is some: four wait, and four are tried. */
    expect(order[2], 20, 5, 2, NIC_OFFLOADABLE);
    expect(order[3], 21, 5, 2, NIC_NIC_REFUSED);
    expect(order[0], 22, 5, 2, NIC_MTU);
    expect(order[1], 23, 5, 2, NIC_OFFLOADABLE);
    expect(-1, 23, 5, 2, 0);
}

static void
test_nic_offload_worker(int argc OVS_UNUSED, char *argv[] OVS_UNUSED)
{
    nic_offload_workers_init();
    ovs_rwlock_rdlock(&nic_ethdev_rwlock);
    for (int i = 0; i < N; i++) {
        nic_offload_enqueue(&flows[i]);
    }
    check_news();
    check_time();
    check_room();
    for (int i = 0; i < N; i++) {
        nic_offload_dequeue(&flows[i]);
    }
    expect(-1, LLONG_MAX, 6, 3, 0);
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
}

OVSTEST_REGISTER("test-nic-offload-worker", test_nic_offload_worker);
