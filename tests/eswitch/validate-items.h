/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#ifndef ESWITCH_VALIDATE_ITEMS_H
#define ESWITCH_VALIDATE_ITEMS_H 1

/* What the files that check patterns share. */

#include "model.h"

/* Where we are in a pattern. */
struct walk {
    struct draft *draft;
    struct rte_flow_error *error;
    const struct rte_flow_item *item, *last; /* 'last': the one before. */
    const void *mask;           /* Of 'item', the default's if it has none. */
    uint16_t next_type;         /* Type of the level's L2 header, if fully
                                 * matched, else 0.  Network byte order. */
    int next_proto;             /* IP protocol likewise, else -1. */
    bool port_item, dport_given, protocol_given;
    bool contradiction;         /* One field, two values. */
};

/* Refuses the item. */
int walk_no(struct walk *, int code, const char *why);

/* 0: outer headers, 1: inner ones. */
unsigned walk_level(const struct walk *);

/* The checks that all items share: mask without spec, ranges (unless 'range'
 * leaves them to the caller), mask bits beyond those of 'allowed'.  Sets
 * 'mask' of the walk. */
int walk_acceptable(struct walk *, const void *default_mask,
                    const void *allowed, size_t size, bool range);

/* Adds a field to what the draft matches. */
void walk_match(struct walk *, void *key, void *mask, const void *spec,
                const void *spec_mask, size_t size);
void walk_match_byte(struct walk *, uint8_t *key, uint8_t *mask,
                     uint8_t value);

#define MATCH(LEVEL, FIELD, SPEC, MASK) \
    walk_match(w, &w->draft->key.level[LEVEL].FIELD, \
               &w->draft->mask.level[LEVEL].FIELD, &(SPEC), &(MASK), \
               sizeof(SPEC))
#define MATCH_BYTE(LEVEL, FIELD, VALUE) \
    walk_match_byte(w, &w->draft->key.level[LEVEL].FIELD, \
                    &w->draft->mask.level[LEVEL].FIELD, VALUE)

/* validate-tunnel-items.c */
int walk_vxlan(struct walk *);
int walk_geneve(struct walk *);
int walk_geneve_option(struct walk *);
int walk_port(struct walk *);
void walk_tunnel_inner(struct walk *);

#endif /* validate-items.h */
