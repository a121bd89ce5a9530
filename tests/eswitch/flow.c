/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#include <config.h>

#include "model.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* The calls of rte_flow.  Ports that the configuration does not name go to
 * the library's own functions. */

#define REAL(FUNCTION) \
    ({ static __typeof__(FUNCTION) *real; \
       if (!real) { \
           real = (__typeof__(FUNCTION) *) dlsym(RTLD_NEXT, #FUNCTION); \
       } \
       real; })

static int
counted(int retval)
{
    if (retval < 0) {
        model.n_refused++;
        if (-retval < 256) {
            model.refused[-retval]++;
        }
    }
    return retval;
}

/* The attributes; then pattern and actions fill in the draft. */
static int
validate(struct draft *draft, const struct rte_flow_attr *attr,
         const struct rte_flow_item pattern[],
         const struct rte_flow_action actions[],
         struct rte_flow_error *error)
{
    const struct eswitch *eswitch = draft->port->eswitch;
    int retval;

    if (eswitch->flow_engine == 2) {
        bool strict = eswitch->release >= 2411;

        if (strict && attr->transfer && !draft->port->uplink) {
            return eswitch_refuse(error, EINVAL,
                                  RTE_FLOW_ERROR_TYPE_ATTR_TRANSFER, NULL,
                                  "transfer on a representor");
        }
        return eswitch_refuse(error, ENOTSUP,
                              RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
                              "hardware steering");
    } else if (attr->group == UINT32_MAX) {
        return eswitch_refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ATTR_GROUP,
                              attr, "group is too large");
    } else if (attr->priority > MAX_PRIORITY) {
        return eswitch_refuse(error, ENOTSUP,
                              RTE_FLOW_ERROR_TYPE_ATTR_PRIORITY, attr,
                              "priority is too large");
    } else if (attr->ingress + attr->egress + attr->transfer != 1) {
        return eswitch_refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ATTR, attr,
                              "not exactly one direction");
    } else if (attr->transfer && !eswitch->switchdev) {
        return eswitch_refuse(error, ENOTSUP,
                              RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
                              "no switchdev mode");
    }
    draft->attr = *attr;
    retval = eswitch_validate_items(draft, pattern, error);
    return retval ? retval : eswitch_validate_actions(draft, actions, error);
}

int
rte_flow_validate(uint16_t port_id, const struct rte_flow_attr *attr,
                  const struct rte_flow_item pattern[],
                  const struct rte_flow_action actions[],
                  struct rte_flow_error *error)
{
    struct port *port = eswitch_port_find(port_id);
    struct draft draft = { .port = port };
    int retval;

    if (!port) {
        return REAL(rte_flow_validate)(port_id, attr, pattern, actions,
                                       error);
    }
    model.n_validated++;
    pthread_rwlock_rdlock(&port->eswitch->lock);
    retval = validate(&draft, attr, pattern, actions, error);
    pthread_rwlock_unlock(&port->eswitch->lock);
    return counted(retval);
}

static struct rte_flow *
create(struct port *port, const struct rte_flow_attr *attr,
       const struct rte_flow_item pattern[],
       const struct rte_flow_action actions[], struct rte_flow_error *error)
{
    struct draft draft = { .port = port };
    uintptr_t handle = 0;
    int retval;

    if (!port->started) {
        counted(eswitch_refuse(error, ENODEV,
                               RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
                               "port is stopped"));
        return NULL;
    }
    pthread_rwlock_wrlock(&port->eswitch->lock);
    retval = validate(&draft, attr, pattern, actions, error);
    if (!retval) {
        retval = eswitch_rule_insert(&draft, &handle, error);
    }
    pthread_rwlock_unlock(&port->eswitch->lock);
    if (counted(retval)) {
        rte_errno = -retval;
        return NULL;
    }
    model.n_created++;
    return (struct rte_flow *) handle;
}

static uint64_t
thread_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

struct rte_flow *
rte_flow_create(uint16_t port_id, const struct rte_flow_attr *attr,
                const struct rte_flow_item pattern[],
                const struct rte_flow_action actions[],
                struct rte_flow_error *error)
{
    struct port *port = eswitch_port_find(port_id);
    uint64_t start = thread_ns();
    struct rte_flow *flow;

    if (!port) {
        return REAL(rte_flow_create)(port_id, attr, pattern, actions, error);
    }
    if (model.slow_create) {
        usleep(model.slow_create * 1000);
    }
    flow = create(port, attr, pattern, actions, error);
    model.create_ns += thread_ns() - start;
    return flow;
}

/* Why a handle means nothing: real hardware's driver would use freed memory,
 * so the test has to fail.  The eSwitch's lock is held. */
static int
bad_handle(const struct port *port, const struct rte_flow *flow,
           const char *verb, struct rte_flow_error *error)
{
    const char *why = "never was a rule, or was destroyed";
    uintptr_t handle = (uintptr_t) flow;
    struct table_node *node;

    for (node = table_first(&port->eswitch->stale, table_mix(0, handle));
         node; node = table_next(node)) {
        if (TABLE_OBJECT(node, struct stale, node)->handle == handle) {
            why = TABLE_OBJECT(node, struct stale, node)->why;
        }
    }
    eswitch_log(LOG_ERROR, "%s of handle %#lx on %s, which is gone: %s",
                verb, (unsigned long) handle, port->name, why);
    return counted(eswitch_refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_HANDLE,
                                  flow, "no such rule"));
}

