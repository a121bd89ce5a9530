/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#include <config.h>

#include "test.h"

#include <errno.h>

/* What the profile's rows leave out: places and masks of items, and the
 * order and needs of actions. */

#define TYPE(NAME) RTE_FLOW_ERROR_TYPE_##NAME

static void
next(const char *name)
{
    test_end();
    test_begin("%s", name);
}

static void
test_places(void)
{
    test_begin("place: VLAN");
    start(UA); eth(); vlan(1, 0xfff); vlan(1, 0xfff); drop();
    refused(EINVAL, TYPE(ITEM));
    start(UA); eth(); ipv4(); vlan(1, 0xfff); drop();
    refused(EINVAL, TYPE(ITEM));
    start(UA); eth(); ipv4(); udp(); vlan(1, 0xfff); drop();
    refused(EINVAL, TYPE(ITEM));

    next("place: Ethernet");
    start(UA); ipv4(); eth(); drop(); refused(EINVAL, TYPE(ITEM));
    start(UA); vlan(1, 0xfff); eth(); drop(); refused(EINVAL, TYPE(ITEM));

    next("place: L4 without L3, or of the other family");
    start(UA); eth(); udp(); drop(); refused(EINVAL, TYPE(ITEM));
    start(UA); eth(); tcp(); drop(); refused(EINVAL, TYPE(ITEM));
    start(UICMP); eth(); ipv6(); icmp_type(8); drop();
    refused(EINVAL, TYPE(ITEM));
    start(UA); eth(); ipv4();
    item(RTE_FLOW_ITEM_TYPE_ICMP6, NULL, NULL, 0); drop();
    refused(EINVAL, TYPE(ITEM));
    start(UA); tunnel(false, false); eth(); udp(); drop();
    refused(EINVAL, TYPE(ITEM));

    next("place: second of a level, behind a tunnel");
    start(UA); tunnel(false, false); eth(); eth(); jump(1);
    refused(ENOTSUP, TYPE(ITEM));
    start(UA); tunnel(false, false); eth(); ipv4(); ipv6(); jump(1);
    refused(ENOTSUP, TYPE(ITEM));

    next("a pattern that contradicts itself");
    start(UA); eth_type(0x0806); ipv4(); drop();
    refused(EINVAL, TYPE(ITEM));
    start(UA); eth_type(0x0800); vlan(1, 0xfff); drop();
    refused(EINVAL, TYPE(ITEM));

    next("items that are not supported");
    start(UA); eth(); ipv4(); item(RTE_FLOW_ITEM_TYPE_GRE, NULL, NULL, 0);
    drop(); refused(ENOTSUP, TYPE(ITEM));
    start(UA); eth(); ipv4(); item(RTE_FLOW_ITEM_TYPE_SCTP, NULL, NULL, 0);
    drop(); refused(ENOTSUP, TYPE(ITEM));
    test_end();
}

static void
test_masks(void)
{
    struct rte_flow_item_ipv6 ip6 = { .hdr.proto = 0 }, ip6_mask = ip6;
    struct rte_flow_item_udp port = { .hdr.src_port = RTE_BE16(1) };
    struct rte_flow_item_udp last = { .hdr.src_port = RTE_BE16(9) };
    struct rte_flow_item_udp all = { .hdr.src_port = 0xffff };
    struct rte_flow_item_tcp seq = { .hdr.sent_seq = 1 };
    struct rte_flow_item_ipv4 ihl = { .hdr.version_ihl = 0xf };
    struct rte_flow_item_port_id id = { .id = test_ids[RA0] };
    struct rte_flow_item_port_id part = { .id = 0xff };
    struct rte_flow_item_ethdev mgr = { .port_id = 0xffff };
    struct rte_flow *rule;
    uint8_t p[60] = { [12] = 8, [14] = 0x45, [23] = 17 }, got[2048];

    test_begin("mask: IPv6 extension header as protocol");
    ip6_mask.hdr.proto = 0xff;
    ip6.hdr.proto = 44;
    start(UA); eth();
    item(RTE_FLOW_ITEM_TYPE_IPV6, &ip6, &ip6_mask, sizeof ip6); drop();
    refused(EINVAL, TYPE(ITEM));

    next("mask: IPv6 flags of extension headers");
    ip6 = (struct rte_flow_item_ipv6) { .has_frag_ext = 1 };
    start(UA); eth(); item(RTE_FLOW_ITEM_TYPE_IPV6, &ip6, &ip6, sizeof ip6);
    drop(); accepted();
    ip6 = (struct rte_flow_item_ipv6) { .has_hop_ext = 1 };
    start(UA); eth(); item(RTE_FLOW_ITEM_TYPE_IPV6, &ip6, &ip6, sizeof ip6);
    drop(); refused(ENOTSUP, TYPE(ITEM));
    ip6 = (struct rte_flow_item_ipv6) { .hdr.payload_len = 1 };
    start(UA); eth(); item(RTE_FLOW_ITEM_TYPE_IPV6, &ip6, &ip6, sizeof ip6);
    drop(); refused(ENOTSUP, TYPE(ITEM));

    next("mask: ranges");
    start(UA); eth(); ipv4();
    item(RTE_FLOW_ITEM_TYPE_UDP, &port, &all, sizeof all);
    item_last(&last, sizeof last); drop(); refused(EINVAL, TYPE(ITEM));
    start(UA); eth(); ipv4();
    item(RTE_FLOW_ITEM_TYPE_UDP, &port, &all, sizeof all);
    item_last(&port, sizeof port); drop(); accepted();

    next("mask: TCP sequence number, IPv4 header length");
    start(UA); eth(); ipv4();
    item(RTE_FLOW_ITEM_TYPE_TCP, &seq, &seq, sizeof seq); drop();
    refused(ENOTSUP, TYPE(ITEM));
    start(UA); eth(); item(RTE_FLOW_ITEM_TYPE_IPV4, &ihl, &ihl, sizeof ihl);
    drop(); refused(ENOTSUP, TYPE(ITEM));

    next("VXLAN on another port");
    start(UCX5); eth(); ipv4(); udp_dst(4790); vxlan(5); jump(1);
    refused(ENOTSUP, TYPE(ITEM));
    start(UA); eth(); ipv4(); udp_dst(4790); vxlan(5); jump(1); accepted();

    next("port items: partial mask, two, outside of the eSwitch");
    start(UA); item(RTE_FLOW_ITEM_TYPE_PORT_ID, &id, &part, sizeof id);
    drop(); refused(ENOTSUP, TYPE(ITEM_MASK));
    start(UA); port_item(UA); port_item(UA); drop();
    refused(ENOTSUP, TYPE(ITEM));
    start(UA); attr()->transfer = 0; attr()->ingress = 1; port_item(UA);
    eth(); drop(); refused(EINVAL, TYPE(ITEM));

    next("the eSwitch manager's traffic is never seen");
    start(UA);
    item(RTE_FLOW_ITEM_TYPE_REPRESENTED_PORT, &mgr, &mgr, sizeof mgr);
    eth(); drop(); rule = make();
    send_bytes(UA, p, sizeof p);
    test_check(kept_bytes(got) == sizeof p, "hit");
    unmake(UA, rule);
    test_end();
}

