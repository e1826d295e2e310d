// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/record_sorts.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>

#include "record/cursor.h"

struct layout layout_with_id(bool swap)
{
	return (struct layout){
		.sample_type = ID_FIELDS | PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
		.read_format = PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED,
		.sample_id_all = true,
		.swap = swap,
	};
}

void build_sample_id(struct build *b)
{
	build_u32(b, 4242);
	build_u32(b, 4243);
	build_u64(b, 123456789012345);
	build_u64(b, 0xabc);
	build_u64(b, 0xdef);
	build_u32(b, 7);
	build_u32(b, 0);
	build_u64(b, 0xabc);
}

void sample_id_is_whole(const struct sample_id *sid)
{
	assert_int_equal(sid->have, ID_FIELDS);
	assert_int_equal(sid->pid, 4242);
	assert_int_equal(sid->tid, 4243);
	assert_int_equal(sid->time_ns, 123456789012345);
	assert_int_equal(sid->id, 0xabc);
	assert_int_equal(sid->stream_id, 0xdef);
	assert_int_equal(sid->cpu, 7);
}

void bytes_are(struct bytes b, const char *want)
{
	assert_int_equal(b.size, strlen(want));
	assert_memory_equal(b.at, want, b.size);
}

static void mmap_body(struct build *b)
{
	build_u32(b, 10);
	build_u32(b, 11);
	build_u64(b, 0x7f0000001000);
	build_u64(b, 0x5000);
	build_u64(b, 0x2000);
	build_name(b, "/usr/lib/libc.so.6", 24);
}

static void mmap_is(const struct record *r)
{
	assert_int_equal(r->mmap.pid, 10);
	assert_int_equal(r->mmap.tid, 11);
	assert_int_equal(r->mmap.start, 0x7f0000001000);
	assert_int_equal(r->mmap.len, 0x5000);
	assert_int_equal(r->mmap.pgoff, 0x2000);
	bytes_are(r->mmap.filename, "/usr/lib/libc.so.6");
}

static void mmap_check(const struct record *r)
{
	mmap_is(r);
	assert_true(r->mmap.prot & PROT_EXEC);
	assert_false(r->mmap.is_data);
	assert_false(r->mmap.has_build_id || r->mmap.has_inode);
}

static void mmap_data_check(const struct record *r)
{
	mmap_is(r);
	assert_false(r->mmap.prot & PROT_EXEC);
	assert_true(r->mmap.is_data);
}

static void mmap2_start(struct build *b)
{
	build_u32(b, 10);
	build_u32(b, 11);
	build_u64(b, 0x7f0000001000);
	build_u64(b, 0x5000);
	build_u64(b, 0x2000);
}

static void mmap2_end(struct build *b)
{
	build_u32(b, PROT_READ | PROT_EXEC);
	build_u32(b, MAP_PRIVATE);
	build_name(b, "/usr/lib/libc.so.6", 24);
}

static void mmap2_body(struct build *b)
{
	mmap2_start(b);
	build_u32(b, 8);
	build_u32(b, 3);
	build_u64(b, 987654);
	build_u64(b, 55);
	mmap2_end(b);
}

static void mmap2_check(const struct record *r)
{
	mmap_is(r);
	assert_true(r->mmap.has_inode);
	assert_false(r->mmap.has_build_id);
	assert_int_equal(r->mmap.maj, 8);
	assert_int_equal(r->mmap.min, 3);
	assert_int_equal(r->mmap.ino, 987654);
	assert_int_equal(r->mmap.ino_generation, 55);
	assert_int_equal(r->mmap.prot, PROT_READ | PROT_EXEC);
	assert_int_equal(r->mmap.flags, MAP_PRIVATE);
}

static void mmap2_build_id_body(struct build *b)
{
	mmap2_start(b);
	build_u8(b, 20);
	build_u8(b, 0);
	build_u16(b, 0);
	build_bytes(b, "\1\2\3\4\5\6\7\x8\x9\xa\xb\xc\xd\xe\xf\x10\x11\x12\x13\x14", 20);
	mmap2_end(b);
}

