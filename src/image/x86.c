/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/x86.h"

#include <string.h>

/* What follows an opcode. */
enum {
	NONE = 0,
	MODRM = 1,
	IMM8 = 2,
	IMM16 = 4,
	IMMZ = 8,    /* 4 bytes, 2 with the prefix 66 */
	IMMV = 16,   /* as IMMZ, 8 with REX.W */
	MOFFS = 32,  /* an address of 8 bytes */
	IMM8X2 = 64, /* enter: 16 bits and 8 */
	BAD = 128,
};

#define M MODRM
#define I8 IMM8
#define IZ IMMZ
#define MI8 (MODRM | IMM8)
#define MIZ (MODRM | IMMZ)
#define ARITHMETIC M, M, M, M, I8, IZ, BAD, BAD

static const uint8_t one_byte[256] = {
	ARITHMETIC,
	ARITHMETIC,
	ARITHMETIC,
	ARITHMETIC, /* 00 */
	ARITHMETIC,
	ARITHMETIC,
	ARITHMETIC,
	ARITHMETIC, /* 20 */
	/* 40: REX */
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	/* 50: push, pop */
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	/* 60 */
	BAD,
	BAD,
	BAD,
	M,
	0,
	0,
	0,
	0,
	IZ,
	MIZ,
	I8,
	MI8,
	0,
	0,
	0,
	0,
	/* 70: short jumps */
	I8,
	I8,
	I8,
	I8,
	I8,
	I8,
	I8,
	I8,
	I8,
	I8,
	I8,
	I8,
	I8,
	I8,
	I8,
	I8,
	/* 80 */
	MI8,
	MIZ,
	BAD,
	MI8,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	/* 90 */
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	BAD,
	0,
	0,
	0,
	0,
	0,
	/* a0 */
	MOFFS,
	MOFFS,
	MOFFS,
	MOFFS,
	0,
	0,
	0,
	0,
	I8,
	IZ,
	0,
	0,
	0,
	0,
	0,
	0,
	/* b0 */
	I8,
	I8,
	I8,
	I8,
	I8,
	I8,
	I8,
	I8,
	IMMV,
	IMMV,
	IMMV,
	IMMV,
	IMMV,
	IMMV,
	IMMV,
	IMMV,
	/* c0 */
	MI8,
	MI8,
	IMM16,
	0,
	BAD,
	BAD,
	MI8,
	MIZ,
	IMM8X2,
	0,
	IMM16,
	0,
	0,
	I8,
	BAD,
	0,
	/* d0 */
	M,
	M,
	M,
	M,
	BAD,
	BAD,
	BAD,
	0,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	M,
	/* e0: e8, e9 and eb are jumps */
	I8,
	I8,
	I8,
	I8,
	I8,
	I8,
	I8,
	I8,
	IMMZ,
	IMMZ,
	BAD,
	I8,
	0,
	0,
	0,
	0,
	/* f0: f6 and f7 have an immediate for some; see below */
	0,
	0,
	0,
	0,
	0,
	0,
	M,
	M,
	0,
	0,
	0,
	0,
	0,
	0,
	M,
	M,
};

/* After 0f. */
static uint8_t after_0f(uint8_t opcode)
{
	if (opcode >= 0x80 && opcode <= 0x8f)
		return IMMZ;
	if ((opcode >= 0x05 && opcode <= 0x09) || opcode == 0x0b || opcode == 0x0e ||
	    (opcode >= 0x30 && opcode <= 0x37) || opcode == 0x77 ||
	    (opcode >= 0xa0 && opcode <= 0xa2) || (opcode >= 0xa8 && opcode <= 0xaa) ||
	    (opcode >= 0xc8 && opcode <= 0xcf))
		return NONE;
	if (opcode == 0x04 || opcode == 0x0a || opcode == 0x0c)
		return BAD;
	if ((opcode >= 0x70 && opcode <= 0x73) || opcode == 0x0f || opcode == 0xa4 ||
	    opcode == 0xac || opcode == 0xba || opcode == 0xc2 ||
	    (opcode >= 0xc4 && opcode <= 0xc6))
		return MI8;
	return M;
}

/* A bounded walk over one instruction's bytes. */
struct walk {
	const uint8_t *at;
	size_t left;
	bool bad;
};

static uint8_t byte(struct walk *w)
{
	if (w->left == 0) {
		w->bad = true;
		return 0;
	}
	w->left--;
	return *w->at++;
}

/* A little-endian signed number. */
static int64_t number(struct walk *w, unsigned int size)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < size; i++)
		n |= (uint64_t)byte(w) << 8 * i;
	return size == 8 ? (int64_t)n : (int64_t)(n << (64 - 8 * size)) >> (64 - 8 * size);
}

struct prefixes {
	bool size16;
	uint8_t rex;
};

