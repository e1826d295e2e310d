/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A user stack from registers and a copy of the stack's top, by the rows of the images it runs
 * through.  Where no row covers an address, guarded rules for hand-written code, PLTs and JIT code
 * apply; where none of those does, the stack is called broken.  A stack cut off by the copy's end
 * is called cut, never complete.
 *
 * In front of the rows stands a hash of (image, address) -> rule, so that a common step is one
 * probe. No allocation and no system call on the way.  One thread.
 */
#ifndef PTOP_UNWIND_UNWIND_H
#define PTOP_UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/images.h"
#include "record/record.h"
#include "space/space.h"

enum unwind_end {
	UNWIND_COMPLETE, /* the thread's outermost frame: a row says so, or pc 0 */
	UNWIND_CUT,      /* the copy of the stack ends */
	UNWIND_BROKEN,   /* no rule, an unreadable word, or a return address outside code */
	UNWIND_DEEP,     /* @max frames */
	UNWIND_WAIT,     /* the image .waiting is still being read: ask again once it is there */
};

struct unwound {
	uint32_t nr; /* places written, innermost first */
	enum unwind_end end;
	uint32_t waiting;            /* UNWIND_WAIT: an image */
	uint32_t by_rules, by_guess; /* frames found by rows, and by guarded rules */
	uint32_t read_bytes; /* UNWIND_COMPLETE: no byte of the stack's copy beyond so many was
				needed */
};

struct unwinder;
struct unwinder *unwinder_new(struct images *images); /* borrows; NULL without memory */
void unwinder_free(struct unwinder *u);

/*
 * Registers of the machines we know, from the sample's mask (perf_regs.h); false where ip or sp is
 * missing, the ABI is 32 bits or the machine another.
 */
enum unwind_machine { UNWIND_X86_64, UNWIND_AARCH64, UNWIND_OTHER };
#if defined(__aarch64__)
#define UNWIND_HERE UNWIND_AARCH64
#elif defined(__x86_64__)
#define UNWIND_HERE UNWIND_X86_64
#else
#define UNWIND_HERE UNWIND_OTHER
#endif
#define UNWIND_NR_REGS \
	33 /* by DWARF number; x86-64: 0..16 (16 is rip); aarch64: 0..31 (31 is sp), 32 is pc */
struct unwind_regs {
	enum unwind_machine machine;
	uint64_t value[UNWIND_NR_REGS];
	uint64_t known; /* bit a register */
};
/*
 * The machine that a name of uname(2) means: "x86_64", "aarch64"; UNWIND_OTHER.  Without a name
 * (NULL): the one whose kernel gives out a mask like @regs_user.
 */
enum unwind_machine unwind_machine_of(const char *arch, uint64_t regs_user);
bool unwind_regs_of(const struct sample_regs *regs, enum unwind_machine machine,
		    struct unwind_regs *ret);
uint64_t unwind_sp(const struct unwind_regs *regs); /* the stack pointer among them */

/*
 * Unwinds process @pid from @regs and @stack (bytes from sp upwards).  Return addresses are looked
 * up one byte back, inside the call; where the processor was, what a signal interrupted, and the
 * trampoline that a handler returns to are exact.  The places are as space_resolve() gives them.
 * @max >= 1.
 *
 * Costs about 10 ns a frame, 15 to 50 where the stack comes from memory, and some 150 ns for an
 * address of which nothing is remembered (512 KiB remember 16,384 of them).
 */
struct unwound unwind_user(struct unwinder *u, struct space *s, pid_t pid,
			   const struct unwind_regs *regs, const struct bytes *stack,
			   struct place *places, uint32_t max);

/*
 * An image was forgotten or loaded anew: rules kept for it are dropped.  Not needed for rows that
 * arrive: nothing is kept of a place whose rows were waited for.
 */
void unwinder_forget(struct unwinder *u, uint32_t image);

#endif
