/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/functions.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

enum { NAME_MAX_BYTES = 4096 };

int functions_init(struct functions *f)
{
	*f = (struct functions){ .text = strpool_new() };
	return f->text ? 0 : -ENOMEM;
}

void functions_done(struct functions *f)
{
	strpool_free(f->text);
	vec_done(&f->at);
	map_done(&f->ids);
	f->text = NULL;
}

/* Plain ASCII without control characters, as nearly all names are, needs no copy. */
static bool is_plain(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] < ' ' || text[i] > '~')
			return false;
	}
	return len < NAME_MAX_BYTES;
}

uint32_t functions_intern(struct functions *f, const char *text, size_t len)
{
	char clean[NAME_MAX_BYTES];

	if (is_plain(text, len))
		return strpool_add(f->text, text, len);
	return strpool_add(f->text, clean, text_scrub(clean, sizeof(clean), text, len, false));
}

const char *functions_text(const struct functions *f, uint32_t id)
{
	return strpool_get(f->text, id);
}

/*
 * glibc and musl, the kernel's own threads and processors, Go.  The kernel's syscall entry is none:
 * user frames lie outside of it.  glibc's callers of main() count: frame pointers lead no further,
 * and nothing but _start is beyond.  Go's own are those that its runtime ends a stack at
 * (topofstack() of Go's src/runtime/traceback.go) and the start of a thread.
 */
static const char *const entries[] = {
	"_start",
	"__libc_start_call_main",
	"__libc_start_main",
	"__libc_start_main_impl",
	"clone",
	"__clone",
	"clone3",
	"__clone3",
	"__clone_internal",
	"start_thread",
	"thread_start",
	"ret_from_fork",
	"ret_from_fork_asm",
	"kthread",
	"cpu_startup_entry",
	"start_kernel",
	"x86_64_start_kernel",
	"secondary_startup_64",
	"secondary_startup_64_no_verify",
	"secondary_start_kernel",
	"runtime.clone",
	"runtime.goexit",
	"runtime.mcall",
	"runtime.morestack",
	"runtime.mstart",
	"runtime.rt0_go",
};

bool function_is_entry(const char *name)
{
	static const char abi[] = ".abi0"; /* Go's name for its assembly's way of calling */
	size_t size = strlen(name), cut = sizeof(abi) - 1;

	if (size > cut && !memcmp(name + size - cut, abi, cut))
		size -= cut;
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		if (!strncmp(name, entries[i], size) && entries[i][size] == '\0')
			return true;
	}
	return !strncmp(name, "_rt0_", 5);
}

uint32_t functions_add(struct functions *f, const struct function *function)
{
	uint64_t key = (uint64_t)function->name << 32 | function->module;
	uint64_t *at = map_find(&f->ids, key);
	struct function made = *function;

	if (at)
		return (uint32_t)*at;
	if (function->name == UINT32_MAX || function->module == UINT32_MAX ||
	    function->path == UINT32_MAX)
		return FUNCTION_NONE;
	if ((made.flags & FUNCTION_NAMED) && function_is_entry(functions_text(f, made.name)))
		made.flags |= FUNCTION_ENTRY;
	if (f->at.nr >= FUNCTION_NONE || vec_reserve(&f->at, f->at.nr + 1) ||
	    map_set(&f->ids, key, f->at.nr))
		return FUNCTION_NONE;
	f->at.at[f->at.nr] = made;
	return (uint32_t)f->at.nr++;
}

size_t functions_bytes(const struct functions *f)
{
	return strpool_bytes(f->text) + f->at.cap * sizeof(f->at.at[0]) +
	       f->ids.cap * (sizeof(struct map_entry) + 1);
}
