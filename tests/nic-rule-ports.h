/* SPDX-License-Identifier: Apache-2.0 */

#ifndef NIC_RULE_PORTS_H
#define NIC_RULE_PORTS_H 1

#ifdef DPDK_NETDEV

/* Ports of DPDK in memory, which the eSwitch model (tests/eswitch) makes those
 * of NICs: what is sent by a port comes back as what it receives.
 *
 * There are two NICs, because the firmware of none can match both Geneve
 * options and the fields of ICMP. */

#include <stdbool.h>
#include <stdint.h>

#include <rte_flow.h>

struct nic_rule_rte;
struct packet;

struct nic_ports {
    uint16_t uplink, representor;       /* Of DPDK. */
};

enum { NIC_PORTS_OPTION, NIC_PORTS_ICMP, N_NIC_PORTS };

extern struct nic_ports nic_ports[N_NIC_PORTS];

/* Starts the ports.  The model's configuration and log go to 'directory'.
 * Fails the test if the model is not there. */
void nic_ports_start(const char *directory);

/* Stop a port, which takes its rules away, and start it again. */
void nic_ports_stop(uint16_t port);
void nic_ports_restart(uint16_t port);

/* Gives the model a command of its control socket. */
void nic_ports_control(const char *command);

/* Asks 'port' for a transfer rule.  Returns NULL on failure, with the reason
 * in '*error'. */
struct rte_flow *nic_ports_create(uint16_t port, const struct rte_flow_attr *,
                                  const struct rte_flow_item[],
                                  const struct rte_flow_action[],
                                  const char **error);
void nic_ports_destroy(uint16_t port, struct rte_flow *);

/* A rule in 'group' that hits all packets: sends them to 'group + jump', or
 * by 'out' if 'jump' is 0. */
struct rte_flow *nic_ports_create_any(uint16_t port, uint32_t group,
                                      uint32_t jump, uint16_t out);

/* Lets 'in' receive 'p'.  Returns true, with what 'out' sent in '*result', if
 * a rule sent it.  Returns false if software got it, as it was. */
bool nic_ports_pass(uint16_t in, uint16_t out, const struct packet *p,
                    struct packet *result);

#endif /* DPDK_NETDEV */

#endif /* nic-rule-ports.h */
