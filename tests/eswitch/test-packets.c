/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#include <config.h>

#include "test.h"

#include <stdlib.h>
#include <string.h>

/* What becomes of packets: a rule for each vector, by its name, and the bytes
 * that scapy made for it. */

struct vector {
    char name[64];
    uint8_t in[2048], out[2048];
    size_t in_size, out_size;
};

static const struct rte_flow_action_set_ipv4 new_src4 = {
    RTE_BE32(RTE_IPV4(10, 9, 9, 9)),
};
static const struct rte_flow_action_set_ipv4 new_dst4 = {
    RTE_BE32(RTE_IPV4(10, 8, 8, 8)),
};
static const struct rte_flow_action_set_ipv6 new_src6 = {
    { 0x20, 1, 0xd, 0xb8, 0, 9, [15] = 9 },
};
static const struct rte_flow_action_set_ipv6 new_dst6 = {
    { 0x20, 1, 0xd, 0xb8, 0, 8, [15] = 8 },
};

static bool
has(const struct vector *v, const char *text)
{
    return strstr(v->name, text) != NULL;
}

/* Where the outer IP header of an encapsulated packet begins. */
static size_t
outer_ip(const uint8_t *packet)
{
    return packet[12] == 0x81 && packet[13] == 0 ? 18 : 14;
}

static size_t
outer_udp(const uint8_t *packet)
{
    size_t ip = outer_ip(packet);

    return ip + (packet[ip] >> 4 == 4 ? 20 : 40);
}

/* Pushes the header of 'v', with lengths and checksums left to the NIC. */
static void
push_header(const struct vector *v, size_t size)
{
    uint8_t header[MAX_ENCAP];
    uint8_t *ip = header + outer_ip(v->out), *udp;

    memcpy(header, v->out, size);
    udp = header + outer_udp(v->out);
    if (*ip >> 4 == 4) {
        memset(ip + 2, 0, 2);
        memset(ip + 10, 0, 2);
    } else {
        memset(ip + 4, 0, 2);
    }
    memset(udp + 4, 0, 2);
    raw_encap(header, size);
}

/* The same with VXLAN_ENCAP, IPv4. */
static void
push_vxlan(const struct vector *v)
{
    static struct rte_flow_item_eth eth_spec;
    static const struct rte_flow_item_ipv4 ip_spec = {
        .hdr = { .src_addr = RTE_BE32(RTE_IPV4(192, 0, 2, 1)),
                 .dst_addr = RTE_BE32(RTE_IPV4(192, 0, 2, 2)) },
    };
    static const struct rte_flow_item_udp udp_spec;
    static const struct rte_flow_item_vxlan vxlan_spec = {
        .vni = { 0, 0, 5 },
    };
    static struct rte_flow_item definition[] = {
        { .type = RTE_FLOW_ITEM_TYPE_ETH, .spec = &eth_spec },
        { .type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &ip_spec },
        { .type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &udp_spec },
        { .type = RTE_FLOW_ITEM_TYPE_VXLAN, .spec = &vxlan_spec },
        { .type = RTE_FLOW_ITEM_TYPE_END },
    };
    struct rte_flow_action_vxlan_encap conf = { definition };

    memcpy(&eth_spec, v->out, 12);
    action(RTE_FLOW_ACTION_TYPE_VXLAN_ENCAP, &conf, sizeof conf);
}

static void
set_ip(bool six)
{
    if (six) {
        action(RTE_FLOW_ACTION_TYPE_SET_IPV6_SRC, &new_src6, 16);
        action(RTE_FLOW_ACTION_TYPE_SET_IPV6_DST, &new_dst6, 16);
    } else {
        action(RTE_FLOW_ACTION_TYPE_SET_IPV4_SRC, &new_src4, 4);
        action(RTE_FLOW_ACTION_TYPE_SET_IPV4_DST, &new_dst4, 4);
    }
    set_ttl(9);
}

