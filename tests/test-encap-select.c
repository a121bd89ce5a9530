/* SPDX-License-Identifier: Apache-2.0 */

/* Checks the choice of an endpoint: first what is known to be right, then
 * random hosts and questions against the naive twin.
 *
 *     ovstest test-encap-select cases
 *     ovstest test-encap-select random [SEED [QUESTIONS]]
 *     ovstest test-encap-select speed
 */

#include <config.h>

#include "encap-select.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encap-cases.h"
#include "encap-scene.h"
#include "encap-twin.h"
#include "openvswitch/dynamic-string.h"
#include "ovstest.h"
#include "packets.h"
#include "random.h"
#include "route-test.h"
#include "timeval.h"
#include "util.h"

/* Answers as text, for comparison and for whoever reads a failure. */

static void
put_ip(struct ds *s, const struct in6_addr *ip)
{
    if (ipv6_addr_is_set(ip)) {
        ipv6_format_mapped(ip, s);
    } else {
        ds_put_cstr(s, "none");
    }
}

static void
put_skip(struct ds *s, enum encap_step step, enum encap_skip why,
         const struct in6_addr *ip)
{
    static const char *reasons[] = {
        [ENCAP_SKIP_UNSET] = "unset",
        [ENCAP_SKIP_UNKNOWN] = "unknown",
        [ENCAP_SKIP_FAMILY] = "family",
        [ENCAP_SKIP_DOWN] = "down",
        [ENCAP_SKIP_NO_ROUTE] = "no-route",
    };

    ds_put_format(s, "%s%s %s", s->length ? "," : "",
                  encap_step_to_string(step), reasons[why]);
    if (ipv6_addr_is_set(ip)) {
        ds_put_char(s, ' ');
        ipv6_format_mapped(ip, s);
    }
}

static void
put_answer(struct ds *s, enum encap_verdict verdict, enum encap_step step,
           bool failover, const struct in6_addr *src,
           const struct in6_addr *endpoint, const char *skipped)
{
    ds_put_format(s, "verdict %d, step %s, failover %d, src ",
                  verdict, encap_step_to_string(step), failover);
    put_ip(s, src);
    ds_put_cstr(s, ", endpoint ");
    put_ip(s, endpoint);
    ds_put_format(s, ", passed over: %s", skipped);
}

static void
put_choice(struct ds *s, const struct encap_choice *choice)
{
    struct ds skipped = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < choice->n_skipped; i++) {
        put_skip(&skipped, choice->skipped[i].step, choice->skipped[i].why,
                 &choice->skipped[i].ip);
    }
    put_answer(s, choice->verdict, choice->step, choice->failover,
               &choice->src,
               choice->endpoint ? &choice->endpoint->ip : &in6addr_any,
               ds_cstr(&skipped));
    ds_destroy(&skipped);
}

static void
put_twin_answer(struct ds *s, const struct encap_twin_answer *answer)
{
    struct ds skipped = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < answer->n_skipped; i++) {
        put_skip(&skipped, answer->skipped[i].step, answer->skipped[i].why,
                 &answer->skipped[i].ip);
    }
    put_answer(s, answer->verdict, answer->step, answer->failover,
               &answer->src, &answer->endpoint, ds_cstr(&skipped));
    ds_destroy(&skipped);
}

static void
expect_text(const char *name, const char *what, const char *expected,
            const char *got)
{
    if (strcmp(expected, got)) {
        route_test_fail("%s, %s:\nexpected: %s\ngot:      %s",
                        name, what, expected, got);
    }
}

/* Fixed cases. */

static struct in6_addr
parse_or_none(const char *s)
{
    return s ? route_test_parse(s, NULL) : in6addr_any;
}

static void
put_expected(struct ds *s, const struct encap_case *c)
{
    struct in6_addr src = parse_or_none(c->src);
    struct in6_addr endpoint = parse_or_none(c->endpoint);
    struct ds skipped = DS_EMPTY_INITIALIZER;
    const struct in6_addr *none = &in6addr_any;

    if (c->step != ENCAP_BY_TUNNEL && !c->local_ip) {
        put_skip(&skipped, ENCAP_BY_TUNNEL, ENCAP_SKIP_UNSET, none);
        if (c->step != ENCAP_BY_FLOW && !c->tun_src) {
            put_skip(&skipped, ENCAP_BY_FLOW, ENCAP_SKIP_UNSET, none);
        }
    }
    if (c->skipped) {
        ds_put_format(&skipped, "%s%s", skipped.length ? "," : "",
                      c->skipped);
    }
    put_answer(s, c->verdict, c->step, c->failed_over, &src, &endpoint,
               ds_cstr(&skipped));
    ds_destroy(&skipped);
}

