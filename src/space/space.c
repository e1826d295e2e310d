/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records' meaning.  `tids` and `pids` lead from a number to the newest task and process that
 * had it; older ones stay in the tables until trimmed.  Records from before a scan tell what the
 * scan has seen already, and are passed over by its time.
 */
#include "space/space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "space/state.h"

enum { PROT_EXECUTE = 4 };

#define REVIVE_NS UINT64_C(1000000000) /* after its EXIT; a pid comes again later than that */

struct space *space_new(void)
{
	struct space *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->free_process = s->free_image = s->last_process = NONE;
	s->epoch = 1; /* .known of zeroes is not true */
	s->strings = strpool_new();
	if (!s->strings) {
		free(s);
		return NULL;
	}
	return s;
}

void space_free(struct space *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->processes.nr; i++)
		maps_drop(s->processes.at[i].maps);
	vec_done(&s->processes);
	vec_done(&s->tasks);
	vec_done(&s->images);
	map_done(&s->tids);
	map_done(&s->pids);
	map_done(&s->files);
	strpool_free(s->strings);
	free(s);
}

void space_on_image(struct space *s, space_image_fn *fn, void *ctx)
{
	s->on_image = fn;
	s->image_ctx = ctx;
}

void space_on_scan(struct space *s, space_scan_fn *fn, void *ctx)
{
	s->on_scan = fn;
	s->scan_ctx = ctx;
}

void space_on_forget(struct space *s, space_forget_fn *fn, void *ctx)
{
	s->on_forget = fn;
	s->forget_ctx = ctx;
}

void space_uncache(struct space *s)
{
	s->last_process = NONE;
	s->last = (struct mapping){ 0 };
}

uint32_t process_find(const struct space *s, pid_t pid)
{
	uint64_t *at = map_find(&s->pids, (uint32_t)pid);

	return at ? (uint32_t)*at : NONE;
}

static uint32_t process_new(struct space *s, pid_t pid)
{
	struct process made = {
		.used = true,
		.pid = pid,
		.comm = NONE,
		.threads = 1,
		.anon_image = NONE,
		.fold_task = NONE,
		.next_free = NONE,
		.born = ++s->born,
	};
	uint32_t at = s->free_process;

	if (at == NONE && vec_reserve(&s->processes, s->processes.nr + 1))
		return NONE;
	if (map_set(&s->pids, (uint32_t)pid, at == NONE ? s->processes.nr : at))
		return NONE;
	if (at == NONE) {
		at = (uint32_t)s->processes.nr++;
	} else {
		s->free_process = s->processes.at[at].next_free;
	}
	if (pid == 0)
		made.comm = strpool_add(s->strings, "swapper", 7);
	else if (pid == -1)
		made.comm = strpool_add(s->strings, "[exiting]", 9);
	else if (pid == SPACE_NOT_TOLD)
		made.comm = strpool_add(s->strings, "[not recorded]", 14);
	s->processes.at[at] = made;
	s->epoch++;
	space_uncache(s);
	return at;
}

/*
 * A program that gains rights by its exec (setuid) is taken off its events, which writes an EXIT,
 * and lives on: more records of it come at once, and no FORK before them.
 */
static void process_revive(struct space *s, struct process *p)
{
	uint64_t *leader = map_find(&s->tids, (uint32_t)p->pid);

	p->dead = p->leader_dead = false;
	p->threads = 1;
	if (leader && s->tasks.at[*leader].pid == p->pid)
		s->tasks.at[*leader].dead = false;
	s->epoch++;
	space_uncache(s);
}

uint32_t process_get(struct space *s, pid_t pid, uint64_t time_ns)
{
	uint32_t at = process_find(s, pid);
	struct process *p = at == NONE ? NULL : &s->processes.at[at];

	if (!p)
		return process_new(s, pid);
	if (!p->dead || time_ns <= p->dead_ns)
		return at;
	if (time_ns - p->dead_ns > REVIVE_NS)
		return process_new(s, pid);
	process_revive(s, p);
	return at;
}

