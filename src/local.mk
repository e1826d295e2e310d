# SPDX-License-Identifier: GPL-2.0-or-later
#
# The wiring: everything in src/ itself but main.c.
libptop_a_SOURCES += \
	src/adapt.c src/adapt.h \
	src/advice.c src/advice.h \
	src/ask.c src/ask.h \
	src/batch.c src/batch.h \
	src/clock.h \
	src/command.c src/command.h \
	src/completion.c \
	src/control.c src/control.h \
	src/forget.c src/forget.h \
	src/history_places.c src/history_places.h \
	src/history_save.c src/history_save.h \
	src/hold.c src/hold.h \
	src/inlining.c src/inlining.h \
	src/kept.c src/kept.h \
	src/live.c src/live.h \
	src/loop.c src/loop.h \
	src/names.c src/names.h \
	src/modules.c src/modules.h \
	src/options.c src/options.def src/options.h \
	src/output_file.c src/output_file.h \
	src/owners.c src/owners.h \
	src/park.c src/park.h \
	src/pipeline.c src/pipeline.h src/pipeline_impl.h \
	src/pipeline_sample.c src/pipeline_wait.c \
	src/progress.c src/progress.h \
	src/recorder.c src/recorder.h \
	src/recorder_facts.c src/recorder_facts.h \
	src/recall.c src/recall.h \
	src/report_fill.c src/report_fill.h \
	src/rescan.c src/rescan.h \
	src/rings.c src/rings.h \
	src/session.c src/session.h \
	src/shares.h \
	src/source.h src/source_live.c src/source_recording.c \
	src/settle.c src/settle.h

libptop_a_SOURCES += \
	src/recording.c src/recording.h src/recording_impl.h \
	src/recording_kernel.c src/recording_kernel.h \
	src/recording_trace.c src/recording_trace.h \
	src/recording_feed.c src/recording_names.c \
	src/recording_read.c src/recording_read.h \
	src/recording_save.c src/recording_script.c src/recording_shares.c src/recording_shares.h
