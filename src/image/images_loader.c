/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Having files read by the loader, in two steps: first its build-id and whether it needs a debug
 * file, then, with the files that may be that, what is wanted.  A file that did the loader harm is
 * not given to it again, for anything.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "image/images_impl.h"
#include "image/loader.h"
#include "image/places.h"

void images_use_loader(struct images *im, struct loader *l)
{
	im->loader = l;
}

void images_use_inlines(struct images *im, bool use)
{
	im->by_inlines = use;
}

int images_fd(const struct images *im)
{
	if (im->watch_fd >= 0)
		return im->watch_fd;
	return im->loader != NULL ? loader_fd(im->loader) : -1;
}

bool image_rows_asked(const struct image *image)
{
	return image->clue_serial != 0 || image->rows_serial != 0 || image_is_asked(image);
}

/* Whether the file is the one that was mapped, as far as the sight's build-id tells. */
static bool is_the_one(const struct image_sight *s, const struct debug_clue *c)
{
	if (s->build_id_size == 0 || (c->build_id_size == 0 && s->ino != 0))
		return true;
	/* The kernel's records pad a short build-id with zeroes up to 20 bytes. */
	return c->build_id_size != 0 && s->build_id_size >= c->build_id_size &&
	       memcmp(s->build_id, c->build_id, c->build_id_size) == 0;
}

static void fail_all(struct images *im, uint32_t id, const struct reason *why)
{
	struct image *image = im->at.at[id];

	if (image->state != IMAGE_LOADED)
		image_fail_table(im, id, why);
	if (image->rows_state != ROWS_READY)
		image_fail_rows(im, id, why);
	image_close(im, id);
}

/* Where files are opened here. */
void image_read_facts(const struct images *im, const struct loader_request *r,
		      struct cache_file *ret)
{
	uint64_t settled_ns = im->cache != NULL ? cache_limits(im->cache)->settled_ns : 0;

	for (unsigned i = 0; i < r->nr_fds; i++) {
		if (im->cache == NULL || !cache_file_read(r->fds[i], settled_ns, &ret[i]))
			ret[i] = (struct cache_file){ 0 };
	}
}

/* Sends what an image waits for, with its own descriptor @fd.  0, or -EAGAIN: no room. */
static int send(struct images *im, uint32_t id, enum loader_what what, int fd)
{
	struct image *image = im->at.at[id];
	struct loader_request r = { .what = what, .image = id, .nr_fds = 1 };
	struct reason why = { 0 };
	struct cache_file files[LOADER_FDS_MAX];
	struct cache_key key;
	uint64_t serial;
	bool keyed;
	int err;

	if (!loader_has_room(im->loader))
		return -EAGAIN;
	r.fds[0] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (r.fds[0] < 0) {
		reason_set(&why, 0, "too many open files; raise ulimit -n");
		fail_all(im, id, &why);
		return -EMFILE;
	}
	if (what != LOADER_IDENTIFY && images_by_opener(im))
		r.nr_fds += image_take_debug(im, image, r.fds + 1, files + 1);
	else if (what != LOADER_IDENTIFY)
		r.nr_fds += image_debug_candidates(im, image, image->clue, fd, r.fds + 1);
	if (images_by_opener(im))
		files[0] = image->file;
	else
		image_read_facts(im, &r, files);
	keyed = image_look_kept(im, image, &r, files, &key);
	err = loader_send(im->loader, &r, &serial);
	if (err == -EAGAIN)
		return err;
	if (err == 0 && keyed)
		images_remember(im, serial, &key);
	if (err != 0) {
		reason_set(&why, 0, "the loader process is gone; start ptop anew");
		fail_all(im, id, &why);
	} else if (what == LOADER_IDENTIFY) {
		image->clue_serial = serial;
	} else if (what == LOADER_SYMBOLS) {
		image->serial = serial;
	} else {
		image->rows_serial = serial;
	}
	return err;
}

bool image_ask(struct images *im, uint32_t id)
{
	struct image *image = im->at.at[id];

	if (image->sight.vdso) {
		image_load(im, id);
		return true;
	}
	/* Where the clue is on its way, its arrival puts the image in the queue again. */
	if (image->clue_serial != 0)
		return true;
	if (images_by_opener(im)) {
		int ready = image_prepare(im, id);

		if (ready != 1)
			return ready != -EAGAIN;
	}
	if (image->fd < 0)
		image_open(im, id);
	if (image->fd < 0)
		return true;
	return send(im, id, image->clue == NULL ? LOADER_IDENTIFY : LOADER_SYMBOLS, image->fd) !=
	       -EAGAIN;
}

