/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-show.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encap-bridge.h"
#include "encap-endpoint.h"
#include "encap-flow.h"
#include "encap-json.h"
#include "encap-text.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "packets.h"
#include "util.h"

static const struct {
    enum encap_origin origin;
    const char *name;
} origins[] = {
    { ENCAP_ORIGIN_OVN, "ovn-encap-ip" },
    { ENCAP_ORIGIN_CONFIG, "encap-ip" },
    { ENCAP_ORIGIN_TUNNEL, "local_ip" },
};

static struct encap_flow_sum
get_sum(const struct encap_flow_sums *sums,
        const struct encap_endpoint *endpoint)
{
    static const struct encap_flow_sum nothing;
    const struct encap_flow_sum *sum
        = encap_flow_sums_find(sums, &endpoint->ip);

    return sum ? *sum : nothing;
}

static int
compare_ports(const void *a_, const void *b_)
{
    const struct encap_port *const *a = a_;
    const struct encap_port *const *b = b_;

    return strcmp((*a)->name, (*b)->name);
}

/* The ports that have a pin, by name, '*n' of them.  The caller frees the
 * array. */
static const struct encap_port **
sort_pins(const struct encap_registry *registry, size_t *n)
{
    const struct encap_port **pins
        = xmalloc((hmap_count(&registry->ports) + 1) * sizeof *pins);
    const struct encap_port *port;

    *n = 0;
    HMAP_FOR_EACH (port, node, &registry->ports) {
        if (ipv6_addr_is_set(&port->pin)) {
            pins[(*n)++] = port;
        }
    }
    qsort(pins, *n, sizeof *pins, compare_ports);
    return pins;
}

/* Text. */

/* Begins a line of a block. */
static void
put_label(const char *label, struct ds *ds)
{
    ds_put_format(ds, "  %-10s", label);
}

/* Appends 'name', and spaces up to 'width'. */
static void
put_padded(const char *name, size_t width, struct ds *ds)
{
    size_t end = ds->length + width;

    encap_text_put(name, ds);
    if (ds->length < end) {
        ds_put_char_multiple(ds, ' ', end - ds->length);
    }
}

static void
put_policy(const struct encap_registry *registry, struct ds *ds)
{
    ds_put_cstr(ds, "select    ");
    for (size_t i = 0; i < registry->n_order; i++) {
        ds_put_format(ds, "%s%s", i ? ", " : "",
                      encap_step_to_string(registry->order[i]));
    }
    ds_put_format(ds, "\nfailover  %s\nstrict-rx %s\n",
                  registry->failover ? "on" : "off",
                  registry->strict_rx ? "on" : "off");
}

static void
put_origins(unsigned int given, struct ds *ds)
{
    const char *separator = "";

    put_label("from", ds);
    for (size_t i = 0; i < ARRAY_SIZE(origins); i++) {
        if (given & origins[i].origin) {
            ds_put_format(ds, "%s%s", separator, origins[i].name);
            separator = ", ";
        }
    }
    ds_put_char(ds, '\n');
}

static void
put_device(const struct encap_endpoint *endpoint, struct ds *ds)
{
    if (!endpoint->dev[0]) {
        return;
    }
    put_label("device", ds);
    encap_text_put(endpoint->dev, ds);
    if (endpoint->any_nic) {
        ds_put_cstr(ds, ", on no bridge: reached through any NIC");
    } else if (endpoint->bridge && strcmp(endpoint->bridge, endpoint->dev)) {
        ds_put_cstr(ds, " of bridge ");
        encap_text_put(endpoint->bridge, ds);
    }
    if (endpoint->mtu) {
        ds_put_format(ds, ", MTU %d", endpoint->mtu);
    }
    ds_put_char(ds, '\n');
}

