/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A name is BUILD-ID-HASH.names or .rows, HASH being of the whole key; which key a file has its
 * header tells.  The time of a file's last change says when it was last of use: it is set anew at
 * most once an hour.  New files are written under another name and renamed, so that nobody finds
 * half of one; what a process that died left behind goes with the first clearing after an hour.
 */
#include "image/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"
#include "image/cache_copy.h"
#include "image/cache_dir.h"
#include "image/rows.h"

#define FRESH_S 3600
#define NAME_SIZE 96u
#define TEMPORARY "new-"
/* Files that one clearing looks at. */
#define LOOK_MAX 65536u

const struct cache_limits cache_defaults = {
	.bytes = UINT64_C(256) << 20,
	.files = 4096,
	.least_ns = 1000000,
	.settled_ns = UINT64_C(2000000000),
};

struct cache {
	int fd; /* of the directory; -1: stopped */
	struct cache_limits limits;
	struct cache_identity maker;
	bool measured;
	struct cache_use use; /* once measured: then and what was added since */
	struct reason why, damaged;
	/* What is being written. */
	char temporary[NAME_SIZE], name[NAME_SIZE];
	uint64_t size;
};

struct entry {
	char name[NAME_SIZE];
	int64_t used_s;
	uint64_t size;
};

struct entries {
	VEC(struct entry) list;
	struct cache_use use;
};

int cache_directory(char *ret, size_t size, struct reason *why)
{
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int length;

	if (base != NULL && base[0] == '/')
		length = snprintf(ret, size, "%s/ptop", base);
	else if (home != NULL && home[0] == '/')
		length = snprintf(ret, size, "%s/.cache/ptop", home);
	else
		return reason_set(why, -ENOENT, "neither XDG_CACHE_HOME nor HOME is set");
	if (length < 0 || (size_t)length >= size)
		return reason_set(why, -ENAMETOOLONG, "its path is too long");
	return 0;
}

int cache_open(struct cache **ret, const char *directory, const struct cache_limits *limits,
	       struct reason *why)
{
	struct cache *c = calloc(1, sizeof(*c));
	int err = 0;

	if (c == NULL)
		return reason_set(why, -ENOMEM, "out of memory");
	c->limits = *limits;
	c->fd = cache_dir_open(directory, why);
	if (c->fd < 0)
		err = c->fd;
	else if (!cache_maker_read(&c->maker))
		err = reason_set(why, -ENOENT, "/proc tells nothing of this program");
	if (err != 0) {
		cache_free(c);
		return err;
	}
	*ret = c;
	return 0;
}

void cache_free(struct cache *c)
{
	if (c == NULL)
		return;
	cache_abort(c);
	if (c->fd >= 0)
		close(c->fd);
	free(c);
}

const struct cache_limits *cache_limits(const struct cache *c)
{
	return &c->limits;
}

bool cache_key_make(const struct cache *c, enum cache_kind kind, const uint8_t *build_id,
		    size_t build_id_size, const struct cache_file *files, unsigned nr,
		    struct cache_key *ret)
{
	struct cache_key key;

	memset(&key, 0, sizeof(key));
	if (nr == 0 || nr > CACHE_FILES_MAX || build_id_size > sizeof(key.build_id))
		return false;
	for (unsigned i = 0; i < nr; i++) {
		if (!files[i].trusted || !files[i].settled)
			return false;
		key.files[i] = files[i].identity;
	}
	if (build_id_size > 0)
		memcpy(key.build_id, build_id, build_id_size);
	key.build_id_size = (uint8_t)build_id_size;
	key.kind = (uint8_t)kind;
	key.nr_files = (uint8_t)nr;
	key.version = kind == CACHE_ROWS ? ROWS_VERSION : TABLE_VERSION;
	key.maker = c->maker;
	*ret = key;
	return true;
}

/* FNV-1a. */
static uint64_t hash(const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < size; i++)
		h = (h ^ at[i]) * UINT64_C(0x100000001b3);
	return h;
}

