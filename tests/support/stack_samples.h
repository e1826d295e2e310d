/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers and stacks of a program, sampled once and kept, with the process stopped so that its
 * mappings and files can be asked for.  For the unwinder's live test, golden set and benchmark.
 */
#ifndef PTOP_TESTS_STACK_SAMPLES_H
#define PTOP_TESTS_STACK_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/reason.h"
#include "base/vec.h"
#include "image/images.h"
#include "space/space.h"
#include "unwind/unwind.h"

struct stack_sample {
	struct unwind_regs regs;
	uint8_t *stack; /* owned */
	uint32_t size;
};

struct stack_samples {
	pid_t pid; /* stopped; killed by stack_samples_done() */
	VEC(struct stack_sample) at;
	struct space *space; /* of /proc/PID when it was stopped */
	struct images *images;
	uint64_t lost;
};

struct stack_taking {
	char **argv;
	uint32_t stack_bytes; /* of each; a multiple of 8 below 65536 */
	uint32_t hz;
	size_t nr;            /* samples wanted */
	unsigned int skip_ms; /* start-up to leave out */
	bool quiet;           /* its output goes nowhere */
};

/* 0; -EACCES, -EOPNOTSUPP… where the kernel refuses such samples; -ECHILD: it ended too early. */
int stack_samples_take(const struct stack_taking *t, struct stack_samples *ret, struct reason *why);
void stack_samples_done(struct stack_samples *s);

/* Reads the images that unwinding waits for until it ends otherwise. */
struct unwound stack_samples_unwind(struct stack_samples *s, struct unwinder *u, size_t i,
				    struct place *places, uint32_t max);

/* Whether a call instruction of the stopped process ends before @return_addr; one that tells where
 * it goes must go to code. */
bool stack_samples_called(const struct stack_samples *s, uint64_t return_addr);

#endif
