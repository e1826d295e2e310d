/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/opener.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/loader_child.h"
#include "image/open.h"

/* So long a file has not been changed whose facts are to be kept. */
#define SETTLED_NS UINT64_C(2000000000)

/* Whether a process sees the files that we see. */
static bool has_our_root(pid_t pid)
{
	struct stat own, theirs;
	int root;
	bool same;

	if (pid == 0)
		return true;
	root = open_root(pid);
	if (root < 0)
		return false;
	same = fstat(root, &theirs) == 0 && stat("/", &own) == 0 && own.st_dev == theirs.st_dev &&
	       own.st_ino == theirs.st_ino;
	close(root);
	return same;
}

static int open_file(const struct worker_request *r, const int *fds, unsigned nr_fds,
		     struct reason *why)
{
	const struct loader_order *o = &r->order;
	const struct image_sight sight = {
		.pid = o->pid,
		.start = o->start,
		.end = o->end,
		.maj = o->maj,
		.min = o->min,
		.ino = o->ino,
		.path = o->path,
	};
	int fd = -ENOENT;

	if (nr_fds == 1)
		fd = open_pinned(fds[0], &sight, o->by_link ? VIA_MAP_FILES : VIA_PATH);
	return fd >= 0 ? fd : open_mapped(&sight, why);
}

unsigned opener_do(const struct worker_request *r, const int *fds, unsigned nr_fds,
		   struct worker_message *m, int *ret_fds)
{
	unsigned nr = 0;

	memset(m, 0, sizeof(*m));
	m->magic = LOADER_MAGIC;
	m->says = WORKER_ANSWER;
	m->serial = r->serial;
	m->what = r->what;
	if (r->what == OPENER_FILE) {
		ret_fds[0] = open_file(r, fds, nr_fds, &m->why);
		m->err = ret_fds[0] < 0 ? ret_fds[0] : 0;
		nr = ret_fds[0] >= 0;
		m->our_root = nr == 1 && has_our_root(r->order.pid);
	} else if (r->what == OPENER_DEBUG && nr_fds == 1) {
		nr = debugfile_candidates(&r->order.clue, fds[0], r->order.pid, r->order.path,
					  ret_fds);
	} else if (r->what == OPENER_WHERE) {
		struct debug_clue clue = r->order.clue;

		clue.has_symbols = 0; /* that says nothing of debug information */
		ret_fds[0] = open_file(r, fds, nr_fds, &m->why);
		m->err = ret_fds[0] < 0 ? ret_fds[0] : 0;
		if (m->err == 0)
			nr = 1 + debugfile_candidates(&clue, ret_fds[0], r->order.pid,
						      r->order.path, ret_fds + 1);
		m->our_root = nr > 0 && has_our_root(r->order.pid);
	} else if (r->what == OPENER_ALT && nr_fds == 1) {
		nr = debugfile_alt_candidates(&r->order.alt, fds[0], r->order.pid, ret_fds,
					      OPENER_ALTS_MAX);
	} else {
		m->err = reason_set(&m->why, -EINVAL, "a request that the opener does not know");
	}
	for (unsigned i = 0; i < nr; i++) {
		if (!cache_file_read(ret_fds[i], SETTLED_NS, &m->files[i]))
			m->files[i] = (struct cache_file){ 0 };
	}
	return nr;
}

void opener_serve(int socket)
{
	struct worker_message answer;
	struct worker_request r;
	int err;

	prctl(PR_SET_NAME, "ptop-opener", 0, 0, 0);
	err = loader_ready(socket);
	while (err == 0) {
		int fds[LOADER_FDS_MAX], opened[LOADER_FDS_MAX], got;
		unsigned nr_fds, nr;

		got = loader_get(socket, &r, sizeof(r), fds, LOADER_FDS_MAX, &nr_fds);
		/* A receive that had its time: nobody wanted anything for a while. */
		if (got == -EINTR || got == -EAGAIN)
			continue;
		if (got <= 0)
			break;
		r.order.path[sizeof(r.order.path) - 1] = '\0';
		err = loader_begin(socket, &r);
		nr = opener_do(&r, fds, nr_fds, &answer, opened);
		loader_close_fds(fds, nr_fds);
		if (err == 0)
			err = loader_put(socket, &answer, sizeof(answer), opened, nr);
		loader_close_fds(opened, nr);
	}
}

int opener_start(struct loader **ret, struct reason *why)
{
	return loader_start_serving(ret, false, opener_serve, why);
}
