// SPDX-License-Identifier: GPL-2.0-or-later
/* What mends missing names, by distribution; and packages found in lists like dpkg's. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "advice.h"
#include "owners.h"

static const uint8_t id[20] = { 0xab, 0xcd, 0xef, [19] = 0x01 };

#define HEX "abcdef0000000000000000000000000000000001"
#define DEBUG_FILE "/usr/lib/debug/.build-id/ab/cdef0000000000000000000000000000000001.debug"

static struct os_release os(const char *text)
{
	struct os_release ret;

	os_release_parse(text, strlen(text), &ret);
	return ret;
}

static const char *advice(const char *release, struct advice_case c)
{
	static char text[512];
	struct os_release r = os(release);

	if (!c.names)
		c.names = "dynsym";
	advice_write(&r, &c, text, sizeof(text));
	return text;
}

static void test_os_release(void **state)
{
	struct os_release r;

	(void)state;
	r = os("NAME=\"Debian GNU/Linux\"\nVERSION_CODENAME=bookworm\nID=debian\n");
	assert_int_equal(r.distribution, DISTRIBUTION_DEBIAN);
	assert_string_equal(r.codename, "bookworm");
	assert_int_equal(os("ID=ubuntu\nID_LIKE=debian").distribution, DISTRIBUTION_UBUNTU);
	assert_int_equal(os("ID=mint\nID_LIKE=\"ubuntu debian\"\n").distribution,
			 DISTRIBUTION_DEBIAN_LIKE);
	assert_int_equal(os("ID=\"rocky\"\n").distribution, DISTRIBUTION_FEDORA);
	assert_int_equal(os("ID='eurolinux'\nID_LIKE=\"rhel fedora\"\n").distribution,
			 DISTRIBUTION_FEDORA);
	assert_int_equal(os("ID=opensuse-leap\n").distribution, DISTRIBUTION_SUSE);
	assert_int_equal(os("ID=arch\n").distribution, DISTRIBUTION_ARCH);
	assert_int_equal(os("ID=alpine\n").distribution, DISTRIBUTION_ALPINE);
	assert_int_equal(os("ID=own\n").distribution, DISTRIBUTION_OTHER);
	assert_int_equal(os("").distribution, DISTRIBUTION_OTHER);
	assert_int_equal(os("IDS=debian\n#ID=debian\nXID=debian\n").distribution,
			 DISTRIBUTION_OTHER);
	/* what could act in a shell is not taken */
	assert_string_equal(os("ID=debian\nVERSION_CODENAME=\"$(x)\"\n").codename, "");
	assert_string_equal(os("VERSION_CODENAME=-o\n").codename, "");
}

static void test_debian(void **state)
{
	static const char debian[] = "ID=debian\nVERSION_CODENAME=bookworm\n";
	struct advice_case c = { .build_id = id,
				 .build_id_size = 20,
				 .owner_state = OWNER_FOUND,
				 .owner = "libc6",
				 .root = true };

	(void)state;
	assert_string_equal(advice(debian, c), "apt install libc6-dbg");
	c.root = false;
	assert_string_equal(advice(debian, c), "sudo apt install libc6-dbg");
	c.owner = "libpython3.11-stdlib";
	assert_string_equal(advice(debian, c), "sudo apt install python3.11-dbg");
	c.owner = "python3.11-minimal";
	assert_string_equal(advice(debian, c), "sudo apt install python3.11-dbg");
	c.owner = "libzstd1";
	assert_string_equal(advice(debian, c),
			    "sudo apt install libzstd1-dbgsym after adding the archive of debug "
			    "symbols: deb http://deb.debian.org/debian-debug bookworm-debug main; "
			    "or DEBUGINFOD_URLS=https://debuginfod.debian.org ptop --debuginfod");
	assert_non_null(strstr(advice("ID=ubuntu\nVERSION_CODENAME=noble\n", c),
			       "http://ddebs.ubuntu.com noble main"));
	assert_string_equal(advice("ID=mint\nID_LIKE=debian\n", c),
			    "sudo apt install libzstd1-dbgsym from the distribution's archive of "
			    "debug symbols");
	c.debug_installed = true;
	assert_non_null(strstr(advice(debian, c), "--only-upgrade libzstd1 libzstd1-dbgsym"));
	c.owner_state = OWNER_SEARCHING;
	assert_string_equal(advice(debian, c), "");
	c.owner_state = OWNER_NONE;
	assert_string_equal(advice(debian, c),
			    "no package holds it: build it without strip, or put what strip took "
			    "away into " DEBUG_FILE);
	c.names = "symtab";
	assert_string_equal(advice(debian, c), "");
	c.names = "none";
	c.build_id_size = 0;
	assert_non_null(strstr(advice(debian, c), "it has no build-id"));
}

static void test_others(void **state)
{
	struct advice_case c = { .build_id = id, .build_id_size = 20, .root = true };

	(void)state;
	assert_string_equal(advice("ID=fedora\n", c),
			    "dnf --enablerepo='*debug*' install " DEBUG_FILE);
	assert_string_equal(advice("ID=sles\n", c),
			    "zypper install -C 'debuginfo(build-id)=" HEX "'");
	assert_string_equal(
		advice("ID=arch\n", c),
		"DEBUGINFOD_URLS=https://debuginfod.archlinux.org ptop --debuginfod-as-root");
	assert_non_null(strstr(advice("ID=alpine\n", c), "apk add PACKAGE-dbg"));
	assert_non_null(strstr(advice("", c), "https://debuginfod.elfutils.org"));
	c.root = false;
	assert_memory_equal(advice("ID=fedora\n", c), "sudo dnf", 8);
}

