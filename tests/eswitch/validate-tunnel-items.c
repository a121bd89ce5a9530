/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#include <config.h>

#include "validate-items.h"

#include <errno.h>
#include <string.h>

#include <rte_geneve.h>

/* Tunnels, their options, and ports. */

enum {
    GENEVE_OPT_LEN = 0x3f00, GENEVE_OAM = 0x0080
};

#define MATCH_TUNNEL(FIELD, SPEC, MASK) \
    walk_match(w, &w->draft->key.tunnel.FIELD, \
               &w->draft->mask.tunnel.FIELD, &(SPEC), &(MASK), sizeof(SPEC))

/* A tunnel behind the outer UDP header, which the NIC's parser finds on
 * 'dport' alone. */
static int
tunnel_place(struct walk *w)
{
    if (w->draft->seen[0] & SEEN_TUNNEL) {
        return walk_no(w, ENOTSUP, "second tunnel");
    } else if (!(w->draft->seen[0] & SEEN_UDP)) {
        return walk_no(w, EINVAL, "tunnel without outer UDP");
    }
    return 0;
}

static void
tunnel_enter(struct walk *w, unsigned seen, uint8_t kind, uint16_t dport)
{
    const uint16_t all = UINT16_MAX;
    uint16_t port = rte_cpu_to_be_16(dport);

    if (!w->dport_given) {
        MATCH(0, l4_dst, port, all);
    }
    walk_match_byte(w, &w->draft->key.tunnel.kind,
                    &w->draft->mask.tunnel.kind, kind);
    w->draft->seen[0] |= seen;
    w->draft->sublevel = 0;
    w->next_type = 0;
    w->next_proto = -1;
}

int
walk_vxlan(struct walk *w)
{
    static const struct rte_flow_item_vxlan allowed = {
        .vni = { 0xff, 0xff, 0xff },
    };
    const struct rte_flow_item_vxlan *spec = w->item->spec, *mask;
    const struct level_key *key = &w->draft->key.level[0];
    int error = tunnel_place(w);

    if (!error && w->draft->port->eswitch->device == CX5 && w->dport_given
        && key->l4_dst != RTE_BE16(4789)) {
        error = walk_no(w, ENOTSUP, "VXLAN on another port than 4789");
    }
    if (!error) {
        error = walk_acceptable(w, &rte_flow_item_vxlan_mask, &allowed,
                                sizeof allowed, false);
    }
    if (error) {
        return error;
    }
    tunnel_enter(w, SEEN_VXLAN, TUNNEL_VXLAN, 4789);
    if (spec) {
        mask = w->mask;
        MATCH_TUNNEL(vni, spec->vni, mask->vni);
    }
    return 0;
}

int
walk_geneve(struct walk *w)
{
    static const struct rte_flow_item_geneve allowed = {
        .ver_opt_len_o_c_rsvd0 = RTE_BE16(GENEVE_OPT_LEN | GENEVE_OAM),
        .protocol = 0xffff, .vni = { 0xff, 0xff, 0xff },
    };
    const struct rte_flow_item_geneve *spec = w->item->spec, *mask;
    int error = tunnel_place(w);

    if (error) {
        return error;
    }
    /* The C bit, the version and reserved bits are refused even where only
     * the spec has them. */
    if (spec && (rte_be_to_cpu_16(spec->ver_opt_len_o_c_rsvd0)
                 & ~(GENEVE_OPT_LEN | GENEVE_OAM))) {
        return walk_no(w, ENOTSUP, "Geneve bits that cannot be matched");
    }
    error = walk_acceptable(w, &rte_flow_item_geneve_mask, &allowed,
                            sizeof allowed, false);
    if (error) {
        return error;
    }
    if (spec && (spec->rsvd1 != 0)) {
        return walk_no(w, ENOTSUP, "Geneve reserved byte");
    }
    tunnel_enter(w, SEEN_GENEVE, TUNNEL_GENEVE, RTE_GENEVE_DEFAULT_PORT);
    if (spec) {
        uint16_t first, first_mask;
        uint8_t value, bits;

        mask = w->mask;
        first = rte_be_to_cpu_16(spec->ver_opt_len_o_c_rsvd0);
        first_mask = rte_be_to_cpu_16(mask->ver_opt_len_o_c_rsvd0);
        value = (first & GENEVE_OPT_LEN) >> 8;
        bits = (first_mask & GENEVE_OPT_LEN) >> 8;
        MATCH_TUNNEL(opt_len, value, bits);
        value = first & GENEVE_OAM ? 1 : 0;
        bits = first_mask & GENEVE_OAM ? 1 : 0;
        MATCH_TUNNEL(oam, value, bits);
        MATCH_TUNNEL(vni, spec->vni, mask->vni);
        MATCH_TUNNEL(protocol, spec->protocol, mask->protocol);
        w->protocol_given = mask->protocol != 0;
    }
    return 0;
}

/* The parser takes what follows Geneve for what its protocol says, so a
 * pattern with inner headers asks for that protocol. */
void
walk_tunnel_inner(struct walk *w)
{
    unsigned seen = w->draft->seen[1];
    const uint16_t all = UINT16_MAX;
    uint16_t protocol;

    if (!(w->draft->seen[0] & SEEN_GENEVE) || w->protocol_given || !seen) {
        return;
    }
    protocol = (seen & SEEN_ETH ? RTE_BE16(0x6558)
                : seen & SEEN_IPV4 ? RTE_BE16(RTE_ETHER_TYPE_IPV4)
                : seen & SEEN_IPV6 ? RTE_BE16(RTE_ETHER_TYPE_IPV6) : 0);
    if (protocol) {
        MATCH_TUNNEL(protocol, protocol, all);
    }
}

