/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ROUTE_OUTPUT_H
#define ROUTE_OUTPUT_H 1

/* What the "ovs/route" commands print
 * ===================================
 *
 * The same routes and rules as lines of text or as an array of JSON objects.
 *
 * Main thread. */

#include <stdbool.h>
#include <stdint.h>

#include "openvswitch/dynamic-string.h"
#include "route-db.h"

struct json;
struct unixctl_conn;

struct route_output {
    bool json;
    struct ds text;
    struct json *array;
};

/* Prepares '*output'; route_output_reply() or _uninit() frees it. */
void route_output_init(struct route_output *output, bool json);
void route_output_uninit(struct route_output *output);

/* Sends everything as the successful reply to a command. */
void route_output_reply(struct route_output *output,
                        struct unixctl_conn *conn);

/* True if users see 'route': not so what is in the kernel's tables but sends
 * no packet to one host. */
bool route_is_shown(const struct route *route);

/* Appends both families of table 'id', or tables local, main and default, or
 * all others in the order of their numbers, with the number in each line.
 * route_output_put_table() returns false if there is no such table. */
bool route_output_put_table(struct route_output *output,
                            const struct route_db *db, uint32_t id)
    OVS_REQUIRES(db->mutex);
void route_output_put_standard_tables(struct route_output *output,
                                      const struct route_db *db)
    OVS_REQUIRES(db->mutex);
void route_output_put_other_tables(struct route_output *output,
                                   const struct route_db *db)
    OVS_REQUIRES(db->mutex);

/* Appends the rules of one family. */
void route_output_put_rules(struct route_output *output,
                            const struct route_db *db, bool ipv6);

#endif /* route-output.h */
