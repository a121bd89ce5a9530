/* SPDX-License-Identifier: Apache-2.0 */

/* How the kernel treats ARP and packets to endpoints
 * ==================================================
 *
 * The kernel owns the devices that have the endpoints' addresses, and answers
 * ARP there.  What the sysctls mean, and that of "all" and the device the
 * greater counts, is from Linux, Documentation/networking/ip-sysctl.rst. */

#include <config.h>

#include "encap-check-private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encap-text.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "route.h"
#include "util.h"

/* Reads one file.  Returns a negative number if it cannot be. */
static int
read_number(const char *conf_dir, const char *dev, const char *name)
{
    char *file_name = xasprintf("%s/%s/%s", conf_dir, dev, name);
    FILE *stream = fopen(file_name, "r");
    int number;

    if (!stream || fscanf(stream, "%d", &number) != 1) {
        number = -1;
    }
    if (stream) {
        fclose(stream);
    }
    free(file_name);
    return number;
}

/* The value that counts for 'dev', negative if the kernel does not have the
 * device. */
static int
read_sysctl(const char *conf_dir, const char *dev, const char *name)
{
    int own = read_number(conf_dir, dev, name);

    return own < 0 ? own : MAX(own, read_number(conf_dir, "all", name));
}

static void
warn(const struct encap_check *check, const char *dev, const char *name,
     int wanted, char *problem)
{
    /* After a first '.', sysctl(8) takes '/' for a '.' of the name. */
    char *path = xstrdup(dev);
    struct ds s = DS_EMPTY_INITIALIZER;

    for (char *dot = path; (dot = strchr(dot, '.')); ) {
        *dot = '/';
    }
    ds_put_cstr(&s, "sysctl -w net.ipv4.conf.");
    encap_text_put_word(path, &s);
    ds_put_format(&s, ".%s=%d", name, wanted);
    free(path);
    encap_findings_add(check->findings, ENCAP_WARNING, dev, problem,
                       ds_steal_cstr(&s));
}

/* An IPv4 endpoint on another device than 'endpoint', but in its subnet, or
 * NULL. */
static const struct encap_endpoint *
subnet_neighbor(const struct encap_registry *registry,
                const struct encap_endpoint *endpoint)
{
    int plen = encap_check_prefix_length(endpoint->dev, &endpoint->ip);

    for (size_t i = 0; i < registry->n_endpoints && plen >= 0; i++) {
        const struct encap_endpoint *other = registry->endpoints[i];
        struct in6_addr subnet = route_prefix_mask(&endpoint->ip, plen);

        if (!encap_is_ipv6(&other->ip)
            && other->dev[0]
            && strcmp(other->dev, endpoint->dev)
            && route_prefix_contains(&subnet, plen, &other->ip)) {
            return other;
        }
    }
    return NULL;
}

static void
check_arp(const struct encap_check *check, const char *conf_dir,
          const struct encap_endpoint *endpoint)
{
    const struct encap_endpoint *other
        = subnet_neighbor(check->registry, endpoint);
    char ip[INET6_ADDRSTRLEN];

    if (!other) {
        return;
    }
    ipv6_string_mapped(ip, &other->ip);
    if (read_sysctl(conf_dir, endpoint->dev, "arp_ignore") == 0) {
        warn(check, endpoint->dev, "arp_ignore", 1,
             xasprintf("arp_ignore is 0: the kernel answers ARP for %s of %s "
                       "here, too", ip, other->dev));
    }

    int announce = read_sysctl(conf_dir, endpoint->dev, "arp_announce");
    if (announce >= 0 && announce < 2) {
        warn(check, endpoint->dev, "arp_announce", 2,
             xasprintf("arp_announce is %d: the kernel may ask by ARP in the "
                       "name of %s of %s here", announce, ip, other->dev));
    }
}

static void
check_rp_filter(const struct encap_check *check, const char *conf_dir,
                const struct encap_endpoint *endpoint)
{
    if (read_sysctl(conf_dir, endpoint->dev, "rp_filter") == 1) {
        warn(check, endpoint->dev, "rp_filter", 2,
             xstrdup("rp_filter is 1: the kernel drops what comes in here, "
                     "ARP too, from addresses that it reaches by another "
                     "device"));
    }
}

/* True if an endpoint before number 'i' is on the same device. */
static bool
is_seen(const struct encap_registry *registry, size_t i)
{
    for (size_t j = 0; j < i; j++) {
        if (!encap_is_ipv6(&registry->endpoints[j]->ip)
            && !strcmp(registry->endpoints[j]->dev,
                       registry->endpoints[i]->dev)) {
            return true;
        }
    }
    return false;
}

/* True if IPv4 endpoints are on more than one device. */
static bool
has_several_devices(const struct encap_registry *registry)
{
    const struct encap_endpoint *first = NULL;

    for (size_t i = 0; i < registry->n_endpoints; i++) {
        const struct encap_endpoint *endpoint = registry->endpoints[i];

        if (encap_is_ipv6(&endpoint->ip) || !endpoint->dev[0]) {
            continue;
        }
        if (first && strcmp(first->dev, endpoint->dev)) {
            return true;
        }
        first = endpoint;
    }
    return false;
}

void
encap_check_sysctls(const struct encap_check *check, const char *conf_dir)
{
    const struct encap_registry *registry = check->registry;

    if (!has_several_devices(registry)) {
        return;
    }
    for (size_t i = 0; i < registry->n_endpoints; i++) {
        const struct encap_endpoint *endpoint = registry->endpoints[i];

        if (!encap_is_ipv6(&endpoint->ip) && endpoint->dev[0]
            && !endpoint->any_nic && !is_seen(registry, i)) {
            check_arp(check, conf_dir, endpoint);
            check_rp_filter(check, conf_dir, endpoint);
        }
    }
}
