# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += \
	tests/unit/test_unwind \
	tests/unit/test_unwind_guess

tests_unit_test_unwind_SOURCES = tests/unit/test_unwind.c tests/unit/unwind_bed.h
tests_unit_test_unwind_LDADD = $(unit_LDADD)
tests_unit_test_unwind_guess_SOURCES = tests/unit/test_unwind_guess.c tests/unit/unwind_bed.h
tests_unit_test_unwind_guess_LDADD = $(unit_LDADD)
