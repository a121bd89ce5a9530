/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_RULE_SCENE_H
#define NIC_RULE_SCENE_H 1

/* A host for tests of NIC rules, and flows on it from text.
 *
 *     port 1         uplink of eSwitch 1
 *     port 2         uplink of eSwitch 2
 *     ports 11, 12   representors of eSwitch 1
 *     port 21        representor of eSwitch 2
 *     port 30        vhost-user
 *     port 31        NIC of an unknown driver
 *     ports 60, 6081 tunnel ports, Geneve, UDP port 6081
 *     port 61        VXLAN, 4789
 *     port 62        GRE
 *     port 63        Geneve, 6082
 *     port 100       internal
 */

#include "nic-rule-flow.h"
#include "nic-rule-packet.h"
#include "openvswitch/match.h"
#include "openvswitch/ofpbuf.h"

struct dp_packet;
struct flow;

struct nic_scene_flow {
    struct match match;
    struct ofpbuf actions;
    struct nic_flow flow;       /* Points into the other two. */
};

/* Parses a flow and actions as ovs-appctl dpctl/dump-flows prints them, and
 * completes the match as dpif-netdev does.  'uplink' is 'orig_in_port'.  Fails
 * the test if the text is bad. */
void nic_scene_flow_init(struct nic_scene_flow *, const char *flow,
                         const char *actions, uint32_t uplink);
void nic_scene_flow_uninit(struct nic_scene_flow *);

/* Returns 'p' as flows of port 'in_port' see it, and stores its flow: for
 * tunnel ports without the outer header.  Returns NULL if software drops it
 * before. */
struct dp_packet *nic_scene_receive(const struct packet *p, uint32_t in_port,
                                    struct flow *);

bool nic_scene_get_port(odp_port_t, struct nic_port *, const void *aux);

#endif /* nic-rule-scene.h */
