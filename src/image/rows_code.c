/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A handler returns to the restorer that sigaction(2) was given; above the return address is the
 * kernel's ucontext (struct rt_sigframe, arch/x86/include/asm/sigframe.h), with the registers of
 * what was interrupted at fixed offsets.
 */
#include "image/rows_code.h"

#include <stdbool.h>
#include <string.h>

#include "image/rows_x86.h"

/* Offsets from sp: struct ucontext, its sigcontext (asm/sigcontext.h). */
static const struct unwind_rule signal_return = {
	.cfa = RULE_CFA_DEREF,
	.cfa_reg = DWARF_X86_64_SP,
	.cfa_offset = 160,
	.ra = RULE_AT_REG,
	.ra_offset = 168,
	.bp = RULE_AT_REG,
	.bp_offset = 120,
	.bx = RULE_AT_REG,
	.bx_offset = 128,
	.flags = RULE_SIGNAL,
};

/* mov $15, %eax or %rax (__NR_rt_sigreturn); syscall */
static const uint8_t restorers[][9] = {
	{ 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 },
	{ 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 },
};
static const uint8_t restorer_sizes[] = { 9, 7 };

/* The first restorer from @from on; @size where there is none. */
static size_t find_restorer(const uint8_t *bytes, size_t size, size_t from, size_t *ret_size)
{
	size_t first = size;

	for (size_t i = 0; i < sizeof(restorer_sizes); i++) {
		const uint8_t *at =
			memmem(bytes + from, size - from, restorers[i], restorer_sizes[i]);

		if (at != NULL && (size_t)(at - bytes) < first) {
			first = (size_t)(at - bytes);
			*ret_size = restorer_sizes[i];
		}
	}
	return first;
}

enum { SITES_MAX = 16 };

struct site {
	uint64_t start, end;
};

/* Rows of functions, with those of signal returns laid over them. */
struct merge {
	struct site sites[SITES_MAX];
	size_t nr, at;
	struct unwind_rule rule; /* of functions, from the last row on */
	bool has_rule;
	rows_code_fn *put;
	void *ctx;
};

/* The row begins a byte early, as in glibc: return addresses are looked up in the byte before, and
 * no call is there. */
static void find_sites(struct merge *m, const struct rows_code *c)
{
	size_t from = 0, length = 0;

	while (m->nr < SITES_MAX && from < c->size) {
		size_t at = find_restorer(c->bytes, c->size, from, &length);

		if (at == c->size)
			return;
		m->sites[m->nr++] =
			(struct site){ c->vaddr + at - (at > from), c->vaddr + at + length };
		from = at + length;
	}
}

/* Signal returns that begin before @vaddr. */
static int put_sites(struct merge *m, uint64_t vaddr)
{
	int err = 0;

	while (err == 0 && m->at < m->nr && m->sites[m->at].start < vaddr) {
		const struct site *s = &m->sites[m->at++];

		err = m->put(m->ctx, s->start, &signal_return);
		if (err == 0)
			err = m->put(m->ctx, s->end, m->has_rule ? &m->rule : NULL);
	}
	return err;
}

static int put_row(void *ctx, uint64_t vaddr, const struct unwind_rule *rule)
{
	struct merge *m = ctx;
	int err = put_sites(m, vaddr);

	m->has_rule = rule != NULL;
	if (rule != NULL)
		m->rule = *rule;
	if (err != 0)
		return err;
	if (m->at > 0 && vaddr < m->sites[m->at - 1].end)
		vaddr = m->sites[m->at - 1].end;
	return m->put(m->ctx, vaddr, rule);
}

int rows_code(const struct rows_code *code, rows_code_fn *put, void *ctx)
{
	struct merge m = { .put = put, .ctx = ctx };
	int err;

	if (code->machine != ROWS_X86_64)
		return 0;
	find_sites(&m, code);
	err = rows_x86(code->bytes, code->size, code->vaddr, code->entries, code->nr_entries,
		       put_row, &m);
	return err != 0 ? err : put_sites(&m, UINT64_MAX);
}
