/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#include <config.h>

#include "model.h"

#include <errno.h>
#include <string.h>

/* Lists of actions: what mlx5 with software steering carries out, and what it
 * says to the rest.  First failure from left to right wins, then come the
 * checks of the whole list. */

struct walk {
    struct draft *draft;
    struct rte_flow_error *error;
    const struct rte_flow_action *action;
    unsigned n_hardware, n_commands;
    bool count, fate, drop, encap, decap, rewrite, push, mark, other, rss;
};

static int
no(struct walk *w, int code, const char *why)
{
    return eswitch_refuse(w->error, code, RTE_FLOW_ERROR_TYPE_ACTION,
                          w->action, why);
}

static struct action *
add(struct walk *w, enum action_kind kind)
{
    struct action *action = &w->draft->actions[w->draft->n_actions++];

    memset(action, 0, sizeof *action);
    action->kind = kind;
    return action;
}

/* The level that rewrites see: the inner one once the tunnel is gone. */
static unsigned
seen(const struct walk *w)
{
    return w->draft->seen[w->decap && w->draft->seen[0] & SEEN_TUNNEL];
}

static int
fate(struct walk *w)
{
    if (w->fate) {
        return no(w, EINVAL, "second fate");
    }
    w->fate = true;
    w->n_hardware++;
    return 0;
}

/* The port behind an ethdev, or why it cannot be a target.  A port of another
 * driver makes the real driver read memory that is not its own. */
static int
action_port(struct walk *w)
{
    const void *conf = w->action->conf;
    const struct port *from = w->draft->port;
    struct port *to;
    uint32_t id;
    int error;

    if (!w->draft->attr.transfer) {
        return no(w, ENOTSUP, "port action outside of the eSwitch");
    } else if (!conf) {
        return eswitch_refuse(w->error, EINVAL,
                              RTE_FLOW_ERROR_TYPE_ACTION_CONF, w->action,
                              "no port");
    }
    error = fate(w);
    if (error) {
        return error;
    }
    if (w->action->type == RTE_FLOW_ACTION_TYPE_PORT_ID) {
        const struct rte_flow_action_port_id *port_id = conf;

        id = port_id->original ? from->id : port_id->id;
    } else {
        id = ((const struct rte_flow_action_ethdev *) conf)->port_id;
    }
    if (id >= RTE_MAX_ETHPORTS || !rte_eth_dev_is_valid_port(id)) {
        return eswitch_refuse(w->error,
                              id >= RTE_MAX_ETHPORTS ? EINVAL : ENODEV,
                              RTE_FLOW_ERROR_TYPE_ACTION_CONF, conf,
                              "no such port");
    }
    to = eswitch_port_find(id);
    if (!to) {
        char name[RTE_ETH_NAME_MAX_LEN] = "";

        rte_eth_dev_get_name_by_port(id, name);
        eswitch_die("rule on %s: port action to %s, which is no mlx5 port: "
                    "real hardware reads foreign memory", from->name, name);
    } else if (to->eswitch != from->eswitch) {
        return no(w, EINVAL, "port of another eSwitch");
    }
    if (to == from && to->uplink) {
        eswitch_log(LOG_FLAG, "rule on %s: wire to the same wire is dropped",
                    from->name);
    } else if (w->encap && !from->uplink && !to->uplink) {
        eswitch_log(LOG_FLAG, "rule on %s: encap towards %s, not the uplink, "
                    "is not supported officially", from->name, to->name);
    }
    add(w, ACTION_PORT)->port = to;
    return 0;
}

static int
action_jump(struct walk *w)
{
    const struct rte_flow_action_jump *jump = w->action->conf;
    int error;

    if (!jump) {
        return no(w, EINVAL, "no group to jump to");
    } else if (jump->group == UINT32_MAX) {
        return eswitch_refuse(w->error, EINVAL,
                              RTE_FLOW_ERROR_TYPE_ATTR_GROUP, w->action,
                              "group is too large");
    } else if (jump->group == w->draft->attr.group) {
        return no(w, EINVAL, "jump to the rule's own group");
    }
    error = fate(w);
    if (!error) {
        add(w, ACTION_JUMP)->number = jump->group;
    }
    return error;
}

