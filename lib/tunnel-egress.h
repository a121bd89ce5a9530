/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TUNNEL_EGRESS_H
#define TUNNEL_EGRESS_H 1

/* The one door from tunnels to endpoints and routes
 * =================================================
 *
 * A tunnel packet's way out, asked with all that decides it: first the
 * endpoint that sends it (encap-select.h), then with that source, destination,
 * mark, DSCP and UDP port the router.  Translation (ofproto-dpif-xlate), the
 * status of tunnel interfaces (netdev-vport) and "encap/trace" all come
 * through here, so that what a user reads is what packets do. */

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#include "encap-select.h"
#include "route-lookup.h"

struct ds;
struct flow;
struct flow_wildcards;
struct netdev_tunnel_config;

/* Who sends a packet: what its headers do not tell. */
struct tunnel_sender {
    bool src_flow;              /* The tunnel port has local_ip=flow: a source
                                 * comes from the flow. */
    const char *ingress;        /* Name of the port that the packet came in
                                 * by, or NULL. */
};

/* What became of a packet. */
enum tunnel_outcome {
    TUNNEL_ROUTED,              /* Or refused: the verdict of the router. */
    TUNNEL_NOT_UNICAST,         /* Destination. */
    TUNNEL_FAMILIES_DIFFER,     /* Of source and destination. */
    TUNNEL_NO_ENDPOINT,         /* The selector refuses. */
};

/* A decision, with all that led to it. */
struct tunnel_decision {
    const struct encap_registry *registry; /* That was read. */
    struct encap_query encap;
    struct encap_choice choice;
    struct route_query route;   /* Its source is the one that was chosen. */
    struct route_result result; /* If TUNNEL_ROUTED. */
    enum tunnel_outcome outcome;
    bool hashed;                /* The inner headers made a difference. */
};

struct tunnel_egress {
    char dev[IFNAMSIZ];         /* Device to leave by. */
    struct in6_addr next_hop;   /* Whose MAC is needed: gateway, or the
                                 * destination itself. */
    struct in6_addr src;        /* Outer source. */
};

/* True if 'addr' may be the destination of a tunnel, as far as the address
 * alone tells (a subnet's broadcast address is known by its route). */
bool tunnel_egress_is_unicast(const struct in6_addr *addr);

/* Finds the way out of the packet from 'sender' whose outer headers
 * 'flow->tunnel' (as tnl_port_send() left it) and 'flow->pkt_mark' describe.
 * If the choice among several next hops depended on the inner headers, adds
 * those to 'wc'; the port that a packet came in by is matched anyway.
 * Returns 0 and fills in '*egress', or a positive errno; then a drop counter
 * of the reason has been increased.  'text', if not NULL, gets one line: which
 * endpoint or source sends and why, or why there is no way.  Any thread. */
int tunnel_egress_lookup(const struct flow *flow,
                         const struct tunnel_sender *sender,
                         struct flow_wildcards *wc,
                         struct tunnel_egress *egress, struct ds *text);

/* The same decision for users: counts nothing.  'trail' may be NULL.  Returns
 * 0 or a positive errno and fills in '*decision' wholly; what it points to is
 * valid until the next quiescent state, and 'sender->ingress' must live as
 * long.  Any thread. */
int tunnel_egress_decide(const struct flow *flow,
                         const struct tunnel_sender *sender,
                         struct tunnel_decision *decision,
                         struct route_trail *trail);

/* Appends why 'decision' is a refusal, one line.  Any thread. */
void tunnel_decision_format_refusal(const struct tunnel_decision *,
                                    struct ds *reason);

/* The headers that tnl_port_send() would give a packet in a tunnel with
 * 'config' whose flow sets nothing, for tunnel_egress_decide().  Any
 * thread. */
void tunnel_egress_flow(const struct netdev_tunnel_config *config,
                        struct flow *flow, struct tunnel_sender *sender);

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
