/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel is told as perf tells it: a mapping of no process under the name of a symbol that
 * shows how far it was moved ("[kernel.kallsyms]_text"), and one for each module.
 */
#include "recorder_facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/parse.h"
#include "clock.h"
#include "config.h"

#define KERNEL_NAME "[kernel.kallsyms]"

enum { NOTES_BYTES_MAX = 1 << 16, NOTE_BUILD_ID = 3, KSYM_BPF = 1, KSYM_OUT_OF_LINE = 2 };

/* The value of "name  : value" or "name: value" in a file of /proc, without the newline. */
static bool proc_value(const char *path, const char *name, char *out, size_t size)
{
	FILE *f = fopen(path, "re");
	char line[512];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		const char *colon = strchr(line, ':');

		found = colon && strncmp(line, name, strlen(name)) == 0;
		if (!found)
			continue;
		colon += 1 + strspn(colon + 1, " \t");
		snprintf(out, size, "%.*s", (int)strcspn(colon, "\n"), colon);
	}
	if (f)
		fclose(f);
	return found;
}

int facts_begin(struct perfdata_writer **ret, int fd, const struct options *o, size_t nr_ids)
{
	struct perfdata_about about = {
		.version = "ptop " PACKAGE_VERSION,
		.cmdline = o->argv,
		.clockid = CLOCK_MONOTONIC,
	};
	struct timespec wall, clock, resolution;
	struct utsname here;
	long cpus = sysconf(_SC_NPROCESSORS_CONF), online = sysconf(_SC_NPROCESSORS_ONLN);
	char cpu[256], memory[64];

	if (uname(&here) == 0) {
		about.hostname = here.nodename;
		about.osrelease = here.release;
		about.arch = here.machine;
	}
	about.nr_cpus = cpus > 0 ? (uint32_t)cpus : 0;
	about.nr_cpus_online = online > 0 ? (uint32_t)online : 0;
	if (proc_value("/proc/cpuinfo", "model name", cpu, sizeof(cpu)))
		about.cpudesc = cpu;
	if (proc_value("/proc/meminfo", "MemTotal", memory, sizeof(memory)))
		about.memory_kb = strtoull(memory, NULL, 10);
	if (clock_getres(CLOCK_MONOTONIC, &resolution) == 0)
		about.resolution_ns = (uint64_t)resolution.tv_nsec;
	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(CLOCK_MONOTONIC, &clock);
	about.wall_ns = (uint64_t)wall.tv_sec * NS_PER_S + (uint64_t)wall.tv_nsec;
	about.clock_ns = (uint64_t)clock.tv_sec * NS_PER_S + (uint64_t)clock.tv_nsec;
	return writer_new(ret, fd, &about, nr_ids);
}

static int put(struct perfdata_writer *w, const struct blob *b)
{
	return blob_failed(b) ? -ENOMEM : writer_record(w, -1, b->at, b->nr);
}

/* Where the kernel's text begins and ends, by the symbol that perf looks for first. */
static const char *kernel_text(uint64_t *ret_start, uint64_t *ret_end)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	uint64_t text = 0, stext = 0, etext = 0;
	char line[512];

	/* A hundred thousand lines: no more is done for each than needs to be. */
	while (f && !etext && fgets(line, sizeof(line), f)) {
		const char *name = strrchr(line, ' ');

		if (!name || name[1] != '_')
			continue;
		if (!strcmp(name, " _text\n"))
			text = strtoull(line, NULL, 16);
		else if (!strcmp(name, " _stext\n"))
			stext = strtoull(line, NULL, 16);
		else if (!strcmp(name, " _etext\n"))
			etext = strtoull(line, NULL, 16);
	}
	if (f)
		fclose(f);
	*ret_start = text ? text : stext;
	*ret_end = etext;
	if (!*ret_start || etext <= *ret_start)
		return NULL; /* hidden */
	return text ? "_text" : "_stext";
}

