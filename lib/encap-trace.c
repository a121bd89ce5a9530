/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "encap-bridge.h"
#include "encap-endpoint.h"
#include "encap-json.h"
#include "encap-monitor.h"
#include "encap-packet.h"
#include "encap-select.h"
#include "encap-text.h"
#include "neighbor-peek.h"
#include "netdev.h"
#include "netdev-offload.h"
#include "nic-forecast.h"
#include "nic-rule.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/geneve.h"
#include "openvswitch/json.h"
#include "packets.h"
#include "route-argument.h"
#include "route-json.h"
#include "route-lookup.h"
#include "tunnel-egress.h"
#include "util.h"

/* Where answers go. */
struct answer {
    struct ds *text;
    struct json *json;
};

/* Appends a line, which it stays whatever names are in it. */
static void OVS_PRINTF_FORMAT(3, 4)
put_line(struct ds *text, const char *label, const char *format, ...)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    va_list args;

    va_start(args, format);
    ds_put_format_valist(&s, format, args);
    va_end(args);
    ds_put_format(text, "%-10s", label);
    encap_text_put(ds_cstr(&s), text);
    ds_put_char(text, '\n');
    ds_destroy(&s);
}

/* The steps, in the order of a packet. */

static void
explain_ingress(const struct encap_packet *packet, struct answer *answer)
{
    const struct encap_port *port = packet->ingress;
    struct ds s = DS_EMPTY_INITIALIZER;
    const char *eswitch;
    struct json *json;

    if (!packet->sender.ingress) {
        return;
    }

    eswitch = port ? packet->registry->eswitches[port->eswitch] : NULL;
    ds_put_cstr(&s, packet->sender.ingress);
    if (port) {
        ds_put_format(&s, " of bridge %s", port->bridge);
    }
    if (port && ipv6_addr_is_set(&port->pin)) {
        ds_put_cstr(&s, ", pin ");
        ipv6_format_mapped(&port->pin, &s);
    } else {
        ds_put_cstr(&s, ", no pin");
    }
    ds_put_format(&s, ", eSwitch %s", eswitch ? eswitch : "not known");
    put_line(answer->text, "in_port", "%s", ds_cstr(&s));
    ds_destroy(&s);

    json = json_object_create();
    json_object_put_string(json, "name", packet->sender.ingress);
    encap_json_put_string(json, "bridge", port ? port->bridge : NULL);
    encap_json_put_address(json, "pin", port ? &port->pin : &in6addr_any);
    encap_json_put_string(json, "eswitch", eswitch);
    json_object_put(answer->json, "in-port", json);
}

/* "flow", an address, or NULL. */
static const char *
option_address(bool by_flow, const struct in6_addr *ip,
               char buf[INET6_ADDRSTRLEN])
{
    return (by_flow ? "flow"
            : ipv6_addr_is_set(ip) ? ipv6_string_mapped(buf, ip) : NULL);
}

static void
explain_tunnel(const struct encap_packet *packet, struct answer *answer)
{
    const struct netdev_tunnel_config *config = packet->config;
    char src_buf[INET6_ADDRSTRLEN], dst_buf[INET6_ADDRSTRLEN];
    struct ds s = DS_EMPTY_INITIALIZER;
    const char *src, *dst;
    struct json *json;

    if (!config) {
        return;
    }

    src = option_address(config->ip_src_flow, &config->ipv6_src, src_buf);
    dst = option_address(config->ip_dst_flow, &config->ipv6_dst, dst_buf);
    ds_put_format(&s, "%s (%s), ", netdev_get_name(packet->tunnel),
                  netdev_get_type(packet->tunnel));
    if (src) {
        ds_put_format(&s, "local_ip=%s, ", src);
    }
    ds_put_format(&s, "remote_ip=%s", dst);
    if (config->tos_inherit) {
        ds_put_cstr(&s, ", tos=inherit");
    } else if (config->tos) {
        ds_put_format(&s, ", tos=%d", config->tos);
    }
    if (config->set_egress_pkt_mark) {
        ds_put_format(&s, ", egress_pkt_mark=%"PRIu32,
                      config->egress_pkt_mark);
    }
    put_line(answer->text, "tunnel", "%s", ds_cstr(&s));
    ds_destroy(&s);

    json = json_object_create();
    json_object_put_string(json, "name", netdev_get_name(packet->tunnel));
    json_object_put_string(json, "type", netdev_get_type(packet->tunnel));
    encap_json_put_string(json, "local-ip", src);
    encap_json_put_string(json, "remote-ip", dst);
    json_object_put(answer->json, "tunnel", json);
}

