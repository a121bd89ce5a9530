/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-select.h"

#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "util.h"

/* One choice on its way. */
struct selection {
    const struct encap_registry *registry;
    const struct encap_query *query;
    struct encap_choice *choice;
    bool ipv6;                  /* Family of the destination. */
};

static enum encap_verdict
take(struct selection *s, enum encap_step step, const struct in6_addr *src,
     const struct encap_endpoint *endpoint)
{
    s->choice->step = step;
    s->choice->src = *src;
    s->choice->endpoint = endpoint;
    return s->choice->verdict = ENCAP_OK;
}

static enum encap_verdict
refuse(struct selection *s, enum encap_verdict verdict, enum encap_step step,
       const struct encap_endpoint *endpoint)
{
    s->choice->step = step;
    s->choice->src = in6addr_any;
    s->choice->endpoint = endpoint;
    return s->choice->verdict = verdict;
}

/* Notes that 'step' chose nothing.  Returns false. */
static bool
skip(struct selection *s, enum encap_step step, enum encap_skip why,
     const struct in6_addr *ip)
{
    struct encap_choice *choice = s->choice;
    size_t i = choice->n_skipped++;

    choice->skipped[i].step = step;
    choice->skipped[i].why = why;
    choice->skipped[i].ip = *ip;
    return false;
}

static bool
is_eligible(const struct selection *s, const struct encap_endpoint *endpoint)
{
    return endpoint && (s->choice->failover
                        || encap_endpoint_is_configured(endpoint));
}

/* The steps from 3 on return true if they have chosen. */

/* Takes 'endpoint', which is at 'ip' (NULL: there is none), if it is fit. */
static bool
choose_endpoint(struct selection *s, enum encap_step step,
                const struct in6_addr *ip,
                const struct encap_endpoint *endpoint)
{
    if (!endpoint) {
        return skip(s, step, ENCAP_SKIP_UNKNOWN, ip);
    } else if (encap_is_ipv6(ip) != s->ipv6) {
        return skip(s, step, ENCAP_SKIP_FAMILY, ip);
    } else if (encap_endpoint_state(endpoint) != ENCAP_UP) {
        return skip(s, step, ENCAP_SKIP_DOWN, ip);
    }
    take(s, step, ip, endpoint);
    return true;
}

/* Takes the first of 'group' that is fit.  Configured endpoints come before
 * others: if the first one is not eligible, none is. */
static bool
choose_from_group(struct selection *s, enum encap_step step,
                  const struct encap_group *group)
{
    const struct encap_endpoint *candidates[] = {
        group->up[s->ipv6], group->first[s->ipv6], group->first[!s->ipv6],
    };

    for (size_t i = 0; i < ARRAY_SIZE(candidates); i++) {
        const struct encap_endpoint *endpoint = candidates[i];

        if (is_eligible(s, endpoint)) {
            return choose_endpoint(s, step, &endpoint->ip, endpoint);
        }
    }
    return skip(s, step, ENCAP_SKIP_UNSET, &in6addr_any);
}

static bool
choose_pin(struct selection *s, const struct encap_port *port)
{
    if (!port || !ipv6_addr_is_set(&port->pin)) {
        return skip(s, ENCAP_BY_PIN, ENCAP_SKIP_UNSET, &in6addr_any);
    }
    return choose_endpoint(s, ENCAP_BY_PIN, &port->pin,
                           encap_registry_find(s->registry, &port->pin));
}

static bool
choose_nic(struct selection *s, const struct encap_port *port)
{
    if (!port || !port->eswitch) {
        return skip(s, ENCAP_BY_NIC, ENCAP_SKIP_UNSET, &in6addr_any);
    }
    return choose_from_group(s, ENCAP_BY_NIC,
                             &s->registry->by_eswitch[port->eswitch]);
}

static bool
choose_route(struct selection *s)
{
    const struct encap_query *query = s->query;
    const struct encap_endpoint *endpoint;
    struct in6_addr src;

    if (!is_eligible(s, s->registry->all.first[s->ipv6])) {
        return skip(s, ENCAP_BY_ROUTE, ENCAP_SKIP_UNSET, &in6addr_any);
    }
    if (!query->prefers(query, &src)) {
        return skip(s, ENCAP_BY_ROUTE, ENCAP_SKIP_NO_ROUTE, &in6addr_any);
    }

    endpoint = encap_registry_find(s->registry, &src);
    if (endpoint || s->choice->failover) {
        return choose_endpoint(s, ENCAP_BY_ROUTE, &src, endpoint);
    }
    take(s, ENCAP_BY_ROUTE, &src, NULL);
    return true;
}

