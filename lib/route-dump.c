/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "route-dump.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/rtnetlink.h>

#include "coverage.h"
#include "netlink.h"
#include "netlink-socket.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(route_dump);

COVERAGE_DEFINE(route_dump_list);
COVERAGE_DEFINE(route_dump_again);

/* The kernel takes the fields of a request's header for conditions, and so
 * filters by table itself, only if asked to. */
#ifndef NETLINK_GET_STRICT_CHK
#define NETLINK_GET_STRICT_CHK 12
#endif
#ifndef NLM_F_DUMP_INTR
#define NLM_F_DUMP_INTR 0x10
#endif
#ifndef SOL_NETLINK
#define SOL_NETLINK 270
#endif

/* How often to ask for a list that changes all the time. */
#define MAX_TRIES 8

static struct nl_sock *sock;
static uint64_t n_dumps;

static int
open_socket(void)
{
    int error = 0;
    int one = 1;

    if (!sock) {
        error = nl_sock_create(NETLINK_ROUTE, &sock);
        if (!error && setsockopt(nl_sock_fd(sock), SOL_NETLINK,
                                 NETLINK_GET_STRICT_CHK, &one, sizeof one)) {
            VLOG_INFO("this kernel does not filter routes by table: "
                      "reading a table takes longer");
        }
    }
    return error;
}

/* Returns how the dump ended according to 'msg', of type NLMSG_DONE or
 * NLMSG_ERROR: 0 or a positive errno. */
static int
parse_end(const struct ofpbuf *msg)
{
    int error;

    if (nl_msg_nlmsgerr(msg, &error, NULL)) {
        return error;
    }

    const int *status = ofpbuf_at(msg, NLMSG_HDRLEN, sizeof *status);
    return status && *status < 0 && *status > INT_MIN ? -*status : 0;
}

/* Receives the replies to request 'seq'.  Returns as route_dump(), or EAGAIN
 * if the list changed on the way. */
static int
receive(uint32_t seq, route_dump_func *func, void *aux, int *n_parts)
{
    static uint64_t stub[32768 / 8]; /* Main thread only. */
    bool interrupted = false;
    struct ofpbuf buf;
    int error;

    ofpbuf_use_stub(&buf, stub, sizeof stub);
    for (*n_parts = 0; ; ++*n_parts) {
        struct nlmsghdr *nlmsg;
        struct ofpbuf rest, msg;

        error = nl_sock_recv(sock, &buf, NULL, true);
        if (error) {
            break;
        }
        rest = buf;
        while ((nlmsg = nl_msg_next(&rest, &msg)) != NULL) {
            if (nlmsg->nlmsg_seq != seq) {
                continue;
            }
            if (nlmsg->nlmsg_flags & NLM_F_DUMP_INTR) {
                interrupted = true;
            }
            if (nlmsg->nlmsg_type == NLMSG_DONE
                || nlmsg->nlmsg_type == NLMSG_ERROR) {
                error = parse_end(&msg);
                ofpbuf_uninit(&buf);
                return error ? error : interrupted ? EAGAIN : 0;
            } else if (nlmsg->nlmsg_type >= NLMSG_MIN_TYPE) {
                func(&msg, aux);
            }
        }
    }
    ofpbuf_uninit(&buf);

    /* What is still to come would confuse the next dump. */
    nl_sock_destroy(sock);
    sock = NULL;
    return error == EAGAIN ? EIO : error;
}

int
route_dump(uint16_t type, const void *header, size_t size, uint32_t table,
           route_dump_func *func, void *aux, bool *split)
{
    struct ofpbuf request;
    int error = EAGAIN;
    int n_parts = 0;

    ofpbuf_init(&request, 128);
    nl_msg_put_nlmsghdr(&request, size, type, NLM_F_REQUEST | NLM_F_DUMP);
    nl_msg_put(&request, header, size);
    if (table) {
        nl_msg_put_u32(&request, RTA_TABLE, table);
    }
    COVERAGE_INC(route_dump_list);
    n_dumps++;

    for (int i = 0; error == EAGAIN && i < MAX_TRIES; i++) {
        if (i) {
            COVERAGE_INC(route_dump_again);
        }
        error = open_socket();
        if (!error) {
            error = nl_sock_send(sock, &request, true);
        }
        if (!error) {
            error = receive(nl_msg_nlmsghdr(&request)->nlmsg_seq, func, aux,
                            &n_parts);
        }
    }
    ofpbuf_uninit(&request);

    /* The end of a list may come in a part of its own. */
    if (split && n_parts > 1) {
        *split = true;
    }
    return error;
}

int
route_dump_link(int ifindex, struct ofpbuf **reply)
{
    struct ifinfomsg *ifi;
    struct ofpbuf request;
    int error;

    ofpbuf_init(&request, 0);
    nl_msg_put_nlmsghdr(&request, sizeof *ifi, RTM_GETLINK, NLM_F_REQUEST);
    ifi = nl_msg_put_uninit(&request, sizeof *ifi);
    memset(ifi, 0, sizeof *ifi);
    ifi->ifi_index = ifindex;
    error = nl_transact(NETLINK_ROUTE, &request, reply);
    ofpbuf_uninit(&request);
    return error;
}

uint64_t
route_dump_count(void)
{
    return n_dumps;
}
