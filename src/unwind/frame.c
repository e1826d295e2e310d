/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A canonical frame address must rise from frame to frame, except out of a signal handler, which
 * may run on a stack of its own, and be aligned to 8; so garbage ends a walk instead of leading it
 * in circles.
 */
#include "unwind/frame.h"

/* User addresses of aarch64 have 48 bits unless a program asks for more (Linux's Documentation/
 * arch/arm64/memory.rst); a signed pointer has its code above. */
static const struct machine machines[] = {
	[UNWIND_X86_64] = {
		.pc = DWARF_X86_64_RA, .sp = DWARF_X86_64_SP, .bp = DWARF_X86_64_BP,
		.bx = DWARF_X86_64_BX, .lr = DWARF_X86_64_RA,
		.followed = 1ull << DWARF_X86_64_RA | 1ull << DWARF_X86_64_SP |
			    1ull << DWARF_X86_64_BP | 1ull << DWARF_X86_64_BX,
		.address_mask = UINT64_MAX,
	},
	[UNWIND_AARCH64] = {
		.pc = 32, .sp = DWARF_AARCH64_SP, .bp = DWARF_AARCH64_FP,
		.bx = DWARF_AARCH64_FP, .lr = DWARF_AARCH64_LR,
		.followed = 1ull << 32 | 1ull << DWARF_AARCH64_SP | 1ull << DWARF_AARCH64_FP,
		.address_mask = (1ull << 48) - 1,
	},
};

const struct machine *machine_of(enum unwind_machine machine)
{
	return &machines[machine];
}

enum step stack_word(const struct stack_copy *stack, uint64_t addr, uint64_t *ret)
{
	uint64_t at = addr - stack->sp;

	if (addr < stack->sp)
		return STEP_BROKEN;
	if (at >= stack->size || stack->size - at < 8)
		return STEP_CUT;
	memcpy(ret, stack->at + at, 8);
	if (at + 8 > *stack->read_to)
		*stack->read_to = at + 8;
	return STEP_OK;
}

static inline uint64_t add(uint64_t base, int32_t offset)
{
	return base + (uint64_t)(int64_t)offset;
}

/* The word at a register's value + @offset. */
static inline enum step word_at(const struct frame *f, const struct stack_copy *stack, uint32_t reg,
				int32_t offset, uint64_t *ret)
{
	if (!frame_knows(f, reg))
		return STEP_BROKEN;
	return stack_word(stack, add(f->regs.value[reg], offset), ret);
}

static inline enum step cfa_of(const struct frame *f, const struct stack_copy *stack,
			       const struct unwind_rule *rule, uint64_t *ret)
{
	const struct machine *m = f->machine;
	enum step err;

	if (rule->cfa == RULE_CFA_REG) {
		if (!frame_knows(f, rule->cfa_reg))
			return STEP_BROKEN;
		*ret = add(f->regs.value[rule->cfa_reg], rule->cfa_offset);
		return STEP_OK;
	}
	if (rule->cfa == RULE_CFA_PLT) {
		uint64_t pushed = (f->regs.value[m->pc] & 15) >= (uint32_t)rule->cfa_offset;

		*ret = f->regs.value[m->sp] + 8 + (pushed << 3);
		return STEP_OK;
	}
	err = word_at(f, stack, rule->cfa_reg, rule->cfa_offset, ret);
	if (err == STEP_OK)
		*ret = add(*ret, rule->cfa_add);
	return err;
}

/* The caller's return address. */
static inline enum step ra_of(const struct frame *f, const struct stack_copy *stack,
			      const struct unwind_rule *rule, uint64_t cfa, uint64_t *ret)
{
	const struct machine *m = f->machine;
	uint32_t in = m->lr;

	switch (rule->ra) {
	case RULE_AT_CFA:
		return stack_word(stack, add(cfa, rule->ra_offset), ret);
	case RULE_AT_REG:
		return word_at(f, stack, rule->cfa_reg, rule->ra_offset, ret);
	case RULE_AT_BP:
		return word_at(f, stack, m->bp, rule->ra_offset, ret);
	case RULE_IN_REG:
		in = (uint32_t)rule->ra_offset;
		break;
	case RULE_SAME:
		break;
	default:
		return STEP_END;
	}
	if (in == m->pc || !frame_knows(f, in))
		return STEP_BROKEN;
	*ret = f->regs.value[in];
	return STEP_OK;
}

/*
 * The caller's value of a saved register; false: not known.  In an epilogue the rows of many
 * compilers still tell the place from which it was popped, which is below sp by then: it is back in
 * its register.
 */
