/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes, numbers and expressions of call frame information. */
#include "image/cfi.h"

#include <dwarf.h>
#include <endian.h>
#include <string.h>

#define EXPRESSION_DEPTH 8

static bool take(struct cfi_reader *r, void *to, size_t size)
{
	if (r->bad || (size_t)(r->end - r->at) < size) {
		r->bad = true;
		memset(to, 0, size);
		return false;
	}
	memcpy(to, r->at, size);
	r->at += size;
	return true;
}

uint8_t cfi_u8(struct cfi_reader *r)
{
	if (r->bad || r->at == r->end) {
		r->bad = true;
		return 0;
	}
	return *r->at++;
}

uint16_t cfi_u16(struct cfi_reader *r)
{
	uint16_t x;

	take(r, &x, sizeof(x));
	return le16toh(x);
}

uint32_t cfi_u32(struct cfi_reader *r)
{
	uint32_t x;

	take(r, &x, sizeof(x));
	return le32toh(x);
}

uint64_t cfi_u64(struct cfi_reader *r)
{
	uint64_t x;

	take(r, &x, sizeof(x));
	return le64toh(x);
}

/* The bytes of a LEB128 number, at most so many as 64 bits need; the last one into *@ret_last. */
static uint64_t leb(struct cfi_reader *r, unsigned *ret_bits, uint8_t *ret_last)
{
	uint64_t x = 0;
	unsigned bits = 0;
	uint8_t byte;

	do {
		byte = cfi_u8(r);
		if (bits >= 64 || (bits == 63 && (byte & 0x7f) > 1 && (byte & 0x7f) != 0x7f)) {
			r->bad = true;
			break;
		}
		x |= (uint64_t)(byte & 0x7f) << bits;
		bits += 7;
	} while ((byte & 0x80) != 0 && !r->bad);
	*ret_bits = bits;
	*ret_last = byte;
	return r->bad ? 0 : x;
}

uint64_t cfi_uleb(struct cfi_reader *r)
{
	unsigned bits;
	uint8_t last;

	if (!r->bad && r->at < r->end && *r->at < 0x80)
		return *r->at++;
	return leb(r, &bits, &last);
}

int64_t cfi_sleb(struct cfi_reader *r)
{
	unsigned bits;
	uint8_t last;
	uint64_t x = leb(r, &bits, &last);

	if (!r->bad && bits < 64 && (last & 0x40) != 0)
		x |= UINT64_MAX << bits;
	return (int64_t)x;
}

struct cfi_reader cfi_block(struct cfi_reader *r, uint64_t size)
{
	struct cfi_reader block = { r->at, r->at, false };

	if (r->bad || size > (uint64_t)(r->end - r->at)) {
		r->bad = true;
		block.bad = true;
		return block;
	}
	r->at += size;
	block.end = r->at;
	return block;
}

