/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "route-rule.h"

#include <stdlib.h>

#include "openvswitch/hmap.h"
#include "packets.h"
#include "route-prefix.h"
#include "util.h"

/* What IPv4's legacy "tos" compares of the TOS byte. */
#define LEGACY_TOS_MASK 0x1c

/* The DSCP in the TOS byte. */
#define DSCP_MASK 0xfc

/* The prefix length that matches everything. */
static uint8_t
shortest_plen(bool ipv6)
{
    return ipv6 ? 0 : 96;
}

/* One rule. */

void
route_rule_init(struct route_rule *rule, bool ipv6, uint32_t priority,
                uint32_t table, enum route_owner owner)
{
    *rule = (struct route_rule) {
        .priority = priority,
        .ipv6 = ipv6,
        .owner = owner,
        .from_plen = shortest_plen(ipv6),
        .to_plen = shortest_plen(ipv6),
        .uid_max = UINT32_MAX,
        .action = ROUTE_RULE_LOOKUP,
        .table = table,
        .suppress_plen = -1,
        .suppress_group = -1,
    };
    if (!ipv6) {
        in6_addr_set_mapped_ipv4(&rule->from, 0);
        in6_addr_set_mapped_ipv4(&rule->to, 0);
    }
}

static bool
prefix_equal(const struct in6_addr *a, uint8_t a_plen,
             const struct in6_addr *b, uint8_t b_plen)
{
    return a_plen == b_plen && route_prefix_contains(a, a_plen, b);
}

static bool
selectors_equal(const struct route_rule *a, const struct route_rule *b)
{
    return a->invert == b->invert
           && prefix_equal(&a->from, a->from_plen, &b->from, b->from_plen)
           && prefix_equal(&a->to, a->to_plen, &b->to, b->to_plen)
           && a->mark == b->mark
           && a->mark_mask == b->mark_mask
           && a->tos == b->tos
           && a->dscp == b->dscp
           && a->dscp_mask == b->dscp_mask
           && a->ipproto == b->ipproto
           && a->sport_min == b->sport_min
           && a->sport_max == b->sport_max
           && a->sport_mask == b->sport_mask
           && a->dport_min == b->dport_min
           && a->dport_max == b->dport_max
           && a->dport_mask == b->dport_mask
           && a->uid_min == b->uid_min
           && a->uid_max == b->uid_max
           && !strcmp(a->iif, b->iif)
           && !strcmp(a->oif, b->oif)
           && a->l3mdev == b->l3mdev
           && a->tun_id == b->tun_id
           && a->flow_label == b->flow_label
           && a->flow_label_mask == b->flow_label_mask
           && a->unknown_selector == b->unknown_selector;
}

bool
route_rule_equal(const struct route_rule *a, const struct route_rule *b)
{
    return a->priority == b->priority
           && a->ipv6 == b->ipv6
           && a->owner == b->owner
           && selectors_equal(a, b)
           && a->action == b->action
           && (a->action != ROUTE_RULE_LOOKUP || a->table == b->table)
           && (a->action != ROUTE_RULE_GOTO || a->target == b->target)
           && a->suppress_plen == b->suppress_plen
           && a->suppress_group == b->suppress_group;
}

/* 'src' as rules of a family see it: an IPv4 source that is not set is
 * 0.0.0.0.  An IPv6 one stays zero, which is in no prefix. */
static struct route_bits
rule_source(bool ipv6, const struct in6_addr *src)
{
    struct route_bits bits = route_bits_get(src);

    if (!ipv6 && !(bits.hi | bits.lo)) {
        bits.lo = UINT64_C(0xffff) << 32;
    }
    return bits;
}

static bool
match_from(const struct route_rule *rule, const struct in6_addr *src_)
{
    struct route_bits src = rule_source(rule->ipv6, src_);
    struct route_bits from = route_bits_get(&rule->from);

    return (rule->from_plen <= shortest_plen(rule->ipv6)
            || ((src.hi | src.lo)
                && route_bits_equal(route_bits_mask(src, rule->from_plen),
                                    route_bits_mask(from, rule->from_plen))));
}

static bool
match_port(uint16_t min, uint16_t max, uint16_t mask, ovs_be16 port_)
{
    uint16_t port = ntohs(port_);

    return (mask ? !((min ^ port) & mask)
            : min || max ? min <= port && port <= max
            : true);
}

static bool
match_tos(const struct route_rule *rule, uint8_t tos)
{
    uint8_t legacy_mask = rule->ipv6 ? DSCP_MASK : LEGACY_TOS_MASK;

    return (!rule->tos || rule->tos == (tos & legacy_mask))
           && !((rule->dscp ^ tos) & rule->dscp_mask);
}

/* What no tunnel packet has: a device chosen before the lookup, a VRF, a
 * tunnel of its own, a user other than root, a way in, a flow label. */
