/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "packets.h"
#include "random.h"
#include "route-test.h"
#include "util.h"

/* Text. */

/* If 'word' is 'key' with a value, stores that and returns true. */
static bool
parse_value(const char *word, const char *key, char value[ENCAP_TWIN_NAME])
{
    size_t length = strlen(key);

    if (strncmp(word, key, length)) {
        return false;
    }
    ovs_strlcpy(value, word + length, ENCAP_TWIN_NAME);
    return true;
}

static void
parse_endpoint_word(struct encap_twin_endpoint *e, const char *word)
{
    if (!strcmp(word, "ovn")) {
        e->origins |= ENCAP_ORIGIN_OVN;
    } else if (!strcmp(word, "config")) {
        e->origins |= ENCAP_ORIGIN_CONFIG;
    } else if (!strcmp(word, "tunnel")) {
        e->origins |= ENCAP_ORIGIN_TUNNEL;
    } else if (!strcmp(word, "default")) {
        e->is_default = true;
    } else if (!strcmp(word, "any-nic")) {
        e->any_nic = true;
    } else if (!strcmp(word, "absent")) {
        e->state = ENCAP_ABSENT;
    } else if (!strcmp(word, "tentative")) {
        e->state = ENCAP_TENTATIVE;
    } else if (!strcmp(word, "device-down")) {
        e->state = ENCAP_DEVICE_DOWN;
    } else if (!strcmp(word, "link-down")) {
        e->state = ENCAP_LINK_DOWN;
    } else if (!parse_value(word, "nic=", e->eswitch)
               && !parse_value(word, "dev=", e->dev)
               && !parse_value(word, "bridge=", e->bridge)) {
        route_test_fail("%s: no word for an endpoint", word);
    }
}

static void
parse_endpoint(struct encap_twin *scene, char *text)
{
    struct encap_twin_endpoint *e = &scene->endpoints[scene->n_endpoints++];
    char *save_ptr = NULL;
    char *word = strtok_r(text, " ", &save_ptr);

    e->ip = route_test_parse(word, NULL);
    while ((word = strtok_r(NULL, " ", &save_ptr))) {
        parse_endpoint_word(e, word);
    }
}

static void
parse_port(struct encap_twin *scene, char *text)
{
    struct encap_twin_port *port = &scene->ports[scene->n_ports++];
    char *save_ptr = NULL;
    char *word = strtok_r(text, " ", &save_ptr);

    ovs_strlcpy(port->name, word, sizeof port->name);
    while ((word = strtok_r(NULL, " ", &save_ptr))) {
        if (!strncmp(word, "pin=", 4)) {
            port->pin = route_test_parse(word + 4, NULL);
        } else if (!strcmp(word, "underlay")) {
            port->underlay = true;
        } else if (!strcmp(word, "on-underlay")) {
            port->on_underlay = true;
        } else if (!parse_value(word, "nic=", port->eswitch)) {
            route_test_fail("%s: no word for a port", word);
        }
    }
}

static void
parse_step(struct encap_twin *scene, char *text)
{
    static const struct {
        const char *name;
        enum encap_step step;
    } steps[] = {
        { "pin", ENCAP_BY_PIN },
        { "nic", ENCAP_BY_NIC },
        { "default", ENCAP_BY_DEFAULT },
        { "route", ENCAP_BY_ROUTE },
    };

    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        if (!strcmp(text, steps[i].name)) {
            scene->order[scene->n_order++] = steps[i].step;
            return;
        }
    }
    route_test_fail("%s: no step", text);
}

static void
parse_list(struct encap_twin *scene, const char *list,
           void (*parse_item)(struct encap_twin *, char *text))
{
    char *copy = xstrdup(list ? list : "");
    char *save_ptr = NULL;

    for (char *item = strtok_r(copy, ",", &save_ptr); item;
         item = strtok_r(NULL, ",", &save_ptr)) {
        parse_item(scene, item);
    }
    free(copy);
}

void
encap_scene_parse(struct encap_twin *scene, const char *endpoints,
                  const char *ports, const char *order)
{
    memset(scene, 0, sizeof *scene);
    parse_list(scene, endpoints, parse_endpoint);
    parse_list(scene, ports, parse_port);
    parse_list(scene, order ? order : "pin,nic,default,route", parse_step);
}

/* Random numbers. */

struct in6_addr
encap_scene_ip(size_t i)
{
    char *s = xasprintf(i % 2 ? "2001:db8::%"PRIuSIZE : "10.0.0.%"PRIuSIZE,
                        i / 2 + 1);
    struct in6_addr ip = route_test_parse(s, NULL);

    free(s);
    return ip;
}

static void
random_eswitch(char eswitch[ENCAP_TWIN_NAME])
{
    static const char *names[] = { "", "A", "B", "C" };

    ovs_strlcpy(eswitch, names[random_range(ARRAY_SIZE(names))],
                ENCAP_TWIN_NAME);
}

static void
random_endpoint(struct encap_twin_endpoint *e, size_t i, bool healthy)
{
    e->ip = encap_scene_ip(i);
    e->origins = 1 + random_range(7);
    if (random_range(3) == 0) {
        e->origins = ENCAP_ORIGIN_TUNNEL;
    }
    e->state = healthy ? ENCAP_UP : random_range(ENCAP_LINK_DOWN + 1);
    e->any_nic = random_range(4) == 0;
    if (e->state != ENCAP_ABSENT) {
        snprintf(e->dev, sizeof e->dev, "dev%d", random_range(3));
    }
    if (!e->any_nic) {
        snprintf(e->bridge, sizeof e->bridge, "br%d", random_range(3));
    }
    random_eswitch(e->eswitch);
}

