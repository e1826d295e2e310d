/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries of .eh_frame and .debug_frame: which of them are sound, and what they cover. */
#include "image/cfi.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

/* Low bits of DW_EH_PE_* tell the format, the next three what the address is relative to. */
#define FORMAT_BITS 0x0fu
#define RELATIVE_BITS 0x70u

static uint64_t formatted(struct cfi_reader *r, uint8_t format)
{
	switch (format) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return cfi_u64(r);
	case DW_EH_PE_uleb128:
		return cfi_uleb(r);
	case DW_EH_PE_sleb128:
		return (uint64_t)cfi_sleb(r);
	case DW_EH_PE_udata2:
		return cfi_u16(r);
	case DW_EH_PE_sdata2:
		return (uint64_t)(int16_t)cfi_u16(r);
	case DW_EH_PE_udata4:
		return cfi_u32(r);
	case DW_EH_PE_sdata4:
		return (uint64_t)(int32_t)cfi_u32(r);
	default:
		r->bad = true;
		return 0;
	}
}

uint64_t cfi_address(const struct cfi_section *s, struct cfi_reader *r, uint8_t encoding)
{
	uint64_t here = s->vaddr + (uint64_t)(r->at - s->bytes);
	uint64_t value;

	if ((encoding & DW_EH_PE_indirect) != 0) {
		r->bad = true;
		return 0;
	}
	value = formatted(r, encoding & FORMAT_BITS);
	switch (encoding & RELATIVE_BITS) {
	case DW_EH_PE_absptr:
		return value;
	case DW_EH_PE_pcrel:
		return here + value;
	case DW_EH_PE_datarel:
		r->bad |= s->got == 0;
		return s->got + value;
	default:
		r->bad = true;
		return 0;
	}
}

/* An entry of the section: its place, its bytes past the identifier, and what that said. */
struct entry {
	uint64_t at;
	struct cfi_reader body;
	bool cie;
	uint64_t parent; /* an FDE's: its CIE's place */
	bool sound;      /* the identifier could be read */
};

/* The parts of an entry past its length. */
static void identify(const struct cfi_section *s, struct entry *e, bool wide)
{
	uint64_t here = (uint64_t)(e->body.at - s->bytes);
	uint64_t id = wide ? cfi_u64(&e->body) : cfi_u32(&e->body);

	/* Nobody agrees on the identifier's size in .eh_frame's wide form, and nobody writes it. */
	e->sound = !e->body.bad && !(wide && s->eh);
	if (s->eh) {
		e->cie = id == 0;
		e->sound = e->sound && id <= here;
		e->parent = here - id;
	} else {
		e->cie = id == (wide ? UINT64_MAX : UINT32_MAX);
		e->parent = id;
	}
}

/* The entry at *@pos, which moves behind it; false at the section's end or where a length is
 * damaged. */
static bool next_entry(const struct cfi_section *s, uint64_t *pos, struct entry *ret)
{
	while (*pos < s->size) {
		struct cfi_reader r = { s->bytes + *pos, s->bytes + s->size, false };
		uint64_t length = cfi_u32(&r);
		bool wide = length == UINT32_MAX;

		if (wide)
			length = cfi_u64(&r);
		if (!wide && length >= 0xfffffff0u)
			return false;
		*ret = (struct entry){ .at = *pos, .body = cfi_block(&r, length) };
		if (r.bad || (length == 0 && s->ends))
			return false;
		*pos = (uint64_t)(r.at - s->bytes);
		if (length == 0)
			continue;
		identify(s, ret, wide);
		return true;
	}
	return false;
}

/* The augmentation's letters; "z" is past. */
static bool augmentation(const struct cfi_section *s, struct cfi_cie *cie, const char *letters,
			 size_t nr, struct cfi_reader *data)
{
	for (size_t i = 0; i < nr; i++) {
		uint8_t encoding;

		switch (letters[i]) {
		case 'R':
			cie->encoding = cfi_u8(data);
			break;
		case 'L':
			cfi_u8(data);
			break;
		case 'P':
			/* The personality's address is of no interest, and may well be indirect. */
			encoding = cfi_u8(data);
			if ((encoding & RELATIVE_BITS) == DW_EH_PE_aligned)
				return false;
			if (encoding != DW_EH_PE_omit)
				formatted(data, encoding & FORMAT_BITS);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B': /* aarch64: signed with key B */
		case 'G': /* aarch64: tagged stack */
			if (s->machine != ROWS_AARCH64)
				return false;
			break;
		default:
			return false;
		}
	}
	return !data->bad;
}