/* The newest task of @tid if it is of @process; NONE. */
static uint32_t task_find(const struct space *s, uint32_t process, pid_t tid)
{
	uint64_t *at = map_find(&s->tids, (uint32_t)tid);

	return at && s->tasks.at[*at].process == process ? (uint32_t)*at : NONE;
}

static uint32_t task_new(struct space *s, uint32_t process, pid_t tid, uint32_t comm)
{
	const struct process *p = &s->processes.at[process];
	struct task made = { .pid = p->pid,
			     .tid = tid,
			     .process = process,
			     .comm = comm,
			     .dead = p->dead,
			     .dead_ns = p->dead_ns };

	if (s->tasks.nr >= NONE || vec_reserve(&s->tasks, s->tasks.nr + 1) ||
	    map_set(&s->tids, (uint32_t)tid, s->tasks.nr))
		return NONE;
	s->tasks.at[s->tasks.nr] = made;
	s->epoch++;
	return (uint32_t)s->tasks.nr++;
}

void process_comm(struct space *s, uint32_t process, uint32_t comm)
{
	struct process *p = &s->processes.at[process];
	uint32_t leader = task_find(s, process, p->pid);

	p->comm = comm;
	if (leader != NONE)
		s->tasks.at[leader].comm = comm;
}

/* A name for what nothing has named: from /proc where that is the records' machine, else the
 * number. */
static uint32_t comm_make(struct space *s, pid_t pid, pid_t tid, bool dead)
{
	uint32_t comm = s->live && !dead ? comm_read(s, pid, tid) : NONE;
	char text[24];

	if (comm == NONE)
		comm = strpool_add(s->strings, text,
				   (size_t)snprintf(text, sizeof(text), "?[%d]", (int)tid));
	return comm;
}

static uint32_t task_get(struct space *s, pid_t pid, pid_t tid)
{
	uint32_t process = process_get(s, pid, 0);
	struct process *p;
	struct task *t;
	uint32_t task;

	if (process == NONE) {
		s->failed++;
		return NONE;
	}
	task = task_find(s, process, tid);
	if (task == NONE)
		task = task_new(s, process, tid, NONE);
	if (task == NONE) {
		s->failed++;
		return NONE;
	}
	t = &s->tasks.at[task];
	p = &s->processes.at[process];
	if (p->comm == NONE)
		p->comm = comm_make(s, pid, pid, p->dead);
	if (t->comm == NONE)
		t->comm = tid == pid || pid == 0 ? p->comm : comm_make(s, pid, tid, t->dead);
	return task;
}

uint32_t space_task(struct space *s, pid_t pid, pid_t tid)
{
	struct known_task *known = &s->known[(uint32_t)tid % SPACE_KNOWN_TASKS];
	uint32_t task;

	if (known->epoch == s->epoch && known->pid == pid && known->tid == tid)
		return known->task;
	task = task_get(s, pid, tid);
	if (task != NONE)
		*known = (struct known_task){ pid, tid, task, s->epoch };
	return task;
}

/* When a record says it happened; 0 where it does not. */
static uint64_t record_time(const struct record *r, uint64_t own_ns)
{
	return own_ns ? own_ns : r->sid.time_ns;
}

static bool seen_by_scan(const struct process *p, uint64_t time_ns)
{
	return p->scan_ns && time_ns && time_ns <= p->scan_ns;
}

static void process_die(struct process *p, uint64_t time_ns)
{
	p->dead = true;
	p->dead_ns = time_ns;
}

