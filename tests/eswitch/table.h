/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#ifndef ESWITCH_TABLE_H
#define ESWITCH_TABLE_H 1

/* A hash table of objects that carry their own node.  A zeroed table is
 * empty.  Not thread safe: the eSwitch's lock guards it. */

#include <stddef.h>
#include <stdint.h>

struct table_node {
    struct table_node *next;
    uint64_t hash;
};

struct table {
    struct table_node **buckets;
    size_t n, mask;
};

/* Adds 'node', at the end of those with the same 'hash'. */
void table_insert(struct table *, struct table_node *, uint64_t hash);
void table_remove(struct table *, struct table_node *);
void table_destroy(struct table *);

/* The oldest node with 'hash', and the next one; NULL if there is none. */
struct table_node *table_first(const struct table *, uint64_t hash);
struct table_node *table_next(const struct table_node *);

/* Walks over all nodes, in no order: starts and ends with NULL. */
struct table_node *table_walk(const struct table *, struct table_node *);

static inline uint64_t
table_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
    return hash ^ (hash >> 29);
}

/* The object of TYPE whose MEMBER is NODE, or NULL. */
#define TABLE_OBJECT(NODE, TYPE, MEMBER) \
    ((NODE) ? (TYPE *) (void *) ((char *) (NODE) - offsetof(TYPE, MEMBER)) \
     : (TYPE *) NULL)

#endif /* table.h */
