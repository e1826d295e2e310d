/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interpreter.  Operands are decoded by a table, so that instructions about registers that
 * nobody follows are passed over in one way.  An instruction that is unknown damages its FDE: what
 * follows it cannot be read.
 */
#include "image/cfi.h"

#include <dwarf.h>
#include <errno.h>

/* AArch64 "PAuth ABI": toggles how the return address is signed. */
#define CFA_NEGATE_RA_STATE_WITH_PC 0x2c
#define CFA_LOW_BITS 0x3fu

enum operand { NOTHING, U8, U16, U32, U64, UNSIGNED, SIGNED, REGISTER, ADDRESS, BLOCK };

struct operation {
	bool known;
	uint8_t operands[2]; /* enum operand */
};

static const struct operation operations[CFA_LOW_BITS + 1] = {
	[DW_CFA_nop] = { true, { NOTHING } },
	[DW_CFA_set_loc] = { true, { ADDRESS } },
	[DW_CFA_advance_loc1] = { true, { U8 } },
	[DW_CFA_advance_loc2] = { true, { U16 } },
	[DW_CFA_advance_loc4] = { true, { U32 } },
	[DW_CFA_MIPS_advance_loc8] = { true, { U64 } },
	[DW_CFA_offset_extended] = { true, { REGISTER, UNSIGNED } },
	[DW_CFA_restore_extended] = { true, { REGISTER } },
	[DW_CFA_undefined] = { true, { REGISTER } },
	[DW_CFA_same_value] = { true, { REGISTER } },
	[DW_CFA_register] = { true, { REGISTER, UNSIGNED } },
	[DW_CFA_remember_state] = { true, { NOTHING } },
	[DW_CFA_restore_state] = { true, { NOTHING } },
	[DW_CFA_def_cfa] = { true, { UNSIGNED, UNSIGNED } },
	[DW_CFA_def_cfa_register] = { true, { UNSIGNED } },
	[DW_CFA_def_cfa_offset] = { true, { UNSIGNED } },
	[DW_CFA_def_cfa_expression] = { true, { BLOCK } },
	[DW_CFA_expression] = { true, { REGISTER, BLOCK } },
	[DW_CFA_offset_extended_sf] = { true, { REGISTER, SIGNED } },
	[DW_CFA_def_cfa_sf] = { true, { UNSIGNED, SIGNED } },
	[DW_CFA_def_cfa_offset_sf] = { true, { SIGNED } },
	[DW_CFA_val_offset] = { true, { REGISTER, UNSIGNED } },
	[DW_CFA_val_offset_sf] = { true, { REGISTER, SIGNED } },
	[DW_CFA_val_expression] = { true, { REGISTER, BLOCK } },
	[CFA_NEGATE_RA_STATE_WITH_PC] = { true, { NOTHING } },
	[DW_CFA_AARCH64_negate_ra_state] = { true, { NOTHING } },
	[DW_CFA_GNU_args_size] = { true, { UNSIGNED } },
	[DW_CFA_GNU_negative_offset_extended] = { true, { REGISTER, UNSIGNED } },
};

/* One instruction with its operands. */
struct instruction {
	uint8_t op;
	int slot;        /* enum cfi_slot of its register operand, -1 for those not followed */
	uint64_t number; /* its last numeric operand */
	uint64_t reg;    /* its first operand, where it is a register */
	struct cfi_reader block;
};

static int slot_of(enum rows_machine machine, uint64_t reg)
{
	if (machine == ROWS_X86_64) {
		switch (reg) {
		case DWARF_X86_64_RA:
			return CFI_SLOT_RA;
		case DWARF_X86_64_BP:
			return CFI_SLOT_BP;
		case DWARF_X86_64_BX:
			return CFI_SLOT_BX;
		case DWARF_X86_64_SP:
			return CFI_SLOT_SP;
		default:
			return -1;
		}
	}
	switch (reg) {
	case DWARF_AARCH64_LR:
		return CFI_SLOT_RA;
	case DWARF_AARCH64_FP:
		return CFI_SLOT_BP;
	case DWARF_AARCH64_SP:
		return CFI_SLOT_SP;
	default:
		return -1;
	}
}