/* True if destroy is to fail now. */
static bool
take_destroy_error(void)
{
    if (!model.destroy_error || !model.destroy_error_left) {
        return false;
    }
    if (model.destroy_error_left > 0) {
        model.destroy_error_left--;
    }
    return true;
}

int
rte_flow_destroy(uint16_t port_id, struct rte_flow *flow,
                 struct rte_flow_error *error)
{
    struct port *port = eswitch_port_find(port_id);
    struct rule *rule;
    int retval = 0;

    if (!port) {
        return REAL(rte_flow_destroy)(port_id, flow, error);
    }
    if (model.slow_destroy) {
        usleep(model.slow_destroy * 1000);
    }
    pthread_rwlock_wrlock(&port->eswitch->lock);
    rule = eswitch_rule_find(port->eswitch, (uintptr_t) flow);
    if (!rule) {
        retval = bad_handle(port, flow, "destroy", error);
    } else if (take_destroy_error()) {
        retval = eswitch_refuse(error, model.destroy_error,
                                RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
                                "injected fault");
    } else {
        if (rule->port != port) {
            eswitch_log(LOG_ERROR, "destroy of handle %#lx on %s, but it is "
                        "of %s", (unsigned long) rule->handle, port->name,
                        rule->port->name);
        }
        eswitch_rule_remove(rule);
        model.n_destroyed++;
    }
    pthread_rwlock_unlock(&port->eswitch->lock);
    return retval;
}

int
rte_flow_flush(uint16_t port_id, struct rte_flow_error *error)
{
    struct port *port = eswitch_port_find(port_id);

    if (!port) {
        return REAL(rte_flow_flush)(port_id, error);
    }
    eswitch_port_flush(port, "rte_flow_flush");
    return 0;
}

static int
query_count(struct rule *rule, struct rte_flow_query_count *count)
{
    bool lag = model.counter_lag || model.counters_frozen;
    const struct counts *counts = lag ? &rule->shown : &rule->now;
    uint64_t packets = counts->packets, bytes = counts->bytes;

    count->hits_set = count->bytes_set = 1;
    count->hits = packets - rule->base.packets;
    count->bytes = bytes - rule->base.bytes;
    if (count->reset) {
        rule->base.packets = packets;
        rule->base.bytes = bytes;
    }
    return 0;
}

int
rte_flow_query(uint16_t port_id, struct rte_flow *flow,
               const struct rte_flow_action *action, void *data,
               struct rte_flow_error *error)
{
    struct port *port = eswitch_port_find(port_id);
    struct rule *rule;
    int retval;

    if (!port) {
        return REAL(rte_flow_query)(port_id, flow, action, data, error);
    }
    if (model.query_error) {
        return eswitch_refuse(error, model.query_error,
                              RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
                              "injected fault");
    }
    pthread_rwlock_rdlock(&port->eswitch->lock);
    rule = eswitch_rule_find(port->eswitch, (uintptr_t) flow);
    if (!rule) {
        retval = bad_handle(port, flow, "query", error);
    } else if (action->type != RTE_FLOW_ACTION_TYPE_COUNT) {
        retval = eswitch_refuse(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION,
                                action, "only count can be queried");
    } else if (!rule->counted) {
        retval = eswitch_refuse(error, EINVAL,
                                RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
                                "rule without count");
    } else {
        retval = query_count(rule, data);
    }
    pthread_rwlock_unlock(&port->eswitch->lock);
    return retval;
}

static int
unsupported(struct rte_flow_error *error, const char *why)
{
    return eswitch_refuse(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_UNSPECIFIED,
                          NULL, why);
}

int
rte_flow_isolate(uint16_t port_id, int set, struct rte_flow_error *error)
{
    return (eswitch_port_find(port_id) ? unsupported(error, "isolated mode")
            : REAL(rte_flow_isolate)(port_id, set, error));
}

int
rte_flow_dev_dump(uint16_t port_id, struct rte_flow *flow, FILE *file,
                  struct rte_flow_error *error)
{
    char *text;

    if (!eswitch_port_find(port_id)) {
        return REAL(rte_flow_dev_dump)(port_id, flow, file, error);
    }
    text = eswitch_show("rules");
    fputs(text, file);
    free(text);
    return 0;
}

/* The tunnel API is there with dv_xmeta_en=3 only, which is not modelled. */
int
rte_flow_tunnel_decap_set(uint16_t port_id, struct rte_flow_tunnel *tunnel,
                          struct rte_flow_action **actions, uint32_t *n,
                          struct rte_flow_error *error)
{
    return (eswitch_port_find(port_id) ? unsupported(error, "tunnel API")
            : REAL(rte_flow_tunnel_decap_set)(port_id, tunnel, actions, n,
                                              error));
}

int
rte_flow_tunnel_match(uint16_t port_id, struct rte_flow_tunnel *tunnel,
                      struct rte_flow_item **items, uint32_t *n,
                      struct rte_flow_error *error)
{
    return (eswitch_port_find(port_id) ? unsupported(error, "tunnel API")
            : REAL(rte_flow_tunnel_match)(port_id, tunnel, items, n, error));
}

int
rte_flow_get_restore_info(uint16_t port_id, struct rte_mbuf *packet,
                          struct rte_flow_restore_info *info,
                          struct rte_flow_error *error)
{
    if (!eswitch_port_find(port_id)) {
        return REAL(rte_flow_get_restore_info)(port_id, packet, info, error);
    }
    return eswitch_refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_UNSPECIFIED,
                          NULL, "packet without tunnel mark");
}
