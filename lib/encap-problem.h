/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENCAP_PROBLEM_H
#define ENCAP_PROBLEM_H 1

/* What is wrong with endpoints
 * ============================
 *
 * Whatever the configuration says that does not fit together or does not fit
 * this host, a line each for users.  A line stays the same as long as the
 * problem does. */

#include "sset.h"

struct encap_config;
struct encap_host;
struct encap_registry;

struct encap_problems {
    struct sset warnings;
    struct sset infos;          /* All may be as it should be. */
};

#define ENCAP_PROBLEMS_INITIALIZER(PROBLEMS) \
    { SSET_INITIALIZER(&(PROBLEMS)->warnings), \
      SSET_INITIALIZER(&(PROBLEMS)->infos) }

void encap_problems_destroy(struct encap_problems *);

/* Adds what is wrong to 'problems'.  'registry' was built of 'config' and
 * 'host'. */
void encap_problems_find(const struct encap_config *config,
                         const struct encap_host *host,
                         const struct encap_registry *registry,
                         struct encap_problems *problems);

#endif /* encap-problem.h */
