/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-twin.h"

#include <string.h>

/* Some endpoints, in order. */
struct list {
    const struct encap_twin_endpoint *items[ENCAP_TWIN_MAX_ENDPOINTS];
    size_t n;
};

enum rule {
    OF_FAMILY,                  /* Of the destination. */
    UP,
    CONFIGURED,
    DEFAULT,
};

/* Addresses are compared, and families told, byte by byte. */

static bool
same_ip(const struct in6_addr *a, const struct in6_addr *b)
{
    for (int i = 0; i < 16; i++) {
        if (a->s6_addr[i] != b->s6_addr[i]) {
            return false;
        }
    }
    return true;
}

static bool
is_none(const struct in6_addr *ip)
{
    static const struct in6_addr zero;

    return same_ip(ip, &zero);
}

static bool
is_ipv4(const struct in6_addr *ip)
{
    for (int i = 0; i < 12; i++) {
        if (ip->s6_addr[i] != (i < 10 ? 0 : 0xff)) {
            return false;
        }
    }
    return true;
}

static bool
same_family(const struct in6_addr *a, const struct in6_addr *b)
{
    return is_ipv4(a) == is_ipv4(b);
}

/* "Configured before those of tunnels alone, then by number." */

static bool
is_configured(const struct encap_twin_endpoint *endpoint)
{
    return endpoint->origins != 0 && endpoint->origins != ENCAP_ORIGIN_TUNNEL;
}

static bool
comes_before(const struct encap_twin_endpoint *a,
             const struct encap_twin_endpoint *b)
{
    if (is_configured(a) && !is_configured(b)) {
        return true;
    }
    if (!is_configured(a) && is_configured(b)) {
        return false;
    }
    for (int i = 0; i < 16; i++) {
        if (a->ip.s6_addr[i] != b->ip.s6_addr[i]) {
            return a->ip.s6_addr[i] < b->ip.s6_addr[i];
        }
    }
    return false;
}

/* Lists. */

/* All endpoints in order: the one that comes before all others first. */
static void
list_all(const struct encap_twin *twin, struct list *list)
{
    list->n = 0;
    while (list->n < twin->n_endpoints) {
        const struct encap_twin_endpoint *next = NULL;

        for (size_t i = 0; i < twin->n_endpoints; i++) {
            const struct encap_twin_endpoint *e = &twin->endpoints[i];
            bool listed = false;

            for (size_t j = 0; j < list->n; j++) {
                listed |= list->items[j] == e;
            }
            if (!listed && (!next || comes_before(e, next))) {
                next = e;
            }
        }
        list->items[list->n++] = next;
    }
}

static void
strike_out_all_but(struct list *list, enum rule rule,
                   const struct in6_addr *dst)
{
    struct list old = *list;

    list->n = 0;
    for (size_t i = 0; i < old.n; i++) {
        const struct encap_twin_endpoint *e = old.items[i];
        bool stays = false;

        switch (rule) {
        case OF_FAMILY:  stays = same_family(&e->ip, dst); break;
        case UP:         stays = e->state == ENCAP_UP;     break;
        case CONFIGURED: stays = is_configured(e);         break;
        case DEFAULT:    stays = e->is_default;            break;
        }
        if (stays) {
            list->items[list->n++] = e;
        }
    }
}

static void
strike_out_other_eswitches(struct list *list, const char *eswitch)
{
    struct list old = *list;

    list->n = 0;
    for (size_t i = 0; i < old.n; i++) {
        if (!strcmp(old.items[i]->eswitch, eswitch)) {
            list->items[list->n++] = old.items[i];
        }
    }
}

static void
strike_out_other_ips(struct list *list, const struct in6_addr *ip)
{
    struct list old = *list;

    list->n = 0;
    for (size_t i = 0; i < old.n; i++) {
        if (same_ip(&old.items[i]->ip, ip)) {
            list->items[list->n++] = old.items[i];
        }
    }
}

/* What steps 4 to 6 and the end may choose from. */
static void
list_eligible(const struct encap_twin *twin, bool failover, struct list *list)
{
    list_all(twin, list);
    if (!failover) {
        strike_out_all_but(list, CONFIGURED, NULL);
    }
}

