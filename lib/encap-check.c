/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-check.h"

#include <stdlib.h>
#include <string.h>

#include "encap-bridge.h"
#include "encap-check-private.h"
#include "encap-conflict.h"
#include "encap-monitor.h"
#include "encap-text.h"
#include "neighbor-request.h"
#include "netdev.h"
#include "netdev-offload.h"
#include "nic-offload.h"
#include "netdev-provider.h"
#include "openvswitch/dynamic-string.h"
#include "ovs-router.h"
#include "packets.h"
#include "route-db.h"
#include "smap.h"
#include "sset.h"
#include "util.h"

static const struct route_device_list *
get_devices(void)
{
    return ovsrcu_get(struct route_device_list *,
                      &ovs_router_db()->device_list);
}

/* The prefix length with which 'device' has 'ip', or -1. */
static int
find_address(const struct route_device *device, const struct in6_addr *ip)
{
    const struct route_addresses *addresses = route_device_addresses(device);

    for (size_t i = 0; i < addresses->n; i++) {
        if (ipv6_addr_equals(&addresses->addresses[i].address, ip)) {
            return addresses->addresses[i].plen;
        }
    }
    return -1;
}

int
encap_check_prefix_length(const char *dev, const struct in6_addr *ip)
{
    const struct route_device_list *list = get_devices();

    for (size_t i = 0; i < list->n; i++) {
        if (!strcmp(route_device_link(list->devices[i])->name, dev)) {
            return find_address(list->devices[i], ip);
        }
    }
    return -1;
}

struct netdev **
encap_check_tunnels(const struct encap_check *check, size_t *n)
{
    struct netdev **tunnels;
    size_t n_vports;

    tunnels = netdev_get_vports(&n_vports);
    *n = 0;
    for (size_t i = 0; i < n_vports; i++) {
        if (check->config && sset_contains(&check->config->tunnels,
                                           netdev_get_name(tunnels[i]))) {
            tunnels[(*n)++] = tunnels[i];
        } else {
            netdev_close(tunnels[i]);
        }
    }
    return tunnels;
}

/* The same in the count of the family of 'ip'. */
static int
own_plen(const struct in6_addr *ip, const char *dev)
{
    return (encap_check_prefix_length(dev, ip)
            - (encap_is_ipv6(ip) ? 0 : 96));
}

/* Another device that has the address of 'endpoint', or NULL. */
static const char *
find_other_device(const struct encap_endpoint *endpoint)
{
    const struct route_device_list *list = get_devices();

    for (size_t i = 0; i < list->n; i++) {
        const char *name = route_device_link(list->devices[i])->name;

        if (strcmp(name, endpoint->dev)
            && find_address(list->devices[i], &endpoint->ip) >= 0) {
            return name;
        }
    }
    return NULL;
}

/* What could not be made sense of.  (What else encap-problem.h knows is found
 * below, with its object and what mends it.) */
static void
check_configuration(const struct encap_check *check)
{
    const struct sset *problems = &check->config->problems;
    const char **array = sset_sort(problems);

    for (size_t i = 0; i < sset_count(problems); i++) {
        encap_findings_add(check->findings, ENCAP_WARNING, "configuration",
                           xstrdup(array[i]), NULL);
    }
    free(array);
}

static bool
is_open(const char *name)
{
    struct netdev *netdev = netdev_from_name(name);

    netdev_close(netdev);
    return netdev != NULL;
}

/* The command 'head', then 'name' as a word of the shell, then 'tail'. */
static char *
command(const char *head, const char *name, const char *tail)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_cstr(&s, head);
    encap_text_put_word(name, &s);
    ds_put_cstr(&s, tail);
    return ds_steal_cstr(&s);
}

/* The command that mends the state of 'endpoint', or NULL: no command plugs
 * in a cable. */
static char *
mend_state(const struct encap_endpoint *endpoint, const char *ip)
{
    switch (endpoint->state) {
    case ENCAP_ABSENT:
        return xasprintf("ip addr add %s/PREFIX dev BRIDGE", ip);
    case ENCAP_DEVICE_DOWN:
        return (endpoint->bridge && !is_open(endpoint->dev) ? NULL
                : command("ip link set ", endpoint->dev, " up"));
    case ENCAP_UP:
    case ENCAP_TENTATIVE:
    case ENCAP_LINK_DOWN:
        return NULL;
    }
    OVS_NOT_REACHED();
}

