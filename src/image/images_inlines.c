/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inlined functions of images, read by the loader for the places that are asked about, a few units
 * at a time and one request at a time, after all that names and unwinding wait for.
 *
 * First the loader tells which file has the image's debug information; its descriptor is kept, for
 * some images.  Then requests name places, newest first; each answer is a table with the addresses
 * that it answers for.  Tables are bounded in sum: the one not used for longest goes, and is asked
 * for again where it is missed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/images_impl.h"
#include "image/inlines_parts.h"
#include "image/loader.h"
#include "image/opener.h"

#define TABLE_COPIED_MAX ((size_t)64 << 10) /* larger ones stay mapped */
#define TABLE_COST_MAX (2 * INLINES_BYTES_MAX)
#define WANTED_MAX 256u /* places an image waits for; others come again */
#define IMAGES_OPEN_MAX 32u

enum inlines_state {
	INLINES_UNKNOWN,
	INLINES_OPENED, /* the file and what may be its debug file */
	INLINES_LINKED, /* the one that has debug information; it speaks of another file */
	INLINES_FOUND,
	INLINES_FAILED,
};

struct inlines_table {
	struct inlines in;
	struct image_bytes bytes;
	uint32_t image;
	uint32_t number; /* of all there were; from 1 on */
	uint64_t used;
};

struct image_inlines {
	enum inlines_state state;
	int fds[LOADER_FDS_MAX]; /* OPENED: candidates; then the file; FOUND: and those beside it */
	struct cache_file files[LOADER_FDS_MAX];
	unsigned nr_fds;
	struct debug_alt alt; /* LINKED */
	VEC(uint64_t) wanted; /* vaddrs, the newest last */
	struct inlines_parts parts;
	uint64_t serial; /* of the request on its way to the next state; 0: none */
	uint64_t asked;  /* the place that it is for */
	bool queued;     /* in im->inlines_queue */
	uint64_t stamp;  /* when last asked */
	char *why;
};

static void forget_answered(struct image_inlines *ii)
{
	size_t kept = 0;

	for (size_t i = 0; i < ii->wanted.nr; i++) {
		if (parts_find(&ii->parts, ii->wanted.at[i]) == NULL)
			ii->wanted.at[kept++] = ii->wanted.at[i];
	}
	ii->wanted.nr = kept;
}

/* ---- descriptors ------------------------------------------------------------------------------
 */

static void close_files(struct images *im, struct image_inlines *ii)
{
	if (ii->nr_fds == 0)
		return;
	for (unsigned i = 0; i < ii->nr_fds; i++)
		close(ii->fds[i]);
	ii->nr_fds = 0;
	im->nr_inlines_open--;
}

/* Closes the files of the image not asked about for longest; they are found again when needed. */
static void make_room(struct images *im)
{
	struct image_inlines *oldest = NULL;

	for (size_t i = 0; i < im->at.nr && im->nr_inlines_open >= IMAGES_OPEN_MAX; i++) {
		struct image_inlines *ii = im->at.at[i] != NULL ? im->at.at[i]->inlines : NULL;

		if (ii != NULL && ii->state == INLINES_FOUND && ii->serial == 0 &&
		    (oldest == NULL || ii->stamp < oldest->stamp))
			oldest = ii;
	}
	if (oldest == NULL)
		return;
	close_files(im, oldest);
	oldest->state = INLINES_UNKNOWN;
}

/* ---- tables ------------------------------------------------------------------------------------
 */

/* Its bytes and those of the parts that it is in. */
static size_t table_cost(const struct inlines_header *h)
{
	return sizeof(struct inlines_table) + h->size + h->nr_spans * sizeof(struct inlines_part);
}

static void free_table(struct images *im, size_t index)
{
	struct inlines_table *t = im->inlines_tables.at[index];

	im->inlines_tables.at[index] = im->inlines_tables.at[--im->inlines_tables.nr];
	im->inlines_bytes -= table_cost(t->in.header);
	im->bytes -= table_cost(t->in.header);
	image_bytes_free(&t->bytes);
	free(t);
}

