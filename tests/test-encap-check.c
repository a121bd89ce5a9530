/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#undef NDEBUG

#include "encap-check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "encap-check-private.h"
#include "encap-config.h"
#include "encap-endpoint.h"
#include "encap-finding.h"
#include "encap-json.h"
#include "encap-mend.h"
#include "encap-text.h"
#include "netdev.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "ovs-router.h"
#include "ovstest.h"
#include "packets.h"
#include "route-scene.h"
#include "route-test.h"
#include "util.h"

/* Fails unless 'findings' read as 'expected'; empties them. */
static void
expect(struct encap_findings *findings, const char *what, const char *expected)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    encap_findings_sort(findings);
    encap_findings_format(findings, &s);
    if (strcmp(ds_cstr(&s), expected)) {
        route_test_fail("%s:\n%sbut expected:\n%s", what, ds_cstr(&s),
                        expected);
    }
    ds_destroy(&s);
    encap_findings_destroy(findings);
    encap_findings_init(findings);
}

static void
add_endpoint(struct encap_registry *registry, const char *ip,
             const char *dev, const char *bridge)
{
    const struct in6_addr addr = route_scene_ip(ip, NULL);
    struct encap_endpoint *endpoint
        = encap_registry_add_endpoint(registry, &addr);

    endpoint->origins = ENCAP_ORIGIN_CONFIG;
    ovs_strlcpy(endpoint->dev, dev, sizeof endpoint->dev);
    endpoint->bridge = nullable_xstrdup(bridge);
    endpoint->any_nic = !bridge;
}

/* Makes file DIR/DEV/NAME with number 'value'. */
static void
set_sysctl(const char *dir, const char *dev, const char *name, int value)
{
    char *path = xasprintf("%s/%s", dir, dev);
    FILE *stream;

    mkdir(path, 0700);
    free(path);
    path = xasprintf("%s/%s/%s", dir, dev, name);
    stream = fopen(path, "w");
    ovs_assert(stream);
    fprintf(stream, "%d\n", value);
    fclose(stream);
    free(path);
}

static void
set_sysctls(const char *dir, const char *dev, int arp_ignore,
            int arp_announce, int rp_filter)
{
    set_sysctl(dir, dev, "arp_ignore", arp_ignore);
    set_sysctl(dir, dev, "arp_announce", arp_announce);
    set_sysctl(dir, dev, "rp_filter", rp_filter);
}

/* Devices of VLANs, and one whose name the shell would split. */
static void
test_dots(const char *dir)
{
    struct encap_registry *registry = encap_registry_create();
    struct encap_findings findings;
    const struct encap_check check = {
        .registry = registry,
        .findings = &findings,
    };

    encap_findings_init(&findings);
    add_endpoint(registry, "10.0.0.1", "br1.10.2", "br1");
    add_endpoint(registry, "10.1.0.3", "b;r", "b;r");
    set_sysctls(dir, "all", 0, 0, 0);
    set_sysctls(dir, "br1.10.2", 0, 0, 1);
    set_sysctls(dir, "b;r", 0, 0, 1);
    encap_check_sysctls(&check, dir);
    expect(&findings, "dots",
           "warning  br1.10.2: rp_filter is 1: the kernel drops what comes "
           "in here, ARP too, from addresses that it reaches by another "
           "device\n"
           "         mend: sysctl -w net.ipv4.conf.br1/10/2.rp_filter=2\n"
           "warning  b;r: rp_filter is 1: the kernel drops what comes "
           "in here, ARP too, from addresses that it reaches by another "
           "device\n"
           "         mend: sysctl -w net.ipv4.conf.'b;r'.rp_filter=2\n");
    encap_findings_destroy(&findings);
    encap_registry_destroy(registry);
}

/* Two NICs in one subnet, one in another, and one whose device the kernel does
 * not have. */
