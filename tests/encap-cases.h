/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENCAP_CASES_H
#define ENCAP_CASES_H 1

/* Choices known to be right, written by hand from the documentation. */

#include "encap-select.h"

struct encap_case {
    const char *name;

    /* The host, see encap_scene_parse(). */
    const char *endpoints;
    const char *ports;
    const char *order;
    bool failover;

    /* The question; NULL: none. */
    const char *local_ip;
    const char *tun_src;
    const char *dst;
    const char *ingress;
    const char *prefers;

    /* The answer. */
    enum encap_verdict verdict;
    enum encap_step step;
    bool failed_over;
    const char *src;            /* NULL: in6addr_any. */
    const char *endpoint;       /* NULL: none. */
    const char *skipped;        /* "STEP WHY[ IP]", separated by commas, those
                                 * of steps 1 and 2 that are unset left out. */
    const char *text;
};

extern const struct encap_case encap_cases[];
extern const size_t n_encap_cases;

#endif /* encap-cases.h */
