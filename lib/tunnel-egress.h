/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TUNNEL_EGRESS_H
#define TUNNEL_EGRESS_H 1

/* The one door from tunnels to the router
 * =======================================
 *
 * A tunnel packet's way out, asked with all that decides it: real source,
 * destination, mark, DSCP and UDP port.  Translation (ofproto-dpif-xlate) and
 * the status of tunnel interfaces (netdev-vport) both come through here, so
 * that what a user reads is what packets do. */

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

struct ds;
struct flow;
struct flow_wildcards;
struct netdev_tunnel_config;

struct tunnel_egress {
    char dev[IFNAMSIZ];         /* Device to leave by. */
    struct in6_addr next_hop;   /* Whose MAC is needed: gateway, or the
                                 * destination itself. */
    struct in6_addr src;        /* Outer source. */
};

/* True if 'addr' may be the destination of a tunnel, as far as the address
 * alone tells (a subnet's broadcast address is known by its route). */
bool tunnel_egress_is_unicast(const struct in6_addr *addr);

/* Finds the way out of the packet whose outer headers 'flow->tunnel' (as
 * tnl_port_send() left it) and 'flow->pkt_mark' describe.  If the choice
 * among several next hops depended on the inner headers, adds those to 'wc'.
 * Returns 0 and fills in '*egress', or a positive errno; then a drop counter
 * of the reason has been increased and the reason, one line, is in 'reason'
 * if that is not NULL.  Any thread. */
int tunnel_egress_lookup(const struct flow *flow, struct flow_wildcards *wc,
                         struct tunnel_egress *egress, struct ds *reason);

/* The device by which packets of a tunnel with 'config' leave, as far as that
 * is fixed by the configuration (remote_ip=flow: none).  Returns true and
 * stores the name in 'dev' and whether the link works in '*carrier', or
 * returns false and leaves both alone.  Any thread. */
bool tunnel_egress_status(const struct netdev_tunnel_config *config,
                          char dev[IFNAMSIZ], bool *carrier);

/* The source for an ARP or ND request for 'next_hop' out of device 'dev', on
 * behalf of packets from 'src': an address of that device that fits, else
 * 'src', or in6addr_any if that is not of the family of 'next_hop'.  Any
 * thread. */
struct in6_addr tunnel_egress_neighbor_source(const char *dev,
                                              const struct in6_addr *next_hop,
                                              const struct in6_addr *src);

/* True if 'flow' is ARP for, or ICMPv6 to, one of the 'n' 'addrs', which is
 * how answers to such requests come in.  Any thread. */
bool tunnel_egress_neighbor_answers(const struct flow *flow,
                                    const struct in6_addr *addrs, size_t n);

#endif /* tunnel-egress.h */
