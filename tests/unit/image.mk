# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += \
	tests/fuzz/loader_mutants \
	tests/unit/test_build \
	tests/unit/test_build_hostile \
	tests/unit/test_cache \
	tests/unit/test_cfi \
	tests/unit/test_debugfile \
	tests/unit/test_debuginfod \
	tests/unit/test_demangle \
	tests/unit/test_gopclntab \
	tests/unit/test_images \
	tests/unit/test_inlines \
	tests/unit/test_opener \
	tests/unit/test_rows \
	tests/unit/test_rows_code \
	tests/unit/test_rows_oracle \
	tests/unit/test_rows_x86 \
	tests/unit/test_loader \
	tests/unit/test_loader_hostile \
	tests/unit/test_loader_images \
	tests/unit/test_places \
	tests/unit/test_loader_kept \
	tests/unit/test_table

elf_bytes_sources = tests/support/elf_bytes.c tests/support/elf_bytes.h

tests_unit_test_build_SOURCES = tests/unit/test_build.c $(elf_bytes_sources)
tests_unit_test_build_LDADD = $(unit_LDADD)
tests_unit_test_build_hostile_SOURCES = tests/unit/test_build_hostile.c $(elf_bytes_sources)
tests_unit_test_build_hostile_LDADD = $(unit_LDADD)
tests_unit_test_cache_SOURCES = tests/unit/test_cache.c tests/unit/scratch.h
tests_unit_test_cache_LDADD = $(unit_LDADD)
tests_unit_test_debugfile_SOURCES = tests/unit/test_debugfile.c $(elf_bytes_sources)
tests_unit_test_debugfile_LDADD = $(unit_LDADD)
tests_unit_test_demangle_SOURCES = tests/unit/test_demangle.c
tests_unit_test_demangle_LDADD = $(unit_LDADD)
tests_unit_test_gopclntab_SOURCES = tests/unit/test_gopclntab.c $(elf_bytes_sources)
tests_unit_test_gopclntab_LDADD = $(unit_LDADD)
tests_unit_test_images_SOURCES = tests/unit/test_images.c $(elf_bytes_sources)
tests_unit_test_images_LDADD = $(unit_LDADD)
tests_unit_test_places_SOURCES = tests/unit/test_places.c $(elf_bytes_sources)
tests_unit_test_places_LDADD = $(unit_LDADD)
tests_unit_test_inlines_SOURCES = tests/unit/test_inlines.c tests/unit/scratch.h
tests_unit_test_inlines_LDADD = $(unit_LDADD)
tests_unit_test_table_SOURCES = tests/unit/test_table.c
tests_unit_test_table_LDADD = $(unit_LDADD)
tests_unit_test_loader_SOURCES = tests/unit/test_loader.c tests/unit/loader_bed.h \
	$(elf_bytes_sources)
tests_unit_test_loader_LDADD = $(unit_LDADD)
tests_unit_test_loader_hostile_SOURCES = tests/unit/test_loader_hostile.c tests/unit/loader_bed.h \
	$(elf_bytes_sources)
tests_unit_test_loader_hostile_LDADD = $(unit_LDADD)
tests_unit_test_rows_code_SOURCES = tests/unit/test_rows_code.c $(elf_bytes_sources)
tests_unit_test_rows_code_LDADD = $(unit_LDADD)
tests_unit_test_rows_x86_SOURCES = tests/unit/test_rows_x86.c
tests_unit_test_rows_x86_LDADD = $(unit_LDADD)
tests_unit_test_rows_oracle_SOURCES = tests/unit/test_rows_oracle.c
tests_unit_test_rows_oracle_LDADD = $(unit_LDADD)
tests_unit_test_loader_images_SOURCES = tests/unit/test_loader_images.c tests/unit/loader_bed.h \
	$(elf_bytes_sources)
tests_unit_test_loader_images_LDADD = $(unit_LDADD)
tests_unit_test_loader_kept_SOURCES = tests/unit/test_loader_kept.c tests/unit/scratch.h tests/unit/loader_bed.h \
	$(elf_bytes_sources)
tests_unit_test_loader_kept_LDADD = $(unit_LDADD)
tests_unit_test_opener_SOURCES = tests/unit/test_opener.c tests/unit/scratch.h tests/unit/loader_bed.h \
	$(elf_bytes_sources)
tests_unit_test_opener_LDADD = $(unit_LDADD)
tests_unit_test_debuginfod_SOURCES = tests/unit/test_debuginfod.c tests/unit/scratch.h tests/unit/loader_bed.h \
	$(elf_bytes_sources)
tests_unit_test_debuginfod_LDADD = $(unit_LDADD)
tests_unit_test_cfi_SOURCES = tests/unit/test_cfi.c tests/unit/cfi_bed.h $(elf_bytes_sources)
tests_unit_test_cfi_LDADD = $(unit_LDADD)
tests_unit_test_rows_SOURCES = tests/unit/test_rows.c tests/unit/cfi_bed.h $(elf_bytes_sources)
tests_unit_test_rows_LDADD = $(unit_LDADD)
tests_fuzz_loader_mutants_SOURCES = tests/fuzz/loader_mutants.c $(elf_bytes_sources)
tests_fuzz_loader_mutants_LDADD = $(unit_LDADD)
