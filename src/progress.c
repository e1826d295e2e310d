/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text.h"
#include "clock.h"

#define SHOW_NS (200 * NS_PER_MS)
#define LINE_COLUMNS 78

void progress_text(const struct session_progress *p, char *out, size_t size)
{
	char bytes[16], samples[8], left[32] = "";
	size_t len;

	text_count(samples, p->samples);
	text_bytes(bytes, p->size ? p->size : p->bytes);
	if (!isnan(p->left_s) && p->left_s < 3600 * 99)
		snprintf(left, sizeof(left), ", %.0fs left", ceil(p->left_s));
	len = p->size ? (size_t)snprintf(out, size, "%.0f%% of ",
					 100.0 * (double)p->bytes / (double)p->size)
		      : 0;
	if (len < size)
		snprintf(out + len, size - len, "%s, %s samples%s", bytes, samples, left);
}

void progress_begin(struct progress_line *l)
{
	*l = (struct progress_line){ .on = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO) };
}

void progress_show(struct progress_line *l, const struct session *s)
{
	struct session_progress p;
	uint64_t now = clock_ns();
	char text[LINE_COLUMNS];

	if (!l->on || now - l->shown_ns < SHOW_NS || !session_progress(s, &p))
		return;
	l->shown_ns = now;
	progress_text(&p, text, sizeof(text));
	fprintf(stderr, "\rptop: reading %-60.60s", text);
}

void progress_end(struct progress_line *l)
{
	if (l->shown_ns)
		fprintf(stderr, "\r%*s\r", LINE_COLUMNS, "");
	l->shown_ns = 0;
}
