/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracing data (tools/perf/util/trace-event-read.c of Linux tells its order): a magic, a
 * version, byte order, size of a long and of a page; the files header_page and header_event; the
 * formats of ftrace's own events; by system those of the others; the kernel's symbols; the strings
 * of trace_printk().  Sizes stand before each part.
 */
#include "trace/formats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

#ifdef HAVE_TRACEEVENT

#include <traceevent/event-parse.h>
#include <traceevent/trace-seq.h>

#include "record/cursor.h"

static const char magic[] = "\x17\x08\x44tracing";

enum { EVENTS_MAX = 1 << 16 };

struct formats {
	struct tep_handle *tep;
	formats_function_fn *function;
	void *ctx;
};

bool formats_built_in(void)
{
	return true;
}

/* Text up to and with a NUL. */
static bool take_string(struct cursor *c, const char **ret)
{
	const uint8_t *end = memchr(c->at, '\0', cursor_left(c));

	if (!end)
		return false;
	*ret = (const char *)c->at;
	c->at = end + 1;
	return true;
}

/* A part, its size before it, as text of its own; to be freed.  NULL: cut short. */
static char *take_text(struct cursor *c, bool wide, size_t *ret_size)
{
	uint32_t narrow = 0;
	uint64_t size = 0;
	struct bytes part;
	char *text;

	if (wide ? !cursor_u64(c, &size) : !cursor_u32(c, &narrow))
		return NULL;
	if (!cursor_bytes(c, wide ? size : narrow, &part))
		return NULL;
	text = malloc((size_t)part.size + 1);
	if (!text)
		return NULL;
	memcpy(text, part.at, part.size);
	text[part.size] = '\0';
	*ret_size = part.size;
	return text;
}

static bool take_head(struct formats *f, struct cursor *c)
{
	struct bytes head;
	const char *version;
	uint8_t big, long_size;
	uint32_t page;

	if (!cursor_bytes(c, sizeof(magic) - 1, &head) ||
	    memcmp(head.at, magic, sizeof(magic) - 1) != 0 || !take_string(c, &version) ||
	    !cursor_u8(c, &big) || !cursor_u8(c, &long_size))
		return false;
	c->swap = !!big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	if (!cursor_u32(c, &page) || (long_size != 4 && long_size != 8))
		return false;
	tep_set_file_bigendian(f->tep, big ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	tep_set_long_size(f->tep, long_size);
	tep_set_page_size(f->tep, (int)page);
	return true;
}

static bool take_header_files(struct formats *f, struct cursor *c)
{
	const char *name;
	size_t size;
	char *text;

	if (!take_string(c, &name) || !(text = take_text(c, true, &size)))
		return false;
	tep_parse_header_page(f->tep, text, size, tep_get_long_size(f->tep));
	free(text);
	if (!take_string(c, &name) || !(text = take_text(c, true, &size)))
		return false;
	free(text);
	return true;
}

static bool take_events(struct formats *f, struct cursor *c, const char *system)
{
	uint32_t nr;
	size_t size;
	char *text;

	if (!cursor_u32(c, &nr) || nr > EVENTS_MAX)
		return false;
	for (uint32_t i = 0; i < nr; i++) {
		text = take_text(c, true, &size);
		if (!text)
			return false;
		tep_parse_event(f->tep, text, size, system);
		free(text);
	}
	return true;
}

static bool take_systems(struct formats *f, struct cursor *c)
{
	const char *system;
	uint32_t nr;

	if (!cursor_u32(c, &nr) || nr > EVENTS_MAX)
		return false;
	for (uint32_t i = 0; i < nr; i++)
		if (!take_string(c, &system) || !take_events(f, c, system))
			return false;
	return true;
}

/* "0xffffffff8248f8e8 : "format"", a line each. */
static void take_printks(struct formats *f, struct cursor *c)
{
	char *text, *line, *lines, *colon;
	size_t size;

	text = take_text(c, false, &size); /* the kernel's symbols, which nobody records now */
	free(text);
	if (!text)
		return;
	text = take_text(c, false, &size);
	if (!text)
		return;
	for (line = strtok_r(text, "\n", &lines); line; line = strtok_r(NULL, "\n", &lines)) {
		colon = strchr(line, ':');
		if (colon)
			tep_register_print_string(f->tep, colon + 1, strtoull(line, NULL, 16));
	}
	free(text);
}

static char *resolve(void *priv, unsigned long long *addr, char **module)
{
	const struct formats *f = priv;
	uint64_t start;
	const char *name = f->function(f->ctx, *addr, &start);

	*module = NULL;
	if (name)
		*addr = start;
	return (char *)name; /* is read only, whatever the type says */
}

struct formats *formats_new(const void *bytes, size_t size, formats_function_fn *function,
			    void *ctx)
{
	struct cursor c = cursor_of(bytes, size, false);
	struct formats *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->function = function;
	f->ctx = ctx;
	tep_set_loglevel(TEP_LOG_NONE);
	f->tep = tep_alloc();
	if (!f->tep || !take_head(f, &c)) {
		formats_free(f);
		return NULL;
	}
	if (function)
		tep_set_function_resolver(f->tep, resolve, f);
	if (take_header_files(f, &c) && take_events(f, &c, "ftrace") && take_systems(f, &c))
		take_printks(f, &c);
	return f;
}

void formats_free(struct formats *f)
{
	if (!f)
		return;
	tep_free(f->tep);
	free(f);
}

int formats_text(struct formats *f, uint32_t cpu, const void *raw, size_t size, char *out,
		 size_t room)
{
	struct tep_record record = { .cpu = (int)cpu, .data = (void *)raw, .size = (int)size };
	struct trace_seq text;
	size_t len;

	if (size > INT32_MAX || !tep_find_event_by_record(f->tep, &record))
		return -ENOENT;
	trace_seq_init(&text);
	tep_print_event(f->tep, &text, &record, "%s", TEP_PRINT_INFO);
	len = text.buffer && text.len ? text.len : 0;
	if (len >= room)
		len = room - 1;
	memcpy(out, text.buffer, len);
	out[len] = '\0';
	trace_seq_destroy(&text);
	return (int)len;
}

#else

bool formats_built_in(void)
{
	return false;
}

struct formats *formats_new(const void *bytes, size_t size, formats_function_fn *function,
			    void *ctx)
{
	(void)bytes;
	(void)size;
	(void)function;
	(void)ctx;
	return NULL;
}

void formats_free(struct formats *f)
{
	(void)f;
}

int formats_text(struct formats *f, uint32_t cpu, const void *raw, size_t size, char *out,
		 size_t room)
{
	(void)f;
	(void)cpu;
	(void)raw;
	(void)size;
	(void)out;
	(void)room;
	return -ENOENT;
}

#endif
