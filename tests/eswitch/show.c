/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#include <config.h>

#include "model.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The model's state in words.  A rule is shown as the NIC matches it. */

static bool
is_zero(const void *data, size_t size)
{
    const uint8_t *p = data;

    while (size && !*p) {
        p++;
        size--;
    }
    return !size;
}

static void
put_bytes(FILE *out, const char *name, const void *value, const void *mask,
          size_t size)
{
    const uint8_t *v = value, *m = mask;
    bool full = true;

    if (is_zero(mask, size)) {
        return;
    }
    fprintf(out, " %s=0x", name);
    for (size_t i = 0; i < size; i++) {
        fprintf(out, "%02x", v[i]);
        full &= m[i] == 0xff;
    }
    if (!full) {
        fputs("/0x", out);
        for (size_t i = 0; i < size; i++) {
            fprintf(out, "%02x", m[i]);
        }
    }
}

static void
put_mac(FILE *out, const char *name, const uint8_t *v, const uint8_t *m)
{
    static const uint8_t all[6] = { 255, 255, 255, 255, 255, 255 };

    if (is_zero(m, 6)) {
        return;
    }
    fprintf(out, " %s=%02x:%02x:%02x:%02x:%02x:%02x", name, v[0], v[1], v[2],
            v[3], v[4], v[5]);
    if (memcmp(m, all, 6)) {
        fprintf(out, "/%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2],
                m[3], m[4], m[5]);
    }
}

static void
put_address(FILE *out, const char *name, int version, const uint8_t *v,
            const uint8_t *m)
{
    size_t size = version == 4 ? 4 : 16;
    int family = version == 4 ? AF_INET : AF_INET6;
    char text[INET6_ADDRSTRLEN];
    uint8_t all[16];

    if (is_zero(m, size)) {
        return;
    }
    memset(all, 0xff, sizeof all);
    fprintf(out, " %s=%s", name, inet_ntop(family, v, text, sizeof text));
    if (memcmp(m, all, size)) {
        fprintf(out, "/%s", inet_ntop(family, m, text, sizeof text));
    }
}

static void
put_number(FILE *out, const char *name, uint16_t v, uint16_t m, uint16_t all)
{
    if (m == all) {
        fprintf(out, " %s=%u", name, v);
    } else if (m) {
        fprintf(out, " %s=0x%x/0x%x", name, v, m);
    }
}

#define PUT8(NAME, FIELD) put_number(out, NAME, k->FIELD, m->FIELD, 0xff)
#define PUT16(NAME, FIELD) \
    put_number(out, NAME, ntohs(k->FIELD), ntohs(m->FIELD), 0xffff)

static void
put_level(FILE *out, const struct level_key *k, const struct level_key *m)
{
    if (m->ethernet) {
        fputs(" eth", out);
    }
    put_mac(out, "dst", k->eth_dst, m->eth_dst);
    put_mac(out, "src", k->eth_src, m->eth_src);
    put_bytes(out, "type", &k->eth_type, &m->eth_type, 2);
    if (m->vlan) {
        fprintf(out, " tag=%s", k->vlan == VLAN_C ? "c" : k->vlan == VLAN_S
                ? "s" : k->vlan == VLAN_ANY ? "any" : "none");
    }
    put_bytes(out, "tci", &k->tci, &m->tci, 2);
    if (m->vlan_more) {
        fprintf(out, " tags%s", k->vlan_more ? ">1" : "=1");
    }
    if (m->ip_version) {
        fprintf(out, " / ipv%u", k->ip_version);
    }
    put_address(out, "src", k->ip_version, k->ip_src, m->ip_src);
    put_address(out, "dst", k->ip_version, k->ip_dst, m->ip_dst);
    PUT8("proto", ip_proto);
    PUT8("tos", tos);
    PUT8("ttl", ttl);
    put_bytes(out, "vtc", &k->vtc_flow, &m->vtc_flow, 4);
    if (m->fragment) {
        fprintf(out, " frag=%s", k->fragment ? "yes" : "no");
    }
    PUT16("sport", l4_src);
    PUT16("dport", l4_dst);
    put_bytes(out, "flags", &k->tcp_flags, &m->tcp_flags, 1);
    PUT8("type", icmp_type);
    PUT8("code", icmp_code);
    PUT16("ident", icmp_ident);
    PUT16("seq", icmp_seq);
}