static void
check_case(const struct encap_case *c)
{
    struct encap_twin scene;
    struct encap_twin_query question = {
        .tunnel_src = parse_or_none(c->local_ip),
        .flow_src = parse_or_none(c->tun_src),
        .dst = parse_or_none(c->dst),
        .ingress = c->ingress,
        .routed = c->prefers != NULL,
        .preferred = parse_or_none(c->prefers),
    };
    struct encap_query query = encap_scene_query(&question);
    struct ds expected = DS_EMPTY_INITIALIZER;
    struct ds got = DS_EMPTY_INITIALIZER;
    struct encap_twin_answer answer;
    struct encap_registry *registry;
    struct encap_choice choice;

    encap_scene_parse(&scene, c->endpoints, c->ports, c->order);
    scene.failover = c->failover;
    registry = encap_scene_build(&scene, 0, "");
    encap_scene_select(registry, &question, &choice);

    put_expected(&expected, c);
    put_choice(&got, &choice);
    expect_text(c->name, "choice", ds_cstr(&expected), ds_cstr(&got));

    ds_clear(&got);
    encap_choice_format(registry, &query, &choice, &got);
    expect_text(c->name, "text", c->text, ds_cstr(&got));

    /* The twin knows no more than its author. */
    ds_clear(&got);
    encap_twin_select(&scene, &question, &answer);
    put_twin_answer(&got, &answer);
    expect_text(c->name, "twin", ds_cstr(&expected), ds_cstr(&got));

    encap_registry_destroy(registry);
    ds_destroy(&expected);
    ds_destroy(&got);
}

static void
test_cases(void)
{
    for (size_t i = 0; i < n_encap_cases; i++) {
        check_case(&encap_cases[i]);
    }
}

/* Against the twin. */

static void
check_against_twin(const struct encap_twin *scene,
                   const struct encap_registry *registry,
                   const struct encap_twin_query *question)
{
    struct ds expected = DS_EMPTY_INITIALIZER;
    struct ds got = DS_EMPTY_INITIALIZER;
    struct encap_query query = encap_scene_query(question);
    struct encap_twin_answer answer;
    struct encap_choice choice;

    encap_scene_select(registry, question, &choice);
    put_choice(&got, &choice);
    encap_twin_select(scene, question, &answer);
    put_twin_answer(&expected, &answer);
    expect_text("twin", "choice", ds_cstr(&expected), ds_cstr(&got));

    /* Whatever it says, it is one line. */
    ds_clear(&got);
    encap_choice_format(registry, &query, &choice, &got);
    if (!got.length || strchr(ds_cstr(&got), '\n')) {
        route_test_fail("\"%s\" is not one line", ds_cstr(&got));
    }
    ds_destroy(&expected);
    ds_destroy(&got);
}

/* 256 endpoints on as many eSwitches, each asked for in each way. */
static void
test_many(void)
{
    struct encap_twin *scene = xzalloc(sizeof *scene);

    encap_scene_parse(scene, NULL, NULL, NULL);
    for (size_t i = 0; i < ENCAP_TWIN_MAX_ENDPOINTS; i++) {
        struct encap_twin_endpoint *e = &scene->endpoints[i];
        struct encap_twin_port *port = &scene->ports[i];

        e->ip = in6_addr_mapped_ipv4(htonl(0x0a000000 | (i + 1)));
        e->origins = i % 3 ? ENCAP_ORIGIN_OVN : ENCAP_ORIGIN_TUNNEL;
        e->is_default = i == 200;
        e->state = i % 5 ? ENCAP_UP : ENCAP_LINK_DOWN;
        snprintf(e->eswitch, sizeof e->eswitch, "domain %"PRIuSIZE, i);
        snprintf(port->name, sizeof port->name, "vm%"PRIuSIZE, i);
        if (i % 2) {
            port->pin = e->ip;
        }
        memcpy(port->eswitch, e->eswitch, sizeof port->eswitch);
    }
    scene->n_endpoints = scene->n_ports = ENCAP_TWIN_MAX_ENDPOINTS;

    for (int failover = 0; failover < 2; failover++) {
        struct encap_registry *registry;

        scene->failover = failover;
        registry = encap_scene_build(scene, 77, "");
        for (size_t i = 0; i < scene->n_endpoints; i++) {
            struct encap_twin_query question = {
                .dst = in6_addr_mapped_ipv4(htonl(0xc0000209)),
                .ingress = scene->ports[i].name,
            };

            check_against_twin(scene, registry, &question);
            question.flow_src = scene->endpoints[i].ip;
            check_against_twin(scene, registry, &question);
        }
        encap_registry_destroy(registry);
    }
    free(scene);
}

