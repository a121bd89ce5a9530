/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#ifndef ESWITCH_CONFIG_H
#define ESWITCH_CONFIG_H 1

/* What has to be defined before any other header is read.  The model is built
 * without a tree of Open vSwitch, so this is not the base's <config.h>. */

#define _GNU_SOURCE 1
#define ALLOW_EXPERIMENTAL_API 1

#endif /* config.h */
