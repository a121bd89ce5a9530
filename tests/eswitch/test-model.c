/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#include <config.h>

#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_eth_ring.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

/* test-model DIRECTORY VECTORS [SEED]: tests of the model, with net_ring ports
 * in memory.  Files go to DIRECTORY; VECTORS is what the tool of that name
 * printed, or "-". */

static const struct {
    const char *name, *eswitch, *kind;
} names[N_TEST_PORTS] = {
    [UA] = { "ua", "a", "uplink" },
    [RA0] = { "ra0", "a", "representor" },
    [RA1] = { "ra1", "a", "representor" },
    [UB] = { "ub", "b", "uplink" },
    [RB0] = { "rb0", "b", "representor" },
    [UCX5] = { "ucx5", "cx5", "uplink" },
    [RCX5] = { "rcx5", "cx5", "representor" },
    [UNOSWITCHDEV] = { "unosw", "nosw", "uplink" },
    [UICMP] = { "uicmp", "icmp", "uplink" },
    [RICMP] = { "ricmp", "icmp", "representor" },
    [ULATE] = { "ulate", "late", "uplink" },
    [UHWS22] = { "uhws22", "hws22", "uplink" },
    [RHWS22] = { "rhws22", "hws22", "representor" },
    [UHWS24] = { "uhws24", "hws24", "uplink" },
    [RHWS24] = { "rhws24", "hws24", "representor" },
    [UNODUP] = { "unodup", "nodup", "uplink" },
    [UNODECAP] = { "unodecap", "nodecap", "uplink" },
    [UXMETA] = { "uxmeta", "xmeta", "uplink" },
    [FOREIGN] = { "foreign", NULL, NULL },
};

static const char eswitches[] =
    "eswitch a domain=7\n"
    "eswitch b domain=8\n"
    "eswitch cx5 device=cx5\n"
    "eswitch nosw switchdev=no\n"
    "eswitch icmp profile=2\n"
    "eswitch late geneve-option=late\n"
    "eswitch hws22 dv_flow_en=2\n"
    "eswitch hws24 dv_flow_en=2 release=2411\n"
    "eswitch nodup allow_duplicate_pattern=no\n"
    "eswitch nodecap decap_en=no\n"
    "eswitch xmeta dv_xmeta=1\n";

uint16_t test_ids[N_TEST_PORTS];
struct port *test_ports[N_TEST_PORTS];
unsigned test_passed, test_failed, test_skipped;
uint64_t test_seed;

static struct rte_ring *rx_rings[N_TEST_PORTS], *tx_rings[N_TEST_PORTS];
static struct rte_mempool *pool;
static struct rte_mbuf *kept;
static char case_name[128];
static bool case_failed;

void
test_begin(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(case_name, sizeof case_name, format, args);
    va_end(args);
    case_failed = false;
}

void
test_end(void)
{
    if (case_failed) {
        test_failed++;
    } else {
        test_passed++;
    }
}

void
test_skip(const char *name, const char *why)
{
    printf("skipped: %s: %s\n", name, why);
    test_skipped++;
}

void
test_check(bool ok, const char *format, ...)
{
    va_list args;

    if (ok) {
        return;
    }
    case_failed = true;
    printf("FAILED: %s: ", case_name);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

/* xorshift64*, so that a seed means the same everywhere. */
uint32_t
test_random(void)
{
    static uint64_t state;

    state = state ? state : test_seed * 2 + 1;
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (state * 0x2545f4914f6cdd1dULL) >> 32;
}

size_t
test_unhex(const char *hex, uint8_t *bytes, size_t max)
{
    unsigned byte;
    size_t n;

    for (n = 0; n < max && sscanf(hex + 2 * n, "%2x", &byte) == 1; n++) {
        bytes[n] = byte;
    }
    return n;
}

struct rte_mbuf *
test_mbuf(const uint8_t *bytes, size_t size)
{
    struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
    char *data = mbuf ? rte_pktmbuf_append(mbuf, size) : NULL;

    if (!data) {
        fprintf(stderr, "test-model: no buffer of %zu bytes\n", size);
        exit(1);
    }
    memcpy(data, bytes, size);
    return mbuf;
}

void
send_bytes(enum test_port port, const uint8_t *bytes, size_t size)
{
    struct rte_mbuf *mbuf = test_mbuf(bytes, size);

    rte_pktmbuf_free(kept);
    kept = NULL;
    rte_ring_enqueue(rx_rings[port], mbuf);
    if (!rte_eth_rx_burst(test_ids[port], 0, &kept, 1)) {
        kept = NULL;
    }
}

static size_t
take(struct rte_mbuf *mbuf, uint8_t *bytes)
{
    size_t size;

    if (!mbuf) {
        return 0;
    }
    size = mbuf->pkt_len;
    test_check(mbuf->data_off + size <= mbuf->buf_len,
               "a packet of %zu bytes ends behind its buffer", size);
    memcpy(bytes, rte_pktmbuf_mtod(mbuf, void *), size);
    rte_pktmbuf_free(mbuf);
    return size;
}

size_t
kept_bytes(uint8_t *bytes)
{
    struct rte_mbuf *mbuf = kept;

    kept = NULL;
    return take(mbuf, bytes);
}

size_t
sent_bytes(enum test_port port, uint8_t *bytes)
{
    void *mbuf;

    return rte_ring_dequeue(tx_rings[port], &mbuf) ? 0 : take(mbuf, bytes);
}

static void
configure(const char *directory)
{
    char path[256];
    FILE *file;

    snprintf(path, sizeof path, "%s/test.conf", directory);
    file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(1);
    }
    fprintf(file, "# Made by test-model.\nlog %s/test.log\n%s", directory,
            eswitches);
    for (int i = 0; i < N_TEST_PORTS; i++) {
        if (names[i].eswitch) {
            bool uplink = names[i].kind[0] == 'u';

            fprintf(file, "%s %s net_ring_%s%s\n", names[i].kind,
                    names[i].eswitch, names[i].name,
                    uplink ? "" : i == RA1 ? " vf=2 behind=nothing"
                    : " vf=0");
        }
    }
    fclose(file);
    setenv("ESWITCH_CONFIG", path, 1);
    snprintf(path, sizeof path, "%s/test.log", directory);
    unlink(path);
}

