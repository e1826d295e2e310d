# SPDX-License-Identifier: GPL-2.0-or-later
libptop_a_SOURCES += \
	src/ring/lane.c src/ring/lane.h \
	src/ring/reader.c src/ring/reader.h \
	src/ring/ring.c src/ring/ring.h \
	src/ring/trim.c src/ring/trim.h
