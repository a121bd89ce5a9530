/* SPDX-License-Identifier: Apache-2.0 */
/* The eSwitch model, a test tool: a library that is preloaded into a DPDK
 * program and stands in for the rte_flow calls on ports which its
 * configuration names, as ConnectX eSwitches would.  Never installed. */

#ifndef ESWITCH_MODEL_H
#define ESWITCH_MODEL_H 1

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <rte_ethdev.h>
#include <rte_flow.h>

#include "table.h"

#define PRINTF(FORMAT, ARGS) __attribute__((format(printf, FORMAT, ARGS)))

enum {
    MAX_ESWITCHES = 32,
    MAX_PORTS = 512,
    MAX_QUEUES = 64,
    MAX_ENCAP = 132,            /* Bytes that mlx5 has room for. */
    MAX_FRAME = 65536,
    HEADER_DECISION = 34,       /* Ethernet + IPv4: what is "a tunnel". */
    MAX_PRIORITY = 21843,
    MAX_HARDWARE_ACTIONS = 8,
    MAX_REWRITES = 32,
    MAX_ACTIONS = 64
};

/* What a packet looks like to the matcher, and equally what a rule asks.  All
 * in network byte order but for the small integers.  No padding, since it is
 * compared and hashed as words. */
struct level_key {
    uint8_t eth_dst[6], eth_src[6];
    uint16_t eth_type;          /* Behind all VLAN tags. */
    uint16_t tci;               /* Of the first tag. */
    uint8_t vlan;               /* enum vlan_kind, of the first tag. */
    uint8_t vlan_more;          /* 1: two tags at least. */
    uint8_t ethernet;           /* 1: there is an Ethernet header. */
    uint8_t ip_version;         /* 4, 6, or 0. */
    uint8_t ip_proto;           /* Behind all extension headers. */
    uint8_t ttl;
    uint8_t tos;                /* IPv4. */
    uint8_t fragment;           /* 1: any fragment. */
    uint32_t vtc_flow;          /* IPv6. */
    uint8_t ip_src[16], ip_dst[16]; /* IPv4: the first four bytes. */
    uint16_t l4_src, l4_dst;
    uint8_t tcp_flags;
    uint8_t icmp_type, icmp_code;
    uint8_t l4;                 /* 1: the transport header was there. */
    uint16_t icmp_ident, icmp_seq;
};

/* By the type of the first tag, 0x8100 or 0x88a8. */
enum vlan_kind {
    VLAN_NONE, VLAN_ANY = 0x80, VLAN_C = 0x81, VLAN_S = 0x82
};
enum tunnel_kind { TUNNEL_NONE, TUNNEL_VXLAN, TUNNEL_GENEVE };

struct tunnel_key {
    uint8_t kind;               /* enum tunnel_kind. */
    uint8_t vni[3];
    uint16_t protocol;          /* Geneve. */
    uint8_t opt_len;            /* Geneve: in units of 4 bytes. */
    uint8_t oam;                /* Geneve: 1 or 0. */
    uint8_t option;             /* 1: the eSwitch's option is present. */
    uint8_t pad[3];
    uint32_t option_data;       /* Its first four bytes. */
};

struct key {
    struct level_key level[2];  /* Outer, inner. */
    struct tunnel_key tunnel;
    uint16_t source;            /* Index of the source port, 1 and up. */
    uint8_t pad[6];
};

enum { KEY_WORDS = sizeof(struct key) / 8 };
_Static_assert(sizeof(struct key) % 8 == 0, "key is not words");
_Static_assert(sizeof(struct level_key) == 72, "level_key has padding");
_Static_assert(sizeof(struct tunnel_key) == 16, "tunnel_key has padding");

/* Where the headers of a packet are: offsets, 0 if there is none. */
struct level_place {
    uint32_t eth, l3, l4, end;  /* 'end': first byte behind what is known. */
};

struct packet {
    struct key key;
    struct level_place place[2];
    uint32_t tunnel, payload;   /* Tunnel header, first byte behind it. */
};

enum action_kind {
    ACTION_COUNT, ACTION_JUMP, ACTION_PORT, ACTION_DROP, ACTION_MARK,
    ACTION_DECAP, ACTION_DECAP_L3, ACTION_ENCAP, ACTION_ENCAP_L3,
    ACTION_POP_VLAN, ACTION_PUSH_VLAN, ACTION_SET_VID, ACTION_SET_PCP,
    ACTION_MAC_SRC, ACTION_MAC_DST, ACTION_IPV4_SRC, ACTION_IPV4_DST,
    ACTION_IPV6_SRC, ACTION_IPV6_DST, ACTION_TP_SRC, ACTION_TP_DST,
    ACTION_SET_TTL, ACTION_DEC_TTL, ACTION_IPV4_DSCP, ACTION_IPV6_DSCP,
    ACTION_INGRESS_FATE
};

