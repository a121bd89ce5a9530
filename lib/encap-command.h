/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENCAP_COMMAND_H
#define ENCAP_COMMAND_H 1

/* The "encap/..." commands: show endpoints, explain the way of a packet, and
 * tell what is wrong.  None of them changes or sends anything. */

/* Registers the commands.  May be called more than once.  Main thread. */
void encap_command_init(void);

#endif /* encap-command.h */
