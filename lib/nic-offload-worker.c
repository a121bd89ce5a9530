/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-offload-private.h"

#include <limits.h>

#include "heap.h"
#include "netdev-offload.h"
#include "openvswitch/list.h"
#include "util.h"

/* How long a flow waits until it is tried again: twice as long after each
 * time. */
enum { RETRY_MIN_MS = 1000, RETRY_MAX_MS = 32000 };

/* What belongs to an offload thread: each of its flows is in one of these. */
struct worker {
    struct ovs_list settled;    /* Nothing to do before there are news. */
    struct ovs_list due;        /* To be tried after news. */
    struct heap waiting;        /* To be tried at some time. */
    uint64_t news;              /* That it has heard of. */
    uint64_t rooms;             /* The same of nic_eswitch_rooms(). */
    size_t eager;               /* So many that wait are tried at once. */
};

static struct worker *workers;

void
nic_offload_workers_init(void)
{
    static struct ovsthread_once once = OVSTHREAD_ONCE_INITIALIZER;

    if (ovsthread_once_start(&once)) {
        size_t n = netdev_offload_thread_nb();

        workers = xcalloc(n, sizeof *workers);
        for (size_t i = 0; i < n; i++) {
            ovs_list_init(&workers[i].settled);
            ovs_list_init(&workers[i].due);
            heap_init(&workers[i].waiting);
        }
        ovsthread_once_done(&once);
    }
}

void
nic_offload_dequeue(struct nic_offload *offload)
{
    if (offload->waits) {
        heap_remove(&workers[offload->worker].waiting, &offload->heap_node);
        offload->waits = false;
    } else {
        ovs_list_remove(&offload->list_node);
    }
}

void
nic_offload_enqueue(struct nic_offload *offload)
{
    ovs_list_push_back(&workers[offload->worker].settled,
                       &offload->list_node);
}

/* The heap has its greatest first. */
static uint64_t
priority(long long int when)
{
    return UINT64_MAX - when;
}

void
nic_offload_settle(struct nic_offload *offload, enum nic_refusal why,
                   long long int now)
{
    struct worker *worker = &workers[offload->worker];

    nic_offload_dequeue(offload);
    if (nic_offload_can_pass(why)) {
        offload->retry_ms = MIN(MAX(2 * offload->retry_ms, RETRY_MIN_MS),
                                RETRY_MAX_MS);
        offload->waits = true;
        heap_insert(&worker->waiting, &offload->heap_node,
                    priority(now + offload->retry_ms));
    } else {
        offload->retry_ms = 0;
        nic_offload_enqueue(offload);
    }
    if (why == NIC_TABLE_FULL) {
        worker->eager = 0;
    }
}

static void
make_all_due(struct worker *worker)
{
    struct nic_offload *offload;

    ovs_list_push_back_all(&worker->due, &worker->settled);
    HEAP_FOR_EACH (offload, heap_node, &worker->waiting) {
        offload->waits = false;
        ovs_list_push_back(&worker->due, &offload->list_node);
    }
    heap_clear(&worker->waiting);
}

struct nic_offload *
nic_offload_next(unsigned int worker_id, long long int now, uint64_t news,
                 uint64_t rooms)
{
    struct worker *worker = &workers[worker_id];
    struct nic_offload *offload = NULL;

    if (worker->news != news) {
        worker->news = news;
        make_all_due(worker);
    }
    if (worker->rooms != rooms) {
        worker->rooms = rooms;
        worker->eager = heap_count(&worker->waiting);
    }

    if (!ovs_list_is_empty(&worker->due)) {
        offload = CONTAINER_OF(ovs_list_front(&worker->due),
                               struct nic_offload, list_node);
    } else if (!heap_is_empty(&worker->waiting)
               && (worker->eager
                   || (heap_max(&worker->waiting)->priority
                       >= priority(now)))) {
        offload = CONTAINER_OF(heap_max(&worker->waiting),
                               struct nic_offload, heap_node);
        worker->eager -= worker->eager > 0;
    }
    if (offload) {
        nic_offload_dequeue(offload);
        nic_offload_enqueue(offload);
    }
    return offload;
}