/* Puts headers in front: RAW_ENCAP alone, or the header of VXLAN_ENCAP that
 * is in the draft already. */
static int
encap(struct walk *w, const uint8_t *data, size_t size, enum action_kind kind)
{
    struct context *context = &w->draft->encap;
    const struct rte_ether_hdr *eth = (const void *) data;
    const uint8_t *type = (const uint8_t *) &eth->ether_type;

    if (size > MAX_ENCAP) {
        eswitch_die("rule on %s: RAW_ENCAP of %zu bytes, above %d: real "
                    "hardware's driver overwrites memory",
                    w->draft->port->name, size, MAX_ENCAP);
    }
    if (data != context->bytes) {
        memcpy(context->bytes, data, size);
    }
    context->size = size;
    context->kind = kind;
    if (kind != ACTION_DECAP_L3) {
        const uint8_t *end = data + size - 1;

        while (type + 4 < end && ((type[0] == 0x81 && type[1] == 0)
                                  || (type[0] == 0x88 && type[1] == 0xa8))) {
            type += 4;
        }
        w->draft->encap_no_ip = !((type[0] == 8 && type[1] == 0)
                                  || (type[0] == 0x86 && type[1] == 0xdd));
        w->encap = true;
    }
    w->n_hardware++;
    add(w, kind);
    return 0;
}

static int
action_raw_encap(struct walk *w, const struct rte_flow_action_raw_decap *l3)
{
    const struct rte_flow_action_raw_encap *conf = w->action->conf;

    if (!conf || !conf->data || !conf->size) {
        return no(w, EINVAL, "RAW_ENCAP without data");
    } else if (w->encap) {
        return no(w, EINVAL, "second encap");
    }
    if (!l3) {
        if (conf->size <= HEADER_DECISION) {
            return no(w, ENOTSUP, "RAW_ENCAP of a header without a tunnel");
        }
        return encap(w, conf->data, conf->size, ACTION_ENCAP);
    }
    if ((conf->size <= HEADER_DECISION) == (l3->size <= HEADER_DECISION)) {
        return no(w, ENOTSUP, conf->size <= HEADER_DECISION
                  ? "decap and encap, both without a tunnel"
                  : "from one tunnel into another");
    }
    if (conf->size <= HEADER_DECISION) {
        encap(w, conf->data, conf->size, ACTION_DECAP_L3);
        w->decap = true;
    } else {
        uint8_t size = l3->size;

        encap(w, conf->data, conf->size, ACTION_ENCAP_L3);
        w->draft->actions[w->draft->n_actions - 1].size = size;
    }
    return 0;
}

/* Returns 1 if it took the next action too, which then is RAW_ENCAP. */
static int
action_raw_decap(struct walk *w)
{
    static const struct rte_flow_action_raw_decap nothing;
    const struct rte_flow_action_raw_decap *conf = w->action->conf;
    const struct rte_flow_action *next = w->action + 1;

    if (!w->draft->port->eswitch->decap) {
        return no(w, ENOTSUP, "decap is disabled");
    } else if (w->decap || w->encap) {
        return no(w, ENOTSUP, "second decap, or decap behind encap");
    } else if (w->rewrite) {
        return no(w, EINVAL, "decap behind a rewrite");
    }
    while (next->type == RTE_FLOW_ACTION_TYPE_VOID) {
        next++;
    }
    if (w->action->type == RTE_FLOW_ACTION_TYPE_RAW_DECAP
        && next->type == RTE_FLOW_ACTION_TYPE_RAW_ENCAP) {
        int error;

        w->action = next;
        error = action_raw_encap(w, conf ? conf : &nothing);
        return error ? error : 1;
    }
    w->decap = true;
    w->n_hardware++;
    add(w, ACTION_DECAP);
    return 0;
}

