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
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "image/images_impl.h"
#include "image/loader.h"
#include "image/open.h"
#include "image/places.h"

#define DESCRIPTORS_MAX 256u
#define IDS_MAX (1u << 24)

struct images *images_new(void)
{
	struct images *im = calloc(1, sizeof(*im));

	if (im != NULL) {
		im->watch_fd = -1;
		im->inlines_bytes_max = INLINES_BYTES_MAX;
	}
	return im;
}

struct image *image_get(const struct images *im, uint32_t id)
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

void image_set_state(struct images *im, struct image *image, enum image_state state)
{
	if (image->state != state)
		im->changed++;
	image->state = state;
}

void image_set_text(char **to, const char *text)
{
	free(*to);
	*to = text[0] != '\0' ? strdup(text) : NULL;
}

void image_fail(struct images *im, struct image *image, const struct reason *why)
{
	image_set_text(&image->why, why->text);
	image_set_state(im, image, IMAGE_FAILED);
}

void image_close(struct images *im, uint32_t id)
{
	struct image *image = im->at.at[id];

	if (image->fd < 0)
		return;
	close(image->fd);
	image->fd = -1;
	image->pinned = false;
	image_drop_debug(im, image);
	for (size_t i = 0; i < im->open.nr; i++) {
		if (im->open.at[i] == id) {
			im->open.at[i] = im->open.at[--im->open.nr];
			break;
		}
	}
}

static bool waits(const struct image *image)
{
	return image->queued || image->rows_queued || image->serial != 0 || image_rows_asked(image);
}

/* Closes the descriptor least recently seen, first among those nobody waits for. */
void images_make_room(struct images *im)
{
	uint32_t oldest;

	if (im->open.nr < DESCRIPTORS_MAX)
		return;
	oldest = im->open.at[0];
	for (size_t i = 1; i < im->open.nr; i++) {
		const struct image *a = im->at.at[im->open.at[i]], *b = im->at.at[oldest];
		bool a_waits = waits(a), b_waits = waits(b);

		if (a_waits != b_waits ? b_waits : a->seen < b->seen)
			oldest = im->open.at[i];
	}
	image_close(im, oldest);
	if (im->at.at[oldest]->state == IMAGE_OPEN)
		image_set_state(im, im->at.at[oldest], IMAGE_UNSEEN);
}

static bool other_build_id(const struct image *image, const struct image_sight *sight)
{
	return image->sight.build_id_size != sight->build_id_size ||
	       (sight->build_id_size != 0 &&
		memcmp(image->build_id, sight->build_id, sight->build_id_size) != 0);
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
	if (im->places != NULL && other_build_id(image, sight))
		image->place = image->tries = 0; /* learnt since: all is to be tried again */
	image->sight = *sight;
	image->sight.path = image->path;
	if (id_size > 0)
		memcpy(image->build_id, sight->build_id, id_size);
	image->sight.build_id = image->build_id;
	image->sight.build_id_size = (uint8_t)id_size;
	image->known = true;
	return true;
}

/* With a loader, what is inside a file is not looked at here: the build-id is compared later. */
int image_open_again(const struct images *im, struct image *image, struct reason *why)
{
	struct image_sight sight = image->sight;
	int fd;

	if (im->places != NULL) {
		fd = places_find(im->places, &sight, im->loader == NULL, &image->place);
		image->place_err = fd < 0 ? fd : 0;
		return fd >= 0 ? fd
			       : places_explain(&sight, fd, image->other_id, image->other_id_size,
						why);
	}
	if (im->loader != NULL)
		sight.build_id_size = 0;
	return open_mapped(&sight, why);
}

unsigned image_debug_candidates(const struct images *im, const struct image *image,
				const struct debug_clue *clue, int fd, int *ret_fds)
{
	if (im->places != NULL)
		return places_debug_candidates(im->places, clue, fd, image->path, ret_fds);
	return debugfile_candidates(clue, fd, image->sight.pid, image->path, ret_fds);
}

unsigned image_alt_candidates(const struct images *im, const struct image *image,
			      const struct debug_alt *alt, int fd, int *ret_fds, unsigned max)
{
	if (im->places != NULL) {
		const int roots[] = { im->places->sysroot, im->places->own };

		return debugfile_alt_candidates_in(alt, fd, roots, 2, ret_fds, max);
	}
	return debugfile_alt_candidates(alt, fd, image->sight.pid, ret_fds, max);
}