static void
test_sysctls(void)
{
    struct encap_registry *registry = encap_registry_create();
    char dir[] = "sysctl.XXXXXX";
    struct encap_findings findings;
    const struct encap_check check = {
        .registry = registry,
        .findings = &findings,
    };

    ovs_assert(mkdtemp(dir));
    encap_findings_init(&findings);
    route_scene_apply(ovs_router_db(),
                      "link br1 1; link br2 2; link br3 3; link br4 4;"
                      "addr br1 10.0.0.1/24; addr br2 10.0.0.2/24;"
                      "addr br3 10.1.0.3/24; addr br4 10.0.0.4/24");
    add_endpoint(registry, "10.0.0.1", "br1", "br1");

    /* One NIC: nothing can be mistaken. */
    set_sysctls(dir, "all", 0, 0, 1);
    set_sysctls(dir, "br1", 0, 0, 1);
    encap_check_sysctls(&check, dir);
    expect(&findings, "one NIC", "no problem found\n");

    add_endpoint(registry, "10.1.0.3", "br3", "br3");
    set_sysctls(dir, "br3", 0, 0, 0);
    set_sysctl(dir, "all", "rp_filter", 0);
    encap_check_sysctls(&check, dir);
    expect(&findings, "two subnets",
           "warning  br1: rp_filter is 1: the kernel drops what comes in "
           "here, ARP too, from addresses that it reaches by another device\n"
           "         mend: sysctl -w net.ipv4.conf.br1.rp_filter=2\n");

    add_endpoint(registry, "10.0.0.2", "br2", "br2");
    set_sysctls(dir, "br2", 1, 1, 2);
    encap_check_sysctls(&check, dir);
    expect(&findings, "one subnet",
           "warning  br1: arp_ignore is 0: the kernel answers ARP for "
           "10.0.0.2 of br2 here, too\n"
           "         mend: sysctl -w net.ipv4.conf.br1.arp_ignore=1\n"
           "warning  br1: arp_announce is 0: the kernel may ask by ARP in "
           "the name of 10.0.0.2 of br2 here\n"
           "         mend: sysctl -w net.ipv4.conf.br1.arp_announce=2\n"
           "warning  br1: rp_filter is 1: the kernel drops what comes in "
           "here, ARP too, from addresses that it reaches by another device\n"
           "         mend: sysctl -w net.ipv4.conf.br1.rp_filter=2\n"
           "warning  br2: arp_announce is 1: the kernel may ask by ARP in "
           "the name of 10.0.0.1 of br1 here\n"
           "         mend: sysctl -w net.ipv4.conf.br2.arp_announce=2\n");

    /* Of "all" and the device the greater counts. */
    set_sysctls(dir, "all", 1, 2, 2);
    encap_check_sysctls(&check, dir);
    expect(&findings, "all", "no problem found\n");

    add_endpoint(registry, "10.0.0.4", "br4", "br4");
    set_sysctls(dir, "all", 1, 1, 0);
    set_sysctls(dir, "br1", 0, 2, 0);
    set_sysctls(dir, "br2", 0, 2, 0);
    encap_check_sysctls(&check, dir);
    expect(&findings, "unknown device", "no problem found\n");

    encap_registry_destroy(registry);
    test_dots(dir);
}

static void
test_check(void)
{
    struct encap_registry *registry = encap_registry_create();
    struct encap_findings findings;

    encap_findings_init(&findings);
    encap_check(&findings);
    expect(&findings, "nothing", "no problem found\n");

    route_scene_apply(ovs_router_db(),
                      "link lo 5; addr lo 192.0.2.1/32;"
                      "rule 77 iif eth9 table 7; rule 78 iif lo table 7;"
                      "rule 79 -6 iif eth9 table 7");
    add_endpoint(registry, "192.0.2.1", "lo", NULL);
    encap_registry_finish(registry);
    encap_registry_publish(registry);
    encap_check(&findings);

    /* In the order of severity. */
    ovs_assert(findings.n == 4);
    ovs_assert(!strcmp(findings.findings[0].object, "IPv4 rule 77"));
    ovs_assert(findings.findings[0].severity == ENCAP_WARNING);
    ovs_assert(strstr(findings.findings[0].problem, "not evaluated: iif"));
    ovs_assert(!strcmp(findings.findings[1].object, "IPv6 rule 79"));
    ovs_assert(!strcmp(findings.findings[2].object, "192.0.2.1"));
    ovs_assert(!strcmp(findings.findings[2].problem,
                       "on no bridge but on device lo: packets use any NIC "
                       "that routing names"));
    ovs_assert(findings.findings[2].severity == ENCAP_INFO);
    ovs_assert(!strcmp(findings.findings[3].object, "hw-offload"));
    encap_findings_destroy(&findings);
}

