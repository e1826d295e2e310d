/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A mangled name refers back to its own parts, so 1 KiB of it can stand for more text than any
 * machine holds. libiberty's callback interface gives the text piece by piece but has no way to say
 * stop; so the callback jumps out of it once the limit is reached.  That is sound here because the
 * C++ printer keeps all its state on the stack.  The Rust printer may lose one small buffer (a
 * decoded Punycode name), so a file with many such names is no longer demangled at all.
 *
 * D's demangler gives the whole text at once.  There a name refers back by "Q": with few of these
 * the text cannot grow beyond a megabyte, and a name with more is left as it is.
 */
#include "image/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define OVERFLOWS_MAX 64u
#define D_REFERENCES_MAX 20

struct printing {
	struct demangler *d;
	bool rust;
	jmp_buf stop;
};

static void print_piece(const char *text, size_t length, void *opaque)
{
	struct printing *p = opaque;
	struct demangler *d = p->d;
	size_t room = DEMANGLE_OUT_MAX - d->length;
	size_t taken = length < room ? length : room;

	memcpy(d->text + d->length, text, taken);
	d->length += taken;
	if (taken < length)
		longjmp(p->stop, 1);
}

/* v0 names have a prefix of their own; legacy ones are C++ names whose last part is a hash: "17h"
 * and 16 digits. */
static bool may_be_rust(const char *name)
{
	return name[1] == 'R' || strstr(name, "17h") != NULL;
}

static int print_name(struct printing *p, const char *name)
{
	if (setjmp(p->stop) != 0) {
		p->d->overflows += p->rust;
		return 1;
	}
	if (may_be_rust(name) && rust_demangle_callback(name, DMGL_NO_OPTS, print_piece, p))
		return 1;
	p->d->length = 0;
	p->rust = false;
	return cplus_demangle_v3_callback(name, DMGL_NO_OPTS, print_piece, p);
}

/* Where the parameters "(int, char)" at the end of a D name begin; its length where it has none:
 * the arguments of a template, "!(int)", are a part of the name. */
static size_t parameters_start(const char *text, size_t length)
{
	size_t at = length;
	int depth = 0;

	while (at > 0) {
		at--;
		depth += text[at] == ')';
		depth -= text[at] == '(';
		if (depth == 0)
			break;
	}
	return at > 0 && text[at] == '(' && text[at - 1] != '!' ? at : length;
}

static const char *demangle_d(struct demangler *d, const char *name)
{
	int references = 0;
	char *text;

	for (const char *at = name; *at != '\0'; at++)
		references += *at == 'Q';
	text = references > D_REFERENCES_MAX ? NULL : dlang_demangle(name, DMGL_NO_OPTS);
	if (text == NULL)
		return NULL;
	d->length = parameters_start(text, strlen(text));
	if (d->length > DEMANGLE_OUT_MAX)
		d->length = DEMANGLE_OUT_MAX;
	memcpy(d->text, text, d->length);
	d->text[d->length] = '\0';
	free(text);
	return d->length > 0 ? d->text : NULL;
}

const char *demangle(struct demangler *d, const char *name)
{
	struct printing p = { .d = d, .rust = true };

	if (name[0] != '_' || strnlen(name, DEMANGLE_IN_MAX + 1) > DEMANGLE_IN_MAX)
		return NULL;
	if (name[1] == 'D')
		return demangle_d(d, name);
	if ((name[1] != 'Z' && name[1] != 'R') || d->overflows >= OVERFLOWS_MAX)
		return NULL;
	d->length = 0;
	if (!print_name(&p, name) || d->length == 0)
		return NULL;
	d->text[d->length] = '\0';
	return d->text;
}