static void
check_state(const struct encap_check *check,
            const struct encap_endpoint *endpoint, const char *ip)
{
    if (endpoint->state != ENCAP_UP) {
        struct ds s = DS_EMPTY_INITIALIZER;

        ds_put_cstr(&s, "down: ");
        encap_endpoint_format_reason(endpoint, &s);
        if (endpoint->bridge && !is_open(endpoint->dev)) {
            ds_put_format(&s, ", bridge %s could not open it",
                          endpoint->bridge);
        }
        encap_findings_add(check->findings,
                           (endpoint->state == ENCAP_TENTATIVE
                            ? ENCAP_WARNING : ENCAP_ERROR),
                           ip, ds_steal_cstr(&s), mend_state(endpoint, ip));
    }
}

static void
check_conflict(const struct encap_check *check,
               const struct encap_endpoint *endpoint, const char *ip)
{
    struct encap_conflict conflict;

    if (endpoint->state != ENCAP_ABSENT
        && encap_conflict_get(&endpoint->ip, &conflict)) {
        encap_findings_add(check->findings, ENCAP_ERROR, ip,
                           xasprintf("another host, "ETH_ADDR_FMT", claims "
                                     "this address on %s",
                                     ETH_ADDR_ARGS(conflict.mac),
                                     conflict.bridge), NULL);
    }
}

/* True if something of the family of 'ip' is configured. */
static bool
has_configured(const struct encap_registry *registry,
               const struct in6_addr *ip)
{
    for (size_t i = 0; i < registry->n_endpoints; i++) {
        const struct encap_endpoint *endpoint = registry->endpoints[i];

        if (encap_endpoint_is_configured(endpoint)
            && encap_is_ipv6(&endpoint->ip) == encap_is_ipv6(ip)) {
            return true;
        }
    }
    return false;
}

static void
check_origin(const struct encap_check *check,
             const struct encap_endpoint *endpoint, const char *ip)
{
    if (!encap_endpoint_is_configured(endpoint)
        && has_configured(check->registry, &endpoint->ip)) {
        encap_findings_add(check->findings, ENCAP_WARNING, ip,
                           xasprintf("local_ip of %"PRIuSIZE" tunnel%s, but "
                                     "not one of the configured endpoints",
                                     endpoint->n_tunnels,
                                     endpoint->n_tunnels == 1 ? "" : "s"),
                           NULL);
    }
}

/* An address of two devices.  One that is reached by any NIC, and two that
 * share one, are meant so sometimes. */
static void
check_place(const struct encap_check *check, size_t i, const char *ip)
{
    const struct encap_registry *registry = check->registry;
    const struct encap_endpoint *endpoint = registry->endpoints[i];
    const char *other_dev = find_other_device(endpoint);
    char buf[INET6_ADDRSTRLEN];

    if (other_dev) {
        char *head = xasprintf("ip addr del %s/%d dev ", ip,
                               own_plen(&endpoint->ip, other_dev));

        encap_findings_add(check->findings, ENCAP_WARNING, ip,
                           xasprintf("an address of two devices, %s and %s",
                                     endpoint->dev, other_dev),
                           command(head, other_dev, ""));
        free(head);
    }
    for (size_t j = 0; j < endpoint->n_uplinks; j++) {
        if (!strcmp(endpoint->uplinks[j].name, endpoint->dev)) {
            encap_findings_add(check->findings, ENCAP_ERROR, ip,
                               xasprintf("on NIC %s itself, a port of bridge "
                                         "%s, where the host's packets do not "
                                         "pass: it belongs on %s",
                                         endpoint->dev, endpoint->bridge,
                                         endpoint->bridge), NULL);
        }
    }
    if (endpoint->any_nic) {
        encap_findings_add(check->findings, ENCAP_INFO, ip,
                           xasprintf("on no bridge but on device %s: packets "
                                     "use any NIC that routing names",
                                     endpoint->dev), NULL);
    }
    for (size_t j = 0; j < i && endpoint->bridge; j++) {
        const struct encap_endpoint *other = registry->endpoints[j];

        if (other->bridge && !strcmp(other->bridge, endpoint->bridge)
            && encap_is_ipv6(&other->ip) == encap_is_ipv6(&endpoint->ip)) {
            encap_findings_add(check->findings, ENCAP_INFO, ip,
                               xasprintf("shares the NICs of bridge %s with "
                                         "%s", endpoint->bridge,
                                         ipv6_string_mapped(buf, &other->ip)),
                               NULL);
            break;
        }
    }
}

/* Without an interrupt, netdev-dpdk asks a port for its link every five
 * seconds.  (Ports that are not on a PCI bus have none to offer.) */
