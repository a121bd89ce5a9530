/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "ovs-router-command.h"

#include <stdlib.h>
#include <string.h>

#include "encap-json.h"
#include "encap-text.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "ovs-router.h"
#include "packets.h"
#include "route-argument.h"
#include "route-db.h"
#include "route-json.h"
#include "route-lookup.h"
#include "route-output.h"
#include "route-table.h"
#include "tunnel-egress.h"
#include "unixctl.h"
#include "user-route.h"
#include "util.h"

/* More than any command takes, so that the parser says what is wrong. */
enum { MAX_ARGS = 16 };

/* Rules without a priority go below this one, that of table main. */
enum { DEFAULT_PRIORITY_LIMIT = 32766 };

static void
reply_error(struct unixctl_conn *conn, const char *what, char *why)
{
    char *s = xasprintf("%s: %s", what, why);

    unixctl_command_reply_error(conn, s);
    free(s);
    free(why);
}

/* Parses the arguments of a command.  Returns false after an error, which has
 * been replied.  What the kernel said before the command counts. */
static bool
parse(struct unixctl_conn *conn, int argc, const char *argv[],
      uint32_t allowed, uint32_t required, struct route_arguments *args)
{
    char *error = route_arguments_parse(argc, argv, allowed, required, args);

    if (error) {
        unixctl_command_reply_error(conn, error);
        free(error);
        return false;
    }
    route_table_run();
    return true;
}

/* Routes. */

static void
user_route_from_args(const struct route_arguments *args,
                     struct user_route *route)
{
    *route = (struct user_route) {
        .table = args->table ? args->table : ROUTE_TABLE_MAIN,
        .ipv6 = args->ipv6,
        .dst = args->address,
        .plen = args->plen,
        .gateway = args->gateway,
        .src = args->src,
        .mark = args->mark,
    };
    ovs_strlcpy_arrays(route->dev, args->dev);
}

static void
route_add_command(struct unixctl_conn *conn, int argc, const char *argv[],
                  void *aux OVS_UNUSED)
{
    struct route_db *db = ovs_router_db();
    struct route_arguments args;
    struct user_route route;
    char *error;

    if (!parse(conn, argc, argv,
               ROUTE_ARG_PREFIX | ROUTE_ARG_DEV | ROUTE_ARG_GATEWAY
               | ROUTE_ARG_MARK | ROUTE_ARG_SRC | ROUTE_ARG_TABLE, 0, &args)) {
        return;
    }

    user_route_from_args(&args, &route);
    ovs_mutex_lock(&db->mutex);
    error = user_route_add(db, &route);
    ovs_mutex_unlock(&db->mutex);

    if (error) {
        reply_error(conn, "Error while inserting route", error);
    } else {
        unixctl_command_reply(conn, "OK");
    }
}

static void
route_del_command(struct unixctl_conn *conn, int argc, const char *argv[],
                  void *aux OVS_UNUSED)
{
    struct route_db *db = ovs_router_db();
    struct route_arguments args;
    struct user_route route;
    bool found;

    if (!parse(conn, argc, argv,
               ROUTE_ARG_PREFIX | ROUTE_ARG_MARK | ROUTE_ARG_TABLE, 0,
               &args)) {
        return;
    }

    user_route_from_args(&args, &route);
    ovs_mutex_lock(&db->mutex);
    found = user_route_remove(db, &route);
    ovs_mutex_unlock(&db->mutex);

    if (found) {
        unixctl_command_reply(conn, "OK");
    } else {
        unixctl_command_reply_error(conn, "Not found");
    }
}

static void
route_show_command(struct unixctl_conn *conn, int argc, const char *argv[],
                   void *aux OVS_UNUSED)
{
    struct route_db *db = ovs_router_db();
    struct route_arguments args;
    struct route_output output;
    bool found = true;

    if (!parse(conn, argc, argv,
               ROUTE_ARG_TABLE | ROUTE_ARG_ALL | ROUTE_ARG_JSON, 0, &args)) {
        return;
    }

    route_output_init(&output, args.json);
    ovs_mutex_lock(&db->mutex);
    if (args.table) {
        ds_put_format(&output.text, "Route Table #%"PRIu32":\n", args.table);
        found = route_output_put_table(&output, db, args.table);
    } else if (args.given & ROUTE_ARG_ALL) {
        route_output_put_standard_tables(&output, db);
        route_output_put_other_tables(&output, db);
    } else {
        ds_put_cstr(&output.text, "Route Table:\n");
        route_output_put_standard_tables(&output, db);
    }
    ovs_mutex_unlock(&db->mutex);

    if (found) {
        route_output_reply(&output, conn);
    } else {
        char *error = xasprintf("Table 'table=%"PRIu32"' not found",
                                args.table);

        unixctl_command_reply_error(conn, error);
        free(error);
        route_output_uninit(&output);
    }
}

