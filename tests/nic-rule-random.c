/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#undef NDEBUG

#include "nic-rule-random.h"

#include <string.h>

#include "dp-packet.h"
#include "flow.h"
#include "netlink.h"
#include "nic-rule-scene.h"
#include "odp-util.h"
#include "openvswitch/match.h"
#include "openvswitch/ofpbuf.h"
#include "packets.h"
#include "random.h"
#include "util.h"

uint32_t
nic_random_in_port(enum nic_random_kind kind)
{
    static const uint32_t in_ports[] = {
        [NIC_RANDOM_EGRESS] = 11,
        [NIC_RANDOM_OUTER] = 1,
        [NIC_RANDOM_INNER] = 60,
        [NIC_RANDOM_INNER_VXLAN] = 61,
    };

    return in_ports[kind];
}

enum nic_tunnel
nic_random_tunnel(enum nic_random_kind kind)
{
    return (kind == NIC_RANDOM_EGRESS ? NIC_TUNNEL_NONE
            : kind == NIC_RANDOM_INNER_VXLAN ? NIC_TUNNEL_VXLAN
            : NIC_TUNNEL_GENEVE);
}

void
nic_random_seed_bytes(uint8_t seed[PACKET_SEED_LEN])
{
    for (size_t i = 0; i < PACKET_SEED_LEN; i++) {
        seed[i] = random_uint32();
    }
}

bool
nic_random_extract(enum nic_random_kind kind, const struct packet *p,
                   struct flow *flow)
{
    struct dp_packet *packet = nic_scene_receive(p, nic_random_in_port(kind),
                                                 flow);

    dp_packet_delete(packet);
    return packet != NULL;
}

/* Matches. */

static void
random_mask(void *mask_, size_t n, int exact_of_16, int some_of_16)
{
    uint8_t *mask = mask_;
    int dice = random_range(16);

    if (dice < exact_of_16) {
        memset(mask, 0xff, n);
    } else if (dice < exact_of_16 + some_of_16) {
        for (size_t i = 0; i < n; i++) {
            mask[i] = random_uint32();
        }
    }
}

#define MASK(FIELD, EXACT, SOME) \
    random_mask(&m->FIELD, sizeof m->FIELD, EXACT, SOME)

/* Like those of translation: type and fragments are nearly always matched,
 * few other fields are.  And some that it never writes. */
static void
random_wildcards(const struct flow *flow, struct flow *m)
{
    memset(m, 0, sizeof *m);
    MASK(in_port, 16, 0);
    MASK(recirc_id, 16, 0);
    MASK(packet_type, 16, 0);
    MASK(dl_type, 14, 1);
    MASK(dl_dst, 4, 1);
    MASK(dl_src, 2, 1);
    if (random_range(16)) {
        m->vlans[0].tci = htons(VLAN_VID_MASK | VLAN_CFI);
    }
    MASK(vlans[0].tci, 2, 2);
    MASK(vlans[0].tpid, 4, 0);
    if (flow->vlans[1].tci) {
        MASK(vlans[1].tci, 4, 0);
    }
    if (is_ip_any(flow)) {
        m->nw_frag = random_range(8) ? FLOW_NW_FRAG_MASK : random_range(4);
        MASK(nw_tos, 3, 2);
        MASK(nw_ttl, 3, 1);
        MASK(nw_proto, 8, 1);
        MASK(tp_src, 2, 1);
        MASK(tp_dst, 3, 1);
    }
    if (flow->dl_type == htons(ETH_TYPE_IP) || random_range(16) == 0) {
        MASK(nw_src, 3, 1);
        MASK(nw_dst, 3, 1);
    }
    if (flow->dl_type == htons(ETH_TYPE_IPV6)) {
        MASK(ipv6_src, 3, 1);
        MASK(ipv6_dst, 3, 1);
        MASK(ipv6_label, 2, 1);
    }
    if (flow->nw_proto == IPPROTO_TCP) {
        m->tcp_flags = (random_range(4) ? 0
                        : htons(random_range(4) ? 0xff : 0xfff));
        if (random_range(8) == 0) {
            m->tcp_flags = htons(random_range(0x1000));
        }
    }
    if (flow->dl_type == htons(ETH_TYPE_ARP) && random_range(4) == 0) {
        MASK(nw_proto, 4, 1);
        MASK(nw_src, 2, 2);
        MASK(nw_dst, 2, 2);
        MASK(arp_sha, 2, 1);
        MASK(arp_tha, 2, 1);
    }
    if (random_range(16) == 0) {
        MASK(nd_target, 4, 1);
        MASK(arp_sha, 4, 0);
        MASK(arp_tha, 4, 0);
        MASK(ct_state, 4, 2);
        MASK(ct_zone, 2, 1);
        MASK(ct_mark, 2, 1);
        MASK(ct_label, 2, 1);
        MASK(pkt_mark, 4, 1);
    }
}

