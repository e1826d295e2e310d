# SPDX-License-Identifier: GPL-2.0-or-later
libptop_a_SOURCES += \
	src/base/map.c src/base/map.h \
	src/base/nearest.c \
	src/base/notes.c src/base/notes.h \
	src/base/parse.c src/base/parse.h \
	src/base/reason.c src/base/reason.h \
	src/base/strpool.c src/base/strpool.h \
	src/base/text.c src/base/text.h \
	src/base/vec.c src/base/vec.h