/* At most one default in each family. */
static void
random_defaults(struct encap_twin *scene)
{
    for (int i = 0; i < 2 && scene->n_endpoints; i++) {
        struct encap_twin_endpoint *e
            = &scene->endpoints[random_range(scene->n_endpoints)];
        bool there = false;

        for (size_t j = 0; j < scene->n_endpoints; j++) {
            there |= (scene->endpoints[j].is_default
                      && (!IN6_IS_ADDR_V4MAPPED(&scene->endpoints[j].ip)
                          == !IN6_IS_ADDR_V4MAPPED(&e->ip)));
        }
        e->is_default |= !there && random_range(2);
    }
}

static void
random_order(struct encap_twin *scene)
{
    enum encap_step steps[] = {
        ENCAP_BY_PIN, ENCAP_BY_NIC, ENCAP_BY_DEFAULT, ENCAP_BY_ROUTE,
    };

    scene->n_order = 1 + random_range(ENCAP_MAX_ORDER);
    for (size_t i = 0; i < scene->n_order; i++) {
        size_t j = i + random_range(ARRAY_SIZE(steps) - i);

        scene->order[i] = steps[j];
        steps[j] = steps[i];
    }
}

void
encap_scene_random(struct encap_twin *scene)
{
    size_t density = random_range(5); /* 0: no endpoint, 4: all. */
    bool healthy = random_range(4) == 0;

    memset(scene, 0, sizeof *scene);
    for (size_t i = 0; i < ENCAP_SCENE_N_IPS - ENCAP_SCENE_N_STRANGERS; i++) {
        if (random_range(4) < density) {
            random_endpoint(&scene->endpoints[scene->n_endpoints++], i,
                            healthy);
        }
    }
    random_defaults(scene);
    for (int i = 0; i < ENCAP_SCENE_N_PORTS; i++) {
        struct encap_twin_port *port = &scene->ports[scene->n_ports++];

        snprintf(port->name, sizeof port->name, "vm%d", i);
        if (random_range(2)) {
            port->pin = encap_scene_ip(random_range(ENCAP_SCENE_N_IPS));
        }
        random_eswitch(port->eswitch);
    }
    random_order(scene);
    scene->failover = random_range(2);
    scene->strict_rx = random_range(2);
}

/* Registries. */

static unsigned int
eswitch_index(struct encap_registry *registry, const char *prefix,
              const char *eswitch)
{
    unsigned int index = 0;

    if (*eswitch) {
        char *name = xasprintf("%s%s", prefix, eswitch);

        index = encap_registry_eswitch(registry, name);
        free(name);
    }
    return index;
}

struct encap_registry *
encap_scene_build(const struct encap_twin *scene, size_t start,
                  const char *prefix)
{
    struct encap_registry *registry = encap_registry_create();

    for (size_t i = 0; i < scene->n_endpoints; i++) {
        const struct encap_twin_endpoint *e
            = &scene->endpoints[(start + i) % scene->n_endpoints];
        struct encap_endpoint *endpoint
            = encap_registry_add_endpoint(registry, &e->ip);

        endpoint->origins = e->origins;
        endpoint->is_default = e->is_default;
        endpoint->state = e->state;
        ovs_strlcpy_arrays(endpoint->dev, e->dev);
        endpoint->any_nic = e->any_nic;
        endpoint->bridge = *e->bridge ? xstrdup(e->bridge) : NULL;
        endpoint->eswitch = eswitch_index(registry, prefix, e->eswitch);
        endpoint->mtu = e->mtu;
        if (endpoint->bridge) {
            encap_endpoint_add_uplink(endpoint, "nic");
        }
    }
    for (size_t i = 0; i < scene->n_ports; i++) {
        const struct encap_twin_port *p = &scene->ports[i];
        struct encap_port *port
            = encap_registry_add_port(registry, p->name, "br-int");

        port->pin = p->pin;
        port->on_underlay = p->on_underlay;
        port->underlay = p->underlay;
        port->eswitch = eswitch_index(registry, prefix, p->eswitch);
    }
    memcpy(registry->order, scene->order,
           scene->n_order * sizeof *scene->order);
    registry->n_order = scene->n_order;
    registry->failover = scene->failover;
    registry->strict_rx = scene->strict_rx;
    encap_registry_finish(registry);
    return registry;
}

struct asked {
    const struct encap_twin_query *query;
    int *n;
};

static bool
prefers(const struct encap_query *query, struct in6_addr *src)
{
    const struct asked *asked = query->aux;

    ++*asked->n;
    if (asked->query->routed) {
        *src = asked->query->preferred;
    }
    return asked->query->routed;
}

struct encap_query
encap_scene_query(const struct encap_twin_query *query)
{
    return (struct encap_query) {
        .tunnel_src = query->tunnel_src,
        .flow_src = query->flow_src,
        .dst = query->dst,
        .ingress = query->ingress,
        .prefers = prefers,
    };
}

enum encap_verdict
encap_scene_select(const struct encap_registry *registry,
                   const struct encap_twin_query *question,
                   struct encap_choice *choice)
{
    struct encap_query query = encap_scene_query(question);
    int n_asked = 0;
    struct asked asked = { question, &n_asked };
    bool reached;

    query.aux = &asked;
    memset(choice, 0xcc, sizeof *choice);
    if (encap_select(registry, &query, choice) != choice->verdict) {
        route_test_fail("the verdict returned is not the one stored");
    }

    reached = choice->step == ENCAP_BY_ROUTE;
    for (size_t i = 0; i < choice->n_skipped; i++) {
        reached |= (choice->skipped[i].step == ENCAP_BY_ROUTE
                    && choice->skipped[i].why != ENCAP_SKIP_UNSET);
    }
    if (n_asked != reached) {
        route_test_fail("routing was asked %d times", n_asked);
    }
    return choice->verdict;
}
