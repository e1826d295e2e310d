/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/stack_samples.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record/decode.h"

enum { RING_BYTES = 8 << 20, SECONDS_MAX = 60 };

/* ax bx cx dx si di bp sp ip, r8 to r15; aarch64: all. */
#ifdef __aarch64__
static const uint64_t regs_mask = (1ull << 33) - 1;
static const enum unwind_machine machine = UNWIND_AARCH64;
#else
static const uint64_t regs_mask = 0x1ff | 0xffull << 16;
static const enum unwind_machine machine = UNWIND_X86_64;
#endif

struct taker {
	const struct stack_taking *how;
	struct stack_samples *to;
	struct layout layout;
	struct perf_event_mmap_page *page;
	uint8_t record[1 << 16];
};

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* A child that waits for a byte on *@ret_go, then runs the program. */
static pid_t child_start(const struct stack_taking *how, int *ret_go)
{
	int go[2];
	pid_t pid;

	if (pipe2(go, O_CLOEXEC))
		return -1;
	pid = fork();
	if (pid == 0) {
		int nowhere = open("/dev/null", O_RDWR);
		char byte;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (how->quiet && (dup2(nowhere, 1) < 0 || dup2(nowhere, 2) < 0))
			_exit(126);
		if (read(go[0], &byte, 1) == 1)
			execvp(how->argv[0], how->argv);
		_exit(127);
	}
	close(go[0]);
	*ret_go = go[1];
	return pid;
}

static int event_open(const struct stack_taking *how, pid_t pid, struct layout *ret_layout)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = how->hz,
		.sample_type = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.sample_regs_user = regs_mask,
		.sample_stack_user = how->stack_bytes,
		.disabled = 1,
		.enable_on_exec = 1,
		.exclude_kernel = 1,
		.watermark = 1,
		.wakeup_watermark = 1 << 20,
	};
	long fd = syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	*ret_layout = layout_of(&attr);
	return fd < 0 ? -errno : (int)fd;
}

static void keep(struct taker *t, const struct sample *s)
{
	struct stack_sample kept = { .size = s->stack.bytes.size };

	if (!unwind_regs_of(&s->user, machine, &kept.regs) || t->to->at.nr >= t->how->nr)
		return;
	kept.stack = malloc(kept.size + 1);
	if (kept.stack == NULL)
		abort();
	memcpy(kept.stack, s->stack.bytes.at, kept.size);
	if (vec_push(&t->to->at, kept))
		abort();
}

static void drain(struct taker *t, bool take)
{
	const uint8_t *data = (const uint8_t *)t->page + t->page->data_offset;
	uint64_t head = __atomic_load_n(&t->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = t->page->data_tail;

	while (tail < head) {
		struct perf_event_header header;
		struct record r;

		for (size_t i = 0; i < sizeof(header); i++)
			((uint8_t *)&header)[i] = data[(tail + i) % RING_BYTES];
		for (size_t i = 0; i < header.size; i++)
			t->record[i] = data[(tail + i) % RING_BYTES];
		tail += header.size;
		if (!take || record_decode(&t->layout, t->record, header.size, &r))
			continue;
		if (r.type == RECORD_SAMPLE)
			keep(t, &r.sample);
		else if (r.type == RECORD_LOST)
			t->to->lost += r.lost.lost;
	}
	__atomic_store_n(&t->page->data_tail, tail, __ATOMIC_RELEASE);
}

/* Samples until there are enough, then stops the process. */
static int sample(struct taker *t, int fd, pid_t pid, struct reason *why)
{
	uint64_t start = now_ms();
	int status;

	while (t->to->at.nr < t->how->nr) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		uint64_t ms = now_ms() - start;

		poll(&p, 1, 20);
		drain(t, ms >= t->how->skip_ms);
		if (waitpid(pid, &status, WNOHANG) != 0) {
			t->to->pid = 0;
			return reason_set(why, -ECHILD, "%s ended after %zu samples",
					  t->how->argv[0], t->to->at.nr);
		}
		if (ms > SECONDS_MAX * 1000)
			return reason_set(why, -ETIMEDOUT, "%zu samples only in %d s", t->to->at.nr,
					  SECONDS_MAX);
	}
	kill(pid, SIGSTOP);
	return waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status) ? 0 : -ECHILD;
}

