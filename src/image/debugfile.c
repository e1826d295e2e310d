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

/* What the stripped file says of its debug file. */
struct clue {
	uint8_t build_id[TABLE_BUILD_ID_MAX];
	size_t build_id_size;
	char link[256]; /* file name; "" where there is none */
	uint32_t crc;
	char directory[3072]; /* of the stripped file, without a slash at the end */
	struct file_key self;
};

/* .gnu_debuglink: a file name, NUL, padding to 4 bytes, CRC-32 in the file's byte order. */
static void read_link(struct clue *c, const struct elf_file *f)
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

/* 0, or -ENOENT where a debug file is neither needed nor named. */
static int read_clue(struct clue *c, int fd, const char *path)
{
	struct elf_file f;
	GElf_Shdr header;
	int err;

	memset(c, 0, sizeof(*c));
	err = elf_file_init(&f, fd, build_defaults.file_max, NULL);
	if (err != 0)
		return err;
	if (elf_file_section(&f, NULL, SHT_SYMTAB, &header) == NULL) {
		c->build_id_size = elf_file_build_id(&f, c->build_id);
		read_link(c, &f);
	}
	elf_file_done(&f);
	if (c->build_id_size < 2 && c->link[0] == '\0')
		return -ENOENT;
	if (path != NULL && path[0] == '/') {
		const char *slash = strrchr(path, '/');

		if ((size_t)(slash - path) < sizeof(c->directory))
			memcpy(c->directory, path, (size_t)(slash - path));
	} else {
		c->link[0] = '\0';
	}
	return file_key_read(fd, false, &c->self);
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

static bool is_debug_file(const struct clue *c, int fd)
{
	struct file_key key;
	uint32_t crc;

	if (file_key_read(fd, true, &key) != 0 ||
	    (key.ino == c->self.ino && key.dev == c->self.dev))
		return false;
	if (c->build_id_size != 0)
		return key.build_id_size == c->build_id_size &&
		       memcmp(key.build_id, c->build_id, c->build_id_size) == 0;
	return debugfile_crc(fd, &crc) == 0 && crc == c->crc;
}

static int try_name(const struct clue *c, int root, const char *name)
{
	int fd = open_in_root(root, name);

	if (fd >= 0 && !is_debug_file(c, fd)) {
		close(fd);
		fd = -ENOENT;
	}
	return fd;
}

static int search_build_id(const struct clue *c, int root)
{
	char name[96];
	size_t at;

	if (c->build_id_size < 2)
		return -ENOENT;
	at = (size_t)snprintf(name, sizeof(name), "/usr/lib/debug/.build-id/%02x/", c->build_id[0]);
	for (size_t i = 1; i < c->build_id_size; i++)
		at += (size_t)snprintf(name + at, sizeof(name) - at, "%02x", c->build_id[i]);
	snprintf(name + at, sizeof(name) - at, ".debug");
	return try_name(c, root, name);
}

static int search_link(const struct clue *c, int root)
{
	static const char *const forms[][2] = {
		{ "", "/" },
		{ "", "/.debug/" },
		{ "/usr/lib/debug", "/" },
	};
	char name[4096];
	int fd = -ENOENT;

	for (size_t i = 0; i < 3 && fd < 0 && c->link[0] != '\0'; i++) {
		snprintf(name, sizeof(name), "%s%s%s%s", forms[i][0], c->directory, forms[i][1],
			 c->link);
		fd = try_name(c, root, name);
	}
	return fd;
}

static int search_root(const struct clue *c, int root)
{
	int fd = search_build_id(c, root);

	return fd >= 0 ? fd : search_link(c, root);
}

static bool same_directory(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

int debugfile_open(int fd, pid_t pid, const char *path)
{
	struct clue c;
	int own, theirs, found = -ENOENT;
	int err = read_clue(&c, fd, path);

	if (err != 0)
		return err;
	own = open_root(0);
	if (own < 0)
		return own;
	theirs = pid != 0 ? open_root(pid) : -ENOENT;
	if (theirs >= 0) {
		if (!same_directory(own, theirs))
			found = search_root(&c, theirs);
		close(theirs);
	}
	if (found < 0)
		found = search_root(&c, own);
	close(own);
	return found < 0 ? -ENOENT : found;
}
