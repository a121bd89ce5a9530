/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "route-argument.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "route.h"
#include "util.h"

/* Parses all of 's' as a number as C writes it.  Returns NULL or what is
 * wrong. */
static const char *
parse_number(const char *s, uint32_t *number)
{
    unsigned long long int value;
    char *end;

    if (!isdigit((unsigned char) s[0])) {
        return "not a number";
    }
    errno = 0;
    value = strtoull(s, &end, 0);
    if (*end) {
        return "not a number";
    }
    if (errno || value > UINT32_MAX) {
        return "above 4294967295";
    }
    *number = value;
    return NULL;
}

/* Looks 'name' up in one file of lines "number name", where '#' begins a
 * comment. */
static bool
find_table_name(const char *dir, const char *file, const char *name,
                uint32_t *table)
{
    char *file_name = xasprintf("%s/%s", dir, file);
    struct stat st;
    FILE *stream = (!stat(file_name, &st) && S_ISREG(st.st_mode)
                    ? fopen(file_name, "r") : NULL); /* A pipe could block. */
    struct ds line = DS_EMPTY_INITIALIZER;
    bool found = false;

    free(file_name);
    while (stream && !found && !ds_get_line(&line, stream)) {
        char *save_ptr = NULL;
        char *number = strtok_r(ds_cstr(&line), " \t\r#", &save_ptr);
        char *known = strtok_r(NULL, " \t\r#", &save_ptr);

        found = (number && known && line.string[0] != '#'
                 && !strcmp(known, name) && !parse_number(number, table));
    }
    ds_destroy(&line);
    if (stream) {
        fclose(stream);
    }
    return found;
}

static int
is_conf_file(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);

    return length > 5 && !strcmp(entry->d_name + length - 5, ".conf");
}

/* Looks 'name' up in directory 'dir'/rt_tables.d. */
static bool
find_table_name_in_dir(const char *dir, const char *name, uint32_t *table)
{
    char *dir_name = xasprintf("%s/rt_tables.d", dir);
    struct dirent **entries;
    bool found = false;
    int n;

    n = scandir(dir_name, &entries, is_conf_file, alphasort);
    for (int i = 0; i < n; i++) {
        if (!found) {
            found = find_table_name(dir_name, entries[i]->d_name, name, table);
        }
        free(entries[i]);
    }
    if (n >= 0) {
        free(entries);
    }
    free(dir_name);
    return found;
}

const char *
route_table_from_string(const char *name, uint32_t *table)
{
    /* Where versions of iproute2 keep names; the administrator's first. */
    static const char *dirs[] = {
        "/etc/iproute2", "/usr/share/iproute2", "/usr/lib/iproute2",
    };
    const char *error;
    bool found = false;

    if (!strcmp(name, "local")) {
        *table = ROUTE_TABLE_LOCAL;
        return NULL;
    } else if (!strcmp(name, "main")) {
        *table = ROUTE_TABLE_MAIN;
        return NULL;
    } else if (!strcmp(name, "default")) {
        *table = ROUTE_TABLE_DEFAULT;
        return NULL;
    }

    error = parse_number(name, table);
    if (error) {
        for (size_t i = 0; i < ARRAY_SIZE(dirs) && !found; i++) {
            found = (find_table_name(dirs[i], "rt_tables", name, table)
                     || find_table_name_in_dir(dirs[i], name, table));
        }
        if (!found) {
            return (isdigit((unsigned char) name[0]) ? error
                    : "no table of this name");
        }
    }
    return *table ? NULL : "no table has number 0";
}

/* Parses 's', "ip" or "ip/plen" or "ip/mask", and tells the family.  Returns
 * NULL or what is wrong. */
static const char *
parse_prefix(const char *s, struct in6_addr *addr, uint8_t *plen, bool *ipv6)
{
    const char *slash = strchr(s, '/');
    char *ip = slash ? xmemdup0(s, slash - s) : xstrdup(s);
    bool valid;
    ovs_be32 ip4;

    if (ip_parse(ip, &ip4)) {
        *ipv6 = false;
        in6_addr_set_mapped_ipv4(addr, ip4);
        valid = true;
    } else {
        *ipv6 = true;
        valid = ipv6_parse(ip, addr) && !IN6_IS_ADDR_V4MAPPED(addr);
    }
    free(ip);
    if (!valid) {
        return "not an IP address";
    }

    *plen = 128;
    if (slash) {
        size_t n_digits = strspn(slash + 1, "0123456789");
        struct in6_addr mask6;
        ovs_be32 mask4;

        if (n_digits && !slash[1 + n_digits]) {
            int width = *ipv6 ? 128 : 32;
            int n = n_digits <= 3 ? atoi(slash + 1) : INT_MAX;

            if (n > width) {
                return (*ipv6 ? "prefix length above 128"
                        : "prefix length above 32");
            }
            *plen = 128 - width + n;
        } else if (!*ipv6 && ip_parse(slash + 1, &mask4)
                   && ip_is_cidr(mask4)) {
            *plen = 96 + ip_count_cidr_bits(mask4);
        } else if (*ipv6 && ipv6_parse(slash + 1, &mask6)
                   && ipv6_is_cidr(&mask6)) {
            *plen = ipv6_count_cidr_bits(&mask6);
        } else {
            return "not a prefix length";
        }
    }
    return NULL;
}