int image_debug_open(const struct images *im, const struct image *image, int fd)
{
	if (im->places != NULL)
		return places_debug_open(im->places, fd, image->path);
	return debugfile_open(fd, image->sight.pid, image->path);
}

void images_recorded(struct images *im, const struct image_places *places)
{
	im->places = places;
}

void image_open(struct images *im, uint32_t id)
{
	struct image *image = im->at.at[id];
	struct reason why = { 0 };
	int fd;

	image_close(im, id); /* of another try, kept for its rows */
	images_make_room(im);
	image->tries++;
	fd = image_open_again(im, image, &why);
	if (fd < 0) {
		image_fail(im, image, &why);
		return;
	}
	if (vec_push(&im->open, id) != 0) {
		close(fd);
		return;
	}
	image->fd = fd;
	image->tries = 0;
	image_set_text(&image->why, "");
	image_set_state(im, image, IMAGE_OPEN);
}

void image_enqueue(struct images *im, uint32_t id)
{
	struct image *image = im->at.at[id];

	if (!image->wanted || !image->known || image->queued || image->serial != 0 ||
	    image->state == IMAGE_LOADED || image->state == IMAGE_FAILED)
		return;
	if (vec_push(&im->queue, id) == 0)
		image->queued = true;
}

/* Rows may be read after the symbols, or where those failed. */
void image_enqueue_rows(struct images *im, uint32_t id)
{
	struct image *image = im->at.at[id];

	if (image->rows_state != ROWS_WANTED || !image->known || image->rows_queued ||
	    image->rows_serial != 0 || image->rows_tries >= IMAGE_TRIES_MAX)
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
		image_enqueue_rows(im, id);
	if (image->state == IMAGE_LOADED || image->state == IMAGE_OPEN)
		return;
	if (image->state == IMAGE_FAILED && image->tries >= IMAGE_TRIES_MAX &&
	    (im->places == NULL || !other_build_id(image, sight)))
		return;
	if (!keep_sight(im, image, sight))
		return;
	if (sight->vdso)
		image_set_state(im, image, IMAGE_OPEN);
	else if (im->opener != NULL && im->places == NULL)
		image_pin(im, id);
	else
		image_open(im, id);
	image_enqueue(im, id);
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
	image_enqueue(im, id);
}

/* Says it where names will be few. */
static void judge_source(struct image *image)
{
	if (image->sight.vdso)
		return;
	switch ((enum table_source)image->table.header->source) {
	case TABLE_NO_NAMES:
		image_set_text(&image->why,
			       "it is stripped of all symbols; install its debug package");
		break;
	case TABLE_DYNSYM:
		image_set_text(&image->why,
			       "only exported functions have names; install its debug package");
		break;
	default:
		image_set_text(&image->why, "");
	}
}

/* Nothing more to be tried.  The descriptor stays where rows may be asked for. */
static void after_table(struct images *im, uint32_t id)
{
	struct image *image = im->at.at[id];

	image->tries = IMAGE_TRIES_MAX;
	if (!im->by_rows || image->rows_state >= ROWS_READY)
		image_close(im, id);
}

void image_take_table(struct images *im, uint32_t id, struct image_bytes bytes)
{
	struct image *image = im->at.at[id];

	image->bytes = bytes;
	im->bytes += bytes.size;
	judge_source(image);
	image_set_state(im, image, IMAGE_LOADED);
	image_fetch(im, id);
	after_table(im, id);
}

void image_replace_table(struct images *im, uint32_t id, const struct table *table,
			 struct image_bytes bytes)
{
	struct image *image = im->at.at[id];

	im->bytes += bytes.size - image->bytes.size;
	image_bytes_free(&image->bytes);
	image->bytes = bytes;
	image->table = *table;
	judge_source(image);
	im->changed++;
}

void image_fail_table(struct images *im, uint32_t id, const struct reason *why)
{
	image_fail(im, im->at.at[id], why);
	after_table(im, id);
}

static void after_rows(struct images *im, uint32_t id, enum rows_state state)
{
	struct image *image = im->at.at[id];

	image->rows_state = state;
	im->changed++;
	if (image->state != IMAGE_OPEN)
		image_close(im, id);
}

void image_take_rows(struct images *im, uint32_t id, struct image_bytes bytes)
{
	struct image *image = im->at.at[id];

	image->rows_bytes = bytes;
	im->bytes += bytes.size;
	image_set_text(&image->rows_why, "");
	after_rows(im, id, ROWS_READY);
}

