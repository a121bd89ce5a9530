/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#undef NDEBUG

#include "neighbor-request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coverage.h"
#include "ovs-atomic.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "ovstest.h"
#include "packets.h"
#include "random.h"
#include "route-test.h"
#include "timeval.h"
#include "util.h"

extern struct coverage_counter counter_neighbor_request_sent;
extern struct coverage_counter counter_neighbor_request_held;

static struct in6_addr
target(uint32_t number)
{
    return in6_addr_mapped_ipv4(htonl(0x0a000000 + number));
}

/* When the last request left, as exactly as the clock tells: 'sooner' or
 * 'later', or between. */
struct last {
    bool any;
    long long int sooner, later;
};

/* Random requests for some seconds, against an array of when each was last
 * sent.  The clock moves between reading it and asking, hence the two. */
static void
check_twin(int ms)
{
    enum { N_DEVS = 3, N_TARGETS = 20 };
    struct last twin[N_DEVS][N_TARGETS] = { { { false, 0, 0 } } };
    long long int end = time_msec() + ms;
    unsigned int sent = 0, held = 0;

    while (time_msec() < end) {
        int dev = random_range(N_DEVS);
        int number = random_range(N_TARGETS);
        struct last *last = &twin[dev][number];
        struct in6_addr ip = target(number);
        char name[16];
        long long int before, after;
        bool due, allowed;

        snprintf(name, sizeof name, "br%d", dev);
        before = time_msec();
        due = neighbor_request_due(name, &ip);
        allowed = neighbor_request_allowed(name, &ip);
        after = time_msec();

        if (allowed
            ? last->any && after - last->sooner < 1000
            : !last->any || before - last->later >= 1000) {
            route_test_fail("%s, target %d: %s, %lld to %lld ms after the "
                            "last", name, number, allowed ? "sent" : "held",
                            before - last->later, after - last->sooner);
        }
        if (due && !allowed) {
            route_test_fail("%s, target %d: due but held", name, number);
        }
        if (allowed) {
            *last = (struct last) { true, before, after };
            sent++;
        } else {
            held++;
        }
        if (!random_range(1000)) {
            xnanosleep(1000 * 1000 * random_range(100));
        }
    }

    ovs_assert(sent > N_DEVS * N_TARGETS && held);
    ovs_assert(counter_neighbor_request_sent.count() == sent);
    ovs_assert(counter_neighbor_request_held.count() == held);
}

/* More targets than are remembered: the last NEIGHBOR_REQUEST_MAX are held,
 * older ones are not. */
static void
check_many(void)
{
    uint32_t n = NEIGHBOR_REQUEST_MAX + 1000;
    long long int start = time_msec();
    struct in6_addr ip;

    for (uint32_t i = 0; i < n; i++) {
        ip = target(1000 + i);
        ovs_assert(neighbor_request_allowed("many", &ip));
    }
    for (uint32_t i = 0; i < n; i++) {
        bool due;

        ip = target(1000 + i);
        due = neighbor_request_due("many", &ip);
        if (time_msec() - start >= NEIGHBOR_REQUEST_INTERVAL_MS) {
            printf("slow machine: stopped after %"PRIu32" targets\n", i);
            return;
        }
        ovs_assert(due == (i < n - NEIGHBOR_REQUEST_MAX));
    }
}

/* Many threads, one target: one of them sends. */

static atomic_count n_allowed = ATOMIC_COUNT_INIT(0);

static void *
ask_often(void *aux OVS_UNUSED)
{
    struct in6_addr ip = target(1);

    for (int i = 0; i < 1000; i++) {
        if (neighbor_request_allowed("threads", &ip)) {
            atomic_count_inc(&n_allowed);
        }
    }
    return NULL;
}

static void
check_threads(void)
{
    enum { N_THREADS = 4 };
    long long int start = time_msec();
    pthread_t threads[N_THREADS];

    for (int i = 0; i < N_THREADS; i++) {
        threads[i] = ovs_thread_create("ask", ask_often, NULL);
    }
    for (int i = 0; i < N_THREADS; i++) {
        xpthread_join(threads[i], NULL);
    }

    /* One for each second begun. */
    ovs_assert(atomic_count_get(&n_allowed) >= 1);
    ovs_assert(atomic_count_get(&n_allowed)
               <= 1 + (time_msec() - start) / NEIGHBOR_REQUEST_INTERVAL_MS);
}

static void
test_neighbor_request_main(int argc, char *argv[])
{
    set_program_name(argv[0]);
    route_test_seed(argc > 1 ? argv[1] : NULL);

    check_twin(3500);
    check_many();
    check_threads();
    ovsrcu_exit();
}

OVSTEST_REGISTER("test-neighbor-request", test_neighbor_request_main);
