/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From an ELF file's call frame information to its rows: list all FDEs, sort them by address, run
 * each through the interpreter and put down what its rows come to.  Gaps between them are looked
 * through for what code tells of itself (rows_gaps.h).  Where FDEs overlap, the earlier
 * one is followed to its end, and .eh_frame goes before .debug_frame, which fills in what the
 * former leaves out (musl, Go).
 */
#include "image/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "image/cfi.h"
#include "image/elf_file.h"
#include "image/rows_gaps.h"
#include "image/rows_sections.h"

#define FDES_MAX (4u << 20)
#define ROWS_MAX (8u << 20)
#define RULE_SLOTS (2u * ROWS_RULES_MAX)
#define INSTRUCTIONS_MAX (UINT64_C(64) << 20)
#define SORT_BITS 11u

/* An FDE of code that is there; addresses count from the base. */
struct piece {
	uint32_t start, cie, at, at_size;
	uint64_t end; /* at most 1 << 32 */
	bool eh;
};

struct sort_key {
	uint32_t start, piece;
};

struct rows_builder {
	struct rows_sections sections;
	struct cfi_section eh, debug;
	struct code_map code;
	uint64_t base;
	VEC(struct piece) pieces;
	struct sort_key *order;
	VEC(uint32_t) starts;
	VEC(uint16_t) indices; /* as many as starts */
	VEC(struct unwind_rule) rules;
	uint32_t *slots; /* hash of rules: index + 1; 0: free */
	struct cfi_run run;
	uint32_t last_rule;
	struct rows_gaps gaps;
};

static void builder_done(struct rows_builder *b)
{
	vec_done(&b->pieces);
	vec_done(&b->starts);
	vec_done(&b->indices);
	vec_done(&b->rules);
	free(b->order);
	free(b->slots);
	rows_gaps_done(&b->gaps);
	cfi_section_done(&b->eh);
	cfi_section_done(&b->debug);
	code_map_done(&b->code);
	rows_sections_done(&b->sections);
}

/* The lowest address of code; rows count from there. */
static int find_base(struct rows_builder *b, struct reason *why)
{
	const struct code_map *c = &b->code;
	uint64_t top = 0;

	b->base = UINT64_MAX;
	for (uint32_t i = 0; i < c->nr_segments; i++) {
		const struct table_segment *s = &c->segments[i];

		b->base = s->vaddr < b->base ? s->vaddr : b->base;
		top = s->vaddr + s->filesz > top ? s->vaddr + s->filesz : top;
	}
	if (top - b->base > UINT64_C(1) << 32)
		return reason_set(why, -EFBIG, "its code spans more than 4 GiB");
	return 0;
}

/* Where the segment that holds @vaddr ends; 0 where none does. */
static uint64_t segment_end(const struct code_map *c, uint64_t vaddr)
{
	for (uint32_t i = 0; i < c->nr_segments; i++) {
		const struct table_segment *s = &c->segments[i];

		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->filesz)
			return s->vaddr + s->filesz;
	}
	return 0;
}

static int list_pieces(struct rows_builder *b, struct cfi_section *s)
{
	struct cfi_fde fde;
	uint64_t pos = 0;
	int err = cfi_collect_cies(s);

	while (err == 0 && b->pieces.nr < FDES_MAX && cfi_next_fde(s, &pos, &fde)) {
		uint64_t end = segment_end(&b->code, fde.start);
		struct piece p = { .cie = fde.cie, .at = fde.at, .at_size = fde.at_size };

		if (end == 0)
			continue; /* code that the linker dropped */
		p.start = (uint32_t)(fde.start - b->base);
		p.end = (fde.size < end - fde.start ? fde.start + fde.size : end) - b->base;
		p.eh = s->eh;
		err = vec_push(&b->pieces, p);
	}
	return err;
}

/* Sorts by start, stable, by one digit after the other: linkers leave FDEs in nearly any order. */
static int sort_pieces(struct rows_builder *b)
{
	size_t nr = b->pieces.nr;
	struct sort_key *from = calloc(nr + 1, 2 * sizeof(*from)), *to = from + nr;

	if (from == NULL)
		return -ENOMEM;
	b->order = from;
	for (size_t i = 0; i < nr; i++)
		from[i] = (struct sort_key){ b->pieces.at[i].start, (uint32_t)i };
	for (unsigned shift = 0; shift < 32; shift += SORT_BITS) {
		uint32_t counts[1u << SORT_BITS] = { 0 }, sum = 0;
		const uint32_t mask = (1u << SORT_BITS) - 1;
		struct sort_key *swap;

		for (size_t i = 0; i < nr; i++)
			counts[from[i].start >> shift & mask]++;
		for (uint32_t d = 0; d <= mask; d++) {
			uint32_t count = counts[d];

			counts[d] = sum;
			sum += count;
		}
		for (size_t i = 0; i < nr; i++)
			to[counts[from[i].start >> shift & mask]++] = from[i];
		swap = from;
		from = to;
		to = swap;
	}
	if (from != b->order)
		memcpy(b->order, from, nr * sizeof(*from));
	return 0;
}

