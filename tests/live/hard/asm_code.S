/* SPDX-License-Identifier: GPL-2.0-or-later */
/* No .cfi directive, no size: what a linker does not know, no table tells. */
	.text
	.globl	asm_leaf
	.type	asm_leaf, @function
asm_leaf:
	movl	$100000, %eax
1:	decl	%eax
	jnz	1b
	ret

/* Keeps the frame pointer and calls its argument. */
	.globl	asm_chain
	.type	asm_chain, @function
asm_chain:
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$64, %rsp
	call	*%rdi
	leave
	ret

/* Moves the stack pointer by a number that no instruction tells, and uses the frame pointer for
 * data. */
	.globl	asm_lost
	.type	asm_lost, @function
asm_lost:
	pushq	%rbp
	movl	$64, %eax
	subq	%rax, %rsp
	movl	$1234, %ebp
	call	*%rdi
	movl	$64, %eax
	addq	%rax, %rsp
	popq	%rbp
	ret

/* Tells nothing but what its instructions do. */
	.globl	asm_plain
	.type	asm_plain, @function
asm_plain:
	pushq	%rbp
	subq	$64, %rsp
	movl	$1234, %ebp
	call	*%rdi
	addq	$64, %rsp
	popq	%rbp
	ret
	.section .note.GNU-stack, "", @progbits
