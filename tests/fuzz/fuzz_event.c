// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of events as typed: parsed to an event whose name parses to the same, or refused with a
 * sentence. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "event/event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct event event, again;
	struct reason why = { 0 };

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = 0;
	if (event_parse(text, &event, &why)) {
		if (!why.text[0])
			abort();
	} else if (event_parse(event.name, &again, &why) || again.config != event.config ||
		   again.type != event.type || again.precise != event.precise) {
		abort();
	}
	free(text);
	return 0;
}
