/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One struct image an id.  An image is queued for building from the moment when it is both wanted
 * and known where to be read; the queue is a stack, for what was wanted last is what is on the
 * screen.
 *
 * A descriptor closed to make room is opened again from the remembered sight when its turn comes.
 * An image whose file could not be opened is tried again when another process maps it, a few times
 * at most.
 *
 * Rows to unwind by have a queue of their own, which goes first: samples wait for them.  Once any
 * have been asked for, an image's descriptor is kept until its rows are there, for who asks for
 * names usually asks for rows soon, and the process may be gone by then.
 */
#include "image/images.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/reason.h"
#include "base/vec.h"
#include "image/build.h"
#include "image/debugfile.h"
#include "image/open.h"
#include "image/rows.h"
#include "image/table.h"
#include "image/vdso.h"

#define DESCRIPTORS_MAX 256u
#define OPEN_TRIES_MAX 4u
#define IDS_MAX (1u << 24)
#define TRIM_BYTES ((size_t)1 << 20)

enum rows_state { ROWS_UNASKED, ROWS_WANTED, ROWS_READY, ROWS_FAILED };

struct image {
	struct image_sight sight; /* the last; its strings are owned: .path, build_id below */
	char *path;
	uint8_t build_id[20];
	enum image_state state;
	int fd;
	uint64_t seen; /* stamp of the last sight */
	unsigned tries;
	bool known, wanted, queued;
	struct table_bytes bytes;
	struct table table;
	char *why; /* NULL: nothing to say */
	enum rows_state rows_state;
	bool rows_queued;
	unsigned rows_tries;
	struct rows_bytes rows_bytes;
	struct rows rows;
	char *rows_why;
};

struct images {
	VEC(struct image *) at; /* by id; NULL: never heard of */
	VEC(uint32_t) queue;    /* last in, first built */
	VEC(uint32_t) rows_queue;
	VEC(uint32_t) open; /* ids that hold a descriptor */
	bool by_rows;       /* somebody asked for rows */
	uint64_t stamp;
	size_t changed; /* states, since the last images_work() */
	size_t bytes;
};

struct images *images_new(void)
{
	return calloc(1, sizeof(struct images));
}

static struct image *image_get(const struct images *im, uint32_t id)
{
	return id < im->at.nr ? im->at.at[id] : NULL;
}

/* The image of an id, made when new; NULL without memory. */
static struct image *image_make(struct images *im, uint32_t id)
{
	struct image *image = image_get(im, id);

	if (image != NULL)
		return image;
	if (id >= IDS_MAX || vec_reserve(&im->at, (size_t)id + 1) != 0)
		return NULL;
	image = calloc(1, sizeof(*image));
	if (image == NULL)
		return NULL;
	image->fd = -1;
	while (im->at.nr <= id)
		im->at.at[im->at.nr++] = NULL;
	im->at.at[id] = image;
	im->bytes += sizeof(*image);
	return image;
}

static void set_state(struct images *im, struct image *image, enum image_state state)
{
	if (image->state != state)
		im->changed++;
	image->state = state;
}

static void set_text(char **to, const char *text)
{
	free(*to);
	*to = text[0] != '\0' ? strdup(text) : NULL;
}

static void set_why(struct image *image, const char *text)
{
	set_text(&image->why, text);
}

static void fail(struct images *im, struct image *image, const struct reason *why)
{
	set_why(image, why->text);
	set_state(im, image, IMAGE_FAILED);
}

static void close_image(struct images *im, uint32_t id)
{
	struct image *image = im->at.at[id];

	if (image->fd < 0)
		return;
	close(image->fd);
	image->fd = -1;
	for (size_t i = 0; i < im->open.nr; i++) {
		if (im->open.at[i] == id) {
			im->open.at[i] = im->open.at[--im->open.nr];
			break;
		}
	}
}

