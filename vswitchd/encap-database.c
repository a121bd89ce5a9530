/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-database.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "encap-command.h"
#include "encap-config.h"
#include "encap-monitor.h"
#include "nic-offload.h"
#include "nic-policer.h"
#include "lib/vswitch-idl.h"
#include "ovsdb-idl-provider.h"
#include "packets.h"
#include "smap.h"
#include "sset.h"
#include "util.h"

/* What the last configuration was made of: of Open_vSwitch external_ids what
 * matters, and the marks of each interface that has any. */
static struct smap used_ids = SMAP_INITIALIZER(&used_ids);
static struct smap used_marks = SMAP_INITIALIZER(&used_marks);

/* external_ids. */

#define IPS "ovn-encap-ip"
#define DEFAULT_IP "ovn-encap-ip-default"

/* The key under which 'ids' has 'key' for this host, which the caller
 * frees. */
static char *
own_key(const struct smap *ids, const char *key)
{
    const char *system_id = smap_get(ids, "system-id");
    char *own = xasprintf("%s-%s", key, system_id ? system_id : "");

    if (!system_id || !smap_get(ids, own)) {
        free(own);
        own = xstrdup(key);
    }
    return own;
}

/* Copies from 'ids' to 'used', which is empty, what matters. */
static void
copy_used_ids(const struct smap *ids, struct smap *used)
{
    static const char *const keys[] = { IPS, DEFAULT_IP };

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        char *own = own_key(ids, keys[i]);

        smap_add_format(used, keys[i], "%s=%s", own,
                        smap_get_def(ids, own, ""));
        free(own);
    }
}

static bool
is_open_vswitch_change_used(const struct ovsrec_open_vswitch *row)
{
    struct smap used = SMAP_INITIALIZER(&used);
    bool equal;

    copy_used_ids(&row->external_ids, &used);
    equal = smap_equal(&used, &used_ids);
    smap_destroy(&used);
    return !equal;
}

/* True if 'iface' is a workload's: so says the key by which OVN, and others
 * who attach workloads, know them. */
static bool
is_workload(const struct ovsrec_interface *iface)
{
    return smap_get(&iface->external_ids, "iface-id") != NULL;
}

/* What of the external_ids of 'iface' matters, which the caller frees, or NULL
 * if nothing does. */
static char *
get_marks(const struct ovsrec_interface *iface)
{
    const char *pin = smap_get_def(&iface->external_ids, "encap-ip", "");
    bool workload = is_workload(iface);

    return (*pin || workload
            ? xasprintf("%s %s", workload ? "workload" : "", pin) : NULL);
}

static bool
is_interface_change_used(const struct ovsrec_interface *row)
{
    char *marks = get_marks(row);
    bool equal = nullable_string_is_equal(marks,
                                          smap_get(&used_marks, row->name));

    free(marks);
    return !equal;
}

/* Changes. */

static void
track(struct ovsdb_idl *idl, const struct ovsdb_idl_table_class *table)
{
    for (size_t i = 0; i < table->n_columns; i++) {
        ovsdb_idl_track_add_column(idl, &table->columns[i]);
    }
}

void
encap_database_init(struct ovsdb_idl *idl)
{
    track(idl, &ovsrec_table_open_vswitch);
    track(idl, &ovsrec_table_interface);
    encap_command_init();
}

/* True if 'row' was there before 'seqno', still is, and nothing of it has
 * changed but 'column'. */
static bool
only_changed(const struct ovsdb_idl_row *row,
             const struct ovsdb_idl_table_class *table,
             const struct ovsdb_idl_column *column, unsigned int seqno)
{
    if (ovsdb_idl_row_get_seqno(row, OVSDB_IDL_CHANGE_INSERT) > seqno
        || ovsdb_idl_row_get_seqno(row, OVSDB_IDL_CHANGE_DELETE) > seqno) {
        return false;
    }
    for (size_t i = 0; i < table->n_columns; i++) {
        if (ovsdb_idl_track_is_updated(row, &table->columns[i])
            != (&table->columns[i] == column)) {
            return false;
        }
    }
    return true;
}

/* How many rows have, since 'seqno', changed in nothing that matters. */
static unsigned int
count_unused(struct ovsdb_idl *idl, unsigned int seqno)
{
    const struct ovsrec_open_vswitch *cfg;
    const struct ovsrec_interface *iface;
    unsigned int n = 0;

    OVSREC_OPEN_VSWITCH_FOR_EACH_TRACKED (cfg, idl) {
        n += (only_changed(&cfg->header_, &ovsrec_table_open_vswitch,
                           &ovsrec_open_vswitch_col_external_ids, seqno)
              && !is_open_vswitch_change_used(cfg));
    }
    OVSREC_INTERFACE_FOR_EACH_TRACKED (iface, idl) {
        n += (only_changed(&iface->header_, &ovsrec_table_interface,
                           &ovsrec_interface_col_external_ids, seqno)
              && !is_interface_change_used(iface));
    }
    return n;
}

