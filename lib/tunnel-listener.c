/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "tunnel-listener.h"

#include <stdlib.h>

#include "cmap.h"
#include "hash.h"
#include "odp-util.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "util.h"

struct tunnel_listener {
    struct cmap_node node;      /* In 'listeners', by the next two. */
    uint8_t nw_proto;
    ovs_be16 tp_dst;
    odp_port_t port;
    uint64_t number;            /* The smallest came first. */
};

static struct cmap listeners = CMAP_INITIALIZER;
static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER; /* For writers. */
static uint64_t next_number OVS_GUARDED_BY(mutex);

static uint32_t
hash_listener(uint8_t nw_proto, ovs_be16 tp_dst)
{
    return hash_2words(nw_proto, (OVS_FORCE uint16_t) tp_dst);
}

void
tunnel_listener_add(odp_port_t port, uint8_t nw_proto, ovs_be16 tp_dst)
{
    struct tunnel_listener *listener = xmalloc(sizeof *listener);

    ovs_mutex_lock(&mutex);
    *listener = (struct tunnel_listener) {
        .nw_proto = nw_proto,
        .tp_dst = tp_dst,
        .port = port,
        .number = next_number++,
    };
    cmap_insert(&listeners, &listener->node, hash_listener(nw_proto, tp_dst));
    ovs_mutex_unlock(&mutex);
}

void
tunnel_listener_remove(odp_port_t port, uint8_t nw_proto, ovs_be16 tp_dst)
{
    uint32_t hash = hash_listener(nw_proto, tp_dst);
    struct tunnel_listener *listener;

    ovs_mutex_lock(&mutex);
    CMAP_FOR_EACH_WITH_HASH_PROTECTED (listener, node, hash, &listeners) {
        if (listener->nw_proto == nw_proto && listener->tp_dst == tp_dst
            && listener->port == port) {
            cmap_remove(&listeners, &listener->node, hash);
            ovsrcu_postpone(free, listener);
            break;
        }
    }
    ovs_mutex_unlock(&mutex);
}

odp_port_t
tunnel_listener_find(uint8_t nw_proto, ovs_be16 tp_dst)
{
    const struct tunnel_listener *listener, *first = NULL;

    CMAP_FOR_EACH_WITH_HASH (listener, node, hash_listener(nw_proto, tp_dst),
                             &listeners) {
        if (listener->nw_proto == nw_proto && listener->tp_dst == tp_dst
            && (!first || listener->number < first->number)) {
            first = listener;
        }
    }
    return first ? first->port : ODPP_NONE;
}
