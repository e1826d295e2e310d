/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage: many_maps N: N executable mappings, then code in the last of them, new every moment. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hard.h"

enum { PAGE = 4096 };

int main(int argc, char **argv)
{
	/* mov $100000,%ecx; 1: loop 1b; ret */
	static const unsigned char code[] = { 0xb9, 0xa0, 0x86, 0x01, 0x00, 0xe2, 0xfe, 0xc3 };
	size_t nr = (size_t)atol(argc > 1 ? argv[1] : "1000");
	char *at = mmap(NULL, 2 * nr * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	/* Every second page cannot be executed: as many mappings as pages. */
	for (size_t i = 0; i < nr; i++) {
		if (mprotect(at + 2 * i * PAGE, PAGE, PROT_READ) != 0)
			break;
	}
	at += (2 * nr - 1) * PAGE;
	memcpy(at, code, sizeof(code));
	ready();
	for (;;) {
		((void (*)(void))at)();
		spin();
		sink++;
	}
}
