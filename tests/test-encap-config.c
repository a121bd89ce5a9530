/* SPDX-License-Identifier: Apache-2.0 */

/* Checks the parsers of what a user or OVN wants of endpoints. */

#include <config.h>

#include "encap-config.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "ovstest.h"
#include "packets.h"
#include "route-test.h"
#include "util.h"

#define OVN_KEY "external_ids:ovn-encap-ip"
#define OVN_DEFAULT_KEY "external_ids:ovn-encap-ip-default"
#define KEY "other_config:encap-ip"
#define DEFAULT_KEY "other_config:encap-ip-default"
#define ORDER_KEY "other_config:encap-select"

/* Lines, sorted, as text. */
static char *
join(const struct sset *set)
{
    const char **lines = sset_sort(set);
    struct ds s = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < sset_count(set); i++) {
        ds_put_format(&s, "%s%s", i ? "\n" : "", lines[i]);
    }
    free(lines);
    return ds_steal_cstr(&s);
}

/* What 'config' has, as "IP ORIGINS" in order of text. */
static char *
format_wanted(const struct encap_config *config)
{
    struct sset set = SSET_INITIALIZER(&set);
    const struct encap_wanted *wanted;
    char *s;

    HMAP_FOR_EACH (wanted, node, &config->wanted) {
        char buf[INET6_ADDRSTRLEN];

        sset_add_and_free(
            &set, xasprintf("%s%s%s%s", ipv6_string_mapped(buf, &wanted->ip),
                            wanted->origins & ENCAP_ORIGIN_OVN ? " ovn" : "",
                            (wanted->origins & ENCAP_ORIGIN_CONFIG
                             ? " config" : ""),
                            (wanted->origins & ENCAP_ORIGIN_TUNNEL
                             ? " tunnel" : "")));
    }
    s = join(&set);
    sset_destroy(&set);
    return s;
}

static void
expect_text(const char *of, const char *what, const char *expected,
            const char *got)
{
    if (strcmp(expected ? expected : "", got)) {
        route_test_fail("%s, %s:\nexpected: %s\ngot:      %s",
                        of, what, expected ? expected : "", got);
    }
}

static void
expect_problems(const char *of, const struct encap_config *config,
                const char *expected)
{
    char *got = join(&config->problems);

    expect_text(of, "problems", expected, got);
    free(got);
}

/* Lists. */

struct list_case {
    const char *value;
    const char *wanted;
    const char *problems;
};

