/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENCAP_SELECT_H
#define ENCAP_SELECT_H 1

/* From a tunnel packet to the endpoint that sends it
 * ==================================================
 *
 * The order of choice:
 *
 *   1. options:local_ip of the tunnel port
 *   2. tun_src of the flow (options:local_ip=flow)
 *   3. external_ids:encap-ip of the port that the packet came in by (pin)
 *   4. an endpoint on that port's own eSwitch (nic)
 *   5. the default endpoint (default)
 *   6. what routing prefers (route)
 *
 * 1 and 2 are never overridden: if that endpoint is down, the packet is
 * refused, unless other_config:encap-failover=true, when 3 to 6 choose another
 * one.  (If it is absent, of the other family, no endpoint at all, or one that
 * only a tunnel's local_ip names, routing gets it and refuses what is not
 * local or does not fit.  With failover, that a tunnel alone names it does not
 * matter, and absent counts as down.)
 *
 * 3 to 6, in the order of other_config:encap-select, pass over what is down
 * (absent is down), of the other family, or no endpoint.  An endpoint that
 * only a tunnel's local_ip names is chosen by 1 to 3 alone, or for failover:
 * where no endpoint of the family is configured, nothing but routing decides,
 * and 6 is not asked.  6 takes any source that is not an endpoint that is
 * down (also one that only a tunnel names); for failover, only one that is an
 * endpoint.  If no step chooses, the first eligible endpoint of the registry
 * that is up and of the family is taken; if there is none but some are down,
 * the packet is refused; if there are none at all, routing decides.
 * (Eligible: configured, or any for failover.)
 *
 * A pure function of registry and query; any thread. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#include "encap-endpoint.h"

struct ds;

struct encap_query {
    struct in6_addr tunnel_src; /* local_ip; in6addr_any: none or "flow". */
    struct in6_addr flow_src;   /* tun_src; in6addr_any: none. */
    struct in6_addr dst;        /* Outer destination. */
    const char *ingress;        /* Port that the packet came in by, or NULL. */

    /* Stores the source that routing prefers for 'dst' and returns true, or
     * returns false if there is no way.  Called at most once, and only if
     * step 6 is reached. */
    bool (*prefers)(const struct encap_query *, struct in6_addr *src);
    const void *aux;            /* For 'prefers'. */
};

enum encap_verdict {
    ENCAP_OK,
    ENCAP_REFUSED_DOWN,         /* What steps 1 or 2 demand is down. */
    ENCAP_REFUSED_ALL_DOWN,     /* Of the endpoints that may be chosen. */
};

/* Why a step chose nothing. */
enum encap_skip {
    ENCAP_SKIP_UNSET,           /* There is none.  (Step 6: no endpoint to
                                 * choose from.) */
    ENCAP_SKIP_UNKNOWN,         /* A pin, or for failover what routing
                                 * prefers, that is no endpoint. */
    ENCAP_SKIP_FAMILY,          /* Not of the destination's family. */
    ENCAP_SKIP_DOWN,
    ENCAP_SKIP_NO_ROUTE,        /* Step 6 only. */
};

struct encap_choice {
    enum encap_verdict verdict;
    enum encap_step step;       /* That chose or refused; ENCAP_N_STEPS: none,
                                 * after all steps. */
    bool failover;              /* What 1 or 2 demand is down, and others were
                                 * asked instead. */
    struct in6_addr src;        /* If ENCAP_OK, else in6addr_any.
                                 * in6addr_any: routing decides, there is no
                                 * endpoint to choose from. */
    const struct encap_endpoint *endpoint; /* Of 'src', or the (first) one
                                            * that is down; NULL if it is
                                            * none.  As long as the
                                            * registry. */

    /* The steps passed over, in the order asked, 1 and 2 among them.  After a
     * failover from 1, 2 is not asked. */
    struct {
        enum encap_step step;
        enum encap_skip why;
        struct in6_addr ip;     /* Or in6addr_any. */
    } skipped[ENCAP_N_STEPS];
    size_t n_skipped;
};

/* Chooses and fills in '*choice' wholly.  'registry' must be finished (or
 * empty).  Costs the same for any number of endpoints, and allocates nothing.
 * Returns choice->verdict. */
enum encap_verdict encap_select(const struct encap_registry *,
                                const struct encap_query *,
                                struct encap_choice *choice);

/* Appends the choice and its reason for users, one line without newline or
 * period, e.g. "endpoint 10.1.0.1 by pin of port vm1", "endpoint 10.1.0.2 by
 * default (pin 10.1.0.9 of port vm1 is no endpoint)", "endpoint 10.1.0.1
 * (local_ip) is down: no uplink of br-nic1 has a link". */
void encap_choice_format(const struct encap_registry *,
                         const struct encap_query *,
                         const struct encap_choice *, struct ds *);

#endif /* encap-select.h */
