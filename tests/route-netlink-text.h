/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ROUTE_NETLINK_TEXT_H
#define ROUTE_NETLINK_TEXT_H 1

#include <stddef.h>

/* Returns what the message of 'size' bytes at 'data' says: an event in words,
 * "irrelevant", or "malformed: " and why.  The caller frees it. */
char *route_netlink_describe(const void *data, size_t size);

#endif /* route-netlink-text.h */
