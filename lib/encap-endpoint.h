/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENCAP_ENDPOINT_H
#define ENCAP_ENDPOINT_H 1

/* Encapsulation endpoints
 * =======================
 *
 * An endpoint is a local encapsulation IP with where it lives: its device, the
 * bridge of that device, the bridge's uplinks, the eSwitch behind them.  The
 * registry holds all of them with what else a choice among them reads: the
 * ports that packets come in by, and the operator's policy.
 *
 * A registry is a value: it is built, published, and from then on read by any
 * thread under RCU and changed by none.  Whoever learns something new builds
 * another one (encap-monitor.h).  One thing cannot wait for that: the routes
 * of a device that goes down are gone at once, and what they leave may lead
 * its endpoint's packets elsewhere.  Hence encap_registry_device_down().
 *
 * Addresses are in mapped form; in6addr_any means none. */

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#include "openvswitch/hmap.h"
#include "ovs-atomic.h"
#include "util.h"

struct ds;

/* Where an endpoint was configured. */
enum encap_origin {
    ENCAP_ORIGIN_OVN = 1 << 0,     /* external_ids:ovn-encap-ip */
    ENCAP_ORIGIN_CONFIG = 1 << 1,  /* other_config:encap-ip */
    ENCAP_ORIGIN_TUNNEL = 1 << 2,  /* options:local_ip of a tunnel port */
};

enum encap_state {
    ENCAP_UP,
    ENCAP_ABSENT,               /* The address is not one of this host. */
    ENCAP_TENTATIVE,            /* IPv6: not yet known to be unique. */
    ENCAP_DEVICE_DOWN,          /* The device is not up. */
    ENCAP_LINK_DOWN,            /* No uplink of the bridge works. */
};

/* A NIC of an endpoint's bridge. */
struct encap_uplink {
    char *name;
    bool up;                    /* Admin state and link. */
    unsigned int eswitch;       /* Index in 'eswitches', 0: not known. */
    int numa_id;                /* -1: not known. */
};

struct encap_endpoint {
    struct hmap_node node;      /* In encap_registry 'by_ip'. */
    struct in6_addr ip;
    unsigned int origins;       /* ENCAP_ORIGIN_*. */
    bool is_default;            /* The one that is taken before others, of its
                                 * family. */

    enum encap_state state;     /* See encap_endpoint_state(). */
    atomic_bool went_down;      /* 'dev' has gone down since. */
    char dev[IFNAMSIZ];         /* Empty if ENCAP_ABSENT. */
    bool any_nic;               /* On no bridge (loopback, dummy): reached
                                 * through any NIC. */
    char *bridge;               /* Or NULL. */
    struct encap_uplink *uplinks;
    size_t n_uplinks;
    unsigned int eswitch;       /* That of all uplinks; 0: not known, or they
                                 * are on several. */
    int numa_id;                /* Likewise, -1. */
    int mtu;                    /* Bytes, the least of device and uplinks, or
                                 * if 'any_nic' of all uplinks of bridges
                                 * without tunnels; 0: not known. */
    size_t n_tunnels;           /* Tunnel ports with this 'local_ip'. */
};

/* A port of a bridge, tunnels and patches excepted. */
struct encap_port {
    struct hmap_node node;      /* In encap_registry 'ports'. */
    char *name;
    char *bridge;
    struct in6_addr pin;        /* external_ids:encap-ip. */
    unsigned int eswitch;       /* 0: not known. */
    bool uplink;                /* A NIC, whether its bridge has an endpoint or
                                 * not. */
    bool up;                    /* Of an uplink: as in encap_uplink. */
    int numa_id;                /* Likewise. */
    bool internal;              /* This host's own interface. */
    bool on_underlay;           /* On a bridge of the underlay... */
    bool underlay;              /* ...and not a workload's. */
};

/* What a choice may go by, in the order of documentation. */
enum encap_step {
    ENCAP_BY_TUNNEL,            /* The tunnel port's own local_ip. */
    ENCAP_BY_FLOW,              /* tun_src. */
    ENCAP_BY_PIN,               /* The ingress port's encap-ip. */
    ENCAP_BY_NIC,               /* The ingress port's eSwitch. */
    ENCAP_BY_DEFAULT,
    ENCAP_BY_ROUTE,             /* What routing prefers. */
    ENCAP_N_STEPS
};

#define ENCAP_MAX_ORDER 4       /* ENCAP_BY_PIN...ENCAP_BY_ROUTE. */

/* The first of some endpoints, in the order of the registry, that may be
 * chosen, by family: [ipv6]; NULL if there is none. */
struct encap_group {
    const struct encap_endpoint *first[2]; /* In whatever state. */
    const struct encap_endpoint *up[2];
};

struct encap_registry {
    struct hmap by_ip;          /* Contains "struct encap_endpoint"s. */
    struct encap_endpoint **endpoints; /* All of them; earlier ones come
                                        * first where nothing else decides:
                                        * configured before those of tunnels
                                        * alone, then by number. */
    size_t n_endpoints;
    struct hmap ports;          /* Contains "struct encap_port"s, by name. */
    char **eswitches;           /* Names for users; [0] is NULL. */
    size_t n_eswitches;         /* Including [0]. */

