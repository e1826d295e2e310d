# SPDX-License-Identifier: GPL-2.0-or-later
libptop_a_SOURCES += \
	src/record/cursor.h src/record/record.h \
	src/record/decode.c src/record/decode.h src/record/decode_parts.h \
	src/record/decode_sample.c \
	src/record/layout.c src/record/layout.h \
	src/record/lease.h \
	src/record/order.c src/record/order.h \
	src/record/perfdata.c src/record/perfdata.h src/record/perfdata_impl.h \
	src/record/perfdata_attr.c src/record/perfdata_feature.c \
	src/record/perfdata_folder.c src/record/perfdata_header.c \
	src/record/perfdata_inflate.c src/record/perfdata_name.c src/record/perfdata_stream.c \
	src/record/perfdata_tracing.c
