/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#include <config.h>

#include "test.h"

#include <errno.h>

/* What the eSwitch accepts and refuses: one case for each row of the profile,
 * which README.rst lists by number. */

#define TYPE(NAME) RTE_FLOW_ERROR_TYPE_##NAME

static void
row(int number)
{
    test_end();
    test_begin("row %d", number);
}

static void
icmp(void)
{
    item(RTE_FLOW_ITEM_TYPE_ICMP, NULL, NULL, 0);
}

static void
rows_accepted(void)
{
    test_begin("row 1");
    simple(RA0); count(); encap(58); port_id(UA); accepted();

    row(2);
    start(RA0); eth(); ipv6(); tcp();
    count(); set_mac(); set_ttl(9); encap(78); represented_port(UA);
    accepted();

    row(3);
    start(UA); eth(); ipv4_dst(0x0a000001); udp_dst(6081);
    count(); jump(1); accepted();

    row(4);
    start(UA); group(1); tunnel(false, true); eth(); ipv4();
    count(); raw_decap(58); port_id(RA0); accepted();

    row(5);
    start(UA); group(1); tunnel(true, true); eth(); ipv6();
    count(); raw_decap(78); port_id(RA0); accepted();

    row(6);
    start(UA); group(1); tunnel(false, true); eth(); ipv4(); tcp();
    count(); raw_decap(58); set_mac(); set_ipv4_src(1); set_tp_src(2);
    port_id(RA0); accepted();

    row(7);
    start(UA); group(1); tunnel(false, false); eth(); ipv4();
    count(); raw_decap(58); port_id(RA0); accepted();
}

static void
rows_attributes(void)
{
    struct rte_flow *flow;

    row(8);
    rte_eth_dev_stop(test_ids[RB0]);
    simple(RB0); drop(); refused_late(ENODEV, TYPE(UNSPECIFIED));
    test_check(!rte_eth_dev_start(test_ids[RB0]), "start");
    flow = make();
    unmake(RB0, flow);

    row(9);
    simple(UA); attr()->ingress = 1; drop(); refused(EINVAL, TYPE(ATTR));

    row(10);
    simple(UNOSWITCHDEV); drop(); refused(ENOTSUP, TYPE(UNSPECIFIED));

    row(11);
    simple(UA); priority(21844); drop();
    refused(ENOTSUP, TYPE(ATTR_PRIORITY));
    simple(UA); priority(21843); drop(); accepted();

    row(12);
    simple(UA); group(UINT32_MAX); drop(); refused(EINVAL, TYPE(ATTR_GROUP));
}