static void apply_fork_thread(struct space *s, const struct record *r, uint64_t time_ns)
{
	uint32_t process = process_get(s, (pid_t)r->task.pid, time_ns);
	pid_t tid = (pid_t)r->task.tid;
	uint32_t parent, task;

	if (process == NONE) {
		s->failed++;
		return;
	}
	if (!seen_by_scan(&s->processes.at[process], time_ns))
		s->processes.at[process].threads++;
	task = task_find(s, process, tid);
	if (task != NONE && !s->tasks.at[task].dead)
		return;
	parent = task_find(s, process, (pid_t)r->task.ptid);
	if (task_new(s, process, tid, parent != NONE ? s->tasks.at[parent].comm : NONE) == NONE)
		s->failed++;
}

static void apply_fork_process(struct space *s, const struct record *r, uint64_t time_ns)
{
	pid_t pid = (pid_t)r->task.pid;
	uint32_t parent = process_find(s, (pid_t)r->task.ppid);
	uint32_t old = process_find(s, pid), made, comm = NONE;
	struct process *p = old == NONE ? NULL : &s->processes.at[old];

	if (p && !p->dead) {
		if (seen_by_scan(p, time_ns) || (p->start_ns && p->start_ns == time_ns))
			return;
		process_die(p, time_ns);
	}
	made = process_new(s, pid);
	if (made == NONE) {
		s->failed++;
		return;
	}
	p = &s->processes.at[made];
	p->start_ns = time_ns;
	if (parent != NONE) {
		uint32_t task = task_find(s, parent, (pid_t)r->task.ptid);

		comm = task != NONE ? s->tasks.at[task].comm : s->processes.at[parent].comm;
		p->maps = maps_share(s->processes.at[parent].maps);
	}
	p->comm = comm;
	if (task_new(s, made, pid, comm) == NONE)
		s->failed++;
}

static void apply_fork(struct space *s, const struct record *r)
{
	uint64_t time_ns = record_time(r, r->task.time_ns);

	if (r->task.tid == r->task.pid)
		apply_fork_process(s, r, time_ns);
	else
		apply_fork_thread(s, r, time_ns);
}

static void apply_exit(struct space *s, const struct record *r)
{
	uint64_t time_ns = record_time(r, r->task.time_ns);
	uint32_t process = process_find(s, (pid_t)r->task.pid), task;
	struct process *p = process == NONE ? NULL : &s->processes.at[process];

	if (!p || p->dead || seen_by_scan(p, time_ns))
		return;
	task = task_find(s, process, (pid_t)r->task.tid);
	if (task != NONE) {
		if (s->tasks.at[task].dead)
			return;
		s->tasks.at[task].dead = true;
		s->tasks.at[task].dead_ns = time_ns;
	}
	if (p->threads)
		p->threads--;
	if (r->task.tid == r->task.pid)
		p->leader_dead = true;
	if (p->leader_dead && !p->threads)
		process_die(p, time_ns);
}

static void apply_comm(struct space *s, const struct record *r)
{
	const struct bytes *name = &r->comm.comm;
	uint64_t time_ns = r->sid.time_ns;
	uint32_t process = process_get(s, (pid_t)r->comm.pid, time_ns);
	uint32_t comm = strpool_add(s->strings, (const char *)name->at,
				    name->size ? strnlen((const char *)name->at, name->size) : 0);
	struct process *p;
	uint32_t task;

	if (process == NONE || comm == NONE) {
		s->failed++;
		return;
	}
	p = &s->processes.at[process];
	if (seen_by_scan(p, time_ns))
		return;
	if (r->comm.exec) { /* all other threads are gone by now */
		maps_drop(p->maps);
		p->maps = NULL;
		p->anon_image = NONE;
		p->threads = 1;
		p->leader_dead = false; /* a thread that execs takes the leader's place */
		space_uncache(s);
	}
	task = task_find(s, process, (pid_t)r->comm.tid);
	if (task == NONE)
		task = task_new(s, process, (pid_t)r->comm.tid, comm);
	if (task == NONE) {
		s->failed++;
	} else {
		s->tasks.at[task].comm = comm;
		s->tasks.at[task].dead &= !r->comm.exec;
	}
	if (r->comm.tid == r->comm.pid)
		process_comm(s, process, comm);
}

