/* SPDX-License-Identifier: Apache-2.0 */

/* Checks what offload keeps account of, without a NIC: random uses against
 * plain lists, and the time for which a NIC is taken to be full.
 *
 *     ovstest test-nic-offload eswitch [SEED]
 *     ovstest test-nic-offload tally [SEED]
 *     ovstest test-nic-offload full
 */

#include <config.h>

#undef NDEBUG

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dummy.h"
#include "jsonrpc.h"
#include "latch.h"
#include "netdev-offload.h"
#include "nic-eswitch.h"
#include "nic-rule.h"
#include "nic-tally.h"
#include "openvswitch/poll-loop.h"
#include "ovs-thread.h"
#include "ovstest.h"
#include "random.h"
#include "route-test.h"
#include "smap.h"
#include "timeval.h"
#include "unixctl.h"
#include "util.h"

/* Rules that are in use, of few different headers and options. */

enum { N_HEADERS = 6, N_TUPLES = 3, MAX_RULES = 40 };

struct used {
    struct nic_context *context;
    int header;                 /* Of encap, -1: none. */
    int tuple;                  /* Of the option, -1: none. */
};

static void
make_rule(struct nic_rule *rule, int header, int tuple)
{
    nic_rule_init(rule, u32_to_odp(1), NIC_GROUP_ENTRY);
    if (header >= 0) {
        nic_rule_put(rule, NIC_ACTION_ENCAP);
        /* Of two lengths, one a part of the other. */
        rule->header_len = header % 2 ? 58 : 62;
        rule->header[20] = header / 2;
    } else {
        /* A header that is removed is none that is put before packets. */
        nic_rule_put(rule, NIC_ACTION_DECAP);
        rule->header_len = 58;
    }
    if (tuple >= 0) {
        struct nic_option *option = &rule->match.option;

        option->class = htons(tuple == 1 ? 0x103 : 0x102);
        option->type = tuple == 2 ? 0x81 : 0x80;
        option->length = 1;
        option->data = option->mask = htonl(1 + random_range(5));
    }
}

static void
check_account(struct nic_eswitch *eswitch, const struct used used[], size_t n)
{
    bool headers[N_HEADERS] = { false };
    size_t n_contexts = 0, n_options = 0;

    for (size_t i = 0; i < n; i++) {
        if (used[i].header >= 0 && !headers[used[i].header]) {
            headers[used[i].header] = true;
            n_contexts++;
        }
        n_options += used[i].tuple >= 0;
    }
    ovs_mutex_lock(&eswitch->mutex);
    ovs_assert(eswitch->n_rules == n);
    ovs_assert(hmap_count(&eswitch->contexts) == n_contexts);
    ovs_assert(eswitch->n_option_rules == n_options);
    ovs_mutex_unlock(&eswitch->mutex);
}

static int
current_tuple(const struct used used[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (used[i].tuple >= 0) {
            return used[i].tuple;
        }
    }
    return -1;
}

/* Two rules share a context exactly if their headers are the same. */
static void
check_shared(const struct used used[], size_t n, const struct used *new)
{
    for (size_t i = 0; i < n; i++) {
        ovs_assert(new->header < 0
                   || ((used[i].context == new->context)
                       == (used[i].header == new->header)));
    }
}

static void
use(struct nic_eswitch *eswitch, struct used used[], size_t *n)
{
    struct used new = {
        .header = (int) random_range(N_HEADERS + 1) - 1,
        .tuple = (random_range(2) ? -1 : (int) random_range(N_TUPLES)),
    };
    int tuple = current_tuple(used, *n);
    enum nic_refusal refusal;
    struct nic_rule rule;

    make_rule(&rule, new.header, new.tuple);
    refusal = nic_eswitch_use(eswitch, &rule, &new.context);
    if (new.tuple >= 0 && tuple >= 0 && new.tuple != tuple) {
        ovs_assert(refusal == NIC_SECOND_OPTION_TUPLE);
    } else {
        ovs_assert(refusal == NIC_OFFLOADABLE);
        ovs_assert((new.context != NULL) == (new.header >= 0));
        check_shared(used, *n, &new);
        used[(*n)++] = new;
    }
}