static void
rows_fate(void)
{
    struct rte_flow_action_port_id port = { .original = 0 };
    struct rte_flow_action_queue queue = { 0 };
    struct rte_flow_action_mark mark = { 1 };
    struct rte_flow_action_ethdev ethdev = { 0xffff };

    row(13);
    simple(RA0); count(); refused(EINVAL, TYPE(ACTION));
    simple(RA0); encap(58); refused(EINVAL, TYPE(ACTION));

    row(14);
    simple(RA0); port_id(UA); port_id(UA); refused(EINVAL, TYPE(ACTION));

    row(15);
    simple(RA0); port_id(UA); jump(1); refused(EINVAL, TYPE(ACTION));
    simple(RA0); jump(1); port_id(UA); refused(EINVAL, TYPE(ACTION));

    row(16);
    simple(RA0); port_id(UB); refused(EINVAL, TYPE(ACTION));
    simple(RA0); represented_port(UB); refused(EINVAL, TYPE(ACTION));

    row(17);
    simple(RA0); port.id = RTE_MAX_ETHPORTS - 1;
    action(RTE_FLOW_ACTION_TYPE_PORT_ID, &port, sizeof port);
    refused(ENODEV, TYPE(ACTION_CONF));
    simple(RA0); port.id = RTE_MAX_ETHPORTS;
    action(RTE_FLOW_ACTION_TYPE_PORT_ID, &port, sizeof port);
    refused(EINVAL, TYPE(ACTION_CONF));
    simple(RA0); action(RTE_FLOW_ACTION_TYPE_PORT_ID, NULL, 0);
    refused(EINVAL, TYPE(ACTION_CONF));

    row(18);
    simple(RA0); port_id(FOREIGN); kills("net_ring_foreign");

    row(19);
    simple(UA); group(3); jump(3); refused(EINVAL, TYPE(ACTION));
    simple(UA); action(RTE_FLOW_ACTION_TYPE_JUMP, NULL, 0);
    refused(EINVAL, TYPE(ACTION));
    simple(UA); jump(UINT32_MAX); refused(EINVAL, TYPE(ATTR_GROUP));

    row(20);
    simple(UA); jump(77); accepted();

    row(21);
    simple(UA); action(RTE_FLOW_ACTION_TYPE_QUEUE, &queue, sizeof queue);
    refused(ENOTSUP, TYPE(ACTION));
    simple(UA); action(RTE_FLOW_ACTION_TYPE_RSS, &queue, sizeof queue);
    refused(ENOTSUP, TYPE(ACTION));

    row(22);
    simple(UA); action(RTE_FLOW_ACTION_TYPE_MARK, &mark, sizeof mark);
    jump(1); refused(ENOTSUP, TYPE(ACTION));
    simple(UXMETA); action(RTE_FLOW_ACTION_TYPE_MARK, &mark, sizeof mark);
    jump(1); accepted();

    row(23);
    simple(UA);
    action(RTE_FLOW_ACTION_TYPE_PORT_REPRESENTOR, &ethdev, sizeof ethdev);
    refused(ENOTSUP, TYPE(ACTION));

    row(24);
    simple(UA); drop(); count(); accepted();

    row(25);
    simple(UA); raw_decap(58); drop(); refused(EINVAL, TYPE(ACTION));
    simple(RA0); encap(58); drop(); refused(EINVAL, TYPE(ACTION));
    simple(RA0); drop(); set_ttl(1); refused(EINVAL, TYPE(ACTION));
    simple(UXMETA); action(RTE_FLOW_ACTION_TYPE_MARK, &mark, sizeof mark);
    drop(); refused(EINVAL, TYPE(ACTION));

    row(26);
    simple(RA0); count(); count(); port_id(UA);
    refused(EINVAL, TYPE(ACTION));
}

static void
rows_encap(void)
{
    row(27);
    simple(RA0); raw_encap(NULL, 58); port_id(UA);
    refused(EINVAL, TYPE(ACTION));
    simple(RA0); encap(0); port_id(UA); refused(EINVAL, TYPE(ACTION));
    simple(RA0); action(RTE_FLOW_ACTION_TYPE_RAW_ENCAP, NULL, 0);
    port_id(UA); refused(EINVAL, TYPE(ACTION));

    row(28);
    simple(RA0); encap(34); port_id(UA); refused(ENOTSUP, TYPE(ACTION));

    row(29);
    simple(RA0); encap(133); port_id(UA); kills("RAW_ENCAP of 133 bytes");
    simple(RA0); encap(132); port_id(UA); accepted();

    row(30);
    simple(RA0); encap(58); encap(58); port_id(UA);
    refused(EINVAL, TYPE(ACTION));

    row(31);
    simple(RA0); encap(58); set_ttl(1); port_id(UA);
    refused(EINVAL, TYPE(ACTION));

    row(32);
    start(UA); tunnel(false, false); eth(); ipv4(); set_mac(); raw_decap(58);
    port_id(RA0); refused(EINVAL, TYPE(ACTION));

    row(33);
    simple(UA); raw_decap(58); raw_decap(58); port_id(RA0);
    refused(ENOTSUP, TYPE(ACTION));
    simple(UA); encap(58); raw_decap(58); port_id(RA0);
    refused(ENOTSUP, TYPE(ACTION));

    row(34);
    simple(UA); raw_decap(50); encap(58); port_id(RA0);
    refused(ENOTSUP, TYPE(ACTION));

    row(35);
    simple(UA); raw_decap(0); port_id(RA0); accepted();
    simple(UA); action(RTE_FLOW_ACTION_TYPE_RAW_DECAP, NULL, 0);
    port_id(RA0); accepted();

    row(36);
    start(RA0); tunnel(false, false); eth(); raw_decap(58); port_id(RA1);
    refused_late(ENOTSUP, TYPE(UNSPECIFIED));

    row(37);
    simple(UCX5); encap(58); port_id(RCX5);
    refused_late(EINVAL, TYPE(UNSPECIFIED));
    simple(UA); encap(58); port_id(RA0); accepted();

    row(38);
    simple(UA); port_id(UA); accepted();

    row(39);
    {
        uint64_t flagged = model.n_flagged;

        simple(RA0); encap(58); port_id(RA1); accepted();
        test_check(model.n_flagged > flagged, "not flagged");
    }

    row(40);
    simple(RA0); port_id(UA); encap(58);
    refused_late(ENOTSUP, TYPE(UNSPECIFIED));
}

