# SPDX-License-Identifier: GPL-2.0-or-later
#
# Every fuzz target is tests/fuzz/fuzz_NAME.c with libFuzzer's entry point, and tests/fuzz/corpus/NAME/.
# Ordinary builds link it with replay.c, which runs the corpus; --enable-fuzzing links libFuzzer:
#
#	make fuzz [FUZZ_SECONDS=60]	each target over its corpus; a crash stays in the build directory

fuzz_programs = \
	tests/fuzz/fuzz_advice \
	tests/fuzz/fuzz_code \
	tests/fuzz/fuzz_decode \
	tests/fuzz/fuzz_elf \
	tests/fuzz/fuzz_event \
	tests/fuzz/fuzz_inlines \
	tests/fuzz/fuzz_jitdump \
	tests/fuzz/fuzz_kallsyms \
	tests/fuzz/fuzz_perfdata \
	tests/fuzz/fuzz_perfmap \
	tests/fuzz/fuzz_procfs \
	tests/fuzz/fuzz_rows \
	tests/fuzz/fuzz_table \
	tests/fuzz/fuzz_text

EXTRA_PROGRAMS += $(fuzz_programs)
CLEANFILES += $(fuzz_programs)
EXTRA_DIST += tests/fuzz/run.sh tests/fuzz/fuzz.sh tests/fuzz/replay.c \
	tests/fuzz/seeds.py tests/fuzz/corpus

fuzz_tests = tests/fuzz/run.sh

if FUZZING
fuzz_main =
fuzz_engine = $(FUZZ_LDFLAGS)
else
fuzz_main = tests/fuzz/replay.c
fuzz_engine =
endif
fuzz_ldadd = libptop.a $(ptop_libs) $(fuzz_engine)

tests_fuzz_fuzz_advice_SOURCES = tests/fuzz/fuzz_advice.c $(fuzz_main)
tests_fuzz_fuzz_advice_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_code_SOURCES = tests/fuzz/fuzz_code.c $(fuzz_main)
tests_fuzz_fuzz_code_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_decode_SOURCES = tests/fuzz/fuzz_decode.c $(fuzz_main)
tests_fuzz_fuzz_decode_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_elf_SOURCES = tests/fuzz/fuzz_elf.c $(fuzz_main)
tests_fuzz_fuzz_elf_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_event_SOURCES = tests/fuzz/fuzz_event.c $(fuzz_main)
tests_fuzz_fuzz_event_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_inlines_SOURCES = tests/fuzz/fuzz_inlines.c $(fuzz_main)
tests_fuzz_fuzz_inlines_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_jitdump_SOURCES = tests/fuzz/fuzz_jitdump.c $(fuzz_main)
tests_fuzz_fuzz_jitdump_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_kallsyms_SOURCES = tests/fuzz/fuzz_kallsyms.c $(fuzz_main)
tests_fuzz_fuzz_kallsyms_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_perfdata_SOURCES = tests/fuzz/fuzz_perfdata.c $(fuzz_main)
tests_fuzz_fuzz_perfdata_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_perfmap_SOURCES = tests/fuzz/fuzz_perfmap.c $(fuzz_main)
tests_fuzz_fuzz_perfmap_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_procfs_SOURCES = tests/fuzz/fuzz_procfs.c $(fuzz_main)
tests_fuzz_fuzz_procfs_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_rows_SOURCES = tests/fuzz/fuzz_rows.c $(fuzz_main)
tests_fuzz_fuzz_rows_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_table_SOURCES = tests/fuzz/fuzz_table.c $(fuzz_main)
tests_fuzz_fuzz_table_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_text_SOURCES = tests/fuzz/fuzz_text.c $(fuzz_main)
tests_fuzz_fuzz_text_LDADD = $(fuzz_ldadd)

tests/fuzz/run.log: $(fuzz_programs)

# A million mutations of recordings without libFuzzer: mutate_perfdata EXECUTIONS SEED FILE...
EXTRA_PROGRAMS += tests/fuzz/mutate_perfdata
CLEANFILES += tests/fuzz/mutate_perfdata
tests_fuzz_mutate_perfdata_SOURCES = tests/fuzz/fuzz_perfdata.c tests/fuzz/mutate.c
tests_fuzz_mutate_perfdata_LDADD = libptop.a $(ptop_libs)

# The same of tables of inlined functions.
EXTRA_PROGRAMS += tests/fuzz/mutate_inlines
CLEANFILES += tests/fuzz/mutate_inlines
tests_fuzz_mutate_inlines_SOURCES = tests/fuzz/fuzz_inlines.c tests/fuzz/mutate.c
tests_fuzz_mutate_inlines_LDADD = libptop.a $(ptop_libs)

# And of code.
EXTRA_PROGRAMS += tests/fuzz/mutate_code
CLEANFILES += tests/fuzz/mutate_code
tests_fuzz_mutate_code_SOURCES = tests/fuzz/fuzz_code.c tests/fuzz/mutate.c
tests_fuzz_mutate_code_LDADD = libptop.a $(ptop_libs)

FUZZ_SECONDS = 60
fuzz: $(fuzz_programs)
	$(AM_TESTS_ENVIRONMENT) $(SHELL) $(srcdir)/tests/fuzz/fuzz.sh $(FUZZ_SECONDS) $(fuzz_programs)
.PHONY: fuzz
