/* SPDX-License-Identifier: Apache-2.0 */

/* Checks policy rules: each selector by itself, then random lists of rules
 * against a naive twin that asks one rule after the other.
 *
 *     ovstest test-route-rule cases
 *     ovstest test-route-rule random [SEED [WALKS]]
 */

#include <config.h>

#include "route-rule.h"

#include <stdlib.h>
#include <string.h>

#include "ovstest.h"
#include "packets.h"
#include "random.h"
#include "route-test.h"
#include "util.h"

static struct in6_addr
parse(const char *s)
{
    return route_test_parse(s, NULL);
}

/* Cases. */

static struct route_rule rule;  /* The rule that a case is about. */
static struct route_rule_query query;

static void
fresh(bool ipv6)
{
    route_rule_init(&rule, ipv6, 100, 101, ROUTE_KERNEL);
    query = (struct route_rule_query) {
        .src = parse(ipv6 ? "2001:db8::1" : "192.0.2.1"),
        .dst = parse(ipv6 ? "2001:db8:9::1" : "203.0.113.1"),
        .ipproto = 17,
        .dport = htons(6081),
    };
}

/* Asks 'rule', and the same rule with "not". */
static void
check(const char *where, bool match)
{
    for (int invert = 0; invert < 2; invert++) {
        rule.invert = invert;
        if (route_rule_match(&rule, &query) != (match != invert)) {
            route_test_fail("%s: %s%s", where, invert ? "not " : "",
                            match ? "does not match" : "matches");
        }
    }
    rule.invert = false;
}

#define CHECK(MATCH) check(OVS_SOURCE_LOCATOR, MATCH)

static void
case_prefixes(void)
{
    fresh(false);
    CHECK(true);
    rule.from = parse("192.0.2.0");
    rule.from_plen = 96 + 31;
    CHECK(true);
    query.src = parse("192.0.2.2");
    CHECK(false);
    query.src = in6addr_any;
    CHECK(false);
    rule.from = parse("0.0.0.0");
    rule.from_plen = 96 + 8;
    CHECK(true);                /* Unset is 0.0.0.0. */
    query.src = parse("0.0.0.0");
    CHECK(true);

    fresh(false);
    rule.to = parse("203.0.113.1");
    rule.to_plen = 128;
    CHECK(true);
    query.dst = parse("203.0.113.0");
    CHECK(false);

    fresh(true);
    CHECK(true);
    query.src = in6addr_any;
    CHECK(true);
    rule.from = parse("::");
    rule.from_plen = 1;
    CHECK(false);               /* Unset lies in no prefix. */
    query.src = parse("2001:db8::1");
    CHECK(true);
    query.src = parse("8000::1");
    CHECK(false);

    fresh(true);
    rule.to = parse("2001:db8:9::");
    rule.to_plen = 64;
    CHECK(true);
    query.dst = parse("2001:db8:9:1::");
    CHECK(false);
}

static void
case_numbers(void)
{
    fresh(false);
    rule.mark = 0x10;
    rule.mark_mask = 0xf0;
    CHECK(false);
    query.mark = 0x1f;
    CHECK(true);
    query.mark = 0x2f;
    CHECK(false);
    rule.mark = 0;
    rule.mark_mask = UINT32_MAX;
    CHECK(false);
    query.mark = 0;
    CHECK(true);

    /* The kernel compares three bits of IPv4's TOS, six of IPv6's. */
    fresh(false);
    rule.tos = 0x10;
    CHECK(false);
    query.tos = 0x10;
    CHECK(true);
    query.tos = 0xf3;
    CHECK(true);
    query.tos = 0x14;
    CHECK(false);

    fresh(true);
    rule.tos = 0x10;
    query.tos = 0x13;
    CHECK(true);
    query.tos = 0xf0;
    CHECK(false);

    fresh(false);
    rule.dscp = 46 << 2;
    rule.dscp_mask = 0xfc;
    CHECK(false);
    query.tos = 46 << 2 | 3;
    CHECK(true);
    query.tos = 14 << 2;
    CHECK(false);
    rule.dscp_mask = 0x0c << 2;
    rule.dscp = 0x0c << 2;
    CHECK(true);
    rule.dscp = 0;
    CHECK(false);
    query.tos = 3;
    CHECK(true);

    fresh(false);
    rule.ipproto = 17;
    CHECK(true);
    rule.ipproto = 6;
    CHECK(false);

    fresh(false);
    rule.dport_min = 6081;
    rule.dport_max = 6081;
    CHECK(true);
    rule.dport_max = 6080;
    CHECK(false);
    rule.dport_min = 1;
    CHECK(false);
    rule.dport_max = 65535;
    CHECK(true);
    rule.dport_min = rule.dport_max = 6081 & 0xff00;
    rule.dport_mask = 0xff00;
    CHECK(true);
    query.dport = htons(6081 ^ 0x100);
    CHECK(false);

    fresh(false);
    rule.sport_min = 1;
    rule.sport_max = 65535;
    CHECK(false);               /* The source port is not known. */
    query.sport = htons(1);
    CHECK(true);
}

