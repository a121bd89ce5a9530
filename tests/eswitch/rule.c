/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#include <config.h>

#include "model.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* Where rules live: group, then matcher (one mask and priority), then hash of
 * what is left of the key.  Group 0 of the program is no root table, so all
 * groups are alike. */

static uint64_t
key_word(const struct key *key, unsigned i)
{
    uint64_t word;

    memcpy(&word, (const char *) key + 8 * i, sizeof word);
    return word;
}

static uint64_t
matcher_hash(const struct matcher *matcher, const struct key *key)
{
    uint64_t hash = 1;

    for (unsigned i = 0; i < matcher->n_words; i++) {
        unsigned word = matcher->words[i];

        hash = table_mix(hash, key_word(key, word)
                               & key_word(&matcher->mask, word));
    }
    return hash;
}

static struct rule *
matcher_find(const struct matcher *matcher, const struct key *key)
{
    uint64_t hash = matcher_hash(matcher, key);
    struct table_node *node;

    for (node = table_first(&matcher->rules, hash); node;
         node = table_next(node)) {
        struct rule *rule = TABLE_OBJECT(node, struct rule, by_key);
        unsigned i;

        for (i = 0; i < matcher->n_words; i++) {
            unsigned word = matcher->words[i];

            if ((key_word(key, word) ^ key_word(&rule->key, word))
                & key_word(&matcher->mask, word)) {
                break;
            }
        }
        if (i == matcher->n_words) {
            return rule;
        }
    }
    return NULL;
}

static struct group *
group_find(const struct eswitch *eswitch, bool transfer, uint32_t number)
{
    uint64_t hash = table_mix(transfer, number);
    struct table_node *node;

    for (node = table_first(&eswitch->groups, hash); node;
         node = table_next(node)) {
        struct group *group = TABLE_OBJECT(node, struct group, node);

        if (group->number == number && group->transfer == transfer) {
            return group;
        }
    }
    return NULL;
}

const struct rule *
eswitch_rule_match(const struct eswitch *eswitch, bool transfer,
                   uint32_t number, const struct key *key)
{
    const struct group *group = group_find(eswitch, transfer, number);
    const struct matcher *matcher;

    for (matcher = group ? group->matchers : NULL; matcher;
         matcher = matcher->next) {
        const struct rule *rule = matcher_find(matcher, key);

        if (rule) {
            return rule;
        }
    }
    return NULL;
}

static void *
allocate(size_t size)
{
    void *p = calloc(1, size);

    if (!p) {
        abort();
    }
    return p;
}

static struct matcher *
matcher_get(struct group *group, const struct draft *draft)
{
    struct matcher **p, *matcher;

    for (p = &group->matchers; *p; p = &(*p)->next) {
        matcher = *p;
        if (matcher->priority > draft->attr.priority
            || (matcher->priority == draft->attr.priority
                && matcher->sublevel > draft->sublevel)) {
            break;
        } else if (matcher->priority == draft->attr.priority
                   && matcher->sublevel == draft->sublevel
                   && !memcmp(&matcher->mask, &draft->mask,
                              sizeof matcher->mask)) {
            return matcher;
        }
    }
    matcher = allocate(sizeof *matcher);
    matcher->priority = draft->attr.priority;
    matcher->sublevel = draft->sublevel;
    matcher->mask = draft->mask;
    for (unsigned i = 0; i < KEY_WORDS; i++) {
        if (key_word(&matcher->mask, i)) {
            matcher->words[matcher->n_words++] = i;
        }
    }
    matcher->next = *p;
    *p = matcher;
    return matcher;
}

static struct group *
group_get(struct eswitch *eswitch, const struct draft *draft)
{
    bool transfer = draft->attr.transfer;
    struct group *group = group_find(eswitch, transfer, draft->attr.group);

    if (!group) {
        group = allocate(sizeof *group);
        group->number = draft->attr.group;
        group->transfer = transfer;
        table_insert(&eswitch->groups, &group->node,
                     table_mix(transfer, group->number));
    }
    return group;
}

