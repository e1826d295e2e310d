# SPDX-License-Identifier: GPL-2.0-or-later
libptop_a_SOURCES += \
	src/image/build.c src/image/build.h \
	src/image/cache.c src/image/cache.h \
	src/image/cache_copy.c src/image/cache_copy.h \
	src/image/cache_dir.c src/image/cache_dir.h \
	src/image/cache_key.c \
	src/image/cfi.c src/image/cfi.h \
	src/image/cfi_parse.c \
	src/image/cfi_read.c \
	src/image/debug_info.c src/image/debug_info.h \
	src/image/debugfile.c src/image/debugfile.h \
	src/image/debuginfod.c src/image/debuginfod.h \
	src/image/demangle.c src/image/demangle.h \
	src/image/elf_file.c src/image/elf_file.h \
	src/image/gopclntab.c src/image/gopclntab.h \
	src/image/images.c src/image/images.h \
	src/image/images_build.c src/image/images_impl.h \
	src/image/images_cache.c \
	src/image/images_facts.c \
	src/image/images_fetch.c \
	src/image/images_inlines.c \
	src/image/images_loader.c \
	src/image/inlines.c src/image/inlines.h \
	src/image/inlines_build.c src/image/inlines_build.h \
	src/image/inlines_impl.h \
	src/image/inlines_kept.c src/image/inlines_kept.h \
	src/image/inlines_names.c \
	src/image/inlines_parts.c src/image/inlines_parts.h \
	src/image/inlines_units.c \
	src/image/inlines_walk.c \
	src/image/images_open.c \
	src/image/key.c src/image/key.h \
	src/image/loader.c src/image/loader.h \
	src/image/loader_child.c src/image/loader_child.h \
	src/image/loader_protocol.c src/image/loader_protocol.h \
	src/image/loader_reply.c src/image/loader_reply.h \
	src/image/loader_sandbox.c src/image/loader_sandbox.h \
	src/image/open.c src/image/open.h \
	src/image/opener.c src/image/opener.h \
	src/image/places.c src/image/places.h \
	src/image/plt.c src/image/plt.h \
	src/image/rows.c src/image/rows.h \
	src/image/rows_build.c \
	src/image/rows_code.c src/image/rows_code.h \
	src/image/rows_gaps.c src/image/rows_gaps.h \
	src/image/rows_sections.c src/image/rows_sections.h \
	src/image/rows_x86.c src/image/rows_x86.h \
	src/image/suffix.c src/image/suffix.h \
	src/image/symtab.c src/image/symtab.h \
	src/image/table.c src/image/table.h \
	src/image/unpack.c src/image/unpack.h \
	src/image/vdso.c src/image/vdso.h \
	src/image/x86.c src/image/x86.h \
	src/image/x86_frame.c src/image/x86_frame.h
