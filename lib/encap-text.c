/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "encap-text.h"

#include <stdbool.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "util.h"

#define DEL 0x7f

/* The bytes that may follow the first ones from 'first' to 'last': the next
 * one from 'low' to 'high', and 'n' in all. */
struct sequence {
    unsigned char first, last, low, high;
    size_t n;
};

/* RFC 3629 section 4. */
static const struct sequence sequences[] = {
    { 0xc2, 0xdf, 0x80, 0xbf, 1 },
    { 0xe0, 0xe0, 0xa0, 0xbf, 2 },
    { 0xe1, 0xec, 0x80, 0xbf, 2 },
    { 0xed, 0xed, 0x80, 0x9f, 2 },
    { 0xee, 0xef, 0x80, 0xbf, 2 },
    { 0xf0, 0xf0, 0x90, 0xbf, 3 },
    { 0xf1, 0xf3, 0x80, 0xbf, 3 },
    { 0xf4, 0xf4, 0x80, 0x8f, 3 },
};

static bool
is_sequence(const struct sequence *sequence, const unsigned char *s)
{
    if (s[0] < sequence->first || s[0] > sequence->last
        || s[1] < sequence->low || s[1] > sequence->high) {
        return false;
    }
    for (size_t i = 2; i <= sequence->n; i++) {
        if (s[i] < 0x80 || s[i] > 0xbf) {
            return false;
        }
    }
    return true;
}

/* The length of the character of UTF-8 that 's', not empty, begins with, or 0
 * if it begins with none. */
static size_t
character_length(const char *s_)
{
    const unsigned char *s = (const unsigned char *) s_;

    if (s[0] < 0x80) {
        return 1;
    }
    for (size_t i = 0; i < ARRAY_SIZE(sequences); i++) {
        if (is_sequence(&sequences[i], s)) {
            return 1 + sequences[i].n;
        }
    }
    return 0;
}

static void
put_byte(unsigned char c, struct ds *ds)
{
    if (c == '\n') {
        ds_put_cstr(ds, "\\n");
    } else if (c == '\t') {
        ds_put_cstr(ds, "\\t");
    } else if (c < ' ' || c >= DEL) {
        ds_put_format(ds, "\\x%02x", c);
    } else {
        ds_put_char(ds, c);
    }
}

void
encap_text_put(const char *s, struct ds *ds)
{
    while (*s) {
        size_t length = character_length(s);

        if (length > 1) {
            ds_put_buffer(ds, s, length);
            s += length;
        } else {
            put_byte(*s++, ds);
        }
    }
}

char *
encap_text_line(const char *s)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    encap_text_put(s, &ds);
    return ds_steal_cstr(&ds);
}

void
encap_text_put_json(const char *s, struct ds *ds)
{
    while (*s) {
        size_t length = character_length(s);

        if (length) {
            ds_put_buffer(ds, s, length);
            s += length;
        } else {
            ds_put_char(ds, '\\');
            put_byte(*s++, ds);
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
