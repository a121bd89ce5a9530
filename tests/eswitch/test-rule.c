/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#include <config.h>

#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A rule put together piece by piece.  Memory of its pieces is that of one
 * arena, emptied by start(). */

static struct rte_flow_attr the_attr;
static struct rte_flow_item items[24];
static struct rte_flow_action actions[48];
static unsigned n_items, n_actions;
static enum test_port the_port;
static uint64_t arena[2048];
static size_t used;

static void *
keep(const void *data, size_t size)
{
    void *p = &arena[used];

    if (!data) {
        return NULL;
    }
    used += (size + 7) / 8 + 1;
    if (used > RTE_DIM(arena)) {
        abort();
    }
    return memcpy(p, data, size);
}

void
start(enum test_port port)
{
    the_attr = (struct rte_flow_attr) { .transfer = 1 };
    the_port = port;
    n_items = n_actions = 0;
    used = 0;
    memset(items, 0, sizeof items);
    memset(actions, 0, sizeof actions);
}

struct rte_flow_attr *attr(void) { return &the_attr; }
void group(uint32_t number) { the_attr.group = number; }
void priority(uint32_t number) { the_attr.priority = number; }

void
item(enum rte_flow_item_type type, const void *spec, const void *mask,
     size_t size)
{
    items[n_items].type = type;
    items[n_items].spec = keep(spec, size);
    items[n_items].mask = keep(mask, size);
    n_items++;
}

void
item_last(const void *last, size_t size)
{
    items[n_items - 1].last = keep(last, size);
}

void eth(void) { item(RTE_FLOW_ITEM_TYPE_ETH, NULL, NULL, 0); }
void ipv4(void) { item(RTE_FLOW_ITEM_TYPE_IPV4, NULL, NULL, 0); }
void ipv6(void) { item(RTE_FLOW_ITEM_TYPE_IPV6, NULL, NULL, 0); }
void udp(void) { item(RTE_FLOW_ITEM_TYPE_UDP, NULL, NULL, 0); }
void tcp(void) { item(RTE_FLOW_ITEM_TYPE_TCP, NULL, NULL, 0); }

void
eth_type(uint16_t type)
{
    struct rte_flow_item_eth spec = { .type = rte_cpu_to_be_16(type) };
    struct rte_flow_item_eth mask = { .type = 0xffff };

    item(RTE_FLOW_ITEM_TYPE_ETH, &spec, &mask, sizeof spec);
}

void
vlan(uint16_t tci, uint16_t tci_mask)
{
    struct rte_flow_item_vlan spec = { .tci = rte_cpu_to_be_16(tci) };
    struct rte_flow_item_vlan mask = { .tci = rte_cpu_to_be_16(tci_mask) };

    item(RTE_FLOW_ITEM_TYPE_VLAN, &spec, &mask, sizeof spec);
}

void
ipv4_dst(uint32_t address)
{
    struct rte_flow_item_ipv4 spec = {
        .hdr.dst_addr = rte_cpu_to_be_32(address),
    };
    struct rte_flow_item_ipv4 mask = { .hdr.dst_addr = UINT32_MAX };

    item(RTE_FLOW_ITEM_TYPE_IPV4, &spec, &mask, sizeof spec);
}

void
ipv4_proto(uint8_t proto, uint8_t proto_mask)
{
    struct rte_flow_item_ipv4 spec = { .hdr.next_proto_id = proto };
    struct rte_flow_item_ipv4 mask = { .hdr.next_proto_id = proto_mask };

    item(RTE_FLOW_ITEM_TYPE_IPV4, &spec, &mask, sizeof spec);
}

void
udp_dst(uint16_t port)
{
    struct rte_flow_item_udp spec = {
        .hdr.dst_port = rte_cpu_to_be_16(port),
    };
    struct rte_flow_item_udp mask = { .hdr.dst_port = 0xffff };

    item(RTE_FLOW_ITEM_TYPE_UDP, &spec, &mask, sizeof spec);
}

void
icmp_type(uint8_t type)
{
    struct rte_flow_item_icmp spec = { .hdr.icmp_type = type };
    struct rte_flow_item_icmp mask = { .hdr.icmp_type = 0xff };

    item(RTE_FLOW_ITEM_TYPE_ICMP, &spec, &mask, sizeof spec);
}

void
vxlan(uint32_t vni)
{
    struct rte_flow_item_vxlan spec = {
        .vni = { vni >> 16, vni >> 8, vni },
    };
    struct rte_flow_item_vxlan mask = { .vni = { 255, 255, 255 } };

    item(RTE_FLOW_ITEM_TYPE_VXLAN, &spec, &mask, sizeof spec);
}

void
geneve(uint32_t vni)
{
    struct rte_flow_item_geneve spec = {
        .vni = { vni >> 16, vni >> 8, vni },
    };
    struct rte_flow_item_geneve mask = { .vni = { 255, 255, 255 } };

    item(RTE_FLOW_ITEM_TYPE_GENEVE, &spec, &mask, sizeof spec);
}