static void
open_port(int i)
{
    struct rte_eth_conf conf = { .link_speeds = 0 };
    char name[64];
    int id;

    snprintf(name, sizeof name, "rx-%s", names[i].name);
    rx_rings[i] = rte_ring_create(name, 64, 0, 0);
    snprintf(name, sizeof name, "tx-%s", names[i].name);
    tx_rings[i] = rte_ring_create(name, 64, 0, 0);
    id = rte_eth_from_rings(names[i].name, &rx_rings[i], 1, &tx_rings[i], 1,
                            0);
    if (id < 0 || rte_eth_dev_configure(id, 1, 1, &conf)
        || rte_eth_rx_queue_setup(id, 0, 64, 0, NULL, pool)
        || rte_eth_tx_queue_setup(id, 0, 64, 0, NULL)
        || rte_eth_dev_start(id)) {
        fprintf(stderr, "test-model: no port %s\n", names[i].name);
        exit(1);
    }
    test_ids[i] = id;
    test_ports[i] = eswitch_port_find(id);
}

static void
test_switch_info(void)
{
    struct rte_eth_dev_info info;

    test_begin("switch_info");
    rte_eth_dev_info_get(test_ids[UA], &info);
    test_check(!strcmp(info.driver_name, "mlx5_pci"), "driver of an uplink");
    test_check(info.switch_info.domain_id == 7, "domain of an uplink");
    test_check(info.switch_info.port_id == 0xffff, "port of an uplink");
    test_check(!(*info.dev_flags & RTE_ETH_DEV_REPRESENTOR), "flags");
    rte_eth_dev_info_get(test_ids[RA1], &info);
    test_check(!strcmp(info.driver_name, "mlx5_pci"), "driver of a VF's");
    test_check(info.switch_info.domain_id == 7, "domain of a VF's");
    test_check(info.switch_info.port_id == 0x1002, "port of a VF's");
    test_check(!strcmp(info.switch_info.name, "net_ring_ua"), "its name");
    test_check(*info.dev_flags & RTE_ETH_DEV_REPRESENTOR, "its flags");
    rte_eth_dev_info_get(test_ids[FOREIGN], &info);
    test_check(!strcmp(info.driver_name, "net_ring"), "foreign driver");
    test_check(info.switch_info.domain_id
               == RTE_ETH_DEV_SWITCH_DOMAIN_ID_INVALID, "foreign domain");
    test_end();
}

static void
test_nothing_left(void)
{
    test_begin("no rule and no context is left");
    for (unsigned i = 0; i < model.n_eswitches; i++) {
        const struct eswitch *eswitch = &model.eswitches[i];

        test_check(!eswitch->n_rules && !eswitch->handles.n
                   && !eswitch->groups.n && !eswitch->contexts.n
                   && !eswitch->option_users, "eswitch %s", eswitch->name);
    }
    test_check(rte_mempool_avail_count(pool)
               == pool->size, "%u packet buffers are missing",
               pool->size - rte_mempool_avail_count(pool));
    test_end();
}

int
main(int argc, char *argv[])
{
    char *eal[] = { argv[0], "--no-huge", "--no-pci", "-m64",
                    "--no-telemetry", "--no-shconf", "-l0",
                    "--log-level=lib.eal:error", NULL };
    char output[256];

    if (argc < 3) {
        fprintf(stderr, "usage: test-model DIRECTORY VECTORS [SEED]\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    test_seed = (argc > 3 ? strtoull(argv[3], NULL, 0)
                 : (uint64_t) time(NULL) * 1000 + getpid() % 1000);
    printf("seed %lu\n", test_seed);
    configure(argv[1]);
    if (rte_eal_init(RTE_DIM(eal) - 1, eal) < 0) {
        fprintf(stderr, "test-model: no EAL\n");
        return 1;
    }
    pool = rte_pktmbuf_pool_create("packets", 255, 0, 0, 1536, 0);
    for (int i = 0; i < N_TEST_PORTS; i++) {
        open_port(i);
    }
    snprintf(output, sizeof output, "%s/output.txt", argv[1]);

    test_switch_info();
    test_rows();
    test_sizes();
    test_fields();
    test_packets(argv[2], output);
    test_steering();
    test_faults();
    test_fuzz(3000);
    rte_pktmbuf_free(kept);
    kept = NULL;
    test_nothing_left();

    printf("test-model: %u passed, %u failed, %u skipped\n", test_passed,
           test_failed, test_skipped);
    return test_failed != 0;
}