static void drop_oldest_table(struct images *im)
{
	size_t oldest = 0;
	const struct inlines_table *t;
	struct image_inlines *ii;

	for (size_t i = 1; i < im->inlines_tables.nr; i++) {
		if (im->inlines_tables.at[i]->used < im->inlines_tables.at[oldest]->used)
			oldest = i;
	}
	t = im->inlines_tables.at[oldest];
	ii = im->at.at[t->image]->inlines;
	parts_drop(&ii->parts, t);
	free_table(im, oldest);
}

/* Small tables are copied: each mapping costs pages and is one of a bounded number.  On success
 * @a->bytes are taken. */
static struct inlines_table *keep_table(struct images *im, uint32_t id,
					const struct loader_answer *a)
{
	struct inlines_table *t = calloc(1, sizeof(*t));

	if (t == NULL || vec_push(&im->inlines_tables, t) != 0) {
		free(t);
		return NULL;
	}
	*t = (struct inlines_table){
		.in = a->inlines,
		.image = id,
		.number = ++im->inlines_made,
		.used = ++im->stamp,
	};
	t->bytes = (struct image_bytes){ .at = a->bytes, .size = a->size, .mapped = true };
	if (a->size <= TABLE_COPIED_MAX) {
		void *copy = malloc(a->size);

		if (copy != NULL) {
			memcpy(copy, a->bytes, a->size);
			image_bytes_free(&t->bytes);
			t->bytes = (struct image_bytes){ .at = copy, .size = a->size };
			inlines_check(copy, a->size, &t->in);
		}
	}
	im->inlines_bytes += table_cost(t->in.header);
	im->bytes += table_cost(t->in.header);
	return t;
}

/* ---- asking ------------------------------------------------------------------------------------
 */

static void fail(struct images *im, struct image_inlines *ii, const char *why)
{
	image_set_text(&ii->why, why);
	close_files(im, ii);
	vec_done(&ii->wanted);
	ii->state = INLINES_FAILED;
	im->inlines_generation++;
}

static void enqueue(struct images *im, uint32_t id)
{
	struct image_inlines *ii = im->at.at[id]->inlines;

	if (!ii->queued && ii->serial == 0 && ii->wanted.nr > 0 &&
	    vec_push(&im->inlines_queue, id) == 0)
		ii->queued = true;
}

/* Copies of descriptors, for they go away with a request. */
static bool copy_fds(const struct image_inlines *ii, struct loader_request *r)
{
	for (r->nr_fds = 0; r->nr_fds < ii->nr_fds; r->nr_fds++) {
		r->fds[r->nr_fds] = fcntl(ii->fds[r->nr_fds], F_DUPFD_CLOEXEC, 3);
		if (r->fds[r->nr_fds] < 0) {
			while (r->nr_fds > 0)
				close(r->fds[--r->nr_fds]);
			return false;
		}
	}
	return true;
}

static void send(struct images *im, uint32_t id, struct loader_request *r)
{
	struct image_inlines *ii = im->at.at[id]->inlines;
	struct cache_key none;
	int err;

	if (!copy_fds(ii, r)) {
		fail(im, ii, "too many open files; raise ulimit -n");
		return;
	}
	/* These are not kept, but it has to be told whose they are. */
	if (!images_by_opener(im))
		image_read_facts(im, r, ii->files);
	image_look_kept(im, im->at.at[id], r, ii->files, &none);
	err = loader_send(im->loader, r, &ii->serial);
	if (err == 0)
		im->inlines_in_flight++;
	else
		fail(im, ii, "the loader process is gone; start ptop anew");
}

/* Has the opener do the next step. */
static int order(struct images *im, uint32_t id, enum loader_what what, int fd)
{
	struct image_inlines *ii = im->at.at[id]->inlines;
	struct reason why = { 0 };
	int err = image_order(im, id, what, fd, &ii->alt, &ii->serial, &why);

	if (err == 0)
		im->inlines_in_flight++;
	else if (err != -EAGAIN)
		fail(im, ii, why.text);
	return err;
}

