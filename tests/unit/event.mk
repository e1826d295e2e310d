# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += \
	tests/unit/test_event \
	tests/unit/test_diagnose \
	tests/unit/test_sampler_parts
live_programs += \
	tests/live/test_sampler_live \
	tests/live/test_sampler_rights \
	tests/live/test_sampler_targets

tests_unit_test_event_SOURCES = tests/unit/test_event.c
tests_unit_test_event_LDADD = $(unit_LDADD)
tests_unit_test_diagnose_SOURCES = tests/unit/test_diagnose.c
tests_unit_test_diagnose_LDADD = $(unit_LDADD)
tests_unit_test_sampler_parts_SOURCES = tests/unit/test_sampler_parts.c
tests_unit_test_sampler_parts_LDADD = $(unit_LDADD)
tests_live_test_sampler_live_SOURCES = tests/live/test_sampler_live.c tests/live/sampler_rig.h
tests_live_test_sampler_live_LDADD = $(unit_LDADD)
tests_live_test_sampler_rights_SOURCES = tests/live/test_sampler_rights.c tests/live/sampler_rig.h
tests_live_test_sampler_rights_LDADD = $(unit_LDADD)
tests_live_test_sampler_targets_SOURCES = tests/live/test_sampler_targets.c tests/live/sampler_rig.h
tests_live_test_sampler_targets_LDADD = $(unit_LDADD)
