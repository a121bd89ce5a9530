/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ROUTE_TEST_H
#define ROUTE_TEST_H 1

/* What tests of routes and rules share: failing with one line, a seed that is
 * printed and taken back, and the naive twins.
 *
 * A twin does what a module promises in the plainest way, a list that is
 * searched from end to end, bit by bit, and shares no code with it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compiler.h"
#include "route.h"
#include "route-fib.h"
#include "route-rule.h"

/* Prints one line, with the seed if there is one, and exits with failure. */
void route_test_fail(const char *format, ...)
    OVS_PRINTF_FORMAT(1, 2) OVS_NO_RETURN;

/* Seeds the random numbers from 'argument' or, if it is NULL, from environment
 * variable TEST_SEED, which the test suite sets, and prints the seed.  Without
 * either, or if it is "random", the seed comes from the clock. */
void route_test_seed(const char *argument);

/* Parses "10.0.0.0/8" or "2001:db8::/32"; '*plen' is 128 if none is given,
 * and 'plen' may be NULL. */
struct in6_addr route_test_parse(const char *, uint8_t *plen);

/* 'addr' with all bits beyond 'plen' cleared. */
struct in6_addr route_test_cut(const struct in6_addr *addr, int plen);

/* One table: routes in the order of insertion, as far as that counts.  The
 * routes are those of the table under test. */
struct route_twin {
    struct route **routes;
    size_t n, allocated;
};

void route_twin_insert(struct route_twin *, struct route *, bool append);
void route_twin_remove(struct route_twin *, const struct route *);
size_t route_twin_index(const struct route_twin *, const struct route *);
struct route *route_twin_find(const struct route_twin *,
                              const struct route *key);

/* A route is usable if its 'nexthop_id' has none of the bits 'forbidden'. */
const struct route *route_twin_lookup(const struct route_twin *,
                                      const struct route_fib_query *,
                                      uint32_t forbidden);

bool route_twin_contains(const struct in6_addr *prefix, int plen,
                         const struct in6_addr *addr);
bool route_twin_same_key(const struct route *, const struct route *);

/* True if one of two routes for one prefix and mark is asked before the other,
 * whatever their order of insertion. */
bool route_twin_before(const struct route *, const struct route *);

/* Rules: an array in order, and the index of the first from 'i' on that 'q'
 * meets once goto has been followed, 'n' if there is none. */
void route_twin_sort_rules(struct route_rule *, size_t n);
bool route_twin_match(const struct route_rule *,
                      const struct route_rule_query *);
size_t route_twin_next_rule(const struct route_rule *, size_t n, size_t i,
                            const struct route_rule_query *q);

#endif /* route-test.h */