static void decode_operand(struct cfi_run *run, enum operand kind, bool first,
			   struct instruction *i)
{
	struct cfi_reader *r = &run->code;

	switch (kind) {
	case NOTHING:
		return;
	case U8:
		i->number = cfi_u8(r);
		break;
	case U16:
		i->number = cfi_u16(r);
		break;
	case U32:
		i->number = cfi_u32(r);
		break;
	case U64:
		i->number = cfi_u64(r);
		break;
	case UNSIGNED:
		i->number = cfi_uleb(r);
		break;
	case SIGNED:
		i->number = (uint64_t)cfi_sleb(r);
		break;
	case ADDRESS:
		i->number = cfi_address(run->section, r, run->cie->encoding);
		break;
	case BLOCK:
		i->block = cfi_block(r, cfi_uleb(r));
		return;
	case REGISTER:
		i->reg = cfi_uleb(r);
		i->slot = slot_of(run->section->machine, i->reg);
		return;
	}
	if (first)
		i->reg = i->number;
}

static bool decode(struct cfi_run *run, struct instruction *i)
{
	uint8_t byte = cfi_u8(&run->code);
	const struct operation *o;

	i->op = byte & ~CFA_LOW_BITS;
	i->slot = -1;
	switch (i->op) {
	case DW_CFA_advance_loc:
		i->number = byte & CFA_LOW_BITS;
		return true;
	case DW_CFA_offset:
		i->slot = slot_of(run->section->machine, byte & CFA_LOW_BITS);
		i->number = cfi_uleb(&run->code);
		return !run->code.bad;
	case DW_CFA_restore:
		i->slot = slot_of(run->section->machine, byte & CFA_LOW_BITS);
		return true;
	default:
		i->op = byte;
		o = &operations[byte];
		decode_operand(run, o->operands[0], true, i);
		decode_operand(run, o->operands[1], false, i);
		return o->known && !run->code.bad;
	}
}

/* Whether @x, times @factor, fits a rule's offset. */
static bool scaled(int64_t x, int64_t factor, int32_t *ret)
{
	int64_t product;

	if (__builtin_mul_overflow(x, factor, &product) || product != (int32_t)product)
		return false;
	*ret = (int32_t)product;
	return true;
}

/* Instructions that move the location. */
static bool move(struct cfi_run *run, const struct instruction *i)
{
	uint64_t to = i->number;

	if (i->op != DW_CFA_set_loc && (__builtin_mul_overflow(to, run->cie->code_align, &to) ||
					__builtin_add_overflow(to, run->loc, &to)))
		return false;
	if (to < run->loc)
		return false;
	run->loc = to;
	return true;
}

/* Instructions that define the CFA. */
static bool define_cfa(struct cfi_run *run, const struct instruction *i)
{
	struct cfi_value *cfa = &run->state.cfa;
	int64_t factor = 1;

	switch (i->op) {
	case DW_CFA_def_cfa_expression:
		*cfa = cfi_expression(i->block, false);
		return true;
	case DW_CFA_def_cfa_register:
		/* Of a CFA that is no register's, this says nothing that makes sense. */
		cfa->shape = cfa->shape == CFI_REG && i->reg < 128 ? CFI_REG : CFI_UNKNOWN;
		cfa->reg = (uint8_t)i->reg;
		return true;
	case DW_CFA_def_cfa_sf:
		factor = run->cie->data_align;
		/* fall through */
	case DW_CFA_def_cfa:
		*cfa = (struct cfi_value){ .shape = i->reg < 128 ? CFI_REG : CFI_UNKNOWN,
					   .reg = (uint8_t)i->reg };
		return scaled((int64_t)i->number, factor, &cfa->offset);
	case DW_CFA_def_cfa_offset_sf:
		factor = run->cie->data_align;
		/* fall through */
	default:
		if (cfa->shape != CFI_REG)
			cfa->shape = CFI_UNKNOWN;
		return scaled((int64_t)i->number, factor, &cfa->offset);
	}
}

