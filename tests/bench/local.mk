# SPDX-License-Identifier: GPL-2.0-or-later
#
#	make bench		all benchmarks; each prints its figures and its bound

bench_programs =
bench_scripts =

EXTRA_PROGRAMS += $(bench_programs)
CLEANFILES += $(bench_programs)
EXTRA_DIST += $(bench_scripts) tests/bench/run.sh

bench: all $(bench_programs)
	$(AM_TESTS_ENVIRONMENT) $(SHELL) $(srcdir)/tests/bench/run.sh $(bench_programs) $(bench_scripts)
.PHONY: bench
