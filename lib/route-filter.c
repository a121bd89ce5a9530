/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "route-filter.h"

#include "util.h"

/* A new filter has from MEMBERS_PER_WORD / 2 to MEMBERS_PER_WORD members a
 * word: about one question in 200 gets a wrong "may have". */
enum {
    MEMBERS_PER_WORD = 4,
    MIN_WORDS = 16,
    MAX_WORDS = 1 << 20,        /* The index must not reach the upper bits of
                                 * the hash. */
};

static size_t
words_for(size_t n)
{
    size_t n_words = MIN_WORDS;

    while (n_words < MAX_WORDS && n_words * MEMBERS_PER_WORD < n) {
        n_words *= 2;
    }
    return n_words;
}

struct route_filter *
route_filter_create(size_t n)
{
    size_t n_words = words_for(n);
    struct route_filter *filter
        = xmalloc(sizeof *filter + n_words * sizeof filter->words[0]);

    filter->mask = n_words - 1;
    filter->counts = xzalloc(n_words * 64);
    for (size_t i = 0; i < n_words; i++) {
        atomic_init(&filter->words[i], 0);
    }
    return filter;
}

void
route_filter_destroy(struct route_filter *filter)
{
    if (filter) {
        free(filter->counts);
        free(filter);
    }
}

bool
route_filter_fits(const struct route_filter *filter, size_t n)
{
    size_t n_words = (size_t) filter->mask + 1;
    size_t best = words_for(n);

    return best <= n_words && n_words / 8 <= best;
}

static void
adjust(struct route_filter *filter, uint32_t index, unsigned int bit,
       bool add)
{
    uint8_t *count = &filter->counts[(size_t) index * 64 + bit];
    uint64_t word;

    if (*count < UINT8_MAX) {
        *count += add ? 1 : -1;
        if (*count == (add ? 1 : 0)) {
            atomic_read_relaxed(&filter->words[index], &word);
            atomic_store_relaxed(&filter->words[index],
                                 word ^ UINT64_C(1) << bit);
        }
    }
}

void
route_filter_add(struct route_filter *filter, uint32_t hash)
{
    uint32_t index = route_filter_index(filter, hash);

    adjust(filter, index, route_filter_bit1(hash), true);
    adjust(filter, index, route_filter_bit2(hash), true);
}

void
route_filter_remove(struct route_filter *filter, uint32_t hash)
{
    uint32_t index = route_filter_index(filter, hash);

    adjust(filter, index, route_filter_bit1(hash), false);
    adjust(filter, index, route_filter_bit2(hash), false);
}
