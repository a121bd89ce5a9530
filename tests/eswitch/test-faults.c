/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#include <config.h>

#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_mbuf.h>

/* Faults, each by its command, and what follows from them. */

#define TYPE(NAME) RTE_FLOW_ERROR_TYPE_##NAME

static void
command(const char *text)
{
    char *answer = eswitch_control(text);

    test_check(!strcmp(answer, "ok\n"), "%s: %s", text, answer);
    free(answer);
}

static void
shown(const char *what, const char *text)
{
    char *answer = eswitch_control(what);

    test_check(strstr(answer, text), "%s lacks \"%s\":\n%s", what, text,
               answer);
    free(answer);
}

static void
drop_udp(enum test_port port, uint16_t dport)
{
    start(port);
    eth();
    ipv4();
    udp_dst(dport);
    count();
    drop();
}

static void
test_limits(void)
{
    uint8_t header[58] = { [12] = 8, [14] = 0x45, [23] = 17 };
    struct rte_flow *rules[4];

    test_begin("full rule table");
    command("limit-rules a 2");
    drop_udp(UA, 1); rules[0] = make();
    drop_udp(UA, 2); rules[1] = make();
    drop_udp(UA, 3); refused_late(ENOMEM, TYPE(UNSPECIFIED));
    drop_udp(UB, 3); rules[2] = make();
    unmake(UA, rules[0]);
    drop_udp(UA, 3); rules[0] = make();
    command("limit-rules all none");
    drop_udp(UA, 4); rules[3] = make();
    unmake(UA, rules[0]);
    unmake(UA, rules[1]);
    unmake(UB, rules[2]);
    unmake(UA, rules[3]);
    test_end();

    /* One context for the same bytes, over all ports of the eSwitch. */
    test_begin("full encap contexts");
    command("limit-encaps a 1");
    start(RA0); eth(); raw_encap(header, 58); port_id(UA);
    rules[0] = make();
    start(RA1); eth(); ipv4(); raw_encap(header, 58); port_id(UA);
    rules[1] = make();
    test_check(test_ports[UA]->eswitch->contexts.n == 1, "not shared");
    shown("show contexts", "rules=2");
    header[57] = 1;
    start(RA0); eth(); ipv4(); raw_encap(header, 58); port_id(UA);
    refused_late(EINVAL, TYPE(ACTION));
    unmake(RA0, rules[0]);
    refused_late(EINVAL, TYPE(ACTION));
    unmake(RA1, rules[1]);
    accepted();
    command("limit-encaps a none");
    test_check(!test_ports[UA]->eswitch->contexts.n, "context is left");
    test_end();
}

static unsigned
ms_since(const struct timespec *then)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - then->tv_sec) * 1000
           + (now.tv_nsec - then->tv_nsec) / 1000000;
}

static void
test_injected(void)
{
    struct rte_flow_error error;
    struct rte_flow *rule;
    struct timespec then;

    test_begin("validate passes, create fails");
    command("fail-create ENOSPC");
    drop_udp(UA, 1); refused_late(ENOSPC, TYPE(UNSPECIFIED));
    refused_late(ENOSPC, TYPE(UNSPECIFIED));
    command("fail-create EBUSY 1");
    refused_late(EBUSY, TYPE(UNSPECIFIED));
    accepted();
    command("fail-create off");
    accepted();
    shown("show totals", "errno=ENOSPC times=2");
    test_end();

    test_begin("slow create");
    command("slow-create 30");
    clock_gettime(CLOCK_MONOTONIC, &then);
    drop_udp(UA, 1); rule = make();
    test_check(ms_since(&then) >= 30, "%u ms", ms_since(&then));
    command("slow-create 0");
    test_end();

    test_begin("slow destroy");
    command("slow-destroy 30");
    clock_gettime(CLOCK_MONOTONIC, &then);
    test_check(!rte_flow_destroy(test_ids[UA], rule, &error), "%s",
               error.message);
    test_check(ms_since(&then) >= 30, "%u ms", ms_since(&then));
    command("slow-destroy 0");
    rule = make();
    test_end();

    test_begin("query fails");
    command("fail-query EIO");
    test_check(hits(UA, rule) == UINT64_MAX, "query");
    command("fail-query off");
    test_check(hits(UA, rule) == 0, "query");
    test_end();

    test_begin("destroy fails");
    command("fail-destroy EBUSY 1");
    test_check(rte_flow_destroy(test_ids[UA], rule, &error) == -EBUSY
               && rte_errno == EBUSY, "destroy did not fail");
    test_check(hits(UA, rule) == 0, "the rule is gone");
    unmake(UA, rule);
    rule = make();
    command("fail-destroy EIO");
    for (int i = 0; i < 3; i++) {
        test_check(rte_flow_destroy(test_ids[UA], rule, &error) == -EIO,
                   "destroy did not fail");
    }
    command("fail-destroy off");
    unmake(UA, rule);
    test_end();

    test_begin("firmware loses the options");
    command("geneve-option a no");
    start(UA); eth(); ipv4(); udp(); geneve(5);
    option(0x102, 0x80, 1, 1, 1); jump(1); refused(ENOTSUP, TYPE(ITEM));
    command("geneve-option a late");
    refused_late(ENOMEM, TYPE(UNSPECIFIED));
    command("geneve-option a yes");
    accepted();
    test_end();

    test_begin("unknown commands");
    shown("nonsense", "commands:");
    shown("limit-rules x 1", "error: no such eSwitch");
    shown("fail-create EWHAT", "error: no such errno");
    shown("flush nothing", "error: no such port");
    shown("", "commands:");
    test_end();
}