static inline bool saved(const struct frame *f, const struct stack_copy *stack,
			 const struct unwind_rule *rule, uint64_t cfa, uint32_t reg, uint8_t how,
			 int32_t offset, uint64_t *ret)
{
	enum step err;

	switch (how) {
	case RULE_AT_CFA:
		err = stack_word(stack, add(cfa, offset), ret);
		break;
	case RULE_AT_REG:
		err = word_at(f, stack, rule->cfa_reg, offset, ret);
		break;
	case RULE_AT_BP:
		err = word_at(f, stack, f->machine->bp, offset, ret);
		break;
	case RULE_IN_REG:
		*ret = frame_knows(f, (uint32_t)offset) ? f->regs.value[offset] : 0;
		return frame_knows(f, (uint32_t)offset);
	case RULE_SAME:
		*ret = f->regs.value[reg];
		return frame_knows(f, reg);
	default:
		return false;
	}
	if (err == STEP_OK)
		return true;
	*ret = f->regs.value[reg];
	return err == STEP_BROKEN && f->exact && frame_knows(f, reg);
}

static inline void set(struct frame *f, uint32_t reg, bool known, uint64_t value)
{
	f->regs.value[reg] = value;
	if (known)
		f->regs.known |= 1ull << reg;
	else
		f->regs.known &= ~(1ull << reg);
}

enum step frame_step(struct frame *f, const struct stack_copy *stack,
		     const struct unwind_rule *rule)
{
	const struct machine *m = f->machine;
	uint64_t cfa, ra, sp = f->regs.value[m->sp];
	uint64_t bp = 0, bx = 0;
	bool knows_bp, knows_bx = false, signal = rule->flags & RULE_SIGNAL;
	enum step err;

	if (rule->flags & RULE_END)
		return STEP_END;
	err = cfa_of(f, stack, rule, &cfa);
	if (err != STEP_OK)
		return err;
	if (cfa % 8 || (!signal && (f->exact ? cfa < sp : cfa <= sp)))
		return STEP_BROKEN;
	err = ra_of(f, stack, rule, cfa, &ra);
	if (err != STEP_OK)
		return err;
	knows_bp = saved(f, stack, rule, cfa, m->bp, rule->bp, rule->bp_offset, &bp);
	if (m->bx != m->bp)
		knows_bx = saved(f, stack, rule, cfa, m->bx, rule->bx, rule->bx_offset, &bx);
	if (m->bx != m->bp)
		set(f, m->bx, knows_bx, bx);
	set(f, m->bp, knows_bp, bp);
	f->regs.value[m->sp] = cfa;
	f->regs.value[m->pc] = ra & m->address_mask;
	f->regs.known &= m->followed;
	f->exact = signal;
	return STEP_OK;
}

enum step frame_step_called(const struct frame *f, const struct stack_copy *stack,
			    struct frame *ret)
{
	const struct machine *m = f->machine;
	uint64_t ra, sp = f->regs.value[m->sp];

	if (m->lr != m->pc) {
		if (!frame_knows(f, m->lr))
			return STEP_BROKEN;
		ra = f->regs.value[m->lr];
	} else {
		enum step err = stack_word(stack, sp, &ra);

		if (err != STEP_OK || sp % 8)
			return err != STEP_OK ? err : STEP_BROKEN;
		sp += 8;
	}
	*ret = *f;
	ret->regs.value[m->sp] = sp;
	ret->regs.value[m->pc] = ra & m->address_mask;
	ret->regs.known &= m->followed;
	ret->exact = false;
	return STEP_OK;
}

enum step frame_step_chain(const struct frame *f, const struct stack_copy *stack, struct frame *ret)
{
	const struct machine *m = f->machine;
	uint64_t saved, ra, bp = f->regs.value[m->bp];
	enum step err;

	if (!frame_knows(f, m->bp) || bp % 8 || bp < f->regs.value[m->sp])
		return STEP_BROKEN;
	err = stack_word(stack, bp + 8, &ra);
	if (err == STEP_OK)
		err = stack_word(stack, bp, &saved);
	if (err != STEP_OK)
		return err;
	*ret = *f;
	ret->regs.value[m->bp] = saved;
	ret->regs.value[m->sp] = bp + 16;
	ret->regs.value[m->pc] = ra & m->address_mask;
	ret->regs.known &= m->followed;
	ret->exact = false;
	return STEP_OK;
}

bool frame_at_entry(const struct frame *f, const struct stack_copy *stack)
{
	uint64_t argc, word, sp = f->regs.value[f->machine->sp];

	if (sp % 8 || stack_word(stack, sp, &argc) != STEP_OK || argc == 0 || argc > 1 << 20)
		return false;
	if (stack_word(stack, sp + 8, &word) != STEP_OK || word <= sp)
		return false;
	return stack_word(stack, sp + 8 * (argc + 1), &word) == STEP_OK && word == 0;
}

bool frame_is_first(const struct frame *f, const struct stack_copy *stack)
{
	const struct machine *m = f->machine;
	struct frame entry = *f;
	uint64_t argc;

	if (m->lr != m->pc)
		return false;
	entry.regs.value[m->sp] -= 8;
	return stack_word(stack, entry.regs.value[m->sp], &argc) == STEP_OK &&
	       argc == f->regs.value[m->pc] && frame_at_entry(&entry, stack);
}