static int
action_vxlan(struct walk *w)
{
    const struct rte_flow_action_vxlan_encap *conf = w->action->conf;
    int error;

    if (w->action->type == RTE_FLOW_ACTION_TYPE_VXLAN_DECAP) {
        if (!(w->draft->seen[0] & SEEN_VXLAN)) {
            return no(w, ENOTSUP, "VXLAN_DECAP without VXLAN in the pattern");
        }
        return action_raw_decap(w);
    } else if (!conf || !conf->definition) {
        return no(w, EINVAL, "VXLAN_ENCAP without headers");
    } else if (w->encap) {
        return no(w, EINVAL, "second encap");
    }
    error = eswitch_vxlan_header(conf->definition, &w->draft->encap,
                                 w->action, w->error);
    return error ? error : encap(w, w->draft->encap.bytes,
                                 w->draft->encap.size, ACTION_ENCAP);
}

/* One rewrite of 'commands' steps.  All of a list are one action. */
static int
rewrite(struct walk *w, enum action_kind kind, unsigned layers,
        unsigned commands, const void *value, size_t size)
{
    struct action *action;

    if (!w->action->conf && size) {
        return no(w, EINVAL, "rewrite without a value");
    } else if (w->encap) {
        return no(w, EINVAL, "rewrite behind encap");
    } else if (!(seen(w) & layers)) {
        return no(w, EINVAL, "the pattern lacks the header to rewrite");
    }
    w->n_hardware += !w->rewrite;
    w->n_commands += commands;
    w->rewrite = true;
    action = add(w, kind);
    memcpy(action->bytes, value, size);
    return 0;
}

static int
action_set_ipv6(struct walk *w, enum action_kind kind)
{
    const struct draft *draft = w->draft;
    unsigned level = w->decap && draft->seen[0] & SEEN_TUNNEL;

    if (draft->seen[level] & SEEN_ICMP6
        || (draft->mask.level[level].ip_proto == 0xff
            && draft->key.level[level].ip_proto == IPPROTO_ICMPV6)) {
        return no(w, ENOTSUP, "IPv6 address of ICMPv6");
    }
    return rewrite(w, kind, SEEN_IPV6, 4, w->action->conf, 16);
}

static int
action_pop_vlan(struct walk *w)
{
    const struct port *port = w->draft->port;

    if (port->eswitch->device == CX5 && !port->uplink) {
        return eswitch_refuse(w->error, ENOTSUP,
                              RTE_FLOW_ERROR_TYPE_ATTR_TRANSFER, NULL,
                              "pop VLAN of what a VF sent");
    } else if (!(seen(w) & SEEN_VLAN)) {
        return eswitch_refuse(w->error, ENOTSUP,
                              RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
                              "pop VLAN without VLAN in the pattern");
    }
    w->n_hardware++;
    w->other = true;
    add(w, ACTION_POP_VLAN);
    return 0;
}

static int
action_push_vlan(struct walk *w)
{
    const struct rte_flow_action_of_push_vlan *conf = w->action->conf;
    const struct port *port = w->draft->port;

    if (port->eswitch->device == CX5 && port->uplink) {
        return eswitch_refuse(w->error, ENOTSUP,
                              RTE_FLOW_ERROR_TYPE_ATTR_TRANSFER, NULL,
                              "push VLAN onto what the wire sent");
    } else if (!conf || (conf->ethertype != RTE_BE16(RTE_ETHER_TYPE_VLAN)
                         && conf->ethertype
                            != RTE_BE16(RTE_ETHER_TYPE_QINQ))) {
        return no(w, EINVAL, "no VLAN type to push");
    } else if (w->fate) {
        return no(w, EINVAL, "push VLAN behind the port");
    }
    w->n_hardware++;
    w->push = w->other = true;
    add(w, ACTION_PUSH_VLAN)->port16 = conf->ethertype;
    return 0;
}