/* A stale handle is an error in the log and harms nothing. */
static void
check_stale(enum test_port port, struct rte_flow *rule)
{
    uint64_t errors = model.n_errors;
    struct rte_flow_error error;

    test_check(rte_flow_destroy(test_ids[port], rule, &error) < 0
               && error.type == TYPE(HANDLE), "destroy of a stale handle");
    test_check(model.n_errors == errors + 1, "no error in the log");
}

static int n_resets;

static int
on_reset(uint16_t port_id, enum rte_eth_event_type event, void *argument,
         void *unused)
{
    (void) unused;
    n_resets += (event == RTE_ETH_EVENT_INTR_RESET
                 && port_id == test_ids[UA] && argument == &n_resets);
    return 0;
}

static void
restart(enum test_port port)
{
    struct rte_eth_conf conf = { .link_speeds = 0 };

    /* net_ring forgets nothing on a stop. */
    rte_eth_dev_configure(test_ids[port], 1, 1, &conf);
    test_check(!rte_eth_dev_start(test_ids[port]), "start");
}

static void
test_ports_gone(void)
{
    struct rte_flow *u, *r, *again;
    struct rte_flow_error error;
    uint8_t p[60] = { [12] = 8, [14] = 0x45, [23] = 17, [37] = 1 };
    uint8_t got[2048];

    test_begin("stop takes the port's rules, and only those");
    drop_udp(UA, 1); u = make();
    start(RA0); eth(); port_id(UA); r = make();
    rte_eth_dev_stop(test_ids[UA]);
    test_check(test_ports[UA]->eswitch->n_rules == 1, "rules");
    check_stale(UA, u);
    /* The other port's rule still steers to it, into nothing. */
    send_bytes(RA0, p, sizeof p);
    test_check(!kept_bytes(got) && !sent_bytes(UA, got), "to a stopped port");
    restart(UA);
    send_bytes(RA0, p, sizeof p);
    test_check(sent_bytes(UA, got) == sizeof p, "not sent after a restart");
    send_bytes(UA, p, sizeof p);
    test_check(kept_bytes(got) == sizeof p, "rule is back");
    drop_udp(UA, 1); again = make();
    send_bytes(UA, p, sizeof p);
    test_check(!kept_bytes(got), "no rules after a restart");
    unmake(UA, again);
    unmake(RA0, r);
    test_end();

    test_begin("destroying twice");
    drop_udp(UA, 1); u = make();
    unmake(UA, u);
    check_stale(UA, u);
    test_end();

    test_begin("rte_flow_flush");
    drop_udp(UA, 1); u = make();
    drop_udp(RA0, 1); r = make();
    test_check(!rte_flow_flush(test_ids[UA], &error), "flush");
    check_stale(UA, u);
    unmake(RA0, r);
    test_end();

    test_begin("flush by the test");
    drop_udp(UA, 1); u = make();
    command("flush net_ring_ua");
    check_stale(UA, u);
    test_end();

    test_begin("reset by the test");
    rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_RESET,
                                  on_reset, &n_resets);
    drop_udp(UA, 1); u = make();
    command("reset net_ring_ua");
    check_stale(UA, u);
    test_check(n_resets == 1, "%d events", n_resets);
    test_check(!rte_eth_dev_reset(test_ids[UA]), "rte_eth_dev_reset");
    drop_udp(UA, 1); refused_late(ENODEV, TYPE(UNSPECIFIED));
    restart(UA);
    accepted();
    test_end();

    test_begin("close takes the port's rules");
    drop_udp(UXMETA, 1); u = make();
    rte_eth_dev_stop(test_ids[UXMETA]);
    test_check(!rte_eth_dev_close(test_ids[UXMETA]), "close");
    test_check(!test_ports[UXMETA]->eswitch->n_rules, "rules");
    start(RA0); eth(); port_id(UXMETA); refused(ENODEV, TYPE(ACTION_CONF));
    test_end();
}

