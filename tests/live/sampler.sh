#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The C test of the sampler on the real kernel, as one of the live tests: alone, and not under sanitizers.
set -eu
[ -z "${PTOP_SANITIZED-}" ] || {
	echo "skip: sanitizers distort timing; live tests run in a plain build"
	exit 77
}
cd "${top_builddir:?}"
program=tests/live/test_sampler_live
[ -x $program ] || {
	echo "skip: built without cmocka"
	exit 77
}
exec flock tests/live.lock $program