/* A rule is refused by the NIC, or goes; only the latter can make room. */
static void
unuse(struct nic_eswitch *eswitch, struct used used[], size_t *n, size_t i)
{
    struct used old = used[i];
    bool freed;

    used[i] = used[--*n];
    freed = nic_eswitch_unuse(eswitch, old.context, old.tuple >= 0,
                              random_range(2));
    ovs_assert(freed == (old.tuple >= 0 && current_tuple(used, *n) < 0));
}

static void
check_names(void)
{
    struct nic_eswitch *a = nic_eswitch_get("mlx5_pci", 2);
    struct nic_eswitch *b = nic_eswitch_get("mlx5_pci", 3);
    struct nic_eswitch *c = nic_eswitch_get("mlx5_auxiliary", 2);

    ovs_assert(a == nic_eswitch_get("mlx5_pci", 2));
    ovs_assert(a != b && a != c && b != c);
    ovs_assert(a->id && b->id && c->id);
    ovs_assert(a->id != b->id && a->id != c->id && b->id != c->id);
    ovs_assert(!strcmp(a->name, "mlx5_pci domain 2"));
    ovs_assert(nic_eswitch_last() == c && c->next == b && b->next == a);
}

static void
check_sums(void)
{
    struct nic_eswitch *eswitch = nic_eswitch_get("mlx5_pci", 2);

    nic_eswitch_count_traffic(eswitch, false, 2, 100);
    nic_eswitch_count_traffic(eswitch, true, 3, 300);
    nic_eswitch_count_traffic(eswitch, false, 5, 500);
    nic_eswitch_count_refusal(eswitch, NIC_MTU);
    nic_eswitch_count_refusal(eswitch, NIC_MTU);
    ovs_mutex_lock(&eswitch->mutex);
    ovs_assert(eswitch->encap.packets == 7 && eswitch->encap.bytes == 600);
    ovs_assert(eswitch->decap.packets == 3 && eswitch->decap.bytes == 300);
    ovs_assert(eswitch->n_refused[NIC_MTU] == 2);
    ovs_assert(eswitch->n_refused[NIC_TABLE_FULL] == 0);
    ovs_mutex_unlock(&eswitch->mutex);
}

static void
check_eswitch(const char *seed)
{
    struct used used[2][MAX_RULES];
    size_t n[2] = { 0, 0 };

    route_test_seed(seed);
    check_names();
    check_sums();
    for (int i = 0; i < 100000; i++) {
        int which = random_range(2);        /* NICs share nothing. */
        struct nic_eswitch *eswitch = nic_eswitch_get("mlx5_pci", 2 + which);

        if (n[which] < MAX_RULES && random_range(n[which] + 4) < 4) {
            use(eswitch, used[which], &n[which]);
        } else if (n[which]) {
            unuse(eswitch, used[which], &n[which], random_range(n[which]));
        }
        check_account(eswitch, used[which], n[which]);
    }
    for (int i = 0; i < 2; i++) {
        struct nic_eswitch *eswitch = nic_eswitch_get("mlx5_pci", 2 + i);

        while (n[i]) {
            unuse(eswitch, used[i], &n[i], 0);
        }
        check_account(eswitch, used[i], 0);
    }
}

/* A full NIC.  Time passes when the test says so. */

static struct latch done;

static void *
serve(void *server)
{
    while (!latch_is_set(&done)) {
        unixctl_server_run(server);
        unixctl_server_wait(server);
        latch_wait(&done);
        poll_block();
    }
    return NULL;
}

static void
command(const char *path, const char *name, char *argument)
{
    struct jsonrpc *client;
    char *result, *error;

    ovs_assert(!unixctl_client_create(path, &client));
    ovs_assert(!unixctl_client_transact(client, name, argument != NULL,
                                        &argument, &result, &error));
    ovs_assert(!error);
    free(result);
    jsonrpc_close(client);
}

static enum nic_refusal
try(struct nic_eswitch *eswitch, struct nic_context **context)
{
    struct nic_rule rule;

    make_rule(&rule, 0, 0);
    return nic_eswitch_use(eswitch, &rule, context);
}

static void
accepted(struct nic_eswitch *eswitch, int header, int tuple,
         struct nic_context *context)
{
    struct nic_rule rule;

    make_rule(&rule, header, tuple);
    nic_eswitch_accept(eswitch, &rule, context);
}

