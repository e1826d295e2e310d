/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Routes a place by its image.  Per image a map leads from the symbol's index to the function, so
 * that a look-up is one binary search and one probe, and a name is scrubbed and interned once.
 */
#include "symbol/symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/naming.h"

enum { KSYM_TYPE_BPF = 1, KSYM_UNREGISTER = 1, KSYM_NAME_MAX = 512, KERNEL_CODE_MOST = 1 << 20 };

struct symbols *symbols_new(const struct space *space, struct images *images)
{
	struct symbols *sy = calloc(1, sizeof(*sy));

	if (!sy)
		return NULL;
	sy->space = space;
	sy->images = images;
	sy->unknown = FUNCTION_NONE;
	sy->jit_left = JIT_READ_MAX;
	for (int i = 0; i < NR_PSEUDO_FRAMES; i++)
		sy->pseudo[i] = FUNCTION_NONE;
	snprintf(sy->kernel_why, sizeof(sy->kernel_why), "kernel names are not loaded");
	if (functions_init(&sy->functions)) {
		free(sy);
		return NULL;
	}
	return sy;
}

void symbols_free(struct symbols *sy)
{
	if (!sy)
		return;
	for (size_t i = 0; i < sy->namings.nr; i++)
		naming_free(sy->namings.at[i]);
	vec_done(&sy->namings);
	vec_done(&sy->pending);
	vec_done(&sy->jits);
	vec_done(&sy->dumps);
	kallsyms_done(&sy->kallsyms);
	ksymbols_done(&sy->ksymbols);
	functions_done(&sy->functions);
	free(sy);
}

static void explain_kernel(struct symbols *sy, int err)
{
	if (!err)
		sy->kernel_why[0] = '\0';
	else if (err == -EACCES && geteuid() == 0)
		snprintf(sy->kernel_why, sizeof(sy->kernel_why),
			 "kernel names are hidden: sysctl kernel.kptr_restrict=0");
	else if (err == -EACCES) /* without CAP_SYSLOG both must allow it: kallsyms_show_value() */
		snprintf(sy->kernel_why, sizeof(sy->kernel_why),
			 "kernel names are hidden: run as root, or: sudo sysctl "
			 "kernel.kptr_restrict=0 kernel.perf_event_paranoid=1");
	else
		snprintf(sy->kernel_why, sizeof(sy->kernel_why),
			 "kernel names cannot be read from /proc/kallsyms: %s", strerror(-err));
}

static void take_kernel(struct symbols *sy, struct kallsyms *fresh)
{
	kallsyms_done(&sy->kallsyms);
	sy->kallsyms = *fresh;
	sy->kernel_known = true;
	sy->kernel_missed = false;
	if (sy->namings.nr > IMAGE_KERNEL && sy->namings.at[IMAGE_KERNEL]) {
		map_done(&sy->namings.at[IMAGE_KERNEL]->symbols);
		map_done(&sy->namings.at[IMAGE_KERNEL]->places);
	}
	sy->generation++;
	sy->names_moved++;
}

int symbols_load_kernel_from(struct symbols *sy, const char *path)
{
	struct kallsyms fresh;
	int err = kallsyms_read(path, &fresh);

	if (err && sy->kernel_known)
		return err; /* the names of before are better than none */
	explain_kernel(sy, err);
	if (!err)
		take_kernel(sy, &fresh);
	return err;
}

int symbols_load_recorded_kernel(struct symbols *sy, int fd, const struct kallsyms_places *places)
{
	struct kallsyms fresh;
	int err = kallsyms_read_fd(fd, &fresh);

	if (err)
		return err;
	err = kallsyms_move(&fresh, places);
	if (err) {
		kallsyms_done(&fresh);
		return err;
	}
	sy->kernel_why[0] = '\0';
	take_kernel(sy, &fresh);
	return 0;
}

int symbols_load_kernel(struct symbols *sy)
{
	return symbols_load_kernel_from(sy, "/proc/kallsyms");
}

