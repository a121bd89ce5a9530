/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#include <config.h>

#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_mbuf.h>

/* Which rule a packet meets, in which order, and what is counted. */

/* Ethernet, IPv4 10.0.0.1 > 10.0.0.2, UDP 1 > 'dport', and some bytes.  The
 * checksum of IPv4 is right for a TTL of 64. */
static size_t
udp_packet(uint8_t *p, uint16_t dport)
{
    static const uint8_t headers[] = {
        2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0,
        0x45, 0, 0, 46, 0, 1, 0, 0, 64, 17, 0x66, 0xbc,
        10, 0, 0, 1, 10, 0, 0, 2,
        0, 1, 0, 0, 0, 26, 0, 0,
    };

    memset(p, 0x5a, 60);
    memcpy(p, headers, sizeof headers);
    p[36] = dport >> 8;
    p[37] = dport;
    return 60;
}

/* The same in Geneve with 'vni' and without options. */
static size_t
geneve_packet(uint8_t *p, uint8_t vni)
{
    size_t size = udp_packet(p, 6081);

    memset(p + 42, 0, 8);
    p[44] = 0x65;
    p[45] = 0x58;
    p[48] = vni;
    size = 50 + udp_packet(p + 50, 7);
    p[16] = (size - 14) >> 8;
    p[17] = size - 14;
    p[38] = (size - 34) >> 8;
    p[39] = size - 34;
    return size;
}

static void
check_kept(const uint8_t *want, size_t size)
{
    uint8_t got[2048];
    size_t n = kept_bytes(got);

    test_check(n == size && !memcmp(got, want, size),
               "software got %zu bytes, not the packet as it was", n);
}

static void
check_gone(void)
{
    uint8_t got[2048];

    test_check(!kept_bytes(got), "software got the packet");
}

static void
check_sent(enum test_port port, bool sent)
{
    uint8_t got[2048];
    size_t n = sent_bytes(port, got);

    test_check(!n == !sent, "%s: %zu bytes sent", test_ports[port]->name, n);
}

static void
test_misses(void)
{
    struct rte_flow *a, *b;
    uint8_t p[2048];
    size_t size;

    test_begin("no rule at all");
    size = udp_packet(p, 9);
    send_bytes(UA, p, size);
    check_kept(p, size);
    test_end();

    test_begin("miss behind rule A");
    start(UA); eth(); ipv4(); udp_dst(6081); count(); jump(5); a = make();
    start(UA); group(5); eth(); ipv4(); udp(); geneve(9); eth(); count();
    raw_decap(0); port_id(RA0); b = make();
    size = geneve_packet(p, 8);
    send_bytes(UA, p, size);
    check_kept(p, size);
    check_sent(RA0, false);
    test_check(hits(UA, a) == 1 && hits(UA, b) == 0, "counters");
    size = geneve_packet(p, 9);
    send_bytes(UA, p, size);
    check_gone();
    check_sent(RA0, true);
    test_check(hits(UA, a) == 2 && hits(UA, b) == 1, "counters");

    /* Another protocol number, version, port: no Geneve, no match. */
    p[42] = 0x40;
    send_bytes(UA, p, size);
    check_kept(p, size);
    unmake(UA, b);
    unmake(UA, a);
    test_end();

    test_begin("miss behind a decap: software gets the inner packet");
    start(UA); eth(); ipv4(); udp(); geneve(9); eth(); raw_decap(0);
    jump(5); a = make();
    size = geneve_packet(p, 9);
    send_bytes(UA, p, size);
    check_kept(p + 50, size - 50);
    unmake(UA, a);
    test_end();

    test_begin("a rule matches the traffic of its own port alone");
    start(RA0); eth(); drop(); a = make();
    size = udp_packet(p, 9);
    send_bytes(UA, p, size);
    check_kept(p, size);
    send_bytes(RA1, p, size);
    check_kept(p, size);
    send_bytes(RB0, p, size);
    check_kept(p, size);
    send_bytes(RA0, p, size);
    check_gone();
    unmake(RA0, a);
    test_end();

    test_begin("a port item names another port's traffic");
    start(UA); port_item(RA0); eth(); drop(); a = make();
    send_bytes(UA, p, size);
    check_kept(p, size);
    send_bytes(RA0, p, size);
    check_gone();
    unmake(UA, a);
    test_end();

    test_begin("wire to the same wire is dropped");
    start(UA); eth(); port_id(UA); a = make();
    send_bytes(UA, p, size);
    check_gone();
    check_sent(UA, false);
    unmake(UA, a);
    test_end();

    test_begin("VF to VF");
    start(RA0); eth(); count(); port_id(RA1); a = make();
    send_bytes(RA0, p, size);
    check_gone();
    check_sent(RA1, true);
    unmake(RA0, a);
    test_end();

    test_begin("rows 59 and 60 never hit");
    start(UA); eth(); ipv4(); udp(); geneve(9); ipv4(); count(); drop();
    a = make();
    start(UA); eth(); ipv4(); udp_dst(6082); geneve(9); count(); drop();
    b = make();
    size = geneve_packet(p, 9);
    send_bytes(UA, p, size);
    check_kept(p, size);
    p[37]++;                    /* 6082 */
    send_bytes(UA, p, size);
    check_kept(p, size);
    unmake(UA, a);
    unmake(UA, b);
    test_end();

    test_begin("jumps without end");
    start(UA); eth(); jump(5); a = make();
    start(UA); group(5); eth(); jump(0); b = make();
    send_bytes(UA, p, size);
    check_gone();
    unmake(UA, a);
    unmake(UA, b);
    test_end();
}

