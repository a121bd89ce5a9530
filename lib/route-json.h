/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ROUTE_JSON_H
#define ROUTE_JSON_H 1

/* Routes, rules and the results of lookups as JSON objects, which the caller
 * owns.  Members that say nothing (no mark, no gateway, metric 0) are left
 * out.  Any thread, under RCU. */

#include <stdint.h>

struct json;
struct route;
struct route_db;
struct route_result;
struct route_rule;

/* 'table' is the number of the table that holds 'route'. */
struct json *route_to_json(const struct route_db *, const struct route *,
                           uint32_t table);

struct json *route_rule_to_json(const struct route_rule *);

/* 'result' must be a success. */
struct json *route_result_to_json(const struct route_result *);

#endif /* route-json.h */
