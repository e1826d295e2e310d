/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage: frames SHAPE: a function of that shape calls spin(). */
#include <alloca.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#ifdef __GLIBC__
#include <ucontext.h>
#endif
#include <unistd.h>

#include "hard.h"

/* Aligned beyond the caller's stack and of a size known at run time: the CFA is in a register, then
 * in memory. */
NOINLINE void realigned(int n)
{
	_Alignas(64) char aligned[128];
	char *room = alloca((size_t)n);

	memset(room, n, (size_t)n);
	memset(aligned, n, sizeof(aligned));
	spin();
	sink += (unsigned char)aligned[n % 128] + (unsigned char)room[0];
}

/* The same with all the work in its own frame. */
NOINLINE void realigned_leaf(int n)
{
	_Alignas(64) volatile char aligned[128];

	for (int i = 0; i < 100000; i++)
		aligned[(i + n) % 128] = (char)i;
	sink += (unsigned char)aligned[n % 128];
}

NOINLINE void big_frame(int n)
{
	char room[6000];

	memset(room, n, sizeof(room)); /* pages never touched would end the kernel's copy */
	__asm__ volatile("" ::"r"(room) : "memory");
	spin();
	sink += (unsigned char)room[n];
}

NOINLINE void beyond_the_copy(int n)
{
	volatile char *room = alloca((size_t)n);

	room[0] = 1;
	spin();
	sink += (unsigned char)room[0];
}

/* Each is a frame of 16 bytes at -O2. */
NOINLINE unsigned long recursion(int n)
{
	unsigned long below = 0;

	if (n == 0)
		spin();
	else
		below = recursion(n - 1);
	return below + sink;
}

NOINLINE void vdso(void)
{
	struct timespec t;

	for (int i = 0; i < 1000; i++)
		clock_gettime(CLOCK_MONOTONIC, &t);
	sink += (unsigned long)t.tv_nsec;
}

NOINLINE void callee_of_tail_call(void)
{
	spin();
	sink++;
}

/* A jump: this function is not on the stack. */
NOINLINE void tail_call(void)
{
	sink++;
	callee_of_tail_call();
}

NOINLINE void leaf(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink += i ^ n;
}

/* The parent waits inside vfork(), whose return address is in a register. */
NOINLINE void vforking(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t child = vfork();

		if (child == 0)
			_exit(0);
		waitpid(child, NULL, 0);
	}
}

/* The call is the last instruction: its return address is the next function's. */
__attribute__((noreturn)) NOINLINE void never_returns(void)
{
	for (;;) {
		spin();
		sink++;
	}
}

__attribute__((noreturn)) NOINLINE void calls_at_its_end(void)
{
	ready();
	never_returns();
}

#ifdef __GLIBC__
static ucontext_t main_context, other_context;

static void coroutine(void)
{
	ready();
	for (;;) {
		spin();
		sink++;
		swapcontext(&other_context, &main_context);
	}
}

static void coroutines(void)
{
	getcontext(&other_context);
	other_context.uc_stack.ss_size = 65536;
	other_context.uc_stack.ss_sp = malloc(65536);
	makecontext(&other_context, coroutine, 0);
	for (;;)
		swapcontext(&main_context, &other_context);
}
#else
static void coroutines(void)
{
	puts("skip: this libc has no contexts");
}
#endif

static void *in_a_thread(void *arg)
{
	ready();
	for (;;) {
		spin();
		sink++;
	}
	return arg;
}

static const struct shape {
	const char *name;
	void (*work)(int);
	int argument;
} shapes[] = {
	{ "realigned", realigned, 100 },
	{ "realigned-leaf", realigned_leaf, 100 },
	{ "big-frame", big_frame, 100 },
	{ "beyond", beyond_the_copy, 300000 },
	{ "vdso", (void (*)(int))vdso, 0 },
	{ "tail", (void (*)(int))tail_call, 0 },
	{ "recursion", (void (*)(int))recursion, 3000 },
	{ "leaf", (void (*)(int))leaf, 100000 },
	{ "vfork", (void (*)(int))vforking, 0 },
	{ "spin", (void (*)(int))spin, 0 },
};

int main(int argc, char **argv)
{
	const char *shape = argc > 1 ? argv[1] : "spin";
	pthread_t thread;

	if (strcmp(shape, "noreturn") == 0)
		calls_at_its_end();
	if (strcmp(shape, "coroutine") == 0)
		coroutines();
	if (strcmp(shape, "thread") == 0) {
		pthread_create(&thread, NULL, in_a_thread, NULL);
		pthread_join(thread, NULL);
	}
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		if (strcmp(shape, shapes[i].name) != 0)
			continue;
		ready();
		for (;;) {
			shapes[i].work(shapes[i].argument);
			sink++;
		}
	}
	return 1;
}
