/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who runs and what is mapped where: processes, threads, names and mappings, kept true by
 * applying the side-band records in time order.  fork copies, exec replaces, a new mapping
 * overrides what it overlaps, exit keeps the dead for naming until the samples that need them are
 * gone (space_trim()).
 *
 * Ids given out (task, process, image) are small, dense, and stay valid until trimmed or renamed.
 * One thread; records are borrowed during a call only; failures to allocate are counted
 * (space_failed()).
 */
#ifndef PTOP_SPACE_SPACE_H
#define PTOP_SPACE_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/record.h"

/*
 * Images 0.. are special, then one id a distinct file (or JIT region of a process), given by
 * image_key.
 */
enum {
	IMAGE_UNKNOWN = 0, /* no mapping covers the address; offset is the address */
	IMAGE_KERNEL = 1,  /* kernel, modules, BPF, ftrace trampolines; offset is the address */
	IMAGE_PSEUDO = 2,  /* ptop's own frames; offset is enum pseudo_frame */
	IMAGE_FIRST = 3,
};

/* What names a mapped file: the space interns these, the image folder opens and reads them. */
enum image_kind { IMAGE_FILE, IMAGE_VDSO, IMAGE_ANON /* JIT code, one a process */ };
struct image_key {
	enum image_kind kind;
	uint32_t maj, min; /* of the file system; 0 where build-id only */
	uint64_t ino, ino_generation;
	uint8_t build_id[20], build_id_size; /* from MMAP2, size 0 where not told */
	uint32_t process; /* IMAGE_ANON: whose; UINT32_MAX once that process is trimmed */
	pid_t pid;        /* IMAGE_ANON: whose */
	uint32_t path;    /* as the record says, an id of space_string() */
};

struct place { /* where an address falls */
	uint32_t image;
	uint64_t offset; /* in the file; or the address itself for special and ANON images */
};

struct space;

struct space *space_new(void);
void space_free(struct space *s);

/*
 * Whether applying @r changes what addresses of its process that are mapped now resolve to: an
 * exec, or a mapping over others (JIT code over JIT code changes nothing).
 */
bool space_replaces(const struct space *s, const struct record *r);

/*
 * Applies FORK, EXIT, COMM, MMAP, MMAP2 (others are ignored).  New images are reported to the
 * hook below.
 */
void space_apply(struct space *s, const struct record *r);

/*
 * Reads /proc/PID for a process or all: comm, threads, executable mappings.  What is already
 * known from records stays. space_scan_all() takes what it can within the rights; returns
 * processes read.  space_scan() 0, -ENOENT (gone), -EACCES, …. @now_ns is when (same clock as the
 * records).
 */
size_t space_scan_all(struct space *s, uint64_t now_ns);
int space_scan(struct space *s, pid_t pid, uint64_t now_ns);

/* In place of a pid and a tid: samples that do not tell whose they are. */
enum { SPACE_NOT_TOLD = -2 };

/*
 * The thread's id, made when new.  A name that no record told is read from /proc once a scan has
 * shown that these processes live here; else it is "?[tid]" until a record tells.
 */
uint32_t space_task(struct space *s, pid_t pid, pid_t tid);

/* Where a user address of process @pid falls now. */
struct place space_resolve(struct space *s, pid_t pid, uint64_t addr);
/* The whole mapping that holds it, for rescans and diagnosis; false where there is none. */
struct mapping {
	uint64_t start, end, pgoff;
	uint32_t image;
};
bool space_mapping(struct space *s, pid_t pid, uint64_t addr, struct mapping *ret);

/*
 * Names the mappings that process @pid has now: whatever space_resolve() gave for it stays true as
 * long as this number stays (2^32 changes of mappings bring it again) and the image is not
 * forgotten.  A fork has its parent's number until either changes.  0: nothing is mapped.
 */
uint32_t space_generation(struct space *s, pid_t pid);

