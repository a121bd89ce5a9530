/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#undef NDEBUG

#include "ofproto/tunnel-port.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ovstest.h"
#include "ovs-rcu.h"
#include "random.h"
#include "timeval.h"
#include "util.h"

enum { N_NAMES = 40, N_OFPORTS = 8 };

/* Stands for a port: the index never looks inside. */
static const struct ofport_dpif *
fake_ofport(size_t i)
{
    static char ports[100000];

    ovs_assert(i < sizeof ports);
    return (const struct ofport_dpif *) &ports[i];
}

/* Random changes, compared with a plain matrix of who has which name. */
static void
check_twin(int n_steps)
{
    bool has[N_NAMES][N_OFPORTS] = { { false } };

    for (int step = 0; step < n_steps; step++) {
        int name_index = random_range(N_NAMES);
        int port_index = random_range(N_OFPORTS);
        bool *cell = &has[name_index][port_index];
        char *name = xasprintf("br%d", name_index);
        const struct ofport_dpif *found;
        bool any = false;

        *cell = !random_range(3);
        if (*cell) {
            tunnel_port_set(fake_ofport(port_index), name);
        } else {
            tunnel_port_remove(fake_ofport(port_index), name);
        }

        found = tunnel_port_find(name);
        for (int i = 0; i < N_OFPORTS; i++) {
            any |= has[name_index][i];
            if (found == fake_ofport(i) && !has[name_index][i]) {
                ovs_fatal(0, "step %d: %s leads to port %d, which was removed",
                          step, name, i);
            }
        }
        if (any != (found != NULL)) {
            ovs_fatal(0, "step %d: %s should%s lead to a port", step, name,
                      any ? "" : " not");
        }
        free(name);
    }

    for (int i = 0; i < N_NAMES; i++) {
        char *name = xasprintf("br%d", i);

        for (int j = 0; j < N_OFPORTS; j++) {
            tunnel_port_remove(fake_ofport(j), name);
        }
        ovs_assert(!tunnel_port_find(name));
        free(name);
    }
}

/* The least time, in ns, that one of several rounds took for a lookup among
 * 'n' ports. */
static double
measure(size_t n)
{
    enum { N_ROUNDS = 10, N_LOOKUPS = 20000 };
    double best = 1e9;

    for (size_t i = 0; i < n; i++) {
        char *name = xasprintf("br%"PRIuSIZE, i);
        tunnel_port_set(fake_ofport(i), name);
        free(name);
    }

    for (int round = 0; round < N_ROUNDS; round++) {
        long long start = time_usec();

        for (int i = 0; i < N_LOOKUPS; i++) {
            size_t port = i * 7919ull % n;
            char name[32];

            snprintf(name, sizeof name, "br%"PRIuSIZE, port);
            ovs_assert(tunnel_port_find(name) == fake_ofport(port));
        }
        best = MIN(best, (time_usec() - start) * 1000.0 / N_LOOKUPS);
    }

    for (size_t i = 0; i < n; i++) {
        char *name = xasprintf("br%"PRIuSIZE, i);
        tunnel_port_remove(fake_ofport(i), name);
        free(name);
    }
    return best;
}

/* A walk would make 20,000 ports about 1,000 times as slow as 20; what caches
 * do to a hash table stays far below 30. */
static void
check_flat(void)
{
    double few = measure(20);
    double many = measure(20000);

    if (many > 30 * few) {
        ovs_fatal(0, "a lookup takes %.0f ns with 20 ports but %.0f ns with "
                  "20000", few, many);
    }
}

static void
test_tunnel_port_main(int argc, char *argv[])
{
    unsigned int seed = argc > 1 ? atoi(argv[1]) : time_wall_msec();

    set_program_name(argv[0]);
    printf("seed %u\n", seed);
    random_set_seed(seed ? seed : 1);

    check_twin(20000);
    check_flat();
    ovsrcu_exit();
}

OVSTEST_REGISTER("test-tunnel-port", test_tunnel_port_main);
