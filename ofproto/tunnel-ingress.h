/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TUNNEL_INGRESS_H
#define TUNNEL_INGRESS_H 1

/* Where a tunnel packet may come in
 * =================================
 *
 * tnl-ports takes a tunnel packet at the device that has both its destination
 * MAC and its destination IP.  Two kinds of packets it does not know: to an
 * endpoint on no NIC (loopback, dummy), which may come in by any NIC, and to
 * the endpoint of another NIC, which the fabric may deliver here (a weak host,
 * as in RFC 1122 section 3.3.4.2).  The first are taken, the second are taken
 * unless other_config:encap-strict-rx=true, and counted in any case.
 *
 * The NIC of an endpoint is the bridge of its device, whatever the number of
 * uplinks.  Among the ports of one bridge nothing differs from tnl-ports.
 * Without any endpoint in the registry nothing does at all; one that only a
 * tunnel's local_ip names is one, too.
 *
 * Workloads may not make tunnel packets.  So neither kind is taken, not even
 * what tnl-ports knows of it, at a port that is not of the underlay
 * (encap_registry_is_underlay()): what comes there goes to the port.
 *
 * The counters count packets, those of datapath flows when their statistics
 * are read (a second or two later); ofproto/trace counts nothing:
 *
 *     tunnel_ingress_foreign    came in by a NIC that does not own their
 *                               destination
 *     tunnel_ingress_refused    those of them that were dropped for it
 *
 * The same packets are counted for encap/check (encap-foreign.h). */

#include <stdbool.h>

#include "flow-effect.h"
#include "odp-util.h"

struct flow;
struct flow_wildcards;
struct netdev;

struct tunnel_ingress {
    odp_port_t port;            /* The tunnel's in the datapath, or ODPP_NONE:
                                 * no tunnel packet for this host. */
    bool refused;               /* It is one but must be dropped; 'port' is
                                 * ODPP_NONE. */
    struct flow_effect effect;  /* For packets that came in by a NIC that does
                                 * not own their destination; 'cause' is else
                                 * NULL. */
    char reason[160];           /* If that is set: what is wrong, one line. */
};

/* True if packets to port 'dev', which has no addresses, may be tunnel packets
 * nevertheless, so that what follows must be asked.  Any thread. */
bool tunnel_ingress_asks(const struct netdev *dev);

/* Fills in '*ingress' wholly for 'flow', which is about to be delivered to
 * port 'dev' of 'bridge'.  Adds to 'wc' what that depended on.  'flow' is
 * changed only during the call.  Any thread. */
void tunnel_ingress_lookup(const char *bridge, const struct netdev *dev,
                           struct flow *flow, struct flow_wildcards *wc,
                           struct tunnel_ingress *ingress);

#endif /* tunnel-ingress.h */
