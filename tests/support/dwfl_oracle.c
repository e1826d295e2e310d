/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/dwfl_oracle.h"

#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>

struct dwfl_oracle {
	Dwfl *dwfl;
	const struct stack_sample *sample;
	uint64_t *addrs;
	uint32_t nr, max;
};

static int no_debug_files(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word crc, char **ret)
{
	(void)module, (void)user, (void)name, (void)base, (void)file, (void)link, (void)crc;
	(void)ret;
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = no_debug_files,
};

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	(void)dwfl;
	if (*thread_arg != NULL)
		return 0;
	*thread_arg = arg;
	return 1;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result, void *arg)
{
	const struct dwfl_oracle *o = arg;
	uint64_t sp = o->sample->regs.value[o->sample->regs.machine == UNWIND_X86_64 ? 7 : 31];
	uint64_t at = addr - sp;

	(void)dwfl;
	if (addr < sp || at >= o->sample->size || o->sample->size - at < 8)
		return false;
	memcpy(result, o->sample->stack + at, 8);
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct dwfl_oracle *o = arg;
	const struct unwind_regs *r = &o->sample->regs;
	bool x86 = r->machine == UNWIND_X86_64;
	Dwarf_Word words[UNWIND_NR_REGS];

	for (unsigned int i = 0; i < UNWIND_NR_REGS; i++)
		words[i] = r->value[i];
	if (!x86)
		dwfl_thread_state_register_pc(thread, words[32]);
	return dwfl_thread_state_registers(thread, 0, x86 ? 17 : 32, words);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.memory_read = memory_read,
	.set_initial_registers = set_registers,
};

static int on_frame(Dwfl_Frame *frame, void *arg)
{
	struct dwfl_oracle *o = arg;
	Dwarf_Addr pc;
	bool exact;

	if (!dwfl_frame_pc(frame, &pc, &exact) || o->nr == o->max)
		return DWARF_CB_ABORT;
	o->addrs[o->nr++] = exact || pc == 0 ? pc : pc - 1;
	return DWARF_CB_OK;
}

struct dwfl_oracle *dwfl_oracle_new(pid_t pid)
{
	struct dwfl_oracle *o = calloc(1, sizeof(*o));

	if (o == NULL)
		return NULL;
	o->dwfl = dwfl_begin(&callbacks);
	if (o->dwfl != NULL && dwfl_linux_proc_report(o->dwfl, pid) == 0 &&
	    dwfl_report_end(o->dwfl, NULL, NULL) == 0 &&
	    dwfl_attach_state(o->dwfl, NULL, pid, &thread_callbacks, o))
		return o;
	dwfl_oracle_free(o);
	return NULL;
}

void dwfl_oracle_free(struct dwfl_oracle *o)
{
	if (o == NULL)
		return;
	if (o->dwfl != NULL)
		dwfl_end(o->dwfl);
	free(o);
}

uint32_t dwfl_oracle_unwind(struct dwfl_oracle *o, const struct stack_sample *s, uint64_t *addrs,
			    uint32_t max)
{
	o->sample = s;
	o->addrs = addrs;
	o->max = max;
	o->nr = 0;
	dwfl_getthread_frames(o->dwfl, 1, on_frame, o);
	return o->nr;
}

const char *const chain_kind_names[NR_CHAIN_KINDS] = {
	"same",
	"libdwfl leaves out a caller (proven by its call)",
	"libdwfl ends early (proven by the call)",
	"libdwfl goes on where no code is",
	"different",
};

static bool same(const struct stack_samples *s, const struct place *place, uint64_t addr)
{
	struct place p = space_resolve(s->space, s->pid, addr);

	return p.image == place->image && p.offset == place->offset;
}

static bool called_at(const struct stack_samples *s, const struct place *place)
{
	uint64_t addr = place->offset;

	space_image_address(s->space, place->image, place->offset, &addr);
	return stack_samples_called(s, addr + 1);
}

enum chain_kind chain_compare(const struct stack_samples *s, const struct unwound *u,
			      const struct place *places, const uint64_t *addrs, uint32_t nr)
{
	uint32_t i = 0, skipped = 1;
	bool proven;

	while (i < nr && i < u->nr && same(s, &places[i], addrs[i]))
		i++;
	/* a zero that ended its walk is a frame of libdwfl's, too */
	if (i == u->nr && (i == nr || (i + 1 == nr && addrs[i] == 0)))
		return CHAIN_SAME;
	if (i < nr && space_resolve(s->space, s->pid, addrs[i]).image == IMAGE_UNKNOWN)
		return i == u->nr ? CHAIN_NO_CODE : CHAIN_LOST_REST;
	if (i == u->nr || i == 0)
		return CHAIN_DIFFERENT;
	proven = called_at(s, &places[i]);
	if (i == nr)
		return proven ? CHAIN_LOST_REST : CHAIN_DIFFERENT;
	while (i + skipped < u->nr && !same(s, &places[i + skipped], addrs[i]))
		skipped++;
	for (uint32_t k = i; k < nr && k + skipped < u->nr; k++)
		proven &= same(s, &places[k + skipped], addrs[k]);
	return proven && i + skipped < u->nr ? CHAIN_LOST_CALLER : CHAIN_DIFFERENT;
}
