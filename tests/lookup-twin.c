/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "lookup-twin.h"

#include <string.h>

#include "packets.h"
#include "util.h"

static bool
bits_agree(const struct in6_addr *a, const struct in6_addr *b, int n)
{
    for (int i = 0; i < n; i++) {
        int mask = 0x80 >> i % 8;

        if ((a->s6_addr[i / 8] & mask) != (b->s6_addr[i / 8] & mask)) {
            return false;
        }
    }
    return true;
}

static bool
rule_selects(const struct twin *t, const struct route_rule *r,
             const struct route_query *q)
{
    struct in6_addr src = q->src;
    bool match = true;

    if (!t->ipv6 && ipv6_addr_equals(&src, &in6addr_any)) {
        src = in6_addr_mapped_ipv4(0);
    }
    if (r->from_plen > 0) {
        match = (match && ipv6_addr_is_set(&src)
                 && bits_agree(&src, &r->from, r->from_plen));
    }
    match = match && bits_agree(&q->dst, &r->to, r->to_plen);
    match = match && (q->mark & r->mark_mask) == r->mark;
    match = match && (!r->iif[0] || !strcmp(r->iif, "lo"));
    match = match && !r->oif[0];
    match = match && (!r->ipproto || r->ipproto == q->ipproto);
    match = match && (!r->dport_max || (ntohs(q->dport) >= r->dport_min
                                        && ntohs(q->dport) <= r->dport_max));
    return match != r->invert;
}

static bool
leg_lives(const struct twin *t, const struct twin_route *r,
          const struct twin_leg *leg)
{
    const struct route_link *link = &t->devices[leg->device].link;
    bool ignore = (t->ipv6 ? link->ignore_linkdown_ipv6
                   : link->ignore_linkdown_ipv4);

    return ((t->ipv6 && r->head->type == ROUTE_LOCAL)
            || (link->up && (link->carrier || !ignore)));
}

static bool
route_lives(const struct twin *t, const struct twin_route *r)
{
    bool lives = r->head->type >= ROUTE_BLACKHOLE;

    for (size_t i = 0; i < r->n_legs; i++) {
        lives |= leg_lives(t, r, &r->legs[i]);
    }
    return lives;
}

/* True if 'a' is asked before 'b': each key of the list in route-fib.h. */
static bool
route_before(const struct twin_route *a, const struct twin_route *b)
{
    int64_t keys[][2] = {
        { !a->head->mark, !b->head->mark },
        { -a->head->dst_plen, -b->head->dst_plen },
        { -a->head->owner, -b->head->owner },
        { !a->head->tos, !b->head->tos },
        { a->head->metric, b->head->metric },
        { a->rank, b->rank },
    };

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        if (keys[i][0] != keys[i][1]) {
            return keys[i][0] < keys[i][1];
        }
    }
    return false;
}

static const struct twin_route *
table_lookup(const struct twin *t, uint32_t table,
             const struct route_query *q)
{
    const struct twin_route *best = NULL;

    for (size_t i = 0; i < t->n_routes; i++) {
        const struct twin_route *r = &t->routes[i];

        if (r->table == table
            && bits_agree(&r->head->dst, &q->dst, r->head->dst_plen)
            && (!r->head->mark || r->head->mark == q->mark)
            && (!r->head->tos || r->head->tos == (q->tos & 0x1c))
            && route_lives(t, r)
            && (!best || route_before(r, best))) {
            best = r;
        }
    }
    return best;
}

/* The kernel's inet_select_addr(). */
static bool
select_ipv4(const struct twin *t, int device, const struct in6_addr *gateway,
            uint8_t scope, struct in6_addr *src)
{
    for (int pass = 0; pass < 2; pass++) {
        const struct twin_device *d = &t->devices[device];

        for (size_t i = 0; i < d->n_addresses; i++) {
            const struct route_address *a = &d->addresses[i];

            if (!a->secondary && a->scope <= scope
                && (pass || !ipv6_addr_is_set(gateway)
                    || bits_agree(&a->prefix, gateway, a->plen))) {
                *src = a->address;
                return true;
            }
        }
    }
    for (int i = 0; i < TWIN_N_DEVICES; i++) {
        const struct twin_device *d = &t->devices[i];

        for (size_t j = 0; j < d->n_addresses; j++) {
            const struct route_address *a = &d->addresses[j];

            if (!a->secondary && a->scope <= scope
                && a->scope != ROUTE_SCOPE_LINK) {
                *src = a->address;
                return true;
            }
        }
    }
    return false;
}

/* RFC 6724 section 5 as one number an address; the world of these tests has
 * two labels (fc00::/7 and the rest) and only global scope. */
static bool
select_ipv6(const struct twin *t, int device, const struct in6_addr *dst,
            struct in6_addr *src)
{
    int best = -1;

    for (int i = 0; i < TWIN_N_DEVICES; i++) {
        const struct twin_device *d = &t->devices[i];

        for (size_t j = 0; j < d->n_addresses; j++) {
            const struct route_address *a = &d->addresses[j];
            int agree = 0;
            int score;

            if (a->tentative) {
                continue;
            }
            while (agree < a->plen
                   && bits_agree(&a->address, dst, agree + 1)) {
                agree++;
            }
            score = (bits_agree(&a->address, dst, 128) << 12
                     | !a->deprecated << 11
                     | (i == device) << 10
                     | (a->address.s6_addr[0] == dst->s6_addr[0]) << 9
                     | !a->temporary << 8
                     | agree);
            if (score > best) {
                best = score;
                *src = a->address;
            }
        }
    }
    return best >= 0;
}

