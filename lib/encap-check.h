/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENCAP_CHECK_H
#define ENCAP_CHECK_H 1

/* What is wrong with this host's endpoints
 * ========================================
 *
 * Looks at what is known already: configuration, registry, routes, the cache
 * of neighbors, what was asked of them, what came in by which NIC, netdevs and
 * sysctls.  Nothing is sent and nothing changes.
 * Documentation/encapsulation.rst lists what is looked for.  Main thread. */

struct encap_findings;

/* Appends everything that is found to 'findings', and sorts them. */
void encap_check(struct encap_findings *findings);

#endif /* encap-check.h */
