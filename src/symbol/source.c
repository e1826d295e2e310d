/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where names are from, for those who judge them. */
#include "symbol/naming.h"

static const struct naming *naming_find(const struct symbols *sy, uint32_t image)
{
	return image < sy->namings.nr ? sy->namings.at[image] : NULL;
}

bool symbols_jit(const struct symbols *sy, uint32_t image)
{
	const struct image_key *key = image >= IMAGE_FIRST ? space_image(sy->space, image) : NULL;
	const struct naming *n = naming_find(sy, image);

	if (!key)
		return false;
	return key->kind == IMAGE_ANON ||
	       (n && n->jit_like && images_state(sy->images, image) != IMAGE_LOADED);
}

const char *symbols_source(const struct symbols *sy, uint32_t image)
{
	const struct naming *n = naming_find(sy, image);

	if (image == IMAGE_KERNEL)
		return sy->kernel_known ? "kallsyms" : "none";
	if (image < IMAGE_FIRST)
		return "none";
	if (n && n->jit && n->jit->map.at.nr)
		return "perf map";
	return images_source(sy->images, image);
}
