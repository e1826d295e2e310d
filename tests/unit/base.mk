# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += \
	tests/unit/test_containers \
	tests/unit/test_parse \
	tests/unit/test_strpool \
	tests/unit/test_text

tests_unit_test_containers_SOURCES = tests/unit/test_containers.c
tests_unit_test_containers_LDADD = $(unit_LDADD)
tests_unit_test_parse_SOURCES = tests/unit/test_parse.c
tests_unit_test_parse_LDADD = $(unit_LDADD)
tests_unit_test_strpool_SOURCES = tests/unit/test_strpool.c
tests_unit_test_strpool_LDADD = $(unit_LDADD)
tests_unit_test_text_SOURCES = tests/unit/test_text.c
tests_unit_test_text_LDADD = $(unit_LDADD)