static const struct list_case list_cases[] = {
    { NULL, "", "" },
    { "", "", "" },
    { ",", "", "" },
    { " , ,\t", "", "" },
    { "10.1.0.1", "10.1.0.1 ovn", "" },
    { "10.1.0.1,10.2.0.1", "10.1.0.1 ovn\n10.2.0.1 ovn", "" },
    { ",10.1.0.1,,10.2.0.1,", "10.1.0.1 ovn\n10.2.0.1 ovn", "" },
    { " 10.1.0.1 ,\n10.2.0.1\t", "10.1.0.1 ovn\n10.2.0.1 ovn", "" },
    { "10.1.0.1,2001:db8::1,fe80::1",
      "10.1.0.1 ovn\n2001:db8::1 ovn\nfe80::1 ovn", "" },

    /* The same address, whatever it is written like. */
    { "10.1.0.1,10.2.0.1,10.1.0.1", "10.1.0.1 ovn\n10.2.0.1 ovn",
      OVN_KEY ": 10.1.0.1 is listed twice" },
    { "2001:db8::1,2001:0DB8:0:0::0001", "2001:db8::1 ovn",
      OVN_KEY ": 2001:db8::1 is listed twice" },
    { "::ffff:10.1.0.1", "10.1.0.1 ovn", "" },
    { "::ffff:a01:1,10.1.0.1", "10.1.0.1 ovn",
      OVN_KEY ": 10.1.0.1 is listed twice" },

    /* Malformed. */
    { "10.1.0", "", OVN_KEY ": \"10.1.0\" is not an IP address" },
    { "10.1.0.256", "", OVN_KEY ": \"10.1.0.256\" is not an IP address" },
    { "10.1.0.1/24", "", OVN_KEY ": \"10.1.0.1/24\" is not an IP address" },
    { "10.1.0.1 10.2.0.1", "",
      OVN_KEY ": \"10.1.0.1 10.2.0.1\" is not an IP address" },
    { "10.1.0.1;10.2.0.1", "",
      OVN_KEY ": \"10.1.0.1;10.2.0.1\" is not an IP address" },
    { "eth0,10.1.0.1,2001:db8:::1,fe80::1%eth0", "10.1.0.1 ovn",
      OVN_KEY ": \"2001:db8:::1\" is not an IP address\n"
      OVN_KEY ": \"eth0\" is not an IP address\n"
      OVN_KEY ": \"fe80::1%eth0\" is not an IP address" },
    { "x,x,10.1.0.1", "10.1.0.1 ovn",
      OVN_KEY ": \"x\" is not an IP address" },
    { "a\"b\nc\\d\x7f\xff", "",
      OVN_KEY ": \"a\\042b\\012c\\134d\\177\\377\" is not an IP address" },

    /* No source of packets on a network. */
    { "0.0.0.0,255.255.255.255,224.0.0.1,239.255.255.255,10.1.0.1",
      "10.1.0.1 ovn",
      OVN_KEY ": \"0.0.0.0\" is not a unicast address\n"
      OVN_KEY ": \"224.0.0.1\" is not a unicast address\n"
      OVN_KEY ": \"239.255.255.255\" is not a unicast address\n"
      OVN_KEY ": \"255.255.255.255\" is not a unicast address" },
    { "::,ff02::1,::ffff:0.0.0.0", "",
      OVN_KEY ": \"::\" is not a unicast address\n"
      OVN_KEY ": \"::ffff:0.0.0.0\" is not a unicast address\n"
      OVN_KEY ": \"ff02::1\" is not a unicast address" },
    { "127.0.0.1,127.255.255.254,::1,126.0.0.1,128.0.0.1",
      "126.0.0.1 ovn\n128.0.0.1 ovn",
      OVN_KEY ": \"127.0.0.1\" is a loopback address\n"
      OVN_KEY ": \"127.255.255.254\" is a loopback address\n"
      OVN_KEY ": \"::1\" is a loopback address" },
};

static void
test_lists(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(list_cases); i++) {
        const struct list_case *c = &list_cases[i];
        struct encap_config *config = encap_config_create();
        const char *of = c->value ? c->value : "NULL";
        char *wanted;

        encap_config_parse_list(config, OVN_KEY, c->value, ENCAP_ORIGIN_OVN);
        wanted = format_wanted(config);
        expect_text(of, "wanted", c->wanted, wanted);
        expect_problems(of, config, c->problems);
        free(wanted);
        encap_config_destroy(config);
    }
}

/* One address from several places is one endpoint. */
static void
test_origins(void)
{
    struct encap_config *config = encap_config_create();
    struct in6_addr ip = route_test_parse("10.1.0.1", NULL);
    struct encap_wanted *first, *second;
    char *wanted;

    encap_config_parse_list(config, OVN_KEY, "10.1.0.1,10.2.0.1",
                            ENCAP_ORIGIN_OVN);
    encap_config_parse_list(config, KEY, "10.3.0.1,10.1.0.1",
                            ENCAP_ORIGIN_CONFIG);
    first = encap_config_want(config, &ip, ENCAP_ORIGIN_TUNNEL);
    first->n_tunnels++;
    second = encap_config_want(config, &ip, ENCAP_ORIGIN_TUNNEL);
    second->n_tunnels++;
    if (first != second || first->n_tunnels != 2) {
        route_test_fail("one address became two endpoints");
    }
    wanted = format_wanted(config);
    expect_text("origins", "wanted",
                "10.1.0.1 ovn config tunnel\n10.2.0.1 ovn\n10.3.0.1 config",
                wanted);
    expect_problems("origins", config, "");
    free(wanted);
    encap_config_destroy(config);
}

