/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENCAP_JSON_H
#define ENCAP_JSON_H 1

/* Endpoints and what belongs to them as JSON.  What is not known is null, so
 * that each object has all of its members.  Any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "encap-endpoint.h"

struct json;

/* Put member 'name' into 'object': null for in6addr_any, for a NULL or empty
 * string, and for a number that is 'unknown'. */
void encap_json_put_address(struct json *object, const char *name,
                            const struct in6_addr *);
void encap_json_put_string(struct json *object, const char *name,
                           const char *);
void encap_json_put_known(struct json *object, const char *name,
                          long long int number, long long int unknown);

/* The same for numbers and truth values that are always known. */
void encap_json_put_number(struct json *object, const char *name, uint64_t);
void encap_json_put_bool(struct json *object, const char *name, bool);

/* Returns 'json' as text, its members sorted.  The caller owns it.  It is
 * UTF-8 even where names are not (encap_text_put_json()). */
char *encap_json_to_string(const struct json *);

/* An object with name, up, eswitch and numa, and an array of 'n' such.  The
 * caller owns them. */
struct json *encap_json_uplink(const struct encap_registry *,
                               const struct encap_uplink *);
struct json *encap_json_uplinks(const struct encap_registry *,
                                const struct encap_uplink *uplinks, size_t n);

#endif /* encap-json.h */