bool symbols_reload_kernel_from(struct symbols *sy, const char *path, uint64_t now_ns)
{
	const uint64_t least = 5000000000, most = 640000000000;
	uint64_t waited = now_ns - sy->kernel_loaded_ns;

	if (!sy->kernel_known)
		return false;
	if (!sy->kernel_loaded_ns) { /* as long as it is known here */
		sy->kernel_loaded_ns = now_ns;
		sy->kernel_wait_ns = least;
	}
	if (!sy->kernel_missed || waited < sy->kernel_wait_ns || sy->kernel_loaded_ns == now_ns)
		return false;
	sy->kernel_wait_ns = waited > 4 * sy->kernel_wait_ns ? least : 2 * sy->kernel_wait_ns;
	if (sy->kernel_wait_ns > most)
		sy->kernel_wait_ns = most;
	sy->kernel_loaded_ns = now_ns;
	return symbols_load_kernel_from(sy, path) == 0;
}

bool symbols_reload_kernel(struct symbols *sy, uint64_t now_ns)
{
	return symbols_reload_kernel_from(sy, "/proc/kallsyms", now_ns);
}

const char *symbols_kernel_why(const struct symbols *sy)
{
	return sy->kernel_why;
}

void symbols_recorded(struct symbols *sy, bool same_boot)
{
	sy->recorded = true;
	sy->foreign = !same_boot;
}

void symbols_timeless(struct symbols *sy)
{
	sy->timeless = true;
}

void symbols_full_names(struct symbols *sy)
{
	sy->full_names = true;
}

void symbols_apply(struct symbols *sy, const struct record *r)
{
	const struct bytes *bytes = &r->ksymbol.name;
	const char *module = r->ksymbol.ksym_type == KSYM_TYPE_BPF ? "[bpf]" : "[kernel]";
	struct naming *n;
	char name[KSYM_NAME_MAX];
	size_t len = bytes->size ? strnlen((const char *)bytes->at, bytes->size) : 0;
	uint32_t function;
	bool replaced;

	if (r->type != RECORD_KSYMBOL)
		return;
	if (r->ksymbol.flags & KSYM_UNREGISTER) {
		ksymbols_remove(&sy->ksymbols, r->ksymbol.addr);
		return;
	}
	n = naming_get(sy, IMAGE_KERNEL);
	if (!n || !len)
		return;
	snprintf(name, sizeof(name), "%.*s", (int)(len < sizeof(name) ? len : sizeof(name) - 1),
		 (const char *)bytes->at);
	function = naming_function(sy, n, functions_intern(&sy->functions, module, strlen(module)),
				   name, strlen(name));
	if (function == FUNCTION_NONE ||
	    ksymbols_add(&sy->ksymbols, r->ksymbol.addr, r->ksymbol.addr + r->ksymbol.len, function,
			 &replaced))
		return;
	sy->generation++;
	if (replaced || kallsyms_find(&sy->kallsyms, r->ksymbol.addr) != UINT32_MAX)
		sy->names_moved++;
}

static uint32_t pseudo_function(struct symbols *sy, uint64_t offset)
{
	static const char *const names[NR_PSEUDO_FRAMES] = {
		[PSEUDO_BROKEN] = "[broken stack]",
		[PSEUDO_CUT] = "[stack cut]",
		[PSEUDO_DEEP] = "[deep stack]",
		[PSEUDO_NO_STACK] = "[no stack]",
	};
	struct function f = { .flags = FUNCTION_PSEUDO };

	if (offset >= NR_PSEUDO_FRAMES)
		offset = PSEUDO_BROKEN;
	if (sy->pseudo[offset] == FUNCTION_NONE) {
		f.name = functions_intern(&sy->functions, names[offset], strlen(names[offset]));
		sy->pseudo[offset] = functions_add(&sy->functions, &f);
	}
	return sy->pseudo[offset];
}