/* A list as long as may be, and a value longer than anything sensible. */
static void
test_long(void)
{
    struct encap_config *config = encap_config_create();
    struct ds s = DS_EMPTY_INITIALIZER;

    for (int i = 0; i < 256; i++) {
        ds_put_format(&s, "%s10.1.%d.1", i ? "," : "", i);
    }
    encap_config_parse_list(config, OVN_KEY, ds_cstr(&s), ENCAP_ORIGIN_OVN);
    if (hmap_count(&config->wanted) != 256) {
        route_test_fail("%"PRIuSIZE" of 256 endpoints",
                        hmap_count(&config->wanted));
    }
    expect_problems("256 endpoints", config, "");

    ds_clear(&s);
    ds_put_char_multiple(&s, 'x', 1000000);
    encap_config_parse_list(config, OVN_KEY, ds_cstr(&s), ENCAP_ORIGIN_OVN);
    ds_clear(&s);
    ds_put_cstr(&s, OVN_KEY ": \"");
    ds_put_char_multiple(&s, 'x', 60);
    ds_put_cstr(&s, "...\" is not an IP address");
    expect_problems("a million letters", config, ds_cstr(&s));

    ds_clear(&s);
    for (int i = 0; i < 300000; i++) {
        ds_put_cstr(&s, "10.1.7.1,");
    }
    sset_clear(&config->problems);
    encap_config_parse_list(config, OVN_KEY, ds_cstr(&s), ENCAP_ORIGIN_OVN);
    expect_problems("one endpoint very often", config,
                    OVN_KEY ": 10.1.7.1 is listed twice");
    if (hmap_count(&config->wanted) != 256) {
        route_test_fail("%"PRIuSIZE" of 256 endpoints after all",
                        hmap_count(&config->wanted));
    }
    ds_destroy(&s);
    encap_config_destroy(config);
}

/* Defaults. */

struct default_case {
    const char *ovn, *config, *tunnels; /* Lists. */
    const char *ovn_default, *config_default;
    const char *defaults;       /* "IPV4 IPV6", "-": none. */
    const char *problems;
};

static const struct default_case default_cases[] = {
    { .defaults = "- -" },

    /* Given. */
    { .ovn = "10.1.0.1,10.2.0.1", .defaults = "- -" },
    { .ovn = "10.1.0.1,10.2.0.1", .ovn_default = " 10.2.0.1 ",
      .defaults = "10.2.0.1 -" },
    { .config = "10.1.0.1,10.2.0.1", .config_default = "10.2.0.1",
      .defaults = "10.2.0.1 -" },
    { .ovn = "10.1.0.1", .config = "10.2.0.1", .ovn_default = "10.2.0.1",
      .defaults = "10.2.0.1 -" },
    { .ovn = "10.1.0.1,10.2.0.1,2001:db8::1,2001:db8::2",
      .ovn_default = "10.1.0.1,2001:db8::2",
      .defaults = "10.1.0.1 2001:db8::2" },
    { .ovn = "10.1.0.1,10.2.0.1,2001:db8::1,2001:db8::2",
      .ovn_default = "10.1.0.1", .config_default = "2001:db8::2",
      .defaults = "10.1.0.1 2001:db8::2" },
    { .ovn = "10.1.0.1,10.2.0.1", .ovn_default = "10.1.0.1",
      .config_default = "10.1.0.1", .defaults = "10.1.0.1 -" },

    /* Too many. */
    { .ovn = "10.1.0.1,10.2.0.1", .ovn_default = "10.1.0.1",
      .config_default = "10.2.0.1", .defaults = "10.1.0.1 -",
      .problems = DEFAULT_KEY ": 10.2.0.1 is a second default beside 10.1.0.1 "
                  "of " OVN_DEFAULT_KEY },
    { .ovn = "10.1.0.1,10.2.0.1", .ovn_default = "10.2.0.1,10.1.0.1",
      .defaults = "10.2.0.1 -",
      .problems = OVN_DEFAULT_KEY ": 10.1.0.1 is a second default beside "
                  "10.2.0.1 of " OVN_DEFAULT_KEY },
    { .ovn = "10.1.0.1,10.2.0.1", .ovn_default = "10.2.0.1,10.2.0.1",
      .defaults = "10.2.0.1 -",
      .problems = OVN_DEFAULT_KEY ": 10.2.0.1 is listed twice" },

    /* Malformed. */
    { .ovn = "10.1.0.1,10.2.0.1", .ovn_default = "10.1.0",
      .defaults = "- -",
      .problems = OVN_DEFAULT_KEY ": \"10.1.0\" is not an IP address" },
    { .ovn = "10.1.0.1,10.2.0.1", .config_default = "0.0.0.0",
      .defaults = "- -",
      .problems = DEFAULT_KEY ": \"0.0.0.0\" is not a unicast address" },
    { .ovn = "10.1.0.1", .ovn_default = "ff02::1", .defaults = "10.1.0.1 -",
      .problems = OVN_DEFAULT_KEY ": \"ff02::1\" is not a unicast address" },

    /* Not configured. */
    { .ovn = "10.1.0.1,10.2.0.1", .ovn_default = "10.3.0.1",
      .defaults = "- -",
      .problems = OVN_DEFAULT_KEY ": 10.3.0.1 is not one of the configured "
                  "endpoints" },
    { .ovn = "10.1.0.1,10.2.0.1", .config_default = "2001:db8::1",
      .defaults = "- -",
      .problems = DEFAULT_KEY ": 2001:db8::1 is not one of the configured "
                  "endpoints" },
    { .ovn = "10.1.0.1,10.2.0.1", .tunnels = "10.3.0.1",
      .ovn_default = "10.3.0.1", .defaults = "- -",
      .problems = OVN_DEFAULT_KEY ": 10.3.0.1 is not one of the configured "
                  "endpoints" },
    { .config_default = "10.1.0.1", .defaults = "- -",
      .problems = DEFAULT_KEY ": 10.1.0.1 is not one of the configured "
                  "endpoints" },

    /* The only one. */
    { .ovn = "10.1.0.1", .defaults = "10.1.0.1 -" },
    { .config = "2001:db8::1", .defaults = "- 2001:db8::1" },
    { .ovn = "10.1.0.1,2001:db8::1", .defaults = "10.1.0.1 2001:db8::1" },
    { .ovn = "10.1.0.1", .config = "10.1.0.1", .tunnels = "10.1.0.1,10.2.0.1",
      .defaults = "10.1.0.1 -" },
    { .ovn = "10.1.0.1", .config = "10.2.0.1", .defaults = "- -" },
    { .tunnels = "10.1.0.1", .defaults = "- -" },
    { .ovn = "10.1.0.1", .ovn_default = "10.2.0.1",
      .defaults = "10.1.0.1 -",
      .problems = OVN_DEFAULT_KEY ": 10.2.0.1 is not one of the configured "
                  "endpoints" },
};

