/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading in process: of the vdso, which is the kernel's, and of files where there is no loader.
 */
#include <errno.h>
#include <malloc.h>
#include <unistd.h>

#include "image/build.h"
#include "image/images_impl.h"
#include "image/vdso.h"

#define TRIM_BYTES ((size_t)1 << 20)

static int vdso_of(const struct image *image, const void **ret, size_t *ret_size,
		   struct reason *why)
{
	const struct image_sight *s = &image->sight;
	int err = vdso_bytes(ret, ret_size, why);

	if (err == 0 && s->end != 0 && s->end - s->start != *ret_size)
		err = reason_set(why, -ENOEXEC, "the vdso of another word size");
	return err;
}

static int build_vdso(const struct image *image, struct table_bytes *ret, struct reason *why)
{
	const void *bytes;
	size_t size;
	int err = vdso_of(image, &bytes, &size, why);

	return err != 0 ? err : build_table_memory(bytes, size, &build_defaults, ret, why);
}

static int build_file(const struct images *im, const struct image *image, struct table_bytes *ret,
		      struct reason *why)
{
	int debug_fd = image_debug_open(im, image, image->fd);
	int err = build_table(image->fd, debug_fd, &build_defaults, ret, why);

	if (debug_fd >= 0)
		close(debug_fd);
	return err;
}

/* What libelf and the demangler freed would else stay with the process as garbage between what
 * lives. */
static void trim(size_t size)
{
	if (size >= TRIM_BYTES)
		malloc_trim(0);
}

void image_load(struct images *im, uint32_t id)
{
	struct image *image = im->at.at[id];
	struct table_bytes built = { 0 };
	struct reason why = { 0 };
	int err;

	if (!image->sight.vdso && image->fd < 0)
		image_open(im, id);
	if (!image->sight.vdso && image->fd < 0)
		return;
	if (image->sight.vdso)
		err = build_vdso(image, &built, &why);
	else
		err = build_file(im, image, &built, &why);
	if (err == 0)
		err = table_check(built.at, built.size, &image->table);
	if (err != 0) {
		free(built.at);
		image_fail_table(im, id, &why);
		return;
	}
	image_take_table(im, id, (struct image_bytes){ .at = built.at, .size = built.size });
	trim(built.size);
}

static int build_rows_of_vdso(const struct image *image, struct rows_bytes *ret, struct reason *why)
{
	const void *bytes;
	size_t size;
	int err = vdso_of(image, &bytes, &size, why);

	return err != 0 ? err : rows_build_memory(bytes, size, ret, why);
}

static int build_rows_of_file(const struct images *im, const struct image *image, int fd,
			      struct rows_bytes *ret, struct reason *why)
{
	int debug_fd = image_debug_open(im, image, fd);
	int err = rows_build(fd, debug_fd, ret, why);

	if (debug_fd >= 0)
		close(debug_fd);
	return err;
}

/*
 * Reads the rows of an image.  A file that cannot be opened leaves them wanted: they are tried
 * again when another process maps it.
 */
void image_load_rows(struct images *im, uint32_t id)
{
	struct image *image = im->at.at[id];
	struct rows_bytes built = { 0 };
	struct reason why = { 0 };
	int fd = image->fd, err;

	if (image->sight.vdso) {
		err = build_rows_of_vdso(image, &built, &why);
	} else {
		if (fd < 0)
			fd = image_open_again(im, image, &why);
		if (fd < 0) {
			im->changed++;
			image->rows_tries++;
			image_set_text(&image->rows_why, why.text);
			return;
		}
		err = build_rows_of_file(im, image, fd, &built, &why);
		if (image->fd < 0)
			close(fd);
	}
	if (err == 0)
		err = rows_check(built.at, built.size, &image->rows);
	if (err != 0) {
		free(built.at);
		image_fail_rows(im, id, &why);
		return;
	}
	image_take_rows(im, id, (struct image_bytes){ .at = built.at, .size = built.size });
	trim(built.size);
}
