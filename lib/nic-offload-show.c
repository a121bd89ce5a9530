/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-offload-show.h"

#include <stdlib.h>
#include <string.h>

#include "encap-json.h"
#include "encap-text.h"
#include "netdev-offload.h"
#include "nic-eswitch.h"
#include "nic-ethdev.h"
#include "nic-offload.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/shash.h"
#include "sset.h"
#include "util.h"

/* What there is to say of an eSwitch, or of flows without one. */
struct nic {
    unsigned int id;            /* Of the eSwitch, 0: none. */
    const char *eswitch;        /* Its name, NULL: none. */
    struct sset uplinks;        /* Names of ports. */
    size_t n_rules, n_contexts, n_options;
    struct nic_option option;
    struct nic_traffic encap, decap;    /* In hardware. */
    struct nic_traffic software;        /* That uplinks gave to or got from
                                         * PMD threads. */
    uint64_t n_refused[NIC_N_REFUSALS];
    uint64_t n_offloaded;       /* Flows ... */
    struct shash reasons;       /* ... and their number in software by reason:
                                 * data are "size_t *"s. */
};

struct nics {
    struct nic **nics;
    size_t n;
};

/* Collecting. */

static struct nic *
add_nic(struct nics *nics, unsigned int id)
{
    struct nic *nic = xzalloc(sizeof *nic);

    nics->nics = xrealloc(nics->nics, (nics->n + 1) * sizeof *nics->nics);
    nics->nics[nics->n++] = nic;
    nic->id = id;
    sset_init(&nic->uplinks);
    shash_init(&nic->reasons);
    return nic;
}

static struct nic *
find_nic(struct nics *nics, unsigned int id)
{
    for (size_t i = 0; i < nics->n; i++) {
        if (nics->nics[i]->id == id) {
            return nics->nics[i];
        }
    }
    return add_nic(nics, id);
}

static void
add_eswitch(struct nics *nics, struct nic_eswitch *eswitch)
{
    struct nic *nic = find_nic(nics, eswitch->id);

    nic->eswitch = eswitch->name;
    ovs_mutex_lock(&eswitch->mutex);
    nic->n_rules = eswitch->n_rules;
    nic->n_contexts = hmap_count(&eswitch->contexts);
    nic->n_options = eswitch->n_option_rules;
    nic->option = eswitch->option;
    nic->encap = eswitch->encap;
    nic->decap = eswitch->decap;
    memcpy(nic->n_refused, eswitch->n_refused, sizeof nic->n_refused);
    ovs_mutex_unlock(&eswitch->mutex);
}

static void
add_uplinks(struct nics *nics)
{
    struct nic_ethdev *ethdev = NULL;

    ovs_rwlock_rdlock(&nic_ethdev_rwlock);
    while ((ethdev = nic_ethdev_next(ethdev))) {
        if (ethdev->facts.kind == NIC_PORT_UPLINK) {
            struct nic *nic = find_nic(nics, ethdev->facts.eswitch);

            sset_add(&nic->uplinks, ethdev->name);
            nic_ethdev_add_software(ethdev, &nic->software);
        }
    }
    ovs_rwlock_unlock(&nic_ethdev_rwlock);
}

static void
add_flow(unsigned int eswitch, enum nic_refusal why, const char *detail,
         void *nics)
{
    struct nic *nic = find_nic(nics, eswitch);
    char *reason;
    size_t *n;

    if (why == NIC_OFFLOADABLE) {
        nic->n_offloaded++;
        return;
    }
    reason = xasprintf("%s%s%s", nic_refusal_to_string(why),
                       detail ? " " : "", detail ? detail : "");
    n = shash_find_data(&nic->reasons, reason);
    if (!n) {
        n = xzalloc(sizeof *n);
        shash_add(&nic->reasons, reason, n);
    }
    ++*n;
    free(reason);
}

