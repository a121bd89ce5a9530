/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#include <config.h>

#include "model.h"

#include <errno.h>
#include <string.h>

/* The header that VXLAN_ENCAP describes as a list of items. */

/* Size of the header that an item stands for, 0 if it cannot be part. */
static size_t
item_size(const struct rte_flow_item *item)
{
    switch ((int) item->type) {
    case RTE_FLOW_ITEM_TYPE_ETH:
        return sizeof(struct rte_ether_hdr);
    case RTE_FLOW_ITEM_TYPE_VLAN:
        return sizeof(struct rte_vlan_hdr);
    case RTE_FLOW_ITEM_TYPE_IPV4:
        return sizeof(struct rte_ipv4_hdr);
    case RTE_FLOW_ITEM_TYPE_IPV6:
        return sizeof(struct rte_ipv6_hdr);
    case RTE_FLOW_ITEM_TYPE_UDP:
        return sizeof(struct rte_udp_hdr);
    case RTE_FLOW_ITEM_TYPE_VXLAN:
        return sizeof(struct rte_vxlan_hdr);
    default:
        return 0;
    }
}

int
eswitch_vxlan_header(const struct rte_flow_item items[],
                     struct context *context, const void *cause,
                     struct rte_flow_error *error)
{
    uint8_t *type = NULL;       /* Type field of the header before. */
    size_t n = 0;

    for (; items->type != RTE_FLOW_ITEM_TYPE_END; items++) {
        size_t size = item_size(items);
        uint8_t *p = &context->bytes[n];

        if (items->type == RTE_FLOW_ITEM_TYPE_VOID) {
            continue;
        }
        if (!size || !items->spec || n + size > MAX_ENCAP) {
            return eswitch_refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION,
                                  cause, "no header of VXLAN_ENCAP");
        }
        memcpy(p, items->spec, size);
        n += size;
        switch ((int) items->type) {
        case RTE_FLOW_ITEM_TYPE_ETH:
            type = p + 12;
            break;
        case RTE_FLOW_ITEM_TYPE_VLAN:
            if (type && !type[0] && !type[1]) {
                memcpy(type, "\x81\x00", 2);
            }
            type = p + 2;
            break;
        case RTE_FLOW_ITEM_TYPE_IPV4:
            if (type) {
                memcpy(type, "\x08\x00", 2);
            }
            p[0] = 0x45;
            p[8] = p[8] ? p[8] : 64;
            p[9] = IPPROTO_UDP;
            break;
        case RTE_FLOW_ITEM_TYPE_IPV6:
            if (type) {
                memcpy(type, "\x86\xdd", 2);
            }
            p[0] = 0x60 | (p[0] & 0xf);
            p[6] = IPPROTO_UDP;
            p[7] = p[7] ? p[7] : 64;
            break;
        case RTE_FLOW_ITEM_TYPE_UDP:
            if (!p[2] && !p[3]) {
                memcpy(&p[2], "\x12\xb5", 2);
            }
            break;
        case RTE_FLOW_ITEM_TYPE_VXLAN:
            p[0] = p[0] ? p[0] : 0x08;
            break;
        }
    }
    context->size = n;
    return 0;
}