struct action {
    uint8_t kind;               /* enum action_kind. */
    uint8_t size;               /* DECAP_L3, ENCAP_L3: bytes of RAW_DECAP. */
    union {
        uint8_t bytes[16];      /* MAC or IP address, TTL, DSCP, PCP. */
        uint16_t port16;        /* Transport port, VID, TPID: network. */
        uint32_t number;        /* Group, mark. */
        struct port *port;      /* NULL: nowhere. */
        struct context *context; /* ENCAP, DECAP_L3. */
    };
};

/* What encap writes; shared by rules with the same bytes of one eSwitch. */
struct context {
    struct table_node node;
    size_t refs;
    uint8_t kind;               /* ACTION_ENCAP, _ENCAP_L3, _DECAP_L3. */
    uint8_t size;
    uint8_t bytes[MAX_ENCAP];
};

/* A rule on its way from pattern and actions to a place in a group. */
struct draft {
    struct port *port;          /* Created here. */
    struct port *source;        /* Whose traffic it matches; NULL: nobody's. */
    struct rte_flow_attr attr;
    struct key key, mask;
    uint8_t sublevel;           /* 0: ends in L4 or tunnel, 1: L3, 2: L2. */
    bool option;                /* Uses GENEVE_OPT... */
    uint16_t option_class;
    uint8_t option_type, option_len;
    bool option_no_mask;        /* ... whose mask has no data. */
    bool icmp_fields;           /* Matches ICMP type, code, ident or seq. */
    unsigned seen[2];           /* Layers of each level, SEEN_*. */
    struct action actions[MAX_ACTIONS];
    unsigned n_actions;
    struct context encap;       /* Bytes for the action that needs them. */
    bool encap_no_ip;           /* Its Ethernet type is not IP. */
};

enum {
    SEEN_ETH = 1, SEEN_VLAN = 2, SEEN_IPV4 = 4, SEEN_IPV6 = 8,
    SEEN_UDP = 16, SEEN_TCP = 32, SEEN_ICMP = 64, SEEN_ICMP6 = 128,
    SEEN_VXLAN = 256, SEEN_GENEVE = 512,
    SEEN_L3 = SEEN_IPV4 | SEEN_IPV6,
    SEEN_L4 = SEEN_UDP | SEEN_TCP | SEEN_ICMP | SEEN_ICMP6,
    SEEN_TUNNEL = SEEN_VXLAN | SEEN_GENEVE
};

/* Rules with one mask and one priority, found by hash. */
struct matcher {
    struct matcher *next;       /* In order of priority, then age. */
    uint32_t priority, sublevel;
    struct key mask;
    uint8_t words[KEY_WORDS];   /* Those of 'mask' that are not 0. */
    unsigned n_words;
    struct table rules;
};

struct group {
    struct table_node node;
    uint32_t number;
    bool transfer;
    struct matcher *matchers;
};

struct counts {
    _Atomic uint64_t packets, bytes;
};

/* A rule's handle, the "struct rte_flow *" of the API, is a number that is
 * never used again, so that a stale one is known. */
struct rule {
    struct table_node by_handle, by_key;
    uintptr_t handle;
    uint64_t age;
    struct port *port;
    struct group *group;
    struct matcher *matcher;
    struct key key;
    bool option, counted;
    struct counts now;
    struct counts shown;        /* As a query sees them: up to 1 s old. */
    struct counts base;         /* As of the last query with reset. */
    unsigned n_actions;
    struct action actions[];
};

/* A handle whose rule vanished without the program destroying it. */
struct stale {
    struct table_node node;
    uintptr_t handle;
    const char *why;
};

enum support { SUPPORT_NO, SUPPORT_YES, SUPPORT_LATE };
enum device { CX5, CX6DX };

struct port {
    struct eswitch *eswitch;
    char name[RTE_ETH_NAME_MAX_LEN]; /* Of the DPDK device. */
    uint16_t index;             /* 1 and up, over all eSwitches. */
    bool uplink;
    unsigned pf, vf;
    char behind[128];           /* What stands for the VF, for people. */

    uint16_t id;                /* Ethdev port; valid while 'started'. */
    atomic_bool started;
    uint32_t dev_flags;
    atomic_size_t n_rules;

    /* Transmission: the program's threads and the model share queues, so
     * all of them pass through 'tx_mutex'. */
    pthread_mutex_t tx_mutex;
    struct tx_queue { struct port *port; void *queue; } tx[MAX_QUEUES];
    void *tx_data[MAX_QUEUES];
    eth_tx_burst_t tx_burst;
    eth_tx_prep_t tx_prepare;
    const struct rte_eth_rxtx_callback *rx_callbacks[MAX_QUEUES];

    _Atomic uint64_t n_executed, n_missed, n_missed_later, n_dropped;
    _Atomic uint64_t n_tx, n_tx_failed, n_too_large;
    _Atomic uint64_t taken_bytes, tx_bytes;     /* Past the program. */

    /* How much of that is older than the driver's own counters. */
    uint64_t old_taken, old_taken_bytes, old_tx, old_tx_bytes;
};