/* Names as words of the shell and in lines. */
static void
test_text(void)
{
    static const struct {
        const char *name, *word, *text;
    } cases[] = {
        { "nic-1_a.B:9@x/y", "nic-1_a.B:9@x/y", "nic-1_a.B:9@x/y" },
        { "", "''", "" },
        { "a b", "'a b'", "a b" },
        { "'", "''\\'''", "'" },
        { "$x", "'$x'", "$x" },
        { "~", "'~'", "~" },
        { "a\\n", "'a\\n'", "a\\n" },
        { "\303\244", "'\303\244'", "\303\244" },
        { "\n\t\r\001\037\177", "'\n\t\r\001\037\177'",
          "\\n\\t\\x0d\\x01\\x1f\\x7f" },
        { "a\377b\303", "'a\377b\303'", "a\\xffb\\xc3" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct ds s = DS_EMPTY_INITIALIZER;

        encap_text_put_word(cases[i].name, &s);
        if (strcmp(ds_cstr(&s), cases[i].word)) {
            route_test_fail("word %s, not %s", ds_cstr(&s), cases[i].word);
        }
        ds_clear(&s);
        encap_text_put(cases[i].name, &s);
        if (strcmp(ds_cstr(&s), cases[i].text)) {
            route_test_fail("text %s, not %s", ds_cstr(&s), cases[i].text);
        }
        ds_destroy(&s);
    }
}

/* Which bytes are UTF-8, against a naive reader: all sequences of two bytes,
 * and of three and four with bytes at the limits of RFC 3629 section 4. */

/* Appends 'code' as UTF-8. */
static size_t
encode(uint32_t code, unsigned char *s)
{
    if (code < 0x80) {
        s[0] = code;
        return 1;
    } else if (code < 0x800) {
        s[0] = 0xc0 | code >> 6;
        s[1] = 0x80 | (code & 0x3f);
        return 2;
    } else if (code < 0x10000) {
        s[0] = 0xe0 | code >> 12;
        s[1] = 0x80 | (code >> 6 & 0x3f);
        s[2] = 0x80 | (code & 0x3f);
        return 3;
    }
    s[0] = 0xf0 | code >> 18;
    s[1] = 0x80 | (code >> 12 & 0x3f);
    s[2] = 0x80 | (code >> 6 & 0x3f);
    s[3] = 0x80 | (code & 0x3f);
    return 4;
}

/* The code point that 's' begins with, if encoding it gives the same bytes
 * again and it is no surrogate; else -1. */
static int
decode(const char *s_, size_t *length)
{
    const unsigned char *s = (const unsigned char *) s_;
    unsigned char again[4];
    int n = s[0] < 0xc0 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    uint32_t code = n == 1 ? s[0] : s[0] & (0xff >> (n + 1));

    for (int i = 1; i < n; i++) {
        if (!s[i]) {
            return -1;
        }
        code = code << 6 | (s[i] & 0x3f);
    }
    *length = n;
    return (code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000)
            && encode(code, again) == n && !memcmp(again, s, n)
            ? (int) code : -1);
}

static void
check_utf8(const char *s)
{
    struct ds expected = DS_EMPTY_INITIALIZER;
    struct ds json = DS_EMPTY_INITIALIZER;
    struct ds got = DS_EMPTY_INITIALIZER;
    char *line = encap_text_line(s);

    for (const char *p = s; *p; ) {
        size_t length;

        if (decode(p, &length) >= 0) {
            ds_put_buffer(&expected, p, length);
            ds_put_buffer(&json, p, length);
            p += length;
        } else {
            ds_put_format(&expected, "\\x%02x", (unsigned char) *p);
            ds_put_format(&json, "\\\\x%02x", (unsigned char) *p);
            p++;
        }
    }
    encap_text_put_json(s, &got);
    if (strcmp(line, ds_cstr(&expected))
        || strcmp(ds_cstr(&got), ds_cstr(&json))) {
        route_test_fail("%s and %s, not %s", line, ds_cstr(&got),
                        ds_cstr(&expected));
    }
    free(line);
    ds_destroy(&got);
    ds_destroy(&json);
    ds_destroy(&expected);
}

static void
test_utf8(void)
{
    static const unsigned char bytes[] = {
        'a', 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0,
        0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff,
    };
    enum { N = ARRAY_SIZE(bytes) };

    for (int i = 0x80; i <= 0xff; i++) {
        for (int j = ' '; j <= 0xff; j++) {
            const char s[] = { i, j, '\0' };

            if (j != 0x7f) {
                check_utf8(s);
            }
        }
    }
    for (int i = 0; i < N * N * N * N; i++) {
        const char s[] = {
            bytes[i % N], bytes[i / N % N], bytes[i / N / N % N],
            bytes[i / N / N / N], '\0',
        };

        check_utf8(s);
    }
}