static void
group_tidy(struct eswitch *eswitch, struct group *group,
           struct matcher *matcher)
{
    struct matcher **p;

    if (!matcher->rules.n) {
        for (p = &group->matchers; *p != matcher; p = &(*p)->next) {
            continue;
        }
        *p = matcher->next;
        table_destroy(&matcher->rules);
        free(matcher);
    }
    if (!group->matchers) {
        table_remove(&eswitch->groups, &group->node);
        free(group);
    }
}

/* One firmware object for all rules with the same bytes. */
static uint64_t
context_hash(const struct context *context)
{
    uint64_t hash = table_mix(context->kind, context->size);

    for (unsigned i = 0; i < context->size; i++) {
        hash = table_mix(hash, context->bytes[i]);
    }
    return hash;
}

static struct context *
context_find(struct eswitch *eswitch, const struct context *draft)
{
    struct table_node *node;

    for (node = table_first(&eswitch->contexts, context_hash(draft)); node;
         node = table_next(node)) {
        struct context *context = TABLE_OBJECT(node, struct context, node);

        if (context->kind == draft->kind && context->size == draft->size
            && !memcmp(context->bytes, draft->bytes, draft->size)) {
            return context;
        }
    }
    return NULL;
}

/* Says what hardware would take but send out wrong. */
static void
context_flag(const struct eswitch *eswitch, const struct context *context)
{
    const uint8_t *ip = context->bytes + 14;
    const uint8_t *end = context->bytes + context->size, *udp;
    const char *seed = NULL;

    if (context->size % 2) {
        eswitch_log(LOG_FLAG, "%s: encap of an odd number of bytes, %u",
                    eswitch->name, context->size);
    }
    while (ip < end - 4 && ((ip[-2] == 0x81 && ip[-1] == 0)
                            || (ip[-2] == 0x88 && ip[-1] == 0xa8))) {
        ip += 4;
    }
    if (ip[-2] == 8 && ip[-1] == 0) {
        udp = ip + 20;
        if (ip[2] || ip[3] || ip[10] || ip[11]) {
            seed = "IPv4 length or checksum";
        }
    } else {
        udp = ip + 40;
        if (ip[4] || ip[5]) {
            seed = "IPv6 length";
        }
    }
    if (udp + 8 <= end && (udp[4] || udp[5])) {
        seed = "UDP length";
    }
    if (udp + 8 <= end && (udp[6] || udp[7])) {
        eswitch_log(LOG_FLAG, "%s: encap with a UDP checksum, which leaves "
                    "as it is, wrong", eswitch->name);
    }
    if (seed) {
        eswitch_log(LOG_FLAG, "%s: encap with %s not 0", eswitch->name,
                    seed);
    }
}

static struct context *
context_get(struct eswitch *eswitch, const struct context *draft)
{
    struct context *context = context_find(eswitch, draft);

    if (!context) {
        context = allocate(sizeof *context);
        *context = *draft;
        context->refs = 0;
        table_insert(&eswitch->contexts, &context->node,
                     context_hash(context));
        if (context->kind != ACTION_DECAP_L3) {
            context_flag(eswitch, context);
        }
    }
    context->refs++;
    return context;
}

static bool
has_context(const struct action *action)
{
    return action->kind == ACTION_ENCAP || action->kind == ACTION_ENCAP_L3
           || action->kind == ACTION_DECAP_L3;
}

/* The order in which an eSwitch can carry actions out; 0: any. */
static int
action_rank(const struct action *action, bool pushed)
{
    switch ((enum action_kind) action->kind) {
    case ACTION_COUNT:
    case ACTION_MARK:
        return 0;
    case ACTION_DECAP:
    case ACTION_DECAP_L3:
        return 1;
    case ACTION_POP_VLAN:
        return 2;
    case ACTION_PUSH_VLAN:
    case ACTION_SET_PCP:
        return 4;
    case ACTION_SET_VID:
        return pushed ? 4 : 3;
    case ACTION_ENCAP:
    case ACTION_ENCAP_L3:
        return 5;
    case ACTION_JUMP:
    case ACTION_PORT:
    case ACTION_DROP:
    case ACTION_INGRESS_FATE:
        return 6;
    default:
        return 3;
    }
}

