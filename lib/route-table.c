/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "route-table.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <linux/rtnetlink.h>

#include "coverage.h"
#include "netdev.h"
#include "netlink.h"
#include "netlink-socket.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "ovs-router.h"
#include "route-db.h"
#include "route-sync.h"
#include "rtnetlink.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(route_table);

COVERAGE_DEFINE(route_table_overflow);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 20);

/* Messages to apply in one run, so that the main loop is not held up. */
#define MAX_MESSAGES 1024

/* How much the kernel may queue for us: about 40,000 messages.  Memory is
 * used only while messages wait. */
#define RCVBUF_BYTES (32 * 1024 * 1024)

#define RETRY_MSEC 1000

/* Runs after which to stop waiting for the event socket to be empty. */
#define MAX_BUSY_RUNS 100

static const unsigned int groups[] = {
    RTNLGRP_LINK,
    RTNLGRP_IPV4_IFADDR,
    RTNLGRP_IPV6_IFADDR,
    RTNLGRP_IPV4_NETCONF,
    RTNLGRP_IPV6_NETCONF,
    RTNLGRP_NEXTHOP,
    RTNLGRP_IPV4_RULE,
    RTNLGRP_IPV6_RULE,
    RTNLGRP_IPV4_ROUTE,
    RTNLGRP_IPV6_ROUTE,
};

/* All of this is for the main thread. */
static struct nl_sock *event_sock; /* NULL if there is no mirror. */
static bool valid;              /* Nothing was lost since the last dump. */
static bool idle;               /* The event socket was empty. */
static long long int retry_at;  /* If not 'valid': when to dump anew. */
static int n_busy_runs;         /* That did not empty the event socket. */

static void
lost_sync(const char *reason)
{
    if (valid) {
        VLOG_INFO_RL(&rl, "%s: reading the kernel's routing state anew",
                     reason);
        valid = false;
        retry_at = time_msec();
    }
}

static void
sync_all(struct route_db *db)
    OVS_EXCLUDED(db->mutex)
{
    int error;

    /* What waits there is older than what the lists tell. */
    nl_sock_drain(event_sock);

    ovs_mutex_lock(&db->mutex);
    route_db_defer_rules(db);
    error = route_sync_all(db);
    route_db_publish_rules(db);
    ovs_mutex_unlock(&db->mutex);
    netdev_get_addrs_list_flush();

    valid = !error;
    n_busy_runs = 0;
    if (error) {
        VLOG_WARN_RL(&rl, "cannot read the kernel's routing state (%s)",
                     ovs_strerror(error));
        retry_at = time_msec() + RETRY_MSEC;
    }
}

void
route_table_load(struct route_db *db, uint32_t id, bool ipv6)
    OVS_NO_THREAD_SAFETY_ANALYSIS /* The caller holds 'db->mutex'. */
{
    if (event_sock && route_sync_table(db, id, ipv6)) {
        lost_sync("cannot read a table");
    }
}

static void
handle_message(struct route_db *db, const struct ofpbuf *msg)
    OVS_EXCLUDED(db->mutex)
{
    bool devices_changed = false;
    int error;

    ovs_mutex_lock(&db->mutex);
    error = route_sync_message(db, msg, &devices_changed);
    ovs_mutex_unlock(&db->mutex);

    if (devices_changed) {
        netdev_get_addrs_list_flush();
    }
    if (error) {
        lost_sync(error == ESTALE ? "next hops may have come back"
                  : "cannot read a list");
    }
}

/* Receives and applies up to MAX_MESSAGES messages.  Returns the error that
 * ended it, EAGAIN if no message was left, or 0. */
static int
receive_events(struct route_db *db)
    OVS_EXCLUDED(db->mutex)
{
    uint64_t stub[4096 / 8];
    struct ofpbuf buf;
    int error = 0;

    ovs_mutex_lock(&db->mutex);
    route_db_defer_rules(db);
    ovs_mutex_unlock(&db->mutex);

    ofpbuf_use_stub(&buf, stub, sizeof stub);
    for (int i = 0; i < MAX_MESSAGES && valid; i++) {
        struct ofpbuf rest, msg;

        error = nl_sock_recv(event_sock, &buf, NULL, false);
        if (error) {
            break;
        }
        rest = buf;
        while (valid && nl_msg_next(&rest, &msg)) {
            handle_message(db, &msg);
        }
    }
    ofpbuf_uninit(&buf);

    ovs_mutex_lock(&db->mutex);
    route_db_publish_rules(db);
    ovs_mutex_unlock(&db->mutex);
    return error;
}

void
route_table_run(void)
{
    struct route_db *db = ovs_router_db();

    if (!event_sock) {
        return;
    }
    rtnetlink_run();

    if (valid) {
        int error = receive_events(db);

        idle = error == EAGAIN;
        if (error == ENOBUFS) {
            COVERAGE_INC(route_table_overflow);
            lost_sync("rtnetlink messages were lost");
        } else if (error && error != EAGAIN) {
            VLOG_WARN_RL(&rl, "error reading rtnetlink socket (%s)",
                         ovs_strerror(error));
            lost_sync("rtnetlink messages may be lost");
        }
    }
    if (!valid) {
        idle = false;
        if (time_msec() >= retry_at) {
            sync_all(db);
        }
    } else if (!route_sync_is_finished()
               && (idle || ++n_busy_runs > MAX_BUSY_RUNS)) {
        ovs_mutex_lock(&db->mutex);
        if (route_sync_finish(db)) {
            lost_sync("cannot read a list");
        }
        ovs_mutex_unlock(&db->mutex);
        idle = false;
        n_busy_runs = 0;
    }
    ovs_router_run();
}

void
route_table_wait(void)
{
    if (!event_sock) {
        return;
    }
    rtnetlink_wait();
    nl_sock_wait(event_sock, POLLIN);
    if (!valid) {
        poll_timer_wait_until(retry_at);
    } else if (!idle) {
        poll_immediate_wake();
    }
}

bool
route_table_is_idle(void)
{
    return !event_sock || idle;
}

uint64_t
route_table_get_change_seq(void)
{
    return ovs_router_change_seq();
}

bool
route_table_fallback_lookup(const struct in6_addr *ip6_dst OVS_UNUSED,
                            char name[] OVS_UNUSED, struct in6_addr *gw6)
{
    *gw6 = in6addr_any;
    return false;
}

void
route_table_init(void)
{
    struct route_db *db = ovs_router_db();
    int error;

    ovs_router_init();
    if (event_sock || !ovs_router_uses_system_routing_table()) {
        return;
    }

    error = nl_sock_create(NETLINK_ROUTE, &event_sock);
    if (error) {
        VLOG_ERR("cannot follow the kernel's routing (%s)",
                 ovs_strerror(error));
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
        /* Old kernels lack some.  The base logs it. */
        nl_sock_join_mcgroup(event_sock, groups[i]);
    }

    /* Without privileges, the default has to do. */
    int rcvbuf = RCVBUF_BYTES;
    setsockopt(nl_sock_fd(event_sock), SOL_SOCKET, SO_RCVBUFFORCE, &rcvbuf,
               sizeof rcvbuf);

    sync_all(db);
}
