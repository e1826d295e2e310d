/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ELF files, which any user can put under a process, read from memory and through a descriptor
 * (libelf takes different ways), and as their own debug file: what is built from them must pass
 * table_check() and be found again.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image/build.h"
#include "image/debugfile.h"
#include "image/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct build_options options = {
	.file_max = 1 << 20,
	.symbols_max = 1 << 12,
	.strings_max = 1 << 18,
	.unpacked_max = 1 << 18,
};

/* Takes what building gave. */
static void check(int err, struct table_bytes *built)
{
	struct table t;

	if (err != 0)
		return;
	if (table_check(built->at, built->size, &t) != 0)
		abort();
	for (uint32_t i = 0; i < t.header->nr_symbols; i++) {
		if (table_find(&t, t.symbols[i].start) != i)
			abort();
	}
	free(built->at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct table_bytes built = { 0 };
	struct reason why;
	int fd = memfd_create("fuzz", MFD_CLOEXEC), debug_fd;

	check(build_table_memory(data, size, &options, &built, &why), &built);
	if (fd >= 0 && write(fd, data, size) == (ssize_t)size) {
		check(build_table(fd, -1, &options, &built, &why), &built);
		check(build_table(fd, fd, &options, &built, &why), &built);
		debug_fd = debugfile_open(fd, 0, "/nowhere/program");
		if (debug_fd >= 0)
			close(debug_fd);
	}
	if (fd >= 0)
		close(fd);
	return 0;
}
