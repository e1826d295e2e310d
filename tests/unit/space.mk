# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += \
	tests/unit/test_maps \
	tests/unit/test_space \
	tests/unit/test_space_trim

tests_unit_test_maps_SOURCES = tests/unit/test_maps.c
tests_unit_test_maps_LDADD = $(unit_LDADD)
tests_unit_test_space_SOURCES = tests/unit/test_space.c tests/unit/space_records.h
tests_unit_test_space_LDADD = $(unit_LDADD)
tests_unit_test_space_trim_SOURCES = tests/unit/test_space_trim.c tests/unit/space_records.h
tests_unit_test_space_trim_LDADD = $(unit_LDADD)
