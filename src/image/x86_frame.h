/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A function's frame at one of its instructions, and what an instruction makes of it.  Pure. */
#ifndef PTOP_IMAGE_X86_FRAME_H
#define PTOP_IMAGE_X86_FRAME_H

#include "image/x86.h"

struct x86_frame {
	int32_t cfa;          /* sp + cfa is the CFA; 0: not known */
	int32_t frame;        /* bp + frame is the CFA; 0: bp is no frame pointer */
	int32_t bp_at, bx_at; /* where they are saved, from the CFA; 0: they are not */
};

/* What is not understood makes .cfa or .frame unknown; so does what takes the return address. */
void x86_frame_apply(struct x86_frame *s, const struct x86 *i);

#endif
