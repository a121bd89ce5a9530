/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENCAP_TRACE_H
#define ENCAP_TRACE_H 1

/* What "encap/trace" prints: the way of a tunnel packet, step by step
 * ===================================================================
 *
 * From the port it comes in by to the NIC it leaves by, or to the reason why
 * it is dropped.  The decision is that of tunnel_egress_decide(), which
 * translation takes, too.  Nothing is sent, counted or learned.
 *
 * Two things are not looked at: the OpenFlow flows that lead to the tunnel
 * port, and those of the bridge that the packet leaves by.  Main thread. */

#include "compiler.h"

struct ds;
struct json;
struct route_arguments;

/* The arguments of the command, as route_arguments_parse() takes them. */
#define ENCAP_TRACE_ARGS (ROUTE_ARG_IN_PORT | ROUTE_ARG_TUNNEL \
                          | ROUTE_ARG_DST | ROUTE_ARG_SRC \
                          | ROUTE_ARG_OUTER_MARK | ROUTE_ARG_TOS \
                          | ROUTE_ARG_DPORT | ROUTE_ARG_JSON)

/* Explains the packet that 'args' describe: appends lines to 'text' and, if
 * 'json' is not NULL, stores an object there that the caller owns.  Returns
 * NULL, or one line that names the argument that is wrong, which the caller
 * frees; then 'text' and '*json' are untouched. */
char *encap_trace(const struct route_arguments *args, struct ds *text,
                  struct json **json)
    OVS_WARN_UNUSED_RESULT;

#endif /* encap-trace.h */