static uint32_t unknown_function(struct symbols *sy)
{
	struct function f = { 0 };

	if (sy->unknown == FUNCTION_NONE) {
		f.name = f.module = f.path = functions_intern(&sy->functions, "[unknown]", 9);
		sy->unknown = functions_add(&sy->functions, &f);
	}
	return sy->unknown;
}

static uint32_t kernel_function(struct symbols *sy, uint64_t addr)
{
	struct naming *n = naming_get(sy, IMAGE_KERNEL);
	const struct ksymbol *record = ksymbols_find(&sy->ksymbols, addr);
	const char *module;
	uint32_t index;

	if (!n)
		return FUNCTION_NONE;
	if (record && !record->gone)
		return record->function;
	index = kallsyms_find(&sy->kallsyms, addr);
	if (index != UINT32_MAX) {
		uint64_t *at = map_find(&n->symbols, index);

		if (at)
			return (uint32_t)*at;
		module = kallsyms_module(&sy->kallsyms, index);
		return naming_symbol(sy, n, index,
				     functions_intern(&sy->functions, module, strlen(module)),
				     kallsyms_name(&sy->kallsyms, index));
	}
	if (record)
		return record->function;
	sy->kernel_missed = true;
	return sy->kernel_known ? naming_place(sy, n, addr) : naming_whole(sy, n);
}

/* Code in a memfd that is no ELF file: where it is mapped, a perf map may name it. */
static uint32_t jit_like_function(struct symbols *sy, struct naming *n, uint64_t offset)
{
	uint64_t addr;
	pid_t pid = sy->recorded ? 0 : space_image_address(sy->space, n->image, offset, &addr);

	return pid ? jit_function(sy, n, pid, addr) : FUNCTION_NONE;
}

static bool has_no_symbols(const struct symbols *sy, uint32_t image, enum image_state state)
{
	return state == IMAGE_FAILED ||
	       (state == IMAGE_LOADED && !strcmp(images_source(sy->images, image), "none"));
}

static uint32_t file_function(struct symbols *sy, struct naming *n, uint64_t offset)
{
	enum image_state state;
	struct image_symbol symbol;

	images_want(sy->images, n->image);
	state = images_state(sy->images, n->image);
	if (state != IMAGE_LOADED && state != IMAGE_FAILED) {
		if (!n->pending)
			n->pending = !vec_push(&sy->pending, n->image);
		return naming_whole(sy, n);
	}
	/* A stripped program may still have those of its PLT. */
	if (images_symbol(sy->images, n->image, offset, &symbol))
		return naming_symbol(sy, n, symbol.index, n->module, symbol.name);
	if (has_no_symbols(sy, n->image, state)) {
		uint32_t function = n->jit_like ? jit_like_function(sy, n, offset) : FUNCTION_NONE;

		if (function != FUNCTION_NONE)
			return function;
		return naming_unread(sy, n, images_refused(sy->images, n->image));
	}
	return naming_place(sy, n, offset);
}

/* A place that is a function: no file and no user's address reaches as far. */
#define PLACE_FUNCTION (1ull << 63)

bool symbols_place_moves(struct symbols *sy, uint32_t image)
{
	const struct image_key *key;
	const struct naming *n;

	if (image < IMAGE_FIRST)
		return false;
	key = space_image(sy->space, image);
	n = key && key->kind != IMAGE_ANON ? naming_get(sy, image) : NULL;
	return !n || n->jit_like;
}

uint64_t symbols_place(struct symbols *sy, pid_t pid, uint32_t image, uint64_t offset,
		       uint64_t time_ns)
{
	const struct image_key *key = space_image(sy->space, image);
	struct naming *n = image < sy->namings.nr ? sy->namings.at[image] : NULL;
	uint64_t addr = offset;
	uint32_t function;

	if (!key || sy->foreign)
		return offset;
	if (key->kind == IMAGE_ANON) {
		pid = key->pid;
		n = n ? n : naming_get(sy, image);
	} else if (!n || !n->jit_like || sy->recorded ||
		   !has_no_symbols(sy, image, images_state(sy->images, image)) ||
		   !space_address(sy->space, pid, image, offset, &addr)) {
		return offset;
	}
	function = n ? dumped_at(sy, n, pid, addr, time_ns) : FUNCTION_NONE;
	return function == FUNCTION_NONE ? offset : PLACE_FUNCTION | function;
}