void
geneve_word(uint16_t word, uint16_t word_mask)
{
    struct rte_flow_item_geneve spec = {
        .ver_opt_len_o_c_rsvd0 = rte_cpu_to_be_16(word), .vni = { 0, 0, 5 },
    };
    struct rte_flow_item_geneve mask = {
        .ver_opt_len_o_c_rsvd0 = rte_cpu_to_be_16(word_mask),
        .vni = { 255, 255, 255 },
    };

    item(RTE_FLOW_ITEM_TYPE_GENEVE, &spec, &mask, sizeof spec);
}

void
option(uint16_t class, uint8_t type, uint8_t len, uint32_t data,
       uint32_t data_mask)
{
    uint32_t value[2] = { rte_cpu_to_be_32(data) };
    uint32_t bits[2] = { rte_cpu_to_be_32(data_mask) };
    struct rte_flow_item_geneve_opt spec = {
        .option_class = rte_cpu_to_be_16(class), .option_type = type,
        .option_len = len, .data = keep(value, sizeof value),
    };
    struct rte_flow_item_geneve_opt mask = {
        .option_class = 0xffff, .option_type = 0xff, .option_len = 0x1f,
        .data = keep(bits, sizeof bits),
    };

    item(RTE_FLOW_ITEM_TYPE_GENEVE_OPT, &spec, &mask, sizeof spec);
}

void
port_item(enum test_port port)
{
    struct rte_flow_item_port_id spec = { .id = test_ids[port] };
    struct rte_flow_item_port_id mask = { .id = UINT32_MAX };

    item(RTE_FLOW_ITEM_TYPE_PORT_ID, &spec, &mask, sizeof spec);
}

void
action(enum rte_flow_action_type type, const void *conf, size_t size)
{
    actions[n_actions].type = type;
    actions[n_actions].conf = keep(conf, size);
    n_actions++;
}

void count(void) { action(RTE_FLOW_ACTION_TYPE_COUNT, NULL, 0); }
void drop(void) { action(RTE_FLOW_ACTION_TYPE_DROP, NULL, 0); }
void pop_vlan(void) { action(RTE_FLOW_ACTION_TYPE_OF_POP_VLAN, NULL, 0); }

void
jump(uint32_t number)
{
    struct rte_flow_action_jump conf = { .group = number };

    action(RTE_FLOW_ACTION_TYPE_JUMP, &conf, sizeof conf);
}

void
port_id(enum test_port port)
{
    struct rte_flow_action_port_id conf = { .id = test_ids[port] };

    action(RTE_FLOW_ACTION_TYPE_PORT_ID, &conf, sizeof conf);
}

void
represented_port(enum test_port port)
{
    struct rte_flow_action_ethdev conf = { .port_id = test_ids[port] };

    action(RTE_FLOW_ACTION_TYPE_REPRESENTED_PORT, &conf, sizeof conf);
}

void
raw_encap(const uint8_t *data, size_t size)
{
    struct rte_flow_action_raw_encap conf = {
        .data = keep(data, size), .size = size,
    };

    action(RTE_FLOW_ACTION_TYPE_RAW_ENCAP, &conf, sizeof conf);
}

void
encap(size_t size)
{
    uint8_t bytes[256] = { [12] = 0x08, [13] = 0x00, [14] = 0x45,
                           [22] = 64, [23] = IPPROTO_UDP };

    if (size >= 78) {
        bytes[12] = 0x86;
        bytes[13] = 0xdd;
        bytes[14] = 0x60;
        bytes[20] = IPPROTO_UDP;
        bytes[22] = bytes[23] = 0;
    }
    raw_encap(bytes, size);
}

void
raw_decap(size_t size)
{
    static uint8_t bytes[256];
    struct rte_flow_action_raw_decap conf = { .data = bytes, .size = size };

    action(RTE_FLOW_ACTION_TYPE_RAW_DECAP, &conf, sizeof conf);
}

void
set_mac(void)
{
    struct rte_flow_action_set_mac conf = { { 2, 0, 0, 0, 0, 9 } };

    action(RTE_FLOW_ACTION_TYPE_SET_MAC_SRC, &conf, sizeof conf);
    conf.mac_addr[5] = 8;
    action(RTE_FLOW_ACTION_TYPE_SET_MAC_DST, &conf, sizeof conf);
}

void
set_ipv4_src(uint32_t address)
{
    struct rte_flow_action_set_ipv4 conf = { rte_cpu_to_be_32(address) };

    action(RTE_FLOW_ACTION_TYPE_SET_IPV4_SRC, &conf, sizeof conf);
}

void
set_ipv6_src(void)
{
    struct rte_flow_action_set_ipv6 conf = { { 0x20, 1, [15] = 9 } };

    action(RTE_FLOW_ACTION_TYPE_SET_IPV6_SRC, &conf, sizeof conf);
}

void
set_tp_src(uint16_t port)
{
    struct rte_flow_action_set_tp conf = { rte_cpu_to_be_16(port) };

    action(RTE_FLOW_ACTION_TYPE_SET_TP_SRC, &conf, sizeof conf);
}

