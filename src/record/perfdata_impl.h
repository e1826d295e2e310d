/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of perfdata share; private to them. */
#ifndef PTOP_RECORD_PERFDATA_IMPL_H
#define PTOP_RECORD_PERFDATA_IMPL_H

#include "base/map.h"
#include "base/vec.h"
#include "record/cursor.h"
#include "record/perfdata.h"

enum {
	RECORD_HEADER_BYTES = 8,
	RECORD_BYTES_MAX = 65536, /* header.size is 16 bits wide */
	ATTR_BYTES_LEAST = 64,    /* PERF_ATTR_SIZE_VER0 */
	SECTION_BYTES = 16,       /* offset and size */
	PERFDATA_EVENTS_MAX = 1 << 16,
	TRACING_BYTES_MAX = 64 << 20,
};

/* Room that input is read into.  While records in it are on lease it is not written over. */
struct stream_block {
	struct lease lease; /* first */
	struct perfdata_stream *stream;
	struct stream_block *next; /* among the spare */
	uint8_t bytes[];
};

/*
 * Input as a window that moves forward: bytes from @at to @end are there.  Over memory the window
 * is all of it.  Records on lease must be given back before it is done.
 */
struct perfdata_stream {
	int fd; /* -1: memory */
	bool seekable;
	const uint8_t *start, *at, *end;
	struct stream_block *block; /* NULL: memory */
	struct stream_block *spare;
	uint32_t nr_spare;
	size_t cap;      /* of a block */
	uint64_t offset; /* of @at in the input */
	uint64_t size;   /* of the input; UINT64_MAX: not known */
	int err;         /* of a read that failed */
	bool ended;
	/* stream_want() takes what is there, and sets .dry where that is too little. */
	bool dont_wait;
	bool dry;
};

/* Takes @fd; its windows are of @window bytes (RECORD_BYTES_MAX + 4096 at least). */
int stream_init_fd(struct perfdata_stream *s, int fd, size_t window);
void stream_init_memory(struct perfdata_stream *s, const void *bytes, size_t size);
void stream_done(struct perfdata_stream *s);
/* Tries to have @n bytes in the window (n <= RECORD_BYTES_MAX + 4096); returns what is there. */
size_t stream_want(struct perfdata_stream *s, size_t n);
void stream_take(struct perfdata_stream *s, size_t n); /* n <= what is there */
/* Moves on by @n bytes; returns how many there were. */
uint64_t stream_skip(struct perfdata_stream *s, uint64_t n);
/* Continues at @offset; seekable only.  0 or -errno. */
int stream_seek(struct perfdata_stream *s, uint64_t offset);
/* Reads elsewhere, without moving; seekable only.  Returns the bytes read. */
size_t stream_read_at(const struct perfdata_stream *s, uint64_t offset, void *out, size_t n);
/* Puts the rest of the input into a temporary file and goes on with that.  0 or -errno. */
int stream_spool(struct perfdata_stream *s);

/* The decompressor of COMPRESSED records, made at the first one. */
struct perfdata_inflate {
	void *zstd;
	uint8_t *in; /* what is left of the record in hand */
	size_t in_pos, in_size;
	uint8_t *out;
	size_t out_pos, out_size;
	uint64_t offset; /* in the file, of the record in hand */
	bool full;       /* the last call filled the room: more may come */
};

void inflate_done(struct perfdata_inflate *z);
/* Takes the compressed bytes of a record.  0, -ENOMEM. */
int inflate_take(struct perfdata_inflate *z, const uint8_t *bytes, size_t size, uint64_t offset);
/* Makes more bytes out of them.  1: there are more; 0: none left; -EBADMSG; -ENOMEM. */
int inflate_more(struct perfdata_inflate *z);

