/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OVS_TNL_ROUTER_H
#define OVS_TNL_ROUTER_H 1

/* The tunnel router of ovs-vswitchd
 * =================================
 *
 * Holds the one 'struct route_db' of the process, tells flows when the way
 * out of a tunnel may have changed (tnl_conf_seq), tells tnl-ports which
 * devices may receive tunnel packets, and offers the functions that the base
 * calls.  Packets of tunnels ask through tunnel-egress.h.
 *
 * Lookups: any thread.  All else: the main thread, without the db's mutex. */

#include <sys/types.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "util.h"

#ifdef  __cplusplus
extern "C" {
#endif

struct route_db;
struct route_query;
struct route_result;
struct route_trail;
struct seq;

/* The base's functions.
 *
 * ovs_router_lookup(): the way to 'ip_dst' for a packet with mark 'mark'.
 * '*src', if 'src' is not NULL, is the source (in6addr_any: none given; then
 * it is filled in).  On success stores the device's name (IFNAMSIZ bytes) in
 * 'out_dev' and the gateway, or in6addr_any, in '*gw' and returns true; else
 * leaves all three alone. */
bool ovs_router_lookup(uint32_t mark, const struct in6_addr *ip_dst,
                       char out_dev[], struct in6_addr *src,
                       struct in6_addr *gw);

/* Prepares the router, its commands and a hook that flushes it at exit.  May
 * be called more than once. */
void ovs_router_init(void);

/* Removes all routes but the user's, and so lets go of their devices. */
void ovs_router_flush(void);

void ovs_router_disable_system_routing_table(void);
bool ovs_router_uses_system_routing_table(void);

/* Finds the address of device 'output_bridge' that fits 'ip6_dst' best
 * (longest common subnet), for ARP and ND.  Returns 0 or a positive errno,
 * with '*psrc' untouched.  Any thread. */
int ovs_router_get_netdev_source_address(const struct in6_addr *ip6_dst,
                                         const char output_bridge[],
                                         struct in6_addr *psrc);

/* Our own. */

/* The db that everybody reads.  Any thread. */
struct route_db *ovs_router_db(void);

/* As route_lookup(), with the destination noted, so that a change of the
 * answer revalidates flows.  A user's route whose source is no address of
 * this host any more ends in ROUTE_NO_SOURCE. */
int ovs_router_lookup_query(const struct route_query *, struct route_result *,
                            struct route_trail *);

/* Address 'ip'/'plen' (mapped form) has been given to, or taken from, port
 * 'dev', which the kernel does not know: installs or removes it with its
 * local and its connected route, as owner ROUTE_PORT.  The second address of
 * one subnet on a port brings no connected route of its own. */
void ovs_router_add_port_address(const char *dev, const struct in6_addr *ip,
                                 uint8_t plen);
void ovs_router_remove_port_address(const char *dev, const struct in6_addr *ip,
                                    uint8_t plen);

/* Changes with each change of an address or a link of a device, and with each
 * device that comes or goes.  Any thread. */
struct seq *ovs_router_devices_seq(void);

/* Gives user routes another source where the one that was computed for them
 * is gone from its device.  Called after addresses may have changed; costs
 * nothing if none has. */
void ovs_router_run(void);

/* To be called when packets of some tunnel may have another way: flows are
 * looked at again, and so is the status of tunnel ports.  Any thread. */
void ovs_router_ways_changed(void);

/* The number behind route_table_get_change_seq(); bumped with tnl_conf_seq.
 * Any thread. */
uint64_t ovs_router_change_seq(void);

#ifdef  __cplusplus
}
#endif

#endif /* ovs-router.h */
