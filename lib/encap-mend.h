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
#include <stdint.h>

struct encap_registry;
struct route_fib;
struct route_result;
struct route_rule;

struct encap_mends;

struct encap_mends *encap_mends_create(const struct encap_registry *);
void encap_mends_destroy(struct encap_mends *);

/* True if the kernel has 'table'. */
typedef bool encap_mend_has_table(uint32_t table);

/* Returns the first table behind 'table' that is neither one of the standard
 * ones nor of the 'n' in 'used', which are in order, nor one that the kernel
 * has, which '*kernel_has' tells unless it is NULL.  A kernel that has too
 * many tables in a row has any, as for a family that it does not know at all:
 * '*kernel_has' becomes NULL, and it is not asked again.  Any thread. */
uint32_t encap_mend_next_table(uint32_t table, const uint32_t *used, size_t n,
                               encap_mend_has_table **kernel_has);

/* The first rule that sends packets from the endpoint, and not those from
 * anywhere, to a table of its own, or NULL; '*fib' is that table, or NULL. */
const struct route_rule *encap_mends_rule(const struct encap_mends *,
                                          size_t index,
                                          const struct route_fib **fib);

/* True if packets from the endpoint whose lookup gave 'result' take another
 * way after the commands below: they come to what those make before they come
 * to what decided. */
bool encap_mends_help(const struct encap_mends *, size_t index,
                      const struct route_result *result);

/* The commands that give the endpoint a rule, if it has none of its own, and a
 * way out by its own device.  The caller owns the string. */
char *encap_mend_routes(struct encap_mends *, size_t index);

/* The command that gives the endpoint, which is on no bridge, a way to
 * 'remote' by whatever bridge the user means: the default route only in a
 * table that is for its packets alone.  The caller owns the string. */
char *encap_mend_any_nic(const struct encap_mends *, size_t index,
                         const struct in6_addr *remote);

#endif /* encap-mend.h */
