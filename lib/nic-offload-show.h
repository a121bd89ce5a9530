/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_OFFLOAD_SHOW_H
#define NIC_OFFLOAD_SHOW_H 1

/* What NICs do for tunnels, for users: "encap/offload-show".  Main thread. */

struct ds;
struct json;

/* Appends it to 'ds': a block for each NIC, and one for flows that have to do
 * with none. */
void nic_offload_show_format(struct ds *ds);

/* Returns the same as JSON, which the caller owns. */
struct json *nic_offload_show_to_json(void);

#endif /* nic-offload-show.h */
