/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug files from servers (debuginfod.h) for images that have few names.  The table that an image
 * has stays until a better one is there; then it is replaced, and images_replaced() tells of it.
 * The program's descriptor is kept for that, for a bounded number of images.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/reason.h"
#include "image/debuginfod.h"
#include "image/images_impl.h"

int images_use_debuginfod(struct images *im, struct debuginfod *d)
{
	int err = images_watch(im, debuginfod_fd(d));

	if (err == 0)
		im->debuginfod = d;
	return err;
}

void image_fetch(struct images *im, uint32_t id)
{
	struct image *image = im->at.at[id];
	const struct table_header *h = image->table.header;
	struct image_fetched f = { .image = id, .fd = -1, .debug_fd = -1, .inlines_fd = -1 };

	if (im->debuginfod == NULL || image->sight.vdso || image->fd < 0 || image->pinned ||
	    image->fetched || h->source > TABLE_MINI_DEBUG || im->fetched.nr >= DEBUGINFOD_MAX)
		return;
	f.fd = fcntl(image->fd, F_DUPFD_CLOEXEC, 3);
	if (f.fd < 0)
		return;
	if (vec_push(&im->fetched, f) != 0) {
		close(f.fd);
		return;
	}
	if (debuginfod_ask(im->debuginfod, id, h->build_id, h->build_id_size) != 0) {
		close(f.fd);
		im->fetched.nr--;
		return;
	}
	image->fetched = true;
	image_set_text(&image->why, "a debuginfod server is being asked for its debug file");
}

static struct image_fetched *fetched_of(struct images *im, uint32_t id)
{
	for (size_t i = 0; i < im->fetched.nr; i++) {
		if (im->fetched.at[i].image == id)
			return &im->fetched.at[i];
	}
	return NULL;
}

static void drop(struct images *im, struct image_fetched *f)
{
	close(f->fd);
	if (f->debug_fd >= 0)
		close(f->debug_fd);
	if (f->inlines_fd >= 0)
		close(f->inlines_fd);
	*f = im->fetched.at[--im->fetched.nr];
}

/* Nothing came of it; the image keeps what it has. */
static void give_up(struct images *im, struct image_fetched *f, const char *why)
{
	struct image *image = image_get(im, f->image);
	struct reason text;

	if (image != NULL) {
		reason_set(&text, 0, "%s: %s",
			   image->table.header->source == TABLE_NO_NAMES
				   ? "it is stripped of all symbols"
				   : "only exported functions have names",
			   why);
		image_set_text(&image->why, text.text);
		im->changed++;
	}
	drop(im, f);
}

static void take_downloads(struct images *im)
{
	struct debuginfod_answer a;

	while (debuginfod_take(im->debuginfod, &a)) {
		struct image_fetched *f = fetched_of(im, a.image);

		if (f == NULL) {
			if (a.fd >= 0)
				close(a.fd);
		} else if (a.fd < 0) {
			give_up(im, f, a.why.text);
		} else {
			f->debug_fd = a.fd;
		}
	}
}

/* Has the table made anew; not before what is waited for. */
static void read_fetched(struct images *im)
{
	for (size_t i = 0; i < im->fetched.nr; i++) {
		struct image_fetched *f = &im->fetched.at[i];
		struct loader_request r = {
			.what = LOADER_SYMBOLS,
			.image = f->image,
			.foreign = true,
		};

		if (f->debug_fd < 0 || f->serial != 0)
			continue;
		if (images_wanting(im) > 0 || !loader_has_room(im->loader))
			return;
		r.fds[0] = fcntl(f->fd, F_DUPFD_CLOEXEC, 3);
		if (r.fds[0] < 0)
			return;
		f->inlines_fd = fcntl(f->debug_fd, F_DUPFD_CLOEXEC, 3);
		r.fds[1] = f->debug_fd;
		r.nr_fds = 2;
		f->debug_fd = -1;
		if (loader_send(im->loader, &r, &f->serial) != 0) {
			give_up(im, f, "the loader process is gone");
			return;
		}
	}
}

void images_fetch(struct images *im)
{
	if (im->debuginfod == NULL)
		return;
	take_downloads(im);
	read_fetched(im);
}

/* What has symbols has debug information, too. */
static void give_inlines(struct images *im, struct image_fetched *f)
{
	int fd = f->inlines_fd >= 0 ? fcntl(f->fd, F_DUPFD_CLOEXEC, 3) : -1;

	if (fd < 0)
		return;
	image_give_inlines(im, f->image, fd, f->inlines_fd);
	f->inlines_fd = -1;
}

bool image_take_fetched(struct images *im, const struct loader_answer *a, bool *ret_bytes_taken)
{
	struct image_fetched *f = a->what == LOADER_SYMBOLS ? fetched_of(im, a->image) : NULL;
	const struct image_bytes bytes = { .at = a->bytes, .size = a->size, .mapped = true };
	struct image *image = image_get(im, a->image);

	*ret_bytes_taken = false;
	if (f == NULL || f->serial == 0 || f->serial != a->serial)
		return false;
	if (image == NULL || image->state != IMAGE_LOADED) {
		drop(im, f);
	} else if (a->err != 0) {
		give_up(im, f, a->why.text);
	} else if (a->table.header->source != TABLE_DEBUG_FILE) {
		give_up(im, f, "the debuginfod server's file is of another build");
	} else if (vec_push(&im->replaced, a->image) == 0) {
		give_inlines(im, f);
		drop(im, f);
		image_replace_table(im, a->image, &a->table, bytes);
		*ret_bytes_taken = true;
	}
	return true;
}

bool images_replaced(struct images *im, uint32_t *ret)
{
	if (im->replaced.nr == 0)
		return false;
	*ret = im->replaced.at[--im->replaced.nr];
	return true;
}

void image_forget_fetched(struct images *im, uint32_t id)
{
	struct image_fetched *f = fetched_of(im, id);

	if (f != NULL) {
		debuginfod_cancel(im->debuginfod, id);
		drop(im, f);
	}
	for (size_t i = im->replaced.nr; i > 0; i--) {
		if (im->replaced.at[i - 1] == id)
			im->replaced.at[i - 1] = im->replaced.at[--im->replaced.nr];
	}
}

void images_fetch_done(struct images *im)
{
	vec_done(&im->fetched);
	vec_done(&im->replaced);
}
