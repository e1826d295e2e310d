/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/suffix.h"
#include "symbol/naming.h"

/* The last part of a path, without the kernel's " (deleted)". */
static const char *basename_of(const char *path, size_t *ret_len)
{
	static const char gone[] = " (deleted)";
	size_t len = strlen(path), cut = sizeof(gone) - 1;
	const char *slash;

	if (len > cut && !memcmp(path + len - cut, gone, cut))
		len -= cut;
	slash = memrchr(path, '/', len);
	if (slash && slash + 1 < path + len) {
		len -= (size_t)(slash + 1 - path);
		path = slash + 1;
	}
	*ret_len = len;
	return path;
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Module and path of an image; false for one that the space does not know. */
static bool identify(struct symbols *sy, struct naming *n)
{
	const struct image_key *key;
	const char *path, *base;
	size_t len;

	if (n->image == IMAGE_KERNEL) {
		n->module = n->path = functions_intern(&sy->functions, "[kernel]", 8);
		n->flags = FUNCTION_KERNEL;
		return true;
	}
	key = space_image(sy->space, n->image);
	if (!key)
		return false;
	if (key->kind == IMAGE_ANON) {
		n->module = n->path = functions_intern(&sy->functions, "[jit]", 5);
		return true;
	}
	path = space_string(sy->space, key->path);
	if (!*path)
		path = "[file]";
	base = basename_of(path, &len);
	n->module = functions_intern(&sy->functions, base, len);
	n->path = functions_intern(&sy->functions, path, strlen(path));
	n->jit_like = begins(path, "/memfd:") || begins(path, "/dev/zero") ||
		      begins(path, "/SYSV") || begins(path, "/anon_hugepage") ||
		      begins(path, "/dev/shm/");
	return true;
}

struct naming *naming_get(struct symbols *sy, uint32_t image)
{
	struct naming *n;

	if (image < sy->namings.nr && sy->namings.at[image])
		return sy->namings.at[image];
	if (image != IMAGE_KERNEL && image >= space_nr_images(sy->space))
		return NULL;
	if (vec_reserve(&sy->namings, (size_t)image + 1))
		return NULL;
	while (sy->namings.nr <= image)
		sy->namings.at[sy->namings.nr++] = NULL;
	n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->image = image;
	n->whole = n->others = n->unread = FUNCTION_NONE;
	if (!identify(sy, n) || n->module == UINT32_MAX || n->path == UINT32_MAX) {
		free(n);
		return NULL;
	}
	sy->namings.at[image] = n;
	return n;
}

void naming_free(struct naming *n)
{
	if (!n)
		return;
	if (n->jit)
		perfmap_done(&n->jit->map);
	free(n->jit);
	dumped_free(n->dump);
	map_done(&n->symbols);
	map_done(&n->places);
	free(n);
}

size_t naming_bytes(const struct naming *n)
{
	if (!n)
		return 0;
	return sizeof(*n) + (n->symbols.cap + n->places.cap) * (sizeof(struct map_entry) + 1) +
	       (n->jit ? sizeof(*n->jit) + perfmap_bytes(&n->jit->map) : 0) + dumped_bytes(n->dump);
}

uint32_t naming_function(struct symbols *sy, struct naming *n, uint32_t module, const char *name,
			 size_t len)
{
	struct function f = { .module = module, .path = n->path, .flags = n->flags };

	if (module != n->module)
		f.path = module;
	f.flags |= FUNCTION_NAMED;
	f.name = functions_intern(&sy->functions, name, len);
	return functions_add(&sy->functions, &f);
}

uint32_t naming_symbol(struct symbols *sy, struct naming *n, uint64_t index, uint32_t module,
		       const char *name)
{
	uint64_t *at = map_find(&n->symbols, index);
	size_t len = strlen(name);
	uint32_t function;

	if (at)
		return (uint32_t)*at;
	if (!sy->full_names)
		len = suffix_start(name, len);
	function = naming_function(sy, n, module, name, len);
	if (function != FUNCTION_NONE)
		(void)map_set(&n->symbols, index, function); /* else it is looked up again */
	return function;
}

static uint32_t unnamed(struct symbols *sy, const struct naming *n, const char *name, size_t len)
{
	struct function f = { .module = n->module, .path = n->path, .flags = n->flags };

	f.name = functions_intern(&sy->functions, name, len);
	return functions_add(&sy->functions, &f);
}

uint32_t naming_whole(struct symbols *sy, struct naming *n)
{
	const char *module = functions_text(&sy->functions, n->module);

	if (n->whole == FUNCTION_NONE)
		n->whole = unnamed(sy, n, module, strlen(module));
	return n->whole;
}

uint32_t naming_unread(struct symbols *sy, struct naming *n, const char *why)
{
	const char *module = functions_text(&sy->functions, n->module);
	char name[320];

	if (!*why)
		return naming_whole(sy, n);
	if (n->unread == FUNCTION_NONE) {
		snprintf(name, sizeof(name), "%.255s [%s]", module, why);
		n->unread = unnamed(sy, n, name, strlen(name));
	}
	return n->unread;
}

uint32_t naming_place(struct symbols *sy, struct naming *n, uint64_t offset)
{
	const char *module = functions_text(&sy->functions, n->module);
	uint64_t *at = map_find(&n->places, offset);
	uint32_t function;
	char name[320];

	if (at)
		return (uint32_t)*at;
	if (n->places.nr >= PLACES_MAX) {
		snprintf(name, sizeof(name), "%.255s+?", module);
		if (n->others == FUNCTION_NONE)
			n->others = unnamed(sy, n, name, strlen(name));
		return n->others;
	}
	snprintf(name, sizeof(name), "%.255s+0x%llx", module, (unsigned long long)offset);
	function = unnamed(sy, n, name, strlen(name));
	if (function != FUNCTION_NONE && map_set(&n->places, offset, function))
		return FUNCTION_NONE;
	return function;
}