static void
random_tunnel_wildcards(const struct flow_tnl *tnl, struct flow_tnl *m)
{
    size_t length = tnl->metadata.present.len;

    MASK(tun_id, 15, 1);
    MASK(ip_src, 14, 1);
    MASK(ip_dst, 14, 1);
    MASK(ipv6_src, 14, 1);
    MASK(ipv6_dst, 14, 1);
    MASK(ip_tos, 12, 2);
    MASK(ip_ttl, 1, 0);
    MASK(tp_src, 1, 1);
    MASK(tp_dst, 1, 0);
    m->flags = FLOW_TNL_F_DONT_FRAGMENT | FLOW_TNL_F_CSUM | FLOW_TNL_F_KEY;
    if (random_range(4) == 0) {
        m->flags |= FLOW_TNL_F_OAM;
    }
    if (tnl->flags & FLOW_TNL_F_UDPIF) {
        const struct geneve_opt *value = tnl->metadata.opts.gnv;
        struct geneve_opt *mask = m->metadata.opts.gnv;
        bool lengths_only;

        m->flags |= FLOW_TNL_F_UDPIF;
        m->metadata.present.len = 0xff;
        if (random_range(4) == 0) {
            return;
        }
        lengths_only = random_range(8) == 0;
        while (length) {
            size_t size = 4 + value->length * 4;

            mask->length = 0x1f;
            if (!lengths_only) {
                mask->opt_class = OVS_BE16_MAX;
                mask->type = UINT8_MAX;
                random_mask(mask + 1, size - 4, 8, 6);
            }
            length -= size;
            value += size / 4;
            mask += size / 4;
        }
    }
}

bool
nic_random_match(enum nic_random_kind kind, const struct packet *p,
                 struct match *match)
{
    memset(match, 0, sizeof *match);
    if (!nic_random_extract(kind, p, &match->flow)) {
        return false;
    }
    random_wildcards(&match->flow, &match->wc.masks);
    if (kind >= NIC_RANDOM_INNER) {
        random_tunnel_wildcards(&match->flow.tunnel,
                                &match->wc.masks.tunnel);
    }
    return true;
}

void
nic_random_garbage(enum nic_random_kind kind, struct match *match)
{
    uint8_t *flow = (uint8_t *) &match->flow;
    uint8_t *mask = (uint8_t *) &match->wc.masks;
    int density = 1 << random_range(10);

    memset(match, 0, sizeof *match);
    for (size_t i = 0; i < sizeof match->flow; i++) {
        flow[i] = random_range(4) ? random_uint32() : 0;
        if (random_range(density) == 0) {
            mask[i] = random_range(2) ? 0xff : random_uint32();
        }
    }
    if (random_range(2)) {
        match->flow.dl_type = htons(random_range(2) ? 0x0800 : 0x86dd);
        match->wc.masks.dl_type = OVS_BE16_MAX;
    }
    match->flow.in_port.odp_port = u32_to_odp(nic_random_in_port(kind));
}

/* Takes out what rules cannot see. */
static void
forget(struct flow *mask)
{
    mask->tunnel.flags &= ~(FLOW_TNL_F_CSUM | FLOW_TNL_F_DONT_FRAGMENT);
}

