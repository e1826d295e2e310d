# SPDX-License-Identifier: GPL-2.0-or-later
libptop_a_SOURCES += \
	src/unwind/chain.c src/unwind/chain.h \
	src/unwind/code.c src/unwind/code.h \
	src/unwind/frame.c src/unwind/frame.h \
	src/unwind/guess.c src/unwind/guess.h \
	src/unwind/plain.h \
	src/unwind/regs.c \
	src/unwind/unwind.c src/unwind/unwind.h