static void
route_lookup_command(struct unixctl_conn *conn, int argc, const char *argv[],
                     void *aux OVS_UNUSED)
{
    struct route_arguments args;
    struct route_result result;
    struct ds s = DS_EMPTY_INITIALIZER;

    if (!parse(conn, argc, argv,
               ROUTE_ARG_ADDRESS | ROUTE_ARG_MARK | ROUTE_ARG_SRC
               | ROUTE_ARG_TOS | ROUTE_ARG_DPORT | ROUTE_ARG_JSON, 0,
               &args)) {
        return;
    }

    if (!tunnel_egress_is_unicast(&args.address)) {
        ipv6_format_mapped(&args.address, &s);
        ds_put_cstr(&s, " is not a unicast address");
        reply_error(conn, "Not found", ds_steal_cstr(&s));
        return;
    }

    struct route_query query = {
        .dst = args.address,
        .src = args.src,
        .mark = args.mark,
        .tos = args.tos,
        .ipproto = IPPROTO_UDP, /* As "ip route get" has it. */
        .dport = htons(args.dport),
    };

    ovs_router_lookup_query(&query, &result, NULL);
    if (result.verdict != ROUTE_OK) {
        route_verdict_format(&query, &result, &s);
        reply_error(conn, "Not found", ds_steal_cstr(&s));
    } else if (!route_is_shown(result.route)) {
        ipv6_format_mapped(&query.dst, &s);
        ds_put_format(&s, " is a %s address",
                      route_type_to_string(result.route->type));
        reply_error(conn, "Not found", ds_steal_cstr(&s));
    } else if (args.json) {
        struct json *json = route_result_to_json(&result);
        char *text = encap_json_to_string(json);

        unixctl_command_reply(conn, text);
        free(text);
        json_destroy(json);
    } else {
        ds_put_cstr(&s, "src ");
        ipv6_format_mapped(&result.src, &s);
        ds_put_cstr(&s, "\ngateway ");
        ipv6_format_mapped(&result.gateway, &s);
        ds_put_cstr(&s, "\ndev ");
        encap_text_put(result.dev, &s);
        ds_put_char(&s, '\n');
        unixctl_command_reply(conn, ds_cstr(&s));
        ds_destroy(&s);
    }
}

/* Rules. */

enum {
    RULE_ARGS = (ROUTE_ARG_IPV4 | ROUTE_ARG_IPV6 | ROUTE_ARG_NOT
                 | ROUTE_ARG_FROM | ROUTE_ARG_TO | ROUTE_ARG_PRIO
                 | ROUTE_ARG_TABLE),
    RULE_REQUIRED_ARGS = ROUTE_ARG_FROM | ROUTE_ARG_TABLE,
};

static void
rule_from_args(const struct route_arguments *args, struct route_rule *rule)
{
    route_rule_init(rule, args->ipv6, args->prio, args->table, ROUTE_USER);
    rule->invert = (args->given & ROUTE_ARG_NOT) != 0;
    rule->from = args->from;
    rule->from_plen = args->from_plen;
    rule->to = args->to;
    rule->to_plen = args->to_plen;
}

/* Returns the first rule that equals 'rule' apart from the priority, unless
 * 'args' give that, and that belongs to 'owner', or NULL. */
static const struct route_rule *
find_rule(const struct route_db *db, const struct route_arguments *args,
          const struct route_rule *rule_, enum route_owner owner)
    OVS_REQUIRES(db->mutex)
{
    const struct route_rules *rules
        = ovsrcu_get(struct route_rules *, &db->rules[rule_->ipv6]);
    struct route_rule rule = *rule_;

    rule.owner = owner;
    for (size_t i = 0; i < route_rules_count(rules); i++) {
        const struct route_rule *other = route_rules_at(rules, i);

        if (!(args->given & ROUTE_ARG_PRIO)) {
            rule.priority = other->priority;
        }
        if (route_rule_equal(&rule, other)) {
            return other;
        }
    }
    return NULL;
}

static bool
priority_is_used(const struct route_db *db, uint32_t priority)
    OVS_REQUIRES(db->mutex)
{
    for (int ipv6 = 0; ipv6 < 2; ipv6++) {
        for (size_t i = 0; i < db->n_rules[ipv6]; i++) {
            if (db->rule_array[ipv6][i].priority == priority) {
                return true;
            }
        }
    }
    return false;
}

/* Adds 'rule', which gets a priority if 'args' give none.  Returns NULL or why
 * it cannot be. */