static void on_image(void *ctx, uint32_t image, pid_t pid, uint64_t start, uint64_t end)
{
	struct stack_samples *s = ctx;
	const struct image_key *key = space_image(s->space, image);

	if (key == NULL || key->kind == IMAGE_ANON)
		return;
	images_see(s->images, image,
		   &(struct image_sight){
			   .pid = pid,
			   .start = start,
			   .end = end,
			   .path = space_string(s->space, key->path),
			   .maj = key->maj,
			   .min = key->min,
			   .ino = key->ino,
			   .vdso = key->kind == IMAGE_VDSO,
		   });
}

int stack_samples_take(const struct stack_taking *how, struct stack_samples *ret,
		       struct reason *why)
{
	struct taker *t = calloc(1, sizeof(*t));
	int fd = -1, go = -1, err;

	*ret = (struct stack_samples){ .space = space_new(), .images = images_new() };
	if (t == NULL || ret->space == NULL || ret->images == NULL)
		abort();
	*t = (struct taker){ .how = how, .to = ret };
	space_on_image(ret->space, on_image, ret);
	ret->pid = child_start(how, &go);
	fd = err = event_open(how, ret->pid, &t->layout);
	if (fd < 0) {
		reason_set(why, err, "no stack samples here: %s", strerror(-err));
		goto out;
	}
	t->page = mmap(NULL, (size_t)RING_BYTES + (size_t)sysconf(_SC_PAGESIZE),
		       PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (t->page == MAP_FAILED) {
		err = reason_set(why, -errno, "no ring of %d MB: %s", RING_BYTES >> 20,
				 strerror(errno));
		goto out;
	}
	err = write(go, "", 1) == 1 ? sample(t, fd, ret->pid, why) : -errno;
	munmap(t->page, (size_t)RING_BYTES + (size_t)sysconf(_SC_PAGESIZE));
	if (err == 0)
		err = space_scan(ret->space, ret->pid, 1);
out:
	free(t);
	close(go);
	if (fd >= 0)
		close(fd);
	if (err)
		stack_samples_done(ret);
	return err;
}

void stack_samples_done(struct stack_samples *s)
{
	if (s->pid > 0) {
		kill(s->pid, SIGKILL);
		waitpid(s->pid, NULL, 0);
	}
	for (size_t i = 0; i < s->at.nr; i++)
		free(s->at.at[i].stack);
	vec_done(&s->at);
	images_free(s->images);
	space_free(s->space);
	*s = (struct stack_samples){ 0 };
}

struct unwound stack_samples_unwind(struct stack_samples *s, struct unwinder *u, size_t i,
				    struct place *places, uint32_t max)
{
	const struct stack_sample *sample = &s->at.at[i];
	struct bytes stack = { sample->stack, sample->size };
	struct unwound ret;

	for (;;) {
		ret = unwind_user(u, s->space, s->pid, &sample->regs, &stack, places, max);
		if (ret.end != UNWIND_WAIT)
			return ret;
		images_want(s->images, ret.waiting);
		if (images_work(s->images, 1000000000) == 0)
			return ret;
		unwinder_forget(u, ret.waiting);
	}
}

/* Intel SDM volume 2, CALL: E8 rel32, or FF /2 with an operand of 1 to 6 bytes. */
bool stack_samples_called(const struct stack_samples *s, uint64_t return_addr)
{
	uint8_t before[8];
	char path[32];
	int32_t rel;
	int fd;
	bool got;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)s->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd >= 0 && pread(fd, before, 8, (off_t)(return_addr - 8)) == 8;
	if (fd >= 0)
		close(fd);
	if (!got)
		return false;
	memcpy(&rel, before + 4, 4);
	if (before[3] == 0xe8 &&
	    space_resolve(s->space, s->pid, return_addr + (uint64_t)(int64_t)rel).image !=
		    IMAGE_UNKNOWN)
		return true;
	for (int i = 1; i <= 6; i++) {
		if (before[i] == 0xff && (before[i + 1] >> 3 & 7) == 2)
			return true;
	}
	return false;
}