void
encap_database_skip(struct ovsdb_idl *idl, unsigned int *seqno)
{
    static unsigned int last_seqno;
    unsigned int now = ovsdb_idl_get_seqno(idl);

    /* Each change of a row counts one up, and so does all else of note. */
    if (now != last_seqno && *seqno == last_seqno
        && count_unused(idl, last_seqno) == now - last_seqno) {
        *seqno = now;
    }
    last_seqno = now;
    ovsdb_idl_track_clear(idl);
}

/* Configuration. */

static bool
has_userspace_datapath(const struct ovsrec_bridge *bridge)
{
    return (!strcmp(bridge->datapath_type, "netdev")
            || !strcmp(bridge->datapath_type, "dummy"));
}

static bool
is_tunnel(const char *type)
{
    static const char *const types[] = {
        "bareudp", "erspan", "geneve", "gre", "gtpu", "ip6erspan", "ip6gre",
        "lisp", "srv6", "stt", "vxlan",
    };

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        if (!strcmp(type, types[i])) {
            return true;
        }
    }
    return false;
}

/* Stores the address that option 'key' of 'iface' is in '*ip' and returns
 * true, or returns false if it is none ("flow", for example: the base
 * complains of others) or not set. */
static bool
parse_option(const struct ovsrec_interface *iface, const char *key,
             struct in6_addr *ip)
{
    const char *value = smap_get_def(&iface->options, key, "");
    ovs_be32 ip4;

    if (ip_parse(value, &ip4)) {
        *ip = in6_addr_mapped_ipv4(ip4);
    } else if (!ipv6_parse(value, ip)) {
        return false;
    }
    return ipv6_addr_is_set(ip);
}

static void
note_tunnel(struct encap_config *config, const struct ovsrec_interface *iface)
{
    struct in6_addr ip;

    sset_add(&config->tunnels, iface->name);
    if (parse_option(iface, "local_ip", &ip)) {
        encap_config_want(config, &ip, ENCAP_ORIGIN_TUNNEL)->n_tunnels++;
    }
    if (parse_option(iface, "remote_ip", &ip)) {
        config->has_remotes[encap_is_ipv6(&ip)] = true;
    } else if (!strcmp(smap_get_def(&iface->options, "remote_ip", ""),
                       "flow")) {
        config->has_remotes[0] = config->has_remotes[1] = true;
    }
}

static void
add_port(struct encap_config_bridge *bridge, size_t *allocated,
         const char *name, const char *type, const struct in6_addr *pin,
         bool workload)
{
    if (bridge->n_ports >= *allocated) {
        bridge->ports = x2nrealloc(bridge->ports, allocated,
                                   sizeof *bridge->ports);
    }
    bridge->ports[bridge->n_ports++] = (struct encap_config_port) {
        .name = xstrdup(name),
        .type = xstrdup(type),
        .pin = *pin,
        .workload = workload,
    };
}

static struct in6_addr
parse_pin(struct encap_config *config, const struct ovsrec_interface *iface)
{
    const char *value = smap_get(&iface->external_ids, "encap-ip");
    struct in6_addr pin = in6addr_any;

    if (value) {
        char *key = xasprintf("interface %s external_ids:encap-ip",
                              iface->name);

        encap_config_parse_address(config, key, value, &pin);
        free(key);
    }
    return pin;
}

static int
compare_ports(const void *a_, const void *b_)
{
    const struct encap_config_port *a = a_;
    const struct encap_config_port *b = b_;

    return strcmp(a->name, b->name);
}

static int
compare_bridges(const void *a_, const void *b_)
{
    const struct encap_config_bridge *a = a_;
    const struct encap_config_bridge *b = b_;

    return strcmp(a->name, b->name);
}

/* Takes from 'from' its ports that are not in 'seen', where it adds them. */
static void
add_bridge(struct encap_config *config, const struct ovsrec_bridge *from,
           struct sset *seen)
{
    struct encap_config_bridge *bridge = &config->bridges[config->n_bridges++];
    size_t allocated = 0;

    *bridge = (struct encap_config_bridge) { .name = xstrdup(from->name) };
    for (size_t i = 0; i < from->n_ports; i++) {
        const struct ovsrec_port *port = from->ports[i];

        for (size_t j = 0; j < port->n_interfaces; j++) {
            const struct ovsrec_interface *iface = port->interfaces[j];
            bool is_local = !strcmp(iface->name, from->name);
            const char *type = (is_local ? "internal"
                                : iface->type[0] ? iface->type : "system");

            if (is_tunnel(type)) {
                bridge->has_tunnels = true;
                note_tunnel(config, iface);
            } else if (!strcmp(type, "patch")) {
                bridge->has_patches = true;
            } else if (sset_add(seen, iface->name)) {
                struct in6_addr pin = parse_pin(config, iface);

                add_port(bridge, &allocated, iface->name, type, &pin,
                         is_workload(iface));
            }
        }
    }

