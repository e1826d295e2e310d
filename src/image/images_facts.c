/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the registry can tell of an image, besides its names. */
#include "image/images_impl.h"

enum image_state images_state(const struct images *im, uint32_t id)
{
	const struct image *image = image_get(im, id);

	return image != NULL ? image->state : IMAGE_UNSEEN;
}

const char *images_why(const struct images *im, uint32_t id)
{
	const struct image *image = image_get(im, id);

	return image != NULL && image->why != NULL ? image->why : "";
}

const char *images_refused(const struct images *im, uint32_t id)
{
	const struct image *image = image_get(im, id);

	if (im->places == NULL || image == NULL || image->state != IMAGE_FAILED || !image->wanted)
		return "";
	if (image->other_id_size != 0)
		return "another build here";
	switch (image->place_err) {
	case 0:
		return "";
	case -EACCES:
	case -EPERM:
		return "no right to read it";
	case -ESTALE:
		return "another build here";
	default:
		return image->sight.foreign && image->sight.build_id_size == 0
			       ? "no build-id recorded"
			       : "recorded file not here";
	}
}

const char *images_source(const struct images *im, uint32_t id)
{
	const struct image *image = image_get(im, id);

	return image != NULL && image->state == IMAGE_LOADED ? table_source_name(&image->table)
							     : "none";
}

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

uint32_t images_inlines_generation(const struct images *im)
{
	return im->inlines_generation;
}

bool images_inlines_waiting(const struct images *im)
{
	return im->inlines_queue.nr > 0 || im->inlines_in_flight > 0;
}
