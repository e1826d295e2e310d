# SPDX-License-Identifier: GPL-2.0-or-later
check_PROGRAMS += tests/unit/test_screen
tests_unit_test_screen_SOURCES = tests/unit/test_screen.c tests/unit/fake_terminal.h
tests_unit_test_screen_LDADD = $(unit_LDADD)
