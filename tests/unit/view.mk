# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += tests/unit/test_canvas tests/unit/test_carry tests/unit/test_list tests/unit/test_ui tests/unit/test_ui_control tests/unit/test_screens
tests_unit_test_canvas_SOURCES = tests/unit/test_canvas.c
tests_unit_test_canvas_LDADD = $(unit_LDADD)
tests_unit_test_carry_SOURCES = tests/unit/test_carry.c
tests_unit_test_carry_LDADD = $(unit_LDADD)
tests_unit_test_list_SOURCES = tests/unit/test_list.c
tests_unit_test_list_LDADD = $(unit_LDADD)
tests_unit_test_ui_SOURCES = tests/unit/test_ui.c tests/unit/ui_bed.h tests/unit/view_bed.h
tests_unit_test_ui_LDADD = $(unit_LDADD)
tests_unit_test_ui_control_SOURCES = tests/unit/test_ui_control.c tests/unit/ui_bed.h tests/unit/view_bed.h
tests_unit_test_ui_control_LDADD = $(unit_LDADD)
tests_unit_test_screens_SOURCES = tests/unit/test_screens.c tests/unit/view_bed.h
tests_unit_test_screens_LDADD = $(unit_LDADD)
EXTRA_DIST += \
	tests/golden/callers-80x24.txt tests/golden/events-80x24.txt tests/golden/frequency-80x24.txt \
	tests/golden/functions-80x24.txt tests/golden/functions-by-total-80x24.txt \
	tests/golden/help-80x24.txt tests/golden/module-40x10.txt tests/golden/modules-200x50.txt \
	tests/golden/modules-40x10.txt tests/golden/modules-80x24.txt \
	tests/golden/modules-by-process-80x24.txt tests/golden/notes-80x24.txt tests/golden/notes-line-80x24.txt \
	tests/golden/tree-200x50.txt tests/golden/tree-40x10.txt tests/golden/tree-80x24.txt \
	tests/golden/tree-ascii-80x24.txt tests/golden/tree-by-process-80x24.txt \
	tests/golden/tree-counts-80x24.txt