static void read_modrm(struct walk *w, uint8_t rex, struct x86 *i)
{
	uint8_t modrm = byte(w), sib;
	bool index = false, no_base = false;

	i->has_modrm = true;
	i->mod = modrm >> 6;
	i->reg = (uint8_t)((modrm >> 3 & 7) | (rex & 4) << 1);
	i->rm = (uint8_t)((modrm & 7) | (rex & 1) << 3);
	if (i->mod == 3)
		return;
	if ((modrm & 7) == 4) {
		sib = byte(w);
		index = (sib >> 3 & 7) != 4 || (rex & 2);
		no_base = (sib & 7) == 5 && i->mod == 0;
		i->rm = (uint8_t)((sib & 7) | (rex & 1) << 3);
	} else if ((modrm & 7) == 5 && i->mod == 0) {
		i->by_ip = true;
	}
	i->has_base = !index && !no_base && !i->by_ip;
	if (i->mod == 1)
		i->disp = (int32_t)number(w, 1);
	else if (i->mod == 2 || i->by_ip || no_base)
		i->disp = (int32_t)number(w, 4);
}

static void read_immediate(struct walk *w, uint8_t what, const struct prefixes *p, struct x86 *i)
{
	unsigned int z = p->size16 ? 2 : 4;
	bool jump = i->map == X86_0F
			    ? i->opcode >= 0x80 && i->opcode <= 0x8f
			    : i->map == X86_ONE_BYTE && (i->opcode == 0xe8 || i->opcode == 0xe9);

	if (what & IMM8)
		i->imm = number(w, 1);
	else if (what & IMM16)
		i->imm = number(w, 2);
	else if (what & IMMZ)
		i->imm = number(w, jump ? 4 : z);
	else if (what & IMMV)
		i->imm = number(w, i->wide ? 8 : z);
	else if (what & MOFFS)
		i->imm = number(w, 8);
	else if (what & IMM8X2)
		i->imm = number(w, 2) * 256 + (uint8_t)number(w, 1);
}

/* What follows a VEX or EVEX opcode of that map (1: 0f, 2: 0f38, 3: 0f3a). */
static uint8_t after_vex(uint8_t map, uint8_t opcode)
{
	if (map == 3)
		return MI8;
	if (map == 1)
		return opcode == 0x77 ? NONE : (uint8_t)(M | (after_0f(opcode) & IMM8));
	return map == 0 || map > 6 ? BAD : M;
}

static uint8_t read_vex(struct walk *w, uint8_t first, struct x86 *i)
{
	uint8_t map = 1, second = byte(w);

	i->map = X86_OTHER;
	if (first == 0xc4) {
		map = second & 31;
		byte(w);
	} else if (first == 0x62) {
		map = second & 7;
		byte(w);
		byte(w);
	}
	i->opcode = byte(w);
	return after_vex(map, i->opcode);
}

static uint8_t read_opcode(struct walk *w, struct prefixes *p, struct x86 *i)
{
	uint8_t b;

	for (;;) {
		b = byte(w);
		if (w->bad)
			return BAD;
		if (b == 0x66)
			p->size16 = true;
		else if (b != 0x67 && b != 0xf0 && b != 0xf2 && b != 0xf3 && b != 0x2e &&
			 b != 0x36 && b != 0x3e && b != 0x26 && b != 0x64 && b != 0x65)
			break;
	}
	if (b >= 0x40 && b <= 0x4f) {
		p->rex = b;
		i->wide = b & 8;
		b = byte(w);
	}
	if (b == 0xc4 || b == 0xc5 || b == 0x62)
		return read_vex(w, b, i);
	i->opcode = b;
	if (b != 0x0f)
		return one_byte[b];
	i->map = X86_0F;
	i->opcode = byte(w);
	if (i->opcode != 0x38 && i->opcode != 0x3a)
		return after_0f(i->opcode);
	i->map = i->opcode == 0x38 ? X86_0F38 : X86_0F3A;
	i->opcode = byte(w);
	return i->map == X86_0F38 ? M : MI8;
}

bool x86_decode(const uint8_t *bytes, size_t size, struct x86 *ret)
{
	struct walk w = { bytes, size < X86_LENGTH_MAX ? size : X86_LENGTH_MAX, false };
	struct prefixes p = { 0 };
	struct x86 i = { 0 };
	uint8_t what = read_opcode(&w, &p, &i);

	if (what == BAD)
		return false;
	if (what & MODRM)
		read_modrm(&w, p.rex, &i);
	else if (i.map == X86_ONE_BYTE)
		i.rm = (uint8_t)((i.opcode & 7) | (p.rex & 1) << 3); /* push, pop */
	if (i.map == X86_ONE_BYTE && (i.opcode == 0xf6 || i.opcode == 0xf7) && (i.reg & 6) == 0)
		what |= i.opcode == 0xf6 ? IMM8 : IMMZ;
	read_immediate(&w, what, &p, &i);
	if (w.bad)
		return false;
	i.length = (uint8_t)(w.at - bytes);
	*ret = i;
	return true;
}

bool x86_is_padding(const struct x86 *i)
{
	if (i->map == X86_0F)
		return i->opcode == 0x1f && i->has_modrm;
	if (i->map != X86_ONE_BYTE)
		return false;
	if (i->opcode == 0x8d) /* lea 0(%rsi),%rsi and its like */
		return i->mod == 1 && i->disp == 0 && i->has_base && i->reg == i->rm;
	return i->opcode == 0x90 || i->opcode == 0xcc || i->opcode == 0xf4;
}
