/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "modules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "base/text.h"
#include "image/key.h"
#include "image/open.h"
#include "owners.h"

#define OS_RELEASE_MAX 65536
#define HEX_ROOM (2 * 20 + 1)
#define PATH_ROOM 4096

_Static_assert(FRAME_PSEUDO == IMAGE_PSEUDO, "the query by module tells ptop's own frames by it");

struct modules {
	const struct space *space;
	const struct images *images;
	const struct symbols *symbols;
	bool here, live;
	struct os_release os;
	struct owners *owners;
	bool search; /* for what is not known of the module asked for */
	/* of the last module asked for */
	char name[256], path[PATH_ROOM], build_id[HEX_ROOM], advice[512];
};

static void read_os_release(struct os_release *ret)
{
	static const char *const paths[] = { "/etc/os-release", "/usr/lib/os-release" };
	char *bytes = malloc(OS_RELEASE_MAX);
	int root = open_root(0);

	*ret = (struct os_release){ 0 };
	for (size_t i = 0; bytes && root >= 0 && i < 2; i++) {
		int fd = open_in_root(root, paths[i]);
		ssize_t n = fd < 0 ? -1 : read(fd, bytes, OS_RELEASE_MAX);

		if (fd >= 0)
			close(fd);
		if (n <= 0)
			continue;
		os_release_parse(bytes, (size_t)n, ret);
		break;
	}
	if (root >= 0)
		close(root);
	free(bytes);
}

struct modules *modules_new(const struct pipeline *pl, bool here, bool live)
{
	struct modules *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->space = pl->space;
	m->images = pl->images;
	m->symbols = pl->symbols;
	m->here = here;
	m->live = live;
	m->owners = owners_new("/var/lib/dpkg/info");
	if (!m->owners) {
		free(m);
		return NULL;
	}
	if (here)
		read_os_release(&m->os); /* else any distribution may have built the files */
	return m;
}

void modules_free(struct modules *m)
{
	if (!m)
		return;
	owners_free(m->owners);
	free(m);
}

/*
 * Where packages put files; nobody else can write there, so that looking at a path is safe and
 * quick.
 */
static bool is_packaged(const char *path)
{
	static const char *const places[] = { "/usr/", "/lib/",  "/lib64/", "/lib32/",
					      "/bin/", "/sbin/", "/opt/" };

	if (!strncmp(path, "/usr/local/", 11))
		return false;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (!strncmp(path, places[i], strlen(places[i])))
			return true;
	}
	return false;
}

/* Whether the file at @path in our own root is the mapped one: not so in a container. */
static bool is_ours(const struct image_key *key, const char *path)
{
	struct image_sight sight = {
		.path = path, .maj = key->maj, .min = key->min, .ino = key->ino
	};
	struct file_key found;
	int root = open_root(0), fd;
	bool ours = false;

	if (root < 0)
		return false;
	fd = open_in_root(root, path);
	close(root);
	if (fd < 0)
		return false;
	ours = file_key_read(fd, false, &found) == 0 &&
	       file_key_matches(&found, &sight, VIA_PATH, false);
	close(fd);
	return ours;
}

static struct owner owner_of(struct modules *m, const struct image_key *key, const char *path)
{
	struct owner none = { .state = OWNER_UNKNOWN };

	if (!is_packaged(path))
		none.state = OWNER_NONE;
	else if (m->here && advice_by_owner(&m->os) && is_ours(key, path))
		return owners_get(m->owners, path, m->search);
	return none;
}

static void tell_advice(struct modules *m, struct advice_case *c, struct ui_module *ret)
{
	c->names = ret->names;
	c->root = geteuid() == 0;
	advice_write(&m->os, c, m->advice, sizeof(m->advice));
	ret->advice = m->advice;
	ret->weak = !strcmp(ret->names, "none") || !strcmp(ret->names, "dynsym");
}

static void tell_kernel(struct modules *m, struct ui_module *ret)
{
	struct advice_case c = { .kind = ADVICE_KERNEL };

	snprintf(m->name, sizeof(m->name), "[kernel]");
	ret->kernel = true;
	ret->names = symbols_source(m->symbols, IMAGE_KERNEL);
	ret->names_why = symbols_kernel_why(m->symbols);
	ret->rows_why = "the kernel walks its own stacks";
	if (m->live)
		tell_advice(m, &c, ret);
}

static void tell_jit(struct modules *m, uint32_t image, const struct image_key *key,
		     struct ui_module *ret)
{
	struct process_info p = { .pid = key->pid, .comm = "", .dead = true };
	struct advice_case c = { .kind = ADVICE_JIT };
	char comm[64];

	space_process_info(m->space, key->process, &p);
	text_scrub(comm, sizeof(comm), p.comm, strlen(p.comm), false);
	if (key->kind == IMAGE_ANON)
		snprintf(m->name, sizeof(m->name), p.dead ? "[jit] %s" : "[jit] %s[%d]", comm,
			 (int)p.pid);
	ret->names = symbols_source(m->symbols, image);
	if (!strcmp(ret->names, "none"))
		ret->names_why = "it is made while the program runs, and no perf map names it";
	ret->rows_why = "code made while a program runs has no tables";
	c.comm = p.comm;
	c.pid = p.pid;
	c.alive = m->live && !p.dead;
	tell_advice(m, &c, ret);
}