/* As parse_prefix(), for a single address. */
static const char *
parse_address(const char *s, struct in6_addr *addr, bool *ipv6)
{
    uint8_t plen;
    const char *error = parse_prefix(s, addr, &plen, ipv6);

    return error ? error : plen < 128 ? "not a single address" : NULL;
}

static const char *
parse_dev(const char *s, char dev[IFNAMSIZ])
{
    if (!s[0]) {
        return "empty";
    } else if (strlen(s) >= IFNAMSIZ) {
        return "longer than 15 characters";
    }
    ovs_strlcpy(dev, s, IFNAMSIZ);
    return NULL;
}

/* What an argument says of the family.  The first that says anything
 * decides, "all" says nothing. */
struct family {
    bool known, ipv6;
};

static const char *
check_family(struct family *family, bool ipv6)
{
    if (family->known && family->ipv6 != ipv6) {
        return family->ipv6 ? "not of IPv6" : "not of IPv4";
    }
    family->known = true;
    family->ipv6 = ipv6;
    return NULL;
}

/* 'plen' stays untouched with "all". */
static const char *
parse_selector(const char *s, struct in6_addr *addr, uint8_t *plen,
               struct family *family)
{
    const char *error;
    bool ipv6;

    if (!strcmp(s, "all")) {
        return NULL;
    }
    error = parse_prefix(s, addr, plen, &ipv6);
    if (!error) {
        *addr = route_prefix_mask(addr, *plen);
        error = check_family(family, ipv6);
    }
    return error;
}

static const struct {
    const char *name;           /* "key=" or whole words. */
    uint32_t argument;
} keywords[] = {
    { "pkt_mark=", ROUTE_ARG_MARK },
    { "src=", ROUTE_ARG_SRC },
    { "tos=", ROUTE_ARG_TOS },
    { "dport=", ROUTE_ARG_DPORT },
    { "dst=", ROUTE_ARG_DST },
    { "mark=", ROUTE_ARG_OUTER_MARK },
    { "in_port=", ROUTE_ARG_IN_PORT },
    { "tunnel=", ROUTE_ARG_TUNNEL },
    { "table=", ROUTE_ARG_TABLE },
    { "from=", ROUTE_ARG_FROM },
    { "to=", ROUTE_ARG_TO },
    { "prio=", ROUTE_ARG_PRIO },
    { "format=", ROUTE_ARG_JSON },
    { "not", ROUTE_ARG_NOT },
    { "-4", ROUTE_ARG_IPV4 },
    { "-6", ROUTE_ARG_IPV6 },
    { "all", ROUTE_ARG_BOTH },
};

/* What 'word' is, and where its value begins.  A word without a key can only
 * be a gateway. */
static uint32_t
classify(const char *word, const char **value)
{
    for (size_t i = 0; i < ARRAY_SIZE(keywords); i++) {
        const char *name = keywords[i].name;
        size_t length = strlen(name);

        if (name[length - 1] == '=' ? !strncmp(word, name, length)
                                    : !strcmp(word, name)) {
            *value = word + length;
            return keywords[i].argument;
        }
    }
    *value = word;
    return strchr(word, '=') ? 0 : ROUTE_ARG_GATEWAY;
}

/* Parses the value of one argument. */
static const char *
parse_value(uint32_t argument, const char *value, uint32_t allowed,
            struct route_arguments *args, struct family *family)
{
    const char *error;
    bool ipv6;

