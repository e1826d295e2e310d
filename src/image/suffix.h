/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What compilers append to the name of a function when they split or copy it: ".cold", ".part.0",
 * ".isra.0", ".constprop.0", ".lto_priv.0" (GCC), ".llvm.123", ".__uniq.123", ".specialized.1"
 * (LLVM), ".warm", ".cold.0" (BOLT), ".abi0" (Go's assembly), " [clone .cold]" (demanglers).  Code
 * under such a name is that function's.  Names of functions in their own right, as of coroutines'
 * parts (".resume"), OpenMP's (".omp_fn.0") or those for other processors (".avx2"), are not cut.
 */
#ifndef PTOP_IMAGE_SUFFIX_H
#define PTOP_IMAGE_SUFFIX_H

#include <stddef.h>

/* Bytes of @name before all such suffixes: @len where there are none, never 0 unless @len is. */
size_t suffix_start(const char *name, size_t len);

#endif