/* Instructions that tell where a register is. */
static bool save(struct cfi_run *run, const struct instruction *i)
{
	struct cfi_saved s = { .where = CFI_AT, .value = { .shape = CFI_CFA } };
	bool good = true;

	switch (i->op) {
	case DW_CFA_undefined:
		s.where = CFI_UNDEFINED;
		break;
	case DW_CFA_same_value:
		s.where = CFI_SAME;
		break;
	case DW_CFA_register:
		s.where = CFI_IS;
		s.value.shape = i->number < 128 ? CFI_REG : CFI_UNKNOWN;
		s.value.reg = (uint8_t)i->number;
		break;
	case DW_CFA_expression:
		s.value = cfi_expression(i->block, true);
		break;
	case DW_CFA_val_expression:
		s.where = CFI_IS;
		s.value = cfi_expression(i->block, true);
		break;
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		s.where = CFI_IS;
		/* fall through */
	default:
		good = scaled((int64_t)i->number,
			      i->op == DW_CFA_GNU_negative_offset_extended ? -run->cie->data_align
									   : run->cie->data_align,
			      &s.value.offset);
	}
	if (i->slot >= 0)
		run->state.saved[i->slot] = s;
	/* Offsets of registers that nobody follows may be anything. */
	return good || i->slot < 0;
}

static bool execute_one(struct cfi_run *run, const struct instruction *i)
{
	switch (i->op) {
	case DW_CFA_nop:
	case DW_CFA_GNU_args_size:
		return true;
	case CFA_NEGATE_RA_STATE_WITH_PC:
	case DW_CFA_AARCH64_negate_ra_state:
		return run->section->machine == ROWS_AARCH64;
	case DW_CFA_advance_loc:
	case DW_CFA_advance_loc1:
	case DW_CFA_advance_loc2:
	case DW_CFA_advance_loc4:
	case DW_CFA_MIPS_advance_loc8:
	case DW_CFA_set_loc:
		return move(run, i);
	case DW_CFA_remember_state:
		if (run->depth == CFI_STATES_MAX)
			return false;
		run->stack[run->depth++] = run->state;
		return true;
	case DW_CFA_restore_state:
		if (run->depth == 0)
			return false;
		run->state = run->stack[--run->depth];
		return true;
	case DW_CFA_restore:
	case DW_CFA_restore_extended:
		if (i->slot >= 0)
			run->state.saved[i->slot] = run->cie->initial.saved[i->slot];
		return true;
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_def_cfa_register:
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
	case DW_CFA_def_cfa_expression:
		return define_cfa(run, i);
	default:
		return save(run, i);
	}
}

bool cfi_execute(struct cfi_run *run)
{
	uint64_t before = run->loc;

	while (run->code.at < run->code.end && run->loc == before) {
		struct instruction i;

		if (run->left == 0 || run->section->budget == 0)
			return false;
		run->left--;
		run->section->budget--;
		if (!decode(run, &i) || !execute_one(run, &i))
			return false;
	}
	run->finished = run->loc == before;
	return true;
}

void cfi_begin(struct cfi_run *run, struct cfi_section *s, const struct cfi_fde *fde)
{
	const uint8_t *code = s->bytes + fde->at;

	run->section = s;
	run->cie = &s->cies.at[fde->cie];
	run->code = (struct cfi_reader){ code, code + fde->at_size, false };
	run->loc = fde->start;
	run->end = fde->start + fde->size;
	run->start = fde->start;
	run->state = run->cie->initial;
	run->depth = 0;
	run->left = CFI_INSTRUCTIONS_MAX;
	run->finished = false;
}

int cfi_next(struct cfi_run *run)
{
	if (run->finished || run->loc >= run->end)
		return 0;
	run->start = run->loc;
	return cfi_execute(run) ? 1 : -EBADMSG;
}

