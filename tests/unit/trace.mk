# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += tests/unit/test_formats

tests_unit_test_formats_SOURCES = tests/unit/test_formats.c
tests_unit_test_formats_LDADD = $(unit_LDADD)
