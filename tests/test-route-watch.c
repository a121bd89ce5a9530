/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#undef NDEBUG

#include "route-watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ovstest.h"
#include "ovs-thread.h"
#include "packets.h"
#include "random.h"
#include "route-test.h"
#include "util.h"

/* A random address among few, so that prefixes and addresses meet. */
static struct in6_addr
random_address(bool ipv6)
{
    struct in6_addr addr;

    if (ipv6) {
        memset(&addr, 0, sizeof addr);
        addr.s6_addr[0] = 0x20;
        addr.s6_addr[random_range(2) ? 1 : 7] = random_range(4) << 6;
        addr.s6_addr[15] = random_range(256);
    } else {
        in6_addr_set_mapped_ipv4(&addr, htonl(0x0a000000
                                              | random_range(4) << 22
                                              | random_range(8) << 13
                                              | random_range(256)));
    }
    return addr;
}

/* Compares addresses bit by bit. */
static bool
naive_contains(const struct in6_addr *prefix, int plen,
               const struct in6_addr *addr)
{
    for (int i = 0; i < plen; i++) {
        uint8_t bit = 0x80 >> (i % 8);

        if ((prefix->s6_addr[i / 8] ^ addr->s6_addr[i / 8]) & bit) {
            return false;
        }
    }
    return true;
}

static void
check_twin(int n_steps)
{
    enum { MAX_NOTED = 200 };
    struct in6_addr noted[MAX_NOTED];
    size_t n_noted = 0;

    route_watch_init();
    for (int step = 0; step < n_steps; step++) {
        bool ipv6 = random_range(2);
        struct in6_addr addr = random_address(ipv6);
        int shortest = ipv6 ? 0 : 96;
        int plen = shortest + random_range(129 - shortest);
        bool expected = false;
        size_t i;

        if (!random_range(4) && n_noted < MAX_NOTED) {
            for (i = 0; i < n_noted; i++) {
                if (!memcmp(&noted[i], &addr, sizeof addr)) {
                    break;
                }
            }
            if (i >= n_noted) {
                noted[n_noted++] = addr;
            }
            route_watch_add(&addr);
        }
        for (i = 0; i < n_noted; i++) {
            expected |= (!IN6_IS_ADDR_V4MAPPED(&noted[i]) == ipv6
                         && naive_contains(&addr, plen, &noted[i]));
        }
        if (route_watch_covers(ipv6, &addr, plen) != expected) {
            char s[INET6_ADDRSTRLEN];

            ovs_fatal(0, "step %d: %s/%d (ipv6 %d) should%s be covered",
                      step, ipv6_string_mapped(s, &addr), plen, ipv6,
                      expected ? "" : " not");
        }
        if (route_watch_count() != n_noted) {
            ovs_fatal(0, "step %d: %"PRIuSIZE" destinations, not %"PRIuSIZE,
                      step, route_watch_count(), n_noted);
        }
    }
}

static struct in6_addr
numbered_address(uint32_t i)
{
    struct in6_addr addr;

    in6_addr_set_mapped_ipv4(&addr, htonl(0x0a000000 + i));
    return addr;
}

static void
check_overflow(void)
{
    struct in6_addr addr;

    route_watch_init();
    for (uint32_t i = 0; i < ROUTE_WATCH_MAX; i++) {
        addr = numbered_address(i);
        route_watch_add(&addr);
    }
    ovs_assert(route_watch_count() == ROUTE_WATCH_MAX);
    ovs_assert(!route_watch_overflowed());

    /* Known ones do not count. */
    addr = numbered_address(5);
    route_watch_add(&addr);
    ovs_assert(route_watch_count() == ROUTE_WATCH_MAX);
    ovs_assert(!route_watch_overflowed());

    addr = numbered_address(ROUTE_WATCH_MAX);
    route_watch_add(&addr);
    ovs_assert(route_watch_count() == 1);
    ovs_assert(route_watch_covers(false, &addr, 128));
    addr = numbered_address(5);
    ovs_assert(!route_watch_covers(false, &addr, 128));
    ovs_assert(route_watch_overflowed());
    ovs_assert(!route_watch_overflowed());
}

/* Threads note destinations, of which each checks that it is covered from then
 * on, while the main thread asks all the time. */
enum { N_THREADS = 4, N_PER_THREAD = 5000 };

static void *
noter(void *index_)
{
    uint32_t index = (uintptr_t) index_;

    for (uint32_t i = 0; i < N_PER_THREAD; i++) {
        /* Half of them are shared with the next thread. */
        struct in6_addr addr = numbered_address(index * N_PER_THREAD / 2 + i);

        route_watch_add(&addr);
        if (!(i % 64) && !route_watch_covers(false, &addr, 128)) {
            ovs_fatal(0, "thread %"PRIu32" misses address %"PRIu32, index, i);
        }
    }
    return NULL;
}

static void
check_threads(void)
{
    uint32_t n = (N_THREADS + 1) * N_PER_THREAD / 2;
    struct in6_addr all = numbered_address(0);
    pthread_t threads[N_THREADS];

    route_watch_init();
    for (uintptr_t i = 0; i < N_THREADS; i++) {
        threads[i] = ovs_thread_create("noter", noter, (void *) i);
    }
    while (route_watch_count() < n) {
        bool some = route_watch_count() > 0;

        if (some && !route_watch_covers(false, &all, 104)) {
            ovs_fatal(0, "10.0.0.0/8 is not covered");
        }
    }
    for (int i = 0; i < N_THREADS; i++) {
        xpthread_join(threads[i], NULL);
    }

    ovs_assert(route_watch_count() == n);
    for (uint32_t i = 0; i < n; i++) {
        struct in6_addr addr = numbered_address(i);

        ovs_assert(route_watch_covers(false, &addr, 128));
    }
    ovs_assert(!route_watch_overflowed());
}

/* Usage: test-route-watch [SEED [STEPS]] */
static void
test_route_watch_main(int argc, char *argv[])
{
    route_test_seed(argc > 1 ? argv[1] : NULL);

    for (int round = 0; round < 20; round++) {
        check_twin(argc > 2 ? atoi(argv[2]) : 4000);
    }
    check_overflow();
    check_threads();
}

OVSTEST_REGISTER("test-route-watch", test_route_watch_main);