static void
test_priorities(void)
{
    struct rte_flow *a, *b, *c;
    uint8_t p[2048];
    size_t size = udp_packet(p, 9);

    test_begin("a lower number is the higher priority");
    start(UA); priority(2); eth(); ipv4(); udp(); count(); drop(); a = make();
    start(UA); priority(1); eth(); count(); port_id(RA0); b = make();
    send_bytes(UA, p, size);
    check_sent(RA0, true);
    test_check(hits(UA, a) == 0 && hits(UA, b) == 1, "wrong rule");
    unmake(UA, a);
    unmake(UA, b);
    test_end();

    test_begin("of one priority, L4 comes before L3 before L2");
    start(UA); eth(); count(); drop(); a = make();
    start(UA); eth(); ipv4(); count(); drop(); b = make();
    start(UA); eth(); ipv4(); udp(); count(); drop(); c = make();
    send_bytes(UA, p, size);
    test_check(hits(UA, c) == 1 && !hits(UA, a) && !hits(UA, b), "L4");
    unmake(UA, c);
    send_bytes(UA, p, size);
    test_check(hits(UA, b) == 1 && !hits(UA, a), "L3");
    unmake(UA, b);
    send_bytes(UA, p, size);
    test_check(hits(UA, a) == 1, "L2");
    unmake(UA, a);
    check_gone();
    test_end();

    test_begin("of duplicates the first is active, until it goes");
    start(UA); eth(); ipv4(); count(); drop(); a = make();
    start(UA); eth(); ipv4(); count(); port_id(RA0); b = make();
    start(UA); eth(); ipv4(); count(); port_id(RA1); c = make();
    send_bytes(UA, p, size);
    test_check(hits(UA, a) == 1 && !hits(UA, b) && !hits(UA, c), "first");
    unmake(UA, a);
    send_bytes(UA, p, size);
    check_sent(RA0, true);
    test_check(hits(UA, b) == 1 && !hits(UA, c), "second");
    unmake(UA, b);
    send_bytes(UA, p, size);
    check_sent(RA1, true);
    unmake(UA, c);
    test_end();
}

static uint64_t
now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

