/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_ESWITCH_H
#define NIC_ESWITCH_H 1

/* What the ports of one eSwitch share
 * ===================================
 *
 * The mlx5 driver keeps, for each NIC, the headers that rules put before
 * packets (an "encap context" for each distinct sequence of bytes) and the one
 * Geneve option that it can match; both last while a rule uses them.  Here is
 * the account of them, and of what the NIC has done.
 *
 * An eSwitch, once met, stays until the process ends.  All functions are
 * thread-safe; they take the eSwitch's mutex and call nothing. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nic-rule.h"
#include "openvswitch/hmap.h"
#include "openvswitch/thread.h"

struct nic_context;

/* Packets and bytes without tunnel headers. */
struct nic_traffic {
    uint64_t packets, bytes;
};

/* Room for more of something. */
struct nic_room {
    bool full;                  /* The NIC said so, and nothing went since: */
    long long int since;        /* When it last said so. */
    bool accepts;               /* It took something since. */
};

struct nic_eswitch {
    /* Constant. */
    struct nic_eswitch *next;   /* The one that was met before this one. */
    unsigned int id;            /* 1 and up. */
    char *name;                 /* "mlx5_pci domain 2" */

    struct ovs_mutex mutex;
    struct hmap contexts OVS_GUARDED;   /* Contains "struct nic_context"s. */
    struct nic_option option OVS_GUARDED;       /* If 'n_option_rules'. */
    size_t n_option_rules OVS_GUARDED;
    bool option_accepted OVS_GUARDED;   /* The NIC ever took such a rule. */
    size_t n_rules OVS_GUARDED;
    struct nic_traffic encap OVS_GUARDED;       /* Done by the NIC, all */
    struct nic_traffic decap OVS_GUARDED;       /* rules that ever were. */
    uint64_t n_refused[NIC_N_REFUSALS] OVS_GUARDED;     /* Requests. */
    struct nic_room for_rules OVS_GUARDED;
    struct nic_room for_contexts OVS_GUARDED;
    size_t longest_header OVS_GUARDED;  /* That the NIC ever took, bytes. */
};

/* The eSwitch that ports of 'driver' and switch_info.domain_id 'domain' belong
 * to. */
struct nic_eswitch *nic_eswitch_get(const char *driver, uint16_t domain);

/* The one that was met last, the head of the list of all; NULL: none yet. */
struct nic_eswitch *nic_eswitch_last(void);

/* Account for 'rule', which the caller is going to ask the NIC for.  Returns
 * NIC_OFFLOADABLE and in '*context' what nic_eswitch_unuse() needs, or why
 * there is no use in asking, with nothing taken.  For 'NIC_FULL_MS' after
 * nic_eswitch_set_full() that is NIC_TABLE_FULL, or NIC_CONTEXTS_FULL for
 * headers that the NIC has not. */
enum nic_refusal nic_eswitch_use(struct nic_eswitch *, const struct nic_rule *,
                                 struct nic_context **context);

/* The opposite, for a rule that was refused, or else is 'gone' and leaves room
 * for another one.  Returns true if now another Geneve option can be
 * matched. */
bool nic_eswitch_unuse(struct nic_eswitch *, struct nic_context *,
                       bool option, bool gone);

/* The NIC took 'rule', which has 'context'. */
void nic_eswitch_accept(struct nic_eswitch *, const struct nic_rule *rule,
                        struct nic_context *context);

/* The NIC did not take 'rule', which has 'context': with 'error', a positive
 * errno value, 'of_action' or of something else.  Returns what that means, and
 * remembers it. */
enum nic_refusal nic_eswitch_judge(struct nic_eswitch *,
                                   const struct nic_rule *rule,
                                   const struct nic_context *context,
                                   int error, bool of_action);

/* Gives the header of 'rule', with NIC_ACTION_ENCAP, another UDP source port,
 * such that the NIC has it already; or returns false, with 'rule' as it
 * was. */
bool nic_eswitch_share_header(struct nic_eswitch *, struct nic_rule *rule);

/* True if the NIC ever took a rule that matches an option: firmware can. */
bool nic_eswitch_knows_options(struct nic_eswitch *);

/* How often there was room again on any eSwitch that had none. */
uint64_t nic_eswitch_rooms(void);

/* The NIC said 'why': NIC_TABLE_FULL or NIC_CONTEXTS_FULL.  Was that the last
 * that was heard of such room, and not long ago?  (A flow that waits for room
 * asks more often than that.) */
#define NIC_FULL_MS 1000
#define NIC_FULL_KNOWN_MS 60000
void nic_eswitch_set_full(struct nic_eswitch *, enum nic_refusal why);
bool nic_eswitch_is_full(struct nic_eswitch *, enum nic_refusal why);

void nic_eswitch_count_refusal(struct nic_eswitch *, enum nic_refusal);
void nic_eswitch_count_traffic(struct nic_eswitch *, bool decap,
                               uint64_t packets, uint64_t bytes);

#endif /* nic-eswitch.h */
