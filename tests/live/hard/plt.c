/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage: plt stub|resolve
 * stub: calls a library's empty function through the PLT. resolve: undoes what lazy binding wrote
 * before each call, so that every call resolves anew.
 */
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hard.h"

void library_function(void);

#define TEN(x) x x x x x x x x x x

NOINLINE void calls_stub(void)
{
	for (int i = 0; i < 1000; i++) {
		TEN(library_function();)
	}
}

/* The GOT slot of the program's only call to library_function(). */
static ElfW(Addr) * slot_of_call(void)
{
	extern ElfW(Dyn) _DYNAMIC[];
	const ElfW(Rela) *rela = NULL;
	const ElfW(Sym) *symbols = NULL;
	const char *names = NULL;
	size_t size = 0;
	struct link_map *map = NULL;

	for (ElfW(Dyn) *d = _DYNAMIC; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_JMPREL)
			rela = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_PLTRELSZ)
			size = d->d_un.d_val;
		else if (d->d_tag == DT_SYMTAB)
			symbols = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_STRTAB)
			names = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_DEBUG)
			map = ((struct r_debug *)d->d_un.d_ptr)->r_map;
	}
	for (size_t i = 0; i < size / sizeof(*rela); i++) {
		if (strcmp(names + symbols[ELF64_R_SYM(rela[i].r_info)].st_name,
			   "library_function") == 0)
			return (ElfW(Addr) *)(map->l_addr + rela[i].r_offset);
	}
	exit(1);
}

NOINLINE void resolves(volatile ElfW(Addr) * slot, ElfW(Addr) unresolved)
{
	for (int i = 0; i < 1000; i++) {
		*slot = unresolved;
		library_function();
	}
}

int main(int argc, char **argv)
{
	ElfW(Addr) *slot = slot_of_call(), unresolved = *slot;

	ready();
	for (;;) {
		if (argc > 1 && strcmp(argv[1], "resolve") == 0)
			resolves(slot, unresolved);
		else
			calls_stub();
		sink++;
	}
}
