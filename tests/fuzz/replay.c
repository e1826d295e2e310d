// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs a fuzz target without libFuzzer: over each file named, over what it becomes when it is cut
 * short, and over what it becomes when single bytes change. Always the same inputs, so that a
 * failure can be repeated; a target fails by crashing (and under sanitizers by their reports).
 *
 * usage: fuzz_NAME FILE...
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_CUTS = 128, MAX_FLIPS = 256 };

/* A copy of exactly that size: reading past its end is then seen by AddressSanitizer. */
static int run_copy(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		return -1;
	if (size)
		memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
	return 0;
}

static int run_variants(uint8_t *data, size_t size)
{
	size_t step = size / MAX_CUTS + 1;
	uint64_t random = size;

	if (run_copy(data, size))
		return -1;
	for (size_t cut = 0; cut < size; cut += step)
		if (run_copy(data, cut))
			return -1;
	for (unsigned i = 0; size && i < MAX_FLIPS; i++) {
		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		size_t at = (size_t)((random >> 24) % size);
		uint8_t was = data[at];
		data[at] = i & 1 ? (uint8_t)(random >> 56) : was ^ (uint8_t)(1u << (random >> 61));
		if (run_copy(data, size))
			return -1;
		data[at] = was;
	}
	return 0;
}

static uint8_t *read_file(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = NULL;
	long size;

	if (!file)
		return NULL;
	if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 &&
	    fseek(file, 0, SEEK_SET) == 0 && (data = malloc((size_t)size + 1))) {
		*ret_size = (size_t)size;
		if (fread(data, 1, (size_t)size, file) != (size_t)size) {
			free(data);
			data = NULL;
		}
	}
	fclose(file);
	return data;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: %s FILE...\n", argv[0]);
		return 2;
	}
	for (int i = 1; i < argc; i++) {
		size_t size = 0;
		uint8_t *data = read_file(argv[i], &size);
		if (!data || run_variants(data, size)) {
			perror(argv[i]);
			return 1;
		}
		free(data);
	}
	return 0;
}
