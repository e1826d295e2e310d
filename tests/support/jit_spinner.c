/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A runtime that compiles one loop over and over and tells of it in a jitdump: as jit_first, then
 * at the same address as jit_second, then as jit_third, which moves elsewhere before it runs.  Each
 * runs for as long as the others, so each has a third of the samples, if the times are heeded.
 *
 * usage: jit_spinner DIRECTORY	without one: it tells nothing
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
/* mov %rdi,%rax; 1: dec %rax; jnz 1b; ret */
static const uint8_t loop[] = { 0x48, 0x89, 0xf8, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3 };
#elif defined(__aarch64__)
/* 1: subs x0, x0, #1; b.ne 1b; ret */
static const uint8_t loop[] = { 0x00, 0x04, 0x00, 0xf1, 0xe1, 0xff,
				0xff, 0x54, 0xc0, 0x03, 0x5f, 0xd6 };
#else
#error "no code for this machine"
#endif

enum { CODE_LOAD, CODE_MOVE, TURNS = 30000000, MOVED = 2048 };

static int dump;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void must(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static void open_dump(const char *directory)
{
	struct {
		uint32_t magic, version, size, machine, unused, pid;
		uint64_t time_ns, flags;
	} header = { 0x4a695444, 1, sizeof(header), 62, 0, (uint32_t)getpid(), now_ns(), 0 };
	char path[256];

	snprintf(path, sizeof(path), "%s/jit-%d.dump", directory, (int)getpid());
	dump = open(path, O_CREAT | O_EXCL | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
	must(dump >= 0, path);
	must(write(dump, &header, sizeof(header)) == sizeof(header), path);
	must(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump, 0) != MAP_FAILED, path);
}

struct head {
	uint32_t id, size;
	uint64_t time_ns;
	uint32_t pid, tid;
};

static struct head head_of(uint32_t id, size_t size)
{
	uint32_t pid = (uint32_t)getpid();

	return (struct head){ id, (uint32_t)(sizeof(struct head) + size), now_ns(), pid, pid };
}

static void tell_load(const uint8_t *code, const char *name)
{
	uint64_t addr = (uintptr_t)code, body[4] = { addr, addr, sizeof(loop), 1 };
	size_t name_size = strlen(name) + 1;
	struct head head = head_of(CODE_LOAD, sizeof(body) + name_size + sizeof(loop));
	struct iovec parts[] = {
		{ &head, sizeof(head) },
		{ body, sizeof(body) },
		{ (char *)name, name_size },
		{ (uint8_t *)loop, sizeof(loop) },
	};

	must(dump < 0 || writev(dump, parts, 4) == (ssize_t)head.size, "write");
}

static void tell_move(const uint8_t *from, const uint8_t *to)
{
	uint64_t body[5] = { (uintptr_t)to, (uintptr_t)from, (uintptr_t)to, sizeof(loop), 1 };
	struct head head = head_of(CODE_MOVE, sizeof(body));
	struct iovec parts[] = { { &head, sizeof(head) }, { body, sizeof(body) } };

	must(dump < 0 || writev(dump, parts, 2) == (ssize_t)head.size, "write");
}

static void run(const uint8_t *code)
{
	void (*spin)(uint64_t);

	memcpy(&spin, &code, sizeof(spin));
	spin(TURNS);
}

int main(int argc, char **argv)
{
	uint8_t *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(memory != MAP_FAILED, "mmap");
	memcpy(memory, loop, sizeof(loop));
	memcpy(memory + MOVED, loop, sizeof(loop));
	__builtin___clear_cache((char *)memory, (char *)memory + 4096);
	dump = -1;
	if (argc == 2)
		open_dump(argv[1]);
	puts("ready");
	fflush(stdout);
	for (;;) {
		tell_load(memory, "jit_first");
		run(memory);
		tell_load(memory, "jit_second");
		run(memory);
		tell_load(memory, "jit_third");
		tell_move(memory, memory + MOVED);
		run(memory + MOVED);
	}
}
