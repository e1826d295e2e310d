#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Who may include whom: the folder arrows of doc/ARCHITECTURE.md. A file of src/FOLDER/ includes its own
# folder and what the first table names (a folder, or one header); src/*.c may include everything, and
# no folder may include src/*.h. The second table says which folders see a library's headers.
set -eu
cd "${top_srcdir:-$(dirname "$0")/../..}"

projects='base
record base
event base record/layout.h
ring base record/record.h record/source.h
space base record/record.h
image base
unwind base record/record.h record/decode.h space image
symbol base space image record/record.h
profile base record/record.h
view base profile symbol/symbol.h symbol/symbols.h
trace record/cursor.h record/record.h
screen base view/canvas.h view/key.h
output base record profile view/column.h view/columns.def'

libraries='curses screen
elfutils image
elf image
dwarf image
lzma image
zstd image output record
iberty image symbol
jansson output
traceevent trace
utf8proc base
atomics ring
threads ring
perf record event ring unwind output'

find src -name '*.c' -o -name '*.h' -o -name '*.def' | sort | xargs awk -v projects="$projects" -v libraries="$libraries" '
function library(header)
{
	if (header ~ /^(n?curses[a-z]*\/)?(n?curses|term)\.h$/) return "curses"
	if (header ~ /^(gelf|libelf)\.h$/ || header ~ /^elfutils\//) return "elfutils"
	if (header == "elf.h" || header == "link.h") return "elf"
	if (header == "dwarf.h") return "dwarf"
	if (header ~ /^lzma/) return "lzma"
	if (header ~ /^zstd/) return "zstd"
	if (header ~ /(^|\/)demangle\.h$/) return "iberty"
	if (header == "jansson.h") return "jansson"
	if (header ~ /^traceevent\//) return "traceevent"
	if (header == "utf8proc.h") return "utf8proc"
	if (header == "stdatomic.h") return "atomics"
	if (header == "pthread.h" || header == "threads.h") return "threads"
	if (header == "linux/perf_event.h") return "perf"
	return ""
}
function fail(text)
{
	printf "%s:%d: %s\n", FILENAME, FNR, text
	failed = 1
}
BEGIN {
	n = split(projects, row, "\n")
	for (i = 1; i <= n; i++) {
		m = split(row[i], word, " ")
		known[word[1]] = 1
		for (j = 1; j <= m; j++)
			may[word[1], word[j]] = 1
	}
	n = split(libraries, row, "\n")
	for (i = 1; i <= n; i++) {
		m = split(row[i], word, " ")
		for (j = 2; j <= m; j++)
			sees[word[j], word[1]] = 1
	}
}
{
	nr = split(FILENAME, part, "/")
	folder = nr == 3 ? part[2] : ""
	if (FNR == 1 && folder != "" && !(folder in known))
		fail("folder " folder " has no row in the table of arrows")
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
	split($0, quoted, "\"")
	header = quoted[2]
	nr_includes++
	if (folder == "" || header == "config.h") # which configure made
		next
	slash = index(header, "/")
	from = slash ? substr(header, 1, slash - 1) : ""
	if (header ~ /\.\./)
		fail("includes by a relative path: " header)
	else if (!slash)
		fail("no folder may include src/" header)
	else if (from != folder && !((folder, from) in may) && !((folder, header) in may))
		fail(folder " may not include " header)
}
/^[ \t]*#[ \t]*include[ \t]*</ {
	split($0, angle, /[<>]/)
	from = library(angle[2])
	if (folder != "" && from != "" && !((folder, from) in sees))
		fail(folder " may not include <" angle[2] ">")
}
END {
	if (nr_includes == 0) {
		print "no include found: this lint looks in the wrong place"
		failed = 1
	}
	exit failed
}'
