/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TUNNEL_PORT_H
#define TUNNEL_PORT_H 1

/* Which port is the device that tunnel packets leave by
 * =====================================================
 *
 * The router answers with the name of a device; translation needs the port
 * that this device is, on whatever bridge.  Here is the index from one to the
 * other, so that a lookup costs the same with one bridge or with hundreds.
 *
 * The index follows translation's own set of ports: translation calls
 * tunnel_port_set() and tunnel_port_remove() for each port that it takes in
 * or lets go, and, since it has its set in a copy for each configuration,
 * looks up in its own copy what it gets here. */

#include <stdbool.h>

struct ds;
struct flow;
struct flow_wildcards;
struct in6_addr;
struct netdev;
struct ofport_dpif;
struct uuid;
struct xlate_in;

/* Port 'ofport' is device 'name', which is copied.  No-op if that is known.
 * Any thread. */
void tunnel_port_set(const struct ofport_dpif *ofport, const char *name);

/* Takes back tunnel_port_set(), or does nothing.  Any thread. */
void tunnel_port_remove(const struct ofport_dpif *ofport, const char *name);

/* The port of device 'name', or NULL.  The pointer may be compared but not
 * followed: the port may be gone.  Any thread. */
const struct ofport_dpif *tunnel_port_find(const char *name);

/* The UUID of the first port that the packet of 'xin' came in by, however
 * often it crossed patch ports or was recirculated since; zero: none. */
const struct uuid *tunnel_port_ingress(const struct xlate_in *xin);

/* Finds the way out of a packet that came in by 'ingress' (or NULL) and leaves
 * by tunnel port 'tunnel', as tunnel_egress_lookup() does, and the port of its
 * device (as above).  Returns NULL if there is no way or no port; then a drop
 * counter of the reason has been increased and '*next_hop' and '*src' are
 * untouched.  'text', if not NULL, gets one line: which endpoint sends and
 * why, or why there is no way.  Any thread. */
const struct ofport_dpif *tunnel_port_route(const struct flow *,
                                            const struct netdev *tunnel,
                                            const struct netdev *ingress,
                                            struct flow_wildcards *,
                                            struct in6_addr *next_hop,
                                            struct in6_addr *src,
                                            struct ds *text);

/* Count a translation whose packets are dropped because the device has no MAC
 * to send from (coverage counter tunnel_egress_no_mac), or because the tunnel
 * cannot carry what they are, as VXLAN-GPE cannot carry ARP without Ethernet
 * (tunnel_egress_no_header).  Any thread. */
void tunnel_port_count_no_mac(void);
void tunnel_port_count_no_header(void);

#endif /* tunnel-port.h */