struct eswitch {
    char name[64], driver[32];
    uint16_t domain;
    enum device device;
    bool switchdev, duplicates, decap;
    unsigned xmeta, profile, flow_engine, release; /* release: 2211, 2411. */
    enum support option;        /* Firmware can match Geneve options. */
    unsigned option_len;        /* Longest one, in units of 4 bytes. */

    /* Reading: packets.  Writing: everything that changes rules. */
    pthread_rwlock_t lock;
    struct table groups, handles, stale, contexts;
    unsigned option_users;
    uint16_t tuple_class;
    uint8_t tuple_type, tuple_len;
    uint64_t next_age;
    atomic_size_t n_rules;

    /* Limits; SIZE_MAX: none. */
    size_t max_rules, max_contexts;
};

/* Faults and totals of the whole model. */
struct model {
    struct eswitch eswitches[MAX_ESWITCHES];
    struct port ports[MAX_PORTS];
    unsigned n_eswitches, n_ports;
    char log[256], control[108];

    atomic_int create_error, create_error_left; /* errno, how often more. */
    atomic_int destroy_error, destroy_error_left;
    atomic_int query_error;
    atomic_uint slow_create, slow_destroy;      /* ms. */
    atomic_uint counter_lag;    /* ms; 0: none. */
    atomic_bool counters_frozen;

    _Atomic uint64_t n_validated, n_created, n_destroyed, n_flushed;
    _Atomic uint64_t n_refused, n_flagged, n_errors;
    _Atomic uint64_t refused[256]; /* By errno. */

    /* What the model itself costs: CPU time of rte_flow_create(), and memory
     * of the rules that there are. */
    _Atomic uint64_t create_ns, rule_bytes;
};

extern struct model model;

/* configuration.c: reads the file that ESWITCH_CONFIG names, once.  Every
 * hook calls it first. */
void eswitch_init(void);
void eswitch_init_from(const char *path);
struct port *eswitch_port_find(uint16_t ethdev);
struct eswitch *eswitch_find(const char *name);

/* log.c */
enum log_level { LOG_INFO, LOG_FLAG, LOG_ERROR };
void eswitch_log(enum log_level, const char *format, ...) PRINTF(2, 3);
/* Where real hardware would corrupt memory: logs the line and aborts. */
_Noreturn void eswitch_die(const char *format, ...) PRINTF(1, 2);
int eswitch_refuse(struct rte_flow_error *, int error,
                   enum rte_flow_error_type, const void *cause,
                   const char *why);

/* validate-items.c, validate-actions.c: fill in the draft, or refuse with a
 * negative errno.  The eSwitch's lock is held. */
int eswitch_validate_items(struct draft *, const struct rte_flow_item[],
                           struct rte_flow_error *);
int eswitch_validate_actions(struct draft *, const struct rte_flow_action[],
                             struct rte_flow_error *);

/* vxlan.c: the bytes of VXLAN_ENCAP's headers. */
int eswitch_vxlan_header(const struct rte_flow_item[], struct context *,
                         const void *cause, struct rte_flow_error *);

/* rule.c.  The eSwitch's lock is held for writing. */
int eswitch_rule_insert(struct draft *, uintptr_t *handle,
                        struct rte_flow_error *);
void eswitch_rule_remove(struct rule *);
struct rule *eswitch_rule_find(const struct eswitch *, uintptr_t handle);
const struct rule *eswitch_rule_match(const struct eswitch *, bool transfer,
                                      uint32_t group, const struct key *);
/* Takes the lock itself.  Returns how many rules went. */
size_t eswitch_port_flush(struct port *, const char *why);
void eswitch_counters_refresh(void);

/* packet.c.  'eswitch' tells which option is looked for. */
void eswitch_packet_parse(const struct eswitch *, const uint8_t *data,
                          size_t size, struct packet *);

/* rewrite.c: changes 'frame' of 'size' bytes, which has room for MAX_ENCAP
 * more on either side, as one action says.  'packet' tells where headers are
 * and is kept up to date.  Returns false if the packet is lost. */
struct frame {
    uint8_t *data;
    size_t size;
    const struct eswitch *eswitch;
    struct packet packet;
};
bool eswitch_frame_apply(struct frame *, const struct action *);
void eswitch_encap_finish(uint8_t *data, size_t size, uint16_t source_port);

/* execute.c: what a port received; returns how many of them are left for the
 * program, moved to the front. */
uint16_t eswitch_receive(struct port *, struct rte_mbuf **, uint16_t n);

/* port.c */
uint16_t eswitch_port_send(struct port *, struct rte_mbuf **, uint16_t n);
void eswitch_port_reset_event(struct port *, unsigned pause);

/* show.c: text that the caller frees. */
char *eswitch_show(const char *what);
char *eswitch_rule_format(const struct rule *);

/* control.c: a command as the socket takes it; the answer is freed by the
 * caller. */
char *eswitch_control(const char *command);
void eswitch_control_start(void);

#endif /* model.h */
