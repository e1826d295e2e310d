# SPDX-License-Identifier: GPL-2.0-or-later
#
#	make bench		all benchmarks; each prints its figures and its bound

bench_programs = \
	tests/bench/bench_decode \
	tests/bench/bench_image \
	tests/bench/bench_inlines \
	tests/bench/bench_lane \
	tests/bench/bench_names \
	tests/bench/bench_order \
	tests/bench/bench_query \
	tests/bench/bench_rows \
	tests/bench/bench_screen \
	tests/bench/bench_stacks \
	tests/bench/bench_store \
	tests/bench/bench_symbols \
	tests/bench/bench_unwind
bench_scripts = tests/bench/bench_complete.py tests/bench/bench_live.py tests/bench/bench_recording.sh tests/bench/bench_script.sh

bench_helpers = tests/bench/repeat_recording

EXTRA_PROGRAMS += $(bench_programs) $(bench_helpers)
CLEANFILES += $(bench_programs) $(bench_helpers)
EXTRA_DIST += $(bench_scripts) tests/bench/run.sh

bench_ldadd = libptop.a $(ptop_libs)
tests_bench_bench_decode_SOURCES = tests/bench/bench_decode.c
tests_bench_bench_decode_LDADD = $(bench_ldadd)
tests_bench_bench_image_SOURCES = tests/bench/bench_image.c
tests_bench_bench_image_LDADD = $(bench_ldadd)
tests_bench_bench_inlines_SOURCES = tests/bench/bench_inlines.c
tests_bench_bench_inlines_LDADD = $(bench_ldadd)
tests_bench_bench_lane_SOURCES = tests/bench/bench_lane.c
tests_bench_bench_lane_LDADD = $(bench_ldadd)
tests_bench_bench_names_SOURCES = tests/bench/bench_names.c
tests_bench_bench_names_LDADD = $(bench_ldadd)
tests_bench_bench_order_SOURCES = tests/bench/bench_order.c
tests_bench_bench_order_LDADD = $(bench_ldadd)
tests_bench_bench_query_SOURCES = tests/bench/bench_query.c
tests_bench_bench_query_LDADD = $(bench_ldadd)
tests_bench_bench_rows_SOURCES = tests/bench/bench_rows.c
tests_bench_bench_rows_LDADD = $(bench_ldadd)
tests_bench_bench_screen_SOURCES = tests/bench/bench_screen.c
tests_bench_bench_screen_LDADD = $(bench_ldadd)
tests_bench_bench_stacks_SOURCES = tests/bench/bench_stacks.c
tests_bench_bench_stacks_LDADD = $(bench_ldadd)
tests_bench_bench_store_SOURCES = tests/bench/bench_store.c
tests_bench_bench_store_LDADD = $(bench_ldadd)
tests_bench_bench_symbols_SOURCES = tests/bench/bench_symbols.c
tests_bench_bench_symbols_LDADD = $(bench_ldadd)
tests_bench_bench_unwind_SOURCES = tests/bench/bench_unwind.c $(stack_samples_sources)
tests_bench_bench_unwind_LDADD = $(bench_ldadd)
tests_bench_bench_unwind_DEPENDENCIES = libptop.a tests/support/deep_stack

# Registers and stacks of real programs, and libdwfl to compare with. What is sampled is built without frame
# pointers, whatever all else is built with.
stack_samples_sources = \
	tests/support/dwfl_oracle.c tests/support/dwfl_oracle.h \
	tests/support/stack_samples.c tests/support/stack_samples.h
EXTRA_PROGRAMS += tests/support/deep_stack tests/support/golden_stacks
CLEANFILES += tests/support/deep_stack tests/support/golden_stacks
tests_support_deep_stack_SOURCES = tests/support/deep_stack.c
tests_support_deep_stack_CFLAGS = -std=gnu11 -O2 -fomit-frame-pointer
tests_support_golden_stacks_SOURCES = tests/support/golden_stacks.c $(stack_samples_sources)
tests_support_golden_stacks_LDADD = libptop.a $(ptop_libs)
tests_bench_repeat_recording_SOURCES = tests/bench/repeat_recording.c
tests_bench_repeat_recording_LDADD = $(bench_ldadd)

bench: all $(bench_programs) $(bench_helpers)
	$(AM_TESTS_ENVIRONMENT) $(SHELL) $(srcdir)/tests/bench/run.sh $(bench_programs) $(bench_scripts)
.PHONY: bench
