/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sampler on the real kernel, watching the test itself. */
#include "sampler_rig.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "event/sampler_impl.h"

static void test_busy_loop_is_sampled(void **state)
{
	size_t before = open_descriptors();
	struct rig rig;
	struct tally t;

	(void)state;
	open_self(&rig, "cpu-clock", 1000);
	assert_int_equal(open_descriptors() - before, sampler_nr_events(rig.sp));
	rig_start(&rig);
	burn_ms(40);
	t = drained(&rig, true);
	assert_in_range(t.samples, 20, 60);
	assert_int_equal(t.by_serial[1], t.samples);
	assert_int_equal(t.period, 1000000);
	assert_int_equal(rig.strangers, 0);
	assert_int_equal(sampler_kernel_lost(rig.sp), 0);
	assert_true(sampler_target_alive(rig.sp));
	rig_close(&rig);
	assert_int_equal(open_descriptors(), before);
}

static void test_redirecting_needs_mapped_rings(void **state)
{
	struct rig rig;

	(void)state;
	open_self(&rig, "cpu-clock", 1000);
	assert_int_equal(sampler_start(rig.sp, &rig.why), -EINVAL);
	assert_non_null(strstr(rig.why.text, "not mapped"));
	rig_close(&rig);
}

static void touch_pages(int nr)
{
	for (int i = 0; i < nr; i++) {
		char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0);

		assert_ptr_not_equal(page, MAP_FAILED);
		*(volatile char *)page = 1;
		munmap(page, 4096);
	}
}

/* A software event by period: the kernel takes each Nth, and the weight is the sampler's to tell.
 */
static void test_period_of_an_event_that_counts(void **state)
{
	struct sampling s = { .rate = 1 };
	struct target t = target_of(TARGET_PIDS, (uint32_t)getpid());
	struct rig rig;
	struct tally n;

	(void)state;
	s.event = sampling_of("page-faults", 1).event;
	assert_int_equal(rig_open(&rig, &t, &s), 0);
	rig_start(&rig);
	touch_pages(64);
	n = drained(&rig, true);
	assert_true(n.samples >= 64);
	assert_int_equal(n.period, 1);
	assert_int_equal(sampler_fixed_period(rig.sp, 1), 0);
	s.rate = 8;
	change(&rig, s);
	assert_int_equal(sampler_current(rig.sp)->rate, 8);
	drained(&rig, true);
	touch_pages(160);
	n = drained(&rig, true);
	assert_in_range(n.samples, 18, 32);
	assert_int_equal(n.samples, n.by_serial[2]);
	assert_int_equal(sampler_fixed_period(rig.sp, 2), 8);
	s.rate = 4;
	change(&rig, s);
	assert_int_equal(sampler_fixed_period(rig.sp, 2), 8);
	assert_int_equal(sampler_fixed_period(rig.sp, 3), 4);
	rig_close(&rig);
	target_done(&t);
}

/* A frequency that the kernel steers changes in place: no new serial. */
static void test_frequency_changes_in_place(void **state)
{
	struct sampling s = sampling_of("page-faults", 1000);
	uint64_t deadline = clock_ns(CLOCK_MONOTONIC) + 5000000000ull;
	struct tally n = { 0 };
	struct rig rig;

	(void)state;
	open_self(&rig, "page-faults", 1000);
	rig_start(&rig);
	touch_pages(8);
	s.rate = 2000;
	change(&rig, s);
	assert_int_equal(sampler_serial(rig.sp), 1);
	assert_int_equal(sampler_current(rig.sp)->rate, 2000);
	drained(&rig, true);
	while (n.samples == 0 && clock_ns(CLOCK_MONOTONIC) < deadline) {
		touch_pages(256);
		n = drained(&rig, true);
	}
	assert_true(n.samples > 0);
	assert_int_equal(n.by_serial[1], n.samples);
	rig_close(&rig);
}

/* A clock's samples would go on telling the old period if its rate were changed in place. */
static void test_clock_rate_changes_its_weight(void **state)
{
	struct rig rig;
	struct tally t;

	(void)state;
	open_self(&rig, "cpu-clock", 1000);
	rig_start(&rig);
	burn_ms(10);
	drained(&rig, true);
	change(&rig, sampling_of("cpu-clock", 4000));
	burn_ms(20);
	t = drained(&rig, true);
	assert_int_equal(t.period, 250000);
	assert_in_range(t.by_serial[2], 50, 130);
	assert_int_equal(sampler_current(rig.sp)->rate, 4000);
	rig_close(&rig);
}

