/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-eswitch.h"

#include <string.h>

#include "hash.h"
#include "ovs-thread.h"
#include "timeval.h"
#include "util.h"

/* Header bytes that rules of an eSwitch put before packets. */
struct nic_context {
    struct hmap_node node;
    size_t n_rules;
    size_t len;
    uint8_t header[NIC_HEADER_MAX];
};

static struct ovs_mutex eswitches_mutex = OVS_MUTEX_INITIALIZER;
static OVSRCU_TYPE(struct nic_eswitch *) eswitches;
static atomic_uint64_t rooms;

struct nic_eswitch *
nic_eswitch_last(void)
{
    return ovsrcu_get(struct nic_eswitch *, &eswitches);
}

static struct nic_eswitch *
find(const char *name)
{
    struct nic_eswitch *eswitch = nic_eswitch_last();

    while (eswitch && strcmp(eswitch->name, name)) {
        eswitch = eswitch->next;
    }
    return eswitch;
}

struct nic_eswitch *
nic_eswitch_get(const char *driver, uint16_t domain)
{
    char *name = xasprintf("%s domain %"PRIu16, driver, domain);
    struct nic_eswitch *eswitch;

    ovs_mutex_lock(&eswitches_mutex);
    eswitch = find(name);
    if (!eswitch) {
        eswitch = xzalloc(sizeof *eswitch);
        eswitch->next = nic_eswitch_last();
        eswitch->id = eswitch->next ? eswitch->next->id + 1 : 1;
        eswitch->name = xstrdup(name);
        ovs_mutex_init(&eswitch->mutex);
        hmap_init(&eswitch->contexts);
        ovsrcu_set(&eswitches, eswitch);
    }
    ovs_mutex_unlock(&eswitches_mutex);
    free(name);
    return eswitch;
}

static struct nic_context *
use_context(struct nic_eswitch *eswitch, const struct nic_rule *rule)
    OVS_REQUIRES(eswitch->mutex)
{
    uint32_t hash = hash_bytes(rule->header, rule->header_len, 0);
    struct nic_context *context;

    HMAP_FOR_EACH_WITH_HASH (context, node, hash, &eswitch->contexts) {
        if (context->len == rule->header_len
            && !memcmp(context->header, rule->header, context->len)) {
            context->n_rules++;
            return context;
        }
    }
    context = xmalloc(sizeof *context);
    context->n_rules = 1;
    context->len = rule->header_len;
    memcpy(context->header, rule->header, context->len);
    hmap_insert(&eswitch->contexts, &context->node, hash);
    return context;
}

static bool
same_tuple(const struct nic_option *a, const struct nic_option *b)
{
    return (a->class == b->class && a->type == b->type
            && a->length == b->length);
}

enum nic_refusal
nic_eswitch_use(struct nic_eswitch *eswitch, const struct nic_rule *rule,
                struct nic_context **context)
{
    const struct nic_option *option = &rule->match.option;
    enum nic_refusal refusal = NIC_OFFLOADABLE;

    *context = NULL;
    ovs_mutex_lock(&eswitch->mutex);
    if (eswitch->full_until > time_msec()) {
        refusal = NIC_TABLE_FULL;
    } else if (option->length && eswitch->n_option_rules
               && !same_tuple(option, &eswitch->option)) {
        refusal = NIC_SECOND_OPTION_TUPLE;
    } else {
        eswitch->n_rules++;
        if (option->length) {
            eswitch->option = *option;
            eswitch->n_option_rules++;
        }
        if (nic_rule_find(rule, NIC_ACTION_ENCAP)) {
            *context = use_context(eswitch, rule);
        }
    }
    ovs_mutex_unlock(&eswitch->mutex);
    return refusal;
}

bool
nic_eswitch_unuse(struct nic_eswitch *eswitch, struct nic_context *context,
                  bool option, bool gone)
{
    bool freed = false;
    uint64_t orig;

    ovs_mutex_lock(&eswitch->mutex);
    eswitch->n_rules--;
    if (gone && eswitch->full) {
        eswitch->full = false;
        eswitch->full_until = 0;
        atomic_add(&rooms, 1, &orig);
    }
    if (context && !--context->n_rules) {
        hmap_remove(&eswitch->contexts, &context->node);
        free(context);
    }
    if (option) {
        freed = !--eswitch->n_option_rules;
    }
    ovs_mutex_unlock(&eswitch->mutex);
    return freed;
}

void
nic_eswitch_accept(struct nic_eswitch *eswitch, bool option)
{
    ovs_mutex_lock(&eswitch->mutex);
    eswitch->accepts = true;
    eswitch->option_accepted |= option;
    ovs_mutex_unlock(&eswitch->mutex);
}

bool
nic_eswitch_knows_options(struct nic_eswitch *eswitch)
{
    bool known;

    ovs_mutex_lock(&eswitch->mutex);
    known = eswitch->option_accepted;
    ovs_mutex_unlock(&eswitch->mutex);
    return known;
}

uint64_t
nic_eswitch_rooms(void)
{
    uint64_t n;

    atomic_read(&rooms, &n);
    return n;
}

void
nic_eswitch_set_full(struct nic_eswitch *eswitch)
{
    ovs_mutex_lock(&eswitch->mutex);
    eswitch->full = true;
    eswitch->accepts = false;
    eswitch->full_until = time_msec() + NIC_FULL_MS;
    ovs_mutex_unlock(&eswitch->mutex);
}

bool
nic_eswitch_is_full(struct nic_eswitch *eswitch)
{
    bool full;

    ovs_mutex_lock(&eswitch->mutex);
    full = eswitch->full && !eswitch->accepts;
    ovs_mutex_unlock(&eswitch->mutex);
    return full;
}

void
nic_eswitch_count_refusal(struct nic_eswitch *eswitch, enum nic_refusal why)
{
    ovs_mutex_lock(&eswitch->mutex);
    eswitch->n_refused[why]++;
    ovs_mutex_unlock(&eswitch->mutex);
}

void
nic_eswitch_count_traffic(struct nic_eswitch *eswitch, bool decap,
                          uint64_t packets, uint64_t bytes)
{
    struct nic_traffic *traffic = decap ? &eswitch->decap : &eswitch->encap;

    ovs_mutex_lock(&eswitch->mutex);
    traffic->packets += packets;
    traffic->bytes += bytes;
    ovs_mutex_unlock(&eswitch->mutex);
}