/* Closes the descriptor least recently seen, first among those nobody waits for. */
static void make_room(struct images *im)
{
	uint32_t oldest = im->open.at[0];

	for (size_t i = 1; i < im->open.nr; i++) {
		const struct image *a = im->at.at[im->open.at[i]], *b = im->at.at[oldest];

		bool a_waits = a->queued || a->rows_queued, b_waits = b->queued || b->rows_queued;

		if (a_waits != b_waits ? b_waits : a->seen < b->seen)
			oldest = im->open.at[i];
	}
	close_image(im, oldest);
	if (im->at.at[oldest]->state == IMAGE_OPEN)
		set_state(im, im->at.at[oldest], IMAGE_UNSEEN);
}

/* Copies a sight; false without memory. */
static bool keep_sight(struct images *im, struct image *image, const struct image_sight *sight)
{
	const char *path = sight->path != NULL ? sight->path : "";
	size_t id_size = sight->build_id_size <= sizeof(image->build_id) ? sight->build_id_size
									 : sizeof(image->build_id);

	if (image->path == NULL || strcmp(image->path, path) != 0) {
		char *copy = strdup(path);

		if (copy == NULL)
			return false;
		im->bytes -= image->path != NULL ? strlen(image->path) + 1 : 0;
		im->bytes += strlen(copy) + 1;
		free(image->path);
		image->path = copy;
	}
	image->sight = *sight;
	image->sight.path = image->path;
	if (id_size > 0)
		memcpy(image->build_id, sight->build_id, id_size);
	image->sight.build_id = image->build_id;
	image->sight.build_id_size = (uint8_t)id_size;
	image->known = true;
	return true;
}

/* Opens the file of the last sight.  On failure the image has failed. */
static void open_image(struct images *im, uint32_t id)
{
	struct image *image = im->at.at[id];
	struct reason why = { 0 };
	int fd;

	if (im->open.nr >= DESCRIPTORS_MAX)
		make_room(im);
	image->tries++;
	fd = open_mapped(&image->sight, &why);
	if (fd < 0) {
		fail(im, image, &why);
		return;
	}
	if (vec_push(&im->open, id) != 0) {
		close(fd);
		return;
	}
	image->fd = fd;
	image->tries = 0;
	set_why(image, "");
	set_state(im, image, IMAGE_OPEN);
}

/* Puts an image in the queue once it is wanted and there is something to read. */
static void enqueue(struct images *im, uint32_t id)
{
	struct image *image = im->at.at[id];

	if (!image->wanted || !image->known || image->queued || image->state == IMAGE_LOADED ||
	    image->state == IMAGE_FAILED)
		return;
	if (vec_push(&im->queue, id) == 0)
		image->queued = true;
}

/* The same for rows, which may be read after the symbols or where those failed. */
static void enqueue_rows(struct images *im, uint32_t id)
{
	struct image *image = im->at.at[id];

	if (image->rows_state != ROWS_WANTED || !image->known || image->rows_queued ||
	    image->rows_tries >= OPEN_TRIES_MAX)
		return;
	if (vec_push(&im->rows_queue, id) == 0)
		image->rows_queued = true;
}

/* Takes @id out of a queue of @nr; returns how many are left. */
static size_t dequeue(uint32_t *queue, size_t nr, uint32_t id)
{
	for (size_t i = 0; i < nr; i++) {
		if (queue[i] == id) {
			memmove(&queue[i], &queue[i + 1], (nr - i - 1) * sizeof(queue[0]));
			return nr - 1;
		}
	}
	return nr;
}

void images_see(struct images *im, uint32_t id, const struct image_sight *sight)
{
	struct image *image = image_make(im, id);

	if (image == NULL)
		return;
	image->seen = ++im->stamp;
	if (image->rows_state == ROWS_WANTED && !image->rows_queued && image->state != IMAGE_OPEN &&
	    keep_sight(im, image, sight))
		enqueue_rows(im, id);
	if (image->state == IMAGE_LOADED || image->state == IMAGE_OPEN)
		return;
	if (image->state == IMAGE_FAILED && image->tries >= OPEN_TRIES_MAX)
		return;
	if (!keep_sight(im, image, sight))
		return;
	if (sight->vdso)
		set_state(im, image, IMAGE_OPEN);
	else
		open_image(im, id);
	enqueue(im, id);
}

