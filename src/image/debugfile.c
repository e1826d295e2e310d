/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/debugfile.h"

#include <errno.h>
#include <lzma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/build.h"
#include "image/elf_file.h"
#include "image/key.h"
#include "image/open.h"

#define CRC_FILE_MAX ((off_t)256 << 20)
#define CRC_CHUNK ((size_t)256 << 10)

/* .gnu_debuglink: a file name, NUL, padding to 4 bytes, CRC-32 in the file's byte order. */
static void read_link(struct debug_clue *c, const struct elf_file *f)
{
	GElf_Shdr header;
	Elf_Data *data =
		elf_file_data(elf_file_section(f, ".gnu_debuglink", 0, &header), sizeof(c->link));
	const uint8_t *bytes, *crc;
	size_t length;

	if (data == NULL)
		return;
	bytes = data->d_buf;
	length = strnlen(data->d_buf, data->d_size);
	if (length == 0 || length >= sizeof(c->link) || data->d_size < 4 ||
	    (length + 4) / 4 * 4 > data->d_size - 4 || memchr(bytes, '/', length) != NULL ||
	    bytes[0] == '.')
		return;
	memcpy(c->link, bytes, length);
	c->link[length] = '\0';
	crc = bytes + (length + 4) / 4 * 4;
	if (f->header.e_ident[EI_DATA] == ELFDATA2MSB)
		c->crc = (uint32_t)crc[0] << 24 | crc[1] << 16 | crc[2] << 8 | crc[3];
	else
		c->crc = (uint32_t)crc[3] << 24 | crc[2] << 16 | crc[1] << 8 | crc[0];
}

int debugfile_clue(int fd, struct debug_clue *ret, struct reason *why)
{
	struct debug_clue c = { 0 };
	struct elf_file f;
	GElf_Shdr header;
	int err;

	err = elf_file_init(&f, fd, build_defaults.file_max, why);
	if (err != 0)
		return err;
	c.has_symbols = elf_file_section(&f, NULL, SHT_SYMTAB, &header) != NULL;
	c.build_id_size = (uint8_t)elf_file_build_id(&f, c.build_id);
	read_link(&c, &f);
	elf_file_done(&f);
	*ret = c;
	return 0;
}

bool debugfile_clue_is_sound(const struct debug_clue *c)
{
	size_t length = strnlen(c->link, sizeof(c->link));

	return c->build_id_size <= sizeof(c->build_id) && c->has_symbols <= 1 &&
	       length < sizeof(c->link) && memchr(c->link, '/', length) == NULL &&
	       c->link[0] != '.';
}

int debugfile_crc(int fd, uint32_t *ret)
{
	uint8_t *chunk = malloc(CRC_CHUNK);
	uint32_t crc = 0;
	off_t at = 0;
	ssize_t nr;
	int err = 0;

	if (chunk == NULL)
		return -ENOMEM;
	while ((nr = pread(fd, chunk, CRC_CHUNK, at)) > 0) {
		crc = lzma_crc32(chunk, (size_t)nr, crc);
		at += nr;
		if (at > CRC_FILE_MAX) {
			err = -EFBIG;
			break;
		}
	}
	if (nr < 0)
		err = -errno;
	free(chunk);
	if (err == 0)
		*ret = crc;
	return err;
}

bool debugfile_matches(const struct debug_clue *c, int fd)
{
	struct file_key key;
	uint32_t crc;

	if (file_key_read(fd, true, &key) != 0)
		return false;
	if (c->build_id_size != 0)
		return key.build_id_size == c->build_id_size &&
		       memcmp(key.build_id, c->build_id, c->build_id_size) == 0;
	return debugfile_crc(fd, &crc) == 0 && crc == c->crc;
}

/* Candidates being opened. */
struct search {
	const struct debug_clue *clue;
	char directory[3072]; /* of the program, without a slash at the end */
	bool has_directory;
	struct file_key self;
	int *fds;
	unsigned nr, max;
};

static void set_directory(struct search *s, const char *path)
{
	const char *slash = path != NULL && path[0] == '/' ? strrchr(path, '/') : NULL;

	if (slash == NULL || (size_t)(slash - path) >= sizeof(s->directory))
		return;
	memcpy(s->directory, path, (size_t)(slash - path));
	s->directory[slash - path] = '\0';
	s->has_directory = true;
}

/* A candidate, unless there is no such file or it is the program itself. */
static void try_name(struct search *s, int root, const char *name)
{
	struct file_key key;
	int fd = s->nr < s->max ? open_in_root(root, name) : -1;

	if (fd < 0)
		return;
	if (file_key_read(fd, false, &key) != 0 ||
	    (key.ino == s->self.ino && key.dev == s->self.dev))
		close(fd);
	else
		s->fds[s->nr++] = fd;
}

static void search_build_id(struct search *s, int root, const uint8_t *id, size_t size)
{
	char name[96];
	size_t at;

	if (size < 2)
		return;
	at = (size_t)snprintf(name, sizeof(name), "/usr/lib/debug/.build-id/%02x/", id[0]);
	for (size_t i = 1; i < size; i++)
		at += (size_t)snprintf(name + at, sizeof(name) - at, "%02x", id[i]);
	snprintf(name + at, sizeof(name) - at, ".debug");
	try_name(s, root, name);
}

static void search_link(struct search *s, int root)
{
	static const char *const forms[][2] = {
		{ "", "/" },
		{ "", "/.debug/" },
		{ "/usr/lib/debug", "/" },
	};
	char name[4096];

	if (s->clue->link[0] == '\0' || !s->has_directory)
		return;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		snprintf(name, sizeof(name), "%s%s%s%s", forms[i][0], s->directory, forms[i][1],
			 s->clue->link);
		try_name(s, root, name);
	}
}

