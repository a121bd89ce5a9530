/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_RULE_CASES_H
#define NIC_RULE_CASES_H 1

/* Flows and the rules that a NIC of mlx5 can have for them, written by hand
 * from the guide and the driver of mlx5, not from what our program printed. */

#include <stddef.h>
#include <stdint.h>

struct nic_rule_case {
    const char *name;
    uint32_t uplink;            /* Where the outer packet came in. */
    const char *flow, *actions;
    const char *rule;           /* As nic_rule_format() writes it. */
};

extern const struct nic_rule_case nic_rule_cases[];
extern const size_t n_nic_rule_cases;

/* A header that the rule for 'nic_header_flow' with 'actions' must put before
 * packets.  "...." is the UDP source port. */
extern const char nic_header_flow[];
struct nic_header_case {
    const char *name;
    const char *actions;
    const char *bytes;
};

extern const struct nic_header_case nic_header_cases[];
extern const size_t n_nic_header_cases;

#endif /* nic-rule-cases.h */