static void
rows_rewrite(void)
{
    row(41);
    start(RA0); eth(); ipv6(); udp(); set_ipv4_src(1); port_id(UA);
    refused(EINVAL, TYPE(ACTION));
    start(UA); tunnel(false, false); eth(); raw_decap(58); set_ipv4_src(1);
    port_id(RA0); refused(EINVAL, TYPE(ACTION));
    start(UA); tunnel(false, false); eth(); ipv4(); raw_decap(58);
    set_tp_src(1); port_id(RA0); refused(EINVAL, TYPE(ACTION));
    start(UA); tunnel(false, false); eth(); raw_decap(58); set_ttl(1);
    port_id(RA0); refused(EINVAL, TYPE(ACTION));
    start(RA0); eth(); set_ttl(1); port_id(UA);
    refused(EINVAL, TYPE(ACTION));
    start(RA0); eth(); ipv4(); set_tp_src(1); port_id(UA);
    refused(EINVAL, TYPE(ACTION));
    start(RA0); eth(); ipv4(); icmp(); set_tp_src(1); port_id(UA);
    refused(EINVAL, TYPE(ACTION));

    row(42);
    start(RA0); eth(); vlan(1, 0xfff); count(); set_mac();
    for (int i = 0; i < 6; i++) {
        push_vlan();
    }
    port_id(UA); refused(ENOTSUP, TYPE(ACTION));
    start(RA0); eth(); vlan(1, 0xfff); count(); set_mac();
    for (int i = 0; i < 5; i++) {
        push_vlan();
    }
    port_id(UA); accepted();

    /* Four commands an address. */
    row(43);
    start(RA0); eth(); ipv6(); udp();
    for (int i = 0; i < 8; i++) {
        set_ipv6_src();
    }
    port_id(UA); accepted();
    start(RA0); eth(); ipv6(); udp();
    for (int i = 0; i < 8; i++) {
        set_ipv6_src();
    }
    set_ttl(1); port_id(UA); refused(ENOTSUP, TYPE(ACTION));

    row(44);
    simple(UA); pop_vlan(); port_id(RA0);
    refused(ENOTSUP, TYPE(UNSPECIFIED));
    start(UA); eth(); vlan(1, 0xfff); ipv4(); udp(); geneve(5); eth();
    raw_decap(58); pop_vlan(); port_id(RA0);
    refused(ENOTSUP, TYPE(UNSPECIFIED));
    start(UA); tunnel(false, false); eth(); vlan(1, 0xfff); raw_decap(58);
    pop_vlan(); port_id(RA0); accepted();

    row(45);
    simple(UCX5); push_vlan(); set_vid(5); port_id(RCX5);
    refused(ENOTSUP, TYPE(ATTR_TRANSFER));
    start(RCX5); eth(); vlan(1, 0xfff); pop_vlan(); port_id(UCX5);
    refused(ENOTSUP, TYPE(ATTR_TRANSFER));
    simple(UA); push_vlan(); set_vid(5); port_id(RA0); accepted();
    start(RA0); eth(); vlan(1, 0xfff); pop_vlan(); port_id(UA); accepted();

    row(46);
    start(UA); tunnel(false, false); eth(); vlan(1, 0xfff); raw_decap(58);
    set_vid(5); port_id(RA0); refused(ENOTSUP, TYPE(ACTION));
    start(UA); eth(); vlan(1, 0xfff); set_vid(5); port_id(RA0); accepted();
}