/* Returns the errno with which the steering hardware refuses the list. */
static int
hardware_refuses(const struct draft *draft)
{
    const struct port *source = draft->source ? draft->source : draft->port;
    bool rewritten = false, pushed = false;
    int last = 0;

    if (!draft->attr.transfer) {
        return 0;
    }
    for (unsigned i = 0; i < draft->n_actions; i++) {
        int rank = action_rank(&draft->actions[i], pushed);

        pushed |= draft->actions[i].kind == ACTION_PUSH_VLAN;
        if (rank == 1 && !source->uplink) {
            return ENOTSUP;
        } else if (rank == 5 && source->uplink
                   && source->eswitch->device == CX5) {
            return EINVAL;
        } else if (rank == 3 && rewritten) {
            continue;           /* All stand where the first one is. */
        } else if (rank && rank < last) {
            return ENOTSUP;
        }
        rewritten |= rank == 3;
        last = rank ? rank : last;
    }
    return 0;
}

static int
unspecified(struct rte_flow_error *error, int code, const char *why)
{
    return eswitch_refuse(error, code, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
                          why);
}

/* What happens behind validation, without changing anything yet. */
static int
refuse(struct draft *draft, struct rte_flow_error *error)
{
    struct eswitch *eswitch = draft->port->eswitch;
    const struct group *group;
    int code;

    if (draft->option && draft->option_no_mask) {
        eswitch_die("rule on %s: GENEVE_OPT whose mask has no data: the real "
                    "driver crashes", draft->port->name);
    } else if (draft->encap.size && draft->encap_no_ip) {
        return eswitch_refuse(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION,
                              NULL, "encap is neither IPv4 nor IPv6");
    }
    code = model.create_error;
    if (code && model.create_error_left) {
        if (model.create_error_left > 0) {
            model.create_error_left--;
        }
        return unspecified(error, code, "injected fault");
    }
    if (draft->encap.size && eswitch->contexts.n >= eswitch->max_contexts
        && !context_find(eswitch, &draft->encap)) {
        return eswitch_refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION,
                              NULL, "no encap context is free");
    } else if (draft->icmp_fields && eswitch->profile != 2) {
        return unspecified(error, ENOMEM, "no matcher for ICMP");
    } else if (draft->option && eswitch->option == SUPPORT_LATE) {
        return unspecified(error, ENOMEM, "no matcher for Geneve options");
    }
    group = group_find(eswitch, draft->attr.transfer, draft->attr.group);
    if (group && !eswitch->duplicates) {
        const struct matcher *m;

        for (m = group->matchers; m; m = m->next) {
            if (m->priority == draft->attr.priority
                && m->sublevel == draft->sublevel
                && !memcmp(&m->mask, &draft->mask, sizeof m->mask)
                && matcher_find(m, &draft->key)) {
                return unspecified(error, EEXIST, "pattern exists");
            }
        }
    }
    code = hardware_refuses(draft);
    if (code) {
        return unspecified(error, code, "hardware refuses");
    } else if (eswitch->n_rules >= eswitch->max_rules) {
        return unspecified(error, ENOMEM, "table is full");
    }
    return 0;
}

int
eswitch_rule_insert(struct draft *draft, uintptr_t *handle,
                    struct rte_flow_error *error)
{
    static _Atomic uintptr_t next_handle = 0x1000;
    struct eswitch *eswitch = draft->port->eswitch;
    size_t size = draft->n_actions * sizeof draft->actions[0];
    int retval = refuse(draft, error);
    struct rule *rule;