static int
compare_nics(const void *a_, const void *b_)
{
    const struct nic *const *a = a_;
    const struct nic *const *b = b_;

    /* Without a NIC comes last. */
    return (*a)->id - 1 < (*b)->id - 1 ? -1 : (*a)->id - 1 > (*b)->id - 1;
}

static void
collect(struct nics *nics)
{
    *nics = (struct nics) { .n = 0 };
    for (struct nic_eswitch *eswitch = nic_eswitch_last(); eswitch;
         eswitch = eswitch->next) {
        add_eswitch(nics, eswitch);
    }
    add_uplinks(nics);
    nic_offload_for_each(add_flow, nics);
    if (nics->n) {
        qsort(nics->nics, nics->n, sizeof *nics->nics, compare_nics);
    }
}

static void
nics_destroy(struct nics *nics)
{
    for (size_t i = 0; i < nics->n; i++) {
        sset_destroy(&nics->nics[i]->uplinks);
        shash_destroy_free_data(&nics->nics[i]->reasons);
        free(nics->nics[i]);
    }
    free(nics->nics);
}

/* Text. */

static void
put_traffic(const char *what, const struct nic_traffic *traffic,
            struct ds *ds)
{
    ds_put_format(ds, "%s%"PRIu64" packets, %"PRIu64" bytes", what,
                  traffic->packets, traffic->bytes);
}

static void
put_names(const struct nic *nic, struct ds *ds)
{
    const char **names = sset_sort(&nic->uplinks);

    for (size_t i = 0; i < sset_count(&nic->uplinks); i++) {
        ds_put_cstr(ds, i ? ", " : "");
        encap_text_put(names[i], ds);
    }
    if (!sset_count(&nic->uplinks)) {
        ds_put_cstr(ds, "no uplink");
    }
    free(names);
    ds_put_format(ds, " (%s)\n", nic->eswitch);
}

static void
put_state(const struct nic *nic, struct ds *ds)
{
    ds_put_format(ds, "  rules     %"PRIuSIZE", with %"PRIuSIZE" encap "
                  "context%s\n", nic->n_rules, nic->n_contexts,
                  nic->n_contexts == 1 ? "" : "s");
    if (nic->n_options) {
        ds_put_format(ds, "  option    class %#"PRIx16", type %#"PRIx8", "
                      "%d bytes\n", ntohs(nic->option.class),
                      nic->option.type, nic->option.length * 4);
    }
    put_traffic("  hardware  encap ", &nic->encap, ds);
    put_traffic("; decap ", &nic->decap, ds);
    put_traffic("\n  software  ", &nic->software, ds);
    ds_put_char(ds, '\n');
}

static void
put_flows(const struct nic *nic, struct ds *ds)
{
    const struct shash_node **reasons = shash_sort(&nic->reasons);

    ds_put_format(ds, "  flows     %"PRIu64" in hardware\n",
                  nic->n_offloaded);
    for (size_t i = 0; i < shash_count(&nic->reasons); i++) {
        const size_t *n = reasons[i]->data;

        ds_put_format(ds, "            %"PRIuSIZE" in software: %s\n", *n,
                      reasons[i]->name);
    }
    free(reasons);
}

static void
put_refused(const struct nic *nic, struct ds *ds)
{
    const char *separator = "  refused   ";

    for (size_t i = 0; i < NIC_N_REFUSALS; i++) {
        if (nic->n_refused[i]) {
            ds_put_format(ds, "%s%s %"PRIu64, separator,
                          nic_refusal_to_string(i), nic->n_refused[i]);
            separator = ", ";
        }
    }
    if (separator[0] == ',') {
        ds_put_char(ds, '\n');
    }
}

static const char *
state(void)
{
    return (!netdev_is_flow_api_enabled() ? "off: hw-offload is not true"
            : !nic_offload_is_enabled() ? "off: encap-offload is false"
            : "on");
}

