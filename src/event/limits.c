/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/limits.h"

#include <errno.h>
#include <sys/resource.h>

enum { DESCRIPTORS_ROOM = 256 }; /* rings, files being read, the terminal */

static int bound_frequency(struct sampling *s, uint64_t machine, struct reason *note,
			   struct reason *why)
{
	bool clock = event_is_clock(&s->event);
	uint64_t asked = s->rate;

	if (asked == 0)
		return reason_set(why, -EINVAL, "-F 0 would sample nothing: -F 999, for one");
	if (clock && asked > CLOCK_MAX_HZ && (!machine || machine > CLOCK_MAX_HZ)) {
		s->rate = CLOCK_MAX_HZ;
		reason_set(note, 0, "-F %llu: %s samples at %u Hz at most",
			   (unsigned long long)asked, s->event.name, CLOCK_MAX_HZ);
	} else if (machine && asked > machine) {
		s->rate = machine;
		reason_set(
			note, 0,
			"-F %llu: this machine allows %llu Hz (kernel.perf_event_max_sample_rate)",
			(unsigned long long)asked, (unsigned long long)machine);
	}
	return 0;
}

static int bound_period(struct sampling *s, uint64_t machine, struct reason *note,
			struct reason *why)
{
	uint64_t hz = machine && machine < CLOCK_MAX_HZ ? machine : CLOCK_MAX_HZ;
	uint64_t least = (1000000000u + hz - 1) / hz, asked = s->rate;

	if (asked == 0)
		return reason_set(why, -EINVAL, "-c 0 would sample nothing: -c 100000, for one");
	if (asked > INT64_MAX)
		return reason_set(why, -ERANGE,
				  "-c %llu is more than the kernel can count: at most %lld",
				  (unsigned long long)asked, (long long)INT64_MAX);
	if (event_is_clock(&s->event) && asked < least) {
		s->rate = least;
		reason_set(note, 0, "-c %llu: %s samples every %llu ns at most (%llu Hz)",
			   (unsigned long long)asked, s->event.name, (unsigned long long)least,
			   (unsigned long long)hz);
	}
	return 0;
}

int rate_bound(struct sampling *s, uint64_t max_sample_rate, struct reason *note,
	       struct reason *why)
{
	note->text[0] = '\0';
	return s->by_frequency ? bound_frequency(s, max_sample_rate, note, why)
			       : bound_period(s, max_sample_rate, note, why);
}

int descriptors_raise(uint64_t needed)
{
	struct rlimit limit, raised;
	rlim_t wanted = needed + DESCRIPTORS_ROOM;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return -errno;
	if (limit.rlim_cur >= wanted)
		return 0;
	if (limit.rlim_max < wanted) {
		raised = (struct rlimit){ .rlim_cur = wanted, .rlim_max = wanted };
		if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
			return 0;
		wanted = limit.rlim_max;
	}
	raised = (struct rlimit){ .rlim_cur = wanted, .rlim_max = limit.rlim_max };
	if (setrlimit(RLIMIT_NOFILE, &raised))
		return -errno;
	return wanted < needed + DESCRIPTORS_ROOM / 2 ? -EMFILE : 0;
}
