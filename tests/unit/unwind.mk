# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += \
	tests/unit/test_unwind \
	tests/unit/test_unwind_golden \
	tests/unit/test_unwind_guess
live_programs += \
	tests/live/test_unwind_live

tests_unit_test_unwind_SOURCES = tests/unit/test_unwind.c tests/unit/unwind_bed.h
tests_unit_test_unwind_LDADD = $(unit_LDADD)
tests_unit_test_unwind_golden_SOURCES = tests/unit/test_unwind_golden.c
tests_unit_test_unwind_golden_LDADD = $(unit_LDADD)
tests_unit_test_unwind_guess_SOURCES = tests/unit/test_unwind_guess.c tests/unit/unwind_bed.h
tests_unit_test_unwind_guess_LDADD = $(unit_LDADD)

tests_live_test_unwind_live_SOURCES = tests/live/test_unwind_live.c $(stack_samples_sources)
tests_live_test_unwind_live_LDADD = $(unit_LDADD)
tests_live_test_unwind_live_DEPENDENCIES = libptop.a tests/support/deep_stack