void images_want(struct images *im, uint32_t id)
{
	struct image *image = image_get(im, id);

	if (image != NULL && image->wanted)
		return;
	image = image_make(im, id);
	if (image == NULL)
		return;
	image->wanted = true;
	enqueue(im, id);
}

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

static int build_file(const struct image *image, struct table_bytes *ret, struct reason *why)
{
	int debug_fd = debugfile_open(image->fd, image->sight.pid, image->path);
	int err = build_table(image->fd, debug_fd, &build_defaults, ret, why);

	if (debug_fd >= 0)
		close(debug_fd);
	return err;
}

/* Says it where names will be few. */
static void judge_source(struct image *image)
{
	if (image->sight.vdso)
		return;
	switch ((enum table_source)image->table.header->source) {
	case TABLE_NO_NAMES:
		set_why(image, "it is stripped of all symbols; install its debug package");
		break;
	case TABLE_DYNSYM:
		set_why(image, "only exported functions have names; install its debug package");
		break;
	default:
		set_why(image, "");
	}
}

static void load(struct images *im, uint32_t id)
{
	struct image *image = im->at.at[id];
	struct reason why = { 0 };
	int err;

	if (!image->sight.vdso && image->fd < 0)
		open_image(im, id);
	if (!image->sight.vdso && image->fd < 0)
		return;
	if (image->sight.vdso)
		err = build_vdso(image, &image->bytes, &why);
	else
		err = build_file(image, &image->bytes, &why);
	if (!im->by_rows || image->rows_state >= ROWS_READY)
		close_image(im, id);
	image->tries = OPEN_TRIES_MAX;
	if (err != 0 || table_check(image->bytes.at, image->bytes.size, &image->table) != 0) {
		fail(im, image, &why);
		return;
	}
	im->bytes += image->bytes.size;
	judge_source(image);
	set_state(im, image, IMAGE_LOADED);
	/* What libelf and the demangler freed would else stay with the process as garbage between
	 * what lives. */
	if (image->bytes.size >= TRIM_BYTES)
		malloc_trim(0);
}

static int build_rows_of_vdso(struct image *image, struct reason *why)
{
	const void *bytes;
	size_t size;
	int err = vdso_of(image, &bytes, &size, why);

	return err != 0 ? err : rows_build_memory(bytes, size, &image->rows_bytes, why);
}

static int build_rows_of_file(struct image *image, int fd, struct reason *why)
{
	int debug_fd = debugfile_open(fd, image->sight.pid, image->path);
	int err = rows_build(fd, debug_fd, &image->rows_bytes, why);

	if (debug_fd >= 0)
		close(debug_fd);
	return err;
}

/*
 * Reads the rows of an image.  A file that cannot be opened leaves them wanted: they are tried
 * again when another process maps it.
 */