static void
put_uplinks(const struct encap_registry *registry,
            const struct encap_endpoint *endpoint, struct ds *ds)
{
    size_t width = 0;

    for (size_t i = 0; i < endpoint->n_uplinks; i++) {
        width = MAX(width, strlen(endpoint->uplinks[i].name));
    }
    for (size_t i = 0; i < endpoint->n_uplinks; i++) {
        const struct encap_uplink *uplink = &endpoint->uplinks[i];
        const char *eswitch = registry->eswitches[uplink->eswitch];

        put_label("uplink", ds);
        put_padded(uplink->name, width, ds);
        ds_put_cstr(ds, uplink->up ? " up" : " no link");
        if (eswitch) {
            ds_put_format(ds, ", eSwitch %s", eswitch);
        }
        if (uplink->numa_id >= 0) {
            ds_put_format(ds, ", NUMA node %d", uplink->numa_id);
        }
        ds_put_char(ds, '\n');
    }
}

/* The digits of 'number'. */
static int
width(uint64_t number)
{
    return snprintf(NULL, 0, "%"PRIu64, number);
}

static void
put_flows(const struct encap_flow_sum *sum, struct ds *ds)
{
    int packets_width, bytes_width;

    put_label("flows", ds);
    ds_put_format(ds, "%"PRIu64, sum->n_flows);
    if (sum->n_flows) {
        ds_put_format(ds, ", %"PRIu64" in hardware", sum->n_offloaded);
    }
    ds_put_char(ds, '\n');

    packets_width = width(MAX(sum->tx_packets, sum->rx_packets));
    bytes_width = width(MAX(sum->tx_bytes, sum->rx_bytes));
    put_label("sent", ds);
    ds_put_format(ds, "%*"PRIu64" packets %*"PRIu64" bytes\n",
                  packets_width, sum->tx_packets, bytes_width, sum->tx_bytes);
    put_label("received", ds);
    ds_put_format(ds, "%*"PRIu64" packets %*"PRIu64" bytes\n",
                  packets_width, sum->rx_packets, bytes_width, sum->rx_bytes);
}

static void
put_endpoint(const struct encap_registry *registry,
             const struct encap_flow_sums *sums,
             const struct encap_endpoint *endpoint, struct ds *ds)
{
    const struct encap_flow_sum sum = get_sum(sums, endpoint);

    ds_put_char(ds, '\n');
    ipv6_format_mapped(&endpoint->ip, ds);
    ds_put_format(ds, " %s", encap_state_to_string(endpoint->state));
    if (endpoint->state != ENCAP_UP) {
        struct ds reason = DS_EMPTY_INITIALIZER;

        ds_put_cstr(ds, ": ");
        encap_endpoint_format_reason(endpoint, &reason);
        encap_text_put(ds_cstr(&reason), ds);
        ds_destroy(&reason);
    }
    if (endpoint->is_default) {
        ds_put_cstr(ds, " (default)");
    }
    ds_put_char(ds, '\n');

    put_origins(endpoint->origins, ds);
    put_device(endpoint, ds);
    put_uplinks(registry, endpoint, ds);
    put_label("tunnels", ds);
    ds_put_format(ds, "%"PRIuSIZE"\n", endpoint->n_tunnels);
    put_flows(&sum, ds);
}

static void
put_pins(const struct encap_registry *registry, struct ds *ds)
{
    size_t n;
    const struct encap_port **pins = sort_pins(registry, &n);
    size_t width = 8;           /* As a label is. */

    if (n) {
        ds_put_cstr(ds, "\npins\n");
    }
    for (size_t i = 0; i < n; i++) {
        width = MAX(width, strlen(pins[i]->name));
    }
    for (size_t i = 0; i < n; i++) {
        ds_put_cstr(ds, "  ");
        put_padded(pins[i]->name, width, ds);
        ds_put_cstr(ds, "  ");
        ipv6_format_mapped(&pins[i]->pin, ds);
        if (!encap_registry_find(registry, &pins[i]->pin)) {
            ds_put_cstr(ds, " (no endpoint)");
        }
        ds_put_char(ds, '\n');
    }
    free(pins);
}

void
encap_show_format(const struct encap_registry *registry,
                  const struct encap_flow_sums *sums, struct ds *ds)
{
    put_policy(registry, ds);
    if (!registry->n_endpoints) {
        ds_put_cstr(ds, "\nno endpoint: routing alone decides\n");
    }
    for (size_t i = 0; i < registry->n_endpoints; i++) {
        put_endpoint(registry, sums, registry->endpoints[i], ds);
    }
    put_pins(registry, ds);
}

/* JSON. */

