/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#include <config.h>

#include "model.h"

#include <string.h>

#include <rte_mbuf.h>

/* What the eSwitch does to packets before software sees them. */

enum {
    MAX_JUMPS = 32,
    ROOM = MAX_ENCAP * (MAX_JUMPS + 1) /* In front of a frame, to grow. */
};

enum verdict { KEEP, SEND, LOST };

/* One packet on its way.  It is worked on in a copy, so that a miss leaves
 * the program's buffer as it was. */
struct run {
    struct port *port;
    struct rte_mbuf *mbuf;
    struct frame frame;
    bool changed;
    struct port *target;
};

static __thread uint8_t buffer[ROOM + MAX_FRAME + 4];

/* Copies the packet, with the VLAN tag that the driver took off. */
static bool
load(struct run *run)
{
    struct rte_mbuf *mbuf = run->mbuf, *segment;
    uint8_t *data = buffer + ROOM;
    size_t size = 0;

    if (mbuf->pkt_len > MAX_FRAME) {
        return false;
    }
    for (segment = mbuf; segment; segment = segment->next) {
        memcpy(data + size, rte_pktmbuf_mtod(segment, uint8_t *),
               segment->data_len);
        size += segment->data_len;
    }
    if (mbuf->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED && size >= 12) {
        memmove(data - 4, data, 12);
        data -= 4;
        size += 4;
        data[12] = 0x81;
        data[13] = 0x00;
        data[14] = mbuf->vlan_tci >> 8;
        data[15] = mbuf->vlan_tci;
    }
    run->frame = (struct frame) {
        .data = data, .size = size, .eswitch = run->port->eswitch,
    };
    eswitch_packet_parse(run->port->eswitch, data, size, &run->frame.packet);
    return true;
}

/* Writes the frame back into its buffer. */
static bool
store(struct run *run)
{
    struct rte_mbuf *mbuf = run->mbuf;
    size_t size = run->frame.size, room;

    if (!RTE_MBUF_DIRECT(mbuf) || rte_mbuf_refcnt_read(mbuf) != 1
        || size > mbuf->buf_len || size > UINT16_MAX) {
        eswitch_log(LOG_ERROR, "%s: no room for %zu bytes in a buffer of %u",
                    run->port->name, size, mbuf->buf_len);
        return false;
    }
    if (mbuf->next) {
        rte_pktmbuf_free(mbuf->next);
        mbuf->next = NULL;
        mbuf->nb_segs = 1;
    }
    room = mbuf->buf_len - size;
    mbuf->data_off = RTE_MIN(room, (size_t) RTE_PKTMBUF_HEADROOM);
    mbuf->data_len = mbuf->pkt_len = size;
    mbuf->ol_flags = 0;
    mbuf->packet_type = 0;
    mbuf->vlan_tci = mbuf->vlan_tci_outer = 0;
    mbuf->tx_offload = 0;
    memcpy(rte_pktmbuf_mtod(mbuf, void *), run->frame.data, size);
    return true;
}

/* Software gets the packet: as it came, unless a rule that was hit before the
 * miss changed it. */
static enum verdict
keep(struct run *run)
{
    return run->changed && !store(run) ? LOST : KEEP;
}

/* Carries out a rule's actions.  Returns true if that decides on the packet;
 * else '*group' is the next one. */
static bool
apply(struct run *run, const struct rule *rule, uint32_t *group,
      enum verdict *verdict)
{
    for (unsigned i = 0; i < rule->n_actions; i++) {
        const struct action *action = &rule->actions[i];

        switch ((enum action_kind) action->kind) {
        case ACTION_COUNT:
            break;
        case ACTION_JUMP:
            *group = action->number;
            return false;
        case ACTION_PORT:
            run->target = action->port;
            /* The wire's own traffic cannot go back to it. */
            *verdict = (run->port->uplink && run->target == run->port
                        ? LOST : SEND);
            return true;
        case ACTION_DROP:
            *verdict = LOST;
            return true;
        case ACTION_INGRESS_FATE:
            *verdict = keep(run);
            return true;
        case ACTION_MARK:
            if (!rule->group->transfer) {
                run->mbuf->hash.fdir.hi = action->number;
                run->mbuf->ol_flags |= (RTE_MBUF_F_RX_FDIR
                                        | RTE_MBUF_F_RX_FDIR_ID);
            }
            break;
        default:
            run->changed = true;
            if (!eswitch_frame_apply(&run->frame, action)) {
                *verdict = LOST;
                return true;
            }
        }
    }
    *verdict = LOST;            /* Not reached: validation wants a fate. */
    return true;
}