static void
check_full_periods(const char *path)
{
    struct nic_eswitch *eswitch = nic_eswitch_get("mlx5_pci", 7);
    struct nic_eswitch *other = nic_eswitch_get("mlx5_pci", 8);
    struct nic_context *first, *second, *ignored;
    uint64_t rooms;

    ovs_assert(try(eswitch, &first) == NIC_OFFLOADABLE);
    ovs_assert(try(eswitch, &second) == NIC_OFFLOADABLE);
    ovs_assert(first == second);

    /* It ends by time. */
    nic_eswitch_set_full(eswitch, NIC_TABLE_FULL);
    ovs_assert(try(eswitch, &ignored) == NIC_TABLE_FULL && !ignored);
    ovs_assert(try(other, &ignored) == NIC_OFFLOADABLE);
    command(path, "time/warp", "999");
    ovs_assert(try(eswitch, &ignored) == NIC_TABLE_FULL);
    command(path, "time/warp", "1");
    ovs_assert(try(eswitch, &second) == NIC_OFFLOADABLE);

    /* Or when a rule goes, but not when one is refused. */
    rooms = nic_eswitch_rooms();
    nic_eswitch_set_full(eswitch, NIC_TABLE_FULL);
    ovs_assert(try(eswitch, &ignored) == NIC_TABLE_FULL);
    ovs_assert(!nic_eswitch_unuse(eswitch, second, true, false));
    ovs_assert(try(eswitch, &ignored) == NIC_TABLE_FULL);
    ovs_assert(nic_eswitch_rooms() == rooms);
    ovs_assert(!nic_eswitch_unuse(eswitch, first, true, true));
    ovs_assert(nic_eswitch_rooms() == rooms + 1);
    ovs_assert(try(eswitch, &first) == NIC_OFFLOADABLE);

    /* There is news once, and also if the time was over before. */
    ovs_assert(!nic_eswitch_unuse(eswitch, first, true, true));
    ovs_assert(nic_eswitch_rooms() == rooms + 1);
    nic_eswitch_set_full(eswitch, NIC_TABLE_FULL);
    command(path, "time/warp", "1000");
    ovs_assert(try(eswitch, &first) == NIC_OFFLOADABLE);
    ovs_assert(!nic_eswitch_unuse(eswitch, first, true, true));
    ovs_assert(nic_eswitch_rooms() == rooms + 2);

    /* One that is taken says that the NIC has room for it, no more. */
    ovs_assert(!nic_eswitch_is_full(eswitch, NIC_TABLE_FULL));
    nic_eswitch_set_full(eswitch, NIC_TABLE_FULL);
    ovs_assert(nic_eswitch_is_full(eswitch, NIC_TABLE_FULL));
    ovs_assert(!nic_eswitch_is_full(eswitch, NIC_CONTEXTS_FULL));
    ovs_assert(!nic_eswitch_is_full(other, NIC_TABLE_FULL));
    ovs_assert(!nic_eswitch_knows_options(eswitch));
    accepted(eswitch, -1, 0, NULL);
    ovs_assert(!nic_eswitch_is_full(eswitch, NIC_TABLE_FULL));
    ovs_assert(try(eswitch, &ignored) == NIC_TABLE_FULL);
    accepted(eswitch, -1, -1, NULL);
    ovs_assert(nic_eswitch_rooms() == rooms + 2);
    nic_eswitch_set_full(eswitch, NIC_TABLE_FULL);
    ovs_assert(nic_eswitch_is_full(eswitch, NIC_TABLE_FULL));
    command(path, "time/warp", "1000");
    ovs_assert(nic_eswitch_knows_options(eswitch));
    ovs_assert(!nic_eswitch_knows_options(other));

    /* What was refused has taken nothing. */
    ovs_mutex_lock(&eswitch->mutex);
    ovs_assert(eswitch->n_rules == 1 && eswitch->n_option_rules == 1);
    ovs_assert(hmap_count(&eswitch->contexts) == 1);
    ovs_mutex_unlock(&eswitch->mutex);

    /* After a time in which nobody asked, nobody knows. */
    nic_eswitch_set_full(eswitch, NIC_TABLE_FULL);
    command(path, "time/warp", "59999");
    ovs_assert(nic_eswitch_is_full(eswitch, NIC_TABLE_FULL));
    command(path, "time/warp", "1");
    ovs_assert(!nic_eswitch_is_full(eswitch, NIC_TABLE_FULL));
}

