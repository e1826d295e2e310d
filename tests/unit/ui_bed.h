/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An interface with rows, and what the tests of its keys ask of it. */
#ifndef PTOP_TESTS_UI_BED_H
#define PTOP_TESTS_UI_BED_H

#include "view_bed.h"

static inline struct bed *loaded(void)
{
	struct ui_options options = bed_options();
	struct bed *b = bed_new(&options);

	bed_load(b);
	bed_status(b);
	bed_refresh(b);
	return b;
}

static inline struct ui_question wanted(struct bed *b)
{
	struct ui_question w;

	ui_wanted(b->ui, b->now_ns, &w);
	return w;
}

static inline void expect_control(struct bed *b, enum ui_control_kind kind, uint64_t value)
{
	struct ui_control c;

	assert_true(bed_flags(b) & UI_CONTROL);
	assert_true(ui_control(b->ui, &c));
	assert_int_equal(c.kind, kind);
	assert_int_equal(c.value, value);
	assert_false(ui_control(b->ui, &c));
}

#endif