static void name_of(const struct cache_key *key, char name[NAME_SIZE])
{
	size_t at = 0;

	for (size_t i = 0; i < key->build_id_size; i++)
		at += (size_t)snprintf(name + at, NAME_SIZE - at, "%02x", key->build_id[i]);
	if (at == 0)
		at = (size_t)snprintf(name, NAME_SIZE, "none");
	snprintf(name + at, NAME_SIZE - at, "-%016" PRIx64 "%s", hash(key, sizeof(*key)),
		 key->kind == CACHE_ROWS ? ".rows" : ".names");
}

static bool is_ours(const char *name)
{
	size_t length = strlen(name);

	return length < NAME_SIZE && (strncmp(name, TEMPORARY, strlen(TEMPORARY)) == 0 ||
				      (length > 22 && strcmp(name + length - 5, ".rows") == 0) ||
				      (length > 23 && strcmp(name + length - 6, ".names") == 0));
}

void cache_reject(struct cache *c, const struct cache_key *key, const char *why)
{
	char name[NAME_SIZE];

	if (c->fd < 0)
		return;
	name_of(key, name);
	if (unlinkat(c->fd, name, 0) != 0 && errno != ENOENT)
		cache_stop(c, "a damaged file in it cannot be removed");
	if (c->damaged.text[0] == '\0')
		reason_set(&c->damaged, 0,
			   "a kept table was not as it should be and was removed: %s", why);
}

/* What is wrong with a file of ours; NULL: nothing. */
static const char *wrong_with(int fd, const struct cache_key *key, struct stat *st)
{
	struct cache_header h;

	if (fstat(fd, st) != 0 || !S_ISREG(st->st_mode))
		return "no regular file";
	if (st->st_uid != geteuid() || (st->st_mode & 077) != 0 || st->st_nlink != 1)
		return "it is open to others";
	if (pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) || h.magic != CACHE_MAGIC ||
	    h.size > INT64_MAX - CACHE_TABLE_AT || st->st_size != (off_t)(h.size + CACHE_TABLE_AT))
		return "damaged";
	return memcmp(&h.key, key, sizeof(h.key)) == 0 ? NULL : "it is of another file";
}

int cache_find(struct cache *c, const struct cache_key *key)
{
	char name[NAME_SIZE];
	const char *wrong;
	struct stat st;
	int fd;

	if (c->fd < 0)
		return -ENOENT;
	name_of(key, name);
	fd = openat(c->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) {
		if (errno != ENOENT && errno != EMFILE && errno != ENFILE)
			cache_reject(c, key, strerror(errno));
		return -ENOENT;
	}
	wrong = wrong_with(fd, key, &st);
	if (wrong != NULL) {
		close(fd);
		cache_reject(c, key, wrong);
		return -ENOENT;
	}
	if (time(NULL) - st.st_mtim.tv_sec > FRESH_S)
		(void)futimens(fd, NULL);
	return fd;
}

