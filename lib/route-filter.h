/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ROUTE_FILTER_H
#define ROUTE_FILTER_H 1

/* Which hashes are not in a set
 * =============================
 *
 * A lookup in a route table probes one prefix length after the other, and
 * most probes are in vain.  Each would cost two cache lines of a large hash
 * table; two bits here, in one word, tell almost all of them beforehand, and
 * all words together stay in the cache.  (A Bloom filter in blocks of one
 * word, with counters so that members can leave.)
 *
 * One thread writes, any thread asks. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ovs-atomic.h"
#include "util.h"

struct route_filter {
    uint32_t mask;              /* Number of words less one. */
    uint8_t *counts;            /* For each bit of each word, the members that
                                 * set it; the highest number stays what it
                                 * is.  Writers only. */
    atomic_uint64_t words[];
};

/* A filter for a set of 'n' members, empty at first.  The caller owns it and
 * destroys it when no reader uses it. */
struct route_filter *route_filter_create(size_t n);
void route_filter_destroy(struct route_filter *);

/* True unless 'filter' is so small that it is of little use for 'n' members,
 * or so large that it is a waste. */
bool route_filter_fits(const struct route_filter *, size_t n);

/* A member comes or goes; two may have the same hash.  Only what was added may
 * be removed. */
void route_filter_add(struct route_filter *, uint32_t hash);
void route_filter_remove(struct route_filter *, uint32_t hash);

/* The two bits of 'hash' in its word, and the index of that. */
static inline unsigned int
route_filter_bit1(uint32_t hash)
{
    return hash >> 26;
}

static inline unsigned int
route_filter_bit2(uint32_t hash)
{
    return hash >> 20 & 63;
}

static inline uint32_t
route_filter_index(const struct route_filter *filter, uint32_t hash)
{
    return hash & filter->mask;
}

/* False if no member has 'hash'; true says little.  A member that is just
 * being added may be missed. */
static inline bool
route_filter_may_have(const struct route_filter *filter_, uint32_t hash)
{
    struct route_filter *filter = CONST_CAST(struct route_filter *, filter_);
    uint64_t word;

    atomic_read_relaxed(&filter->words[route_filter_index(filter, hash)],
                        &word);
    return (word >> route_filter_bit1(hash)
            & word >> route_filter_bit2(hash) & 1);
}

#endif /* route-filter.h */