bool
nic_random_hits(const struct match *match, const struct flow *flow)
{
    const uint8_t *a = (const uint8_t *) &match->flow;
    const uint8_t *b = (const uint8_t *) flow;
    struct flow forgotten = match->wc.masks;
    const uint8_t *mask = (const uint8_t *) &forgotten;

    forget(&forgotten);
    for (size_t i = 0; i < sizeof *flow; i++) {
        if ((a[i] ^ b[i]) & mask[i]) {
            return false;
        }
    }
    return true;
}

bool
nic_random_may_miss(const struct flow *flow, const struct packet *p)
{
    const uint8_t *ipv6 = memmem(p->data, p->n, "\x86\xdd", 2);

    /* More tags than the datapath looks into, with any type.  Fragments, and
     * the "atomic" ones of IPv6, for flows that do not match whether packets
     * are fragments. */
    return (eth_type_vlan(flow->dl_type) || flow->nw_frag
            || (ipv6 && flow->dl_type == htons(ETH_TYPE_IPV6)));
}

/* Changes. */

/* Half of the sets have a mask.  A key may be the same as the packet's. */
static void
put_set(struct ofpbuf *actions, enum ovs_key_attr type, const void *key,
        const void *mask, size_t size)
{
    bool masked = random_range(2);
    uint8_t both[2 * 128];
    size_t nested;

    ovs_assert(size <= sizeof both / 2);
    memcpy(both, key, size);
    memcpy(both + size, mask, size);
    for (size_t i = 0; masked && i < size; i++) {
        both[i] &= both[size + i];
    }
    nested = nl_msg_start_nested(actions, (masked ? OVS_ACTION_ATTR_SET_MASKED
                                           : OVS_ACTION_ATTR_SET));
    nl_msg_put_unspec(actions, type, both, masked ? size * 2 : size);
    nl_msg_end_nested(actions, nested);
}

/* Sets 'FIELD' of 'key' to 'VALUE' with a mask, mostly of all its bits. */
#define CHANGE(FIELD, VALUE)                                            \
    do {                                                                \
        if (random_range(2)) {                                          \
            key.FIELD = VALUE;                                          \
            memset(&mask.FIELD, random_range(16) ? 0xff : 0x0f,         \
                   sizeof mask.FIELD);                                  \
        }                                                               \
    } while (0)

static void
put_ethernet(struct ofpbuf *actions, const struct flow *flow)
{
    struct ovs_key_ethernet key = { flow->dl_src, flow->dl_dst }, mask;

    memset(&mask, 0, sizeof mask);
    CHANGE(eth_src.ea[5], random_range(3));
    if (mask.eth_src.ea[5]) {
        memset(&mask.eth_src, 0xff, sizeof mask.eth_src);
    }
    put_set(actions, OVS_KEY_ATTR_ETHERNET, &key, &mask, sizeof key);
}

static void
put_ipv4(struct ofpbuf *actions, const struct flow *flow)
{
    struct ovs_key_ipv4 key = {
        .ipv4_src = flow->nw_src, .ipv4_dst = flow->nw_dst,
        .ipv4_proto = flow->nw_proto, .ipv4_tos = flow->nw_tos,
        .ipv4_ttl = flow->nw_ttl,
    }, mask;

    memset(&mask, 0, sizeof mask);
    CHANGE(ipv4_src, htonl(0x0a000000 + random_range(3)));
    CHANGE(ipv4_dst, htonl(0x0a000000 + random_range(3)));
    CHANGE(ipv4_ttl, 62 + random_range(3));
    if (random_range(2)) {
        key.ipv4_tos = random_range(256);
        mask.ipv4_tos = random_range(4) ? IP_DSCP_MASK : 0xff;
    }
    put_set(actions, OVS_KEY_ATTR_IPV4, &key, &mask, sizeof key);
}

