// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A distribution's description, dpkg's lists and a process's name on their way into a command that
 * people paste: whatever goes in, nothing that a terminal or a shell would act on comes out of
 * them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_all(const struct os_release *os, struct advice_case *c)
{
	static const uint8_t id[20] = { 1, 2, 3 };
	static const char *const names[] = { "none", "dynsym", "symtab" };
	char out[512], brief[7];

	for (int kind = ADVICE_FILE; kind <= ADVICE_KERNEL; kind++) {
		for (int state = OWNER_UNKNOWN; state <= OWNER_FOUND; state++) {
			for (size_t i = 0; i < 3; i++) {
				c->kind = (enum advice_kind)kind;
				c->owner_state = (enum advice_owner)state;
				c->names = names[i];
				c->build_id = id;
				c->build_id_size = 20 * (i != 1);
				advice_write(os, c, out, sizeof(out));
				for (const char *p = out; *p; p++) {
					if (*p < 0x20 || *p > 0x7e || *p == '`')
						abort();
				}
				advice_write(os, c, brief, sizeof(brief));
				if (strlen(brief) >= sizeof(brief))
					abort();
			}
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), package[PACKAGE_ROOM];
	struct advice_case c = { .pid = 42 };
	struct os_release os;

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = 0;
	os_release_parse(text, size, &os);
	if (strlen(os.codename) >= sizeof(os.codename))
		abort();
	dpkg_list_names(text, size, "/usr/bin/ldd");
	dpkg_list_names("/usr/bin/ldd\n", 13, text);
	c.owner = dpkg_package(text, package, sizeof(package)) ? package : "libc6";
	c.comm = text;
	c.alive = size % 2;
	c.root = size % 3 == 0;
	c.debug_installed = size % 5 == 0;
	write_all(&os, &c);
	free(text);
	return 0;
}
