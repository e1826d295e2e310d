/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions by identity (name, module), each with a dense id that never changes.  Text is scrubbed
 * as it comes in, so what goes out is fit for a terminal.
 */
#ifndef PTOP_SYMBOL_FUNCTIONS_H
#define PTOP_SYMBOL_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/strpool.h"
#include "base/vec.h"

#define FUNCTION_NONE UINT32_MAX

enum function_flags {
	FUNCTION_NAMED = 1,
	FUNCTION_KERNEL = 2,
	FUNCTION_PSEUDO = 4,
	FUNCTION_ENTRY = 8
};

struct function {
	uint32_t name, module, path; /* ids of functions_text() */
	uint32_t flags;
};

struct functions {
	struct strpool *text;
	VEC(struct function) at;
	struct map ids; /* name << 32 | module -> id */
};

int functions_init(struct functions *f);
void functions_done(struct functions *f);

/* Scrubs (cut at 4 KiB) and interns; UINT32_MAX without memory. */
uint32_t functions_intern(struct functions *f, const char *text, size_t len);
const char *functions_text(const struct functions *f, uint32_t id);

/* The id of a function, made when new: then it is an entry if named and known as one. FUNCTION_NONE
 * without memory. */
uint32_t functions_add(struct functions *f, const struct function *function);

/* Whether a thread's or process's outermost function has this name. */
bool function_is_entry(const char *name);

size_t functions_bytes(const struct functions *f);

#endif
