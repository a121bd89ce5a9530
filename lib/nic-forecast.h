/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_FORECAST_H
#define NIC_FORECAST_H 1

/* Whether a NIC will do something, before there is a flow. */

#include <stdbool.h>
#include <stddef.h>

struct ds;

/* True if a NIC can put 'header_len' bytes before packets that come in by DPDK
 * port 'from' and send them by port 'to', as far as that depends on the ports
 * and the state that their NIC is in.  Otherwise false, with the reason, one
 * line without newline, appended to 'reason'.  Both are names of ports.  Main
 * thread. */
bool nic_forecast_encap(const char *from, const char *to, size_t header_len,
                        struct ds *reason);

#endif /* nic-forecast.h */
