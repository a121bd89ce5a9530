/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-config.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "util.h"

/* Problems that are told one by one. */
enum { MAX_PROBLEMS = 100 };

/* Characters of a value that a problem quotes. */
#define MAX_QUOTE 60

#define SPACES " \t\r\n"

struct encap_config *
encap_config_create(void)
{
    static const enum encap_step order[] = {
        ENCAP_BY_PIN, ENCAP_BY_NIC, ENCAP_BY_DEFAULT, ENCAP_BY_ROUTE,
    };
    struct encap_config *config = xzalloc(sizeof *config);

    hmap_init(&config->wanted);
    BUILD_ASSERT_DECL(sizeof order == sizeof config->order);
    memcpy(config->order, order, sizeof order);
    config->n_order = ARRAY_SIZE(order);
    sset_init(&config->tunnels);
    sset_init(&config->problems);
    return config;
}

void
encap_config_destroy(struct encap_config *config)
{
    struct encap_wanted *wanted;

    if (!config) {
        return;
    }

    HMAP_FOR_EACH_POP (wanted, node, &config->wanted) {
        free(wanted);
    }
    hmap_destroy(&config->wanted);
    for (size_t i = 0; i < ARRAY_SIZE(config->default_keys); i++) {
        free(config->default_keys[i]);
    }
    for (size_t i = 0; i < config->n_bridges; i++) {
        struct encap_config_bridge *bridge = &config->bridges[i];

        for (size_t j = 0; j < bridge->n_ports; j++) {
            free(bridge->ports[j].name);
            free(bridge->ports[j].type);
        }
        free(bridge->ports);
        free(bridge->name);
    }
    free(config->bridges);
    sset_destroy(&config->tunnels);
    sset_destroy(&config->problems);
    free(config);
}

static uint32_t
hash_ip(const struct in6_addr *ip)
{
    return hash_bytes(ip, sizeof *ip, 0);
}

static struct encap_wanted *
find_wanted(const struct encap_config *config, const struct in6_addr *ip)
{
    struct encap_wanted *wanted;

    HMAP_FOR_EACH_WITH_HASH (wanted, node, hash_ip(ip), &config->wanted) {
        if (ipv6_addr_equals(&wanted->ip, ip)) {
            return wanted;
        }
    }
    return NULL;
}

struct encap_wanted *
encap_config_want(struct encap_config *config, const struct in6_addr *ip,
                  enum encap_origin origin)
{
    struct encap_wanted *wanted = find_wanted(config, ip);

    if (!wanted) {
        wanted = xzalloc(sizeof *wanted);
        wanted->ip = *ip;
        hmap_insert(&config->wanted, &wanted->node, hash_ip(ip));
    }
    wanted->origins |= origin;
    return wanted;
}

/* Parsing. */

/* Adds the problem "KEY: ITEM WHAT". */
static void
add_problem(struct encap_config *config, const char *key, const char *item,
            const char *what)
{
    if (sset_count(&config->problems) < MAX_PROBLEMS) {
        sset_add_and_free(&config->problems,
                          xasprintf("%s: %s %s", key, item, what));
    } else {
        sset_add(&config->problems, "there are more problems than these");
    }
}

/* The same with 'item' in quotes, cut and escaped as needed to stay one
 * line. */
static void
add_problem_quoted(struct encap_config *config, const char *key,
                   const char *item, const char *what)
{
    size_t length = strlen(item);
    struct ds quoted = DS_EMPTY_INITIALIZER;

    ds_put_char(&quoted, '"');
    ds_put_printable(&quoted, item, MIN(length, MAX_QUOTE));
    ds_put_cstr(&quoted, length > MAX_QUOTE ? "...\"" : "\"");
    add_problem(config, key, ds_cstr(&quoted), what);
    ds_destroy(&quoted);
}

static void
add_problem_ip(struct encap_config *config, const char *key,
               const struct in6_addr *ip, const char *what)
{
    char buf[INET6_ADDRSTRLEN];

    add_problem(config, key, ipv6_string_mapped(buf, ip), what);
}

/* Cuts the spaces around 's' off and returns what is left. */
static char *
trim(char *s)
{
    size_t length;

    s += strspn(s, SPACES);
    length = strlen(s);
    while (length && strchr(SPACES, s[length - 1])) {
        length--;
    }
    s[length] = '\0';
    return s;
}

/* Cuts the first item off '*rest', which becomes NULL after the last one, and
 * returns it. */
static char *
next_item(char **rest)
{
    return trim(strsep(rest, ","));
}

/* Why 'ip' cannot be the source of packets on a network, or NULL. */
static const char *
why_no_source(const struct in6_addr *ip)
{
    if (IN6_IS_ADDR_V4MAPPED(ip)) {
        ovs_be32 ip4 = in6_addr_get_mapped_ipv4(ip);

        if (ip4 == htonl(INADDR_ANY) || ip4 == htonl(INADDR_BROADCAST)
            || ip_is_multicast(ip4)) {
            return "is not a unicast address";
        }
        return (ntohl(ip4) >> 24 == IN_LOOPBACKNET
                ? "is a loopback address" : NULL);
    }
    if (!ipv6_addr_is_set(ip) || ipv6_addr_is_multicast(ip)) {
        return "is not a unicast address";
    }
    return IN6_IS_ADDR_LOOPBACK(ip) ? "is a loopback address" : NULL;
}

static bool
parse_ip(struct encap_config *config, const char *key, const char *item,
         struct in6_addr *ipp)
{
    struct in6_addr ip;
    const char *why;
    ovs_be32 ip4;

