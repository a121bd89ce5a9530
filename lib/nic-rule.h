/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_RULE_H
#define NIC_RULE_H 1

/* What a NIC's eSwitch is asked to do
 * ===================================
 *
 * A rule is a value: a match on the headers of a packet and ordered actions,
 * or the reason why there is none and the flow stays in software.  It knows
 * nothing of the interface to the NIC (nic-rule-rte.h) and nothing of where
 * it comes from (nic-rule-flow.h).
 *
 * A rule matches packets that enter the eSwitch by one port, in one group.
 * Values and masks are in network byte order unless they are single bytes;
 * value bits beyond the mask are 0.  Values may be copied, compared with
 * nic_rule_equal(), and need no freeing.  No locks, any thread. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "openvswitch/types.h"

struct ds;

/* The mlx5 driver copies a header into a buffer of this size and does not
 * check that it fits (MLX5_ENCAP_MAX_LEN in DPDK's mlx5_prm.h). */
#define NIC_HEADER_MAX 132

/* mlx5 takes what is no longer than this for a bare Ethernet + IPv4 header,
 * and refuses to insert it (rte_flow guide of mlx5, RAW_ENCAP). */
#define NIC_HEADER_MIN 35

#define NIC_ACTIONS_MAX 20

/* Why a flow is not in the NIC.  The first part is found by looking at the
 * flow, the second by asking the NIC. */
enum nic_refusal {
    NIC_OFFLOADABLE,            /* No reason. */
    NIC_NOT_TUNNEL,             /* No tunnel is entered or left: not ours. */
    NIC_CROSS_NIC,              /* In by one eSwitch, out by another one. */
    NIC_TUNNEL_TO_TUNNEL,
    NIC_OPTION_VALUE_ZERO,      /* Geneve: (value & mask) == 0. */
    NIC_CONNTRACK,
    NIC_NO_REPRESENTOR,         /* From or to a port without eSwitch, or from
                                 * or to an uplink that must not be one. */
    NIC_FOREIGN_DRIVER,         /* A NIC whose driver we do not know. */
    NIC_HEADER_TOO_LONG,
    NIC_RECIRCULATION,
    NIC_SEVERAL_OUTPUTS,
    NIC_UNSUPPORTED_MATCH,      /* 'detail': the field. */
    NIC_UNSUPPORTED_ACTION,     /* 'detail': the action. */

    NIC_OUTER_IN_SOFTWARE,      /* Rule B, but there is no rule A. */
    NIC_SECOND_OPTION_TUPLE,    /* The NIC matches another class, type and
                                 * length already. */
    NIC_TABLE_FULL,
    NIC_CONTEXTS_FULL,          /* No room for another header. */
    NIC_MTU,
    NIC_PORT_STOPPED,
    NIC_POLICED,                /* Software limits the rate of a port;
                                 * 'detail': the setting. */
    NIC_NIC_REFUSED,            /* For a reason of its own. */
    NIC_SWITCHED_OFF,           /* By the operator. */
    NIC_N_REFUSALS
};

/* Tunnels that the NIC knows. */
enum nic_tunnel {
    NIC_TUNNEL_NONE,
    NIC_TUNNEL_GENEVE,          /* RFC 8926 */
    NIC_TUNNEL_VXLAN,           /* RFC 7348 */
};

/* Groups of rules.  What enters by a port is looked up in NIC_GROUP_ENTRY; a
 * rule there may jump to the group of a tunnel. */
enum nic_group {
    NIC_GROUP_ENTRY,
    NIC_GROUP_GENEVE,
    NIC_GROUP_VXLAN,
};

/* How many VLAN tags. */
enum nic_tags {
    NIC_TAGS_ANY,
    NIC_TAGS_NONE,
    NIC_TAGS_ONE,               /* Exactly one, with TPID 0x8100. */
};

enum nic_fragments {
    NIC_FRAGMENTS_ANY,          /* Fragments and whole packets. */
    NIC_FRAGMENTS_NONE,
    NIC_FRAGMENTS_ONLY,         /* First and later ones.  IPv4 only. */
};

/* The fields of one level of headers.  IPv4 addresses are the last 4 bytes of
 * 'ip_src' and 'ip_dst', whose other bytes are 0. */
struct nic_headers {
    struct eth_addr eth_dst;
    struct eth_addr eth_src;
    ovs_be16 eth_type;          /* After the tag, if there is one. */
    ovs_be16 vlan_tci;          /* VLAN and PCP; only if NIC_TAGS_ONE. */
    struct in6_addr ip_src;
    struct in6_addr ip_dst;
    ovs_be32 ipv6_label;
    uint8_t ip_proto;           /* Mask 0 or 0xff. */
    uint8_t ip_tos;             /* DSCP and ECN. */
    uint8_t ip_ttl;
    uint8_t tcp_flags;          /* CWR...FIN. */
    ovs_be16 l4_src;            /* TCP, UDP. */
    ovs_be16 l4_dst;
    uint8_t icmp_type;          /* ICMP, ICMPv6. */
    uint8_t icmp_code;
    uint8_t pad[2];             /* 0. */
};

struct nic_level {
    struct nic_headers value, mask;
    enum nic_tags tags;
    enum nic_fragments fragments;
};

/* The one Geneve option that mlx5 can match, with 4 bytes of data.  Class,
 * type and length are always matched in full. */
struct nic_option {
    ovs_be16 class;
    uint8_t type;
    uint8_t length;             /* Of the data, 4-byte units; 0: no match. */
    ovs_be32 data, mask;        /* (data & mask) != 0. */
};

