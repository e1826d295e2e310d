/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The vdso: code that the kernel maps into every process, an ELF file without a file.  Ours is that
 * of all processes of our own word size, and reading ours trusts nobody.
 */
#ifndef PTOP_IMAGE_VDSO_H
#define PTOP_IMAGE_VDSO_H

#include <stddef.h>
#include <stdint.h>

#include "base/reason.h"

/* Our own vdso, borrowed for ever.  0; -ENOENT where there is none. */
int vdso_bytes(const void **ret_bytes, size_t *ret_size, struct reason *why);

#endif
