# SPDX-License-Identifier: GPL-2.0-or-later
libptop_a_SOURCES += \
	src/space/fold.c \
	src/space/intern.c \
	src/space/lookup.c \
	src/space/maps.c src/space/maps.h \
	src/space/procfs.c src/space/procfs.h \
	src/space/scan.c \
	src/space/space.c src/space/space.h \
	src/space/state.h