static void
put_tunnel(FILE *out, const struct tunnel_key *k, const struct tunnel_key *m)
{
    if (!m->kind) {
        return;
    }
    fprintf(out, " / %s", k->kind == TUNNEL_GENEVE ? "geneve" : "vxlan");
    if (!is_zero(m->vni, 3)) {
        fprintf(out, " vni=%u", k->vni[0] << 16 | k->vni[1] << 8 | k->vni[2]);
        if (m->vni[0] != 255 || m->vni[1] != 255 || m->vni[2] != 255) {
            fprintf(out, "/0x%02x%02x%02x", m->vni[0], m->vni[1], m->vni[2]);
        }
    }
    put_bytes(out, "protocol", &k->protocol, &m->protocol, 2);
    put_number(out, "optlen", k->opt_len, m->opt_len, 0x3f);
    put_number(out, "oam", k->oam, m->oam, 1);
    if (m->option) {
        put_bytes(out, "option", &k->option_data, &m->option_data, 4);
    }
}

static void
put_action(FILE *out, const struct action *action)
{
    static const char *const names[] = {
        "count", "jump", "port", "drop", "mark", "decap", "decap-l3",
        "encap", "encap-l3", "pop-vlan", "push-vlan", "set-vid", "set-pcp",
        "set-mac-src", "set-mac-dst", "set-ipv4-src", "set-ipv4-dst",
        "set-ipv6-src", "set-ipv6-dst", "set-sport", "set-dport", "set-ttl",
        "dec-ttl", "set-ipv4-dscp", "set-ipv6-dscp", "queue",
    };
    char text[INET6_ADDRSTRLEN];
    const uint8_t *b = action->bytes;

    fputs(names[action->kind], out);
    switch ((enum action_kind) action->kind) {
    case ACTION_JUMP:
    case ACTION_MARK:
        fprintf(out, " %u", action->number);
        break;
    case ACTION_PORT:
        fprintf(out, " %s", action->port->name);
        break;
    case ACTION_ENCAP:
    case ACTION_ENCAP_L3:
    case ACTION_DECAP_L3:
        fputc(' ', out);
        for (unsigned i = 0; i < action->context->size; i++) {
            fprintf(out, "%02x", action->context->bytes[i]);
        }
        break;
    case ACTION_PUSH_VLAN:
        fprintf(out, " 0x%04x", ntohs(action->port16));
        break;
    case ACTION_SET_VID:
    case ACTION_TP_SRC:
    case ACTION_TP_DST:
        fprintf(out, " %u", ntohs(action->port16));
        break;
    case ACTION_SET_PCP:
    case ACTION_SET_TTL:
    case ACTION_IPV4_DSCP:
    case ACTION_IPV6_DSCP:
        fprintf(out, " %u", b[0]);
        break;
    case ACTION_MAC_SRC:
    case ACTION_MAC_DST:
        fprintf(out, " %02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2],
                b[3], b[4], b[5]);
        break;
    case ACTION_IPV4_SRC:
    case ACTION_IPV4_DST:
        fprintf(out, " %s", inet_ntop(AF_INET, b, text, sizeof text));
        break;
    case ACTION_IPV6_SRC:
    case ACTION_IPV6_DST:
        fprintf(out, " %s", inet_ntop(AF_INET6, b, text, sizeof text));
        break;
    default:
        break;
    }
}

static void
put_rule(FILE *out, const struct rule *rule)
{
    const struct key *k = &rule->key, *m = &rule->matcher->mask;

    fprintf(out, "rule handle=%#lx eswitch=%s port=%s source=%s %s group=%u "
            "priority=%u.%u hits=%lu bytes=%lu:",
            (unsigned long) rule->handle, rule->port->eswitch->name,
            rule->port->name,
            k->source ? model.ports[k->source - 1].name : "manager",
            rule->group->transfer ? "transfer" : "ingress",
            rule->group->number, rule->matcher->priority,
            rule->matcher->sublevel, rule->now.packets, rule->now.bytes);
    put_level(out, &k->level[0], &m->level[0]);
    put_tunnel(out, &k->tunnel, &m->tunnel);
    if (!is_zero(&m->level[1], sizeof m->level[1])) {
        fputs(" /", out);
        put_level(out, &k->level[1], &m->level[1]);
    }
    for (unsigned i = 0; i < rule->n_actions; i++) {
        fputs(i ? ", " : " -> ", out);
        put_action(out, &rule->actions[i]);
    }
}