static void
case_sender(void)
{
    fresh(false);
    strcpy(rule.iif, "lo");
    CHECK(true);
    strcpy(rule.iif, "eth0");
    CHECK(false);
    strcpy(rule.iif, "lo0");
    CHECK(false);

    fresh(false);
    strcpy(rule.oif, "lo");
    CHECK(false);

    fresh(false);
    rule.uid_max = 0;
    CHECK(true);
    rule.uid_max = 1000;
    CHECK(true);
    rule.uid_min = 1;
    CHECK(false);

    fresh(false);
    rule.l3mdev = true;
    CHECK(false);

    fresh(false);
    rule.tun_id = UINT64_C(1) << 40;
    CHECK(false);

    fresh(true);
    rule.flow_label = 0x1;
    rule.flow_label_mask = 0xfffff;
    CHECK(false);
    rule.flow_label = 0;
    CHECK(true);

    /* A selector that is not known cannot be inverted. */
    fresh(false);
    rule.unknown_selector = true;
    rule.invert = true;
    if (route_rule_match(&rule, &query)) {
        route_test_fail("unknown selector matches");
    }
    rule.invert = false;
    if (route_rule_match(&rule, &query)) {
        route_test_fail("unknown selector matches");
    }
}

#define CHECK_FIELD(EQUAL, FIELD, VALUE)                    \
    do {                                                    \
        struct route_rule b = rule;                         \
        b.FIELD = VALUE;                                    \
        if (route_rule_equal(&rule, &b) != (EQUAL)) {       \
            route_test_fail("equality is wrong about %s", #FIELD);     \
        }                                                   \
    } while (0)

static void
case_equal(void)
{
    fresh(false);
    CHECK_FIELD(true, priority, 100);
    CHECK_FIELD(true, epoch, 7);
    CHECK_FIELD(true, target, 7);
    CHECK_FIELD(true, from.s6_addr[15], 7);
    CHECK_FIELD(false, priority, 7);
    CHECK_FIELD(false, ipv6, true);
    CHECK_FIELD(false, invert, true);
    CHECK_FIELD(false, owner, ROUTE_USER);
    CHECK_FIELD(false, from_plen, 97);
    CHECK_FIELD(false, to_plen, 97);
    CHECK_FIELD(false, from.s6_addr[10], 7);
    CHECK_FIELD(false, to.s6_addr[10], 7);
    CHECK_FIELD(false, mark, 7);
    CHECK_FIELD(false, mark_mask, 7);
    CHECK_FIELD(false, tos, 7);
    CHECK_FIELD(false, dscp, 7);
    CHECK_FIELD(false, dscp_mask, 7);
    CHECK_FIELD(false, ipproto, 7);
    CHECK_FIELD(false, sport_min, 7);
    CHECK_FIELD(false, sport_max, 7);
    CHECK_FIELD(false, sport_mask, 7);
    CHECK_FIELD(false, dport_min, 7);
    CHECK_FIELD(false, dport_max, 7);
    CHECK_FIELD(false, dport_mask, 7);
    CHECK_FIELD(false, uid_min, 7);
    CHECK_FIELD(false, uid_max, 7);
    CHECK_FIELD(false, iif[0], 'x');
    CHECK_FIELD(false, oif[0], 'x');
    CHECK_FIELD(false, l3mdev, true);
    CHECK_FIELD(false, tun_id, 7);
    CHECK_FIELD(false, flow_label, 7);
    CHECK_FIELD(false, flow_label_mask, 7);
    CHECK_FIELD(false, unknown_selector, true);
    CHECK_FIELD(false, action, ROUTE_RULE_NOP);
    CHECK_FIELD(false, table, 7);
    CHECK_FIELD(false, suppress_plen, 7);
    CHECK_FIELD(false, suppress_group, 7);
    rule.action = ROUTE_RULE_GOTO;
    CHECK_FIELD(true, table, 7);
    CHECK_FIELD(false, target, 7);
}

#define CHECK_CAVEAT(WORD)                                              \
    do {                                                                \
        const char *caveat = route_rule_caveat(&rule);                  \
        if (!caveat || !strstr(caveat, WORD)) {                         \
            route_test_fail("caveat \"%s\" lacks \"%s\"",               \
                            caveat ? caveat : "", WORD);                \
        }                                                               \
        fresh(false);                                                   \
    } while (0)

static void
case_caveats(void)
{
    fresh(false);
    strcpy(rule.iif, "lo");
    rule.mark_mask = rule.dport_max = rule.tos = rule.invert = 1;
    if (route_rule_caveat(&rule)) {
        route_test_fail("caveat without a cause");
    }
    fresh(false);
    rule.unknown_selector = true;
    CHECK_CAVEAT("never matches");
    strcpy(rule.oif, "eth0");
    CHECK_CAVEAT("oif");
    strcpy(rule.iif, "eth0");
    CHECK_CAVEAT("iif");
    rule.l3mdev = true;
    CHECK_CAVEAT("l3mdev");
    rule.tun_id = 1;
    CHECK_CAVEAT("tun_id");
    rule.sport_min = rule.sport_max = 1;
    CHECK_CAVEAT("sport");
}

/* Random lists. */

static struct in6_addr pool[12];

static struct in6_addr
pool_address(void)
{
    return pool[random_range(ARRAY_SIZE(pool))];
}

static void
random_prefix(bool ipv6, struct in6_addr *addr, uint8_t *plen)
{
    struct in6_addr whole = pool_address();

    *plen = ipv6 ? random_range(129) : 96 + random_range(33);
    if (random_range(2)) {
        *plen = 128;
    }
    *addr = route_test_cut(&whole, *plen);
}

static void
random_rule(bool ipv6, size_t n, struct route_rule *r)
{
    uint32_t span = 1 + n / (1 + random_range(4)); /* Of priorities. */

    route_rule_init(r, ipv6, random_range(span), 1 + random_range(8),
                    random_range(4) ? ROUTE_KERNEL : random_range(3));
    r->invert = !random_range(8);
    if (random_range(4)) {
        random_prefix(ipv6, &r->from, &r->from_plen);
    }
    switch (random_range(24)) {
    case 0: random_prefix(ipv6, &r->to, &r->to_plen); break;
    case 1: r->mark = random_range(4);
            r->mark_mask = random_range(4); break;
    case 2: r->tos = 4 << random_range(4); break;
    case 3: r->dscp_mask = 0xfc & random_uint32();
            r->dscp = 0xfc & random_uint32(); break;
    case 4: r->ipproto = random_range(2) ? 17 : 6; break;
    case 5: r->dport_min = 1 + random_range(4);
            r->dport_max = 1 + random_range(4); break;
    case 6: r->dport_min = r->dport_max = 1 + random_range(4);
            r->dport_mask = random_range(4); break;
    case 7: r->sport_min = r->sport_max = random_range(4);
            r->sport_mask = random_range(4); break;
    case 8: strcpy(r->iif, random_range(2) ? "lo" : "eth0"); break;
    case 9: strcpy(r->oif, "eth0"); break;
    case 10: r->uid_min = random_range(2); break;
    case 11: r->l3mdev = true; break;
    case 12: r->tun_id = random_range(2); break;
    case 13: r->flow_label = random_range(4);
             r->flow_label_mask = random_range(4); break;
    case 14: r->unknown_selector = true; break;
    }
    switch (random_range(8)) {
    case 0: r->action = ROUTE_RULE_GOTO;
            r->target = random_range(span + 2); break;
    case 1: r->action = ROUTE_RULE_NOP; break;
    case 2: r->action = ROUTE_RULE_UNREACHABLE_ACTION; break;
    }
}

static void
random_query(bool ipv6, struct route_rule_query *q)
{
    *q = (struct route_rule_query) {
        .src = pool_address(),
        .dst = pool_address(),
        .mark = random_range(4),
        .tos = random_uint32(),
        .ipproto = random_range(2) ? 17 : 6,
        .sport = htons(random_range(6)),
        .dport = htons(random_range(6)),
    };
    if (random_range(2)) {
        q->src.s6_addr[15] ^= random_range(4);
    }
    if (!random_range(8)) {
        q->src = ipv6 || random_range(2) ? in6addr_any : parse("0.0.0.0");
    }
}

/* Each table is the address of its number in here. */
static char tables[9];

static struct route_fib *
fib_of(const struct route_rule *r, void *aux)
{
    return ALIGNED_CAST(struct route_fib *, (char *) aux + r->table);
}

static void
check_list(const struct route_rules *rules, const struct route_rule *sorted,
           size_t n)
{
    if (route_rules_count(rules) != n) {
        route_test_fail("%"PRIuSIZE" rules instead of %"PRIuSIZE,
                        route_rules_count(rules), n);
    }
    for (size_t i = 0; i < n; i++) {
        const struct route_rule *r = route_rules_at(rules, i);

        if (r->epoch != sorted[i].epoch || !route_rule_equal(r, &sorted[i])) {
            route_test_fail("rule %"PRIuSIZE" of %"PRIuSIZE" is another",
                            i, n);
        }
        if (route_rules_fib(rules, i)
            != (r->action == ROUTE_RULE_LOOKUP ? fib_of(r, tables) : NULL)) {
            route_test_fail("rule %"PRIuSIZE" of %"PRIuSIZE" has another "
                            "table", i, n);
        }
    }
}

static void
check_walk(const struct route_rules *rules, const struct route_rule *sorted,
           size_t n, const struct route_rule_query *q)
{
    struct route_rules_cursor cursor;
    size_t want = 0;
    size_t index;

    memset(&cursor, 0xcc, sizeof cursor);
    route_rules_walk(rules, q, &cursor);
    while (route_rules_next(&cursor, &index)) {
        want = route_twin_next_rule(sorted, n, want, q);
        if (index != want) {
            route_test_fail("walk over %"PRIuSIZE" rules is at %"PRIuSIZE
                            " instead of %"PRIuSIZE, n, index, want);
        }
        want++;
    }
    want = route_twin_next_rule(sorted, n, want, q);
    if (want != n) {
        route_test_fail("walk over %"PRIuSIZE" rules ends before %"PRIuSIZE,
                        n, want);
    }
}

static void
random_list(bool ipv6, size_t n)
{
    struct route_rule *array = xcalloc(MAX(1, n), sizeof *array);
    struct route_rules *rules;

    for (size_t i = 0; i < ARRAY_SIZE(pool); i++) {
        random_bytes(&pool[i], sizeof pool[i]);
        if (!ipv6) {
            in6_addr_set_mapped_ipv4(&pool[i], htonl(random_uint32()));
        }
        if (i % 3) {
            memcpy(&pool[i], &pool[i - 1], 15);
        }
    }
    for (size_t i = 0; i < n; i++) {
        random_rule(ipv6, n, &array[i]);
        array[i].epoch = i;
    }

    rules = route_rules_create(array, n, fib_of, tables);
    route_twin_sort_rules(array, n);
    check_list(rules, array, n);
    for (size_t i = 0; i < 200; i++) {
        struct route_rule_query q;

        random_query(ipv6, &q);
        for (size_t j = 0; j < n && j < 16; j++) {
            const struct route_rule *r = &array[random_range(n)];

            if (route_rule_match(r, &q) != route_twin_match(r, &q)) {
                route_test_fail("match differs from the twin's");
            }
        }
        check_walk(rules, array, n, &q);
    }
    route_rules_destroy(rules);
    free(array);
}

static void
test_route_rule_main(int argc, char *argv[])
{
    const char *what = argc > 1 ? argv[1] : "";

    if (!strcmp(what, "cases")) {
        case_prefixes();
        case_numbers();
        case_sender();
        case_equal();
        case_caveats();
    } else if (!strcmp(what, "random")) {
        size_t n = argc > 3 ? strtoul(argv[3], NULL, 0) : 100000;

        route_test_seed(argc > 2 ? argv[2] : NULL);
        for (size_t i = 0; i < n; i += 200) {
            size_t n_rules = 1u << random_range(10);

            random_list(random_range(2), random_range(n_rules + 1));
        }
        random_list(false, 0);
        random_list(true, 512);
    } else {
        route_test_fail("%s: not one of cases, random", what);
    }
}

OVSTEST_REGISTER("test-route-rule", test_route_rule_main);