/* Opens the file, and what may be its debug file. */
static void open_files(struct images *im, uint32_t id)
{
	struct debug_clue clue = { 0 };
	struct image *image = im->at.at[id];
	struct image_inlines *ii = image->inlines;
	struct reason why = { 0 };
	int fd = image->fd >= 0 ? fcntl(image->fd, F_DUPFD_CLOEXEC, 3)
				: image_open_again(im, image, &why);

	if (fd < 0) {
		fail(im, ii, why.text[0] != '\0' ? why.text : "too many open files");
		return;
	}
	make_room(im);
	im->nr_inlines_open++;
	ii->fds[0] = fd;
	if (image->clue != NULL)
		clue = *image->clue;
	clue.has_symbols = 0; /* that says nothing of debug information */
	ii->nr_fds = 1 + image_debug_candidates(im, image, &clue, fd, ii->fds + 1);
	ii->state = INLINES_OPENED;
}

/* Asks which of them has debug information. */
static void ask_where(struct images *im, uint32_t id)
{
	struct loader_request r = { .what = LOADER_FIND_DWARF, .image = id };

	send(im, id, &r);
}

static void ask_places(struct images *im, uint32_t id)
{
	struct loader_request r = { .what = LOADER_INLINES, .image = id };
	struct image_inlines *ii = im->at.at[id]->inlines;

	while (r.nr_places < LOADER_PLACES_MAX && r.nr_places < ii->wanted.nr) {
		r.places[r.nr_places] = ii->wanted.at[ii->wanted.nr - 1 - r.nr_places];
		r.nr_places++;
	}
	ii->asked = r.places[0];
	ii->stamp = ++im->stamp;
	send(im, id, &r);
}

/* The next step; -EAGAIN: not now. */
static int ask_next(struct images *im, uint32_t id)
{
	struct image *image = im->at.at[id];
	struct image_inlines *ii = image->inlines;

	if (images_by_opener(im) && ii->state == INLINES_UNKNOWN)
		return order(im, id, OPENER_WHERE, image->fd);
	if (ii->state == INLINES_LINKED)
		return order(im, id, OPENER_ALT, ii->fds[0]);
	if (ii->state == INLINES_UNKNOWN)
		open_files(im, id);
	if (ii->state == INLINES_OPENED)
		ask_where(im, id);
	else if (ii->state == INLINES_FOUND)
		ask_places(im, id);
	return 0;
}

void images_ask_inlines(struct images *im)
{
	while (im->inlines_queue.nr > 0 && im->inlines_in_flight == 0 &&
	       loader_has_room(im->loader)) {
		uint32_t id = im->inlines_queue.at[--im->inlines_queue.nr];
		struct image_inlines *ii = im->at.at[id]->inlines;

		ii->queued = false;
		forget_answered(ii);
		if (ii->state == INLINES_FAILED || ii->wanted.nr == 0)
			continue;
		if (ask_next(im, id) == -EAGAIN) {
			enqueue(im, id);
			break;
		}
	}
}

/* ---- answers -----------------------------------------------------------------------------------
 */

/* Keeps the file that has debug information, and what may be the other file that it speaks of. */
static void take_where(struct images *im, uint32_t id, const struct loader_answer *a)
{
	struct image *image = im->at.at[id];
	struct image_inlines *ii = image->inlines;

	for (unsigned i = 0; i < ii->nr_fds; i++) {
		if (i != a->which)
			close(ii->fds[i]);
	}
	ii->fds[0] = ii->fds[a->which];
	ii->files[0] = ii->files[a->which];
	ii->nr_fds = 1;
	ii->alt = a->alt;
	ii->state = INLINES_FOUND;
	if (images_by_opener(im) && (a->alt.path[0] != '\0' || a->alt.build_id_size > 0))
		ii->state = INLINES_LINKED;
	else if (!images_by_opener(im))
		ii->nr_fds += image_alt_candidates(im, image, &a->alt, ii->fds[0], ii->fds + 1,
						   OPENER_ALTS_MAX);
}

