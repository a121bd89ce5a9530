/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-offload.h"

#include <stdlib.h>
#include <string.h>

#include "coverage.h"
#include "dpif.h"
#include "flow.h"
#include "hash.h"
#include "netdev-offload.h"
#include "netdev-provider.h"
#include "nic-base-flow.h"
#include "nic-base-rule.h"
#include "nic-count.h"
#include "nic-eswitch.h"
#include "nic-offload-private.h"
#include "nic-policer.h"
#include "nic-rule-flow.h"
#include "nic-tally.h"
#include "odp-util.h"
#include "openvswitch/match.h"
#include "ovs-rcu.h"
#include "timeval.h"
#include "util.h"

COVERAGE_DEFINE(nic_flow_retried);

/* How long one run may take. */
enum { RUN_MS = 10 };

static struct ovs_mutex offloads_mutex = OVS_MUTEX_INITIALIZER;
static struct cmap offloads = CMAP_INITIALIZER;     /* By 'ufid'. */

/* Counts what can make flows offloadable. */
static atomic_uint64_t latest_news = ATOMIC_VAR_INIT(1);
static atomic_bool enabled = ATOMIC_VAR_INIT(true);

static void
publish_news(bool news)
{
    uint64_t orig;

    if (news) {
        atomic_add(&latest_news, 1, &orig);
    }
}

static uint64_t
get_latest_news(void)
{
    uint64_t news;

    atomic_read(&latest_news, &news);
    return news;
}

/* The table. */

struct nic_offload *
nic_offload_find(const struct netdev *netdev, const ovs_u128 *ufid)
{
    struct nic_offload *offload;

    CMAP_FOR_EACH_WITH_HASH (offload, node,
                             hash_bytes(ufid, sizeof *ufid, 0), &offloads) {
        if (ovs_u128_equals(offload->ufid, *ufid)
            && offload->netdev == netdev) {
            return offload;
        }
    }
    return NULL;
}

struct nic_offload *
nic_offload_find_any(const ovs_u128 *ufid)
{
    struct nic_offload *offload;

    CMAP_FOR_EACH_WITH_HASH (offload, node,
                             hash_bytes(ufid, sizeof *ufid, 0), &offloads) {
        if (ovs_u128_equals(offload->ufid, *ufid)) {
            return offload;
        }
    }
    return NULL;
}

static struct nic_offload *
create(const struct netdev *netdev, const ovs_u128 *ufid)
    OVS_NO_THREAD_SAFETY_ANALYSIS       /* Nobody else knows it. */
{
    struct nic_offload *offload = xzalloc(sizeof *offload);

    offload->ufid = *ufid;
    offload->netdev = netdev;
    offload->dpif_type = netdev_get_dpif_type(netdev);
    offload->worker = netdev_offload_thread_id();
    offload->count = nic_count_get(ufid);
    offload->orig_in_port = ODPP_NONE;
    offload->why = NIC_NOT_TUNNEL;
    ovs_mutex_init(&offload->mutex);
    ovs_mutex_init(&offload->last_mutex);

    ovs_rwlock_rdlock(&nic_ethdev_rwlock);
    nic_offload_enqueue(offload);
    ovs_mutex_lock(&offloads_mutex);
    cmap_insert(&offloads, &offload->node, hash_bytes(ufid, sizeof *ufid, 0));
    ovs_mutex_unlock(&offloads_mutex);
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
    return offload;
}

static void
free_flow(struct nic_offload *offload)
{
    free(offload->flow);
    free(offload->mask);
    free(offload->actions);
}

static void
free_offload(struct nic_offload *offload)
    OVS_NO_THREAD_SAFETY_ANALYSIS       /* Nobody else knows it. */
{
    free_flow(offload);
    free(offload->handles);
    ovs_mutex_destroy(&offload->mutex);
    ovs_mutex_destroy(&offload->last_mutex);
    free(offload);
}