static bool
match_sender(const struct route_rule *rule)
{
    return (!rule->iif[0] || !strcmp(rule->iif, "lo"))
           && !rule->oif[0]
           && !rule->l3mdev
           && !rule->tun_id
           && !rule->uid_min
           && !(rule->flow_label & rule->flow_label_mask);
}

bool
route_rule_match(const struct route_rule *rule,
                 const struct route_rule_query *query)
{
    if (rule->unknown_selector) {
        return false;
    }

    bool match = (match_from(rule, &query->src)
                  && (rule->to_plen <= shortest_plen(rule->ipv6)
                      || route_prefix_contains(&rule->to, rule->to_plen,
                                               &query->dst))
                  && !((rule->mark ^ query->mark) & rule->mark_mask)
                  && match_tos(rule, query->tos)
                  && (!rule->ipproto || rule->ipproto == query->ipproto)
                  && match_port(rule->sport_min, rule->sport_max,
                                rule->sport_mask, query->sport)
                  && match_port(rule->dport_min, rule->dport_max,
                                rule->dport_mask, query->dport)
                  && match_sender(rule));
    return match != rule->invert;
}

const char *
route_rule_caveat(const struct route_rule *rule)
{
    if (rule->unknown_selector) {
        return "the kernel gives this rule a selector that is not known "
               "here, so it never matches";
    } else if (rule->oif[0]) {
        return "oif: the outgoing interface is what the lookup is for";
    } else if (rule->l3mdev) {
        return "l3mdev: tunnel packets belong to no VRF";
    } else if (rule->iif[0] && strcmp(rule->iif, "lo")) {
        return "iif: tunnel packets are sent by this host, their incoming "
               "interface is lo";
    } else if (rule->tun_id) {
        return "tun_id: tunnel packets are not received from another tunnel";
    } else if (rule->sport_min || rule->sport_max || rule->sport_mask) {
        return "sport: the outer source port differs from packet to packet "
               "and is not known to the lookup";
    } else {
        return NULL;
    }
}

/* The list. */

struct rule_entry {
    struct route_fib *fib;      /* ROUTE_RULE_LOOKUP, else NULL. */
    uint32_t target;            /* ROUTE_RULE_GOTO: index to go on at, always
                                 * greater than this rule's own; 0 if it leads
                                 * nowhere. */
    bool source_only;           /* Matches whatever comes from 'from'. */
    struct route_rule rule;
};

/* The indexes, ascending, of all rules that can match packets from one source
 * prefix and name it, or, in the list 'any', that can match whatever the
 * source: without "from", or with "not". */
struct rule_list {
    struct hmap_node node;      /* In route_rules 'lists'. */
    struct route_bits prefix;
    uint8_t plen;
    uint32_t *indexes;          /* NO_INDEX at the end. */
    size_t n, allocated;
};

#define NO_INDEX UINT32_MAX

struct route_rules {
    bool ipv6;
    struct rule_list any;
    struct hmap lists;          /* "struct rule_list"s, by prefix. */
    uint8_t plens[128];         /* Lengths that occur in 'lists'. */
    size_t n_plens;

    size_t n;
    struct rule_entry entries[];
};

struct sort_key {
    const struct route_rule *rule;
    size_t position;
};

static int
compare_rules(const void *a_, const void *b_)
{
    const struct sort_key *a = a_;
    const struct sort_key *b = b_;

    if (a->rule->priority != b->rule->priority) {
        return a->rule->priority < b->rule->priority ? -1 : 1;
    }
    if (a->rule->owner != b->rule->owner) {
        return a->rule->owner > b->rule->owner ? -1 : 1;
    }
    return a->position < b->position ? -1 : 1;
}

/* True if 'rule' has no selector but perhaps "from". */
static bool
selects_source_only(const struct route_rule *rule)
{
    struct route_rule plain;

    route_rule_init(&plain, rule->ipv6, rule->priority, rule->table,
                    rule->owner);
    plain.from = rule->from;
    plain.from_plen = rule->from_plen;
    return selectors_equal(rule, &plain);
}

static struct rule_list *
find_list(const struct route_rules *rules, struct route_bits prefix,
          uint8_t plen)
{
    struct rule_list *list;

    HMAP_FOR_EACH_WITH_HASH (list, node, route_bits_hash(prefix, plen),
                             &rules->lists) {
        if (list->plen == plen && route_bits_equal(list->prefix, prefix)) {
            return list;
        }
    }
    return NULL;
}

static struct rule_list *
list_for_rule(struct route_rules *rules, const struct route_rule *rule)
{
    uint8_t plen = rule->from_plen;

    if (rule->invert || plen <= shortest_plen(rules->ipv6)) {
        return &rules->any;
    }

    struct route_bits prefix = route_bits_mask(route_bits_get(&rule->from),
                                               plen);
    struct rule_list *list = find_list(rules, prefix, plen);

    if (!list) {
        if (!memchr(rules->plens, plen, rules->n_plens)) {
            rules->plens[rules->n_plens++] = plen;
        }
        list = xzalloc(sizeof *list);
        list->prefix = prefix;
        list->plen = plen;
        hmap_insert(&rules->lists, &list->node,
                    route_bits_hash(prefix, plen));
    }
    return list;
}

