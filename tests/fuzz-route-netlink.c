/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

/* A libFuzzer target: takes its input for what rtnetlink sends, parses it and
 * applies it to a route_db.  See fuzz-route-netlink for how to run it. */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "netlink.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "route-db.h"
#include "route-netlink.h"
#include "route-update-check.h"
#include "route-update.h"
#include "util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = xmalloc(size);      /* Aligned, unlike 'data'. */
    struct ofpbuf rest = ofpbuf_const_initializer(copy, size);
    struct ofpbuf msg;
    struct route_db db;
    bool ipv6;

    memcpy(copy, data, size);
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    route_db_init(&db);

    route_event_peek_table(&rest, &ipv6);
    while (nl_msg_next(&rest, &msg)) {
        struct route_event event;
        const char *reason;

        if (!route_event_parse(&msg, &event, &reason)) {
            ovs_mutex_lock(&db.mutex);
            route_update_apply(&db, &event, 1, false);
            ovs_mutex_unlock(&db.mutex);
            route_event_uninit(&event);
        }
        if (msg.size % NLMSG_ALIGNTO) {
            break;
        }
    }
    if (route_update_check(&db)) {
        abort();
    }
    route_db_destroy(&db);
    ovsrcu_quiesce();
    free(copy);
    return 0;
}