    /* Each bridge has a port of its own, also if the database has not. */
    if (sset_add(seen, from->name)) {
        add_port(bridge, &allocated, from->name, "internal", &in6addr_any,
                 false);
    }
    qsort(bridge->ports, bridge->n_ports, sizeof *bridge->ports,
          compare_ports);
}

static void
add_bridges(struct encap_config *config,
            const struct ovsrec_open_vswitch *cfg)
{
    struct sset seen = SSET_INITIALIZER(&seen);

    config->bridges = xcalloc(cfg->n_bridges, sizeof *config->bridges);
    for (size_t i = 0; i < cfg->n_bridges; i++) {
        if (has_userspace_datapath(cfg->bridges[i])) {
            add_bridge(config, cfg->bridges[i], &seen);
        }
    }
    sset_destroy(&seen);
    qsort(config->bridges, config->n_bridges, sizeof *config->bridges,
          compare_bridges);
}

/* Notes the marks of all interfaces, whether they are used or not. */
static void
note_marks(const struct ovsrec_open_vswitch *cfg)
{
    smap_clear(&used_marks);
    for (size_t i = 0; i < cfg->n_bridges; i++) {
        for (size_t j = 0; j < cfg->bridges[i]->n_ports; j++) {
            const struct ovsrec_port *port = cfg->bridges[i]->ports[j];

            for (size_t k = 0; k < port->n_interfaces; k++) {
                const struct ovsrec_interface *iface = port->interfaces[k];
                char *marks = get_marks(iface);

                if (marks) {
                    smap_replace(&used_marks, iface->name, marks);
                    free(marks);
                }
            }
        }
    }
}

static void
parse_ids(struct encap_config *config, const struct smap *ids)
{
    char *ips = own_key(ids, IPS);
    char *default_ip = own_key(ids, DEFAULT_IP);
    char *key;

    key = xasprintf("external_ids:%s", ips);
    encap_config_parse_list(config, key, smap_get(ids, ips), ENCAP_ORIGIN_OVN);
    free(key);

    key = xasprintf("external_ids:%s", default_ip);
    encap_config_parse_default(config, key, smap_get(ids, default_ip));
    free(key);

    free(ips);
    free(default_ip);
}

static bool
parse_bool(struct encap_config *config, const struct smap *smap,
           const char *key, bool def)
{
    const char *value = smap_get_def(smap, key, def ? "true" : "false");

    if (strcasecmp(value, "true") && strcasecmp(value, "false")) {
        sset_add_and_free(&config->problems,
                          xasprintf("other_config:%s: \"%s\" is neither true "
                                    "nor false", key, value));
    }
    return smap_get_bool(smap, key, def);
}

/* ingress_policing_kpkts_rate is not among it: netdev-dpdk ignores that. */
static void
set_policed(const struct ovsrec_open_vswitch *cfg)
{
    struct sset in = SSET_INITIALIZER(&in);
    struct sset out = SSET_INITIALIZER(&out);

    for (size_t i = 0; i < cfg->n_bridges; i++) {
        for (size_t j = 0; j < cfg->bridges[i]->n_ports; j++) {
            const struct ovsrec_port *port = cfg->bridges[i]->ports[j];
            bool qos = port->qos && nic_policer_is_qos(port->qos->type);

            for (size_t k = 0; k < port->n_interfaces; k++) {
                const struct ovsrec_interface *iface = port->interfaces[k];

                if (iface->ingress_policing_rate) {
                    sset_add(&in, iface->name);
                }
                if (qos) {
                    sset_add(&out, iface->name);
                }
            }
        }
    }
    nic_offload_set_policed(&in, &out);
    sset_destroy(&in);
    sset_destroy(&out);
}

void
encap_database_reconfigure(const struct ovsrec_open_vswitch *cfg)
{
    const struct smap *other = &cfg->other_config;
    struct encap_config *config = encap_config_create();

    smap_clear(&used_ids);
    copy_used_ids(&cfg->external_ids, &used_ids);
    note_marks(cfg);

    parse_ids(config, &cfg->external_ids);
    encap_config_parse_list(config, "other_config:encap-ip",
                            smap_get(other, "encap-ip"), ENCAP_ORIGIN_CONFIG);
    encap_config_parse_default(config, "other_config:encap-ip-default",
                               smap_get(other, "encap-ip-default"));
    encap_config_parse_order(config, "other_config:encap-select",
                             smap_get(other, "encap-select"));
    config->failover = parse_bool(config, other, "encap-failover", false);
    config->strict_rx = parse_bool(config, other, "encap-strict-rx",
                                   false);
    nic_offload_set_enabled(parse_bool(config, other, "encap-offload", true));
    set_policed(cfg);
    add_bridges(config, cfg);
    encap_config_finish(config);

    encap_monitor_configure(config);
    encap_monitor_run();
}