uint32_t symbols_function(struct symbols *sy, uint32_t image, uint64_t offset)
{
	const struct image_key *key;
	struct naming *n;
	uint32_t function;

	if (image == IMAGE_KERNEL)
		return kernel_function(sy, offset);
	if (image == IMAGE_PSEUDO)
		return pseudo_function(sy, offset);
	key = space_image(sy->space, image);
	if (!key)
		return unknown_function(sy);
	if ((offset & PLACE_FUNCTION) && (uint32_t)offset < sy->functions.at.nr)
		return (uint32_t)offset;
	n = naming_get(sy, image);
	if (!n)
		return FUNCTION_NONE;
	if (key->kind != IMAGE_ANON)
		return file_function(sy, n, offset);
	function = sy->foreign ? FUNCTION_NONE : jit_function(sy, n, key->pid, offset);
	return function != FUNCTION_NONE ? function : naming_whole(sy, n);
}

static bool kernel_start(const struct symbols *sy, uint64_t addr, uint64_t *ret)
{
	const struct ksymbol *record = ksymbols_find(&sy->ksymbols, addr);
	uint32_t index;

	if (record && !record->gone) {
		*ret = record->start;
		return true;
	}
	index = kallsyms_find(&sy->kallsyms, addr);
	if (index == UINT32_MAX)
		return false;
	*ret = kallsyms_start(&sy->kallsyms, index, addr);
	return true;
}

bool symbols_start(const struct symbols *sy, uint32_t image, uint64_t offset, uint64_t *ret)
{
	const struct image_key *key = space_image(sy->space, image);
	struct image_symbol symbol;

	if (image == IMAGE_KERNEL)
		return kernel_start(sy, offset, ret);
	if (key && key->kind == IMAGE_ANON)
		return image < sy->namings.nr && sy->namings.at[image] &&
		       jit_begins(sy->namings.at[image], offset, ret);
	if (!key || !images_symbol(sy->images, image, offset, &symbol))
		return false;
	*ret = symbol.start;
	return true;
}

bool symbols_final(const struct symbols *sy, uint32_t image)
{
	const struct image_key *key;
	enum image_state state;

	if (image == IMAGE_KERNEL)
		return !sy->kernel_missed;
	key = space_image(sy->space, image);
	if (!key)
		return true;
	if (key->kind == IMAGE_ANON)
		return sy->foreign;
	state = images_state(sy->images, image);
	if (has_no_symbols(sy, image, state))
		return sy->recorded || image >= sy->namings.nr || !sy->namings.at[image] ||
		       !sy->namings.at[image]->jit_like;
	return state == IMAGE_LOADED;
}

bool symbols_place_final(const struct symbols *sy, uint32_t image, uint64_t offset)
{
	return (image >= IMAGE_FIRST && (offset & PLACE_FUNCTION)) || symbols_final(sy, image);
}

bool symbols_read(const struct symbols *sy, uint32_t image)
{
	const struct image_key *key;
	enum image_state state;

	if (image == IMAGE_KERNEL)
		return !sy->kernel_missed;
	key = space_image(sy->space, image);
	if (!key || key->kind == IMAGE_ANON)
		return true;
	state = images_state(sy->images, image);
	return state == IMAGE_LOADED || state == IMAGE_FAILED;
}

uint32_t symbols_generation(const struct symbols *sy)
{
	return sy->generation;
}

uint32_t symbols_names_moved(const struct symbols *sy)
{
	return sy->names_moved;
}

static void list_remove(uint32_t *at, size_t *nr, uint32_t image)
{
	for (size_t i = 0; i < *nr; i++) {
		if (at[i] == image) {
			at[i] = at[--*nr];
			return;
		}
	}
}

