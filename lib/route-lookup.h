/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ROUTE_LOOKUP_H
#define ROUTE_LOOKUP_H 1

/* From a tunnel packet to its way out
 * ===================================
 *
 * route_lookup() answers what "ip route get DST from SRC mark MARK tos TOS
 * ipproto PROTO dport PORT" answers in the namespace that the route_db
 * mirrors: the rules in order, the tables that they name, then next hop and
 * source.  It also says how it got there, if asked to.
 *
 * Any thread, under RCU, without locks; what a result points to is valid
 * until the next quiescent state. */

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "openvswitch/types.h"
#include "route.h"

struct ds;
struct route_db;
struct route_device;
struct route_rule;

struct route_query {
    struct in6_addr dst;        /* Unicast. */
    struct in6_addr src;        /* in6addr_any: the route decides.  A mapped
                                 * 0.0.0.0 counts as unset too. */
    uint32_t mark;
    uint8_t tos;                /* Whole byte of the outer header; ECN bits
                                 * are ignored. */
    uint8_t ipproto;            /* Of the outer header, 0: none. */
    ovs_be16 sport, dport;      /* Of the outer header, 0: not known. */
    uint32_t hash;              /* Of the inner flow: chooses among several
                                 * next hops. */
};

struct route_result {
    enum route_verdict verdict;

    const struct route *route;  /* That decided, also if it refuses. */
    bool hashed;                /* 'hash' made a difference, also to a
                                 * refusal. */

    /* Set if 'verdict' is ROUTE_OK. */
    const struct route_device *device;
    char dev[IFNAMSIZ];         /* Name of 'device'. */
    struct in6_addr gateway;    /* in6addr_any if on-link. */
    struct in6_addr src;        /* As asked, or as chosen; also if what was
                                 * chosen is a ROUTE_BAD_SOURCE. */

    /* The table and rule that decided, also of a refusal by a route or rule;
     * else 0 and NULL. */
    uint32_t table;
    const struct route_rule *rule;
};

/* How a rule that matched ended. */
enum route_step_end {
    ROUTE_STEP_FOUND,           /* The route of the result. */
    ROUTE_STEP_NO_MATCH,        /* Table has no route: next rule. */
    ROUTE_STEP_THROW,           /* A throw route: next rule. */
    ROUTE_STEP_SUPPRESSED,      /* suppress_prefixlength, suppress_ifgroup. */
    ROUTE_STEP_NOP,
    ROUTE_STEP_REFUSED,         /* By the rule or the route: the end. */
};

struct route_step {
    const struct route_rule *rule;
    enum route_step_end end;
    const struct route *route;  /* Or NULL. */
};

#define ROUTE_TRAIL_MAX 32

struct route_trail {
    size_t n_steps;             /* May exceed ROUTE_TRAIL_MAX; only that many
                                 * are kept. */
    struct route_step steps[ROUTE_TRAIL_MAX];
};

/* Looks up 'query' and fills in '*result' wholly.  'trail', if not NULL, is
 * overwritten with the rules that matched, in order.  Returns
 * result->verdict. */
enum route_verdict route_lookup(const struct route_db *,
                                const struct route_query *query,
                                struct route_result *result,
                                struct route_trail *trail);

/* Returns the name of a device, other than 'dev', by which packets leave that
 * differ from 'query' in their hash alone, by the route of '*result', which is
 * ROUTE_OK and says that the hash made a difference; NULL if all leave by
 * 'dev'.  '*none' says whether none does. */
const char *route_lookup_other_device(const struct route_db *,
                                      const struct route_query *query,
                                      const struct route_result *result,
                                      const char *dev, bool *none);

/* True if packets for 'address' end at this host: it is on a device, or the
 * local table says so. */
bool route_lookup_is_local(const struct route_db *,
                           const struct in6_addr *address);

/* The positive errno that "ip route get" ends with (0 for ROUTE_OK). */
int route_verdict_errno(enum route_verdict);

/* Appends the reason for users, without a period, e.g. "source 10.9.9.9 is
 * not a local address", "rule 100 says unreachable", "route 203.0.113.0/24 in
 * table 101 says blackhole", "no route to 8.8.8.8". */
void route_verdict_format(const struct route_query *query,
                          const struct route_result *result, struct ds *);

/* Appends one line a step, indented by two spaces, for explanations, e.g.
 * "  rule 101: from 192.0.2.1 lookup 101: 203.0.113.0/24 dev br0 ...". */
void route_trail_format(const struct route_trail *, struct ds *);

/* Appends 'route' as "ovs/route/show" prints it, without newline:
 * "Cached: 203.0.113.0/24 dev br0 GW 192.0.2.254 SRC 192.0.2.1 table 101".
 * 'table' 0: do not print it. */
void route_format(const struct route_db *, const struct route *,
                  uint32_t table, struct ds *);

/* Appends 'rule' as "ovs/route/rule/show" prints it, without newline:
 * "Cached: 100: from 192.0.2.1 lookup 101". */
void route_rule_format(const struct route_rule *, struct ds *);

/* Appends "203.0.113.0/24", "2001:db8::/64" (the family's own count). */
void route_prefix_format(const struct in6_addr *, uint8_t plen, struct ds *);

#endif /* route-lookup.h */