    if (retval) {
        return retval;
    }
    rule = allocate(sizeof *rule + size);
    memcpy(rule->actions, draft->actions, size);
    rule->n_actions = draft->n_actions;
    rule->port = draft->port;
    rule->key = draft->key;
    rule->age = eswitch->next_age++;
    rule->handle = next_handle += 16;
    rule->option = draft->option;
    for (unsigned i = 0; i < rule->n_actions; i++) {
        rule->counted |= rule->actions[i].kind == ACTION_COUNT;
        if (has_context(&rule->actions[i])) {
            rule->actions[i].context = context_get(eswitch, &draft->encap);
        }
    }
    if (rule->option && !eswitch->option_users++) {
        eswitch->tuple_class = draft->option_class;
        eswitch->tuple_type = draft->option_type;
        eswitch->tuple_len = draft->option_len;
    }
    rule->group = group_get(eswitch, draft);
    rule->matcher = matcher_get(rule->group, draft);
    table_insert(&rule->matcher->rules, &rule->by_key,
                 matcher_hash(rule->matcher, &rule->key));
    table_insert(&eswitch->handles, &rule->by_handle,
                 table_mix(0, rule->handle));
    rule->port->n_rules++;
    eswitch->n_rules++;
    model.rule_bytes += malloc_usable_size(rule);
    *handle = rule->handle;
    return 0;
}

struct rule *
eswitch_rule_find(const struct eswitch *eswitch, uintptr_t handle)
{
    struct table_node *node;

    for (node = table_first(&eswitch->handles, table_mix(0, handle)); node;
         node = table_next(node)) {
        struct rule *rule = TABLE_OBJECT(node, struct rule, by_handle);

        if (rule->handle == handle) {
            return rule;
        }
    }
    return NULL;
}

void
eswitch_rule_remove(struct rule *rule)
{
    struct eswitch *eswitch = rule->port->eswitch;

    for (unsigned i = 0; i < rule->n_actions; i++) {
        if (has_context(&rule->actions[i])) {
            struct context *context = rule->actions[i].context;

            if (!--context->refs) {
                table_remove(&eswitch->contexts, &context->node);
                free(context);
            }
        }
    }
    eswitch->option_users -= rule->option;
    table_remove(&rule->matcher->rules, &rule->by_key);
    table_remove(&eswitch->handles, &rule->by_handle);
    group_tidy(eswitch, rule->group, rule->matcher);
    rule->port->n_rules--;
    eswitch->n_rules--;
    model.rule_bytes -= malloc_usable_size(rule);
    free(rule);
}

size_t
eswitch_port_flush(struct port *port, const char *why)
{
    struct eswitch *eswitch = port->eswitch;
    struct table_node *node, *next;
    size_t n = 0;

    pthread_rwlock_wrlock(&eswitch->lock);
    for (node = table_walk(&eswitch->handles, NULL); node; node = next) {
        struct rule *rule = TABLE_OBJECT(node, struct rule, by_handle);

        next = table_walk(&eswitch->handles, node);
        if (rule->port == port) {
            struct stale *stale = allocate(sizeof *stale);

            stale->handle = rule->handle;
            stale->why = why;
            table_insert(&eswitch->stale, &stale->node,
                         table_mix(0, stale->handle));
            eswitch_rule_remove(rule);
            n++;
        }
    }
    pthread_rwlock_unlock(&eswitch->lock);
    model.n_flushed += n;
    if (n) {
        eswitch_log(LOG_INFO, "%s: %zu rules of %s are gone", why, n,
                    port->name);
    }
    return n;
}

void
eswitch_counters_refresh(void)
{
    for (unsigned i = 0; i < model.n_eswitches; i++) {
        struct eswitch *eswitch = &model.eswitches[i];
        struct table_node *node = NULL;

        pthread_rwlock_rdlock(&eswitch->lock);
        while ((node = table_walk(&eswitch->handles, node))) {
            struct rule *rule = TABLE_OBJECT(node, struct rule, by_handle);

            rule->shown.packets = rule->now.packets;
            rule->shown.bytes = rule->now.bytes;
        }
        pthread_rwlock_unlock(&eswitch->lock);
    }
}
