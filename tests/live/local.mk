# SPDX-License-Identifier: GPL-2.0-or-later
#
# Tests of the real ptop on the real kernel. They measure, so they run after all other tests, one at a
# time: each log waits for those of the other kinds, and the tests take a lock among themselves.
#
# Those in C are listed in live_programs by the fragment of the folder they test; programs.sh runs them.

live_tests = \
	tests/live/aarch64.py \
	tests/live/born.py \
	tests/live/command.py \
	tests/live/debuginfod.py \
	tests/live/elsewhere.py \
	tests/live/fuse.py \
	tests/live/hard_maps.py \
	tests/live/hard_names.py \
	tests/live/hard_unwind.py \
	tests/live/inlined.py \
	tests/live/jit.py \
	tests/live/lost.py \
	tests/live/modules.py \
	tests/live/names.py \
	tests/live/odd.py \
	tests/live/quit.py \
	tests/live/record.py \
	tests/live/replay.py \
	tests/live/rights.py \
	tests/live/screen.py \
	tests/live/script.py \
	tests/live/shares.py \
	tests/live/sleeper.py \
	tests/live/storm.py \
	tests/live/programs.sh

EXTRA_PROGRAMS += $(live_programs)
CLEANFILES += $(live_programs)
EXTRA_DIST += $(live_tests) tests/live/hard

tests/live/programs.log: $(live_programs)

live_logs = $(addsuffix .log,$(basename $(live_tests)))
$(live_logs): $(filter-out $(live_logs),$(TEST_LOGS))

if HAVE_CMOCKA
live_programs += tests/live/test_lost
tests_live_test_lost_SOURCES = tests/live/test_lost.c
tests_live_test_lost_LDADD = $(unit_LDADD)
endif