static int
action_set_vid(struct walk *w)
{
    const struct rte_flow_action_of_set_vlan_vid *conf = w->action->conf;

    if (!conf || rte_be_to_cpu_16(conf->vlan_vid) > 0xffe) {
        return no(w, EINVAL, "no VLAN ID, or above 4094");
    } else if (!w->push) {
        if (w->decap || !(w->draft->seen[0] & SEEN_VLAN)) {
            return no(w, ENOTSUP, "VLAN ID without an outer VLAN");
        } else if (w->encap) {
            return no(w, EINVAL, "rewrite behind encap");
        }
        w->n_hardware += !w->rewrite;
        w->n_commands++;
        w->rewrite = true;
    }
    add(w, ACTION_SET_VID)->port16 = conf->vlan_vid;
    return 0;
}

static int
action_set_pcp(struct walk *w)
{
    const struct rte_flow_action_of_set_vlan_pcp *conf = w->action->conf;

    if (!conf || conf->vlan_pcp > 7 || !w->push) {
        return no(w, EINVAL, "VLAN priority above 7, or without push");
    }
    add(w, ACTION_SET_PCP)->bytes[0] = conf->vlan_pcp;
    return 0;
}

static int
action_mark(struct walk *w)
{
    const struct rte_flow_action_mark *conf = w->action->conf;

    if (w->draft->attr.transfer) {
        if (w->draft->port->eswitch->xmeta != 1
            && w->draft->port->eswitch->xmeta != 2) {
            return no(w, ENOTSUP, "mark in the eSwitch needs dv_xmeta_en");
        }
        w->n_commands++;
    }
    if (!conf || w->mark) {
        return no(w, EINVAL, "no mark, or a second one");
    }
    w->mark = true;
    w->n_hardware++;
    add(w, ACTION_MARK)->number = conf->id;
    return 0;
}

/* Fates of rules outside of the eSwitch, whose packets software gets. */
static int
action_ingress(struct walk *w)
{
    int error;

    if (w->draft->attr.transfer) {
        return no(w, ENOTSUP, "queues are no target in the eSwitch");
    } else if (!w->action->conf) {
        return no(w, EINVAL, "no queues");
    }
    error = fate(w);
    if (!error) {
        w->rss = true;
        add(w, ACTION_INGRESS_FATE);
    }
    return error;
}

