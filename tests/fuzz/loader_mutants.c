/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mutated ELF files through the loader, as from a hostile user: usage loader_mutants [NUMBER
 * [SEED]]. Each must be answered within the deadline, by a table that passes its check and can be
 * read, or by an error with a reason.  A worker may not die of one either: that costs only this
 * file, but it is a bug; the file is left in loader-mutant-N.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <lzma.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "image/loader.h"
#include "image/vdso.h"
#include "support/elf_bytes.h"

#define NUMBER 1500u
#define SEEDS_MAX 8u
#define WAIT_MS 20000

struct seed {
	const char *name;
	uint8_t *at;
	size_t size;
	unsigned weight; /* large files are taken less often */
};

struct run {
	struct seed seeds[SEEDS_MAX];
	unsigned nr_seeds, weights;
	uint64_t random;
	struct loader *loader;
	uint64_t sum; /* of what was read, so that reading is not left out */
	uint64_t made[NR_LOADER_WHATS], refused, hung, died, lied, slowest_ns;
	struct {
		uint32_t number;
		int fd; /* a copy of the descriptor */
	} sent[LOADER_IN_FLIGHT_MAX];
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "loader_mutants: %s\n", what);
	exit(1);
}

/* xorshift64* */
static uint64_t next(struct run *r)
{
	r->random ^= r->random >> 12;
	r->random ^= r->random << 25;
	r->random ^= r->random >> 27;
	return r->random * UINT64_C(0x2545f4914f6cdd1d);
}

static uint64_t below(struct run *r, uint64_t bound)
{
	return next(r) % bound;
}

static void add_seed(struct run *r, const char *name, const void *bytes, size_t size,
		     unsigned weight)
{
	struct seed *s = &r->seeds[r->nr_seeds++];

	*s = (struct seed){ .name = name, .at = malloc(size), .size = size, .weight = weight };
	if (s->at == NULL)
		die("out of memory");
	memcpy(s->at, bytes, size);
	r->weights += weight;
}

static void add_file(struct run *r, const char *name, const char *path, unsigned weight)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
	uint8_t *bytes = size > 0 ? malloc((size_t)size) : NULL;

	if (bytes != NULL && pread(fd, bytes, (size_t)size, 0) == size)
		add_seed(r, name, bytes, (size_t)size, weight);
	free(bytes);
	if (fd >= 0)
		close(fd);
}

/* The dynamic linker: code by hand, many kinds of call frame information. */
static int find_linker(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	if (strstr(info->dlpi_name, "/ld-") == NULL)
		return 0;
	add_file(ctx, "dynamic linker", info->dlpi_name, 4);
	return 1;
}

static void pack(const struct elf_bytes *inner, struct elf_bytes *outer)
{
	uint8_t packed[8192];
	size_t size = 0;

	if (lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, inner->at, inner->size, packed,
				    &size, sizeof(packed)) == LZMA_OK)
		elf_bytes_section(outer, ".gnu_debugdata", SHT_PROGBITS, 0, 0, packed, size);
}

/* Small files with each kind of section that is read. */
static void add_made(struct run *r)
{
	static const struct elf_bytes_symbol symbols[] = {
		{ "main", 0x100, 64, STT_FUNC, STB_GLOBAL, 1 },
		{ "_ZN3foo3barIiEEvT_", 0x140, 0, STT_FUNC, STB_LOCAL, 1 },
		{ "_RNvC6_123foo3bar", 0x180, 32, STT_GNU_IFUNC, STB_WEAK, 1 },
		{ "nested", 0x110, 16, STT_FUNC, STB_LOCAL, 1 },
	};
	static const uint8_t id[20] = { 1, 2, 3 };
	struct elf_bytes inner, e;

	elf_bytes_init(&inner, ET_DYN, EM_X86_64);
	elf_bytes_symbols(&inner, SHT_SYMTAB, symbols, 4);
	elf_bytes_finish(&inner);
	for (int with_symbols = 0; with_symbols < 2; with_symbols++) {
		elf_bytes_init(&e, ET_DYN, EM_X86_64);
		elf_bytes_segment(&e, PT_LOAD, PF_R | PF_X, 0, 0, 0x1000);
		elf_bytes_code(&e, ".text", 0x100, NULL, 0x400);
		elf_bytes_build_id(&e, id, sizeof(id));
		elf_bytes_symbols(&e, SHT_DYNSYM, symbols, 2);
		if (with_symbols)
			elf_bytes_symbols(&e, SHT_SYMTAB, symbols, 4);
		else
			pack(&inner, &e);
		elf_bytes_section(&e, ".gnu_debuglink", SHT_PROGBITS, 0, 0, "x.debug\0\1\2\3\4",
				  12);
		elf_bytes_finish(&e);
		add_seed(r, with_symbols ? "symbols" : "packed symbols", e.at, e.size, 20);
		elf_bytes_done(&e);
	}
	elf_bytes_done(&inner);
}

