/* SPDX-License-Identifier: Apache-2.0 */

/* Checks the registry of endpoints: first what is known to be right, then
 * which pairs of random ones are equivalent.
 *
 *     ovstest test-encap-endpoint cases
 *     ovstest test-encap-endpoint random [SEED [PAIRS]]
 */

#include <config.h>

#include "encap-endpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encap-scene.h"
#include "encap-select.h"
#include "encap-twin.h"
#include "openvswitch/dynamic-string.h"
#include "ovs-rcu.h"
#include "ovstest.h"
#include "packets.h"
#include "random.h"
#include "route-test.h"
#include "util.h"

#define CHECK(CONDITION) \
    ((CONDITION) ? (void) 0 : route_test_fail("%s:%d: not %s", __FILE__, \
                                              __LINE__, #CONDITION))

/* Fixed cases. */

static void
case_building(void)
{
    struct encap_registry *registry = encap_registry_create();
    struct in6_addr ip = route_test_parse("10.0.0.1", NULL);
    struct in6_addr other = route_test_parse("10.0.0.2", NULL);
    struct encap_endpoint *endpoint;
    struct encap_port *port;
    char name[] = "nic1";

    CHECK(!encap_registry_find(registry, &ip));
    CHECK(!encap_registry_find_port(registry, "vm1"));

    endpoint = encap_registry_add_endpoint(registry, &ip);
    CHECK(endpoint->numa_id == -1 && !endpoint->eswitch && !endpoint->bridge);
    CHECK(encap_registry_add_endpoint(registry, &ip) == endpoint);
    CHECK(encap_registry_add_endpoint(registry, &other) != endpoint);
    CHECK(registry->n_endpoints == 2);
    CHECK(encap_registry_find(registry, &ip) == endpoint);

    encap_endpoint_add_uplink(endpoint, name)->up = true;
    name[3] = '2';
    encap_endpoint_add_uplink(endpoint, name)->numa_id = 1;
    CHECK(endpoint->n_uplinks == 2);
    CHECK(!strcmp(endpoint->uplinks[0].name, "nic1"));
    CHECK(endpoint->uplinks[0].up && endpoint->uplinks[0].numa_id == -1);
    CHECK(!strcmp(endpoint->uplinks[1].name, "nic2"));
    CHECK(!endpoint->uplinks[1].up && endpoint->uplinks[1].numa_id == 1);

    port = encap_registry_add_port(registry, "vm1", "br-int");
    CHECK(encap_registry_add_port(registry, "vm1", "br2") == port);
    CHECK(!strcmp(port->bridge, "br-int"));
    CHECK(encap_registry_find_port(registry, "vm1") == port);
    CHECK(!encap_registry_find_port(registry, "vm"));

    CHECK(registry->n_eswitches == 1 && !registry->eswitches[0]);
    CHECK(encap_registry_eswitch(registry, "mlx5_pci domain 2") == 1);
    CHECK(encap_registry_eswitch(registry, "mlx5_pci domain 3") == 2);
    CHECK(encap_registry_eswitch(registry, "mlx5_pci domain 2") == 1);
    CHECK(registry->n_eswitches == 3);
    CHECK(!strcmp(registry->eswitches[2], "mlx5_pci domain 3"));

    encap_registry_finish(registry);
    CHECK(encap_registry_find(registry, &ip) == endpoint);
    encap_registry_destroy(registry);
    encap_registry_destroy(NULL);
}

/* Configured ones first, then by number: an IPv4 address counts in its mapped
 * form. */
static void
case_order(void)
{
    static const char *sorted[] = {
        "9.255.0.0", "10.0.0.2", "10.0.0.9", "10.0.0.10", "10.0.1.1",
        "2001:db8::1", "fd00::",
        "1.0.0.1", "10.0.0.1", "2001:db8::", "fe80::1",
    };
    struct encap_twin scene;

    encap_scene_parse(&scene,
                      "10.0.0.9 ovn,fe80::1 tunnel,10.0.0.10 config,"
                      "2001:db8:: tunnel,10.0.0.2 ovn tunnel default,"
                      "fd00:: ovn config absent,10.0.0.1 tunnel,"
                      "9.255.0.0 config tunnel link-down,1.0.0.1 tunnel,"
                      "2001:db8::1 ovn,10.0.1.1 ovn", NULL, NULL);
    for (size_t start = 0; start < scene.n_endpoints; start++) {
        struct encap_registry *registry = encap_scene_build(&scene, start, "");

        CHECK(registry->n_endpoints == ARRAY_SIZE(sorted));
        for (size_t i = 0; i < registry->n_endpoints; i++) {
            struct in6_addr ip = route_test_parse(sorted[i], NULL);

            if (!ipv6_addr_equals(&registry->endpoints[i]->ip, &ip)) {
                route_test_fail("start %"PRIuSIZE": %s is not at %"PRIuSIZE,
                                start, sorted[i], i);
            }
        }
        encap_registry_destroy(registry);
    }
}

static void
case_publish(void)
{
    const struct encap_registry *empty = encap_registry_get();
    struct in6_addr ip = route_test_parse("10.0.0.1", NULL);
    struct encap_twin_query question = { .dst = ip, .ingress = "vm1" };
    struct encap_registry *created = encap_registry_create();
    struct encap_registry *published;
    struct encap_choice choice;
    struct encap_twin scene;

    /* At first it is one that has just been created. */
    encap_registry_finish(created);
    CHECK(encap_registry_equivalent(empty, created));
    CHECK(!empty->n_endpoints && empty->n_order == ENCAP_MAX_ORDER);
    CHECK(!encap_registry_find(empty, &ip));
    CHECK(encap_scene_select(empty, &question, &choice) == ENCAP_OK);
    CHECK(!ipv6_addr_is_set(&choice.src));
    encap_registry_destroy(created);

    encap_scene_parse(&scene, "10.0.0.1 ovn", NULL, NULL);
    for (int i = 0; i < 3; i++) {
        published = encap_scene_build(&scene, 0, "");
        encap_registry_publish(published);
        CHECK(encap_registry_get() == published);
        CHECK(encap_registry_find(encap_registry_get(), &ip));
        ovsrcu_quiesce();
    }
}

static void
case_strings(void)
{
    static const char *others[] = {
        "", "local_ip", "tun_src", "first", "PIN", "pin ", "pi", "routes",
    };
    struct encap_endpoint endpoint = { .state = ENCAP_UP };
    struct ds s = DS_EMPTY_INITIALIZER;

    for (enum encap_step i = ENCAP_BY_PIN; i < ENCAP_N_STEPS; i++) {
        enum encap_step step = ENCAP_BY_TUNNEL;

        CHECK(encap_step_from_string(encap_step_to_string(i), &step));
        CHECK(step == i);
    }
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        enum encap_step step = ENCAP_BY_NIC;

        CHECK(!encap_step_from_string(others[i], &step));
        CHECK(step == ENCAP_BY_NIC);
    }

    CHECK(!strcmp(encap_state_to_string(ENCAP_UP), "up"));
    CHECK(!encap_state_reason(ENCAP_UP));
    for (enum encap_state i = ENCAP_ABSENT; i <= ENCAP_LINK_DOWN; i++) {
        CHECK(!strcmp(encap_state_to_string(i), "down"));
        CHECK(encap_state_reason(i));

        /* Without names it says the same. */
        endpoint.state = i;
        ds_clear(&s);
        encap_endpoint_format_reason(&endpoint, &s);
        CHECK(!strcmp(ds_cstr(&s), encap_state_reason(i)));
    }
    endpoint.state = ENCAP_UP;
    ds_clear(&s);
    encap_endpoint_format_reason(&endpoint, &s);
    CHECK(!s.length);
    ds_destroy(&s);
}

/* Equivalence. */

#define E1 "10.0.0.1 ovn nic=A dev=br1 bridge=br1"
#define E2 "10.0.0.2 ovn nic=B dev=br2 bridge=br2"
#define E3 "10.0.0.3 tunnel nic=B dev=br3 bridge=br3"
#define PORTS "vm1 pin=10.0.0.1,vm2 nic=A,vm3 nic=B"

struct pair {
    const char *endpoints;
    const char *ports;
    const char *order;
    bool equivalent;            /* To E1, E2, E3, PORTS, default order. */
};

static const struct pair pairs[] = {
    { E1 "," E2 "," E3, PORTS, NULL, true },

    /* Only for users. */
    { E3 "," E2 "," E1, "vm3 nic=B,vm2 nic=A,vm1 pin=10.0.0.1", NULL, true },
    { E1 " config tunnel,10.0.0.2 config nic=B dev=br2 bridge=br2," E3,
      PORTS, NULL, true },
    { E1 "," E2 "," E3, PORTS ",vm4", NULL, true },
    { "10.0.0.1 ovn nic=B dev=br1 bridge=br1,"
      "10.0.0.2 ovn nic=A dev=br2 bridge=br2,"
      "10.0.0.3 tunnel nic=A dev=br3 bridge=br3",
      "vm1 pin=10.0.0.1,vm2 nic=B,vm3 nic=A", NULL, true },
    { "10.0.0.1 ovn nic=X dev=br1 bridge=br1,"
      "10.0.0.2 ovn nic=Y dev=br2 bridge=br2,"
      "10.0.0.3 tunnel nic=Y dev=br3 bridge=br3",
      "vm1 pin=10.0.0.1,vm2 nic=X,vm3 nic=Y", NULL, true },

    /* The set of addresses. */
    { NULL, NULL, NULL, false },
    { E1 "," E2, PORTS, NULL, false },
    { E1 "," E2 "," E3 ",10.0.0.4 tunnel", PORTS, NULL, false },
    { "10.0.0.4 ovn nic=A dev=br1 bridge=br1," E2 "," E3, PORTS, NULL, false },

    /* What they are. */
    { E1 "," E2 "," E3 " config", PORTS, NULL, false },
    { E1 " default," E2 "," E3, PORTS, NULL, false },
    { E1 " absent," E2 "," E3, PORTS, NULL, false },
    { E1 "," E2 " link-down," E3, PORTS, NULL, false },
    { E1 "," E2 "," E3 " device-down", PORTS, NULL, false },
    { E1 " any-nic," E2 "," E3, PORTS, NULL, false },
    { E1 "," E2 ",10.0.0.3 tunnel nic=B dev=br2 bridge=br3", PORTS, NULL,
      false },
    { E1 "," E2 ",10.0.0.3 tunnel nic=B dev=br3 bridge=br2", PORTS, NULL,
      false },
    { E1 "," E2 ",10.0.0.3 tunnel nic=B dev=br3", PORTS, NULL, false },

    /* Who shares an eSwitch. */
    { E1 "," E2 ",10.0.0.3 tunnel dev=br3 bridge=br3", PORTS, NULL, false },
    { E1 "," E2 ",10.0.0.3 tunnel nic=A dev=br3 bridge=br3", PORTS, NULL,
      false },
    { E1 "," E2 ",10.0.0.3 tunnel nic=C dev=br3 bridge=br3", PORTS, NULL,
      false },
    { E1 "," E2 "," E3, "vm1 pin=10.0.0.1,vm2 nic=B,vm3 nic=A", NULL, false },
    { E1 "," E2 "," E3, "vm1 pin=10.0.0.1,vm2 nic=A,vm3 nic=A", NULL, false },
    { E1 "," E2 "," E3, "vm1 pin=10.0.0.1,vm2 nic=A,vm3 nic=C", NULL, false },
    { E1 "," E2 "," E3, "vm1 pin=10.0.0.1 nic=A,vm2 nic=A,vm3 nic=B", NULL,
      false },

    /* Ports. */
    { E1 "," E2 "," E3, "vm2 nic=A,vm3 nic=B", NULL, false },
    { E1 "," E2 "," E3, "vm1 pin=10.0.0.1,vm2 nic=A", NULL, false },
    { E1 "," E2 "," E3, PORTS ",vm4 nic=A", NULL, false },
    { E1 "," E2 "," E3, PORTS ",vm4 pin=10.0.0.9", NULL, false },
    { E1 "," E2 "," E3, PORTS ",vm4 underlay", NULL, false },
    { E1 "," E2 "," E3, PORTS " underlay", NULL, false },
    { E1 "," E2 "," E3, PORTS " on-underlay", NULL, false },
    { E1 "," E2 "," E3, "vm1 pin=10.0.0.2,vm2 nic=A,vm3 nic=B", NULL, false },
    { E1 "," E2 "," E3, "vm9 pin=10.0.0.1,vm2 nic=A,vm3 nic=B", NULL, false },

    /* Policy. */
    { E1 "," E2 "," E3, PORTS, "pin,nic,default", false },
    { E1 "," E2 "," E3, PORTS, "pin,nic,route,default", false },
};

static void
check_pair(const struct encap_twin *a, const struct encap_twin *b,
           bool expected, const char *what)
{
    struct encap_registry *x = encap_scene_build(a, 0, "");
    struct encap_registry *y = encap_scene_build(b, 1, "");
    bool got = encap_registry_equivalent(x, y);

    if (got != encap_registry_equivalent(y, x)) {
        route_test_fail("%s: equivalent one way only", what);
    }
    if (got != expected) {
        route_test_fail("%s: %sequivalent", what, got ? "" : "not ");
    }
    encap_registry_destroy(x);
    encap_registry_destroy(y);
}

static void
case_equivalence(void)
{
    struct encap_twin base, scene;

    encap_scene_parse(&base, E1 "," E2 "," E3, PORTS, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
        char *what = xasprintf("pair %"PRIuSIZE, i);

        encap_scene_parse(&scene, pairs[i].endpoints, pairs[i].ports,
                          pairs[i].order);
        check_pair(&base, &scene, pairs[i].equivalent, what);
        free(what);
    }
    scene = base;
    scene.failover = true;
    check_pair(&base, &scene, false, "failover");
    scene = base;
    scene.strict_rx = true;
    check_pair(&base, &scene, false, "strict-rx");
    scene = base;
    scene.endpoints[0].mtu = 1500;
    check_pair(&base, &scene, true, "MTU");

    /* Why it is down is for users, whether the host has it is not. */
    base.endpoints[0].state = ENCAP_LINK_DOWN;
    scene = base;
    scene.endpoints[0].state = ENCAP_DEVICE_DOWN;
    check_pair(&base, &scene, true, "link or device down");
    scene.endpoints[0].state = ENCAP_TENTATIVE;
    check_pair(&base, &scene, true, "link down or tentative");
    scene.endpoints[0].state = ENCAP_ABSENT;
    check_pair(&base, &scene, false, "link down or absent");
}

/* Random pairs. */

/* Two that were made of one list differ, if they do, in what is at the same
 * place in both. */

static bool
naive_is_configured(const struct encap_twin_endpoint *e)
{
    return e->origins != ENCAP_ORIGIN_TUNNEL;
}

static int
naive_state(const struct encap_twin_endpoint *e)
{
    return e->state == ENCAP_UP ? 0 : e->state == ENCAP_ABSENT ? 1 : 2;
}

/* The eSwitches of all endpoints, then of all ports. */
static size_t
naive_eswitches(const struct encap_twin *scene, const char **eswitches)
{
    size_t n = 0;

    for (size_t i = 0; i < scene->n_endpoints; i++) {
        eswitches[n++] = scene->endpoints[i].eswitch;
    }
    for (size_t i = 0; i < scene->n_ports; i++) {
        eswitches[n++] = scene->ports[i].eswitch;
    }
    return n;
}

static bool
naive_share_alike(const struct encap_twin *a, const struct encap_twin *b)
{
    const char *x[ENCAP_SCENE_N_IPS + ENCAP_SCENE_N_PORTS];
    const char *y[ENCAP_SCENE_N_IPS + ENCAP_SCENE_N_PORTS];
    size_t n = naive_eswitches(a, x);

    naive_eswitches(b, y);
    for (size_t i = 0; i < n; i++) {
        if (!*x[i] != !*y[i]) {
            return false;
        }
        for (size_t j = 0; j < n; j++) {
            if (!strcmp(x[i], x[j]) != !strcmp(y[i], y[j])) {
                return false;
            }
        }
    }
    return true;
}

static bool
naive_equivalent(const struct encap_twin *a, const struct encap_twin *b)
{
    bool same = true;

    for (size_t i = 0; i < a->n_endpoints; i++) {
        const struct encap_twin_endpoint *x = &a->endpoints[i];
        const struct encap_twin_endpoint *y = &b->endpoints[i];

        same &= !memcmp(&x->ip, &y->ip, 16);
        same &= naive_is_configured(x) == naive_is_configured(y);
        same &= x->is_default == y->is_default;
        same &= naive_state(x) == naive_state(y);
        same &= x->any_nic == y->any_nic;
        same &= !strcmp(x->dev, y->dev);
        same &= !strcmp(x->bridge, y->bridge);
    }
    for (size_t i = 0; i < a->n_ports; i++) {
        same &= !memcmp(&a->ports[i].pin, &b->ports[i].pin, 16);
    }
    same &= a->n_order == b->n_order;
    for (size_t i = 0; i < a->n_order && same; i++) {
        same &= a->order[i] == b->order[i];
    }
    same &= a->failover == b->failover && a->strict_rx == b->strict_rx;
    return same && naive_share_alike(a, b);
}

static void
set_name(char name[ENCAP_TWIN_NAME], const char *value)
{
    ovs_strlcpy(name, value, ENCAP_TWIN_NAME);
}

static void
mutate_endpoint(struct encap_twin_endpoint *e)
{
    static const char *eswitches[] = { "", "A", "B", "C", "D" };
    static const char *names[] = { "", "dev0", "br0" };

    switch (random_range(9)) {
    case 0: e->mtu++; break;
    case 1: e->origins |= ENCAP_ORIGIN_TUNNEL; break;
    case 2: e->origins = 1 + random_range(7); break;
    case 3: e->is_default = !e->is_default; break;
    case 4: e->state = random_range(ENCAP_LINK_DOWN + 1); break;
    case 5: e->any_nic = !e->any_nic; break;
    case 6: set_name(e->dev, names[random_range(3)]); break;
    case 7: set_name(e->bridge, names[random_range(3)]); break;
    case 8: set_name(e->eswitch, eswitches[random_range(5)]); break;
    }
}

static void
mutate_port(struct encap_twin_port *port)
{
    static const char *eswitches[] = { "", "A", "B", "C", "D" };

    if (random_range(2)) {
        set_name(port->eswitch, eswitches[random_range(5)]);
    } else {
        port->pin = (random_range(3)
                     ? encap_scene_ip(random_range(ENCAP_SCENE_N_IPS))
                     : in6addr_any);
    }
}

static void
mutate(struct encap_twin *scene)
{
    size_t n = scene->n_endpoints;

    switch (random_range(8)) {
    case 0: scene->failover = random_range(2); break;
    case 1: scene->strict_rx = random_range(2); break;
    case 2: scene->n_order = 1 + random_range(scene->n_order); break;
    case 3: mutate_port(&scene->ports[random_range(scene->n_ports)]); break;
    default:
        if (n) {
            mutate_endpoint(&scene->endpoints[random_range(n)]);
        }
    }
}

/* Asks both 'x' and 'y' the same random question.  True if they agree. */
static bool
answers_agree(const struct encap_registry *x, const struct encap_registry *y)
{
    static const char *ports[] = { "vm0", "vm1", "vm2", "vm3", "alien" };
    struct encap_twin_query question = {
        .dst = encap_scene_ip(random_range(ENCAP_SCENE_N_IPS)),
        .ingress = ports[random_range(ARRAY_SIZE(ports))],
        .routed = random_range(2),
        .preferred = encap_scene_ip(random_range(ENCAP_SCENE_N_IPS)),
    };
    struct encap_choice a, b;

    if (random_range(2)) {
        question.flow_src = encap_scene_ip(random_range(ENCAP_SCENE_N_IPS));
    }
    encap_scene_select(x, &question, &a);
    encap_scene_select(y, &question, &b);
    return (a.verdict == b.verdict && a.failover == b.failover
            && ipv6_addr_equals(&a.src, &b.src));
}

static void
random_pair(size_t n_equivalent[2])
{
    struct encap_twin a, b;
    struct encap_registry *x, *y;
    bool equivalent;

    encap_scene_random(&a);
    b = a;
    for (size_t n = random_range(4); n > 0; n--) {
        mutate(&b);
    }
    equivalent = naive_equivalent(&a, &b);
    check_pair(&a, &b, equivalent, "random pair");
    n_equivalent[equivalent]++;

    x = encap_scene_build(&a, 0, "x");
    y = encap_scene_build(&b, random_range(20), "y");
    if (encap_registry_equivalent(x, y) != equivalent) {
        route_test_fail("eSwitches by another name make a difference");
    }
    for (int i = 0; equivalent && i < 30; i++) {
        if (!answers_agree(x, y)) {
            route_test_fail("equivalent, but they choose differently");
        }
    }
    encap_registry_destroy(x);
    encap_registry_destroy(y);
}

static void
test_encap_endpoint_main(int argc, char *argv[])
{
    const char *what = argc > 1 ? argv[1] : "";

    if (!strcmp(what, "cases")) {
        case_building();
        case_order();
        case_publish();
        case_strings();
        case_equivalence();
    } else if (!strcmp(what, "random")) {
        size_t n = argc > 3 ? strtoul(argv[3], NULL, 0) : 20000;
        size_t n_equivalent[2] = { 0, 0 };

        route_test_seed(argc > 2 ? argv[2] : NULL);
        for (size_t i = 0; i < n; i++) {
            random_pair(n_equivalent);
        }
        printf("%"PRIuSIZE" equivalent, %"PRIuSIZE" not\n", n_equivalent[1],
               n_equivalent[0]);
    } else {
        route_test_fail("%s: not one of cases, random", what);
    }
}

OVSTEST_REGISTER("test-encap-endpoint", test_encap_endpoint_main);
