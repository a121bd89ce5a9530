/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ROUTE_TABLE_H
#define ROUTE_TABLE_H 1

/* The mirror of the kernel's routing state
 * ========================================
 *
 * One rtnetlink socket listens to links, addresses, next-hop objects, rules
 * and routes, in the order in which the kernel sends them; each message is
 * one update of the route_db (route-update.h).  The kernel is asked for whole
 * lists only at the start, when its messages were lost (ENOBUFS), and for one
 * table when a rule names that table first.  Readers go on with the state
 * they have meanwhile: a dump confirms or adds, and what it did not confirm
 * is removed at its end.
 *
 * The functions are the base's own of that name, for its callers, and are for
 * the main thread. */

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "openvswitch/types.h"

/* A number that changes whenever a tunnel's way out may have changed. */
uint64_t route_table_get_change_seq(void);

/* Starts the mirror, unless system routing tables are disabled, and the
 * router with it.  Called once. */
void route_table_init(void);

/* Applies what the kernel has sent, a bounded part of it. */
void route_table_run(void);
void route_table_wait(void);

/* True if all that the kernel has sent is applied. */
bool route_table_is_idle(void);

/* For the base's callers: always false, the router knows all routes. */
bool route_table_fallback_lookup(const struct in6_addr *ip6_dst,
                                 char name[], struct in6_addr *gw6);

/* Reads table 'id' into the db if it is not held already, before a rule makes
 * it reachable.  No-op while system routing tables are disabled.  The caller
 * holds the db's mutex. */
struct route_db;
void route_table_load(struct route_db *, uint32_t id, bool ipv6);

#endif /* route-table.h */