static void
test_counters(void)
{
    struct rte_flow_query_count data = { .reset = 1 };
    struct rte_flow_action query[2] = {
        { .type = RTE_FLOW_ACTION_TYPE_COUNT },
    };
    struct rte_flow_error error;
    uint8_t p[2048];
    size_t size = udp_packet(p, 9);
    bool lags = false, new_enough = false;
    struct rte_flow *rule;
    uint64_t begun;
    int retval;

    test_begin("counters");
    start(UA); eth(); count(); drop(); rule = make();
    for (int i = 0; i < 3; i++) {
        send_bytes(UA, p, size);
    }
    retval = rte_flow_query(test_ids[UA], rule, query, &data, &error);
    test_check(!retval && data.hits_set && data.bytes_set && data.hits == 3
               && data.bytes == 3 * size, "%lu packets, %lu bytes",
               data.hits, data.bytes);
    test_check(!hits(UA, rule), "not reset");
    unmake(UA, rule);
    start(UA); eth(); drop(); rule = make();
    retval = rte_flow_query(test_ids[UA], rule, query, &data, &error);
    test_check(retval < 0, "query without count");
    unmake(UA, rule);
    test_end();

    /* What a query tells is up to a second old, and no older. */
    test_begin("counters lag");
    free(eswitch_control("counter-lag 1000"));
    start(UA); eth(); count(); drop(); rule = make();
    /* A machine that has other things to do may stop us for longer than the
     * lag, at one time or other. */
    for (int i = 0; i < 3 && !(lags && new_enough); i++) {
        uint64_t old = hits(UA, rule);

        begun = now_ms();
        do {
            send_bytes(UA, p, size);    /* Until a refresh has just been. */
            usleep(1000);
            data.hits = hits(UA, rule);
        } while (data.hits == old && now_ms() - begun < 5000);
        test_check(data.hits != old, "never refreshed");
        send_bytes(UA, p, size);
        lags = hits(UA, rule) == data.hits;
        begun = now_ms();
        while (hits(UA, rule) == data.hits && now_ms() - begun < 5000) {
            usleep(10000);
        }
        /* Leaves a second for the machine. */
        new_enough = now_ms() - begun <= 2000;
    }
    test_check(lags, "no lag");
    test_check(new_enough, "older than a second");
    unmake(UA, rule);
    free(eswitch_control("counter-lag 0"));
    test_end();
}

