/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ROUTE_RULE_H
#define ROUTE_RULE_H 1

/* Policy rules
 * ============
 *
 * A 'struct route_rule' is one rule as a value; a 'struct route_rules' is the
 * ordered list of one family, immutable, with an index by source prefix that
 * makes a walk independent of the number of rules for other sources.
 *
 * What the selectors mean follows ip-rule(8) and the kernel
 * (linux/fib_rules.h): a tunnel packet is one that this host sends, so its
 * incoming interface is "lo", its outgoing interface is not yet known, its
 * user is root and no L3 master device (VRF) holds it. */

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "openvswitch/types.h"
#include "route.h"

struct route_fib;

enum route_rule_action {
    ROUTE_RULE_LOOKUP,
    ROUTE_RULE_GOTO,
    ROUTE_RULE_NOP,
    ROUTE_RULE_BLACKHOLE_ACTION,
    ROUTE_RULE_UNREACHABLE_ACTION,
    ROUTE_RULE_PROHIBIT_ACTION,
};

struct route_rule {
    uint32_t priority;          /* Lowest first. */
    bool ipv6;
    bool invert;                /* "not": applies to all selectors at once. */
    uint8_t owner;              /* enum route_owner. */

    /* Action. */
    uint8_t action;             /* enum route_rule_action. */
    uint32_t table;             /* ROUTE_RULE_LOOKUP. */
    uint32_t target;            /* ROUTE_RULE_GOTO: priority. */
    int suppress_plen;          /* -1: none; 0...128, in the family's own
                                 * count (IPv4 0...32). */
    int suppress_group;         /* Link group, -1: none. */

    /* Selectors.  Prefix lengths count in the mapped form: IPv4 96...128; the
     * shortest of the family (IPv4 96, IPv6 0) matches everything. */
    struct in6_addr from, to;
    uint8_t from_plen, to_plen;
    uint32_t mark, mark_mask;   /* Mask 0: any. */
    uint8_t tos;                /* Legacy "tos", 0: any. */
    uint8_t dscp, dscp_mask;    /* In the upper six bits; mask 0: any. */
    uint8_t ipproto;            /* 0: any. */
    uint16_t sport_min, sport_max, sport_mask; /* Host byte order; min and max
                                                * 0: any; mask 0: range. */
    uint16_t dport_min, dport_max, dport_mask;
    uint32_t uid_min, uid_max;  /* 0 and UINT32_MAX: any. */
    char iif[IFNAMSIZ], oif[IFNAMSIZ]; /* "": any. */
    bool l3mdev;                /* Only traffic of a VRF. */
    uint64_t tun_id;            /* 0: any. */
    uint32_t flow_label, flow_label_mask; /* IPv6; mask 0: any. */
    bool unknown_selector;      /* The kernel named a selector that we do not
                                 * know: the rule never matches. */

    uint32_t epoch;             /* Writers only. */
};

/* Fills in a rule of 'ipv6' that matches everything and looks up 'table'. */
void route_rule_init(struct route_rule *, bool ipv6, uint32_t priority,
                     uint32_t table, enum route_owner);

/* True if both say the same ('epoch' does not count, nor address bits beyond a
 * prefix, nor 'table' and 'target' if the action has none). */
bool route_rule_equal(const struct route_rule *, const struct route_rule *);

/* What a rule is asked about.  See route-lookup.h for the meaning. */
struct route_rule_query {
    struct in6_addr src, dst;   /* 'src' in6addr_any: unset; then IPv4 rules
                                 * see 0.0.0.0. */
    uint32_t mark;
    uint8_t tos;                /* Whole byte of the outer header. */
    uint8_t ipproto;
    ovs_be16 sport, dport;
};

/* True if 'rule' (of the family of 'query->dst') matches, "not" applied.  An
 * IPv6 source that is unset lies in no prefix but ::/0. */
bool route_rule_match(const struct route_rule *rule,
                      const struct route_rule_query *query);

/* One sentence why a tunnel packet cannot match 'rule' as its author may have
 * meant it ("oif: the outgoing interface is what the lookup is for", unknown
 * selectors, sport, l3mdev, tun_id, ...), or NULL if all of the rule is
 * evaluated.  The string is constant. */
const char *route_rule_caveat(const struct route_rule *rule);

/* An ordered list. */
struct route_rules;

/* Builds the list of 'n' 'rules' of one family, which are copied, in the
 * order: priority, then owner (the higher first), then position in the array.
 * 'fib_of' gives the table of each ROUTE_RULE_LOOKUP rule (never NULL); the
 * table stays the caller's and must outlive the list.  Any thread; the caller
 * owns the list and destroys it when no reader uses it. */
struct route_rules *route_rules_create(
    const struct route_rule *rules, size_t n,
    struct route_fib *(*fib_of)(const struct route_rule *, void *aux),
    void *aux);
void route_rules_destroy(struct route_rules *);

/* Number of rules, the rule at 'index' (less than that number, in order), and
 * its table (NULL unless it is a ROUTE_RULE_LOOKUP).  Any thread. */
size_t route_rules_count(const struct route_rules *);
const struct route_rule *route_rules_at(const struct route_rules *,
                                        size_t index);
struct route_fib *route_rules_fib(const struct route_rules *, size_t index);

/* A walk over the rules that match 'query', in order.  Goto is followed
 * inside, forward only, to the first rule of that priority, which must match
 * too; a goto that leads back or into nothing is passed over.  So the walk
 * returns rules of every action ("nop" too) but ROUTE_RULE_GOTO.  'index' is
 * what route_rules_at() takes.
 *
 *     struct route_rules_cursor cursor;
 *     size_t index;
 *
 *     route_rules_walk(rules, &query, &cursor);
 *     while (route_rules_next(&cursor, &index)) {
 *         ...
 *     }
 *
 * The cursor holds pointers into 'rules' and 'query', and no memory of its
 * own.  Only the lists in use are initialized, so that a walk costs what its
 * candidates cost.  Any thread, until the next quiescent state. */
struct route_rules_cursor {
    const struct route_rules *rules;
    const struct route_rule_query *query;
    const uint32_t *lists[130]; /* Candidate indexes, one list for each source
                                 * prefix that holds the source. */
    size_t n_lists;
    uint32_t next;              /* Lowest index not yet visited. */
};

void route_rules_walk(const struct route_rules *,
                      const struct route_rule_query *query,
                      struct route_rules_cursor *);
bool route_rules_next(struct route_rules_cursor *, size_t *index);

#endif /* route-rule.h */