/* The index of the first rule with priority 'priority' among the entries, or
 * 0 if there is none. */
static uint32_t
find_priority(const struct route_rules *rules, uint32_t priority)
{
    size_t low = 0;
    size_t high = rules->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (rules->entries[middle].rule.priority < priority) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (low < rules->n && rules->entries[low].rule.priority == priority
            ? low : 0);
}

static void
route_rules_index(struct route_rules *rules)
{
    for (uint32_t i = 0; i < rules->n; i++) {
        struct rule_entry *entry = &rules->entries[i];
        const struct route_rule *rule = &entry->rule;

        entry->source_only = selects_source_only(rule);
        if (rule->action == ROUTE_RULE_GOTO
            && rule->target > rule->priority) {
            entry->target = find_priority(rules, rule->target);
        }

        if (!rule->unknown_selector) {
            struct rule_list *list = list_for_rule(rules, rule);

            while (list->n + 1 >= list->allocated) {
                list->indexes = x2nrealloc(list->indexes, &list->allocated,
                                           sizeof *list->indexes);
            }
            list->indexes[list->n++] = i;
            list->indexes[list->n] = NO_INDEX;
        }
    }
}

struct route_rules *
route_rules_create(const struct route_rule *rules_, size_t n,
                   struct route_fib *(*fib_of)(const struct route_rule *,
                                               void *aux),
                   void *aux)
{
    struct sort_key *keys = xmalloc(MAX(1, n) * sizeof *keys);
    struct route_rules *rules = xzalloc(sizeof *rules
                                        + n * sizeof rules->entries[0]);

    for (size_t i = 0; i < n; i++) {
        keys[i] = (struct sort_key) { &rules_[i], i };
    }
    qsort(keys, n, sizeof *keys, compare_rules);

    rules->ipv6 = n && rules_[0].ipv6;
    rules->n = n;
    for (size_t i = 0; i < n; i++) {
        struct rule_entry *entry = &rules->entries[i];

        entry->rule = *keys[i].rule;
        if (entry->rule.action == ROUTE_RULE_LOOKUP) {
            entry->fib = fib_of(&entry->rule, aux);
        }
    }
    free(keys);

    hmap_init(&rules->lists);
    route_rules_index(rules);
    return rules;
}

void
route_rules_destroy(struct route_rules *rules)
{
    struct rule_list *list;

    if (!rules) {
        return;
    }

    HMAP_FOR_EACH_POP (list, node, &rules->lists) {
        free(list->indexes);
        free(list);
    }
    hmap_destroy(&rules->lists);
    free(rules->any.indexes);
    free(rules);
}

size_t
route_rules_count(const struct route_rules *rules)
{
    return rules->n;
}

const struct route_rule *
route_rules_at(const struct route_rules *rules, size_t index)
{
    return &rules->entries[index].rule;
}

struct route_fib *
route_rules_fib(const struct route_rules *rules, size_t index)
{
    return rules->entries[index].fib;
}

/* The walk. */

void
route_rules_walk(const struct route_rules *rules,
                 const struct route_rule_query *query,
                 struct route_rules_cursor *cursor)
{
    struct route_bits src = rule_source(rules->ipv6, &query->src);

    cursor->rules = rules;
    cursor->query = query;
    cursor->n_lists = 0;
    cursor->next = 0;

    if (rules->any.n) {
        cursor->lists[cursor->n_lists++] = rules->any.indexes;
    }
    if (!(src.hi | src.lo)) {
        return;
    }
    for (size_t i = 0; i < rules->n_plens; i++) {
        uint8_t plen = rules->plens[i];
        const struct rule_list *list
            = find_list(rules, route_bits_mask(src, plen), plen);

        if (list) {
            cursor->lists[cursor->n_lists++] = list->indexes;
        }
    }
}

/* Returns the lowest index of a candidate not yet visited, or NO_INDEX. */
static uint32_t
next_candidate(struct route_rules_cursor *cursor)
{
    uint32_t index = NO_INDEX;

    for (size_t i = 0; i < cursor->n_lists; i++) {
        while (*cursor->lists[i] < cursor->next) {
            cursor->lists[i]++;
        }
        index = MIN(index, *cursor->lists[i]);
    }
    return index;
}

bool
route_rules_next(struct route_rules_cursor *cursor, size_t *indexp)
{
    uint32_t index;

    while ((index = next_candidate(cursor)) != NO_INDEX) {
        const struct rule_entry *entry = &cursor->rules->entries[index];

        cursor->next = index + 1;
        if (entry->source_only
            || route_rule_match(&entry->rule, cursor->query)) {
            if (entry->rule.action != ROUTE_RULE_GOTO) {
                *indexp = index;
                return true;
            }
            if (entry->target) {
                cursor->next = entry->target;
            }
        }
    }
    return false;
}