void process_map(struct space *s, uint32_t process, const struct mapping *m)
{
	struct process *p = &s->processes.at[process];
	const struct image_key *key = space_image(s, m->image);
	const struct mapping *had = maps_find(p->maps, m->start);
	bool anon = key && key->kind == IMAGE_ANON, fresh = false;

	if (had && had->image == m->image && had->end >= m->end &&
	    m->pgoff == had->pgoff + (m->start - had->start) &&
	    (anon || (had->start == m->start && had->end == m->end)))
		return;
	space_uncache(s);
	if (maps_add(&p->maps, m, anon, &fresh)) {
		s->failed++;
		return;
	}
	if (++s->generation == 0)
		s->generation = 1;
	p->maps->generation = s->generation;
	if (fresh && !anon && s->on_image)
		s->on_image(s->image_ctx, m->image, p->pid, m->start, m->end);
}

static bool mmap_replaces(const struct space *s, const struct record_mmap *mm)
{
	const char *name = (const char *)mm->filename.at;
	size_t size = mm->filename.size ? strnlen(name, mm->filename.size) : 0;
	uint32_t process = process_find(s, (pid_t)mm->pid), but = NONE;
	const struct process *p = process == NONE ? NULL : &s->processes.at[process];

	if (!p || !(mm->prot & PROT_EXECUTE) || mm->is_data || mm->start + mm->len <= mm->start)
		return false;
	if (!(mm->has_inode && mm->ino) && !mm->has_build_id && name_is_anon(name, size))
		but = p->anon_image;
	return maps_overlap(p->maps, mm->start, mm->start + mm->len, but);
}

bool space_replaces(const struct space *s, const struct record *r)
{
	if (r->type == RECORD_COMM)
		return r->comm.exec;
	return (r->type == RECORD_MMAP || r->type == RECORD_MMAP2) &&
	       r->cpumode != CPUMODE_KERNEL && mmap_replaces(s, &r->mmap);
}

static void apply_mmap(struct space *s, const struct record *r)
{
	const struct record_mmap *mm = &r->mmap;
	struct map_source from = {
		.start = mm->start,
		.end = mm->start + mm->len,
		.pgoff = mm->pgoff,
		.path = (const char *)mm->filename.at,
		.path_size = mm->filename.size
				     ? strnlen((const char *)mm->filename.at, mm->filename.size)
				     : 0,
	};
	struct mapping m;
	uint32_t process;

	if (!(mm->prot & PROT_EXECUTE) || mm->is_data || r->cpumode == CPUMODE_KERNEL ||
	    (pid_t)mm->pid == -1 || from.end <= from.start)
		return;
	if (mm->has_inode) {
		from.key.maj = mm->maj;
		from.key.min = mm->min;
		from.key.ino = mm->ino;
		from.key.ino_generation = mm->ino_generation;
	}
	if (mm->has_build_id && mm->build_id_size <= sizeof(mm->build_id)) {
		from.key.build_id_size = mm->build_id_size;
		memcpy(from.key.build_id, mm->build_id, mm->build_id_size);
	}
	process = process_get(s, (pid_t)mm->pid, r->sid.time_ns);
	if (process != NONE && seen_by_scan(&s->processes.at[process], r->sid.time_ns))
		return;
	if (process == NONE || map_from(s, process, &from, &m))
		s->failed++;
	else
		process_map(s, process, &m);
}

void space_apply(struct space *s, const struct record *r)
{
	switch (r->type) {
	case RECORD_FORK:
		apply_fork(s, r);
		break;
	case RECORD_EXIT:
		apply_exit(s, r);
		break;
	case RECORD_COMM:
		apply_comm(s, r);
		break;
	case RECORD_MMAP:
	case RECORD_MMAP2:
		apply_mmap(s, r);
		break;
	default:
		break;
	}
}
