#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# `ptop -i FILE --format stats` over a folder of recordings from other machines, beside EXPECTED.tsv
# there (file, kind, name, count, as perf report --stats prints them). The folder is $PTOP_PERFDATA, by
# default ../shared/perfdata of the source tree; without it this skips.
#
# Recordings that perf does not read have no rows there: ptop has to count samples in them; of a
# corrupted one, records up to the bad one, a sentence with the byte where reading stopped, status 1.
set -u
ptop=${PTOP:?}
folder=${PTOP_PERFDATA:-${top_srcdir:?}/../shared/perfdata}
[ -f "$folder/EXPECTED.tsv" ] || { echo "skip: no recordings in $folder (PTOP_PERFDATA)"; exit 77; }
folder=$(cd "$folder" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failed=0
files=0
for file in "$folder"/*; do
	name=$(basename "$file")
	case $name in
	README* | EXPECTED.tsv) continue ;;
	esac
	files=$((files + 1))
	for input in "$file" -; do
		timeout 60 "$ptop" -i "$input" --format stats <"$file" >out 2>err
		status=$?
		sort out >got
		awk -F '\t' -v name="$name" '$1 == name { print $2 "\t" $3 "\t" $4 }' \
			"$folder/EXPECTED.tsv" | sort >expected
		case $name in
		*corrupted*)
			[ $status -eq 1 ] || { echo "FAIL: $name: status $status, not 1"; failed=1; }
			grep -q 'stopped at byte [0-9]' err ||
				{ echo "FAIL: $name: no word on where reading stopped"; failed=1; }
			grep -q '^records' out || { echo "FAIL: $name: nothing read"; failed=1; }
			continue
			;;
		esac
		if [ $status -ne 0 ] || [ -s err ]; then
			echo "FAIL: $name ($input): status $status: $(head -n 1 err)"
			failed=1
		elif [ -s expected ] && ! cmp -s got expected; then
			echo "FAIL: $name ($input):"
			diff expected got
			failed=1
		elif ! grep -q '^samples' got; then
			echo "FAIL: $name ($input): no samples"
			failed=1
		fi
	done
done
[ $files -gt 0 ] || { echo "FAIL: no recording in $folder"; failed=1; }
echo "$files recordings, each by its name and through a pipe"
exit $failed
