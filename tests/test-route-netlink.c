/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#undef NDEBUG

/* The parser of rtnetlink messages:
 *
 *     cases            messages of a kernel, and malformed ones made by hand
 *     truncated        each of the kernel's messages cut at every byte
 *     random [SEED]    mutations of them
 *     corpus DIR       writes them to files, to start a fuzzer with
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

#include "netlink.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofpbuf.h"
#include "ovstest.h"
#include "packets.h"
#include "random.h"
#include "route-netlink.h"
#include "route-netlink-samples.h"
#include "route-netlink-text.h"
#include "route-test.h"
#include "util.h"

#define N_MUTATIONS 300000

/* Returns the bytes of 'sample', whose number it stores in '*size'.  The
 * caller frees them. */
static uint8_t *
sample_bytes(const struct route_netlink_sample *sample, size_t *size)
{
    uint8_t *bytes;

    *size = strlen(sample->hex) / 2;
    bytes = xmalloc(*size);
    for (size_t i = 0; i < *size; i++) {
        bool ok;

        bytes[i] = hexits_value(&sample->hex[i * 2], 2, &ok);
        ovs_assert(ok);
    }
    return bytes;
}

static void
check_message(const char *name, const void *data, size_t size,
              const char *expected)
{
    char *actual = route_netlink_describe(data, size);

    if (strcmp(actual, expected)) {
        route_test_fail("%s: parsed as \"%s\", expected \"%s\"", name, actual,
                        expected);
    }
    free(actual);
}

/* Messages made by hand. */

static struct ofpbuf made;

/* Starts a message of 'type' with a header of 'size' bytes. */
static void *
make(uint16_t type, size_t size)
{
    ofpbuf_clear(&made);
    nl_msg_put_nlmsghdr(&made, 512, type, 0);
    nl_msg_put_uninit(&made, size);
    memset(ofpbuf_at_assert(&made, NLMSG_HDRLEN, size), 0, size);
    return ofpbuf_at_assert(&made, NLMSG_HDRLEN, size);
}

static void
expect(const char *expected)
{
    nl_msg_nlmsghdr(&made)->nlmsg_len = made.size;
    check_message("message made by hand", made.data, made.size, expected);
}

static struct rtmsg *
make_route(uint8_t dst_plen)
{
    struct rtmsg *rtm = make(RTM_NEWROUTE, sizeof *rtm);

    rtm->rtm_family = AF_INET;
    rtm->rtm_type = RTN_UNICAST;
    rtm->rtm_table = RT_TABLE_MAIN;
    rtm->rtm_dst_len = dst_plen;
    if (dst_plen) {
        nl_msg_put_be32(&made, RTA_DST, htonl(0x0a0101ff));
    }
    return ofpbuf_at_assert(&made, NLMSG_HDRLEN, sizeof *rtm);
}

static void
check_hand_made_routes(void)
{
    struct rtnexthop *rtnh;
    struct rtmsg *rtm;

    /* Bits beyond the prefix do not count. */
    make_route(24);
    nl_msg_put_u32(&made, RTA_OIF, 1);
    expect("route 254 10.1.1.0/24 unicast dev 1");

    make_route(33);
    expect("malformed: prefix longer than an address");

    rtm = make_route(0);
    rtm->rtm_dst_len = 8;
    expect("malformed: prefix length without a prefix");

    make_route(8);
    expect("malformed: next hop without a device");

    rtm = make_route(0);
    rtm->rtm_src_len = 8;
    expect("malformed: IPv4 route with a source prefix");

    rtm = make_route(8);
    rtm->rtm_table = RT_TABLE_UNSPEC;
    nl_msg_put_u32(&made, RTA_OIF, 1);
    expect("route 254 10.0.0.0/8 unicast dev 1");

    rtm = make_route(8);
    rtm->rtm_flags = RTM_F_CLONED;
    expect("irrelevant");

    rtm = make_route(8);
    rtm->rtm_type = RTN_NAT;
    expect("irrelevant");

    rtm = make_route(8);
    rtm->rtm_family = 129;      /* RTNL_FAMILY_IP6MR. */
    expect("irrelevant");

    rtm = make_route(8);
    rtm->rtm_type = RTN_BLACKHOLE;
    nl_msg_put_u32(&made, RTA_NH_ID, 5);
    expect("route 254 10.0.0.0/8 unicast nhid 5");

    make_route(8);
    nl_msg_put_in6_addr(&made, RTA_GATEWAY, &in6addr_loopback);
    expect("malformed: address of a wrong size");

    make_route(8);
    nl_msg_put_be32(&made, RTA_GATEWAY, htonl(1));
    nl_msg_put_unspec_zero(&made, RTA_VIA, 6);
    expect("malformed: two gateways for one next hop");

    make_route(8);
    nl_msg_put_u16(&made, RTA_OIF, 1);
    expect("malformed: malformed attributes");

    make_route(8);
    nl_msg_put_unspec_zero(&made, RTA_MULTIPATH, 0);
    expect("malformed: route without a next hop");

    make_route(8);
    nl_msg_put_unspec_zero(&made, RTA_MULTIPATH, 7);
    expect("malformed: next hops followed by garbage");

    static const int bad_lengths[] = { 0, 7, 9, 16, 65535 };
    for (size_t i = 0; i < ARRAY_SIZE(bad_lengths); i++) {
        make_route(8);
        rtnh = nl_msg_put_unspec_zero(&made, RTA_MULTIPATH, sizeof *rtnh);
        rtnh->rtnh_len = bad_lengths[i];
        expect("malformed: next hop of a wrong size");
    }

    make_route(8);
    rtnh = nl_msg_put_unspec_zero(&made, RTA_MULTIPATH, sizeof *rtnh);
    rtnh->rtnh_len = sizeof *rtnh;
    rtnh->rtnh_flags = RTNH_F_DEAD | RTNH_F_LINKDOWN;
    rtnh->rtnh_ifindex = 3;
    rtnh->rtnh_hops = 255;
    expect("route 254 10.0.0.0/8 unicast dev 3 weight 256 dead");
}

