/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#include <config.h>

#include "test.h"

#include <errno.h>

#define TYPE(NAME) RTE_FLOW_ERROR_TYPE_##NAME

/* The table of RAW_DECAP and RAW_ENCAP by their sizes, a case a row. */
static void
pair(enum test_port port, int decap_size, int encap_size)
{
    static const uint8_t plain[HEADER_DECISION] = { [12] = 8 };

    start(port);
    tunnel(false, false);
    if (decap_size) {
        raw_decap(decap_size);
    }
    if (encap_size > HEADER_DECISION) {
        encap(encap_size);
    } else if (encap_size) {
        raw_encap(plain, encap_size);
    }
    port_id(port == UA ? RA0 : UA);
}

void
test_sizes(void)
{
    uint8_t arp[50] = { [12] = 0x08, [13] = 0x06 };

    test_begin("sizes: encap alone, above 34");
    pair(RA0, 0, 35); accepted();
    test_end(); test_begin("sizes: encap alone, up to 34");
    pair(RA0, 0, 34); refused(ENOTSUP, TYPE(ACTION));
    test_end(); test_begin("sizes: encap without data");
    start(RA0); eth(); encap(0); port_id(UA); refused(EINVAL, TYPE(ACTION));
    test_end(); test_begin("sizes: decap alone, any size");
    pair(UA, 1, 0); accepted();
    pair(UA, 34, 0); accepted();
    pair(UA, 200, 0); accepted();
    test_end(); test_begin("sizes: decap up to 34, encap above: L3 encap");
    pair(RA0, 14, 58); accepted();
    test_end(); test_begin("sizes: decap above 34, encap up to: L3 decap");
    pair(UA, 50, 14); accepted();
    test_end(); test_begin("sizes: both up to 34");
    pair(UA, 14, 14); refused(ENOTSUP, TYPE(ACTION));
    test_end(); test_begin("sizes: both above 34");
    pair(UA, 50, 58); refused(ENOTSUP, TYPE(ACTION));
    test_end(); test_begin("sizes: two encaps, two decaps, decap last");
    start(RA0); eth(); encap(58); encap(58); port_id(UA);
    refused(EINVAL, TYPE(ACTION));
    start(UA); eth(); raw_decap(50); raw_decap(50); port_id(RA0);
    refused(ENOTSUP, TYPE(ACTION));
    start(UA); eth(); encap(58); raw_decap(50); port_id(RA0);
    refused(ENOTSUP, TYPE(ACTION));
    test_end(); test_begin("sizes: decap_en=0");
    start(UNODECAP); eth(); raw_decap(50); port_id(UNODECAP);
    refused(ENOTSUP, TYPE(ACTION));
    test_end(); test_begin("sizes: encap of what is not IP");
    start(RA0); eth(); raw_encap(arp, sizeof arp); port_id(UA);
    refused_late(ENOTSUP, TYPE(ACTION));
    test_end();
}
