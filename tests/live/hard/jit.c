/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage: jit anonymous|memfd|zero map|bare
 * Code made at run time, with frame pointers: jitted_outer calls jitted_inner calls spin(). It lies
 * in anonymous memory, in a memfd, or in a mapping of /dev/zero; with a perf map, or without.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hard.h"

enum { SIZE = 4096, INNER = 64 };

/* push %rbp; mov %rsp,%rbp; movabs $CALLEE,%rax; call *%rax; pop %rbp; ret */
static void put_code(unsigned char *at, const void *callee)
{
	static const unsigned char code[] = {
		0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x5d, 0xc3
	};

	memcpy(at, code, sizeof(code));
	memcpy(at + 6, &callee, sizeof(callee));
}

static void write_map(const unsigned char *at)
{
	char name[64];
	FILE *f;

	snprintf(name, sizeof(name), "/tmp/perf-%d.map", getpid());
	f = fopen(name, "w");
	if (f == NULL)
		exit(1);
	fprintf(f, "%lx %x jitted_outer\n%lx %x jitted_inner\n", (unsigned long)at, INNER,
		(unsigned long)at + INNER, INNER);
	fclose(f);
}

static unsigned char *memory(const char *how)
{
	int fd = -1, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	void *writable, *at;

	if (strcmp(how, "memfd") == 0) {
		fd = memfd_create("doublemapper", MFD_CLOEXEC);
		if (ftruncate(fd, SIZE) != 0)
			exit(1);
		flags = MAP_SHARED;
	} else if (strcmp(how, "zero") == 0) {
		fd = open("/dev/zero", O_RDWR);
		flags = MAP_SHARED;
	}
	at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE | PROT_EXEC, flags, fd, 0);
	writable = fd >= 0 && strcmp(how, "memfd") == 0
			   ? mmap(NULL, SIZE, PROT_READ | PROT_WRITE, flags, fd, 0)
			   : at;
	if (at == MAP_FAILED || writable == MAP_FAILED)
		exit(1);
	put_code(writable, (unsigned char *)at + INNER);
	put_code((unsigned char *)writable + INNER, spin);
	return at;
}

NOINLINE void calls_jit(void (*code)(void))
{
	code();
	sink++;
}

int main(int argc, char **argv)
{
	unsigned char *at = memory(argc > 1 ? argv[1] : "anonymous");

	if (argc > 2 && strcmp(argv[2], "map") == 0)
		write_map(at);
	ready();
	for (;;)
		calls_jit((void (*)(void))at);
}
