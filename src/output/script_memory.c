/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of `perf script` for what a processor says about a memory access. */
#include <stdio.h>
#include <string.h>

#include "output/script.h"

/* Where the parts of PERF_SAMPLE_DATA_SRC begin, and how many bits they have (perf_event.h). */
enum {
	OP_AT = 0,
	OP_BITS = 5,
	LEVEL_AT = 5,
	LEVEL_BITS = 14,
	SNOOP_AT = 19,
	SNOOP_BITS = 5,
	LOCK_AT = 24,
	LOCK_BITS = 2,
	TLB_AT = 26,
	TLB_BITS = 7,
	NUMBER_AT = 33,
	NUMBER_BITS = 4,
	REMOTE_AT = 37,
	MORE_SNOOP_AT = 38,
	MORE_SNOOP_BITS = 2,
	BLOCK_AT = 40,
	BLOCK_BITS = 3,
	HOPS_AT = 43,
	HOPS_BITS = 3,
};

struct words {
	char *at;
	size_t size, len;
	unsigned nr; /* alternatives so far */
};

static void add(struct words *w, const char *text)
{
	int len = snprintf(w->at + w->len, w->size - w->len, "%s", text);

	w->len += (size_t)len < w->size - w->len ? (size_t)len : w->size - w->len - 1;
}

static void add_alternative(struct words *w, const char *text)
{
	if (w->nr++)
		add(w, " or ");
	add(w, text);
}

static uint64_t part(uint64_t source, unsigned at, unsigned bits)
{
	return source >> at & ((1ull << bits) - 1);
}

/* One word for each bit that is set and has one. */
static void add_bits(struct words *w, uint64_t set, const char *const *names, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (set >> i & 1 && names[i])
			add_alternative(w, names[i]);
}

static void add_hit_or_miss(struct words *w, uint64_t set)
{
	if (set & 2)
		add(w, " hit");
	if (set & 4)
		add(w, " miss");
}

static void add_operation(struct words *w, uint64_t op)
{
	static const char *const names[] = { "N/A", "LOAD", "STORE", "PFETCH", "EXEC" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (op >> i & 1) {
			add(w, names[i]);
			return;
		}
	add(w, "No");
}

static void add_level(struct words *w, uint64_t source)
{
	/* Hit and miss come behind. */
	static const char *const names[LEVEL_BITS] = { "N/A",
						       NULL,
						       NULL,
						       "L1",
						       "LFB/MAB",
						       "L2",
						       "L3",
						       "Local RAM",
						       "Remote RAM (1 hop)",
						       "Remote RAM (2 hops)",
						       "Remote Cache (1 hop)",
						       "Remote Cache (2 hops)",
						       "I/O",
						       "Uncached" };
	static const char *const numbered[1 << NUMBER_BITS] = {
		NULL, "L1",  "L2",  "L3",        "L4",      "L5",  "L6",   "L7",
		"L8", "CXL", "I/O", "Any cache", "LFB/MAB", "RAM", "PMEM", "N/A",
	};
	static const char *const hops[1 << HOPS_BITS] = {
		NULL,
		"core, same node",
		"node, same socket",
		"socket, same board",
		"board",
		"N/A",
		"N/A",
		"N/A",
	};
	const uint64_t level = part(source, LEVEL_AT, LEVEL_BITS);
	const char *number = numbered[part(source, NUMBER_AT, NUMBER_BITS)];
	const char *far = hops[part(source, HOPS_AT, HOPS_BITS)];
	const size_t begin = w->len;

	if (part(source, REMOTE_AT, 1))
		add(w, "Remote ");
	if (far) {
		add(w, far);
		add(w, " ");
	}
	w->nr = 0;
	add_bits(w, level, names, LEVEL_BITS);
	if (number)
		add_alternative(w, number);
	if (w->len == begin)
		add(w, "N/A");
	add_hit_or_miss(w, level);
}

static void add_snoop(struct words *w, uint64_t source)
{
	static const char *const names[SNOOP_BITS] = { "N/A", "None", "Hit", "Miss", "HitM" };
	static const char *const more[MORE_SNOOP_BITS] = { "Fwd", "Peer" };

	w->nr = 0;
	add_bits(w, part(source, SNOOP_AT, SNOOP_BITS), names, SNOOP_BITS);
	add_bits(w, part(source, MORE_SNOOP_AT, MORE_SNOOP_BITS), more, MORE_SNOOP_BITS);
	if (!w->nr)
		add(w, "N/A");
}

static void add_tlb(struct words *w, uint64_t tlb)
{
	static const char *const names[TLB_BITS] = { "N/A", NULL,     NULL,   "L1",
						     "L2",  "Walker", "Fault" };

	w->nr = 0;
	add_bits(w, tlb, names, TLB_BITS);
	if (!w->nr)
		add(w, "N/A");
	add_hit_or_miss(w, tlb);
}

static void add_block(struct words *w, uint64_t block)
{
	if (!(block & 6) || block & 1)
		add(w, " N/A");
	else
		add(w, block == 6 ? " Data Addr" : block == 2 ? " Data" : " Addr");
}

void script_data_source(uint64_t source, char *out, size_t size)
{
	const uint64_t lock = part(source, LOCK_AT, LOCK_BITS);
	struct words w = { .at = out, .size = size };

	snprintf(out, size, "%16llx ", (unsigned long long)source);
	w.len = strlen(out);
	add(&w, "|OP ");
	add_operation(&w, part(source, OP_AT, OP_BITS));
	add(&w, "|LVL ");
	add_level(&w, source);
	add(&w, "|SNP ");
	add_snoop(&w, source);
	add(&w, "|TLB ");
	add_tlb(&w, part(source, TLB_AT, TLB_BITS));
	add(&w, "|LCK ");
	add(&w, lock & 1 ? "N/A" : lock ? "Yes" : "No");
	add(&w, "|BLK ");
	add_block(&w, part(source, BLOCK_AT, BLOCK_BITS));
}