    if (ip_parse(item, &ip4)) {
        ip = in6_addr_mapped_ipv4(ip4);
    } else if (!ipv6_parse(item, &ip)) {
        add_problem_quoted(config, key, item, "is not an IP address");
        return false;
    }

    why = why_no_source(&ip);
    if (why) {
        add_problem_quoted(config, key, item, why);
        return false;
    }
    *ipp = ip;
    return true;
}

/* Adds 'ip' to 'seen', or returns false if it is there. */
static bool
see(struct sset *seen, const struct in6_addr *ip)
{
    char buf[INET6_ADDRSTRLEN];

    return sset_add(seen, ipv6_string_mapped(buf, ip)) != NULL;
}

/* Parses a comma separated list and passes each address that is good and new
 * to 'accept', with 'aux'. */
static void
parse_ips(struct encap_config *config, const char *key, const char *value,
          void (*accept)(struct encap_config *, const char *key,
                         const struct in6_addr *, unsigned int aux),
          unsigned int aux)
{
    struct sset seen = SSET_INITIALIZER(&seen);
    char *copy = xstrdup(value ? value : "");
    char *rest = copy;

    while (rest) {
        char *item = next_item(&rest);
        struct in6_addr ip;

        if (!*item || !parse_ip(config, key, item, &ip)) {
            continue;
        }
        if (see(&seen, &ip)) {
            accept(config, key, &ip, aux);
        } else {
            add_problem_ip(config, key, &ip, "is listed twice");
        }
    }
    sset_destroy(&seen);
    free(copy);
}

static void
accept_wanted(struct encap_config *config, const char *key OVS_UNUSED,
              const struct in6_addr *ip, unsigned int origin)
{
    encap_config_want(config, ip, origin);
}

void
encap_config_parse_list(struct encap_config *config, const char *key,
                        const char *value, enum encap_origin origin)
{
    parse_ips(config, key, value, accept_wanted, origin);
}

static void
accept_default(struct encap_config *config, const char *key,
               const struct in6_addr *ip, unsigned int aux OVS_UNUSED)
{
    bool ipv6 = encap_is_ipv6(ip);
    struct in6_addr *current = &config->defaults[ipv6];

    if (!ipv6_addr_is_set(current)) {
        *current = *ip;
        config->default_keys[ipv6] = xstrdup(key);
    } else if (!ipv6_addr_equals(current, ip)) {
        char buf[INET6_ADDRSTRLEN];
        char *what = xasprintf("is a second default beside %s of %s",
                               ipv6_string_mapped(buf, current),
                               config->default_keys[ipv6]);

        add_problem_ip(config, key, ip, what);
        free(what);
    }
}

void
encap_config_parse_default(struct encap_config *config, const char *key,
                           const char *value)
{
    parse_ips(config, key, value, accept_default, 0);
}

bool
encap_config_parse_address(struct encap_config *config, const char *key,
                           const char *value, struct in6_addr *ip)
{
    bool ok = false;

    if (value && *value) {
        char *copy = xstrdup(value);

        ok = parse_ip(config, key, trim(copy), ip);
        free(copy);
    }
    return ok;
}

void
encap_config_parse_order(struct encap_config *config, const char *key,
                         const char *value)
{
    enum encap_step order[ENCAP_MAX_ORDER];
    size_t n = 0;
    unsigned int seen = 0;
    bool ok = true;
    char *copy, *rest;

    if (!value || !*value) {
        return;
    }

    rest = copy = xstrdup(value);
    while (rest) {
        char *item = next_item(&rest);
        enum encap_step step;

        if (!encap_step_from_string(item, &step)) {
            add_problem_quoted(config, key, item,
                               "is none of pin, nic, default, route");
            ok = false;
        } else if (seen & (1u << step)) {
            add_problem(config, key, item, "is listed twice");
            ok = false;
        } else {
            seen |= 1u << step;
            order[n++] = step;
        }
    }
    free(copy);

    if (ok) {
        memcpy(config->order, order, n * sizeof *order);
        config->n_order = n;
    }
}

static bool
is_configured(const struct encap_wanted *wanted)
{
    return wanted->origins & (ENCAP_ORIGIN_OVN | ENCAP_ORIGIN_CONFIG);
}

/* The configured endpoint of a family if there is exactly one. */
static const struct encap_wanted *
only_one(const struct encap_config *config, bool ipv6)
{
    const struct encap_wanted *wanted, *found = NULL;

    HMAP_FOR_EACH (wanted, node, &config->wanted) {
        if (is_configured(wanted) && encap_is_ipv6(&wanted->ip) == ipv6) {
            if (found) {
                return NULL;
            }
            found = wanted;
        }
    }
    return found;
}

void
encap_config_finish(struct encap_config *config)
{
    for (int ipv6 = 0; ipv6 < 2; ipv6++) {
        struct in6_addr *ip = &config->defaults[ipv6];
        const struct encap_wanted *wanted = find_wanted(config, ip);

        if (ipv6_addr_is_set(ip) && !(wanted && is_configured(wanted))) {
            add_problem_ip(config, config->default_keys[ipv6], ip,
                           "is not one of the configured endpoints");
            *ip = in6addr_any;
            free(config->default_keys[ipv6]);
            config->default_keys[ipv6] = NULL;
        }
        wanted = only_one(config, ipv6);
        if (!ipv6_addr_is_set(ip) && wanted) {
            *ip = wanted->ip;
        }
    }
}