/* What the opener opened goes behind what is there. */
static void take_files(struct images *im, uint32_t id, const struct loader_answer *a)
{
	struct image *image = im->at.at[id];
	struct image_inlines *ii = image->inlines;

	if (a->what == OPENER_WHERE) {
		make_room(im);
		im->nr_inlines_open++;
		image->our_root = a->our_root;
	}
	for (unsigned i = 0; i < a->nr_fds; i++) {
		if (ii->nr_fds == LOADER_FDS_MAX) {
			close(a->fds[i]);
			continue;
		}
		ii->fds[ii->nr_fds] = a->fds[i];
		ii->files[ii->nr_fds++] = a->files[i];
	}
	ii->state = a->what == OPENER_WHERE ? INLINES_OPENED : INLINES_FOUND;
}

/* True where @a->bytes are taken. */
static bool take_places(struct images *im, uint32_t id, const struct loader_answer *a)
{
	struct image_inlines *ii = im->at.at[id]->inlines;
	struct inlines_table *t;
	int err;

	if (table_cost(a->inlines.header) > TABLE_COST_MAX) {
		fail(im, ii, "its inlined functions are too many");
		return false;
	}
	t = keep_table(im, id, a);
	if (t == NULL) {
		fail(im, ii, "no memory for its inlined functions");
		return false;
	}
	err = parts_add_spans(&ii->parts, t->in.spans, t->in.header->nr_spans, t);
	/* Whatever came, the place asked about is not asked about again. */
	if (err == 0 && parts_find(&ii->parts, ii->asked) == NULL)
		err = parts_add(&ii->parts, ii->asked, ii->asked + 1, NULL);
	if (err != 0)
		fail(im, ii, "no memory for its inlined functions");
	while (im->inlines_bytes > im->inlines_bytes_max && im->inlines_tables.nr > 1)
		drop_oldest_table(im);
	im->inlines_generation++;
	return true;
}

bool image_take_inlines(struct images *im, const struct loader_answer *a)
{
	struct image *image = image_get(im, a->image);
	struct image_inlines *ii = image != NULL ? image->inlines : NULL;
	bool taken = false;

	im->inlines_in_flight--;
	if (ii == NULL || ii->serial != a->serial)
		return false;
	ii->serial = 0;
	if (a->err != 0)
		fail(im, ii, a->why.text);
	else if (a->what == LOADER_FIND_DWARF)
		take_where(im, a->image, a);
	else if (a->what != LOADER_INLINES)
		take_files(im, a->image, a);
	else
		taken = take_places(im, a->image, a);
	enqueue(im, a->image);
	return taken || (a->what >= OPENER_FILE && a->err == 0);
}

/* ---- looking up ---------------------------------------------------------------------------------
 */

static struct image_inlines *make(struct images *im, uint32_t id)
{
	struct image *image = im->at.at[id];

	if (image->inlines == NULL) {
		image->inlines = calloc(1, sizeof(*image->inlines));
		im->bytes += image->inlines != NULL ? sizeof(*image->inlines) : 0;
	}
	return image->inlines;
}

void image_give_inlines(struct images *im, uint32_t id, int fd, int debug_fd)
{
	struct image_inlines *ii;

	image_forget_inlines(im, id);
	ii = im->by_inlines ? make(im, id) : NULL;
	if (ii == NULL) {
		close(fd);
		close(debug_fd);
		return;
	}
	make_room(im);
	im->nr_inlines_open++;
	ii->fds[0] = fd;
	ii->fds[1] = debug_fd;
	ii->nr_fds = 2;
	ii->state = INLINES_OPENED;
}

static bool is_wanted(const struct image_inlines *ii, uint64_t vaddr)
{
	for (size_t i = 0; i < ii->wanted.nr; i++) {
		if (ii->wanted.at[i] == vaddr)
			return true;
	}
	return false;
}

