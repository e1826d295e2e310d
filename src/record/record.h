/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plain structs that pass between stages: one decoded record of any PERF_RECORD type.
 * Facts: include/uapi/linux/perf_event.h of Linux 6.18 and perf_event_open(2).
 *
 * A decoded record borrows the bytes it was decoded from: arrays and names stay in
 * place (`struct u64s`, `struct bytes`) and are read through bounds-checked accessors, so decoding
 * neither copies nor allocates and works on unaligned and on byte-swapped data alike.
 */
#ifndef PTOP_RECORD_RECORD_H
#define PTOP_RECORD_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Bytes inside a record. */
struct bytes {
	const uint8_t *at;
	uint32_t size;
};

/* An array of 64-bit numbers inside a record, unaligned, maybe of the other byte order. */
struct u64s {
	const uint8_t *at;
	uint32_t nr;
	bool swap;
};

static inline uint64_t u64s_get(const struct u64s *a, uint32_t i)
{
	uint64_t x;

	memcpy(&x, a->at + (size_t)i * 8, 8);
	return a->swap ? __builtin_bswap64(x) : x;
}

/* Types newer than the installed header may know. */
enum {
	RECORD_MMAP = 1,
	RECORD_LOST = 2,
	RECORD_COMM = 3,
	RECORD_EXIT = 4,
	RECORD_THROTTLE = 5,
	RECORD_UNTHROTTLE = 6,
	RECORD_FORK = 7,
	RECORD_READ = 8,
	RECORD_SAMPLE = 9,
	RECORD_MMAP2 = 10,
	RECORD_AUX = 11,
	RECORD_ITRACE_START = 12,
	RECORD_LOST_SAMPLES = 13,
	RECORD_SWITCH = 14,
	RECORD_SWITCH_CPU_WIDE = 15,
	RECORD_NAMESPACES = 16,
	RECORD_KSYMBOL = 17,
	RECORD_BPF_EVENT = 18,
	RECORD_CGROUP = 19,
	RECORD_TEXT_POKE = 20,
	RECORD_AUX_OUTPUT_HW_ID = 21,
	RECORD_CALLCHAIN_DEFERRED = 22, /* Linux 6.19 */
	RECORD_KERNEL_MAX,
};

enum cpumode { /* header.misc & PERF_RECORD_MISC_CPUMODE_MASK */
	       CPUMODE_UNKNOWN,
	       CPUMODE_KERNEL,
	       CPUMODE_USER,
	       CPUMODE_HYPERVISOR,
	       CPUMODE_GUEST_KERNEL,
	       CPUMODE_GUEST_USER,
};

/* Who, when, where: in every sample, and at the end of every other record with sample_id_all. */
struct sample_id {
	uint64_t have; /* PERF_SAMPLE_* bits of the fields below that were present */
	uint32_t pid, tid;
	uint64_t time_ns;
	uint64_t id; /* IDENTIFIER or ID */
	uint64_t stream_id;
	uint32_t cpu;
};

struct read_value {
	uint64_t value, id, lost;
};

/* PERF_FORMAT_*: one value, or a group's. Values stay in place; read_values_get() reads one. */
struct read_values {
	struct bytes at; /* the values themselves */
	uint64_t format;
	uint32_t nr;
	uint64_t time_enabled, time_running;
	bool swap;
};

struct branch {
	uint64_t from, to, flags;
};

/* The registers of one side; abi 0: none taken. */
struct sample_regs {
	uint64_t abi, mask;
	struct u64s regs; /* one for each bit of mask, lowest first */
};

struct sample_branches {
	struct bytes at; /* the entries; sample_branch() reads one */
	uint64_t nr;
	int64_t hw_index;
	bool has_hw_index, swap;
	struct u64s counters; /* one an entry, or none */
};

struct sample {
	uint64_t ip, addr, period;
	struct read_values read;
	struct u64s callchain;
	struct bytes raw;
	struct sample_branches branches;
	struct sample_regs user, intr;
	struct {
		struct bytes bytes; /* what is valid of the dump: min(size, dyn_size) */
		uint64_t dyn_size;
	} stack;
	uint64_t weight; /* WEIGHT, or var1_dw of WEIGHT_STRUCT */
	uint32_t weight2, weight3;
	uint64_t data_src, transaction, phys_addr, cgroup, data_page_size, code_page_size;
	struct bytes aux;
};

struct record_mmap {
	uint32_t pid, tid;
	uint64_t start, len, pgoff;
	uint32_t prot, flags; /* MMAP2; MMAP sets PROT_EXEC by misc */
	bool has_build_id, has_inode, is_data;
	uint8_t build_id[20], build_id_size;
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	struct bytes filename;
};

struct record {
	uint32_t type; /* RECORD_*, or beyond RECORD_KERNEL_MAX */
	uint16_t misc;
	uint16_t size;
	enum cpumode cpumode;
	struct sample_id sid;
	union {
		struct sample sample;
		struct record_mmap mmap; /* MMAP and MMAP2 */
		struct {
			uint64_t id, lost;
		} lost; /* LOST, LOST_SAMPLES (id 0) */
		struct {
			uint32_t pid, tid;
			bool exec;
			struct bytes comm;
		} comm;
		struct {
			uint32_t pid, ppid, tid, ptid;
			uint64_t time_ns;
		} task; /* FORK, EXIT */
		struct {
			uint64_t time_ns, id, stream_id;
		} throttle; /* and UNTHROTTLE */
		struct {
			uint32_t pid, tid;
			struct read_values values;
		} read;
		struct {
			uint64_t offset, size, flags;
		} aux;
		struct {
			uint32_t pid, tid;
		} itrace_start;
		struct {
			bool out, preempt;
			uint32_t next_prev_pid, next_prev_tid; /* SWITCH_CPU_WIDE */
		} context_switch;
		struct {
			uint32_t pid, tid;
			uint64_t nr;
			struct bytes links; /* nr times device and inode, u64 each */
			bool swap;
		} namespaces;
		struct {
			uint64_t addr;
			uint32_t len;
			uint16_t ksym_type, flags;
			struct bytes name;
		} ksymbol;
		struct {
			uint16_t type, flags;
			uint32_t id;
			uint8_t tag[8];
		} bpf;
		struct {
			uint64_t id;
			struct bytes path;
		} cgroup;
		struct {
			uint64_t addr;
			uint16_t old_len, new_len;
			struct bytes bytes; /* the old ones, then the new ones */
		} text_poke;
		struct {
			uint64_t hw_id;
		} aux_output_hw_id;
		struct {
			uint64_t cookie;
			struct u64s callchain;
		} deferred;
	};
};

#endif