/* The part before the instructions, at which @r is then. */
static bool cie_head(const struct cfi_section *s, struct cfi_cie *cie, struct cfi_reader *r)
{
	uint8_t version = cfi_u8(r);
	const char *letters = (const char *)r->at;
	size_t nr = strnlen(letters, (size_t)(r->end - r->at));
	uint64_t ra, data_size;
	struct cfi_reader data;

	cfi_block(r, nr + 1);
	if (version == 4) {
		if (cfi_u8(r) != 8 || cfi_u8(r) != 0)
			return false; /* not 64-bit, or segmented */
	} else if (version != 1 && version != 3) {
		return false;
	}
	cie->code_align = cfi_uleb(r);
	cie->data_align = cfi_sleb(r);
	ra = version == 1 ? cfi_u8(r) : cfi_uleb(r);
	if (r->bad || ra != (s->machine == ROWS_X86_64 ? DWARF_X86_64_RA : DWARF_AARCH64_LR))
		return false;
	if (nr == 0)
		return true;
	if (letters[0] != 'z')
		return false;
	cie->augmented = true;
	data_size = cfi_uleb(r);
	data = cfi_block(r, data_size);
	return !r->bad && augmentation(s, cie, letters + 1, nr - 1, &data);
}

static struct cfi_cie parse_cie(struct cfi_section *s, const struct entry *e)
{
	struct cfi_cie cie = { .at = e->at, .encoding = DW_EH_PE_absptr };
	struct cfi_run run = { .section = s, .cie = &cie, .code = e->body };

	if (!e->sound || !cie_head(s, &cie, &run.code))
		return cie;
	/* Initial instructions describe one place: none of them may move, nor restore anything. */
	run.left = CFI_INSTRUCTIONS_MAX;
	cie.good = cfi_execute(&run) && run.loc == 0 && run.finished;
	cie.initial = run.state;
	return cie;
}

int cfi_collect_cies(struct cfi_section *s)
{
	uint64_t pos = 0;
	struct entry e;

	while (s->cies.nr < CFI_CIES_MAX && next_entry(s, &pos, &e)) {
		if (e.cie && vec_push(&s->cies, parse_cie(s, &e)) != 0)
			return -ENOMEM;
	}
	return 0;
}

void cfi_section_done(struct cfi_section *s)
{
	vec_done(&s->cies);
}

/* The index of the CIE at @at; they are in rising order. False where there is none of use. */
static bool find_cie(struct cfi_section *s, uint64_t at, uint32_t *ret)
{
	size_t low = 0, high = s->cies.nr;

	if (s->last < high && s->cies.at[s->last].at == at) {
		*ret = (uint32_t)s->last;
		return s->cies.at[s->last].good;
	}
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->cies.at[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == s->cies.nr || s->cies.at[low].at != at)
		return false;
	s->last = low;
	*ret = (uint32_t)low;
	return s->cies.at[low].good;
}

static bool parse_fde(struct cfi_section *s, struct entry *e, struct cfi_fde *ret)
{
	const struct cfi_cie *cie;
	uint64_t data_size;

	if (!e->sound || !find_cie(s, e->parent, &ret->cie))
		return false;
	cie = &s->cies.at[ret->cie];
	ret->start = cfi_address(s, &e->body, cie->encoding);
	ret->size = formatted(&e->body, cie->encoding & FORMAT_BITS);
	if (cie->augmented) {
		data_size = cfi_uleb(&e->body);
		cfi_block(&e->body, data_size);
	}
	if (e->body.bad || ret->size == 0 || ret->size > UINT64_MAX - ret->start)
		return false;
	ret->at = (uint32_t)(e->body.at - s->bytes);
	ret->at_size = (uint32_t)(e->body.end - e->body.at);
	return true;
}

bool cfi_next_fde(struct cfi_section *s, uint64_t *pos, struct cfi_fde *ret)
{
	struct entry e;

	while (next_entry(s, pos, &e)) {
		if (!e.cie && parse_fde(s, &e, ret))
			return true;
	}
	return false;
}