static char *
add_rule(struct route_db *db, const struct route_arguments *args,
         struct route_rule *rule)
    OVS_REQUIRES(db->mutex)
{
    const struct route_rule *same = find_rule(db, args, rule, ROUTE_USER);

    if (same) {
        struct ds s = DS_EMPTY_INITIALIZER;

        ds_put_cstr(&s, "duplicate of ");
        route_rule_format(same, &s);
        return ds_steal_cstr(&s);
    }
    if (!(args->given & ROUTE_ARG_PRIO)) {
        rule->priority = DEFAULT_PRIORITY_LIMIT - 1;
        while (priority_is_used(db, rule->priority)) {
            if (!--rule->priority) {
                return xasprintf("every priority below %d is used",
                                 DEFAULT_PRIORITY_LIMIT);
            }
        }
    }

    /* What the kernel has in the table must be there when lookups come. */
    route_table_load(db, rule->table, rule->ipv6);
    route_db_add_rule(db, rule);
    return NULL;
}

static void
rule_add_command(struct unixctl_conn *conn, int argc, const char *argv[],
                 void *aux OVS_UNUSED)
{
    struct route_db *db = ovs_router_db();
    struct route_arguments args;
    struct route_rule rule;
    char *error;

    if (!parse(conn, argc, argv, RULE_ARGS, RULE_REQUIRED_ARGS, &args)) {
        return;
    }

    rule_from_args(&args, &rule);
    ovs_mutex_lock(&db->mutex);
    error = add_rule(db, &args, &rule);
    ovs_mutex_unlock(&db->mutex);

    if (error) {
        reply_error(conn, "Failed to insert router rule", error);
    } else {
        unixctl_command_reply(conn, "OK");
    }
}

static void
rule_del_command(struct unixctl_conn *conn, int argc, const char *argv[],
                 void *aux OVS_UNUSED)
{
    struct route_db *db = ovs_router_db();
    const struct route_rule *found;
    struct route_arguments args;
    struct route_rule rule;
    bool of_kernel;

    if (!parse(conn, argc, argv, RULE_ARGS, RULE_REQUIRED_ARGS, &args)) {
        return;
    }

    rule_from_args(&args, &rule);
    ovs_mutex_lock(&db->mutex);
    found = find_rule(db, &args, &rule, ROUTE_USER);
    of_kernel = !found && find_rule(db, &args, &rule, ROUTE_KERNEL);
    if (found) {
        route_db_remove_rule(db, found);
    }
    ovs_mutex_unlock(&db->mutex);

    if (found) {
        unixctl_command_reply(conn, "OK");
    } else {
        reply_error(conn, "Failed to delete router rule",
                    xstrdup(of_kernel ? "this rule is the kernel's"
                            : "no such rule"));
    }
}

static void
rule_show_command(struct unixctl_conn *conn, int argc, const char *argv[],
                  void *aux OVS_UNUSED)
{
    struct route_arguments args;
    struct route_output output;

    if (!parse(conn, argc, argv,
               ROUTE_ARG_IPV4 | ROUTE_ARG_IPV6 | ROUTE_ARG_BOTH
               | ROUTE_ARG_JSON, 0, &args)) {
        return;
    }

    route_output_init(&output, args.json);
    for (int ipv6 = 0; ipv6 < 2; ipv6++) {
        if (ipv6 == args.ipv6 || args.given & ROUTE_ARG_BOTH) {
            route_output_put_rules(&output, ovs_router_db(), ipv6);
        }
    }
    route_output_reply(&output, conn);
}

void
ovs_router_command_init(void)
{
    unixctl_command_register("ovs/route/add",
                             "ip/plen dev [gw] [pkt_mark=mark] [src=src_ip] "
                             "[table=id]", 2, MAX_ARGS,
                             route_add_command, NULL);
    unixctl_command_register("ovs/route/del",
                             "ip/plen [pkt_mark=mark] [table=id]", 1, MAX_ARGS,
                             route_del_command, NULL);
    unixctl_command_register("ovs/route/lookup",
                             "ip_addr [pkt_mark=mark] [src=src_ip] "
                             "[tos=tos] [dport=port] [format=json]", 1,
                             MAX_ARGS,
                             route_lookup_command, NULL);
    unixctl_command_register("ovs/route/show",
                             "[table=all|id] [format=json]", 0, MAX_ARGS,
                             route_show_command, NULL);
    unixctl_command_register("ovs/route/rule/add",
                             "[-4|-6] [not] from=all|ip/plen "
                             "[to=all|ip/plen] [prio=num] "
                             "table=local|main|default|id", 0, MAX_ARGS,
                             rule_add_command, NULL);
    unixctl_command_register("ovs/route/rule/del",
                             "[-4|-6] [not] from=all|ip/plen "
                             "[to=all|ip/plen] [prio=num] "
                             "table=local|main|default|id", 0, MAX_ARGS,
                             rule_del_command, NULL);
    unixctl_command_register("ovs/route/rule/show",
                             "[-4|-6|all] [format=json]", 0, MAX_ARGS,
                             rule_show_command, NULL);
}
