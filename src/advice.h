/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which command mends a module's missing names, on this distribution, as one sentence.  Pure: from
 * bytes and facts to text; who reads files is modules.c.
 *
 * What goes into a command is never foreign text: hex digits, numbers, and package names of the
 * characters that package names are made of.
 */
#ifndef PTOP_ADVICE_H
#define PTOP_ADVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum distribution {
	DISTRIBUTION_OTHER,
	DISTRIBUTION_DEBIAN,
	DISTRIBUTION_UBUNTU,
	DISTRIBUTION_DEBIAN_LIKE,
	DISTRIBUTION_FEDORA, /* Fedora, RHEL and what is like them */
	DISTRIBUTION_SUSE,
	DISTRIBUTION_ARCH,
	DISTRIBUTION_ALPINE,
};

struct os_release {
	enum distribution distribution;
	char codename[32]; /* "bookworm"; "" */
};

/* From the bytes of /etc/os-release (os-release(5)). */
void os_release_parse(const char *bytes, size_t size, struct os_release *ret);

/* Whether a list of dpkg (/var/lib/dpkg/info/NAME.list: a path a line) names @path. */
bool dpkg_list_names(const char *bytes, size_t size, const char *path);

/*
 * The package that a list is of, from the list's file name ("libc6:amd64.list" -> "libc6"); false
 * for what is no such name.
 */
bool dpkg_package(const char *file_name, char *ret, size_t size);

/* Whether packages of this distribution are found by their owner in dpkg's lists. */
bool advice_by_owner(const struct os_release *os);

#define PACKAGE_ROOM 96

/* The package with the debug symbols of @package on a Debian or what is like it. */
void advice_debug_package(const char *package, char *ret, size_t size);

enum advice_kind { ADVICE_FILE, ADVICE_JIT, ADVICE_KERNEL };
enum advice_owner {
	OWNER_UNKNOWN,   /* nobody can tell here */
	OWNER_SEARCHING, /* ask again */
	OWNER_NONE,      /* no package holds the file */
	OWNER_FOUND,     /* .owner */
};

struct advice_case {
	enum advice_kind kind;
	const char *names; /* where names are from, as images_source() says */

	/* ADVICE_FILE */
	const uint8_t *build_id;
	size_t build_id_size;
	enum advice_owner owner_state;
	const char *owner;
	bool debug_installed; /* the package of advice_debug_package() is */

	/* ADVICE_JIT */
	const char *comm; /* the process's name */
	pid_t pid;
	bool alive;

	bool root; /* ptop runs as root: commands need no sudo */
};

/* Writes the sentence, "" where there is nothing to mend or nothing to be said yet. */
void advice_write(const struct os_release *os, const struct advice_case *c, char *out, size_t size);

#endif