static void
test_actions(void)
{
    struct rte_flow_action_of_set_vlan_pcp pcp = { 3 };
    struct rte_flow_item_ipv6 icmp6 = { .hdr.proto = 58 };
    struct rte_flow_item_ipv6 icmp6_mask = { .hdr.proto = 0xff };
    struct rte_flow_action_age age = { .timeout = 1 };

    test_begin("VXLAN_DECAP without VXLAN");
    start(UA); tunnel(false, false); eth();
    action(RTE_FLOW_ACTION_TYPE_VXLAN_DECAP, NULL, 0); port_id(RA0);
    refused(ENOTSUP, TYPE(ACTION));

    next("IPv6 address of ICMPv6");
    start(RA0); eth();
    item(RTE_FLOW_ITEM_TYPE_IPV6, &icmp6, &icmp6_mask, sizeof icmp6);
    set_ipv6_src(); port_id(UA); refused(ENOTSUP, TYPE(ACTION));
    start(RA0); eth(); ipv6();
    item(RTE_FLOW_ITEM_TYPE_ICMP6, NULL, NULL, 0);
    set_ipv6_src(); port_id(UA); refused(ENOTSUP, TYPE(ACTION));

    next("VLAN: push behind the port, priority without push, ID 4095");
    start(RA0); eth(); port_id(UA); push_vlan();
    refused(EINVAL, TYPE(ACTION));
    start(RA0); eth();
    action(RTE_FLOW_ACTION_TYPE_OF_SET_VLAN_PCP, &pcp, sizeof pcp);
    port_id(UA); refused(EINVAL, TYPE(ACTION));
    start(RA0); eth(); push_vlan(); set_vid(4095); port_id(UA);
    refused(EINVAL, TYPE(ACTION));

    /* Hardware: pop, rewrite, push, encap, fate. */
    next("order: push before rewrite, push before pop");
    start(RA0); eth(); ipv4(); push_vlan(); set_ttl(1); port_id(UA);
    refused_late(ENOTSUP, TYPE(UNSPECIFIED));
    start(RA0); eth(); vlan(1, 0xfff); push_vlan(); pop_vlan(); port_id(UA);
    refused_late(ENOTSUP, TYPE(UNSPECIFIED));
    start(RA0); eth(); vlan(1, 0xfff); ipv4(); set_ttl(1); pop_vlan();
    port_id(UA); refused_late(ENOTSUP, TYPE(UNSPECIFIED));
    start(RA0); eth(); ipv4(); port_id(UA); set_ttl(1);
    refused_late(ENOTSUP, TYPE(UNSPECIFIED));

    next("order: pop, rewrite, push, encap");
    start(RA0); eth(); vlan(1, 0xfff); ipv4(); pop_vlan(); set_ttl(1);
    push_vlan(); set_vid(3); encap(58); count(); port_id(UA); accepted();

    next("dv_xmeta_en takes a command of the budget");
    start(UXMETA); eth(); ipv6(); udp();
    for (int i = 0; i < 8; i++) {
        set_ipv6_src();
    }
    jump(1); refused(ENOTSUP, TYPE(ACTION));

    next("actions that are not supported");
    start(UA); eth(); action(RTE_FLOW_ACTION_TYPE_AGE, &age, sizeof age);
    drop(); refused(ENOTSUP, TYPE(ACTION));

    next("port of the rule itself: original");
    start(RA0); eth();
    action(RTE_FLOW_ACTION_TYPE_PORT_ID,
           &(struct rte_flow_action_port_id) { .original = 1 }, 8);
    accepted();
    test_end();
}

void
test_fields(void)
{
    test_places();
    test_masks();
    test_actions();
}
