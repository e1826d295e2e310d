/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file is first opened with O_PATH, which has no effect on what it is, examined, and then opened
 * anew for reading through /proc/self/fd: the name cannot change its meaning in between.
 */
#include "image/open.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* What linux/magic.h has not got (kernel, fs/, ipc/, net/, security/). */
#define APPARMORFS_MAGIC 0x5a3c69f0
#define CONFIGFS_MAGIC 0x62656570
#define FUSECTL_MAGIC 0x65735543
#define MQUEUE_MAGIC 0x19800202
#define NFSD_MAGIC 0x6e667364
#define RPCPIPEFS_MAGIC 0x67596969

bool open_is_stored(int fd)
{
	static const uint32_t made_up[] = {
		PROC_SUPER_MAGIC,    SYSFS_MAGIC,          DEBUGFS_MAGIC,
		TRACEFS_MAGIC,       SECURITYFS_MAGIC,     APPARMORFS_MAGIC,
		SELINUX_MAGIC,       SMACK_MAGIC,          CGROUP_SUPER_MAGIC,
		CGROUP2_SUPER_MAGIC, RDTGROUP_SUPER_MAGIC, BPF_FS_MAGIC,
		CONFIGFS_MAGIC,      FUSECTL_MAGIC,        EFIVARFS_MAGIC,
		PSTOREFS_MAGIC,      BINFMTFS_MAGIC,       NSFS_MAGIC,
		MQUEUE_MAGIC,        NFSD_MAGIC,           RPCPIPEFS_MAGIC,
		XENFS_SUPER_MAGIC,   OPENPROM_SUPER_MAGIC, USBDEVICE_SUPER_MAGIC,
	};
	struct statfs fs;

	if (fstatfs(fd, &fs) != 0)
		return false;
	for (size_t i = 0; i < sizeof(made_up) / sizeof(made_up[0]); i++) {
		if ((uint32_t)fs.f_type == made_up[i])
			return false;
	}
	return true;
}

/* Takes @path_fd (O_PATH, or -errno) and gives a descriptor for reading the same file. */
static int open_regular(int path_fd)
{
	char name[64];
	struct stat st;
	int fd;

	if (path_fd < 0)
		return path_fd;
	if (fstat(path_fd, &st) != 0) {
		fd = -errno;
	} else if (!S_ISREG(st.st_mode) || !open_is_stored(path_fd)) {
		fd = -ENOEXEC;
	} else {
		snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
		fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd < 0)
			fd = -errno;
	}
	close(path_fd);
	return fd;
}

static int open_plain(const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC);

	return open_regular(fd < 0 ? -errno : fd);
}

int open_root(pid_t pid)
{
	char name[64] = "/";
	int fd;

	if (pid != 0)
		snprintf(name, sizeof(name), "/proc/%d/root", (int)pid);
	fd = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int open_in_root(int root, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));

	return open_regular(fd < 0 ? -errno : (int)fd);
}

/* A file that may be the mapped one: @fd if it is, else closed and -ESTALE. */
static int accept_file(int fd, const struct image_sight *sight, enum file_via via)
{
	struct file_key key;
	struct statfs fs;
	bool on_overlay;
	int err;

	if (fd < 0)
		return fd;
	err = file_key_read(fd, sight->build_id_size != 0, &key);
	on_overlay = via == VIA_MAP_FILES && fstatfs(fd, &fs) == 0 &&
		     fs.f_type == OVERLAYFS_SUPER_MAGIC;
	if (err == 0 && !file_key_matches(&key, sight, via, on_overlay))
		err = -ESTALE;
	if (err == 0)
		return fd;
	close(fd);
	return err;
}

static void map_files_name(const struct image_sight *sight, char name[96])
{
	snprintf(name, 96, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)sight->pid, sight->start,
		 sight->end);
}

static int try_map_files(const struct image_sight *sight)
{
	char name[96];

	if (sight->end == 0)
		return -ENOENT;
	map_files_name(sight, name);
	return accept_file(open_plain(name), sight, VIA_MAP_FILES);
}

