/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENCAP_DATABASE_H
#define ENCAP_DATABASE_H 1

/* From the database to the configuration of endpoints
 * ===================================================
 *
 * Reads, and never writes:
 *
 *   Open_vSwitch external_ids    system-id, and ovn-encap-ip and
 *                                ovn-encap-ip-default or, before them,
 *                                KEY-<system-id>
 *   Open_vSwitch other_config    encap-ip, encap-ip-default, encap-select,
 *                                encap-failover, encap-strict-rx,
 *                                encap-offload
 *   Interface external_ids       encap-ip, and whether there is an iface-id
 *   Interface options            local_ip of tunnels
 *   Interface                    ingress_policing_rate
 *   Port                         the type of its QoS
 *   Bridge, Port, Interface      which ports there are
 *
 * Only bridges whose datapath is in userspace (netdev, dummy) count: the
 * kernel's encapsulates by itself.
 *
 * Others write external_ids often (OVN: ovn-installed for each workload, ...)
 * and the base, which ignores these columns, would reconfigure all bridges
 * each time.  So it is kept from hearing of changes of other keys.
 *
 * Main thread. */

struct ovsdb_idl;
struct ovsrec_open_vswitch;

/* Tells the IDL what is read here, and registers the commands of
 * encap-command.h.  To be called between ovsdb_idl_create() and the calls that
 * narrow down what is monitored, which must leave the two external_ids columns
 * alone. */
void encap_database_init(struct ovsdb_idl *);

/* After each ovsdb_idl_run().  '*seqno' is the ovsdb_idl_get_seqno() that the
 * bridges were last configured for.  It is brought up to date if nothing has
 * changed since but keys of external_ids that nobody here reads. */
void encap_database_skip(struct ovsdb_idl *, unsigned int *seqno);

/* Hands what 'cfg' says to encap-monitor.h, which publishes it.  To be called
 * when the bridges have the ports that 'cfg' says, and before translation
 * knows of them: their first packets must not be without their endpoints and
 * pins, after a restart least of all. */
void encap_database_reconfigure(const struct ovsrec_open_vswitch *cfg);

#endif /* encap-database.h */