char *
eswitch_rule_format(const struct rule *rule)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    put_rule(out, rule);
    fclose(out);
    return text;
}

static void
show_eswitch(FILE *out, struct eswitch *eswitch)
{
    const char *const support[] = { "no", "yes", "late" };

    fprintf(out, "eswitch name=%s driver=%s domain=%u device=%s rules=%zu "
            "encaps=%zu geneve-option=%s", eswitch->name, eswitch->driver,
            eswitch->domain, eswitch->device == CX5 ? "cx5" : "cx6dx",
            eswitch->n_rules, eswitch->contexts.n, support[eswitch->option]);
    if (eswitch->option_users) {
        fprintf(out, " option=%#x,%#x,%u option-rules=%u",
                ntohs(eswitch->tuple_class), eswitch->tuple_type,
                eswitch->tuple_len, eswitch->option_users);
    }
    fputc('\n', out);
    for (unsigned i = 0; i < model.n_ports; i++) {
        const struct port *port = &model.ports[i];

        if (port->eswitch == eswitch) {
            fprintf(out, "port name=%s eswitch=%s kind=%s started=%s "
                    "rules=%zu executed=%lu dropped=%lu missed=%lu "
                    "missed-later=%lu sent=%lu send-failed=%lu "
                    "too-large=%lu\n",
                    port->name, eswitch->name,
                    port->uplink ? "uplink" : "representor",
                    port->started ? "yes" : "no", port->n_rules,
                    port->n_executed, port->n_dropped, port->n_missed,
                    port->n_missed_later, port->n_tx, port->n_tx_failed,
                    port->n_too_large);
        }
    }
}

static void
show_rules(FILE *out, struct eswitch *eswitch)
{
    struct table_node *node = NULL;

    while ((node = table_walk(&eswitch->handles, node))) {
        put_rule(out, TABLE_OBJECT(node, struct rule, by_handle));
        fputc('\n', out);
    }
}

static void
show_contexts(FILE *out, struct eswitch *eswitch)
{
    struct table_node *node = NULL;

    while ((node = table_walk(&eswitch->contexts, node))) {
        const struct context *c = TABLE_OBJECT(node, struct context, node);

        fprintf(out, "context eswitch=%s kind=%s rules=%zu bytes=",
                eswitch->name, c->kind == ACTION_ENCAP ? "encap"
                : c->kind == ACTION_ENCAP_L3 ? "encap-l3" : "decap-l3",
                c->refs);
        for (unsigned i = 0; i < c->size; i++) {
            fprintf(out, "%02x", c->bytes[i]);
        }
        fputc('\n', out);
    }
}

static void
show_totals(FILE *out)
{
    fprintf(out, "totals validated=%lu created=%lu destroyed=%lu "
            "flushed=%lu refused=%lu flagged=%lu errors=%lu create-ns=%lu "
            "rule-bytes=%lu\n",
            model.n_validated, model.n_created, model.n_destroyed,
            model.n_flushed, model.n_refused, model.n_flagged,
            model.n_errors, model.create_ns, model.rule_bytes);
    for (int i = 0; i < 256; i++) {
        if (model.refused[i]) {
            const char *name = (i == ENOTSUP ? "ENOTSUP"
                                : strerrorname_np(i));

            fprintf(out, "refused errno=%s times=%lu\n", name ? name : "?",
                    model.refused[i]);
        }
    }
}

char *
eswitch_show(const char *what)
{
    bool all = !strcmp(what, "all");
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    for (unsigned i = 0; i < model.n_eswitches; i++) {
        struct eswitch *eswitch = &model.eswitches[i];

        pthread_rwlock_rdlock(&eswitch->lock);
        if (all || !strcmp(what, "eswitches")) {
            show_eswitch(out, eswitch);
        }
        if (all || !strcmp(what, "rules")) {
            show_rules(out, eswitch);
        }
        if (all || !strcmp(what, "contexts")) {
            show_contexts(out, eswitch);
        }
        pthread_rwlock_unlock(&eswitch->lock);
    }
    if (all || !strcmp(what, "totals")) {
        show_totals(out);
    }
    fclose(out);
    return text;
}