static void
explain_packet(const struct tunnel_decision *decision, struct answer *answer)
{
    const struct route_query *route = &decision->route;
    const struct in6_addr *src
        = (ipv6_addr_is_set(&decision->encap.tunnel_src)
           ? &decision->encap.tunnel_src : &decision->encap.flow_src);
    struct json *json = json_object_create();
    struct ds s = DS_EMPTY_INITIALIZER;

    if (ipv6_addr_is_set(src)) {
        ds_put_cstr(&s, "from ");
        ipv6_format_mapped(src, &s);
        ds_put_char(&s, ' ');
    }
    ds_put_cstr(&s, "to ");
    ipv6_format_mapped(&route->dst, &s);
    if (route->dport) {
        ds_put_format(&s, ", UDP port %"PRIu16, ntohs(route->dport));
    }
    if (route->tos) {
        ds_put_format(&s, ", tos %"PRIu8, route->tos);
    }
    if (route->mark) {
        ds_put_format(&s, ", mark %"PRIu32, route->mark);
    }
    put_line(answer->text, "packet", "%s", ds_cstr(&s));
    ds_destroy(&s);

    encap_json_put_address(json, "src", src);
    encap_json_put_address(json, "dst", &route->dst);
    encap_json_put_known(json, "dport", ntohs(route->dport), 0);
    encap_json_put_number(json, "tos", route->tos);
    encap_json_put_number(json, "mark", route->mark);
    json_object_put(answer->json, "packet", json);
}

/* Not for a packet whose destination no tunnel has: nothing was chosen. */
static void
explain_choice(const struct tunnel_decision *decision, struct answer *answer)
{
    const struct encap_choice *choice = &decision->choice;
    struct ds s = DS_EMPTY_INITIALIZER;
    struct json *json;

    if (!tunnel_egress_is_unicast(&decision->route.dst)) {
        return;
    }

    encap_choice_format(decision->registry, &decision->encap, choice, &s);
    put_line(answer->text, "choice", "%s", ds_cstr(&s));

    json = json_object_create();
    json_object_put_string(json, "text", ds_cstr(&s));
    json_object_put_string(json, "by", encap_step_to_string(choice->step));
    encap_json_put_address(json, "ip", &choice->src);
    encap_json_put_bool(json, "failover", choice->failover);
    json_object_put(answer->json, "choice", json);
    ds_destroy(&s);
}

static void
explain_rules(const struct route_trail *trail, struct answer *answer)
{
    struct json *array = json_array_create_empty();
    struct ds s = DS_EMPTY_INITIALIZER;
    char *line, *save_ptr = NULL;

    route_trail_format(trail, &s);
    for (line = strtok_r(ds_cstr(&s), "\n", &save_ptr); line;
         line = strtok_r(NULL, "\n", &save_ptr)) {
        const char *what = line + strspn(line, " ");

        json_array_add(array, json_string_create(what));
        if (!strncmp(what, "rule ", 5)) {
            what += 5;
        }
        put_line(answer->text, "rule", "%s", what);
    }
    ds_destroy(&s);
    json_object_put(answer->json, "rules", array);
}

static void
explain_route(const struct tunnel_decision *decision, struct answer *answer)
{
    const struct route_result *result = &decision->result;
    struct ds s = DS_EMPTY_INITIALIZER;

    if (ipv6_addr_is_set(&result->gateway)) {
        ds_put_cstr(&s, "next hop ");
        ipv6_format_mapped(&result->gateway, &s);
    } else {
        ds_put_cstr(&s, "on-link");
    }
    ds_put_cstr(&s, ", source ");
    ipv6_format_mapped(&result->src, &s);
    ds_put_format(&s, ", device %s", result->dev);
    if (decision->hashed) {
        ds_put_cstr(&s, " (one of several: the inner headers decide)");
    }
    put_line(answer->text, "route", "%s", ds_cstr(&s));
    ds_destroy(&s);
    json_object_put(answer->json, "route", route_result_to_json(result));
}

