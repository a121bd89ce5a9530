/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENCAP_MEND_H
#define ENCAP_MEND_H 1

/* Commands that mend rules and routes of endpoints
 * ================================================
 *
 * What the commands depend on is looked up once, for all of one answer, so
 * that they agree: no two of them take one table.  Endpoints are named by
 * their index in the registry, which must outlive the lookups.  Main thread,
 * without quiescing in between. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

struct encap_registry;
struct route_fib;
struct route_rule;

struct encap_mends;

struct encap_mends *encap_mends_create(const struct encap_registry *);
void encap_mends_destroy(struct encap_mends *);

/* The first rule that sends packets from the endpoint, and not those from
 * anywhere, to a table of its own, or NULL; '*fib' is that table, or NULL. */
const struct route_rule *encap_mends_rule(const struct encap_mends *,
                                          size_t index,
                                          const struct route_fib **fib);

/* True if packets from the endpoint come to what the commands below make
 * before they come to 'rule' (NULL: no rule), or with it. */
bool encap_mends_precede(const struct encap_mends *, size_t index,
                         const struct route_rule *rule);

/* The commands that give the endpoint a rule, if it has none of its own, and a
 * way out by its own device.  The caller owns the string. */
char *encap_mend_routes(struct encap_mends *, size_t index);

/* The command that gives the endpoint, which is on no bridge, a way to
 * 'remote' by whatever bridge the user means: the default route only in a
 * table that is for its packets alone.  The caller owns the string. */
char *encap_mend_any_nic(const struct encap_mends *, size_t index,
                         const struct in6_addr *remote);

#endif /* encap-mend.h */
