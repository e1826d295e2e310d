/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/attr.h"

/* A period that no probe lives to see. */
enum { PROBE_PERIOD = 1000000000 };

static int try_event(enum target_kind kind, const struct event *e, bool exclude_kernel)
{
	static const struct kernel_features none;
	struct sampling s = {
		.event = *e,
		.rate = PROBE_PERIOD,
		.exclude_kernel = exclude_kernel,
	};
	struct perf_event_attr attr = attr_sampling(&none, kind, &s);

	return attr_negotiate(&attr, e, kind == TARGET_SYSTEM ? -1 : 0,
			      kind == TARGET_SYSTEM ? 0 : -1);
}

const char *probe_brief(int err)
{
	switch (err) {
	case ENOENT:
	case EOPNOTSUPP:
	case ENODEV:
	case ENXIO:
		return "not on this machine";
	case EACCES:
	case EPERM:
		return "rights are missing";
	case EBUSY:
		return "counters are taken";
	case EINVAL:
	case E2BIG:
		return "cannot be sampled";
	}
	return strerror(err);
}

void probe_one(enum target_kind kind, const struct facts *f, const struct event *e,
	       struct probed *ret)
{
	struct refusal r = { .event = e, .kind = kind, .wants_kernel = !e->exclude_kernel };
	int err = try_event(kind, e, false);

	*ret = (struct probed){ .result = PROBE_USABLE };
	if (err == 0)
		return;
	if ((err == -EACCES || err == -EPERM) && r.wants_kernel && !e->kernel_only &&
	    !e->exclude_user) {
		r.wants_kernel = false;
		err = try_event(kind, e, true);
		if (err == 0) {
			ret->result = PROBE_USER_ONLY;
			diagnose_kernel_note(f, &ret->why);
			return;
		}
	}
	ret->result = PROBE_REFUSED;
	ret->err = -err;
	r.err = -err;
	diagnose(f, &r, &ret->why);
}

int probe_all(enum target_kind kind, struct probed **ret, size_t *ret_nr)
{
	const struct event_row *row;
	struct probed *all;
	struct facts f;
	size_t nr = 0;

	while (event_row(nr))
		nr++;
	all = calloc(nr, sizeof(*all));
	if (!all)
		return -ENOMEM;
	facts_read(&f);
	for (size_t i = 0; (row = event_row(i)); i++) {
		struct event e;

		if (event_parse(row->name, &e, NULL) == 0)
			probe_one(kind, &f, &e, &all[i]);
		all[i].row = row;
	}
	*ret = all;
	*ret_nr = nr;
	return 0;
}