/* What is left if no step has chosen. */
static enum encap_verdict
choose_first(struct selection *s)
{
    const struct encap_group *all = &s->registry->all;
    const struct encap_endpoint *up = all->up[s->ipv6];
    const struct encap_endpoint *first = all->first[s->ipv6];

    if (is_eligible(s, up) && encap_endpoint_state(up) == ENCAP_UP) {
        return take(s, ENCAP_N_STEPS, &up->ip, up);
    } else if (is_eligible(s, first)) {
        return refuse(s, ENCAP_REFUSED_ALL_DOWN, ENCAP_N_STEPS, first);
    }
    return take(s, ENCAP_N_STEPS, &in6addr_any, NULL);
}

/* Steps 3 to 6 and what is left after them. */
static enum encap_verdict
choose(struct selection *s)
{
    const struct encap_registry *registry = s->registry;
    const struct encap_port *port = NULL;

    if (s->query->ingress) {
        port = encap_registry_find_port(registry, s->query->ingress);
    }
    for (size_t i = 0; i < registry->n_order; i++) {
        enum encap_step step = registry->order[i];

        if (step == ENCAP_BY_PIN ? choose_pin(s, port)
            : step == ENCAP_BY_NIC ? choose_nic(s, port)
            : step == ENCAP_BY_DEFAULT
            ? choose_from_group(s, step, &registry->defaults)
            : choose_route(s)) {
            return s->choice->verdict;
        }
    }
    return choose_first(s);
}

/* Steps 1 and 2: 'step' demands 'src'. */
static enum encap_verdict
demand(struct selection *s, enum encap_step step, const struct in6_addr *src)
{
    const struct encap_registry *registry = s->registry;
    const struct encap_endpoint *endpoint = encap_registry_find(registry, src);

    if (!endpoint || encap_endpoint_state(endpoint) == ENCAP_UP
        || encap_is_ipv6(src) != s->ipv6
        || (!registry->failover
            && (endpoint->state == ENCAP_ABSENT
                || !encap_endpoint_is_configured(endpoint)))) {
        return take(s, step, src, endpoint);
    } else if (!registry->failover) {
        return refuse(s, ENCAP_REFUSED_DOWN, step, endpoint);
    }
    s->choice->failover = true;
    skip(s, step, ENCAP_SKIP_DOWN, src);
    return choose(s);
}

enum encap_verdict
encap_select(const struct encap_registry *registry,
             const struct encap_query *query, struct encap_choice *choice)
{
    struct selection s = {
        .registry = registry,
        .query = query,
        .choice = choice,
        .ipv6 = encap_is_ipv6(&query->dst),
    };

    choice->failover = false;
    choice->n_skipped = 0;
    if (ipv6_addr_is_set(&query->tunnel_src)) {
        return demand(&s, ENCAP_BY_TUNNEL, &query->tunnel_src);
    }
    skip(&s, ENCAP_BY_TUNNEL, ENCAP_SKIP_UNSET, &in6addr_any);
    if (ipv6_addr_is_set(&query->flow_src)) {
        return demand(&s, ENCAP_BY_FLOW, &query->flow_src);
    }
    skip(&s, ENCAP_BY_FLOW, ENCAP_SKIP_UNSET, &in6addr_any);
    return choose(&s);
}

/* For users. */

static void
format_family(const struct encap_query *query, struct ds *s)
{
    ds_put_cstr(s, encap_is_ipv6(&query->dst) ? "IPv6" : "IPv4");
}

/* "pin 10.1.0.1 of port vm1" */
static void
format_step(const struct encap_query *query, enum encap_step step,
            const struct in6_addr *ip, struct ds *s)
{
    ds_put_format(s, "%s ", (step == ENCAP_BY_ROUTE ? "preferred source"
                             : encap_step_to_string(step)));
    ipv6_format_mapped(ip, s);
    if (step == ENCAP_BY_PIN || step == ENCAP_BY_NIC) {
        ds_put_format(s, " of port %s", query->ingress);
    }
}

