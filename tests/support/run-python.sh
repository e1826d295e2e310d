#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Runs a test written in Python with tests/support on its path; skips, saying so, without Python.
command -v python3 >/dev/null 2>&1 || {
	echo "skip: python3 is not installed"
	exit 77
}
PYTHONPATH=${top_srcdir:?}/tests/support PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONDONTWRITEBYTECODE
exec python3 "$@"
