# SPDX-License-Identifier: GPL-2.0-or-later
libptop_a_SOURCES += \
	src/symbol/dumped.c \
	src/symbol/fold.c \
	src/symbol/foreign_file.c src/symbol/foreign_file.h \
	src/symbol/functions.c src/symbol/functions.h \
	src/symbol/inlined.c \
	src/symbol/jit.c \
	src/symbol/jitdump.c src/symbol/jitdump.h \
	src/symbol/jitdump_file.c \
	src/symbol/jitmap.c src/symbol/jitmap.h \
	src/symbol/kallsyms.c src/symbol/kallsyms.h \
	src/symbol/kallsyms_move.c \
	src/symbol/ksymbols.c src/symbol/ksymbols.h \
	src/symbol/naming.c src/symbol/naming.h \
	src/symbol/perfmap.c src/symbol/perfmap.h \
	src/symbol/perfmap_file.c \
	src/symbol/source.c \
	src/symbol/symbols.c src/symbol/symbols.h