static bool
is_local(const struct twin *t, const struct in6_addr *address)
{
    for (int i = 0; i < TWIN_N_DEVICES; i++) {
        for (size_t j = 0; j < t->devices[i].n_addresses; j++) {
            if (ipv6_addr_equals(&t->devices[i].addresses[j].address,
                                 address)) {
                return true;
            }
        }
    }
    return false;
}

static bool
leg_source(const struct twin *t, const struct twin_route *r,
           const struct twin_leg *leg, const struct route_query *q,
           struct in6_addr *src)
{
    if (ipv6_addr_is_set(&q->src)) {
        *src = q->src;
    } else if (ipv6_addr_is_set(&r->head->prefsrc)) {
        *src = r->head->prefsrc;
    } else if (t->ipv6) {
        return select_ipv6(t, leg->device, &q->dst, src);
    } else if (r->head->type == ROUTE_LOCAL) {
        *src = q->dst;
    } else {
        return select_ipv4(t, leg->device, &leg->gateway, r->head->scope,
                           src);
    }
    return true;
}

static void
find_legs(const struct twin *t, const struct route_query *q,
          struct twin_answer *answer)
{
    const struct twin_route *r = answer->route;
    bool by_source = false;

    for (int pass = 0; pass < 2 && !by_source; pass++) {
        for (size_t i = 0; i < r->n_legs; i++) {
            const struct twin_leg *leg = &r->legs[i];
            struct in6_addr own;
            bool own_source = (!t->ipv6 && ipv6_addr_is_set(&q->src)
                               && select_ipv4(t, leg->device, &leg->gateway,
                                              r->head->scope, &own)
                               && ipv6_addr_equals(&own, &q->src));

            answer->possible[i] = (leg_lives(t, r, leg)
                                   && (pass == 1 || own_source));
            by_source |= answer->possible[i];
            answer->has_src[i] = leg_source(t, r, leg, q, &answer->src[i]);
        }
    }
}

void
twin_lookup(const struct twin *t, const struct route_query *q,
            struct twin_answer *answer)
{
    const struct route_rule *order[TWIN_MAX_RULES];
    uint32_t floor = 0;

    memset(answer, 0, sizeof *answer);
    if (ipv6_addr_is_set(&q->src) && !is_local(t, &q->src)) {
        answer->verdict = ROUTE_NOT_LOCAL;
        return;
    }

    /* Insertion sort: priority, then owner, then age. */
    for (size_t i = 0; i < t->n_rules; i++) {
        size_t j = i;

        while (j && (order[j - 1]->priority > t->rules[i].priority
                     || (order[j - 1]->priority == t->rules[i].priority
                         && order[j - 1]->owner < t->rules[i].owner))) {
            order[j] = order[j - 1];
            j--;
        }
        order[j] = &t->rules[i];
    }

    for (size_t i = 0; i < t->n_rules; i++) {
        const struct route_rule *rule = order[i];

        if (rule->priority < floor || !rule_selects(t, rule, q)) {
            continue;
        }
        switch (rule->action) {
        case ROUTE_RULE_GOTO:
            for (size_t j = 0; j < t->n_rules; j++) {
                if (rule->target > rule->priority
                    && order[j]->priority == rule->target) {
                    floor = rule->target;
                }
            }
            continue;
        case ROUTE_RULE_NOP:
            continue;
        case ROUTE_RULE_BLACKHOLE_ACTION:
            answer->verdict = ROUTE_RULE_BLACKHOLE;
            return;
        case ROUTE_RULE_UNREACHABLE_ACTION:
            answer->verdict = ROUTE_RULE_UNREACHABLE;
            return;
        case ROUTE_RULE_PROHIBIT_ACTION:
            answer->verdict = ROUTE_RULE_PROHIBIT;
            return;
        }

        const struct twin_route *r = table_lookup(t, rule->table, q);

        if (!r || r->head->type == ROUTE_THROW) {
            continue;
        }
        if (r->head->type >= ROUTE_BLACKHOLE) {
            answer->table = rule->table;
            answer->verdict = (r->head->type == ROUTE_BLACKHOLE
                               ? ROUTE_VIA_BLACKHOLE
                               : r->head->type == ROUTE_UNREACHABLE
                               ? ROUTE_VIA_UNREACHABLE : ROUTE_VIA_PROHIBIT);
            return;
        }
        if (r->head->dst_plen - (t->ipv6 ? 0 : 96) <= rule->suppress_plen) {
            continue;
        }
        if (rule->suppress_group >= 0
            && (t->devices[r->legs[0].device].link.group
                == (uint32_t) rule->suppress_group)) {
            continue;
        }
        answer->table = rule->table;
        answer->route = r;
        find_legs(t, q, answer);
        return;
    }
    answer->verdict = ROUTE_NO_ROUTE;
}
