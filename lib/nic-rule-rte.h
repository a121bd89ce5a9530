/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_RULE_RTE_H
#define NIC_RULE_RTE_H 1

/* A rule in the words of DPDK's rte_flow
 * ======================================
 *
 * Only items and actions of DPDK's stable API, in the order that the mlx5
 * driver demands with dv_flow_en=1 (mlx5 guide; mlx5_flow_dv.c). */

struct nic_rule_rte;

#ifdef DPDK_NETDEV

#include <rte_flow.h>

#include "nic-rule.h"

/* Two levels of Ethernet, VLAN, IP and L4, the tunnel, an option, the end. */
#define NIC_RTE_ITEMS_MAX 11

/* A push of a tag is three, and there is an end. */
#define NIC_RTE_ACTIONS_MAX (NIC_ACTIONS_MAX + 3)

/* 'attr', 'items' and 'actions' are arguments of rte_flow_create().  Their
 * pointers lead into this same structure, which refers to nothing else. */
struct nic_rule_rte {
    struct rte_flow_attr attr;
    struct rte_flow_item items[NIC_RTE_ITEMS_MAX];
    struct rte_flow_action actions[NIC_RTE_ACTIONS_MAX];
    size_t n_items, n_actions;  /* With the ends. */

    struct {
        struct rte_flow_item_eth eth[2];        /* Value, mask. */
        struct rte_flow_item_vlan vlan[2];
        struct rte_flow_item_ipv4 ipv4[3];      /* Value, mask, last. */
        struct rte_flow_item_ipv6 ipv6[2];
        struct rte_flow_item_tcp tcp[2];
        struct rte_flow_item_udp udp[2];
        struct rte_flow_item_icmp icmp[2];
        struct rte_flow_item_icmp6 icmp6[2];
    } level[2];                 /* Outer, inner. */
    struct rte_flow_item_geneve geneve[2];
    struct rte_flow_item_geneve_opt option[2];
    uint32_t option_data[2];
    struct rte_flow_item_vxlan vxlan[2];

    union {
        struct rte_flow_action_count count;
        struct rte_flow_action_raw_encap raw_encap;
        struct rte_flow_action_raw_decap raw_decap;
        struct rte_flow_action_set_mac mac;
        struct rte_flow_action_set_ipv4 ipv4;
        struct rte_flow_action_set_ipv6 ipv6;
        struct rte_flow_action_set_dscp dscp;
        struct rte_flow_action_set_ttl ttl;
        struct rte_flow_action_set_tp tp;
        struct rte_flow_action_of_push_vlan push_vlan;
        struct rte_flow_action_of_set_vlan_vid vlan_vid;
        struct rte_flow_action_of_set_vlan_pcp vlan_pcp;
        struct rte_flow_action_jump jump;
        struct rte_flow_action_ethdev ethdev;
    } conf[NIC_RTE_ACTIONS_MAX];        /* Of the action of this index. */
    uint8_t header[NIC_HEADER_MAX];
};

/* Returns 'rule', which must not be a refusal, as one block of memory for the
 * caller to free().  'rule' is not needed any more then.  'out_port_id' is
 * DPDK's number of the port that NIC_ACTION_OUTPUT names; the caller has
 * checked that its driver and switch_info.domain_id are those of the port that
 * the rule is created on, because mlx5 does not, and reads another driver's
 * memory as its own. */
struct nic_rule_rte *nic_rule_to_rte(const struct nic_rule *rule,
                                     uint16_t out_port_id);

#endif /* DPDK_NETDEV */

#endif /* nic-rule-rte.h */
