/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "advice.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* The value of @name= at the beginning of @line, without quotes; false where it is another's. */
static bool assignment(const char *line, size_t len, const char *name, char *ret, size_t size)
{
	size_t n = strlen(name);

	if (len <= n || memcmp(line, name, n) != 0 || line[n] != '=')
		return false;
	line += n + 1;
	len -= n + 1;
	if (len >= 2 && (line[0] == '"' || line[0] == '\'') && line[len - 1] == line[0]) {
		line++;
		len -= 2;
	}
	if (len >= size)
		len = size - 1;
	memcpy(ret, line, len);
	ret[len] = '\0';
	return true;
}

static enum distribution distribution_of(const char *id)
{
	static const struct {
		const char *id;
		enum distribution distribution;
	} known[] = {
		{ "debian", DISTRIBUTION_DEBIAN },   { "ubuntu", DISTRIBUTION_UBUNTU },
		{ "raspbian", DISTRIBUTION_DEBIAN }, { "fedora", DISTRIBUTION_FEDORA },
		{ "rhel", DISTRIBUTION_FEDORA },     { "centos", DISTRIBUTION_FEDORA },
		{ "rocky", DISTRIBUTION_FEDORA },    { "almalinux", DISTRIBUTION_FEDORA },
		{ "ol", DISTRIBUTION_FEDORA },       { "amzn", DISTRIBUTION_FEDORA },
		{ "suse", DISTRIBUTION_SUSE },       { "opensuse", DISTRIBUTION_SUSE },
		{ "sles", DISTRIBUTION_SUSE },       { "opensuse-leap", DISTRIBUTION_SUSE },
		{ "sled", DISTRIBUTION_SUSE },       { "opensuse-tumbleweed", DISTRIBUTION_SUSE },
		{ "arch", DISTRIBUTION_ARCH },       { "manjaro", DISTRIBUTION_ARCH },
		{ "alpine", DISTRIBUTION_ALPINE },   { "postmarketos", DISTRIBUTION_ALPINE },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!strcmp(id, known[i].id))
			return known[i].distribution;
	}
	return DISTRIBUTION_OTHER;
}

/* ID_LIKE is a list, the closest relative first. */
static enum distribution relative(char *ids)
{
	enum distribution d;

	for (char *id = strtok_r(ids, " ", &ids); id; id = strtok_r(NULL, " ", &ids)) {
		d = distribution_of(id);
		if (d == DISTRIBUTION_DEBIAN || d == DISTRIBUTION_UBUNTU)
			return DISTRIBUTION_DEBIAN_LIKE;
		if (d != DISTRIBUTION_OTHER)
			return d;
	}
	return DISTRIBUTION_OTHER;
}

/* A word that may stand in a command. */
static bool is_plain(const char *word)
{
	if (!isalnum((unsigned char)word[0]))
		return false;
	return word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "0123456789+.-_")] == '\0';
}

void os_release_parse(const char *bytes, size_t size, struct os_release *ret)
{
	char id[32] = "", like[128] = "";

	*ret = (struct os_release){ 0 };
	while (size) {
		const char *end = memchr(bytes, '\n', size);
		size_t len = end ? (size_t)(end - bytes) : size;

		if (!assignment(bytes, len, "ID", id, sizeof(id)) &&
		    !assignment(bytes, len, "ID_LIKE", like, sizeof(like)))
			assignment(bytes, len, "VERSION_CODENAME", ret->codename,
				   sizeof(ret->codename));
		len += end != NULL;
		bytes += len;
		size -= len;
	}
	if (!is_plain(ret->codename))
		ret->codename[0] = '\0';
	ret->distribution = distribution_of(id);
	if (ret->distribution == DISTRIBUTION_OTHER)
		ret->distribution = relative(like);
}

static bool names_line(const char *bytes, size_t size, const char *path, size_t len)
{
	const char *at = bytes, *end = bytes + size;

	while ((at = memmem(at, (size_t)(end - at), path, len))) {
		if ((at == bytes || at[-1] == '\n') && (at + len == end || at[len] == '\n'))
			return true;
		at++;
	}
	return false;
}

/* A merged /usr makes one file of two names, and the lists may know the other one. */
bool dpkg_list_names(const char *bytes, size_t size, const char *path)
{
	size_t len = strlen(path);

	if (!len)
		return false;
	if (names_line(bytes, size, path, len))
		return true;
	return !strncmp(path, "/usr/", 5) && names_line(bytes, size, path + 4, len - 4);
}

