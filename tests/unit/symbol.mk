# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += \
	tests/unit/test_jit \
	tests/unit/test_jitdump \
	tests/unit/test_kallsyms \
	tests/unit/test_perfmap \
	tests/unit/test_symbols

tests_unit_test_jit_SOURCES = tests/unit/test_jit.c tests/unit/jitdump_bytes.h \
	tests/unit/space_records.h
tests_unit_test_jit_LDADD = $(unit_LDADD)
tests_unit_test_jitdump_SOURCES = tests/unit/test_jitdump.c tests/unit/jitdump_bytes.h
tests_unit_test_jitdump_LDADD = $(unit_LDADD)
tests_unit_test_kallsyms_SOURCES = tests/unit/test_kallsyms.c
tests_unit_test_kallsyms_LDADD = $(unit_LDADD)
tests_unit_test_perfmap_SOURCES = tests/unit/test_perfmap.c
tests_unit_test_perfmap_LDADD = $(unit_LDADD)
tests_unit_test_symbols_SOURCES = tests/unit/test_symbols.c tests/unit/space_records.h \
	tests/unit/jitdump_bytes.h
tests_unit_test_symbols_LDADD = $(unit_LDADD)
