/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "neighbor-peek.h"

#include "ovs-thread.h"
#include "timeval.h"
#include "tnl-neigh-cache.h"
#include "util.h"

/* A look that is going on in this thread. */
struct look {
    bool active;
    atomic_llong *confirmed;    /* Of the entry that was found. */
};

DEFINE_STATIC_PER_THREAD_DATA(struct look, look, { false, NULL });

/* Returns the entry's time of confirmation, which stays valid until the thread
 * quiesces, or NULL if there is no entry. */
static atomic_llong *
peek(const char *bridge, const struct in6_addr *ip, struct eth_addr *mac)
{
    struct look *look = look_get();
    int error;

    look->active = true;
    error = tnl_neigh_lookup(bridge, ip, mac);
    look->active = false;
    return error ? NULL : look->confirmed;
}

bool
neighbor_peek(const char *bridge, const struct in6_addr *ip,
              struct eth_addr *mac)
{
    return peek(bridge, ip, mac) != NULL;
}

long long int
neighbor_peek_unconfirmed(const char *bridge, const struct in6_addr *ip)
{
    struct eth_addr mac;
    atomic_llong *confirmed = peek(bridge, ip, &mac);
    long long int since;

    if (!confirmed) {
        return 0;
    }
    atomic_read_relaxed(confirmed, &since);
    return time_msec() - since;
}

void
neighbor_peek_confirm(const char *bridge, const struct in6_addr *ip)
{
    struct eth_addr mac;
    atomic_llong *confirmed = peek(bridge, ip, &mac);

    if (confirmed) {
        atomic_store_relaxed(confirmed, time_msec());
    }
}

bool
neighbor_is_peek(atomic_llong *confirmed)
{
    struct look *look = look_get();

    if (look->active) {
        look->confirmed = confirmed;
    }
    return look->active;
}
