/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENCAP_SCENE_H
#define ENCAP_SCENE_H 1

/* Hosts for tests of endpoints
 * ============================
 *
 * A scene is a host as the naive twin sees it, made of a text or of random
 * numbers, and a registry can be made of it. */

#include "encap-twin.h"

/* Fills in '*scene' from lists separated by commas, of
 *
 *     IP [ovn] [config] [tunnel] [default] [STATE] [any-nic] [nic=ESWITCH]
 *        [dev=NAME] [bridge=NAME]
 *     NAME [pin=IP] [nic=ESWITCH] [on-underlay] [underlay]
 *     STEP
 *
 * where STATE is absent, tentative, device-down or link-down, if not up, and
 * 'order' NULL means that of the documentation. */
void encap_scene_parse(struct encap_twin *scene, const char *endpoints,
                       const char *ports, const char *order);

/* Fills in '*scene' at random.  The addresses are those of encap_scene_ip(),
 * the ports "vm0", "vm1", ... */
void encap_scene_random(struct encap_twin *scene);

/* One of few addresses, of either family; the last ENCAP_SCENE_N_STRANGERS
 * are never endpoints. */
#define ENCAP_SCENE_N_IPS 14
#define ENCAP_SCENE_N_STRANGERS 2
struct in6_addr encap_scene_ip(size_t i);

#define ENCAP_SCENE_N_PORTS 4

/* Makes a finished registry of 'scene', to which the endpoints are added from
 * the 'start'th on, all around, and where 'prefix' comes before the names of
 * eSwitches. */
struct encap_registry *encap_scene_build(const struct encap_twin *scene,
                                         size_t start, const char *prefix);

/* Asks 'registry' with encap_select(), checks that routing was asked at most
 * once, and only if step 6 was reached. */
enum encap_verdict encap_scene_select(const struct encap_registry *registry,
                                      const struct encap_twin_query *query,
                                      struct encap_choice *choice);

/* The same query for encap_choice_format(). */
struct encap_query encap_scene_query(const struct encap_twin_query *query);

#endif /* encap-scene.h */
