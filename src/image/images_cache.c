/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables kept on disk (cache.h).  When a table is to be read, the files that would be read for it
 * are known and open: by their facts it is looked for.  One that had to be read is kept later, when
 * the loader has nothing else to do; until then its descriptor waits, a bounded number of them.
 *
 * Only answers of a worker that had read no foreign file before are kept: what a hostile file made
 * of the worker that read it must not outlive the session.  Files seen through another root than
 * ours are foreign: what is root's in a container may be anybody's.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "image/images_impl.h"
#include "image/loader_protocol.h"

#define KEEPING_MAX 64u

void images_use_cache(struct images *im, struct cache *c)
{
	im->cache = c;
}

static bool is_table(enum loader_what what)
{
	return what == LOADER_SYMBOLS || what == LOADER_ROWS;
}

static enum cache_kind kind_of(enum loader_what what)
{
	return what == LOADER_ROWS || what == LOADER_KEPT_ROWS ? CACHE_ROWS : CACHE_SYMBOLS;
}

bool image_look_kept(struct images *im, const struct image *image, struct loader_request *r,
		     const struct cache_file *files, struct cache_key *ret_key)
{
	enum cache_kind kind = kind_of(r->what);
	bool foreign = false;
	int fd;

	if (im->cache == NULL)
		return false;
	for (unsigned i = 0; i < r->nr_fds; i++)
		foreign |= !files[i].trusted;
	r->foreign = foreign || (im->opener != NULL && !image->our_root);
	if (!is_table(r->what) || foreign ||
	    !cache_key_make(im->cache, kind, image->clue->build_id, image->clue->build_id_size,
			    files, r->nr_fds, ret_key))
		return false;
	fd = image->no_kept[kind] ? -1 : cache_find(im->cache, ret_key);
	if (fd < 0) {
		r->keep = true;
		return true;
	}
	loader_close_fds(r->fds, r->nr_fds);
	r->fds[0] = fd;
	r->nr_fds = 1;
	r->foreign = false;
	r->what = kind == CACHE_ROWS ? LOADER_KEPT_ROWS : LOADER_KEPT_SYMBOLS;
	return true;
}

void images_remember(struct images *im, uint64_t serial, const struct cache_key *key)
{
	for (size_t i = 0; i < LOADER_IN_FLIGHT_MAX; i++) {
		if (im->asked[i].serial == 0) {
			im->asked[i] = (struct image_asked){ .serial = serial, .key = *key };
			break;
		}
	}
}

/* What a request was remembered as; forgotten with this. False: it was not. */
static bool recall(struct images *im, uint64_t serial, struct cache_key *ret)
{
	for (size_t i = 0; i < LOADER_IN_FLIGHT_MAX; i++) {
		if (im->asked[i].serial == serial) {
			*ret = im->asked[i].key;
			im->asked[i].serial = 0;
			return true;
		}
	}
	return false;
}

bool image_take_kept(struct images *im, struct image *image, struct loader_answer *a)
{
	struct image_keeping keeping = { .fd = a->fd, .size = a->size };
	bool known = im->cache != NULL && recall(im, a->serial, &keeping.key);

	a->fd = -1;
	if (keeping.fd >= 0 &&
	    !(known && a->took_ns >= cache_limits(im->cache)->least_ns &&
	      im->keeping.nr < KEEPING_MAX && vec_push(&im->keeping, keeping) == 0))
		close(keeping.fd);
	if (!known || a->err == 0 || is_table(a->what))
		return false;
	if (a->err == -EPIPE)
		return false;
	cache_reject(im->cache, &keeping.key, a->why.text);
	if (a->err == -ETIMEDOUT)
		cache_stop(im->cache, "reading a kept table took too long");
	if (image != NULL)
		image->no_kept[keeping.key.kind] = true;
	return true;
}

static void drop_first(struct images *im)
{
	close(im->keeping.at[0].fd);
	im->keeping.nr--;
	memmove(&im->keeping.at[0], &im->keeping.at[1], im->keeping.nr * sizeof(im->keeping.at[0]));
}

bool images_take_keeping(struct images *im, const struct loader_answer *a)
{
	struct reason why;

	if (a->what != LOADER_KEEP)
		return false;
	if (a->serial != im->keep_serial)
		return true;
	im->keep_serial = 0;
	drop_first(im);
	if (a->err == 0 && a->clean) {
		(void)cache_commit(im->cache);
		return true;
	}
	cache_abort(im->cache);
	if (a->err != 0) {
		reason_set(&why, 0, "tables cannot be kept: %s", a->why.text);
		cache_stop(im->cache, why.text);
	}
	return true;
}

void images_keep(struct images *im)
{
	struct loader_request r = { .what = LOADER_KEEP, .nr_fds = 2, .keep = true };
	const struct image_keeping *k = im->keeping.at;

	while (im->keep_serial == 0 && im->keeping.nr > 0 && images_wanting(im) == 0) {
		r.fds[1] = cache_begin(im->cache, &k->key, k->size);
		r.fds[0] = r.fds[1] < 0 ? -1 : fcntl(k->fd, F_DUPFD_CLOEXEC, 3);
		if (r.fds[0] < 0 || loader_send(im->loader, &r, &im->keep_serial) != 0) {
			if (r.fds[0] < 0 && r.fds[1] >= 0)
				close(r.fds[1]);
			cache_abort(im->cache);
			im->keep_serial = 0;
			drop_first(im);
		}
	}
}

void images_cache_done(struct images *im)
{
	while (im->keeping.nr > 0)
		drop_first(im);
	vec_done(&im->keeping);
}
