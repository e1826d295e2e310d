/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The separate debug file of a stripped program, where distributions put it:
 *
 *	/usr/lib/debug/.build-id/ab/cdef….debug		by build-id
 *	DIR/LINK, DIR/.debug/LINK, /usr/lib/debug/DIR/LINK	by .gnu_debuglink
 *
 * each under the root of the process that mapped the program, then under our own.  Accepted only
 * with the same build-id, or where the program has none, with the checksum that .gnu_debuglink
 * tells.
 *
 * Reading ELF and opening files are apart, for they need not be done by the same process: a clue is
 * read from the program, candidates are opened by the clue, and one of them is accepted by reading
 * it.
 */
#ifndef PTOP_IMAGE_DEBUGFILE_H
#define PTOP_IMAGE_DEBUGFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/reason.h"
#include "image/table.h"

/* What a program says of itself and its debug file.  Flat: it may come from another process. */
struct debug_clue {
	uint8_t build_id[TABLE_BUILD_ID_MAX];
	uint8_t build_id_size; /* 0: it has none */
	uint8_t has_symbols;   /* its own .symtab: no debug file is needed */
	char link[256];        /* file name; "" where there is none */
	uint32_t crc;
};

/* What a file says of the file that common parts of its debug information were moved to by dwz: its
 * section .gnu_debugaltlink. */
struct debug_alt {
	char path[256]; /* as told, relative ones from the file's directory; "" where there is none
			 */
	uint8_t build_id[TABLE_BUILD_ID_MAX];
	uint8_t build_id_size;
};

/* Both roots, four names in each. */
#define DEBUG_CANDIDATES_MAX 8u

/* Reads the clue of @fd.  0 or -errno. */
int debugfile_clue(int fd, struct debug_clue *ret, struct reason *why);

/* Whether a clue that another process gave is well-formed. */
bool debugfile_clue_is_sound(const struct debug_clue *c);

/*
 * Opens the files that may be the debug file of @fd, mapped as @path (absolute, as the process sees
 * it; may be NULL) by @pid (0: our own root only), best first; none where it has symbols itself.
 * Reads none of them.  Returns how many, at most DEBUG_CANDIDATES_MAX.
 */
unsigned debugfile_candidates(const struct debug_clue *c, int fd, pid_t pid, const char *path,
			      int *ret_fds);

/* The same below given roots (negative: none), at most @max of them. */
unsigned debugfile_candidates_in(const struct debug_clue *c, int fd, const int *roots,
				 size_t nr_roots, const char *path, int *ret_fds, unsigned max);

/*
 * Opens the files that may be the one that @alt of the file @fd tells of, below @roots as above, or
 * below the root of @pid and ours.
 */
unsigned debugfile_alt_candidates_in(const struct debug_alt *alt, int fd, const int *roots,
				     size_t nr_roots, int *ret_fds, unsigned max);
unsigned debugfile_alt_candidates(const struct debug_alt *alt, int fd, pid_t pid, int *ret_fds,
				  unsigned max);

/* Whether what another process gave is well-formed; whether @fd is the file that it tells of. */
bool debugfile_alt_is_sound(const struct debug_alt *alt);
bool debugfile_alt_matches(const struct debug_alt *alt, int fd);

/* Whether @fd is the debug file that the clue tells of. */
bool debugfile_matches(const struct debug_clue *c, int fd);

/* The one of @fds that is, all others closed; -ENOENT: none. */
int debugfile_choose(const struct debug_clue *c, const int *fds, unsigned nr);

/*
 * All of it: the debug file of @fd or -errno; -ENOENT: none, or @fd has its symbols itself.
 */
int debugfile_open(int fd, pid_t pid, const char *path);

/* The checksum of .gnu_debuglink (CRC-32 as in zlib) over a file.  0 or -errno; -EFBIG past 256
 * MiB. */
int debugfile_crc(int fd, uint32_t *ret);

#endif
