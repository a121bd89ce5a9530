/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "route-sync.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/netconf.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

#include "coverage.h"
#include "netlink.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "route-dump.h"
#include "route-lookup.h"
#include "route-netlink.h"
#include "route-update.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(route_sync);

COVERAGE_DEFINE(route_sync_applied);
COVERAGE_DEFINE(route_sync_ignored);
COVERAGE_DEFINE(route_sync_malformed);
COVERAGE_DEFINE(route_sync_all);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 20);

static uint32_t epoch;          /* Of the last dump. */

/* Of each family, a rule was once announced that was there already.  It may
 * have been old news or a second rule like it; only a dump can tell what
 * deleting it leaves.  This stays so: a dump that finds one rule does not tell
 * whether messages on their way are about another. */
static bool rules_doubtful[2];

/* The kernel resumes a dump of IPv6 routes by their number, and so may skip
 * one without a word if others are deleted meanwhile.  After such a dump,
 * before what it did not confirm is swept, the events that came with it are
 * applied; if any was about an IPv6 route, the tables are dumped again. */
static struct {
    bool pending;               /* A dump came in several parts. */
    bool changed;               /* An IPv6 route changed since. */
    int n_tries;
    bool sweep;                 /* Sweep all... */
    uint32_t sweep_epoch;       /* ...that is older than this. */
} verify;

#define MAX_VERIFY_TRIES 5

/* Events. */

/* Learns of 'ifindex' if it is not known: it may have come after the dump of
 * links and before that of what names it now. */
static void
learn_device(struct route_db *db, int ifindex)
    OVS_REQUIRES(db->mutex)
{
    const struct route_device *device = route_db_find_device(db, ifindex);
    struct route_event event;
    struct ofpbuf *reply;
    const char *reason;

    if ((!device || !route_device_link(device)->name[0])
        && !route_dump_link(ifindex, &reply)) {
        if (!route_event_parse(reply, &event, &reason)) {
            if (event.kind == ROUTE_EVENT_LINK) {
                route_update_apply(db, &event, epoch, false);
            }
            route_event_uninit(&event);
        }
        ofpbuf_delete(reply);
    }
}

static int
apply_event(struct route_db *db, const struct route_event *event, bool dumped)
    OVS_REQUIRES(db->mutex)
{
    int error = route_update_apply(db, event, epoch, dumped);

    if (error == EAGAIN) {
        for (size_t i = 0; i < event->n_nexthops; i++) {
            learn_device(db, event->nexthops[i].ifindex);
        }
        if (event->kind == ROUTE_EVENT_ADDRESS) {
            learn_device(db, event->address.ifindex);
        }
        error = route_update_apply(db, event, epoch, dumped);
    }
    /* EAGAIN: the device is gone, and soon we hear of it. */
    return error == EAGAIN ? 0 : error;
}

/* Parses 'msg'.  Returns true and fills in '*event', which the caller must
 * uninitialize, if it matters. */
static bool
parse_message(const struct ofpbuf *msg, struct route_event *event)
{
    const char *reason;
    int error = route_event_parse(msg, event, &reason);

    if (error == EAGAIN) {
        COVERAGE_INC(route_sync_ignored);
    } else if (error) {
        COVERAGE_INC(route_sync_malformed);
        VLOG_WARN_RL(&rl, "ignoring malformed rtnetlink message: %s", reason);
    } else {
        COVERAGE_INC(route_sync_applied);
    }
    return !error;
}

/* Reading lists. */

struct dump_aux {
    struct route_db *db;
    uint32_t table;             /* Of routes; 0: not routes. */
    bool ipv6;

    /* Rules, which are applied only after their tables were read. */
    struct route_event *rules;
    size_t n_rules, allocated_rules;
};

static void
apply_dumped(const struct ofpbuf *msg, void *aux_)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct dump_aux *aux = aux_;
    struct route_event event;
    bool ipv6;

    if (aux->table && (route_event_peek_table(msg, &ipv6) != aux->table
                       || ipv6 != aux->ipv6)) {
        return;
    }
    if (parse_message(msg, &event)) {
        apply_event(aux->db, &event, true);
        route_event_uninit(&event);
    }
}

