# SPDX-License-Identifier: GPL-2.0-or-later
libptop_a_SOURCES += \
	src/profile/answer.c \
	src/profile/chunk.h \
	src/profile/modules.c src/profile/modules.h \
	src/profile/query.c src/profile/query.h src/profile/query_internal.h \
	src/profile/rows.c \
	src/profile/scan.c \
	src/profile/stacks.c src/profile/stacks.h \
	src/profile/store.c src/profile/store.h \
	src/profile/timeline.c src/profile/timeline.h \
	src/profile/visit.c
