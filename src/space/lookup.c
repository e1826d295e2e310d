/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions to a space.  Frames of one stack fall into one process and few mappings: the last of
 * each is kept. */
#include <string.h>

#include "space/state.h"

/* The newest process of @pid, remembered; false where there is none. */
static bool process_turn(struct space *s, pid_t pid)
{
	if (s->last_process == NONE || s->last_pid != pid) {
		space_uncache(s);
		s->last_process = process_find(s, pid);
		s->last_pid = pid;
	}
	return s->last_process != NONE;
}

/* The mapping of @addr in process @pid, remembered; NULL where there is none. */
static const struct mapping *mapping_find(struct space *s, pid_t pid, uint64_t addr)
{
	const struct mapping *m;

	if (!process_turn(s, pid))
		return NULL;
	if (addr - s->last.start < s->last.end - s->last.start)
		return &s->last;
	m = maps_find(s->processes.at[s->last_process].maps, addr);
	if (!m)
		return NULL;
	s->last = *m;
	s->images.at[m->image - IMAGE_FIRST].resolved = true;
	return &s->last;
}

struct place space_resolve(struct space *s, pid_t pid, uint64_t addr)
{
	const struct mapping *m = mapping_find(s, pid, addr);

	if (!m)
		return (struct place){ IMAGE_UNKNOWN, addr };
	return (struct place){ m->image, addr - m->start + m->pgoff };
}

bool space_mapping(struct space *s, pid_t pid, uint64_t addr, struct mapping *ret)
{
	const struct mapping *m = mapping_find(s, pid, addr);

	if (m)
		*ret = *m;
	return m != NULL;
}

uint32_t space_generation(struct space *s, pid_t pid)
{
	const struct maps *maps;

	if (!process_turn(s, pid))
		return 0;
	maps = s->processes.at[s->last_process].maps;
	return maps ? maps->generation : 0;
}

bool space_task_info(const struct space *s, uint32_t task, struct task_info *ret)
{
	const struct task *t;
	const struct process *p;

	if (task >= s->tasks.nr)
		return false;
	t = &s->tasks.at[task];
	p = &s->processes.at[t->process];
	*ret = (struct task_info){
		.pid = t->pid,
		.tid = t->tid,
		.process = t->process,
		.comm = strpool_get(s->strings, t->comm != NONE ? t->comm : p->comm),
		.process_comm = strpool_get(s->strings, p->comm),
		.dead = t->dead || p->dead,
		.folded = t->folded,
	};
	return true;
}

size_t space_nr_tasks(const struct space *s)
{
	return s->tasks.nr;
}

size_t space_nr_processes(const struct space *s)
{
	return s->processes.nr;
}

size_t space_nr_images(const struct space *s)
{
	return s->images.nr + IMAGE_FIRST;
}

const struct image_key *space_image(const struct space *s, uint32_t image)
{
	size_t at = (size_t)image - IMAGE_FIRST;

	if (image < IMAGE_FIRST || at >= s->images.nr || !s->images.at[at].used)
		return NULL;
	return &s->images.at[at].key;
}

const char *space_string(const struct space *s, uint32_t string)
{
	return strpool_get(s->strings, string);
}

/* The mapping of @image in @maps, of that offset if @offset is not NULL. */
static const struct mapping *maps_of_image(const struct maps *maps, uint32_t image,
					   const uint64_t *offset)
{
	for (uint32_t i = 0; maps && i < maps->nr; i++) {
		const struct mapping *m = &maps->at[i];

		if (m->image == image && (!offset || *offset - m->pgoff < m->end - m->start))
			return m;
	}
	return NULL;
}

/* Of the processes that map it, a living one before a dead one, then the newest. */
static pid_t image_user(const struct space *s, uint32_t image, const uint64_t *offset,
			struct mapping *ret)
{
	const struct process *best = NULL;

