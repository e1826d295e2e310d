# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += tests/unit/test_stacks tests/unit/test_store tests/unit/test_query \
	tests/unit/test_query_property tests/unit/test_modules tests/unit/test_timeline
tests_unit_test_stacks_SOURCES = tests/unit/test_stacks.c
tests_unit_test_stacks_LDADD = $(unit_LDADD)
tests_unit_test_store_SOURCES = tests/unit/test_store.c
tests_unit_test_store_LDADD = $(unit_LDADD)
tests_unit_test_query_SOURCES = tests/unit/test_query.c
tests_unit_test_query_LDADD = $(unit_LDADD)
tests_unit_test_query_property_SOURCES = tests/unit/test_query_property.c
tests_unit_test_query_property_LDADD = $(unit_LDADD)
tests_unit_test_modules_SOURCES = tests/unit/test_modules.c
tests_unit_test_modules_LDADD = $(unit_LDADD)
tests_unit_test_timeline_SOURCES = tests/unit/test_timeline.c
tests_unit_test_timeline_LDADD = $(unit_LDADD)
