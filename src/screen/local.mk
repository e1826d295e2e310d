# SPDX-License-Identifier: GPL-2.0-or-later
libptop_a_SOURCES += \
	src/screen/screen.c src/screen/screen.h \
	src/screen/screen_keys.c \
	src/screen/screen_paint.c \
	src/screen/terminal.h \
	src/screen/terminfo.c src/screen/terminfo.h \
	src/screen/theme.c src/screen/theme.h