/* True if packets go to this host itself, as far as routing tells: another
 * answers for its address only if somebody has said so. */
static bool
is_own_address(const struct tunnel_decision *decision)
{
    return decision->result.route->type == ROUTE_LOCAL;
}

/* Returns true if the neighbor is known. */
static bool
explain_neighbor(const struct tunnel_decision *decision, const char *bridge,
                 const struct in6_addr *next_hop, struct answer *answer)
{
    const char *dev = decision->result.dev;
    struct json *json = json_object_create();
    struct in6_addr from = in6addr_any;
    struct ds s = DS_EMPTY_INITIALIZER;
    struct eth_addr mac;
    bool known = neighbor_peek(bridge, next_hop, &mac);

    ipv6_format_mapped(next_hop, &s);
    if (known) {
        ds_put_format(&s, " is "ETH_ADDR_FMT, ETH_ADDR_ARGS(mac));
        json_object_put_format(json, "mac", ETH_ADDR_FMT, ETH_ADDR_ARGS(mac));
    } else {
        from = tunnel_egress_neighbor_source(dev, next_hop,
                                             &decision->result.src);
        ds_put_format(&s, " is %s: %s request goes out with the first packet, "
                      "from ", (is_own_address(decision)
                                ? "an address of this host" : "not known yet"),
                      IN6_IS_ADDR_V4MAPPED(next_hop) ? "an ARP" : "an ND");
        ipv6_format_mapped(&from, &s);
        json_object_put(json, "mac", json_null_create());
    }
    put_line(answer->text, "neighbor", "%s", ds_cstr(&s));
    ds_destroy(&s);

    encap_json_put_address(json, "ip", next_hop);
    json_object_put_string(json, "bridge", bridge);
    encap_json_put_address(json, "request-source", &from);
    json_object_put(answer->json, "neighbor", json);
    return known;
}

/* How a packet leaves. */
struct egress {
    const char *bridge;
    struct encap_uplink *uplinks; /* Of 'bridge'. */
    size_t n_uplinks;
    bool ipv6;
    bool ovn;                   /* OVN names the endpoint that sends. */
};

static void
explain_uplinks(const struct encap_registry *registry,
                const struct egress *egress, struct answer *answer)
{
    json_object_put(answer->json, "uplinks",
                    encap_json_uplinks(registry, egress->uplinks,
                                       egress->n_uplinks));
    if (!egress->n_uplinks) {
        put_line(answer->text, "uplink", "none of bridge %s is known",
                 egress->bridge);
        return;
    }
    for (size_t i = 0; i < egress->n_uplinks; i++) {
        const struct encap_uplink *uplink = &egress->uplinks[i];
        const char *eswitch = registry->eswitches[uplink->eswitch];

        put_line(answer->text, "uplink", "%s of bridge %s, %s, eSwitch %s",
                 uplink->name, egress->bridge, uplink->up ? "up" : "no link",
                 eswitch ? eswitch : "not known");
    }
}

/* One option of 4 bytes (ovn-architecture(7)). */
enum { OVN_OPTION_LEN = 8 };

/* Bytes that the tunnel adds to an inner IP packet, without options. */
static size_t
headers_len(const struct egress *egress)
{
    BUILD_ASSERT_DECL(sizeof(struct genevehdr) == sizeof(struct vxlanhdr));

    return (ETH_HEADER_LEN + UDP_HEADER_LEN + sizeof(struct genevehdr)
            + (egress->ipv6 ? IPV6_HEADER_LEN : IP_HEADER_LEN));
}

/* True if the NIC knows the type of the tunnel, or that is not given. */
static bool
is_offloadable_tunnel(const struct encap_packet *packet, struct ds *reason)
{
    const char *type = packet->tunnel ? netdev_get_type(packet->tunnel)
                       : "geneve";

    if (strcmp(type, "geneve")
        && (strcmp(type, "vxlan") || packet->config->exts)) {
        ds_put_format(reason, "%s: tunnels of type %s%s",
                      nic_refusal_to_string(NIC_UNSUPPORTED_ACTION), type,
                      strcmp(type, "vxlan") ? "" : " with extensions");
        return false;
    }
    return true;
}

