/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/inlines_kept.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "image/debugfile.h"

/* One request takes about so long, or as long as one unit takes. */
#define BUDGET_NS UINT64_C(20000000)
/* Memory of the process past which nothing is kept. */
#define HEAP_MAX ((size_t)32 << 20)
#define MAPPED_MAX ((size_t)128 << 20)

static struct kept_file *find(struct inlines_kept *k, const struct file_key *key)
{
	for (unsigned i = 0; i < INLINES_KEPT_MAX; i++) {
		struct kept_file *f = &k->at[i];

		if (f->file != NULL && f->key.dev == key->dev && f->key.ino == key->ino &&
		    f->key.size == key->size && f->key.mtime_ns == key->mtime_ns)
			return f;
	}
	return NULL;
}

/* A place for another file: a free one, else the one not used for longest. */
static struct kept_file *make_room(struct inlines_kept *k)
{
	struct kept_file *oldest = &k->at[0];

	for (unsigned i = 0; i < INLINES_KEPT_MAX; i++) {
		if (k->at[i].file == NULL)
			return &k->at[i];
		if (k->at[i].used < oldest->used)
			oldest = &k->at[i];
	}
	inlines_close(oldest->file);
	oldest->file = NULL;
	return oldest;
}

/* Without its common parts a file gives fewer names, or none: that is no failure. */
static void add_alt(struct debug_info *info, const int *fds, unsigned nr_fds)
{
	struct debug_alt alt;

	debug_info_alt(fds[0], &alt);
	for (unsigned i = 1; i < nr_fds; i++) {
		if (debugfile_alt_matches(&alt, fds[i]) &&
		    debug_info_open_alt(info, fds[i], NULL) == 0)
			return;
	}
}

static int open_file(const int *fds, unsigned nr_fds, struct inlines_file **ret, struct reason *why)
{
	struct debug_info info;
	int err = debug_info_open(&info, fds[0], why);

	if (err != 0)
		return err;
	add_alt(&info, fds, nr_fds);
	return inlines_open(&info, ret, why);
}

static bool is_large(const struct inlines_kept *k)
{
	size_t mapped = 0;

	for (unsigned i = 0; i < INLINES_KEPT_MAX; i++)
		mapped += k->at[i].file != NULL ? inlines_mapped(k->at[i].file) : 0;
	return mapped > MAPPED_MAX || mallinfo2().uordblks > HEAP_MAX;
}

int inlines_kept_build(struct inlines_kept *k, const int *fds, unsigned nr_fds,
		       const uint64_t *vaddrs, unsigned nr, struct inlines_bytes *ret,
		       struct reason *why)
{
	struct kept_file *f;
	struct file_key key;
	int err = file_key_read(fds[0], false, &key);

	if (err != 0)
		return reason_set(why, err, "its debug information cannot be read: %s",
				  strerror(-err));
	f = find(k, &key);
	if (f == NULL) {
		f = make_room(k);
		err = open_file(fds, nr_fds, &f->file, why);
		f->key = key;
	}
	if (err != 0)
		return err;
	f->used = ++k->clock;
	err = inlines_build(f->file, vaddrs, nr, BUDGET_NS, ret, why);
	if (is_large(k))
		inlines_kept_drop(k);
	return err;
}

void inlines_kept_drop(struct inlines_kept *k)
{
	bool any = false;

	for (unsigned i = 0; i < INLINES_KEPT_MAX; i++) {
		any |= k->at[i].file != NULL;
		inlines_close(k->at[i].file);
		k->at[i].file = NULL;
	}
	if (any)
		malloc_trim(0);
}
