# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += \
	tests/unit/test_lane \
	tests/unit/test_reader \
	tests/unit/test_ring \
	tests/unit/test_trim

live_programs += tests/live/test_ring_live
tests_live_test_ring_live_SOURCES = tests/live/test_ring_live.c
tests_live_test_ring_live_LDADD = $(unit_LDADD)
tests_unit_test_lane_SOURCES = tests/unit/test_lane.c
tests_unit_test_lane_LDADD = $(unit_LDADD)
tests_unit_test_reader_SOURCES = tests/unit/test_reader.c tests/unit/fake_ring.h
tests_unit_test_reader_LDADD = $(unit_LDADD)
tests_unit_test_ring_SOURCES = tests/unit/test_ring.c tests/unit/fake_ring.h
tests_unit_test_ring_LDADD = $(unit_LDADD)
tests_unit_test_trim_SOURCES = tests/unit/test_trim.c
tests_unit_test_trim_LDADD = $(unit_LDADD)
