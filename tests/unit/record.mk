# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += \
	tests/unit/test_decode \
	tests/unit/test_decode_sample \
	tests/unit/test_order \
	tests/unit/test_perfdata

EXTRA_DIST += tests/unit/record_build.h tests/unit/record_sorts.h

tests_unit_test_decode_SOURCES = tests/unit/test_decode.c tests/unit/record_sorts.c
tests_unit_test_decode_LDADD = $(unit_LDADD)
tests_unit_test_decode_sample_SOURCES = tests/unit/test_decode_sample.c
tests_unit_test_decode_sample_LDADD = $(unit_LDADD)
tests_unit_test_order_SOURCES = tests/unit/test_order.c
tests_unit_test_order_LDADD = $(unit_LDADD)
tests_unit_test_perfdata_SOURCES = tests/unit/test_perfdata.c
tests_unit_test_perfdata_LDADD = $(unit_LDADD)