static bool
has_eswitch(const char *name, unsigned int eswitch, struct ds *reason)
{
    if (!eswitch) {
        ds_put_format(reason, "%s: the eSwitch of %s is not known",
                      nic_refusal_to_string(NIC_NO_REPRESENTOR), name);
    }
    return eswitch != 0;
}

/* What can be said of 'packet', which leaves by 'uplink'. */
static bool
is_offloadable_to(const struct encap_packet *packet,
                  const struct encap_uplink *uplink, size_t header_len,
                  struct ds *reason)
{
    const struct encap_registry *registry = packet->registry;
    const struct encap_port *ingress = packet->ingress;

    if (!has_eswitch(uplink->name, uplink->eswitch, reason)) {
        return false;
    }
    if (uplink->eswitch != ingress->eswitch) {
        ds_put_format(reason, "cross-nic: %s is on eSwitch %s, %s on %s",
                      ingress->name, registry->eswitches[ingress->eswitch],
                      uplink->name, registry->eswitches[uplink->eswitch]);
        return false;
    }
    return nic_forecast_encap(ingress->name, uplink->name, header_len, reason);
}

/* True if 'packet', which leaves by the uplinks of 'egress', can be
 * encapsulated in hardware.  'reason' gets why not; or, if it can, why not
 * with OVN's option, which not all of OVN's packets have. */
static bool
is_offloadable(const struct encap_packet *packet, const struct egress *egress,
               struct ds *reason)
{
    if (!netdev_is_flow_api_enabled()) {
        ds_put_cstr(reason, "hw-offload is off");
        return false;
    }
    if (!packet->sender.ingress) {
        ds_put_cstr(reason, "no in_port on an eSwitch is given");
        return false;
    }
    if (!packet->ingress) {
        ds_put_format(reason, "%s: %s is a tunnel",
                      nic_refusal_to_string(NIC_TUNNEL_TO_TUNNEL),
                      packet->sender.ingress);
        return false;
    }
    if (!is_offloadable_tunnel(packet, reason)
        || !has_eswitch(packet->ingress->name, packet->ingress->eswitch,
                        reason)) {
        return false;
    }
    if (!egress->n_uplinks) {
        ds_put_cstr(reason, "no uplink is known");
        return false;
    }
    for (size_t i = 0; i < egress->n_uplinks; i++) {
        if (!is_offloadable_to(packet, &egress->uplinks[i],
                               headers_len(egress), reason)) {
            return false;
        }
    }
    for (size_t i = 0; (egress->ovn && !reason->length
                        && i < egress->n_uplinks); i++) {
        is_offloadable_to(packet, &egress->uplinks[i],
                          headers_len(egress) + OVN_OPTION_LEN, reason);
    }
    return true;
}

static void
explain_offload(const struct encap_packet *packet, const struct egress *egress,
                struct answer *answer)
{
    struct ds reason = DS_EMPTY_INITIALIZER;
    bool ok = is_offloadable(packet, egress, &reason);

    put_line(answer->text, "offload", "%s%s",
             !ok ? "no: " : reason.length ? "yes, but not with OVN's option: "
             : "yes", ds_cstr(&reason));
    encap_json_put_bool(answer->json, "offloadable", ok);
    encap_json_put_string(answer->json, "offload-reason", ds_cstr(&reason));
    ds_destroy(&reason);
}

/* The end. */

static void
end(bool dropped, const char *what, struct answer *answer)
{
    ds_put_format(answer->text, "packets %s ",
                  dropped ? "are dropped:" : "leave by");
    encap_text_put(what, answer->text);
    ds_put_char(answer->text, '\n');
    encap_json_put_bool(answer->json, "dropped", dropped);
    json_object_put_string(answer->json, dropped ? "reason" : "by", what);
}

