/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#undef NDEBUG

#include "encap-foreign.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ovstest.h"
#include "packets.h"
#include "random.h"
#include "route-test.h"
#include "timeval.h"
#include "util.h"

/* The i'th of different arrivals is at 10.0.0.0 + i / 4, by br0 or br1,
 * refused or taken. */
static struct in6_addr
arrival_ip(uint32_t i)
{
    return in6_addr_mapped_ipv4(htonl(0x0a000000 + i / 4));
}

static void
add(uint32_t i, uint64_t n_packets)
{
    const struct in6_addr ip = arrival_ip(i);

    encap_foreign_add(&ip, i & 2 ? "br1" : "br0", !(i & 1), n_packets);
}

/* Adds at random, and fails unless all that is there then are those that came
 * while there was room, each with all its packets, in order. */
static void
check_at_random(void)
{
    static uint64_t n_packets[2 * ENCAP_FOREIGN_MAX];
    struct encap_foreign *list;
    size_t n_known = 0;
    size_t n, j = 0;

    for (int i = 0; i < 20000; i++) {
        uint32_t k = random_range(ARRAY_SIZE(n_packets));
        uint64_t more = random_range(5) + 1;

        add(k, more);
        if (n_packets[k] || n_known < ENCAP_FOREIGN_MAX) {
            n_known += !n_packets[k];
            n_packets[k] += more;
        }
    }

    list = encap_foreign_list(&n);
    if (n != ENCAP_FOREIGN_MAX || n_known != n) {
        route_test_fail("%"PRIuSIZE" arrivals", n);
    }
    for (uint32_t k = 0; k < ARRAY_SIZE(n_packets); k++) {
        const struct in6_addr ip = arrival_ip(k);

        if (n_packets[k]) {
            ovs_assert(ipv6_addr_equals(&list[j].ip, &ip));
            ovs_assert(!strcmp(list[j].bridge, k & 2 ? "br1" : "br0"));
            ovs_assert(list[j].refused == !(k & 1));
            ovs_assert(list[j].n_packets == n_packets[k]);
            j++;
        }
    }
    ovs_assert(j == n);
    free(list);
}

/* The least time, in microseconds, that some adds take.  (The machine may be
 * busy at one time or other.) */
static long long int
time_of_adds(uint32_t i)
{
    long long int least = LLONG_MAX;

    for (int trial = 0; trial < 10; trial++) {
        long long int start = time_usec();

        for (int j = 0; j < 5000; j++) {
            add(i, 1);
        }
        least = MIN(least, time_usec() - start);
    }
    return least;
}

/* What others there are makes no difference. */
static void
check_cost(void)
{
    long long int alone, among;

    alone = time_of_adds(0);
    for (uint32_t i = 0; i < ENCAP_FOREIGN_MAX; i++) {
        add(4 * i, 1);
    }
    among = time_of_adds(0);
    printf("%lld us alone, %lld us among %d\n", alone, among,
           ENCAP_FOREIGN_MAX);
    if (among > 5 * alone + 100) {
        route_test_fail("others make adding slow");
    }
}

/* One of them in a process: what is there stays. */
static void
test_encap_foreign_main(int argc, char *argv[])
{
    route_test_seed(argc > 2 ? argv[2] : NULL);
    if (argc > 1 && !strcmp(argv[1], "cost")) {
        check_cost();
    } else {
        check_at_random();
    }
}

OVSTEST_REGISTER("test-encap-foreign", test_encap_foreign_main);
