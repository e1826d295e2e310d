/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a session's records come from.  A function that is NULL has nothing to do; each is what
 * the session_ function of its name says.
 */
#ifndef PTOP_SOURCE_H
#define PTOP_SOURCE_H

#include "session.h"

struct layout;
struct perfdata_writer;

struct source {
	/* Fills .of_source, .pipeline, .start_ns, .target and so on.  After a failure, close() is
	 * called. */
	int (*open)(struct session *s, struct reason *why);
	void (*close)(struct session *s);
	int (*fd)(const struct session *s);
	uint64_t (*ask)(struct session *s);
	bool (*poll)(struct session *s, uint64_t until_ns);
	uint64_t (*reached)(const struct session *s);
	uint64_t (*pace)(struct session *s, uint64_t delay_ns);
	void (*look_after)(struct session *s); /* sets .ended_ns once the target is gone */
	void (*tidy)(struct session *s);
	void (*resumed)(struct session *s);
	bool (*progress)(const struct session *s, struct session_progress *ret);
	const char *(*when)(const struct session *s);
	int (*change)(struct session *s, const struct sampling *wanted, struct reason *why);
	const struct sampling *(*sampling)(const struct session *s);
	const struct event *(*event)(const struct session *s, size_t i, uint64_t *ret_samples);
	const struct event *(*held)(const struct session *s, size_t i);
	const struct sampler *(*sampler)(const struct session *s);
	const char *(*sampled)(const struct session *s, uint32_t serial);
	uint32_t (*nr_cpus)(const struct session *s);
	uint64_t (*dropped)(const struct session *s); /* samples, before the pipeline */
	int (*verdict)(const struct session *s, struct reason *why);
	/*
	 * A recording made of the samples held begins with where they are from: the machine and the
	 * clock (*@ret_clockid -1: not told), then the kernel's code, then build-ids.  0 or -errno.
	 */
	int (*save_begin)(const struct session *s, int fd, struct perfdata_writer **ret,
			  int *ret_clockid);
	int (*save_kernel)(const struct session *s, struct perfdata_writer *w,
			   const struct layout *l);
};

extern const struct source source_live, source_recording;

#endif