bool dpkg_package(const char *file_name, char *ret, size_t size)
{
	static const char suffix[] = ".list";
	size_t len = strlen(file_name), cut = sizeof(suffix) - 1;
	const char *colon = strchr(file_name, ':');

	if (len <= cut || strcmp(file_name + len - cut, suffix) != 0)
		return false;
	len = colon ? (size_t)(colon - file_name) : len - cut;
	if (len >= size)
		return false;
	memcpy(ret, file_name, len);
	ret[len] = '\0';
	return is_plain(ret);
}

bool advice_by_owner(const struct os_release *os)
{
	return os->distribution == DISTRIBUTION_DEBIAN || os->distribution == DISTRIBUTION_UBUNTU ||
	       os->distribution == DISTRIBUTION_DEBIAN_LIKE;
}

/* "python3.11" of "libpython3.11-stdlib"; 0 for other packages. */
static size_t python_length(const char *package)
{
	size_t digits, n = sizeof("python3.") - 1;

	if (strncmp(package, "python3.", n) != 0)
		return 0;
	digits = strspn(package + n, "0123456789");
	return digits ? n + digits : 0;
}

/* Few packages still come with a -dbg of their own; those of all others are made by the archive. */
void advice_debug_package(const char *package, char *ret, size_t size)
{
	const char *python = !strncmp(package, "lib", 3) ? package + 3 : package;
	size_t len = python_length(python);

	if (!strcmp(package, "libc6") || !strcmp(package, "libc-bin"))
		snprintf(ret, size, "libc6-dbg");
	else if (len)
		snprintf(ret, size, "%.*s-dbg", (int)len, python);
	else
		snprintf(ret, size, "%s-dbgsym", package);
}

static bool is_dbgsym(const char *package)
{
	static const char suffix[] = "-dbgsym";
	size_t len = strlen(package), cut = sizeof(suffix) - 1;

	return len > cut && !strcmp(package + len - cut, suffix);
}

/* ptop downloads debug files itself where it is told to. */
static void by_debuginfod(const struct advice_case *c, const char *server, char *out, size_t size)
{
	snprintf(out, size, "DEBUGINFOD_URLS=%s ptop --debuginfod%s", server,
		 c->root ? "-as-root" : "");
}

static void debian(const struct os_release *os, const struct advice_case *c, char *out, size_t size)
{
	const char *codename = os->codename[0] ? os->codename : "CODENAME";
	const char *sudo = c->root ? "" : "sudo ";
	char package[PACKAGE_ROOM + 8], download[96] = "";
	int n;

	advice_debug_package(c->owner, package, sizeof(package));
	if (c->debug_installed) {
		snprintf(out, size,
			 "%sapt install --only-upgrade %s %s (they are of different builds now), "
			 "then restart the program",
			 sudo, c->owner, package);
		return;
	}
	n = snprintf(out, size, "%sapt install %s", sudo, package);
	if (n < 0 || (size_t)n >= size || !is_dbgsym(package))
		return;
	out += n;
	size -= (size_t)n;
	if (os->distribution == DISTRIBUTION_DEBIAN) {
		by_debuginfod(c, "https://debuginfod.debian.org", download, sizeof(download));
		snprintf(out, size,
			 " after adding the archive of debug symbols: deb "
			 "http://deb.debian.org/debian-debug %s-debug main; or %s",
			 codename, download);
	} else if (os->distribution == DISTRIBUTION_UBUNTU) {
		by_debuginfod(c, "https://debuginfod.ubuntu.com", download, sizeof(download));
		snprintf(
			out, size,
			" after adding the archive of debug symbols: apt install "
			"ubuntu-dbgsym-keyring; deb http://ddebs.ubuntu.com %s main universe; or %s",
			codename, download);
	} else {
		snprintf(out, size, " from the distribution's archive of debug symbols");
	}
}

/* "/usr/lib/debug/.build-id/ab/cdef….debug", and the whole in hex. */
struct debug_id {
	char hex[2 * 64 + 1];
	char path[2 * 64 + 48];
};

static bool debug_id(const struct advice_case *c, struct debug_id *ret)
{
	if (c->build_id_size < 2 || c->build_id_size > 64)
		return false;
	for (size_t i = 0; i < c->build_id_size; i++)
		snprintf(ret->hex + 2 * i, 3, "%02x", c->build_id[i]);
	snprintf(ret->path, sizeof(ret->path), "/usr/lib/debug/.build-id/%.2s/%s.debug", ret->hex,
		 ret->hex + 2);
	return true;
}

