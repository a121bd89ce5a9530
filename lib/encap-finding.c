/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-finding.h"

#include <stdlib.h>

#include "encap-json.h"
#include "encap-text.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "util.h"

void
encap_findings_init(struct encap_findings *list)
{
    *list = (struct encap_findings) { .findings = NULL };
}

void
encap_findings_destroy(struct encap_findings *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->findings[i].object);
        free(list->findings[i].problem);
        free(list->findings[i].mend);
    }
    free(list->findings);
}

void
encap_findings_add(struct encap_findings *list, enum encap_severity severity,
                   const char *object, char *problem, char *mend)
{
    if (list->n >= list->allocated) {
        list->findings = x2nrealloc(list->findings, &list->allocated,
                                    sizeof *list->findings);
    }
    list->findings[list->n++] = (struct encap_finding) {
        .severity = severity,
        .object = xstrdup(object),
        .problem = problem,
        .mend = mend,
    };
}

/* Insertion into what is sorted already keeps equals in their order. */
void
encap_findings_sort(struct encap_findings *list)
{
    struct encap_finding *findings = list->findings;

    for (size_t i = 1; i < list->n; i++) {
        struct encap_finding finding = findings[i];
        size_t j;

        for (j = i; j && findings[j - 1].severity > finding.severity; j--) {
            findings[j] = findings[j - 1];
        }
        findings[j] = finding;
    }
}

static const char *
severity_to_string(enum encap_severity severity)
{
    switch (severity) {
    case ENCAP_ERROR:
        return "error";
    case ENCAP_WARNING:
        return "warning";
    case ENCAP_INFO:
        return "info";
    }
    OVS_NOT_REACHED();
}

void
encap_findings_format(const struct encap_findings *list, struct ds *ds)
{
    if (!list->n) {
        ds_put_cstr(ds, "no problem found\n");
    }
    for (size_t i = 0; i < list->n; i++) {
        const struct encap_finding *finding = &list->findings[i];

        ds_put_format(ds, "%-8s ", severity_to_string(finding->severity));
        encap_text_put(finding->object, ds);
        ds_put_cstr(ds, ": ");
        encap_text_put(finding->problem, ds);
        ds_put_char(ds, '\n');
        if (finding->mend) {
            ds_put_format(ds, "%-8s mend: ", "");
            encap_text_put(finding->mend, ds);
            ds_put_char(ds, '\n');
        }
    }
}

struct json *
encap_findings_to_json(const struct encap_findings *list)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < list->n; i++) {
        const struct encap_finding *finding = &list->findings[i];
        struct json *json = json_object_create();

        json_object_put_string(json, "severity",
                               severity_to_string(finding->severity));
        json_object_put_string(json, "object", finding->object);
        json_object_put_string(json, "problem", finding->problem);
        encap_json_put_string(json, "mend", finding->mend);
        json_array_add(array, json);
    }
    return array;
}