/* Headers, in an eSwitch of their own: 0 and 2 are as long as each other, 1 is
 * shorter than both. */

static enum nic_refusal
use_header(struct nic_eswitch *eswitch, int header,
           struct nic_context **context)
{
    struct nic_rule rule;

    make_rule(&rule, header, -1);
    return nic_eswitch_use(eswitch, &rule, context);
}

static enum nic_refusal
judge(struct nic_eswitch *eswitch, int header, struct nic_context *context,
      int error, bool of_action)
{
    struct nic_rule rule;

    make_rule(&rule, header, -1);
    return nic_eswitch_judge(eswitch, &rule, context, error, of_action);
}

static void
check_full_of_headers(const char *path)
{
    struct nic_eswitch *eswitch = nic_eswitch_get("mlx5_pci", 9);
    struct nic_context *shorter, *longer, *new, *ignored;
    uint64_t rooms = nic_eswitch_rooms();

    /* The first one may be refused for any reason, and so may one that is
     * longer than all that were taken. */
    ovs_assert(use_header(eswitch, 1, &shorter) == NIC_OFFLOADABLE);
    ovs_assert(judge(eswitch, 1, shorter, EINVAL, true) == NIC_NIC_REFUSED);
    accepted(eswitch, 1, -1, shorter);
    ovs_assert(use_header(eswitch, 0, &longer) == NIC_OFFLOADABLE);
    ovs_assert(judge(eswitch, 0, longer, EINVAL, true) == NIC_NIC_REFUSED);
    accepted(eswitch, 0, -1, longer);

    /* So may one that the NIC has, and for errors of something else. */
    ovs_assert(judge(eswitch, 0, longer, EINVAL, true) == NIC_NIC_REFUSED);
    ovs_assert(use_header(eswitch, 2, &new) == NIC_OFFLOADABLE);
    ovs_assert(judge(eswitch, 2, new, EINVAL, false) == NIC_NIC_REFUSED);
    ovs_assert(judge(eswitch, 2, new, ENOTSUP, true) == NIC_NIC_REFUSED);
    ovs_assert(judge(eswitch, -1, NULL, EINVAL, true) == NIC_NIC_REFUSED);
    ovs_assert(!nic_eswitch_is_full(eswitch, NIC_CONTEXTS_FULL));

    /* Full: for headers that the NIC has not, for a time. */
    ovs_assert(judge(eswitch, 2, new, EINVAL, true) == NIC_CONTEXTS_FULL);
    nic_eswitch_unuse(eswitch, new, false, false);
    ovs_assert(nic_eswitch_is_full(eswitch, NIC_CONTEXTS_FULL));
    ovs_assert(!nic_eswitch_is_full(eswitch, NIC_TABLE_FULL));
    ovs_assert(use_header(eswitch, 2, &ignored) == NIC_CONTEXTS_FULL);
    ovs_assert(use_header(eswitch, -1, &ignored) == NIC_OFFLOADABLE);
    ovs_assert(use_header(eswitch, 0, &ignored) == NIC_OFFLOADABLE);
    ovs_assert(ignored == longer);
    command(path, "time/warp", "1000");
    ovs_assert(use_header(eswitch, 2, &new) == NIC_OFFLOADABLE);
    ovs_assert(judge(eswitch, 2, new, EINVAL, true) == NIC_CONTEXTS_FULL);
    nic_eswitch_unuse(eswitch, new, false, false);

    /* A rule that goes makes no room, its header does. */
    nic_eswitch_unuse(eswitch, longer, false, true);
    ovs_assert(use_header(eswitch, 2, &ignored) == NIC_CONTEXTS_FULL);
    ovs_assert(nic_eswitch_rooms() == rooms);
    nic_eswitch_unuse(eswitch, longer, false, true);
    ovs_assert(nic_eswitch_rooms() == rooms + 1);
    ovs_assert(!nic_eswitch_is_full(eswitch, NIC_CONTEXTS_FULL));
    ovs_assert(use_header(eswitch, 2, &new) == NIC_OFFLOADABLE);

    /* A header that is taken says that there is room. */
    ovs_assert(judge(eswitch, 2, new, EINVAL, true) == NIC_CONTEXTS_FULL);
    accepted(eswitch, 2, -1, new);
    ovs_assert(!nic_eswitch_is_full(eswitch, NIC_CONTEXTS_FULL));
}

