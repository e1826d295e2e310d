/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a space holds; private to this folder. */
#ifndef PTOP_SPACE_STATE_H
#define PTOP_SPACE_STATE_H

#include "base/map.h"
#include "base/strpool.h"
#include "base/vec.h"
#include "space/maps.h"
#include "space/space.h"

#define NONE UINT32_MAX

struct task {
	pid_t pid, tid;
	uint32_t process;
	uint32_t comm; /* NONE: not told yet */
	uint64_t dead_ns;
	bool dead, folded;
};

struct process {
	bool used; /* false: a free place, next in the list by `next_free` */
	bool dead, folded;
	bool leader_dead;
	pid_t pid;
	uint32_t comm; /* NONE: not told yet */
	uint32_t threads;
	uint32_t anon_image; /* of this incarnation; NONE until it maps anonymous code */
	uint32_t fold_task;  /* used by space_trim() only */
	uint32_t next_free;
	uint64_t born, dead_ns; /* born: a serial number, rising */
	uint64_t start_ns;      /* of the FORK record; 0 where not seen */
	uint64_t scan_ns; /* records up to here are in what a scan has read; 0: never scanned */
	struct maps *maps;
};

enum { SPACE_KNOWN_TASKS = 64 }; /* a power of two */

struct image {
	struct image_key key;
	uint32_t next; /* same hash, or next free id */
	bool used, resolved;
};

struct space {
	struct strpool *strings;
	VEC(struct task) tasks;
	VEC(struct process) processes;
	VEC(struct image) images; /* id - IMAGE_FIRST */
	struct map tids, pids;    /* to the newest task and process of that number */
	struct map files;         /* hash of an image's identity to the first of the chain `next` */
	uint32_t free_process, free_image;
	uint64_t born, failed;
	uint32_t generation; /* of the last change of any mappings; never 0 once there is one */
	bool live;           /* a scan worked: /proc is of the machine that the records are from */
	space_image_fn *on_image;
	space_scan_fn *on_scan;
	space_forget_fn *on_forget;
	void *image_ctx, *scan_ctx, *forget_ctx;
	/* What space_task() answered last, by thread: true while .epoch is that of the space. */
	struct known_task {
		pid_t pid, tid;
		uint32_t task, epoch;
	} known[SPACE_KNOWN_TASKS];
	uint32_t epoch; /* rises when a number may lead to another task */
	pid_t last_pid; /* the process that resolved last, valid while last_process != NONE */
	uint32_t last_process;
	struct mapping last; /* and its mapping; empty: none */
};

/* Everything that changes mappings, processes or images calls this: the next resolve looks afresh.
 */
void space_uncache(struct space *s);

/* space.c */
uint32_t process_find(const struct space *s, pid_t pid); /* newest of that pid, dead or not; NONE */
uint32_t process_get(struct space *s, pid_t pid,
		     uint64_t time_ns); /* made when new or dead before */
void process_comm(struct space *s, uint32_t process, uint32_t comm);
void process_map(struct space *s, uint32_t process, const struct mapping *m);

/* intern.c: the image of a file, or of a process's JIT code; NONE without memory. */
uint32_t image_file(struct space *s, const struct image_key *key);
uint32_t image_anon(struct space *s, uint32_t process);
/* Whether code under this name is anonymous memory, by its name in records and in /proc. */
bool name_is_anon(const char *name, size_t size);
bool name_is_vdso(const char *name, size_t size);
void image_release(struct space *s, uint32_t image); /* out of its chain, to the free list */
/* The mapping that a file or anonymous range makes, its image made when new. */
struct map_source {
	uint64_t start, end, pgoff;
	struct image_key key; /* path is set by map_from() */
	const char *path;
	size_t path_size;
};
int map_from(struct space *s, uint32_t process, const struct map_source *from, struct mapping *ret);

/* scan.c: a thread's name as /proc tells now, as a string id; NONE where it does not. */
uint32_t comm_read(struct space *s, pid_t pid, pid_t tid);

#endif
