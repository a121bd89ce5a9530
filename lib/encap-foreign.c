/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-foreign.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "openvswitch/hmap.h"
#include "openvswitch/list.h"
#include "ovs-thread.h"
#include "packets.h"
#include "timeval.h"
#include "util.h"

struct arrival {
    struct hmap_node node;      /* In 'arrivals', by 'foreign.ip'. */
    struct ovs_list list_node;  /* In 'by_age'. */
    struct encap_foreign foreign; /* But 'last_ms' is a time. */
};

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static struct hmap arrivals OVS_GUARDED_BY(mutex)
    = HMAP_INITIALIZER(&arrivals);
static struct ovs_list by_age OVS_GUARDED_BY(mutex)
    = OVS_LIST_INITIALIZER(&by_age); /* By 'last_ms', the oldest first. */

static uint32_t
hash_ip(const struct in6_addr *ip)
{
    return hash_bytes(ip, sizeof *ip, 0);
}

static void
forget_old(void)
    OVS_REQUIRES(mutex)
{
    long long int now = time_msec();
    struct arrival *arrival;

    LIST_FOR_EACH_SAFE (arrival, list_node, &by_age) {
        if (now - arrival->foreign.last_ms < ENCAP_FOREIGN_MS) {
            break;
        }
        ovs_list_remove(&arrival->list_node);
        hmap_remove(&arrivals, &arrival->node);
        free(arrival);
    }
}

static struct arrival *
find_arrival(const struct in6_addr *ip, const char *bridge, bool refused)
    OVS_REQUIRES(mutex)
{
    struct arrival *arrival;

    HMAP_FOR_EACH_WITH_HASH (arrival, node, hash_ip(ip), &arrivals) {
        if (ipv6_addr_equals(&arrival->foreign.ip, ip)
            && !strcmp(arrival->foreign.bridge, bridge)
            && arrival->foreign.refused == refused) {
            return arrival;
        }
    }
    return NULL;
}

/* Returns NULL if there are too many. */
static struct arrival *
create_arrival(const struct in6_addr *ip, const char *bridge, bool refused)
    OVS_REQUIRES(mutex)
{
    struct arrival *arrival;

    if (hmap_count(&arrivals) >= ENCAP_FOREIGN_MAX) {
        return NULL;
    }
    arrival = xzalloc(sizeof *arrival);
    arrival->foreign.ip = *ip;
    ovs_strlcpy(arrival->foreign.bridge, bridge,
                sizeof arrival->foreign.bridge);
    arrival->foreign.refused = refused;
    hmap_insert(&arrivals, &arrival->node, hash_ip(ip));
    ovs_list_push_back(&by_age, &arrival->list_node);
    return arrival;
}

void
encap_foreign_add(const struct in6_addr *ip, const char *bridge, bool refused,
                  uint64_t n_packets)
{
    struct arrival *arrival;

    ovs_mutex_lock(&mutex);
    forget_old();
    arrival = find_arrival(ip, bridge, refused);
    if (!arrival) {
        arrival = create_arrival(ip, bridge, refused);
    }
    if (arrival) {
        arrival->foreign.n_packets += n_packets;
        arrival->foreign.last_ms = time_msec();
        ovs_list_remove(&arrival->list_node);
        ovs_list_push_back(&by_age, &arrival->list_node);
    }
    ovs_mutex_unlock(&mutex);
}

static int
compare(const void *a_, const void *b_)
{
    const struct encap_foreign *a = a_;
    const struct encap_foreign *b = b_;
    int order = memcmp(&a->ip, &b->ip, sizeof a->ip);

    if (!order) {
        order = strcmp(a->bridge, b->bridge);
    }
    return order ? order : b->refused - a->refused;
}

struct encap_foreign *
encap_foreign_list(size_t *n)
{
    struct encap_foreign *list;
    struct arrival *arrival;

    *n = 0;
    ovs_mutex_lock(&mutex);
    forget_old();
    list = xmalloc((hmap_count(&arrivals) + 1) * sizeof *list);
    HMAP_FOR_EACH (arrival, node, &arrivals) {
        struct encap_foreign *foreign = &list[(*n)++];

        *foreign = arrival->foreign;
        foreign->last_ms = time_msec() - foreign->last_ms;
    }
    ovs_mutex_unlock(&mutex);
    qsort(list, *n, sizeof *list, compare);
    return list;
}