/* "nf_tables 303104 59 - Live 0xffffffffc0a3e000": proc_modules(5). */
static int put_modules(struct perfdata_writer *w, const struct layout *l, struct blob *b)
{
	const struct sample_id nobody = { 0 };
	FILE *f = fopen("/proc/modules", "re");
	unsigned long long size, addr;
	char line[512], name[64], module[66];
	int err = 0;

	while (f && !err && fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, " 0x");

		if (sscanf(line, "%63s %llu", name, &size) != 2 || !at ||
		    sscanf(at, " 0x%llx", &addr) != 1 || !addr)
			continue;
		snprintf(module, sizeof(module), "[%s]", name);
		synth_kernel_map(b, l, &nobody, addr, size, 0, module);
		err = put(w, b);
	}
	if (f)
		fclose(f);
	return err;
}

int facts_code(struct perfdata_writer *w, const struct layout *l, const struct symbols *symbols)
{
	const struct sample_id nobody = { 0 };
	struct blob b = { 0 };
	struct kernel_code code;
	size_t pos = 0;
	int err = 0;

	while (!err && symbols_next_code(symbols, &pos, &code)) {
		synth_ksymbol(&b, l, &nobody, code.addr, code.size,
			      code.bpf ? KSYM_BPF : KSYM_OUT_OF_LINE, code.name);
		err = put(w, &b);
	}
	blob_done(&b);
	return err;
}

int facts_kernel(struct perfdata_writer *w, const struct layout *l, const struct symbols *symbols)
{
	const struct sample_id nobody = { 0 };
	struct blob b = { 0 };
	uint64_t start, end;
	const char *symbol = kernel_text(&start, &end);
	char name[64];
	int err = 0;

	if (!symbol)
		return 0;
	snprintf(name, sizeof(name), KERNEL_NAME "%s", symbol);
	synth_kernel_map(&b, l, &nobody, start, end - start, start, name);
	err = put(w, &b);
	if (!err)
		err = put_modules(w, l, &b);
	blob_done(&b);
	return err ? err : facts_code(w, l, symbols);
}

void facts_map(struct blob *b, const struct layout *l, const struct pipeline *pl, uint32_t pid,
	       const struct mapping *m)
{
	const struct image_key *key = space_image(pl->space, m->image);
	const struct sample_id nobody = { 0 };
	struct synth_map map = {
		.pid = pid,
		.start = m->start,
		.len = m->end - m->start,
		.pgoff = m->pgoff,
		.path = "//anon",
	};

	if (key && key->kind != IMAGE_ANON) {
		map.maj = key->maj;
		map.min = key->min;
		map.ino = key->ino;
		map.ino_generation = key->ino_generation;
		map.build_id = key->build_id;
		map.build_id_size = key->build_id_size;
		map.path = space_string(pl->space, key->path);
		if (key->kind == IMAGE_FILE && images_state(pl->images, m->image) == IMAGE_LOADED)
			map.build_id_size =
				(uint8_t)images_build_id(pl->images, m->image, &map.build_id);
	}
	synth_mmap2(b, l, &nobody, &map);
}

struct telling {
	struct perfdata_writer *w;
	const struct layout *l;
	struct blob b;
	int err;
};

static void tell_thread(void *ctx, pid_t pid, pid_t tid, const char *comm)
{
	const struct sample_id nobody = { 0 };
	struct telling *t = ctx;

	if (t->err || tid == pid)
		return;
	synth_comm(&t->b, t->l, &nobody, (uint32_t)pid, (uint32_t)tid, comm);
	t->err = put(t->w, &t->b);
}

static void tell_data(void *ctx, pid_t pid, const struct data_map *m)
{
	const struct sample_id nobody = { 0 };
	struct telling *t = ctx;
	struct synth_map map = {
		.data = true,
		.pid = (uint32_t)pid,
		.start = m->start,
		.len = m->end - m->start,
		.pgoff = m->pgoff,
		.maj = m->maj,
		.min = m->min,
		.ino = m->ino,
		.path = m->path,
	};

	if (t->err)
		return;
	synth_mmap2(&t->b, t->l, &nobody, &map);
	t->err = put(t->w, &t->b);
}