void
nic_offload_show_format(struct ds *ds)
{
    struct nics nics;

    collect(&nics);
    ds_put_format(ds, "offload %s\n", state());
    for (size_t i = 0; i < nics.n; i++) {
        const struct nic *nic = nics.nics[i];

        ds_put_char(ds, '\n');
        if (nic->id) {
            put_names(nic, ds);
            put_state(nic, ds);
        } else {
            ds_put_cstr(ds, "on no NIC with an eSwitch\n");
        }
        put_flows(nic, ds);
        put_refused(nic, ds);
    }
    nics_destroy(&nics);
}

/* JSON. */

static void
put_json_traffic(struct json *object, const char *name,
                 const struct nic_traffic *traffic)
{
    struct json *json = json_object_create();

    encap_json_put_number(json, "packets", traffic->packets);
    encap_json_put_number(json, "bytes", traffic->bytes);
    json_object_put(object, name, json);
}

static void
put_json_uplinks(struct json *json, const struct nic *nic)
{
    struct json *array = json_array_create_empty();
    const char **names = sset_sort(&nic->uplinks);
    size_t n = sset_count(&nic->uplinks);

    for (size_t i = 0; i < n; i++) {
        json_array_add(array, json_string_create(names[i]));
    }
    encap_json_put_string(json, "name", n ? names[0] : NULL);
    json_object_put(json, "uplinks", array);
    free(names);
}

static struct json *
flows_to_json(const struct nic *nic)
{
    struct json *software = json_object_create();
    struct json *flows = json_object_create();
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &nic->reasons) {
        const size_t *n = node->data;

        encap_json_put_number(software, node->name, *n);
    }
    encap_json_put_number(flows, "offloaded", nic->n_offloaded);
    json_object_put(flows, "software", software);
    return flows;
}

static struct json *
refused_to_json(const struct nic *nic)
{
    struct json *refused = json_object_create();

    for (size_t i = 0; i < NIC_N_REFUSALS; i++) {
        if (nic->n_refused[i]) {
            encap_json_put_number(refused, nic_refusal_to_string(i),
                                  nic->n_refused[i]);
        }
    }
    return refused;
}

static struct json *
option_to_json(const struct nic *nic)
{
    struct json *option = json_object_create();

    encap_json_put_number(option, "class", ntohs(nic->option.class));
    encap_json_put_number(option, "type", nic->option.type);
    encap_json_put_number(option, "length", nic->option.length * 4);
    return option;
}

static struct json *
nic_to_json(const struct nic *nic)
{
    struct nic_traffic both = {
        .packets = nic->encap.packets + nic->decap.packets,
        .bytes = nic->encap.bytes + nic->decap.bytes,
    };
    struct json *json = json_object_create();

    put_json_uplinks(json, nic);
    encap_json_put_string(json, "eswitch", nic->eswitch);
    encap_json_put_number(json, "rules", nic->n_rules);
    encap_json_put_number(json, "encap-contexts", nic->n_contexts);
    json_object_put(json, "option", (nic->n_options ? option_to_json(nic)
                                     : json_null_create()));
    put_json_traffic(json, "hardware", &both);
    put_json_traffic(json, "hardware-encap", &nic->encap);
    put_json_traffic(json, "hardware-decap", &nic->decap);
    put_json_traffic(json, "software", &nic->software);
    json_object_put(json, "flows", flows_to_json(nic));
    json_object_put(json, "refused", refused_to_json(nic));
    return json;
}

struct json *
nic_offload_show_to_json(void)
{
    struct json *json = json_object_create();
    struct json *array = json_array_create_empty();
    struct nics nics;

    collect(&nics);
    for (size_t i = 0; i < nics.n; i++) {
        json_array_add(array, nic_to_json(nics.nics[i]));
    }
    nics_destroy(&nics);
    encap_json_put_bool(json, "offload", (netdev_is_flow_api_enabled()
                                          && nic_offload_is_enabled()));
    encap_json_put_string(json, "state", state());
    json_object_put(json, "nics", array);
    return json;
}
