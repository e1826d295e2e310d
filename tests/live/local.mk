# SPDX-License-Identifier: GPL-2.0-or-later
#
# Tests of the real ptop on the real kernel. They measure, so they run after all other tests, one at a
# time: each log waits for those of the other kinds, and the tests take a lock among themselves.

live_tests =

EXTRA_DIST += $(live_tests)

live_logs = $(live_tests:.py=.log)
$(live_logs): $(filter-out $(live_logs),$(TEST_LOGS))
