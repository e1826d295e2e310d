# SPDX-License-Identifier: GPL-2.0-or-later
libptop_a_SOURCES += \
	src/event/attr.c src/event/attr.h \
	src/event/change.c \
	src/event/cover.c \
	src/event/diagnose.c src/event/diagnose.h \
	src/event/doctor.c src/event/doctor.h \
	src/event/event.c src/event/event.h src/event/events.def \
	src/event/facts.c \
	src/event/limits.c src/event/limits.h \
	src/event/probe.c src/event/probe.h \
	src/event/sampler.c src/event/sampler.h src/event/sampler_impl.h \
	src/event/set.c src/event/set.h \
	src/event/targets.c src/event/targets.h
