/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows against libdw, over this program, the C library, the dynamic linker and more where they are:
 * at the start, in the middle and at the last byte of every FDE, and around the start of every row.
 * Each address is asked anew: libdw's own idea of where a row starts is wrong after
 * DW_CFA_restore_state.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/rows.h"

#if defined(__x86_64__)

struct counts {
	size_t asked, uncovered, ends, simple, words, plts, untold, wrong;
};

struct oracle {
	const char *path;
	int fd;
	Elf *elf;
	Dwarf_CFI *cfi;
	struct rows_bytes bytes;
	struct rows rows;
	struct counts nr;
};

static bool oracle_init(struct oracle *o, const char *path)
{
	struct reason why = { 0 };

	memset(o, 0, sizeof(*o));
	o->path = path;
	o->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (o->fd < 0)
		return false;
	elf_version(EV_CURRENT);
	o->elf = elf_begin(o->fd, ELF_C_READ, NULL);
	o->cfi = dwarf_getcfi_elf(o->elf);
	assert_non_null(o->cfi);
	if (rows_build(o->fd, -1, &o->bytes, &why) != 0)
		fail_msg("%s: %s", path, why.text);
	assert_int_equal(rows_check(o->bytes.at, o->bytes.size, &o->rows), 0);
	return true;
}

static void oracle_done(struct oracle *o)
{
	free(o->bytes.at);
	/* The CFI of an ELF file is the caller's to end, before the file. */
	dwarf_cfi_end(o->cfi);
	elf_end(o->elf);
	close(o->fd);
}

static bool is_breg(const Dwarf_Op *op, uint64_t *ret_reg, int64_t *ret_offset)
{
	if (op->atom == DW_OP_bregx) {
		*ret_reg = op->number;
		*ret_offset = (int64_t)op->number2;
		return true;
	}
	if (op->atom < DW_OP_breg0 || op->atom > DW_OP_breg31)
		return false;
	*ret_reg = (uint64_t)(op->atom - DW_OP_breg0);
	*ret_offset = (int64_t)op->number;
	return true;
}

/* Whether libdw's CFA is the rule's. */
static bool same_cfa(struct oracle *o, Dwarf_Frame *frame, const struct unwind_rule *r)
{
	uint64_t reg;
	int64_t offset;
	Dwarf_Op *ops;
	size_t nr;

	if (dwarf_frame_cfa(frame, &ops, &nr) != 0 || nr == 0)
		return r->cfa == RULE_CFA_NONE;
	if (!is_breg(&ops[0], &reg, &offset))
		return r->cfa == RULE_CFA_NONE;
	if (nr == 1) {
		o->nr.simple++;
		return r->cfa == RULE_CFA_REG && r->cfa_reg == reg && r->cfa_offset == offset;
	}
	if (nr <= 3 && ops[1].atom == DW_OP_deref) {
		o->nr.words++;
		return r->cfa == RULE_CFA_DEREF && r->cfa_reg == reg && r->cfa_offset == offset &&
		       r->cfa_add == (nr == 3 ? (int64_t)ops[2].number : 0);
	}
	if (nr == 9 && ops[1].atom == DW_OP_breg16) {
		o->nr.plts++;
		return r->cfa == RULE_CFA_PLT && r->cfa_offset == ops[4].atom - DW_OP_lit0;
	}
	o->nr.untold++;
	return r->cfa == RULE_CFA_NONE;
}

static bool same_register(Dwarf_Frame *frame, int number, const struct unwind_rule *r,
			  uint8_t where, int32_t offset)
{
	Dwarf_Op mem[3], *ops;
	uint64_t reg;
	int64_t at;
	size_t nr;

	if (dwarf_frame_register(frame, number, mem, &ops, &nr) != 0)
		return false;
	/* libdw takes a bx of which nothing is told for lost; the psABI has the callee keep it. */
	if (nr == 0 && number == DWARF_X86_64_BX)
		return where == RULE_SAME || (where == RULE_UNDEFINED && ops != NULL);
	if (nr == 0)
		return where == (ops == NULL ? RULE_SAME : RULE_UNDEFINED);
	/* An expression that is not from the CFA which it starts with. */
	if (nr == 2 && ops[0].atom == DW_OP_call_frame_cfa && is_breg(&ops[1], &reg, &at)) {
		if (at != offset)
			return false;
		return reg == r->cfa_reg ? where == RULE_AT_REG
					 : where == RULE_AT_BP && reg == DWARF_X86_64_BP;
	}
	if (ops[0].atom == DW_OP_call_frame_cfa && nr <= 2)
		return where == RULE_AT_CFA && offset == (nr == 2 ? (int64_t)ops[1].number : 0);
	if (ops[0].atom == DW_OP_regx && nr == 1)
		return where == RULE_IN_REG && (uint64_t)offset == ops[0].number;
	return where == RULE_UNDEFINED;
}

/* Places that change to another stack, such as the end of longjmp(): no rule can tell those. */
static bool leaves_the_stack(Dwarf_Frame *frame)
{
	Dwarf_Op mem[3], *ops, *cfa;
	uint64_t reg, cfa_reg;
	int64_t at, cfa_at;
	size_t nr, cfa_nr;

	if (dwarf_frame_register(frame, DWARF_X86_64_SP, mem, &ops, &nr) != 0)
		return true;
	if (nr == 0)
		return false;
	if (nr == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_stack_value)
		return false;
	return nr != 2 || !is_breg(&ops[1], &reg, &at) ||
	       dwarf_frame_cfa(frame, &cfa, &cfa_nr) != 0 || cfa_nr != 2 ||
	       !is_breg(&cfa[0], &cfa_reg, &cfa_at) || reg != cfa_reg || at != cfa_at;
}