/* Appends why the 'i'th of the steps passed over chose nothing. */
static void
format_skip(const struct encap_registry *registry,
            const struct encap_query *query,
            const struct encap_choice *choice, size_t i, struct ds *s)
{
    enum encap_step step = choice->skipped[i].step;
    const struct in6_addr *ip = &choice->skipped[i].ip;
    const struct encap_endpoint *endpoint;

    if (choice->skipped[i].why == ENCAP_SKIP_NO_ROUTE) {
        ds_put_cstr(s, "no route to ");
        ipv6_format_mapped(&query->dst, s);
        return;
    }

    format_step(query, step, ip, s);
    switch (choice->skipped[i].why) {
    case ENCAP_SKIP_UNKNOWN:
        ds_put_cstr(s, " is no endpoint");
        break;
    case ENCAP_SKIP_FAMILY:
        ds_put_cstr(s, " is not ");
        format_family(query, s);
        break;
    case ENCAP_SKIP_DOWN:
        endpoint = encap_registry_find(registry, ip);
        ds_put_cstr(s, " is down: ");
        encap_endpoint_format_reason(endpoint, s);
        break;
    case ENCAP_SKIP_UNSET:
    case ENCAP_SKIP_NO_ROUTE:
    default:
        OVS_NOT_REACHED();
    }
}

/* Appends, in parentheses, the steps passed over, but for those that there was
 * nothing to ask in. */
static void
format_skips(const struct encap_registry *registry,
             const struct encap_query *query,
             const struct encap_choice *choice, struct ds *s)
{
    const char *separator = " (";

    for (size_t i = 0; i < choice->n_skipped; i++) {
        if (choice->skipped[i].why != ENCAP_SKIP_UNSET) {
            ds_put_cstr(s, separator);
            format_skip(registry, query, choice, i, s);
            separator = "; ";
        }
    }
    if (separator[0] == ';') {
        ds_put_char(s, ')');
    }
}

static void
format_source(const struct encap_query *query,
              const struct encap_choice *choice, struct ds *s)
{
    ds_put_cstr(s, choice->endpoint ? "endpoint " : "source ");
    ipv6_format_mapped(&choice->src, s);

    switch (choice->step) {
    case ENCAP_BY_PIN:
    case ENCAP_BY_NIC:
        ds_put_format(s, " by %s of port %s",
                      encap_step_to_string(choice->step), query->ingress);
        break;
    case ENCAP_N_STEPS:
        ds_put_cstr(s, ", the first that is up");
        break;
    case ENCAP_BY_TUNNEL:
    case ENCAP_BY_FLOW:
    case ENCAP_BY_DEFAULT:
    case ENCAP_BY_ROUTE:
    default:
        ds_put_format(s, " by %s", encap_step_to_string(choice->step));
        break;
    }
    if (choice->endpoint
        && encap_endpoint_state(choice->endpoint) != ENCAP_UP) {
        ds_put_cstr(s, ", but ");
        encap_endpoint_format_reason(choice->endpoint, s);
    }
    if (choice->failover) {
        ds_put_cstr(s, ", for failover");
    }
}

void
encap_choice_format(const struct encap_registry *registry,
                    const struct encap_query *query,
                    const struct encap_choice *choice, struct ds *s)
{
    switch (choice->verdict) {
    case ENCAP_OK:
        if (ipv6_addr_is_set(&choice->src)) {
            format_source(query, choice, s);
        } else {
            ds_put_cstr(s, "routing decides, no ");
            format_family(query, s);
            ds_put_cstr(s, " endpoint is configured");
        }
        break;

    case ENCAP_REFUSED_DOWN:
        ds_put_cstr(s, "endpoint ");
        ipv6_format_mapped(&choice->endpoint->ip, s);
        ds_put_format(s, " (%s) is down: ",
                      encap_step_to_string(choice->step));
        encap_endpoint_format_reason(choice->endpoint, s);
        break;

    case ENCAP_REFUSED_ALL_DOWN:
        ds_put_cstr(s, "no ");
        format_family(query, s);
        ds_put_cstr(s, " endpoint is up");
        break;
    }
    format_skips(registry, query, choice, s);
}
