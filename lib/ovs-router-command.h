/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OVS_ROUTER_COMMAND_H
#define OVS_ROUTER_COMMAND_H 1

/* The "ovs/route/..." commands: routes and rules of users are added and
 * removed, and all that the router knows is shown, as text or as JSON. */

/* Registers the commands.  Main thread. */
void ovs_router_command_init(void);

#endif /* ovs-router-command.h */