static void load_rows(struct images *im, uint32_t id)
{
	struct image *image = im->at.at[id];
	struct reason why = { 0 };
	int fd = image->fd, err;

	im->changed++;
	if (image->sight.vdso) {
		err = build_rows_of_vdso(image, &why);
	} else {
		if (fd < 0)
			fd = open_mapped(&image->sight, &why);
		if (fd < 0) {
			image->rows_tries++;
			set_text(&image->rows_why, why.text);
			return;
		}
		err = build_rows_of_file(image, fd, &why);
		if (image->fd < 0)
			close(fd);
		else if (image->state != IMAGE_OPEN)
			close_image(im, id);
	}
	image->rows_state = ROWS_FAILED;
	set_text(&image->rows_why, why.text);
	if (err != 0 || rows_check(image->rows_bytes.at, image->rows_bytes.size, &image->rows) != 0)
		return;
	image->rows_state = ROWS_READY;
	im->bytes += image->rows_bytes.size;
	if (image->rows_bytes.size >= TRIM_BYTES)
		malloc_trim(0);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

size_t images_work(struct images *im, uint64_t budget_ns)
{
	uint64_t start = images_wanting(im) > 0 ? now_ns() : 0;
	size_t changed;

	while (images_wanting(im) > 0) {
		uint32_t id;

		if (im->rows_queue.nr > 0) {
			id = im->rows_queue.at[--im->rows_queue.nr];
			im->at.at[id]->rows_queued = false;
			load_rows(im, id);
		} else {
			id = im->queue.at[--im->queue.nr];
			im->at.at[id]->queued = false;
			load(im, id);
		}
		if (now_ns() - start >= budget_ns)
			break;
	}
	changed = im->changed;
	im->changed = 0;
	return changed;
}

size_t images_wanting(const struct images *im)
{
	return im->queue.nr + im->rows_queue.nr;
}

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

const char *images_source(const struct images *im, uint32_t id)
{
	const struct image *image = image_get(im, id);

	return image != NULL && image->state == IMAGE_LOADED ? table_source_name(&image->table)
							     : "none";
}

bool images_symbol(const struct images *im, uint32_t id, uint64_t offset, struct image_symbol *ret)
{
	const struct image *image = image_get(im, id);
	const struct table_symbol *symbol;
	uint32_t index;

	if (image == NULL || image->state != IMAGE_LOADED)
		return false;
	index = table_symbol(&image->table, offset);
	if (index == TABLE_NO_SYMBOL)
		return false;
	symbol = &image->table.symbols[index];
	*ret = (struct image_symbol){
		.index = index,
		.name = table_name(&image->table, index),
		.size = symbol->size,
	};
	table_offset(&image->table, symbol->start, &ret->start);
	return true;
}

/* Rows that are not there: asks for them; whether to come again. */
static int rows_later(struct images *im, uint32_t id)
{
	struct image *image = image_make(im, id);

	if (image == NULL || image->rows_state == ROWS_FAILED)
		return -ENODATA;
	if (image->rows_state == ROWS_UNASKED) {
		image->rows_state = ROWS_WANTED;
		im->by_rows = true;
		enqueue_rows(im, id);
	}
	return image->known && !image->rows_queued ? -ENODATA : -EAGAIN;
}

int images_rule(struct images *im, uint32_t id, uint64_t offset, const struct unwind_rule **ret)
{
	const struct image *image = image_get(im, id);
	uint64_t vaddr;

	if (image == NULL || image->rows_state != ROWS_READY)
		return rows_later(im, id);
	if (rows_vaddr(&image->rows, offset, &vaddr))
		*ret = rows_find(&image->rows, vaddr);
	else
		*ret = &image->rows.rules[ROWS_NO_RULE];
	return 0;
}

const char *images_rows_why(const struct images *im, uint32_t id)
{
	const struct image *image = image_get(im, id);

	return image != NULL && image->rows_why != NULL ? image->rows_why : "";
}

void images_forget(struct images *im, uint32_t id)
{
	struct image *image = image_get(im, id);

	if (image == NULL)
		return;
	if (image->queued)
		im->queue.nr = dequeue(im->queue.at, im->queue.nr, id);
	if (image->rows_queued)
		im->rows_queue.nr = dequeue(im->rows_queue.at, im->rows_queue.nr, id);
	close_image(im, id);
	im->bytes -= sizeof(*image) + image->bytes.size + image->rows_bytes.size;
	im->bytes -= image->path != NULL ? strlen(image->path) + 1 : 0;
	free(image->bytes.at);
	free(image->path);
	free(image->why);
	free(image->rows_bytes.at);
	free(image->rows_why);
	free(image);
	im->at.at[id] = NULL;
}

size_t images_bytes(const struct images *im)
{
	return sizeof(*im) + im->bytes + im->at.cap * sizeof(im->at.at[0]) +
	       im->queue.cap * sizeof(im->queue.at[0]) +
	       im->rows_queue.cap * sizeof(im->rows_queue.at[0]) +
	       im->open.cap * sizeof(im->open.at[0]);
}

void images_free(struct images *im)
{
	if (im == NULL)
		return;
	for (size_t id = 0; id < im->at.nr; id++)
		images_forget(im, (uint32_t)id);
	vec_done(&im->at);
	vec_done(&im->queue);
	vec_done(&im->rows_queue);
	vec_done(&im->open);
	free(im);
}
