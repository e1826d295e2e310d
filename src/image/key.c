/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/key.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "image/build.h"
#include "image/elf_file.h"

int file_key_read(int fd, bool with_build_id, struct file_key *ret)
{
	struct file_key key = { 0 };
	struct elf_file f;
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	key.dev = st.st_dev;
	key.ino = st.st_ino;
	key.size = (uint64_t)st.st_size;
	key.mtime_ns = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
	if (with_build_id && elf_file_init(&f, fd, build_defaults.file_max, NULL) == 0) {
		key.build_id_size = (uint8_t)elf_file_build_id(&f, key.build_id);
		elf_file_done(&f);
	}
	*ret = key;
	return 0;
}

static bool device_contradicts(const struct file_key *key, const struct image_sight *sight)
{
	unsigned maj = major(key->dev), min = minor(key->dev);

	return (maj != sight->maj || min != sight->min) && maj != 0 && sight->maj != 0;
}

bool file_key_matches(const struct file_key *key, const struct image_sight *sight,
		      enum file_via via, bool on_overlay)
{
	if (sight->build_id_size != 0 && key->build_id_size != 0) {
		/* The kernel's records pad a short build-id with zeroes up to 20 bytes. */
		return sight->build_id_size >= key->build_id_size &&
		       memcmp(sight->build_id, key->build_id, key->build_id_size) == 0;
	}
	if (sight->ino == 0)
		return sight->build_id_size == 0 || via == VIA_MAP_FILES;
	if (sight->ino != key->ino)
		return via == VIA_MAP_FILES && on_overlay;
	return via == VIA_MAP_FILES || !device_contradicts(key, sight);
}
