/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-command.h"

#include <stdbool.h>
#include <stdlib.h>

#include "encap-check.h"
#include "encap-endpoint.h"
#include "encap-finding.h"
#include "encap-flow.h"
#include "encap-json.h"
#include "encap-monitor.h"
#include "encap-show.h"
#include "encap-trace.h"
#include "nic-offload-show.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "ovs-thread.h"
#include "route-argument.h"
#include "route-table.h"
#include "unixctl.h"

/* More than any command takes, so that the parser says what is wrong. */
enum { MAX_ARGS = 16 };

/* Parses the arguments of a command.  Returns false after an error, which has
 * been replied.  What happened to this host before the command counts. */
static bool
parse(struct unixctl_conn *conn, int argc, const char *argv[],
      uint32_t allowed, struct route_arguments *args)
{
    char *error = route_arguments_parse(argc, argv, allowed, 0, args);

    if (error) {
        unixctl_command_reply_error(conn, error);
        free(error);
        return false;
    }
    route_table_run();
    encap_monitor_run();
    return true;
}

/* Replies with 'json', which is consumed, if that is not NULL, else with
 * 'text', which is destroyed in any case. */
static void
reply(struct unixctl_conn *conn, struct json *json, struct ds *text)
{
    if (json) {
        char *s = encap_json_to_string(json);

        unixctl_command_reply(conn, s);
        free(s);
        json_destroy(json);
    } else {
        unixctl_command_reply(conn, ds_cstr(text));
    }
    ds_destroy(text);
}

static void
show_command(struct unixctl_conn *conn, int argc, const char *argv[],
             void *aux OVS_UNUSED)
{
    const struct encap_registry *registry;
    struct ds text = DS_EMPTY_INITIALIZER;
    struct encap_flow_sums sums;
    struct route_arguments args;
    struct json *json = NULL;

    if (!parse(conn, argc, argv, ROUTE_ARG_JSON, &args)) {
        return;
    }

    encap_flow_sums_init(&sums);
    encap_flow_sums_collect(&sums);
    registry = encap_registry_get();
    if (args.json) {
        json = encap_show_to_json(registry, &sums);
    } else {
        encap_show_format(registry, &sums, &text);
    }
    encap_flow_sums_destroy(&sums);
    reply(conn, json, &text);
}

static void
trace_command(struct unixctl_conn *conn, int argc, const char *argv[],
              void *aux OVS_UNUSED)
{
    struct ds text = DS_EMPTY_INITIALIZER;
    struct route_arguments args;
    struct json *json = NULL;
    char *error;

    if (!parse(conn, argc, argv, ENCAP_TRACE_ARGS, &args)) {
        return;
    }

    error = encap_trace(&args, &text, args.json ? &json : NULL);
    if (error) {
        unixctl_command_reply_error(conn, error);
        free(error);
        ds_destroy(&text);
    } else {
        reply(conn, json, &text);
    }
}

static void
check_command(struct unixctl_conn *conn, int argc, const char *argv[],
              void *aux OVS_UNUSED)
{
    struct ds text = DS_EMPTY_INITIALIZER;
    struct encap_findings findings;
    struct route_arguments args;
    struct json *json = NULL;

    if (!parse(conn, argc, argv, ROUTE_ARG_JSON, &args)) {
        return;
    }

    encap_findings_init(&findings);
    encap_check(&findings);
    if (args.json) {
        json = encap_findings_to_json(&findings);
    } else {
        encap_findings_format(&findings, &text);
    }
    encap_findings_destroy(&findings);
    reply(conn, json, &text);
}

static void
offload_show_command(struct unixctl_conn *conn, int argc, const char *argv[],
                     void *aux OVS_UNUSED)
{
    struct ds text = DS_EMPTY_INITIALIZER;
    struct route_arguments args;
    struct json *json = NULL;

    if (!parse(conn, argc, argv, ROUTE_ARG_JSON, &args)) {
        return;
    }
    if (args.json) {
        json = nic_offload_show_to_json();
    } else {
        nic_offload_show_format(&text);
    }
    reply(conn, json, &text);
}

void
encap_command_init(void)
{
    static struct ovsthread_once once = OVSTHREAD_ONCE_INITIALIZER;

    if (ovsthread_once_start(&once)) {
        unixctl_command_register("encap/show", "[format=json]", 0, MAX_ARGS,
                                 show_command, NULL);
        unixctl_command_register("encap/trace",
                                 "[in_port=port] tunnel=port|dst=ip [src=ip] "
                                 "[mark=mark] [tos=tos] [dport=port] "
                                 "[format=json]", 0, MAX_ARGS,
                                 trace_command, NULL);
        unixctl_command_register("encap/check", "[format=json]", 0, MAX_ARGS,
                                 check_command, NULL);
        unixctl_command_register("encap/offload-show", "[format=json]", 0,
                                 MAX_ARGS, offload_show_command, NULL);
        ovsthread_once_done(&once);
    }
}