/* Answers. */

static void
pass_over(struct encap_twin_answer *answer, enum encap_step step,
          enum encap_skip why, const struct in6_addr *ip)
{
    answer->skipped[answer->n_skipped].step = step;
    answer->skipped[answer->n_skipped].why = why;
    if (ip) {
        answer->skipped[answer->n_skipped].ip = *ip;
    }
    answer->n_skipped++;
}

/* Takes the first of 'list' that is of the family and up.  Returns true, or
 * notes why there is none and returns false. */
static bool
take_from(struct encap_twin_answer *answer, enum encap_step step,
          const struct list *list, enum encap_skip if_empty,
          const struct in6_addr *if_empty_ip, const struct in6_addr *dst)
{
    struct list of_family = *list;
    struct list up;

    strike_out_all_but(&of_family, OF_FAMILY, dst);
    up = of_family;
    strike_out_all_but(&up, UP, dst);

    if (list->n == 0) {
        pass_over(answer, step, if_empty, if_empty_ip);
        return false;
    }
    if (of_family.n == 0) {
        pass_over(answer, step, ENCAP_SKIP_FAMILY, &list->items[0]->ip);
        return false;
    }
    if (up.n == 0) {
        pass_over(answer, step, ENCAP_SKIP_DOWN, &of_family.items[0]->ip);
        return false;
    }
    answer->verdict = ENCAP_OK;
    answer->step = step;
    answer->src = up.items[0]->ip;
    answer->endpoint = up.items[0]->ip;
    return true;
}

static const struct encap_twin_port *
port_called(const struct encap_twin *twin, const char *name)
{
    for (size_t i = 0; i < twin->n_ports; i++) {
        if (name && !strcmp(twin->ports[i].name, name)) {
            return &twin->ports[i];
        }
    }
    return NULL;
}

static bool
by_pin(const struct encap_twin *twin, const struct encap_twin_query *query,
       struct encap_twin_answer *answer)
{
    const struct encap_twin_port *port = port_called(twin, query->ingress);
    struct list list;

    if (!port || is_none(&port->pin)) {
        pass_over(answer, ENCAP_BY_PIN, ENCAP_SKIP_UNSET, NULL);
        return false;
    }
    list_all(twin, &list);
    strike_out_other_ips(&list, &port->pin);
    return take_from(answer, ENCAP_BY_PIN, &list, ENCAP_SKIP_UNKNOWN,
                     &port->pin, &query->dst);
}

static bool
by_nic(const struct encap_twin *twin, const struct encap_twin_query *query,
       struct encap_twin_answer *answer)
{
    const struct encap_twin_port *port = port_called(twin, query->ingress);
    struct list list;

    if (!port || !strcmp(port->eswitch, "")) {
        pass_over(answer, ENCAP_BY_NIC, ENCAP_SKIP_UNSET, NULL);
        return false;
    }
    list_eligible(twin, answer->failover, &list);
    strike_out_other_eswitches(&list, port->eswitch);
    return take_from(answer, ENCAP_BY_NIC, &list, ENCAP_SKIP_UNSET, NULL,
                     &query->dst);
}

static bool
by_default(const struct encap_twin *twin, const struct encap_twin_query *query,
           struct encap_twin_answer *answer)
{
    struct list list;

    list_eligible(twin, answer->failover, &list);
    strike_out_all_but(&list, DEFAULT, NULL);
    return take_from(answer, ENCAP_BY_DEFAULT, &list, ENCAP_SKIP_UNSET, NULL,
                     &query->dst);
}

static bool
by_route(const struct encap_twin *twin, const struct encap_twin_query *query,
         struct encap_twin_answer *answer)
{
    struct list list;

    list_eligible(twin, answer->failover, &list);
    strike_out_all_but(&list, OF_FAMILY, &query->dst);
    if (list.n == 0) {
        pass_over(answer, ENCAP_BY_ROUTE, ENCAP_SKIP_UNSET, NULL);
        return false;
    }
    if (!query->routed) {
        pass_over(answer, ENCAP_BY_ROUTE, ENCAP_SKIP_NO_ROUTE, NULL);
        return false;
    }

