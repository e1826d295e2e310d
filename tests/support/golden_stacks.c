/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage: golden_stacks NR PROGRAM ARG... >FILE
 * Writes NR stacks of a program, as different as they come, with the mappings and rules they need
 * and the chain that libdwfl found: see tests/golden/stacks/README.  Only stacks on which both
 * agree are taken.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "image/rows.h"
#include "support/dwfl_oracle.h"

enum { FRAMES = 256 };

struct writer {
	struct stack_samples samples;
	struct unwinder *unwinder;
	struct dwfl_oracle *oracle;
	struct place places[FRAMES];
	uint64_t addrs[FRAMES];
	VEC(struct place) rules; /* those written */
	VEC(uint64_t) maps;      /* starts of those written */
	VEC(uint64_t) seen;      /* (innermost place, frames) of those taken */
};

static void write_map(struct writer *w, uint64_t addr)
{
	const struct image_key *key;
	struct mapping m;
	const char *path;

	if (!space_mapping(w->samples.space, w->samples.pid, addr, &m))
		return;
	for (size_t i = 0; i < w->maps.nr; i++) {
		if (w->maps.at[i] == m.start)
			return;
	}
	if (vec_push(&w->maps, m.start))
		abort();
	key = space_image(w->samples.space, m.image);
	path = space_string(w->samples.space, key->path);
	if (key->kind == IMAGE_ANON)
		printf("map %" PRIx64 " %" PRIx64 " 0 %u //anon\n", m.start, m.end, m.image);
	else
		printf("map %" PRIx64 " %" PRIx64 " %" PRIx64 " %u %s\n", m.start, m.end, m.pgoff,
		       m.image, strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
}

static void write_rule(struct writer *w, struct place p)
{
	const struct unwind_rule *r;

	for (size_t i = 0; i < w->rules.nr; i++) {
		if (w->rules.at[i].image == p.image && w->rules.at[i].offset == p.offset)
			return;
	}
	if (images_rule(w->samples.images, p.image, p.offset, &r) != 0)
		return;
	if (vec_push(&w->rules, p))
		abort();
	printf("rule %u %" PRIx64 " %u %u %u %u %u %u %d %d %d %d %d\n", p.image, p.offset, r->cfa,
	       r->cfa_reg, r->ra, r->bp, r->bx, r->flags, r->cfa_add, r->cfa_offset, r->ra_offset,
	       r->bp_offset, r->bx_offset);
}

static bool is_trampoline(const struct writer *w, struct place p)
{
	const struct unwind_rule *r;

	return images_rule(w->samples.images, p.image, p.offset, &r) == 0 &&
	       (r->flags & RULE_SIGNAL);
}

/* Words in hexadecimal, runs of zeroes as 0*N. */
static void write_stack(const struct stack_sample *s)
{
	printf("stack %u", s->size);
	for (uint32_t at = 0, zeroes; at + 8 <= s->size; at += 8) {
		uint64_t word = 0;

		for (zeroes = 0; at + 8 <= s->size; at += 8, zeroes++) {
			memcpy(&word, s->stack + at, 8);
			if (word != 0)
				break;
		}
		if (zeroes)
			printf(" 0*%u", zeroes);
		if (word != 0)
			printf(" %" PRIx64, word);
	}
	printf("\n");
}

static void write_sample(struct writer *w, const struct stack_sample *s, const struct unwound *u,
			 uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		write_map(w, w->addrs[i]);
	for (uint32_t i = 0; i < u->nr; i++) {
		write_rule(w, w->places[i]);
		if (is_trampoline(w, w->places[i])) /* found one byte before */
			write_rule(w,
				   (struct place){ w->places[i].image, w->places[i].offset - 1 });
	}
	printf("sample %d\nregs %" PRIx64, u->end, s->regs.known);
	for (int i = 0; i <= 16; i++)
		printf(" %" PRIx64, s->regs.value[i]);
	printf("\n");
	write_stack(s);
	printf("chain");
	for (uint32_t i = 0; i < nr && w->addrs[i] != 0; i++)
		printf(" %" PRIx64, w->addrs[i]);
	printf("\n");
}

static bool is_new(struct writer *w, const struct unwound *u)
{
	uint64_t key = (w->places[0].offset >> 8) * 1000003 + w->places[0].image * 64 + u->nr / 4;

	for (size_t i = 0; i < w->seen.nr; i++) {
		if (w->seen.at[i] == key)
			return false;
	}
	if (vec_push(&w->seen, key))
		abort();
	return true;
}

int main(int argc, char **argv)
{
	struct stack_taking how = { argv + 2, 16384, 2000, 2000, 300, true };
	static struct writer w;
	struct reason why;
	size_t wanted = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;

	if (wanted == 0 || stack_samples_take(&how, &w.samples, &why)) {
		fprintf(stderr, "golden_stacks: %s\n", wanted ? why.text : "NR PROGRAM ARG...");
		return 1;
	}
	w.unwinder = unwinder_new(w.samples.images);
	w.oracle = dwfl_oracle_new(w.samples.pid);
	if (w.unwinder == NULL || w.oracle == NULL)
		return 1;
	for (size_t i = 0; i < w.samples.at.nr && w.seen.nr < wanted; i++) {
		const struct stack_sample *s = &w.samples.at.at[i];
		struct unwound u =
			stack_samples_unwind(&w.samples, w.unwinder, i, w.places, FRAMES);
		uint32_t nr = dwfl_oracle_unwind(w.oracle, s, w.addrs, FRAMES);

		if (chain_compare(&w.samples, &u, w.places, w.addrs, nr) == CHAIN_SAME &&
		    is_new(&w, &u))
			write_sample(&w, s, &u, nr);
	}
	dwfl_oracle_free(w.oracle);
	unwinder_free(w.unwinder);
	stack_samples_done(&w.samples);
	vec_done(&w.rules);
	vec_done(&w.maps);
	vec_done(&w.seen);
	return 0;
}
