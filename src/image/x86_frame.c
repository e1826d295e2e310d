/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/x86_frame.h"

enum { CFA_MAX = 1 << 20 };

static void lose_sp(struct x86_frame *s)
{
	s->cfa = 0;
}

/* sp moves by @bytes; the return address is never passed. */
static void move_sp(struct x86_frame *s, int64_t bytes)
{
	int64_t cfa = s->cfa - bytes;

	if (s->cfa != 0)
		s->cfa = cfa >= 8 && cfa < CFA_MAX ? (int32_t)cfa : 0;
}

static void push(struct x86_frame *s, int reg)
{
	move_sp(s, -8);
	if (s->cfa == 0)
		return;
	if (reg == X86_BP && s->bp_at == 0 && s->frame == 0)
		s->bp_at = -s->cfa;
	else if (reg == X86_BX && s->bx_at == 0)
		s->bx_at = -s->cfa;
}

static void pop(struct x86_frame *s, int reg)
{
	if (reg == X86_BP && (s->cfa == 0 || s->bp_at == -s->cfa)) {
		s->bp_at = 0;
		s->frame = 0;
	} else if (reg == X86_BX && s->cfa != 0 && s->bx_at == -s->cfa) {
		s->bx_at = 0;
	} else if (reg == X86_SP) {
		lose_sp(s);
	}
	move_sp(s, 8);
}

/* sp = bp + @disp. */
static void sp_from_bp(struct x86_frame *s, int32_t disp)
{
	s->cfa = 0;
	if (s->frame != 0 && s->frame - disp >= 8 && s->frame - disp < CFA_MAX)
		s->cfa = s->frame - disp;
}

/* mov between a register and the stack saves or restores. */
static void move_memory(struct x86_frame *s, const struct x86 *i, bool store)
{
	int64_t slot = (int64_t)i->disp - s->cfa;

	if (!i->has_base || i->rm != X86_SP || !i->wide || s->cfa == 0 || slot >= -8 ||
	    slot < -CFA_MAX)
		return;
	if (i->reg == X86_BP) {
		if (store && s->bp_at == 0)
			s->bp_at = (int32_t)slot;
		else if (!store && s->bp_at == (int32_t)slot)
			s->bp_at = 0;
	} else if (i->reg == X86_BX) {
		if (store && s->bx_at == 0)
			s->bx_at = (int32_t)slot;
		else if (!store && s->bx_at == (int32_t)slot)
			s->bx_at = 0;
	}
}

static void move(struct x86_frame *s, const struct x86 *i)
{
	bool store = i->opcode == 0x89;
	uint8_t to = store ? i->rm : i->reg, from = store ? i->reg : i->rm;

	if (i->mod != 3) {
		if (!store && i->reg == X86_SP)
			lose_sp(s);
		move_memory(s, i, store);
		return;
	}
	if (to == X86_SP && from == X86_BP)
		sp_from_bp(s, 0);
	else if (to == X86_SP)
		lose_sp(s);
	else if (to == X86_BP && from == X86_SP && s->bp_at != 0)
		s->frame = s->cfa;
	else if (to == X86_BP)
		s->frame = 0;
}

/* add, or, adc, sbb, and, sub, xor, cmp with a number: 80, 81, 83. */
static void arithmetic(struct x86_frame *s, const struct x86 *i)
{
	uint8_t what = i->reg & 7;

	if (i->mod != 3 || i->rm != X86_SP || what == 7) {
		if (i->mod == 3 && i->rm == X86_BP && what != 7)
			s->frame = 0;
		return;
	}
	if (what == 0)
		move_sp(s, i->imm);
	else if (what == 5)
		move_sp(s, -i->imm);
	else
		lose_sp(s);
}

static void address(struct x86_frame *s, const struct x86 *i)
{
	if (i->reg == X86_BP)
		s->frame = 0;
	if (i->reg != X86_SP)
		return;
	if (i->has_base && i->rm == X86_SP)
		move_sp(s, i->disp);
	else if (i->has_base && i->rm == X86_BP)
		sp_from_bp(s, i->disp);
	else
		lose_sp(s);
}

/* What else writes a whole register that is sp. */
static void other(struct x86_frame *s, const struct x86 *i)
{
	uint8_t op = i->opcode;
	bool by_rm = (op < 0x40 && (op & 7) < 2 && (op & 0x38) != 0x38) || op == 0x87 ||
		     op == 0xc1 || op == 0xd1 || op == 0xd3 || (op == 0xf7 && i->reg >= 2) ||
		     (op == 0xff && (i->reg & 7) < 2) || op == 0xc7;
	bool by_reg = (op < 0x40 && (op & 6) == 2 && (op & 0x38) != 0x38) || op == 0x87 ||
		      op == 0x63 || op == 0x69 || op == 0x6b;

	if (!i->has_modrm)
		return;
	if ((by_rm && i->mod == 3 && i->rm == X86_SP) || (by_reg && i->reg == X86_SP))
		lose_sp(s);
	if ((by_rm && i->mod == 3 && i->rm == X86_BP) || (by_reg && i->reg == X86_BP))
		s->frame = 0;
}

void x86_frame_apply(struct x86_frame *s, const struct x86 *i)
{
	uint8_t op = i->opcode;

	if (i->map == X86_0F && (op == 0xa0 || op == 0xa8))
		move_sp(s, -8);
	else if (i->map == X86_0F && (op == 0xa1 || op == 0xa9))
		move_sp(s, 8);
	if (i->map != X86_ONE_BYTE)
		return;
	if (op >= 0x50 && op <= 0x57)
		push(s, i->rm);
	else if (op >= 0x58 && op <= 0x5f)
		pop(s, i->rm);
	else if (op == 0x68 || op == 0x6a || op == 0x9c || (op == 0xff && (i->reg & 7) == 6))
		move_sp(s, -8);
	else if (op == 0x8f)
		move_sp(s, 8);
	else if (op == 0x9d)
		move_sp(s, 8);
	else if (op == 0x80 || op == 0x81 || op == 0x83)
		arithmetic(s, i);
	else if (op == 0x89 || op == 0x8b)
		move(s, i);
	else if (op == 0x8d)
		address(s, i);
	else if (op == 0xc9) {
		sp_from_bp(s, 0);
		pop(s, X86_BP);
	} else if (op == 0xc8)
		lose_sp(s);
	else
		other(s, i);
}
