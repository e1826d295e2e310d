# SPDX-License-Identifier: GPL-2.0-or-later
#
# Tests of the real ptop on the real kernel. They measure, so they run after all other tests, one at a
# time: each log waits for those of the other kinds, and the tests take a lock among themselves.

live_tests = \
	tests/live/sampler.sh

live_programs =
if HAVE_CMOCKA
live_programs += tests/live/test_sampler_live
tests_live_test_sampler_live_SOURCES = tests/live/test_sampler_live.c tests/live/sampler_rig.h
tests_live_test_sampler_live_LDADD = $(unit_LDADD)
endif

EXTRA_PROGRAMS += $(live_programs)
CLEANFILES += $(live_programs)
EXTRA_DIST += $(live_tests)

tests/live/sampler.log: $(live_programs)

live_logs = $(addsuffix .log,$(basename $(live_tests)))
$(live_logs): $(filter-out $(live_logs),$(TEST_LOGS))