static void
test_defaults(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(default_cases); i++) {
        const struct default_case *c = &default_cases[i];
        struct encap_config *config = encap_config_create();
        char *of = xasprintf("default %"PRIuSIZE, i);
        struct ds got = DS_EMPTY_INITIALIZER;

        encap_config_parse_list(config, OVN_KEY, c->ovn, ENCAP_ORIGIN_OVN);
        encap_config_parse_list(config, KEY, c->config, ENCAP_ORIGIN_CONFIG);
        encap_config_parse_list(config, "t", c->tunnels, ENCAP_ORIGIN_TUNNEL);
        encap_config_parse_default(config, OVN_DEFAULT_KEY, c->ovn_default);
        encap_config_parse_default(config, DEFAULT_KEY, c->config_default);
        encap_config_finish(config);

        for (int ipv6 = 0; ipv6 < 2; ipv6++) {
            ds_put_cstr(&got, ipv6 ? " " : "");
            if (ipv6_addr_is_set(&config->defaults[ipv6])) {
                ipv6_format_mapped(&config->defaults[ipv6], &got);
            } else {
                ds_put_cstr(&got, "-");
            }
        }
        expect_text(of, "defaults", c->defaults, ds_cstr(&got));
        expect_problems(of, config, c->problems);
        ds_destroy(&got);
        free(of);
        encap_config_destroy(config);
    }
}

/* Single addresses, that is, pins. */

static void
check_address(const char *value, const char *ip, const char *problem)
{
    const char *key = "interface vm1: external_ids:encap-ip";
    struct encap_config *config = encap_config_create();
    struct in6_addr before = route_test_parse("192.0.2.1", NULL);
    struct in6_addr expected = ip ? route_test_parse(ip, NULL) : before;
    struct in6_addr got = before;
    bool ok = encap_config_parse_address(config, key, value, &got);
    char *line = problem ? xasprintf("%s: %s", key, problem) : NULL;

    if (ok != (ip != NULL) || !ipv6_addr_equals(&got, &expected)) {
        route_test_fail("%s: wrong address", value);
    }
    expect_problems(value ? value : "NULL", config, line);
    free(line);
    encap_config_destroy(config);
}

