/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Having files opened by the opener (opener.h).  When a file is seen it is only taken hold of,
 * which waits for nobody; it is opened for reading when something of it is wanted, and then, once
 * the clue is there, what may be its debug file.  Each arrival puts the image in its queue again.
 *
 * A file system that let an opening hang is not asked again for a while, longer each time: each
 * try may leave a process behind that nothing can end.  This is held against file systems without
 * a block device only; a disk may be slow because it is busy.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "image/images_impl.h"
#include "image/loader_protocol.h"
#include "image/open.h"

/* Sets of debug files that wait for the loader to have room. */
#define DEBUG_SETS_MAX 16u
#define SECOND UINT64_C(1000000000)
#define HUNG_FIRST_NS (10 * SECOND)
#define HUNG_DOUBLINGS 8u

int images_watch(struct images *im, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (im->watch_fd < 0) {
		im->watch_fd = epoll_create1(EPOLL_CLOEXEC);
		if (im->watch_fd < 0 ||
		    epoll_ctl(im->watch_fd, EPOLL_CTL_ADD, loader_fd(im->loader), &event) != 0)
			return -errno;
	}
	return epoll_ctl(im->watch_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

int images_use_opener(struct images *im, struct loader *opener)
{
	int err = images_watch(im, loader_fd(opener));

	if (err == 0)
		im->opener = opener;
	return err;
}

bool image_is_asked(const struct image *image)
{
	return image->open_serial != 0 || image->debug_serial != 0;
}

void image_drop_debug(struct images *im, struct image *image)
{
	if (image->debug == NULL)
		return;
	loader_close_fds(image->debug->fds, image->debug->nr);
	free(image->debug);
	image->debug = NULL;
	im->nr_debug--;
}

static struct image_hung *hung_at(struct images *im, const struct image_sight *s)
{
	if (s->ino == 0 || s->maj != 0)
		return NULL;
	for (size_t i = 0; i < im->hung.nr; i++) {
		if (im->hung.at[i].min == s->min)
			return &im->hung.at[i];
	}
	return NULL;
}

static void note_hung(struct images *im, const struct image_sight *s)
{
	struct image_hung *h = hung_at(im, s), new = { .min = s->min };
	unsigned times;

	if (s->ino == 0 || s->maj != 0)
		return;
	if (h == NULL && vec_push(&im->hung, new) == 0)
		h = &im->hung.at[im->hung.nr - 1];
	if (h == NULL)
		return;
	times = h->times < HUNG_DOUBLINGS ? h->times++ : h->times;
	h->until_ns = images_now_ns() + (HUNG_FIRST_NS << times);
}

/* The file cannot be had. */
static void fail_open(struct images *im, uint32_t id, const struct reason *why, bool for_good)
{
	struct image *image = im->at.at[id];

	image_close(im, id);
	if (image->state != IMAGE_LOADED) {
		image->tries = for_good ? IMAGE_TRIES_MAX : image->tries + 1;
		image_fail(im, image, why);
	}
	if (image->rows_state == ROWS_WANTED) {
		image->rows_tries = for_good ? IMAGE_TRIES_MAX : image->rows_tries + 1;
		image_set_text(&image->rows_why, why->text);
		im->changed++;
	}
}

bool images_by_opener(const struct images *im)
{
	return im->opener != NULL && im->places == NULL;
}

static void fill_order(const struct image *image, struct loader_order *o)
{
	const struct image_sight *s = &image->sight;
	size_t length = strlen(image->path);

	memset(o, 0, sizeof(*o));
	o->pid = s->pid;
	o->maj = s->maj;
	o->min = s->min;
	o->by_link = image->via == VIA_MAP_FILES;
	o->start = s->start;
	o->end = s->end;
	o->ino = s->ino;
	if (image->clue != NULL)
		o->clue = *image->clue;
	if (length < sizeof(o->path))
		memcpy(o->path, image->path, length);
}

int image_order(struct images *im, uint32_t id, enum loader_what what, int fd,
		const struct debug_alt *alt, uint64_t *ret_serial, struct reason *why)
{
	struct image *image = im->at.at[id];
	const struct image_hung *h = hung_at(im, &image->sight);
	struct loader_request r = { .what = what, .image = id };
	struct loader_order order;
	int err;

	if (h != NULL && h->until_ns > images_now_ns())
		return reason_set(why, -ETIMEDOUT, "its file system does not answer");
	if (!loader_has_room(im->opener))
		return -EAGAIN;
	if (fd >= 0) {
		r.fds[0] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		r.nr_fds = 1;
		if (r.fds[0] < 0)
			return reason_set(why, -EMFILE, "too many open files; raise ulimit -n");
	}
	fill_order(image, &order);
	if (alt != NULL)
		order.alt = *alt;
	r.order = &order;
	err = loader_send(im->opener, &r, ret_serial);
	if (err != 0)
		return reason_set(why, err,
				  "the process that opens files is gone; start ptop anew");
	return 0;
}

/* 0: asked for, or failed for a reason; -EAGAIN: not now. */
static int ask(struct images *im, uint32_t id, enum loader_what what)
{
	struct image *image = im->at.at[id];
	struct reason why = { 0 };
	uint64_t serial;
	int err = image_order(im, id, what, image->fd, NULL, &serial, &why);

	if (err == -EAGAIN)
		return err;
	if (err != 0)
		fail_open(im, id, &why, err == -EPIPE);
	else if (what == OPENER_FILE)
		image->open_serial = serial;
	else
		image->debug_serial = serial;
	return 0;
}

/* A number for the file of a sight: device and inode, mixed; 0: it has none. */
static uint64_t file_of(const struct image_sight *s)
{
	return s->ino == 0 ? 0 : s->ino ^ ((uint64_t)s->maj << 52 | (uint64_t)s->min << 32);
}

static bool is_known(const struct images *im, uint64_t file)
{
	const uint64_t *id = map_find(&im->by_file, file);
	const struct image *image = id != NULL ? image_get(im, (uint32_t)*id) : NULL;

	return image != NULL &&
	       (image->fd >= 0 || image->state == IMAGE_LOADED || image->tries >= IMAGE_TRIES_MAX);
}

void images_glimpse(struct images *im, const struct image_sight *sight)
{
	struct image_glimpse g = { .pid = sight->pid, .start = sight->start }, *oldest;

	g.file = file_of(sight);
	if (!images_by_opener(im) || g.file == 0 || is_known(im, g.file))
		return;
	g.fd = open_pin(sight, &g.via);
	if (g.fd < 0)
		return;
	if (im->glimpses.nr < IMAGE_GLIMPSES) {
		if (vec_push(&im->glimpses, g) != 0)
			close(g.fd);
		return;
	}
	oldest = &im->glimpses.at[im->next_glimpse++ % IMAGE_GLIMPSES];
	if (oldest->fd >= 0)
		close(oldest->fd);
	*oldest = g;
}

/* What was taken hold of for this sight; -1: nothing. */
static int take_glimpse(struct images *im, const struct image_sight *s, enum file_via *ret_via)
{
	for (size_t i = 0; i < im->glimpses.nr; i++) {
		struct image_glimpse *g = &im->glimpses.at[i];
		int fd = g->fd;

		if (fd < 0 || g->pid != s->pid || g->start != s->start || g->file != file_of(s))
			continue;
		g->fd = -1;
		*ret_via = g->via;
		return fd;
	}
	return -1;
}

void images_glimpses_done(struct images *im)
{
	for (size_t i = 0; i < im->glimpses.nr; i++) {
		if (im->glimpses.at[i].fd >= 0)
			close(im->glimpses.at[i].fd);
	}
	vec_done(&im->glimpses);
	map_done(&im->by_file);
}

void image_forget_file(struct images *im, uint32_t id)
{
	uint64_t file = file_of(&im->at.at[id]->sight);
	const uint64_t *known = map_find(&im->by_file, file);

	if (known != NULL && *known == id)
		map_remove(&im->by_file, file);
}

void image_pin(struct images *im, uint32_t id)
{
	struct image *image = im->at.at[id];
	int fd;

	images_make_room(im);
	if (file_of(&image->sight) != 0)
		(void)map_set(&im->by_file, file_of(&image->sight), id);
	fd = take_glimpse(im, &image->sight, &image->via);
	if (fd < 0)
		fd = open_pin(&image->sight, &image->via);
	if (fd >= 0 && vec_push(&im->open, id) != 0) {
		close(fd);
		fd = -ENOMEM;
	}
	if (fd >= 0) {
		image->fd = fd;
		image->pinned = true;
	}
	/* A file system must be asked: at once, for the process may be gone soon. */
	if ((fd == -EAGAIN || fd == -EINVAL) && !image_is_asked(image))
		(void)ask(im, id, OPENER_FILE);
	if (image->state != IMAGE_LOADED && (fd >= 0 || image_is_asked(image)))
		image_set_state(im, image, fd >= 0 ? IMAGE_OPEN : IMAGE_UNSEEN);
	else if (image->state == IMAGE_FAILED && image->tries < IMAGE_TRIES_MAX)
		image_set_state(im, image, IMAGE_UNSEEN);
}

int image_prepare(struct images *im, uint32_t id)
{
	struct image *image = im->at.at[id];

	if (image_is_asked(image))
		return 0;
	if (image->fd < 0 || image->pinned)
		return ask(im, id, OPENER_FILE);
	if (image->clue == NULL || image->debug != NULL || image->no_debug)
		return 1;
	return im->nr_debug < DEBUG_SETS_MAX ? ask(im, id, OPENER_DEBUG) : -EAGAIN;
}

unsigned image_take_debug(struct images *im, struct image *image, int *ret_fds,
			  struct cache_file *ret_files)
{
	unsigned nr = image->debug != NULL ? image->debug->nr : 0;

	if (nr > 0) {
		memcpy(ret_fds, image->debug->fds, nr * sizeof(ret_fds[0]));
		memcpy(ret_files, image->debug->files, nr * sizeof(ret_files[0]));
		image->debug->nr = 0;
	}
	image_drop_debug(im, image);
	return nr;
}

/* The file is open: in the place of the pin. False: there was no room for it. */
static bool take_file(struct images *im, uint32_t id, const struct loader_answer *a)
{
	struct image *image = im->at.at[id];

	image_close(im, id);
	images_make_room(im);
	if (vec_push(&im->open, id) != 0)
		return false;
	image->fd = a->fds[0];
	image->file = a->files[0];
	image->our_root = a->our_root;
	image->tries = 0;
	image_set_text(&image->why, "");
	if (image->state != IMAGE_LOADED)
		image_set_state(im, image, IMAGE_OPEN);
	return true;
}

static bool take_set(struct images *im, struct image *image, const struct loader_answer *a)
{
	struct image_debug *d = image->debug == NULL ? calloc(1, sizeof(*d)) : NULL;

	if (d == NULL)
		return false;
	d->nr = a->nr_fds < DEBUG_CANDIDATES_MAX ? a->nr_fds : DEBUG_CANDIDATES_MAX;
	memcpy(d->fds, a->fds, d->nr * sizeof(d->fds[0]));
	memcpy(d->files, a->files, d->nr * sizeof(d->files[0]));
	image->debug = d;
	im->nr_debug++;
	return true;
}

/* Whether the descriptors were taken. */
static bool take_opened(struct images *im, const struct loader_answer *a)
{
	struct image *image = image_get(im, a->image);
	struct reason why = a->why;
	bool taken = false;

	if (a->err == -ETIMEDOUT)
		reason_set(&why, 0, "its file system does not answer");
	if (a->what == OPENER_WHERE || a->what == OPENER_ALT)
		return image_take_inlines(im, a);
	if (image == NULL)
		return false;
	if (a->what == OPENER_FILE && image->open_serial == a->serial) {
		image->open_serial = 0;
		if (a->err == -ETIMEDOUT)
			note_hung(im, &image->sight);
		if (a->err != 0)
			fail_open(im, a->image, &why, a->harmed || a->err == -EPIPE);
		else
			taken = take_file(im, a->image, a);
	} else if (a->what == OPENER_DEBUG && image->debug_serial == a->serial) {
		image->debug_serial = 0;
		image->no_debug = a->err != 0;
		taken = a->err == 0 && image->fd >= 0 && take_set(im, image, a);
	} else {
		return false;
	}
	image_enqueue(im, a->image);
	image_enqueue_rows(im, a->image);
	return taken;
}

void images_take_opened(struct images *im)
{
	struct loader_answer a;

	while (loader_take(im->opener, &a)) {
		if (!take_opened(im, &a))
			loader_close_fds(a.fds, a.nr_fds);
	}
}