static void
rows_option(void)
{
    struct rte_flow_item_geneve_opt spec = {
        .option_class = RTE_BE16(0x0102), .option_type = 0x80,
        .option_len = 1, .data = (uint32_t[]) { 1 },
    };
    struct rte_flow_item_geneve_opt mask = {
        .option_class = 0xffff, .option_type = 0xff, .option_len = 0x1f,
        .data = (uint32_t[]) { UINT32_MAX },
    };
    struct rte_flow *first, *other;

    row(50);
    start(UA); tunnel(false, false); eth(); option(0x102, 0x80, 1, 1, 1);
    jump(1); refused(ENOTSUP, TYPE(ITEM));
    start(UA); tunnel(false, true); option(0x102, 0x80, 1, 1, 1); jump(1);
    refused(ENOTSUP, TYPE(ITEM));

    row(51);
    start(UA); tunnel(false, false);
    item(RTE_FLOW_ITEM_TYPE_GENEVE_OPT, &spec, NULL, sizeof spec);
    jump(1); refused(ENOTSUP, TYPE(ITEM));
    start(UA); tunnel(false, false); mask.option_class = RTE_BE16(0xff00);
    item(RTE_FLOW_ITEM_TYPE_GENEVE_OPT, &spec, &mask, sizeof spec);
    jump(1); refused(ENOTSUP, TYPE(ITEM));
    start(UA); tunnel(false, false); mask.option_class = 0xffff;
    mask.option_type = 0x7f;
    item(RTE_FLOW_ITEM_TYPE_GENEVE_OPT, &spec, &mask, sizeof spec);
    jump(1); refused(ENOTSUP, TYPE(ITEM));
    start(UA); tunnel(false, false); mask.option_type = 0xff;
    mask.option_len = 0xf;
    item(RTE_FLOW_ITEM_TYPE_GENEVE_OPT, &spec, &mask, sizeof spec);
    jump(1); refused(ENOTSUP, TYPE(ITEM));
    mask.option_len = 0x1f;

    row(52);
    start(UA); tunnel(false, false); option(0x102, 0x80, 1, 0, 0x7fffffff);
    jump(1); refused(ENOTSUP, TYPE(ITEM));
    start(UA); tunnel(false, false); option(0x102, 0x80, 1, 5, 2);
    jump(1); refused(ENOTSUP, TYPE(ITEM));
    start(UA); tunnel(false, false); option(0x102, 0x80, 0, 1, 1);
    jump(1); refused(ENOTSUP, TYPE(ITEM));
    start(UA); tunnel(false, false); spec.data = NULL;
    item(RTE_FLOW_ITEM_TYPE_GENEVE_OPT, &spec, &mask, sizeof spec);
    jump(1); refused(ENOTSUP, TYPE(ITEM));
    start(UA); tunnel(false, false); spec.data = (uint32_t[]) { 1 };
    mask.data = NULL;
    item(RTE_FLOW_ITEM_TYPE_GENEVE_OPT, &spec, &mask, sizeof spec);
    jump(1); kills("mask has no data");

    row(53);
    start(UA); tunnel(false, false); option(0x102, 0x80, 2, 1, 1);
    jump(1); refused(ENOTSUP, TYPE(ITEM));

    row(54);
    start(UA); eth(); ipv4(); udp(); geneve_word(0, 0x0080);
    option(0x102, 0x80, 1, 1, 1); jump(1); refused(ENOTSUP, TYPE(ITEM));
    start(UA); eth(); ipv4(); udp(); geneve_word(0x0100, 0x3f00);
    option(0x102, 0x80, 1, 1, 1); jump(1); refused(ENOTSUP, TYPE(ITEM));

    row(55);
    start(UA); eth(); ipv4(); udp(); geneve_word(0x0200, 0x3f00);
    option(0x102, 0x80, 1, 1, 1); jump(1); accepted();

    row(56);
    start(UA); tunnel(false, true); jump(1); first = make();
    start(UA); tunnel(false, false); option(0x103, 0x80, 1, 1, 1); jump(1);
    refused(ENOTSUP, TYPE(ITEM));
    start(UA); tunnel(false, false); option(0x102, 0x81, 1, 1, 1); jump(1);
    refused(ENOTSUP, TYPE(ITEM));
    start(UA); tunnel(false, false); option(0x102, 0x80, 1, 7, 7); jump(1);
    accepted();

    row(57);
    start(UB); tunnel(false, true); jump(1); accepted();
    start(UB); tunnel(false, false); option(0x103, 0x80, 1, 1, 1); jump(1);
    other = make();
    unmake(UB, other);
    unmake(UA, first);
    start(UA); tunnel(false, false); option(0x103, 0x80, 1, 1, 1); jump(1);
    accepted();

    row(58);
    start(UCX5); tunnel(false, true); jump(1); refused(ENOTSUP, TYPE(ITEM));
    start(UICMP); tunnel(false, true); jump(1);
    refused(ENOTSUP, TYPE(ITEM));
    start(ULATE); tunnel(false, true); jump(1);
    refused_late(ENOMEM, TYPE(UNSPECIFIED));
}