/* A unit with one function, into which another was put. */
static void add_dwarf(struct run *r)
{
	struct elf_bytes e;

	elf_bytes_init(&e, ET_DYN, EM_X86_64);
	elf_bytes_segment(&e, PT_LOAD, PF_R | PF_X, 0, 0, 0x1000);
	elf_bytes_code(&e, ".text", 0x100, NULL, 0x400);
	elf_bytes_dwarf(&e);
	elf_bytes_finish(&e);
	add_seed(r, "debug information", e.at, e.size, 60);
	elf_bytes_done(&e);
}

static void add_seeds(struct run *r)
{
	const void *vdso;
	size_t size;

	if (vdso_bytes(&vdso, &size, NULL) == 0)
		add_seed(r, "vdso", vdso, size, 40);
	add_made(r);
	add_dwarf(r);
	dl_iterate_phdr(find_linker, r);
	add_file(r, "this program", "/proc/self/exe", 1);
}

/* A place to damage: half the time where headers are. */
static size_t place(struct run *r, const uint8_t *at, size_t size)
{
	Elf64_Ehdr h;
	uint64_t table = 0;

	if (size < sizeof(h) || below(r, 2) == 0)
		return below(r, size);
	memcpy(&h, at, sizeof(h));
	switch (below(r, 3)) {
	case 0:
		return below(r, sizeof(h));
	case 1:
		table = h.e_phoff + below(r, 16 * sizeof(Elf64_Phdr));
		break;
	default:
		table = h.e_shoff + below(r, 48 * sizeof(Elf64_Shdr));
	}
	return table < size ? table : below(r, size);
}

static void put_value(struct run *r, uint8_t *at, size_t room)
{
	static const uint64_t values[] = {
		0,          1,      2,          0x7f,       0x80,       0xff,      0x7fff,
		0x8000,     0xffff, 0x7fffffff, 0x80000000, 0xffffffff, INT64_MAX, 1ull << 63,
		UINT64_MAX, 0x1000, 0x100000,   0xfffffff0, 1ull << 40,
	};
	uint64_t value = values[below(r, sizeof(values) / sizeof(values[0]))];
	size_t size = (size_t)1 << below(r, 4);

	if (below(r, 4) == 0)
		value = next(r);
	memcpy(at, &value, size < room ? size : room);
}

/* Damages @at; returns its new size, which is never more. */
static size_t mutate(struct run *r, uint8_t *at, size_t size)
{
	for (uint64_t edits = 1 + below(r, 8); edits > 0 && size > 0; edits--) {
		size_t from = place(r, at, size), to = below(r, size), length;

		switch (below(r, 8)) {
		case 0:
			at[from] ^= (uint8_t)(1u << below(r, 8));
			break;
		case 1:
			at[from] = (uint8_t)next(r);
			break;
		case 2:
			length = below(r, 64) + 1;
			if (length > size - from || length > size - to)
				break;
			memmove(at + to, at + from, length);
			break;
		case 3:
			if (below(r, 8) == 0)
				size = from;
			break;
		default:
			put_value(r, at + from, size - from);
		}
	}
	return size;
}

static int make_mutant(struct run *r)
{
	uint64_t pick = below(r, r->weights);
	const struct seed *s = r->seeds;
	uint8_t *copy;
	int fd;

	while (pick >= s->weight)
		pick -= (s++)->weight;
	copy = malloc(s->size);
	if (copy == NULL)
		die("out of memory");
	memcpy(copy, s->at, s->size);
	fd = elf_bytes_fd(copy, mutate(r, copy, s->size));
	free(copy);
	return fd;
}

static void read_table(struct run *r, const struct table *t)
{
	for (uint32_t i = 0; i < t->header->nr_symbols; i++) {
		uint32_t found = table_find(t, t->symbols[i].start);

		if (found == TABLE_NO_SYMBOL)
			die("a symbol is not found at its start");
		r->sum += strlen(table_name(t, found));
	}
	for (uint32_t i = 0; i < 64; i++)
		r->sum += table_symbol(t, next(r) >> below(r, 64));
}

static void read_rows(struct run *r, const struct rows *rows)
{
	uint64_t vaddr;

	for (uint32_t i = 0; i < rows->header->nr_rows; i++)
		r->sum += rows_find(rows, rows->header->base + rows->starts[i])->cfa;
	for (uint32_t i = 0; i < 64; i++) {
		if (rows_vaddr(rows, next(r) >> below(r, 64), &vaddr))
			r->sum += rows_find(rows, vaddr)->cfa;
	}
}

