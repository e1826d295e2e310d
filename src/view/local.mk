# SPDX-License-Identifier: GPL-2.0-or-later
libptop_a_SOURCES += \
	src/view/box.c \
	src/view/view_callers.c \
	src/view/view_modules.c \
	src/view/canvas.c src/view/canvas.h \
	src/view/carry.c src/view/carry.h \
	src/view/cmd_list.c \
	src/view/cmd_sample.c \
	src/view/cmd_view.c \
	src/view/column.h src/view/columns.c src/view/columns.def \
	src/view/commands.c src/view/commands.h src/view/commands.def \
	src/view/detail.c \
	src/view/entry.c \
	src/view/events_page.c \
	src/view/finding.c \
	src/view/footer_draw.c \
	src/view/view_functions.c \
	src/view/header_draw.c \
	src/view/help_page.c \
	src/view/key.c src/view/key.h \
	src/view/list.c src/view/list.h \
	src/view/model.h \
	src/view/notes_page.c \
	src/view/rows_draw.c \
	src/view/view_tree.c \
	src/view/ui.c src/view/ui.h
