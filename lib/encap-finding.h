/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENCAP_FINDING_H
#define ENCAP_FINDING_H 1

/* What is wrong with a host, for users: how bad, with what, and how to mend
 * it.  A plain list; no thread rules. */

#include <stddef.h>

#include "compiler.h"

struct ds;
struct json;

enum encap_severity {
    ENCAP_ERROR,                /* Packets are lost or take a wrong way. */
    ENCAP_WARNING,              /* They may, or will when something fails. */
    ENCAP_INFO,                 /* Nothing is broken, but could be better. */
};

struct encap_finding {
    enum encap_severity severity;
    char *object;               /* An address, a port, a rule, ... */
    char *problem;              /* One line without period. */
    char *mend;                 /* A command of the shell, or NULL. */
};

struct encap_findings {
    struct encap_finding *findings;
    size_t n, allocated;
};

void encap_findings_init(struct encap_findings *);
void encap_findings_destroy(struct encap_findings *);

/* Appends a finding.  'object' is copied; 'mend' (may be NULL) and 'problem'
 * become the list's own. */
void encap_findings_add(struct encap_findings *, enum encap_severity,
                        const char *object, char *problem, char *mend);

/* Puts the worst first; of equal severity, those added earlier. */
void encap_findings_sort(struct encap_findings *);

/* Appends a line for each finding and one for what mends it, or "no problem
 * found".  Control characters are escaped. */
void encap_findings_format(const struct encap_findings *, struct ds *);

/* Returns an array of objects with severity, object, problem and mend (null
 * if there is no command), which the caller owns. */
struct json *encap_findings_to_json(const struct encap_findings *);

#endif /* encap-finding.h */