static void
check_hand_made_others(void)
{
    struct fib_rule_hdr *frh = make(RTM_NEWRULE, sizeof *frh);
    struct ifinfomsg *ifi;
    struct ifaddrmsg *ifa;
    struct nhmsg *nhm;

    frh->family = AF_INET;
    frh->action = FR_ACT_TO_TBL;
    frh->table = 7;
    nl_msg_put_u32(&made, 99, 1);
    expect("rule 0: unknown lookup 7");

    frh = make(RTM_NEWRULE, sizeof *frh);
    frh->family = AF_INET;
    frh->action = 77;
    expect("rule 0: unknown nop");

    frh = make(RTM_NEWRULE, sizeof *frh);
    frh->family = AF_INET6;
    frh->action = FR_ACT_NOP;
    nl_msg_put_string(&made, FRA_IIFNAME, "sixteen-letters1");
    expect("malformed: device name too long");

    ifi = make(RTM_DELLINK, sizeof *ifi);
    ifi->ifi_family = AF_BRIDGE;
    ifi->ifi_index = 3;
    nl_msg_put_string(&made, IFLA_IFNAME, "eth0");
    expect("irrelevant");

    ifi = make(RTM_NEWLINK, sizeof *ifi);
    ifi->ifi_index = 3;
    nl_msg_put_string(&made, IFLA_IFNAME, "wlan0");
    nl_msg_put_flag(&made, IFLA_WIRELESS);
    expect("irrelevant");

    ifi = make(RTM_NEWLINK, sizeof *ifi);
    ifi->ifi_index = 3;
    expect("malformed: link without a name");

    ifi = make(RTM_NEWLINK, sizeof *ifi);
    ifi->ifi_index = -3;
    nl_msg_put_string(&made, IFLA_IFNAME, "eth0");
    expect("malformed: link without an index");

    ifa = make(RTM_NEWADDR, sizeof *ifa);
    ifa->ifa_family = AF_INET6;
    ifa->ifa_index = 1;
    ifa->ifa_prefixlen = 128;
    ifa->ifa_flags = IFA_F_TENTATIVE;
    nl_msg_put_in6_addr(&made, IFA_ADDRESS, &in6addr_loopback);
    expect("address ::1 ::1/128 dev 1 tentative");
    nl_msg_put_u32(&made, IFA_FLAGS, IFA_F_TENTATIVE | IFA_F_OPTIMISTIC
                                     | IFA_F_TEMPORARY);
    expect("address ::1 ::1/128 dev 1 temporary");

    nhm = make(RTM_NEWNEXTHOP, sizeof *nhm);
    nl_msg_put_u32(&made, NHA_ID, 1);
    expect("malformed: next-hop object without a device");
    nl_msg_put_unspec_zero(&made, NHA_GROUP, 7);
    expect("malformed: next-hop group of a wrong size");

    nhm = make(RTM_NEWNEXTHOP, sizeof *nhm);
    nl_msg_put_u32(&made, NHA_ID, 1);
    nl_msg_put_unspec_zero(&made, NHA_GROUP, 8);
    expect("malformed: next-hop group with a member 0");

    make(RTM_NEWNEIGH, 12);
    expect("irrelevant");
}