static bool
polls_link(const char *name)
{
    struct smap config = SMAP_INITIALIZER(&config);
    struct smap status = SMAP_INITIALIZER(&status);
    struct netdev *netdev = netdev_from_name(name);
    bool polls = false;

    if (netdev && !strcmp(netdev_get_type(netdev), "dpdk")
        && !netdev_get_config(netdev, &config)
        && !netdev_get_status(netdev, &status)) {
        polls = (!smap_get_bool(&config, "lsc_interrupt_mode", false)
                 && strstr(smap_get_def(&status, "bus_info", ""),
                           "bus_name=pci"));
    }
    netdev_close(netdev);
    smap_destroy(&config);
    smap_destroy(&status);
    return polls;
}

static void
check_pins(const struct encap_check *check)
{
    const struct encap_config *config = check->config;

    for (size_t i = 0; i < config->n_bridges; i++) {
        const struct encap_config_bridge *bridge = &config->bridges[i];

        for (size_t j = 0; j < bridge->n_ports; j++) {
            const struct encap_config_port *port = &bridge->ports[j];
            char ip[INET6_ADDRSTRLEN];

            if (!ipv6_addr_is_set(&port->pin)) {
                continue;
            }
            ipv6_string_mapped(ip, &port->pin);
            if (!encap_registry_find(check->registry, &port->pin)) {
                encap_findings_add(
                    check->findings, ENCAP_WARNING, port->name,
                    xasprintf("pinned to %s, which is no endpoint", ip),
                    command("ovs-vsctl set Interface ", port->name,
                            " external_ids:encap-ip=ENDPOINT"));
            } else if (encap_config_lacks_tunnels(config, &port->pin)) {
                encap_findings_add(
                    check->findings, ENCAP_WARNING, port->name,
                    xasprintf("pinned to %s, but all tunnels are of the other "
                              "family", ip), NULL);
            }
        }
    }
}

/* Also of bridges without an endpoint: those on loopback may use them. */
static void
check_uplinks(const struct encap_check *check)
{
    size_t n;
    struct encap_uplink *uplinks = encap_bridge_uplinks(check->registry, NULL,
                                                        &n);

    for (size_t i = 0; i < n && check->registry->n_endpoints; i++) {
        const char *name = uplinks[i].name;

        if (polls_link(name)) {
            encap_findings_add(check->findings, ENCAP_INFO, name,
                               xstrdup("its link is asked for every 5 s: "
                                       "packets may go to a dead link so "
                                       "long"),
                               command("ovs-vsctl set Interface ", name,
                                       " options:dpdk-lsc-interrupt=true "
                                       "# if the NIC can: one that refuses "
                                       "is taken off its bridge"));
        }
    }
    free(uplinks);
}

static void
check_endpoints(const struct encap_check *check)
{
    for (size_t i = 0; i < check->registry->n_endpoints; i++) {
        const struct encap_endpoint *endpoint = check->registry->endpoints[i];
        char ip[INET6_ADDRSTRLEN];

        ipv6_string_mapped(ip, &endpoint->ip);
        check_state(check, endpoint, ip);
        check_conflict(check, endpoint, ip);
        check_origin(check, endpoint, ip);
        check_place(check, i, ip);
    }
}

static void
check_offload(const struct encap_check *check)
{
    if (!check->registry->n_endpoints) {
        return;
    }
    if (!netdev_is_flow_api_enabled()) {
        encap_findings_add(check->findings, ENCAP_INFO, "hw-offload",
                           xstrdup("off: the CPU encapsulates all packets"),
                           xstrdup("ovs-vsctl set Open_vSwitch . "
                                   "other_config:hw-offload=true"));
    } else if (!nic_offload_is_enabled()) {
        encap_findings_add(check->findings, ENCAP_INFO, "encap-offload",
                           xstrdup("off: the CPU encapsulates all packets"),
                           xstrdup("ovs-vsctl remove Open_vSwitch . "
                                   "other_config encap-offload"));
    }
}

void
encap_check(struct encap_findings *findings)
{
    size_t n_silences;
    struct neighbor_silence *silences = neighbor_silences(&n_silences);
    const struct encap_check check = {
        .registry = encap_registry_get(),
        .config = encap_monitor_config(),
        .silences = silences,
        .n_silences = n_silences,
        .findings = findings,
    };

    check_configuration(&check);
    check_endpoints(&check);
    check_uplinks(&check);
    check_pins(&check);
    encap_check_routes(&check);
    encap_check_neighbors(&check);
    encap_check_foreign(&check);
    encap_check_mtu(&check);
    encap_check_sysctls(&check, ENCAP_CHECK_SYSCTL_DIR);
    check_offload(&check);
    encap_findings_sort(findings);
    free(silences);
}
