/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a BPF program called spin, which counts, for ever.  Where that is refused it says why and
 * exits. */
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* r1 = 2000; r0 = 0; do { r0++; r1--; } while (r1); return 0 */
static const struct bpf_insn program[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1, .imm = 2000 },
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
	{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 0, .imm = 1 },
	{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 1, .imm = -1 },
	{ .code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = 1, .off = -3, .imm = 0 },
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
	{ .code = BPF_JMP | BPF_EXIT },
};

int main(void)
{
	static uint8_t packet[64];
	union bpf_attr load = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insns = (uintptr_t)program,
		.insn_cnt = sizeof(program) / sizeof(program[0]),
		.license = (uintptr_t) "GPL",
		.prog_name = "spin",
	};
	union bpf_attr run = { .test = { .data_in = (uintptr_t)packet,
					 .data_size_in = sizeof(packet),
					 .repeat = 2000 } };
	int fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof(load));

	if (fd < 0) {
		perror("BPF_PROG_LOAD");
		return 1;
	}
	run.test.prog_fd = (uint32_t)fd;
	if (syscall(SYS_bpf, BPF_PROG_TEST_RUN, &run, sizeof(run)) != 0) {
		perror("BPF_PROG_TEST_RUN");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	while (syscall(SYS_bpf, BPF_PROG_TEST_RUN, &run, sizeof(run)) == 0)
		;
	return 0;
}