/* How a rule tells where a register is; false where it cannot. */
static bool rule_reg(const struct cfi_saved *s, const struct cfi_value *cfa, uint8_t bp,
		     uint8_t *ret_where, int32_t *ret_offset)
{
	*ret_offset = s->value.offset;
	switch ((enum cfi_where)s->where) {
	case CFI_SAME:
	case CFI_UNDEFINED:
		*ret_where = s->where == CFI_SAME ? RULE_SAME : RULE_UNDEFINED;
		*ret_offset = 0;
		return true;
	case CFI_IS:
		*ret_where = RULE_IN_REG;
		*ret_offset = s->value.reg;
		return s->value.shape == CFI_REG && s->value.offset == 0 &&
		       s->value.reg < ROWS_REGISTERS;
	case CFI_AT:
		if (s->value.shape == CFI_CFA)
			*ret_where = RULE_AT_CFA;
		else if (s->value.shape == CFI_REG && s->value.reg == cfa->reg)
			*ret_where = RULE_AT_REG;
		else if (s->value.shape == CFI_REG && s->value.reg == bp)
			*ret_where = RULE_AT_BP;
		else
			return false;
		return true;
	}
	return false;
}

/* The caller's sp is the CFA; whatever is told of it must come to that. */
static bool sp_is_cfa(const struct cfi_state *s)
{
	const struct cfi_saved *sp = &s->saved[CFI_SLOT_SP];

	switch ((enum cfi_where)sp->where) {
	case CFI_SAME:
	case CFI_UNDEFINED:
		return true;
	case CFI_IS:
		return sp->value.shape == CFI_CFA && sp->value.offset == 0;
	case CFI_AT:
		return sp->value.shape == CFI_REG && s->cfa.shape == CFI_WORD && s->cfa.add == 0 &&
		       sp->value.reg == s->cfa.reg && sp->value.offset == s->cfa.offset;
	}
	return false;
}

struct unwind_rule cfi_rule(const struct cfi_state *s, enum rows_machine machine, bool signal)
{
	static const uint8_t cfas[] = {
		[CFI_UNKNOWN] = RULE_CFA_NONE, [CFI_NUMBER] = RULE_CFA_NONE,
		[CFI_REG] = RULE_CFA_REG,      [CFI_CFA] = RULE_CFA_NONE,
		[CFI_WORD] = RULE_CFA_DEREF,   [CFI_PLT] = RULE_CFA_PLT,
	};
	static const struct unwind_rule none;
	const struct cfi_saved *saved = s->saved;
	bool x86 = machine == ROWS_X86_64, end = saved[CFI_SLOT_RA].where == CFI_UNDEFINED;
	uint8_t bp = x86 ? DWARF_X86_64_BP : DWARF_AARCH64_FP;
	struct unwind_rule r = { .cfa = cfas[s->cfa.shape], .cfa_reg = s->cfa.reg };

	if (end)
		return (struct unwind_rule){ .cfa = RULE_CFA_REG,
					     .cfa_reg = x86 ? DWARF_X86_64_SP : DWARF_AARCH64_SP,
					     .ra = RULE_UNDEFINED,
					     .flags = RULE_END };
	r.cfa_offset = s->cfa.offset;
	r.cfa_add = s->cfa.add;
	if (r.cfa == RULE_CFA_NONE || r.cfa_reg >= ROWS_REGISTERS ||
	    (r.cfa == RULE_CFA_PLT && !x86) || !sp_is_cfa(s) ||
	    !rule_reg(&saved[CFI_SLOT_RA], &s->cfa, bp, &r.ra, &r.ra_offset) ||
	    (r.ra == RULE_SAME && x86))
		return none;
	if (!rule_reg(&saved[CFI_SLOT_BP], &s->cfa, bp, &r.bp, &r.bp_offset)) {
		r.bp = RULE_UNDEFINED;
		r.bp_offset = 0;
	}
	if (!rule_reg(&saved[CFI_SLOT_BX], &s->cfa, bp, &r.bx, &r.bx_offset)) {
		r.bx = RULE_UNDEFINED;
		r.bx_offset = 0;
	}
	r.flags = signal ? RULE_SIGNAL : 0;
	return r;
}
