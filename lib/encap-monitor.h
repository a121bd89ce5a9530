/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENCAP_MONITOR_H
#define ENCAP_MONITOR_H 1

/* Keeps the registry of endpoints current
 * =======================================
 *
 * Builds it from the configuration, from the addresses and links that the
 * tunnel router mirrors (route-db.h), and from the netdevs of the bridges'
 * ports, and publishes it: when something of that has changed, and at no other
 * time.  A change that can alter a choice makes flows revalidate.
 *
 * Main thread. */

#include "encap-config.h"

/* Takes ownership of 'config', which replaces the one before. */
void encap_monitor_configure(struct encap_config *config);

/* Does nothing (and counts nothing) unless something has changed.  Coverage
 * counters: encap_registry_build, encap_registry_change (one that can alter a
 * choice).  Each problem (encap-problem.h) is logged once, when it appears. */
void encap_monitor_run(void);
void encap_monitor_wait(void);

/* The configuration in use; never NULL. */
const struct encap_config *encap_monitor_config(void);

#endif /* encap-monitor.h */
