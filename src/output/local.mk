# SPDX-License-Identifier: GPL-2.0-or-later
libptop_a_SOURCES += \
	src/output/blob.h \
	src/output/emit.c src/output/emit.h \
	src/output/folded.c src/output/folded.h \
	src/output/json.c src/output/json.h \
	src/output/modules.c src/output/modules.h \
	src/output/perfdata_write.c src/output/perfdata_write.h src/output/perfdata_write_impl.h \
	src/output/perfdata_write_features.c \
	src/output/report.h \
	src/output/script.c src/output/script.h src/output/script_memory.c \
	src/output/stats.c src/output/stats.h \
	src/output/synth.c src/output/synth.h \
	src/output/text.c src/output/text.h