/* The rules of one option: its place and its masks. */
static const char *
option_fault(const struct walk *w,
             const struct rte_flow_item_geneve_opt *spec,
             const struct rte_flow_item_geneve_opt *mask)
{
    const struct eswitch *eswitch = w->draft->port->eswitch;
    const struct rte_flow_item_geneve *geneve, *geneve_mask;
    uint16_t first, first_mask;

    if (eswitch->option == SUPPORT_NO) {
        return "the firmware does not parse Geneve options";
    } else if (!w->last || w->last->type != RTE_FLOW_ITEM_TYPE_GENEVE) {
        return "option not directly behind Geneve";
    } else if (!spec || !mask || mask->option_class != 0xffff
               || mask->option_type != 0xff
               || (mask->option_len & 0x1f) != 0x1f) {
        return "class, type and length of the option need full masks";
    } else if (!spec->data || !(spec->option_len & 0x1f)) {
        return "option without data";
    } else if ((spec->option_len & 0x1f) > eswitch->option_len) {
        return "option longer than the firmware can match";
    }
    if (mask->data) {
        bool some = false;

        for (int i = 0; i < (spec->option_len & 0x1f); i++) {
            some |= (spec->data[i] & mask->data[i]) != 0;
        }
        if (!some) {
            return "option data of which all matched bits are zero";
        }
    }
    geneve = w->last->spec;
    if (!geneve) {
        return NULL;
    }
    geneve_mask = (w->last->mask ? w->last->mask
                   : &rte_flow_item_geneve_mask);
    first = rte_be_to_cpu_16(geneve->ver_opt_len_o_c_rsvd0);
    first_mask = rte_be_to_cpu_16(geneve_mask->ver_opt_len_o_c_rsvd0);
    if ((first || first_mask)
        && (first & first_mask & GENEVE_OPT_LEN) >> 8
           <= (spec->option_len & 0x1f)) {
        return "length of all options leaves no room for this one";
    }
    return NULL;
}

int
walk_geneve_option(struct walk *w)
{
    const struct rte_flow_item_geneve_opt *spec = w->item->spec;
    const struct rte_flow_item_geneve_opt *mask = w->item->mask;
    const struct eswitch *eswitch = w->draft->port->eswitch;
    const char *fault = option_fault(w, spec, mask);
    struct draft *draft = w->draft;

    if (fault) {
        return walk_no(w, ENOTSUP, fault);
    }
    if (eswitch->option_users
        && (spec->option_class != eswitch->tuple_class
            || spec->option_type != eswitch->tuple_type
            || (spec->option_len & 0x1f) != eswitch->tuple_len)) {
        return walk_no(w, ENOTSUP, "the NIC matches another option already");
    }
    draft->option = true;
    draft->option_class = spec->option_class;
    draft->option_type = spec->option_type;
    draft->option_len = spec->option_len & 0x1f;
    draft->option_no_mask = !mask->data;
    draft->sublevel = 0;
    walk_match_byte(w, &draft->key.tunnel.option,
                    &draft->mask.tunnel.option, 1);
    if (mask->data) {
        MATCH_TUNNEL(option_data, spec->data[0], mask->data[0]);
    }
    return 0;
}

/* PORT_ID, REPRESENTED_PORT and PORT_REPRESENTOR name the port whose traffic
 * is matched, in place of the one on which the rule is created. */
int
walk_port(struct walk *w)
{
    bool port_id = w->item->type == RTE_FLOW_ITEM_TYPE_PORT_ID;
    struct draft *draft = w->draft;
    uint32_t id, mask = UINT32_MAX;
    struct port *port;

    if (!draft->attr.transfer) {
        return walk_no(w, EINVAL, "port item outside of the eSwitch");
    } else if (w->port_item) {
        return walk_no(w, ENOTSUP, "second port item");
    } else if (!w->item->spec) {
        if (w->item->mask || w->item->last) {
            return walk_no(w, EINVAL, "mask or last without spec");
        }
        return 0;
    }
    if (port_id) {
        const struct rte_flow_item_port_id *m = w->item->mask;

        id = ((const struct rte_flow_item_port_id *) w->item->spec)->id;
        mask = m ? m->id : UINT32_MAX;
    } else {
        const struct rte_flow_item_ethdev *m = w->item->mask;

        id = ((const struct rte_flow_item_ethdev *) w->item->spec)->port_id;
        mask = m && m->port_id != UINT16_MAX ? 0 : UINT32_MAX;
    }
    if (mask != UINT32_MAX) {
        return eswitch_refuse(w->error, ENOTSUP,
                              RTE_FLOW_ERROR_TYPE_ITEM_MASK, w->item->mask,
                              "partial mask of a port");
    }
    w->port_item = true;
    if (id == (port_id ? UINT32_MAX : UINT16_MAX)) {
        /* The eSwitch manager: what software sends, never seen here. */
        draft->source = NULL;
        return 0;
    }
    port = id < RTE_MAX_ETHPORTS ? eswitch_port_find(id) : NULL;
    if (!port || port->eswitch != draft->port->eswitch) {
        return eswitch_refuse(w->error, EINVAL,
                              RTE_FLOW_ERROR_TYPE_ITEM_SPEC, w->item->spec,
                              "port of another eSwitch");
    }
    /* What software sends by a port is never seen either. */
    draft->source = (w->item->type == RTE_FLOW_ITEM_TYPE_PORT_REPRESENTOR
                     ? NULL : port);
    return 0;
}
