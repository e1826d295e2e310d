/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A record is header, body, and (all but samples, with sample_id_all) a sample_id.  The
 * sample_id is found from the end, its size being known; the body lies between, and names in it
 * reach up to the sample_id, padded with NULs.  Programs that make records of their own into a
 * recording leave the sample_id out at times: where the fixed fields of the type would not fit
 * before it, there is none.
 */
#include "record/decode.h"

#include <errno.h>
#include <sys/mman.h>

#include <linux/perf_event.h>

#include "record/cursor.h"
#include "record/decode_parts.h"

/* From here types are those of perf's own file format: nothing of the kernel's is at their end. */
enum { FIRST_USER_TYPE = 64 };

/* The bits of header.misc that mean different things by type. */
enum {
	MISC_13 = 1u << 13, /* MMAP_DATA, COMM_EXEC, SWITCH_OUT */
	MISC_14 = 1u << 14, /* MMAP_BUILD_ID, SWITCH_OUT_PREEMPT */
};

static const struct {
	const char *name;
	uint8_t fixed; /* bytes of the body before names and arrays */
} types[RECORD_KERNEL_MAX] = {
	[RECORD_MMAP] = { "MMAP", 32 },
	[RECORD_LOST] = { "LOST", 16 },
	[RECORD_COMM] = { "COMM", 8 },
	[RECORD_EXIT] = { "EXIT", 24 },
	[RECORD_THROTTLE] = { "THROTTLE", 24 },
	[RECORD_UNTHROTTLE] = { "UNTHROTTLE", 24 },
	[RECORD_FORK] = { "FORK", 24 },
	[RECORD_READ] = { "READ", 16 },
	[RECORD_SAMPLE] = { "SAMPLE", 0 },
	[RECORD_MMAP2] = { "MMAP2", 64 },
	[RECORD_AUX] = { "AUX", 24 },
	[RECORD_ITRACE_START] = { "ITRACE_START", 8 },
	[RECORD_LOST_SAMPLES] = { "LOST_SAMPLES", 8 },
	[RECORD_SWITCH] = { "SWITCH", 0 },
	[RECORD_SWITCH_CPU_WIDE] = { "SWITCH_CPU_WIDE", 8 },
	[RECORD_NAMESPACES] = { "NAMESPACES", 16 },
	[RECORD_KSYMBOL] = { "KSYMBOL", 16 },
	[RECORD_BPF_EVENT] = { "BPF_EVENT", 16 },
	[RECORD_CGROUP] = { "CGROUP", 8 },
	[RECORD_TEXT_POKE] = { "TEXT_POKE", 12 },
	[RECORD_AUX_OUTPUT_HW_ID] = { "AUX_OUTPUT_HW_ID", 8 },
	[RECORD_CALLCHAIN_DEFERRED] = { "CALLCHAIN_DEFERRED", 16 },
};

const char *record_type_name(uint32_t type)
{
	return type < RECORD_KERNEL_MAX ? types[type].name : NULL;
}

/* Header checked against @size; @c behind it. */
static bool header_decode(struct cursor *c, size_t size, uint32_t *ret_type, uint16_t *ret_misc)
{
	uint16_t told;

	return cursor_u32(c, ret_type) && cursor_u16(c, ret_misc) && cursor_u16(c, &told) &&
	       told == size;
}

/*
 * Takes the sample_id off the end of @body.  perf_event__output_id_sample() writes TID, TIME,
 * ID, STREAM_ID, CPU, IDENTIFIER.
 */
static void sample_id_take(struct cursor *body, const struct layout *l, uint32_t type,
			   struct sample_id *sid)
{
	const uint64_t fields = l->sample_type &
				(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
				 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
	const size_t size = 8 * (size_t)__builtin_popcountll(fields);
	const size_t fixed = type < RECORD_KERNEL_MAX ? types[type].fixed : 0;
	struct cursor c = *body;
	uint32_t reserved;

	if (!l->sample_id_all || type >= FIRST_USER_TYPE || cursor_left(body) < fixed + size)
		return;
	c.at = c.end - size;
	body->end = c.at;
	if (fields & PERF_SAMPLE_TID)
		(void)(cursor_u32(&c, &sid->pid) && cursor_u32(&c, &sid->tid));
	if (fields & PERF_SAMPLE_TIME)
		(void)cursor_u64(&c, &sid->time_ns);
	if (fields & PERF_SAMPLE_ID)
		(void)cursor_u64(&c, &sid->id);
	if (fields & PERF_SAMPLE_STREAM_ID)
		(void)cursor_u64(&c, &sid->stream_id);
	if (fields & PERF_SAMPLE_CPU)
		(void)(cursor_u32(&c, &sid->cpu) && cursor_u32(&c, &reserved));
	if (fields & PERF_SAMPLE_IDENTIFIER)
		(void)cursor_u64(&c, &sid->id);
	sid->have = fields;
}

int record_peek(const struct layout *l, const void *bytes, size_t size, uint32_t *ret_type,
		struct sample_id *ret)
{
	struct cursor c = cursor_of(bytes, size, l->swap);
	struct sample_id sid = { 0 };
	uint64_t ip, addr;
	uint32_t type;
	uint16_t misc;

