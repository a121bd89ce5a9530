/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-json.h"

#include <stdlib.h>

#include "encap-text.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "packets.h"
#include "util.h"

void
encap_json_put_address(struct json *object, const char *name,
                       const struct in6_addr *ip)
{
    char buf[INET6_ADDRSTRLEN];

    encap_json_put_string(object, name, ipv6_addr_is_set(ip)
                          ? ipv6_string_mapped(buf, ip) : NULL);
}

void
encap_json_put_string(struct json *object, const char *name, const char *s)
{
    json_object_put(object, name, (s && s[0]
                                   ? json_string_create(s)
                                   : json_null_create()));
}

void
encap_json_put_known(struct json *object, const char *name,
                     long long int number, long long int unknown)
{
    json_object_put(object, name, (number != unknown
                                   ? json_integer_create(number)
                                   : json_null_create()));
}

void
encap_json_put_number(struct json *object, const char *name, uint64_t number)
{
    json_object_put(object, name, json_integer_create(number));
}

void
encap_json_put_bool(struct json *object, const char *name, bool value)
{
    json_object_put(object, name, json_boolean_create(value));
}

char *
encap_json_to_string(const struct json *json)
{
    char *raw = json_to_string(json, JSSF_SORT);
    struct ds s = DS_EMPTY_INITIALIZER;

    encap_text_put_json(raw, &s);
    free(raw);
    return ds_steal_cstr(&s);
}

struct json *
encap_json_uplink(const struct encap_registry *registry,
                  const struct encap_uplink *uplink)
{
    struct json *json = json_object_create();

    json_object_put_string(json, "name", uplink->name);
    encap_json_put_bool(json, "up", uplink->up);
    encap_json_put_string(json, "eswitch",
                          registry->eswitches[uplink->eswitch]);
    encap_json_put_known(json, "numa", uplink->numa_id, -1);
    return json;
}

struct json *
encap_json_uplinks(const struct encap_registry *registry,
                   const struct encap_uplink *uplinks, size_t n)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < n; i++) {
        json_array_add(array, encap_json_uplink(registry, &uplinks[i]));
    }
    return array;
}
