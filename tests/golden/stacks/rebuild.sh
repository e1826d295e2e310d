#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# usage: rebuild.sh, in the build directory; see README.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
env -i PATH=/usr/bin:/bin ./tests/support/golden_stacks 8 ./tests/support/deep_stack >"$here/deep_stack.txt.new"
env -i PATH=/usr/bin:/bin ./tests/support/golden_stacks 4 node -e \
	'function f(n){return n<2?[n]:f(n-1).concat(f(n-2)).sort((a,b)=>a-b).slice(0,9)}for(;;)f(12)' \
	>"$here/node.txt.new"
for name in deep_stack node; do
	mv "$here/$name.txt.new" "$here/$name.txt"
done
