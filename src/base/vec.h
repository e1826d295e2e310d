/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growable array of any type.
 *
 *	VEC(struct row) rows = {0};
 *	if (vec_push(&rows, row)) return -ENOMEM;
 *	for (size_t i = 0; i < rows.nr; i++) use(&rows.at[i]);
 *	vec_done(&rows);
 *
 * All zeroes is an empty array.  Growing doubles the room and may move the
 * elements: a pointer into the array lives until the next push.
 */
#ifndef PTOP_BASE_VEC_H
#define PTOP_BASE_VEC_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#define VEC(type)               \
	struct {                \
		type *at;       \
		size_t nr, cap; \
	}

/*
 * Makes room for @wanted elements of @size bytes behind *@at (a pointer to the
 * pointer).  Returns 0, or -ENOMEM with the array as it was.
 */
int vec_grow(void *at, size_t *cap, size_t wanted, size_t size);

#define vec_reserve(v, wanted) \
	((wanted) <= (v)->cap ? 0 : vec_grow(&(v)->at, &(v)->cap, (wanted), sizeof(*(v)->at)))

/* Appends one element; 0 or -ENOMEM. */
#define vec_push(v, x) (vec_reserve((v), (v)->nr + 1) ? -ENOMEM : ((v)->at[(v)->nr++] = (x), 0))

#define vec_clear(v) ((void)((v)->nr = 0))

#define vec_done(v)                     \
	do {                            \
		free((v)->at);          \
		(v)->at = NULL;         \
		(v)->nr = (v)->cap = 0; \
	} while (0)

#endif
