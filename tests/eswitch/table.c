/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#include <config.h>

#include "table.h"

#include <stdlib.h>

static void
append(struct table *table, struct table_node *node)
{
    struct table_node **p = &table->buckets[node->hash & table->mask];

    while (*p) {
        p = &(*p)->next;
    }
    node->next = NULL;
    *p = node;
}

static void
grow(struct table *table)
{
    struct table old = *table;

    table->mask = old.buckets ? old.mask * 2 + 1 : 7;
    table->buckets = calloc(table->mask + 1, sizeof *table->buckets);
    if (!table->buckets) {
        abort();
    }
    for (size_t i = 0; old.buckets && i <= old.mask; i++) {
        struct table_node *node, *next;

        for (node = old.buckets[i]; node; node = next) {
            next = node->next;
            append(table, node);
        }
    }
    free(old.buckets);
}

void
table_insert(struct table *table, struct table_node *node, uint64_t hash)
{
    if (!table->buckets || table->n > table->mask) {
        grow(table);
    }
    node->hash = hash;
    append(table, node);
    table->n++;
}

void
table_remove(struct table *table, struct table_node *node)
{
    struct table_node **p = &table->buckets[node->hash & table->mask];

    while (*p != node) {
        p = &(*p)->next;
    }
    *p = node->next;
    table->n--;
}

void
table_destroy(struct table *table)
{
    free(table->buckets);
    table->buckets = NULL;
    table->n = table->mask = 0;
}

struct table_node *
table_next(const struct table_node *node)
{
    struct table_node *next = node->next;

    while (next && next->hash != node->hash) {
        next = next->next;
    }
    return next;
}

struct table_node *
table_first(const struct table *table, uint64_t hash)
{
    struct table_node *node;

    if (!table->buckets) {
        return NULL;
    }
    node = table->buckets[hash & table->mask];
    return !node || node->hash == hash ? node : table_next(
        &(struct table_node) { .next = node, .hash = hash });
}

struct table_node *
table_walk(const struct table *table, struct table_node *node)
{
    size_t i = 0;

    if (node) {
        if (node->next) {
            return node->next;
        }
        i = (node->hash & table->mask) + 1;
    }
    for (; table->buckets && i <= table->mask; i++) {
        if (table->buckets[i]) {
            return table->buckets[i];
        }
    }
    return NULL;
}