void
set_ttl(uint8_t ttl)
{
    struct rte_flow_action_set_ttl conf = { ttl };

    action(RTE_FLOW_ACTION_TYPE_SET_TTL, &conf, sizeof conf);
}

void
push_vlan(void)
{
    struct rte_flow_action_of_push_vlan conf = { RTE_BE16(0x8100) };

    action(RTE_FLOW_ACTION_TYPE_OF_PUSH_VLAN, &conf, sizeof conf);
}

void
set_vid(uint16_t vid)
{
    struct rte_flow_action_of_set_vlan_vid conf = { rte_cpu_to_be_16(vid) };

    action(RTE_FLOW_ACTION_TYPE_OF_SET_VLAN_VID, &conf, sizeof conf);
}

void
tunnel(bool six, bool with_option)
{
    eth();
    if (six) {
        ipv6();
    } else {
        ipv4();
    }
    udp();
    geneve(5);
    if (with_option) {
        option(0x0102, 0x80, 1, 0x00010002, 0x7fffffff);
    }
}

void
simple(enum test_port port)
{
    start(port);
    eth();
    ipv4();
    udp();
}

static int
validate_it(struct rte_flow_error *error)
{
    memset(error, 0, sizeof *error);
    return rte_flow_validate(test_ids[the_port], &the_attr, items, actions,
                             error);
}

static struct rte_flow *
create_it(struct rte_flow_error *error)
{
    memset(error, 0, sizeof *error);
    rte_errno = 0;
    return rte_flow_create(test_ids[the_port], &the_attr, items, actions,
                           error);
}

struct rte_flow *
make(void)
{
    struct rte_flow_error error;
    struct rte_flow *flow = create_it(&error);

    test_check(flow, "create refused: %s (%s, type %d)",
               strerrorname_np(rte_errno),
               error.message ? error.message : "", error.type);
    return flow;
}

struct rte_flow *
make_quiet(void)
{
    struct rte_flow_error error;

    return create_it(&error);
}

void
unmake(enum test_port port, struct rte_flow *flow)
{
    struct rte_flow_error error;

    test_check(flow && !rte_flow_destroy(test_ids[port], flow, &error),
               "destroy failed");
}

void
accepted(void)
{
    struct rte_flow_error error;
    int retval = validate_it(&error);

    test_check(!retval, "validate refused: %s (%s, type %d)",
               strerrorname_np(-retval),
               error.message ? error.message : "", error.type);
    unmake(the_port, make());
}

static void
check_error(const char *verb, int got, int want, enum rte_flow_error_type type,
            const struct rte_flow_error *error)
{
    test_check(got == want && error->type == type,
               "%s: %s (type %d, %s), expected %s (type %d)", verb,
               got ? strerrorname_np(got) : "accepted", error->type,
               error->message ? error->message : "", strerrorname_np(want),
               type);
}

static void
check_create(int want, enum rte_flow_error_type type)
{
    struct rte_flow_error error;
    struct rte_flow *flow = create_it(&error);

    check_error("create", flow ? 0 : rte_errno, want, type, &error);
    if (flow) {
        rte_flow_destroy(test_ids[the_port], flow, &error);
    }
}

void
refused(int want, enum rte_flow_error_type type)
{
    struct rte_flow_error error;
    int retval = validate_it(&error);

    check_error("validate", -retval, want, type, &error);
    check_create(want, type);
}

void
refused_late(int want, enum rte_flow_error_type type)
{
    struct rte_flow_error error;
    int retval = validate_it(&error);

    test_check(!retval, "validate refused: %s (%s)", strerrorname_np(-retval),
               error.message ? error.message : "");
    check_create(want, type);
}

static bool
log_has(const char *text)
{
    FILE *file = fopen(model.log, "r");
    char line[1024];
    bool found = false;

    while (file && fgets(line, sizeof line, file)) {
        found |= strstr(line, "ABORT") && strstr(line, text);
    }
    if (file) {
        fclose(file);
    }
    return found;
}

/* In a child, since it takes the process along. */
void
kills(const char *text)
{
    int status = 0;
    pid_t pid = fork();

    if (!pid) {
        struct rte_flow_error error;

        alarm(20);
        if (!freopen("/dev/null", "w", stderr)) {
            _exit(1);
        }
        create_it(&error);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    test_check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT,
               "the model did not abort: status %#x", status);
    test_check(log_has(text), "no \"%s\" in the log", text);
}

uint64_t
hits(enum test_port port, struct rte_flow *flow)
{
    struct rte_flow_query_count data = { .reset = 0 };
    struct rte_flow_action query[] = {
        { .type = RTE_FLOW_ACTION_TYPE_COUNT },
        { .type = RTE_FLOW_ACTION_TYPE_END },
    };
    struct rte_flow_error error;

    if (rte_flow_query(test_ids[port], flow, query, &data, &error)) {
        return UINT64_MAX;
    }
    return data.hits;
}
