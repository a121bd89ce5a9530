/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENCAP_TEXT_H
#define ENCAP_TEXT_H 1

/* Names of ports, bridges and devices in what is printed for users.  The
 * database lets a name have any character but '/', the kernel any but '/', ':'
 * and spaces.  Any thread. */

struct ds;

/* Appends 's' to 'ds' so that it stays in its line: control characters are
 * written "\n", "\t" or, as all others, "\x1b".  All else is as it was, so
 * that a command of the shell without them stays what it is. */
void encap_text_put(const char *s, struct ds *ds);

/* Appends 'name' to 'ds' as one word of a command of the shell (POSIX, Shell
 * Command Language, section 2.2.2): in single quotes unless it has only
 * letters, digits and ". _ - : @ /". */
void encap_text_put_word(const char *name, struct ds *ds);

#endif /* encap-text.h */
