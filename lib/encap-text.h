/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENCAP_TEXT_H
#define ENCAP_TEXT_H 1

/* Names of ports, bridges and devices in what is printed for users and in the
 * log.  The database lets a name have any character but '/', the kernel any
 * byte but '/', ':' and spaces.  Any thread. */

struct ds;

/* Appends 's' to 'ds' so that it stays in its line and is UTF-8: control
 * characters, and bytes that are not UTF-8 (RFC 3629), are written "\n", "\t"
 * or, as all others, "\x1b".  All else is as it was, so that a command of the
 * shell without them stays what it is. */
void encap_text_put(const char *s, struct ds *ds);

/* The same as a string of its own, which the caller owns. */
char *encap_text_line(const char *s);

/* Appends 's', which is JSON but for bytes in its strings that are not UTF-8,
 * to 'ds': those become what encap_text_put() would make of them, as
 * characters of the string. */
void encap_text_put_json(const char *s, struct ds *ds);

/* Appends 'name' to 'ds' as one word of a command of the shell (POSIX, Shell
 * Command Language, section 2.2.2): in single quotes unless it has only
 * letters, digits and ". _ - : @ /". */
void encap_text_put_word(const char *name, struct ds *ds);

#endif /* encap-text.h */