/* All files of ours; temporary ones that were left behind are removed. */
static int look(struct cache *c, struct entries *ret)
{
	int fd = openat(c->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	struct stat st;

	if (d == NULL) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (err == 0 && ret->list.nr < LOOK_MAX && (e = readdir(d)) != NULL) {
		struct entry entry = { 0 };

		if (!is_ours(e->d_name) || fstatat(c->fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		if (strncmp(e->d_name, TEMPORARY, strlen(TEMPORARY)) == 0 &&
		    time(NULL) - st.st_mtim.tv_sec > FRESH_S) {
			unlinkat(c->fd, e->d_name, 0);
			continue;
		}
		strcpy(entry.name, e->d_name);
		entry.used_s = st.st_mtim.tv_sec;
		entry.size = (uint64_t)st.st_size;
		err = vec_push(&ret->list, entry);
		ret->use.bytes += entry.size;
		ret->use.files++;
	}
	closedir(d);
	return err;
}

int cache_measure(struct cache *c, struct cache_use *ret)
{
	struct entries all = { 0 };
	int err = c->fd < 0 ? -ENOENT : look(c, &all);

	vec_done(&all.list);
	if (err == 0)
		*ret = all.use;
	return err;
}

static int by_use(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->used_s > y->used_s) - (x->used_s < y->used_s);
}

/* Removes what was used least recently until nine tenths of the bounds hold @more bytes besides. */
static int clear(struct cache *c, uint64_t more)
{
	struct entries all = { 0 };
	int err = look(c, &all);

	if (err == 0 && all.list.nr > 0)
		qsort(all.list.at, all.list.nr, sizeof(all.list.at[0]), by_use);
	for (size_t i = 0; err == 0 && i < all.list.nr; i++) {
		const struct entry *e = &all.list.at[i];

		if (all.use.bytes + more <= c->limits.bytes / 10 * 9 &&
		    all.use.files < c->limits.files / 10 * 9)
			break;
		if (unlinkat(c->fd, e->name, 0) != 0 && errno != ENOENT) {
			err = -errno;
			break;
		}
		all.use.bytes -= e->size;
		all.use.files--;
	}
	vec_done(&all.list);
	if (err == 0) {
		c->use = all.use;
		c->measured = true;
	}
	return err;
}

/* Sees to it that @more bytes may be added. */
static int make_room(struct cache *c, uint64_t more)
{
	int err = 0;

	if (more > c->limits.bytes / 4)
		return -EFBIG;
	if (!c->measured) {
		err = cache_measure(c, &c->use);
		c->measured = err == 0;
	}
	if (err == 0 && (c->use.bytes + more > c->limits.bytes || c->use.files >= c->limits.files))
		err = clear(c, more);
	return err;
}

/* For good, where it is the directory and not this file. */
static int refuse(struct cache *c, int err)
{
	struct reason why;

	if (err == -EFBIG || err == -EMFILE || err == -ENFILE || err == -ENOMEM)
		return err;
	reason_set(&why, 0, "tables cannot be kept: %s", strerror(-err));
	cache_stop(c, why.text);
	return err;
}

int cache_begin(struct cache *c, const struct cache_key *key, uint64_t size)
{
	struct cache_header h;
	int fd, err;

	if (c->fd < 0)
		return -ENOENT;
	cache_abort(c);
	err = make_room(c, size + CACHE_TABLE_AT);
	if (err != 0)
		return refuse(c, err);
	memset(&h, 0, sizeof(h));
	h.magic = CACHE_MAGIC;
	h.size = size;
	h.key = *key;
	name_of(key, c->name);
	snprintf(c->temporary, sizeof(c->temporary), TEMPORARY "%d-%016" PRIx64, (int)getpid(),
		 hash(key, sizeof(*key)));
	(void)unlinkat(c->fd, c->temporary, 0);
	fd = openat(c->fd, c->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		err = -errno;
		c->temporary[0] = '\0';
		return refuse(c, err);
	}
	c->size = size + CACHE_TABLE_AT;
	if (pwrite(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h)) {
		err = -ENOSPC;
		close(fd);
		cache_abort(c);
		return refuse(c, err);
	}
	return fd;
}

int cache_commit(struct cache *c)
{
	struct stat st;
	int err;

	if (c->fd < 0 || c->temporary[0] == '\0')
		return -ENOENT;
	if (fstatat(c->fd, c->temporary, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    (uint64_t)st.st_size != c->size) {
		cache_abort(c);
		return -EBADMSG;
	}
	if (renameat(c->fd, c->temporary, c->fd, c->name) != 0) {
		err = -errno;
		cache_abort(c);
		return refuse(c, err);
	}
	c->temporary[0] = '\0';
	c->use.bytes += c->size;
	c->use.files++;
	return 0;
}

void cache_abort(struct cache *c)
{
	if (c->fd >= 0 && c->temporary[0] != '\0')
		(void)unlinkat(c->fd, c->temporary, 0);
	c->temporary[0] = '\0';
}

void cache_stop(struct cache *c, const char *why)
{
	if (c->fd < 0)
		return;
	cache_abort(c);
	close(c->fd);
	c->fd = -1;
	reason_set(&c->why, 0, "%s", why);
}

const char *cache_why(const struct cache *c)
{
	return c->why.text;
}

const char *cache_damaged(const struct cache *c)
{
	return c->damaged.text;
}