    enum encap_step order[ENCAP_MAX_ORDER]; /* other_config:encap-select. */
    size_t n_order;
    bool failover;              /* other_config:encap-failover. */
    bool strict_rx;             /* other_config:encap-strict-rx. */

    /* What choices read, from encap_registry_finish(). */
    struct encap_group all;
    struct encap_group defaults;    /* Of endpoints with 'is_default'. */
    struct encap_group *by_eswitch; /* 'n_eswitches' entries, or NULL. */
};

/* Building.  A new registry is empty, with the default order.  The functions
 * that add something copy names and return what they added, which belongs to
 * the registry, for the caller to fill in (an uplink moves when the next one
 * of its endpoint is added); encap_registry_add_endpoint() and _add_port()
 * return what is there already if that is so.  _add_endpoint() appends to
 * 'endpoints'; encap_registry_finish() comes last, puts them in order, and
 * finds out what choices read: nothing may change after it.
 * encap_registry_eswitch() returns the index of the eSwitch 'name', which is
 * not empty. */
struct encap_registry *encap_registry_create(void);
void encap_registry_destroy(struct encap_registry *);
struct encap_endpoint *encap_registry_add_endpoint(struct encap_registry *,
                                                   const struct in6_addr *);
struct encap_uplink *encap_endpoint_add_uplink(struct encap_endpoint *,
                                               const char *name);
struct encap_port *encap_registry_add_port(struct encap_registry *,
                                           const char *name,
                                           const char *bridge);
unsigned int encap_registry_eswitch(struct encap_registry *,
                                    const char *name);
void encap_registry_finish(struct encap_registry *);

/* Reading.  encap_endpoint_state() is the state by now. */
static inline enum encap_state
encap_endpoint_state(const struct encap_endpoint *endpoint_)
{
    struct encap_endpoint *endpoint
        = CONST_CAST(struct encap_endpoint *, endpoint_);
    bool went_down;

    atomic_read_explicit(&endpoint->went_down, &went_down,
                         memory_order_acquire);
    return (went_down && endpoint->state == ENCAP_UP
            ? ENCAP_DEVICE_DOWN : endpoint->state);
}
const struct encap_endpoint *encap_registry_find(const struct encap_registry *,
                                                 const struct in6_addr *);
const struct encap_port *encap_registry_find_port(
    const struct encap_registry *, const char *name);

/* True if what comes to port 'name' may be for this host as an end of
 * tunnels. */
bool encap_registry_is_underlay(const struct encap_registry *,
                                const char *name);

/* True if 'bridge' is one of the underlay, also where its own port is a
 * workload's: neighbors and endpoints are on it nevertheless. */
bool encap_registry_is_underlay_bridge(const struct encap_registry *,
                                       const char *bridge);

/* True if every choice and every reception ends the same with 'a' as with
 * 'b', both finished: what they differ in, if anything, is only for users to
 * read.  eSwitches count by which endpoints and ports share one, not by name
 * or index. */
bool encap_registry_equivalent(const struct encap_registry *a,
                               const struct encap_registry *b);

/* The registry of this process; never NULL, empty at first.  Any thread;
 * valid until the next quiescent state. */
const struct encap_registry *encap_registry_get(void);

/* Makes 'registry', finished, the one that encap_registry_get() returns, takes
 * ownership of it, and frees the old one when readers are done.  Main
 * thread. */
void encap_registry_publish(struct encap_registry *registry);

/* From now on, until the next registry, the endpoints on device 'dev' are
 * down.  Main thread. */
void encap_registry_device_down(const char *dev);

/* True if that was said of any endpoint of 'registry'. */
bool encap_registry_is_stale(const struct encap_registry *registry);

/* For users: "up", "down"; why, or NULL ("not a local address"); "pin", "nic",
 * "default", "route" as encap-select has them ("local_ip", "tun_src" for the
 * first two, "first" for ENCAP_N_STEPS); the inverse of the latter for the
 * four, which returns false and leaves '*step' alone if 'name' is none of
 * them. */
const char *encap_state_to_string(enum encap_state);
const char *encap_state_reason(enum encap_state);
const char *encap_step_to_string(enum encap_step);
bool encap_step_from_string(const char *name, enum encap_step *step);

/* Appends why 'endpoint' is down, with the names of what is ("no uplink of
 * br-nic1 has a link"), or nothing if it is up. */
void encap_endpoint_format_reason(const struct encap_endpoint *endpoint,
                                  struct ds *);

/* True if a user or OVN wants 'endpoint', not only some tunnel. */
static inline bool
encap_endpoint_is_configured(const struct encap_endpoint *endpoint)
{
    return endpoint->origins & (ENCAP_ORIGIN_OVN | ENCAP_ORIGIN_CONFIG);
}

static inline bool
encap_is_ipv6(const struct in6_addr *addr)
{
    return !IN6_IS_ADDR_V4MAPPED(addr);
}

#endif /* encap-endpoint.h */
