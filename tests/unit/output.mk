# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += \
	tests/unit/test_output_json \
	tests/unit/test_output_text \
	tests/unit/test_perfdata_write

tests_unit_test_output_json_SOURCES = tests/unit/test_output_json.c tests/unit/output_bed.h
tests_unit_test_output_json_LDADD = $(unit_LDADD)
tests_unit_test_output_text_SOURCES = tests/unit/test_output_text.c tests/unit/output_bed.h
tests_unit_test_output_text_LDADD = $(unit_LDADD)
tests_unit_test_perfdata_write_SOURCES = tests/unit/test_perfdata_write.c
tests_unit_test_perfdata_write_LDADD = $(unit_LDADD)