    switch (argument) {
    case ROUTE_ARG_PREFIX:
        error = parse_prefix(value, &args->address, &args->plen, &ipv6);
        return error ? error : check_family(family, ipv6);

    case ROUTE_ARG_ADDRESS:
    case ROUTE_ARG_DST:
        error = parse_address(value, &args->address, &ipv6);
        return error ? error : check_family(family, ipv6);

    case ROUTE_ARG_DEV:
        return parse_dev(value, args->dev);

    case ROUTE_ARG_GATEWAY:
        error = parse_address(value, &args->gateway, &ipv6);
        if (!error && !ipv6 && family->ipv6) {
            error = "an IPv4 gateway cannot serve an IPv6 route";
        }
        if (!error && !ipv6 && !in6_addr_get_mapped_ipv4(&args->gateway)) {
            args->gateway = in6addr_any;
        }
        return error;

    case ROUTE_ARG_SRC:
        error = parse_address(value, &args->src, &ipv6);
        if (!error && !ipv6_addr_is_set(&args->src)) {
            error = "not the address of a host";
        }
        return error ? error : check_family(family, ipv6);

    case ROUTE_ARG_MARK:
    case ROUTE_ARG_OUTER_MARK:
        return parse_number(value, &args->mark);

    case ROUTE_ARG_TOS:
        error = parse_number(value, &args->tos);
        return error ? error : args->tos > UINT8_MAX ? "above 255" : NULL;

    case ROUTE_ARG_DPORT:
        error = parse_number(value, &args->dport);
        return error ? error : args->dport > UINT16_MAX ? "above 65535" : NULL;

    case ROUTE_ARG_TABLE:
        if (allowed & ROUTE_ARG_ALL && !strcmp(value, "all")) {
            args->given |= ROUTE_ARG_ALL;
            return NULL;
        }
        return route_table_from_string(value, &args->table);

    case ROUTE_ARG_FROM:
        return parse_selector(value, &args->from, &args->from_plen, family);

    case ROUTE_ARG_TO:
        return parse_selector(value, &args->to, &args->to_plen, family);

    case ROUTE_ARG_PRIO:
        return parse_number(value, &args->prio);

    case ROUTE_ARG_IN_PORT:
        args->in_port = value;
        return value[0] ? NULL : "empty";

    case ROUTE_ARG_TUNNEL:
        args->tunnel = value;
        return value[0] ? NULL : "empty";

    case ROUTE_ARG_JSON:
        args->json = !strcmp(value, "json");
        return (args->json || !strcmp(value, "text")
                ? NULL : "neither text nor json");

    case ROUTE_ARG_IPV4:
    case ROUTE_ARG_IPV6:
        return check_family(family, argument == ROUTE_ARG_IPV6);

    default:
        return NULL;
    }
}

static char *
missing_argument(uint32_t missing)
{
    for (size_t i = 0; i < ARRAY_SIZE(keywords); i++) {
        if (missing & keywords[i].argument) {
            return xasprintf("Not enough arguments: %s is missing",
                             keywords[i].name);
        }
    }
    return xstrdup("Not enough arguments");
}

char *
route_arguments_parse(int argc, const char *argv[], uint32_t allowed,
                      uint32_t required, struct route_arguments *args)
{
    static const struct {
        uint32_t argument;
        const char *what;
    } positions[] = {
        { ROUTE_ARG_PREFIX, "'ip/plen' parameter" },
        { ROUTE_ARG_ADDRESS, "'ip/plen' parameter" },
        { ROUTE_ARG_DEV, "device" },
    };
    struct family family = { .known = false };
    /* Not a prefix length: "not given", until the family is known. */
    enum { ANY_PLEN = UINT8_MAX };
    struct in6_addr any;
    int i = 1;

    memset(args, 0, sizeof *args);
    args->from_plen = args->to_plen = ANY_PLEN;

    for (size_t j = 0; j < ARRAY_SIZE(positions); j++) {
        uint32_t argument = positions[j].argument;
        const char *error;

        if (allowed & argument) {
            if (i >= argc) {
                return xasprintf("Not enough arguments: %s is missing",
                                 positions[j].what);
            }
            error = parse_value(argument, argv[i], allowed, args, &family);
            if (error) {
                return xasprintf("Invalid %s: %s: %s", positions[j].what,
                                 argv[i], error);
            }
            args->given |= argument;
            i++;
        }
    }

    for (; i < argc; i++) {
        const char *value;
        uint32_t argument = classify(argv[i], &value);
        const char *error;

        if (!(argument & allowed)) {
            return xasprintf("Unknown argument: %s", argv[i]);
        }
        if (argument & args->given) {
            return xasprintf("Duplicate argument: %s", argv[i]);
        }
        error = parse_value(argument, value, allowed, args, &family);
        if (error) {
            return xasprintf("Invalid argument: %s: %s", argv[i], error);
        }
        args->given |= argument;
    }
    if (required & ~args->given) {
        return missing_argument(required & ~args->given);
    }

    args->ipv6 = family.ipv6;
    any = args->ipv6 ? in6addr_any : in6_addr_mapped_ipv4(0);
    if (args->from_plen == ANY_PLEN) {
        args->from = any;
        args->from_plen = args->ipv6 ? 0 : 96;
    }
    if (args->to_plen == ANY_PLEN) {
        args->to = any;
        args->to_plen = args->ipv6 ? 0 : 96;
    }
    return NULL;
}