static void mmap2_build_id_check(const struct record *r)
{
	mmap_is(r);
	assert_true(r->mmap.has_build_id);
	assert_false(r->mmap.has_inode);
	assert_int_equal(r->mmap.build_id_size, 20);
	for (int i = 0; i < 20; i++)
		assert_int_equal(r->mmap.build_id[i], i + 1);
	assert_int_equal(r->mmap.prot, PROT_READ | PROT_EXEC);
}

static void mmap2_wild_build_id_body(struct build *b)
{
	mmap2_start(b);
	build_u8(b, 21); /* larger than its room */
	build_u8(b, 0);
	build_u16(b, 0);
	build_name(b, "01234567890123456789", 20);
	mmap2_end(b);
}

static void mmap2_wild_build_id_check(const struct record *r)
{
	mmap_is(r);
	assert_false(r->mmap.has_build_id || r->mmap.has_inode);
}

void lost_body(struct build *b)
{
	build_u64(b, 0xabc);
	build_u64(b, 77);
}

void lost_check(const struct record *r)
{
	assert_int_equal(r->lost.id, 0xabc);
	assert_int_equal(r->lost.lost, 77);
}

static void lost_samples_body(struct build *b)
{
	build_u64(b, 78);
}

static void lost_samples_check(const struct record *r)
{
	assert_int_equal(r->lost.id, 0);
	assert_int_equal(r->lost.lost, 78);
}

void comm_body(struct build *b)
{
	build_u32(b, 20);
	build_u32(b, 21);
	build_name(b, "kworker/0:1", 16);
}

void comm_check(const struct record *r)
{
	assert_int_equal(r->comm.pid, 20);
	assert_int_equal(r->comm.tid, 21);
	assert_int_equal(r->comm.exec, !!(r->misc & PERF_RECORD_MISC_COMM_EXEC));
	bytes_are(r->comm.comm, "kworker/0:1");
}

void task_body(struct build *b)
{
	build_u32(b, 30);
	build_u32(b, 31);
	build_u32(b, 32);
	build_u32(b, 33);
	build_u64(b, 999);
}

void task_check(const struct record *r)
{
	assert_int_equal(r->task.pid, 30);
	assert_int_equal(r->task.ppid, 31);
	assert_int_equal(r->task.tid, 32);
	assert_int_equal(r->task.ptid, 33);
	assert_int_equal(r->task.time_ns, 999);
}

static void throttle_body(struct build *b)
{
	build_u64(b, 1000);
	build_u64(b, 0xabc);
	build_u64(b, 0xdef);
}

static void throttle_check(const struct record *r)
{
	assert_int_equal(r->throttle.time_ns, 1000);
	assert_int_equal(r->throttle.id, 0xabc);
	assert_int_equal(r->throttle.stream_id, 0xdef);
}

static void read_body(struct build *b)
{
	build_u32(b, 40);
	build_u32(b, 41);
	build_u64(b, 5000);
	build_u64(b, 6000);
	build_u64(b, 0xabc);
}

static void read_check(const struct record *r)
{
	struct read_value v = read_values_get(&r->read.values, 0);

	assert_int_equal(r->read.pid, 40);
	assert_int_equal(r->read.tid, 41);
	assert_int_equal(r->read.values.nr, 1);
	assert_int_equal(r->read.values.time_enabled, 6000);
	assert_int_equal(v.value, 5000);
	assert_int_equal(v.id, 0xabc);
	assert_int_equal(v.lost, 0);
}

static void aux_body(struct build *b)
{
	build_u64(b, 4096);
	build_u64(b, 512);
	build_u64(b, 3);
}

static void aux_check(const struct record *r)
{
	assert_int_equal(r->aux.offset, 4096);
	assert_int_equal(r->aux.size, 512);
	assert_int_equal(r->aux.flags, 3);
}

static void pid_tid_body(struct build *b)
{
	build_u32(b, 50);
	build_u32(b, 51);
}

