/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call frame information: the CIEs and FDEs of .eh_frame and .debug_frame, and an interpreter of
 * their instructions that follows the CFA and four registers only: the return address, bp, bx, sp.
 *
 * Bytes may be hostile. Nothing is allocated but the list of CIEs; every read is bounded; work is
 * bounded by CFI_INSTRUCTIONS_MAX an FDE and by the caller's budget.  Little endian, 64-bit
 *addresses.
 *
 *	cfi_section_init() -> cfi_collect_cies() -> cfi_next_fde()... -> for each: cfi_begin(),
 *cfi_next()...
 *
 * Facts: DWARF 5 section 6.4, 7.24; LSB "Exception Frames"; GNU and AArch64 vendor opcodes.
 */
#ifndef PTOP_IMAGE_CFI_H
#define PTOP_IMAGE_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "image/rows.h"

#define CFI_INSTRUCTIONS_MAX (1u << 20)
#define CFI_STATES_MAX 16u
#define CFI_CIES_MAX (1u << 20)

/* A bounded reader.  A read that does not fit sets .bad and gives 0; later ones then do so too. */
struct cfi_reader {
	const uint8_t *at, *end;
	bool bad;
};

uint8_t cfi_u8(struct cfi_reader *r);
uint16_t cfi_u16(struct cfi_reader *r);
uint32_t cfi_u32(struct cfi_reader *r);
uint64_t cfi_u64(struct cfi_reader *r);
uint64_t cfi_uleb(struct cfi_reader *r);
int64_t cfi_sleb(struct cfi_reader *r);
/* The next @size bytes as a reader of their own. */
struct cfi_reader cfi_block(struct cfi_reader *r, uint64_t size);

/* What an expression comes to; only shapes that rules can tell are known. */
enum cfi_shape {
	CFI_UNKNOWN,
	CFI_NUMBER, /* .offset */
	CFI_REG,    /* register .reg + .offset */
	CFI_CFA,    /* CFA + .offset */
	CFI_WORD,   /* the word at register .reg + .offset, plus .add */
	CFI_PLT,    /* rsp + 8 + (((rip & 15) >= .offset) << 3) */
};

struct cfi_value {
	uint8_t shape; /* enum cfi_shape */
	uint8_t reg;   /* DWARF number < 128 */
	int16_t add;
	int32_t offset;
};

/* Evaluates an expression that starts with the CFA on its stack where @from_cfa. */
struct cfi_value cfi_expression(struct cfi_reader r, bool from_cfa);

enum cfi_slot { CFI_SLOT_RA, CFI_SLOT_BP, CFI_SLOT_BX, CFI_SLOT_SP, CFI_SLOTS };

enum cfi_where {
	CFI_SAME,      /* not told, or told to be the same */
	CFI_AT,        /* in memory at .value */
	CFI_IS,        /* is .value */
	CFI_UNDEFINED, /* told to be gone */
};

struct cfi_saved {
	uint8_t where; /* enum cfi_where */
	struct cfi_value value;
};

struct cfi_state {
	struct cfi_value cfa;
	struct cfi_saved saved[CFI_SLOTS];
};

/* The rule for a state; ROWS_NO_RULE's where no rule can tell it. */
struct unwind_rule cfi_rule(const struct cfi_state *s, enum rows_machine machine, bool signal);

struct cfi_cie {
	uint64_t at; /* offset in the section */
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding; /* DW_EH_PE_* of an FDE's addresses */
	bool augmented;   /* FDEs have augmentation data */
	bool signal;
	bool good; /* else its FDEs are left out */
	struct cfi_state initial;
};

struct cfi_section {
	const uint8_t *bytes; /* borrowed */
	size_t size;
	uint64_t vaddr;
	uint64_t got; /* base of DW_EH_PE_datarel; 0: none */
	bool eh;      /* .eh_frame, else .debug_frame */
	bool ends;    /* an empty entry ends the section, else it is padding */
	enum rows_machine machine;
	uint64_t budget; /* instructions that may still be executed */
	VEC(struct cfi_cie) cies;
	size_t last; /* the CIE found last */
};

/* Lists the section's CIEs; a damaged length ends the list.  0 or -ENOMEM. */
int cfi_collect_cies(struct cfi_section *s);
void cfi_section_done(struct cfi_section *s);

struct cfi_fde {
	uint64_t start, size; /* of the code: vaddr, bytes */
	uint32_t cie;         /* index; it is good */
	uint32_t at, at_size; /* instructions, in the section */
};

/* The next sound FDE from *@pos on, which starts at 0; false at the end. */
bool cfi_next_fde(struct cfi_section *s, uint64_t *pos, struct cfi_fde *ret);

/* One FDE's rows in rising order. */
struct cfi_run {
	struct cfi_section *section;
	const struct cfi_cie *cie;
	struct cfi_reader code;
	uint64_t loc, end;
	uint64_t start; /* of the row that cfi_next() gave: it reaches to the next, or to the FDE's
			   end */
	struct cfi_state state;
	struct cfi_state stack[CFI_STATES_MAX];
	unsigned depth;
	uint32_t left; /* instructions */
	bool finished;
};

void cfi_begin(struct cfi_run *run, struct cfi_section *s, const struct cfi_fde *fde);

/* 1: .start and .state are a row; 0: no more; -EBADMSG: damaged or past a bound. */
int cfi_next(struct cfi_run *run);

/* An address of that encoding at the reader, which reads the section.  Sets .bad where refused. */
uint64_t cfi_address(const struct cfi_section *s, struct cfi_reader *r, uint8_t encoding);

/* Executes instructions until one moves the location, or all; false where one is damaged. */
bool cfi_execute(struct cfi_run *run);

#endif