	for (size_t i = 0; i < s->processes.nr; i++) {
		const struct process *p = &s->processes.at[i];
		const struct mapping *m;

		if (!p->used || (best && (best->dead < p->dead ||
					  (best->dead == p->dead && best->born > p->born))))
			continue;
		m = maps_of_image(p->maps, image, offset);
		if (m) {
			best = p;
			*ret = *m;
		}
	}
	return best ? best->pid : 0;
}

pid_t space_image_user(const struct space *s, uint32_t image, struct mapping *ret)
{
	return image_user(s, image, NULL, ret);
}

pid_t space_image_address(const struct space *s, uint32_t image, uint64_t offset,
			  uint64_t *ret_addr)
{
	struct mapping m;
	pid_t pid = image_user(s, image, &offset, &m);

	if (pid)
		*ret_addr = m.start + (offset - m.pgoff);
	return pid;
}

/* The mappings of the newest process of @pid; NULL where it has none. */
static const struct maps *maps_of(const struct space *s, pid_t pid)
{
	uint32_t process = process_find(s, pid);

	return process == NONE ? NULL : s->processes.at[process].maps;
}

bool space_address(const struct space *s, pid_t pid, uint32_t image, uint64_t offset,
		   uint64_t *ret_addr)
{
	const struct mapping *m = maps_of_image(maps_of(s, pid), image, &offset);

	if (m)
		*ret_addr = m->start + (offset - m->pgoff);
	return m != NULL;
}

bool space_find_file(const struct space *s, pid_t pid, bool (*fits)(const char *path),
		     uint32_t *generation, struct mapping *ret)
{
	const struct maps *maps = maps_of(s, pid);

	if (!maps || maps->generation == *generation)
		return false;
	*generation = maps->generation;
	for (uint32_t i = maps->nr; i > 0; i--) {
		const struct mapping *m = &maps->at[i - 1];
		const struct image_key *key = space_image(s, m->image);

		if (key && key->kind == IMAGE_FILE && fits(strpool_get(s->strings, key->path))) {
			*ret = *m;
			return true;
		}
	}
	return false;
}

bool space_next_process(const struct space *s, size_t *pos, uint32_t *ret)
{
	while (*pos < s->processes.nr) {
		uint32_t at = (uint32_t)(*pos)++;
		const struct process *p = &s->processes.at[at];

		if (!p->used || p->dead || p->folded || p->pid <= 0)
			continue;
		*ret = at;
		return true;
	}
	return false;
}

bool space_next_mapping(const struct space *s, uint32_t process, size_t *pos, struct mapping *ret)
{
	const struct maps *maps = process < s->processes.nr ? s->processes.at[process].maps : NULL;

	if (!maps || *pos >= maps->nr)
		return false;
	*ret = maps->at[(*pos)++];
	return true;
}

size_t space_bytes(const struct space *s)
{
	size_t n = sizeof(*s) + strpool_bytes(s->strings) + s->tasks.cap * sizeof(s->tasks.at[0]) +
		   s->processes.cap * sizeof(s->processes.at[0]) +
		   s->images.cap * sizeof(s->images.at[0]) +
		   (s->tids.cap + s->pids.cap + s->files.cap) * (sizeof(struct map_entry) + 1);

	for (size_t i = 0; i < s->processes.nr; i++) {
		const struct maps *m = s->processes.at[i].maps;

		n += m ? maps_bytes(m) / m->refs : 0;
	}
	return n;
}

uint64_t space_failed(const struct space *s)
{
	return s->failed;
}

bool space_process_info(const struct space *s, uint32_t process, struct process_info *ret)
{
	const struct process *p;

	if (process >= s->processes.nr || !s->processes.at[process].used)
		return false;
	p = &s->processes.at[process];
	*ret = (struct process_info){
		.pid = p->pid,
		.comm = p->comm == NONE ? "" : strpool_get(s->strings, p->comm),
		.dead = p->dead,
	};
	return true;
}