/* A file with records: the recording, or of a folder one of those beside it ("data.3"). */
struct perfdata_input {
	struct perfdata_stream stream;
	struct perfdata_inflate inflate;
	uint64_t data_end; /* UINT64_MAX: up to the end of the input */
	uint64_t behind;   /* bytes behind the last record that are no record */
	uint64_t time_ns;  /* of the last record that told one */
	char name[24];     /* "": the recording itself */
	bool ended;
};

struct perfdata {
	/* Of who reads. */
	struct perfdata_input first; /* with the header */
	struct perfdata_input *in;   /* being read */
	VEC(struct perfdata_input *) others;
	uint64_t leave_ns;    /* read on in another file past this time */
	uint64_t last_id;     /* found last */
	int last_event;       /* its event; -1: none yet */
	VEC(uint8_t) tracing; /* pipe mode: the formats of tracepoints */
	bool tracing_next;    /* they are behind the last record */
	bool quiet;           /* perfdata_quiet() */
	bool put_off;         /* .change has not been applied */
	struct perfdata_record change;
	struct reason stopped;
	bool damaged;

	/* What is known of the recording: another thread may look at it (not on the same line). */
	char apart[64];
	bool swap;       /* recorded on a machine of the other byte order */
	bool big_endian; /* recorded on a big-endian one */
	bool pipe;
	bool unfinished;     /* its recorder left no size */
	uint64_t data_start; /* file mode: where the records are */
	VEC(struct perfdata_event) events;
	VEC(size_t) places;  /* an event of each way to place ids: a few hundred at most */
	struct map ids;      /* id -> event */
	bool same_layout;    /* of all events, as far as finding ids goes */
	bool identified;     /* all events have PERF_SAMPLE_IDENTIFIER */
	char made_name[128]; /* by perfdata_event_name() */
	struct perfdata_facts facts;
	VEC(struct perfdata_build_id) build_ids;
	uint64_t features[4];
	uint64_t tracing_at, tracing_size; /* file mode: where the formats of tracepoints are */
};

/*
 * perfdata_folder.c: `perf record --threads` makes a folder, with the header and the records of its
 * main thread in "data", those of others in "data.0", "data.1" and so on.
 */
/* The descriptor of "data" in folder @fd (not taken), or -errno with a sentence. */
int folder_open_first(int fd, struct reason *why);
/* Opens the others.  0, or -errno with a sentence. */
int folder_open_others(struct perfdata *pd, int fd, struct reason *why);
/* Chooses the file to read on in: the one that is least far in time.  False: all are at their end.
 */
bool folder_choose(struct perfdata *pd);

/* perfdata_attr.c */
/* Parses an attr of @size bytes.  False where it is too short. */
bool attr_parse(const struct perfdata *pd, const uint8_t *bytes, size_t size,
		struct perfdata_event *ret);
/* Adds an event; its index or -ENOMEM, -E2BIG. */
int event_add(struct perfdata *pd, const struct perfdata_event *e);
int event_add_id(struct perfdata *pd, uint64_t id, size_t event);
int event_set_name(struct perfdata *pd, size_t event, const uint8_t *text, size_t size);
/* Finds the event and the place in time of a kernel's record; false where it cannot be read. */
bool event_find(struct perfdata *pd, struct perfdata_record *r);

/* perfdata_header.c: what stands before the records.  0, or -errno with a sentence. */
int header_read(struct perfdata *pd, struct reason *why);

/* perfdata_feature.c */
/* A feature's contents; those that make no sense are passed over.  0 or -ENOMEM. */
int feature_parse(struct perfdata *pd, uint64_t feature, const uint8_t *bytes, size_t size);
int features_read(struct perfdata *pd);
/* Pipe mode: takes in the formats of tracepoints out of what is behind a record.  0 or -ENOMEM. */
int tracing_take(struct perfdata *pd);
/* A record of the recorder itself.  0, -ENOMEM. */
int user_record_apply(struct perfdata *pd, const struct perfdata_record *r);
bool user_record_changes(uint32_t type); /* it would take something from one of that type */
void facts_done(struct perfdata *pd);

#endif