static void
set_ports(void)
{
    struct rte_flow_action_set_tp dst = { RTE_BE16(888) };

    set_tp_src(999);
    action(RTE_FLOW_ACTION_TYPE_SET_TP_DST, &dst, sizeof dst);
}

/* outer / tunnel 5 */
static void
outer(const struct vector *v)
{
    eth();
    if (v->in[outer_ip(v->in)] >> 4 == 4) {
        ipv4();
    } else {
        ipv6();
    }
    udp();
    if (has(v, "vx")) {
        vxlan(5);
    } else {
        geneve(5);
    }
}

/* A rule for each name; returns where the packet goes in. */
static enum test_port
make_rewrite(const struct vector *v)
{
    bool six = v->in[12] == 0x86;
    bool decap = has(v, "rewrite-decap");
    enum test_port from = decap ? UA : RA0;

    start(from);
    if (decap) {
        outer(v);
    }
    eth();
    if (six) {
        ipv6();
    } else {
        ipv4();
    }
    if (has(v, "udp")) {
        udp();
    } else if (!has(v, "first") && !has(v, "later")) {
        tcp();
    }
    count();
    if (decap) {
        raw_decap(0);
    }
    if (!has(v, "first") && !has(v, "later")) {
        set_mac();
        set_ports();
    }
    set_ip(six);
    if (has(v, "rewrite-encap")) {
        push_header(v, v->out_size - v->in_size);
    }
    port_id(decap ? RA0 : UA);
    return from;
}

static enum test_port
make_simple(const struct vector *v)
{
    struct rte_flow_action_set_dscp dscp = { 0x2d };
    struct rte_flow_action_of_set_vlan_pcp pcp = { 5 };
    enum test_port from = RA0;

    start(RA0);
    if (has(v, "dec-ttl") || has(v, "dscp")) {
        bool six = has(v, "6");

        eth();
        if (six) {
            ipv6();
        } else {
            ipv4();
        }
        if (has(v, "dscp")) {
            action(six ? RTE_FLOW_ACTION_TYPE_SET_IPV6_DSCP
                   : RTE_FLOW_ACTION_TYPE_SET_IPV4_DSCP, &dscp, sizeof dscp);
        } else {
            action(RTE_FLOW_ACTION_TYPE_DEC_TTL, NULL, 0);
        }
    } else if (has(v, "decap-pop-vlan")) {
        start(from = UA);
        outer(v);
        eth();
        vlan(7, 0xfff);
        raw_decap(0);
        pop_vlan();
    } else if (has(v, "pop-vlan")) {
        eth();
        vlan(7, 0xfff);
        pop_vlan();
    } else if (has(v, "push-vlan")) {
        eth();
        push_vlan();
        set_vid(9);
        action(RTE_FLOW_ACTION_TYPE_OF_SET_VLAN_PCP, &pcp, sizeof pcp);
    } else {
        eth();
        vlan(7, 0xfff);
        set_vid(9);
    }
    count();
    port_id(from == UA ? RA0 : UA);
    return from;
}

static enum test_port
make_l3(const struct vector *v)
{
    bool encaps = has(v, "l3-encap");

    start(encaps ? RA0 : UA);
    if (encaps) {
        eth();
        ipv4();
        raw_decap(14);
        push_header(v, v->out_size - (v->in_size - 14));
    } else {
        outer(v);
        ipv4();
        raw_decap(50);
        raw_encap(v->out, 14);
    }
    port_id(encaps ? UA : RA0);
    return encaps ? RA0 : UA;
}

/* Rule A counts and jumps, rule B takes the tunnel off. */
static struct rte_flow *
make_decap(const struct vector *v, struct rte_flow **rule_b)
{
    bool six = v->in[12] == 0x86;

    start(UA);
    group(1);
    outer(v);
    if (!has(v, "vx") && !has(v, "no-options")) {
        option(0x0102, 0x80, 1, 0x00010002, 0x7fffffff);
    }
    eth();
    count();
    if (has(v, "vx")) {
        action(RTE_FLOW_ACTION_TYPE_VXLAN_DECAP, NULL, 0);
    } else {
        raw_decap(v->in_size - v->out_size);
    }
    represented_port(RA0);
    *rule_b = make();

    start(UA);
    eth();
    if (six) {
        ipv6();
    } else {
        ipv4_dst(0xc0000202);
    }
    udp_dst(has(v, "vx") ? 4789 : 6081);
    count();
    jump(1);
    return make();
}

