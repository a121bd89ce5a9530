/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_RULE_APPLY_H
#define NIC_RULE_APPLY_H 1

struct nic_rule;
struct packet;

/* A naive NIC: does to 'p' what 'rule' says, in the order in which it says it,
 * but for checksums. */
void nic_twin_apply(const struct nic_rule *rule, struct packet *p);

#endif /* nic-rule-apply.h */
