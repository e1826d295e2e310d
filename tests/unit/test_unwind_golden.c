/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of real programs, unwound as libdwfl did: see tests/golden/stacks/README. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "image/rows.h"
#include "unit/space_records.h"
#include "unwind/unwind.h"

enum { PID = 10, FRAMES = 256, DAMAGES = 12 };

struct golden_rule {
	struct place place;
	struct unwind_rule rule;
};

struct images {
	VEC(struct golden_rule) rules;
};

struct golden {
	struct images images;
	struct space *space;
	struct unwinder *unwinder;
	uint32_t image_of[32]; /* the space's number of the file's */
	enum unwind_end end;
	struct unwind_regs regs;
	VEC(uint64_t) stack;
	uint32_t stack_bytes;
	size_t samples, frames, guesses;
};

int images_rule(struct images *im, uint32_t image, uint64_t offset, const struct unwind_rule **ret)
{
	static const struct unwind_rule none;

	*ret = &none;
	for (size_t i = 0; i < im->rules.nr; i++) {
		const struct golden_rule *g = &im->rules.at[i];

		if (g->place.image == image && g->place.offset == offset)
			*ret = &g->rule;
	}
	return 0;
}

static uint64_t number(char **at, int base)
{
	char *end;
	uint64_t value = strtoull(*at, &end, base);

	assert_ptr_not_equal(end, *at);
	*at = end;
	return value;
}

static void read_map(struct golden *g, char *at)
{
	uint64_t start = number(&at, 16), end = number(&at, 16), pgoff = number(&at, 16);
	uint32_t image = (uint32_t)number(&at, 10);
	char *name = at + 1;

	assert_true(image < 32);
	name[strcspn(name, "\n")] = '\0';
	do_mmap(g->space, PID, start, end - start, pgoff, name[0] == '/' ? 0 : image + 100, name,
		2);
	g->image_of[image] = space_resolve(g->space, PID, start).image;
	assert_int_not_equal(g->image_of[image], IMAGE_UNKNOWN);
}

static void read_rule(struct golden *g, char *at)
{
	struct golden_rule made = { 0 };
	struct unwind_rule *r = &made.rule;

	made.place.image = g->image_of[number(&at, 10) % 32];
	made.place.offset = number(&at, 16);
	r->cfa = (uint8_t)number(&at, 10);
	r->cfa_reg = (uint8_t)number(&at, 10);
	r->ra = (uint8_t)number(&at, 10);
	r->bp = (uint8_t)number(&at, 10);
	r->bx = (uint8_t)number(&at, 10);
	r->flags = (uint8_t)number(&at, 10);
	r->cfa_add = (int16_t)number(&at, 10);
	r->cfa_offset = (int32_t)number(&at, 10);
	r->ra_offset = (int32_t)number(&at, 10);
	r->bp_offset = (int32_t)number(&at, 10);
	r->bx_offset = (int32_t)number(&at, 10);
	assert_int_equal(vec_push(&g->images.rules, made), 0);
}

static void read_regs(struct golden *g, char *at)
{
	g->regs = (struct unwind_regs){ .machine = UNWIND_X86_64, .known = number(&at, 16) };
	for (int i = 0; i <= 16; i++)
		g->regs.value[i] = number(&at, 16);
}

static void read_stack(struct golden *g, char *at)
{
	g->stack_bytes = (uint32_t)number(&at, 10);
	vec_clear(&g->stack);
	while (*at == ' ') {
		uint64_t word = number(&at, 16), times = 1;

		if (*at == '*') {
			at++;
			times = number(&at, 10);
		}
		assert_true(times <= g->stack_bytes / 8);
		while (times--)
			assert_int_equal(vec_push(&g->stack, word), 0);
	}
	assert_int_equal(g->stack.nr, g->stack_bytes / 8);
}

