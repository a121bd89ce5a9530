/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#undef NDEBUG

#include "neighbor-request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coverage.h"
#include "dummy.h"
#include "encap-conflict.h"
#include "encap-endpoint.h"
#include "netdev.h"
#include "openvswitch/vlog.h"
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

static bool
ask(const char *bridge, const char *dev, const struct in6_addr *ip,
    uint32_t source)
{
    const struct neighbor_question question = {
        .bridge = bridge,
        .dev = dev,
        .target = *ip,
        .source = target(source),
    };

    return neighbor_request_allowed(&question);
}

/* When the last request left, as exactly as the clock tells: 'sooner' or
 * 'later', or between; and the first since the target was last heard. */
struct last {
    bool any;
    long long int sooner, later;
    unsigned int n;
    long long int first_sooner, first_later;
    uint32_t source;
};

enum { N_DEVS = 3, N_TARGETS = 20 };

/* Two devices are on one bridge. */
static const char *const bridges[N_DEVS] = { "sw0", "sw0", "sw1" };

/* All that was asked three times in vain, and nothing else, in order. */
static void
check_silences(const struct last twin[N_DEVS][N_TARGETS])
{
    long long int before = time_msec();
    struct neighbor_silence *silences;
    size_t n, i = 0;

    silences = neighbor_silences(&n);
    for (int dev = 0; dev < N_DEVS; dev++) {
        for (int number = 0; number < N_TARGETS; number++) {
            const struct last *last = &twin[dev][number];
            const struct neighbor_silence *silence = &silences[i];
            struct in6_addr ip = target(number);
            struct in6_addr source = target(last->source);
            char name[16];

            if (last->n < 3) {
                continue;
            }
            snprintf(name, sizeof name, "br%d", dev);
            ovs_assert(i < n);
            ovs_assert(!strcmp(silence->dev, name));
            ovs_assert(!strcmp(silence->bridge, bridges[dev]));
            ovs_assert(ipv6_addr_equals(&silence->target, &ip));
            ovs_assert(ipv6_addr_equals(&silence->source, &source));
            ovs_assert(silence->n == last->n);
            ovs_assert(silence->ms >= before - last->first_later);
            ovs_assert(silence->ms <= time_msec() - last->first_sooner);
            i++;
        }
    }
    ovs_assert(i == n);
    free(silences);
}

/* Random requests for some seconds, against an array of when each was last
 * sent.  The clock moves between reading it and asking, hence the two. */
static void
check_twin(int ms)
{
    struct last twin[N_DEVS][N_TARGETS] = { { { .any = false } } };
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
        allowed = ask(bridges[dev], name, &ip, dev + 7);
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
            last->any = true;
            last->sooner = before;
            last->later = after;
            last->source = dev + 7;
            if (!last->n++) {
                last->first_sooner = before;
                last->first_later = after;
            }
            sent++;
        } else {
            held++;
        }
        if (!random_range(1000)) {
            xnanosleep(1000 * 1000 * random_range(100));
        }

        /* One that is heard, now and then, of the first half. */
        if (number < N_TARGETS / 2 && !random_range(100)) {
            neighbor_confirm(bridges[dev], &ip);
            for (int i = 0; i < N_DEVS; i++) {
                if (!strcmp(bridges[i], bridges[dev])) {
                    twin[i][number].n = 0;
                }
            }
        }
    }
    check_silences((const struct last (*)[N_TARGETS]) twin);

    ovs_assert(sent > N_DEVS * N_TARGETS && held);
    ovs_assert(counter_neighbor_request_sent.count() == sent);
    ovs_assert(counter_neighbor_request_held.count() == held);
}

/* Asks 'n' targets that 'dev' has not asked before, and all of them again;
 * returns how many requests leave then, or -1 if that took so long that an
 * interval may have passed. */
static int
ask_twice(const char *dev, uint32_t n)
{
    long long int start = time_msec();
    int again = 0;

    for (uint32_t i = 0; i < n; i++) {
        struct in6_addr ip = target(1000 + i);

        ovs_assert(ask(dev, dev, &ip, i));
    }
    for (uint32_t i = 0; i < n; i++) {
        struct in6_addr ip = target(1000 + i);

        again += ask(dev, dev, &ip, i);
    }
    return time_msec() - start < NEIGHBOR_REQUEST_INTERVAL_MS ? again : -1;
}

/* As many targets as are remembered are all held, though others were asked
 * before.  Of more, the last NEIGHBOR_REQUEST_MAX are held, older ones are
 * not, and whoever asks all in turn finds each forgotten.  Silences are no
 * more than that, either. */
static void
check_many(void)
{
    uint32_t n = NEIGHBOR_REQUEST_MAX + 1000;
    long long int start = time_msec();
    struct neighbor_silence *silences;
    struct in6_addr ip;
    size_t n_silences;
    bool slow = false;
    int again;

    for (uint32_t i = 0; i < n; i++) {
        ip = target(1000 + i);
        ovs_assert(ask("many", "many", &ip, i));
    }
    for (uint32_t i = 0; i < n && !slow; i++) {
        bool due;

        ip = target(1000 + i);
        due = neighbor_request_due("many", &ip);
        slow = time_msec() - start >= NEIGHBOR_REQUEST_INTERVAL_MS;
        ovs_assert(slow || due == (i < n - NEIGHBOR_REQUEST_MAX));
    }

    again = ask_twice("few", NEIGHBOR_REQUEST_MAX);
    slow |= again < 0;
    ovs_assert(again <= 0);
    again = ask_twice("more", NEIGHBOR_REQUEST_MAX + 1);
    slow |= again < 0;
    ovs_assert(again < 0 || again == NEIGHBOR_REQUEST_MAX + 1);

    silences = neighbor_silences(&n_silences);
    ovs_assert(n_silences <= NEIGHBOR_REQUEST_MAX);
    free(silences);
    if (slow) {
        printf("slow machine: bounds were not checked wholly\n");
    }
}

