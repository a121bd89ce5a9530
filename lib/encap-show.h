/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENCAP_SHOW_H
#define ENCAP_SHOW_H 1

/* What "encap/show" prints: the policy, a block for each endpoint, the pins.
 * The JSON has the same in one object: see Documentation/encapsulation.rst.
 *
 * Any thread that may read the registry. */

struct ds;
struct encap_flow_sums;
struct encap_registry;
struct json;

/* Appends the text, whole lines. */
void encap_show_format(const struct encap_registry *,
                       const struct encap_flow_sums *, struct ds *);

/* Returns the JSON, which the caller owns. */
struct json *encap_show_to_json(const struct encap_registry *,
                                const struct encap_flow_sums *);

#endif /* encap-show.h */