static void
compare(const struct vector *v, enum test_port to, FILE *output)
{
    uint8_t got[2048], rest[2048];
    size_t size = sent_bytes(to, got);

    for (size_t i = 0; size && (i || fprintf(output, "%s ", v->name) > 0)
                       && i < size; i++) {
        fprintf(output, "%02x%s", got[i], i + 1 < size ? "" : "\n");
    }
    if (has(v, "encap") && size == v->out_size) {
        uint8_t *port = got + outer_udp(v->out);

        test_check((port[0] & 0xc0) == 0xc0, "source port %02x%02x", port[0],
                   port[1]);
        memset(port, 0, 2);
    }
    test_check(size == v->out_size, "%zu bytes, expected %zu", size,
               v->out_size);
    for (size_t i = 0; i < RTE_MIN(size, v->out_size); i++) {
        if (got[i] != v->out[i]) {
            test_check(false, "byte %zu is %02x, expected %02x", i, got[i],
                       v->out[i]);
            break;
        }
    }
    test_check(!kept_bytes(rest), "software got the packet too");
}

static void
run_vector(const struct vector *v, FILE *output)
{
    struct rte_flow *rule = NULL, *rule_b = NULL;
    enum test_port from = RA0;

    test_begin("%s", v->name);
    if (has(v, "rewrite")) {
        from = make_rewrite(v);
    } else if (has(v, "l3-")) {
        from = make_l3(v);
    } else if (!strncmp(v->name, "encap", 5) || has(v, "vxencap")) {
        start(RA0);
        eth();
        count();
        if (has(v, "vxencap4")) {
            push_vxlan(v);
        } else {
            push_header(v, v->out_size - v->in_size);
        }
        port_id(UA);
    } else if (has(v, "decap") && !has(v, "pop")) {
        from = UA;
        rule = make_decap(v, &rule_b);
    } else {
        from = make_simple(v);
    }
    if (!rule) {
        rule = make();
    }
    send_bytes(from, v->in, v->in_size);
    compare(v, from == UA ? RA0 : UA, output);
    if (rule_b) {
        test_check(hits(UA, rule) == 1, "rule A was not counted");
        test_check(hits(UA, rule_b) == 1, "rule B was not counted");
        unmake(UA, rule_b);
    }
    unmake(from, rule);
    test_end();
}

static bool
read_vector(FILE *file, struct vector *v)
{
    char *line = NULL, *save = NULL, *name, *in, *out;
    size_t size = 0;
    bool ok;

    if (getline(&line, &size, file) < 0) {
        free(line);
        return false;
    }
    name = strtok_r(line, " \n", &save);
    in = strtok_r(NULL, " \n", &save);
    out = strtok_r(NULL, " \n", &save);
    ok = out && strlen(name) < sizeof v->name;
    if (ok) {
        strcpy(v->name, name);
        v->in_size = test_unhex(in, v->in, sizeof v->in);
        v->out_size = test_unhex(out, v->out, sizeof v->out);
    }
    free(line);
    return ok;
}

void
test_packets(const char *vectors, const char *output)
{
    FILE *in = strcmp(vectors, "-") ? fopen(vectors, "r") : NULL;
    FILE *out = fopen(output, "w");
    static struct vector v;
    unsigned n = 0;

    if (!in || !out) {
        test_skip("packet vectors", "none were made");
        return;
    }
    free(eswitch_control("counter-lag 0"));
    while (read_vector(in, &v)) {
        run_vector(&v, out);
        n++;
    }
    free(eswitch_control("counter-lag 1000"));
    fclose(in);
    fclose(out);
    test_begin("there are packet vectors");
    test_check(n > 60, "only %u", n);
    test_end();
}
