/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-check-private.h"

#include <inttypes.h>
#include <stdlib.h>

#include "encap-bridge.h"
#include "encap-foreign.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "util.h"

/* Appends "br-nic2 (nic2, nic3)": a bridge, and its NICs as far as they are
 * known. */
static void
put_nic(const struct encap_registry *registry, const char *bridge,
        struct ds *s)
{
    size_t n;
    struct encap_uplink *uplinks = encap_bridge_uplinks(registry, bridge, &n);

    ds_put_cstr(s, bridge);
    for (size_t i = 0; i < n; i++) {
        ds_put_format(s, "%s%s", i ? ", " : " (", uplinks[i].name);
    }
    if (n) {
        ds_put_char(s, ')');
    }
    free(uplinks);
}

/* No command mends it: who sends them, or the fabric, must. */
static void
report(const struct encap_check *check, const struct encap_endpoint *endpoint,
       const struct encap_foreign *foreign)
{
    char ip[INET6_ADDRSTRLEN];
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_cstr(&s, "tunnel packets come in by ");
    put_nic(check->registry, foreign->bridge, &s);
    ds_put_format(&s, ", not by %s: %"PRIu64" %s, the last %lld s ago",
                  endpoint->bridge ? endpoint->bridge : endpoint->dev,
                  foreign->n_packets,
                  foreign->refused ? "refused (encap-strict-rx)" : "taken",
                  foreign->last_ms / 1000);
    encap_findings_add(check->findings,
                       foreign->refused ? ENCAP_ERROR : ENCAP_WARNING,
                       ipv6_string_mapped(ip, &foreign->ip),
                       ds_steal_cstr(&s), NULL);
}

void
encap_check_foreign(const struct encap_check *check)
{
    struct encap_foreign *list;
    size_t n;

    list = encap_foreign_list(&n);
    for (size_t i = 0; i < n; i++) {
        const struct encap_endpoint *endpoint
            = encap_registry_find(check->registry, &list[i].ip);

        if (endpoint && endpoint->state != ENCAP_ABSENT) {
            report(check, endpoint, &list[i]);
        }
    }
    free(list);
}
