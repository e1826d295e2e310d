/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of Go functions from .gopclntab, the table that Go's own runtime walks stacks with, which
 * therefore is in every Go program, stripped or not.  Four layouts: of Go 1.2, 1.16, 1.18 and 1.20
 * on (Go's src/internal/abi/symtab.go, src/debug/gosym/pclntab.go).  Internal to building.
 */
#ifndef PTOP_IMAGE_GOPCLNTAB_H
#define PTOP_IMAGE_GOPCLNTAB_H

#include <stddef.h>
#include <stdint.h>

#include "image/elf_file.h"
#include "image/symtab.h"

/*
 * Appends a symbol for each function whose code is in @code; names are borrowed from @f.  A file
 * without the table, or with a damaged one, has none, or fewer.  0, -ENOMEM, -EFBIG (more than
 * @symbols_max functions).
 */
int gopclntab_collect(struct raw_symbols *s, struct code_map *code, const struct elf_file *f,
		      uint32_t symbols_max, size_t bytes_max);

#endif
