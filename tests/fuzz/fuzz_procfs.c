// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc/PID/maps and /proc/PID/status, whose names and paths any user chooses. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "space/procfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct procfs_status status;
	struct procfs_map map;
	size_t pos = 0, before = 0;
	char path[64];

	while (procfs_next_map(text, size, &pos, &map)) {
		if (pos <= before || pos > size || map.start >= map.end)
			abort();
		before = pos;
		if (map.path_size &&
		    procfs_unescape(path, sizeof(path), map.path, map.path_size) >= sizeof(path))
			abort();
	}
	procfs_status(text, size, &status);
	return 0;
}