/* A copy that ends where reading of a complete stack did gives the same, one word less does not. */
static void check_shorter(struct golden *g, const struct place *places, const struct unwound *u)
{
	struct bytes stack = { (const uint8_t *)g->stack.at, u->read_bytes };
	struct place again[FRAMES];
	struct unwound short_u;

	if (u->end != UNWIND_COMPLETE)
		return;
	assert_in_range(u->read_bytes, 0, g->stack.nr * 8);
	short_u = unwind_user(g->unwinder, g->space, PID, &g->regs, &stack, again, FRAMES);
	assert_int_equal(short_u.end, UNWIND_COMPLETE);
	assert_int_equal(short_u.nr, u->nr);
	assert_int_equal(short_u.read_bytes, u->read_bytes);
	for (uint32_t i = 0; i < u->nr; i++) {
		assert_int_equal(again[i].image, places[i].image);
		assert_int_equal(again[i].offset, places[i].offset);
	}
	if (u->read_bytes < 8)
		return;
	stack.size -= 8;
	short_u = unwind_user(g->unwinder, g->space, PID, &g->regs, &stack, again, FRAMES);
	assert_int_not_equal(short_u.end, UNWIND_COMPLETE);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* As if nothing were remembered. */
static struct unwound unwind_anew(struct golden *g, const struct bytes *stack, struct place *places)
{
	for (uint32_t image = 0; image < 64; image++)
		unwinder_forget(g->unwinder, image);
	return unwind_user(g->unwinder, g->space, PID, &g->regs, stack, places, FRAMES);
}

/* Stacks that are wrong somewhere are told the same whether their code is remembered, when most
 * steps are taken the short way, or not. */
static void check_damaged(struct golden *g)
{
	uint64_t state = 0x9e3779b97f4a7c15ull + g->samples, nr = g->stack.nr;
	struct bytes stack = { (const uint8_t *)g->stack.at, (uint32_t)nr * 8 };
	struct place anew[FRAMES], known[FRAMES];

	for (int i = 0; i < DAMAGES && nr; i++) {
		/* Low in the copy, where stacks are: another word of it, or any value. */
		uint64_t at = next_random(&state) % (nr < 256 ? nr : 256), was = g->stack.at[at];
		uint64_t other = g->stack.at[next_random(&state) % nr];
		struct unwound a, k;

		g->stack.at[at] = i % 2 ? other : next_random(&state) >> i;
		a = unwind_anew(g, &stack, anew);
		(void)unwind_user(g->unwinder, g->space, PID, &g->regs, &stack, known, FRAMES);
		k = unwind_user(g->unwinder, g->space, PID, &g->regs, &stack, known, FRAMES);
		assert_memory_equal(&k, &a, sizeof(a));
		for (uint32_t n = 0; n < a.nr; n++) {
			assert_int_equal(known[n].image, anew[n].image);
			assert_int_equal(known[n].offset, anew[n].offset);
		}
		g->stack.at[at] = was;
	}
}

static void check_chain(struct golden *g, char *at)
{
	struct bytes stack = { (const uint8_t *)g->stack.at, (uint32_t)g->stack.nr * 8 };
	struct place places[FRAMES];
	struct unwound u =
		unwind_user(g->unwinder, g->space, PID, &g->regs, &stack, places, FRAMES);
	uint32_t nr = 0;

	for (; *at == ' '; nr++) {
		struct place p = space_resolve(g->space, PID, number(&at, 16));

		assert_true(nr < u.nr);
		assert_int_equal(places[nr].image, p.image);
		assert_int_equal(places[nr].offset, p.offset);
	}
	assert_int_equal(u.nr, nr);
	assert_int_equal(u.end, g->end);
	check_shorter(g, places, &u);
	check_damaged(g);
	g->samples++;
	g->frames += nr;
	g->guesses += u.by_guess;
}

static void read_line(struct golden *g, char *line)
{
	if (strncmp(line, "map ", 4) == 0)
		read_map(g, line + 4);
	else if (strncmp(line, "rule ", 5) == 0)
		read_rule(g, line + 5);
	else if (strncmp(line, "sample ", 7) == 0)
		g->end = (enum unwind_end)atoi(line + 7);
	else if (strncmp(line, "regs ", 5) == 0)
		read_regs(g, line + 5);
	else if (strncmp(line, "stack ", 6) == 0)
		read_stack(g, line + 6);
	else if (strncmp(line, "chain ", 6) == 0)
		check_chain(g, line + 5);
	else
		fail_msg("unknown line: %.40s", line);
}

/* Rules of a later sample come after an earlier one was unwound, so what was kept is forgotten. */
static void run(struct golden *g, const char *name)
{
	const char *top = getenv("top_srcdir");
	char path[4096], *line = NULL;
	size_t room = 0;
	FILE *f;

	*g = (struct golden){ .space = space_new(), .unwinder = unwinder_new(&g->images) };
	assert_non_null(g->space);
	assert_non_null(g->unwinder);
	snprintf(path, sizeof(path), "%s/tests/golden/stacks/%s.txt", top ? top : ".", name);
	f = fopen(path, "r");
	if (f == NULL)
		fail_msg("%s: %s", path, strerror(errno));
	while (getline(&line, &room, f) > 0) {
		read_line(g, line);
		for (uint32_t i = 0; i < 32; i++)
			unwinder_forget(g->unwinder, g->image_of[i]);
	}
	free(line);
	fclose(f);
	unwinder_free(g->unwinder);
	space_free(g->space);
	vec_done(&g->images.rules);
	vec_done(&g->stack);
}

static void deep_stack(void **state)
{
	struct golden g;

	(void)state;
	run(&g, "deep_stack");
	assert_true(g.samples >= 5);
	assert_true(g.frames / g.samples >= 20);
	assert_int_equal(g.guesses, 0);
}

static void node(void **state)
{
	struct golden g;

	(void)state;
	run(&g, "node");
	assert_true(g.samples >= 3);
	assert_true(g.frames / g.samples >= 10);
	assert_true(g.guesses > g.samples); /* JIT code */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deep_stack),
		cmocka_unit_test(node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
