# SPDX-License-Identifier: GPL-2.0-or-later
libptop_a_SOURCES += \
	src/unwind/chain.c src/unwind/chain.h