/* If 'tunnel' is not NIC_TUNNEL_NONE, 'outer' has UDP on IPv4 or IPv6, and
 * 'inner' is what the tunnel carries.  Otherwise 'outer' is all of the packet
 * that is looked at, whatever it may carry. */
struct nic_match {
    struct nic_level outer, inner;
    enum nic_tunnel tunnel;
    ovs_be32 vni, vni_mask;     /* 24 bits. */

    /* Geneve only. */
    bool options_length_matched;
    uint8_t options_length;     /* Of all options, 4-byte units. */
    bool oam_matched, oam;
    struct nic_option option;
};

/* In the order in which a NIC works: what an earlier one does is seen by the
 * later ones. */
enum nic_action_type {
    NIC_ACTION_COUNT,
    NIC_ACTION_DECAP,           /* 'header' is what is removed: exact as to
                                 * its length and protocols, but for a tag
                                 * of the underlay; all else 0. */
    NIC_ACTION_POP_VLAN,
    NIC_ACTION_SET_ETH_SRC,     /* 'mac' */
    NIC_ACTION_SET_ETH_DST,
    NIC_ACTION_SET_IPV4_SRC,    /* 'ip', mapped */
    NIC_ACTION_SET_IPV4_DST,
    NIC_ACTION_SET_IPV6_SRC,    /* 'ip' */
    NIC_ACTION_SET_IPV6_DST,
    NIC_ACTION_SET_IPV4_DSCP,   /* 'byte', 0...63 */
    NIC_ACTION_SET_IPV6_DSCP,
    NIC_ACTION_SET_TTL,         /* 'byte' */
    NIC_ACTION_SET_L4_SRC,      /* 'be16' */
    NIC_ACTION_SET_L4_DST,
    NIC_ACTION_PUSH_VLAN,       /* 'vlan' */
    NIC_ACTION_ENCAP,           /* 'header' is put before the packet. */

    /* A rule has exactly one of these, and it is the last. */
    NIC_ACTION_JUMP,            /* 'group' */
    NIC_ACTION_OUTPUT,          /* 'port' */
    NIC_ACTION_DROP,
};

struct nic_action {
    enum nic_action_type type;
    union {
        struct eth_addr mac;
        struct in6_addr ip;
        uint8_t byte;
        ovs_be16 be16;
        struct {
            ovs_be16 tpid;
            ovs_be16 tci;       /* VLAN and PCP. */
        } vlan;
        enum nic_group group;
        odp_port_t port;
    };
};

struct nic_rule {
    enum nic_refusal refusal;
    const char *detail;         /* With 'refusal', a constant string; or
                                 * NULL. */

    /* Only if 'refusal' is NIC_OFFLOADABLE. */
    odp_port_t port;            /* That the packets come in by. */
    enum nic_group group;
    struct nic_match match;
    struct nic_action actions[NIC_ACTIONS_MAX]; /* In ascending order of
                                                 * type, each type once. */
    size_t n_actions;
    uint8_t header[NIC_HEADER_MAX]; /* For NIC_ACTION_ENCAP or _DECAP. */
    size_t header_len;          /* Bytes; 0: neither action. */
};

/* Makes '*rule' one for packets that 'port' receives, in 'group', that
 * matches all of them and counts them; a last action is missing. */
void nic_rule_init(struct nic_rule *rule, odp_port_t port, enum nic_group);

/* Makes '*rule' a refusal; 'detail' is a constant string or NULL.  If it is
 * one already, its first reason stays.  Returns false, for callers that
 * return "was it possible". */
bool nic_rule_refuse(struct nic_rule *rule, enum nic_refusal why,
                     const char *detail);

/* Returns the action of 'type', for the caller to fill in, adding it in its
 * place in the order if there is none; or the action of 'type' if there is
 * one, otherwise NULL.  Pointers to other actions become invalid. */
struct nic_action *nic_rule_put(struct nic_rule *, enum nic_action_type);
const struct nic_action *nic_rule_find(const struct nic_rule *,
                                       enum nic_action_type);

/* True if both ask the NIC for the same thing, or are refused for the same
 * reason. */
bool nic_rule_equal(const struct nic_rule *, const struct nic_rule *);

/* The EtherType after tags that 'level' matches in full, 0 if none, and the
 * IP protocol, -1 if none. */
uint16_t nic_level_eth_type(const struct nic_level *level);
int nic_level_ip_proto(const struct nic_level *level);

/* True if 'rule' matches ICMP types or codes, which mlx5 accepts when asked
 * and then fails to insert with ENOMEM, like a full table, unless its firmware
 * has FLEX_PARSER_PROFILE_ENABLE=2. */
bool nic_rule_matches_icmp_fields(const struct nic_rule *rule);

/* For users: "cross-nic", "unsupported-match". */
const char *nic_refusal_to_string(enum nic_refusal);

/* Appends "cross-nic" or "unsupported-match tcp_flags" for a rule that is a
 * refusal; for one that is not, one line without newline such as
 * "port 1 group 0: eth(type=0x0800),notag,ip(dst=10.0.0.1,proto=17,frag=no),
 * l4(dst=6081) -> count,jump(1)".  What is not matched is left out.  'bytes'
 * adds the header that is put before packets or removed in hexadecimal. */
void nic_rule_format(const struct nic_rule *, bool bytes, struct ds *);

#endif /* nic-rule.h */
