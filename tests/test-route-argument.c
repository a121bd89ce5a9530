/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#undef NDEBUG

#include "route-argument.h"

#include <inttypes.h>
#include <stdio.h>

#include "ovstest.h"

/* Prints the number of each table that is named, or what is wrong. */
static void
test_route_argument_main(int argc, char *argv[])
{
    for (int i = 1; i < argc; i++) {
        uint32_t table;
        const char *error = route_table_from_string(argv[i], &table);

        if (error) {
            printf("%s: %s\n", argv[i], error);
        } else {
            printf("%s: %"PRIu32"\n", argv[i], table);
        }
    }
}

OVSTEST_REGISTER("test-route-argument", test_route_argument_main);