static struct in6_addr
random_ip(void)
{
    return encap_scene_ip(random_range(ENCAP_SCENE_N_IPS));
}

static void
test_random(size_t n)
{
    static const char *ports[] = { NULL, "vm0", "vm1", "vm2", "vm3", "alien" };
    struct encap_twin scene;

    for (size_t i = 0; i < n;) {
        struct encap_registry *registry;

        encap_scene_random(&scene);
        registry = encap_scene_build(&scene, random_range(20), "");
        for (int j = 0; j < 10 && i < n; j++, i++) {
            struct encap_twin_query question = {
                .tunnel_src = random_range(4) ? in6addr_any : random_ip(),
                .flow_src = random_range(3) ? in6addr_any : random_ip(),
                .dst = random_ip(),
                .ingress = ports[random_range(ARRAY_SIZE(ports))],
                .routed = random_range(4) != 0,
            };

            do {
                question.preferred = random_ip();
            } while (!IN6_IS_ADDR_V4MAPPED(&question.preferred)
                     != !IN6_IS_ADDR_V4MAPPED(&question.dst));
            check_against_twin(&scene, registry, &question);
        }
        encap_registry_destroy(registry);
    }
}

/* How long one choice takes, at its longest, on small and large hosts. */

static bool
no_way(const struct encap_query *query OVS_UNUSED,
       struct in6_addr *src OVS_UNUSED)
{
    return false;
}

static void
test_speed(void)
{
    for (size_t n = 4; n <= ENCAP_TWIN_MAX_ENDPOINTS; n *= 4) {
        struct encap_twin *scene = xzalloc(sizeof *scene);
        struct encap_registry *registry;
        struct encap_query query = {
            .dst = in6_addr_mapped_ipv4(htonl(0xc0000209)),
            .ingress = "vm",
            .prefers = no_way,
        };
        struct encap_choice choice;
        const int rounds = 1000000;
        long long int start;

        /* Only the last one is up, and no step finds it. */
        encap_scene_parse(scene, NULL, "vm pin=10.9.9.9 nic=A", NULL);
        for (size_t i = 0; i < n; i++) {
            scene->endpoints[i].ip
                = in6_addr_mapped_ipv4(htonl(0x0a000000 | (i + 1)));
            scene->endpoints[i].origins = ENCAP_ORIGIN_OVN;
            scene->endpoints[i].state = ENCAP_LINK_DOWN;
        }
        scene->endpoints[n - 1].state = ENCAP_UP;
        scene->n_endpoints = n;
        registry = encap_scene_build(scene, 0, "");

        start = time_usec();
        for (int i = 0; i < rounds; i++) {
            encap_select(registry, &query, &choice);
            if (choice.endpoint != registry->endpoints[n - 1]) {
                route_test_fail("wrong endpoint");
            }
        }
        printf("%"PRIuSIZE" endpoints: %lld ns\n", n,
               (time_usec() - start) * 1000 / rounds);
        encap_registry_destroy(registry);
        free(scene);
    }
}

static void
test_encap_select_main(int argc, char *argv[])
{
    const char *what = argc > 1 ? argv[1] : "";

    if (!strcmp(what, "cases")) {
        test_cases();
        test_many();
    } else if (!strcmp(what, "random")) {
        route_test_seed(argc > 2 ? argv[2] : NULL);
        test_random(argc > 3 ? strtoul(argv[3], NULL, 0) : 100000);
    } else if (!strcmp(what, "speed")) {
        test_speed();
    } else {
        route_test_fail("%s: not one of cases, random, speed", what);
    }
}

OVSTEST_REGISTER("test-encap-select", test_encap_select_main);
