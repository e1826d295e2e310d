/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks interned in a trie of locations: a stack is one 32-bit node id, the node of its
 * innermost frame; a node's parent is its caller and always has a smaller id, so totals are one
 * reverse pass.  Node 0 is the root and no frame.
 *
 * A location is (image, offset): image ids are given by the space (FRAME_PSEUDO for ptop's own
 * frames such as "[broken stack]"); for kernel and JIT images the offset is the address.
 *
 * A node costs 24-40 bytes, its place in the hash included; nothing is freed but by stacks_prune().
 */
#ifndef PTOP_PROFILE_STACKS_H
#define PTOP_PROFILE_STACKS_H

#include <stddef.h>
#include <stdint.h>

#define STACKS_NONE 0u         /* the root: an empty stack */
#define STACKS_FULL UINT32_MAX /* no memory, or past the bound */
#define FRAME_PSEUDO 2u        /* image of ptop's own frames: the space's IMAGE_PSEUDO */

struct frame {
	uint64_t offset;
	uint32_t image;
};

struct stack_node {
	uint64_t offset;
	uint32_t image;
	uint32_t parent;
};

struct stacks;

struct stacks *stacks_new(void);
void stacks_free(struct stacks *s);

/*
 * Interns a stack given innermost frame first (a callchain's order).  Returns the node of the
 * innermost frame, STACKS_NONE for nr == 0, STACKS_FULL when memory is out.
 */
uint32_t stacks_add(struct stacks *s, const struct frame *frames, size_t nr);

size_t stacks_count(const struct stacks *s); /* nodes, the root included */
/* All nodes by id; the array moves at stacks_add(). */
const struct stack_node *stacks_nodes(const struct stacks *s);
size_t stacks_bytes(const struct stacks *s);

/*
 * Keeps only nodes that @keep (a flag a node, by id) names and their ancestors, renumbers the
 * rest in the same order, and writes each old id's new one into @ret_new (stacks_count() entries;
 * STACKS_NONE for the gone).  0 or -ENOMEM with nothing changed (but what @ret_new points to).
 */
int stacks_prune(struct stacks *s, const uint8_t *keep, uint32_t *ret_new);

#endif
