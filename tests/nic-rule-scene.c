/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-rule-scene.h"

#include <string.h>

#include "dp-packet.h"
#include "flow.h"
#include "netdev-native-tnl.h"
#include "odp-util.h"
#include "packets.h"
#include "route-test.h"

static const struct scene_port {
    uint32_t number;
    enum nic_port_kind kind;
    unsigned int eswitch;
    enum nic_tunnel tunnel;
    uint16_t udp_port;
} ports[] = {
    { 1, NIC_PORT_UPLINK, 1, NIC_TUNNEL_NONE, 0 },
    { 2, NIC_PORT_UPLINK, 2, NIC_TUNNEL_NONE, 0 },
    { 11, NIC_PORT_REPRESENTOR, 1, NIC_TUNNEL_NONE, 0 },
    { 12, NIC_PORT_REPRESENTOR, 1, NIC_TUNNEL_NONE, 0 },
    { 21, NIC_PORT_REPRESENTOR, 2, NIC_TUNNEL_NONE, 0 },
    { 30, NIC_PORT_OTHER, 0, NIC_TUNNEL_NONE, 0 },
    { 31, NIC_PORT_FOREIGN, 0, NIC_TUNNEL_NONE, 0 },
    { 60, NIC_PORT_TUNNEL, 0, NIC_TUNNEL_GENEVE, 6081 },
    { 61, NIC_PORT_TUNNEL, 0, NIC_TUNNEL_VXLAN, 4789 },
    { 62, NIC_PORT_TUNNEL, 0, NIC_TUNNEL_NONE, 0 },
    { 63, NIC_PORT_TUNNEL, 0, NIC_TUNNEL_GENEVE, 6082 },
    { 100, NIC_PORT_OTHER, 0, NIC_TUNNEL_NONE, 0 },
    { 6081, NIC_PORT_TUNNEL, 0, NIC_TUNNEL_GENEVE, 6081 },
};

static const struct scene_port *
find_port(odp_port_t number)
{
    for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
        if (ports[i].number == odp_to_u32(number)) {
            return &ports[i];
        }
    }
    return NULL;
}

bool
nic_scene_get_port(odp_port_t port_no, struct nic_port *port,
                   const void *aux OVS_UNUSED)
{
    const struct scene_port *found = find_port(port_no);

    if (found) {
        port->kind = found->kind;
        port->eswitch = found->eswitch;
        port->tunnel = found->tunnel;
    }
    return found != NULL;
}

static void
parse_match(struct match *match, const char *text)
{
    struct flow_wildcards wc;
    struct ofpbuf key, mask;
    struct flow flow;
    char *error;

    ofpbuf_init(&key, 0);
    ofpbuf_init(&mask, 0);
    if (odp_flow_from_string(text, NULL, &key, &mask, &error)) {
        route_test_fail("%s: %s", text, error);
    }
    if (odp_flow_key_to_flow(key.data, key.size, &flow, &error)
        || odp_flow_key_to_mask(mask.data, mask.size, &wc, &flow, &error)) {
        route_test_fail("%s: %s", text, error ? error : "bad fitness");
    }
    ofpbuf_uninit(&key);
    ofpbuf_uninit(&mask);

    memset(match, 0, sizeof *match);
    match_init(match, &flow, &wc);
    /* dpif_netdev_flow_put() does this. */
    if (!match->wc.masks.vlans[0].tci) {
        match->wc.masks.vlans[0].tci = htons(VLAN_VID_MASK | VLAN_CFI);
    }
}

void
nic_scene_flow_init(struct nic_scene_flow *scene, const char *flow,
                    const char *actions, uint32_t uplink)
{
    const struct scene_port *in_port;

    parse_match(&scene->match, flow);
    /* What comes out of a tunnel has the tunnel's UDP port. */
    in_port = find_port(scene->match.flow.in_port.odp_port);
    if (in_port && in_port->udp_port && !scene->match.flow.tunnel.tp_dst) {
        scene->match.flow.tunnel.tp_dst = htons(in_port->udp_port);
    }
    ofpbuf_init(&scene->actions, 0);
    if (odp_actions_from_string(actions, NULL, &scene->actions)) {
        route_test_fail("%s: bad actions", actions);
    }
    scene->flow = (struct nic_flow) {
        .match = &scene->match,
        .actions = scene->actions.data,
        .actions_len = scene->actions.size,
        .orig_in_port = u32_to_odp(uplink),
        .get_port = nic_scene_get_port,
    };
}

void
nic_scene_flow_uninit(struct nic_scene_flow *scene)
{
    ofpbuf_uninit(&scene->actions);
}

struct dp_packet *
nic_scene_receive(const struct packet *p, uint32_t in_port, struct flow *flow)
{
    struct dp_packet *packet = dp_packet_clone_data_with_headroom(p->data,
                                                                  p->n, 64);
    const struct scene_port *port = find_port(u32_to_odp(in_port));

    packet->md.in_port.odp_port = u32_to_odp(1);
    flow_extract(packet, flow);
    if (port && port->kind == NIC_PORT_TUNNEL) {
        if (flow->nw_proto != IPPROTO_UDP
            || flow->tp_dst != htons(port->udp_port)) {
            dp_packet_delete(packet);
            return NULL;
        }
        if (flow->vlans[0].tci) {
            eth_pop_vlan(packet);       /* Comes before tnl_pop. */
        }
        packet = (port->tunnel == NIC_TUNNEL_GENEVE
                  ? netdev_geneve_pop_header(packet)
                  : netdev_vxlan_pop_header(packet));
        if (!packet) {
            return NULL;
        }
        flow_extract(packet, flow);
    }
    packet->md.in_port.odp_port = u32_to_odp(in_port);
    flow->in_port.odp_port = u32_to_odp(in_port);
    return packet;
}