static void
set_flow(struct nic_offload *offload, const struct match *match,
         const struct nlattr *actions, size_t actions_len,
         odp_port_t orig_in_port)
{
    free_flow(offload);
    offload->flow = miniflow_create(&match->flow);
    offload->mask = miniflow_create(&match->wc.masks);
    offload->actions = xmemdup(actions, actions_len);
    offload->actions_len = actions_len;
    if (orig_in_port != ODPP_NONE) {
        offload->orig_in_port = orig_in_port;
    }
}

static bool
has_actions(const struct nic_offload *offload, const struct nlattr *actions,
            size_t actions_len)
{
    return (actions_len == offload->actions_len
            && !memcmp(actions, offload->actions, actions_len));
}

/* States of a flow. */

/* To be called when the rules of 'offload' have changed; 'why' and 'detail'
 * are the reason if it lacks some.  A flow counts where it has its first rule:
 * of a tunnel port the datapath does not ask the netdev that is in use here,
 * but one of its own. */
static void
set_state(struct nic_offload *offload, enum nic_refusal why,
          const char *detail)
    OVS_REQUIRES(offload->mutex, offload->last_mutex)
{
    const struct netdev *counted = NULL;

    if (offload->n_handles) {
        counted = offload->handles[0].ethdev->netdev;
        offload->counted_eswitch = offload->handles[0].ethdev->facts.eswitch;
    }
    if (counted != offload->counted) {
        if (offload->counted) {
            nic_tally_add(offload->counted, offload->worker, -1);
        }
        if (counted) {
            nic_tally_add(counted, offload->worker, 1);
        }
        offload->counted = counted;
    }
    offload->why = why;
    offload->detail = detail;
}

/* Brings the NICs in line with 'offload'.  Returns false if that is not a flow
 * of a tunnel; it has no rules then. */
static bool
update(struct nic_offload *offload, bool replace)
    OVS_EXCLUDED(nic_ethdev_rwlock)
{
    struct nic_offload_outcome outcome;

    nic_offload_set_rules(offload, replace, &outcome);

    ovs_rwlock_rdlock(&nic_ethdev_rwlock);
    ovs_mutex_lock(&offload->mutex);
    if (!offload->dead) {
        if (outcome.why == NIC_OFFLOADABLE && !offload->n_handles) {
            /* A port has gone in between, and the rules with it. */
            outcome.why = NIC_PORT_STOPPED;
        }
        nic_offload_settle(offload, outcome.why, time_msec());
        ovs_mutex_lock(&offload->last_mutex);
        set_state(offload, outcome.why, outcome.detail);
        offload->eswitch = outcome.eswitch;
        ovs_mutex_unlock(&offload->last_mutex);
    }
    ovs_mutex_unlock(&offload->mutex);
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
    publish_news(outcome.news);
    return outcome.why != NIC_NOT_TUNNEL;
}

/* Interface. */

static void
remove_offload(struct nic_offload *offload, bool *news)
    OVS_REQ_RDLOCK(nic_ethdev_rwlock)
{
    ovs_mutex_lock(&offload->mutex);
    nic_offload_remove_rules(offload, NULL, news);
    offload->dead = true;
    nic_count_unref(offload->count);
    offload->count = NULL;
    ovs_mutex_lock(&offload->last_mutex);
    set_state(offload, NIC_NOT_TUNNEL, NULL);
    ovs_mutex_unlock(&offload->last_mutex);
    ovs_mutex_unlock(&offload->mutex);

    nic_offload_dequeue(offload);
    ovs_mutex_lock(&offloads_mutex);
    cmap_remove(&offloads, &offload->node,
                hash_bytes(&offload->ufid, sizeof offload->ufid, 0));
    ovs_mutex_unlock(&offloads_mutex);
    ovsrcu_postpone(free_offload, offload);
}

bool
nic_offload_put(struct netdev *netdev, const ovs_u128 *ufid,
                const struct match *match, const struct nlattr *actions,
                size_t actions_len, odp_port_t orig_in_port)
{
    struct nic_offload *offload;
    bool known, ours, same;

    nic_offload_workers_init();
    offload = nic_offload_find(netdev, ufid);
    known = offload != NULL;
    if (!known) {
        if (!netdev_get_tunnel_config(netdev)
            && !nic_rule_has_tunnel_action(actions, actions_len)) {
            return false;
        }
        /* One of the port that had this number before. */
        nic_offload_forget(ufid);
        offload = create(netdev, ufid);
    }
    /* As it is for each copy after the first, when all get new actions. */
    same = known && has_actions(offload, actions, actions_len);
    set_flow(offload, match, actions, actions_len, orig_in_port);
    ours = update(offload, known && !same);
    if (!ours && !known) {
        nic_offload_del(netdev, ufid);
    }
    return ours;
}