bool image_ask_rows(struct images *im, uint32_t id)
{
	struct image *image = im->at.at[id];
	struct reason why = { 0 };
	int fd, err;
	bool own;

	if (image->sight.vdso) {
		image_load_rows(im, id);
		return true;
	}
	if (image->clue_serial != 0)
		return true;
	if (images_by_opener(im)) {
		int ready = image_prepare(im, id);

		if (ready != 1)
			return ready != -EAGAIN;
	}
	fd = image->fd;
	own = fd < 0; /* opened here: send() may close the image's */
	if (fd < 0)
		fd = image_open_again(im, image, &why);
	if (fd < 0) {
		image->rows_tries++;
		image_set_text(&image->rows_why, why.text);
		im->changed++;
		return true;
	}
	err = send(im, id, image->clue == NULL ? LOADER_IDENTIFY : LOADER_ROWS, fd);
	if (own)
		close(fd);
	return err != -EAGAIN;
}

/* The file is another build than the recorded one, or none at all: on to the next place there is.
 */
static bool try_next_place(struct images *im, uint32_t id, const struct loader_answer *a,
			   struct reason *why)
{
	struct image *image = im->at.at[id];

	if (im->places == NULL)
		return false;
	if (a->err == 0) {
		memcpy(image->other_id, a->clue.build_id, sizeof(image->other_id));
		image->other_id_size = a->clue.build_id_size;
	}
	image_close(im, id);
	image->place++;
	image_open(im, id);
	if (image->fd < 0) {
		if (a->err == 0)
			reason_set(why, 0, "%s", image->why != NULL ? image->why : "");
		return false;
	}
	image_enqueue(im, id);
	image_enqueue_rows(im, id);
	return true;
}

static void take_clue(struct images *im, uint32_t id, const struct loader_answer *a)
{
	struct image *image = im->at.at[id];
	struct reason why = a->why;

	image->clue_serial = 0;
	if (a->err == 0 && is_the_one(&image->sight, &a->clue))
		image->clue = malloc(sizeof(*image->clue));
	if (image->clue == NULL) {
		if (try_next_place(im, id, a, &why))
			return;
		if (a->err == 0 && im->places == NULL)
			reason_set(
				&why, 0,
				"the file was replaced since it was mapped; restart the program, or run ptop as root");
		fail_all(im, id, &why);
		return;
	}
	*image->clue = a->clue;
	im->bytes += sizeof(*image->clue);
	image_enqueue(im, id);
	image_enqueue_rows(im, id);
}

static void take_failure(struct images *im, uint32_t id, const struct loader_answer *a)
{
	if (a->harmed || a->err == -EPIPE) {
		fail_all(im, id, &a->why);
	} else if (a->what == LOADER_SYMBOLS) {
		image_fail_table(im, id, &a->why);
	} else {
		image_fail_rows(im, id, &a->why);
	}
}

/* An answer to an image that still waits for it; @a->bytes are taken then. */
static bool take_answer(struct images *im, struct loader_answer *a)
{
	const struct image_bytes bytes = { .at = a->bytes, .size = a->size, .mapped = true };
	struct image *image = image_get(im, a->image);
	bool symbols = a->what == LOADER_SYMBOLS || a->what == LOADER_KEPT_SYMBOLS;
	bool again;

	if (a->what == LOADER_FIND_DWARF || a->what == LOADER_INLINES)
		return image_take_inlines(im, a);
	again = image_take_kept(im, image, a);
	if (image == NULL)
		return false;
	if (a->what == LOADER_IDENTIFY && image->clue_serial == a->serial) {
		take_clue(im, a->image, a);
		return true;
	}
	if (symbols && image->serial == a->serial)
		image->serial = 0;
	else if (!symbols && image->rows_serial == a->serial)
		image->rows_serial = 0;
	else
		return false;
	if (again) {
		image_enqueue(im, a->image);
		image_enqueue_rows(im, a->image);
	} else if (a->err != 0) {
		take_failure(im, a->image, a);
	} else if (symbols) {
		image->table = a->table;
		image_take_table(im, a->image, bytes);
	} else {
		image->rows = a->rows;
		image_take_rows(im, a->image, bytes);
	}
	return true;
}

void images_take_answers(struct images *im)
{
	struct loader_answer a;

	while (loader_take(im->loader, &a)) {
		bool taken = false;

		if (!images_take_keeping(im, &a) && !image_take_fetched(im, &a, &taken))
			taken = take_answer(im, &a);
		if (!taken)
			loader_bytes_free(a.bytes, a.size);
	}
}