/* First the eSwitch's rules, then, for what they leave to software, those of
 * the port's own reception. */
static enum verdict
execute(struct run *run)
{
    const struct eswitch *eswitch = run->port->eswitch;
    bool transfer = true, hit = false;
    enum verdict verdict = LOST;
    uint32_t group = 0;

    for (int jumps = 0; jumps <= MAX_JUMPS; jumps++) {
        const struct rule *rule;

        run->frame.packet.key.source = run->port->index;
        rule = eswitch_rule_match(eswitch, transfer, group,
                                  &run->frame.packet.key);
        if (rule) {
            struct counts *now = (struct counts *) &rule->now;

            hit = true;
            now->packets++;
            now->bytes += run->frame.size;
            if (apply(run, rule, &group, &verdict)) {
                return verdict;
            }
        } else if (transfer) {
            if (hit) {
                run->port->n_missed_later++;
            } else {
                run->port->n_missed++;
            }
            transfer = false;
            group = 0;
        } else {
            return keep(run);
        }
    }
    eswitch_log(LOG_ERROR, "%s: packet dropped after %d jumps",
                run->port->name, MAX_JUMPS);
    return LOST;
}

/* Hardware does not fragment: what is above the target's MTU is lost. */
static bool
too_large(const struct run *run)
{
    const struct level_key *key = &run->frame.packet.key.level[0];
    size_t header = 14 + (key->vlan ? 4 : 0) + (key->vlan_more ? 4 : 0);
    uint16_t mtu;

    return run->target->id < RTE_MAX_ETHPORTS
           && !rte_eth_dev_get_mtu(run->target->id, &mtu)
           && run->frame.size > header + mtu;
}

/* Packets in a row for one port. */
struct batch {
    struct port *port;
    struct rte_mbuf *mbufs[64];
    uint16_t n;
};

static void
batch_send(struct batch *batch)
{
    if (batch->n) {
        eswitch_port_send(batch->port, batch->mbufs, batch->n);
        batch->n = 0;
    }
}

static void
batch_add(struct batch *batch, struct port *port, struct rte_mbuf *mbuf)
{
    if (batch->port != port || batch->n == RTE_DIM(batch->mbufs)) {
        batch_send(batch);
        batch->port = port;
    }
    batch->mbufs[batch->n++] = mbuf;
}

uint16_t
eswitch_receive(struct port *port, struct rte_mbuf **mbufs, uint16_t n)
{
    struct batch batch = { .n = 0 };
    uint16_t kept = 0;

    if (!n || !port->eswitch->n_rules) {
        port->n_missed += n;
        return n;
    }
    /* Sent under the lock too: once a rule is destroyed or changed, nothing
     * leaves that was made by it. */
    pthread_rwlock_rdlock(&port->eswitch->lock);
    for (uint16_t i = 0; i < n; i++) {
        struct run run = { .port = port, .mbuf = mbufs[i] };
        uint32_t len = rte_pktmbuf_pkt_len(mbufs[i]);
        enum verdict verdict = load(&run) ? execute(&run) : KEEP;

        if (verdict == SEND && too_large(&run)) {
            run.target->n_too_large++;
            verdict = LOST;
        } else if (verdict == SEND && !store(&run)) {
            verdict = LOST;
        }
        if (verdict == KEEP) {
            mbufs[kept++] = mbufs[i];
            continue;
        }
        port->taken_bytes += len;
        if (verdict == SEND) {
            port->n_executed++;
            batch_add(&batch, run.target, mbufs[i]);
        } else {
            port->n_dropped++;
            rte_pktmbuf_free(mbufs[i]);
        }
    }
    batch_send(&batch);
    pthread_rwlock_unlock(&port->eswitch->lock);
    return kept;
}
