/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-text.h"

#include <stdbool.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"

#define DEL 0x7f

void
encap_text_put(const char *s, struct ds *ds)
{
    for (; *s; s++) {
        unsigned char c = *s;

        if (c == '\n') {
            ds_put_cstr(ds, "\\n");
        } else if (c == '\t') {
            ds_put_cstr(ds, "\\t");
        } else if (c < ' ' || c == DEL) {
            ds_put_format(ds, "\\x%02x", c);
        } else {
            ds_put_char(ds, c);
        }
    }
}

/* Letters are those of ASCII whatever the locale. */
static bool
is_plain_word(const char *name)
{
    return *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyz"
                                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789._-:@/")];
}

void
encap_text_put_word(const char *name, struct ds *ds)
{
    if (is_plain_word(name)) {
        ds_put_cstr(ds, name);
        return;
    }
    ds_put_char(ds, '\'');
    for (; *name; name++) {
        if (*name == '\'') {
            ds_put_cstr(ds, "'\\''");
        } else {
            ds_put_char(ds, *name);
        }
    }
    ds_put_char(ds, '\'');
}
