/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/diagnose.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/parse.h"

/* include/uapi/linux/capability.h; named here because older headers lack the newer ones. */
enum { CAP_BIT_SYS_PTRACE = 19, CAP_BIT_SYS_ADMIN = 21, CAP_BIT_SYS_RESOURCE = 24 };
enum { CAP_BIT_SYSLOG = 34, CAP_BIT_PERFMON = 38 };

static long read_long(const char *path, long otherwise)
{
	long value;

	return parse_file_long(path, &value) ? otherwise : value;
}

/* The first bytes of a file of any length; "" where it cannot be read. */
static void read_head(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, out, size - 1);

	out[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

/* The effective set, as /proc/self/status shows it in hex. */
static uint64_t effective_capabilities(void)
{
	char status[4096];
	const char *line;

	read_head("/proc/self/status", status, sizeof(status));
	line = strstr(status, "\nCapEff:");
	return line ? strtoull(line + strlen("\nCapEff:"), NULL, 16) : 0;
}

/* In a user namespace of its own a process's capabilities say nothing to perf: it asks the first
 * namespace. */
static bool in_first_user_namespace(void)
{
	unsigned long inside, outside, count;
	char map[256];

	read_head("/proc/self/uid_map", map, sizeof(map));
	if (sscanf(map, "%lu %lu %lu", &inside, &outside, &count) != 3)
		return true;
	return inside == 0 && outside == 0 && count == UINT32_MAX;
}

static void read_capabilities(struct facts *f)
{
	uint64_t set = in_first_user_namespace() ? effective_capabilities() : 0;

	f->cap_sys_ptrace = set >> CAP_BIT_SYS_PTRACE & 1;
	f->cap_sys_resource = set >> CAP_BIT_SYS_RESOURCE & 1;
	f->cap_perfmon = (set >> CAP_BIT_PERFMON & 1) || (set >> CAP_BIT_SYS_ADMIN & 1);
	f->cap_syslog = set >> CAP_BIT_SYSLOG & 1;
}

static bool hypervisor_below(void)
{
	char text[8192];

	read_head("/proc/cpuinfo", text, sizeof(text));
	if (strstr(text, " hypervisor"))
		return true;
	read_head("/sys/hypervisor/type", text, sizeof(text));
	if (text[0])
		return true;
	read_head("/sys/class/dmi/id/sys_vendor", text, sizeof(text));
	return strstr(text, "QEMU") || strstr(text, "VMware") || strstr(text, "Amazon EC2");
}

void facts_read(struct facts *ret)
{
	struct facts f = { 0 };
	struct rlimit limit;
	ssize_t n;

	f.paranoid = read_long("/proc/sys/kernel/perf_event_paranoid", PARANOID_ABSENT);
	f.mlock_kb = read_long("/proc/sys/kernel/perf_event_mlock_kb", 0);
	f.max_sample_rate = read_long("/proc/sys/kernel/perf_event_max_sample_rate", 0);
	f.kptr_restrict = read_long("/proc/sys/kernel/kptr_restrict", -1);
	f.euid = geteuid();
	read_capabilities(&f);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		f.nofile = limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
		f.nofile_max = limit.rlim_max == RLIM_INFINITY ? UINT64_MAX : limit.rlim_max;
	}
	f.virtual_machine = hypervisor_below();
	f.container = access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0 ||
		      !in_first_user_namespace();
	n = readlink("/proc/self/exe", f.self, sizeof(f.self) - 1);
	if (n <= 0 || n == (ssize_t)sizeof(f.self) - 1)
		snprintf(f.self, sizeof(f.self), "ptop");
	else
		f.self[n] = '\0';
	*ret = f;
}
