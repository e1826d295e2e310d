/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/vec.h"

#include <stdint.h>
#include <string.h>

int vec_grow(void *at, size_t *cap, size_t wanted, size_t size)
{
	size_t room = *cap ? *cap : 8;
	void *old, *grown;

	while (room < wanted) {
		if (room > SIZE_MAX / 2)
			return -ENOMEM;
		room *= 2;
	}
	if (room > PTRDIFF_MAX / size)
		return -ENOMEM;
	memcpy(&old, at, sizeof(old)); /* the pointer's own type is the caller's */
	grown = realloc(old, room * size);
	if (!grown)
		return -ENOMEM;
	memcpy(at, &grown, sizeof(grown));
	*cap = room;
	return 0;
}