    list_all(twin, &list);
    strike_out_other_ips(&list, &query->preferred);
    if (list.n == 0 && !answer->failover) {
        answer->verdict = ENCAP_OK;
        answer->step = ENCAP_BY_ROUTE;
        answer->src = query->preferred;
        return true;
    }
    return take_from(answer, ENCAP_BY_ROUTE, &list, ENCAP_SKIP_UNKNOWN,
                     &query->preferred, &query->dst);
}

static void
at_the_end(const struct encap_twin *twin, const struct encap_twin_query *query,
           struct encap_twin_answer *answer)
{
    struct list list, up;

    list_eligible(twin, answer->failover, &list);
    strike_out_all_but(&list, OF_FAMILY, &query->dst);
    up = list;
    strike_out_all_but(&up, UP, NULL);

    answer->step = ENCAP_N_STEPS;
    if (up.n > 0) {
        answer->src = up.items[0]->ip;
        answer->endpoint = up.items[0]->ip;
    } else if (list.n > 0) {
        answer->verdict = ENCAP_REFUSED_ALL_DOWN;
        answer->endpoint = list.items[0]->ip;
    }
}

/* Steps 1 and 2.  Returns false if 3 to 6 shall choose another. */
static bool
demanded(const struct encap_twin *twin, const struct encap_twin_query *query,
         enum encap_step step, const struct in6_addr *ip,
         struct encap_twin_answer *answer)
{
    const struct encap_twin_endpoint *endpoint;
    struct list list;
    bool down;

    list_all(twin, &list);
    strike_out_other_ips(&list, ip);
    endpoint = list.n > 0 ? list.items[0] : NULL;
    down = endpoint && endpoint->state != ENCAP_UP;

    answer->step = step;
    if (endpoint) {
        answer->endpoint = endpoint->ip;
    }
    if (down && endpoint->state == ENCAP_ABSENT && !twin->failover) {
        down = false;           /* Routing gets it. */
    }
    if (down && !twin->failover && endpoint->origins == ENCAP_ORIGIN_TUNNEL) {
        down = false;           /* Likewise: nobody has configured it. */
    }
    if (down && !same_family(ip, &query->dst)) {
        down = false;           /* Likewise. */
    }
    if (!down) {
        answer->src = *ip;
        return true;
    }
    if (!twin->failover) {
        answer->verdict = ENCAP_REFUSED_DOWN;
        return true;
    }
    memset(&answer->endpoint, 0, sizeof answer->endpoint);
    answer->failover = true;
    pass_over(answer, step, ENCAP_SKIP_DOWN, ip);
    return false;
}

void
encap_twin_select(const struct encap_twin *twin,
                  const struct encap_twin_query *query,
                  struct encap_twin_answer *answer)
{
    memset(answer, 0, sizeof *answer);
    answer->verdict = ENCAP_OK;

    if (!is_none(&query->tunnel_src)) {
        if (demanded(twin, query, ENCAP_BY_TUNNEL, &query->tunnel_src,
                     answer)) {
            return;
        }
    } else {
        pass_over(answer, ENCAP_BY_TUNNEL, ENCAP_SKIP_UNSET, NULL);
        if (!is_none(&query->flow_src)) {
            if (demanded(twin, query, ENCAP_BY_FLOW, &query->flow_src,
                         answer)) {
                return;
            }
        } else {
            pass_over(answer, ENCAP_BY_FLOW, ENCAP_SKIP_UNSET, NULL);
        }
    }

    for (size_t i = 0; i < twin->n_order; i++) {
        bool chosen = false;

        switch (twin->order[i]) {
        case ENCAP_BY_PIN:     chosen = by_pin(twin, query, answer);     break;
        case ENCAP_BY_NIC:     chosen = by_nic(twin, query, answer);     break;
        case ENCAP_BY_DEFAULT: chosen = by_default(twin, query, answer); break;
        case ENCAP_BY_ROUTE:   chosen = by_route(twin, query, answer);   break;
        case ENCAP_BY_TUNNEL:
        case ENCAP_BY_FLOW:
        case ENCAP_N_STEPS:
            break;
        }
        if (chosen) {
            return;
        }
    }
    at_the_end(twin, query, answer);
}
