/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_COUNT_H
#define NIC_COUNT_H 1

/* What NICs have counted for a flow, and to whom it is told
 * =========================================================
 *
 * Rules come, change and go, be they ours or the base's; a count only grows.
 * Whoever has rules of a flow refers to its count, and adds what is new.
 *
 * Each PMD thread has a copy of the flow, of which the base would tell each
 * one all.  Here a copy has a share: what nobody was told before is given to
 * whoever asks first, no share shrinks, and it stays when the rules are gone.
 *
 * Any thread.  Callers may hold any lock. */

#include <stdint.h>

#include "openvswitch/types.h"

struct dpif_flow_stats;
struct nic_count;

/* Returns the count of flow 'ufid', the same one for all who ask, with a
 * reference for the caller; takes another one; drops one, also of NULL. */
struct nic_count *nic_count_get(const ovs_u128 *ufid);
struct nic_count *nic_count_ref(struct nic_count *);
void nic_count_unref(struct nic_count *);

/* Adds packets and bytes of '*stats', and raises the time of the last packet
 * to 'used', in milliseconds of time_msec(). */
void nic_count_add(struct nic_count *, const struct dpif_flow_stats *stats);

/* Adds to '*stats' the share of 'copy'. */
void nic_count_claim(const ovs_u128 *ufid, const void *copy,
                     struct dpif_flow_stats *stats);

/* 'copy' is going to be freed, and nobody can claim for it any more. */
void nic_count_disclaim(const ovs_u128 *ufid, const void *copy);

#endif /* nic-count.h */