void symbols_forget(struct symbols *sy, uint32_t image)
{
	struct naming *n;

	if (image < IMAGE_FIRST || image >= sy->namings.nr || !sy->namings.at[image])
		return;
	n = sy->namings.at[image];
	if (n->pending)
		list_remove(sy->pending.at, &sy->pending.nr, image);
	if (n->jit) {
		list_remove(sy->jits.at, &sy->jits.nr, image);
		sy->jit_bytes -= perfmap_bytes(&n->jit->map);
	}
	list_remove(sy->dumps.at, &sy->dumps.nr, image);
	dumped_forget(sy, n);
	sy->namings.at[image] = NULL;
	naming_free(n);
}

/* Images that got another table: what was known by the old one goes, final or not. */
static bool see_replaced(struct symbols *sy)
{
	bool any = false;
	uint32_t image;

	while (images_replaced(sy->images, &image)) {
		symbols_forget(sy, image);
		any = true;
	}
	sy->names_moved += any;
	return any;
}

bool symbols_refresh(struct symbols *sy, uint64_t now_ns)
{
	bool changed = see_replaced(sy);

	for (size_t i = 0; i < sy->pending.nr;) {
		struct naming *n = sy->namings.at[sy->pending.at[i]];
		enum image_state state = images_state(sy->images, n->image);

		if (state != IMAGE_LOADED && state != IMAGE_FAILED) {
			i++;
			continue;
		}
		n->pending = false;
		sy->pending.at[i] = sy->pending.at[--sy->pending.nr];
		changed = true;
	}
	changed |= jit_refresh(sy, now_ns);
	sy->generation += changed;
	return changed;
}

bool symbols_next_code(const struct symbols *sy, size_t *pos, struct kernel_code *ret)
{
	static const char bpf[] = "[bpf]", built_in[] = "[__builtin__";
	const struct kallsyms *k = &sy->kallsyms;

	while (*pos + 1 < k->at.nr) {
		uint32_t i = (uint32_t)(*pos)++;
		const struct ksym *sym = &k->at.at[i];
		uint64_t size = k->at.at[i + 1].addr - sym->addr;
		const char *module = sym->name ? kallsyms_module(k, i) : "";

		if (strcmp(module, bpf) != 0 && strncmp(module, built_in, strlen(built_in)) != 0)
			continue;
		*ret = (struct kernel_code){
			.addr = sym->addr,
			.size = size < KERNEL_CODE_MOST ? (uint32_t)size : KERNEL_CODE_MOST,
			.name = kallsyms_name(k, i),
			.bpf = !strcmp(module, bpf),
		};
		return true;
	}
	return false;
}

bool symbols_info(const struct symbols *sy, uint32_t function, struct function_info *ret)
{
	const struct function *f;

	if (function >= sy->functions.at.nr)
		return false;
	f = &sy->functions.at.at[function];
	*ret = (struct function_info){
		.name = functions_text(&sy->functions, f->name),
		.module = functions_text(&sy->functions, f->module),
		.module_path = functions_text(&sy->functions, f->path),
		.named = f->flags & FUNCTION_NAMED,
		.kernel = f->flags & FUNCTION_KERNEL,
		.entry = f->flags & FUNCTION_ENTRY,
		.pseudo = f->flags & FUNCTION_PSEUDO,
	};
	return true;
}

size_t symbols_nr_functions(const struct symbols *sy)
{
	return sy->functions.at.nr;
}

size_t symbols_bytes(const struct symbols *sy)
{
	size_t n = sizeof(*sy) + functions_bytes(&sy->functions) + kallsyms_bytes(&sy->kallsyms) +
		   sy->ksymbols.at.cap * sizeof(sy->ksymbols.at.at[0]) +
		   (sy->pending.cap + sy->jits.cap + sy->dumps.cap) * sizeof(uint32_t) +
		   sy->namings.cap * sizeof(sy->namings.at[0]);

	for (size_t i = 0; i < sy->namings.nr; i++)
		n += naming_bytes(sy->namings.at[i]);
	return n;
}