int facts_process(struct perfdata_writer *w, const struct layout *l, const struct pipeline *pl,
		  uint32_t process, bool data)
{
	const struct sample_id nobody = { 0 };
	struct telling t = { .w = w, .l = l };
	struct process_info p;
	struct mapping m;
	size_t at = 0;

	if (!space_process_info(pl->space, process, &p))
		return 0;
	synth_comm(&t.b, l, &nobody, (uint32_t)p.pid, (uint32_t)p.pid, p.comm);
	t.err = put(w, &t.b);
	while (!t.err && space_next_mapping(pl->space, process, &at, &m)) {
		facts_map(&t.b, l, pl, (uint32_t)p.pid, &m);
		t.err = put(w, &t.b);
	}
	if (data)
		space_data_maps(p.pid, tell_data, &t);
	space_threads(pl->space, p.pid, tell_thread, &t);
	blob_done(&t.b);
	return t.err;
}

int facts_processes(struct perfdata_writer *w, const struct layout *l, const struct pipeline *pl,
		    bool data, pid_t command)
{
	struct process_info p;
	uint32_t process;
	size_t pos = 0;
	int err = 0;

	while (!err && space_next_process(pl->space, &pos, &process))
		if (space_process_info(pl->space, process, &p) && p.pid != command)
			err = facts_process(w, l, pl, process, data);
	return err;
}

/* The build-id among the notes of a file in /sys; its size, or 0. */
static size_t noted_build_id(const char *path, uint8_t ret[20])
{
	uint32_t note[3]; /* sizes of name and contents, type */
	size_t len, at = 0, size = 0;
	char *text;

	if (parse_file(path, NOTES_BYTES_MAX, &text, &len))
		return 0;
	while (!size && at + sizeof(note) <= len) {
		size_t name, contents;

		memcpy(note, text + at, sizeof(note));
		name = ((size_t)note[0] + 3) & ~(size_t)3;
		contents = ((size_t)note[1] + 3) & ~(size_t)3;
		at += sizeof(note);
		if (name > len - at || contents > len - at - name)
			break;
		if (note[2] == NOTE_BUILD_ID && note[0] == 4 && !memcmp(text + at, "GNU", 4) &&
		    note[1] <= 20) {
			size = note[1];
			memcpy(ret, text + at + name, size);
		}
		at += name + contents;
	}
	free(text);
	return size;
}

int facts_kernel_ids(struct perfdata_writer *w)
{
	FILE *f = fopen("/proc/modules", "re");
	char line[512], name[64], module[66], path[160];
	uint8_t id[20];
	int err =
		writer_build_id(w, KERNEL_NAME, id, noted_build_id("/sys/kernel/notes", id), true);

	while (f && !err && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s", name) != 1 || strchr(name, '/'))
			continue;
		snprintf(module, sizeof(module), "[%s]", name);
		snprintf(path, sizeof(path), "/sys/module/%s/notes/.note.gnu.build-id", name);
		err = writer_build_id(w, module, id, noted_build_id(path, id), true);
	}
	if (f)
		fclose(f);
	return err;
}

int facts_build_ids(struct perfdata_writer *w, const struct pipeline *pl)
{
	size_t nr = space_nr_images(pl->space), size;
	const uint8_t *id;
	int err = 0;

	for (uint32_t i = IMAGE_FIRST; i < nr && !err; i++) {
		const struct image_key *key = space_image(pl->space, i);

		if (!key || key->kind != IMAGE_FILE || images_state(pl->images, i) != IMAGE_LOADED)
			continue;
		size = images_build_id(pl->images, i, &id);
		if (size)
			err = writer_build_id(w, space_string(pl->space, key->path), id, size,
					      false);
	}
	return err;
}