/* Notes that a place is wanted. */
static int later(struct images *im, uint32_t id, uint64_t vaddr)
{
	struct image_inlines *ii = make(im, id);

	if (ii == NULL || ii->state == INLINES_FAILED)
		return -ENODATA;
	if (ii->wanted.nr < WANTED_MAX && !is_wanted(ii, vaddr) &&
	    vec_push(&ii->wanted, vaddr) == 0)
		enqueue(im, id);
	return -EAGAIN;
}

/* The part that answers for a place, and its vaddr.  0, -EAGAIN, -ENODATA. */
static int find_part(struct images *im, uint32_t id, uint64_t offset, struct inlines_part **ret,
		     uint64_t *ret_vaddr)
{
	struct image *image = image_get(im, id);

	*ret = NULL;
	if (!im->by_inlines || im->loader == NULL || image == NULL || image->sight.vdso ||
	    image->state == IMAGE_FAILED)
		return -ENODATA;
	if (image->state != IMAGE_LOADED)
		return -EAGAIN;
	if (!table_vaddr(&image->table, offset, ret_vaddr))
		return -ENODATA;
	if (image->inlines != NULL)
		*ret = parts_find(&image->inlines->parts, *ret_vaddr);
	if (*ret == NULL)
		return later(im, id, *ret_vaddr);
	if ((*ret)->table != NULL)
		(*ret)->table->used = ++im->stamp;
	return 0;
}

int images_inlines(struct images *im, uint32_t id, uint64_t offset,
		   const char *ret[INLINES_DEPTH_MAX], uint32_t *ret_nr)
{
	struct inlines_part *part;
	uint64_t vaddr;
	int err = find_part(im, id, offset, &part, &vaddr);

	if (err == 0)
		*ret_nr = part->table != NULL ? inlines_at(&part->table->in, vaddr, ret) : 0;
	return err;
}

int images_inlines_key(struct images *im, uint32_t id, uint64_t offset, uint64_t *ret_key)
{
	struct inlines_part *part;
	uint32_t scope = INLINES_NONE;
	uint64_t vaddr;
	int err = find_part(im, id, offset, &part, &vaddr);

	if (err != 0)
		return err;
	if (part->table != NULL)
		scope = inlines_find(&part->table->in, vaddr);
	*ret_key = scope != INLINES_NONE ? (uint64_t)part->table->number << 32 | scope : 0;
	return 0;
}

enum image_rows images_inlines_state(const struct images *im, uint32_t id)
{
	const struct image *image = image_get(im, id);

	if (image == NULL || image->inlines == NULL)
		return IMAGE_ROWS_UNASKED;
	if (image->inlines->state == INLINES_FAILED)
		return IMAGE_ROWS_FAILED;
	return image->inlines->parts.at.nr > 0 ? IMAGE_ROWS_READY : IMAGE_ROWS_WAITING;
}

const char *images_inlines_why(const struct images *im, uint32_t id)
{
	const struct image *image = image_get(im, id);

	return image != NULL && image->inlines != NULL && image->inlines->why != NULL
		       ? image->inlines->why
		       : "";
}

void image_forget_inlines(struct images *im, uint32_t id)
{
	struct image_inlines *ii = im->at.at[id]->inlines;

	if (ii == NULL)
		return;
	for (size_t i = im->inlines_tables.nr; i > 0; i--) {
		if (im->inlines_tables.at[i - 1]->image == id)
			free_table(im, i - 1);
	}
	for (size_t i = 0; i < im->inlines_queue.nr; i++) {
		if (im->inlines_queue.at[i] == id)
			im->inlines_queue.at[i] = im->inlines_queue.at[--im->inlines_queue.nr];
	}
	close_files(im, ii);
	vec_done(&ii->wanted);
	vec_done(&ii->parts.at);
	free(ii->why);
	free(ii);
	im->bytes -= sizeof(*ii);
	im->at.at[id]->inlines = NULL;
}
