/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "settle.h"

#include <poll.h>

#include "clock.h"

static bool waits(const struct session *s, bool inlined)
{
	return pipeline_naming(s->pipeline) ||
	       (inlined && images_inlines_waiting(s->pipeline->images));
}

void settle_names(struct session *s, uint64_t until_ns, bool inlined)
{
	struct pollfd ready = { .fd = session_loader_fd(s), .events = POLLIN };

	while (names_update(s->pipeline->names) && waits(s, inlined) && clock_ns() < until_ns)
		if (!session_poll(s, until_ns))
			poll(&ready, 1, 5);
	if (session_recorded(s))
		session_poll(s, 0); /* which files were not the recorded ones is known only now */
}

uint64_t settle_records(struct session *s)
{
	uint64_t asked = session_ask(s), until = clock_ns() + 100 * NS_PER_MS, reached;
	struct pollfd ready[] = {
		{ .fd = session_fd(s), .events = POLLIN },
		{ .fd = session_loader_fd(s), .events = POLLIN },
	};

	while (session_poll(s, until) || session_reached(s) + 2 * NS_PER_MS < asked) {
		if (clock_ns() >= until)
			break;
		poll(ready, 2, 10);
	}
	reached = session_reached(s);
	return reached < asked ? reached : asked;
}
