/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-eswitch.h"

#include <errno.h>
#include <string.h>

#include "hash.h"
#include "nic-rule-flow.h"
#include "ovs-thread.h"
#include "timeval.h"
#include "util.h"

/* Header bytes that rules of an eSwitch put before packets. */
struct nic_context {
    struct hmap_node node;
    size_t n_rules;
    bool accepted;              /* By the NIC. */
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

static uint32_t
hash_header(const struct nic_rule *rule)
{
    return hash_bytes(rule->header, rule->header_len, 0);
}

static struct nic_context *
find_context(const struct nic_eswitch *eswitch, const struct nic_rule *rule)
    OVS_REQUIRES(eswitch->mutex)
{
    struct nic_context *context;

    HMAP_FOR_EACH_WITH_HASH (context, node, hash_header(rule),
                             &eswitch->contexts) {
        if (context->len == rule->header_len
            && !memcmp(context->header, rule->header, context->len)) {
            return context;
        }
    }
    return NULL;
}

static struct nic_context *
use_context(struct nic_eswitch *eswitch, const struct nic_rule *rule)
    OVS_REQUIRES(eswitch->mutex)
{
    struct nic_context *context = find_context(eswitch, rule);

    if (!context) {
        context = xzalloc(sizeof *context);
        context->len = rule->header_len;
        memcpy(context->header, rule->header, context->len);
        hmap_insert(&eswitch->contexts, &context->node, hash_header(rule));
    }
    context->n_rules++;
    return context;
}

static bool
same_tuple(const struct nic_option *a, const struct nic_option *b)
{
    return (a->class == b->class && a->type == b->type
            && a->length == b->length);
}

/* Room. */

static struct nic_room *
room(struct nic_eswitch *eswitch, enum nic_refusal why)
    OVS_REQUIRES(eswitch->mutex)
{
    return (why == NIC_CONTEXTS_FULL ? &eswitch->for_contexts
            : &eswitch->for_rules);
}

static bool
was_full_within(const struct nic_room *room, int ms)
{
    return room->full && time_msec() < room->since + ms;
}

/* Something went. */
static void
make_room(struct nic_room *room)
{
    uint64_t orig;

    if (room->full) {
        room->full = false;
        atomic_add(&rooms, 1, &orig);
    }
}

/* Rules. */

enum nic_refusal
nic_eswitch_use(struct nic_eswitch *eswitch, const struct nic_rule *rule,
                struct nic_context **context)
{
    const struct nic_option *option = &rule->match.option;
    bool encap = nic_rule_find(rule, NIC_ACTION_ENCAP) != NULL;
    enum nic_refusal refusal = NIC_OFFLOADABLE;

    *context = NULL;
    ovs_mutex_lock(&eswitch->mutex);
    if (was_full_within(&eswitch->for_rules, NIC_FULL_MS)) {
        refusal = NIC_TABLE_FULL;
    } else if (option->length && eswitch->n_option_rules
               && !same_tuple(option, &eswitch->option)) {
        refusal = NIC_SECOND_OPTION_TUPLE;
    } else if (encap && was_full_within(&eswitch->for_contexts, NIC_FULL_MS)
               && !find_context(eswitch, rule)) {
        refusal = NIC_CONTEXTS_FULL;
    } else {
        eswitch->n_rules++;
        if (option->length) {
            eswitch->option = *option;
            eswitch->n_option_rules++;
        }
        if (encap) {
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

    ovs_mutex_lock(&eswitch->mutex);
    eswitch->n_rules--;
    if (gone) {
        make_room(&eswitch->for_rules);
    }
    if (context && !--context->n_rules) {
        if (gone) {
            make_room(&eswitch->for_contexts);
        }
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
nic_eswitch_accept(struct nic_eswitch *eswitch, const struct nic_rule *rule,
                   struct nic_context *context)
{
    ovs_mutex_lock(&eswitch->mutex);
    eswitch->for_rules.accepts = true;
    eswitch->option_accepted |= rule->match.option.length > 0;
    if (context && !context->accepted) {
        context->accepted = true;
        eswitch->for_contexts.accepts = true;
        eswitch->longest_header = MAX(eswitch->longest_header, context->len);
    }
    ovs_mutex_unlock(&eswitch->mutex);
}

/* True if the firmware may have no matcher for 'rule', which mlx5 tells as
 * ENOMEM: however much room there is then, this rule does not fit. */
static bool
may_lack_matcher(struct nic_eswitch *eswitch, const struct nic_rule *rule)
{
    return (nic_rule_matches_icmp_fields(rule)
            || (rule->match.option.length
                && !nic_eswitch_knows_options(eswitch)));
}

/* True if there is no room for 'context', if that is what was refused with
 * EINVAL.  mlx5 says the same if the header is too long for the firmware, of
 * which there is no word once it took one as long. */
static bool
may_lack_context(struct nic_eswitch *eswitch,
                 const struct nic_context *context)
{
    bool lacks;

    ovs_mutex_lock(&eswitch->mutex);
    lacks = (context && !context->accepted
             && context->len <= eswitch->longest_header);
    ovs_mutex_unlock(&eswitch->mutex);
    return lacks;
}

static enum nic_refusal
meaning(struct nic_eswitch *eswitch, const struct nic_rule *rule,
        const struct nic_context *context, int error, bool of_action)
{
    switch (error) {
    case ENOMEM:
    case ENOSPC:
        return (may_lack_matcher(eswitch, rule)
                ? NIC_NIC_REFUSED : NIC_TABLE_FULL);
    case EINVAL:
        return (of_action && may_lack_context(eswitch, context)
                ? NIC_CONTEXTS_FULL : NIC_NIC_REFUSED);
    case ENODEV:
        return NIC_PORT_STOPPED;
    default:
        return NIC_NIC_REFUSED;
    }
}

enum nic_refusal
nic_eswitch_judge(struct nic_eswitch *eswitch, const struct nic_rule *rule,
                  const struct nic_context *context, int error,
                  bool of_action)
{
    enum nic_refusal why = meaning(eswitch, rule, context, error, of_action);

    if (why == NIC_TABLE_FULL || why == NIC_CONTEXTS_FULL) {
        nic_eswitch_set_full(eswitch, why);
    }
    return why;
}

bool
nic_eswitch_share_header(struct nic_eswitch *eswitch, struct nic_rule *rule)
{
    struct nic_rule like = *rule;
    bool found = false;

    ovs_mutex_lock(&eswitch->mutex);
    for (unsigned int i = 0; i < NIC_SOURCE_PORTS && !found; i++) {
        const struct nic_context *context;

        nic_rule_set_source_port(&like, i);
        context = find_context(eswitch, &like);
        found = context && context->accepted;
    }
    ovs_mutex_unlock(&eswitch->mutex);
    if (found) {
        *rule = like;
    }
    return found;
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
nic_eswitch_set_full(struct nic_eswitch *eswitch, enum nic_refusal why)
{
    ovs_mutex_lock(&eswitch->mutex);
    *room(eswitch, why) = (struct nic_room) {
        .full = true, .since = time_msec(),
    };
    ovs_mutex_unlock(&eswitch->mutex);
}

bool
nic_eswitch_is_full(struct nic_eswitch *eswitch, enum nic_refusal why)
{
    bool full;

    ovs_mutex_lock(&eswitch->mutex);
    full = (was_full_within(room(eswitch, why), NIC_FULL_KNOWN_MS)
            && !room(eswitch, why)->accepts);
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