static void keep_file(int fd, uint32_t number, const char *why)
{
	char name[64], bytes[4096];
	off_t at = 0;
	ssize_t nr;
	FILE *out;

	snprintf(name, sizeof(name), "loader-mutant-%u", number);
	fprintf(stderr, "%s: %s\n", name, why);
	out = fopen(name, "we");
	while (out != NULL && (nr = pread(fd, bytes, sizeof(bytes), at)) > 0) {
		fwrite(bytes, 1, (size_t)nr, out);
		at += nr;
	}
	if (out != NULL)
		fclose(out);
}

static void read_inlines(struct run *r, const struct inlines *in)
{
	const char *names[INLINES_DEPTH_MAX];

	for (uint32_t i = 0; i < in->header->nr_steps; i++) {
		uint32_t nr = inlines_at(in, in->header->base + in->steps[i].start, names);

		while (nr > 0)
			r->sum += strlen(names[--nr]);
	}
}

static void judge(struct run *r, const struct loader_answer *a)
{
	unsigned slot = 0;

	while (r->sent[slot].fd < 0 || r->sent[slot].number != a->image)
		slot++;
	if (a->err == -EPIPE && !a->harmed)
		die("the loader is gone");
	if (a->harmed) {
		r->hung += a->err == -ETIMEDOUT;
		r->died += a->err == -EFAULT;
		r->lied += a->err == -EBADMSG;
		keep_file(r->sent[slot].fd, a->image, a->why.text);
	} else if (a->err != 0) {
		r->refused++;
	} else {
		r->made[a->what]++;
		if (a->what == LOADER_SYMBOLS)
			read_table(r, &a->table);
		else if (a->what == LOADER_ROWS)
			read_rows(r, &a->rows);
		else if (a->what == LOADER_INLINES)
			read_inlines(r, &a->inlines);
	}
	if (a->err != 0 && a->why.text[0] == '\0')
		die("refused without a reason");
	close(r->sent[slot].fd);
	r->sent[slot].fd = -1;
	loader_bytes_free(a->bytes, a->size);
}

static void send_mutant(struct run *r, uint32_t number)
{
	struct loader_request q = { .image = number, .nr_fds = 1 };
	unsigned slot = 0;
	uint64_t serial;

	q.what = (enum loader_what)below(r, NR_LOADER_WHATS);
	q.fds[0] = make_mutant(r);
	while (q.what == LOADER_INLINES && q.nr_places < 4)
		q.places[q.nr_places++] = below(r, 0x600);
	if (below(r, 4) == 0)
		q.fds[q.nr_fds++] = make_mutant(r);
	while (r->sent[slot].fd >= 0)
		slot++;
	r->sent[slot].number = number;
	r->sent[slot].fd = dup(q.fds[0]);
	if (q.fds[0] < 0 || r->sent[slot].fd < 0 || loader_send(r->loader, &q, &serial) != 0)
		die("cannot send");
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static void run(struct run *r, uint32_t number)
{
	struct pollfd p = { .fd = loader_fd(r->loader), .events = POLLIN };
	uint32_t sent = 0, answered = 0;
	uint64_t last = now_ns(), now;
	struct loader_answer a;

	while (answered < number) {
		while (sent < number && loader_has_room(r->loader))
			send_mutant(r, ++sent);
		if (!loader_take(r->loader, &a)) {
			if (poll(&p, 1, WAIT_MS) != 1)
				die("no answer in time");
			continue;
		}
		now = now_ns();
		if (now - last > r->slowest_ns)
			r->slowest_ns = now - last;
		last = now;
		judge(r, &a);
		answered++;
	}
}

int main(int argc, char **argv)
{
	uint32_t number = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : NUMBER;
	struct run r = { .random = argc > 2 ? strtoull(argv[2], NULL, 10) | 1 : 1 };
	struct reason why = { 0 };

	for (unsigned i = 0; i < LOADER_IN_FLIGHT_MAX; i++)
		r.sent[i].fd = -1;
	if (loader_start(&r.loader, true, &why) != 0)
		die(why.text);
	add_seeds(&r);
	run(&r, number);
	printf("%u mutants of %u files: %" PRIu64 " identified, %" PRIu64 " symbol tables, %" PRIu64
	       " tables of rows, %" PRIu64 " with debug information, %" PRIu64
	       " tables of inlined functions, %" PRIu64 " refused, %" PRIu64 " hung, %" PRIu64
	       " killed a worker, %" PRIu64 " gave a damaged table; slowest %.3f s\n",
	       number, r.nr_seeds, r.made[LOADER_IDENTIFY], r.made[LOADER_SYMBOLS],
	       r.made[LOADER_ROWS], r.made[LOADER_FIND_DWARF], r.made[LOADER_INLINES], r.refused,
	       r.hung, r.died, r.lied, (double)r.slowest_ns / 1e9);
	loader_free(r.loader);
	for (unsigned i = 0; i < r.nr_seeds; i++)
		free(r.seeds[i].at);
	return r.hung + r.died + r.lied > 0 || r.sum == 0;
}
