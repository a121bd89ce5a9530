/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ROUTE_ARGUMENT_H
#define ROUTE_ARGUMENT_H 1

/* Arguments of the "ovs/route" and "encap" commands
 * ================================================
 *
 * One parser for all of them: positional arguments first, then the others in
 * any order, each at most once.  What is wrong is said in one line that names
 * the argument.
 *
 * No state; any thread. */

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"

/* What a command takes.  The positional ones come in this order. */
enum route_argument {
    ROUTE_ARG_PREFIX  = 1 << 0,  /* Positional: ip/plen. */
    ROUTE_ARG_ADDRESS = 1 << 1,  /* Positional: ip. */
    ROUTE_ARG_DEV     = 1 << 2,  /* Positional: device. */
    ROUTE_ARG_GATEWAY = 1 << 3,  /* ip, without a key. */
    ROUTE_ARG_MARK    = 1 << 4,  /* pkt_mark=mark */
    ROUTE_ARG_SRC     = 1 << 5,  /* src=ip */
    ROUTE_ARG_TABLE   = 1 << 6,  /* table=id */
    ROUTE_ARG_ALL     = 1 << 7,  /* table=all, besides table=id. */
    ROUTE_ARG_FROM    = 1 << 8,  /* from=all|ip/plen */
    ROUTE_ARG_TO      = 1 << 9,  /* to=all|ip/plen */
    ROUTE_ARG_PRIO    = 1 << 10, /* prio=num */
    ROUTE_ARG_NOT     = 1 << 11, /* not */
    ROUTE_ARG_IPV4    = 1 << 12, /* -4 */
    ROUTE_ARG_IPV6    = 1 << 13, /* -6 */
    ROUTE_ARG_BOTH    = 1 << 14, /* all */
    ROUTE_ARG_JSON    = 1 << 15, /* format=text|json */
    ROUTE_ARG_TOS     = 1 << 16, /* tos=byte */
    ROUTE_ARG_DPORT   = 1 << 17, /* dport=port */
    ROUTE_ARG_DST     = 1 << 18, /* dst=ip */
    ROUTE_ARG_OUTER_MARK = 1 << 19, /* mark=mark, as ROUTE_ARG_MARK. */
    ROUTE_ARG_IN_PORT = 1 << 20, /* in_port=port */
    ROUTE_ARG_TUNNEL  = 1 << 21, /* tunnel=port */
};

/* Prefix lengths count in the mapped form. */
struct route_arguments {
    uint32_t given;             /* ROUTE_ARG_*, what was there. */
    bool ipv6;                  /* Family of the addresses, or -6. */
    struct in6_addr address;    /* ROUTE_ARG_PREFIX (with all its bits),
                                 * _ADDRESS or _DST. */
    uint8_t plen;
    char dev[IFNAMSIZ];
    struct in6_addr gateway;    /* in6addr_any if not given. */
    struct in6_addr src;        /* in6addr_any if not given. */
    uint32_t mark;
    uint32_t tos;               /* 0...255. */
    uint32_t dport;             /* 0...65535, host byte order. */
    uint32_t table;             /* 0 if not given, and with _ALL. */
    struct in6_addr from, to;   /* Masked; all of the family if not given. */
    uint8_t from_plen, to_plen;
    uint32_t prio;
    const char *in_port;        /* In 'argv'; NULL if not given. */
    const char *tunnel;         /* Likewise. */
    bool json;
};

/* Parses 'argv[1]'...'argv[argc - 1]'.  The command takes 'allowed' and must
 * be given 'required'; positional arguments are always required.  Returns NULL
 * and fills in '*args' or returns the error, which the caller frees. */
char *route_arguments_parse(int argc, const char *argv[], uint32_t allowed,
                            uint32_t required, struct route_arguments *args)
    OVS_WARN_UNUSED_RESULT;

/* Finds the number of the table that ip-route(8) knows as 'name': a number
 * (decimal, 0x hexadecimal, 0 octal), local, main, default, or a name in an
 * rt_tables file.  Returns NULL and stores 1 or more in '*table', or returns a
 * constant phrase that says what is wrong. */
const char *route_table_from_string(const char *name, uint32_t *table)
    OVS_WARN_UNUSED_RESULT;

#endif /* route-argument.h */