/* Buffers as drivers hand them over. */
static void
test_buffers(void)
{
    uint8_t p[2048] = { 0 }, got[4096];
    uint64_t errors;
    struct rte_mbuf *mbuf, *more;
    struct rte_flow *rule;
    size_t size, n;
    bool whole;

    size = udp_packet(p, 9);
    test_begin("a VLAN tag that the driver took off");
    start(UA); eth(); vlan(0x123, 0xfff); port_id(RA0); rule = make();
    mbuf = test_mbuf(p, size);
    mbuf->vlan_tci = 0x6123;
    mbuf->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
    test_check(!eswitch_receive(test_ports[UA], &mbuf, 1), "no match");
    n = sent_bytes(RA0, got);
    test_check(n == size + 4 && !memcmp(got + 12, "\x81\0\x61\x23\x08\0", 6),
               "tag is not back in its place");
    unmake(UA, rule);
    test_end();

    test_begin("a packet in two segments");
    start(UA); eth(); ipv4(); udp_dst(9); port_id(RA0); rule = make();
    mbuf = test_mbuf(p, 20);
    more = test_mbuf(p + 20, size - 20);
    mbuf->next = more;
    mbuf->nb_segs = 2;
    mbuf->pkt_len = size;
    test_check(!eswitch_receive(test_ports[UA], &mbuf, 1), "no match");
    n = sent_bytes(RA0, got);
    test_check(n == size && !memcmp(got, p, size), "bytes differ");
    unmake(UA, rule);
    test_end();

    test_begin("packets cut short anywhere");
    start(UA); eth(); ipv4(); udp(); geneve(9); eth(); ipv4(); udp_dst(7);
    raw_decap(0); port_id(RA0); rule = make();
    size = geneve_packet(p, 9);
    for (size_t cut = 1; cut < size; cut++) {
        /* Up to the end of the inner UDP header. */
        whole = cut >= 50 + 42;
        send_bytes(UA, p, cut);
        n = sent_bytes(RA0, got);
        test_check(n == (whole ? cut - 50 : 0), "cut at %zu: %zu sent", cut,
                   n);
        if (!whole) {
            check_kept(p, cut);
        }
    }
    unmake(UA, rule);
    test_end();

    test_begin("encap into a buffer with little room");
    start(RA0); eth(); encap(132); port_id(UA); rule = make();
    size = udp_packet(p, 9);
    mbuf = test_mbuf(p, size);
    rte_pktmbuf_prepend(mbuf, rte_pktmbuf_headroom(mbuf));
    rte_pktmbuf_trim(mbuf, RTE_PKTMBUF_HEADROOM);
    memcpy(rte_pktmbuf_mtod(mbuf, void *), p, size);
    test_check(!eswitch_receive(test_ports[RA0], &mbuf, 1), "no match");
    n = sent_bytes(UA, got);
    test_check(n == size + 132 && !memcmp(got + 132, p, size), "%zu bytes",
               n);
    send_bytes(RA0, p, 1382);
    n = sent_bytes(UA, got);
    test_check(n == 1514 && !memcmp(got + 132, p, 1382), "%zu bytes", n);
    /* One byte above the uplink's MTU. */
    send_bytes(RA0, p, 1383);
    check_gone();
    check_sent(UA, false);
    test_check(test_ports[UA]->n_too_large == 1, "not counted");
    test_end();

    test_begin("a buffer that somebody else has too");
    errors = model.n_errors;
    mbuf = test_mbuf(p, size);
    rte_mbuf_refcnt_update(mbuf, 1);
    test_check(!eswitch_receive(test_ports[RA0], &mbuf, 1), "kept");
    rte_pktmbuf_free(mbuf);
    check_sent(UA, false);
    test_check(model.n_errors == errors + 1, "no error in the log");
    unmake(RA0, rule);
    test_end();

    test_begin("an order of packets is kept");
    start(UA); eth(); ipv4(); udp_dst(9); port_id(RA0); rule = make();
    for (int i = 0; i < 8; i++) {
        udp_packet(p, i % 3 ? 9 : 10);
        p[59] = i;
        mbuf = test_mbuf(p, 60);
        n = eswitch_receive(test_ports[UA], &mbuf, 1);
        test_check(n == (i % 3 ? 0 : 1), "packet %d", i);
        if (n) {
            rte_pktmbuf_free(mbuf);
        }
    }
    for (int i = 0; i < 8; i++) {
        if (i % 3) {
            test_check(sent_bytes(RA0, got) == 60 && got[59] == i,
                       "packet %d is out of order", i);
        }
    }
    unmake(UA, rule);
    test_end();
}

static void
test_ingress(void)
{
    struct rte_flow_action_mark mark = { 1234 };
    struct rte_flow_action_queue queue = { 0 };
    struct rte_flow *rule;
    struct rte_mbuf *mbuf;
    uint8_t p[2048];
    size_t size = udp_packet(p, 9);

    test_begin("mark and queue, outside of the eSwitch");
    start(UA); attr()->transfer = 0; attr()->ingress = 1; eth(); ipv4();
    action(RTE_FLOW_ACTION_TYPE_MARK, &mark, sizeof mark);
    action(RTE_FLOW_ACTION_TYPE_QUEUE, &queue, sizeof queue);
    count();
    rule = make();
    mbuf = test_mbuf(p, size);
    test_check(eswitch_receive(test_ports[UA], &mbuf, 1) == 1, "not kept");
    test_check(mbuf->ol_flags & RTE_MBUF_F_RX_FDIR_ID
               && mbuf->hash.fdir.hi == 1234, "no mark");
    rte_pktmbuf_free(mbuf);
    test_check(hits(UA, rule) == 1, "not counted");
    unmake(UA, rule);
    test_end();
}

void
test_steering(void)
{
    free(eswitch_control("counter-lag 0"));
    test_misses();
    test_priorities();
    test_counters();
    test_buffers();
    test_ingress();
    free(eswitch_control("counter-lag 1000"));
}
