/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/synth.h"

#include <linux/perf_event.h>
#include <sys/mman.h>

enum {
	COMM_MAX = 63,
	PATH_MAX_BYTES = 4095,
	KSYM_NAME_MAX = 511,
	ANY_PROCESS = -1,
	MISC_MMAP_BUILD_ID = 1 << 14,
	BUILD_ID_BYTES = 20,
	ALIGN = 8,
};

static void begin(struct blob *b, uint32_t type, uint16_t misc)
{
	blob_clear(b);
	blob_u32(b, type);
	blob_u16(b, misc);
	blob_u16(b, 0);
}

static void end(struct blob *b)
{
	uint16_t size = (uint16_t)b->nr;

	if (!blob_failed(b))
		memcpy(b->at + 6, &size, sizeof(size));
}

/* The fields of struct sample_id of perf_event.h that @l has, in its order. */
static void put_who(struct blob *b, const struct layout *l, const struct sample_id *who)
{
	if (!l->sample_id_all)
		return;
	if (l->sample_type & PERF_SAMPLE_TID) {
		blob_u32(b, who->pid);
		blob_u32(b, who->tid);
	}
	if (l->sample_type & PERF_SAMPLE_TIME)
		blob_u64(b, who->time_ns);
	if (l->sample_type & PERF_SAMPLE_ID)
		blob_u64(b, who->id);
	if (l->sample_type & PERF_SAMPLE_STREAM_ID)
		blob_u64(b, who->stream_id);
	if (l->sample_type & PERF_SAMPLE_CPU) {
		blob_u32(b, who->cpu);
		blob_u32(b, 0);
	}
	if (l->sample_type & PERF_SAMPLE_IDENTIFIER)
		blob_u64(b, who->id);
}

void synth_comm(struct blob *b, const struct layout *l, const struct sample_id *who, uint32_t pid,
		uint32_t tid, const char *comm)
{
	begin(b, RECORD_COMM, 0);
	blob_u32(b, pid);
	blob_u32(b, tid);
	blob_text(b, comm, COMM_MAX, ALIGN);
	put_who(b, l, who);
	end(b);
}

void synth_mmap2(struct blob *b, const struct layout *l, const struct sample_id *who,
		 const struct synth_map *m)
{
	bool by_build_id = m->build_id_size && m->build_id_size <= BUILD_ID_BYTES;

	begin(b, RECORD_MMAP2,
	      (uint16_t)(PERF_RECORD_MISC_USER | (by_build_id ? MISC_MMAP_BUILD_ID : 0) |
			 (m->data ? PERF_RECORD_MISC_MMAP_DATA : 0)));
	blob_u32(b, m->pid);
	blob_u32(b, m->pid);
	blob_u64(b, m->start);
	blob_u64(b, m->len);
	blob_u64(b, m->pgoff);
	if (by_build_id) {
		blob_put(b, &m->build_id_size, 1);
		blob_zero(b, 3);
		blob_put(b, m->build_id, m->build_id_size);
		blob_zero(b, BUILD_ID_BYTES - m->build_id_size);
	} else {
		blob_u32(b, m->maj);
		blob_u32(b, m->min);
		blob_u64(b, m->ino);
		blob_u64(b, m->ino_generation);
	}
	blob_u32(b, m->data ? PROT_READ : PROT_READ | PROT_EXEC);
	blob_u32(b, MAP_PRIVATE);
	blob_text(b, m->path, PATH_MAX_BYTES, ALIGN);
	put_who(b, l, who);
	end(b);
}

void synth_kernel_map(struct blob *b, const struct layout *l, const struct sample_id *who,
		      uint64_t start, uint64_t len, uint64_t pgoff, const char *name)
{
	begin(b, RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
	blob_u32(b, (uint32_t)ANY_PROCESS);
	blob_u32(b, 0);
	blob_u64(b, start);
	blob_u64(b, len);
	blob_u64(b, pgoff);
	blob_text(b, name, PATH_MAX_BYTES, ALIGN);
	put_who(b, l, who);
	end(b);
}

void synth_ksymbol(struct blob *b, const struct layout *l, const struct sample_id *who,
		   uint64_t addr, uint32_t len, uint16_t type, const char *name)
{
	begin(b, RECORD_KSYMBOL, 0);
	blob_u64(b, addr);
	blob_u32(b, len);
	blob_u16(b, type);
	blob_u16(b, 0);
	blob_text(b, name, KSYM_NAME_MAX, ALIGN);
	put_who(b, l, who);
	end(b);
}

void synth_sample(struct blob *b, const struct layout *l, const struct sample_id *who,
		  const struct synth_sample *s)
{
	begin(b, RECORD_SAMPLE, s->kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER);
	if (l->sample_type & PERF_SAMPLE_IDENTIFIER)
		blob_u64(b, who->id);
	if (l->sample_type & PERF_SAMPLE_IP)
		blob_u64(b, s->ip);
	if (l->sample_type & PERF_SAMPLE_TID) {
		blob_u32(b, who->pid);
		blob_u32(b, who->tid);
	}
	if (l->sample_type & PERF_SAMPLE_TIME)
		blob_u64(b, who->time_ns);
	if (l->sample_type & PERF_SAMPLE_CPU) {
		blob_u32(b, who->cpu);
		blob_u32(b, 0);
	}
	if (l->sample_type & PERF_SAMPLE_PERIOD)
		blob_u64(b, s->period);
	if (l->sample_type & PERF_SAMPLE_CALLCHAIN) {
		blob_u64(b, s->nr_chain);
		blob_put(b, s->chain, s->nr_chain * sizeof(s->chain[0]));
	}
	end(b);
}
