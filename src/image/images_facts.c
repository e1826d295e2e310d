/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the registry can tell of an image, besides its names. */
#include "image/images_impl.h"

enum image_rows images_rows(const struct images *im, uint32_t id)
{
	static const enum image_rows states[] = {
		[ROWS_UNASKED] = IMAGE_ROWS_UNASKED,
		[ROWS_WANTED] = IMAGE_ROWS_WAITING,
		[ROWS_READY] = IMAGE_ROWS_READY,
		[ROWS_FAILED] = IMAGE_ROWS_FAILED,
	};
	const struct image *image = image_get(im, id);

	return image != NULL ? states[image->rows_state] : IMAGE_ROWS_UNASKED;
}

size_t images_build_id(const struct images *im, uint32_t id, const uint8_t **ret)
{
	const struct image *image = image_get(im, id);

	if (image == NULL)
		return 0;
	if (image->state == IMAGE_LOADED && image->table.header->build_id_size > 0) {
		*ret = image->table.header->build_id;
		return image->table.header->build_id_size;
	}
	*ret = image->build_id;
	return image->known ? image->sight.build_id_size : 0;
}