static bool same(struct oracle *o, Dwarf_Frame *frame, const struct unwind_rule *r)
{
	Dwarf_Op mem[3], *ops;
	bool signal;
	size_t nr;

	if (dwarf_frame_register(frame, DWARF_X86_64_RA, mem, &ops, &nr) == 0 && nr == 0 &&
	    ops != NULL) {
		o->nr.ends++;
		return (r->flags & RULE_END) != 0;
	}
	if (leaves_the_stack(frame)) {
		o->nr.untold++;
		return r->cfa == RULE_CFA_NONE;
	}
	if (!same_cfa(o, frame, r) || (r->flags & RULE_END) != 0)
		return false;
	if (r->cfa == RULE_CFA_NONE)
		return true;
	dwarf_frame_info(frame, NULL, NULL, &signal);
	return signal == ((r->flags & RULE_SIGNAL) != 0) &&
	       same_register(frame, DWARF_X86_64_RA, r, r->ra, r->ra_offset) &&
	       same_register(frame, DWARF_X86_64_BP, r, r->bp, r->bp_offset) &&
	       same_register(frame, DWARF_X86_64_BX, r, r->bx, r->bx_offset);
}

static void ask(struct oracle *o, uint64_t vaddr)
{
	const struct unwind_rule *r = rows_find(&o->rows, vaddr);
	Dwarf_Frame *frame = NULL;
	bool good;

	o->nr.asked++;
	if (dwarf_cfi_addrframe(o->cfi, vaddr, &frame) != 0) {
		o->nr.uncovered++;
		good = true; /* what code itself tells is compared in test_rows_x86 */
	} else {
		good = same(o, frame, r);
	}
	free(frame);
	if (!good && o->nr.wrong++ < 10)
		print_error("%s+%#lx: cfa %u reg %u %d add %d, ra %u %d, bp %u %d, bx %u %d\n",
			    o->path, (unsigned long)vaddr, r->cfa, r->cfa_reg, r->cfa_offset,
			    r->cfa_add, r->ra, r->ra_offset, r->bp, r->bp_offset, r->bx,
			    r->bx_offset);
}

static Elf_Scn *eh_frame(Elf *elf, GElf_Shdr *ret)
{
	Elf_Scn *section = NULL;
	size_t names;

	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	while ((section = elf_nextscn(elf, section)) != NULL) {
		assert_non_null(gelf_getshdr(section, ret));
		if (strcmp(elf_strptr(elf, names, ret->sh_name), ".eh_frame") == 0)
			return section;
	}
	return NULL;
}

/* FDEs by libdw's own walk; x86-64 linkers write addresses relative to themselves, in 4 bytes. */
static void ask_fdes(struct oracle *o)
{
	GElf_Shdr header;
	Elf_Data *data = elf_getdata(eh_frame(o->elf, &header), NULL);
	Dwarf_Off offset = 0, next;
	Dwarf_CFI_Entry entry;
	size_t nr = 0;

	while (dwarf_next_cfi((const unsigned char *)elf_getident(o->elf, NULL), data, true, offset,
			      &next, &entry) == 0) {
		if (!dwarf_cfi_cie_p(&entry)) {
			uint64_t at = header.sh_addr +
				      (uint64_t)(entry.fde.start - (const uint8_t *)data->d_buf);
			int32_t relative;
			uint32_t size;

			memcpy(&relative, entry.fde.start, 4);
			memcpy(&size, entry.fde.start + 4, 4);
			at += (uint64_t)(int64_t)relative;
			ask(o, at);
			ask(o, at + size / 2);
			ask(o, at + size - 1);
			ask(o, at + size);
			nr++;
		}
		offset = next;
	}
	assert_true(nr > 0);
}

static void ask_rows(struct oracle *o)
{
	for (uint32_t i = 0; i < o->rows.header->nr_rows; i++) {
		uint64_t at = o->rows.header->base + o->rows.starts[i];

		ask(o, at - 1);
		ask(o, at);
		ask(o, at + 1);
	}
}

static void agree(const char *path, bool required)
{
	struct oracle o;

	if (!oracle_init(&o, path)) {
		assert_false(required);
		return;
	}
	ask_fdes(&o);
	ask_rows(&o);
	print_message("%s: %zu asked: %zu register + offset, %zu words, %zu PLT, %zu untold, "
		      "%zu ends, %zu uncovered; %zu differ\n",
		      path, o.nr.asked, o.nr.simple, o.nr.words, o.nr.plts, o.nr.untold, o.nr.ends,
		      o.nr.uncovered, o.nr.wrong);
	assert_int_equal(o.nr.wrong, 0);
	assert_true(o.nr.simple > 0);
	/* What rules cannot tell is rare. */
	assert_true(o.nr.untold * 1000 <= o.nr.asked);
	oracle_done(&o);
}

static void this_program(void **state)
{
	(void)state;
	agree("/proc/self/exe", true);
}

static void the_c_library(void **state)
{
	Dl_info info;

	(void)state;
	assert_int_not_equal(dladdr((void *)gnu_get_libc_version, &info), 0);
	agree(info.dli_fname, true);
}

static void other_libraries(void **state)
{
	(void)state;
	agree("/lib64/ld-linux-x86-64.so.2", false);
	agree("/usr/lib/x86_64-linux-gnu/libcrypto.so.3", false);
	agree("/usr/lib/x86_64-linux-gnu/libm.so.6", false);
	agree("/usr/lib/x86_64-linux-gnu/libgcc_s.so.1", false);
}

#endif

int main(void)
{
#if defined(__x86_64__)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(this_program),
		cmocka_unit_test(the_c_library),
		cmocka_unit_test(other_libraries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
#else
	return 77;
#endif
}