/* Lazy binding pushes one word more from the entry's byte 11 on; linkers write exactly this. */
static bool is_plt(const struct cfi_reader *r, struct cfi_value *ret)
{
	static const uint8_t head[] = { DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and };
	static const uint8_t tail[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	uint8_t literal;

	if ((size_t)(r->end - r->at) != sizeof(head) + 1 + sizeof(tail) ||
	    memcmp(r->at, head, sizeof(head)) != 0 ||
	    memcmp(r->at + sizeof(head) + 1, tail, sizeof(tail)) != 0)
		return false;
	literal = r->at[sizeof(head)];
	if (literal < DW_OP_lit0 || literal > DW_OP_lit15)
		return false;
	*ret = (struct cfi_value){ .shape = CFI_PLT,
				   .reg = DWARF_X86_64_SP,
				   .offset = literal - DW_OP_lit0 };
	return true;
}

/* An operand that pushes a number or a register; CFI_UNKNOWN for other operations. */
static struct cfi_value pushed(struct cfi_reader *r, uint8_t op, int64_t *ret_offset)
{
	struct cfi_value v = { .shape = CFI_NUMBER };
	uint64_t reg;

	if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
		*ret_offset = op - DW_OP_lit0;
		return v;
	}
	if ((op >= DW_OP_breg0 && op <= DW_OP_breg31) || op == DW_OP_bregx) {
		reg = op == DW_OP_bregx ? cfi_uleb(r) : (uint64_t)(op - DW_OP_breg0);
		v.shape = reg < 128 ? CFI_REG : CFI_UNKNOWN;
		v.reg = (uint8_t)reg;
		*ret_offset = cfi_sleb(r);
		return v;
	}
	switch (op) {
	case DW_OP_const1u:
		*ret_offset = cfi_u8(r);
		break;
	case DW_OP_const1s:
		*ret_offset = (int8_t)cfi_u8(r);
		break;
	case DW_OP_const2u:
		*ret_offset = cfi_u16(r);
		break;
	case DW_OP_const2s:
		*ret_offset = (int16_t)cfi_u16(r);
		break;
	case DW_OP_const4u:
		*ret_offset = cfi_u32(r);
		break;
	case DW_OP_const4s:
		*ret_offset = (int32_t)cfi_u32(r);
		break;
	case DW_OP_const8u:
	case DW_OP_const8s:
		*ret_offset = (int64_t)cfi_u64(r);
		break;
	case DW_OP_constu:
		*ret_offset = (int64_t)cfi_uleb(r);
		break;
	case DW_OP_consts:
		*ret_offset = cfi_sleb(r);
		break;
	default:
		v.shape = CFI_UNKNOWN;
	}
	return v;
}

/* @v + @add, where it still fits. */
static bool shift(struct cfi_value *v, int64_t add)
{
	int64_t sum;

	if (__builtin_add_overflow((int64_t)(v->shape == CFI_WORD ? v->add : v->offset), add, &sum))
		return false;
	if (v->shape == CFI_WORD) {
		v->add = (int16_t)sum;
		return sum == v->add;
	}
	v->offset = (int32_t)sum;
	return sum == v->offset;
}

/* An operation on what is there already. */
static bool combine(struct cfi_reader *r, uint8_t op, struct cfi_value *stack, unsigned *depth)
{
	struct cfi_value *top = *depth > 0 ? &stack[*depth - 1] : NULL;
	struct cfi_value number;
	uint64_t add;

	switch (op) {
	case DW_OP_nop:
		return true;
	case DW_OP_deref:
		if (top == NULL || top->shape != CFI_REG)
			return false;
		top->shape = CFI_WORD;
		return true;
	case DW_OP_plus_uconst:
		add = cfi_uleb(r);
		return top != NULL && add <= INT32_MAX && shift(top, (int64_t)add);
	case DW_OP_plus:
	case DW_OP_minus:
		if (*depth < 2)
			return false;
		number = *top;
		(*depth)--;
		top--;
		if (op == DW_OP_plus && top->shape == CFI_NUMBER) {
			struct cfi_value swap = *top;

			*top = number;
			number = swap;
		}
		return number.shape == CFI_NUMBER &&
		       shift(top, op == DW_OP_plus ? number.offset : -(int64_t)number.offset);
	default:
		return false;
	}
}

struct cfi_value cfi_expression(struct cfi_reader r, bool from_cfa)
{
	struct cfi_value stack[EXPRESSION_DEPTH] = { { .shape = CFI_CFA } };
	const struct cfi_value unknown = { .shape = CFI_UNKNOWN };
	unsigned depth = from_cfa ? 1 : 0;

	if (!from_cfa && is_plt(&r, &stack[0]))
		return stack[0];
	while (!r.bad && r.at < r.end) {
		uint8_t op = cfi_u8(&r);
		int64_t offset = 0;
		struct cfi_value v = pushed(&r, op, &offset);

		if (v.shape == CFI_UNKNOWN) {
			if (!combine(&r, op, stack, &depth))
				return unknown;
			continue;
		}
		v.offset = (int32_t)offset;
		if (offset != v.offset || depth == EXPRESSION_DEPTH)
			return unknown;
		stack[depth++] = v;
	}
	return r.bad || depth == 0 ? unknown : stack[depth - 1];
}