static void
check_full(void)
{
    struct unixctl_server *server;
    char *path = abs_file_name(NULL, "test-nic-offload.ctl");
    pthread_t thread;

    time_msec();                /* Starts the clocks. */
    timeval_dummy_register();
    ovs_assert(!unixctl_server_create(path, &server));
    latch_init(&done);
    thread = ovs_thread_create("server", serve, server);
    command(path, "time/stop", NULL);
    check_full_periods(path);
    check_full_of_headers(path);
    latch_set(&done);
    xpthread_join(thread, NULL);
    unixctl_server_destroy(server);
    free(path);
}

/* Numbers of flows. */

enum { N_NETDEVS = 5, N_THREADS = 3 };

/* Only the address counts. */
static const struct netdev *
fake_netdev(size_t i)
{
    static char netdevs[N_NETDEVS];

    return (const struct netdev *) &netdevs[i];
}

static void
check_counts(uint64_t counts[N_NETDEVS][N_THREADS])
{
    for (size_t i = 0; i < N_NETDEVS; i++) {
        uint64_t got[N_THREADS] = { 100, 200, 300 };    /* It adds. */

        nic_tally_get(fake_netdev(i), got);
        for (size_t j = 0; j < N_THREADS; j++) {
            ovs_assert(got[j] == counts[i][j] + (j + 1) * 100);
        }
    }
}

static void *
count_up_and_down(void *thread)
{
    unsigned int id = *(unsigned int *) thread;

    for (int i = 0; i < 20000; i++) {
        nic_tally_add(fake_netdev(i % N_NETDEVS), id, 2);
        nic_tally_add(fake_netdev(i % N_NETDEVS), id, -1);
    }
    return NULL;
}

static void
check_threads(uint64_t counts[N_NETDEVS][N_THREADS])
{
    unsigned int ids[N_THREADS];
    pthread_t threads[N_THREADS];

    for (size_t i = 0; i < N_THREADS; i++) {
        ids[i] = i;
        threads[i] = ovs_thread_create("count", count_up_and_down, &ids[i]);
    }
    for (size_t i = 0; i < N_THREADS; i++) {
        xpthread_join(threads[i], NULL);
    }
    for (size_t i = 0; i < N_NETDEVS; i++) {
        for (size_t j = 0; j < N_THREADS; j++) {
            counts[i][j] += 20000 / N_NETDEVS;
        }
    }
    check_counts(counts);
}

static void
check_tally(const char *seed)
{
    struct smap config = SMAP_INITIALIZER(&config);
    uint64_t counts[N_NETDEVS][N_THREADS];

    memset(counts, 0, sizeof counts);
    smap_add(&config, "hw-offload", "true");
    smap_add(&config, "n-offload-threads", "3");
    netdev_set_flow_api_enabled(&config);
    smap_destroy(&config);
    ovs_assert(netdev_offload_thread_nb() == N_THREADS);

    route_test_seed(seed);
    check_counts(counts);
    for (int i = 0; i < 10000; i++) {
        size_t netdev = random_range(N_NETDEVS);
        size_t thread = random_range(N_THREADS);

        if (random_range(20) == 0) {
            nic_tally_remove(fake_netdev(netdev));
            memset(counts[netdev], 0, sizeof counts[netdev]);
        } else if (counts[netdev][thread] && random_range(2)) {
            nic_tally_add(fake_netdev(netdev), thread, -1);
            counts[netdev][thread]--;
        } else {
            nic_tally_add(fake_netdev(netdev), thread, 1);
            counts[netdev][thread]++;
        }
        check_counts(counts);
    }
    check_threads(counts);
}

static void
test_nic_offload(int argc, char *argv[])
{
    const char *what = argc > 1 ? argv[1] : "";
    const char *seed = argc > 2 ? argv[2] : NULL;

    if (!strcmp(what, "eswitch")) {
        check_eswitch(seed);
    } else if (!strcmp(what, "tally")) {
        check_tally(seed);
    } else if (!strcmp(what, "full")) {
        check_full();
    } else {
        ovs_fatal(0, "usage: test-nic-offload eswitch [SEED] | "
                  "tally [SEED] | full");
    }
}

OVSTEST_REGISTER("test-nic-offload", test_nic_offload);
