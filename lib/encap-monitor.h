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

struct sset;

/* Takes ownership of 'config', which replaces the one before. */
void encap_monitor_configure(struct encap_config *config);

/* Does nothing (and counts nothing) unless something has changed.  Coverage
 * counters: encap_registry_build, encap_registry_change (one that can alter a
 * choice). */
void encap_monitor_run(void);
void encap_monitor_wait(void);

/* What is wrong with configuration and endpoints, a line each: problems of
 * encap_config, and what shows only on the host (an address that is not local,
 * a pin that is no endpoint, two endpoints on one NIC, ...).  Each line has
 * been logged once, when it appeared.  Valid until the next run. */
const struct sset *encap_monitor_problems(void);

/* The configuration in use; never NULL. */
const struct encap_config *encap_monitor_config(void);

#endif /* encap-monitor.h */