void image_fail_rows(struct images *im, uint32_t id, const struct reason *why)
{
	image_set_text(&im->at.at[id]->rows_why, why->text);
	after_rows(im, id, ROWS_FAILED);
}

void image_bytes_free(struct image_bytes *b)
{
	if (b->mapped)
		loader_bytes_free(b->at, b->size);
	else
		free(b->at);
}

uint64_t images_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* Does one thing that waits; false where the loader has no room for it now. */
static bool work_once(struct images *im)
{
	bool rows = im->rows_queue.nr > 0, done = true;
	uint32_t id = rows ? im->rows_queue.at[--im->rows_queue.nr] : im->queue.at[--im->queue.nr];

	if (rows)
		im->at.at[id]->rows_queued = false;
	else
		im->at.at[id]->queued = false;
	if (im->loader != NULL)
		done = rows ? image_ask_rows(im, id) : image_ask(im, id);
	else if (rows)
		image_load_rows(im, id);
	else
		image_load(im, id);
	if (!done && rows)
		image_enqueue_rows(im, id);
	else if (!done)
		image_enqueue(im, id);
	return done;
}

static size_t nr_queued(const struct images *im)
{
	return im->queue.nr + im->rows_queue.nr;
}

static bool has_room(const struct images *im)
{
	return im->loader == NULL || loader_has_room(im->loader) ||
	       (im->opener != NULL && loader_has_room(im->opener));
}

size_t images_work(struct images *im, uint64_t budget_ns)
{
	uint64_t start = images_wanting(im) > 0 ? images_now_ns() : 0;
	size_t changed;

	if (im->opener != NULL)
		images_take_opened(im);
	if (im->loader != NULL)
		images_take_answers(im);
	while (nr_queued(im) > 0 && has_room(im)) {
		if (!work_once(im) || images_now_ns() - start >= budget_ns)
			break;
	}
	images_fetch(im);
	images_keep(im);
	if (im->loader != NULL && nr_queued(im) == 0)
		images_ask_inlines(im);
	changed = im->changed;
	im->changed = 0;
	return changed;
}

size_t images_wanting(const struct images *im)
{
	size_t in_flight = im->loader != NULL ? loader_in_flight(im->loader) : 0;

	if (im->opener != NULL)
		in_flight += loader_in_flight(im->opener);
	/* What is being written down nobody waits for, nor for inlined functions. */
	return nr_queued(im) + in_flight - (im->keep_serial != 0) - im->inlines_in_flight;
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
		image_enqueue_rows(im, id);
	}
	return image->known && !image->rows_queued && !image_rows_asked(image) ? -ENODATA : -EAGAIN;
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
	image_close(im, id);
	image_forget_inlines(im, id);
	image_forget_fetched(im, id);
	image_forget_file(im, id);
	im->bytes -= sizeof(*image) + image->bytes.size + image->rows_bytes.size;
	im->bytes -= image->path != NULL ? strlen(image->path) + 1 : 0;
	image_bytes_free(&image->bytes);
	free(image->path);
	free(image->why);
	image_bytes_free(&image->rows_bytes);
	im->bytes -= image->clue != NULL ? sizeof(*image->clue) : 0;
	free(image->clue);
	free(image->rows_why);
	free(image);
	im->at.at[id] = NULL;
}

size_t images_bytes(const struct images *im)
{
	return sizeof(*im) + im->bytes + im->at.cap * sizeof(im->at.at[0]) +
	       im->queue.cap * sizeof(im->queue.at[0]) +
	       im->rows_queue.cap * sizeof(im->rows_queue.at[0]) +
	       im->open.cap * sizeof(im->open.at[0]) +
	       im->inlines_queue.cap * sizeof(im->inlines_queue.at[0]) +
	       im->inlines_tables.cap * sizeof(im->inlines_tables.at[0]);
}

void images_free(struct images *im)
{
	if (im == NULL)
		return;
	for (size_t id = 0; id < im->at.nr; id++)
		images_forget(im, (uint32_t)id);
	images_cache_done(im);
	vec_done(&im->at);
	vec_done(&im->queue);
	vec_done(&im->rows_queue);
	vec_done(&im->open);
	vec_done(&im->inlines_queue);
	vec_done(&im->inlines_tables);
	vec_done(&im->hung);
	images_fetch_done(im);
	images_glimpses_done(im);
	if (im->watch_fd >= 0)
		close(im->watch_fd);
	free(im);
}