static uint64_t hash_rule(const struct unwind_rule *r)
{
	uint64_t words[sizeof(*r) / 8], hash = 0;

	_Static_assert(sizeof(*r) % 8 == 0, "a rule is whole words, without holes");
	memcpy(words, r, sizeof(*r));
	for (size_t i = 0; i < sizeof(words) / 8; i++)
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

/* The index of a rule, new or not; ROWS_NO_RULE once there are too many. -ENOMEM. */
static int rule_index(struct rows_builder *b, const struct unwind_rule *r, uint32_t *ret)
{
	uint64_t slot = hash_rule(r);

	if (memcmp(r, &b->rules.at[b->last_rule], sizeof(*r)) == 0) {
		*ret = b->last_rule;
		return 0;
	}
	for (;; slot++) {
		uint32_t *at = &b->slots[slot % RULE_SLOTS];

		if (*at == 0) {
			*ret = ROWS_NO_RULE;
			if (b->rules.nr == ROWS_RULES_MAX)
				return 0;
			*ret = (uint32_t)b->rules.nr;
			*at = *ret + 1;
			return vec_push(&b->rules, *r);
		}
		if (memcmp(r, &b->rules.at[*at - 1], sizeof(*r)) == 0) {
			*ret = *at - 1;
			b->last_rule = *ret;
			return 0;
		}
	}
}

/* From @start on, @rule: instead of a row of the same start, and only where it is another one than
 * before. */
static int put(struct rows_builder *b, uint64_t start, uint32_t rule)
{
	size_t nr = b->starts.nr;

	if (start > UINT32_MAX)
		return 0; /* the end of all that can be asked for */
	if (nr > 0 && b->starts.at[nr - 1] == start)
		nr--;
	b->starts.nr = b->indices.nr = nr;
	if (nr > 0 ? b->indices.at[nr - 1] == rule : rule == ROWS_NO_RULE)
		return 0;
	if (vec_push(&b->starts, (uint32_t)start) != 0 ||
	    vec_push(&b->indices, (uint16_t)rule) != 0)
		return -ENOMEM;
	return 0;
}

/* The rows of a piece in [@start, @end). */
static int put_piece(struct rows_builder *b, const struct piece *p, uint64_t start, uint64_t end)
{
	struct cfi_section *s = p->eh ? &b->eh : &b->debug;
	struct cfi_fde fde = {
		.start = b->base + p->start,
		.size = p->end - p->start,
		.cie = p->cie,
		.at = p->at,
		.at_size = p->at_size,
	};
	size_t mark = b->starts.nr;
	int more, err = 0;

	cfi_begin(&b->run, s, &fde);
	while (err == 0 && (more = cfi_next(&b->run)) > 0) {
		uint64_t at = b->run.start - b->base;
		struct unwind_rule rule;
		uint32_t index;

		if (at >= end)
			break;
		rule = cfi_rule(&b->run.state, s->machine, b->run.cie->signal);
		err = rule_index(b, &rule, &index);
		if (err == 0)
			err = put(b, at > start ? at : start, index);
	}
	if (err == 0 && more < 0) {
		/* Half an FDE's rows are not to be trusted. */
		if (b->starts.nr > mark)
			b->starts.nr = b->indices.nr = mark;
		err = put(b, start, ROWS_NO_RULE);
	}
	return err != 0 ? err : put(b, end, ROWS_NO_RULE);
}

/* The start of the next .eh_frame piece from @i on; ends of .debug_frame ones give way to it. */
static uint64_t next_eh(const struct rows_builder *b, size_t i, size_t *next)
{
	if (*next < i)
		*next = i;
	while (*next < b->pieces.nr && !b->pieces.at[b->order[*next].piece].eh)
		(*next)++;
	return *next < b->pieces.nr ? b->order[*next].start : UINT64_MAX;
}

static int put_code_row(void *ctx, uint64_t vaddr, const struct unwind_rule *rule)
{
	struct rows_builder *b = ctx;
	uint32_t index = ROWS_NO_RULE;
	int err = rule != NULL ? rule_index(b, rule, &index) : 0;

	return err != 0 ? err : put(b, vaddr - b->base, index);
}

/* What code itself tells in [@start, @end), which count from the base and no FDE covers. */
static int put_gap(struct rows_builder *b, uint64_t start, uint64_t end)
{
	return rows_gaps_put(&b->gaps, b->base + start, b->base + end, put_code_row, b);
}

static int put_all(struct rows_builder *b)
{
	uint64_t covered = 0;
	size_t next = 0;
	int err = 0;

	for (size_t i = 0; err == 0 && i < b->pieces.nr && b->starts.nr < ROWS_MAX; i++) {
		const struct piece *p = &b->pieces.at[b->order[i].piece];
		uint64_t start = p->start > covered ? p->start : covered, end = p->end;

		if (!p->eh) {
			uint64_t limit = next_eh(b, i, &next);

			end = end < limit ? end : limit;
		}
		if (start >= end)
			continue;
		if (start > covered)
			err = put_gap(b, covered, start);
		if (err == 0)
			err = put_piece(b, p, start, end);
		covered = end;
	}
	return err != 0 ? err : put_gap(b, covered, UINT32_MAX);
}

static int write_rows(struct rows_builder *b, struct rows_bytes *ret)
{
	struct rows_header h = {
		.magic = ROWS_MAGIC,
		.version = ROWS_VERSION,
		.machine = b->sections.machine,
		.base = b->base,
		.nr_rows = (uint32_t)b->starts.nr,
		.nr_rules = (uint32_t)b->rules.nr,
		.nr_segments = b->code.nr_segments,
		.segments_at = sizeof(h),
	};
	size_t starts = h.nr_rows * sizeof(uint32_t), indices = h.nr_rows * sizeof(uint16_t);
	uint8_t *at;

	h.rules_at = h.segments_at + h.nr_segments * sizeof(struct table_segment);
	h.starts_at = h.rules_at + h.nr_rules * sizeof(struct unwind_rule);
	h.indices_at = (h.starts_at + starts + 7) / 8 * 8;
	h.size = h.indices_at + indices;
	at = calloc(1, h.size);
	if (at == NULL)
		return -ENOMEM;
	memcpy(at, &h, sizeof(h));
	memcpy(at + h.segments_at, b->code.segments, h.nr_segments * sizeof(struct table_segment));
	memcpy(at + h.rules_at, b->rules.at, h.nr_rules * sizeof(struct unwind_rule));
	if (h.nr_rows > 0) {
		memcpy(at + h.starts_at, b->starts.at, starts);
		memcpy(at + h.indices_at, b->indices.at, indices);
	}
	ret->at = at;
	ret->size = h.size;
	return 0;
}

static int collect(struct rows_builder *b)
{
	const struct unwind_rule none = { .cfa = RULE_CFA_NONE };
	int err;

	b->slots = calloc(RULE_SLOTS, sizeof(*b->slots));
	if (b->slots == NULL || vec_push(&b->rules, none) != 0)
		return -ENOMEM;
	b->slots[hash_rule(&none) % RULE_SLOTS] = ROWS_NO_RULE + 1;
	err = list_pieces(b, &b->eh);
	if (err == 0)
		err = list_pieces(b, &b->debug);
	if (err != 0)
		return err;
	/* About four rows a function, as compilers write it. */
	if (vec_reserve(&b->starts, b->pieces.nr * 4) != 0 ||
	    vec_reserve(&b->indices, b->pieces.nr * 4) != 0)
		return -ENOMEM;
	err = sort_pieces(b);
	if (err == 0)
		err = put_all(b);
	return err == 0 && b->pieces.nr == 0 && b->starts.nr == 0 ? -ENODATA : err;
}

/* Takes what rows_sections_init() found. */
static int build(struct rows_builder *b, struct rows_bytes *ret, struct reason *why)
{
	struct rows checked;
	int err = code_map_init(&b->code, &b->sections.file, why);

	if (err == 0)
		err = find_base(b, why);
	if (err != 0)
		return err;
	rows_sections_find(&b->sections, &b->eh, &b->debug);
	b->eh.budget = b->debug.budget = INSTRUCTIONS_MAX;
	rows_gaps_init(&b->gaps, &b->sections.file, &b->code, b->sections.machine);
	err = collect(b);
	if (err == 0)
		err = write_rows(b, ret);
	if (err == 0 && rows_check(ret->at, ret->size, &checked) != 0) {
		free(ret->at);
		ret->at = NULL;
		err = -EBADMSG;
	}
	if (err == -ENODATA)
		return reason_set(why, err, "it has no unwind information");
	if (err != 0)
		return reason_set(why, err, "its unwind information cannot be read: %s",
				  strerror(-err));
	return 0;
}

static int build_and_free(struct rows_builder *b, int err, struct rows_bytes *ret,
			  struct reason *why)
{
	if (err == 0)
		err = build(b, ret, why);
	builder_done(b);
	free(b);
	return err;
}

int rows_build(int fd, int debug_fd, struct rows_bytes *ret, struct reason *why)
{
	struct rows_builder *b = calloc(1, sizeof(*b));

	if (b == NULL)
		return reason_set(why, -ENOMEM, "out of memory");
	return build_and_free(b, rows_sections_init(&b->sections, fd, debug_fd, why), ret, why);
}

int rows_build_memory(const void *elf, size_t size, struct rows_bytes *ret, struct reason *why)
{
	struct rows_builder *b = calloc(1, sizeof(*b));

	if (b == NULL)
		return reason_set(why, -ENOMEM, "out of memory");
	return build_and_free(b, rows_sections_init_memory(&b->sections, elf, size, why), ret, why);
}