static void
collect_rule(const struct ofpbuf *msg, void *aux_)
{
    struct dump_aux *aux = aux_;
    struct route_event event;

    if (parse_message(msg, &event)) {
        if (event.kind != ROUTE_EVENT_RULE) {
            route_event_uninit(&event);
            return;
        }
        if (aux->n_rules >= aux->allocated_rules) {
            aux->rules = x2nrealloc(aux->rules, &aux->allocated_rules,
                                    sizeof *aux->rules);
        }
        aux->rules[aux->n_rules++] = event;
    }
}

/* A kernel may be built without what a list is about, and a table that a rule
 * names need not exist. */
static int
ignore_absent(int error)
{
    return (error == ENOENT || error == EOPNOTSUPP || error == EAFNOSUPPORT
            ? 0 : error);
}

static int
dump_links(struct route_db *db)
    OVS_REQUIRES(db->mutex)
{
    struct ifinfomsg ifi = { .ifi_family = AF_UNSPEC };
    struct dump_aux aux = { .db = db };

    return route_dump(RTM_GETLINK, &ifi, sizeof ifi, 0, apply_dumped, &aux,
                      NULL);
}

static int
dump_addresses(struct route_db *db, bool ipv6)
    OVS_REQUIRES(db->mutex)
{
    struct ifaddrmsg ifa = { .ifa_family = ipv6 ? AF_INET6 : AF_INET };
    struct dump_aux aux = { .db = db };

    return ignore_absent(route_dump(RTM_GETADDR, &ifa, sizeof ifa, 0,
                                    apply_dumped, &aux, NULL));
}

static int
dump_netconf(struct route_db *db, bool ipv6)
    OVS_REQUIRES(db->mutex)
{
    struct netconfmsg ncm = { .ncm_family = ipv6 ? AF_INET6 : AF_INET };
    struct dump_aux aux = { .db = db };

    return ignore_absent(route_dump(RTM_GETNETCONF, &ncm, sizeof ncm, 0,
                                    apply_dumped, &aux, NULL));
}

static int
dump_objects(struct route_db *db)
    OVS_REQUIRES(db->mutex)
{
    struct nhmsg nhm = { .nh_family = AF_UNSPEC };
    struct dump_aux aux = { .db = db };

    return ignore_absent(route_dump(RTM_GETNEXTHOP, &nhm, sizeof nhm, 0,
                                    apply_dumped, &aux, NULL));
}

static int
dump_table(struct route_db *db, uint32_t id, bool ipv6)
    OVS_REQUIRES(db->mutex)
{
    struct rtmsg rtm = { .rtm_family = ipv6 ? AF_INET6 : AF_INET };
    struct dump_aux aux = { .db = db, .table = id, .ipv6 = ipv6 };
    bool split = false;
    int error = route_dump(RTM_GETROUTE, &rtm, sizeof rtm, id, apply_dumped,
                           &aux, &split);

    if (ipv6 && split && !verify.pending) {
        verify.pending = true;
        verify.changed = false;
    }
    return ignore_absent(error);
}

/* Reads all tables of one family (0: IPv4, 1: IPv6) that are held. */
static int
dump_held_tables(struct route_db *db, bool ipv6)
    OVS_REQUIRES(db->mutex)
{
    uint32_t *ids = xmalloc((hmap_count(&db->fibs) + 1) * sizeof *ids);
    struct route_fib *fib;
    int error = 0;
    size_t n = 0;

    HMAP_FOR_EACH (fib, node, &db->fibs) {
        if (fib->held && fib->ipv6 == ipv6) {
            ids[n++] = fib->id;
        }
    }
    for (size_t i = 0; i < n && !error; i++) {
        error = dump_table(db, ids[i], ipv6);
    }
    free(ids);
    return error;
}

/* Tells the log, once for each new 'rule', what of it is not evaluated. */
static void
log_caveat(const struct route_rule *rule)
{
    if (route_rule_caveat(rule)) {
        struct ds s = DS_EMPTY_INITIALIZER;

        route_rule_format(rule, &s);
        VLOG_WARN("%s", ds_cstr(&s));
        ds_destroy(&s);
    }
}

/* Reads the rules of one family and applies them, each after the table that
 * it names.  'all': read the tables that are held already, too. */
