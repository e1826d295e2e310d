/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading is the kernel's work (it formats 4 KiB a read, about 50 ms in all); parsing is one pass,
 * and sorting is of the tail only: the kernel gives its own symbols in order, those of modules and
 * BPF behind.
 */
#include "symbol/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	READ_BYTES = 1 << 16,
	NAME_MAX_BYTES = 512,
	MODULES_MAX = 1 << 12,
	PADDING_MOST = 64, /* before a function, of -fpatchable-function-entry and the like */
};

#define SYMBOL_BYTES_MAX (1ull << 20)
#define FILE_BYTES_MAX ((size_t)256 << 20)

void kallsyms_done(struct kallsyms *k)
{
	vec_done(&k->at);
	vec_done(&k->names);
	vec_done(&k->modules);
}

/* Copies a name; its byte in `names`, 0 without memory. */
static uint32_t name_add(struct kallsyms *k, const char *name, size_t size)
{
	size_t at = k->names.nr;

	if (at + size + 1 > UINT32_MAX || vec_reserve(&k->names, at + size + 1))
		return 0;
	memcpy(k->names.at + at, name, size);
	k->names.at[at + size] = '\0';
	k->names.nr = at + size + 1;
	return (uint32_t)at;
}

static bool same_text(const char *have, const char *text, size_t size)
{
	return !strncmp(have, text, size) && !have[size];
}

/* The index of a module, made when new; neighbours mostly share one.  0, the kernel, when there are
 * too many. */
static uint16_t module_add(struct kallsyms *k, const char *name, size_t size)
{
	uint32_t at;

	for (size_t i = k->modules.nr; i-- > 0;) {
		if (same_text(&k->names.at[k->modules.at[i]], name, size))
			return (uint16_t)i;
	}
	at = k->modules.nr < MODULES_MAX ? name_add(k, name, size) : 0;
	if (!at || vec_push(&k->modules, at))
		return 0;
	return (uint16_t)(k->modules.nr - 1);
}

static uint16_t rank_of(char type, const char *name, size_t size)
{
	static const char global[] = "TtWw"; /* best first */
	/* Beside "__x64_", which nearly all call. */
	bool compat = size > 7 && !memcmp(name, "__ia32_", 7);

	return (uint16_t)((compat ? 16 : 0) + (name[0] == '_' ? 8 : 0) +
			  (strchr(global, type) - global));
}

static bool is_end_marker(const char *name, size_t size)
{
	return (size == 6 && !memcmp(name, "_etext", 6)) ||
	       (size == 10 && !memcmp(name, "_einittext", 10));
}