static void
end_leaving(const struct egress *egress, const char *bridge,
            const struct in6_addr *next_hop, bool known, bool own,
            struct answer *answer)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < egress->n_uplinks; i++) {
        if (egress->uplinks[i].up) {
            ds_put_format(&s, "%s%s", s.length ? " or " : "",
                          egress->uplinks[i].name);
        }
    }
    if (!s.length && egress->n_uplinks) {
        ds_put_format(&s, "no uplink of %s has a link", bridge);
        end(true, ds_cstr(&s), answer);
        ds_destroy(&s);
        return;
    }
    ds_put_format(&s, s.length ? " of %s" : "bridge %s", bridge);
    if (!known) {
        ds_put_cstr(&s, own ? " if another host answers for " : " once ");
        ipv6_format_mapped(next_hop, &s);
        ds_put_cstr(&s, own ? ", an address of this host" : " has answered");
    }
    end(false, ds_cstr(&s), answer);
    ds_destroy(&s);
}

static struct egress
find_egress(const struct encap_packet *packet,
            const struct tunnel_decision *decision, const char *bridge)
{
    const struct encap_endpoint *sender
        = encap_registry_find(packet->registry, &decision->result.src);
    struct egress egress = {
        .bridge = bridge,
        .ipv6 = encap_is_ipv6(&decision->route.dst),
        .ovn = sender && sender->origins & ENCAP_ORIGIN_OVN,
    };

    egress.uplinks = encap_bridge_uplinks(packet->registry, bridge,
                                          &egress.n_uplinks);
    return egress;
}

static void
explain(const struct encap_packet *packet, struct answer *answer)
{
    struct egress egress;
    struct ds s = DS_EMPTY_INITIALIZER;
    struct tunnel_decision decision;
    struct route_trail trail = { .n_steps = 0 };
    struct in6_addr next_hop;
    const char *bridge;
    bool known;
    int error;

    error = tunnel_egress_decide(&packet->flow, &packet->sender, &decision,
                                 &trail);
    explain_ingress(packet, answer);
    explain_tunnel(packet, answer);
    explain_packet(&decision, answer);
    explain_choice(&decision, answer);
    explain_rules(&trail, answer);
    if (error) {
        tunnel_decision_format_refusal(&decision, &s);
        end(true, ds_cstr(&s), answer);
        ds_destroy(&s);
        return;
    }

    explain_route(&decision, answer);
    bridge = encap_bridge_of_port(encap_monitor_config(), decision.result.dev);
    if (!bridge) {
        if (is_own_address(&decision)) {
            ipv6_format_mapped(&decision.route.dst, &s);
            ds_put_cstr(&s, " is an address of this host, ");
        }
        ds_put_format(&s, "device %s is not a port of any bridge",
                      decision.result.dev);
        end(true, ds_cstr(&s), answer);
        ds_destroy(&s);
        return;
    }

    next_hop = (ipv6_addr_is_set(&decision.result.gateway)
                ? decision.result.gateway : decision.route.dst);
    egress = find_egress(packet, &decision, bridge);
    known = explain_neighbor(&decision, bridge, &next_hop, answer);
    explain_uplinks(packet->registry, &egress, answer);
    explain_offload(packet, &egress, answer);
    end_leaving(&egress, bridge, &next_hop, known, is_own_address(&decision),
                answer);
    free(egress.uplinks);
}

/* All members: steps that a packet does not come to are null. */
static struct json *
empty_answer(void)
{
    static const char *names[] = {
        "in-port", "tunnel", "packet", "choice", "rules", "route", "neighbor",
        "uplinks", "offloadable", "offload-reason", "dropped", "reason", "by",
    };
    struct json *json = json_object_create();

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        json_object_put(json, names[i], json_null_create());
    }
    return json;
}

char *
encap_trace(const struct route_arguments *args, struct ds *text,
            struct json **json)
{
    struct encap_packet packet;
    struct answer answer = { .text = text };
    char *error = encap_packet_init(&packet, args);

    if (!error) {
        answer.json = empty_answer();
        explain(&packet, &answer);
        if (json) {
            *json = answer.json;
        } else {
            json_destroy(answer.json);
        }
    }
    encap_packet_uninit(&packet);
    return error;
}
