/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes behind a mapping must not change or go away: the descriptor has to be memory of tmpfs with
 * all seals set, and with all its pages there (a hole would be filled, and paid for, by the
 * reader). The mapping is private, for kernels before 6.7 refuse a shared one of what is sealed.
 */
#include "image/loader_reply.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/text.h"

#define ALL_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
#define ERRNO_MAX 4095

static int map_sealed(int fd, uint64_t size, void **ret)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs fs;
	struct stat st;
	void *at;

	if (size == 0 || size > LOADER_TABLE_MAX || seals < 0 || (seals & ALL_SEALS) != ALL_SEALS)
		return -EBADMSG;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != size ||
	    (uint64_t)st.st_blocks * 512 < size)
		return -EBADMSG;
	if (fstatfs(fd, &fs) != 0 || fs.f_type != TMPFS_MAGIC)
		return -EBADMSG;
	at = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return -EBADMSG;
	*ret = at;
	return 0;
}

static int take_table(const struct worker_message *m, int fd, struct loader_answer *a)
{
	int err = map_sealed(fd, m->size, &a->bytes);

	if (err != 0)
		return err;
	a->size = m->size;
	if (a->what == LOADER_SYMBOLS || a->what == LOADER_KEPT_SYMBOLS)
		err = table_check(a->bytes, a->size, &a->table);
	else if (a->what == LOADER_ROWS || a->what == LOADER_KEPT_ROWS)
		err = rows_check(a->bytes, a->size, &a->rows);
	else
		err = inlines_check(a->bytes, a->size, &a->inlines);
	if (err != 0) {
		munmap(a->bytes, a->size);
		return -EBADMSG;
	}
	a->fd = fd;
	return 0;
}

static bool gives_table(uint32_t what)
{
	return what == LOADER_SYMBOLS || what == LOADER_KEPT_SYMBOLS || what == LOADER_ROWS ||
	       what == LOADER_KEPT_ROWS || what == LOADER_INLINES;
}

/* Whether that many descriptors belong to an answer. */
static bool fds_fit(const struct worker_message *m, unsigned nr_fds)
{
	if (m->err != 0)
		return nr_fds == 0;
	switch (m->what) {
	case OPENER_WHERE:
		return nr_fds >= 1 && nr_fds <= LOADER_FDS_MAX;
	case OPENER_DEBUG:
	case OPENER_ALT:
		return nr_fds <= DEBUG_CANDIDATES_MAX;
	default:
		return nr_fds == (gives_table(m->what) || m->what == OPENER_FILE);
	}
}

static void take_opened(const struct worker_message *m, const int *fds, unsigned nr_fds,
			struct loader_answer *a)
{
	for (unsigned i = 0; i < nr_fds; i++) {
		a->fds[i] = fds[i];
		a->files[i] = m->files[i];
	}
	a->nr_fds = nr_fds;
	a->our_root = m->our_root != 0;
}

int loader_reply(const struct flight *f, const struct worker_message *m, const int *fds,
		 unsigned nr_fds, struct loader_answer *ret)
{
	struct loader_answer a = {
		.what = f->request.what,
		.image = f->request.image,
		.serial = f->serial,
		.err = m->err,
		.fd = -1,
	};
	size_t length = strnlen(m->why.text, sizeof(m->why.text));

	if (m->magic != LOADER_MAGIC || m->says != WORKER_ANSWER || m->what != f->request.what ||
	    m->serial != f->serial || m->err > 0 || m->err < -ERRNO_MAX ||
	    length == sizeof(m->why.text) || !fds_fit(m, nr_fds))
		return -EBADMSG;
	text_scrub(a.why.text, sizeof(a.why.text), m->why.text, length, false);
	if (m->err != 0 && a.why.text[0] == '\0')
		reason_set(&a.why, 0, "it cannot be read: %s", strerror(-m->err));
	if (m->what == LOADER_IDENTIFY && m->err == 0) {
		if (!debugfile_clue_is_sound(&m->clue))
			return -EBADMSG;
		a.clue = m->clue;
	}
	if (m->what == LOADER_FIND_DWARF && m->err == 0) {
		if (m->which >= f->request.nr_fds || !debugfile_alt_is_sound(&m->alt))
			return -EBADMSG;
		a.which = m->which;
		a.alt = m->alt;
	}
	if (m->what >= OPENER_FILE)
		take_opened(m, fds, nr_fds, &a);
	else if (nr_fds == 1 && take_table(m, fds[0], &a) != 0)
		return -EBADMSG;
	*ret = a;
	return 0;
}

void loader_bytes_free(void *bytes, size_t size)
{
	if (bytes != NULL)
		munmap(bytes, size);
}