static void test_jit_and_kernel(void **state)
{
	struct advice_case c = { .kind = ADVICE_JIT, .names = "none", .pid = 42, .alive = true };

	(void)state;
	c.comm = "node";
	assert_string_equal(advice("", c), "start it as: node --perf-basic-prof");
	c.comm = "java";
	assert_memory_equal(advice("", c), "jcmd 42 Compiler.perfmap (", 26);
	assert_non_null(strstr(advice("", c), "-XX:+PreserveFramePointer"));
	c.alive = false;
	assert_memory_equal(advice("", c), "jcmd PID Compiler", 17);
	c.comm = "python3.12";
	assert_non_null(strstr(advice("", c), "python3 -X perf"));
	c.comm = "own \033[2J";
	assert_non_null(strstr(advice("", c), "/tmp/perf-PID.map"));
	assert_null(strchr(advice("", c), '\033'));
	c.names = "perf map";
	assert_string_equal(advice("", c), "");
	c = (struct advice_case){ .kind = ADVICE_KERNEL, .names = "none", .root = true };
	assert_string_equal(advice("", c), "sysctl kernel.kptr_restrict=0");
	c.root = false;
	assert_non_null(strstr(advice("", c), "sudo sysctl kernel.kptr_restrict=0"));
}

static void test_lists(void **state)
{
	static const char list[] = "/.\n/lib/libc.so.6\n/usr/bin/ldd\n/usr/bin/lddx";
	size_t size = sizeof(list) - 1;
	char package[PACKAGE_ROOM];

	(void)state;
	assert_true(dpkg_list_names(list, size, "/lib/libc.so.6"));
	assert_true(dpkg_list_names(list, size, "/usr/lib/libc.so.6")); /* a merged /usr */
	assert_true(dpkg_list_names(list, size, "/usr/bin/ldd"));
	assert_true(dpkg_list_names(list, size, "/usr/bin/lddx"));
	assert_false(dpkg_list_names(list, size, "/usr/bin/ld"));
	assert_false(dpkg_list_names(list, size, "/bin/ldd"));
	assert_false(dpkg_list_names(list, size, ""));
	assert_false(dpkg_list_names("", 0, "/usr/bin/ldd"));
	assert_true(dpkg_package("libc6:amd64.list", package, sizeof(package)));
	assert_string_equal(package, "libc6");
	assert_true(dpkg_package("g++-12.list", package, sizeof(package)));
	assert_string_equal(package, "g++-12");
	assert_false(dpkg_package("libc6:amd64.md5sums", package, sizeof(package)));
	assert_false(dpkg_package(".list", package, sizeof(package)));
	assert_false(dpkg_package("$(x).list", package, sizeof(package)));
	assert_false(dpkg_package("-o.list", package, sizeof(package)));
	assert_false(dpkg_package("a very long name.list", package, 4));
}

static void put(const char *dir, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void test_owners(void **state)
{
	static const char *const names[] = { "libc6:amd64.list", "libc6-dbg:amd64.list",
					     "zlib1g:amd64.list", "other.conffiles" };
	char dir[] = "/tmp/ptop-owners-XXXXXX", path[256];
	struct owners *o;
	struct owner owner;

	(void)state;
	assert_non_null(mkdtemp(dir));
	put(dir, names[0], "/.\n/lib\n/lib/libc.so.6\n");
	put(dir, names[1], "/usr/lib/debug\n");
	put(dir, names[2], "/usr/lib/libz.so.1\n");
	put(dir, names[3], "/usr/bin/nobody\n");
	snprintf(path, sizeof(path), "%s/fifo.list", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	o = owners_new(dir);
	assert_non_null(o);
	assert_false(owners_searching(o));
	assert_false(owners_work(o, 0));
	assert_int_equal(owners_get(o, "/usr/lib/libc.so.6", false).state, OWNER_SEARCHING);
	assert_false(owners_searching(o)); /* nobody asked for a search */
	assert_int_equal(owners_get(o, "/usr/lib/libc.so.6", true).state, OWNER_SEARCHING);
	assert_true(owners_work(o, 0)); /* a slice is at least one step, and not all */
	assert_int_equal(owners_get(o, "/usr/lib/libz.so.1", true).state, OWNER_SEARCHING);
	assert_int_equal(owners_get(o, "/usr/bin/nobody", true).state, OWNER_SEARCHING);
	while (owners_work(o, 0))
		;
	owner = owners_get(o, "/usr/lib/libc.so.6", false);
	assert_int_equal(owner.state, OWNER_FOUND);
	assert_string_equal(owner.package, "libc6");
	assert_true(owner.debug_installed);
	owner = owners_get(o, "/usr/lib/libz.so.1", false);
	assert_int_equal(owner.state, OWNER_FOUND);
	assert_string_equal(owner.package, "zlib1g");
	assert_false(owner.debug_installed);
	assert_int_equal(owners_get(o, "/usr/bin/nobody", false).state, OWNER_NONE);
	owners_free(o);
	unlink(path);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(dir), 0);
	o = owners_new(dir); /* no dpkg here */
	assert_int_equal(owners_get(o, "/usr/bin/ldd", true).state, OWNER_SEARCHING);
	while (owners_work(o, 0))
		;
	assert_int_equal(owners_get(o, "/usr/bin/ldd", true).state, OWNER_UNKNOWN);
	owners_free(o);
	owners_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_os_release), cmocka_unit_test(test_debian),
		cmocka_unit_test(test_others),     cmocka_unit_test(test_jit_and_kernel),
		cmocka_unit_test(test_lists),      cmocka_unit_test(test_owners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
