/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ROUTE_DUMP_H
#define ROUTE_DUMP_H 1

/* Asking the kernel for lists
 * ===========================
 *
 * Requests to rtnetlink and their replies, on a socket that is used for
 * nothing else.  For the main thread; calls wait for the kernel, which
 * answers at once. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ofpbuf;

/* Called for each entry of a list, a message that is valid during the call.
 * Must not ask for another list. */
typedef void route_dump_func(const struct ofpbuf *msg, void *aux);

/* Asks for the list 'type' (RTM_GET*) with 'header' of 'size' bytes, and for
 * routes of table 'table' alone if that is not 0.  (An old kernel may send
 * those of other tables, too.)  If the list changed on the way, so that the
 * kernel cannot vouch for it, asks again: 'func' sees some entries twice, and
 * possibly some that are gone.
 *
 * Returns 0, ENOENT if there is no such table, EOPNOTSUPP if the kernel has
 * no such list, or another positive errno, when the list may be incomplete.
 * '*split', if not NULL, is set to true if the list came in several parts,
 * between which it may have changed unnoticed, else left alone. */
int route_dump(uint16_t type, const void *header, size_t size,
               uint32_t table, route_dump_func *func, void *aux,
               bool *split);

/* Asks for the link 'ifindex'.  Returns 0 and the message in '*reply', which
 * the caller frees, or a positive errno: ENODEV if there is none. */
int route_dump_link(int ifindex, struct ofpbuf **reply);

/* The number of lists that were asked for. */
uint64_t route_dump_count(void);

#endif /* route-dump.h */