void
nic_offload_mix_masks(ovs_u128 *ufid, const struct flow_wildcards *wc)
{
    struct flow masks = wc->masks;
    ovs_u128 hash;

    /* Only translation uses this. */
    masks.tunnel.metadata.tab = NULL;
    hash_bytes128(&masks, sizeof masks, 0, &hash);
    ufid->u64.lo ^= hash.u64.lo;
    ufid->u64.hi ^= hash.u64.hi;
}

bool
nic_offload_is_stale(const ovs_u128 *ufid, const struct nlattr *actions,
                     size_t actions_len)
{
    struct nic_offload *offload;
    bool stale;

    ovs_rwlock_rdlock(&nic_ethdev_rwlock);
    offload = nic_offload_find_any(ufid);
    stale = (offload ? !has_actions(offload, actions, actions_len)
             : nic_base_flow_is_stale(ufid, actions, actions_len));
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
    return stale;
}

bool
nic_offload_get(const struct netdev *netdev, const ovs_u128 *ufid,
                struct dpif_flow_attrs *attrs)
{
    struct nic_offload *offload;

    ovs_rwlock_rdlock(&nic_ethdev_rwlock);
    offload = nic_offload_find(netdev, ufid);
    if (offload) {
        if (!ovs_mutex_trylock(&offload->mutex)) {
            nic_offload_refresh(offload);
            ovs_mutex_unlock(&offload->mutex);
        }
        ovs_mutex_lock(&offload->last_mutex);
        attrs->offloaded = offload->counted != NULL;
        attrs->dp_layer = (attrs->offloaded && !offload->partial
                           && offload->why == NIC_OFFLOADABLE
                           ? "dpdk" : "ovs");
        ovs_mutex_unlock(&offload->last_mutex);
    }
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
    return offload != NULL;
}

bool
nic_offload_del(const struct netdev *netdev, const ovs_u128 *ufid)
{
    struct nic_offload *offload;
    bool news = false;

    ovs_rwlock_rdlock(&nic_ethdev_rwlock);
    offload = nic_offload_find(netdev, ufid);
    if (offload) {
        remove_offload(offload, &news);
    }
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
    publish_news(news);
    return offload != NULL;
}

void
nic_offload_forget(const ovs_u128 *ufid)
{
    struct nic_offload *offload;
    bool news = false;

    ovs_rwlock_rdlock(&nic_ethdev_rwlock);
    offload = nic_offload_find_any(ufid);
    if (offload) {
        remove_offload(offload, &news);
    }
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
    publish_news(news);
}

/* Removes the rules of 'offload' that are on 'netdev' or to it. */
static void
remove_rules(struct nic_offload *offload, const struct netdev *netdev,
             bool *news)
    OVS_REQ_RDLOCK(nic_ethdev_rwlock)
{
    enum nic_refusal why;
    size_t n;

    ovs_mutex_lock(&offload->mutex);
    n = offload->n_handles;
    nic_offload_remove_rules(offload, netdev, news);
    ovs_mutex_lock(&offload->last_mutex);
    why = (n != offload->n_handles && offload->why == NIC_OFFLOADABLE
           ? NIC_PORT_STOPPED : offload->why);
    /* Also if the worker has changed rules and not said so yet: 'netdev' must
     * not stay in 'counted'. */
    set_state(offload, why, offload->detail);
    ovs_mutex_unlock(&offload->last_mutex);
    ovs_mutex_unlock(&offload->mutex);
}