static int
dump_rules(struct route_db *db, bool ipv6, bool all)
    OVS_REQUIRES(db->mutex)
{
    struct fib_rule_hdr frh = { .family = ipv6 ? AF_INET6 : AF_INET };
    struct dump_aux aux = { .db = db };
    int error = ignore_absent(route_dump(RTM_GETRULE, &frh, sizeof frh, 0,
                                         collect_rule, &aux, NULL));

    if (all && !error) {
        error = dump_held_tables(db, ipv6);
    }
    for (size_t i = 0; i < aux.n_rules; i++) {
        const struct route_rule *rule = &aux.rules[i].rule;

        /* Right before the rule: a table that no rule names would go when
         * another rule comes. */
        if (!error && rule->action == ROUTE_RULE_LOOKUP && rule->table) {
            error = route_sync_table(db, rule->table, ipv6);
        }
        if (!error) {
            const struct route_rule *same = route_db_find_rule(db, rule);

            if (!same) {
                log_caveat(rule);
            } else if (same->epoch == epoch) {
                rules_doubtful[ipv6] = true;
            }
            apply_event(db, &aux.rules[i], true);
        }
        route_event_uninit(&aux.rules[i]);
    }
    free(aux.rules);
    return error;
}

int
route_sync_finish(struct route_db *db)
{
    if (verify.pending && verify.changed
        && verify.n_tries++ < MAX_VERIFY_TRIES) {
        verify.pending = verify.changed = false;
        return dump_held_tables(db, true);
    }
    if (verify.sweep) {
        route_update_sweep(db, NULL, verify.sweep_epoch);
    }
    memset(&verify, 0, sizeof verify);
    return 0;
}

bool
route_sync_is_finished(void)
{
    return !verify.pending && !verify.sweep;
}

int
route_sync_all(struct route_db *db)
{
    int error;

    COVERAGE_INC(route_sync_all);
    epoch++;
    memset(&verify, 0, sizeof verify);

    error = dump_links(db);
    for (int ipv6 = 0; ipv6 < 2 && !error; ipv6++) {
        error = dump_addresses(db, ipv6);
        if (!error) {
            error = dump_netconf(db, ipv6);
        }
    }
    if (!error) {
        error = dump_objects(db);
    }
    for (int ipv6 = 0; ipv6 < 2 && !error; ipv6++) {
        error = dump_rules(db, ipv6, true);
    }
    if (!error) {
        verify.sweep = true;
        verify.sweep_epoch = epoch;
        if (!verify.pending) {
            error = route_sync_finish(db);
        }
    }
    return error;
}

int
route_sync_table(struct route_db *db, uint32_t id, bool ipv6)
{
    struct route_fib *fib = route_db_fib(db, id, ipv6);

    if (fib->held) {
        return 0;
    }
    fib->held = true;
    return dump_table(db, id, ipv6);
}

static int
handle_rule(struct route_db *db, const struct route_event *event)
    OVS_REQUIRES(db->mutex)
{
    const struct route_rule *rule = &event->rule;
    bool ipv6 = event->ipv6;
    int error = 0;

    if (!event->deleted) {
        if (route_db_find_rule(db, rule)) {
            rules_doubtful[ipv6] = true;
        } else {
            log_caveat(rule);
            /* That of VRFs has no table of its own: 0 would be all. */
            if (rule->action == ROUTE_RULE_LOOKUP && rule->table) {
                error = route_sync_table(db, rule->table, ipv6);
            }
        }
    } else if (rules_doubtful[ipv6]) {
        epoch++;
        error = dump_rules(db, ipv6, false);
        if (!error) {
            route_update_sweep_rules(db, ipv6, epoch);
        }
        return error;
    }
    apply_event(db, event, false);
    return error;
}

int
route_sync_message(struct route_db *db, const struct ofpbuf *msg,
                   bool *devices_changed)
{
    struct route_event event;
    uint32_t table;
    bool ipv6;
    int error;

    /* Most routes of a host may be in tables that no rule names. */
    table = route_event_peek_table(msg, &ipv6);
    if (table) {
        const struct route_fib *fib = route_db_find_fib(db, table, ipv6);

        if (!fib || !fib->held) {
            COVERAGE_INC(route_sync_ignored);
            return 0;
        }
        verify.changed |= ipv6;
    }

    if (!parse_message(msg, &event)) {
        return 0;
    }
    error = (event.kind == ROUTE_EVENT_RULE ? handle_rule(db, &event)
             : apply_event(db, &event, false));
    if (event.kind == ROUTE_EVENT_LINK || event.kind == ROUTE_EVENT_ADDRESS) {
        *devices_changed = true;
    }
    route_event_uninit(&event);
    return error;
}