static void itrace_check(const struct record *r)
{
	assert_int_equal(r->itrace_start.pid, 50);
	assert_int_equal(r->itrace_start.tid, 51);
}

static void empty_body(struct build *b)
{
	(void)b;
}

static void switch_check(const struct record *r)
{
	assert_true(r->context_switch.out);
	assert_false(r->context_switch.preempt);
}

static void switch_wide_check(const struct record *r)
{
	assert_true(r->context_switch.out && r->context_switch.preempt);
	assert_int_equal(r->context_switch.next_prev_pid, 50);
	assert_int_equal(r->context_switch.next_prev_tid, 51);
}

void namespaces_body(struct build *b)
{
	build_u32(b, 60);
	build_u32(b, 61);
	build_u64(b, 2);
	for (uint64_t i = 0; i < 4; i++)
		build_u64(b, 0xf000 + i);
}

static void namespaces_check(const struct record *r)
{
	struct cursor c =
		cursor_of(r->namespaces.links.at, r->namespaces.links.size, r->namespaces.swap);
	uint64_t x;

	assert_int_equal(r->namespaces.pid, 60);
	assert_int_equal(r->namespaces.tid, 61);
	assert_int_equal(r->namespaces.nr, 2);
	for (uint64_t i = 0; i < 4; i++) {
		assert_true(cursor_u64(&c, &x));
		assert_int_equal(x, 0xf000 + i);
	}
	assert_int_equal(cursor_left(&c), 0);
}

static void ksymbol_body(struct build *b)
{
	build_u64(b, 0xffffffffc0001000);
	build_u32(b, 300);
	build_u16(b, PERF_RECORD_KSYMBOL_TYPE_BPF);
	build_u16(b, PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER);
	build_name(b, "bpf_prog_6deef7357e7b4530_x", 32);
}

static void ksymbol_check(const struct record *r)
{
	assert_true(r->ksymbol.addr == 0xffffffffc0001000);
	assert_int_equal(r->ksymbol.len, 300);
	assert_int_equal(r->ksymbol.ksym_type, PERF_RECORD_KSYMBOL_TYPE_BPF);
	assert_int_equal(r->ksymbol.flags, PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER);
	bytes_are(r->ksymbol.name, "bpf_prog_6deef7357e7b4530_x");
}

static void bpf_body(struct build *b)
{
	build_u16(b, PERF_BPF_EVENT_PROG_LOAD);
	build_u16(b, 5);
	build_u32(b, 99);
	build_bytes(b, "TAGTAGTA", 8);
}

static void bpf_check(const struct record *r)
{
	assert_int_equal(r->bpf.type, PERF_BPF_EVENT_PROG_LOAD);
	assert_int_equal(r->bpf.flags, 5);
	assert_int_equal(r->bpf.id, 99);
	assert_memory_equal(r->bpf.tag, "TAGTAGTA", 8);
}

static void cgroup_body(struct build *b)
{
	build_u64(b, 1234);
	build_name(b, "/system.slice/sshd.service", 32);
}

static void cgroup_check(const struct record *r)
{
	assert_int_equal(r->cgroup.id, 1234);
	bytes_are(r->cgroup.path, "/system.slice/sshd.service");
}

static void text_poke_body(struct build *b)
{
	build_u64(b, 0xffffffff81000000);
	build_u16(b, 5);
	build_u16(b, 5);
	build_name(b, "aaaaabbbbb", 12); /* to a multiple of 8 */
}

static void text_poke_check(const struct record *r)
{
	assert_true(r->text_poke.addr == 0xffffffff81000000);
	assert_int_equal(r->text_poke.old_len, 5);
	assert_int_equal(r->text_poke.new_len, 5);
	bytes_are(r->text_poke.bytes, "aaaaabbbbb");
}

static void hw_id_body(struct build *b)
{
	build_u64(b, 0x1122334455667788);
}

static void hw_id_check(const struct record *r)
{
	assert_int_equal(r->aux_output_hw_id.hw_id, 0x1122334455667788);
}

