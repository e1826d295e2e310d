/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The list of calls is what libelf, liblzma, the demangler and malloc need to turn a descriptor
 * into a memfd: nothing opens, runs, signals, connects or maps code.  Any other call ends the
 * process, but for those by which libdw looks for files: they fail. Facts: seccomp(2),
 * capabilities(7), linux/seccomp.h, linux/filter.h.
 */
#include "image/loader_sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "image/loader_protocol.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || \
	__has_feature(thread_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define RELAXED true
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RELAXED true
#endif
#ifndef RELAXED
#define RELAXED false
#endif

#define NOBODY 65534u
#define MEMORY_MAX ((rlim_t)2 << 30)
#define DESCRIPTORS_MAX ((rlim_t)32)

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#else
#define OUR_ARCH 0 /* the calls of others are not known here: no filter */
#endif

#define WORD(field) ((uint32_t)offsetof(struct seccomp_data, field))
/* The low half of an argument; both machines are little-endian. */
#define ARGUMENT(n) ((uint32_t)(offsetof(struct seccomp_data, args) + (n) * sizeof(uint64_t)))
#define LOAD(at) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at)
#define EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), yes, no)
#define ANY_BIT(mask, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (uint32_t)(mask), yes, no)
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)
#define ALLOW(call) EQUAL(__NR_##call, 0, 1), RETURN(SECCOMP_RET_ALLOW)
#define REFUSE(call) EQUAL(__NR_##call, 0, 1), RETURN(SECCOMP_RET_ERRNO | EACCES)
#define FORBID(call) EQUAL(__NR_##call, 0, 1), RETURN(SECCOMP_RET_KILL_PROCESS)
#define OUR_ARCH_ONLY \
	LOAD(WORD(arch)), EQUAL(OUR_ARCH, 1, 0), RETURN(SECCOMP_RET_KILL_PROCESS), LOAD(WORD(nr))

#if OUR_ARCH
static const struct sock_filter allowed[] = {
	OUR_ARCH_ONLY,
	ALLOW(read),
	ALLOW(pread64),
	ALLOW(write),
	ALLOW(pwrite64),
	ALLOW(lseek),
	ALLOW(fstat),
	ALLOW(close),
	ALLOW(munmap),
	ALLOW(mremap),
	ALLOW(brk),
	ALLOW(madvise),
	ALLOW(memfd_create),
	ALLOW(ftruncate),
	ALLOW(recvmsg),
	ALLOW(sendmsg),
	ALLOW(futex),
	ALLOW(clock_gettime),
	ALLOW(getrandom),
	ALLOW(rt_sigreturn),
	ALLOW(rt_sigprocmask),
	ALLOW(restart_syscall),
	ALLOW(getpid),
	ALLOW(sysinfo), /* qsort(3) looks at how much memory there is */
	ALLOW(exit),
	ALLOW(exit_group),
	/* libdw asks for the path of what it reads, and would look for more. */
	REFUSE(readlinkat),
	REFUSE(openat),
#ifdef __NR_readlink
	REFUSE(readlink),
#endif
#ifdef __NR_open
	REFUSE(open),
#endif
	/* Memory, but never to be executed. */
	EQUAL(__NR_mmap, 1, 0),
	EQUAL(__NR_mprotect, 0, 4),
	LOAD(ARGUMENT(2)),
	ANY_BIT(PROT_EXEC, 0, 1),
	RETURN(SECCOMP_RET_KILL_PROCESS),
	RETURN(SECCOMP_RET_ALLOW),
	/* Descriptors, by fcntl: what they are and seals, no owner to be signalled. */
	EQUAL(__NR_fcntl, 0, 7),
	LOAD(ARGUMENT(1)),
	EQUAL(F_GETFD, 4, 0),
	EQUAL(F_GETFL, 3, 0),
	EQUAL(F_ADD_SEALS, 2, 0),
	EQUAL(F_GET_SEALS, 1, 0),
	RETURN(SECCOMP_RET_KILL_PROCESS),
	RETURN(SECCOMP_RET_ALLOW),
	/* Facts of a descriptor. */
	EQUAL(__NR_newfstatat, 0, 3),
	LOAD(ARGUMENT(3)),
	ANY_BIT(AT_EMPTY_PATH, 0, 5),
	RETURN(SECCOMP_RET_ALLOW),
	EQUAL(__NR_statx, 0, 3),
	LOAD(ARGUMENT(2)),
	ANY_BIT(AT_EMPTY_PATH, 0, 1),
	RETURN(SECCOMP_RET_ALLOW),
	RETURN(SECCOMP_RET_KILL_PROCESS),
};

static const struct sock_filter forbidden[] = {
	OUR_ARCH_ONLY,
	FORBID(execve),
	FORBID(execveat),
	FORBID(socket),
	FORBID(connect),
	FORBID(ptrace),
	FORBID(bpf),
	FORBID(mount),
	FORBID(setns),
	FORBID(unshare),
	RETURN(SECCOMP_RET_ALLOW),
};
#else
static const struct sock_filter allowed[1], forbidden[1];
#endif

bool sandbox_is_relaxed(void)
{
	return RELAXED;
}

static bool drop_user(void)
{
	if (geteuid() != 0)
		return true;
	return setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
	       setresuid(NOBODY, NOBODY, NOBODY) == 0 && geteuid() == NOBODY;
}

/* What execve(2) could give.  Only root may; for others no_new_privs does. */
static void drop_bounding_set(void)
{
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
}

static bool drop_rights(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &header, none) == 0 &&
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

static bool has_filters(void)
{
	uint32_t action = SECCOMP_RET_KILL_PROCESS;

	return OUR_ARCH != 0 && syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

uint32_t sandbox_keeper(bool sandbox)
{
	struct rlimit none = { 0, 0 };
	uint32_t missing = 0;

	if (sandbox)
		drop_bounding_set();
	if (sandbox && !drop_user())
		missing |= SANDBOX_USER;
	if (sandbox && !drop_rights())
		missing |= SANDBOX_RIGHTS;
	if (sandbox && !has_filters())
		missing |= SANDBOX_CALLS;
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return sandbox ? missing : SANDBOX_OFF;
}

static int bound(int resource, rlim_t most)
{
	struct rlimit r;

	if (getrlimit(resource, &r) != 0)
		return -errno;
	if (r.rlim_max > most)
		r.rlim_max = most;
	if (r.rlim_cur > r.rlim_max)
		r.rlim_cur = r.rlim_max;
	return setrlimit(resource, &r) == 0 ? 0 : -errno;
}

static int filter_calls(void)
{
	struct sock_fprog program = {
		.len = sizeof(allowed) / sizeof(allowed[0]),
		.filter = (struct sock_filter *)allowed,
	};

	if (RELAXED)
		program = (struct sock_fprog){
			.len = sizeof(forbidden) / sizeof(forbidden[0]),
			.filter = (struct sock_filter *)forbidden,
		};
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ? 0 : -errno;
}

int sandbox_worker(bool calls)
{
	int err = bound(RLIMIT_FSIZE, LOADER_TABLE_MAX);

	if (err == 0)
		err = bound(RLIMIT_NOFILE, DESCRIPTORS_MAX);
	if (err == 0 && !RELAXED)
		err = bound(RLIMIT_AS, MEMORY_MAX);
	return err == 0 && calls ? filter_calls() : err;
}

void sandbox_die_with(int parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(0);
}