static void
rows_tunnel(void)
{
    struct rte_flow_item_geneve spec = { .vni = { 0, 0, 5 } };
    struct rte_flow_item_geneve mask = { .vni = { 255, 255, 255 } };

    row(47);
    start(UA); eth(); ipv4(); geneve(5); jump(1);
    refused(EINVAL, TYPE(ITEM));

    row(48);
    simple(UA); vxlan(5); geneve(5); jump(1); refused(ENOTSUP, TYPE(ITEM));
    simple(UA); vxlan(5); eth(); ipv4(); udp(); geneve(5); jump(1);
    refused(ENOTSUP, TYPE(ITEM));

    row(49);
    for (unsigned bit = 0; bit < 16; bit++) {
        bool good = bit == 7 || (bit >= 8 && bit < 14);

        simple(UA); geneve_word(1 << bit, 1 << bit); jump(1);
        if (good) {
            accepted();
        } else {
            refused(ENOTSUP, TYPE(ITEM));
        }
        if (!good) {
            simple(UA); geneve_word(1 << bit, 0); jump(1);
            refused(ENOTSUP, TYPE(ITEM));
        }
    }
    simple(UA); mask.rsvd1 = 1;
    item(RTE_FLOW_ITEM_TYPE_GENEVE, &spec, &mask, sizeof spec); jump(1);
    refused(ENOTSUP, TYPE(ITEM));

    rows_option();

    row(59);
    simple(UA); geneve(5); ipv4(); raw_decap(50); port_id(RA0); accepted();

    row(60);
    start(UA); eth(); ipv4(); udp_dst(6082); geneve(5); jump(1); accepted();
}

