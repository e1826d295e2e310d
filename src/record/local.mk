# SPDX-License-Identifier: GPL-2.0-or-later
libptop_a_SOURCES += \
	src/record/cursor.h src/record/record.h \
	src/record/decode.c src/record/decode.h src/record/decode_parts.h \
	src/record/decode_sample.c \
	src/record/layout.c src/record/layout.h \
	src/record/order.c src/record/order.h