static void tell_rows(struct modules *m, uint32_t image, struct ui_module *ret)
{
	switch (images_rows(m->images, image)) {
	case IMAGE_ROWS_READY:
		ret->rows = "yes";
		break;
	case IMAGE_ROWS_WAITING:
		ret->rows = "wait";
		break;
	case IMAGE_ROWS_FAILED:
		ret->rows = "no";
		break;
	default:
		ret->rows_why = "no stack was unwound through it so far";
		return;
	}
	ret->rows_why = images_rows_why(m->images, image);
}

static void tell_inlined(struct modules *m, uint32_t image, struct ui_module *ret)
{
	static const char *const words[] = {
		[IMAGE_ROWS_UNASKED] = "-",
		[IMAGE_ROWS_WAITING] = "wait",
		[IMAGE_ROWS_READY] = "yes",
		[IMAGE_ROWS_FAILED] = "no",
	};

	ret->inlined = words[images_inlines_state(m->images, image)];
	ret->inlined_why = images_inlines_why(m->images, image);
}

static void tell_file(struct modules *m, uint32_t image, const struct image_key *key,
		      const char *path, struct ui_module *ret)
{
	enum image_state state = images_state(m->images, image);
	struct advice_case c = { .kind = ADVICE_FILE };
	struct owner owner;

	ret->names = symbols_source(m->symbols, image);
	ret->names_why = images_why(m->images, image);
	tell_rows(m, image, ret);
	tell_inlined(m, image, ret);
	if (state == IMAGE_FAILED) {
		ret->weak = true; /* why it failed says what mends it */
		return;
	}
	if (state != IMAGE_LOADED) {
		ret->names = "wait";
		ret->names_why = "the file is being read";
		return;
	}
	if (key->kind == IMAGE_VDSO)
		return;
	c.build_id_size = images_build_id(m->images, image, &c.build_id);
	if (!strcmp(ret->names, "none") || !strcmp(ret->names, "dynsym")) {
		owner = owner_of(m, key, path);
		c.owner_state = owner.state;
		c.owner = owner.package;
		c.debug_installed = owner.debug_installed;
	}
	tell_advice(m, &c, ret);
}

/* The last part of the path, without the kernel's " (deleted)". */
static void name_file(struct modules *m)
{
	static const char gone[] = " (deleted)";
	size_t len = strlen(m->path), cut = sizeof(gone) - 1;
	const char *slash;

	if (len > cut && !memcmp(m->path + len - cut, gone, cut))
		len -= cut;
	slash = memrchr(m->path, '/', len);
	slash = slash && slash + 1 < m->path + len ? slash + 1 : m->path;
	snprintf(m->name, sizeof(m->name), "%.*s", (int)(len - (size_t)(slash - m->path)), slash);
}

static void tell_build_id(struct modules *m, uint32_t image)
{
	const uint8_t *id;
	size_t size = images_build_id(m->images, image, &id);

	m->build_id[0] = '\0';
	for (size_t i = 0; i < size && 2 * i + 2 < sizeof(m->build_id); i++)
		snprintf(m->build_id + 2 * i, 3, "%02x", id[i]);
}

void modules_peek(struct modules *m, uint32_t image, struct ui_module *ret)
{
	const struct image_key *key = image >= IMAGE_FIRST ? space_image(m->space, image) : NULL;
	const char *path = key && key->kind != IMAGE_ANON ? space_string(m->space, key->path) : "";

	*ret = (struct ui_module){
		.name = m->name,
		.path = m->path,
		.build_id = m->build_id,
		.names = "none",
		.names_why = "",
		.rows = "-",
		.rows_why = "",
		.inlined = "-",
		.inlined_why = "",
		.advice = "",
	};
	text_scrub(m->path, sizeof(m->path), path, strlen(path), false);
	name_file(m);
	tell_build_id(m, image);
	if (image == IMAGE_KERNEL) {
		tell_kernel(m, ret);
	} else if (!key) {
		snprintf(m->name, sizeof(m->name), "[unknown]");
		ret->names_why = "no mapping of the process holds these addresses";
	} else if (symbols_jit(m->symbols, image)) {
		tell_jit(m, image, key, ret);
	} else {
		tell_file(m, image, key, path, ret);
	}
}

void modules_get(void *modules, uint32_t image, struct ui_module *ret)
{
	struct modules *m = modules;

	m->search = true;
	modules_peek(m, image, ret);
	m->search = false;
}

bool modules_searching(const struct modules *m)
{
	return owners_searching(m->owners);
}

bool modules_work(struct modules *m, uint64_t budget_ns)
{
	return owners_work(m->owners, budget_ns);
}
