/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Side-band records filled by hand. */
#ifndef PTOP_TESTS_SPACE_RECORDS_H
#define PTOP_TESTS_SPACE_RECORDS_H

#include <string.h>

#include "record/record.h"
#include "space/space.h"

static inline struct record record_of(uint32_t type, uint64_t time_ns)
{
	struct record r = { .type = type, .cpumode = CPUMODE_USER };

	r.sid.time_ns = time_ns;
	return r;
}

static inline struct bytes bytes_of(const char *text)
{
	return (struct bytes){ (const uint8_t *)text, (uint32_t)strlen(text) + 1 };
}

static inline void do_fork(struct space *s, uint32_t pid, uint32_t ppid, uint32_t tid,
			   uint32_t ptid, uint64_t time_ns)
{
	struct record r = record_of(RECORD_FORK, time_ns);

	r.task.pid = pid;
	r.task.ppid = ppid;
	r.task.tid = tid;
	r.task.ptid = ptid;
	r.task.time_ns = time_ns;
	space_apply(s, &r);
}

static inline void do_exit(struct space *s, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	struct record r = record_of(RECORD_EXIT, time_ns);

	r.task.pid = pid;
	r.task.tid = tid;
	r.task.time_ns = time_ns;
	space_apply(s, &r);
}

static inline void do_comm(struct space *s, uint32_t pid, uint32_t tid, const char *comm, bool exec,
			   uint64_t time_ns)
{
	struct record r = record_of(RECORD_COMM, time_ns);

	r.comm.pid = pid;
	r.comm.tid = tid;
	r.comm.exec = exec;
	r.comm.comm = bytes_of(comm);
	space_apply(s, &r);
}

/* MMAP2 of an executable range; @ino 0: nameless or by path. */
static inline void do_mmap(struct space *s, uint32_t pid, uint64_t start, uint64_t len,
			   uint64_t pgoff, uint64_t ino, const char *path, uint64_t time_ns)
{
	struct record r = record_of(RECORD_MMAP2, time_ns);

	r.mmap.pid = r.mmap.tid = pid;
	r.mmap.start = start;
	r.mmap.len = len;
	r.mmap.pgoff = pgoff;
	r.mmap.prot = 5;
	r.mmap.has_inode = ino != 0;
	r.mmap.maj = 8;
	r.mmap.min = 1;
	r.mmap.ino = ino;
	r.mmap.ino_generation = ino ? 1 : 0;
	r.mmap.filename = bytes_of(path);
	space_apply(s, &r);
}

#endif
