/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENCAP_TWIN_H
#define ENCAP_TWIN_H 1

/* A naive twin of encap_select()
 * ==============================
 *
 * A host as plain lists of plain values, and the choice as the documentation
 * in encap-select.h tells it: each step makes a list of what it may choose
 * from and strikes out what does not fit, one rule at a time.  It reads no
 * registry. */

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#include "encap-endpoint.h"
#include "encap-select.h"

#define ENCAP_TWIN_MAX_ENDPOINTS 256
#define ENCAP_TWIN_MAX_PORTS 256
#define ENCAP_TWIN_NAME 16

struct encap_twin_endpoint {
    struct in6_addr ip;
    unsigned int origins;
    bool is_default;
    bool any_nic;
    enum encap_state state;
    char dev[ENCAP_TWIN_NAME];
    char bridge[ENCAP_TWIN_NAME];
    char eswitch[ENCAP_TWIN_NAME]; /* Or empty. */
    int mtu;
};

struct encap_twin_port {
    char name[ENCAP_TWIN_NAME];
    struct in6_addr pin;
    char eswitch[ENCAP_TWIN_NAME]; /* Or empty. */
    bool on_underlay;
    bool underlay;
};

struct encap_twin {
    struct encap_twin_endpoint endpoints[ENCAP_TWIN_MAX_ENDPOINTS];
    size_t n_endpoints;
    struct encap_twin_port ports[ENCAP_TWIN_MAX_PORTS];
    size_t n_ports;
    enum encap_step order[ENCAP_MAX_ORDER];
    size_t n_order;
    bool failover;
    bool strict_rx;
};

struct encap_twin_query {
    struct in6_addr tunnel_src, flow_src, dst;
    const char *ingress;        /* Or NULL. */
    bool routed;                /* There is a way to 'dst'. */
    struct in6_addr preferred;  /* If 'routed'. */
};

struct encap_twin_answer {
    enum encap_verdict verdict;
    enum encap_step step;
    bool failover;
    struct in6_addr src;
    struct in6_addr endpoint;   /* in6addr_any: none. */
    struct {
        enum encap_step step;
        enum encap_skip why;
        struct in6_addr ip;
    } skipped[ENCAP_N_STEPS];
    size_t n_skipped;
};

void encap_twin_select(const struct encap_twin *,
                       const struct encap_twin_query *,
                       struct encap_twin_answer *);

#endif /* encap-twin.h */
