/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/layout.h"

#include <linux/perf_event.h>

struct layout layout_of(const struct perf_event_attr *attr)
{
	return (struct layout){
		.sample_type = attr->sample_type,
		.read_format = attr->read_format,
		.branch_sample_type = attr->branch_sample_type,
		.regs_user = attr->sample_regs_user,
		.regs_intr = attr->sample_regs_intr,
		.sample_id_all = attr->sample_id_all,
	};
}

bool layout_has_calls(const struct layout *l)
{
	return (l->sample_type & PERF_SAMPLE_BRANCH_STACK) &&
	       (l->branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK);
}