static void search_root(struct search *s, int root)
{
	search_build_id(s, root, s->clue->build_id, s->clue->build_id_size);
	search_link(s, root);
}

static bool same_directory(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

unsigned debugfile_candidates_in(const struct debug_clue *c, int fd, const int *roots,
				 size_t nr_roots, const char *path, int *ret_fds, unsigned max)
{
	struct search s = { .clue = c, .fds = ret_fds, .max = max };

	if (c->has_symbols || (c->build_id_size < 2 && c->link[0] == '\0') ||
	    file_key_read(fd, false, &s.self) != 0)
		return 0;
	set_directory(&s, path);
	for (size_t i = 0; i < nr_roots; i++)
		if (roots[i] >= 0)
			search_root(&s, roots[i]);
	return s.nr;
}

/* What @path is inside the root of a process that went below ours by chroot(): /proc/PID/maps has
 * it as seen from ours. */
static const char *path_in_root(pid_t pid, const char *path)
{
	char name[64], root[3072];
	ssize_t size;

	if (path == NULL)
		return NULL;
	snprintf(name, sizeof(name), "/proc/%d/root", (int)pid);
	size = readlink(name, root, sizeof(root));
	if (size <= 1 || (size_t)size == sizeof(root) || strncmp(path, root, (size_t)size) != 0 ||
	    path[size] != '/')
		return path;
	return path + size;
}

/* The root of a process (-1: ours, or none) and our own.  False without ours. */
static bool open_roots(pid_t pid, int *ret_theirs, int *ret_own)
{
	*ret_own = open_root(0);
	if (*ret_own < 0)
		return false;
	*ret_theirs = pid != 0 ? open_root(pid) : -1;
	if (*ret_theirs >= 0 && same_directory(*ret_theirs, *ret_own)) {
		close(*ret_theirs);
		*ret_theirs = -1;
	}
	return true;
}

static void close_roots(int theirs, int own)
{
	if (theirs >= 0)
		close(theirs);
	close(own);
}

unsigned debugfile_candidates(const struct debug_clue *c, int fd, pid_t pid, const char *path,
			      int *ret_fds)
{
	unsigned nr;
	int theirs, own;

	if (c->has_symbols || !open_roots(pid, &theirs, &own))
		return 0;
	nr = debugfile_candidates_in(c, fd, &theirs, 1, path_in_root(pid, path), ret_fds,
				     DEBUG_CANDIDATES_MAX);
	nr += debugfile_candidates_in(c, fd, &own, 1, path, ret_fds + nr,
				      DEBUG_CANDIDATES_MAX - nr);
	close_roots(theirs, own);
	return nr;
}

static void search_alt(struct search *s, const struct debug_alt *alt, int root)
{
	char name[4096];

	search_build_id(s, root, alt->build_id, alt->build_id_size);
	if (alt->path[0] == '/') {
		try_name(s, root, alt->path);
	} else if (s->has_directory) {
		snprintf(name, sizeof(name), "%s/%s", s->directory, alt->path);
		try_name(s, root, name);
	}
}

unsigned debugfile_alt_candidates_in(const struct debug_alt *alt, int fd, const int *roots,
				     size_t nr_roots, int *ret_fds, unsigned max)
{
	struct search s = { .fds = ret_fds, .max = max };
	char link[64], path[4096];
	ssize_t length;

	if (alt->path[0] == '\0' || file_key_read(fd, false, &s.self) != 0)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length > 0) {
		path[length] = '\0';
		set_directory(&s, path);
	}
	for (size_t i = 0; i < nr_roots; i++)
		if (roots[i] >= 0)
			search_alt(&s, alt, roots[i]);
	return s.nr;
}

unsigned debugfile_alt_candidates(const struct debug_alt *alt, int fd, pid_t pid, int *ret_fds,
				  unsigned max)
{
	int roots[2];
	unsigned nr;

	if (alt->path[0] == '\0' || !open_roots(pid, &roots[0], &roots[1]))
		return 0;
	nr = debugfile_alt_candidates_in(alt, fd, roots, 2, ret_fds, max);
	close_roots(roots[0], roots[1]);
	return nr;
}

bool debugfile_alt_is_sound(const struct debug_alt *alt)
{
	return alt->build_id_size <= sizeof(alt->build_id) &&
	       strnlen(alt->path, sizeof(alt->path)) < sizeof(alt->path);
}

bool debugfile_alt_matches(const struct debug_alt *alt, int fd)
{
	struct file_key key;

	return alt->build_id_size != 0 && file_key_read(fd, true, &key) == 0 &&
	       key.build_id_size == alt->build_id_size &&
	       memcmp(key.build_id, alt->build_id, alt->build_id_size) == 0;
}

int debugfile_choose(const struct debug_clue *c, const int *fds, unsigned nr)
{
	int found = -ENOENT;

	for (unsigned i = 0; i < nr; i++) {
		if (found < 0 && debugfile_matches(c, fds[i]))
			found = fds[i];
		else
			close(fds[i]);
	}
	return found;
}

int debugfile_open(int fd, pid_t pid, const char *path)
{
	int fds[DEBUG_CANDIDATES_MAX];
	struct debug_clue c;
	int err = debugfile_clue(fd, &c, NULL);

	if (err != 0)
		return err;
	return debugfile_choose(&c, fds, debugfile_candidates(&c, fd, pid, path, fds));
}
