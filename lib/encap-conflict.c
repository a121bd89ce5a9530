/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-conflict.h"

#include <stdlib.h>
#include <string.h>

#include "coverage.h"
#include "encap-endpoint.h"
#include "encap-text.h"
#include "hash.h"
#include "netdev.h"
#include "netdev-provider.h"
#include "openvswitch/hmap.h"
#include "openvswitch/vlog.h"
#include "ovs-thread.h"
#include "packets.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(encap_conflict);

COVERAGE_DEFINE(neighbor_conflict);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(60, 60);

/* A host that claims an address. */
struct claimant {
    struct encap_conflict conflict;
    long long int last_ms;
};

struct claim {
    struct hmap_node node;      /* In 'claims', by 'ip'. */
    struct in6_addr ip;
    struct claimant claimants[ENCAP_CONFLICT_HOSTS]; /* The newest first. */
    size_t n_claimants;         /* One or more. */
};

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static struct hmap claims OVS_GUARDED_BY(mutex) = HMAP_INITIALIZER(&claims);

/* Returns false if the MAC of 'dev' cannot be read. */
static bool
get_mac(const char *dev, struct eth_addr *mac)
{
    struct netdev *netdev = netdev_from_name(dev);
    bool ok = netdev && !netdev_get_etheraddr(netdev, mac);

    netdev_close(netdev);
    return ok;
}

static bool
has_mac(const char *dev, struct eth_addr mac)
{
    struct eth_addr own;

    return get_mac(dev, &own) && eth_addr_equals(own, mac);
}

static bool
is_own_mac(const struct encap_registry *registry, struct eth_addr mac)
{
    const struct encap_port *port;

    for (size_t i = 0; i < registry->n_endpoints; i++) {
        if (has_mac(registry->endpoints[i]->dev, mac)) {
            return true;
        }
    }
    HMAP_FOR_EACH (port, node, &registry->ports) {
        if (port->internal && has_mac(port->name, mac)) {
            return true;
        }
    }
    return false;
}

/* True if 'ip' is an endpoint that this host has. */
static bool
is_here(const struct encap_registry *registry, const struct in6_addr *ip)
{
    const struct encap_endpoint *endpoint = encap_registry_find(registry, ip);

    return endpoint && endpoint->state != ENCAP_ABSENT;
}

bool
encap_conflict_is(const struct in6_addr *ip, struct eth_addr mac)
{
    const struct encap_registry *registry = encap_registry_get();
    const struct encap_endpoint *endpoint = encap_registry_find(registry, ip);
    struct eth_addr own;

    return (endpoint
            && endpoint->state != ENCAP_ABSENT
            && !endpoint->any_nic
            && get_mac(endpoint->dev, &own)
            && !is_own_mac(registry, mac));
}

static struct claim *
find_claim(const struct in6_addr *ip)
    OVS_REQUIRES(mutex)
{
    struct claim *claim;

    HMAP_FOR_EACH_WITH_HASH (claim, node, hash_bytes(ip, sizeof *ip, 0),
                             &claims) {
        if (ipv6_addr_equals(&claim->ip, ip)) {
            return claim;
        }
    }
    return NULL;
}

static bool
is_over(const struct claimant *claimant)
{
    return time_msec() - claimant->last_ms >= ENCAP_CONFLICT_MS;
}

/* Makes the host with 'mac' the newest claimant of 'claim'; if there are too
 * many, the oldest one is forgotten.  Returns true if this is news. */
static bool
put_first(struct claim *claim, struct eth_addr mac, const char *bridge)
    OVS_REQUIRES(mutex)
{
    struct claimant *claimants = claim->claimants;
    size_t i = 0;
    bool news;

    while (i < claim->n_claimants
           && !eth_addr_equals(claimants[i].conflict.mac, mac)) {
        i++;
    }
    news = i == claim->n_claimants || is_over(&claimants[i]);
    if (i == ENCAP_CONFLICT_HOSTS) {
        i--;
    } else if (i == claim->n_claimants) {
        claim->n_claimants++;
    }
    memmove(&claimants[1], &claimants[0], i * sizeof *claimants);
    claimants[0].conflict.mac = mac;
    ovs_strlcpy(claimants[0].conflict.bridge, bridge,
                sizeof claimants[0].conflict.bridge);
    claimants[0].last_ms = time_msec();
    return news;
}

/* Returns true if this is news.  Looks into the registry while it has the
 * mutex: whoever publishes another one then comes to forget what is added. */
static bool
remember(const struct in6_addr *ip, struct eth_addr mac, const char *bridge)
    OVS_REQUIRES(mutex)
{
    struct claim *claim = find_claim(ip);

    if (!is_here(encap_registry_get(), ip)) {
        return false;
    }
    if (!claim) {
        claim = xzalloc(sizeof *claim);
        claim->ip = *ip;
        hmap_insert(&claims, &claim->node, hash_bytes(ip, sizeof *ip, 0));
    }
    return put_first(claim, mac, bridge);
}

void
encap_conflict_add(const struct in6_addr *ip, struct eth_addr mac,
                   const char *bridge)
{
    char text[INET6_ADDRSTRLEN];
    bool news;

    COVERAGE_INC(neighbor_conflict);
    ovs_mutex_lock(&mutex);
    news = remember(ip, mac, bridge);
    ovs_mutex_unlock(&mutex);
    if (news) {
        char *name = encap_text_line(bridge);

        VLOG_WARN_RL(&rl, "%s: another host, "ETH_ADDR_FMT", claims this "
                     "address on %s", ipv6_string_mapped(text, ip),
                     ETH_ADDR_ARGS(mac), name);
        free(name);
    }
}

bool
encap_conflict_get(const struct in6_addr *ip, struct encap_conflict *conflict)
{
    const struct claim *claim;
    bool found;

    ovs_mutex_lock(&mutex);
    claim = find_claim(ip);
    found = claim && !is_over(&claim->claimants[0]);
    if (found) {
        *conflict = claim->claimants[0].conflict;
    }
    ovs_mutex_unlock(&mutex);
    return found;
}

void
encap_conflict_forget(void)
{
    const struct encap_registry *registry = encap_registry_get();
    struct claim *claim;

    ovs_mutex_lock(&mutex);
    HMAP_FOR_EACH_SAFE (claim, node, &claims) {
        if (!is_here(registry, &claim->ip)) {
            hmap_remove(&claims, &claim->node);
            free(claim);
        }
    }
    ovs_mutex_unlock(&mutex);
}