/* JSON stays what it is where names are not UTF-8. */
static void
test_json(void)
{
    struct json *json = json_object_create();
    char *s;

    json_object_put_string(json, "dev", "a\377\"\\\n\303\244");
    s = encap_json_to_string(json);
    if (strcmp(s, "{\"dev\":\"a\\\\xff\\\"\\\\\\n\303\244\"}")) {
        route_test_fail("JSON %s", s);
    }
    free(s);
    json_destroy(json);
}

/* Tables that are proposed, with kernels that have some or all. */

static unsigned int n_asked;

static bool
has_all_tables(uint32_t table OVS_UNUSED)
{
    n_asked++;
    return true;
}

/* 103 to 166, which are 64, and 300 to 363. */
static bool
has_some_tables(uint32_t table)
{
    n_asked++;
    return (table >= 103 && table < 103 + 64)
           || (table >= 300 && table < 300 + 64);
}

static void
expect_table(uint32_t *table, const uint32_t *used, size_t n,
             encap_mend_has_table **kernel_has, uint32_t expected)
{
    *table = encap_mend_next_table(*table, used, n, kernel_has);
    if (*table != expected) {
        route_test_fail("table %"PRIu32", not %"PRIu32, *table, expected);
    }
}

static void
test_tables(void)
{
    static const uint32_t used[] = { 99, 101, 102, 105, 252, 256, 1000 };
    const size_t n = ARRAY_SIZE(used);
    encap_mend_has_table *kernel_has = NULL;
    uint32_t table = 100;

    /* No kernel.  Table 253 is "default", 254 "main", 255 "local". */
    expect_table(&table, used, n, &kernel_has, 103);
    expect_table(&table, used, n, &kernel_has, 104);
    expect_table(&table, used, n, &kernel_has, 106);
    table = 251;
    expect_table(&table, used, n, &kernel_has, 257);
    expect_table(&table, used, 0, &kernel_has, 258);

    /* As many in a row as are looked at, of which 105 need no question; then
     * one that is no more asked for than it was before. */
    kernel_has = has_some_tables;
    table = 100;
    n_asked = 0;
    expect_table(&table, used, n, &kernel_has, 167);
    ovs_assert(kernel_has == has_some_tables && n_asked == 64);
    expect_table(&table, used, n, &kernel_has, 168);
    table = 299;
    n_asked = 0;
    expect_table(&table, used, n, &kernel_has, 364);
    ovs_assert(!kernel_has && n_asked == 64);

    /* A kernel that has any, as one without IPv6 seems to: 256 endpoints get
     * tables, one each, and it is not asked without end. */
    kernel_has = has_all_tables;
    table = 100;
    n_asked = 0;
    for (int i = 0; i < 256; i++) {
        const uint32_t last = table;

        table = encap_mend_next_table(table, used, n, &kernel_has);
        ovs_assert(table > last);
        ovs_assert(!(table >= 253 && table <= 255));
    }
    ovs_assert(!kernel_has && n_asked == 64);
}

/* Only the tunnels of bridges that the configuration has are looked at. */
static void
test_tunnels(void)
{
    static const char *const names[] = { "t1", "t2", "t3" };
    struct netdev *netdevs[ARRAY_SIZE(names)], **tunnels;
    struct encap_config *config = encap_config_create();
    const struct encap_check check = { .config = config };
    size_t n;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        ovs_assert(!netdev_open(names[i], "geneve", &netdevs[i]));
    }
    sset_add(&config->tunnels, "t2");
    sset_add(&config->tunnels, "t9");
    tunnels = encap_check_tunnels(&check, &n);
    ovs_assert(n == 1 && tunnels[0] == netdevs[1]);
    netdev_close(tunnels[0]);
    free(tunnels);
    encap_config_destroy(config);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        netdev_close(netdevs[i]);
    }
}

static void
test_encap_check_main(int argc OVS_UNUSED, char *argv[] OVS_UNUSED)
{
    test_check();
    test_tunnels();
    test_sysctls();
    test_tables();
    test_text();
    test_utf8();
    test_json();
}

OVSTEST_REGISTER("test-encap-check", test_encap_check_main);
