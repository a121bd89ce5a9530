/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-check-private.h"

#include <stdlib.h>
#include <string.h>

#include "neighbor-peek.h"
#include "neighbor-request.h"
#include "openvswitch/dynamic-string.h"
#include "ovs-router.h"
#include "packets.h"
#include "route-lookup.h"
#include "util.h"

/* Neighbors that are told one by one. */
enum { MAX_NEIGHBORS = 32 };

/* No command mends it: the other host must answer. */
static void
report(const struct encap_check *check, const struct neighbor_silence *silence)
{
    bool device_is_bridge = !strcmp(silence->dev, silence->bridge);
    struct ds s = DS_EMPTY_INITIALIZER;
    char ip[INET6_ADDRSTRLEN];
    struct eth_addr mac;
    bool known;

    known = neighbor_peek(silence->bridge, &silence->target, &mac);
    ds_put_format(&s, "neighbor %s %s on %s",
                  ipv6_string_mapped(ip, &silence->target),
                  known ? "no longer answers" : "does not answer",
                  silence->dev);
    if (!device_is_bridge) {
        ds_put_format(&s, " of %s", silence->bridge);
    }
    ds_put_format(&s, ": asked %u times in %lld s", silence->n,
                  silence->ms / 1000);
    if (known) {
        ds_put_format(&s, ", packets still go to "ETH_ADDR_FMT,
                      ETH_ADDR_ARGS(mac));
    } else if (route_lookup_is_local(ovs_router_db(), &silence->target)) {
        ds_put_cstr(&s, ", it is an address of this host");
    }
    encap_findings_add(check->findings, known ? ENCAP_WARNING : ENCAP_ERROR,
                       ipv6_string_mapped(ip, &silence->source),
                       ds_steal_cstr(&s), NULL);
}

bool
encap_check_is_silent(const struct encap_check *check, const char *bridge,
                      const struct in6_addr *ip)
{
    for (size_t i = 0; i < check->n_silences; i++) {
        const struct neighbor_silence *silence = &check->silences[i];

        if (!strcmp(silence->bridge, bridge)
            && ipv6_addr_equals(&silence->target, ip)) {
            return true;
        }
    }
    return false;
}

void
encap_check_neighbors(const struct encap_check *check)
{
    for (size_t i = 0; i < check->n_silences && i < MAX_NEIGHBORS; i++) {
        report(check, &check->silences[i]);
    }
    if (check->n_silences > MAX_NEIGHBORS) {
        encap_findings_add(check->findings, ENCAP_ERROR, "neighbors",
                           xasprintf("%"PRIuSIZE" more do not answer",
                                     check->n_silences - MAX_NEIGHBORS),
                           NULL);
    }
}