/* Takes 'netdev' away, with 'flows' also the flows that come from it. */
static void
remove_netdev(const struct netdev *netdev, bool flows)
    OVS_REQ_WRLOCK(nic_ethdev_rwlock)
{
    struct nic_offload *offload;
    struct nic_ethdev *ethdev;
    bool news = false;

    CMAP_FOR_EACH (offload, node, &offloads) {
        if (flows && offload->netdev == netdev) {
            remove_offload(offload, &news);
        } else {
            remove_rules(offload, netdev, &news);
        }
    }
    ethdev = nic_ethdev_find(netdev);
    if (ethdev) {
        nic_ethdev_remove(ethdev);
    }
    publish_news(true);
}

void
nic_offload_remove_netdev(const struct netdev *netdev)
{
    ovs_rwlock_wrlock(&nic_ethdev_rwlock);
    remove_netdev(netdev, true);
    nic_tally_remove(netdev);
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
}

void
nic_offload_suspend(const struct netdev *netdev, int port_id)
{
    ovs_rwlock_wrlock(&nic_ethdev_rwlock);
    remove_netdev(netdev, false);
    nic_base_rule_suspend(port_id);
    nic_base_flow_lose_all(netdev);
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
}

void
nic_offload_resume(const struct netdev *netdev, int port_id)
{
    ovs_rwlock_wrlock(&nic_ethdev_rwlock);
    nic_base_rule_resume(port_id);
    /* A netdev without hw-offload has no flow API. */
    if (ovsrcu_get(const struct netdev_flow_api *, &netdev->flow_api)) {
        nic_ethdev_add(netdev, port_id);
        publish_news(true);
    }
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
}

bool
nic_offload_run(void)
{
    unsigned int worker = netdev_offload_thread_id();
    long long int end = time_msec() + RUN_MS;
    struct nic_offload *offload;
    bool news = false;

    nic_offload_workers_init();
    coverage_try_clear();       /* Nobody else does, in these threads. */

    ovs_rwlock_rdlock(&nic_ethdev_rwlock);
    nic_ethdev_run(&news);
    nic_base_rule_run();
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
    publish_news(news);
    do {
        ovs_rwlock_rdlock(&nic_ethdev_rwlock);
        offload = nic_offload_next(worker, time_msec(), get_latest_news(),
                                   nic_eswitch_rooms());
        ovs_rwlock_unlock(&nic_ethdev_rwlock);
        if (offload) {
            COVERAGE_INC(nic_flow_retried);
            update(offload, false);
        }
    } while (offload && time_msec() < end);
    return offload != NULL;
}

DEFINE_STATIC_PER_THREAD_DATA(long long int, next_run, 0);

void
nic_offload_run_now_and_then(void)
{
    if (time_msec() >= *next_run_get()) {
        nic_offload_run();
        *next_run_get() = time_msec() + 10 * RUN_MS;
    }
}

void
nic_offload_set_enabled(bool enable)
{
    if (enable != nic_offload_is_enabled()) {
        atomic_store(&enabled, enable);
        publish_news(true);
    }
}

void
nic_offload_set_policed(const struct sset *in, const struct sset *out)
{
    publish_news(nic_policer_set(in, out));
}

bool
nic_offload_is_enabled(void)
{
    bool enable;

    atomic_read(&enabled, &enable);
    return enable;
}

void
nic_offload_for_each(void (*visit)(unsigned int eswitch, enum nic_refusal why,
                                   const char *detail, void *aux), void *aux)
{
    struct nic_offload *offload;

    CMAP_FOR_EACH (offload, node, &offloads) {
        unsigned int eswitch, counted_eswitch;
        enum nic_refusal why;
        const char *detail;
        bool counted;

        ovs_mutex_lock(&offload->last_mutex);
        eswitch = offload->eswitch;
        why = offload->why;
        detail = offload->detail;
        counted = offload->counted != NULL;
        counted_eswitch = offload->counted_eswitch;
        ovs_mutex_unlock(&offload->last_mutex);
        if (counted) {
            visit(counted_eswitch, NIC_OFFLOADABLE, NULL, aux);
        }
        if (why != NIC_NOT_TUNNEL && why != NIC_OFFLOADABLE) {
            visit(eswitch, why, detail, aux);
        }
    }
}