static int
action(struct walk *w)
{
    const void *conf = w->action->conf;
    int error;

    switch ((int) w->action->type) {
    case RTE_FLOW_ACTION_TYPE_COUNT:
        if (w->count) {
            return no(w, EINVAL, "second count");
        }
        w->count = true;
        w->n_hardware++;
        add(w, ACTION_COUNT);
        return 0;
    case RTE_FLOW_ACTION_TYPE_PORT_ID:
    case RTE_FLOW_ACTION_TYPE_REPRESENTED_PORT:
        return action_port(w);
    case RTE_FLOW_ACTION_TYPE_JUMP:
        return action_jump(w);
    case RTE_FLOW_ACTION_TYPE_DROP:
        error = fate(w);
        if (!error) {
            w->drop = true;
            add(w, ACTION_DROP);
        }
        return error;
    case RTE_FLOW_ACTION_TYPE_QUEUE:
    case RTE_FLOW_ACTION_TYPE_RSS:
        return action_ingress(w);
    case RTE_FLOW_ACTION_TYPE_MARK:
        return action_mark(w);
    case RTE_FLOW_ACTION_TYPE_RAW_ENCAP:
        return action_raw_encap(w, NULL);
    case RTE_FLOW_ACTION_TYPE_RAW_DECAP:
        return action_raw_decap(w);
    case RTE_FLOW_ACTION_TYPE_VXLAN_ENCAP:
    case RTE_FLOW_ACTION_TYPE_VXLAN_DECAP:
        return action_vxlan(w);
    case RTE_FLOW_ACTION_TYPE_OF_POP_VLAN:
        return action_pop_vlan(w);
    case RTE_FLOW_ACTION_TYPE_OF_PUSH_VLAN:
        return action_push_vlan(w);
    case RTE_FLOW_ACTION_TYPE_OF_SET_VLAN_VID:
        return action_set_vid(w);
    case RTE_FLOW_ACTION_TYPE_OF_SET_VLAN_PCP:
        return action_set_pcp(w);
    case RTE_FLOW_ACTION_TYPE_SET_MAC_SRC:
        return rewrite(w, ACTION_MAC_SRC, SEEN_ETH | SEEN_VLAN, 2, conf, 6);
    case RTE_FLOW_ACTION_TYPE_SET_MAC_DST:
        return rewrite(w, ACTION_MAC_DST, SEEN_ETH | SEEN_VLAN, 2, conf, 6);
    case RTE_FLOW_ACTION_TYPE_SET_IPV4_SRC:
        return rewrite(w, ACTION_IPV4_SRC, SEEN_IPV4, 1, conf, 4);
    case RTE_FLOW_ACTION_TYPE_SET_IPV4_DST:
        return rewrite(w, ACTION_IPV4_DST, SEEN_IPV4, 1, conf, 4);
    case RTE_FLOW_ACTION_TYPE_SET_IPV6_SRC:
        return action_set_ipv6(w, ACTION_IPV6_SRC);
    case RTE_FLOW_ACTION_TYPE_SET_IPV6_DST:
        return action_set_ipv6(w, ACTION_IPV6_DST);
    case RTE_FLOW_ACTION_TYPE_SET_TP_SRC:
        return rewrite(w, ACTION_TP_SRC, SEEN_UDP | SEEN_TCP, 1, conf, 2);
    case RTE_FLOW_ACTION_TYPE_SET_TP_DST:
        return rewrite(w, ACTION_TP_DST, SEEN_UDP | SEEN_TCP, 1, conf, 2);
    case RTE_FLOW_ACTION_TYPE_SET_TTL:
        return rewrite(w, ACTION_SET_TTL, SEEN_L3, 1, conf, 1);
    case RTE_FLOW_ACTION_TYPE_DEC_TTL:
        return rewrite(w, ACTION_DEC_TTL, SEEN_L3, 1, "", 0);
    case RTE_FLOW_ACTION_TYPE_SET_IPV4_DSCP:
        return rewrite(w, ACTION_IPV4_DSCP, SEEN_IPV4, 1, conf, 1);
    case RTE_FLOW_ACTION_TYPE_SET_IPV6_DSCP:
        return rewrite(w, ACTION_IPV6_DSCP, SEEN_IPV6, 1, conf, 1);
    default:
        return no(w, ENOTSUP, "action is not supported");
    }
}

int
eswitch_validate_actions(struct draft *draft,
                         const struct rte_flow_action actions[],
                         struct rte_flow_error *error)
{
    struct walk w = { .draft = draft, .error = error, .action = actions };

    if (!actions) {
        return eswitch_refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION_NUM,
                              NULL, "no actions");
    }
    for (; w.action->type != RTE_FLOW_ACTION_TYPE_END; w.action++) {
        int retval;

        if (w.action->type == RTE_FLOW_ACTION_TYPE_VOID) {
            continue;
        }
        if (draft->n_actions >= MAX_ACTIONS) {
            return no(&w, ENOTSUP, "too many actions");
        }
        retval = action(&w);
        if (retval < 0) {
            return retval;
        }
        if (w.n_hardware > MAX_HARDWARE_ACTIONS) {
            return no(&w, ENOTSUP, "too many actions");
        }
    }
    if (w.rewrite && draft->port->eswitch->xmeta) {
        w.n_commands++;
    }
    if (w.drop && (w.encap || w.decap || w.rewrite || w.mark || w.other)) {
        return no(&w, EINVAL, "drop excludes all but count");
    } else if (!w.fate) {
        return no(&w, EINVAL, "no fate");
    } else if (w.n_commands > MAX_REWRITES) {
        return no(&w, ENOTSUP, "too many rewrites");
    }
    return 0;
}