/* Subcommands. */

static void
test_cases(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(route_netlink_samples); i++) {
        const struct route_netlink_sample *sample = &route_netlink_samples[i];
        size_t size;
        uint8_t *bytes = sample_bytes(sample, &size);

        check_message(sample->command, bytes, size, sample->expected);
        free(bytes);
    }

    ofpbuf_init(&made, 0);
    check_hand_made_routes();
    check_hand_made_others();
    ofpbuf_uninit(&made);
}

/* Parses a copy of 'bytes' that ends where memory does, so that a sanitizer
 * sees any access behind it. */
static void
parse_copy(const uint8_t *bytes, size_t size, uint32_t nlmsg_len,
           bool must_fail)
{
    uint8_t *copy = xmemdup(bytes, size ? size : 1);
    struct ofpbuf buf;
    char *s;
    bool ipv6;

    if (size >= sizeof nlmsg_len) {
        memcpy(copy, &nlmsg_len, sizeof nlmsg_len);
    }
    buf = ofpbuf_const_initializer(copy, size);
    route_event_peek_table(&buf, &ipv6);
    s = route_netlink_describe(copy, size);
    if (must_fail && strncmp(s, "malformed", 9)) {
        route_test_fail("message of %"PRIuSIZE" bytes that says %"PRIu32": "
                        "parsed as \"%s\"", size, nlmsg_len, s);
    }
    free(s);
    free(copy);
}

static void
test_truncated(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(route_netlink_samples); i++) {
        size_t size;
        uint8_t *bytes = sample_bytes(&route_netlink_samples[i], &size);

        for (size_t n = 0; n < size; n++) {
            parse_copy(bytes, n, size, true);
            parse_copy(bytes, n, n, n < NLMSG_HDRLEN + 4);
            parse_copy(bytes, size, n, n < NLMSG_HDRLEN + 4);
        }
        parse_copy(bytes, size, size + 1, true);
        parse_copy(bytes, size, UINT32_MAX, true);
        free(bytes);
    }
}

static void
test_random(const char *seed)
{
    route_test_seed(seed);
    for (int i = 0; i < N_MUTATIONS; i++) {
        size_t size;
        uint8_t *bytes = sample_bytes(
            &route_netlink_samples[random_range(
                ARRAY_SIZE(route_netlink_samples))], &size);
        int n = 1 + random_range(4);

        for (int j = 0; j < n; j++) {
            size_t pos = 4 + random_range(size - 4);

            switch (random_range(4)) {
            case 0:
                bytes[pos] ^= 1 << random_range(8);
                break;
            case 1:
                bytes[pos] = random_range(32);
                break;
            case 2:
                bytes[pos & ~3] = random_range(32); /* Attributes' length. */
                break;
            case 3:
                bytes[pos] = random_range(2) ? 0 : 255;
                break;
            }
        }
        if (!random_range(4)) {
            size = random_range(size + 1);
        }
        parse_copy(bytes, size, size, false);
        free(bytes);
    }
}

static void
test_corpus(const char *dir)
{
    for (size_t i = 0; i < ARRAY_SIZE(route_netlink_samples); i++) {
        char *name = xasprintf("%s/%"PRIuSIZE, dir, i);
        size_t size;
        uint8_t *bytes = sample_bytes(&route_netlink_samples[i], &size);
        FILE *file = fopen(name, "wb");

        if (!file || fwrite(bytes, 1, size, file) != size || fclose(file)) {
            route_test_fail("%s: %s", name, ovs_strerror(errno));
        }
        free(bytes);
        free(name);
    }
}

static void
test_route_netlink(int argc, char *argv[])
{
    const char *what = argc > 1 ? argv[1] : "";
    const char *argument = argc > 2 ? argv[2] : NULL;

    if (!strcmp(what, "cases")) {
        test_cases();
    } else if (!strcmp(what, "truncated")) {
        test_truncated();
    } else if (!strcmp(what, "random")) {
        test_random(argument);
    } else if (!strcmp(what, "corpus") && argument) {
        test_corpus(argument);
    } else {
        route_test_fail("usage: test-route-netlink cases|truncated|"
                        "random [SEED]|corpus DIR");
    }
}

OVSTEST_REGISTER("test-route-netlink", test_route_netlink);