static void
test_addresses(void)
{
    check_address(NULL, NULL, NULL);
    check_address("", NULL, NULL);
    check_address("10.1.0.1", "10.1.0.1", NULL);
    check_address("\t10.1.0.1 ", "10.1.0.1", NULL);
    check_address("2001:db8::1", "2001:db8::1", NULL);
    check_address("::ffff:10.1.0.1", "10.1.0.1", NULL);
    check_address(" ", NULL, "\"\" is not an IP address");
    check_address("10.1.0.1 x", NULL, "\"10.1.0.1 x\" is not an IP address");
    check_address("10.1.0.1,10.2.0.1", NULL,
                  "\"10.1.0.1,10.2.0.1\" is not an IP address");
    check_address("0.0.0.0", NULL, "\"0.0.0.0\" is not a unicast address");
}

/* Order. */

struct order_case {
    const char *value;
    const char *order;
    const char *problems;
};

static const struct order_case order_cases[] = {
    { NULL, "pin nic default route", "" },
    { "", "pin nic default route", "" },
    { "pin,nic,default,route", "pin nic default route", "" },
    { "route,default,nic,pin", "route default nic pin", "" },
    { "pin", "pin", "" },
    { " nic , route ", "nic route", "" },

    { "pin,pin", "pin nic default route", ORDER_KEY ": pin is listed twice" },
    { "route,local_ip", "pin nic default route",
      ORDER_KEY ": \"local_ip\" is none of pin, nic, default, route" },
    { "Pin", "pin nic default route",
      ORDER_KEY ": \"Pin\" is none of pin, nic, default, route" },
    { "pin nic", "pin nic default route",
      ORDER_KEY ": \"pin nic\" is none of pin, nic, default, route" },
    { "nic,,route", "pin nic default route",
      ORDER_KEY ": \"\" is none of pin, nic, default, route" },
    { "first,tun_src,route,nic,pin,default,route,pin",
      "pin nic default route",
      ORDER_KEY ": \"first\" is none of pin, nic, default, route\n"
      ORDER_KEY ": \"tun_src\" is none of pin, nic, default, route\n"
      ORDER_KEY ": pin is listed twice\n"
      ORDER_KEY ": route is listed twice" },
};

static void
test_orders(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(order_cases); i++) {
        const struct order_case *c = &order_cases[i];
        const char *of = c->value ? c->value : "NULL";
        struct encap_config *config = encap_config_create();
        struct ds got = DS_EMPTY_INITIALIZER;

        encap_config_parse_order(config, ORDER_KEY, c->value);
        for (size_t j = 0; j < config->n_order; j++) {
            ds_put_format(&got, "%s%s", j ? " " : "",
                          encap_step_to_string(config->order[j]));
        }
        expect_text(of, "order", c->order, ds_cstr(&got));
        expect_problems(of, config, c->problems);
        ds_destroy(&got);
        encap_config_destroy(config);
    }
}

/* Everything that a configuration owns, for checkers of memory. */
static void
test_destroy(void)
{
    struct encap_config *config = encap_config_create();

    config->bridges = xcalloc(2, sizeof *config->bridges);
    config->n_bridges = 2;
    config->bridges[0].name = xstrdup("br0");
    config->bridges[1].name = xstrdup("br1");
    config->bridges[1].ports = xcalloc(1, sizeof *config->bridges[1].ports);
    config->bridges[1].n_ports = 1;
    config->bridges[1].ports[0].name = xstrdup("p1");
    config->bridges[1].ports[0].type = xstrdup("dpdk");
    encap_config_destroy(config);
    encap_config_destroy(NULL);
}

static void
test_encap_config_main(int argc OVS_UNUSED, char *argv[] OVS_UNUSED)
{
    test_lists();
    test_origins();
    test_long();
    test_defaults();
    test_addresses();
    test_orders();
    test_destroy();
}

OVSTEST_REGISTER("test-encap-config", test_encap_config_main);
