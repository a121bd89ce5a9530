/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENCAP_PACKET_H
#define ENCAP_PACKET_H 1

/* A tunnel packet as a user describes it to "encap/trace": the port it comes
 * in by, and either a tunnel port or the outer headers themselves.  Main
 * thread. */

#include "compiler.h"
#include "openvswitch/flow.h"
#include "tunnel-egress.h"

struct netdev;
struct netdev_tunnel_config;
struct route_arguments;

struct encap_packet {
    const struct encap_registry *registry;
    const struct encap_port *ingress; /* NULL: not given, or a tunnel port. */
    struct netdev *tunnel;      /* Or NULL. */
    const struct netdev_tunnel_config *config; /* Of 'tunnel'. */

    /* For tunnel_egress_decide(). */
    struct flow flow;
    struct tunnel_sender sender;
};

/* Makes 'packet' of 'args', which must stay.  Outer headers that are not given
 * are those of a Geneve tunnel port that leaves addresses to flows.  Returns
 * NULL, or one line that names the argument that is wrong, which the caller
 * frees; encap_packet_uninit() follows in any case.  'packet' is valid until
 * the next quiescent state. */
char *encap_packet_init(struct encap_packet *packet,
                        const struct route_arguments *args)
    OVS_WARN_UNUSED_RESULT;
void encap_packet_uninit(struct encap_packet *packet);

#endif /* encap-packet.h */