static void
test_show(void)
{
    struct rte_flow *a, *b;

    test_begin("show");
    start(UA); group(1); priority(3); eth(); ipv4_dst(0x0a000001); udp();
    geneve(5); option(0x102, 0x80, 1, 0x00010002, 0x7fffffff); eth();
    ipv4(); count(); raw_decap(58); set_ttl(3); port_id(RA0); a = make();
    start(RA0); eth_type(0x0806); encap(58); port_id(UA); b = make();
    shown("show rules", "port=net_ring_ua source=net_ring_ua transfer "
          "group=1 priority=3.1 hits=0 bytes=0: eth / ipv4 dst=10.0.0.1 "
          "proto=17 dport=6081 / geneve vni=5 protocol=0x6558 "
          "option=0x00010002/0x7fffffff / eth / ipv4 -> count, decap, "
          "set-ttl 3, port net_ring_ra0\n");
    shown("show rules", "eth type=0x0806 tag=none -> encap 0000");
    shown("show", "eswitch name=a driver=mlx5_pci domain=7 device=cx6dx "
          "rules=2 encaps=1 geneve-option=yes option=0x102,0x80,1 "
          "option-rules=1\n");
    unmake(UA, a);
    unmake(RA0, b);
    test_end();
}

/* Rules come and go while packets pass: every packet is either kept whole or
 * sent whole. */
static atomic_bool churn_end;

static void *
churn(void *n_)
{
    _Atomic unsigned *n = n_;

    while (!churn_end) {
        struct rte_flow *rule;

        start(RA0); eth(); ipv4(); count(); encap(58); port_id(UA);
        rule = make();
        hits(RA0, rule);
        unmake(RA0, rule);
        ++*n;
    }
    return NULL;
}

static void
test_threads(void)
{
    uint8_t p[60] = { [12] = 8, [14] = 0x45, [23] = 17, [37] = 1 };
    unsigned kept = 0, sent = 0, sizes = 0;
    _Atomic unsigned n = 0;
    struct timespec then;
    uint8_t got[2048];
    pthread_t thread;
    size_t size;

    test_begin("rules change while packets pass");
    clock_gettime(CLOCK_MONOTONIC, &then);
    pthread_create(&thread, NULL, churn, &n);
    while (ms_since(&then) < 500 || (ms_since(&then) < 10000
                                     && (n < 100 || !kept || !sent))) {
        send_bytes(RA0, p, sizeof p);
        if ((size = kept_bytes(got))) {
            kept++;
            sizes += size != sizeof p;
        }
        if ((size = sent_bytes(UA, got))) {
            sent++;
            sizes += size != sizeof p + 58;
        }
    }
    churn_end = true;
    pthread_join(thread, NULL);
    test_check(n >= 100 && kept && sent && !sizes,
               "%u rules, %u kept, %u sent, %u of a wrong size", n, kept,
               sent, sizes);
    test_end();
}

/* No check, but what there is to know about the model's own cost. */
static void
test_many(void)
{
    enum { N = 100000 };
    static struct rte_flow *rules[N];
    uint8_t p[60] = { [12] = 8, [14] = 0x45, [23] = 17 };
    struct timespec then;
    uint8_t got[2048];
    unsigned ms;

    test_begin("%d rules", N);
    clock_gettime(CLOCK_MONOTONIC, &then);
    for (int i = 0; i < N; i++) {
        start(UA); eth(); ipv4_dst(i); udp(); count(); drop();
        rules[i] = make();
    }
    ms = ms_since(&then);
    p[31] = 0x01;
    p[33] = 0x05;               /* 0.1.0.5 */
    send_bytes(UA, p, sizeof p);
    test_check(!kept_bytes(got), "not found among many");
    free(eswitch_control("counter-lag 0"));
    test_check(hits(UA, rules[0x10005]) == 1, "another rule was hit");
    free(eswitch_control("counter-lag 1000"));
    for (int i = 0; i < N; i++) {
        unmake(UA, rules[i]);
    }
    printf("info: %d rules created in %u ms\n", N, ms);
    test_end();
}

void
test_faults(void)
{
    test_limits();
    test_injected();
    test_ports_gone();
    test_show();
    test_threads();
    test_many();
}
