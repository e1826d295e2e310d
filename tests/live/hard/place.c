/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage: place same|elsewhere|huge|whole|memfd|aligned
 * Where code lies: as it was loaded; called where its file is mapped a second time; moved into
 * anonymous memory in its place, a part or all of it, as programs do that want huge pages; run from
 * a memfd.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hard.h"

extern char **environ;

enum { PAGE = 4096 };

/* On pages of its own, which can be moved; it uses nothing that lies elsewhere. */
__attribute__((section(".text.own"), aligned(4096))) NOINLINE void own_page(void)
{
	volatile unsigned long local = 0;

	for (int i = 0; i < 100000; i++)
		local += (unsigned long)i;
}

__attribute__((section(".text.own"), aligned(4096))) NOINLINE void after_own_page(void)
{
	sink++;
}

/* The line of /proc/self/maps with that address. */
static void mapping_of(const void *addr, uintptr_t *start, uintptr_t *end, uint64_t *offset)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[4096];

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %" SCNx64, start, end, offset) ==
			    3 &&
		    *start <= (uintptr_t)addr && (uintptr_t)addr < *end) {
			fclose(f);
			return;
		}
	}
	exit(1);
}

/* Anonymous memory with the same bytes takes the place of [start, end). */
static void move(uintptr_t start, uintptr_t end)
{
	size_t size = end - start;
	void *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(copy, (void *)start, size);
	if (mprotect(copy, size, PROT_READ | PROT_EXEC) != 0 ||
	    mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)start) == MAP_FAILED)
		exit(1);
}

static void *second_mapping(void *function)
{
	uintptr_t start, end, page = (uintptr_t)function / PAGE * PAGE;
	uint64_t offset;
	int fd = open("/proc/self/exe", O_RDONLY);
	char *at;

	mapping_of(function, &start, &end, &offset);
	at = mmap(NULL, end - start, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (off_t)offset);
	if (at == MAP_FAILED)
		exit(1);
	return at + (page - start) + ((uintptr_t)function - page);
}

static void run_from_memfd(char **argv)
{
	int fd = memfd_create("program in memory", MFD_CLOEXEC), self = open(argv[0], O_RDONLY);
	static char bytes[65536];
	ssize_t n;

	while ((n = read(self, bytes, sizeof(bytes))) > 0) {
		if (write(fd, bytes, (size_t)n) != n)
			exit(1);
	}
	argv[1] = (char *)"same";
	fexecve(fd, argv, environ);
	exit(1);
}

NOINLINE void calls(void (*function)(void))
{
	function();
	sink++;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "same";
	void (*volatile function)(void) = own_page;
	uintptr_t start, end;
	uint64_t offset;

	mapping_of((void *)own_page, &start, &end, &offset);
	if (strcmp(how, "memfd") == 0)
		run_from_memfd(argv);
	else if (strcmp(how, "elsewhere") == 0)
		function = (void (*)(void))second_mapping((void *)own_page);
	else if (strcmp(how, "huge") == 0)
		move((uintptr_t)own_page, (uintptr_t)own_page + PAGE);
	else if (strcmp(how, "whole") == 0)
		move(start, end);
	after_own_page();
	ready();
	for (;;)
		calls(function);
}