/* Up to 16 lower-case digits; by a table, since there are two million of them in the file. */
static bool hex_digits(const char **at, const char *end, uint64_t *ret)
{
	static const uint8_t value_and_1[256] = {
		['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
		['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
		['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
	};
	const char *from = *at, *c = from, *stop = end - from > 16 ? from + 16 : end;
	uint64_t n = 0;
	uint8_t digit;

	for (; c < stop && (digit = value_and_1[(uint8_t)*c]) != 0; c++)
		n = n << 4 | (digit - 1u);
	*at = c;
	*ret = n;
	return c > from;
}

static int symbol_add(struct kallsyms *k, uint64_t addr, char type, const char *name,
		      const char *end)
{
	const char *name_end = memchr(name, '\t', (size_t)(end - name));
	struct ksym sym = { .addr = addr, .rank = UINT16_MAX };
	size_t size;

	if (!name_end)
		name_end = end;
	size = (size_t)(name_end - name);
	if (size == 5 && !memcmp(name, "_text", 5))
		k->text = addr;
	else if (size == 6 && !memcmp(name, "_stext", 6))
		k->stext = addr;
	if (!strchr("tTwW", type) || is_end_marker(name, size)) {
		if (!k->at.nr || !k->at.at[k->at.nr - 1].name)
			return 0; /* one gap is enough */
		sym.module = k->at.at[k->at.nr - 1].module;
		return vec_push(&k->at, sym);
	}
	if (size > 6 && !memcmp(name, "__pfx_", 6)) {
		name += 6;
		size -= 6;
	}
	if (!size)
		return 0;
	if (size > NAME_MAX_BYTES)
		size = NAME_MAX_BYTES;
	if (end - name_end > 3 && name_end[1] == '[' && end - name_end < NAME_MAX_BYTES)
		sym.module = module_add(k, name_end + 1, (size_t)(end - name_end - 1));
	sym.rank = rank_of(type, name, size);
	/* "__pfx_foo" and "foo" mostly follow each other: one copy of the name does for both. */
	if (k->at.nr && same_text(&k->names.at[k->at.at[k->at.nr - 1].name], name, size))
		sym.name = k->at.at[k->at.nr - 1].name;
	else
		sym.name = name_add(k, name, size);
	return sym.name ? vec_push(&k->at, sym) : -ENOMEM;
}

/* "ffffffff81001260 T name" or "ffffffffc0201000 t name\t[module]". */
static int parse_line(struct kallsyms *k, const char *at, const char *end, bool *ret_seen)
{
	uint64_t addr;
	char type;

	if (!hex_digits(&at, end, &addr) || end - at < 4 || at[0] != ' ' || at[2] != ' ' || !at[1])
		return 0;
	type = at[1];
	at += 3;
	if (memchr(at, '\0', (size_t)(end - at)))
		return 0;
	*ret_seen = true;
	/* Per-CPU offsets and absolute values are no addresses; zero is a hidden one. */
	return addr && !strchr("aA", type) ? symbol_add(k, addr, type, at, end) : 0;
}

static int compare(const void *a, const void *b)
{
	const struct ksym *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* Sorts what lies behind the part that is in order, and all of it if that belongs in between. */
static void sort(struct kallsyms *k)
{
	struct ksym *at = k->at.at;
	size_t nr = k->at.nr, sorted = nr ? 1 : 0;

	while (sorted < nr && at[sorted - 1].addr <= at[sorted].addr)
		sorted++;
	if (sorted < nr)
		qsort(at + sorted, nr - sorted, sizeof(*at), compare);
	if (sorted < nr && at[sorted].addr < at[sorted - 1].addr)
		qsort(at, nr, sizeof(*at), compare);
}

static bool same_function(const struct kallsyms *k, const struct ksym *a, const struct ksym *b)
{
	return a->module == b->module && !strcmp(&k->names.at[a->name], &k->names.at[b->name]);
}

/* One symbol an address, no repeats; the names keep their places. */
static void choose(struct kallsyms *k)
{
	size_t nr = 0;

	for (size_t i = 0; i < k->at.nr;) {
		struct ksym best = k->at.at[i];

		for (i++; i < k->at.nr && k->at.at[i].addr == best.addr; i++) {
			if (compare(&k->at.at[i], &best) < 0)
				best = k->at.at[i];
		}
		best.rank = 0;
		if (!nr || !same_function(k, &k->at.at[nr - 1], &best))
			k->at.at[nr++] = best;
		else if (!k->at.at[nr - 1].rank &&
			 best.addr - k->at.at[nr - 1].addr <= PADDING_MOST)
			k->at.at[nr - 1].rank = (uint16_t)(best.addr - k->at.at[nr - 1].addr);
	}
	k->at.nr = nr;
}

static void shrink(struct kallsyms *k)
{
	void *at = realloc(k->at.at, k->at.nr * sizeof(k->at.at[0]));
	void *names = realloc(k->names.at, k->names.nr);

	if (at) {
		k->at.at = at;
		k->at.cap = k->at.nr;
	}
	if (names) {
		k->names.at = names;
		k->names.cap = k->names.nr;
	}
}

static int begin(struct kallsyms *k)
{
	*k = (struct kallsyms){ 0 };
	if (vec_push(&k->names, '\0') || !name_add(k, "[kernel]", 8) || vec_push(&k->modules, 1))
		return -ENOMEM;
	return 0;
}

/* Parses lines; *@ret_used is where the last whole one ended, or the end if @all. */
static int feed(struct kallsyms *k, const char *bytes, size_t size, bool all, bool *ret_seen,
		size_t *ret_used)
{
	size_t used = 0;
	int err = 0;

	while (!err && used < size) {
		const char *newline = memchr(bytes + used, '\n', size - used);

		if (!newline && !all)
			break;
		if (!newline)
			newline = bytes + size;
		err = parse_line(k, bytes + used, newline, ret_seen);
		used = (size_t)(newline - bytes) + (newline < bytes + size);
	}
	*ret_used = used;
	return err;
}

/* Turns what was fed into a table, or frees it. */
static int finish(struct kallsyms *k, int err, bool seen, struct kallsyms *ret)
{
	if (!err && !k->at.nr)
		err = seen ? -EACCES : -ENODATA;
	if (err) {
		kallsyms_done(k);
		return err;
	}
	sort(k);
	choose(k);
	shrink(k);
	*ret = *k;
	return 0;
}

int kallsyms_parse(const char *bytes, size_t size, struct kallsyms *ret)
{
	struct kallsyms k;
	bool seen = false;
	size_t used;
	int err = begin(&k);

	if (!err)
		err = feed(&k, bytes, size, true, &seen, &used);
	return finish(&k, err, seen, ret);
}

/* Reads and feeds piece by piece: the buffer stays in the cache, and the file is never whole in
 * memory. */
static int feed_file(struct kallsyms *k, int fd, bool *ret_seen)
{
	char *buffer = malloc(READ_BYTES);
	size_t size = 0, used, total = 0;
	int err = buffer ? 0 : -ENOMEM;

	while (!err) {
		ssize_t n = read(fd, buffer + size, READ_BYTES - size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			err = -errno;
			break;
		}
		size += (size_t)n;
		total += (size_t)n;
		if (total > FILE_BYTES_MAX) {
			err = -EFBIG;
			break;
		}
		err = feed(k, buffer, size, !n, ret_seen, &used);
		if (!n)
			break;
		if (!used && size == READ_BYTES)
			used = size; /* one endless line: passed over */
		memmove(buffer, buffer + used, size - used);
		size -= used;
	}
	free(buffer);
	return err;
}

int kallsyms_read_fd(int fd, struct kallsyms *ret)
{
	struct kallsyms k;
	bool seen = false;
	int err = begin(&k);

	if (!err)
		err = feed_file(&k, fd, &seen);
	return finish(&k, err, seen, ret);
}

int kallsyms_read(const char *path, struct kallsyms *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), err;

	if (fd < 0)
		return -errno;
	err = kallsyms_read_fd(fd, ret);
	close(fd);
	return err;
}

uint32_t kallsyms_find(const struct kallsyms *k, uint64_t addr)
{
	size_t low = 0, high = k->at.nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (k->at.at[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || !k->at.at[low - 1].name || addr - k->at.at[low - 1].addr >= SYMBOL_BYTES_MAX)
		return UINT32_MAX;
	return (uint32_t)(low - 1);
}

size_t kallsyms_bytes(const struct kallsyms *k)
{
	return k->at.cap * sizeof(k->at.at[0]) + k->names.cap + k->modules.cap * sizeof(uint32_t);
}