/* Facts of ids.  Strings are scrubbed of nothing yet: text_scrub() before a terminal. */
struct task_info {
	pid_t pid, tid;   /* folded: -1 both, or tid only where the process lives */
	uint32_t process; /* small process id, one a (pid, start); kept by space_trim() */
	const char *comm; /* the thread's name */
	const char *process_comm;
	bool dead;
	bool folded; /* stands for many dead threads */
};
bool space_task_info(const struct space *s, uint32_t task, struct task_info *ret);
size_t space_nr_tasks(const struct space *s); /* ids are below */
/* Of a process id; false where there is none any more.  The name is borrowed and not scrubbed. */
struct process_info {
	pid_t pid;
	const char *comm; /* "" while nothing told it */
	bool dead;
};
bool space_process_info(const struct space *s, uint32_t process, struct process_info *ret);
size_t space_nr_processes(const struct space *s);
size_t space_nr_images(const struct space *s);
/* NULL for special ids and for those forgotten.  Borrowed until the next new image. */
const struct image_key *space_image(const struct space *s, uint32_t image);
/* Of image_key.path; borrowed until the next space_trim(). */
const char *space_string(const struct space *s, uint32_t string);

/* Any live or dead process that maps @image, newest first, for opening it; 0 where none. */
pid_t space_image_user(const struct space *s, uint32_t image, struct mapping *ret);
/*
 * Where a process has @offset of @image mapped, newest first: its pid and the address; 0 where
 * none.
 */
pid_t space_image_address(const struct space *s, uint32_t image, uint64_t offset,
			  uint64_t *ret_addr);

/* The same for one process; false where it has none. */
bool space_address(const struct space *s, pid_t pid, uint32_t image, uint64_t offset,
		   uint64_t *ret_addr);
/*
 * A mapping of process @pid of a file whose path @fits says yes to, if its mappings changed since
 * *@generation (0 at first), which is brought up to date.  False where they did not, or none fits.
 */
bool space_find_file(const struct space *s, pid_t pid, bool (*fits)(const char *path),
		     uint32_t *generation, struct mapping *ret);

/*
 * Walks what is there, from *@pos 0 on: the ids of processes that live, and the mappings of one in
 * order of address.  False at the end.
 */
bool space_next_process(const struct space *s, size_t *pos, uint32_t *ret);
bool space_next_mapping(const struct space *s, uint32_t process, size_t *pos, struct mapping *ret);

/* The threads of a process and their names as /proc tells now; keeps nothing. */
void space_threads(struct space *s, pid_t pid,
		   void (*fn)(void *ctx, pid_t pid, pid_t tid, const char *comm), void *ctx);

/* Its mappings of files that are not code, likewise. */
struct data_map {
	uint64_t start, end, pgoff, ino;
	uint32_t maj, min;
	const char *path;
};
void space_data_maps(pid_t pid, void (*fn)(void *ctx, pid_t pid, const struct data_map *m),
		     void *ctx);

/*
 * Called when a process first maps an image: the moment to open the file, while it is still there.
 * @pid and @start tell the map_files entry.
 */
typedef void space_image_fn(void *ctx, uint32_t image, pid_t pid, uint64_t start, uint64_t end);
void space_on_image(struct space *s, space_image_fn *fn, void *ctx);

/* Called when a process was read from /proc: it may have mappings that no record told of. */
typedef void space_scan_fn(void *ctx, uint32_t process);
void space_on_scan(struct space *s, space_scan_fn *fn, void *ctx);

/*
 * Called when an image is forgotten, just before its id may be given to another: drop what is
 * kept under it. Without this hook no image is ever forgotten.
 */
typedef void space_forget_fn(void *ctx, uint32_t image);
void space_on_forget(struct space *s, space_forget_fn *fn, void *ctx);

/*
 * Forgets what no sample needs: dead threads and processes not marked in @used_tasks (by task
 * id), images that nothing maps and no address was ever resolved to, and strings of the gone.
 * Dead tasks still needed are folded once they are dead for @fold_after_ns: into one a command
 * name, or into one a process while that lives.  Writes each old task id's new id into
 * @ret_task_map (space_nr_tasks() entries before the call; UINT32_MAX: gone).  0 or -ENOMEM with
 * nothing changed.
 */
int space_trim(struct space *s, uint64_t now_ns, uint64_t fold_after_ns, const uint8_t *used_tasks,
	       uint32_t *ret_task_map);

/*
 * Forgets images that nothing maps and @used_images (a flag an image, space_nr_images() entries)
 * does not mark, resolved to or not: for when the stacks were pruned.  Returns how many.
 */
size_t space_trim_images(struct space *s, const uint8_t *used_images);

size_t space_bytes(const struct space *s);
uint64_t space_failed(const struct space *s);

#endif
