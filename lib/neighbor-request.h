/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NEIGHBOR_REQUEST_H
#define NEIGHBOR_REQUEST_H 1

/* When to ask, and whom to believe, about underlay neighbors
 * ==========================================================
 *
 * The base sends an ARP or ND request for each translation that misses a
 * neighbor, hears only answers and gratuitous ARP, and learns from each tunnel
 * packet that comes in.  Here requests are limited to one a second and target
 * (RFC 1122 section 2.3.2.1; RFC 4861 section 10, RETRANS_TIMER), and where
 * there are endpoints (one that only a tunnel's local_ip names is enough),
 * data teaches only what ARP and ND have not.
 *
 * An entry that is in use never ends there, though its neighbor may have got
 * another MAC without a word.  So where there are endpoints, a neighbor that
 * is in use and has not been heard by ARP or ND for 30 s is asked again (RFC
 * 4861 section 10, REACHABLE_TIME; RFC 1122 section 2.3.2.1, "unicast poll",
 * but to all, as the MAC is what is in doubt).  Until it answers packets go
 * where they did; one that never does is asked every 30 s from then on.
 *
 * Any thread. */

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#include "openvswitch/types.h"

struct flow;
struct flow_wildcards;
struct netdev;

#define NEIGHBOR_REQUEST_INTERVAL_MS 1000

/* Requests that are remembered, and how long each after the last one to its
 * target.  When there are more, the oldest are forgotten; only when there are
 * as many within an interval may they be repeated early. */
#define NEIGHBOR_REQUEST_MAX 4096
#define NEIGHBOR_REQUEST_KEEP_MS (60 * 1000)

/* A neighbor that is known is doubtful after so long. */
#define NEIGHBOR_CONFIRM_MS (30 * 1000)

/* So many requests without an answer are more than a loss (RFC 4861 section
 * 10, MAX_MULTICAST_SOLICIT). */
#define NEIGHBOR_UNANSWERED 3

/* What a request asks for, on whose behalf. */
struct neighbor_question {
    const char *bridge;         /* Whose neighbor. */
    const char *dev;            /* The port of 'bridge' that packets leave
                                 * by. */
    struct in6_addr target;     /* The neighbor. */
    struct in6_addr source;     /* Outer source of the packets. */
};

/* True if a request may leave now, for a neighbor that is not known; then it
 * counts as sent.  Coverage counters: neighbor_request_sent,
 * neighbor_request_held. */
bool neighbor_request_allowed(const struct neighbor_question *);

/* What neighbor_request_allowed() would return, without sending. */
bool neighbor_request_due(const char *dev, const struct in6_addr *target);

/* The same for a neighbor that is known and in use: true if it must be asked
 * now whether it still has its MAC.  False without any endpoint in the
 * registry: there data teaches the MAC.  Coverage counters:
 * neighbor_request_sent, neighbor_request_confirm. */
bool neighbor_confirm_allowed(const struct neighbor_question *);
bool neighbor_confirm_due(const char *bridge, const struct in6_addr *target);

/* A neighbor that was asked NEIGHBOR_UNANSWERED times or more, and not heard
 * since; the last time within NEIGHBOR_REQUEST_KEEP_MS. */
struct neighbor_silence {
    char bridge[IFNAMSIZ];
    char dev[IFNAMSIZ];
    struct in6_addr target;
    struct in6_addr source;     /* Of the packets that asked last. */
    unsigned int n;             /* Requests... */
    long long int ms;           /* ...since that many milliseconds. */
};

/* Returns all of them, '*n', by device and target.  The caller frees the
 * array. */
struct neighbor_silence *neighbor_silences(size_t *n);

/* True if 'flow', which came to 'bridge', is ARP for, or ND to, an endpoint,
 * which may be the answer to a request out of a device that has no address to
 * ask from, ND by which a neighbor announces its MAC to all nodes, or ARP or
 * ND by which another host claims the address of an endpoint, to whomever.
 * False on a bridge that is not of the underlay.  Adds to 'wc' what that
 * depended on. */
bool neighbor_concerns_endpoint(const struct flow *flow,
                                struct flow_wildcards *wc,
                                const char *bridge);

/* Learns, if 'allow_update', what 'flow', ARP or ND that came to 'bridge',
 * says of its sender: any neighbor from answers and from gratuitous ARP, and
 * the MAC of one that is known already also from a request (RFC 826, "Packet
 * Reception"; RFC 4861 section 7.2.3) and from an advertisement to all nodes
 * (RFC 4861 section 7.2.6), another MAC only from one with the override flag
 * (section 7.2.5).  Adds to 'wc' what that depended on.
 *
 * A MAC that is multicast, broadcast or zero is no host's and is not learned.
 * (RFC 1812 section 3.3.2 says so of ARP.)  Coverage counter:
 * neighbor_bad_mac.  ND without a MAC, which is no fault, teaches nothing,
 * either.  What another host says of an endpoint's address is not learned but
 * goes to encap-conflict.h.
 *
 * Returns true if 'flow' says what is not known, after learning.  Then its
 * next packet must be translated, too: a datapath flow that is left from
 * before another MAC was learned, or before the neighbor was forgotten, would
 * keep it away from here.  True for each claim of an endpoint's address, too:
 * all of them count.
 *
 * Stores in '*confirmed' the neighbor of whom 'flow' says what is known, and
 * for whom neighbor_confirm() is to be called when more packets of it have
 * come, or in6addr_any. */
bool neighbor_snoop(const struct flow *flow, struct flow_wildcards *wc,
                    const char *bridge, bool allow_update,
                    struct in6_addr *confirmed);

/* 'ip' on 'bridge' has said again that its MAC is what is known. */
void neighbor_confirm(const char *bridge, const struct in6_addr *ip);

/* A data packet from 'src' with MAC 'mac' was delivered to port 'dev' of
 * 'bridge'.  Learns that if no entry for 'src' is there and 'src' is a
 * neighbor (in a subnet of 'dev').  An entry that is there stays as it is.
 * Coverage counters: neighbor_bad_mac, for a MAC that is no host's;
 * neighbor_data_ignored, for what else would be new and is not learned.
 *
 * Without any endpoint in the registry learns from all data with the MAC of a
 * host, as the base does and its own tests expect. */
void neighbor_learn_from_data(const char *bridge, const struct netdev *dev,
                              const struct in6_addr *src,
                              struct eth_addr mac);

#endif /* neighbor-request.h */
