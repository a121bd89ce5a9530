/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-rule.h"

#include <string.h>

#include "util.h"

void
nic_rule_init(struct nic_rule *rule, odp_port_t port, enum nic_group group)
{
    /* Padding too, so that rules may be compared as bytes. */
    memset(rule, 0, sizeof *rule);
    rule->port = port;
    rule->group = group;
    nic_rule_put(rule, NIC_ACTION_COUNT);
}

bool
nic_rule_refuse(struct nic_rule *rule, enum nic_refusal why,
                const char *detail)
{
    if (rule->refusal == NIC_OFFLOADABLE) {
        memset(rule, 0, sizeof *rule);
        rule->refusal = why;
        rule->detail = detail;
    }
    return false;
}

struct nic_action *
nic_rule_put(struct nic_rule *rule, enum nic_action_type type)
{
    struct nic_action *action;
    size_t i = 0;

    while (i < rule->n_actions && rule->actions[i].type < type) {
        i++;
    }
    action = &rule->actions[i];
    if (i == rule->n_actions || action->type != type) {
        ovs_assert(rule->n_actions < NIC_ACTIONS_MAX);
        memmove(action + 1, action,
                (rule->n_actions - i) * sizeof *action);
        memset(action, 0, sizeof *action);
        action->type = type;
        rule->n_actions++;
    }
    return action;
}

const struct nic_action *
nic_rule_find(const struct nic_rule *rule, enum nic_action_type type)
{
    for (size_t i = 0; i < rule->n_actions; i++) {
        if (rule->actions[i].type == type) {
            return &rule->actions[i];
        }
    }
    return NULL;
}

bool
nic_rule_equal(const struct nic_rule *a, const struct nic_rule *b)
{
    const char *x = a->detail ? a->detail : "";
    const char *y = b->detail ? b->detail : "";

    if (a->refusal != b->refusal || strcmp(x, y)) {
        return false;
    }
    /* Of refusals all else is 0. */
    return (a->port == b->port && a->group == b->group
            && !memcmp(&a->match, &b->match, sizeof a->match)
            && a->n_actions == b->n_actions
            && !memcmp(a->actions, b->actions,
                       a->n_actions * sizeof *a->actions)
            && a->header_len == b->header_len
            && !memcmp(a->header, b->header, a->header_len));
}

uint16_t
nic_level_eth_type(const struct nic_level *level)
{
    return (level->mask.eth_type == OVS_BE16_MAX
            ? ntohs(level->value.eth_type) : 0);
}

int
nic_level_ip_proto(const struct nic_level *level)
{
    return level->mask.ip_proto ? level->value.ip_proto : -1;
}

bool
nic_rule_matches_icmp_fields(const struct nic_rule *rule)
{
    const struct nic_headers *outer = &rule->match.outer.mask;
    const struct nic_headers *inner = &rule->match.inner.mask;

    return (outer->icmp_type || outer->icmp_code
            || inner->icmp_type || inner->icmp_code);
}

const char *
nic_refusal_to_string(enum nic_refusal refusal)
{
    switch (refusal) {
    case NIC_OFFLOADABLE: return "offloadable";
    case NIC_NOT_TUNNEL: return "not-tunnel";
    case NIC_CROSS_NIC: return "cross-nic";
    case NIC_TUNNEL_TO_TUNNEL: return "tunnel-to-tunnel";
    case NIC_OPTION_VALUE_ZERO: return "option-value-zero";
    case NIC_CONNTRACK: return "conntrack";
    case NIC_NO_REPRESENTOR: return "no-representor";
    case NIC_FOREIGN_DRIVER: return "foreign-driver";
    case NIC_HEADER_TOO_LONG: return "header-too-long";
    case NIC_RECIRCULATION: return "recirculation";
    case NIC_SEVERAL_OUTPUTS: return "several-outputs";
    case NIC_UNSUPPORTED_MATCH: return "unsupported-match";
    case NIC_UNSUPPORTED_ACTION: return "unsupported-action";
    case NIC_OUTER_IN_SOFTWARE: return "outer-in-software";
    case NIC_SECOND_OPTION_TUPLE: return "second-option-tuple";
    case NIC_TABLE_FULL: return "table-full";
    case NIC_CONTEXTS_FULL: return "encap-contexts-full";
    case NIC_MTU: return "mtu";
    case NIC_PORT_STOPPED: return "port-stopped";
    case NIC_POLICED: return "policed";
    case NIC_NIC_REFUSED: return "nic-refused";
    case NIC_SWITCHED_OFF: return "switched-off";
    case NIC_N_REFUSALS: break;
    }
    OVS_NOT_REACHED();
}
