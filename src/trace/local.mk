# SPDX-License-Identifier: GPL-2.0-or-later
libptop_a_SOURCES += \
	src/trace/formats.c src/trace/formats.h
