// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A mutation loop for a fuzz target that needs no libFuzzer: takes files in turn, changes a few of
 * their bytes, numbers or parts, and runs the target. The same seed gives the same inputs.
 *
 * usage: mutate_NAME EXECUTIONS SEED FILE...
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	uint8_t *bytes;
	size_t size;
};

static uint64_t state;

static uint64_t rnd(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return below ? (state >> 11) % below : 0;
}

static void *must(void *p)
{
	if (!p) {
		perror("mutate");
		exit(1);
	}
	return p;
}

static struct input read_input(const char *path)
{
	struct input in = { 0 };
	FILE *f = must(fopen(path, "rbe"));

	fseek(f, 0, SEEK_END);
	in.size = (size_t)ftell(f);
	rewind(f);
	in.bytes = must(malloc(in.size + 1));
	if (fread(in.bytes, 1, in.size, f) != in.size)
		must(NULL);
	fclose(f);
	return in;
}

/* A number that tends to be at an edge. */
static uint64_t edge(void)
{
	static const uint64_t edges[] = { 0,          1,          7,         8,
					  9,          16,         0x7fff,    0xffff,
					  0x7fffffff, UINT32_MAX, INT64_MAX, UINT64_MAX };

	return edges[rnd(sizeof(edges) / sizeof(edges[0]))] + rnd(3) - 1;
}

/* Most sizes and counts are near the beginning: half of all changes go there. */
static size_t place(size_t size)
{
	return (size_t)rnd(rnd(2) && size > 512 ? 512 : size);
}

static size_t change(uint8_t *bytes, size_t size)
{
	uint64_t x = edge();
	size_t at = place(size), width = (size_t)1 << rnd(4), from = place(size), len = rnd(64) + 1;

	switch (rnd(6)) {
	case 0:
		bytes[at] ^= (uint8_t)(1u << rnd(8));
		break;
	case 1:
		bytes[at] = (uint8_t)rnd(256);
		break;
	case 2:
	case 3:
		if (at + width <= size)
			memcpy(bytes + at, &x, width);
		break;
	case 4:
		len = len > size - from ? size - from : len;
		len = len > size - at ? size - at : len;
		memmove(bytes + at, bytes + from, len);
		break;
	default:
		return rnd(8) ? size : at + 1;
	}
	return size;
}

int main(int argc, char **argv)
{
	struct input *inputs;
	uint64_t executions;
	int nr = argc - 3;

	if (nr < 1) {
		fprintf(stderr, "usage: %s EXECUTIONS SEED FILE...\n", argv[0]);
		return 2;
	}
	executions = strtoull(argv[1], NULL, 10);
	state = strtoull(argv[2], NULL, 10) * UINT64_C(0x9e3779b97f4a7c15) + 1;
	inputs = must(calloc((size_t)nr, sizeof(*inputs)));
	for (int i = 0; i < nr; i++)
		inputs[i] = read_input(argv[3 + i]);
	for (uint64_t i = 0; i < executions; i++) {
		const struct input *in = &inputs[rnd((uint64_t)nr)];
		uint8_t *copy = must(malloc(in->size + 1)), *exact;
		size_t size = in->size;

		memcpy(copy, in->bytes, size);
		for (uint64_t k = rnd(8) + 1; k && size; k--)
			size = change(copy, size);
		exact = must(realloc(copy, size ? size : 1));
		LLVMFuzzerTestOneInput(exact, size);
		free(exact);
	}
	for (int i = 0; i < nr; i++)
		free(inputs[i].bytes);
	free(inputs);
	printf("%" PRIu64 " executions over %d inputs\n", executions, nr);
	return 0;
}