struct worker {
	pthread_t thread;
	pid_t tid;
	int stop;
};

static void *work(void *ctx)
{
	struct worker *w = ctx;

	__atomic_store_n(&w->tid, gettid(), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE))
		burn_ms(1);
	return NULL;
}

static void worker_start(struct worker *w)
{
	memset(w, 0, sizeof(*w));
	assert_int_equal(pthread_create(&w->thread, NULL, work, w), 0);
	while (!__atomic_load_n(&w->tid, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void worker_stop(struct worker *w)
{
	__atomic_store_n(&w->stop, 1, __ATOMIC_RELEASE);
	pthread_join(w->thread, NULL);
}

/* The kernel changes the rate of a parent's event only: an inherited thread needs the events opened
 * anew. */
static void test_rate_reaches_inherited_threads(void **state)
{
	struct worker w;
	struct rig rig;
	struct tally t;

	(void)state;
	open_self(&rig, "cpu-clock", 1000);
	rig_start(&rig);
	worker_start(&w);
	t = await(&rig, w.tid, 1, 5);
	assert_true(t.by_serial[1] >= 5);
	assert_int_equal(t.period, 1000000);
	change(&rig, sampling_of("cpu-clock", 5000));
	assert_int_equal(sampler_serial(rig.sp), 2);
	t = await(&rig, w.tid, 2, 20);
	assert_true(t.by_serial[2] >= 20);
	assert_int_equal(t.period, 200000);
	worker_stop(&w);
	rig_close(&rig);
}

static void test_event_and_exclusion_change(void **state)
{
	struct sampling s = sampling_of("cpu-clock", 2000);
	struct rig rig;
	struct tally t;
	size_t nr_events;

	(void)state;
	open_self(&rig, "cpu-clock", 1000);
	nr_events = sampler_nr_events(rig.sp);
	rig_start(&rig);
	burn_ms(5);
	change(&rig, (struct sampling){ .event = sampling_of("page-faults", 1).event, .rate = 1 });
	touch_pages(32);
	t = drained(&rig, true);
	assert_true(t.by_serial[1] > 0);
	assert_true(t.by_serial[2] >= 32);
	s.exclude_kernel = true;
	change(&rig, s);
	assert_int_equal(sampler_serial(rig.sp), 3);
	t = await(&rig, getpid(), 3, 10);
	assert_true(t.by_serial[3] >= 10);
	assert_int_equal(t.kernel, 0);
	assert_int_equal(rig.strangers, 0);
	assert_int_equal(sampler_nr_events(rig.sp), nr_events);
	rig_close(&rig);
}

static void test_a_failed_change_leaves_the_old(void **state)
{
	struct sampling s = sampling_of("cpu-clock", 1000);
	struct rig rig;
	struct tally t;
	size_t fds;

	(void)state;
	open_self(&rig, "cpu-clock", 1000);
	rig_start(&rig);
	fds = open_descriptors();
	s.event.type = 0x7ffffff0;
	strcpy(s.event.name, "nonsense");
	assert_int_equal(sampler_change(rig.sp, &s, &rig.why), -ENOENT);
	assert_non_null(strstr(rig.why.text, "nonsense is not there"));
	s = sampling_of("cpu-clock", 1000);
	s.exclude_kernel = s.exclude_user = true;
	assert_int_equal(sampler_change(rig.sp, &s, &rig.why), -EINVAL);
	assert_int_equal(open_descriptors(), fds);
	assert_int_equal(sampler_serial(rig.sp), 1);
	t = await(&rig, getpid(), 1, 10);
	assert_true(t.by_serial[1] >= 10);
	rig_close(&rig);
}

/* Ids of closed samplings stay known for a while and are then forgotten; descriptors do not grow.
 */
static void test_many_changes_do_not_grow(void **state)
{
	struct rig rig;
	size_t fds;

	(void)state;
	open_self(&rig, "cpu-clock", 1000);
	rig_start(&rig);
	fds = open_descriptors();
	for (int i = 0; i < 50; i++)
		change(&rig, sampling_of(i % 2 ? "cpu-clock" : "task-clock", 1000));
	assert_int_equal(open_descriptors(), fds);
	assert_int_equal(sampler_serial(rig.sp), 51);
	burn_ms(10);
	drained(&rig, true);
	rig_close(&rig);
}

struct births {
	struct worker workers[48];
	size_t nr;
	int stop;
};

static void *give_birth(void *ctx)
{
	struct births *b = ctx;

	for (b->nr = 0; b->nr < 48 && !__atomic_load_n(&b->stop, __ATOMIC_ACQUIRE); b->nr++)
		worker_start(&b->workers[b->nr]);
	return NULL;
}

struct threads_seen {
	struct rig *rig;
	struct {
		pid_t tid;
		size_t samples;
	} at[64];
	size_t nr;
};

static void note_thread(void *ctx, const struct seen *seen)
{
	struct threads_seen *all = ctx;
	const struct record *r = &seen->record;
	size_t i;

	if (r->type != RECORD_SAMPLE)
		return;
	sampler_saw_sample(all->rig->sp, r->sid.id, (pid_t)r->sid.tid);
	for (i = 0; i < all->nr && all->at[i].tid != (pid_t)r->sid.tid; i++)
		;
	if (i == all->nr) {
		assert_true(all->nr < 64);
		all->at[all->nr].tid = (pid_t)r->sid.tid;
		all->nr++;
	}
	all->at[i].samples++;
}

/* In @all, how many of the births have samples; with @single, each at most once a millisecond of
 * its own time. */
static size_t births_seen(const struct births *b, const struct threads_seen *all)
{
	size_t seen = 0;

	for (size_t i = 0; i < b->nr; i++)
		for (size_t j = 0; j < all->nr; j++)
			seen += all->at[j].tid == b->workers[i].tid && all->at[j].samples > 0;
	return seen;
}

static uint64_t thread_time_ns(const struct worker *w)
{
	clockid_t clock;

	return pthread_getcpuclockid(w->thread, &clock) ? 0 : clock_ns(clock);
}

/* Threads born while the events are opened: each is seen, and none twice. */
static void test_births_during_opening(void **state)
{
	static struct births b;
	struct threads_seen all = { 0 };
	uint64_t start[48], deadline;
	pthread_t mother;
	struct rig rig;

	(void)state;
	memset(&b, 0, sizeof(b));
	assert_int_equal(pthread_create(&mother, NULL, give_birth, &b), 0);
	open_self(&rig, "cpu-clock", 1000);
	rig_start(&rig);
	pthread_join(mother, NULL);
	all.rig = &rig;
	deadline = clock_ns(CLOCK_MONOTONIC) + 20000000000ull;
	while (births_seen(&b, &all) < b.nr && clock_ns(CLOCK_MONOTONIC) < deadline) {
		burn_ms(1);
		rig_drain(&rig, note_thread, &all);
	}
	assert_int_equal(births_seen(&b, &all), b.nr);
	for (size_t i = 0; i < b.nr; i++)
		start[i] = thread_time_ns(&b.workers[i]);
	memset(&all.at, 0, sizeof(all.at));
	all.nr = 0;
	for (int i = 0; i < 300; i++) {
		burn_ms(1);
		rig_drain(&rig, note_thread, &all);
	}
	for (size_t i = 0; i < b.nr; i++) {
		uint64_t ms = (thread_time_ns(&b.workers[i]) - start[i]) / 1000000;

		for (size_t j = 0; j < all.nr; j++)
			if (all.at[j].tid == b.workers[i].tid && ms >= 8)
				assert_in_range(all.at[j].samples, 1, ms * 3 / 2 + 3);
	}
	for (size_t i = 0; i < b.nr; i++)
		worker_stop(&b.workers[i]);
	rig_close(&rig);
}

/* An inherited thread that was opened by name as well is found out by its first samples. */
static void test_doubles_are_closed(void **state)
{
	struct worker w;
	struct rig rig;
	struct tally n;
	size_t nr_events;

	(void)state;
	open_self(&rig, "cpu-clock", 1000);
	rig_start(&rig);
	nr_events = sampler_nr_events(rig.sp);
	worker_start(&w);
	assert_int_equal(set_add(&rig.sp->sampling, w.tid, true, 0), 0);
	assert_int_equal(set_add(&rig.sp->tracking, w.tid, true, 0), 0);
	assert_int_equal(sampler_mark(rig.sp, w.tid, true), 0);
	assert_true(sampler_nr_events(rig.sp) > nr_events);
	n = await(&rig, w.tid, 1, 20);
	assert_true(n.by_serial[1] >= 20);
	assert_int_equal(sampler_nr_events(rig.sp), nr_events);
	assert_int_equal(rig.sp->ambiguous.nr, 0);
	worker_stop(&w);
	rig_close(&rig);
}

static void test_rates_are_bounded(void **state)
{
	struct target t = target_of(TARGET_PIDS, (uint32_t)getpid());
	struct sampling s = sampling_of("cpu-clock", 10000000);
	struct rig rig;

	(void)state;
	assert_int_equal(rig_open(&rig, &t, &s), 0);
	assert_true(s.rate <= 20000);
	assert_non_null(strstr(rig.notes, "-F 10000000"));
	rig_close(&rig);
	s.by_frequency = false;
	s.rate = 1;
	assert_int_equal(rig_open(&rig, &t, &s), 0);
	assert_true(s.rate >= 50000);
	assert_non_null(strstr(rig.notes, "-c 1"));
	rig_close(&rig);
	target_done(&t);
}

static void *wait_on(void *ctx)
{
	pthread_barrier_wait(ctx);
	pthread_barrier_wait(ctx);
	return NULL;
}

enum { CROWD = 500 };

/* In a child: 500 threads with the descriptors for one sampling but not for two, so a change closes
 * the old one first. */
static int crowd_changes(void)
{
	struct rlimit limit = { 0 };
	static pthread_t threads[CROWD];
	pthread_barrier_t barrier;
	pthread_attr_t attr;
	struct rig rig;
	uint64_t start;
	size_t fds;

	pthread_barrier_init(&barrier, NULL, CROWD + 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (size_t i = 0; i < CROWD; i++)
		if (pthread_create(&threads[i], &attr, wait_on, &barrier))
			return 77;
	pthread_barrier_wait(&barrier);
	start = clock_ns(CLOCK_MONOTONIC);
	open_self(&rig, "cpu-clock", 1000);
	printf("%d threads: %zu events opened in %.1f ms\n", CROWD, sampler_nr_events(rig.sp),
	       (clock_ns(CLOCK_MONOTONIC) - start) / 1e6);
	rig_start(&rig);
	fds = open_descriptors();
	limit.rlim_cur = limit.rlim_max = fds + 100;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	start = clock_ns(CLOCK_MONOTONIC);
	change(&rig, sampling_of("task-clock", 1000));
	printf("changed, the old closed first, in %.1f ms\n",
	       (clock_ns(CLOCK_MONOTONIC) - start) / 1e6);
	assert_int_equal(open_descriptors(), fds);
	rig_close(&rig);
	pthread_barrier_wait(&barrier);
	for (size_t i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);
	pthread_attr_destroy(&attr);
	return 0;
}

static int too_few_descriptors(void)
{
	struct rlimit limit = { 0 };
	struct target t = target_of(TARGET_PIDS, (uint32_t)getpid());
	struct sampling s = sampling_of("cpu-clock", 1000);
	struct rig rig;
	int err;

	limit.rlim_cur = limit.rlim_max = open_descriptors() + 3;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		return 1;
	err = rig_open(&rig, &t, &s);
	target_done(&t);
	return !(err == -EMFILE && strstr(rig.why.text, "ulimit -n"));
}

static void in_child(int (*fn)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int code = fn();

		fflush(stdout);
		_exit(code);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_descriptors_for_one_sampling_only(void **state)
{
	(void)state;
	in_child(crowd_changes);
}

static void test_too_few_descriptors(void **state)
{
	(void)state;
	in_child(too_few_descriptors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_busy_loop_is_sampled),
		cmocka_unit_test(test_redirecting_needs_mapped_rings),
		cmocka_unit_test(test_period_of_an_event_that_counts),
		cmocka_unit_test(test_frequency_changes_in_place),
		cmocka_unit_test(test_clock_rate_changes_its_weight),
		cmocka_unit_test(test_rate_reaches_inherited_threads),
		cmocka_unit_test(test_event_and_exclusion_change),
		cmocka_unit_test(test_a_failed_change_leaves_the_old),
		cmocka_unit_test(test_many_changes_do_not_grow),
		cmocka_unit_test(test_births_during_opening),
		cmocka_unit_test(test_doubles_are_closed),
		cmocka_unit_test(test_rates_are_bounded),
		cmocka_unit_test(test_descriptors_for_one_sampling_only),
		cmocka_unit_test(test_too_few_descriptors),
	};
	int skip = need_perf();

	return skip ? skip : cmocka_run_group_tests(tests, NULL, NULL);
}