/* Many threads, one target: one of them sends. */

static atomic_count n_allowed = ATOMIC_COUNT_INIT(0);

static void *
ask_often(void *aux OVS_UNUSED)
{
    struct in6_addr ip = target(1);

    for (int i = 0; i < 1000; i++) {
        if (ask("threads", "threads", &ip, 1)) {
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

/* Claims of endpoints by others. */

/* Publishes 10.0.0.1 on br1 and 10.0.0.2 on br2, both dummies with MACs that
 * end in 1 and 2, 10.0.0.3 on a device of which nothing is known, 10.0.0.4 on
 * a loopback device and 10.0.0.5 nowhere; with those of 'numbers' only. */
static void
publish(const char *numbers)
{
    static const char *const devs[] = { "br1", "br2", "eth7", "lo", "" };
    struct encap_registry *registry = encap_registry_create();

    for (const char *p = numbers; *p; p++) {
        int i = *p - '1';
        const struct in6_addr ip = target(i + 1);
        struct encap_endpoint *endpoint
            = encap_registry_add_endpoint(registry, &ip);

        ovs_strlcpy(endpoint->dev, devs[i], sizeof endpoint->dev);
        endpoint->any_nic = i == 3;
        endpoint->state = i == 4 ? ENCAP_ABSENT : ENCAP_UP;
    }

    /* Neither endpoints' devices: a bridge and the port of one. */
    encap_registry_add_port(registry, "br3", "br3")->internal = true;
    encap_registry_add_port(registry, "v3", "br3");
    encap_registry_finish(registry);
    encap_registry_publish(registry);
    encap_conflict_forget();
}

static struct eth_addr
mac_number(uint8_t number)
{
    return (struct eth_addr) { .ea = { 2, 0, 0, 0, 0, number } };
}

static bool
is_claim(uint32_t ip_number, uint8_t number)
{
    struct in6_addr ip = target(ip_number);

    return encap_conflict_is(&ip, mac_number(number));
}

/* True if the newest claim of the address is that of the MAC. */
static bool
is_newest(uint32_t ip_number, uint8_t number)
{
    struct in6_addr ip = target(ip_number);
    struct encap_conflict conflict;

    return (encap_conflict_get(&ip, &conflict)
            && eth_addr_equals(conflict.mac, mac_number(number)));
}

static void *
claim_often(void *aux OVS_UNUSED)
{
    for (int i = 0; i < 10000; i++) {
        const struct in6_addr ip = target(1 + i % 9);

        encap_conflict_add(&ip, mac_number(99), "br1");
    }
    return NULL;
}

static void
check_claims(void)
{
    static const char *const names[] = { "br1", "br2", "br3", "v3" };
    struct netdev *netdevs[ARRAY_SIZE(names)];
    pthread_t threads[2];

    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    dummy_enable("");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        ovs_assert(!netdev_open(names[i], "dummy-internal", &netdevs[i]));
        ovs_assert(!netdev_set_etheraddr(netdevs[i], mac_number(i + 1)));
    }

    ovs_assert(!is_claim(1, 99));
    publish("12345");
    for (uint32_t ip = 1; ip <= 6; ip++) {
        for (uint8_t mac = 1; mac <= 5; mac++) {
            /* 1, 2 and 3 are ours, a VM's 4 is not. */
            ovs_assert(is_claim(ip, mac) == (ip <= 2 && mac >= 4));
        }
    }

    /* The newest of each, while the endpoint is there. */
    for (uint32_t ip_number = 1; ip_number <= 6; ip_number++) {
        struct in6_addr ip = target(ip_number);

        encap_conflict_add(&ip, mac_number(98), "br1");
        encap_conflict_add(&ip, mac_number(99), "br2");
        ovs_assert(is_newest(ip_number, 99) == (ip_number <= 4));
    }

    /* More hosts than are remembered. */
    for (uint8_t mac = 20; mac < 20 + 3 * ENCAP_CONFLICT_HOSTS; mac++) {
        struct in6_addr ip = target(1);

        encap_conflict_add(&ip, mac_number(mac), "br1");
        ovs_assert(is_newest(1, mac));
        encap_conflict_add(&ip, mac_number(mac - 2), "br1");
        ovs_assert(is_newest(1, mac - 2));
    }
    publish("2345");
    ovs_assert(!is_newest(1, 99) && is_newest(2, 99));
    publish("12345");
    ovs_assert(!is_newest(1, 99) && is_newest(2, 99));

    /* Of an endpoint that goes meanwhile, nothing is left. */
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        threads[i] = ovs_thread_create("claim", claim_often, NULL);
    }
    for (int i = 0; i < 200; i++) {
        publish(i % 2 ? "2" : "12");
    }
    ovs_assert(!is_newest(1, 99));
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        xpthread_join(threads[i], NULL);
    }
    ovs_assert(!is_newest(1, 99) && is_newest(2, 99));
    publish("");
    ovs_assert(!is_newest(2, 99));

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        netdev_close(netdevs[i]);
    }
}

static void
test_neighbor_request_main(int argc, char *argv[])
{
    set_program_name(argv[0]);
    route_test_seed(argc > 1 ? argv[1] : NULL);

    check_twin(3500);
    check_many();
    check_threads();
    check_claims();
    ovsrcu_exit();
}

OVSTEST_REGISTER("test-neighbor-request", test_neighbor_request_main);
