/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#ifndef ESWITCH_TEST_H
#define ESWITCH_TEST_H 1

/* What the tests of the model share: ports, a rule that is put together item
 * by item, and checks that count. */

#include "model.h"

/* Ports.  U: uplink, R: representor.  Eswitch A is a ConnectX-6 Dx, B another
 * one; the rest differ in what their names say. */
enum test_port {
    UA, RA0, RA1, UB, RB0, UCX5, RCX5, UNOSWITCHDEV, UICMP, RICMP, ULATE,
    UHWS22, RHWS22, UHWS24, RHWS24, UNODUP, UNODECAP, UXMETA, FOREIGN,
    N_TEST_PORTS
};

extern uint16_t test_ids[N_TEST_PORTS];
extern struct port *test_ports[N_TEST_PORTS];

/* Checks.  A case is passed if no check failed since it began. */
void test_begin(const char *format, ...) PRINTF(1, 2);
void test_end(void);
void test_skip(const char *name, const char *why);
void test_check(bool, const char *format, ...) PRINTF(2, 3);
extern unsigned test_passed, test_failed, test_skipped;
uint32_t test_random(void);
extern uint64_t test_seed;
size_t test_unhex(const char *hex, uint8_t *bytes, size_t max);

/* The rule in the making: start() empties it, the rest add to it. */
void start(enum test_port);
void group(uint32_t);
void priority(uint32_t);
struct rte_flow_attr *attr(void);
void item(enum rte_flow_item_type, const void *spec, const void *mask,
          size_t size);
void item_last(const void *last, size_t size);
void eth(void);
void eth_type(uint16_t type);
void vlan(uint16_t tci, uint16_t mask);
void ipv4(void);
void ipv4_dst(uint32_t address);
void ipv4_proto(uint8_t proto, uint8_t mask);
void ipv6(void);
void udp(void);
void udp_dst(uint16_t port);
void tcp(void);
void icmp_type(uint8_t type);
void vxlan(uint32_t vni);
void geneve(uint32_t vni);
void geneve_word(uint16_t word, uint16_t mask);
void option(uint16_t class, uint8_t type, uint8_t len, uint32_t data,
            uint32_t mask);
void port_item(enum test_port);
void tunnel(bool six, bool with_option); /* Outer, Geneve 5, OVN option. */
void simple(enum test_port);    /* start(), then Ethernet, IPv4, UDP. */

void action(enum rte_flow_action_type, const void *conf, size_t size);
void count(void);
void jump(uint32_t group);
void port_id(enum test_port);
void represented_port(enum test_port);
void drop(void);
void raw_encap(const uint8_t *data, size_t size);
void encap(size_t size);        /* Geneve over IPv4 or, from 78, IPv6. */
void raw_decap(size_t size);
void set_mac(void);
void set_ipv4_src(uint32_t address);
void set_ipv6_src(void);
void set_tp_src(uint16_t port);
void set_ttl(uint8_t ttl);
void push_vlan(void);
void pop_vlan(void);
void set_vid(uint16_t vid);

/* What becomes of the rule.  make() leaves it in place. */
struct rte_flow *make(void);
struct rte_flow *make_quiet(void); /* NULL: refused. */
void unmake(enum test_port, struct rte_flow *);
void accepted(void);            /* Validate and create take it. */
void refused(int error, enum rte_flow_error_type); /* Both refuse it. */
void refused_late(int error, enum rte_flow_error_type); /* Create does. */
void kills(const char *text);   /* Aborts, with 'text' in the log. */

/* Packets: what went in, what came out where. */
void send_bytes(enum test_port, const uint8_t *, size_t);
struct rte_mbuf *test_mbuf(const uint8_t *, size_t);
size_t kept_bytes(uint8_t *);   /* Left to the program; 0: none. */
size_t sent_bytes(enum test_port, uint8_t *); /* Sent by a port. */
uint64_t hits(enum test_port, struct rte_flow *);

void test_rows(void);
void test_sizes(void);
void test_fields(void);
void test_packets(const char *vectors, const char *output);
void test_steering(void);
void test_faults(void);
void test_fuzz(unsigned rules);

#endif /* test.h */
