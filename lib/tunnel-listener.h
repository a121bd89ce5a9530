/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TUNNEL_LISTENER_H
#define TUNNEL_LISTENER_H 1

/* What the tunnel ports of the datapath listen for
 * ================================================
 *
 * tnl-ports finds the tunnel port of a packet by the MAC and the address of
 * the device that shall have it.  A packet to an endpoint on no NIC, or on
 * another one, carries the MAC of the device that it came to instead
 * (tunnel-ingress.h), so that only protocol and UDP port tell its tunnel.
 *
 * tnl-ports calls tunnel_listener_add() and tunnel_listener_remove() for each
 * of its ports. */

#include <stdint.h>

#include "openvswitch/types.h"

/* Datapath port 'port' takes tunnel packets of IP protocol 'nw_proto' to
 * transport port 'tp_dst', 0 for protocols without ports.  Any thread. */
void tunnel_listener_add(odp_port_t port, uint8_t nw_proto, ovs_be16 tp_dst);

/* Takes back one tunnel_listener_add(), or does nothing.  Any thread. */
void tunnel_listener_remove(odp_port_t port, uint8_t nw_proto,
                            ovs_be16 tp_dst);

/* The port that takes such packets, or ODPP_NONE.  Of several (GRE and ERSPAN
 * share a protocol) it is the one added first, as in tnl-ports.  Any
 * thread. */
odp_port_t tunnel_listener_find(uint8_t nw_proto, ovs_be16 tp_dst);

#endif /* tunnel-listener.h */
