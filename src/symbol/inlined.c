/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A function that was inlined is the same as its copy that was not, which the image's symbols name:
 * one function id, by name and module.
 */
#include <errno.h>
#include <string.h>

#include "symbol/naming.h"

/* Only a file can have debug information. */
static bool is_file(const struct symbols *sy, uint32_t image)
{
	const struct image_key *key = image >= IMAGE_FIRST ? space_image(sy->space, image) : NULL;

	return key != NULL && key->kind != IMAGE_ANON;
}

int symbols_inlined_key(struct symbols *sy, uint32_t image, uint64_t offset, uint64_t *ret)
{
	int err = is_file(sy, image) ? images_inlines_key(sy->images, image, offset, ret)
				     : -ENODATA;

	if (err == -ENODATA)
		*ret = 0;
	return err == -EAGAIN ? err : 0;
}

int symbols_inlined(struct symbols *sy, uint32_t image, uint64_t offset,
		    uint32_t ret[INLINES_DEPTH_MAX])
{
	const char *names[INLINES_DEPTH_MAX];
	struct naming *n;
	uint32_t nr;
	int err;

	if (!is_file(sy, image))
		return 0;
	err = images_inlines(sy->images, image, offset, names, &nr);
	if (err != 0)
		return err == -EAGAIN ? err : 0;
	n = nr > 0 ? naming_get(sy, image) : NULL;
	for (uint32_t i = 0; i < nr; i++) {
		ret[i] = n != NULL ? naming_function(sy, n, n->module, names[i], strlen(names[i]))
				   : FUNCTION_NONE;
		if (ret[i] == FUNCTION_NONE)
			return 0;
	}
	return (int)nr;
}

uint32_t symbols_inlined_generation(const struct symbols *sy)
{
	return images_inlines_generation(sy->images);
}