void deferred_body(struct build *b)
{
	build_u64(b, 0xc00c1e);
	build_u64(b, 3);
	for (uint64_t i = 0; i < 3; i++)
		build_u64(b, 0x401000 + i);
}

static void deferred_check(const struct record *r)
{
	assert_int_equal(r->deferred.cookie, 0xc00c1e);
	assert_int_equal(r->deferred.callchain.nr, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(u64s_get(&r->deferred.callchain, i), 0x401000 + i);
}

static void unknown_check(const struct record *r)
{
	assert_null(record_type_name(r->type));
}

#define SWITCH_MISC (PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT)

const struct sort sorts[] = {
	{ "MMAP", RECORD_MMAP, 0, mmap_body, mmap_check },
	{ "MMAP", RECORD_MMAP, PERF_RECORD_MISC_MMAP_DATA, mmap_body, mmap_data_check },
	{ "LOST", RECORD_LOST, 0, lost_body, lost_check },
	{ "COMM", RECORD_COMM, 0, comm_body, comm_check },
	{ "COMM", RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, comm_body, comm_check },
	{ "EXIT", RECORD_EXIT, 0, task_body, task_check },
	{ "THROTTLE", RECORD_THROTTLE, 0, throttle_body, throttle_check },
	{ "UNTHROTTLE", RECORD_UNTHROTTLE, 0, throttle_body, throttle_check },
	{ "FORK", RECORD_FORK, 0, task_body, task_check },
	{ "READ", RECORD_READ, 0, read_body, read_check },
	{ "MMAP2", RECORD_MMAP2, 0, mmap2_body, mmap2_check },
	{ "MMAP2", RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID, mmap2_build_id_body,
	  mmap2_build_id_check },
	{ "MMAP2", RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID, mmap2_wild_build_id_body,
	  mmap2_wild_build_id_check },
	{ "AUX", RECORD_AUX, 0, aux_body, aux_check },
	{ "ITRACE_START", RECORD_ITRACE_START, 0, pid_tid_body, itrace_check },
	{ "LOST_SAMPLES", RECORD_LOST_SAMPLES, 0, lost_samples_body, lost_samples_check },
	{ "SWITCH", RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, empty_body, switch_check },
	{ "SWITCH_CPU_WIDE", RECORD_SWITCH_CPU_WIDE, SWITCH_MISC, pid_tid_body, switch_wide_check },
	{ "NAMESPACES", RECORD_NAMESPACES, 0, namespaces_body, namespaces_check },
	{ "KSYMBOL", RECORD_KSYMBOL, 0, ksymbol_body, ksymbol_check },
	{ "BPF_EVENT", RECORD_BPF_EVENT, 0, bpf_body, bpf_check },
	{ "CGROUP", RECORD_CGROUP, 0, cgroup_body, cgroup_check },
	{ "TEXT_POKE", RECORD_TEXT_POKE, 0, text_poke_body, text_poke_check },
	{ "AUX_OUTPUT_HW_ID", RECORD_AUX_OUTPUT_HW_ID, 0, hw_id_body, hw_id_check },
	{ "CALLCHAIN_DEFERRED", RECORD_CALLCHAIN_DEFERRED, 0, deferred_body, deferred_check },
	{ NULL, 23, 0, cgroup_body, unknown_check },
};
_Static_assert(sizeof(sorts) / sizeof(sorts[0]) == NR_SORTS, "one entry a sort");

struct build sort_build(const struct sort *sort, bool swap, bool with_id)
{
	struct build b = build_begin(sort->type, sort->misc | PERF_RECORD_MISC_USER, swap);

	sort->body(&b);
	if (with_id)
		build_sample_id(&b);
	build_end(&b);
	return b;
}

void sort_is(const struct sort *sort, const struct record *r, size_t size)
{
	assert_int_equal(r->type, sort->type);
	assert_int_equal(r->misc, sort->misc | PERF_RECORD_MISC_USER);
	assert_int_equal(r->size, size);
	assert_int_equal(r->cpumode, CPUMODE_USER);
	sort->check(r);
}
