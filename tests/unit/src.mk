# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += \
	tests/unit/test_adapt \
	tests/unit/test_advice \
	tests/unit/test_history_save \
	tests/unit/test_options \
	tests/unit/test_output_file \
	tests/unit/test_park \
	tests/unit/test_pipeline \
	tests/unit/test_recall \
	tests/unit/test_recording_read \
	tests/unit/test_rescan

tests_unit_test_adapt_SOURCES = tests/unit/test_adapt.c
tests_unit_test_adapt_LDADD = $(unit_LDADD)
tests_unit_test_advice_SOURCES = tests/unit/test_advice.c
tests_unit_test_advice_LDADD = $(unit_LDADD)
tests_unit_test_history_save_SOURCES = tests/unit/test_history_save.c
tests_unit_test_history_save_LDADD = $(unit_LDADD)
tests_unit_test_options_SOURCES = tests/unit/test_options.c
tests_unit_test_options_LDADD = $(unit_LDADD)
tests_unit_test_output_file_SOURCES = tests/unit/test_output_file.c
tests_unit_test_output_file_LDADD = $(unit_LDADD)
tests_unit_test_park_SOURCES = tests/unit/test_park.c
tests_unit_test_park_LDADD = $(unit_LDADD)
tests_unit_test_pipeline_SOURCES = tests/unit/test_pipeline.c tests/unit/record_build.h
tests_unit_test_pipeline_LDADD = $(unit_LDADD)
tests_unit_test_recall_SOURCES = tests/unit/test_recall.c
tests_unit_test_recall_LDADD = $(unit_LDADD)
tests_unit_test_recording_read_SOURCES = tests/unit/test_recording_read.c
tests_unit_test_recording_read_LDADD = $(unit_LDADD)
tests_unit_test_rescan_SOURCES = tests/unit/test_rescan.c
tests_unit_test_rescan_LDADD = $(unit_LDADD)