static void file_advice(const struct os_release *os, const struct advice_case *c, char *out,
			size_t size)
{
	const char *sudo = c->root ? "" : "sudo ";
	struct debug_id id;

	if (c->owner_state == OWNER_SEARCHING)
		return;
	if (c->owner_state == OWNER_FOUND) {
		debian(os, c, out, size);
		return;
	}
	if (!debug_id(c, &id)) {
		snprintf(out, size,
			 "rebuild it with -g -Wl,--build-id and without strip: it has no build-id "
			 "to find a debug file by");
		return;
	}
	if (c->owner_state == OWNER_NONE) {
		snprintf(out, size,
			 "no package holds it: build it without strip, or put what strip took away "
			 "into %s",
			 id.path);
		return;
	}
	switch (os->distribution) {
	case DISTRIBUTION_FEDORA:
		snprintf(out, size, "%sdnf --enablerepo='*debug*' install %s", sudo, id.path);
		break;
	case DISTRIBUTION_SUSE:
		snprintf(out, size, "%szypper install -C 'debuginfo(build-id)=%s'", sudo, id.hex);
		break;
	case DISTRIBUTION_ARCH:
		by_debuginfod(c, "https://debuginfod.archlinux.org", out, size);
		break;
	case DISTRIBUTION_ALPINE:
		snprintf(out, size, "%sapk add PACKAGE-dbg; apk info --who-owns FILE tells PACKAGE",
			 sudo);
		break;
	default:
		by_debuginfod(c, "https://debuginfod.elfutils.org", out, size);
	}
}

/* What a runtime is told so that it writes down the names of the code it makes. */
static const struct {
	const char *comm; /* how the process's name begins */
	const char *text;
	bool takes_pid; /* %d is its number */
} runtimes[] = {
	{ "node", "start it as: node --perf-basic-prof", false },
	{ "MainThread", "start it as: node --perf-basic-prof", false },
	{ "java",
	  "jcmd %d Compiler.perfmap (JDK 17 and newer; again for code compiled later); start it "
	  "with -XX:+PreserveFramePointer for whole stacks",
	  true },
	{ "python", "start it as: python3 -X perf (3.12 and newer)", false },
	{ "dotnet", "start it as: DOTNET_PerfMapEnabled=1 dotnet", false },
	{ "ruby", "start it as: ruby --yjit --yjit-perf=map", false },
	{ "beam.smp", "start it as: erl +JPperf true", false },
	{ "php", "start it with -d opcache.jit_debug=0x10", false },
	{ "wasmtime", "start it as: wasmtime run --profile=perfmap", false },
	{ "chrom", "start it with --no-sandbox --js-flags=--perf-basic-prof", false },
};

static void jit_advice(const struct advice_case *c, char *out, size_t size)
{
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++) {
		const char *text = runtimes[i].text, *pid = strstr(text, "%d");

		if (strncmp(c->comm, runtimes[i].comm, strlen(runtimes[i].comm)) != 0)
			continue;
		if (!runtimes[i].takes_pid || !pid)
			snprintf(out, size, "%s", text);
		else if (c->alive)
			snprintf(out, size, "%.*s%d%s", (int)(pid - text), text, (int)c->pid,
				 pid + 2);
		else
			snprintf(out, size, "%.*sPID%s", (int)(pid - text), text, pid + 2);
		return;
	}
	snprintf(out, size,
		 "have the program write /tmp/perf-PID.map, a line \"START SIZE NAME\" in hex for "
		 "each function it makes");
}

static void kernel_advice(const struct advice_case *c, char *out, size_t size)
{
	/* Without CAP_SYSLOG both must allow it: kallsyms_show_value() in the kernel. */
	if (c->root)
		snprintf(out, size, "sysctl kernel.kptr_restrict=0");
	else
		snprintf(out, size,
			 "run ptop as root, or: sudo sysctl kernel.kptr_restrict=0 "
			 "kernel.perf_event_paranoid=1");
}

void advice_write(const struct os_release *os, const struct advice_case *c, char *out, size_t size)
{
	out[0] = '\0';
	if (strcmp(c->names, "none") != 0 && strcmp(c->names, "dynsym") != 0)
		return;
	if (c->kind == ADVICE_JIT)
		jit_advice(c, out, size);
	else if (c->kind == ADVICE_KERNEL)
		kernel_advice(c, out, size);
	else
		file_advice(os, c, out, size);
}