	if (!header_decode(&c, size, &type, &misc))
		return -EBADMSG;
	if (type != RECORD_SAMPLE)
		sample_id_take(&c, l, type, &sid);
	else if (!sample_head(&c, l->sample_type, &sid, &ip, &addr))
		return -EBADMSG;
	*ret_type = type;
	*ret = sid;
	return 0;
}

static bool mmap_decode(struct cursor *c, struct record *r)
{
	struct record_mmap *m = &r->mmap;

	if (!(cursor_u32(c, &m->pid) && cursor_u32(c, &m->tid) && cursor_u64(c, &m->start) &&
	      cursor_u64(c, &m->len) && cursor_u64(c, &m->pgoff)))
		return false;
	m->is_data = r->misc & MISC_13;
	m->prot = m->is_data ? PROT_READ : PROT_READ | PROT_EXEC;
	m->filename = cursor_name(c);
	return true;
}

static bool mmap2_decode(struct cursor *c, struct record *r)
{
	struct record_mmap *m = &r->mmap;
	struct bytes id;
	uint8_t size;

	if (!(cursor_u32(c, &m->pid) && cursor_u32(c, &m->tid) && cursor_u64(c, &m->start) &&
	      cursor_u64(c, &m->len) && cursor_u64(c, &m->pgoff)))
		return false;
	m->is_data = r->misc & MISC_13;
	if (r->misc & MISC_14) {
		/* The size, three reserved bytes, room for 20: the same 24 bytes as the inode's. */
		if (!(cursor_u8(c, &size) && cursor_skip(c, 3) &&
		      cursor_bytes(c, sizeof(m->build_id), &id)))
			return false;
		if (size && size <= sizeof(m->build_id)) {
			m->has_build_id = true;
			m->build_id_size = size;
			memcpy(m->build_id, id.at, size);
		}
	} else {
		if (!(cursor_u32(c, &m->maj) && cursor_u32(c, &m->min) && cursor_u64(c, &m->ino) &&
		      cursor_u64(c, &m->ino_generation)))
			return false;
		m->has_inode = true;
	}
	if (!(cursor_u32(c, &m->prot) && cursor_u32(c, &m->flags)))
		return false;
	m->filename = cursor_name(c);
	return true;
}

static bool lost_decode(struct cursor *c, struct record *r)
{
	return cursor_u64(c, &r->lost.id) && cursor_u64(c, &r->lost.lost);
}

static bool lost_samples_decode(struct cursor *c, struct record *r)
{
	return cursor_u64(c, &r->lost.lost);
}

static bool comm_decode(struct cursor *c, struct record *r)
{
	if (!(cursor_u32(c, &r->comm.pid) && cursor_u32(c, &r->comm.tid)))
		return false;
	r->comm.exec = r->misc & MISC_13;
	r->comm.comm = cursor_name(c);
	return true;
}

static bool task_decode(struct cursor *c, struct record *r)
{
	return cursor_u32(c, &r->task.pid) && cursor_u32(c, &r->task.ppid) &&
	       cursor_u32(c, &r->task.tid) && cursor_u32(c, &r->task.ptid) &&
	       cursor_u64(c, &r->task.time_ns);
}

static bool throttle_decode(struct cursor *c, struct record *r)
{
	return cursor_u64(c, &r->throttle.time_ns) && cursor_u64(c, &r->throttle.id) &&
	       cursor_u64(c, &r->throttle.stream_id);
}

static bool aux_decode(struct cursor *c, struct record *r)
{
	return cursor_u64(c, &r->aux.offset) && cursor_u64(c, &r->aux.size) &&
	       cursor_u64(c, &r->aux.flags);
}

static bool itrace_start_decode(struct cursor *c, struct record *r)
{
	return cursor_u32(c, &r->itrace_start.pid) && cursor_u32(c, &r->itrace_start.tid);
}

static bool switch_decode(struct cursor *c, struct record *r)
{
	(void)c;
	r->context_switch.out = r->misc & MISC_13;
	r->context_switch.preempt = r->misc & MISC_14;
	return true;
}

static bool switch_cpu_wide_decode(struct cursor *c, struct record *r)
{
	return switch_decode(c, r) && cursor_u32(c, &r->context_switch.next_prev_pid) &&
	       cursor_u32(c, &r->context_switch.next_prev_tid);
}

static bool namespaces_decode(struct cursor *c, struct record *r)
{
	const unsigned link = 16; /* device and inode */

	r->namespaces.swap = c->swap;
	return cursor_u32(c, &r->namespaces.pid) && cursor_u32(c, &r->namespaces.tid) &&
	       cursor_u64(c, &r->namespaces.nr) && r->namespaces.nr <= cursor_left(c) / link &&
	       cursor_bytes(c, r->namespaces.nr * link, &r->namespaces.links);
}

static bool ksymbol_decode(struct cursor *c, struct record *r)
{
	if (!(cursor_u64(c, &r->ksymbol.addr) && cursor_u32(c, &r->ksymbol.len) &&
	      cursor_u16(c, &r->ksymbol.ksym_type) && cursor_u16(c, &r->ksymbol.flags)))
		return false;
	r->ksymbol.name = cursor_name(c);
	return true;
}

static bool bpf_decode(struct cursor *c, struct record *r)
{
	struct bytes tag;

	if (!(cursor_u16(c, &r->bpf.type) && cursor_u16(c, &r->bpf.flags) &&
	      cursor_u32(c, &r->bpf.id) && cursor_bytes(c, sizeof(r->bpf.tag), &tag)))
		return false;
	memcpy(r->bpf.tag, tag.at, sizeof(r->bpf.tag));
	return true;
}

static bool cgroup_decode(struct cursor *c, struct record *r)
{
	if (!cursor_u64(c, &r->cgroup.id))
		return false;
	r->cgroup.path = cursor_name(c);
	return true;
}

/* The old bytes, then the new ones. */
static bool text_poke_decode(struct cursor *c, struct record *r)
{
	return cursor_u64(c, &r->text_poke.addr) && cursor_u16(c, &r->text_poke.old_len) &&
	       cursor_u16(c, &r->text_poke.new_len) &&
	       cursor_bytes(c, (uint64_t)r->text_poke.old_len + r->text_poke.new_len,
			    &r->text_poke.bytes);
}

static bool aux_output_hw_id_decode(struct cursor *c, struct record *r)
{
	return cursor_u64(c, &r->aux_output_hw_id.hw_id);
}

static bool deferred_decode(struct cursor *c, struct record *r)
{
	uint64_t nr;

	return cursor_u64(c, &r->deferred.cookie) && cursor_u64(c, &nr) &&
	       cursor_u64s(c, nr, &r->deferred.callchain);
}

static bool (*const decoders[RECORD_KERNEL_MAX])(struct cursor *c, struct record *r) = {
	[RECORD_MMAP] = mmap_decode,
	[RECORD_LOST] = lost_decode,
	[RECORD_COMM] = comm_decode,
	[RECORD_EXIT] = task_decode,
	[RECORD_THROTTLE] = throttle_decode,
	[RECORD_UNTHROTTLE] = throttle_decode,
	[RECORD_FORK] = task_decode,
	[RECORD_MMAP2] = mmap2_decode,
	[RECORD_AUX] = aux_decode,
	[RECORD_ITRACE_START] = itrace_start_decode,
	[RECORD_LOST_SAMPLES] = lost_samples_decode,
	[RECORD_SWITCH] = switch_decode,
	[RECORD_SWITCH_CPU_WIDE] = switch_cpu_wide_decode,
	[RECORD_NAMESPACES] = namespaces_decode,
	[RECORD_KSYMBOL] = ksymbol_decode,
	[RECORD_BPF_EVENT] = bpf_decode,
	[RECORD_CGROUP] = cgroup_decode,
	[RECORD_TEXT_POKE] = text_poke_decode,
	[RECORD_AUX_OUTPUT_HW_ID] = aux_output_hw_id_decode,
	[RECORD_CALLCHAIN_DEFERRED] = deferred_decode,
};

static bool read_decode(struct cursor *c, const struct layout *l, struct record *r)
{
	return cursor_u32(c, &r->read.pid) && cursor_u32(c, &r->read.tid) &&
	       read_values_decode(c, l->read_format, &r->read.values);
}

/* Where the compiler sees the size, it takes an instruction that is slow to begin. */
static inline void record_clear(struct record *r)
{
	size_t size = sizeof(*r);

	__asm__("" : "+r"(size));
	memset(r, 0, size);
}

int record_decode(const struct layout *l, const void *bytes, size_t size, struct record *r)
{
	struct cursor c = cursor_of(bytes, size, l->swap);
	unsigned mode;

	record_clear(r);
	if (!header_decode(&c, size, &r->type, &r->misc))
		return -EBADMSG;
	r->size = (uint16_t)size;
	mode = r->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	r->cpumode = mode <= CPUMODE_GUEST_USER ? (enum cpumode)mode : CPUMODE_UNKNOWN;
	if (r->type == RECORD_SAMPLE)
		return sample_decode(&c, l, &r->sample, &r->sid) ? 0 : -EBADMSG;
	sample_id_take(&c, l, r->type, &r->sid);
	if (r->type == RECORD_READ)
		return read_decode(&c, l, r) ? 0 : -EBADMSG;
	if (r->type < RECORD_KERNEL_MAX && decoders[r->type])
		return decoders[r->type](&c, r) ? 0 : -EBADMSG;
	return 0;
}