static struct json *
order_to_json(const struct encap_registry *registry)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < registry->n_order; i++) {
        const char *step = encap_step_to_string(registry->order[i]);

        json_array_add(array, json_string_create(step));
    }
    return array;
}

static struct json *
origins_to_json(unsigned int given)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < ARRAY_SIZE(origins); i++) {
        if (given & origins[i].origin) {
            json_array_add(array, json_string_create(origins[i].name));
        }
    }
    return array;
}

static struct json *
endpoint_to_json(const struct encap_registry *registry,
                 const struct encap_flow_sums *sums,
                 const struct encap_endpoint *endpoint)
{
    const struct encap_flow_sum sum = get_sum(sums, endpoint);
    struct json *json = json_object_create();
    struct ds reason = DS_EMPTY_INITIALIZER;

    encap_json_put_address(json, "ip", &endpoint->ip);
    encap_json_put_bool(json, "default", endpoint->is_default);
    json_object_put(json, "origins", origins_to_json(endpoint->origins));
    json_object_put_string(json, "state",
                           encap_state_to_string(endpoint->state));
    encap_endpoint_format_reason(endpoint, &reason);
    encap_json_put_string(json, "reason", ds_cstr(&reason));
    ds_destroy(&reason);

    encap_json_put_string(json, "device", endpoint->dev);
    encap_json_put_string(json, "bridge", endpoint->bridge);
    json_object_put(json, "uplinks",
                    encap_json_uplinks(registry, endpoint->uplinks,
                                       endpoint->n_uplinks));
    encap_json_put_string(json, "eswitch",
                          registry->eswitches[endpoint->eswitch]);
    encap_json_put_known(json, "numa", endpoint->numa_id, -1);
    encap_json_put_known(json, "mtu", endpoint->mtu, 0);

    encap_json_put_number(json, "tunnels", endpoint->n_tunnels);
    encap_json_put_number(json, "flows", sum.n_flows);
    encap_json_put_number(json, "offloaded-flows", sum.n_offloaded);
    encap_json_put_number(json, "tx-packets", sum.tx_packets);
    encap_json_put_number(json, "tx-bytes", sum.tx_bytes);
    encap_json_put_number(json, "rx-packets", sum.rx_packets);
    encap_json_put_number(json, "rx-bytes", sum.rx_bytes);
    return json;
}

static struct json *
pins_to_json(const struct encap_registry *registry)
{
    struct json *array = json_array_create_empty();
    size_t n;
    const struct encap_port **pins = sort_pins(registry, &n);

    for (size_t i = 0; i < n; i++) {
        struct json *json = json_object_create();

        json_object_put_string(json, "port", pins[i]->name);
        encap_json_put_address(json, "ip", &pins[i]->pin);
        encap_json_put_bool(json, "known",
                            encap_registry_find(registry, &pins[i]->pin));
        json_array_add(array, json);
    }
    free(pins);
    return array;
}

/* Of all bridges. */
static struct json *
uplinks_to_json(const struct encap_registry *registry)
{
    struct json *array = json_array_create_empty();
    size_t n;
    struct encap_uplink *uplinks = encap_bridge_uplinks(registry, NULL, &n);

    for (size_t i = 0; i < n; i++) {
        struct json *json = encap_json_uplink(registry, &uplinks[i]);

        json_object_put_string(
            json, "bridge",
            encap_registry_find_port(registry, uplinks[i].name)->bridge);
        json_array_add(array, json);
    }
    free(uplinks);
    return array;
}

struct json *
encap_show_to_json(const struct encap_registry *registry,
                   const struct encap_flow_sums *sums)
{
    struct json *endpoints = json_array_create_empty();
    struct json *json = json_object_create();

    for (size_t i = 0; i < registry->n_endpoints; i++) {
        json_array_add(endpoints, endpoint_to_json(registry, sums,
                                                   registry->endpoints[i]));
    }
    json_object_put(json, "order", order_to_json(registry));
    encap_json_put_bool(json, "failover", registry->failover);
    encap_json_put_bool(json, "strict-rx", registry->strict_rx);
    json_object_put(json, "endpoints", endpoints);
    json_object_put(json, "pins", pins_to_json(registry));
    json_object_put(json, "uplinks", uplinks_to_json(registry));
    return json;
}
