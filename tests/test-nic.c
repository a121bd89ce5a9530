/* SPDX-License-Identifier: Apache-2.0 */

/* Checks what the names of eSwitch ports say, by the formats that Linux
 * documents in Documentation/networking/devlink/devlink-port.rst and
 * representors.rst and makes in __devlink_port_phys_port_name_get().
 *
 *     ovstest test-nic
 */

#include <config.h>
#undef NDEBUG

#include <stdio.h>
#include <stdlib.h>

#include "nic.h"
#include "ovstest.h"
#include "util.h"

static void
test_nic_main(int argc OVS_UNUSED, char *argv[])
{
    static const struct {
        const char *name;
        bool representor;
    } cases[] = {
        { "p0", false },
        { "p1", false },
        { "p10", false },
        { "p0s1", false },      /* A part of a split port. */
        { "pf0", true },        /* The host's own, as a SmartNIC sees it. */
        { "pf1vf0", true },
        { "pf0vf127", true },
        { "pf0sf88", true },
        { "c1pf0", true },
        { "c1pf0vf3", true },
        { "c2pf1sf40", true },
        { "vf0", true },
        { "0", true },          /* Virtual function 0, in older drivers. */
    };

    set_program_name(argv[0]);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        if (nic_is_representor_name(cases[i].name) != cases[i].representor) {
            printf("%s: %s\n", cases[i].name,
                   cases[i].representor ? "is a representor" : "is a NIC");
            exit(EXIT_FAILURE);
        }
    }
}

OVSTEST_REGISTER("test-nic", test_nic_main);