static int try_root(const struct image_sight *sight)
{
	int root, fd;

	if (sight->path[0] != '/')
		return -ENOENT;
	root = open_root(sight->pid);
	if (root < 0)
		return root;
	fd = open_in_root(root, sight->path);
	close(root);
	return accept_file(fd, sight, VIA_PATH);
}

static int try_exe(const struct image_sight *sight)
{
	char name[64];

	if (sight->ino == 0 && sight->build_id_size == 0)
		return -ENOENT;
	snprintf(name, sizeof(name), "/proc/%d/exe", (int)sight->pid);
	return accept_file(open_plain(name), sight, VIA_PATH);
}

static int try_path(const struct image_sight *sight)
{
	if (sight->path[0] != '/')
		return -ENOENT;
	return accept_file(open_plain(sight->path), sight, VIA_PATH);
}

int open_pinned(int pin, const struct image_sight *sight, enum file_via via)
{
	int fd = fcntl(pin, F_DUPFD_CLOEXEC, 3);

	return fd < 0 ? -errno : accept_file(open_regular(fd), sight, via);
}

/* Every name on the way must be in the kernel's memory. */
static int pin_in_root(const struct image_sight *sight)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_CACHED,
	};
	int root = open_root(sight->pid);
	long fd;

	if (root < 0)
		return root;
	fd = syscall(SYS_openat2, root, sight->path, &how, sizeof(how));
	if (fd < 0)
		fd = -errno;
	close(root);
	return (int)fd;
}

int open_pin(const struct image_sight *sight, enum file_via *ret_via)
{
	char name[96];
	int fd = -ENOENT;

	*ret_via = VIA_MAP_FILES;
	if (sight->end != 0) {
		map_files_name(sight, name);
		fd = open(name, O_PATH | O_CLOEXEC);
	}
	if (fd >= 0)
		return fd;
	*ret_via = VIA_PATH;
	if (sight->path[0] == '/')
		fd = pin_in_root(sight);
	if (fd >= 0 || fd == -EAGAIN || fd == -EINVAL)
		return fd;
	/* Nothing could be held against it. */
	if (sight->ino == 0)
		return fd;
	snprintf(name, sizeof(name), "/proc/%d/exe", (int)sight->pid);
	fd = open(name, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int explain(int err, struct reason *why)
{
	switch (err) {
	case -ESTALE:
		return reason_set(
			why, err,
			"the file was replaced since it was mapped; restart the program, or run ptop as root");
	case -EACCES:
	case -EPERM:
		return reason_set(why, err, "no right to read the file; run ptop as root");
	case -ENOENT:
	case -ESRCH:
		return reason_set(why, err, "the file or the process is gone");
	case -ENOEXEC:
		return reason_set(why, err, "not a regular file");
	case -EMFILE:
	case -ENFILE:
		return reason_set(why, err, "too many open files; raise ulimit -n");
	default:
		return reason_set(why, err, "the file cannot be opened: %s", strerror(-err));
	}
}

/* Of several failures, the one that tells most. */
static int worse(int a, int b)
{
	static const int order[] = { -EMFILE, -ENFILE, -ESTALE, -EACCES, -EPERM, -ENOEXEC };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		if (a == order[i] || b == order[i])
			return order[i];
	}
	return a != 0 ? a : b;
}

int open_mapped(const struct image_sight *sight, struct reason *why)
{
	static int (*const tries[])(const struct image_sight *) = {
		try_map_files,
		try_root,
		try_exe,
		try_path,
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		int fd = tries[i](sight);

		if (fd >= 0)
			return fd;
		/* Without its capability map_files refuses everybody: that says nothing of the
		 * file. */
		if (tries[i] != try_map_files || (fd != -EPERM && fd != -EACCES))
			err = worse(err, fd);
	}
	return explain(err, why);
}