static void
rows_items(void)
{
    struct rte_flow_item_udp udp_spec = { .hdr.dst_port = 1 };
    struct rte_flow_item_udp udp_mask = { .hdr.dgram_cksum = 0xffff };
    struct rte_flow_item_ipv4 ip_spec = { .hdr.time_to_live = 1 };
    struct rte_flow_item_ipv4 ip_mask = { .hdr.packet_id = 0xffff };
    struct rte_flow_item_ipv4 ip_last = ip_spec;
    struct rte_flow_item_icmp6 icmp6 = { .type = 135, .code = 1 };
    struct rte_flow_item_icmp6 icmp6_type = { .type = 0xff };
    struct rte_flow_item_icmp6 icmp6_code = { .code = 0xff };
    struct rte_flow *first;

    row(61);
    start(UA); eth(); eth(); drop(); refused(ENOTSUP, TYPE(ITEM));
    start(UA); eth(); ipv4(); ipv4(); drop(); refused(ENOTSUP, TYPE(ITEM));
    start(UA); eth(); ipv4(); ipv6(); drop(); refused(ENOTSUP, TYPE(ITEM));

    row(62);
    start(UA); eth(); ipv4();
    item(RTE_FLOW_ITEM_TYPE_UDP, NULL, &udp_mask, sizeof udp_mask); drop();
    refused(EINVAL, TYPE(ITEM));

    row(63);
    start(UA); eth(); ipv4();
    item(RTE_FLOW_ITEM_TYPE_UDP, &udp_spec, &udp_mask, sizeof udp_mask);
    drop(); refused(ENOTSUP, TYPE(ITEM));
    start(UA); eth();
    item(RTE_FLOW_ITEM_TYPE_IPV4, &ip_spec, &ip_mask, sizeof ip_mask);
    drop(); refused(ENOTSUP, TYPE(ITEM));
    ip_mask = (struct rte_flow_item_ipv4) { .hdr.total_length = 1 };
    start(UA); eth();
    item(RTE_FLOW_ITEM_TYPE_IPV4, &ip_spec, &ip_mask, sizeof ip_mask);
    drop(); refused(ENOTSUP, TYPE(ITEM));
    ip_mask = (struct rte_flow_item_ipv4) { .hdr.hdr_checksum = 1 };
    start(UA); eth();
    item(RTE_FLOW_ITEM_TYPE_IPV4, &ip_spec, &ip_mask, sizeof ip_mask);
    drop(); refused(ENOTSUP, TYPE(ITEM));

    row(64);
    start(UA); eth(); ipv4_proto(17, 0x0f); drop();
    refused(EINVAL, TYPE(ITEM_MASK));

    /* First: only MF.  Later: an offset.  None and any can be matched. */
    row(65);
    ip_mask = (struct rte_flow_item_ipv4) {
        .hdr.fragment_offset = RTE_BE16(0x3fff),
    };
    ip_spec.hdr.fragment_offset = RTE_BE16(0x2000);
    start(UA); eth();
    item(RTE_FLOW_ITEM_TYPE_IPV4, &ip_spec, &ip_mask, sizeof ip_mask);
    drop(); refused(ENOTSUP, TYPE(ITEM));
    ip_spec.hdr.fragment_offset = RTE_BE16(1);
    ip_last.hdr.fragment_offset = RTE_BE16(0x1fff);
    start(UA); eth();
    item(RTE_FLOW_ITEM_TYPE_IPV4, &ip_spec, &ip_mask, sizeof ip_mask);
    item_last(&ip_last, sizeof ip_last);
    drop(); refused(ENOTSUP, TYPE(ITEM_LAST));
    ip_last.hdr.fragment_offset = RTE_BE16(0x3fff);
    start(UA); eth();
    item(RTE_FLOW_ITEM_TYPE_IPV4, &ip_spec, &ip_mask, sizeof ip_mask);
    item_last(&ip_last, sizeof ip_last);
    drop(); accepted();
    ip_spec.hdr.fragment_offset = 0;
    start(UA); eth();
    item(RTE_FLOW_ITEM_TYPE_IPV4, &ip_spec, &ip_mask, sizeof ip_mask);
    drop(); accepted();

    row(66);
    start(UA); eth(); ipv4(); icmp_type(8); drop();
    refused_late(ENOMEM, TYPE(UNSPECIFIED));
    start(UICMP); eth(); ipv4(); icmp_type(8); drop(); accepted();
    start(UA); eth(); ipv4(); icmp(); drop(); accepted();
    start(UA); eth(); ipv6();
    item(RTE_FLOW_ITEM_TYPE_ICMP6, &icmp6, &icmp6_type, sizeof icmp6); drop();
    refused_late(ENOMEM, TYPE(UNSPECIFIED));
    start(UA); eth(); ipv6();
    item(RTE_FLOW_ITEM_TYPE_ICMP6, &icmp6, &icmp6_code, sizeof icmp6); drop();
    refused_late(ENOMEM, TYPE(UNSPECIFIED));
    start(UICMP); eth(); ipv6();
    item(RTE_FLOW_ITEM_TYPE_ICMP6, &icmp6, &icmp6_code, sizeof icmp6); drop();
    accepted();

    row(67);
    start(UA); port_item(UB); eth(); drop();
    refused(EINVAL, TYPE(ITEM_SPEC));
    start(UA); port_item(RA0); eth(); drop(); accepted();

    row(68);
    simple(UA); drop(); first = make(); unmake(UA, make());
    unmake(UA, first);
    simple(UNODUP); drop(); first = make();
    refused_late(EEXIST, TYPE(UNSPECIFIED));
    unmake(UNODUP, first);

    row(69);
    start(UA); eth(); ipv4_proto(17, 0xff); tcp(); drop();
    refused(EINVAL, TYPE(ITEM));

    row(70);
    simple(UHWS22); drop(); refused(ENOTSUP, TYPE(UNSPECIFIED));
    simple(RHWS22); drop(); refused(ENOTSUP, TYPE(UNSPECIFIED));
    simple(RHWS24); drop(); refused(EINVAL, TYPE(ATTR_TRANSFER));
    test_end();
}

void
test_rows(void)
{
    rows_accepted();
    rows_attributes();
    rows_fate();
    rows_encap();
    rows_rewrite();
    rows_tunnel();
    rows_items();
}
