/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * C++, Rust (legacy and v0) and D names made readable by libiberty, which must survive names made
 * to harm it: its recursion is limited by itself, the input and the output are limited here.
 */
#ifndef PTOP_IMAGE_DEMANGLE_H
#define PTOP_IMAGE_DEMANGLE_H

#include <stddef.h>

#define DEMANGLE_IN_MAX 1024u
#define DEMANGLE_OUT_MAX 4096u

struct demangler {
	unsigned overflows; /* Rust names whose readable form was too long; 0 at first */
	char text[DEMANGLE_OUT_MAX + 1];
	size_t length;
};

/*
 * The readable form of @name: qualified, with template arguments, without parameters, return type
 * and Rust's hash.  It is in d->text until the next call, cut at DEMANGLE_OUT_MAX bytes.  NULL
 * where the name is not mangled, damaged or longer than DEMANGLE_IN_MAX.
 */
const char *demangle(struct demangler *d, const char *name);

#endif