static void
put_ipv6(struct ofpbuf *actions, const struct flow *flow)
{
    struct ovs_key_ipv6 key, mask;

    memset(&key, 0, sizeof key);
    memset(&mask, 0, sizeof mask);
    key.ipv6_src = flow->ipv6_src;
    key.ipv6_dst = flow->ipv6_dst;
    key.ipv6_label = flow->ipv6_label;
    key.ipv6_proto = flow->nw_proto;
    key.ipv6_tclass = flow->nw_tos;
    key.ipv6_hlimit = flow->nw_ttl;
    if (random_range(2)) {
        key.ipv6_dst.s6_addr[15] = random_range(3);
        mask.ipv6_dst = in6addr_exact;
    }
    CHANGE(ipv6_hlimit, 62 + random_range(3));
    if (random_range(2)) {
        key.ipv6_tclass = random_range(256);
        mask.ipv6_tclass = random_range(4) ? IP_DSCP_MASK : 0xff;
    }
    if (random_range(8) == 0) {
        mask.ipv6_label = htonl(IPV6_LABEL_MASK);
    }
    put_set(actions, OVS_KEY_ATTR_IPV6, &key, &mask, sizeof key);
}

static void
put_ports(struct ofpbuf *actions, const struct flow *flow)
{
    struct ovs_key_tcp key = { flow->tp_src, flow->tp_dst }, mask;

    memset(&mask, 0, sizeof mask);
    CHANGE(tcp_src, htons(random_range(3)));
    CHANGE(tcp_dst, htons(random_range(3)));
    BUILD_ASSERT(sizeof(struct ovs_key_udp) == sizeof key);
    put_set(actions, (flow->nw_proto == IPPROTO_TCP ? OVS_KEY_ATTR_TCP
                      : OVS_KEY_ATTR_UDP), &key, &mask, sizeof key);
}

static void
put_tag(struct ofpbuf *actions)
{
    struct ovs_action_push_vlan vlan = {
        .vlan_tpid = htons(random_range(4) ? 0x8100 : 0x88a8),
        .vlan_tci = htons(VLAN_CFI | (random_range(8) << 13)
                          | random_range(4096)),
    };

    nl_msg_put_unspec(actions, OVS_ACTION_ATTR_PUSH_VLAN, &vlan, sizeof vlan);
}

/* Few of many, as prerequisites allow. */
void
nic_random_put_changes(struct ofpbuf *actions, const struct flow *flow)
{
    for (int n = random_range(5); n; n--) {
        switch (random_range(6)) {
        case 0:
            put_ethernet(actions, flow);
            break;
        case 1:
        case 2:
            if (flow->dl_type == htons(ETH_TYPE_IP)) {
                put_ipv4(actions, flow);
            } else if (flow->dl_type == htons(ETH_TYPE_IPV6)) {
                put_ipv6(actions, flow);
            }
            break;
        case 3:
            if (is_ip_any(flow) && !(flow->nw_frag & FLOW_NW_FRAG_LATER)
                && (flow->nw_proto == IPPROTO_TCP
                    || flow->nw_proto == IPPROTO_UDP)) {
                put_ports(actions, flow);
            }
            break;
        case 4:
            if (flow->vlans[0].tci && random_range(2)) {
                nl_msg_put_flag(actions, OVS_ACTION_ATTR_POP_VLAN);
            }
            break;
        case 5:
            if (random_range(4) == 0) {
                put_tag(actions);
            }
            break;
        }
    }
}

void
nic_random_mask_changes(const struct flow *flow, struct flow *m)
{
    memset(m, 0, sizeof *m);
    memset(&m->dl_type, 0xff, sizeof m->dl_type);
    m->vlans[0].tci = OVS_BE16_MAX;
    if (is_ip_any(flow)) {
        m->nw_frag = FLOW_NW_FRAG_MASK;
        m->nw_proto = 0xff;
        m->nw_ttl = random_range(2) ? 0xff : 0;
        m->nw_tos = random_range(2) ? 0xff : 0;
    }
    if (random_range(2) && flow->dl_type == htons(ETH_TYPE_IP)) {
        m->nw_src = m->nw_dst = OVS_BE32_MAX;
    }
    if (random_range(2) && flow->dl_type == htons(ETH_TYPE_IPV6)) {
        m->ipv6_dst = in6addr_exact;
        m->ipv6_label = htonl(IPV6_LABEL_MASK);
    }
    if (random_range(2)) {
        memset(&m->dl_src, 0xff, sizeof m->dl_src);
    }
}
