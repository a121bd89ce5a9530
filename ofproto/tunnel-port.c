/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "tunnel-port.h"

#include <stdlib.h>
#include <string.h>

#include "cmap.h"
#include "coverage.h"
#include "encap-text.h"
#include "hash.h"
#include "netdev.h"
#include "openvswitch/dynamic-string.h"
#include "ofproto-dpif-rid.h"
#include "ofproto-dpif-xlate.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "tunnel-egress.h"
#include "util.h"
#include "uuid.h"

COVERAGE_DEFINE(tunnel_egress_no_port);
COVERAGE_DEFINE(tunnel_egress_no_mac);
COVERAGE_DEFINE(tunnel_egress_no_header);

struct tunnel_port {
    struct cmap_node node;              /* In 'ports', by name. */
    const struct ofport_dpif *ofport;
    char name[];
};

/* Names are unique but for the moment in which a device moves from one bridge
 * to another. */
static struct cmap ports = CMAP_INITIALIZER;
static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER; /* For writers. */

static struct tunnel_port *
find_exact(const struct ofport_dpif *ofport, const char *name, uint32_t hash)
    OVS_REQUIRES(mutex)
{
    struct tunnel_port *port;

    CMAP_FOR_EACH_WITH_HASH_PROTECTED (port, node, hash, &ports) {
        if (port->ofport == ofport && !strcmp(port->name, name)) {
            return port;
        }
    }
    return NULL;
}

void
tunnel_port_set(const struct ofport_dpif *ofport, const char *name)
{
    uint32_t hash = hash_string(name, 0);

    ovs_mutex_lock(&mutex);
    if (!find_exact(ofport, name, hash)) {
        size_t size = strlen(name) + 1;
        struct tunnel_port *port = xmalloc(sizeof *port + size);

        port->ofport = ofport;
        memcpy(port->name, name, size);
        cmap_insert(&ports, &port->node, hash);
    }
    ovs_mutex_unlock(&mutex);
}

void
tunnel_port_remove(const struct ofport_dpif *ofport, const char *name)
{
    uint32_t hash = hash_string(name, 0);
    struct tunnel_port *port;

    ovs_mutex_lock(&mutex);
    port = find_exact(ofport, name, hash);
    if (port) {
        cmap_remove(&ports, &port->node, hash);
        ovsrcu_postpone(free, port);
    }
    ovs_mutex_unlock(&mutex);
}

const struct ofport_dpif *
tunnel_port_find(const char *name)
{
    const struct tunnel_port *port;

    CMAP_FOR_EACH_WITH_HASH (port, node, hash_string(name, 0), &ports) {
        if (!strcmp(port->name, name)) {
            return port->ofport;
        }
    }
    return NULL;
}

const struct uuid *
tunnel_port_ingress(const struct xlate_in *xin)
{
    /* ofproto/trace does not tell a thawed packet's first port otherwise. */
    return (uuid_is_zero(&xin->xport_uuid) && xin->frozen_state
            ? &xin->frozen_state->xport_uuid : &xin->xport_uuid);
}

/* tunnel_port_route(), with names in 'text' as they are. */
static const struct ofport_dpif *
find_route(const struct flow *flow, const struct netdev *tunnel,
           const struct netdev *ingress, struct flow_wildcards *wc,
           struct in6_addr *next_hop, struct in6_addr *src, struct ds *text)
{
    const struct netdev_tunnel_config *config
        = netdev_get_tunnel_config(tunnel);
    const struct tunnel_sender sender = {
        .src_flow = config && config->ip_src_flow,
        .ingress = ingress ? netdev_get_name(ingress) : NULL,
    };
    const struct ofport_dpif *ofport;
    struct tunnel_egress egress;

    if (tunnel_egress_lookup(flow, &sender, wc, &egress, text)) {
        return NULL;
    }

    ofport = tunnel_port_find(egress.dev);
    if (!ofport) {
        COVERAGE_INC(tunnel_egress_no_port);
        if (text) {
            ds_clear(text);
            ds_put_format(text, "device %s is not a port of any bridge",
                          egress.dev);
        }
        return NULL;
    }
    *next_hop = egress.next_hop;
    *src = egress.src;
    return ofport;
}

const struct ofport_dpif *
tunnel_port_route(const struct flow *flow, const struct netdev *tunnel,
                  const struct netdev *ingress, struct flow_wildcards *wc,
                  struct in6_addr *next_hop, struct in6_addr *src,
                  struct ds *text)
{
    const struct ofport_dpif *ofport
        = find_route(flow, tunnel, ingress, wc, next_hop, src, text);

    if (text) {
        char *line = encap_text_line(ds_cstr(text));

        ds_clear(text);
        ds_put_cstr(text, line);
        free(line);
    }
    return ofport;
}

void
tunnel_port_count_no_mac(void)
{
    COVERAGE_INC(tunnel_egress_no_mac);
}

void
tunnel_port_count_no_header(void)
{
    COVERAGE_INC(tunnel_egress_no_header);
}
